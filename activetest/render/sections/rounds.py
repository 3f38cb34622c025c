"""How the estimate converged, with the band that random labels would have had."""

from collections.abc import Iterator, Sequence

from activetest.nouns.report import Report
from activetest.nouns.report_details import HistoryPoint, ReportDetails
from activetest.render.document import words
from activetest.render.document.blocks import (
    Block,
    Chart,
    Columns,
    Figure,
    Point,
    Sentence,
    tabulate,
)
from activetest.render.document.extent import Extent
from activetest.render.plots import axes

PLACE = 7
TITLE = "How it converged"
OF = "details"
PAGED = True


def write(details: ReportDetails, report: Report, extent: Extent) -> Iterator[Block]:
    """The estimate after each round; nothing while there is one round."""
    points = [point for point in details.history if words.real(point.estimate)]
    if len(points) < 2:
        return
    row = words.headline(report)
    given = f", {condition}" if row and (condition := words.condition(row)) else ""
    yield Sentence(
        f"{details.history_of}{given}, estimated again after each round of labels.", style="plain"
    )
    columns: Columns = {
        "round": lambda point: words.count(point.round),
        "labels": lambda point: words.count(point.n_labeled),
        "estimate": lambda point: _measure(point)[0],
        "interval": lambda point: _measure(point)[1],
        "random labels": lambda point: words.write_measure(
            None, point.random_lower, point.random_upper
        )[1],
    }
    numbers = tabulate(
        f"{details.history_of}, round by round",
        columns,
        points,
        left=("interval", "random labels"),
    )
    banded = any(point.random_lower is not None for point in points)
    marks = ("dot", "band") if banded else ("dot",)
    yield Figure(_draw(points, details, report), details.random_band or "", numbers, marks)


def _measure(point: HistoryPoint) -> tuple[str, str]:
    return words.write_measure(point.estimate, point.lower, point.upper)


def _draw(points: Sequence[HistoryPoint], details: ReportDetails, report: Report) -> Chart:
    """Labels across, the metric up."""
    ends = [
        value
        for point in points
        for value in (
            *(point.estimate, point.lower, point.upper),
            *(point.random_lower, point.random_upper),
        )
        if words.real(value)
    ]
    ends = _cut_early(ends, points)
    up = axes.choose_axis(ends, share=axes.is_shares(ends))
    value, reach = _measure(points[-1])
    labels = words.count(points[-1].n_labeled)
    return Chart(
        f"{details.history_of} after each round: {value} ({reach}) with {labels} labels",
        axes.choose_axis([0, *(point.n_labeled for point in points)]),
        up,
        [axes.name_tick(up, tick, words.headline(report)) for tick in up.ticks],
        [Point(each.n_labeled, each.estimate or 0.0, each.lower, each.upper) for each in points],
        counted="labels",
        band=[
            (each.n_labeled, each.random_lower, each.random_upper)
            for each in points
            if words.real(each.random_lower) and words.real(each.random_upper)
        ],
    )


def _cut_early(values: list[float], points: Sequence[HistoryPoint]) -> list[float]:
    """The numbers without the ends of early intervals that would make all others flat.

    Ends further from the span of the last half of the rounds than its width are cut off.
    """
    late = [
        value
        for point in points[len(points) // 2 :]
        for value in (point.estimate, point.lower, point.upper)
        if words.real(value)
    ]
    late += [point.estimate for point in points if words.real(point.estimate)]
    low, high = min(late), max(late)
    room = 1.0 * (high - low)
    return [min(max(value, low - room), high + room) for value in values]
