"""Uniform draws: the baseline that every other acquisition is judged against."""

import numpy as np

from activetest.nouns.beliefs import Beliefs
from activetest.nouns.objectives import Objectives
from activetest.nouns.rows import Array

# What is believed about an item makes no difference: nobody needs to find it out.
ALIKE = True


def score(beliefs: Beliefs, objectives: Objectives | None = None) -> Array:
    """(R,) one for every row."""
    del objectives
    return np.ones(len(beliefs.probs))
