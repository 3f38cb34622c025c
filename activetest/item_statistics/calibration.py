"""Bins of confidences and probabilities, and how metrics specify them.

In the brackets, in any order, separated by commas, each at most once: equal-width (the default) or
equal-count, and a number of bins (15 unless given).
"""

from itertools import pairwise

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts
from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.rows import Array

_BINS, _MOST = 15, 100
_WIDTH, _COUNT = "equal-width", "equal-count"


def parse_bins(name: str, argument: str | None) -> tuple[str, int]:
    """Kind and number of bins. Raises ChoiceError for an argument that is no such thing."""
    parts = [] if argument is None else _split_parts(argument)
    kinds = [part for part in parts if part in (_WIDTH, _COUNT)]
    counts = [part for part in parts if part not in kinds]
    if len(kinds) > 1 or len(counts) > 1:
        raise ChoiceError(
            f"{name!r} takes one kind of bins and one number of them, not {argument!r}",
            f"for example {name}[{_COUNT},10]",
        )
    kind = kinds[0] if kinds else _WIDTH
    example = f"{name}[10], {name}[{_COUNT}] or {name}[{_COUNT},10]"
    count = arguments.parse_whole_number(name, counts[0], 2, _MOST, example) if counts else _BINS
    return kind, count


def find_edges(name: str, facts: Facts, argument: str | None, code: int | None = None) -> Array:
    """(B + 1,) float32 edges of bins of the confidence, or of the probability of a class.

    Equal counts, or weights: the edges inside are quantiles that are values of the pool (Hyndman
    and Fan 1996, definition 1); equal values stay together, so there may be fewer bins. Raises
    ChoiceError.
    """
    kind, count = parse_bins(name, argument)
    if kind == _WIDTH:
        return np.linspace(0, 1, count + 1).astype(np.float32)
    if facts.scores is None:
        raise ChoiceError(
            f"{name!r} with bins of equal counts needs the probabilities of a whole pool",
            f"choose {name}[{_WIDTH}]",
        )
    shares = np.arange(1, count) / count
    scores = facts.scores(code)
    if facts.weights is None:
        inner = np.quantile(scores, shares, method="inverted_cdf")
    else:
        order = np.argsort(scores, kind="stable")
        reached = np.cumsum(facts.weights()[order])
        # Rounding must not move an edge to the next value.
        places = np.searchsorted(reached, shares * reached[-1] * (1 - 1e-12))
        inner = scores[order][places]
    return np.unique(np.concatenate([[0], inner, [1]]).astype(np.float32))


def add_bins_to_name(name: str, argument: str | None) -> str:
    """The metric's name with the bins in its brackets."""
    return name if argument is None else f"{name}[{','.join(_split_parts(argument))}]"


def statistics_of_bins(word: str, edges: Array) -> tuple[Statistic, ...]:
    """(B,) the statistic of that word, such as right_in or true_in:3, in each bin."""
    # str of a single-precision number has as many digits as tell it from its neighbours.
    return tuple(statistic(f"{word}:{low!s}:{high!s}") for low, high in pairwise(edges))


def _split_parts(argument: str) -> list[str]:
    return [part.strip() for part in argument.split(",")]
