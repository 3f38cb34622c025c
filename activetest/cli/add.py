"""activetest add, as a command."""

import sys
from typing import Annotated

from typer import Argument

from activetest.cli import options, progress_line, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError, TrainingUnclear

EXAMPLES = (
    "activetest add v2=new.parquet --trained-on-labels no",
    "activetest add strict=model@threshold:0.8   # the model with another threshold",
)
_ANSWERS = {"yes": True, "y": True, "no": False, "n": False}


def run(
    model: Annotated[
        str,
        Argument(
            metavar="NAME=FILE",
            help="Name of the model, and a file with its outputs for all items: ids and outputs "
            "in columns that are called as in the pool; - reads standard input. Or, for two "
            "classes, a model of the study with another threshold, as in "
            "strict=model@threshold:0.8.",
        ),
    ],
    trained_on_labels: options.take(
        "--trained-on-labels",
        "Whether labels of this study took part in training or choosing the model: then only "
        "draws from now on count for it.",
        values=("yes", "no"),
    ) = None,
    study: options.Folder = None,
    verbose: options.verbose() = False,
) -> None:
    """Add a further model: every label of the study serves it, too."""
    from activetest.study.study import Study

    name, sign, file = model.partition("=")
    if not (name and sign and file):
        raise ChoiceError(f"{model!r} is not NAME=FILE", "activetest add v2=new.parquet")
    if trained_on_labels not in (None, "yes", "no"):
        raise ChoiceError(f"--trained-on-labels is {trained_on_labels!r}", "it is yes or no")
    current = Study.open(study)
    given = sys.stdin.buffer if file == "-" else file
    trained = None if trained_on_labels is None else trained_on_labels == "yes"

    def add() -> str:
        with progress_line.shown(verbose=verbose):
            return str(current.add(name, given, trained_on_labels=trained))

    try:
        added = add()
    except TrainingUnclear:
        if file == "-" or (trained := _ask()) is None:
            raise
        added = add()
    streams.write_lines(to_commands(added))


def _ask() -> bool | None:
    """Whether labels took part, as somebody says at a terminal; None where nobody does."""
    while sys.stdin and sys.stdin.isatty():
        streams.say(
            "Did labels of this study take part in training or choosing this model? (yes or no)"
        )
        line = sys.stdin.readline()
        if not line:
            return None
        if (found := _ANSWERS.get(line.strip().casefold())) is not None:
            return found
    return None
