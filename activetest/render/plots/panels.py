"""Curves of simulated strategies as SVG, which page and picture share.

Mean and median squared error and relative labelling cost by labels, logarithmic both ways: Active
Testing (Kossen 2021), Fig. 4, 6 and A.3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from activetest.render.document import words
from activetest.render.document.simulation import has_end, write_labels
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
from activetest.render.plots.svg import escape, wrap

UNIFORM = "random draws, plain mean"
DOTS: Dashes = (0, (2, 2))
# Bands of more strategies than this would cover each other.
MOST_BANDS = 4
# The mark near the beginning of every stand-alone picture of a simulation.
MARK = 'data-drawn-by="activetest-simulate"'
# Units of a drawing: its size, and where the axes are.
_WIDTH, _HEIGHT = 360, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 346, 12, 226
# Of a picture: what stands around it, a line of text, the sample of a curve, and between panels.
_EDGE, _LINE, _SAMPLE, _GAP = 20, 20, 26, 14
# Of bars: where they begin, and what is left for the number behind the longest.
_BAR_LEFT, _BAR_TEXT = 14, 110
# How strongly each bar of a strategy is filled.
_BARS = {"until_right": 0.35, "until_sure": 1}
WAITS = "labels until the answer is right"
# Looks that are shown of a curve.
_MOST_LOOKS = 24
# Letters of a curve's name that fit below a panel.
_LONGEST = 44


@dataclass(frozen=True)
class Panel:
    """One plot of a metric, logarithmic both ways.

    title      what is shown, by labels
    reference  of uniform draws: (budgets,)
    lines      of each curve: (budgets,) values, and the ends of their band
    has_one    1 is on the axis
    is_share   values are from 0 to 1, and their axis is linear
    """

    title: str
    reference: np.ndarray
    lines: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    has_one: bool = False
    is_share: bool = False


def _list_panels(lines: Sequence[Curve], known: Sequence[dict]) -> list[Panel]:
    """Mean and median squared error, and relative cost; known are results by budget."""

    def read(name: str) -> np.ndarray:
        return np.array([result[name] for result in known], float)

    mean, median, cost = [], [], []
    for curve in lines:
        values = curve.column(lambda result: result["rmse"] ** 2)
        doubt = curve.column(relative_error)
        mean.append((values, values * (1 - doubt), values * (1 + doubt)))
        low = curve.column(lambda result: result["quartiles"][0])
        high = curve.column(lambda result: result["quartiles"][1])
        median.append((curve.column(lambda result: result["median"]), low, high))
        values = find_cost(curve)
        cost.append((values, values, values))
    return [
        Panel("mean squared error", read("uniform_mse"), mean),
        Panel("median squared error", read("uniform_median"), median),
        Panel("labels used / labels random draws need", np.ones(len(known)), cost, has_one=True),
    ]


def draw_panel(
    panel: Panel, lines: Sequence[Curve], budgets: Sequence[int], name: str, where: str = ""
) -> str:
    """The plot of a panel; its numbers are in the table of the page.

    where    attributes that place it in another drawing
    """
    (low, high), ticks = _find_ends(panel)
    first, last = math.log(budgets[0]), math.log(budgets[-1])

    def across(budget: float) -> float:
        share = (math.log(budget) - first) / (last - first) if last > first else 0.5
        return round(_LEFT + 10 + share * (_RIGHT - _LEFT - 20), 1)

    def down(value: float) -> float:
        inside = min(max(value, low), high)
        share = inside
        if not panel.is_share:
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
    if len(lines) <= MOST_BANDS and not (panel.has_one or panel.is_share):
        for curve, (_, below, above) in zip(lines, panel.lines, strict=True):
            at = [result["budget"] for result in curve.results]
            upper, lower = _list_points(at, above), _list_points(at, below)[::-1]
            if len(upper) == len(lower) > 1:
                corners = " ".join(f"{across(x)},{down(y)}" for x, y in [*upper, *lower])
                parts.append(
                    f'<polygon points="{corners}" fill="{curve.color}" fill-opacity=".14"/>'
                )
    points = _list_points(budgets, panel.reference)
    parts.append(draw_line([(across(x), down(y)) for x, y in points], "currentColor", DOTS))
    for curve, (line, *_) in zip(lines, panel.lines, strict=True):
        places = [
            (across(x), down(y))
            for x, y in _list_points(
                [result["budget"] for result in curve.results], line, is_share=panel.is_share
            )
        ]
        parts.append(draw_line(places, curve.color, curve.dashes))
        parts += [f'<circle cx="{x}" cy="{y}" r="3" fill="{curve.color}"/>' for x, y in places]
    label = escape(f"{name}: {panel.title} by labels; the numbers are in the table of results")
    return (
        f'<svg role="img" aria-label="{label}"{where} viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        f"{''.join(parts)}</svg>"
    )


def _find_ends(panel: Panel) -> tuple[tuple[float, float], list[float]]:
    """Both ends of the axis of values, and the numbers beside it."""
    if panel.is_share:
        return (0.0, 1.0), [0.0, 0.25, 0.5, 0.75, 1.0]
    values = np.concatenate([panel.reference, *(line[0] for line in panel.lines)])
    values = values[np.isfinite(values) & (values > 0)]
    ends = (float(values.min()), float(values.max())) if len(values) else (1.0, 1.0)
    if panel.has_one:
        ends = min(ends[0], 0.95), max(ends[1], 1.05)
    return round_numbers(*ends)


def _list_points(
    budgets: Sequence[int], values: np.ndarray, *, is_share: bool = False
) -> list[tuple[int, float]]:
    """The budgets with a value that the axis can show; only shares need no logarithm."""
    return [
        (budget, float(value))
        for budget, value in zip(budgets, values, strict=True)
        if math.isfinite(value) and (is_share or value > 0)
    ]


def draw_line(points: Sequence[tuple[float, float]], color: str, dashes: Dashes) -> str:
    """A line through the points."""
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


def draw_picture(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """A picture of its own: three panels for each metric, and the names of their curves.

    answers to a question about groups have three panels of their own, the first.
    """
    width = 2 * _EDGE + 3 * _WIDTH + 2 * _GAP
    down = _EDGE + _LINE
    parts = [f'<text x="{_EDGE}" y="{down - 4}">{escape(heading(results))}</text>']
    if answers:
        drawn, down = _draw_answers(answers, down)
        parts.append(drawn)
    for title in dict.fromkeys(result["metric"] for result in results):
        drawn, down = _draw_metric([each for each in results if each["metric"] == title], down)
        parts.append(drawn)
    height = down + _EDGE
    about = "Errors and relative cost of simulated strategies by labels"
    return wrap(about, width, height, parts, mark=MARK)


def _draw_metric(results: Sequence[dict], down: int) -> tuple[str, int]:
    """The panels of a metric and their key from there on, and where they end."""
    lines = curves(results)
    name = words.plain(results[0]["metric"])
    budgets, panels = lay_out_panels(lines)
    down += _LINE
    parts = []
    for number, panel in enumerate(panels):
        across = _EDGE + number * (_WIDTH + _GAP)
        title = escape(f"{name}: {panel.title}")
        place = f' x="{across}" y="{down + 10}" width="{_WIDTH}" height="{_HEIGHT}"'
        # A long name ends where the next panel begins.
        narrow = f' textLength="{_WIDTH}" lengthAdjust="spacingAndGlyphs"' * (len(title) > 52)
        parts.append(f'<text class="name" x="{across}" y="{down}"{narrow}>{title}</text>')
        parts.append(draw_panel(panel, lines, budgets, name, place))
    down += _HEIGHT + _LINE + 8
    names = [(UNIFORM, "currentColor", DOTS)]
    names += [(curve.name, curve.color, curve.dashes) for curve in lines]
    written, down = _write_names(names, down)
    return "".join([*parts, written]), down


def _draw_answers(answers: Sequence[dict], down: int) -> tuple[str, int]:
    """The panels of the answers to a question and their key, and where they end."""
    lines, budgets, panels = lay_out_answers(answers)
    goal = words.plain(answers[0]["goal"])
    parts = [f'<text class="name" x="{_EDGE}" y="{down + _LINE}">{escape(goal)}</text>']
    down += 2 * _LINE
    drawings = [(panel.title, partial(draw_panel, panel, lines, budgets, goal)) for panel in panels]
    if has_end(answers[0]):
        drawings.append((WAITS, partial(draw_waits, answers, lines)))
    for number, (title, draw) in enumerate(drawings):
        across = _EDGE + number * (_WIDTH + _GAP)
        place = f' x="{across}" y="{down + 10}" width="{_WIDTH}" height="{_HEIGHT}"'
        parts.append(f'<text x="{across}" y="{down}">{escape(title)}</text>')
        parts.append(draw(where=place))
    down += _HEIGHT + _LINE + 8
    written, down = _write_names([(line.name, line.color, line.dashes) for line in lines], down)
    return "".join([*parts, written]), down


def _write_names(names: Sequence[tuple[str, str, Dashes]], down: int) -> tuple[str, int]:
    """Names, colours and dashes of curves as a key, and where it ends."""
    parts = []
    across = 1 if max(len(text) for text, *_ in names) > _LONGEST else 3
    for number, (text, color, dashes) in enumerate(names):
        x = _EDGE + number % across * (_WIDTH + _GAP)
        y = down + number // across * _LINE
        parts.append(draw_line([(x, y - 4), (x + _SAMPLE, y - 4)], color, dashes))
        parts.append(f'<text x="{x + _SAMPLE + 8}" y="{y}">{escape(text)}</text>')
    down += math.ceil(len(names) / across) * _LINE
    return "".join(parts), down


def lay_out_answers(answers: Sequence[dict]) -> tuple[list[Curve], list[int], list[Panel]]:
    """Curves of the strategies, their looks, and what is shown of them by labels.

    Slices of right answers, and the ranks or the decisions that belong to them; the errors of
    groups where the question is how good each is (Ji 2021, Figures 3, 15, 16).
    """
    looks = [_thin(answer["looks"]) for answer in answers]
    lines = curves(
        [
            answer | {"estimator": answer["question"]} | look
            for answer, shown in zip(answers, looks, strict=True)
            for look in shown
        ]
    )
    budgets = sorted({look["budget"] for shown in looks for look in shown})
    first = lines[0].results[0]
    names = {"right": "share of right answers", "decided": "share of decided answers"}
    if first["reciprocal_rank"] is not None:
        names = {"right": names["right"], "reciprocal_rank": "mean reciprocal rank"}
    if not has_end(answers[0]):
        names = {
            "weighted_rmse": "error of groups, by their items",
            "rmse": "error of groups, which count alike",
            "coverage": "share of intervals that hold",
        }
    panels = []
    for name, title in names.items():
        values = [np.array([look[name] for look in curve.results], float) for curve in lines]
        nothing = np.full(len(budgets), np.nan)
        panels.append(
            Panel(title, nothing, [(each,) * 3 for each in values], is_share="rmse" not in name)
        )
    return lines, budgets, panels


def _thin(looks: Sequence[dict]) -> list[dict]:
    """At most _MOST_LOOKS of them, the first and the last included."""
    places = np.unique(np.linspace(0, len(looks) - 1, _MOST_LOOKS).round().astype(int))
    return [looks[place] for place in places]


def draw_waits(answers: Sequence[dict], lines: Sequence[Curve], where: str = "") -> str:
    """Bars: labels until each strategy was right for good, and until it was right and decided.

    A line at the end of a bar is two standard errors long; a bar of what never held is empty.
    """
    most = max(answer[name]["labels"] for answer in answers for name in _BARS)
    row = (_BOTTOM - _TOP) / len(answers)
    thick = min(row / 3, 22.0)
    right = _RIGHT - _BAR_TEXT
    parts = []
    for number, (answer, line) in enumerate(zip(answers, lines, strict=True)):
        for place, (name, opacity) in enumerate(_BARS.items()):
            wait = answer[name]
            y = round(_TOP + number * row + row / 2 + (place - 1) * thick, 1)
            scale = (right - _BAR_LEFT) / most
            long = round(wait["labels"] * scale, 1)
            middle = round(y + thick / 2 - 1, 1)
            ends = [_BAR_LEFT + long + side * wait["standard_error"] * scale for side in (-1, 1)]
            parts.append(
                f'<rect x="{_BAR_LEFT}" y="{y}" width="{long}" height="{round(thick - 2, 1)}" '
                f'fill="{line.color}" fill-opacity="{opacity if wait["share"] else 0}" '
                f'stroke="{line.color}"/>'
                f'<line class="axis" x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" '
                f'y1="{middle}" y2="{middle}"/>'
                f'<text class="tick" x="{ends[1] + 5:.1f}" y="{middle + 4}">'
                f"{escape(write_labels(wait))}</text>"
            )
    parts.append(
        f'<line class="axis" x1="{_BAR_LEFT}" x2="{_BAR_LEFT}" y1="{_TOP}" y2="{_BOTTOM}"/>'
        f'<text class="tick" x="{_BAR_LEFT}" y="{_BOTTOM + 18}">light: right for good; '
        "full: right and decided</text>"
    )
    label = escape(f"{WAITS}; the numbers are in the table of answers")
    return (
        f'<svg role="img" aria-label="{label}"{where} viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        f"{''.join(parts)}</svg>"
    )


def lay_out_panels(lines: Sequence[Curve]) -> tuple[list[int], list[Panel]]:
    """The budgets of the curves of a metric, and what each panel shows."""
    uniform = {result["budget"]: result for curve in lines for result in curve.results}
    budgets = sorted(uniform)
    return budgets, _list_panels(lines, [uniform[budget] for budget in budgets])
