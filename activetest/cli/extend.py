"""activetest extend, as a command."""

import sys
from typing import Annotated

from typer import Argument

from activetest.cli import options, progress_line, streams
from activetest.cli.spelling import to_commands

EXAMPLES = (
    "activetest extend week48.parquet",
    "activetest extend export.csv --part week49",
)


def run(
    items: Annotated[
        str,
        Argument(
            metavar="FILE",
            help="Further items, with the columns of the pool: features may be missing; - reads "
            "standard input.",
        ),
    ],
    part: options.take(
        "--part NAME", "Name of the new part.", show_default="the name of the file"
    ) = None,
    study: options.Folder = None,
    verbose: options.verbose() = False,
) -> None:
    """Extend the population by further items: every label keeps counting."""
    from activetest.study.study import Study

    current = Study.open(study)
    given = sys.stdin.buffer if items == "-" else items
    with progress_line.shown(verbose=verbose):
        extended = current.extend(given, part=part)
    streams.write_lines(to_commands(str(extended)))
