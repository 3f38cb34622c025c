"""Several answers to one item: how far annotators agree, and which label is used.

An answer is (id, annotator, status, label), as in the ledger.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from statistics import median

import numpy as np

from activetest.labels.dawid_skene import fit_dawid_skene
from activetest.nouns.log import DECLINED, LABELLED
from activetest.nouns.report_details import AnnotatorAnswers
from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array

MAJORITY, DAWID_SKENE = METHODS = ("majority", "dawid-skene")

# Posterior probabilities closer than this say nothing about which label is right: where two
# annotators disagree, they follow from a few other items by chance.
_MARGIN = 0.1


@dataclass(frozen=True)
class Agreement:
    """How far several answers to one item agree; declined items do not count.

    annotators   number of those who gave a label to any item
    items        with two labels or more
    pairs        number of pairs of labels of the same item
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
class InferredLabels:
    """The Dawid-Skene posterior of all items that have a label.

    names    (K,) the labels that occur, in the order of their first use
    probs    {id: (K,) probability that this is the true label}
    labels   {id: the most probable label; of those nearly as probable the one given first}
    """

    names: tuple[str, ...]
    probs: dict[str, Array]
    labels: dict[str, str]


def resolve_answers(answers: Sequence, *, values: bool = False) -> dict[str, tuple[int, str]]:
    """{id: (status, label)} by majority; of equally frequent labels the earliest.

    values  labels are numbers: their median; of an even number, the mean of the middle two

    An item is declined when everybody who answered declined.
    """
    if _is_one_each(answers):
        given = list(map(itemgetter(2, 3), answers))
        # Outcomes are few, and items share them.
        outcomes = {
            each: (LABELLED, each[1]) if each[0] == LABELLED else (DECLINED, "")
            for each in set(given)
        }
        found = map(outcomes.__getitem__, given)
        return dict(zip(map(itemgetter(0), answers), found, strict=True))
    labels = _group_labels(answers)
    choose = _compute_median if values else _find_most_common
    return {
        id: (LABELLED, choose(labels[id])) if id in labels else (DECLINED, "")
        for id in dict.fromkeys(answer[0] for answer in answers)
    }


def infer_labels(answers: Sequence) -> InferredLabels:
    """The Dawid-Skene posterior of every item with a label. Its labels are classes, not values.

    Labels are the most probable classes. They steer draws; estimates are corrected by a model that
    has the black box as one more rater, see latent_classes.
    """
    labelled = [answer for answer in answers if answer[2] == LABELLED]
    items, item_codes = _encode([answer[0] for answer in labelled])
    annotators, annotator_codes = _encode([answer[1] for answer in labelled])
    names, label_codes = _encode([answer[3] for answer in labelled])
    sizes = (len(items), len(annotators), len(names))
    fitted = fit_dawid_skene(item_codes, annotator_codes, label_codes, sizes)
    probs = dict(zip(items, fitted.posterior, strict=True))
    given = _group_labels(labelled)
    labels = {}
    for id, row in probs.items():
        best = {name for name, p in zip(names, row, strict=True) if p >= row.max() - _MARGIN}
        # The most probable label may be one that nobody gave to the item.
        most = names[int(find_nearly_largest(row))]
        labels[id] = next((label for label in given[id] if label in best), most)
    return InferredLabels(tuple(names), probs, labels)


def measure_agreement(answers: Sequence, *, values: bool = False) -> Agreement:
    """How far annotators agree.

    Krippendorff (2011), "Computing Krippendorff's alpha-reliability": observed over expected
    disagreement, for any number of annotators and with missing answers. Differences are squared
    where labels are values, and count as one where they are classes.
    """
    grouped = {} if _is_one_each(answers) else _group_labels(answers)
    several = [labels for labels in grouped.values() if len(labels) > 1]
    pairs = sum(len(labels) * (len(labels) - 1) for labels in several) // 2
    equal = sum(n * (n - 1) for labels in several for n in Counter(labels).values()) // 2
    annotators = {annotator for _, annotator, status, _ in answers if status == LABELLED}
    share = equal / pairs if pairs else None
    return Agreement(len(annotators), len(several), pairs, share, _compute_alpha(several, values))


def list_labelling(answers: Sequence) -> tuple[str, ...]:
    """The names of those who gave a label to any item, in the order of their first ones."""
    return tuple(dict.fromkeys(who for _, who, status, _ in answers if status == LABELLED))


