"""Average precision: the area under the steps of the precision-recall curve (Zhu 2004).

AP = (1 / P) sum over items i of the class of T(s_i) / C(s_i): P is the weight of the class, C(s)
that of all items with a score of s or more, T(s) that of those among them that are of the class.
Equal scores are one threshold.
"""

import numpy as np

from activetest.item_statistics import curves
from activetest.item_statistics.metric import Facts, Metric
from activetest.nouns.rows import Array

TASK = "classification"
BETTER = "higher"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """One class against all others, in [0, 1]: a class, * for every class, or macro.

    Without an argument: the positive class of a binary pool, macro of any other.
    """
    undefined = "no item labelled as {} has been seen"
    return curves.metrics("average-precision", _area, undefined, facts, argument)


def _area(steps: curves.Steps) -> curves.Area | None:
    size, rest = steps.hits.sum(), steps.others.sum()
    if not size > 0:
        return None
    called = np.cumsum((steps.hits + steps.others)[::-1])[::-1]
    precision = np.cumsum(steps.hits[::-1])[::-1] / called
    value = float(steps.hits @ precision / size)
    # (S + 1,) sums over the first steps, from none of them to all.
    gain = np.append(0.0, np.cumsum(steps.hits / called))
    loss = np.append(0.0, np.cumsum(steps.hits * precision / called))
    # A hit above all others would be called alone, and rightly.
    precision = np.append(precision, 1.0)

    def influence(scores: Array) -> tuple[Array, Array]:
        """The derivative of AP by an item's weight, where all weights sum to one.

        (y (T(s) / C(s) + sum_t w_t / C(t) - AP) - sum_t w_t T(t) / C(t)^2) / P with y = 1 for a
        hit: the sums are over steps t up to the item's s, and w_t is the weight of the hits there.
        """
        low, high = steps.places(scores)
        scale = (size + rest) / size
        return -scale * loss[high], scale * (precision[low] + gain[high] - value - loss[high])

    return curves.Area(value, influence)
