"""Coverage of the predictive distribution's central interval (Gneiting et al. 2007)."""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "regression"
TITLE = "Coverage of intervals[ at level {}]"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Share of labels within the central interval of N(prediction, deviation^2), in [0, 1].

    Of level 0.9, unless another is given: interval-coverage[0.5]. Good is what equals the level.
    """
    name = "interval-coverage"
    arguments.require_deviation(name, facts)
    level = arguments.parse_number(name, argument or "0.9", 0, 1, f"{name}[0.5]")
    return (linear_metric(f"{name}[{level!r}]", statistic(f"inside:{level!r}")),)
