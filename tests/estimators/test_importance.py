"""Self-normalised importance weighting, over everything that can be drawn."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import NotEstimable
from activetest.nouns.estimate import Sample

LOSSES, PROBS = np.array([0.0, 1.0, 3.0]), np.array([0.2, 0.3, 0.5])


def sample(drawn, *, replaced: bool = True) -> Sample:
    """These items of a pool of three, drawn one after the other with fixed probabilities."""
    drawn = np.array(drawn)
    count = len(drawn)
    nothing = np.zeros((count, 1))
    return Sample(
        stats=LOSSES[drawn, None],
        q=PROBS[drawn],
        weights=np.full(count, 1 / count),
        known_sum=nothing,
        imputed=nothing,
        imputed_sum=nothing,
        inside=np.ones(count),
        left=np.full(count, 3.0),
        size=3,
        total=np.zeros(1),
        unknown=3,
        counted=np.ones(count),
        uniform=False,
        limits=np.array([[0.0], [np.inf]]),
        expect=lambda weights: (np.zeros(count), np.zeros(count)),
        label_variance=lambda weights: 0.0,
        replaced=replaced,
    )


def estimate(name: str, drawn, **kind) -> float:
    return catalog.load("estimators", name).estimate(sample(drawn, **kind)).mean[0]


def test_it_is_the_sum_of_losses_over_q_divided_by_the_sum_of_one_over_q():
    assert estimate("importance", [1, 2, 2]) == approx((1 / 0.3 + 6 / 0.5) / (1 / 0.3 + 2 / 0.5))


def test_its_bias_shrinks_with_the_number_of_draws_as_its_theory_says():
    def bias(count: int) -> float:
        mean = 0.0
        for drawn in product(range(3), repeat=count):
            mean += PROBS[list(drawn)].prod() * estimate("importance", drawn)
        return mean - LOSSES.mean()

    biases = [bias(count) for count in (2, 4, 8)]
    assert abs(biases[0]) > abs(biases[1]) > abs(biases[2]) > 0
    # Of a ratio a / b of means: (a var b / b^3 - cov(a, b) / b^2) / n, and 1 / n^2 taken off.
    weights = 1 / PROBS
    a, b = PROBS @ (LOSSES * weights), PROBS @ weights
    variance = PROBS @ weights**2 - b**2
    covariance = PROBS @ (LOSSES * weights**2) - a * b
    leading = a * variance / b**3 - covariance / b**2
    assert 2 * 8 * biases[2] - 4 * biases[1] == approx(leading, rel=0.03)


@pytest.mark.parametrize("name", ["lure", "doubly-robust", "naive"])
def test_draws_with_replacement_are_for_no_other_estimate(name):
    with pytest.raises(NotEstimable, match="with replacement"):
        estimate(name, [1, 2, 2])


def test_draws_without_replacement_are_not_for_it():
    with pytest.raises(NotEstimable, match="without replacement"):
        estimate("importance", [1, 2], replaced=False)


@pytest.mark.filterwarnings("error")
def test_draws_of_which_none_counts_have_no_estimate():
    """As where no drawn item is predicted as the class whose precision is asked for."""
    outside = replace(sample([0, 2]), inside=np.zeros(2))
    with pytest.raises(NotEstimable, match="none of the drawn items counts"):
        catalog.load("estimators", "importance").estimate(outside)
