"""Precision: how much of what is predicted as a class is of it (van Rijsbergen 1979)."""

from activetest.item_statistics import rates
from activetest.item_statistics.metric import Facts, Metric

TASK = "classification"
BETTER = "higher"

RATE = rates.Rate(
    "precision",
    # 1, tp, fp, fn
    above=(0, 1, 0, 0),
    below=(0, 1, 1, 0),
    empty="no item predicted as {} has been seen",
)


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Tp / (tp + fp), in [0, 1].

    Of a class, * for every class, macro, micro or weighted. Without an argument: of the positive
    class of a binary pool, macro of any other.
    """
    return rates.metrics(RATE, facts, argument)
