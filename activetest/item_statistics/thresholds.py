"""A class that is called where its probability is at least a threshold, at many thresholds.

Thresholds are scores of the pool, in ascending order, and last stands one above all of them, at
which nothing is called. They cut the pool into cells: cell k holds the scores from threshold k up
to the next. An item of cell k is called at thresholds 0 to k, so that the counts of a threshold,
its hits, false alarms and misses, depend on an item's cell and on whether its label is the class.
"""

from functools import lru_cache, partial

import numpy as np

from activetest.item_statistics.losses import codes
from activetest.item_statistics.metric import Metric, linear_metric
from activetest.item_statistics.rates import Rate, of_counts
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.rows import Array, Outputs


def choose_thresholds(scores: Array, points: int, *, own: float | None = None) -> Array:
    """(K,) ascending thresholds out of N scores: at most so many, and `own`, if it is a score.

    All distinct scores where they are not more. Otherwise quantiles of the mean of two
    distributions: every item counts alike in one, and as much as its score in the other, which is
    that of the items that the model expects to be of the class. So a rare class has thresholds
    where its items are. The smallest and the largest score are always among them.
    """
    values, counts = np.unique(scores, return_counts=True)
    if len(values) <= points:
        return values
    items = counts / counts.sum()
    expected = counts * values.astype(float)
    shares = (items + expected / expected.sum()) / 2
    targets = np.linspace(0, 1, points)[1:-1]
    # Rounding must not move a quantile to the next value.
    inner = np.searchsorted(np.cumsum(shares), targets * (1 - 1e-12))
    chosen = np.append(values[[0, *inner.tolist(), -1]], [] if own is None else [own])
    found: Array = np.unique(chosen[np.isin(chosen, values)]).astype(values.dtype)
    return found


def find_own_threshold(called: Array, scores: Array) -> float | None:
    """The threshold at which a class is called as the model calls it; None where there is none.

    called and scores (N,).
    """
    if not called.any():
        return None
    own = scores[called].min()
    return None if (scores[~called] >= own).any() else float(own)


def find_cells(thresholds: Array, scores: Array) -> Array:
    """(N,) cell of each score; no score is below the first threshold."""
    cells: Array = np.searchsorted(thresholds, scores, "right") - 1
    return cells


def hit(code: int) -> Statistic:
    """1.0 where the label is the class."""
    value = partial(_is_class, code, 1.0)
    return Statistic(f"hit of class {code}", value, cells=True, tells=(code,))


def miss(code: int) -> Statistic:
    """1.0 where the label is not the class."""
    value = partial(_is_class, code, 0.0)
    return Statistic(f"no hit of class {code}", value, cells=True, tells=(code,))


@lru_cache(maxsize=4096)
def count_at(word: str, place: int, cells: int) -> Statistic:
    """tp, fp, fn or tn at a threshold, of items whose predicted class is their cell.

    Their label is 1 where it is the class, else 0. Cell k may have several codes: k, k + cells ...
    """
    count = partial(_count, word, place, cells)
    return Statistic(f"{word} at {place}", count, cells=True, outcomes=2)


def share_at(word: str, place: int, cells: int) -> Metric:
    """The share of tp, fp, fn or tn among all items, at the threshold in this place."""
    return linear_metric(f"{word} at {place}", count_at(word, place, cells))


def rate_at(rate: Rate, place: int, cells: int, class_name: str) -> Metric:
    """The rate of a class at the threshold in this place."""
    counts = {word: count_at(word, place, cells) for word in ("tp", "fp", "fn")}
    return of_counts(rate, counts, class_name, f"{rate.name} at {place}")


def _is_class(code: int, value: float, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) the value where the label is the class, else 1 - value."""
    found = codes(outputs, labels) == code
    return np.broadcast_to(np.where(found, value, 1 - value), (len(outputs.pred), found.shape[1]))


def _count(word: str, place: int, cells: int, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where an item of this cell and label is one of those that the word counts."""
    called = (outputs.pred % cells >= place)[:, None]
    hits = codes(outputs, labels) == 1
    counted: Array = (called == (word in ("tp", "fp"))) & (hits == (word in ("tp", "fn")))
    return counted.astype(float)
