"""The families of methods: a folder is a family, a file is a method, its name is the file's."""

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from activetest.errors import UnknownMethod

# Where the files of each family are. Policies choose between groups; the user of `--acquisition`
# sees one family.
FAMILIES = {
    "acquisition": ("acquisition", "bandits/policies"),
    "estimators": ("estimators",),
    "intervals": ("intervals",),
    "surrogates": ("surrogates",),
    "metrics": ("metrics",),
    "render": ("render",),
}


def names(family: str) -> list[str]:
    """The methods of a family, as they are written on the command line."""
    return list(_modules(family))


@cache
def _modules(family: str) -> dict[str, str]:
    """The module of each method of a family, in the order of their names."""
    found = {
        file.stem.replace("_", "-"): ".".join(("activetest", *folder.split("/"), file.stem))
        for folder in FAMILIES[family]
        for file in (Path(__file__).parent / folder).glob("*.py")
        if not file.stem.startswith("_")
    }
    return dict(sorted(found.items()))


def load(family: str, name: str) -> ModuleType:
    """The module that implements name; importing it is what pulls in torch, if anything does.

    Raises UnknownMethod when the family has no such file.
    """
    if name not in names(family):
        raise UnknownMethod(
            f"no {family} method is called {name!r}", hint=f"choose from {', '.join(names(family))}"
        )
    return import_module(_modules(family)[name])
