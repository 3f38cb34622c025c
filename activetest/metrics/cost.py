"""Expected cost of the predictions, from a matrix of costs (Elkan 2001)."""

import json

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "classification"
BETTER = "lower"
TITLE = "Mean cost"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean cost per item, in the units of the matrix.

    A label of a class that the pool does not have costs the most that the prediction can cost.
    """
    arguments.refuse_argument("cost", argument)
    if facts.costs is None:
        raise ChoiceError(
            "'cost' needs a matrix of costs, and this study has none",
            '`study.change(costs="costs.csv")`',
        )
    # The name carries the whole matrix: a round stays what it was when the costs change.
    costs = json.dumps(facts.costs, separators=(",", ":"))
    return (linear_metric("cost", statistic(f"cost:{costs}")),)
