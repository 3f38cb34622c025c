"""Draws are successive sampling without replacement, and their recorded probabilities are exact."""

from itertools import permutations

import numpy as np
import pytest

from activetest.nouns.choices import Choices
from activetest.pool.hashing import mix, uniforms
from activetest.rounds.race import (
    blend_scores,
    clip_weights,
    draw_by_race,
    draw_probabilities,
    find_mean_weight,
    mix_scores,
    sharpen_scores,
    take_top,
)

WEIGHTS = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


def ids(count: int) -> np.ndarray:
    """Hashes of count ids."""
    return mix(np.arange(count, dtype=np.uint64))


def chance(weight: np.ndarray, order) -> float:
    """Probability of an ordered draw, from the definition."""
    prob, left = 1.0, weight.sum()
    for row in order:
        prob *= weight[row] / left
        left -= weight[row]
    return prob


def row_weights(scores, free, floor: float) -> np.ndarray:
    """(R,) of scores (R,) of one kind."""
    return mix_scores(np.asarray(scores)[None], free, floor)[0]


# --- weights


def test_scores_of_a_mean_square_of_one_and_the_floor_are_added_in_quadrature():
    free = np.array([True, True, True, False])
    first_prob = row_weights(np.array([3.0, 1.0, 0.0, 9.0]), free, 0.4)
    squares = np.array([9.0, 1.0, 0.0]) * 3 / 10
    exact = np.sqrt(0.84 * squares + 0.16)
    assert first_prob == pytest.approx([*(exact / exact.sum()), 0])
    assert first_prob.sum() == pytest.approx(1)


def test_without_a_floor_rows_are_drawn_in_proportion_to_their_scores():
    first_prob = row_weights(np.array([3.0, 1.0, 0.0]), np.ones(3, bool), 0.0)
    assert first_prob == pytest.approx([0.75, 0.25, 0])


@pytest.mark.parametrize("floor", [0.01, 0.35, 0.9])
@pytest.mark.parametrize("kinds", [1, 3])
def test_no_row_is_less_likely_than_the_floor_whatever_the_scores(floor, kinds):
    """From even scores to scores that are nearly all at a few rows, of any unit."""
    rng = np.random.default_rng(7)
    for power in (0, 1, 5, 30, 100):
        scores = rng.random((kinds, 300)) ** power * 10.0 ** rng.integers(-9, 9, (kinds, 1))
        scores[:, rng.random(300) < 0.2] = 0
        free = rng.random(300) < 0.7
        first_prob, _ = mix_scores(scores, free, floor)
        assert first_prob[free].min() * free.sum() >= floor * (1 - 1e-12)
        assert (first_prob[~free] == 0).all()
        assert first_prob.sum() == pytest.approx(1)


def test_where_one_row_has_all_of_the_score_the_floor_shrinks_with_the_pool():
    """The worst there is: sqrt(count) above, and never below what was promised."""
    for count in (10, 1000, 100_000):
        scores = np.zeros(count)
        scores[0] = 1.0
        first_prob = row_weights(scores, np.ones(count, bool), 0.35)
        top = np.sqrt((1 - 0.35**2) * count + 0.35**2)
        assert first_prob[0] / first_prob[1] == pytest.approx(top / 0.35)
        assert first_prob[1] * count >= 0.35


@pytest.mark.parametrize(("scores", "floor"), [([5.0, 1.0, 2.0], 1.0), ([0.0, 0.0, 0.0], 0.0)])
def test_draws_are_uniform_with_the_whole_floor_or_without_any_score(scores, floor):
    assert row_weights(np.array(scores), np.ones(3, bool), floor) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_scores_that_are_no_scores_are_refused(wrong):
    with pytest.raises(ValueError, match="finite and not negative"):
        row_weights(np.array([1.0, wrong]), np.ones(2, bool), 0.1)


def test_scores_whose_squares_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="squares of scores must be finite"):
        row_weights(np.array([1.0, 1e200]), np.ones(2, bool), 0.1)


def test_the_score_of_a_row_that_is_not_free_does_not_matter():
    free = np.array([True, True, False])
    first_prob = row_weights(np.array([1.0, 1.0, np.nan]), free, 0.0)
    assert first_prob == pytest.approx([0.5, 0.5, 0])


def test_single_precision_scores_of_a_large_pool_sum_to_one():
    scores = np.full(300_000, 0.1, np.float32)
    assert row_weights(scores, np.ones(len(scores), bool), 0.2).sum() == pytest.approx(1, abs=1e-6)


