"""Evidence of training rows on every item: one column, learned once from their labels.

The learners of cache.learners learn from the features and texts of training rows; what they say is
one prediction, in which each has the weight that foretells training rows best which it did not
learn from. Of classes the column is the logit that the model's answer is right, of values the
predicted label minus the model's prediction. No label of the pool is needed: it is known before
every draw.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.special import log_softmax

from activetest.cache import features as all_features
from activetest.cache.answers import find_logits
from activetest.cache.cache import Cache
from activetest.cache.learners import (
    AT_ONCE,
    FEWEST_ROWS,
    GRID,
    LEAST_SHARE,
    MOST_ROWS,
    Features,
    Learner,
    Source,
    is_sure,
    measure_gain,
    measure_hits,
    rank_classes,
    take_own,
)
from activetest.cache.parts import (
    FEATURES,
    LONGEST,
    TRAINED,
    Part,
    drafting_part,
    find_part,
    open_part,
)
from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array
from activetest.pool.ids import hash_rows
from activetest.pool.pool import Pool
from activetest.system.progress import step

# The column follows from these rules, besides the pool and the training rows.
_VERSION = 1
# Weights of a learner's logits that are tried, and how often each; and those of values.
_WEIGHTS, _PASSES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0), 5
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
# Rows that are all centres of a kernel, at most.
_EXACT = 2000
# Where nothing is foretold, or there is nothing that varies to learn from.
_NOTHING = "features and texts of training rows do not foretell their labels"


def ensure_trained(cache: Cache, pool: Pool, train: Part) -> Part:
    """The part of what training rows say, built unless it is there.

    train  the part of training rows

    It has no column where too few rows differ, or where they foretell nothing. Raises PoolError
    where the pool is damaged, OSError when the part cannot be written.
    """
    folder, origin = cache.folder / TRAINED, _describe_origin(cache, pool, train.fingerprint)
    if part := open_part(folder, origin):
        return part
    # Read first: a damaged cache is replaced, with what is being drafted in it.
    predicted = np.concatenate([cache.rows(*piece).outputs.pred for piece in cache.chunks()])
    with drafting_part(folder, origin) as draft:
        learned: list[Source] = []
        judged: list[Source] = []
        prints = [train.fingerprint]
        if pool.schema.features:
            items = all_features.ensure_features(cache, pool)
            known = train.read("features")
            learned.append(Features(lambda rows: known[rows], _EXACT))
            judged.append(Features(lambda rows: items.read(FEATURES, rows)))
            prints.append(items.fingerprint)
        if LONGEST in train.arrays:
            from activetest.cache.texts import read_texts, restore_texts

            with step("reading texts"):
                texts, _ = read_texts(pool, longest=int(train.read(LONGEST)[0]))
            learned.append(restore_texts(train.read, len(pool.schema.texts)))
            judged.append(texts)
            first = pool.files.part_rows[0]
            hashed = hash_rows(cache.hashes[:first], [texts.hashes[:first]]).sum(dtype=np.uint64)
            prints.append(f"{int(hashed):016x}")
        with step("learning from training rows"):
            found = _learn(learned, train.read("labels"), bool(pool.schema.classes))
        column = np.empty((len(predicted), 0), np.float32)
        if found.learners:
            column = _judge(found, judged, predicted)[:, None]
        draft.put_items(cache.piece_rows, {TRAINED: column})
        draft.notices.append(found.notice)
        draft.fingerprint = "+".join(prints)
    return Part.open(folder)


def open_trained(cache: Cache, pool: Pool, fingerprint: str | None) -> Part | None:
    """The part as a study remembers it, if it is there; no file is read."""
    part = find_part(cache.folder / TRAINED)
    if part is None or part.fingerprint != fingerprint:
        return None
    train = fingerprint.split("+")[0]
    return part if part.origin == _describe_origin(cache, pool, train) else None


def _describe_origin(cache: Cache, pool: Pool, train: str) -> list[Any]:
    described, texts = all_features.describe_origin(cache, pool), list(pool.schema.texts)
    return [_VERSION, cache.fingerprint, described, texts, train]


@dataclass(frozen=True)
class _Learned:
    """Learners of the labels of training rows, and what they weigh.

    notice    a sentence about it
    learners  number of the source, learner, and weight of each; none where nothing is foretold
    classes   (C,) codes that they tell apart, in their order; None for values
    count     of these that stand alone: the last is all others
    """

    notice: str
    learners: Sequence[tuple[int, Learner, float]] = ()
    classes: Array | None = None
    count: int = 0


def _learn(sources: Sequence[Source], labels: Array, classes: bool) -> _Learned:
    """Learners of the labels (M,) of training rows, of which sources tell something."""
    rows = np.arange(len(labels))
    hashed = hash_rows(
        np.zeros(len(rows), np.uint64), [each.hash(each.read(rows)) for each in sources]
    )
    # In the order of hashes, and rows that are the same once.
    rows = np.unique(hashed, return_index=True)[1][:MOST_ROWS]
    if len(rows) < FEWEST_ROWS:
        return _Learned(
            f"fewer than {FEWEST_ROWS} training rows differ: the surrogate learns nothing from them"
        )
    own, known, count = labels[rows].astype(float), None, 0
    most = min(each.most_classes for each in sources)
    if classes:
        known, own = rank_classes(labels[rows], most)
        count = min(len(known), most)
        if count < 2:
            return _Learned("all training rows are of one class: nothing is learned from them")
    learners = [
        (number, learner)
        for number, source in enumerate(sources)
        for learner in source.list_learners(source.read(rows), own, count)
    ]
    if not learners:
        return _Learned(_NOTHING)
    held_out = np.stack([each.held_out for _, each in learners])
    weights, gain = (_weigh_classes if count else _weigh_values)(held_out, own)
    if not is_sure(gain, len(rows)):
        return _Learned(_NOTHING)
    mixed = np.tensordot(weights, held_out, axes=1)
    if known is not None:
        hits = measure_hits(mixed, own, len(known), most)
        share = f"right on {100 * hits:.0f} % of those"
    else:
        error, spread = np.sqrt(((mixed[:, 0] - own) ** 2).mean()), own.std()
        share = f"{error:.3g} off on average (deviation {spread:.3g}) on those"
    notice = f"what is learned from training rows is {share} that it did not learn from"
    used = [
        (number, learner, float(weight))
        for (number, learner), weight in zip(learners, weights, strict=True)
        if weight
    ]
    return _Learned(notice, used, known, count)


def _weigh_classes(held_out: Array, own: Array) -> tuple[Array, Array]:
    """(L,) weights of log-probabilities (L, n, C), one by one the best for the labels (n,).

    And (n,) by how much the log-probability of each label is above the shares of classes.
    """

    def mix(weights: Array) -> Array:
        return np.asarray(log_softmax(np.tensordot(weights, held_out, axes=1), axis=1))

    def score(weights: Array) -> float:
        return float(take_own(mix(weights), own).mean()) if weights.any() else -np.inf

    alone = np.array([score(each) for each in np.eye(len(held_out))])
    weights = np.eye(len(held_out))[find_nearly_largest(alone)]
    for _ in range(_PASSES):
        before = weights
        for place in range(len(held_out)):
            tried = np.tile(weights, (len(_WEIGHTS), 1))
            tried[:, place] = _WEIGHTS
            weights = tried[find_nearly_largest(np.array([score(each) for each in tried]))]
        if (weights == before).all():
            break
    return weights, measure_gain(mix(weights), own)


def _weigh_values(held_out: Array, own: Array) -> tuple[Array, Array]:
    """(L,) shares of values (L, n, 1) with the least squared error of the labels (n,).

    And (n,) by how much the squared error of each is below that of their mean.
    """
    grid = np.array(list(product(_SHARES, repeat=len(held_out))))
    grid = grid[grid.sum(axis=1) == 1]
    squares = [((np.tensordot(each, held_out, axes=1)[:, 0] - own) ** 2) for each in grid]
    best = find_nearly_largest(-np.array([each.mean() for each in squares]))
    return grid[best], (own - own.mean()) ** 2 - squares[best]


def _judge(found: _Learned, sources: Sequence[Source], predicted: Array) -> Array:
    """(N,) float32 column of the items, for which the model predicted (N,) codes or values."""
    column = np.empty(len(predicted))
    with step("judging items by training rows", len(column)) as doing:
        for start in range(0, len(column), AT_ONCE):
            rows = np.arange(start, min(start + AT_ONCE, len(column)))
            inputs = [each.read(rows) for each in sources]
            parts = [weight * each.predict(inputs[at]) for at, each, weight in found.learners]
            mixed = np.sum(parts, axis=0)
            if found.classes is None:
                column[rows] = mixed[:, 0] - predicted[rows]
            else:
                none = np.full(len(mixed), np.log(LEAST_SHARE))
                known = np.column_stack([log_softmax(mixed, axis=1), none])
                places = _find_places(found.classes, found.count, predicted[rows])
                column[rows] = find_logits(known, places)
            doing.advance(len(rows))
    if found.classes is None:
        return column.astype(np.float32)
    return (np.round(column / GRID) * GRID).astype(np.float32)


def _find_places(classes: Array, count: int, predicted: Array) -> Array:
    """(R,) place of each predicted class among those that were learned; count for none."""
    order = np.argsort(classes)
    at = order[np.minimum(np.searchsorted(classes[order], predicted), len(order) - 1)]
    return np.where(classes[at] == predicted, np.minimum(at, count - 1), count)
