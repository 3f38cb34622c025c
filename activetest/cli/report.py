"""activetest report, as a command."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from activetest import catalog
from activetest.cli import completion, options, progress_line, streams
from activetest.cli.exit_codes import ExitCode
from activetest.cli.spelling import translate_report
from activetest.errors import ChoiceError
from activetest.nouns.choices import Interval

if TYPE_CHECKING:
    from activetest.study.study import Study

EXAMPLES = (
    "activetest report --metric f1 --require 'error<=0.1'",
    "activetest report --require 'error<=0.1' -o report.html -o junit.xml",
)
# A gate up to its number, where another one follows after a comma.
_GATE = re.compile(r"(.+?[<>]=?\s*[-+.\d%eE]+)(?:,|$)")


def report(
    metric: options.name_list(
        "Metric to report, such as recall[fraud], instead of the study's. The first is the "
        "headline.",
        "--metric",
        "METRIC,...",
        completes="metrics",
    ) = None,
    group: options.name_list(
        "Group column to show, instead of all of the study.",
        "--group",
        "COL,...",
        completes=completion.COLUMNS,
    ) = None,
    difference: options.name_list(
        "Group column whose groups are compared with each other.",
        "--difference",
        "COL,...",
        completes=completion.COLUMNS,
    ) = None,
    require: Annotated[
        list[str] | None,
        Option(
            "--require",
            metavar="REQ,...",
            help="Gate to decide, such as 'recall[fraud]>=0.8' or 'error@region=EU<=0.1'.",
        ),
    ] = None,
    interval: options.one_value(
        "fixed holds at one look, anytime at any number, sequential (gates) at planned ones, "
        "posterior if the surrogate is right.",
        "--interval",
        tuple(Interval),
    ) = None,
    simultaneous: Annotated[
        bool, Option("--simultaneous", help="Make all intervals of a column hold together.")
    ] = False,
    half_width: Annotated[
        float | None,
        Option(
            "--half-width",
            metavar="W",
            help="Say how many more labels make the headline's interval plus or minus W.",
        ),
    ] = None,
    bound: Annotated[
        float | None,
        Option(
            "--bound",
            metavar="B",
            help="Most that one item can cost; gives anytime intervals to losses without a bound.",
        ),
    ] = None,
    assume: Annotated[
        list[str] | None,
        Option(
            "--assume",
            metavar="SHARE",
            help="Rest intervals on what you know of rare classes, such as "
            "'rate[fraud]@score<1e-4<=0.0001'; may be given again.",
        ),
    ] = None,
    population: Annotated[
        bool,
        Option(
            "--population",
            help="Report on what the pool is a sample of, future items too, not on this pool.",
        ),
    ] = False,
    cluster: Annotated[
        str | None,
        Option(
            "--cluster",
            metavar="COL",
            help="With --population: column whose values were sampled, each with all its items.",
        ),
    ] = None,
    estimator: options.name_list(
        "Estimator to show.", "--estimator", completes="estimators"
    ) = None,
    surface: Annotated[
        bool,
        Option("--surface", help="Show more of the metric at combinations of attributes."),
    ] = False,
    at: Annotated[
        list[str] | None,
        Option(
            "--at",
            metavar="CELL",
            help="Combination to show, such as 'race=Black,sex=Female'; may be given again.",
        ),
    ] = None,
    map: Annotated[
        list[str] | None,
        Option("--map", metavar="COL*COL", help="Two attributes to map; may be given again."),
    ] = None,
    plot: Annotated[
        list[Path] | None,
        Option(
            "--plot",
            metavar="FILE",
            help="Draw the map to this file, .svg; one for each. Without --map, draw the groups "
            "that the study's question is about.",
        ),
    ] = None,
    output: options.output_files(".html, .json, .md, .txt, or .xml for JUnit") = None,
    force: Annotated[
        bool, Option("--force", help="Let -o and --plot replace files that are no earlier ones.")
    ] = False,
    details: Annotated[
        bool,
        Option("--details", help="Put into JSON all that a page shows, texts of items included."),
    ] = False,
    verbose: options.verbose("Show all estimates and notes, in text and Markdown.") = False,
    format: options.output_format("report") = "text",
    study: options.Folder = None,
) -> int:
    """Estimate how good the model is, with intervals, and decide gates.

    Exit codes: 0, every gate passed, or none was asked for; 1, a gate failed; 2, the input is
    wrong; 3, no gate failed, but one is undecided.
    """
    from activetest.study.study import Study

    settings = {
        "estimators": options.split_names(estimator),
        "metrics": options.split_metrics(metric),
        "groups": options.split_names(group),
        "differences": options.split_names(difference),
        "require": None if require is None else split_gates(filter(None, require)),
        "simultaneous": simultaneous,
        "interval": interval,
        "half_width": half_width,
        "bound": bound,
        "assume": assume,
        "population": population,
        "cluster": cluster,
        "surface": surface,
        "at": at,
        "maps": map,
        "plot": plot,
        "details": details,
    }
    opened = Study.open(study)
    chosen = options.drop_missing(settings) | {"force": force}
    files = opened.report_files if output is None else [Path(name) for name in output if name]
    return _write_report(opened, chosen, format, list(files), verbose=verbose)


def _write_report(
    study: "Study", settings: dict[str, Any], format: str, files: list[Path], *, verbose: bool
) -> ExitCode:
    """Write the report to the files and to standard output; the exit code.

    settings  as `study.report` takes them
    """
    from activetest.nouns.report import count_verdicts

    renderer = options.load_format(format, "render")
    formats = (format, *study.check_report_files(files, force=settings["force"]))
    gates = settings.get("require", study.report_settings.require)
    for each in formats:
        if catalog.fact("render", each, "NEEDS_GATES") and not gates:
            raise ChoiceError(
                f"{each} is a list of gates, and there is none", "--require 'error<=0.1'"
            )
    if any(catalog.fact("render", each, "NEEDS_DETAILS") for each in formats):
        settings = settings | {"details": True}
    with progress_line.shown(verbose=verbose):
        report = translate_report(study.report(**settings))
    more = "activetest report -v"
    abridged = catalog.fact("render", format, "ABRIDGED")
    extent = {"verbose": verbose, "more": more} if abridged else {}
    shown = renderer.render(report, **extent)
    report.save(files, force=settings["force"], verbose=verbose, more=more)
    streams.write(shown, styled=True)
    for file in files:
        streams.say(f"written: {file}")
    # Who reads both streams has just read it in the report.
    repeated = abridged and streams.have_one_reader()
    if report.gates and not repeated:
        streams.say(count_verdicts(report.gates))
    return ExitCode(report.exit_code)


def split_gates(texts: Iterable[str]) -> tuple[str, ...]:
    """Every gate: a comma after the number of one begins the next."""
    found: list[str] = []
    for text in texts:
        gates = _GATE.findall(text)
        found += gates if ",".join(gates) == text else [text]
    return tuple(found)


COMMAND = report
