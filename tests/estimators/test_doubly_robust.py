"""Doubly robust: exact with a perfect surrogate, unbiased with any."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.estimators import doubly_robust, lure
from activetest.nouns.estimate import Sample

SIZE, DRAWS = 40, 15


def sample(truth, guess, *, seed: int = 1) -> Sample:
    """Uneven draws from a pool with these statistics and surrogate's expectations, both (N,)."""
    rng = np.random.default_rng(seed)
    strength = rng.random(SIZE) + 0.1
    rows = np.argsort(rng.exponential(size=SIZE) / strength)[:DRAWS]
    stats, imputed = truth[rows][:, None], guess[rows][:, None]
    ahead = SIZE - np.arange(DRAWS, dtype=float)
    weights = 1 / (ahead * (ahead - 1))
    return Sample(
        stats=stats,
        q=strength[rows] / (strength.sum() - np.cumsum(strength[rows]) + strength[rows]),
        weights=weights / weights.sum(),
        known_sum=np.cumsum(stats, axis=0) - stats,
        imputed=imputed,
        imputed_sum=guess.sum() - (np.cumsum(imputed, axis=0) - imputed),
        inside=np.ones(DRAWS),
        left=ahead,
        size=SIZE,
        total=stats.sum(axis=0),
        unknown=SIZE - DRAWS,
        counted=np.ones(DRAWS),
        uniform=False,
        limits=np.array([[-np.inf], [np.inf]]),
        expect=lambda weights: (np.zeros(DRAWS), np.zeros(DRAWS)),
        label_variance=lambda weights: 0.0,
    )


def pool(seed: int = 2):
    """(N,) errors, and what a fair surrogate thinks of them."""
    rng = np.random.default_rng(seed)
    guess = rng.random(SIZE)
    return (rng.random(SIZE) < guess).astype(float), guess


def test_a_perfect_surrogate_makes_every_step_the_truth():
    truth = np.random.default_rng(3).normal(size=SIZE)
    estimated = doubly_robust.estimate(sample(truth, truth))
    assert estimated.terms[:, 0] == approx(np.full(DRAWS, truth.mean()))
    assert estimated.variance[0, 0] == approx(0, abs=1e-25)


def test_its_first_step_is_the_textbook_formula():
    """(1/N) [sum of guesses + (h - g) / q], with nothing known and nothing learned yet."""
    truth, guess = pool()
    one = sample(truth, guess)
    exact = (guess.sum() + (one.stats[0] - one.imputed[0]) / one.q[0]) / SIZE
    assert doubly_robust.estimate(one).terms[0] == approx(exact)


def test_it_says_what_it_took_every_item_to_be():
    """A surrogate that cannot tell items apart: its guess for one is its guess for each."""
    truth, _ = pool()
    one = sample(truth, np.full(SIZE, 0.3))
    estimated = doubly_robust.estimate(one)
    rest = one.left[:, None] * estimated.guess
    steps = one.known_sum + rest + (one.stats - estimated.guess) / one.q[:, None]
    assert estimated.terms == approx(steps / SIZE)
    assert estimated.guess[0] == approx(0.3)
    assert np.ptp(estimated.guess) > 0.01


def sample_values(truth, guess, *, seed: int = 1) -> Sample:
    """The same of graded values."""
    return replace(sample(truth, guess, seed=seed), graded=np.array([True]))


@pytest.mark.parametrize("draw", [sample, sample_values], ids=["shares", "values"])
def test_a_guess_does_not_depend_on_its_own_label_or_on_later_ones(draw):
    truth, guess = pool()
    one = draw(truth, guess)
    before = doubly_robust.estimate(one).terms
    for place in (0, 7, DRAWS - 1):
        stats = one.stats.copy()
        stats[place] += 5
        after = doubly_robust.estimate(replace(one, stats=stats)).terms
        assert (after[:place] == before[:place]).all()
        assert after[place] - before[place] == approx(5 / one.q[place] / SIZE)


def test_accuracy_is_exactly_one_minus_error():
    truth, guess = pool()
    error = doubly_robust.estimate(sample(truth, guess))
    accuracy = doubly_robust.estimate(sample(1 - truth, 1 - guess))
    assert accuracy.mean == approx(1 - error.mean)
    assert accuracy.variance == approx(error.variance)


def test_a_good_surrogate_gives_it_less_variance_than_lure():
    """Mean squared error over 300 samples of one pool."""
    truth, guess = pool()
    samples = [sample(truth, guess, seed=seed) for seed in range(300)]
    errors = [
        np.mean([(estimator.estimate(one).mean[0] - truth.mean()) ** 2 for one in samples])
        for estimator in (doubly_robust, lure)
    ]
    assert errors[0] < 0.7 * errors[1]


