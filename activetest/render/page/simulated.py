"""Simulated strategies as a page: their errors and costs by labels, and the table of results."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from activetest.render import _tables
from activetest.render import _words as words
from activetest.render.page import markup
from activetest.render.page.build import write_document
from activetest.render.page.markup import Section
from activetest.render.plots.curves import (
    Curve,
    Dashes,
    choose_budgets,
    curves,
    find_cost,
    heading,
    relative_error,
    round_numbers,
)

_MARK = '<meta name="generator" content="activetest simulate">'
_UNIFORM = "random draws, plain mean"
# Units of a drawing: its size, and where the axes are.
_WIDTH, _HEIGHT = 360, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 346, 12, 226
# What its plots need besides the style of all pages.
_SHEET = """
.panels{display:grid;gap:.4rem 1.4rem;
grid-template-columns:repeat(auto-fit,minmax(min(100%,17rem),1fr))}
.panel{margin:.4rem 0}
@media screen and (prefers-color-scheme:dark){
[stroke="#0072B2"]{stroke:#4c9fdc}[fill="#0072B2"]{fill:#4c9fdc}
[stroke="#7F4F24"]{stroke:#b98a5c}[fill="#7F4F24"]{fill:#b98a5c}}
"""
# Bands of more strategies than this would cover each other.
_MOST_BANDS = 4


@dataclass(frozen=True)
class _Panel:
    """One plot of a metric, logarithmic both ways.

    title      what is shown, by labels
    reference  of uniform draws: (budgets,)
    lines      of each curve: (budgets,) values, and the ends of their band
    has_one    1 is on the axis
    """

    title: str
    reference: np.ndarray
    lines: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    has_one: bool = False


def build(results: Sequence[dict]) -> str:
    """The page of a simulation, metric by metric."""
    titles = list(dict.fromkeys(result["metric"] for result in results))
    sections = [
        _write_metric(number, [each for each in results if each["metric"] == title])
        for number, title in enumerate(titles)
    ]
    table = markup.table(_tables.strategies(results), titled=False)
    remarks = markup.bullets(_tables.remarks(results), "small")
    sections.append(Section("results", "All results", table + remarks))
    header = (
        '<p class="kicker">Simulated studies</p>'
        f"<h1>What each way to draw and to estimate saves</h1>{markup.paragraph(heading(results))}"
    )
    return write_document("Simulation, by activetest", header, sections, mark=_MARK, sheet=_SHEET)


def _write_metric(number: int, results: Sequence[dict]) -> Section:
    """The three plots of a metric, their key, and what bands are."""
    lines = curves(results)
    name = words.plain(results[0]["metric"])
    budgets = sorted({result["budget"] for result in results})
    uniform = {result["budget"]: result for result in results}
    known = [uniform[budget] for budget in budgets]
    few = len(lines) <= _MOST_BANDS
    key = [_write_key(_UNIFORM, "currentColor", (0, (2, 2)))]
    key += [_write_key(curve.name, curve.color, curve.dashes) for curve in lines]
    drawn = [
        f'<figure class="panel"><figcaption>{markup.escape(panel.title)}</figcaption>'
        f"{_draw(panel, lines, budgets, name)}</figure>"
        for panel in _list_panels(lines, known)
    ]
    bands = (
        " Bands: one standard error of the mean; the middle half of the errors around the median."
        if few
        else ""
    )
    about = f"By number of labels, both axes logarithmic; lower is better.{bands}"
    return Section(
        f"metric-{number}",
        name,
        f'<p class="small">{"".join(key)}</p><div class="panels">{"".join(drawn)}</div>'
        f"{markup.paragraph(about, 'small')}",
    )


def _list_panels(lines: Sequence[Curve], known: Sequence[dict]) -> list[_Panel]:
    """Mean and median squared error, and relative cost; known are results by budget."""

    def read(name: str) -> np.ndarray:
        return np.array([result[name] for result in known], float)

    mean, median, cost = [], [], []
    for curve in lines:
        values = curve.column(lambda result: result["rmse"] ** 2)
        doubt = curve.column(relative_error)
        mean.append((values, values * (1 - doubt), values * (1 + doubt)))
        ends = [curve.column(_quartile(end)) for end in (0, 1)]
        median.append((curve.column(lambda result: result["median"]), ends[0], ends[1]))
        values = find_cost(curve)
        cost.append((values, values, values))
    return [
        _Panel("mean squared error", read("uniform_mse"), mean),
        _Panel("median squared error", read("uniform_median"), median),
        _Panel("labels used / labels random draws need", np.ones(len(known)), cost, has_one=True),
    ]


def _quartile(end: int) -> Callable[[dict], float]:
    return lambda result: float(result["quartiles"][end])


def _draw(panel: _Panel, lines: Sequence[Curve], budgets: Sequence[int], name: str) -> str:
    """The plot of a panel; its numbers are in the table of the page."""
    values = np.concatenate([panel.reference, *(line[0] for line in panel.lines)])
    values = values[np.isfinite(values) & (values > 0)]
    ends = (float(values.min()), float(values.max())) if len(values) else (1.0, 1.0)
    if panel.has_one:
        ends = min(ends[0], 0.95), max(ends[1], 1.05)
    (low, high), ticks = round_numbers(*ends)
    first, last = math.log(budgets[0]), math.log(budgets[-1])

    def across(budget: float) -> float:
        share = (math.log(budget) - first) / (last - first) if last > first else 0.5
        return round(_LEFT + 10 + share * (_RIGHT - _LEFT - 20), 1)

    def down(value: float) -> float:
        inside = min(max(value, low), high)
        share = (math.log(inside) - math.log(low)) / (math.log(high) - math.log(low))
        return round(_BOTTOM - share * (_BOTTOM - _TOP), 1)

    parts = []
    for tick in ticks:
        y = down(tick)
        text = f"{tick:g}".replace("e-0", "e-")
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(
            f'<text class="tick" x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{text}</text>'
        )
    for budget in choose_budgets(budgets):
        x = across(budget)
        parts.append(
            f'<text class="tick" x="{x}" y="{_BOTTOM + 18}" text-anchor="middle">{budget:,}</text>'
        )
    middle = (_LEFT + _RIGHT) / 2
    parts.append(
        f'<text class="tick" x="{middle}" y="{_BOTTOM + 38}" text-anchor="middle">labels</text>'
    )
    parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_RIGHT}" y1="{_BOTTOM}" y2="{_BOTTOM}"/>')
    if len(lines) <= _MOST_BANDS and not panel.has_one:
        for curve, (_, below, above) in zip(lines, panel.lines, strict=True):
            at = [result["budget"] for result in curve.results]
            upper, lower = _list_points(at, above), _list_points(at, below)[::-1]
            if len(upper) == len(lower) > 1:
                corners = " ".join(f"{across(x)},{down(y)}" for x, y in [*upper, *lower])
                parts.append(
                    f'<polygon points="{corners}" fill="{curve.color}" fill-opacity=".14"/>'
                )
    points = _list_points(budgets, panel.reference)
    parts.append(_draw_line([(across(x), down(y)) for x, y in points], "currentColor", (0, (2, 2))))
    for curve, (line, *_) in zip(lines, panel.lines, strict=True):
        places = [
            (across(x), down(y))
            for x, y in _list_points([result["budget"] for result in curve.results], line)
        ]
        parts.append(_draw_line(places, curve.color, curve.dashes))
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{curve.color}"/>' for x, y in places]
    label = markup.escape(f"{name}: {panel.title} by labels; the numbers are in the table below")
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        f"{''.join(parts)}</svg>"
    )


def _list_points(budgets: Sequence[int], values: np.ndarray) -> list[tuple[int, float]]:
    """The budgets with a value that has a logarithm."""
    return [
        (budget, float(value))
        for budget, value in zip(budgets, values, strict=True)
        if math.isfinite(value) and value > 0
    ]


def _draw_line(points: Sequence[tuple[float, float]], color: str, dashes: Dashes) -> str:
    corners = " ".join(f"{x},{y}" for x, y in points)
    return (
        f'<polyline points="{corners}" fill="none" stroke="{color}" stroke-width="2"'
        f"{_write_dashes(dashes)}/>"
    )


def _write_dashes(dashes: Dashes) -> str:
    """The attribute of a dashed line, from lengths in widths of a line."""
    if isinstance(dashes, str):
        return ""
    return f' stroke-dasharray="{" ".join(f"{2 * length:g}" for length in dashes[1])}"'


def _write_key(name: str, color: str, dashes: Dashes) -> str:
    line = _draw_line([(0, 6), (26, 6)], color, dashes)
    return f'<span class="key"><svg aria-hidden="true">{line}</svg>{markup.escape(name)}</span>'
