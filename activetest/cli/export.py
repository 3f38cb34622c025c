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
        Option("-o", "--output", metavar="FILE", help="New file, instead of standard output."),
    ] = None,
    rescue: Annotated[
        bool, Option("--rescue", help="Read what can still be read of a damaged ledger.")
    ] = False,
    study: options.Folder = None,
) -> None:
    """Print the log of draws: probabilities, labels and times, as CSV."""
    from activetest.study.study import Study

    log = Study.open(study, damaged=rescue).export(rescue=rescue)
    file = None if output is None or str(output) == "-" else output
    if file:
        log.to_csv(file)
    else:
        streams.write(log.to_csv())
    for problem in log.problems:
        streams.say(f"damaged: {to_commands(problem)}")
    streams.say(log.summary() + (f", written to {file}" if file else ""))


COMMAND = export
