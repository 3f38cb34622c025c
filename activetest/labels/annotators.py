"""Several answers to one item: how far annotators agree, and what is taken to be the label.

An answer is (id, annotator, status, label), as the ledger keeps it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from activetest.labels.dawid_skene import dawid_skene
from activetest.nouns.log import DECLINED, LABELLED
from activetest.nouns.rows import Array

MAJORITY, DAWID_SKENE = METHODS = ("majority", "dawid-skene")

# Posterior probabilities closer than this are equal but for rounding.
_EQUAL = 1e-9


@dataclass(frozen=True)
class Agreement:
    """How far several answers to one item agree; what was declined does not count.

    annotators   who gave a label, to whatever item
    items        with two labels or more
    pairs        of labels of the same item
    agreeing     share of these pairs whose labels are equal; None without pairs
    alpha        Krippendorff's: 1 for perfect agreement, 0 for chance; None where all labels are
                 the same or there are no pairs
    """

    annotators: int
    items: int
    pairs: int
    agreeing: float | None
    alpha: float | None


@dataclass(frozen=True)
class Opinion:
    """What Dawid-Skene makes of the answers to all items that have a label.

    names    (K,) the labels that occur, in the order of their first use
    probs    {id: (K,) probability that this is the true label}
    labels   {id: the most probable label; of equals the one given first}
    """

    names: tuple[str, ...]
    probs: dict[str, Array]
    labels: dict[str, str]


def settled(answers: Sequence, *, values: bool = False) -> dict[str, tuple[int, str]]:
    """{id: (status, label)}: what the majority says, of equals the earliest.

    Where labels are values it is their median; of an even number, the mean of the middle two. An
    item is declined when all who looked at it declined.
    """
    given = _given(answers)
    choose = _median if values else _most_common
    return {
        id: (LABELLED, choose(given[id])) if id in given else (DECLINED, "")
        for id in dict.fromkeys(answer[0] for answer in answers)
    }


def opinion(answers: Sequence) -> Opinion:
    """The Dawid-Skene posterior of every item with a label. Its labels are classes, not values.

    Labels are the most probable classes. Expectations of a loss would be too large: the posterior
    knows what annotators said, but not that the black box, mostly right, said the same.
    """
    told = [answer for answer in answers if answer[2] == LABELLED]
    items, annotators, names = (
        list(dict.fromkeys(answer[part] for answer in told)) for part in (0, 1, 3)
    )
    places = [
        np.array([order[answer[part]] for answer in told], np.int64)
        for part, order in ((0, _codes(items)), (1, _codes(annotators)), (3, _codes(names)))
    ]
    found = dawid_skene(*places, (len(items), len(annotators), len(names))).posterior
    probs = dict(zip(items, found, strict=True))
    given = _given(told)
    labels = {}
    for id, row in probs.items():
        best = {name for name, p in zip(names, row, strict=True) if p >= row.max() - _EQUAL}
        # A label that nobody gave to the item can be the most probable one all the same.
        labels[id] = next((label for label in given[id] if label in best), names[row.argmax()])
    return Opinion(tuple(names), probs, labels)


def agreement(answers: Sequence, *, values: bool = False) -> Agreement:
    """How far annotators agree.

    Krippendorff (2011), "Computing Krippendorff's alpha-reliability": observed over expected
    disagreement, for any number of annotators and with gaps; differences are squared where labels
    are values, and count as one where they are classes.
    """
    several = [labels for labels in _given(answers).values() if len(labels) > 1]
    pairs = sum(len(labels) * (len(labels) - 1) for labels in several) // 2
    equal = sum(n * (n - 1) for labels in several for n in Counter(labels).values()) // 2
    who = {annotator for _, annotator, status, _ in answers if status == LABELLED}
    share = equal / pairs if pairs else None
    return Agreement(len(who), len(several), pairs, share, _alpha(several, values))


def note(answers: Sequence, method: str, *, values: bool = False) -> str | None:
    """A sentence for reports about several answers to one item; None when no item has them."""
    found = agreement(answers, values=values)
    if not found.items:
        return None
    rule = "their median" if values else "what the majority says, of equals the earliest"
    if method == DAWID_SKENE:
        sure = [row.max() for row in opinion(answers).probs.values()]
        rule = (
            "the most probable class given all answers (Dawid-Skene); about "
            f"{len(sure) - sum(sure):.1f} of {len(sure):,} labels are expected to be wrong"
        )
    alpha = "" if found.alpha is None else f" (Krippendorff's alpha {found.alpha:.2f})"
    with_several = (
        f"{found.items:,} item has" if found.items == 1 else f"{found.items:,} items have"
    )
    return (
        f"{found.annotators:,} annotators: {with_several} two or more labels, "
        f"{found.agreeing:.0%} of all pairs agree{alpha}. The label of an item is {rule}."
    )


def _given(answers: Iterable) -> dict[str, list[str]]:
    """{id: its labels, in the order given}, for items with any."""
    labels: dict[str, list[str]] = {}
    for id, _, status, label in answers:
        if status == LABELLED:
            labels.setdefault(id, []).append(label)
    return labels


def _most_common(labels: list[str]) -> str:
    # Counter keeps the order of first use among equals.
    return Counter(labels).most_common(1)[0][0]


def _median(labels: list[str]) -> str:
    # One label stays as it was written.
    return labels[0] if len(labels) == 1 else repr(median(map(float, labels)))


def _codes(names: list[str]) -> dict[str, int]:
    return {name: code for code, name in enumerate(names)}


def _alpha(several: list[list[str]], values: bool) -> float | None:
    """Krippendorff's alpha of items with two labels or more."""
    apart = _squares if values else _unequal
    together = [label for labels in several for label in labels]
    expected = apart(together)
    if not expected:
        return None
    observed = sum(apart(labels) / (len(labels) - 1) for labels in several)
    return 1 - observed * (len(together) - 1) / expected


def _unequal(labels: list[str]) -> float:
    """Number of ordered pairs of labels that differ."""
    return len(labels) ** 2 - sum(n**2 for n in Counter(labels).values())


def _squares(labels: list[str]) -> float:
    """Sum of the squared differences of all ordered pairs of values."""
    numbers = np.array(labels, float)
    return float(2 * len(numbers) * ((numbers - numbers.mean()) ** 2).sum()) if labels else 0.0
