"""A group's interval has the degrees of freedom of its own labels."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import t

from activetest.intervals import group_t
from activetest.nouns.estimate import Estimate

GROUP = Estimate(
    mean=np.array([0.4]),
    variance=np.array([[0.0016]]),
    terms=np.zeros((50, 1)),
    weights=np.full(50, 1 / 50),
    guess=np.zeros((50, 1)),
    limits=np.array([[-np.inf], [np.inf]]),
    inside=np.repeat([1.0, 0.0], [12, 38]),
    model_variance=0.0004,
)


@pytest.mark.parametrize(("inside", "freedom"), [(50, 49), (12, 11), (3, 2), (2, 2), (0, 2)])
def test_degrees_of_freedom_are_the_draws_inside_less_one_and_at_least_two(inside, freedom):
    group = replace(GROUP, inside=np.repeat([1.0, 0.0], [inside, 50 - inside]))
    interval = group_t.interval(group, 0.95)
    assert (interval.lower, interval.upper) == approx(
        t.interval(0.95, freedom, loc=0.4, scale=0.04)
    )


def test_the_variance_is_never_less_than_the_surrogate_expects():
    collapsed = replace(GROUP, variance=np.zeros((1, 1)))
    assert group_t.interval(collapsed, 0.95).variance == approx(0.0004)
    assert group_t.interval(GROUP, 0.95).variance == approx(0.0016)


def test_what_is_known_bounds_the_interval():
    interval = group_t.interval(replace(GROUP, limits=np.array([[0.38], [0.41]])), 0.95)
    assert (interval.lower, interval.upper) == (0.38, 0.41)
