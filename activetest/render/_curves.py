"""Simulated strategies as curves: what each is called, and how it is told from the others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

# Okabe and Ito 2008, told apart by everybody; without black, which is for uniform draws.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F4F24")
_DASHES = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (8, 2)), (0, (2, 3)))
_MARKS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True)
class Curve:
    """One strategy with one estimator: results by increasing budget, and how they are drawn."""

    name: str
    results: Sequence[dict]
    color: str
    dashes: object
    mark: str

    def column(self, value: Callable[[dict], float]) -> np.ndarray:
        """(budgets,) value(result)."""
        return np.array([value(result) for result in self.results], float)


def curves(results: Sequence[dict]) -> list[Curve]:
    """The results of one metric, by strategy and estimator, named by what tells them apart.

    Each has a colour of its own while there are enough; then one for each way to draw, and dashes
    for each estimator.
    """
    parts: dict[tuple, list[dict]] = {}
    for result in results:
        parts.setdefault(_strategy(result), []).append(result)
    told = [len(set(column) - {""}) > 1 for column in zip(*parts, strict=True)]
    # Of one alone there is nothing to tell apart.
    told = told if any(told) else [True] * len(told)
    draws = list(dict.fromkeys(words[:-1] for words in parts))
    estimators = list(dict.fromkeys(words[-1] for words in parts))
    made = []
    for number, (words, each) in enumerate(parts.items()):
        color, dashes = number, 0
        if len(parts) > len(_COLORS):
            color, dashes = draws.index(words[:-1]), estimators.index(words[-1])
        made.append(
            Curve(
                ", ".join(word for word, tells in zip(words, told, strict=True) if tells and word),
                sorted(each, key=lambda one: one["budget"]),
                _COLORS[color % len(_COLORS)],
                _DASHES[dashes % len(_DASHES)],
                _MARKS[dashes % len(_MARKS)],
            )
        )
    return made


def _strategy(result: dict) -> tuple[str, ...]:
    """The words that name a strategy; empty where the choice makes no difference."""
    even, top = result["acquisition"] == "uniform", result["selection"] == "top"
    return (
        result["acquisition"],
        "" if even or top else f"power {result['power']:g}",
        "" if even else ("top scores" if top else "drawn"),
        result["surrogate"],
        result["estimator"],
    )


def heading(results: Sequence[dict]) -> str:
    """What holds for every curve."""
    runs = sorted({result["runs"] for result in results})
    said = f"{runs[0]:,}" if runs[0] == runs[-1] else f"{runs[0]:,} to {runs[-1]:,}"
    common = [
        f"{name} {values.pop()}"
        for name in ("surrogate", "acquisition", "estimator")
        if len(values := {result[name] for result in results}) == 1
    ]
    return ", ".join([*common, f"{said} simulated studies each"])


def moved_apart(wished: np.ndarray, gap: float) -> np.ndarray:
    """Places from 0 to 1 and at least a gap apart, in the same order, with the least squared moves.

    Neighbours that would touch are pooled, and stand around the mean of where they wished to be.
    """
    order = np.argsort(wished, kind="stable")
    blocks: list[list[float]] = []
    for step, place in enumerate(order):
        blocks.append([wished[place] - step * gap])
        while len(blocks) > 1 and np.mean(blocks[-2]) >= np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    free = np.concatenate([np.full(len(block), np.mean(block)) for block in blocks])
    free = np.clip(free, 0, max(1 - (len(order) - 1) * gap, 0))
    places = np.empty(len(wished))
    places[order] = free + np.arange(len(order)) * gap
    return places
