"""Rounds of a population of several parts: how many draws each gets, and its draws.

A part is a stratum: it is drawn from by itself, and the numbers of draws are fixed before the round
by sizes and by earlier numbers of draws alone. Weights of draws are right given these numbers, so
that numbers which followed labels would bias every mean (INFERENCE of stratified sampling with
LURE's weights: Farquhar 2021 holds given the number of draws).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from activetest.errors import NotEstimable
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log, Round
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.nouns.study_lists import PartDraws
from activetest.rounds.fit import find_drawable_items, get_surrogate
from activetest.rounds.part_pool import PartPool, cut_log, list_part_pools
from activetest.sampling.plan import plan_round

# Draws that each part gets before any gets more: fewer show no variance.
_FEWEST = 2


def plan_rounds(
    log: Log,
    cache: PoolView,
    choices: Choices,
    *,
    seed: int,
    count: int,
    among: Sequence[int] | None = None,
) -> list[Round]:
    """The next rounds, one for each part of the population that is drawn from: `count` draws.

    among  numbers of the parts to draw from; None for all

    All of them have the surrogate that knows every label. Raises as plan_round does.
    """
    if len(cache.part_ends) == 1:
        whole = plan_round(log, cache, choices, seed=seed, count=count)
        return [replace(whole, parts=(PartDraws(whole.part, count),))]
    pools = list_part_pools(cache)
    chosen = np.ones(len(pools), bool)
    if among is not None:
        chosen = np.isin(np.arange(1, len(pools) + 1), among)
    sizes = np.array([pool.size for pool in pools])
    free = np.add.reduceat(find_drawable_items(log, cache).astype(int), [0, *cache.part_ends[:-1]])
    free = free * chosen
    if not free.any():
        raise NotEstimable("every item of these parts is drawn or labelled", "`study.report()`")
    drawn = np.bincount(_find_parts(log.rows, cache), minlength=len(pools))
    counts = allocate_draws(count, sizes, drawn, free)
    surrogate = get_surrogate(log, cache, choices, seed=seed)
    last, found = len(log.history), list[Round]()
    for pool, planned in zip(pools, counts.tolist(), strict=True):
        if not planned:
            continue
        part = plan_round(
            *(cut_log(log, pool), pool, choices), seed=seed, count=planned, surrogate=surrogate
        )
        found.append(place_round(part, pool, last + len(found) + 1, planned, first=last + 1))
    return found


def place_round(round: Round, pool: PartPool, number: int, planned: int, *, first: int) -> Round:
    """A round of a part as one of the whole population.

    number   among the rounds of all parts
    planned  draws that were planned
    first    number of the first round that has its surrogate, which alone keeps it
    """
    return replace(
        round,
        number=number,
        rows=pool.find_positions(round.rows),
        parts=(PartDraws(pool.numbers[0], planned),),
        fit_round=first,
    )


def allocate_draws(count: int, sizes: Array, drawn: Array, free: Array) -> Array:
    """(P,) how many of `count` draws each part gets, from numbers that follow no label.

    sizes, drawn, free (P,) items of each part, draws from it so far, and items left to draw

    Every part gets two draws first. Then those get most that lack most of their share of all draws
    in proportion to their sizes, so that a new part catches up.
    """
    count = min(count, int(free.sum()))
    found = np.zeros(len(sizes), np.int64)
    # Largest parts first where there are too few for all.
    for part in np.argsort(-sizes, kind="stable").tolist():
        least = max(_FEWEST - int(drawn[part]), 0)
        found[part] = min(least, int(free[part]), count - int(found.sum()))
    while (left := count - int(found.sum())) > 0:
        have, there = drawn + found, found < free
        lack = np.where(there, sizes * (have[there].sum() + left) / sizes[there].sum() - have, 0.0)
        lack = np.maximum(lack, 0.0)
        share = left * lack / lack.sum()
        more = np.minimum(np.floor(share + 1e-9).astype(np.int64), free - found)
        if not more.any():
            # Largest remainders; the earlier part where they are alike.
            order = np.argsort(-np.round(share, 6), kind="stable")
            more[order[0]] = 1
        found += more
    return found


def _find_parts(rows: Array, cache: PoolView) -> Array:
    """(R,) place of the part of each item."""
    return np.searchsorted(cache.part_ends, rows, side="right")
