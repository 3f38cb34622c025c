"""Non-unanimous: random draws among the items on which not all models do the same.

Where all do, a label says nothing of which is best: labels are sought where models disagree, as by
Seung, Opper and Sompolinsky 1992.
"""

import numpy as np

from activetest.nouns.beliefs import Beliefs, Objectives
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log, Objective
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.objectives import list_of_models
from activetest.wings.best.standing import find_judged

TASK = "classification"
AIMS = True


def find_aims(
    log: Log, cache: PoolView, choices: Choices, *, surrogate: Surrogate, seed: int, number: int
) -> tuple[tuple[Objective, ...], Array]:
    """All models at once: a sum of their statistics that is 0 only where all are the same."""
    names = tuple(each.name for each in list_of_models(find_judged(cache, choices), cache))
    weights = (*(1.0 for _ in names[1:]), 1.0 - len(names))
    return (Objective(names, weights, 0.0),), np.ones(1)


def score(beliefs: Beliefs, objectives: Objectives | None = None) -> Array:
    """(R,) 1 where a label can tell models apart, and 0 elsewhere."""
    del objectives
    possible = (np.abs(beliefs.outcome_values) > 0) & (beliefs.probs > 0)
    found: Array = possible.any(axis=(0, 2)).astype(float)
    return found
