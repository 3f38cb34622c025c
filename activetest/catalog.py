"""The families of methods: a folder is a family, a file is a method, its name is the file's.

A wing is a folder of `wings` with what few studies use. It brings methods to families: those in its
folders of their names, as `wings/neural/surrogates`. The core reaches a wing by its methods alone,
and by the choices that it declares: see activetest.wings. Without the folder of a wing everything
else works, and its methods and choices are unknown.

Methods that differ by a number or a word stand together in a file, a chapter. The literal CONTENTS
of the folder's `__init__.py` lists them: {chapter: {method: {fact: value}}}. The object of the
method's name in the chapter has what a file of its own would have, as `metrics` and `fit`.

Methods of other packages join a family by an entry point of the group `activetest.FAMILY`, whose
value is a module with the functions that a file of that folder has:

    [project.entry-points."activetest.metrics"]
    pass-rate = "our_package.pass_rate"

A method is imported only when somebody names it, and a name of ours cannot be taken. Policies that
choose between groups are of the family `acquisition`. Rounds record the statistics of a metric by
name and look them up again: a metric of another package uses those of
`item_statistics.statistic`, or brings its own by an entry point of the group
`activetest.statistics`, named like the first word of the statistic, whose module has
`make(name, *parameters) -> Statistic`.

The purpose and the needs of a method stand as literals at the head of its file; `fact` reads them
there without importing the file.

    TASK                "classification" or "regression", of a method that serves only one
    TITLE               what a metric is called in a sentence, where its name is not that; {} stands
                        for its argument, and what is in brackets is left out without one
    NEEDS_FEATURES      it sees all features of a row, and learns from training rows if any
    SAW_FEATURES        it saw them in rounds of versions before 0.9
    SEES_IMAGES         it looks at features that are an image with convolutions
    AUGMENTS            it can learn from features and labels alone, and from items of the pool
                        with the model's labels: see nouns.choices.Augmentation
    USES_EVIDENCE       it sees what learners of the model's answers, and of training rows, say of
                        each, where the pool has features or texts
    USES_OTHER_MODELS   it sees what other models say, if there are any
    NEEDS_OTHER_MODELS  it cannot do without them
    COUNTS_VOTES        it sees whether further models of the study predict the same
    NEEDS_MEMBERS       it compares the members of a surrogate
    ALIKE               an acquisition with the same score for every item: nobody asks for beliefs
    NEEDS_KINDS         an acquisition that is given which outcomes each metric tells apart
    RIGHT_OR_WRONG      a surrogate that only says whether the prediction is right, not the class
    CHOOSES_GROUPS      it chooses between groups, not between items
    CONTINUES           whether a surface can be fitted from the state of an earlier fit
    CROSSES             a surrogate that is fitted fast enough to be fitted once more for each fold
                        of a round: see rounds.crossing
    NEEDS_GOLD          items of which an attribute model must know the true attributes
    CHOOSES_ARMS        it chooses between the arms of a surface, not between items
    SELECTS_MODELS      it chooses items to find the best of several models, and draws none
    SIMULATION_ONLY     no study can use it
    WITH_REPLACEMENT    an acquisition whose draws leave all items in the pool
    NEEDS_KEY           an acquisition that scores items by their true labels
    MODEL_BASED         an estimator that believes the surrogate about items without a label
    NEEDS_PASSES        a model-based estimator that looks at every pass of the surrogate
    REMOVES_BIAS        an interval whose file also has remove_bias(estimate) -> value
    SHOWS               a format that shows these alone, of report, status, simulation, inspection
    NEEDS_GATES         a format that shows requirements alone
    ABRIDGED            a format that shows all notes and estimates only if verbose
    NEEDS_DETAILS       a format that shows what a report rests on: nouns.report_details
    BETTER              "higher" or "lower" values of a metric; nothing where neither is
    PLACE, TITLE, OF, PAGED, KEYS
                        of sections of reports: see activetest.render.sections
    MARKS               of formats of reports: texts that are all near the beginning of each file,
                        by which an earlier report is known
    HEAD                of formats whose reports have none: what stands before them in a file
    OF_GAPS             an interval for a sum of absolute gaps, to which metrics are in proportion
    SUFFIXES, PRECEDENCE, POOL, GRADED, ANSWERS, TASKS
                        of file formats: see activetest.formats. SUFFIXES are the endings of files,
                        those of reports among them

A method with options states them as {name: default} in OPTIONS at the head of its file, and takes
them as keyword arguments. Options that users choose stand in brackets behind its name, as in
beta-gp-slp[supervision=printed;steps=500]. A default that is a whole number takes whole numbers
from 1 up, another number takes numbers from 0 up, and a tuple takes one of its words, the first
where nothing is said. The argument of an option with hyphens has underscores.
"""

