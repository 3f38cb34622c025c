"""How many more labels a question about groups will probably need, from simulated futures."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array
from activetest.wings.groups.arms import (
    Arms,
    compute_values,
    expect_outcome_shares,
    sample_dirichlet,
    sample_outcome_shares,
    sample_values,
)
from activetest.wings.groups.bandit import IDENTIFY, Bandit
from activetest.wings.groups.comparison import count_regions

# Futures, posterior samples of each, and the largest product of both with the size of the arms.
_FUTURES, _SAMPLES, _AFFORDABLE = (50, 16), (200, 40), 2**18
# Posterior samples of an allocation.
_CHOSEN_BY = 40
_HORIZON, _FIRST = 10_000, 5
# Probability that the simulated groups contain the answer, and the most groups simulated.
_ALMOST, _MOST_GROUPS = 0.95, 200
# Smaller than the difference of any two values, larger than rounding errors.
_TIE = 1e-12


# How an acquisition divides a batch between options: allocate(bandit, samples, rng) -> (..., K).
Allocate = Callable[[Bandit, int, np.random.Generator], Array]


@dataclass(frozen=True)
class _Futures:
    """F simulated continuations of a study.

    arms          the counts of each, with F as leading axis
    hidden        (F, L, J) outcomes of the items without a label
    other_items   (F,) items outside these arms that can still be labelled
    """

    arms: Arms
    hidden: Array
    other_items: Array


def forecast_decision_labels(
    bandit: Bandit,
    allocate: Allocate | None,
    *,
    likely: Array,
    floor: float,
    level: float,
    rng: np.random.Generator,
) -> int | None:
    """Labels after which half of the futures are decided; None if that is too many to say.

    bandit     identification or comparison, with the labels so far
    allocate   of the acquisition that goes on drawing; None if draws are uniform over the pool
    likely     (A,) probability of each arm to be in the answer
    floor      share of the draws that is uniform over the pool
    level      probability at which the question is decided

    In each future, outcomes are drawn from the posterior and labels are drawn by the allocation,
    which is updated after 5, 10, 20, ... labels (starting from a tenth of the known ones). Groups
    that are unlikely to matter only receive labels. The answer is None beyond 10,000 labels and if
    more than 200 groups matter.

    The forecast is rough in two ways. Acquisitions that score rows are treated as uniform draws.
    And every future judges groups by counts, even if the report, and therefore today's decision,
    uses the doubly robust estimate, in which labels are weighted.
    """
    chosen = _select_contenders(bandit, likely)
    if len(chosen) > _MOST_GROUPS:
        return None
    bandit, other_items = _restrict(bandit, chosen)
    numbers = bandit.arms.prior.size
    futures, sample_count = (
        int(np.clip(_AFFORDABLE / numbers / partner, least, most))
        for (most, least), partner in ((_FUTURES, _SAMPLES[0]), (_SAMPLES, _FUTURES[0]))
    )
    studies = _start_futures(bandit.arms, other_items, futures, rng)
    step = max(_FIRST, int(bandit.arms.known_counts.sum()) // 10)
    horizon = min(int(studies.arms.unlabelled[0].sum()) + other_items, _HORIZON)
    labels, before = 0, 0.0
    while labels < horizon:
        count = min(max(labels, step), horizon - labels)
        studies = _add_labels(studies, bandit, allocate, count, floor, rng)
        after = float(
            (_answer_probability(studies.arms, bandit, sample_count, rng) >= level).mean()
        )
        if after >= 0.5:
            return max(labels + round(count * (0.5 - before) / (after - before)), 1)
        labels, before = labels + count, after
    return None


def _select_contenders(bandit: Bandit, likely: Array) -> Array:
    """The arms that may be in the answer, in ascending order."""
    if bandit.question != IDENTIFY:
        return np.array(sorted(bandit.arm_pair))
    order = np.argsort(-likely, kind="stable")
    count = np.searchsorted(np.cumsum(likely[order]), _ALMOST * likely.sum()) + 1
    return np.sort(order[: max(count, bandit.worst + 1)])


def _restrict(bandit: Bandit, chosen: Array) -> tuple[Bandit, int]:
    """The bandit of the chosen arms, and the unlabelled items of all others."""
    arms = bandit.arms
    pair = None
    if bandit.pair is not None:
        first, second = np.searchsorted(chosen, bandit.pair).tolist()
        pair = first, second
    outside = ~np.isin(arms.arm_of_cell, chosen)
    return replace(bandit, arms=arms.select(chosen), pair=pair), int(arms.unlabelled[outside].sum())


def _start_futures(
    arms: Arms, other_items: int, futures: int, rng: np.random.Generator
) -> _Futures:
    """Futures without any new label."""
    shares = sample_outcome_shares(arms, sample_dirichlet(arms.posterior, futures, rng), rng)
    hidden = np.rint(shares * np.maximum(arms.size, 1)[:, None] - arms.known_counts).astype(
        np.int64
    )
    known, exchangeable = (
        np.tile(each, (futures, 1, 1)) for each in (arms.known_counts, arms.exchangeable_counts)
    )
    arms = replace(arms, known_counts=known, exchangeable_counts=exchangeable)
    return _Futures(arms, np.maximum(hidden, 0), np.full(futures, other_items))


def _add_labels(
    studies: _Futures,
    bandit: Bandit,
    allocate: Allocate | None,
    count: int,
    floor: float,
    rng: np.random.Generator,
) -> _Futures:
    """The futures after `count` more labels each."""
    arms = studies.arms
    left = np.column_stack([studies.hidden.sum(axis=-1), studies.other_items])
    probs = left / np.maximum(left.sum(axis=1, keepdims=True), 1)
    if allocate is not None:
        current = replace(bandit, arms=arms)
        cells = current.spread_over_cells(allocate(current, _CHOSEN_BY, rng))
        probs = floor * probs
        probs[:, :-1] += (1 - floor) * cells
    allotted = _distribute_labels(probs, left, count, rng)
    drawn = _draw_outcomes(studies.hidden, allotted[:, :-1], rng)
    updated = replace(
        arms,
        known_counts=arms.known_counts + drawn,
        exchangeable_counts=arms.exchangeable_counts + drawn,
    )
    return _Futures(updated, studies.hidden - drawn, studies.other_items - allotted[:, -1])


def _distribute_labels(probs: Array, left: Array, count: int, rng: np.random.Generator) -> Array:
    """(F, L) how many of `count` labels each cell gets, at most its items left (F, L).

    Labels that a cell cannot take are distributed again among the others.
    """
    allotted = np.zeros_like(left)
    while True:
        capacity = left - allotted
        missing = np.minimum(count - allotted.sum(axis=1), capacity.sum(axis=1))
        if not missing.any():
            return allotted
        # A cell with probability zero takes labels only when no other can.
        open_probs = np.where(capacity > 0, probs, 0)
        total = open_probs.sum(axis=1, keepdims=True)
        proportional = capacity / np.maximum(capacity.sum(axis=1, keepdims=True), 1)
        proportional[capacity.sum(axis=1) == 0, -1] = 1
        open_probs = np.where(total > 1e-9, open_probs / np.maximum(total, 1e-9), proportional)
        allotted += np.minimum(rng.multinomial(missing, open_probs), capacity)


def _draw_outcomes(hidden: Array, allotted: Array, rng: np.random.Generator) -> Array:
    """(F, L, J) outcomes of the allotted (F, L) labels, drawn from the hidden ones."""
    drawn = np.zeros_like(hidden)
    remaining, needed = hidden.sum(axis=-1), allotted
    for outcome in range(hidden.shape[-1] - 1):
        available = hidden[..., outcome]
        remaining = remaining - available
        drawn[..., outcome] = rng.hypergeometric(available, remaining, needed)
        needed = needed - drawn[..., outcome]
    drawn[..., -1] = needed
    return drawn


def _answer_probability(arms: Arms, bandit: Bandit, count: int, rng: np.random.Generator) -> Array:
    """(F,) posterior probability of the answer of each future."""
    drawn = sample_values(arms, count, rng)
    if bandit.question != IDENTIFY:
        first, second = bandit.arm_pair
        return count_regions(drawn[..., first] - drawn[..., second], bandit.rope).max(axis=-1)
    values = compute_values(arms, expect_outcome_shares(arms))
    badness = np.apply_along_axis(level_ties, -1, arms.worse_sign * values)
    order = np.argsort(-badness, axis=-1, kind="stable")
    badness = np.take_along_axis(arms.worse_sign * drawn, order[None], axis=-1)
    answer, others = badness[..., : bandit.worst], badness[..., bandit.worst :]
    # Equal values do not contradict the answer.
    holds = others.max(axis=-1, initial=-np.inf) <= answer.min(axis=-1) + _TIE
    return holds.mean(axis=0)
