"""Log-loss: the mean negative log-probability of the label, in nats (Good 1952)."""

from activetest.metrics import _arguments
from activetest.metrics._metric import Facts, Metric, linear
from activetest.metrics._statistics import statistic

TASK = "classification"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean log-loss; probabilities are floored at 1e-12, so a mistake costs at most 27.6."""
    _arguments.nothing("log-loss", argument)
    _arguments.needs_probabilities("log-loss", facts)
    return (linear("log-loss", statistic("log_loss")),)
