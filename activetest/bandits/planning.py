"""How many more labels a question about groups will probably need, from futures that are played."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from activetest.bandits.arms import Arms, dirichlet, expected, outcomes, samples, values
from activetest.bandits.bandit import IDENTIFY, Bandit
from activetest.bandits.comparison import regions
from activetest.nouns.rows import Array

# Futures, posterior samples that each is judged by, and the numbers of both that are affordable.
_FUTURES, _SAMPLES, _AFFORDABLE = (50, 16), (200, 40), 2**18
# Samples behind the shares of the groups.
_CHOSEN_BY = 40
_HORIZON, _FIRST = 10_000, 5
# Groups that are played are as many as are almost certain to hold those looked for, but not more
# than this.
_ALMOST, _MOST_GROUPS = 0.95, 200
# Less than any two different values are apart, more than rounding makes of equal ones.
_TIE = 1e-12


@dataclass(frozen=True)
class _Future:
    """F studies that go on from today.

    arms     what each knows; its counts have the axis F in front
    hidden   (F, L, J) labels that nobody has seen yet
    others   (F,) items outside these arms that can still be labelled
    """

    arms: Arms
    hidden: Array
    others: Array


def decision_labels(
    bandit: Bandit,
    shares: Callable[[Bandit, int, np.random.Generator], Array] | None,
    *,
    likely: Array,
    floor: float,
    level: float,
    rng: np.random.Generator,
) -> int | None:
    """Labels after which half of the futures have decided; None where more than can be said.

    bandit      identification or comparison, as things stand
    shares    the acquisition that goes on drawing; None where draws are uniform over the pool
    likely    (A,) how likely each arm is to be among those that are looked for
    floor     share of the draws that is uniform over the pool
    level     probability that decides

    In each future outcomes are drawn from the posterior, and labels are handed out by the shares at
    its beginning, after 5, 10, 20, ... labels anew (from a tenth of the known ones on). Groups that
    hardly matter only take labels. Nothing is said beyond 10,000 labels, nor where more than 200
    groups matter.

    It is rough in two ways. Acquisitions that give rows scores are taken for uniform draws. And
    every future judges groups by counts, also those where the report, and so what is decided now,
    goes by the doubly robust estimate: there labels count by their weights.
    """
    chosen = _contenders(bandit, likely)
    if len(chosen) > _MOST_GROUPS:
        return None
    bandit, others = _among(bandit, chosen)
    cost = bandit.arms.prior.size
    futures, judged = (
        int(np.clip(_AFFORDABLE / cost / other, least, most))
        for (most, least), other in ((_FUTURES, _SAMPLES[0]), (_SAMPLES, _FUTURES[0]))
    )
    now = _begun(bandit.arms, others, futures, rng)
    step = max(_FIRST, int(bandit.arms.known.sum()) // 10)
    horizon = min(int(now.arms.rest[0].sum()) + others, _HORIZON)
    bought, before, after = 0, 0.0, 0.0
    while bought < horizon:
        count = min(max(bought, step), horizon - bought)
        now = _bought(now, bandit, shares, count, floor, rng)
        after = float((_confidence(now.arms, bandit, judged, rng) >= level).mean())
        if after >= 0.5:
            return max(bought + round(count * (0.5 - before) / (after - before)), 1)
        bought, before = bought + count, after
    return None


def _contenders(bandit: Bandit, likely: Array) -> Array:
    """The arms that matter, in order."""
    if bandit.task != IDENTIFY:
        return np.array(sorted(bandit.pair))
    order = np.argsort(-likely, kind="stable")
    enough = np.searchsorted(np.cumsum(likely[order]), _ALMOST * likely.sum()) + 1
    return np.sort(order[: max(enough, bandit.worst + 1)])


def _among(bandit: Bandit, chosen: Array) -> tuple[Bandit, int]:
    """The bandit among some arms, and the items of all others without a label."""
    arms = bandit.arms
    pair = bandit.pair and tuple(np.searchsorted(chosen, bandit.pair).tolist())
    others = ~np.isin(arms.owner, chosen)
    return replace(bandit, arms=arms.some(chosen), pair=pair), int(arms.rest[others].sum())


def _begun(arms: Arms, others: int, futures: int, rng: np.random.Generator) -> _Future:
    """Futures in which nothing is labelled yet."""
    share = outcomes(arms, dirichlet(arms.posterior, futures, rng), rng)
    hidden = np.rint(share * np.maximum(arms.size, 1)[:, None] - arms.known).astype(np.int64)
    told = {name: np.tile(getattr(arms, name), (futures, 1, 1)) for name in ("known", "evidence")}
    return _Future(replace(arms, **told), np.maximum(hidden, 0), np.full(futures, others))


def _bought(
    now: _Future, bandit: Bandit, shares, count: int, floor: float, rng: np.random.Generator
) -> _Future:
    """The futures after `count` more labels each."""
    arms = now.arms
    left = np.column_stack([now.hidden.sum(axis=-1), now.others])
    chance = left / np.maximum(left.sum(axis=1, keepdims=True), 1)
    if shares is not None:
        here = replace(bandit, arms=arms)
        cells = here.cells(shares(here, _CHOSEN_BY, rng))
        chance = floor * chance
        chance[:, :-1] += (1 - floor) * cells
    given = _handed_out(chance, left, count, rng)
    drawn = _without_replacement(now.hidden, given[:, :-1], rng)
    more = replace(arms, known=arms.known + drawn, evidence=arms.evidence + drawn)
    return _Future(more, now.hidden - drawn, now.others - given[:, -1])


def _handed_out(chance: Array, left: Array, count: int, rng: np.random.Generator) -> Array:
    """(F, L) how many of `count` labels fall to each cell, at most what is left (F, L) there.

    What a cell cannot take is handed out again among the others.
    """
    given = np.zeros_like(left)
    while True:
        room = left - given
        missing = np.minimum(count - given.sum(axis=1), room.sum(axis=1))
        if not missing.any():
            return given
        # A cell without a chance takes labels only when no other can.
        open_to = np.where(room > 0, chance, 0)
        total = open_to.sum(axis=1, keepdims=True)
        even = room / np.maximum(room.sum(axis=1, keepdims=True), 1)
        even[room.sum(axis=1) == 0, -1] = 1
        open_to = np.where(total > 1e-9, open_to / np.maximum(total, 1e-9), even)
        given += np.minimum(rng.multinomial(missing, open_to), room)


def _without_replacement(hidden: Array, given: Array, rng: np.random.Generator) -> Array:
    """(F, L, J) outcomes of as many labels as are given (F, L), out of the hidden ones."""
    drawn = np.zeros_like(hidden)
    later, missing = hidden.sum(axis=-1), given
    for outcome in range(hidden.shape[-1] - 1):
        here = hidden[..., outcome]
        later = later - here
        drawn[..., outcome] = rng.hypergeometric(here, later, missing)
        missing = missing - drawn[..., outcome]
    drawn[..., -1] = missing
    return drawn


def _confidence(arms: Arms, bandit: Bandit, count: int, rng: np.random.Generator) -> Array:
    """(F,) probability of the answer that each future would give."""
    drawn = samples(arms, count, rng)
    if bandit.task != IDENTIFY:
        one, two = bandit.pair
        return regions(drawn[..., one] - drawn[..., two], bandit.rope).max(axis=-1)
    order = np.argsort(-arms.worse * values(arms, expected(arms)), axis=-1, kind="stable")
    bad = np.take_along_axis(arms.worse * drawn, order[None], axis=-1)
    named, others = bad[..., : bandit.worst], bad[..., bandit.worst :]
    # Equal values do not speak against what is named.
    holds = others.max(axis=-1, initial=-np.inf) <= named.min(axis=-1) + _TIE
    return holds.mean(axis=0)
