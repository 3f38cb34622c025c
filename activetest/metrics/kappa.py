"""Kappa: agreement of predictions and labels beyond chance (Cohen 1960)."""

from collections.abc import Sequence

from activetest.item_statistics import arguments
from activetest.item_statistics.margins import margins, statistics
from activetest.item_statistics.metric import Facts, Metric, divide, ratio_metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.rows import Array

TASK = "classification"
BETTER = "higher"
TITLE = "Cohen's kappa"

_ONE_CLASS = "all items seen are predicted and labelled as one and the same class"


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
            undefined=_ONE_CLASS,
            given_shares=_given_shares if facts.judge else None,
        ),
    )


def _given_shares(shares: Sequence[float]) -> Metric:
    """Kappa where the shares of predicted classes are known: chance is then a mean over labels.

    What is right by chance is the mean of the share predicted as the label.
    """
    chance = [-float(share) for share in shares]
    return ratio_metric(
        "kappa",
        [statistic("zero_one"), *(statistic(f"true:{code}") for code in range(len(chance)))],
        above=[1.0, -1.0, *chance],
        below=[1.0, 0.0, *chance],
        lower=-1.0,
        upper=1.0,
        undefined=_ONE_CLASS,
    )


def _beyond_chance(mean: Array) -> Array:
    sums = margins(mean)
    return divide(sums.right * sums.all - sums.chance, sums.all**2 - sums.chance)