import ast
import math
import sys
import tokenize
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from activetest.errors import ChoiceError, UnknownMethod

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# A method of each family, as messages call it.
_NOUNS = {
    "acquisition": "acquisition",
    "augmentations": "augmentation",
    "estimators": "estimator",
    "questions": "question",
    "findings": "finding",
    "simulated": "simulated answer",
    "exports": "export",
    "pictures": "picture",
    "intervals": "interval",
    "surrogates": "surrogate",
    "surfaces": "surface",
    "attribute_models": "attribute model",
    "metrics": "metric",
    "render": "format",
    "sections": "section of reports",
    "formats": "file format",
    "statistics": "statistic",
}


def names(family: str) -> list[str]:
    """The methods of a family, as users write them, in alphabetical order."""
    return sorted({*_own(family), *_foreign(family)})


def own_names(family: str) -> list[str]:
    """The methods of a family that come with this package, in alphabetical order."""
    return sorted(_own(family))


def usable_names(family: str, *, simulated: bool) -> list[str]:
    """The methods of a family that a study can use, or that a simulation can."""
    return [
        name for name in names(family) if simulated or not fact(family, name, "SIMULATION_ONLY")
    ]


def has(place: str) -> bool:
    """Whether there is a method, as "family/method"; also where the place is empty."""
    family, _, name = place.partition("/")
    return not place or name in _own(family) or name in _foreign(family)


def load(family: str, name: str) -> Any:
    """The module that implements name, or the object of a chapter; importing it pulls in torch.

    Raises UnknownMethod when the family has no such method, and ChoiceError when the file of
    another package cannot be imported.
    """
    place = _find(family, name)
    if name in _own(family):
        found = sys.modules.get(place.module) or import_module(place.module)
        return found if place.row is None else getattr(found, name.replace("-", "_"))
    try:
        return import_module(place.module)
    except Exception as error:  # Whatever the code of another package raises.
        raise _broken(family, name, error) from error


def check(family: str, name: str) -> None:
    """Raises UnknownMethod when there is no such method, ChoiceError when its file is unreadable.

    Nothing is imported.
    """
    place = _find(family, name)
    if name in _own(family):
        return
    try:
        _parse(place.module)
    except (ImportError, OSError, SyntaxError, UnicodeError) as error:
        raise _broken(family, name, error) from error


def fact(family: str, name: str, fact: str) -> Any:
    """A fact at the head of a method's file, such as "TASK"; None where it says nothing.

    Options behind the name are left aside. An unreadable file of another package says nothing: see
    `check`. Raises UnknownMethod when the family has no such method.
    """
    place = _find(family, bare_name(name))
    return (_facts(place.module) if place.row is None else place.row).get(fact)


def bare_name(text: str) -> str:
    """The name of a method without the options in the brackets behind it; text of anything else."""
    return str(text).partition("[")[0].strip()


def split_options(family: str, text: str) -> tuple[str, dict[str, Any]]:
    """A method's name, and the values of the options in the brackets behind it.

    Only the options that the text names, as keyword arguments; `load(family, name)` takes the name.
    Raises UnknownMethod when the family has no such method, ChoiceError for brackets that do not
    match, and for an option or a value that the method does not take.
    """
    name, bracket, inside = (part.strip() for part in text.partition("["))
    if not bracket:
        _find(family, name)
        return name, {}
    offered: dict[str, Any] = getattr(load(family, name), "OPTIONS", {})
    if not inside.endswith("]") or set(inside[:-1]) & set("[]"):
        raise ChoiceError(
            f"{text!r} is no {_NOUNS[family]}: its brackets do not match",
            f"write it like '{name}[option=value;option=value]'",
        )
    if not offered:
        raise ChoiceError(f"the {_NOUNS[family]} {name!r} has no options", f"write {name!r} alone")
    chosen: dict[str, Any] = {}
    for part in filter(None, map(str.strip, inside[:-1].split(";"))):
        option, _, value = map(str.strip, part.partition("="))
        if option not in offered or option in chosen:
            reason = "says it twice" if option in chosen else "has no such option"
            raise ChoiceError(
                f"the {_NOUNS[family]} {text!r} {reason}: {part!r}",
                f"its options are {', '.join(_describe(*each) for each in offered.items())}",
            )
        chosen[option] = _read_value(offered[option], value)
        if chosen[option] is None:
            raise ChoiceError(
                f"the {_NOUNS[family]} {name!r} does not take {part!r}",
                f"write {_describe(option, offered[option])}",
            )
    return name, {option.replace("-", "_"): value for option, value in chosen.items()}


