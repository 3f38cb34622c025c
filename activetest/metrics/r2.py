"""R squared, the coefficient of determination (Wright 1921)."""

import numpy as np

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.rows import Array

TASK = "regression"
BETTER = "higher"
TITLE = "R2"

# A variance smaller than this share of the mean square is what rounding leaves of none.
_ROUNDING = 1e-12


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """One minus the mean squared loss over the variance of the labels: 1 at best, no lower bound.

    0 is what predicting the mean label of the pool for every item would reach.
    """
    arguments.refuse_argument("r2", argument)
    center = repr(float(facts.center))
    names = ("squared", f"label:{center}", f"label_squared:{center}")
    return (
        Metric(
            "r2",
            tuple(map(statistic, names)),
            _explained,
            lower=-np.inf,
            upper=1.0,
            undefined="all labels seen are the same",
        ),
    )


def _explained(mean: Array) -> Array:
    squared, label, label_squared = np.moveaxis(mean, -1, 0)
    variance = label_squared - label**2
    there = variance > _ROUNDING * label_squared
    return np.where(there, 1 - squared / np.where(there, variance, 1.0), np.nan)[()]
