"""Matthews correlation coefficient (Matthews 1975; several classes: Gorodkin 2004)."""

import numpy as np

from activetest.item_statistics import arguments
from activetest.item_statistics.margins import margins, statistics
from activetest.item_statistics.metric import Facts, Metric, divide
from activetest.nouns.rows import Array

TASK = "classification"
BETTER = "higher"
TITLE = "Matthews correlation"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Correlation of predicted and true class, in [-1, 1]; 0 is chance."""
    arguments.refuse_argument("mcc", argument)
    return (
        Metric(
            "mcc",
            statistics("mcc", len(facts.classes)),
            _correlation,
            lower=-1.0,
            upper=1.0,
            undefined="all items seen are predicted as one class, or labelled as one",
        ),
    )


def _correlation(mean: Array) -> Array:
    sums = margins(mean)
    square = sums.all**2
    # Only rounding can make them negative.
    spread = np.maximum(square - sums.called, 0) * np.maximum(square - sums.true, 0)
    return divide(sums.right * sums.all - sums.chance, np.sqrt(spread))
