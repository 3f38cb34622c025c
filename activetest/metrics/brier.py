"""Brier score: the mean squared distance between probabilities and labels (Brier 1950).

The distance is summed over classes.
"""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "classification"
BETTER = "lower"
TITLE = "Brier score"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean Brier loss, in [0, 2]; half of it is what binary scorers often call by this name."""
    arguments.refuse_argument("brier", argument)
    arguments.require_probabilities("brier", facts)
    return (linear_metric("brier", statistic("brier")),)
