"""activetest next, as a command."""

from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Option

from activetest.cli import options, streams

FORMATS = ("csv", "jsonl")
EXAMPLES = ("activetest next -n 20 --show text -o batch.csv",)


def next_items(
    count: Annotated[int, Option("--n", "-n", metavar="N", help="How many items to draw.")] = 10,
    new: Annotated[bool, Option("--new", help="Draw even if a batch is pending.")] = False,
    show: options.name_list(
        "Column of the pool to print beside each id.",
        "--show",
        "COL,...",
        completes="columns",
    ) = None,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="FILE", help="Write to this file.")
    ] = None,
    format: options.one_value("What to print.", "--format", FORMATS, type=str) = "csv",
    study: options.Folder = None,
) -> None:
    """Show the pending batch, or draw the next items to label."""
    from activetest.study.next import next_batch, save_batch
    from activetest.study.stored import StoredStudy

    options.check_format(FORMATS, format)
    current = StoredStudy.open(study)
    draw = partial(next_batch, current, count, new=new, show=options.split_names(show) or ())
    file = None if output is None or str(output) == "-" else output
    batch = save_batch(current, file, format, draw) if file else draw()
    if batch.rows and not file:
        streams.write(batch.to(format))
    streams.say(batch.summary() + (f", written to {file}" if batch.rows and file else ""))


COMMAND = next_items
