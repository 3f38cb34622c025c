"""Brier score: the mean squared distance between probabilities and labels (Brier 1950).

The distance is summed over classes.
"""

from activetest.metrics import _arguments
from activetest.metrics._metric import Facts, Metric, linear
from activetest.metrics._statistics import statistic

TASK = "classification"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean Brier loss, in [0, 2]; half of it is what binary scorers often call by this name."""
    _arguments.nothing("brier", argument)
    _arguments.needs_probabilities("brier", facts)
    return (linear("brier", statistic("brier")),)