def test_a_surrogate_that_is_wrong_everywhere_is_scaled_down():
    """Its guesses have the wrong sign: what earlier draws said lowers the slope below one."""
    truth = np.random.default_rng(4).normal(size=SIZE)
    one = sample(truth, -truth)
    _, slope, _ = doubly_robust._calibration(one, one.imputed_sum / one.left[:, None])
    assert slope[0] == 1
    assert (slope >= 0).all()
    assert slope[-1] < slope[2] < 1


def test_the_level_moves_towards_the_residuals_that_were_seen():
    """Every label is 1 above its guess, which leaves the slope alone and raises the level."""
    guess = np.random.default_rng(5).normal(size=SIZE)
    one = sample(guess + 1, guess)
    center = one.imputed_sum / one.left[:, None]
    level, _, _ = doubly_robust._calibration(one, center)
    shift = (level - center)[:, 0]
    assert shift[0] == 0
    assert (np.diff(shift) > 0).all()
    assert shift[-1] < 1


def calibrate(one: Sample):
    """(M,) level less the surrogate's, and slope."""
    center = one.imputed_sum / one.left[:, None]
    level, slope, _ = doubly_robust._calibration(one, center)
    return (level - center)[:, 0], slope[:, 0]


def test_a_judge_on_another_scale_is_followed_within_a_few_draws():
    """Graded values; of shares, the same draws are believed to be chance."""
    rng = np.random.default_rng(6)
    guess = rng.normal(size=SIZE)
    one = sample_values(4 + 0.3 * guess + 0.05 * rng.normal(size=SIZE), guess)
    share = replace(one, graded=np.array([False]))
    (shift, slope), (_, cautious) = calibrate(one), calibrate(share)
    assert shift[0] == 0 and slope[0] == 1
    assert slope[-1] == approx(0.3, abs=0.15)
    assert 2 < shift[-1] < 4
    assert cautious[-1] > 0.7


def test_a_guess_that_is_right_is_left_alone():
    """Chance makes the slope wander by a few percent in 60 pools, and never above 1 for long."""
    slopes = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        guess = rng.normal(size=SIZE)
        slopes.append(calibrate(sample_values(guess + rng.normal(size=SIZE), guess, seed=seed))[1])
    assert np.mean(slopes) == approx(0.97, abs=0.03)
    assert np.mean(np.array(slopes) > 1) < 0.05


def test_a_slope_above_one_has_to_be_likely_and_ends_at_two():
    guess = np.random.default_rng(7).normal(size=SIZE)
    _, slope = calibrate(sample_values(5 * guess, guess))
    assert (slope[:3] == 1).all()
    assert slope[-1] == 2


def test_what_a_surrogate_has_learned_since_counts_for_more_than_what_it_missed():
    """The same draws, but the surrogate of the last five had learned from those before them."""
    guess = np.random.default_rng(8).normal(size=SIZE)
    one = sample_values(0.3 * guess + np.random.default_rng(9).normal(0, 0.1, SIZE), guess)
    learned = np.where(np.arange(DRAWS) < 10, 0.0, 200.0)
    (_, before), (_, after) = calibrate(one), calibrate(replace(one, learned=learned))
    assert before[9] == after[9] < 0.5
    assert before[10] < 0.5
    assert after[10] > 0.9


def test_a_group_is_calibrated_cautiously_once_a_draw_fell_outside():
    truth, guess = pool()
    one = sample_values(5 + 0.2 * truth, guess)
    inside = np.where(np.arange(DRAWS) == 4, 0.0, 1.0)
    group = replace(one, inside=inside, stats=one.stats * inside[:, None])
    share = replace(group, graded=np.array([False]))
    (free, _), (cautious, _) = calibrate(group), calibrate(share)
    assert free[4] != cautious[4]
    assert (free[5:] == cautious[5:]).all()


