"""Top-two: items that tell the likely best models apart.

A round aims at differences between pairs of models, each with the chance that top-two Thompson
sampling (Russo 2016) gives it by what the labels before the round say. An item's score for a pair
is what its label is expected to move the difference, as in optimal; a round blends those of its
pairs by their shares.
"""

import numpy as np

from activetest.acquisition.scores import optimal
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log, Objective
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.objectives import list_of_models
from activetest.wings.best.standing import (
    find_judged,
    judge,
    make_rng,
    measure_standing,
    weigh_pairs,
)

TASK = "classification"
AIMS = True

# Share of a round that tells all models apart, whatever is believed of them: terms of its draws
# then have no much larger variance for another pair than for its own.
_ALL = 0.5

score = optimal.score


def find_aims(
    log: Log, cache: PoolView, choices: Choices, *, surrogate: Surrogate, seed: int, number: int
) -> tuple[tuple[Objective, ...], Array]:
    """The differences that a round is to tell, and (P,) their shares in it."""
    standing = measure_standing(log, cache, choices, seed=seed, surrogate=surrogate)
    contest = judge(standing.draw(make_rng(seed, number)), 0.0)
    pairs, shares = weigh_pairs(contest.best)
    names = [each.name for each in list_of_models(find_judged(cache, choices), cache)]
    aims = [Objective((f"{names[a]}-{names[b]}",), (1.0,), 0.0) for a, b in pairs.tolist()]
    count = len(names)
    for place in range(count):
        weights = (np.arange(count) == place) - 1 / count
        aims.append(Objective(tuple(names), tuple(weights.tolist()), 0.0))
    shares = np.concatenate([(1 - _ALL) * shares, np.full(count, _ALL / count)])
    return tuple(aims), shares
