"""Options that several commands take."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

Folder = Annotated[Path | None, Option("--study", metavar="DIR", help="Folder of the study.")]
Names = list[str] | None
Count = Annotated[int, Option("--n", help="How many items to draw.")]


def names(help: str, name: str):
    """An option that may be given again, and whose values may be joined by commas."""
    return Annotated[Names, Option(name, metavar="NAME", help=help + " Again for more.")]


def formats(*choices: str):
    """The option that chooses one of these."""
    return Annotated[str, Option("--format", metavar="|".join(choices), help="What to print.")]


PoolAddress = Annotated[
    str, Argument(metavar="POOL", help="Parquet file or folder, CSV, JSON Lines, or an address.")
]
Id = Annotated[str | None, Option("--id", help="Column of ids.")]
Outputs = names("Column of the model's outputs.", "--outputs")
Features = names("Column of features.", "--features")
Task = Annotated[str | None, Option(help="classification or regression.")]
Classes = names("Names of the classes, in order.", "--classes")
Positive = Annotated[str | None, Option(help="Positive class of a binary pool.")]
Threshold = Annotated[float | None, Option(help="Score that makes it positive.")]
