"""activetest export, as a command."""

from pathlib import Path
from typing import Annotated, Any

from typer import Option

from activetest.cli import options, streams
from activetest.cli.spelling import to_commands
from activetest.errors import ChoiceError
from activetest.nouns.name_lists import join_names

EXAMPLES = (
    "activetest export -o log.csv",
    "activetest export --rescue -o rescued.csv",
    "activetest export --surface -o surface.parquet",
    "activetest export --curve 'roc[fraud]' -o roc.csv",
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
    curve: Annotated[
        str | None,
        Option(
            "--curve",
            metavar="CURVE",
            help="A curve, not the log: roc[CLASS], precision-recall[CLASS] or reliability.",
        ),
    ] = None,
    simultaneous: Annotated[
        bool,
        Option("--simultaneous", help="With --curve: make all its intervals hold together."),
    ] = False,
    points: Annotated[
        int | None, Option("--points", metavar="N", help="With --curve: most thresholds.")
    ] = None,
    bins: Annotated[
        str | None,
        Option(
            "--bins",
            metavar="BINS",
            help="With --curve reliability: bins, such as 10 or equal-count,10.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        Option("--format", metavar="csv|json", help="With --curve: as CSV or as JSON."),
    ] = None,
    force: Annotated[bool, Option("--force", help="Let -o replace a file that is there.")] = False,
    study: options.Folder = None,
) -> None:
    """Print the log of draws, the surface or a curve, as CSV.

    The log has every draw with its probability, and every label with its time. A curve can be JSON.
    """
    from activetest.study.study import Study

    file = None if output is None or str(output) == "-" else output
    named = {"points": points, "bins": bins, "format": format, "simultaneous": simultaneous or None}
    settings = options.drop_missing(named)
    if curve is None and settings:
        names = join_names(f"--{name}" for name in settings)
        raise ChoiceError(f"{names}: only curves have that", "name one, as in --curve roc")
    if curve is not None:
        if rescue or surface or all:
            raise ChoiceError(
                "--curve is neither the log nor the surface",
                "leave out --rescue, --surface and --all",
            )
        _export_curve(study, file, curve, settings, force=force)
        return
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


def _export_curve(
    study: Path | None, file: Path | None, name: str, settings: dict[str, Any], *, force: bool
) -> None:
    """Print a curve, or write it to a file."""
    from activetest.study.study import Study

    found = Study.open(study).curve(name, path=file, force=force, **settings)
    if not file:
        as_json = settings.get("format") == "json"
        streams.write(found.to_json() if as_json else found.to_csv())
    streams.say(found.describe() + (f", written to {file}" if file else ""))
    for note in found.notes[1:]:
        streams.say(note)


COMMAND = export
