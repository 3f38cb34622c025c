"""Rounds that explore a surface: how likely each arm is drawn, and with it every row of it."""

import numpy as np

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.nouns.choices import Choices, Selection
from activetest.nouns.log import ArmAllocation, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array
from activetest.nouns.surface import Arms, Surface, SurfaceData
from activetest.pool.hashing import uniforms
from activetest.rounds.fit import make_generator
from activetest.wings.surfaces.choices import SurfaceChoices
from activetest.wings.surfaces.fitting import fit_surface


def allocate_arms(
    log: Log,
    cache: PoolView,
    choices: Choices,
    *,
    free: Array,
    seed: int,
    number: int,
    count: int,
) -> tuple[ArmAllocation, Array]:
    """The allocation of a round of `count` draws, and (N,) each row's probability in the first.

    Free rows (N,) share what an arm is given in proportion to P(arm | row), mixed with a draw from
    all of them: (1 - floor) P + floor / free. With the selection "top" arms are chosen by their own
    variance, and the weights only order rows: the likeliest row of each arm comes first, then the
    second of each (Piratla 2021, section 3.4). Raises NotEstimable where no arm has rows left, and
    no floor allows to draw from others.
    """
    surface, data = fit_surface(log, cache, choices, seed=seed)
    arms, membership = data.arms, data.arms.membership
    left = np.asarray(membership.T @ free.astype(float))
    rng = make_generator(seed, number, "arms")
    top = choices.selection == Selection.TOP
    share = _share_draws(surface, data, choices, left, count, rng)
    chosen = np.flatnonzero(share)
    if not len(chosen) and not choices.floor:
        raise NotEstimable(
            "every item of the combinations with at least "
            f"{choices.of(SurfaceChoices).min_support} items is drawn or labelled",
            hint="`study.report()`; `floor=0.1` draws from other combinations too",
        )
    if top:
        weight, rest = share, 0.0
        ties = uniforms(cache.hashes, seed, number)
        by_row = _order_top(arms, share, free, ties)
    else:
        floor = choices.floor if len(chosen) else 1.0
        weight = (1 - floor) * np.divide(share, left, out=np.zeros_like(share), where=left > 0)
        rest = floor / free.sum()
        by_row = np.where(free, np.asarray(membership @ weight) + rest, 0.0)
        total = by_row.sum()
        weight, rest, by_row = weight / total, rest / total, by_row / total
    names = tuple(
        tuple(arms.attributes.name(code).values()) for code in arms.codes[chosen].tolist()
    )
    allocation = ArmAllocation(
        attributes=arms.attributes.names,
        arms=names,
        weight=tuple(weight[chosen].tolist()),
        rest=float(rest),
        certain=bool((np.diff(membership.indptr) == 1).all()),
    )
    return allocation, by_row


def _share_draws(
    surface: Surface,
    data: SurfaceData,
    choices: Choices,
    left: Array,
    count: int,
    rng: np.random.Generator,
) -> Array:
    """(A,) share of so many draws that the acquisition gives each arm; left (A,) are free items."""
    support = data.arms.support
    if data.declined is not None:
        support = support - np.asarray(data.arms.membership.T @ data.declined.astype(float))
    known = np.asarray(data.membership.sum(axis=0)).ravel()
    acquisition = catalog.load("acquisition", choices.acquisition)
    counts = acquisition.ArmCounts(support, known, left)
    alone = choices.selection == Selection.TOP
    least = choices.of(SurfaceChoices).min_support
    share: Array = acquisition.rank_arms(surface, counts, least, count, rng, alone=alone)
    return share


def _order_top(arms: Arms, share: Array, free: Array, ties: Array) -> Array:
    """(N,) weights whose order is that of the rows to choose: of each arm the likeliest free one.

    Rows of the arms that were chosen alternate: the first of each, then the second of each. All
    other free rows come last. Of equally likely rows the one with the smallest of ties (N,) is
    first.
    """
    columns = arms.membership.tocsc()
    order = np.argsort(-level_ties(share), kind="stable")[: np.count_nonzero(share)]
    rank = np.full(len(free), np.inf)
    for place, arm in enumerate(order):
        inside = slice(columns.indptr[arm], columns.indptr[arm + 1])
        rows, probs = columns.indices[inside], columns.data[inside]
        rows, probs = rows[free[rows]], probs[free[rows]]
        turn = np.empty(len(rows))
        turn[np.lexsort((ties[rows], -level_ties(probs)))] = np.arange(len(rows))
        rank[rows] = np.minimum(rank[rows], turn * len(order) + place)
    return np.where(free, 1 / (2 + np.minimum(rank, len(free) * max(len(order), 1))), 0.0)