def _read_value(default: Any, text: str) -> Any:
    """The value of an option with this default that the text means; None where it means none."""
    if isinstance(default, tuple):
        return text if text in default else None
    try:
        value = type(default)(text)
    except ValueError:
        return None
    least = 1 if isinstance(default, int) else 0
    return value if least <= value < math.inf else None


def _describe(option: str, default: Any) -> str:
    """An option and what it takes."""
    if isinstance(default, tuple):
        return f"{option}={'|'.join(default)}"
    least = "a whole number from 1" if isinstance(default, int) else "a number from 0"
    return f"{option}={default:g} ({least} up)"


def having(family: str, stated: str) -> tuple[str, ...]:
    """The methods of a family whose files state this fact."""
    return tuple(name for name in names(family) if fact(family, name, stated))


def suggest(name: object, known: Sequence[str]) -> str:
    """A question about a mistyped name, with a space behind it; empty where nothing is close."""
    import difflib

    close = difflib.get_close_matches(str(name).casefold(), known, n=1)
    return f"did you mean '{close[0]}'? " if close else ""


def nearest(name: object, known: Sequence[str]) -> str:
    """A hint for a mistyped name: the one it is closest to, then all that could be meant."""
    return f"{suggest(name, known)}choose from {', '.join(known)}"


class _Place(NamedTuple):
    """Where a method is: the dotted name of a module; of a chapter, also its row of CONTENTS."""

    module: str
    row: dict[str, Any] | None = None


def _find(family: str, name: str) -> _Place:
    """Where a method is implemented."""
    if own := _own(family).get(name):
        return own
    if foreign := _foreign(family).get(name):
        return _Place(foreign.module)
    known = names(family)
    hint = nearest(name, known) if known else "install the package that brings it"
    raise UnknownMethod(f"no {_NOUNS[family]} is called {name!r}", hint)


def _broken(family: str, name: str, error: Exception) -> ChoiceError:
    """The error for a method of another package whose file cannot be read or imported."""
    entry = _foreign(family)[name]
    package = f"the package {entry.dist.name!r}" if entry.dist else "another package"
    return ChoiceError(
        f"the {_NOUNS[family]} {name!r} of {package} cannot be imported from {entry.module!r}: "
        f"{type(error).__name__}: {error}",
        hint="repair or uninstall that package, or choose another method",
    )


@cache
def _own(family: str) -> dict[str, _Place]:
    """Where the methods that come with this package are, by name."""
    found: dict[str, _Place] = {}
    top = Path(__file__).parent
    places = (family, f"render/{family}", f"wings/*/{family}")
    for folder in sorted(each for place in places for each in top.glob(place)):
        package = ".".join(("activetest", *folder.relative_to(top).parts))
        contents = _facts(f"{package}.__init__").get("CONTENTS", {})
        for file in folder.glob("[!_]*.py"):
            module = f"{package}.{file.stem}"
            if file.stem in contents:
                found |= {name: _Place(module, row) for name, row in contents[file.stem].items()}
            else:
                found[file.stem.replace("_", "-")] = _Place(module)
    return found


@cache
def _foreign(family: str) -> dict[str, "EntryPoint"]:
    """{name: entry point} of the methods that installed packages bring."""
    from importlib.metadata import entry_points

    return {each.name: each for each in entry_points(group=f"activetest.{family}")}


@cache
def _facts(module: str) -> dict[str, Any]:
    """The literals in capitals that stand at the top level of a module, without importing it."""
    try:
        tree = _parse(module)
    except (ImportError, OSError, SyntaxError, UnicodeError):
        if module.startswith("activetest."):
            raise
        return {}
    found: dict[str, Any] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        try:
            value = ast.literal_eval(node.value)
        except (ValueError, TypeError):
            continue
        found |= {to.id: value for to in node.targets if isinstance(to, ast.Name)}
    return {name: value for name, value in found.items() if name.isupper()}


def _parse(module: str) -> ast.Module:
    """The syntax tree of a module's file. Raises ImportError, OSError or SyntaxError."""
    with tokenize.open(_find_file(module)) as file:
        return ast.parse(file.read())


def _find_file(module: str) -> Path:
    """The file of a module; neither it nor the packages around it are imported."""
    parts = module.split(".")
    if parts[0] == "activetest":
        return Path(__file__).parent.joinpath(*parts[1:]).with_suffix(".py")
    path = None
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        found = (finder.find_spec(name, path) for finder in sys.meta_path)
        spec = next((each for each in found if each is not None), None)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}")
        path = spec.submodule_search_locations
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{module!r} has no file")
    return Path(spec.origin)
