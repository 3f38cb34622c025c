"""Betting: intervals and verdicts that hold however often one looks."""

from dataclasses import fields, replace
from itertools import permutations

import numpy as np
import pytest
from pytest import approx

from activetest.intervals import betting
from activetest.nouns.estimate import Increments


def build_increments(stats, guesses, strength, rows) -> Increments:
    """The increments of drawing these rows, in order, from a pool of 0/1 statistics."""
    size, free = len(stats), np.ones(len(stats), bool)
    columns = []
    for row in rows:
        q = strength / strength[free].sum()
        rest = guesses[free].sum() / size
        columns.append(
            (
                (stats[row] - guesses[row]) / (size * q[row]) + rest,
                (-guesses / (size * q))[free].min() + rest,
                ((1 - guesses) / (size * q))[free].max() + rest,
                stats[~free].sum() / size,
                0.0,
                free.sum() / size,
            )
        )
        free[row] = False
    return Increments(*np.array(columns, float).reshape(-1, 6).T)


def uniform(values) -> Increments:
    """Uniform draws of these 0/1 values from a pool without end, with nothing guessed."""
    values = np.asarray(values, float)
    nothing, one = np.zeros(len(values)), np.ones(len(values))
    return Increments(values, nothing, one, nothing, nothing, one)


def study(seed: int, *, size: int = 400, draws: int = 150) -> tuple[Increments, float]:
    """Draws that were more likely where errors were expected, and the true mean."""
    rng = np.random.default_rng(seed)
    guesses = rng.beta(0.5, 2, size)
    stats = (rng.random(size) < np.clip(guesses + rng.normal(scale=0.1, size=size), 0, 1)) * 1.0
    strength = 0.5 * np.sqrt(guesses) / np.sqrt(guesses).sum() + 0.5 / size
    rows = np.argsort(rng.exponential(size=size) / strength)[:draws]
    return build_increments(stats, guesses, strength, rows), stats.mean()


def first(increments: Increments, draws: int) -> Increments:
    return Increments(*(getattr(increments, field.name)[:draws] for field in fields(increments)))


def mirrored(increments: Increments) -> Increments:
    """The increments on the share of zeros: what was left, less what they were."""
    before = 1 - increments.most
    return Increments(
        increments.most - increments.value,
        increments.most - increments.high,
        increments.most - increments.low,
        before - increments.offset,
        increments.least,
        increments.most,
    )


def ends(increments: Increments, level: float = 0.95, **known) -> tuple[float, float]:
    found = betting.interval(increments, level, **({"low": 0.0, "high": 1.0} | known))
    return found.lower, found.upper


def multiply_bets(increments: Increments, theta: float, *, up: bool) -> list[float]:
    """The capital after each draw, by loops: Waudby-Smith and Ramdas 2024, section 4.

    Four bettors, whose stakes are 0.5, 0.25, 0.13 and 0.05 over the standard deviation of the first
    draw and the square of the share of the pool that is left, and so small that no draw loses more
    than 95 %. The deviation is estimated from the draws before, each over the share left then.
    """
    extent = increments.most - increments.least
    bettors = {0.5: 0.2, 0.25: 0.35, 0.13: 0.35, 0.05: 0.1}
    seen, weights, squares, path = [], [], 2 * (extent[0] / 2) ** 2, []
    for place, value in enumerate(increments.value):
        mean = theta - increments.offset[place]
        left = extent[place] / extent[0]
        scale = (squares / (2 + place)) ** 0.5 * left**2
        gain = value - mean if up else mean - value
        room = mean - increments.low[place] if up else increments.high[place] - mean
        for stake in bettors:
            bet = min(stake / scale, 0.95 / room) if room > 0 else stake / scale
            bettors[stake] *= 1 + bet * gain
        path.append(sum(bettors.values()))
        seen.append(increments.offset[place] + value)
        weights.append(1 / left**2)
        center = sum(w * each for w, each in zip(weights, seen, strict=True)) / sum(weights)
        squares += ((seen[-1] - center) / left) ** 2
    return path


# --- capital


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("theta", [0.12, 0.3, 0.6])
def test_capital_is_what_four_bettors_have_together(theta, up):
    increments = first(study(2)[0], 60)
    found = betting.log_e_values(increments, theta)[0 if up else 1]
    assert np.exp(found) == approx(multiply_bets(increments, theta, up=up))


