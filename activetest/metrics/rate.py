"""Rate: the share of items whose label is a class, such as a pass rate, prevalence or win rate.

A mean of labels, for which predictions stand where labels are missing (Angelopoulos, Bates,
Fannjiang, Jordan and Zrnic 2023, "Prediction-powered inference").
"""

from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "classification"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Share of items labelled as a class, in [0, 1]: of a class, or * for every class.

    Without an argument: of the positive class of a binary pool, of every class of any other.
    """
    return tuple(
        linear_metric(
            "rate", statistic(f"true:{code}"), class_name=facts.classes[code], of_labels=True
        )
        for code in arguments.parse_single_classes("rate", facts, argument)
    )
