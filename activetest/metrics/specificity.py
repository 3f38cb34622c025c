"""Specificity: how much of what is not of a class is not predicted as it (Yerushalmy 1947)."""

from activetest.item_statistics import rates
from activetest.item_statistics.metric import Facts, Metric

TASK = "classification"
BETTER = "higher"

RATE = rates.Rate(
    "specificity",
    # 1, tp, fp, fn
    above=(1, -1, -1, -1),
    below=(1, -1, 0, -1),
    empty="every item seen is labelled as {}",
)


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Tn / (tn + fp), in [0, 1].

    Of a class, * for every class, macro, micro or weighted. Without an argument: of the positive
    class of a binary pool, macro of any other.
    """
    return rates.metrics(RATE, facts, argument)
