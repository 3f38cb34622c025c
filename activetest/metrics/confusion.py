"""Confusion matrix (Townsend 1971)."""

from collections.abc import Sequence

from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.name_lists import shorten_list

TASK = "classification"

# Classes whose whole matrix is still worth printing.
_MOST = 40
# Between the classes of a cell.
_AS = " as "


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """The share of all items in every cell, or in one: confusion[cat as dog].

    That is the share of items labelled cat and predicted dog. Without an argument, or with *: all
    cells, those of the first true class first.
    """
    names = facts.classes
    if argument not in (None, "*"):
        cells = _find_cell(names, argument)
    elif len(names) > _MOST:
        raise ChoiceError(
            f"'confusion' would have {len(names) ** 2} cells, for {len(names)} classes",
            f"ask for one: 'confusion[{names[0]} as {names[1]}]'",
        )
    else:
        cells = {
            f"{true} as {predicted}": f"cell:{row}:{column}"
            for row, true in enumerate(names)
            for column, predicted in enumerate(names)
        }
    return tuple(
        linear_metric("confusion", statistic(word), class_name=cell) for cell, word in cells.items()
    )


def _find_cell(names: Sequence[str], argument: str) -> dict[str, str]:
    """{title: statistic} of one cell. Raises ChoiceError where there is none of that name."""
    words = argument.split(_AS)
    # Names may have the word themselves: the last way to split it is that of a matrix, row by row.
    pairs = [(_AS.join(words[:at]), _AS.join(words[at:])) for at in range(1, len(words))]
    places = {name: place for place, name in enumerate(names)}
    found = [(places[a], places[b]) for a, b in pairs if a in places and b in places]
    if not found:
        raise ChoiceError(
            f"'confusion' has no cell {argument!r}",
            f"write TRUE as PREDICTED, with two of {shorten_list(names)}",
        )
    row, column = max(found)
    return {argument: f"cell:{row}:{column}"}
