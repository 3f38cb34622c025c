"""Metrics of classes that are called: rates, agreement beyond chance, cells of the matrix.

Rates are rows; others have a function each.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments, rates
from activetest.item_statistics.metric import (
    Facts,
    Formula,
    Metric,
    divide,
    linear_metric,
    ratio_metric,
)
from activetest.item_statistics.rates import Rate
from activetest.item_statistics.statistic import statistic
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.rows import Array

_EXAMPLE = "f-beta[2] or f-beta[0.5,macro]"
_ONE_CLASS = "all items seen are predicted and labelled as one and the same class"
# Classes whose whole confusion matrix is still worth printing.
_MOST = 40
# Between the classes of a cell.
_AS = " as "


def _make_f(name: str, beta: float) -> Rate:
    """The harmonic mean of recall and precision, where recall counts beta times as much."""
    return Rate(
        name,
        above=(0, 1 + beta**2, 0, 0),
        below=(0, 1 + beta**2, 1, beta**2),
        empty="no item predicted or labelled as {} has been seen",
    )


# Rates, in [0, 1], by weights of 1, tp, fp and fn. Their argument is a class, * for every class,
# macro, micro or weighted; without one they are of the positive class of a binary pool, macro of
# any other.
precision = Rate(
    "precision",
    above=(0, 1, 0, 0),
    below=(0, 1, 1, 0),
    empty="no item predicted as {} has been seen",
)
"""Tp / (tp + fp): how much of what is predicted as a class is of it (van Rijsbergen 1979)."""

recall = Rate(
    "recall",
    above=(0, 1, 0, 0),
    below=(0, 1, 0, 1),
    empty="no item labelled as {} has been seen",
)
"""Tp / (tp + fn): how much of a class is predicted as it (van Rijsbergen 1979)."""

specificity = Rate(
    "specificity",
    above=(1, -1, -1, -1),
    below=(1, -1, 0, -1),
    empty="every item seen is labelled as {}",
)
"""Tn / (tn + fp): how much of what is not of a class is not predicted as it (Yerushalmy 1947)."""

false_positive_rate = Rate(
    "false-positive-rate",
    above=(0, 0, 1, 0),
    below=(1, -1, 0, -1),
    empty="every item seen is labelled as {}",
)
"""Fp / (fp + tn), one minus specificity: how much of what is not of a class is predicted as it.

Fawcett 2006.
"""

f1 = _make_f("f1", 1.0)
"""2 tp / (2 tp + fp + fn): the harmonic mean of recall and precision.

van Rijsbergen 1979; Chinchor 1992.
"""


@Formula
def f_beta(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """(1 + b^2) tp / ((1 + b^2) tp + fp + b^2 fn), in [0, 1]: recall counts b times as much.

    The argument is b, between 0 and 100; after a comma, of what: a class, * for every class, macro,
    micro or weighted. Without that: of the positive class of a binary pool, macro of any other.
    van Rijsbergen 1979; Chinchor 1992.
    """
    if argument is None:
        raise ChoiceError("'f-beta' needs its beta", f"for example {_EXAMPLE}")
    text, comma, meant = (part.strip() for part in argument.partition(","))
    beta = arguments.parse_number("f-beta", text, 0, 100, _EXAMPLE)
    return _make_f(f"f-beta[{beta:g}]", beta).metrics(facts, meant if comma else None)


@Formula
def balanced_accuracy(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Macro recall, in [0, 1]: over the classes that labels have; 1 / C is chance.

    Brodersen et al. 2010.
    """
    arguments.refuse_argument("balanced-accuracy", argument)
    return (rates.average(recall, len(facts.classes), "balanced-accuracy"),)


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


def _sum_margins(mean: Array) -> Margins:
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


def _from_margins(
    name: str,
    facts: Facts,
    argument: str | None,
    smooth: Callable[[Array], Array],
    undefined: str,
) -> Metric:
    """A metric in [-1, 1] of (3 C,) means: tp of every class, then fp, then fn.

    Raises ChoiceError for an argument, and where classes are too many.
    """
    arguments.refuse_argument(name, argument)
    classes = len(facts.classes)
    arguments.require_few_classes(name, classes)
    statistics = [
        statistic(f"{word}:{code}") for word in ("tp", "fp", "fn") for code in range(classes)
    ]
    return Metric(name, tuple(statistics), smooth, -1.0, 1.0, undefined=undefined)


@Formula
def kappa(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """(accuracy - chance) / (1 - chance), in [-1, 1]; 0 is chance (Cohen 1960)."""
    found = _from_margins("kappa", facts, argument, _find_agreement, _ONE_CLASS)
    return (replace(found, given_shares=_given_shares if facts.judge else None),)


def _find_agreement(mean: Array) -> Array:
    sums = _sum_margins(mean)
    return divide(sums.right * sums.all - sums.chance, sums.all**2 - sums.chance)


def _given_shares(shares: Sequence[float]) -> Metric:
    """Kappa where the shares of predicted classes are known: chance is then a mean over labels.

    The share that is right by chance is the mean of the share predicted as the label.
    """
    chance = [-float(share) for share in shares]
    return ratio_metric(
        "kappa",
        [statistic("zero_one"), *(statistic(f"true:{code}") for code in range(len(chance)))],
        above=[1.0, -1.0, *chance],
        below=[1.0, 0.0, *chance],
        lower=-1.0,
        upper=1.0,
        undefined=_ONE_CLASS,
    )


@Formula
def mcc(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Correlation of predicted and true class, in [-1, 1]; 0 is chance.

    Matthews 1975; several classes: Gorodkin 2004.
    """
    undefined = "all items seen are predicted as one class, or labelled as one"
    return (_from_margins("mcc", facts, argument, _find_correlation, undefined),)


def _find_correlation(mean: Array) -> Array:
    sums = _sum_margins(mean)
    square = sums.all**2
    # Only rounding can make them negative.
    spread = np.maximum(square - sums.called, 0) * np.maximum(square - sums.true, 0)
    return divide(sums.right * sums.all - sums.chance, np.sqrt(spread))


@Formula
def confusion(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """The share of all items in every cell, or in one: confusion[cat as dog] (Townsend 1971).

    It is the share of items labelled cat and predicted dog. Without an argument, or with *: all
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
