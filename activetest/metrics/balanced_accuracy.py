"""Balanced accuracy: the mean recall of the classes (Brodersen et al. 2010)."""

from activetest.item_statistics import arguments, rates
from activetest.item_statistics.metric import Facts, Metric
from activetest.metrics.recall import RATE

TASK = "classification"
BETTER = "higher"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Macro recall, in [0, 1]: over the classes that labels have; 1 / C is chance."""
    arguments.refuse_argument("balanced-accuracy", argument)
    return (rates.average(RATE, len(facts.classes), "balanced-accuracy"),)
