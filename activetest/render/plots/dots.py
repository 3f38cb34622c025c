"""Estimates with their intervals as SVG: rows under each other, and the points of a curve.

Colours follow the page, light or dark; there is no script, and nothing is loaded. Every number
stands beside its mark or in its title, for screen readers.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from activetest.errors import ChoiceError
from activetest.nouns.curve import MEASURES, Curve, CurveKind
from activetest.nouns.quantity import write_level
from activetest.nouns.report import EstimateRow, Report
from activetest.render import _words as words
from activetest.render.plots.axes import Axis, choose_axis, of_records

# Pixels: the names and numbers beside rows, a row, the edge of all, and the frame of a curve.
_NAMES, _NUMBERS, _ROW, _EDGE, _WIDTH, _HEIGHT = 190, 190, 26, 16, 360, 300
# Letters of a name that fit.
_LONGEST = 26
# What stands above and under the frame.
_HEAD, _FOOT = 46, 44
_STYLE = (
    "text{fill:#1b2026}.ground{fill:#fff}.tick{fill:#55606c;font-size:11px}.grid{stroke:#d5dae0}"
    ".i{stroke:#0072B2;stroke-width:2}.d{fill:#0072B2}.few .i{stroke:#8a949e}"
    ".few .d{fill:none;stroke:#8a949e;stroke-width:1.5}.ref{stroke:#55606c;stroke-dasharray:4 4}"
    "@media (prefers-color-scheme:dark){text{fill:#e7eaee}.ground{fill:#13171b}"
    ".tick{fill:#a6b0ba}.grid{stroke:#363e47}.i{stroke:#4c9fdc}.d{fill:#4c9fdc}}"
)
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
    axis = of_records(rows, (reference,))
    left, height = _EDGE + _NAMES, _HEAD + _ROW * len(rows)
    parts = [_grid(axis, left, _HEAD, height)]
    if reference is not None and words.real(reference):
        x = _across(axis, reference, left)
        parts.append(f'<line class="ref" x1="{x}" x2="{x}" y1="{_HEAD}" y2="{height}"/>')
    for place, row in enumerate(rows):
        y = _HEAD + _ROW * (place + 0.5)
        name = words.group(row) or "all items"
        numbers = f"{words.estimate(row)} ({words.interval_or_reason(row)})"
        parts += [
            _write(_EDGE, y + 4, _shorten(name)),
            _write(left + _WIDTH + 12, y + 4, numbers, "tick"),
            _mark_row(row, axis, left, y, f"{name}: {numbers}"),
        ]
    few = any(words.real(row.estimate) and not words.reliable(row) for row in rows)
    width = left + _WIDTH + _NUMBERS + _EDGE
    note = f"{write_level(rows[0].level)} intervals.{f' {_FEW}' if few else ''}"
    return _wrap(title, note, parts, width, height + _FOOT)


def draw_curve(curve: Curve) -> str:
    """The points of a curve, each with the interval of what is measured upwards."""
    points = [each for each in curve.list_points() if _read(each, curve.kind)]
    across, up = (choose_axis([0.0, 1.0], share=True) for _ in range(2))
    left, bottom = _EDGE + 40, _HEAD + _HEIGHT
    parts = [_grid(across, left, _HEAD, bottom)]
    for tick in up.ticks:
        y = _up(up, tick)
        parts.append(f'<line class="grid" x1="{left}" x2="{left + _WIDTH}" y1="{y}" y2="{y}"/>')
        parts.append(_write(left - 6, y + 4, up.name(tick), "tick", "end"))
    if curve.kind != CurveKind.PRECISION_RECALL:
        parts.append(
            f'<line class="ref" x1="{left}" x2="{left + _WIDTH}" y1="{bottom}" y2="{_HEAD}"/>'
        )
    parts += [_mark_point(each, curve.kind, across, up, left) for each in points]
    right, upward = _AXES[curve.kind]
    parts.append(_write(left + _WIDTH / 2, bottom + 34, right, "tick", "middle"))
    parts.append(_write(_EDGE, _HEAD - 8, upward, "tick"))
    whole = len(curve.points)
    left_out = f" {whole - len(points):,} of {whole:,} have no number." * (len(points) < whole)
    few = "" if all(each["reliable"] for each in points) else f" {_FEW}"
    note = f"{curve.list_notes()[0]}{left_out}{few}"
    return _wrap(curve.title, note, parts, left + _WIDTH + _EDGE + 120, bottom + _FOOT + 18)


def _read(point: Mapping[str, Any], kind: CurveKind) -> tuple[float, float] | None:
    """Where a point is: across and upwards; None where it has no number."""
    measures = MEASURES[kind]
    first = "predicted" if kind == CurveKind.RELIABILITY else measures[0]
    x, y = point[first], point[measures[-1]]
    return (x, y) if words.real(x) and words.real(y) else None


def _mark_point(
    point: Mapping[str, Any], kind: CurveKind, across: Axis, up: Axis, left: float
) -> str:
    where = _read(point, kind)
    assert where is not None
    x, y = _across(across, where[0], left), _up(up, where[1])
    upward = MEASURES[kind][-1]
    low, high = point[f"{upward}_lower"], point[f"{upward}_upper"]
    bar, reach = "", ""
    if words.real(low) and words.real(high):
        bar = f'<line class="i" x1="{x}" x2="{x}" y1="{_up(up, low)}" y2="{_up(up, high)}"/>'
        reach = f" ({words.short(low)} to {words.short(high)})"
    spoken = f"{words.short(where[0])}, {words.short(where[1])}{reach}"
    few = "" if point["reliable"] else ' class="few"'
    dot = f'<circle class="d" cx="{x}" cy="{y}" r="3.5"/>'
    return f"<g{few}><title>{escape(spoken)}</title>{bar}{dot}</g>"


def _mark_row(row: EstimateRow, axis: Axis, left: float, y: float, spoken: str) -> str:
    """The dot and the interval of a row; nothing without a number."""
    if row.estimate is None or not words.real(row.estimate):
        return ""
    bar = ""
    if row.lower is not None and row.upper is not None:
        ends = [_across(axis, end, left) for end in (row.lower, row.upper)]
        bar = f'<line class="i" x1="{ends[0]}" x2="{ends[1]}" y1="{y}" y2="{y}"/>'
    few = "" if words.reliable(row) else ' class="few"'
    x = _across(axis, row.estimate, left)
    return (
        f"<g{few}><title>{escape(words.plain(spoken))}</title>{bar}"
        f'<circle class="d" cx="{x}" cy="{y}" r="4.5"/></g>'
    )


def _grid(axis: Axis, left: float, top: float, bottom: float) -> str:
    """Lines at the ticks across, and their names below."""
    parts = []
    for tick in axis.ticks:
        x = _across(axis, tick, left)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>')
        parts.append(_write(x, bottom + 16, axis.name(tick), "tick", "middle"))
    return "".join(parts)


def _across(axis: Axis, value: float, left: float) -> float:
    return round(left + axis.share(value) * _WIDTH, 1)


def _up(axis: Axis, value: float) -> float:
    return round(_HEAD + (1 - axis.share(value)) * _HEIGHT, 1)


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}\u2026"


def _write(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    """A text at a place; anchor is "middle" or "end" where it is not its beginning."""
    attributes = f' class="{kind}"' if kind else ""
    attributes += f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{attributes}>{escape(words.plain(text))}</text>'


def _wrap(title: str, note: str, parts: Sequence[str], width: float, height: float) -> str:
    """The whole picture, with its title above and a note below."""
    name = escape(words.plain(title))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="system-ui,sans-serif" font-size="13" '
        f'role="group" aria-label="{name}"><style>{_STYLE}</style>'
        f'<rect class="ground" width="{width:g}" height="{height:g}"/>'
        f'<text x="{_EDGE}" y="{_EDGE + 8}" font-weight="600">{name}</text>{"".join(parts)}'
        f"{_write(_EDGE, height - 8, note, 'tick')}</svg>\n"
    )
