"""activetest report, as a command."""

from typing import Annotated

from typer import Option

from activetest.cli import options, streams
from activetest.errors import ChoiceError

FORMATS = (*options.FORMATS, "junit")


def report(
    metric: options.names("Metric, as recall[fraud]; else the study's.", "--metric") = None,
    group: options.names("Column of groups; else all of the study.", "--group", "COL") = None,
    difference: options.names("Column whose groups to compare.", "--difference", "COL") = None,
    require: Annotated[
        list[str] | None,
        Option(
            "--require",
            metavar="REQ",
            help="A gate, as 'recall[fraud]>=0.8' or 'error@region=EU<=0.1'. Again for more.",
        ),
    ] = None,
    interval: options.Kind = None,
    simultaneous: Annotated[
        bool, Option("--simultaneous", help="Let all groups' intervals hold together.")
    ] = False,
    half_width: Annotated[
        float | None,
        Option("--half-width", metavar="W", help="Say how many more labels make it this narrow."),
    ] = None,
    bound: Annotated[
        float | None,
        Option("--bound", metavar="B", help="What one item can cost at most, for anytime."),
    ] = None,
    estimator: options.names("What to estimate with.", "--estimator") = None,
    format: options.formats(*FORMATS) = "text",
    study: options.Folder = None,
):
    """Say how good the model is, with intervals, and decide gates.

    Exit codes: 0, every gate passed, or none was asked for; 1, a gate failed; 2, the input is
    wrong; 3, no gate failed, but one is undecided and needs more labels.
    """
    from activetest import catalog
    from activetest.nouns.report import count_verdicts, exit_code
    from activetest.study.report import report
    from activetest.study.study import Study

    renderer = catalog.load("render", options.one_of(FORMATS, format))
    if format == "junit" and not require:
        raise ChoiceError("junit is a list of gates, and there is none", "--require 'error<=0.1'")
    wishes = {"estimators": options.split(estimator), "metrics": options.specifications(metric)}
    wishes |= {"groups": options.split(group), "differences": options.split(difference)}
    wishes |= {"requirements": tuple(require or ()), "simultaneous": simultaneous}
    wishes |= {"interval": interval, "half_width": half_width, "bound": bound}
    made = report(Study.open(study), **options.given(wishes))
    streams.write(renderer.render(made))
    if made.gates:
        streams.say(count_verdicts(made.gates))
    return exit_code(made.gates)
