"""activetest extend, as a command."""

import sys
from typing import Annotated

from typer import Argument

from activetest.cli import options, progress_line, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError

EXAMPLES = (
    "activetest extend week48.parquet",
    "activetest extend export.csv --part week49",
    "activetest extend --retire week01",
)


def run(
    items: Annotated[
        str | None,
        Argument(
            metavar="FILE",
            help="Further items, with the columns of the pool: features may be missing; - reads "
            "standard input.",
        ),
    ] = None,
    part: options.take(
        "--part NAME", "Name of the new part.", show_default="the name of the file"
    ) = None,
    retire: options.take(
        "--retire NAME", "Take this part out of the population; give no file."
    ) = None,
    study: options.Folder = None,
    verbose: options.verbose() = False,
) -> None:
    """Extend the population by further items: every label keeps counting."""
    from activetest.study.study import Study

    current = Study.open(study)
    if (items is None) == (retire is None) or (retire and part):
        problem = "extend takes a file, or --retire and nothing else"
        raise ChoiceError(problem, "activetest extend week48.parquet")
    if retire is not None:
        streams.write_lines(to_commands(current.retire(retire)))
        return
    given = sys.stdin.buffer if items == "-" else items
    with progress_line.shown(verbose=verbose):
        extended = current.extend(given, part=part)
    streams.write_lines(to_commands(str(extended)))
