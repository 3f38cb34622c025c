"""Wings: what few studies use, each in a folder here, without which everything else works.

The catalogue finds the methods of wings. Records of choices that a wing declares are in its
`choices.py`: see activetest.nouns.choices.
"""

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

WINGS = ("best", "curves", "groups", "judges", "neural", "surfaces")


def load_each(file: str) -> list[ModuleType]:
    """The modules of this name that wings have, in the order of the wings' names."""
    found = sorted(each.parent.name for each in Path(__file__).parent.glob(f"*/{file}.py"))
    return [import_module(f"activetest.wings.{wing}.{file}") for wing in found]


@cache
def is_whole() -> bool:
    """Whether every wing is there: an installation may lack the folders of some."""
    return all((Path(__file__).parent / wing).is_dir() for wing in WINGS)