@pytest.mark.parametrize("up", [True, False])
def test_at_the_truth_the_game_is_fair(up):
    """Over every order in which three of five items can be drawn, capital is one on average."""
    stats, guesses = np.array([1.0, 0, 0, 1, 0]), np.array([0.6, 0.1, 0.3, 0.2, 0.9])
    strength = np.array([0.3, 0.1, 0.25, 0.05, 0.3])
    mean = 0.0
    for rows in permutations(range(5), 3):
        chance, left = 1.0, 1.0
        for row in rows:
            chance, left = chance * strength[row] / left, left - strength[row]
        increments = build_increments(stats, guesses, strength, rows)
        mean += chance * np.exp(betting.log_capital(increments, 0.4, up=up)[-1])
    assert mean == approx(np.ones(4), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_capital_on_larger_means_falls_as_theta_grows_and_on_smaller_means_rises(seed):
    increments, _ = study(seed)
    up, down = zip(
        *(betting.log_e_values(increments, theta) for theta in np.linspace(0, 1, 60)), strict=True
    )
    assert (np.array(up)[1:] <= np.array(up)[:-1] + 1e-12).all()
    assert (np.array(down)[1:] >= np.array(down)[:-1] - 1e-12).all()


def test_stakes_do_not_know_what_they_are_bet_on():
    increments, _ = study(0)
    other = increments.value.copy()
    other[70:] = 0.9
    before = betting.scale_bets(replace(increments, value=other))
    assert before[:71] == approx(betting.scale_bets(increments)[:71])
    assert before[71] != betting.scale_bets(increments)[71]


def test_bets_grow_as_the_pool_is_used_up():
    """Draws from what is left vary less and less: who does not know that is left with more."""
    aware, unaware = [], []
    for seed in range(10):
        increments, true = study(seed, size=400, draws=200)
        aware.append(true - ends(increments)[0])
        unaware.append(true - ends(replace(increments, most=np.ones(200)))[0])
    assert 0 < np.mean(aware) < 0.97 * np.mean(unaware)


def test_where_nothing_is_left_bets_are_numbers():
    increments = replace(study(3)[0], most=np.linspace(1, 0, 150))
    assert np.isfinite(betting.scale_bets(increments)).all()
    assert (betting.scale_bets(increments) > 0).all()


def test_what_is_known_makes_a_mean_impossible_for_ever():
    """Three of ten items are errors: the mean is no longer below 0.3."""
    stats = np.array([1.0, 1, 1, 0, 0, 0, 0, 0, 0, 0])
    increments = build_increments(stats, np.zeros(10), np.full(10, 0.1), range(5))
    below, above = betting.log_e_values(increments, 0.25)
    assert np.isfinite(below[:3]).all()
    assert np.isinf(below[3:]).all()
    assert np.isfinite(above).all()


# --- intervals


def test_without_draws_only_what_is_known_bounds_the_mean():
    assert ends(uniform([]), low=0.2, high=0.7) == (0.2, 0.7)


def test_with_everything_drawn_it_is_the_truth():
    stats = np.array([1.0, 0, 0, 1, 0])
    increments = build_increments(stats, np.full(5, 0.3), np.full(5, 0.2), range(5))
    found = betting.interval(increments, 0.95, low=0.4, high=0.4)
    assert (found.lower, found.upper, found.method, found.variance) == (0.4, 0.4, "exact", 0)


@pytest.mark.parametrize("seed", range(5))
def test_it_never_widens(seed):
    increments, _ = study(seed)
    lower, upper = zip(
        *(ends(first(increments, draws)) for draws in range(0, 151, 10)), strict=True
    )
    assert (np.diff(lower) >= -1e-12).all()
    assert (np.diff(upper) <= 1e-12).all()
    assert upper[-1] - lower[-1] < 0.3


@pytest.mark.parametrize("seed", range(3))
def test_it_widens_with_the_level(seed):
    increments, _ = study(seed)
    lower, upper = zip(*(ends(increments, level) for level in (0.5, 0.8, 0.95, 0.999)), strict=True)
    assert (np.diff(lower) < 0).all()
    assert (np.diff(upper) > 0).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_share_of_zeros_gets_the_mirror_image(seed):
    increments, _ = study(seed)
    lower, upper = ends(increments)
    assert ends(mirrored(increments)) == approx((1 - upper, 1 - lower), abs=1e-9)


@pytest.mark.parametrize("draws", [20, 100, 1000])
def test_without_a_hit_it_is_wider_than_the_exact_interval_for_one_look_but_not_by_much(draws):
    """Clopper-Pearson's upper end without a hit is 1 - tail^(1/n)."""
    exact = 1 - 0.025 ** (1 / draws)
    lower, upper = ends(uniform(np.zeros(draws)))
    assert lower == 0
    assert exact < upper < 1.7 * exact


def test_its_ends_are_where_capital_meets_the_bar():
    increments, _ = study(3)
    lower, upper = ends(increments, 0.9)
    below, above = (
        betting.log_e_values(increments, lower)[0],
        betting.log_e_values(increments, upper)[1],
    )
    assert max(below) == approx(np.log(20), abs=1e-6)
    assert max(above) == approx(np.log(20), abs=1e-6)
    # Rounded outward: the ends themselves are refuted, what lies inside is not.
    assert max(betting.log_e_values(increments, lower + 1e-9)[0]) < np.log(20) <= max(below)


def test_what_is_known_now_cuts_it():
    increments, _ = study(3)
    lower, upper = ends(increments)
    middle = (lower + upper) / 2
    assert ends(increments, low=middle) == approx((middle, upper))
    assert ends(increments, high=middle) == approx((lower, middle))


def test_draws_that_contradict_themselves_leave_what_is_certain():
    """No mean makes 300 zeros and then 300 ones likely."""
    draws = np.repeat([0.0, 1.0], 300)
    assert ends(uniform(draws), low=0.1, high=0.95) == (0.1, 0.95)


def test_a_mean_without_bounds_is_refused():
    with pytest.raises(ValueError, match="bounded"):
        betting.interval(uniform([0, 1]), 0.95, low=0.0, high=np.inf)


def test_large_ranges_do_not_overflow():
    """A draw of probability 1e-9 among a million items moves the mean by a thousand."""
    increments = uniform(np.tile([0.0, 1.0], 50))
    wild = replace(increments, high=np.full(100, 1e3), value=increments.value * 1e3)
    # A draw of a thousand refutes every mean up to 1: what is certain remains.
    assert all(max(multiply_bets(wild, theta, up=True)) > 40 for theta in (0.01, 0.5, 1.0))
    assert ends(wild) == (0.0, 1.0)
    # A thousand possible and never met: the stake shrinks with what it can lose.
    rare = replace(increments, high=np.full(100, 1e3))
    lower, upper = ends(rare)
    assert max(multiply_bets(rare, lower, up=True)) == approx(40)
    assert upper == 1
    assert max(multiply_bets(rare, upper, up=False)) < 40


# --- verdicts


def verdict(increments, threshold, *, at_least=True, **options):
    return betting.decide_verdict(increments, threshold, at_least=at_least, alpha=0.05, **options)


def test_a_gate_passes_fails_or_waits():
    mostly = uniform(np.tile([1.0, 1, 1, 1, 0], 60))
    assert verdict(mostly, 0.6).word == "pass"
    assert verdict(mostly, 0.95).word == "fail"
    waiting = verdict(mostly, 0.8)
    assert (waiting.word, waiting.draws) == ("undecided", None)
    assert max(waiting.e_pass, waiting.e_fail) < 20


def test_the_first_decision_stays():
    good = uniform(np.ones(50))
    passed = verdict(good, 0.8)
    later = verdict(uniform(np.append(np.ones(50), np.zeros(500))), 0.8)
    assert (later.word, later.draws) == (passed.word, passed.draws) == ("pass", passed.draws)
    assert later.e_fail > 20


def test_at_most_is_at_least_of_the_mirror_image():
    increments, mean = study(2)
    for threshold in (mean - 0.15, mean, mean + 0.15):
        one = verdict(increments, threshold, at_least=False)
        other = verdict(mirrored(increments), 1 - threshold, at_least=True)
        assert (one.word, one.draws) == (other.word, other.draws)
        assert (one.e_pass, one.e_fail) == approx((other.e_pass, other.e_fail))


def test_with_many_gates_failing_takes_more_and_passing_does_not():
    bad, good = uniform(np.zeros(200)), uniform(np.ones(200))
    assert verdict(bad, 0.5, gates=100).draws > verdict(bad, 0.5).draws
    assert verdict(good, 0.5, gates=100).draws == verdict(good, 0.5).draws


@pytest.mark.parametrize(("known", "word"), [(0.5, "pass"), (0.6, "pass"), (0.4, "fail")])
def test_what_is_known_for_certain_decides_even_at_the_threshold(known, word):
    few = uniform([0, 1, 0, 1])
    assert verdict(few, 0.5).word == "undecided"
    assert verdict(few, 0.5, low=known, high=known).word == word
    opposite = {0.5: "pass", 0.6: "fail", 0.4: "pass"}[known]
    assert verdict(few, 0.5, at_least=False, low=known, high=known).word == opposite


@pytest.mark.parametrize(("short", "word"), [(0.9e-9, "pass"), (1.1e-9, "undecided")])
def test_what_is_known_may_miss_the_threshold_by_a_rounding_error(short, word):
    few = uniform([0, 1, 0, 1])
    assert verdict(few, 0.5, low=0.5 - short).word == word
    assert verdict(few, 0.5, at_least=False, high=0.5 + short).word == word
    # Of a threshold of 8 the error may be eight times as large.
    large = replace(few, most=np.full(4, 10.0))
    assert verdict(large, 8.0, low=8 - 8 * short, high=20.0).word == word


def test_draws_that_rule_out_both_sides_at_once_fail_the_gate():
    """The evidence contradicts itself: no mean is at least 0.8 and at most 0.2."""
    torn = uniform([1.0, 0.0, 1.0])
    torn = replace(torn, least=np.array([0, 0.8, 0.8]), most=np.array([1, 0.2, 0.2]))
    assert (torn.offset == 0).all()
    for at_least in (True, False):
        found = verdict(torn, 0.5, at_least=at_least)
        assert (found.word, found.draws) == ("fail", 2)


def test_without_draws_nothing_is_decided():
    assert verdict(uniform([]), 0.5) == betting.Verdict("undecided", None, 1.0, 1.0)


# --- expectation


def expect_by_hand(lose: float, win: float, sides: tuple, spread: float, draws: int) -> float:
    """The smallest gaps that stakes within reach find: bar / (n stake) + stake variance / 2."""
    bar, width = np.log(40) + 0.7, 0.0
    for room, most in zip((lose, win), sides, strict=True):
        stake = min(np.sqrt(2 * bar / (draws * spread)), 0.95 / room)
        width += min(bar / (draws * stake) + stake * spread / 2, most)
    return width


@pytest.mark.parametrize("draws", [3, 20, 200])
def test_the_width_to_be_expected_of_uniform_draws_is_its_formula(draws):
    rate = np.full(500, 0.2)
    found = betting.expected_width(
        rate,
        rate * (1 - rate),
        np.array([np.zeros(500), np.ones(500)]),
        np.full(500, 1 / 500),
        draws=draws,
        level=0.95,
    )
    assert found == approx(expect_by_hand(0.2, 0.8, (0.2, 0.8), 0.16, draws))


def test_the_width_to_be_expected_of_other_draws_weighs_by_their_odds():
    """Half of the items are three times as likely to be drawn: odds of 2 / 3 and of 2."""
    rate, size = np.repeat([0.5, 0.1], 200), 400
    probs = np.repeat([1.5, 0.5], 200) / size
    ends_of_each = np.array([np.zeros(size), np.ones(size)])
    found = betting.expected_width(
        rate, rate * (1 - rate), ends_of_each, probs, draws=100, level=0.95
    )
    spread = (0.25 / 1.5 + 0.09 / 0.5) / 2
    lose, win = max(0.5 / 1.5, 0.1 / 0.5), max(0.5 / 1.5, 0.9 / 0.5)
    assert found == approx(expect_by_hand(lose, win, (0.3, 0.7), spread, 100))


def test_the_width_to_be_expected_is_hardly_more_than_the_width_that_comes():
    """Up to 30 % more: the mixture of stakes costs less than the bound that is planned with."""
    rng = np.random.default_rng(5)
    guesses = rng.beta(0.5, 2, 4000)
    for floor in (0.35, 1.0):
        score = np.sqrt(guesses * (1 - guesses))
        strength = (1 - floor) * score / score.sum() + floor / 4000
        known = betting.expected_width(
            guesses,
            guesses * (1 - guesses),
            np.array([np.zeros(4000), np.ones(4000)]),
            strength,
            draws=200,
            level=0.95,
        )
        widths = []
        for _ in range(20):
            stats = (rng.random(4000) < guesses) * 1.0
            rows = np.argsort(rng.exponential(size=4000) / strength)[:200]
            widths.append(np.diff(ends(build_increments(stats, guesses, strength, rows)))[0])
        assert np.mean(widths) < known < 1.3 * np.mean(widths)


@pytest.mark.parametrize("seed", range(20))
def test_no_capital_between_two_values_is_below_its_bound(seed):
    rng = np.random.default_rng(seed)
    left, right = rng.normal(0, 3, (2, 5, 4))
    bound = betting.bound_log_capital_between(left, right)
    for share in np.linspace(0, 1, 21):
        between = betting.combine_log_capital((1 - share) * left + share * right)
        assert (between >= bound - 1e-9).all()


def test_what_is_certain_is_exact_and_has_no_variance():
    found = betting.interval(uniform([0, 1, 1]), 0.95, low=0.4, high=0.4)
    assert (found.lower, found.upper, found.method, found.variance) == (0.4, 0.4, "exact", 0.0)
