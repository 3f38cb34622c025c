"""Betting holds at every look at once, and a gate at its threshold hardly ever passes."""

import numpy as np
import pytest

from activetest.intervals import betting
from activetest.nouns.estimate import Increments


def increments(stats, guesses, strength, draws, rng) -> Increments:
    """Weighted draws without replacement from a pool of 0/1 statistics, with exact ranges."""
    size = len(stats)
    order = np.argsort(rng.exponential(size=size) / strength)
    rows = order[:draws]
    # Items left before each draw: sums and extremes from the back.
    left = np.cumsum(strength[order][::-1])[::-1][:draws]
    rest = np.cumsum(guesses[order][::-1])[::-1][:draws] / size
    lowest = np.minimum.accumulate((-guesses / strength)[order][::-1])[::-1][:draws]
    highest = np.maximum.accumulate(((1 - guesses) / strength)[order][::-1])[::-1][:draws]
    known = (np.cumsum(stats[rows]) - stats[rows]) / size
    value = (stats[rows] - guesses[rows]) * left / strength[rows] / size + rest
    return Increments(
        value,
        lowest * left / size + rest,
        highest * left / size + rest,
        known,
        np.zeros(draws),
        1 - np.arange(draws) / size,
    )


def pool(rate, *, wrong, rng, size=2000):
    """Statistics, guesses of them and strengths; `wrong` guesses are about something else."""
    risk = np.clip(rng.beta(0.4, 0.4 * (1 / rate - 1), size), 1e-4, 0.9)
    stats = (rng.random(size) < risk) * 1.0
    guesses = rng.permutation(risk) if wrong else risk
    score = np.sqrt(guesses * (1 - guesses))
    return stats, guesses, 0.5 * score / score.sum() + 0.5 / size


def refuted(stats, guesses, strength, *, runs, draws, rng) -> float:
    """Share of runs in which the true mean was refuted, on any side, at any look."""
    count, bar = 0, np.log(2 / 0.05)
    for _ in range(runs):
        paths = betting.log_e_values(increments(stats, guesses, strength, draws, rng), stats.mean())
        count += max(path.max() for path in paths) >= bar
    return count / runs


@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("rate", [0.02, 0.2])
def test_the_truth_is_hardly_ever_refuted_at_any_of_300_looks(rate, wrong):
    rng = np.random.default_rng([1, wrong, int(100 * rate)])
    missed = refuted(*pool(rate, wrong=wrong, rng=rng), runs=300, draws=300, rng=rng)
    assert missed <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize("at_least", [True, False])
def test_a_gate_whose_truth_is_the_threshold_hardly_ever_passes(at_least):
    rng = np.random.default_rng([2, at_least])
    stats, guesses, strength = pool(0.1, wrong=False, rng=rng)
    words = [
        betting.decide_verdict(
            increments(stats, guesses, strength, 500, rng),
            stats.mean(),
            at_least=at_least,
            alpha=0.05,
        ).word
        for _ in range(300)
    ]
    assert words.count("pass") / 300 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 300)
    assert words.count("undecided") > 250


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [False, True])
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.2, 0.5])
def test_the_truth_is_refuted_in_at_most_a_twentieth_of_runs(rate, wrong):
    rng = np.random.default_rng([3, wrong, int(100 * rate)])
    missed = refuted(*pool(rate, wrong=wrong, rng=rng), runs=2000, draws=1000, rng=rng)
    assert missed <= 0.05
