"""Uniform draws: the baseline that every other acquisition is judged against."""

import numpy as np

from activetest.nouns.aims import Aims
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.rows import Array

# What is believed about an item makes no difference: nobody needs to find it out.
ALIKE = True


def score(beliefs: Beliefs, aims: Aims | None = None) -> Array:
    """(R,) one for every row."""
    del aims
    return np.ones(len(beliefs.probs))
