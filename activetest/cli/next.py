"""activetest next, as a command."""

from dataclasses import replace
from pathlib import Path

from activetest.cli import options, progress_line, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError
from activetest.nouns.answer_fields import BATCH_ENDINGS, BATCH_FORMATS, BINARY_FORMATS, USUAL_COUNT

# Tools that show a task and nothing else.
_TOOLS = ("label-studio", "argilla")
EXAMPLES = (
    "activetest next -n 20 --show text -o batch.csv",
    "activetest next -n 20 --show text --format label-studio -o tasks.json",
)


def run(
    count: options.take(
        "-n, --n N", "How many items to draw.", int | None, show_default=f"{USUAL_COUNT}"
    ) = None,
    new: options.take("--new", "Draw a new batch even if one is pending.") = False,
    again: options.take(
        "--again N",
        "Draw nothing: show N labelled items that somebody else should label as well.",
        int | None,
    ) = None,
    show: options.take(
        "--show COL,...", "Column of the pool to print next to each id.", completes="columns"
    ) = None,
    part: options.take(
        "--part NAME,...", "Part of the population that new items are drawn from, instead of all."
    ) = None,
    output: options.take(
        "-o, --output FILE", "File to write to, instead of standard output.", Path | None
    ) = None,
    format: options.take(
        "--format",
        "Output format.",
        values=BATCH_FORMATS,
        show_default="by the ending of -o; csv",
    ) = None,
    config: options.take(
        "--config",
        "Draw nothing: print the configuration of label-studio or argilla for these columns and "
        "the classes.",
    ) = False,
    spreadsheet: options.take(
        "--spreadsheet", "Put an apostrophe before ids that a spreadsheet would run."
    ) = False,
    force: options.take(
        "--force", "Let -o replace a file that is no batch without answers."
    ) = False,
    verbose: options.verbose() = False,
    engine: options.engine() = None,
    study: options.Folder = None,
) -> None:
    """Show the pending batch, or draw the next items to label."""
    from activetest.labels.spreadsheets import loses
    from activetest.study.study import Study

    if format is not None:
        options.check_format(BATCH_FORMATS, format)
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
    if written in BINARY_FORMATS and file is None:
        raise ChoiceError(f"{written} is no text", "write it to a file: -o batch.xlsx")
    current = Study.open(study)
    with progress_line.shown(verbose=verbose):
        batch = current.next(
            USUAL_COUNT if count is None else count,
            new=new,
            again=again,
            show=columns,
            part=options.split_names(part) or (),
            path=file,
            format=format,
            spreadsheet=spreadsheet,
            force=force,
        )
    if count is not None:
        batch = replace(batch, requested=count)
    if batch.rows and not file:
        streams.write(batch.to(written))
    summary = to_commands(batch.summary())
    streams.say(summary + (f", written to {file}" if batch.rows and file else ""))
    plain = file is not None and written == "csv" and file.suffix.lower() not in BATCH_ENDINGS
    changed = [id for id in batch.ids if loses(id)] if plain else []
    if changed:
        streams.say(
            f"a spreadsheet changes ids such as {changed[0]}, which cannot be undone: "
            "--format xlsx keeps them as text"
        )
    if batch.rows and not columns and written in _TOOLS:
        streams.say("these tasks show ids alone: --show COLUMN adds what annotators should see")
