"""The floor that makes an anytime-valid interval narrowest.

The loss of a bet on one draw is bounded by the least likely item, so that scores which serve a
fixed interval best can be too uneven for an anytime-valid one; most so where errors are rare.
"""

import numpy as np

from activetest.intervals.betting import expected_width
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.choices import Choices, Interval
from activetest.nouns.log import Objective
from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import find_nearly_largest
from activetest.nouns.rows import Array
from activetest.nouns.surrogate import Surrogate
from activetest.rounds import race
from activetest.rounds.objectives import linearise_objective
from activetest.rounds.weighted import find_rates
from activetest.system.parallel import map_reduce

# Even draws are what the others are compared with.
_FLOORS = (1.0, 0.9, 0.75, 0.5)
# Draws to look ahead to where the user names no budget.
_AHEAD = 200


def chooses_floor(choices: Choices, objective: Objective) -> bool:
    """Whether a round with these choices and this objective chooses its floor itself.

    Of several means the bets are on another sum at every value: the floor stays as chosen. So it
    does where there are no bounds on what an item can cost, and hence no anytime-valid interval.
    """
    if choices.interval != Interval.ANYTIME or len(objective.statistics) != 1:
        return False
    statistic = linearise_objective(objective)
    return bool(np.isfinite([statistic.lower, statistic.upper]).all())


def choose_floor(
    cache: PoolView,
    surrogate: Surrogate,
    statistic: Statistic,
    scores: Array,
    free: Array,
    choices: Choices,
    *,
    drawn: int,
) -> float:
    """The floor that should make an anytime-valid interval for the mean of the statistic narrowest.

    scores (K, N) of the acquisition, free (N,) as in fit.find_free_items, drawn the number of draws
    so far. It follows from what the surrogate believes, and so is known before the draw. Widths are
    compared with those of even draws halfway and at the end of the budget, and the floor with the
    smallest larger one of the two ratios is taken. The statistic has bounds: see chooses_floor.
    """

    def on_piece(piece: tuple[int, int]) -> list[Array]:
        rows = cache.rows(*piece)
        mean, variance = moments(surrogate.beliefs(rows, (statistic,)))
        ends = statistic.range_by_row(rows.outputs, len(cache.classes))
        ends = ends if rows.weight is None else ends * rows.weight
        return [np.stack([mean[0], variance[0], *ends])]

    parts = np.hstack(map_reduce(cache.chunks(), on_piece, lambda left, right: left + right))
    mean, variance, *ends = parts[:, free].astype(float)
    rates = find_rates(cache)
    # A budget of money says too little about the number of draws.
    budget = None if cache.roles.get("price") else choices.budget
    last = int(budget or max(_AHEAD, 2 * drawn))

    def widths(share: float) -> Array:
        q, _ = race.mix_scores(scores, free, share, rates)
        return np.array(
            [
                expected_width(
                    mean, variance, np.stack(ends), q[free], draws=draws, level=choices.level
                )
                for draws in (max(last // 2, 1), last)
            ]
        )

    even = np.maximum(widths(1.0), np.finfo(float).tiny)
    ratios = np.array([(widths(share) / even).max() for share in _FLOORS])
    return _FLOORS[int(find_nearly_largest(-ratios))]
