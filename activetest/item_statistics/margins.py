"""The sums of a confusion matrix that chance-corrected agreement is made of."""

from typing import NamedTuple

import numpy as np

from activetest.item_statistics import arguments
from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.rows import Array


class Margins(NamedTuple):
    """Of (..., 3 C) means of tp, fp and fn, which need not sum to one.

    all      (...) of everything: 1 but for the error of the estimate
    right    (...) of what is predicted right
    chance   (...) what would be right by chance: sum over classes of predicted times true
    called   (...) sum over classes of the square of the share predicted as it
    true     (...) sum over classes of the square of its share; all labels outside the pool's
             classes are one class more
    """

    all: Array
    right: Array
    chance: Array
    called: Array
    true: Array


def statistics(name: str, classes: int) -> tuple[Statistic, ...]:
    """(3 C,) tp of every class, then fp, then fn. Raises ChoiceError where classes are too many."""
    arguments.require_few_classes(name, classes)
    return tuple(
        statistic(f"{word}:{code}") for word in ("tp", "fp", "fn") for code in range(classes)
    )


def margins(mean: Array) -> Margins:
    """The sums, each of the same scale: squares of shares are squares of all."""
    tp, fp, fn = np.split(mean, 3, axis=-1)
    called, true = tp + fp, tp + fn
    outside = (fp - fn).sum(axis=-1)
    return Margins(
        called.sum(axis=-1),
        tp.sum(axis=-1),
        (called * true).sum(axis=-1),
        (called**2).sum(axis=-1),
        (true**2).sum(axis=-1) + outside**2,
    )