def test_every_kind_of_score_counts_alike_whatever_its_unit():
    """The root mean square of what each alone would give, all of the same mean square."""
    scores = np.random.default_rng(3).random((3, 20)) * [[1e-9], [1.0], [1e9]]
    free = np.arange(20) % 5 > 0
    first_prob, totals = mix_scores(scores, free, 0.3)
    assert totals == pytest.approx((scores[:, free] ** 2).sum(axis=1))
    alone = [row_weights(one, free, 0.3) for one in scores]
    even = [one / np.sqrt((one[free] ** 2).mean()) for one in alone]
    together = np.sqrt(np.mean(np.square(even), axis=0))
    assert first_prob == pytest.approx(together / together.sum())
    assert first_prob.sum() == pytest.approx(1)


def test_a_kind_of_score_that_is_nowhere_above_zero_has_no_say():
    scores = np.array([[0.0, 0.0, 0.0], [1.0, 3.0, 0.0]])
    free = np.ones(3, bool)
    assert mix_scores(scores, free, 0.2)[0] == pytest.approx(row_weights(scores[1], free, 0.2))


@pytest.mark.parametrize("scores", [np.zeros((2, 30)), np.random.default_rng(4).random((2, 30))])
def test_some_rows_have_the_strengths_they_have_in_the_whole(scores):
    """Computed again from the totals alone, as for rounds of the past, but for one factor."""
    free = np.arange(30) % 4 > 0
    whole, totals = mix_scores(scores, free, 0.25)
    some = np.array([29, 3, 8, 5])
    kept = np.where(free, scores, 0.0)[:, some]
    again = blend_scores(kept, free[some], 0.25, totals, int(free.sum()))
    assert again / again.sum() == pytest.approx(whole[some] / whole[some].sum())


# --- clipping


def clipped(scores, free, floor: float, rates=None) -> np.ndarray:
    """(R,) of scores (R,) of one kind, clipped at the floor."""
    return mix_scores(np.asarray(scores)[None], free, floor, rates, "clip")[0]


def test_probabilities_below_the_floors_share_of_uniform_ones_are_raised_to_it():
    """Active Testing, appendix B.1: q is max(q, floor / N), scaled to a sum of one."""
    free = np.array([True, True, True, True, False])
    prob = np.array([0.7, 0.26, 0.04, 0.0])
    exact = np.maximum(prob, 0.2 / 4)
    assert exact.tolist() == [0.7, 0.26, 0.05, 0.05]
    first_prob = clipped([*(3.0 * prob), 9.0], free, 0.2)
    assert first_prob == pytest.approx([*(exact / exact.sum()), 0])


def test_clipping_leaves_scores_above_the_floor_in_proportion():
    first_prob = clipped([3.0, 1.0, 0.0], np.ones(3, bool), 0.0)
    assert first_prob == pytest.approx([0.75, 0.25, 0])
    first_prob = clipped([3.0, 1.5, 0.01], np.ones(3, bool), 0.3)
    assert first_prob[0] / first_prob[1] == pytest.approx(2)


def test_kinds_of_scores_are_combined_before_they_are_clipped():
    """The root of their mean square, each of a mean square of one; then its share of the sum."""
    scores = np.random.default_rng(3).random((2, 20)) ** 4 * [[1e-9], [1e9]]
    free = np.arange(20) % 5 > 0
    first_prob, totals = mix_scores(scores, free, 0.5, rule="clip")
    even = scores[:, free] / np.sqrt((scores[:, free] ** 2).mean(axis=1, keepdims=True))
    together = np.sqrt((even**2).mean(axis=0))
    exact = np.maximum(together / together.sum(), 0.5 / free.sum())
    assert first_prob[free] == pytest.approx(exact / exact.sum())
    assert totals == pytest.approx((scores[:, free] ** 2).sum(axis=1))


@pytest.mark.parametrize("floor", [0.01, 0.2, 1.0])
def test_a_clipped_probability_is_at_least_the_lowest_share_of_a_random_draws(floor):
    """f / (1 + f), which is nearly reached where one row has all of the score."""
    choices = Choices("error", ("error",), "agreement", floor=floor, floor_rule="clip")
    rng, lowest = np.random.default_rng(7), choices.lowest_share
    rates = rng.random(300) + 0.1
    for power in (0, 1, 5, 30, 100):
        scores = rng.random(300) ** power
        first_prob = clipped(scores, np.ones(300, bool), floor, rates)
        assert (first_prob / (rates / rates.sum())).min() >= lowest * (1 - 1e-12)
        assert first_prob.sum() == pytest.approx(1)
    spike = clipped([1.0] + [0.0] * 99_999, np.ones(100_000, bool), floor)
    assert spike.min() * 100_000 == pytest.approx(lowest, rel=1e-3)
    assert Choices("error", ("error",), "agreement", floor=floor).lowest_share == floor


