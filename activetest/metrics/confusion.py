"""Confusion matrix (Townsend 1971)."""

from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.name_lists import shorten_list

TASK = "classification"

# Classes whose whole matrix is still worth printing.
_MOST = 40


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """The share of all items in every cell, or in one: confusion[cat as dog].

    That is the share of items labelled cat and predicted dog. Without an argument, or with *: all
    cells, those of the first true class first.
    """
    names = facts.classes
    cells = {
        f"{true} as {predicted}": f"cell:{row}:{column}"
        for row, true in enumerate(names)
        for column, predicted in enumerate(names)
    }
    if argument in cells:
        cells = {argument: cells[argument]}
    elif argument not in (None, "*"):
        raise ChoiceError(
            f"'confusion' has no cell {argument!r}",
            f"write TRUE as PREDICTED, with two of {shorten_list(names)}",
        )
    elif len(names) > _MOST:
        raise ChoiceError(
            f"'confusion' would have {len(cells)} cells, for {len(names)} classes",
            f"ask for one: 'confusion[{names[0]} as {names[1]}]'",
        )
    return tuple(
        linear_metric("confusion", statistic(word), class_name=cell) for cell, word in cells.items()
    )