def test_level_and_slope_are_the_mixture_of_three_regressions():
    """Against the textbook's: least squares with pseudo-observations, and Student's likelihood."""
    rng = np.random.default_rng(10)
    guess = rng.normal(size=SIZE)
    one = sample_values(1 + 0.6 * guess + 0.5 * rng.normal(size=SIZE), guess)
    shift, slope = calibrate(one)
    draws = 12
    inverse = 1 / (one.left * one.q)[:draws]
    across = inverse * (one.imputed[:draws, 0] - (one.imputed_sum[:draws, 0] / one.left[:draws]))
    y = inverse * (one.stats - one.imputed)[:draws, 0]
    scale = (across**2).mean()
    logs, found = [], []
    for pseudo, prior in ((100, 0.6), (3, 0.2), (0.5, 0.2)):
        rows = np.vstack(
            [
                np.column_stack([np.ones(draws), inverse - 1, across]),
                [0, pseudo**0.5, 0],
                [0, 0, (pseudo * scale) ** 0.5],
            ]
        )
        fitted, rest, *_ = np.linalg.lstsq(rows, np.append(y, [0, 0]), rcond=None)
        spread = rest[0] + 2 * ((y - y.mean()) ** 2).mean()
        determinant = np.linalg.det(rows.T @ rows) / draws / (pseudo**2 * scale)
        logs.append(np.log(prior / determinant**0.5 / spread ** ((draws + 1) / 2)))
        found.append(fitted[1:])
    shares = np.exp(logs - np.logaddexp.reduce(logs))
    expected = shares @ np.array(found)
    assert shift[draws] == approx(expected[0])
    assert slope[draws] == approx(1 + expected[1])


def test_a_group_that_was_asked_for_later_is_calibrated_by_the_rounds_that_recorded_it():
    """Labels of unrecorded draws move their own terms, and no guess."""
    truth, guess = pool()
    one = sample(truth, guess)
    early = np.arange(DRAWS) < 6
    late = replace(
        one,
        imputed=np.where(early[:, None], 0, one.imputed),
        imputed_sum=np.where(early[:, None], 0, one.imputed_sum),
        left=np.where(early, 0, one.left),
    )
    other = replace(late, stats=np.where(early[:, None], late.stats + 3, late.stats))
    before, after = (doubly_robust.estimate(each).terms for each in (late, other))
    assert (before[~early] == after[~early]).all()
    assert before[early] == approx(lure.estimate(one).terms[early])


def test_draws_in_proportion_to_weights_calibrate_guesses_as_even_draws_do():
    """Each of them stands for as much of what was left: heavy items say no more than light ones."""
    one = sample(*pool())
    even = replace(one, q=1 / one.left)
    mass = np.random.default_rng(4).lognormal(0, 1.5, DRAWS)
    left = 10 + np.cumsum(mass[::-1])[::-1]
    weighted = replace(
        even,
        mass=mass,
        left=left,
        q=mass / left,
        stats=even.stats * mass[:, None],
        imputed=even.imputed * mass[:, None],
        imputed_sum=even.imputed_sum * (left / even.left)[:, None],
    )
    guesses = [doubly_robust.estimate(each).guess for each in (even, weighted)]
    assert guesses[0] == approx(guesses[1])
    assert np.ptp(guesses[0] - one.imputed) > 0.01


def test_what_a_label_moves_where_the_first_round_recorded_nothing_of_the_group():
    """Against the estimate with each label moved: it is linear, as the guesses are all alike."""
    known = np.arange(DRAWS) < 5
    whole = sample(np.arange(SIZE) % 3 % 2, np.full(SIZE, 0.4))
    one = replace(
        whole,
        left=np.where(known, 0.0, whole.left),
        imputed=np.where(known[:, None], 0.0, whole.imputed),
        imputed_sum=np.where(known[:, None], 0.0, whole.imputed_sum),
    )

    def move(draw: int, by: float) -> float:
        change = by * (np.arange(DRAWS) == draw)[:, None]
        stats, later = one.stats + change, np.cumsum(change, axis=0) - change
        return doubly_robust.estimate(
            replace(one, stats=stats, known_sum=one.known_sum + later)
        ).mean[0]

    low, high = np.zeros_like(one.stats), np.ones_like(one.stats)
    smallest, largest = doubly_robust.label_weights(one, low, high)
    exact = [move(draw, 0.5) - move(draw, -0.5) for draw in range(DRAWS)]
    assert smallest.ravel() == approx(exact) and largest.ravel() == approx(exact)


@pytest.mark.parametrize("graded", [True, False])
def test_rounding_of_guesses_that_are_all_alike_is_no_slope(graded):
    truth = np.random.default_rng(6).normal(size=SIZE)
    noise = 1e-16 * np.random.default_rng(7).normal(size=SIZE)
    found = [
        doubly_robust.estimate(replace(sample(truth, 0.3 + each), graded=np.array([graded]))).mean
        for each in (0 * noise, noise, -3 * noise)
    ]
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=1e-12)
