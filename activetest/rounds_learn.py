"""What a round knows: the labels there are, and what the surrogate makes of them."""

from dataclasses import replace

import numpy as np

from activetest import catalog
from activetest.evidence import LABELLED, Array, Choices, Known, Log, Rows
from activetest.metrics._statistics import Statistic, statistic


def unseen(log: Log, size: int) -> Array:
    """(N,) True where an item was neither drawn nor brought."""
    free = np.ones(size, bool)
    free[log.rows] = False
    free[log.brought_rows] = False
    return free


def learn(log: Log, cache, choices: Choices, *, rng: np.random.Generator):
    """The chosen surrogate, fitted to every label that is known."""
    rows, labels = labelled(log)
    rows = cache.take(rows)
    # A few thousand predictions give their scale well enough for a prior.
    scale = (
        1.0
        if cache.classes
        else float(np.std(cache.rows(0, min(cache.size, 65536)).outputs.pred)) or 1.0
    )
    known = Known(
        rows,
        labels,
        observed(rows, labels, tuple(map(statistic, cache.statistics))),
        cache.statistics,
        len(cache.classes),
        scale,
    )
    return catalog.load("surrogates", choices.surrogate).fit(known, rng=rng)


def observed(rows: Rows, labels: Array, statistics: tuple[Statistic, ...]) -> Array:
    """(M, T) the statistics of items whose labels are known."""
    if not len(labels):
        return np.empty((0, len(statistics)))
    outputs = rows.outputs
    if outputs.probs is not None:
        # Kept in single precision for the whole pool, but a few labels deserve double.
        outputs = replace(outputs, probs=outputs.probs.astype(float))
    return np.column_stack([each.value(outputs, labels[:, None])[:, 0] for each in statistics])


def labelled(log: Log) -> tuple[Array, Array]:
    """(M,) pool positions and labels of everything labelled, drawn items first."""
    drawn, brought = log.status == LABELLED, log.brought_status == LABELLED
    return (
        np.concatenate([log.rows[drawn], log.brought_rows[brought]]),
        np.concatenate([log.labels[drawn], log.brought_labels[brought]]),
    )


def generator(seed: int, number: int, purpose: str) -> np.random.Generator:
    """The generator for one purpose in one round, spawned from the study's seed."""
    return np.random.default_rng([seed, number, *purpose.encode()])
