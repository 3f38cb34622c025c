"""The families of methods: a folder is a family, a file is a method, its name is the file's."""

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from activetest.errors import UnknownMethod

FAMILIES = ("acquisition", "estimators", "intervals", "surrogates", "metrics", "render")


def names(family: str) -> list[str]:
    """The methods of a family, as they are written on the command line."""
    return list(_names(family))


@cache
def _names(family: str) -> tuple[str, ...]:
    folder = Path(__file__).parent / family
    files = (file.stem for file in folder.glob("*.py") if not file.stem.startswith("_"))
    return tuple(sorted(stem.replace("_", "-") for stem in files))


def load(family: str, name: str) -> ModuleType:
    """The module that implements name; importing it is what pulls in torch, if anything does.

    Raises UnknownMethod when the family has no such file.
    """
    if name not in names(family):
        raise UnknownMethod(
            f"no {family} method is called {name!r}", hint=f"choose from {', '.join(names(family))}"
        )
    return import_module(f"activetest.{family}.{name.replace('-', '_')}")
