"""Curves of simulated strategies, as the papers draw them: errors and relative cost by labels.

Active Testing (Kossen 2021), Fig. 4, 6 and A.3; matplotlib comes with the extra `report`.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from activetest.errors import ChoiceError
from activetest.render._words import plain
from activetest.render.plots.curves import (
    Curve,
    curves,
    heading,
    legible,
    moved_apart,
    round_numbers,
)

FORMATS = (".svg", ".png")
_INK, _FAINT = "#333333", "#D9D9D9"
# Bands of more strategies than this would cover each other.
_MOST_BANDS = 4
# Inches: a panel with what stands around it, what stands below and above its axes and left of them,
# the heading of all, a line of names and a letter in one.
_PANEL, _MARGINS, _TICKS, _HEADING = (3.6, 2.9), (0.42, 0.23), 0.78, 0.35
_LABEL_HEIGHT, _LETTER = 0.155, 0.068
_UNIFORM = "random, plain mean"
_DOTS = (0, (2, 2))
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
    "svg.fonttype": "none",
    # The same results make the same file.
    "svg.hashsalt": "activetest",
}
# A class may be called $x$.
_TITLE = {"loc": "left", "fontsize": 9, "fontweight": "bold", "parse_math": False}


def check(path: str | Path) -> None:
    """Raises ChoiceError where no picture can be written there: better now than after hours."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ChoiceError(
            f"{path} is neither .svg nor .png", "name the picture for example curves.svg"
        )
    if not path.parent.is_dir():
        raise ChoiceError(f"there is no folder {path.parent}", "make it first")
    _try(path)
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ChoiceError(
            "pictures need matplotlib, which is not installed",
            'python -m pip install "activetest[report]"',
        ) from error


def _try(path: Path) -> None:
    """Open it, and leave all as it was. Permissions alone do not say whether that works."""
    try:
        there = path.exists()
        with open(path, "ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise ChoiceError(
            f"no picture can be written to {path}: {error.strerror}", "name another file"
        ) from error


