"""Columns that learned the black box's own answers from the features and texts of other items.

No label and no training row is needed: where learners that saw only the model's answers to other
items would have answered otherwise, the model is wrong more often. Each column is the logit of the
model's answer by one of cache.learners.

The part that a column shares with the model's own confidence is taken out: it would make a
surrogate falsely sure where the model is. A column that foretells answers no better than the shares
of classes is left out. Items with the same features are learned once, and judged without each
other.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from activetest.cache.learners import (
    AT_ONCE,
    FEWEST_ROWS,
    GRID,
    MOST_CLASSES,
    MOST_ROWS,
    Source,
    is_sure,
    measure_gain,
    measure_hits,
    rank_classes,
    take_own,
)
from activetest.nouns.rows import Array
from activetest.system.progress import step

# Columns that are kept: each has slopes of its own to be found from labels.
_MOST_COLUMNS = 3
# No logit is farther from 0 than this.
_MOST_LOGIT = 8.0


@dataclass(frozen=True)
class Answers:
    """Columns that foretell the answers of N items.

    columns  (N, K) float32, without what the confidence says; K may be 0
    hits     for each source, share of learned items whose answer its best learner foretells; 0
             where none does better than the shares of classes
    """

    columns: Array
    hits: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class _Column:
    """(N,) logits by a learner of a source, its gain in log-probability of answers, its hits."""

    source: Source
    column: Array
    gain: float
    hits: float


def learn_answers(
    sources: Sequence[Source],
    codes: Array,
    confidence: Array | None,
    hashes: Array,
    first: int | None = None,
) -> Answers:
    """The columns that are worth keeping: none where nothing foretells the model's answers.

    sources     what is known of the items
    codes       (N,) the model's answers
    confidence  (N,) logit of its confidence; None where it states none
    hashes      (N,) uint64 of the ids: they choose what is learned, whatever the order of rows
    first       only so many of the first items are learned; None for all
    """
    first = len(codes) if first is None else first
    classes, answers = _rank_classes(codes, first)
    order = np.argsort(hashes[:first], kind="stable")
    others = np.arange(first, len(codes))
    found = [
        each
        for source in sources
        for each in _learn_columns(source, answers, len(classes), order, others)
    ]
    best = sorted(found, key=lambda each: -each.gain)[:_MOST_COLUMNS]
    kept = [each.column for each in found if each in best]
    columns = np.stack(kept, axis=1) if kept else np.empty((len(codes), 0), np.float32)
    hits = [
        max([0.0, *(each.hits for each in found if each.source is source)]) for source in sources
    ]
    return Answers(_finish(columns, confidence, first) if kept else columns, tuple(hits))


def _rank_classes(codes: Array, first: int) -> tuple[Array, Array]:
    """As rank_classes, by the first items; classes that none of them has are the last one."""
    classes, answers = rank_classes(codes[:first], MOST_CLASSES)
    if first == len(codes):
        return classes, answers
    places = np.full(int(codes.max()) + 1, int(answers.max(initial=0)))
    places[codes[:first]] = answers
    return classes, places[codes]


def _learn_columns(
    source: Source, answers: Array, classes: int, order: Array, others: Array
) -> list[_Column]:
    """Those of a source that foretell answers better than the shares of classes do.

    answers (N,) codes of so many classes, the most frequent first; order of what is learned first,
    and others, of which nothing is.
    """
    answers, learned = np.minimum(answers, source.most_classes - 1), order[:MOST_ROWS]
    inputs, own, count = source.read(learned), answers[learned], int(answers.max()) + 1
    keys, first, place = np.unique(source.hash(inputs), return_index=True, return_inverse=True)
    if len(first) < FEWEST_ROWS or count < 2:
        return []
    # Rows of the same features stand for one; these are learned in the order of their hashes.
    rank = np.argsort(first, kind="stable")
    first, seat = first[rank], np.argsort(rank, kind="stable")
    place = seat[place]
    kept, found = [], []
    for learner in source.list_learners(inputs[first], own[first], count):
        held_out = learner.held_out[place]
        gain = measure_gain(held_out, own)
        if is_sure(gain, len(first)):
            hits = measure_hits(held_out, own, classes, source.most_classes)
            column = np.empty(len(answers), np.float32)
            column[learned] = find_logits(held_out, own)
            kept.append(learner)
            found.append(_Column(source, column, float(gain.mean()), hits))
    rest = np.append(order[len(learned) :], others) if kept else order[:0]
    with step("judging items by their features", len(rest)) as doing:
        for start in range(0, len(rest), AT_ONCE):
            rows = rest[start : start + AT_ONCE]
            read = source.read(rows)
            hashed = source.hash(read)
            at = np.minimum(np.searchsorted(keys, hashed), len(keys) - 1)
            same = keys[at] == hashed
            for learner, each in zip(kept, found, strict=True):
                logs = learner.predict(read)
                logs[same] = learner.held_out[seat[at[same]]]
                each.column[rows] = find_logits(logs, answers[rows])
            doing.advance(len(rows))
    return found


def find_logits(logs: Array, answers: Array) -> Array:
    """(R,) logits of the answers."""
    own = np.minimum(take_own(logs, answers), -1e-9)
    return np.clip(own - np.log(-np.expm1(own)), -_MOST_LOGIT, _MOST_LOGIT)


def _finish(columns: Array, confidence: Array | None, first: int) -> Array:
    """(N, K) float32 columns without what the confidence and its square foretell of the first."""
    known = [np.ones(len(columns))]
    if confidence is not None:
        known += [confidence.astype(float), confidence.astype(float) ** 2]
    basis = np.column_stack(known)
    learned = basis[:first], columns[:first].astype(float)
    left = columns - basis @ np.linalg.lstsq(*learned, rcond=None)[0]
    return (np.round(left / GRID) * GRID).astype(np.float32)