def list_annotators(answers: Sequence) -> tuple[AnnotatorAnswers, ...]:
    """All answers, in the order of first answers; nothing where nobody has a name."""
    labels: dict[str, list[tuple[str, str]]] = {}
    found: dict[str, Counter[str]] = {}
    for id, annotator, status, label in answers:
        counts = found.setdefault(annotator, Counter())
        counts["labeled" if status == LABELLED else "declined"] += 1
        if status == LABELLED:
            labels.setdefault(id, []).append((annotator, label))
    for several in labels.values():
        same = Counter(label for _, label in several)
        for annotator, label in several:
            found[annotator]["compared"] += len(several) - 1
            found[annotator]["agreeing"] += same[label] - 1
    if not any(found):
        return ()
    return tuple(
        AnnotatorAnswers(
            name,
            counts["labeled"],
            counts["declined"],
            counts["compared"],
            counts["agreeing"] / counts["compared"] if counts["compared"] else None,
        )
        for name, counts in found.items()
    )


def list_contested(answers: Sequence) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """(id, its (annotator, label) in order) of items with different labels.

    Those with the largest number of labels beside their most common one first; ties go to the one
    that was answered first.
    """
    labels: dict[str, list[tuple[str, str]]] = {}
    for id, annotator, status, label in answers:
        if status == LABELLED:
            labels.setdefault(id, []).append((annotator, label))
    others = {
        id: len(several) - max(Counter(label for _, label in several).values())
        for id, several in labels.items()
    }
    contested = sorted(filter(others.get, others), key=lambda id: -others[id])
    return [(id, tuple(labels[id])) for id in contested]


def describe_agreement(answers: Sequence, method: str, *, values: bool = False) -> str | None:
    """A sentence for reports about several answers to one item; None when no item has them."""
    agreement = measure_agreement(answers, values=values)
    if not agreement.items:
        return None
    rule = (
        "The label of an item is their median"
        if values
        else "The majority decides each item's label; ties go to the earliest answer"
    )
    if method == DAWID_SKENE:
        inferred = infer_labels(answers)
        confidence = [
            row[inferred.names.index(inferred.labels[id])] for id, row in inferred.probs.items()
        ]
        wrong = len(confidence) - sum(confidence)
        rule = (
            "The label of an item is the most probable class given all answers (Dawid-Skene); "
            f"about {wrong:.1f} of {len(confidence):,} labels are expected "
            "to be wrong"
        )
    alpha = "" if agreement.alpha is None else f" (Krippendorff's alpha {agreement.alpha:.2f})"
    with_several = (
        f"{agreement.items:,} item has"
        if agreement.items == 1
        else f"{agreement.items:,} items have"
    )
    return (
        f"{agreement.annotators:,} annotators: {with_several} two or more labels, "
        f"{agreement.agreeing:.0%} of all pairs agree{alpha}. {rule}."
    )


def _is_one_each(answers: Sequence) -> bool:
    """Whether no item has several answers."""
    return len(set(map(itemgetter(0), answers))) == len(answers)


def _group_labels(answers: Iterable) -> dict[str, list[str]]:
    """{id: its labels, in the order given}, for items with any."""
    labels: dict[str, list[str]] = {}
    for id, _, status, label in answers:
        if status == LABELLED:
            labels.setdefault(id, []).append(label)
    return labels


def _find_most_common(labels: list[str]) -> str:
    """The most common label; ties go to the earliest."""
    # Counter keeps the order of first use among equals.
    return labels[0] if len(labels) == 1 else Counter(labels).most_common(1)[0][0]


def _compute_median(labels: list[str]) -> str:
    """The median of labels that are numbers."""
    # One label stays as it was written.
    return labels[0] if len(labels) == 1 else repr(median(map(float, labels)))


def _encode(values: list[str]) -> tuple[list[str], Array]:
    """The distinct values in the order of their first use, and (A,) the code of each value."""
    codes = {name: code for code, name in enumerate(dict.fromkeys(values))}
    return list(codes), np.array([codes[value] for value in values], np.int64)


def _compute_alpha(several: list[list[str]], values: bool) -> float | None:
    """Krippendorff's alpha of items with two labels or more."""
    disagreement = _sum_squared_differences if values else _count_unequal_pairs
    pooled = [label for labels in several for label in labels]
    expected = disagreement(pooled)
    if not expected:
        return None
    observed = sum(disagreement(labels) / (len(labels) - 1) for labels in several)
    return 1 - observed * (len(pooled) - 1) / expected


def _count_unequal_pairs(labels: list[str]) -> float:
    """Number of ordered pairs of labels that differ."""
    return len(labels) ** 2 - sum(n**2 for n in Counter(labels).values())


def _sum_squared_differences(labels: list[str]) -> float:
    """Sum of the squared differences of all ordered pairs of values."""
    numbers = np.array(labels, float)
    return float(2 * len(numbers) * ((numbers - numbers.mean()) ** 2).sum()) if labels else 0.0
