"""Estimates with their intervals as SVG: rows under each other, and the points of a curve.

Colours follow the page, light or dark; there is no script, and nothing is loaded. Every number
stands beside its mark or in its title, for screen readers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from activetest.errors import ChoiceError
from activetest.nouns.curve import MEASURES, Curve, CurveKind
from activetest.nouns.quantity import write_level
from activetest.nouns.report import EstimateRow, Report
from activetest.render.document import words
from activetest.render.plots.axes import choose_axis, of_records
from activetest.render.plots.svg import EDGE, Frame, escape, shorten, wrap, write

# Pixels: the names and numbers beside rows, a row, and the frame of a curve.
_NAMES, _NUMBERS, _ROW, _WIDTH, _HEIGHT = 190, 190, 26, 360, 300
# Space above and under the frame.
_HEAD, _FOOT = 46, 44
_AXES = {
    CurveKind.ROC: ("false positive rate", "recall"),
    CurveKind.PRECISION_RECALL: ("recall", "precision"),
    CurveKind.RELIABILITY: ("stated probability", "share right"),
}
_FEW = "Hollow grey dots: too few labels to be believed."


def draw_metric(report: Report, metric: str | None = None) -> str:
    """A metric of all items and of each group, by the headline's estimator.

    metric  as tables name it; None for the headline's

    Raises ChoiceError for one that the report does not show.
    """
    first = words.headline(report)
    name = words.metric(first) if metric is None and first else metric
    rows = [
        row
        for row in report.estimates
        if words.metric(row) == name
        and row.against is None
        and first is not None
        and row.estimator == first.estimator
    ]
    if not rows:
        known = dict.fromkeys(map(words.metric, report.estimates))
        raise ChoiceError(f"this report does not show {name!r}", f"choose from {', '.join(known)}")
    whole = next((row.estimate for row in rows if row.group is None), None)
    return draw_rows(f"{name} of {words.pool(report)}", rows, whole)


def draw_rows(title: str, rows: Sequence[EstimateRow], reference: float | None = None) -> str:
    """A row for each estimate, all on one axis.

    reference  a number that they are compared with: a dashed line
    """
    left, height = EDGE + _NAMES, _HEAD + _ROW * len(rows)
    frame = Frame(left, _HEAD, _WIDTH, _ROW * len(rows), of_records(rows, (reference,)))
    parts = [frame.draw()]
    if words.real(reference):
        x = frame.find_x(reference)
        parts.append(f'<line class="ref" x1="{x}" x2="{x}" y1="{_HEAD}" y2="{height}"/>')
    for place, row in enumerate(rows):
        y = _HEAD + _ROW * (place + 0.5)
        name = words.group(row) or "all items"
        numbers = f"{words.estimate(row)} ({words.interval_or_reason(row)})"
        parts += [
            write(EDGE, y + 4, shorten(name)),
            write(left + _WIDTH + 12, y + 4, numbers, "tick"),
            _mark_row(row, frame, y, f"{name}: {numbers}"),
        ]
    few = any(words.real(row.estimate) and not words.reliable(row) for row in rows)
    width = left + _WIDTH + _NUMBERS + EDGE
    note = f"{write_level(rows[0].level)} intervals.{f' {_FEW}' if few else ''}"
    return _wrap(title, note, parts, width, height + _FOOT)


def draw_curve(curve: Curve) -> str:
    """The points of a curve, each with the interval of what is measured upwards."""
    points = [each for each in curve.list_points() if _read(each, curve.kind)]
    across, up = (choose_axis([0.0, 1.0], share=True) for _ in range(2))
    left, bottom = EDGE + 40, _HEAD + _HEIGHT
    frame = Frame(left, _HEAD, _WIDTH, _HEIGHT, across, up)
    parts = [frame.draw()]
    if curve.kind != CurveKind.PRECISION_RECALL:
        parts.append(
            f'<line class="ref" x1="{left}" x2="{left + _WIDTH}" y1="{bottom}" y2="{_HEAD}"/>'
        )
    parts += [_mark_point(each, curve.kind, frame) for each in points]
    right, upward = _AXES[curve.kind]
    parts.append(write(left + _WIDTH / 2, bottom + 34, right, "tick", "middle"))
    parts.append(write(EDGE, _HEAD - 8, upward, "tick"))
    whole = len(curve.points)
    left_out = f" {whole - len(points):,} of {whole:,} have no number." * (len(points) < whole)
    few = "" if all(each["reliable"] for each in points) else f" {_FEW}"
    note = f"{curve.list_notes()[0]}{left_out}{few}"
    return _wrap(curve.title, note, parts, left + _WIDTH + EDGE + 120, bottom + _FOOT + 18)


def _read(point: Mapping[str, Any], kind: CurveKind) -> tuple[float, float] | None:
    """Where a point is: across and upwards; None where it has no number."""
    measures = MEASURES[kind]
    first = "predicted" if kind == CurveKind.RELIABILITY else measures[0]
    x, y = point[first], point[measures[-1]]
    return (x, y) if words.real(x) and words.real(y) else None


def _mark_point(point: Mapping[str, Any], kind: CurveKind, frame: Frame) -> str:
    where = _read(point, kind)
    assert where is not None
    x, y = frame.find_x(where[0]), frame.find_y(where[1])
    upward = MEASURES[kind][-1]
    low, high = point[f"{upward}_lower"], point[f"{upward}_upper"]
    bar, reach = "", ""
    if words.real(low) and words.real(high):
        ends = frame.find_y(low), frame.find_y(high)
        bar = f'<line class="i" x1="{x}" x2="{x}" y1="{ends[0]}" y2="{ends[1]}"/>'
        reach = f" ({words.short(low)} to {words.short(high)})"
    spoken = f"{words.short(where[0])}, {words.short(where[1])}{reach}"
    few = "" if point["reliable"] else ' class="few"'
    dot = f'<circle class="d" cx="{x}" cy="{y}" r="3.5"/>'
    return f"<g{few}><title>{escape(spoken)}</title>{bar}{dot}</g>"


def _mark_row(row: EstimateRow, frame: Frame, y: float, spoken: str) -> str:
    """The dot and the interval of a row; nothing without a number."""
    if row.estimate is None or not words.real(row.estimate):
        return ""
    bar = ""
    if row.lower is not None and row.upper is not None:
        ends = [frame.find_x(end) for end in (row.lower, row.upper)]
        bar = f'<line class="i" x1="{ends[0]}" x2="{ends[1]}" y1="{y}" y2="{y}"/>'
    few = "" if words.reliable(row) else ' class="few"'
    x = frame.find_x(row.estimate)
    return (
        f"<g{few}><title>{escape(spoken)}</title>{bar}"
        f'<circle class="d" cx="{x}" cy="{y}" r="4.5"/></g>'
    )


def _wrap(title: str, note: str, parts: Sequence[str], width: float, height: float) -> str:
    """The whole picture, with its title above and a note below."""
    head = f'<text x="{EDGE}" y="{EDGE + 8}" font-weight="600">{escape(title)}</text>'
    return wrap(title, width, height, [head, *parts, write(EDGE, height - 8, note, "tick")])
