"""activetest export, as a command."""

from pathlib import Path

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


def run(
    output: options.take(
        "-o, --output FILE", "New file to write to, instead of standard output.", Path | None
    ) = None,
    rescue: options.take("--rescue", "Read what can still be read of a damaged ledger.") = False,
    surface: options.take(
        "--surface",
        "The surface, not the log: every combination of attributes; .csv or .parquet.",
    ) = False,
    all: options.take("--all", "With --surface: combinations that do not occur, too.") = False,
    curve: options.take(
        "--curve CURVE",
        "A curve, not the log: roc[CLASS], precision-recall[CLASS] or reliability.",
    ) = None,
    simultaneous: options.take(
        "--simultaneous", "With --curve: make all its intervals hold together."
    ) = False,
    points: options.take("--points N", "With --curve: most thresholds.", int | None) = None,
    bins: options.take(
        "--bins BINS", "With --curve reliability: bins, such as 10 or equal-count,10."
    ) = None,
    format: options.take("--format csv|json", "With --curve: as CSV or as JSON.") = None,
    force: options.take("--force", "Let -o replace a file that is there.") = False,
    study: options.Folder = None,
) -> None:
    """Print the log of draws, the surface or a curve, as CSV.

    The log has every draw with its probability, and every label with its time. A curve can be JSON.
    """
    from activetest.study.study import Study

    file = None if output is None or str(output) == "-" else output
    written = f", written to {file}" if file else ""
    of_curves = {"points": points, "bins": bins, "format": format, "simultaneous": simultaneous}
    named = [
        f"--{name}" for name, value in of_curves.items() if value is not None and value is not False
    ]
    if curve is None and named:
        raise ChoiceError(
            f"{join_names(named)}: only curves have that", "name one, as in --curve roc"
        )
    if curve is not None:
        if rescue or surface or all:
            raise ChoiceError(
                "--curve is neither the log nor the surface",
                "leave out --rescue, --surface and --all",
            )
        found = Study.open(study).curve(
            curve,
            simultaneous=simultaneous,
            points=points,
            bins=bins,
            path=file,
            format=format,
            force=force,
        )
        if not file:
            streams.write(found.to_json() if format == "json" else found.to_csv())
        streams.say(found.describe() + written)
        for note in found.notes[1:]:
            streams.say(note)
        return
    if surface or all:
        if rescue:
            raise ChoiceError("--rescue reads a damaged log", "leave out --surface")
        if not surface:
            raise ChoiceError("--all is about combinations of attributes", "--surface --all")
        fitted = Study.open(study).surface(path=file, all=all, force=force)
        if not file:
            streams.write(fitted.to_csv(all=all))
        streams.say(fitted.describe(all=all) + written)
        return
    opened = Study.open(study, damaged=rescue)
    log = opened.export(rescue=rescue, path=file, force=force)
    if not file:
        streams.write(log.to_csv())
    for problem in log.problems:
        streams.say(f"damaged: {to_commands(problem)}")
    streams.say(log.summary() + written)
