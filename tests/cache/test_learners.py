"""How well learners foretell classes: gains over their shares, and hits."""

import numpy as np
from pytest import approx

from activetest.cache.learners import measure_gain, measure_hits

LABELS = np.repeat(np.arange(4), [5, 3, 1, 1])
SHARES = np.log([0.5, 0.3, 0.1, 0.1]) * np.ones((10, 1))


def test_shares_alone_gain_nothing_whatever_they_sum_to():
    """Trees leave every class a thousandth: of a hundred that is a tenth too much."""
    assert measure_gain(SHARES, LABELS) == approx(0)
    assert measure_gain(SHARES + np.log(1.1), LABELS) == approx(0)
    sure = np.where(np.arange(4) == LABELS[:, None], 0.0, -20.0)
    assert measure_gain(sure, LABELS) == approx(-np.log([0.5, 0.3, 0.1, 0.1])[LABELS])


def test_what_rare_classes_are_together_is_no_hit():
    right = np.where(np.arange(4) == LABELS[:, None], 0.0, -9.0)
    assert measure_hits(right, LABELS, 4, 4) == 1
    assert measure_hits(right, LABELS, 5, 4) == 0.9
    assert measure_hits(SHARES, LABELS, 4, 4) == 0.5
