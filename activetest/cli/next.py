"""activetest next, as a command."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from activetest.cli import options, progress_line, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError

# As those of the library, which waits for nothing here.
FORMATS = ("csv", "jsonl", "label-studio", "argilla", "xlsx")
_BINARY = ("xlsx",)
# Endings that are of another format than CSV, where none is named.
_OTHERS = (".xlsx", ".jsonl")
# Tools that show a task and nothing else.
_TOOLS = ("label-studio", "argilla")
EXAMPLES = (
    "activetest next -n 20 --show text -o batch.csv",
    "activetest next -n 20 --show text --format label-studio -o tasks.json",
)


def next_items(
    count: Annotated[
        int | None,
        Option("--n", "-n", metavar="N", help="How many items to draw.", show_default="10"),
    ] = None,
    new: Annotated[bool, Option("--new", help="Draw a new batch even if one is pending.")] = False,
    again: Annotated[
        int | None,
        Option(
            "--again",
            metavar="N",
            help="Draw nothing: show N labelled items that somebody else should label as well.",
        ),
    ] = None,
    show: options.name_list(
        "Column of the pool to print next to each id.",
        "--show",
        "COL,...",
        completes="columns",
    ) = None,
    output: Annotated[
        Path | None,
        Option(
            "-o", "--output", metavar="FILE", help="File to write to, instead of standard output."
        ),
    ] = None,
    format: options.one_value(
        "Output format.", "--format", FORMATS, show_default="by the ending of -o; csv"
    ) = None,
    config: Annotated[
        bool,
        Option(
            "--config",
            help="Draw nothing: print the configuration of label-studio or argilla for these "
            "columns and the classes.",
        ),
    ] = False,
    spreadsheet: Annotated[
        bool,
        Option("--spreadsheet", help="Put an apostrophe before ids that a spreadsheet would run."),
    ] = False,
    force: Annotated[
        bool, Option("--force", help="Let -o replace a file that is no batch without answers.")
    ] = False,
    verbose: options.verbose() = False,
    study: options.Folder = None,
) -> None:
    """Show the pending batch, or draw the next items to label."""
    from activetest.labels.spreadsheets import loses
    from activetest.study.study import Study

    if format is not None:
        options.check_format(FORMATS, format)
    if again is not None and count is not None:
        raise ChoiceError("-n says how many items to draw, and --again draws none", "leave out -n")
    file = None if output is None or str(output) == "-" else output
    columns = options.split_names(show) or ()
    # Of a file, its ending may say otherwise.
    written = format or "csv"
    if config:
        if new or force or spreadsheet or (count, again, file) != (None, None, None):
            raise ChoiceError("--config goes with --format and --show alone", "leave out the rest")
        streams.write(Study.open(study).labelling_config(written, show=columns))
        return
    if written in _BINARY and file is None:
        raise ChoiceError(f"{written} is no text", "write it to a file: -o batch.xlsx")
    settings: dict[str, Any] = {
        "new": new,
        "show": columns,
        "format": format,
        "spreadsheet": spreadsheet,
    }
    settings |= {"path": file, "force": force}
    if again is not None:
        settings["again"] = again
    draw = Study.open(study).next
    with progress_line.shown(verbose=verbose):
        batch = draw(**settings) if count is None else draw(count, **settings)
    if count is not None:
        batch = replace(batch, requested=count)
    if batch.rows and not file:
        streams.write(batch.to(written))
    summary = to_commands(batch.summary())
    streams.say(summary + (f", written to {file}" if batch.rows and file else ""))
    plain = file is not None and written == "csv" and file.suffix.lower() not in _OTHERS
    changed = [id for id in batch.ids if loses(id)] if plain else []
    if changed:
        streams.say(
            f"a spreadsheet changes ids such as {changed[0]}, which cannot be undone: "
            "--format xlsx keeps them as text"
        )
    if batch.rows and not columns and written in _TOOLS:
        streams.say("these tasks show ids alone: --show COLUMN adds what annotators should see")


COMMAND = next_items
