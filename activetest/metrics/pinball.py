"""Pinball loss: predictions as a quantile of the label, in its units (Koenker and Bassett 1978)."""

from activetest.metrics import _arguments
from activetest.metrics._metric import Facts, Metric, linear
from activetest.metrics._statistics import statistic

TASK = "regression"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean pinball loss; pinball[0.9] takes predictions as 0.9-quantiles.

    At 0.5, unless another level is given: half the mean absolute error.
    """
    level = _arguments.number("pinball", argument or "0.5", 0, 1, "pinball[0.9]")
    return (linear(f"pinball[{level!r}]", statistic(f"pinball:{level!r}")),)