def test_clipping_is_relative_to_draws_by_the_rates():
    """Of items with weights a random draw is one in proportion to them."""
    rates = np.array([1.0, 4.0, 3.0, 2.0])
    scores = np.array([8.0, 1.0, 0.1, 0.0])
    prob = scores * rates / (scores * rates).sum()
    exact = np.maximum(prob, 0.4 * rates / rates.sum())
    assert clipped(scores, np.ones(4, bool), 0.4, rates) == pytest.approx(exact / exact.sum())


def test_without_any_score_clipped_draws_are_uniform():
    assert clipped(np.zeros(4), np.ones(4, bool), 0.3) == pytest.approx([0.25] * 4)


@pytest.mark.parametrize("rates", [None, np.linspace(1, 5, 30)])
def test_some_rows_have_the_clipped_weights_they_have_in_the_whole(rates):
    """Computed again from the totals and the mean weight, but for one factor."""
    free = np.arange(30) % 4 > 0
    scores = np.random.default_rng(4).random((2, 30)) ** 6
    whole, totals = mix_scores(scores, free, 0.25, rates, "clip")
    blended = blend_scores(np.where(free, scores, 0.0), free, 0.0, totals, int(free.sum()))
    level = 0.25 * find_mean_weight(blended, free, rates)
    some = np.array([29, 3, 8, 5])
    again = clip_weights(blended[some], free[some], level)
    again = again if rates is None else again * rates[some]
    assert again / again.sum() == pytest.approx(whole[some] / whole[some].sum())


# --- probabilities


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_probabilities_are_those_of_successive_draws(count):
    """Multiplied together and summed over all orders they are one: enumeration."""
    total = 0.0
    for order in permutations(range(len(WEIGHTS)), count):
        together = draw_probabilities(WEIGHTS, np.array(order)).prod()
        assert together == pytest.approx(chance(WEIGHTS, order))
        total += together
    assert total == pytest.approx(1)


def test_the_last_row_is_certain_to_be_drawn():
    assert draw_probabilities(WEIGHTS, np.array([3, 1, 0, 4, 2]))[-1] == 1.0


def test_probabilities_are_exact_among_rows_that_are_far_weaker_than_others():
    weight = np.array([1.0, 3e-20, 1e-20, 1e-20])
    assert draw_probabilities(weight, np.array([0, 1, 2])) == pytest.approx(
        [1, 0.6, 0.5], rel=1e-12
    )


# --- the race


def test_the_race_draws_every_order_as_often_as_it_should():
    """Ordered pairs of five rows over 6000 seeds, within four standard errors of the truth."""
    runs, seen = 6000, {}
    for seed in range(runs):
        pair = tuple(draw_by_race(ids(5), WEIGHTS, 2, seed=seed, stream=1))
        seen[pair] = seen.get(pair, 0) + 1
    for pair in permutations(range(5), 2):
        prob = chance(WEIGHTS, pair)
        error = (prob * (1 - prob) / runs) ** 0.5
        assert abs(seen.get(pair, 0) / runs - prob) < 4 * error


def test_inclusion_frequencies_are_those_of_the_enumeration():
    """The share of races that a row is among the first three of, over another 4000 seeds."""
    runs = 4000
    drawn = np.zeros(5)
    for seed in range(10**6, 10**6 + runs):
        drawn[draw_by_race(ids(5), WEIGHTS, 3, seed=seed, stream=7)] += 1
    exact = np.zeros(5)
    for order in permutations(range(5), 3):
        exact[list(order)] += chance(WEIGHTS, order)
    assert (np.abs(drawn / runs - exact) < 4 * np.sqrt(exact * (1 - exact) / runs)).all()


def test_rounds_race_independently():
    """Who wins one round says nothing about who wins the next: 4000 seeds, four standard errors."""
    runs, even = 4000, np.full(4, 0.25)
    both = np.mean(
        [
            draw_by_race(ids(4), even, 1, seed=seed, stream=1)
            == draw_by_race(ids(4), even, 1, seed=seed, stream=2)
            for seed in range(runs)
        ]
    )
    assert abs(both - 0.25) < 4 * (0.25 * 0.75 / runs) ** 0.5


