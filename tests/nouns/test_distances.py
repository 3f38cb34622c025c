"""Squared distances of rows."""

import numpy as np
from pytest import approx
from scipy.spatial.distance import cdist

from activetest.nouns.distances import square_distances


def test_they_are_euclidean_and_never_below_zero():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(7, 3)), rng.normal(size=(5, 3))
    assert square_distances(left, right) == approx(cdist(left, right, "sqeuclidean"))
    same = square_distances(left * 1e8, left * 1e8)
    assert same.min() >= 0
    assert square_distances(left.astype(np.float32), right.astype(np.float32)).dtype == np.float32
