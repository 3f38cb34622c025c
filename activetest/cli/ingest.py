"""activetest ingest, as a command."""

import sys
from typing import Annotated, Any

from typer import Argument, Option

from activetest.cli import options, progress_line, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError

EXAMPLES = ("activetest ingest batch.csv",)


def ingest(
    labels: Annotated[
        str,
        Argument(
            metavar="LABELS",
            help="CSV with id,label[,annotator][,status], or what a labelling tool exports; - "
            "reads standard input.",
        ),
    ] = "",
    replace: Annotated[
        bool, Option("--replace", help="Let labels replace earlier, different ones.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Check and count, and change nothing.")
    ] = False,
    map: options.LabelMap = None,
    missing: options.name_list(
        "Word that stands for no label yet, such as N/A.", "--missing", "WORD,..."
    ) = None,
    as_is: Annotated[
        bool,
        Option("--as-is", help="Take labels that are no class for classes never predicted."),
    ] = False,
    columns: options.name_list(
        "Column of a field of the answers (id, label, annotator or status).",
        "--columns",
        "FIELD=COL,...",
    ) = None,
    decimal: Annotated[
        str | None,
        Option(
            "--decimal",
            metavar="MARK",
            help="Decimal mark (. or ,) of numbers such as 1,234, where all can have either.",
        ),
    ] = None,
    undo: Annotated[bool, Option("--undo", help="Take the last file back. Use it alone.")] = False,
    study: options.Folder = None,
) -> None:
    """Read labels into the study: all rows of a file, or none."""
    from activetest.study.study import Study

    changes: dict[str, Any] = {"replace": replace, "dry_run": dry_run, "as_is": as_is}
    changes |= {"map": options.read_map(map), "missing": options.split_names(missing) or ()}
    changes |= {"columns": options.split_pairs("--columns", columns), "decimal": decimal}
    if undo == bool(labels) or (undo and any(changes.values())):
        raise ChoiceError("ingest takes a file, or --undo alone", "activetest ingest labels.csv")
    with progress_line.shown():
        current = Study.open(study)
        if undo:
            found = str(current.undo())
        else:
            given = sys.stdin.buffer if labels == "-" else labels
            found = to_commands(str(current.ingest(given, **changes)))
    streams.write_lines(found)


COMMAND = ingest
