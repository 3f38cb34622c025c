"""Mean of the labels, in their units (Horvitz and Thompson 1952).

Predictions stand where labels are missing (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023,
"Prediction-powered inference").
"""

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "regression"
TITLE = "The mean label[ (scale {})]"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean label; mean[0,1] is of labels on a scale from 0 to 1.

    The ends of the scale bound the mean: with them there are bets on it, and intervals that hold at
    every look. A label outside counts as the nearest end. Raises ChoiceError for anything else than
    two numbers in ascending order.
    """
    if argument is None:
        return (linear_metric("mean", statistic("label:0.0"), of_labels=True),)
    low, high = _parse_scale(argument)
    name = f"mean[{low:g},{high:g}]"
    return (linear_metric(name, statistic(f"label_within:{low!r}:{high!r}"), of_labels=True),)


def _parse_scale(argument: str) -> tuple[float, float]:
    """Both ends of the scale."""
    parts = argument.split(",")
    if len(parts) != 2:
        raise ChoiceError(
            f"'mean' takes both ends of the labels' scale, not {argument!r}",
            "for example mean[0,1]",
        )
    largest = arguments.LARGEST_NUMBER
    low, high = (
        arguments.parse_number("mean", part.strip(), -largest, largest, "mean[0,1]")
        for part in parts
    )
    if not low < high:
        raise ChoiceError(
            f"'mean' takes the lower end of the scale first, not {argument!r}",
            f"for example mean[{min(low, high):g},{max(low, high):g}]"
            if low != high
            else "for example mean[0,1]",
        )
    return low, high
