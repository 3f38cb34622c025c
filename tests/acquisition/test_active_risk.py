"""The optimal proposal of active risk estimation."""

import numpy as np
from pytest import approx

from activetest.acquisition import active_risk
from activetest.nouns.beliefs import Beliefs


def test_it_is_the_root_of_the_expected_square_of_loss_minus_risk():
    wrong, risk = np.array([0.0, 0.2, 0.9]), 0.3
    outcome_values = np.tile([0.0 - risk, 1.0 - risk], (1, 3, 1))
    beliefs = Beliefs(np.column_stack([1 - wrong, wrong]), outcome_values)
    expected = np.sqrt((1 - wrong) * risk**2 + wrong * (1 - risk) ** 2)
    assert active_risk.score(beliefs) == approx(expected)
