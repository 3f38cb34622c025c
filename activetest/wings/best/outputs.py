"""Outputs of all models for a whole pool, for methods that look at every item at each step."""

from typing import NamedTuple

import numpy as np

from activetest.nouns.pool import PoolView, SeveralModels
from activetest.nouns.rows import Array


class PoolOutputs(NamedTuple):
    """The outputs of K models for N items, and what models say the same of.

    pred     (N, K) class codes
    pattern  (N,) place of each item's pattern, which says who does the same as whom
    groups   (U, K, K) of U patterns: whether the models are in the group, which are numbered; empty
             ones are all False
    hashes   (N,) of the items' ids
    """

    pred: Array
    pattern: Array
    groups: Array
    hashes: Array


def collect_outputs(pool: PoolView) -> PoolOutputs:
    """The outputs of all models of a pool, found once."""

    def find() -> PoolOutputs:
        assert isinstance(pool, SeveralModels)
        rows = [pool.rows(*piece) for piece in pool.chunks()]
        pred = np.concatenate(
            [
                np.stack([each.outputs.others[name].pred for name in pool.models], axis=1)
                for each in rows
            ]
        )
        # The first model that does the same names each group.
        first = (pred[:, :, None] == pred[:, None, :]).argmax(axis=2)
        found, pattern = np.unique(first, axis=0, return_inverse=True)
        groups = found[:, None, :] == np.arange(pred.shape[1])[None, :, None]
        return PoolOutputs(pred, pattern.ravel(), groups, pool.hashes)

    return pool.compute_once("outputs of all models", find)


def collect_probs(pool: PoolView) -> Array:
    """(K, N, C) class probabilities of all models, single precision; 1 and 0 for verdicts."""

    def find() -> Array:
        assert isinstance(pool, SeveralModels)
        found = []
        for name in pool.models:
            parts = []
            for piece in pool.chunks():
                outputs = pool.rows(*piece).outputs.others[name]
                verdicts = np.eye(len(pool.classes), dtype=np.float32)[outputs.pred]
                parts.append(verdicts if outputs.probs is None else outputs.probs)
            found.append(np.concatenate(parts).astype(np.float32))
        return np.stack(found)

    return pool.compute_once("probabilities of all models", find)


def measure_entropy(probs: Array) -> Array:
    """Entropy in nats of distributions along the last axis."""
    safe = np.maximum(probs, 1e-300)
    entropy: Array = -(probs * np.log(safe)).sum(axis=-1)
    return entropy
