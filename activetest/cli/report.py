"""activetest report, as a command."""

import re
from collections.abc import Iterable
from pathlib import Path

from activetest import catalog
from activetest.cli import completion, options, progress_line, streams
from activetest.cli.interrupts import ExitCode
from activetest.cli.spelling import translate_report
from activetest.errors import ChoiceError
from activetest.nouns.choices import Interval

EXAMPLES = (
    "activetest report --metric f1 --require 'error<=0.1'",
    "activetest report --require 'error<=0.1' -o report.html -o junit.xml",
)
# A gate up to its number, where another one follows after a comma.
_GATE = re.compile(r"(.+?[<>]=?\s*[-+.\d%eE]+)(?:,|$)")


def run(
    metric: options.take(
        "--metric METRIC,...",
        "Metric to report, such as recall[fraud], instead of the study's. The first is the "
        "headline.",
        completes="metrics",
    ) = None,
    group: options.take(
        "--group COL,...",
        "Group column to show, instead of all of the study.",
        completes=completion.COLUMNS,
    ) = None,
    difference: options.take(
        "--difference COL,...",
        "Group column whose groups are compared with each other.",
        completes=completion.COLUMNS,
    ) = None,
    model: options.take("--model NAME", "Model to report on, instead of the study's first.") = None,
    part: options.take(
        "--part NAME,...", "Part of the population to report on, instead of all; last:4 for four."
    ) = None,
    by: options.take(
        "--by", "Add every metric in each part of the population.", values=("part",)
    ) = None,
    reference_part: options.take(
        "--reference-part NAME", "Part that the newest one is compared with."
    ) = None,
    threshold: options.take(
        "--threshold T",
        "Report as if the positive class were predicted from this probability on.",
        float | None,
    ) = None,
    reference: options.take(
        "--reference NAME",
        "Model that all others are compared with, item by item.",
    ) = None,
    rope: options.take(
        "--rope E",
        "With --reference: call models equal whose difference is shown to be at most this size.",
        float | None,
    ) = None,
    require: options.take(
        "--require REQ,...",
        "Gate to decide, such as 'recall[fraud]>=0.8' or 'error@region=EU<=0.1'.",
    ) = None,
    interval: options.take(
        "--interval",
        "fixed holds at one look, anytime at any number, sequential (gates) at planned ones, "
        "posterior if the surrogate is right.",
        values=tuple(Interval),
    ) = None,
    simultaneous: options.take(
        "--simultaneous", "Make all intervals of a column hold together."
    ) = False,
    half_width: options.take(
        "--half-width W",
        "Say how many more labels make the headline's interval plus or minus W.",
        float | None,
    ) = None,
    bound: options.take(
        "--bound B",
        "Most that one item can cost; gives anytime intervals to losses without a bound.",
        float | None,
    ) = None,
    assume: options.take(
        "--assume SHARE",
        "Rest intervals on what you know of rare classes, such as "
        "'rate[fraud]@score<1e-4<=0.0001'; may be given again.",
        options.Names,
    ) = None,
    population: options.take(
        "--population",
        "Report on what the pool is a sample of, future items too, not on this pool.",
    ) = False,
    cluster: options.take(
        "--cluster COL",
        "With --population: column whose values were sampled, each with all its items.",
    ) = None,
    estimator: options.take(
        "--estimator NAME,...", "Estimator to show.", completes="estimators"
    ) = None,
    surface: options.take(
        "--surface", "Show more of the metric at combinations of attributes."
    ) = False,
    at: options.take(
        "--at CELL",
        "Combination to show, such as 'race=Black,sex=Female'; may be given again.",
        options.Names,
    ) = None,
    map: options.take(
        "--map COL*COL", "Two attributes to map; may be given again.", options.Names
    ) = None,
    plot: options.take(
        "--plot FILE",
        "Draw the map to this file, .svg; one for each. Without --map, draw the groups that the "
        "study's question is about.",
        list[Path] | None,
    ) = None,
    output: options.output_files(".html, .json, .md, .txt, or .xml for JUnit") = None,
    force: options.take(
        "--force", "Let -o and --plot replace files that are no earlier ones."
    ) = False,
    details: options.take(
        "--details", "Put into JSON all that a page shows, texts of items included."
    ) = False,
    verbose: options.verbose("Show all estimates and notes, in text and Markdown.") = False,
    format: options.output_format("report") = "text",
    engine: options.engine() = None,
    study: options.Folder = None,
) -> int:
    """Estimate how good the model is, with intervals, and decide gates.

    Exit codes: 0, every gate passed, or none was asked for; 1, a gate failed; 2, the input is
    wrong; 3, no gate failed, but one is undecided.
    """
    from activetest.nouns.report import count_verdicts
    from activetest.study.study import Study

    opened = Study.open(study)
    files = list(opened.report_files) if output is None else [Path(each) for each in output if each]
    gates = None if require is None else split_gates(filter(None, require))
    renderer = options.load_format(format, "render")
    formats = (format, *opened.check_report_files(files, force=force))
    for each in formats:
        required = opened.report_settings.require if gates is None else gates
        if catalog.fact("render", each, "NEEDS_GATES") and not required:
            raise ChoiceError(
                f"{each} is a list of gates, and there is none", "--require 'error<=0.1'"
            )
    with progress_line.shown(verbose=verbose):
        found = opened.report(
            metrics=options.split_metrics(metric),
            groups=options.split_names(group),
            differences=options.split_names(difference),
            model=model,
            part=options.split_names(part) or (),
            by=by,
            reference_part=reference_part,
            threshold=threshold,
            reference=reference,
            rope=rope,
            require=gates,
            interval=interval,
            simultaneous=simultaneous,
            half_width=half_width,
            bound=bound,
            assume=assume,
            estimators=options.split_names(estimator),
            population=population,
            cluster=cluster,
            surface=surface,
            at=at or (),
            maps=map or (),
            plot=plot or (),
            force=force,
            details=details
            or any(catalog.fact("render", each, "NEEDS_DETAILS") for each in formats),
        )
    found = translate_report(found)
    more = "activetest report -v"
    abridged = catalog.fact("render", format, "ABRIDGED")
    shown = renderer.render(found, **({"verbose": verbose, "more": more} if abridged else {}))
    found.save(files, force=force, verbose=verbose, more=more)
    streams.write(shown, styled=True)
    for file in files:
        streams.say(f"written: {file}")
    # Who reads both streams has just read it in the report.
    repeated = abridged and streams.have_one_reader()
    if found.gates and not repeated:
        streams.say(count_verdicts(found.gates))
    return ExitCode(found.exit_code)


def split_gates(texts: Iterable[str]) -> tuple[str, ...]:
    """Every gate: a comma after the number of one begins the next."""
    found: list[str] = []
    for text in texts:
        gates = _GATE.findall(text)
        found += gates if ",".join(gates) == text else [text]
    return tuple(found)
