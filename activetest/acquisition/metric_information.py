"""Metric information: where the members disagree about the values of the metrics.

ALT-MAS (2021), section 3.3 and appendix B.2: the mutual information of the member and a metric's
value, which is a random variable of the item's label with all other labels held fixed (eq. 5).
Labels that give the metric the same value are one kind. The information is the entropy of the
kinds' mean probabilities (eq. 6 and 7) minus the mean over members of the entropy of theirs (eq. 13
and 14); over several metrics it is summed (eq. 9). The kind of a label is decided by what
it adds to counts, never by comparing values of a metric: see item_statistics.kinds.

Equal scores are told apart by BALD, as in the paper (its remark 3.4): a millionth of it is added.
So it decides where the information is equal to about six digits, and also where it is zero for all
items; what rounding makes of equal information is far less.
"""

import numpy as np

from activetest.acquisition.scores import disagreement
from activetest.nouns.beliefs import Beliefs, Objectives
from activetest.nouns.rows import Array

TASK = "classification"
NEEDS_MEMBERS = True
NEEDS_KINDS = True

# Share of BALD that is added to tell equal scores apart.
_TIES = 1e-6


def score(beliefs: Beliefs, objectives: Objectives) -> Array:
    """(R,) information about all metrics together, in nats, and the term that decides ties.

    The members are beliefs.draws (K, R, C); the metrics are known by objectives.kinds (A, R, C).
    """
    draws = beliefs.known_draws.astype(float)
    bald = disagreement(draws).sum(axis=1)
    scores: Array = sum_information(draws, objectives.known_kinds, bald) + _TIES * bald
    return scores


def sum_information(draws: Array, kinds: Array, bald: Array) -> Array:
    """(R,) sum over A metrics of the information that a label has about each, in nats.

    draws (K, R, C) double precision, kinds (A, R, C) as in Objectives, bald (R,) the information
    where all classes are kinds of their own. Shared parts of metrics are computed once: a class
    against all others, and the kinds of an item that several metrics have.
    """
    classes = kinds.shape[2]
    number = (kinds == np.arange(classes)).sum(axis=2)
    first = (kinds == 0).sum(axis=2)
    alone = (number == 2) & ((first == 1) | (first == classes - 1))
    every = (number == classes) & ~alone
    total: Array = every.sum(axis=0) * bald
    # Of two kinds, one of which is a single class: the first class of the other, or class 0.
    single = np.where(first == 1, 0, kinds.max(axis=2))
    times = np.zeros(draws.shape[1:])
    np.add.at(times, (np.nonzero(alone)[1], single[alone]), 1)
    rows, codes = np.nonzero(times)
    total += np.bincount(
        rows, times[rows, codes] * _tell_class(draws, rows, codes), minlength=len(total)
    )
    rest = (number > 1) & ~alone & ~every
    if rest.any():
        keys = np.column_stack([np.nonzero(rest)[1], kinds[rest]])
        keys, counts = np.unique(keys, axis=0, return_counts=True)
        for block in np.array_split(np.arange(len(keys)), -(-len(keys) // len(total))):
            rows, information = keys[block, 0], _tell_kinds(draws, keys[block, 0], keys[block, 1:])
            total += np.bincount(rows, counts[block] * information, minlength=len(total))
    return total


def _tell_class(draws: Array, rows: Array, codes: Array) -> Array:
    """(n,) information on whether the label of a row is the class, for n rows and classes."""
    prob = draws[:, rows, codes]
    # Single precision does not sum to one: what the other classes have is their own sum.
    others = np.maximum(draws.sum(axis=2)[:, rows] - prob, 0)
    return disagreement(prob) + disagreement(others)


def _tell_kinds(draws: Array, rows: Array, kinds: Array) -> Array:
    """(n,) information on the kind of a row's label, for n rows and their kinds (n, C)."""
    order = np.argsort(kinds, axis=1, kind="stable")
    ordered = np.take_along_axis(kinds, order, axis=1)
    begins = np.ones(kinds.shape, bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    prob = draws[:, rows[:, None], order].reshape(len(draws), -1)
    of_kinds = disagreement(np.add.reduceat(prob, np.flatnonzero(begins), axis=1))
    return np.bincount(np.nonzero(begins)[0], of_kinds, minlength=len(rows))
