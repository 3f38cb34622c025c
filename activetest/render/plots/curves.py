"""Simulated strategies as curves: their names, colours and dashes."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from activetest.render.document.words import drawing

# A name or (offset, lengths), as matplotlib takes them.
Dashes = str | tuple[float, tuple[float, ...]]

# Okabe and Ito 2008, for all kinds of colour vision; without black, which is for uniform draws.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F4F24")
_DASHES: tuple[Dashes, ...] = (
    "-",
    (0, (4, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (8, 2)),
    (0, (2, 3)),
)
# Labelled numbers in every decade, from the most to the fewest, and up to how many of them.
_STEPS = (((1, 1.5, 2, 3, 5, 7), 8), ((1, 2, 5), 11), ((1,), 9))


@dataclass(frozen=True)
class Curve:
    """One strategy with one estimator: results by increasing budget, and how they are drawn."""

    name: str
    results: Sequence[dict]
    color: str
    dashes: Dashes

    def column(self, value: Callable[[dict], float]) -> np.ndarray:
        """(budgets,) value(result)."""
        return np.array([value(result) for result in self.results], float)


def keep_labelled(results: Sequence[dict]) -> list[dict]:
    """The results that curves are drawn through: those with labels, since axes are logarithmic."""
    return [result for result in results if result["budget"] > 0]


def curves(results: Sequence[dict]) -> list[Curve]:
    """The results of one metric, by strategy and estimator, named by what differs between them.

    Each has a colour of its own while there are enough; then one for each way to draw, and dashes
    for each estimator.
    """
    parts: dict[tuple, list[dict]] = {}
    for result in results:
        name = drawing(result), result["surrogate"], result["estimator"]
        parts.setdefault(name, []).append(result)
    differs = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    # A single strategy is named in full.
    differs = differs if any(differs) else [True] * len(differs)
    draws = list(dict.fromkeys(words[:-1] for words in parts))
    estimators = list(dict.fromkeys(words[-1] for words in parts))
    found = []
    for number, (words, each) in enumerate(parts.items()):
        color, dashes = number, 0
        if len(parts) > len(_COLORS):
            color, dashes = draws.index(words[:-1]), estimators.index(words[-1])
        found.append(
            Curve(
                ", ".join(word for word, shown in zip(words, differs, strict=True) if shown),
                sorted(each, key=lambda result: result["budget"]),
                _COLORS[color % len(_COLORS)],
                _DASHES[dashes % len(_DASHES)],
            )
        )
    return found


def heading(results: Sequence[dict]) -> str:
    """The settings that all curves share."""
    runs = sorted({result["runs"] for result in results})
    count = f"{runs[0]:,}" if runs[0] == runs[-1] else f"{runs[0]:,} to {runs[-1]:,}"
    common = [
        f"{name} {values.pop()}"
        for name in ("surrogate", "acquisition", "estimator")
        if len(values := {result[name] for result in results}) == 1
    ]
    return ", ".join([*common, f"{count} simulated studies each"])


def relative_error(result: dict) -> float:
    """Standard error of the mean squared error over that error; 0 where it is not known."""
    saved, doubt = result["mse_ratio"], result["mse_ratio_se"]
    return min(doubt / saved, 0.95) if doubt is not None and np.isfinite(saved) and saved else 0.0


def find_cost(curve: Curve) -> np.ndarray:
    """(budgets,) relative labelling cost: labels used over those uniform draws would need."""
    with np.errstate(divide="ignore"):
        return 1 / curve.column(lambda result: result["labels_saved"])


def choose_budgets(budgets: Sequence[int]) -> list[int]:
    """As many budgets as can be written below an axis without touching, the last one included."""
    room = 0.12 * np.log(max(budgets) / min(budgets)) if len(budgets) > 1 else 0.0
    kept: list[int] = []
    for budget in reversed(budgets):
        if not kept or np.log(kept[-1] / budget) >= room:
            kept.append(budget)
    return kept[::-1]


def round_numbers(low: float, high: float) -> tuple[tuple[float, float], list[float]]:
    """Both ends of a logarithmic axis, and the numbers written beside it: at least two.

    The ends are moved apart only where fewer lie between them.
    """
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    finest = [float(f"{step}e{power}") for power in powers for step in _STEPS[0][0]]
    if sum(low <= tick <= high for tick in finest) < 2:
        low = max(tick for tick in finest if tick <= low)
        high = min(tick for tick in finest if tick >= high and tick > low)
    for steps, most in _STEPS:
        every = [float(f"{step}e{power}") for power in powers for step in steps]
        shown = [tick for tick in every if low <= tick <= high]
        if len(shown) <= most:
            return (low, high), shown
    return (low, high), shown[:: math.ceil(len(shown) / most)]
