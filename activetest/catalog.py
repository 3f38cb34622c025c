"""The families of methods: a folder is a family, a file is a method, its name is the file's.

Methods of other packages join a family by an entry point of the group `activetest.FAMILY`. What a
method is for and what it needs stands as literals at the head of its file; `fact` reads them there,
so that no method is imported before it is used.

    TASK                "classification" or "regression", of a method that serves only one
    TITLE               what a metric is called in a sentence, where its name is not that
    NEEDS_FEATURES      it sees all features of a row, and learns from training rows if any
    USES_OTHER_MODELS   it sees what other models say, if there are any
    NEEDS_OTHER_MODELS  it cannot do without them
    NEEDS_MEMBERS       it compares the members of a surrogate
    CHOOSES_GROUPS      it chooses between groups, not between items
    SIMULATION_ONLY     no study can use it, for example because it draws with replacement
"""

import ast
import difflib
import tokenize
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from activetest.errors import UnknownMethod

# Where the files of each family are. Policies choose between groups; to the user of
# `--acquisition` the two folders are one family.
FAMILIES = {
    "acquisition": ("acquisition", "bandits/policies"),
    "estimators": ("estimators",),
    "intervals": ("intervals",),
    "surrogates": ("surrogates",),
    "metrics": ("metrics",),
    "render": ("render",),
}


def names(family: str) -> list[str]:
    """The methods of a family, as they are written on the command line, in alphabetical order."""
    return sorted({*_own(family), *_foreign(family)})


def load(family: str, name: str) -> ModuleType:
    """The module that implements name; importing it is what pulls in torch, if anything does.

    Raises UnknownMethod when the family has no such method.
    """
    return import_module(_module(family, name))


def fact(family: str, name: str, fact: str) -> Any:
    """What the head of a method's file says of it, such as "TASK"; None where it says nothing.

    Raises UnknownMethod when the family has no such method.
    """
    return _facts(_module(family, name)).get(fact)


def having(family: str, wanted: str) -> tuple[str, ...]:
    """The methods of a family whose files state this fact."""
    return tuple(name for name in names(family) if fact(family, name, wanted))


def nearest(name: str, known: list[str] | tuple[str, ...]) -> str:
    """A hint for a mistyped name: the one it is closest to, then all that could be meant."""
    close = difflib.get_close_matches(name.casefold(), known, n=1)
    question = f"did you mean {close[0]!r}? " if close else ""
    return f"{question}choose from {', '.join(known)}"


def _module(family: str, name: str) -> str:
    """The dotted name of the module that implements a method."""
    if found := _own(family).get(name) or _foreign(family).get(name):
        return found
    raise UnknownMethod(f"no {family} method is called {name!r}", hint=nearest(name, names(family)))


@cache
def _own(family: str) -> dict[str, str]:
    """{name: module} of the methods that come with this package."""
    return {
        file.stem.replace("_", "-"): ".".join(("activetest", *folder.split("/"), file.stem))
        for folder in FAMILIES[family]
        for file in (Path(__file__).parent / folder).glob("*.py")
        if not file.stem.startswith("_")
    }


@cache
def _foreign(family: str) -> dict[str, str]:
    """{name: module} of the methods that installed packages bring by entry points."""
    from importlib.metadata import entry_points

    return {each.name: each.module for each in entry_points(group=f"activetest.{family}")}


@cache
def _facts(module: str) -> dict[str, Any]:
    """The literals in capitals that stand at the top level of a module, without importing it."""
    from importlib.util import find_spec

    parts = module.split(".")
    if parts[0] == "activetest":
        path = Path(__file__).parent.joinpath(*parts[1:]).with_suffix(".py")
    else:
        path = Path(find_spec(module).origin)
    with tokenize.open(path) as file:
        tree = ast.parse(file.read())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            found |= {to.id: node.value.value for to in node.targets if isinstance(to, ast.Name)}
    return {name: value for name, value in found.items() if name.isupper()}
