"""Log-loss: the mean negative log-probability of the label, in nats (Good 1952)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "classification"
BETTER = "lower"
TITLE = "Log-loss"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean log-loss; probabilities are floored at 1e-12, so a mistake costs at most 27.6."""
    arguments.refuse_argument("log-loss", argument)
    arguments.require_probabilities("log-loss", facts)
    return (linear_metric("log-loss", statistic("log_loss")),)