def test_a_race_follows_the_rows_when_they_are_shuffled():
    rng = np.random.default_rng(1)
    weight, order = rng.random(200), rng.permutation(200)
    one = draw_by_race(ids(200), weight, 20, seed=3, stream=1)
    other = draw_by_race(ids(200)[order], weight[order], 20, seed=3, stream=1)
    assert (order[other] == one).all()


def test_a_longer_race_begins_with_the_shorter_one():
    weight = np.random.default_rng(2).random(100)
    whole = draw_by_race(ids(100), weight, 100, seed=4, stream=2)
    assert sorted(whole) == list(range(100))
    for count in (1, 10, 99):
        assert (draw_by_race(ids(100), weight, count, seed=4, stream=2) == whole[:count]).all()


def test_rows_without_strength_never_win_even_when_more_are_asked_for_than_there_are():
    weight = np.array([0.0, 1.0, 0.0, 2.0])
    assert sorted(draw_by_race(ids(4), weight, 10, seed=1, stream=1)) == [1, 3]


# --- the numbers behind it


def test_hashed_numbers_are_uniform_and_never_at_an_end():
    """Mean and variance of a million numbers within four standard errors."""
    numbers = uniforms(ids(10**6), seed=5, stream=9)
    assert 0 < numbers.min() < numbers.max() < 1
    assert abs(numbers.mean() - 1 / 2) < 4 * (1 / 12 / 1e6) ** 0.5
    assert abs(((numbers - 0.5) ** 2).mean() - 1 / 12) < 4 * (1 / 180 / 1e6) ** 0.5


def test_absent_repeats_and_the_first_phase_leave_the_numbers_as_they_are():
    numbers = uniforms(ids(5), 5, 9)
    # As versions before there were repeats and phases computed them.
    recorded = [0.15260302237021822, 0.2822610536039562, 0.3646591356986098]
    assert numbers.tolist() == [*recorded, 0.2766772009928287, 0.7590487361639837]
    none = np.zeros(5, np.uint64)
    assert (uniforms(ids(5), 5, 9, repeats=none, phase=1) == numbers).all()
    weight = np.arange(1.0, 6)
    for choose in (draw_by_race, take_top):
        plain = choose(ids(5), weight, 3, seed=5, stream=9)
        assert (choose(ids(5), weight, 3, seed=5, stream=9, repeats=none, phase=1) == plain).all()


def test_a_repeat_and_a_phase_have_numbers_of_their_own():
    """Correlations of 100,000 numbers within five standard errors of zero."""
    count = 10**5
    one, two = (np.full(count, mix(np.array([each], np.uint64))) for each in (1, 2))
    found = [
        uniforms(ids(count), 5, 9),
        uniforms(ids(count), 5, 9, repeats=one),
        uniforms(ids(count), 5, 9, repeats=two),
        uniforms(ids(count), 5, 9, phase=2),
        uniforms(ids(count), 5, 9, phase=3),
        uniforms(ids(count), 5, 9, repeats=one, phase=2),
    ]
    correlations = np.corrcoef(found)[np.triu_indices(len(found), 1)]
    assert np.abs(correlations).max() < 5 / count**0.5
    assert len(np.unique(found)) == np.size(found)
    some = np.where(np.arange(count) % 2, one, 0).astype(np.uint64)
    mixed = uniforms(ids(count), 5, 9, repeats=some)
    assert (mixed == np.where(some, found[1], found[0])).all()
    even = np.ones(count)
    race, again = (draw_by_race(ids(count), even, 9, seed=1, stream=1, phase=p) for p in (1, 2))
    assert (race != again).any()


def test_mixing_is_a_bijection_and_leaves_its_input_alone():
    words = np.arange(10**5, dtype=np.uint64)
    assert len(np.unique(mix(words))) == 10**5
    assert (words == np.arange(10**5, dtype=np.uint64)).all()


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_powers_of_scores_do_not_depend_on_the_unit_of_the_loss(unit):
    scores = np.array([[0.5, 1.0, 2.0]], np.float32) * np.float32(unit)
    first_prob = sharpen_scores(scores, scores.max(axis=1), 16.0)
    np.testing.assert_allclose(first_prob, [[0.25**16, 0.5**16, 1.0]], rtol=1e-5)


