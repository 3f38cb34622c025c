"""Pinball loss: predictions as a quantile of the label, in its units (Koenker and Bassett 1978)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "regression"
BETTER = "lower"
TITLE = "Pinball loss[ at quantile {}]"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean pinball loss; pinball[0.9] takes predictions as 0.9-quantiles.

    At 0.5, unless another level is given: half the mean absolute error.
    """
    level = arguments.parse_number("pinball", argument or "0.5", 0, 1, "pinball[0.9]")
    return (linear_metric(f"pinball[{level!r}]", statistic(f"pinball:{level!r}")),)
