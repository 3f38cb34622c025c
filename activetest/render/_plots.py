"""Curves of simulated strategies, as the papers draw them: errors and relative cost by labels.

Active Testing (Kossen 2021), Fig. 4, 6 and A.3; matplotlib comes with the extra `report`.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from activetest.errors import ChoiceError
from activetest.render._curves import Curve, curves, heading, moved_apart
from activetest.render._words import plain

FORMATS = (".svg", ".png")
_INK, _FAINT = "#333333", "#D9D9D9"
# Bands of more strategies than this would cover each other.
_MOST_BANDS = 4
# Inches: a panel with what stands around it, what stands below and above its axes and left of them,
# the heading of all, a line of names and a letter in one.
_PANEL, _MARGINS, _TICKS, _HEADING = (3.35, 2.9), (0.42, 0.23), 0.62, 0.35
_LABEL_HEIGHT, _LETTER = 0.155, 0.068
_UNIFORM = "random, plain mean"
# Relative costs that are written beside the axis, in every decade.
_RATIOS = (1, 1.5, 2, 3, 5, 7)
_STYLE = {
    "font.family": "sans-serif",
    "font.size": 8.5,
    "text.color": _INK,
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
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ChoiceError(
            "pictures need matplotlib, which is not installed",
            'python -m pip install "activetest[report]"',
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
    width, height = 3 * wide + 0.75 + _LETTER * letters, len(rows) * high + _HEADING
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
    panels[2].set_title("labels used / labels random needs", **_TITLE)
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
    _ratios(panels[2])
    _names(panels[2], lines)


def _doubt(result: dict) -> float:
    """Standard error of the mean squared error, over it."""
    saved = result["labels_saved"]
    return min(result["labels_saved_se"] / saved, 0.95) if np.isfinite(saved) and saved else 0.0


def _cost(curve: Curve) -> np.ndarray:
    """(budgets,) relative labelling cost: labels used over those uniform draws would need."""
    with np.errstate(divide="ignore"):
        return 1 / curve.column(lambda one: one["label_ratio"])


def _positive(values) -> np.ndarray:
    """NaN where a logarithm has no place for a value."""
    values = np.asarray(values, float)
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)


def _reference(panel, budgets, values) -> None:
    panel.plot(budgets, _positive(values), color=_INK, linewidth=1, linestyle=(0, (2, 2)), zorder=1)


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


def _apart(budgets: Sequence[int]) -> list[int]:
    """The budgets that can be written below an axis without touching each other, from the last."""
    room = 0.12 * np.log(max(budgets) / min(budgets)) if len(budgets) > 1 else 0.0
    kept: list[int] = []
    for budget in reversed(budgets):
        if not kept or np.log(kept[-1] / budget) >= room:
            kept.append(budget)
    return kept[::-1]


def _ratios(panel) -> None:
    """Ticks at ratios as people say them; the one that means no gain is always there."""
    low, high = panel.get_ylim()
    low, high = min(low, 0.95), max(high, 1.05)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [ratio * 10.0**power for power in powers for ratio in _RATIOS]
    shown = [tick for tick in ticks if low <= tick <= high]
    panel.set_ylim(low, high)
    panel.set_yticks(shown, [f"{tick:g}" for tick in shown])


def _names(panel, lines: Sequence[Curve]) -> None:
    """The name of every curve beside its end, moved apart where they would touch."""
    ends = [(_UNIFORM, 1.0, _INK)]
    for curve in lines:
        costs = _positive(_cost(curve))
        there = costs[np.isfinite(costs)]
        ends.append((curve.name, float(there[-1]) if len(there) else np.nan, curve.color))
    low, high = np.log(panel.get_ylim())
    height = panel.get_position().height * panel.figure.get_figheight()
    wished = np.array([(np.log(end) - low) / (high - low) if end > 0 else 0 for _, end, _ in ends])
    places = moved_apart(wished, _LABEL_HEIGHT / height)
    for (name, _, color), wish, place in zip(ends, wished, places, strict=True):
        panel.annotate(
            plain(name),
            (1.02, wish),
            (1.08, place),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=color,
            va="center",
            annotation_clip=False,
            parse_math=False,
            arrowprops={
                "arrowstyle": "-",
                "color": color,
                "linewidth": 0.6,
                "relpos": (0, 0.5),
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