def test_scores_without_a_peak_stay_zero():
    assert sharpen_scores(np.zeros((1, 3)), np.zeros(1), 4.0).tolist() == [[0.0, 0.0, 0.0]]


# --- the largest scores


def test_the_top_rows_come_in_the_order_of_their_weights_and_ties_in_that_of_a_race():
    weight = np.array([1.0, 3.0, 1.0, 2.0, 1.0, 3.0, 1.0])
    found = take_top(ids(7), weight, 7, seed=6, stream=3).tolist()
    numbers = uniforms(ids(7), 6, 3)
    assert found == [
        *sorted((1, 5), key=lambda row: numbers[row]),
        3,
        *sorted((0, 2, 4, 6), key=lambda row: numbers[row]),
    ]
    assert take_top(ids(7), weight, 3, seed=6, stream=3).tolist() == found[:3]
    # Another round and another study break ties in other ways.
    orders = {tuple(take_top(ids(7), weight, 7, seed=6, stream=each)) for each in range(20)}
    others = {tuple(take_top(ids(7), weight, 7, seed=each, stream=3)) for each in range(20)}
    assert len(orders) > 5 and len(others) > 5


def test_ties_follow_the_rows_when_they_are_shuffled():
    weight, order = np.repeat([2.0, 1.0], 20), np.random.default_rng(1).permutation(40)
    one = take_top(ids(40), weight, 30, seed=3, stream=1)
    other = take_top(ids(40)[order], weight[order], 30, seed=3, stream=1)
    assert (order[other] == one).all()


def test_rows_of_weight_zero_are_never_taken():
    weight = np.array([0.0, 0.5, 0.0, 0.7])
    assert take_top(ids(4), weight, 4, seed=1, stream=1).tolist() == [3, 1]
    assert take_top(ids(4), weight, 1, seed=1, stream=1).tolist() == [3]
    assert not len(take_top(ids(4), np.zeros(4), 2, seed=1, stream=1))


def test_the_winners_are_those_of_the_smallest_keys():
    """Whatever the weights: alike, a few large ones, zeros, and fewer than there are draws."""
    rng = np.random.default_rng(5)
    for number in range(200):
        size, count = int(rng.integers(1, 400)), int(rng.integers(1, 30))
        weight = rng.gamma(rng.choice([0.05, 1.0, 50.0]), size=size)
        weight[rng.random(size) < rng.choice([0.0, 0.5, 0.97])] = 0.0
        if not weight.any():
            continue
        hashes = rng.integers(0, 2**64, size, np.uint64)
        with np.errstate(divide="ignore"):
            keys = -np.log(uniforms(hashes, 3, number)) / weight
        expected = np.argsort(keys, kind="stable")[: min(count, np.count_nonzero(weight))]
        drawn = draw_by_race(hashes, weight / weight.sum(), count, seed=3, stream=number)
        assert (drawn == expected).all()


@pytest.mark.parametrize("seed", range(5))
def test_top_scores_that_differ_by_rounding_alone_are_in_the_order_of_a_race(seed):
    weight = np.repeat([0.3, 0.1, 0.2], 8)
    noise = 1e-13 * np.random.default_rng(seed).uniform(-1, 1, len(weight))
    expected = take_top(ids(24), weight, 12, seed=1, stream=2)
    assert take_top(ids(24), weight * (1 + noise), 12, seed=1, stream=2).tolist() == list(expected)
    assert weight[expected].tolist() == [0.3] * 8 + [0.2] * 4


def test_kinds_of_scores_have_their_shares_of_the_blend():
    """Of squares, over what is scored; and no row is less likely than the floor says."""
    scores = np.array([[3.0, 1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    free, shares = np.ones(4, bool), np.array([0.4, 0.1, 0.5])
    q, totals = mix_scores(scores, free, 0.0, shares=shares)
    square = q**2 / (q**2).sum()
    assert square[:2].sum() == pytest.approx(0.8) and square[2:].sum() == pytest.approx(0.2)
    weight = blend_scores(scores, free, 0.0, totals, 4)
    assert weight / weight.sum() == pytest.approx(q) and (weight**2).mean() == pytest.approx(1)
    q, _ = mix_scores(scores, free, 0.3, shares=shares)
    assert q.min() >= 0.3 / 4
    alike, _ = mix_scores(scores[:2], free, 0.1, shares=np.array([0.5, 0.5]))
    assert alike == pytest.approx(mix_scores(scores[:2], free, 0.1)[0])
