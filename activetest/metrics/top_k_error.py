"""Top-k error: the label is not among the k most probable classes (Krizhevsky et al. 2012)."""

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic

TASK = "classification"
BETTER = "lower"
TITLE = "Top-{} error"

_COUNT = 5


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Share of items whose label is not among the 5 most probable classes, in [0, 1].

    top-k-error[3] is about another number, smaller than that of the classes. Of equal probabilities
    the last classes go first, as in scikit-learn.
    """
    name = "top-k-error"
    arguments.require_probabilities(name, facts)
    classes = len(facts.classes)
    if argument is None and classes <= _COUNT:
        raise ChoiceError(
            f"{name!r}: the {_COUNT} most probable of {classes} classes are all of them",
            f"name a smaller number: {name}[{max(classes - 1, 1)}]",
        )
    example = f"{name}[{min(3, classes - 1)}]"
    count = arguments.parse_whole_number(name, argument or str(_COUNT), 1, classes - 1, example)
    return (linear_metric(f"{name}[{count}]", statistic(f"missed_top:{count}")),)
