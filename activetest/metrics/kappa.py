"""Kappa: agreement of predictions and labels beyond chance (Cohen 1960)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.margins import margins, statistics
from activetest.item_statistics.metric import Facts, Metric, divide
from activetest.nouns.rows import Array

TASK = "classification"
TITLE = "Cohen's kappa"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """(accuracy - chance) / (1 - chance), in [-1, 1]; 0 is chance."""
    arguments.refuse_argument("kappa", argument)
    return (
        Metric(
            "kappa",
            statistics("kappa", len(facts.classes)),
            _beyond_chance,
            lower=-1.0,
            upper=1.0,
            undefined="all items seen are predicted and labelled as one and the same class",
        ),
    )


def _beyond_chance(mean: Array) -> Array:
    sums = margins(mean)
    return divide(sums.right * sums.all - sums.chance, sums.all**2 - sums.chance)
