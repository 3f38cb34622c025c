"""False positive rate: how much of what is not of a class is predicted as it (Fawcett 2006)."""

from activetest.item_statistics import rates
from activetest.item_statistics.metric import Facts, Metric

TASK = "classification"
BETTER = "lower"

RATE = rates.Rate(
    "false-positive-rate",
    # 1, tp, fp, fn
    above=(0, 0, 1, 0),
    below=(1, -1, 0, -1),
    empty="every item seen is labelled as {}",
)


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Fp / (fp + tn), in [0, 1]: one minus specificity.

    Of a class, * for every class, macro, micro or weighted. Without an argument: of the positive
    class of a binary pool, macro of any other.
    """
    return rates.metrics(RATE, facts, argument)
