"""activetest export, as a command."""

from pathlib import Path
from typing import Annotated

from typer import Option

from activetest.cli import options, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError

EXAMPLES = (
    "activetest export -o log.csv",
    "activetest export --rescue -o rescued.csv",
    "activetest export --surface -o surface.parquet",
)


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
    surface: Annotated[
        bool,
        Option(
            "--surface",
            help="The surface, not the log: every combination of attributes; .csv or .parquet.",
        ),
    ] = False,
    all: Annotated[
        bool, Option("--all", help="With --surface: combinations that do not occur, too.")
    ] = False,
    force: Annotated[bool, Option("--force", help="Let -o replace a file that is there.")] = False,
    study: options.Folder = None,
) -> None:
    """Print the log of draws, or the surface, as CSV.

    The log has every draw with its probability, and every label with its time.
    """
    from activetest.study.study import Study

    file = None if output is None or str(output) == "-" else output
    if surface or all:
        _export_surface(study, file, surface=surface, all=all, rescue=rescue, force=force)
        return
    opened = Study.open(study, damaged=rescue)
    log = opened.export(rescue=rescue, path=file, force=force)
    if not file:
        streams.write(log.to_csv())
    for problem in log.problems:
        streams.say(f"damaged: {to_commands(problem)}")
    streams.say(log.summary() + (f", written to {file}" if file else ""))


def _export_surface(
    study: Path | None, file: Path | None, *, surface: bool, all: bool, rescue: bool, force: bool
) -> None:
    """Print the surface, or write it to a file by its ending."""
    from activetest.study.study import Study

    if rescue:
        raise ChoiceError("--rescue reads a damaged log", "leave out --surface")
    if not surface:
        raise ChoiceError("--all is about combinations of attributes", "--surface --all")
    found = Study.open(study).surface(path=file, all=all, force=force)
    if not file:
        streams.write(found.to_csv(all=all))
    written = f", written to {file}" if file else ""
    streams.say(f"{found.describe(all=all)}{written}")


COMMAND = export
