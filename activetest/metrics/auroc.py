"""Area under the receiver operating characteristic (Hanley and McNeil 1982).

The probability that an item of the class gets a higher probability of it than an item of any other
class; a tie counts half. Its influence function is made of the placement values of DeLong, DeLong
and Clarke-Pearson 1988.
"""

import numpy as np

from activetest.item_statistics import curves
from activetest.item_statistics.metric import Facts, Metric
from activetest.nouns.rows import Array

TASK = "classification"
BETTER = "higher"
TITLE = "AUROC"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """One class against all others, in [0, 1]: a class, * for every class, or macro.

    Without an argument: the positive class of a binary pool, macro of any other. Macro is
    scikit-learn's multi_class="ovr".
    """
    undefined = "no item labelled as {}, or none labelled otherwise, has been seen"
    return curves.metrics("auroc", _area, undefined, facts, argument)


def _area(steps: curves.Steps) -> curves.Area | None:
    size, rest = steps.hits.sum(), steps.others.sum()
    if not (size > 0 and rest > 0):
        return None
    # (S + 1,) shares of the hits, and of the others, below each step, and 1.
    hits, others = (np.append(0.0, np.cumsum(s) / s.sum()) for s in (steps.hits, steps.others))
    value = float(np.diff(hits) @ (others[:-1] + others[1:]) / 2)

    def influence(scores: Array) -> tuple[Array, Array]:
        """Another: (hits above - A) / share of others. A hit: (others below - A) / share of hits.

        Those at the same score count half.
        """
        low, high = steps.places(scores)
        above, below = 1 - (hits[low] + hits[high]) / 2, (others[low] + others[high]) / 2
        return (above - value) * (size + rest) / rest, (below - value) * (size + rest) / size

    return curves.Area(value, influence)
