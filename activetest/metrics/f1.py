"""F1: the harmonic mean of recall and precision (van Rijsbergen 1979; Chinchor 1992)."""

from activetest.item_statistics import rates
from activetest.item_statistics.metric import Facts, Metric
from activetest.metrics.f_beta import make_rate

TASK = "classification"
BETTER = "higher"
TITLE = "F1"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """2 tp / (2 tp + fp + fn), in [0, 1].

    Of a class, * for every class, macro, micro or weighted. Without an argument: of the positive
    class of a binary pool, macro of any other.
    """
    return rates.metrics(make_rate("f1", 1.0), facts, argument)