def draw(results: Sequence[dict], path: str | Path) -> None:
    """Write one row of panels per metric: mean and median squared error, and relative cost.

    The format is the path's suffix. Bands are one standard error of the mean, and the quarter of
    errors on each side of the median. Raises as check does, and OSError.
    """
    check(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    titles = list(dict.fromkeys(result["metric"] for result in results))
    rows = [curves([one for one in results if one["metric"] == title]) for title in titles]
    with rc_context(_STYLE):
        figure, panels = _page(Figure, rows)
        width, height = figure.get_size_inches()
        where = 0.12 / width, 1 - 0.12 / height
        figure.text(*where, heading(results), va="top", parse_math=False)
        for title, row, three in zip(titles, rows, panels, strict=True):
            _row(three, plain(title), row)
        kind = Path(path).suffix.lower()[1:]
        dated = {"Date": None} if kind == "svg" else {"Software": None}
        with warnings.catch_warnings():
            # Letters that no font here has are boxes in a PNG; an SVG leaves them to its viewer.
            warnings.filterwarnings("ignore", "Glyph")
            figure.savefig(path, format=kind, dpi=180, facecolor="white", metadata=dated)


def _page(figure_of: type, rows: Sequence[Sequence[Curve]]) -> tuple:
    """A figure with room for every name, and three panels for each row."""
    lines = max(len(row) for row in rows)
    letters = max(len(_UNIFORM), *(len(curve.name) for row in rows for curve in row))
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


def _row(panels, title: str, lines: Sequence[Curve]) -> None:
    """The three panels of one metric; names stand once, beside the last."""
    budgets = sorted({result["budget"] for curve in lines for result in curve.results})
    uniform = {result["budget"]: result for curve in lines for result in curve.results}
    known = [uniform[budget] for budget in budgets]
    for panel, name, value in (
        (panels[0], "mean squared error", "uniform_mse"),
        (panels[1], "median squared error", "uniform_median"),
    ):
        _reference(panel, budgets, [result[value] for result in known])
        panel.set_title(f"{title}: {name}", **_TITLE)
        short = title if len(title) <= _MOST_LETTERS else f"{title[: _MOST_LETTERS - 3]}..."
        panel.set_ylabel(f"squared error of {short}", parse_math=False)
    panels[2].set_title(f"{title}: relative labelling cost", **_TITLE)
    panels[2].set_ylabel("labels used / labels random needs")
    _reference(panels[2], budgets, [1.0] * len(budgets))
    for curve in lines:
        mean = curve.column(lambda one: one["rmse"] ** 2)
        doubt = curve.column(_doubt)
        low, high = (curve.column(lambda one, at=at: one["quartiles"][at]) for at in (0, 1))
        around = (mean * (1 - doubt), mean * (1 + doubt))
        few = len(lines) <= _MOST_BANDS
        _line(panels[0], curve, mean, around if few else ())
        _line(panels[1], curve, curve.column(lambda one: one["median"]), (low, high) if few else ())
        _line(panels[2], curve, _cost(curve))
    for panel in panels:
        _axes(panel, budgets)
    panels[2].set_ylim(_with_one(panels[2].get_ylim()))
    for panel in panels:
        _decades(panel)
    _names(panels[2], lines)


def _doubt(result: dict) -> float:
    """Standard error of the mean squared error, over it; none where nothing is known of it."""
    saved, doubt = result["labels_saved"], result["labels_saved_se"]
    return min(doubt / saved, 0.95) if doubt is not None and np.isfinite(saved) and saved else 0.0


def _cost(curve: Curve) -> np.ndarray:
    """(budgets,) relative labelling cost: labels used over those uniform draws would need."""
    with np.errstate(divide="ignore"):
        return 1 / curve.column(lambda one: one["label_ratio"])


def _positive(values) -> np.ndarray:
    """NaN where a logarithm has no place for a value."""
    values = np.asarray(values, float)
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _reference(panel, budgets, values) -> None:
    panel.plot(budgets, _positive(values), color=_INK, linewidth=1, linestyle=_DOTS, zorder=1)


def _line(panel, curve: Curve, values, band=()) -> None:
    budgets = curve.column(lambda one: one["budget"])
    look = {"color": curve.color, "linestyle": curve.dashes, "marker": curve.mark}
    panel.plot(budgets, _positive(values), linewidth=1.5, markersize=3.2, zorder=3, **look)
    if band:
        low, high = map(_positive, band)
        panel.fill_between(budgets, low, high, color=curve.color, alpha=0.1, linewidth=0, zorder=2)


def _axes(panel, budgets: Sequence[int]) -> None:
    """Logarithmic both ways: a strategy that saves a constant share is parallel to uniform."""
    panel.set_yscale("log")
    panel.set_xscale("log")
    panel.set_xticks(_apart(budgets), [f"{budget:,}" for budget in _apart(budgets)])
    panel.minorticks_off()
    panel.set_xlabel("labels")
    panel.grid(axis="y", color=_FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.tick_params(length=2.5, width=0.7)


def _with_one(ends: tuple[float, float]) -> tuple[float, float]:
    """Ends of the relative costs; the one that means no gain is always there."""
    return min(ends[0], 0.95), max(ends[1], 1.05)


def _decades(panel) -> None:
    """Labelled ticks at numbers as people say them, in every decade that is shown."""
    (low, high), shown = round_numbers(*panel.get_ylim())
    panel.set_ylim(low, high)
    panel.set_yticks(shown, [f"{tick:g}".replace("e-0", "e-") for tick in shown])


def _apart(budgets: Sequence[int]) -> list[int]:
    """The budgets that can be written below an axis without touching each other, from the last."""
    room = 0.12 * np.log(max(budgets) / min(budgets)) if len(budgets) > 1 else 0.0
    kept: list[int] = []
    for budget in reversed(budgets):
        if not kept or np.log(kept[-1] / budget) >= room:
            kept.append(budget)
    return kept[::-1]


def _names(panel, lines: Sequence[Curve]) -> None:
    """The name of every curve beside its end, moved apart where they would touch.

    Before it a piece of the curve, and from there a thin line to where it ends.
    """
    dotted = Curve(_UNIFORM, (), _INK, _DOTS, "")
    last = max(result["budget"] for curve in lines for result in curve.results)
    ends = [(dotted, last, 1.0)]
    for curve in lines:
        budgets, costs = curve.column(lambda one: one["budget"]), _positive(_cost(curve))
        known = np.flatnonzero(np.isfinite(costs))
        end = (budgets[known[-1]], costs[known[-1]]) if len(known) else (np.nan, np.nan)
        ends.append((curve, *end))
    left, right, low, high = np.log([*panel.get_xlim(), *panel.get_ylim()])
    height = panel.get_position().height * panel.figure.get_figheight()
    wished = np.array([(np.log(cost) - low) / (high - low) if cost > 0 else 0 for *_, cost in ends])
    places = moved_apart(wished, _LABEL_HEIGHT / height)
    beside = {"transform": panel.transAxes, "clip_on": False}
    for (curve, budget, cost), wish, place in zip(ends, wished, places, strict=True):
        if np.isfinite(cost):
            across = (np.log(budget) - left) / (right - left)
            way = [across, 1.01, _SAMPLE[0] - 0.01], [wish, wish, place]
            panel.plot(*way, color=_LEADER, linewidth=0.5, zorder=1, **beside)
        look = {"color": curve.color, "linestyle": curve.dashes, "linewidth": 1.5}
        panel.plot(_SAMPLE, [place] * 2, **look, **beside)
        middle = [sum(_SAMPLE) / 2], [place]
        panel.plot(*middle, color=curve.color, marker=curve.mark, markersize=3.2, **beside)
        panel.text(
            _SAMPLE[1] + 0.03,
            place,
            plain(curve.name),
            color=legible(curve.color),
            va="center",
            transform=panel.transAxes,
            parse_math=False,
        )
