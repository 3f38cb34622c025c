"""Computations that the reproductions of Active Testing make themselves."""

import numpy as np
import pytest
from pytest import approx

from activetest.rounds.race import draw_probabilities
from tests.benchmarks.paired import compare_with_best, find_best, follow_lure

COUNTS = [1, 2, 5, 12]


@pytest.fixture
def losses():
    return np.random.default_rng(0).exponential(size=12)


def test_lure_of_uniform_draws_is_their_mean(losses):
    even = 1 / (12 - np.arange(12))
    means = [losses[:count].mean() for count in COUNTS]
    assert follow_lure(losses, even, 12, COUNTS) == approx(means)


def test_lure_of_draws_by_true_losses_is_the_truth_after_any_number(losses):
    prob = draw_probabilities(losses, np.arange(12))
    assert follow_lure(losses, prob, 12, COUNTS) == approx(np.full(4, losses.mean()))


def test_the_best_way_is_tested_against_all_others_run_by_run():
    """Of ten runs all of which are better, p is one half to the power of ten."""
    best = np.linspace(0.1, 1.0, 10)
    errors = {"worse": best + np.linspace(1, 2, 10), "best": best, "same": best[::-1].copy()}
    assert find_best(errors) in ("best", "same")
    found = compare_with_best(errors, "best")
    assert found.keys() == {"worse", "same"}
    assert found["worse"] == approx(0.5**10) and found["same"] > 0.4
