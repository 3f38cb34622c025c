"""Files of curves: SVG by ourselves, PNG by matplotlib, which comes with the extra `report`.

Active Testing (Kossen 2021), Fig. 4, 6 and A.3.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from activetest.errors import ChoiceError
from activetest.render._words import plain
from activetest.render.plots._files import Origin, check_picture
from activetest.render.plots.curves import (
    Curve,
    choose_budgets,
    curves,
    find_cost,
    heading,
    keep_labelled,
    legible,
    move_apart,
    relative_error,
    round_numbers,
)
from activetest.render.plots.panels import DOTS, MARK, MOST_BANDS, UNIFORM, draw_picture
from activetest.system import atomic

FORMATS = (".svg", ".png")
# What a picture states of who drew it: today, and as matplotlib writes and wrote it.
_CREATOR = "activetest"
_MARKERS = (MARK.encode(), b"<dc:title>activetest</dc:title>", b"tEXtSoftware\0activetest")
_OF_SIMULATE = Origin("simulate", _MARKERS)
_INK, _FAINT = "#333333", "#D9D9D9"
# Inches: a panel with what stands around it, what stands below and above its axes and left of them,
# the heading of all, a line of names and a letter in one.
_PANEL, _MARGINS, _TICKS, _HEADING = (3.6, 2.9), (0.42, 0.23), 0.78, 0.35
_LABEL_HEIGHT, _LETTER = 0.155, 0.068
# From where to where a piece of a curve stands before its name, in widths of a panel.
_SAMPLE, _LEADER = (1.13, 1.24), "#A8A8A8"
# Letters of a metric's name beside an axis.
_MOST_LETTERS = 24
_STYLE = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": "#888888",
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
    # A matplotlibrc in the working folder could ask for LaTeX, a program that reads files.
    "text.usetex": False,
}
# A class may be called $x$.
_TITLE = {"loc": "left", "fontsize": 9, "fontweight": "bold", "parse_math": False}


def check(
    path: str | Path, *, inputs: Mapping[str, object] | None = None, force: bool = False
) -> None:
    """Raises ChoiceError where no picture can be written there, before hours of simulation.

    inputs  {what it is: address} of what is only read
    force   replace a file that is no earlier picture of draw

    Raises StorageError for a file of a study or an input.
    """
    check_picture(
        path,
        _OF_SIMULATE,
        formats=FORMATS,
        example="curves.svg",
        inputs=inputs or {},
        force=force,
    )
    if _is_svg(path):
        return
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ChoiceError(
            ".png needs matplotlib, which is not installed",
            'draw .svg, or python -m pip install "activetest[report]"',
        ) from error


def draw(
    results: Sequence[dict],
    path: str | Path,
    *,
    answers: Sequence[dict] = (),
    inputs: Mapping[str, object] | None = None,
    force: bool = False,
) -> None:
    """Write one row of panels per metric: mean and median squared error, and relative cost.

    Above these, an .svg shows the answers to a question about groups.

    The format is the path's suffix. Bands are one standard error of the mean, and the quarter of
    errors on each side of the median. Takes and raises what check does, and raises OSError.
    """
    check(path, inputs=inputs, force=force)
    results = keep_labelled(results)
    if not results:
        raise ChoiceError("no curve to draw without labels", "`budgets=[0, 50, 100]`")
    # The file that a link points to is replaced, not the link.
    writing = atomic.replacing_file(Path(path).resolve())
    if _is_svg(path):
        with writing as building:
            building.write_text(draw_picture(results, answers), encoding="utf-8", newline="")
        return
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    titles = list(dict.fromkeys(result["metric"] for result in results))
    rows = [curves([result for result in results if result["metric"] == title]) for title in titles]
    with rc_context(_STYLE):
        figure, panels = _lay_out(Figure, rows)
        width, height = figure.get_size_inches()
        where = 0.12 / width, 1 - 0.12 / height
        figure.text(*where, heading(results), va="top", parse_math=False)
        for title, row, three in zip(titles, rows, panels, strict=True):
            _draw_row(three, plain(title), row)
        with warnings.catch_warnings(), writing as building:
            # Letters that no installed font has are boxes.
            warnings.filterwarnings("ignore", "Glyph")
            look = {"dpi": 180, "facecolor": "white"}
            figure.savefig(building, format="png", metadata={"Software": _CREATOR}, **look)


def _is_svg(path: str | Path) -> bool:
    return Path(path).suffix.lower() == ".svg"


def _lay_out(figure_of: type, rows: Sequence[Sequence[Curve]]) -> tuple:
    """A figure with room for every name, and three panels for each row."""
    lines = max(len(row) for row in rows)
    letters = max(len(UNIFORM), *(len(curve.name) for row in rows for curve in row))
    wide, high = _PANEL[0], max(_PANEL[1], (lines + 1) * _LABEL_HEIGHT + sum(_MARGINS))
    width, height = 3 * wide + 0.9 + _LETTER * letters, len(rows) * high + _HEADING
    figure = figure_of((width, height))
    below, above = _MARGINS
    panels = [
        [
            figure.add_axes(
                (
                    (_TICKS + column * wide) / width,
                    (height - _HEADING - (row + 1) * high + below) / height,
                    (wide - _TICKS - 0.1) / width,
                    (high - below - above) / height,
                )
            )
            for column in range(3)
        ]
        for row in range(len(rows))
    ]
    return figure, panels


def _draw_row(panels: Sequence[Any], title: str, lines: Sequence[Curve]) -> None:
    """The three panels of one metric; the names of curves stand beside the last."""
    budgets = sorted({result["budget"] for curve in lines for result in curve.results})
    uniform = {result["budget"]: result for curve in lines for result in curve.results}
    known = [uniform[budget] for budget in budgets]
    for panel, name, value in (
        (panels[0], "mean squared error", "uniform_mse"),
        (panels[1], "median squared error", "uniform_median"),
    ):
        _draw_reference(panel, budgets, [result[value] for result in known])
        panel.set_title(f"{title}: {name}", **_TITLE)
        short = title if len(title) <= _MOST_LETTERS else f"{title[: _MOST_LETTERS - 3]}..."
        panel.set_ylabel(f"squared error of {short}", parse_math=False)
    panels[2].set_title(f"{title}: relative labelling cost", **_TITLE)
    panels[2].set_ylabel("labels used / labels random needs")
    _draw_reference(panels[2], budgets, [1.0] * len(budgets))
    for curve in lines:
        mean = curve.column(lambda result: result["rmse"] ** 2)
        doubt = curve.column(relative_error)
        low = curve.column(lambda result: result["quartiles"][0])
        high = curve.column(lambda result: result["quartiles"][1])
        around = (mean * (1 - doubt), mean * (1 + doubt))
        few = len(lines) <= MOST_BANDS
        median = curve.column(lambda result: result["median"])
        _draw_curve(panels[0], curve, mean, around if few else None)
        _draw_curve(panels[1], curve, median, (low, high) if few else None)
        _draw_curve(panels[2], curve, find_cost(curve))
    for panel in panels:
        _style_axes(panel, budgets)
    panels[2].set_ylim(_include_one(panels[2].get_ylim()))
    for panel in panels:
        _write_ticks(panel)
    _name_curves(panels[2], lines)


def _budget(result: dict) -> float:
    return result["budget"]


def _positive(values: ArrayLike) -> np.ndarray:
    """The values, NaN where they have no logarithm."""
    numbers = np.asarray(values, float)
    return np.where(np.isfinite(numbers) & (numbers > 0), numbers, np.nan)


def _draw_reference(panel: Any, budgets: Sequence[int], values: Sequence[float]) -> None:
    panel.plot(budgets, _positive(values), color=_INK, linewidth=1, linestyle=DOTS, zorder=1)


def _draw_curve(
    panel: Any, curve: Curve, values: np.ndarray, band: tuple[np.ndarray, ...] | None = None
) -> None:
    budgets = curve.column(_budget)
    look = {"color": curve.color, "linestyle": curve.dashes, "marker": curve.mark}
    panel.plot(budgets, _positive(values), linewidth=1.5, markersize=3.2, zorder=3, **look)
    if band:
        low, high = map(_positive, band)
        panel.fill_between(budgets, low, high, color=curve.color, alpha=0.1, linewidth=0, zorder=2)


def _style_axes(panel: Any, budgets: Sequence[int]) -> None:
    """Logarithmic both ways: a strategy that saves a constant share is parallel to uniform."""
    panel.set_yscale("log")
    panel.set_xscale("log")
    panel.set_xticks(choose_budgets(budgets), [f"{budget:,}" for budget in choose_budgets(budgets)])
    panel.minorticks_off()
    panel.set_xlabel("labels")
    panel.grid(axis="y", color=_FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.tick_params(length=2.5, width=0.7)


def _include_one(ends: tuple[float, float]) -> tuple[float, float]:
    """Ends of the axis of relative costs; 1, which is no gain, is always on it."""
    return min(ends[0], 0.95), max(ends[1], 1.05)


def _write_ticks(panel: Any) -> None:
    """Labelled ticks at round numbers, in every decade that is shown."""
    (low, high), shown = round_numbers(*panel.get_ylim())
    panel.set_ylim(low, high)
    panel.set_yticks(shown, [f"{tick:g}".replace("e-0", "e-") for tick in shown])


def _name_curves(panel: Any, lines: Sequence[Curve]) -> None:
    """The name of every curve beside its end, moved apart where names would touch.

    Before the name stands a sample of the curve, joined to the curve's end by a thin line.
    """
    dotted = Curve(UNIFORM, (), _INK, DOTS, "")
    last = max(result["budget"] for curve in lines for result in curve.results)
    ends = [(dotted, last, 1.0)]
    for curve in lines:
        budgets, costs = curve.column(_budget), _positive(find_cost(curve))
        known = np.flatnonzero(np.isfinite(costs))
        end = (budgets[known[-1]], costs[known[-1]]) if len(known) else (np.nan, np.nan)
        ends.append((curve, *end))
    left, right, low, high = np.log([*panel.get_xlim(), *panel.get_ylim()])
    height = panel.get_position().height * panel.figure.get_figheight()
    heights = [(np.log(cost) - low) / (high - low) if cost > 0 else 0 for *_, cost in ends]
    places = move_apart(np.array(heights), _LABEL_HEIGHT / height)
    outside = {"transform": panel.transAxes, "clip_on": False}
    for (curve, budget, cost), level, place in zip(ends, heights, places, strict=True):
        if np.isfinite(cost):
            across = (np.log(budget) - left) / (right - left)
            leader = [across, 1.01, _SAMPLE[0] - 0.01], [level, level, place]
            panel.plot(*leader, color=_LEADER, linewidth=0.5, zorder=1, **outside)
        look = {"color": curve.color, "linestyle": curve.dashes, "linewidth": 1.5}
        panel.plot(_SAMPLE, [place] * 2, **look, **outside)
        middle = [sum(_SAMPLE) / 2], [place]
        panel.plot(*middle, color=curve.color, marker=curve.mark, markersize=3.2, **outside)
        panel.text(
            _SAMPLE[1] + 0.03,
            place,
            plain(curve.name),
            color=legible(curve.color),
            va="center",
            transform=panel.transAxes,
            parse_math=False,
        )
