"""activetest ingest, as a command."""

import sys
from typing import Annotated

from typer import Argument, Option

from activetest.cli import options, streams
from activetest.errors import ChoiceError

EXAMPLES = ("activetest ingest batch.csv",)


def ingest(
    labels: Annotated[
        str,
        Argument(
            metavar="LABELS", help="CSV with id,label[,annotator][,status]; - reads standard input."
        ),
    ] = "",
    replace: Annotated[
        bool, Option("--replace", help="Let labels replace earlier, different ones.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Check and count, and change nothing.")
    ] = False,
    undo: Annotated[bool, Option("--undo", help="Take the last file back. Use it alone.")] = False,
    study: options.Folder = None,
) -> None:
    """Read labels into the study: all rows of a file, or none."""
    from activetest.study.study import Study

    if undo == bool(labels) or (undo and (replace or dry_run)):
        raise ChoiceError("ingest takes a file, or --undo alone", "activetest ingest labels.csv")
    current = Study.open(study)
    if undo:
        streams.write_lines(str(current.undo()))
    else:
        given = sys.stdin.buffer if labels == "-" else labels
        streams.write_lines(str(current.ingest(given, replace=replace, dry_run=dry_run)))


COMMAND = ingest
