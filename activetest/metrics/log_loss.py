"""Log-loss: the mean negative log-probability of the label, in nats."""

from activetest.metrics._metric import Metric, first


def metric() -> Metric:
    """Mean log-loss; probabilities are floored at 1e-12, so a mistake costs at most 27.6."""
    return Metric("log-loss", ("log_loss",), first)
