"""activetest ingest, as a command."""

import sys
from typing import Annotated

from typer import Argument

from activetest.cli import options, progress_line, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError

EXAMPLES = ("activetest ingest batch.csv",)


def run(
    labels: Annotated[
        str,
        Argument(
            metavar="LABELS",
            help="CSV with id,label[,annotator][,status], or what a labelling tool exports; - "
            "reads standard input.",
        ),
    ] = "",
    replace: options.take("--replace", "Let labels replace earlier, different ones.") = False,
    dry_run: options.take("--dry-run", "Check and count, and change nothing.") = False,
    map: options.label_map() = None,
    missing: options.MissingWords = None,
    as_is: options.AsIs = False,
    columns: options.take(
        "--columns FIELD=COL,...",
        "Column of a field of the answers (id, label, annotator or status).",
    ) = None,
    decimal: options.take(
        "--decimal MARK",
        "Decimal mark (. or ,) of numbers such as 1,234, where all can have either.",
    ) = None,
    undo: options.take("--undo", "Take the last file back. Use it alone.") = False,
    study: options.Folder = None,
) -> None:
    """Read labels into the study: all rows of a file, or none."""
    from activetest.study.study import Study

    words, fields = options.split_names(missing) or (), options.split_pairs("--columns", columns)
    mapping = options.read_map(map)
    others = (replace, dry_run, mapping, words, as_is, fields, decimal)
    if undo == bool(labels) or (undo and any(others)):
        raise ChoiceError("ingest takes a file, or --undo alone", "activetest ingest labels.csv")
    with progress_line.shown():
        current = Study.open(study)
        if undo:
            found = str(current.undo())
        else:
            added = current.ingest(
                sys.stdin.buffer if labels == "-" else labels,
                replace=replace,
                dry_run=dry_run,
                map=mapping,
                missing=words,
                as_is=as_is,
                columns=fields,
                decimal=decimal,
            )
            found = to_commands(str(added))
    streams.write_lines(found)
