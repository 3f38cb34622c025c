"""Accuracy: the share of items whose predicted class is the label (Hand 1997)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "classification"
BETTER = "higher"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """One minus the mean zero-one loss, in [0, 1].

    The draws that estimate an error well estimate an accuracy well.
    """
    arguments.refuse_argument("accuracy", argument)
    return (linear_metric("accuracy", statistic("zero_one"), slope=-1.0, shift=1.0),)
