"""Bias: the mean of prediction minus label (Jolliffe and Stephenson 2003).

Of a class, the share of items predicted as it minus the share labelled as it: their frequency bias
as a difference. Of a judge's verdicts or scores: the judge minus people.
"""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic
from activetest.metrics import mean

# Of either task.
TASK = None


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean signed difference: positive when the model predicts too much.

    Of values, in their units, without an argument. Of a class, or * for every class, a difference
    of shares in [-1, 1]; without an argument, of the positive class of a binary pool, of every
    class of any other.
    """
    if facts.task == "regression":
        arguments.refuse_argument("bias", argument)
        # Of other pools it is the mean of the differences alone.
        (against,) = mean.metrics(facts, facts.scale) if facts.judge else (None,)
        return (linear_metric("bias", statistic("signed"), against=against),)
    return tuple(
        linear_metric(
            "bias",
            statistic(f"excess:{code}"),
            class_name=facts.classes[code],
            against=linear_metric(
                "rate", statistic(f"true:{code}"), class_name=facts.classes[code], of_labels=True
            ),
        )
        for code in arguments.parse_single_classes("bias", facts, argument)
    )
