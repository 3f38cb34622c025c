"""Options that several commands take, and what their values mean."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from activetest.errors import ChoiceError

Folder = Annotated[Path | None, Option("--study", metavar="DIR", help="Folder of the study.")]
Names = list[str] | None
# Formats of everything that is a table; reports have more.
FORMATS = ("text", "json", "markdown")
Count = Annotated[int, Option("--n", help="How many items to draw.")]


def names(help: str, name: str, metavar: str = "NAME"):
    """An option that may be given again, and whose values may be joined by commas."""
    return Annotated[Names, Option(name, metavar=metavar, help=help + " Again for more.")]


def formats(*choices: str):
    """The option that chooses one of these."""
    return Annotated[str, Option("--format", metavar="|".join(choices), help="What to print.")]


PoolAddress = Annotated[
    str, Argument(metavar="POOL", help="Parquet file or folder, CSV, JSON Lines, or an address.")
]
Id = Annotated[str | None, Option("--id", help="Column of ids.")]
Outputs = names("Column of the model's outputs.", "--outputs")
Features = names("Column of features.", "--features")
Tasks = Annotated[
    Names,
    Option(
        "--task",
        metavar="estimate|identify|compare|none",
        help="What to ask of groups; or what the pool is: classification, regression.",
    ),
]
Worst = Annotated[int | None, Option("--worst", metavar="M", help="Groups to identify.")]
Compare = Annotated[str | None, Option("--compare", metavar="A,B", help="Two groups to compare.")]
Prior = Annotated[
    str | None, Option("--prior", metavar="informative|uniform", help="Of every group.")
]
PriorStrength = Annotated[
    float | None, Option("--prior-strength", metavar="X", help="Labels that the prior counts as.")
]
Rope = Annotated[
    float | None, Option("--rope", metavar="E", help="Differences that practically are none.")
]
Classes = names("Names of the classes, in order.", "--classes")
Positive = Annotated[str | None, Option(help="Positive class of a binary pool.")]
Threshold = Annotated[float | None, Option(help="Score that makes it positive.")]
Floor = Annotated[float | None, Option(help="How likely every item stays, against random draws.")]
Level = Annotated[float | None, Option(help="Confidence of every interval.")]
Costs = Annotated[
    str | None,
    Option("--costs", metavar="FILE", help="CSV of costs: predicted in rows, true in columns."),
]
Train = Annotated[
    str | None,
    Option("--train", metavar="FILE", help="Rows with the pool's features and a label."),
]
Surrogates = Annotated[
    str | None,
    Option("--surrogates", metavar="FILE", help="Ids, and surrogate_prob_* of other models."),
]
Refit = Annotated[
    str | None,
    Option("--refit", metavar="every|K|doubling", help="When the surrogate learns again."),
]
Selection = Annotated[
    str | None, Option("--selection", metavar="draw|top", help="At random, or the top scores.")
]
Power = Annotated[
    float | None, Option("--power", metavar="B", help="Scores are raised to it before drawing.")
]
_PROMISES = "fixed: for one look; anytime: for any number; posterior: what the surrogate believes."
Kind = Annotated[
    str | None, Option("--interval", metavar="fixed|anytime|posterior", help=_PROMISES)
]


def split(values: Names) -> tuple[str, ...] | None:
    """Every name that was given; None without any."""
    return tuple(name for value in values for name in value.split(",")) if values else None


def specifications(values: Names) -> tuple[str, ...] | None:
    """Every metric that was given: as split, but commas in brackets belong to the name."""
    if not values:
        return None
    return tuple(name.strip() for value in values for name in re.split(r",(?![^\[\]]*\])", value))


def given(wishes: dict) -> dict:
    """The wishes that were uttered."""
    return {name: value for name, value in wishes.items() if value is not None}


def one_of(known: Sequence[str], format: str) -> str:
    """The format. Raises ChoiceError for one that is not known."""
    if format not in known:
        raise ChoiceError(f"no format is called {format!r}", f"choose from {', '.join(known)}")
    return format
