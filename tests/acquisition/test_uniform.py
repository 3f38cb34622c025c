"""Uniform draws want every row alike."""

import numpy as np

from activetest.acquisition import uniform
from activetest.nouns.beliefs import Beliefs


def test_every_row_scores_the_same_whatever_is_believed():
    probs = np.array([[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]])
    assert (uniform.score(Beliefs(probs, np.ones((1, 3, 2)))) == 1).all()
