"""activetest export, as a command."""

from pathlib import Path
from typing import Annotated

from typer import Option

from activetest.cli import options, streams
from activetest.cli.spelling import to_commands

EXAMPLES = ("activetest export -o log.csv", "activetest export --rescue -o rescued.csv")


def export(
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="FILE",
            help="New file to write to, instead of standard output.",
        ),
    ] = None,
    rescue: Annotated[
        bool, Option("--rescue", help="Read what can still be read of a damaged ledger.")
    ] = False,
    force: Annotated[bool, Option("--force", help="Let -o replace a file that is there.")] = False,
    study: options.Folder = None,
) -> None:
    """Print the log of draws: probabilities, labels and times, as CSV."""
    from activetest.study.study import Study

    file = None if output is None or str(output) == "-" else output
    opened = Study.open(study, damaged=rescue)
    log = opened.export(rescue=rescue, path=file, force=force)
    if not file:
        streams.write(log.to_csv())
    for problem in log.problems:
        streams.say(f"damaged: {to_commands(problem)}")
    streams.say(log.summary() + (f", written to {file}" if file else ""))


COMMAND = export
