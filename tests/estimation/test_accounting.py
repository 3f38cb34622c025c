"""Probabilities of draws account for their pool, or are found not to."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from activetest.estimation.accounting import account_for_pool, measure_accounted
from tests import makers


def draw(weight, count, rng, *, pool=None):
    """(2, D) plain ratios of draws in proportion to weights, in a pool of so many items."""
    weight, ratios, size = weight.copy(), [], pool or len(weight)
    for place in range(count):
        q = weight / weight.sum()
        item = rng.choice(len(q), p=q)
        ratios.append(1 / (q[item] * (size - place)))
        weight[item] = 0.0
    return np.array(ratios)


def measure(ratios, planned=None):
    return measure_accounted(ratios, ratios if planned is None else planned)


def test_ratios_of_one_are_no_evidence_whatever_their_last_digit_is():
    found = measure(1 + np.array([0, 1e-16, -1e-16] * 20))
    assert found.share == pytest.approx(1) and found.evidence == pytest.approx(1)
    assert not found.doubted and not found.refuted


def test_no_draws_are_no_evidence():
    assert measure(np.empty(0)).evidence == 1.0


def test_the_capital_is_that_of_a_gambler_who_plays_draw_by_draw():
    """With one ratio all mixtures are the same: three sizes of bets share the capital."""
    ratios, capital, farthest = np.array([0.8, 1.1, 0.5, 3.0, 0.9]), np.ones(3), 0.0
    for place, ratio in enumerate(ratios):
        if place:
            bet = 1 / max((7 + 10 / place) * farthest, 0.2)
            capital *= 1 + np.array([1, 0.5, 0.25]) * bet * (1 - ratio)
        farthest = max(farthest, abs(ratio - 1))
    assert measure(ratios).evidence == pytest.approx(capital.mean(), rel=1e-12)


def test_the_expected_capital_is_one_over_all_orders_of_draws_where_no_bet_is_owed():
    """All 24 orders of 4 items, each with its probability."""
    weight, total = np.array([1.0, 1.2, 0.9, 1.1]), 0.0
    for order in itertools.permutations(range(4)):
        prob, left, ratios = 1.0, weight.sum(), []
        for place, item in enumerate(order):
            q = weight[item] / left
            prob, left = prob * q, left - weight[item]
            ratios.append(1 / (q * (4 - place)))
        total += prob * measure(np.array(ratios)).evidence
    assert total == pytest.approx(1, abs=1e-12)


def test_a_ratio_beyond_what_was_bet_on_takes_all_and_leaves_no_debt():
    ratios = np.array([*[0.9, 1.0] * 30, 50.0, 0.9])
    assert measure(ratios[:60]).evidence > 2
    assert measure(ratios).evidence == 0


def test_own_draws_are_not_refused_and_those_from_a_part_are():
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.35, 2, 500)
    own = [measure(draw(weight, 100, rng)) for _ in range(200)]
    assert not any(each.refuted for each in own)
    assert np.mean([each.doubted for each in own]) <= 0.05
    part = [measure(draw(weight, 200, rng, pool=800)) for _ in range(20)]
    assert all(each.refuted for each in part)
    # Of what is left, ever less is of the part.
    expected = np.mean((500 - np.arange(200)) / (800 - np.arange(200)))
    assert np.mean([each.share for each in part]) == pytest.approx(expected, abs=0.03)


def test_a_plan_close_to_that_of_the_draws_finds_a_part_of_a_twentieth():
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.35, 2, 1000)
    plan = weight * rng.uniform(0.95, 1.05, 1000)
    left, rest, size, plain, planned = weight.copy(), plan.sum() * 1.05, 1050, [], []
    for place in range(200):
        q = left / left.sum()
        item = rng.choice(1000, p=q)
        plain.append(1 / (q[item] * (size - place)))
        planned.append(plan[item] / rest / q[item])
        left[item], rest = 0.0, rest - plan[item]
    found = measure(np.array(plain), np.array(planned))
    assert found.refuted and found.share == pytest.approx(1 / 1.05, abs=0.01)
    assert not measure(np.array(plain)).refuted


def test_few_draws_that_seem_to_leave_much_out_are_in_doubt_and_not_refuted():
    assert not measure(np.full(4, 0.3)).doubted
    found = measure(np.full(10, 0.3))
    assert found.doubted and not found.refuted
    # The mean of 0.05 and 1.15 is 0.6, with a standard error of 0.55 / sqrt(10).
    assert not measure(np.array([0.05, 1.15] * 5)).doubted


def test_rounds_of_a_study_account_for_what_was_left_in_each(tmp_path):
    pool = makers.build_pool(tmp_path, 60)
    truth = makers.label_items(pool)
    choices = makers.Choices("error", ("error",), "model", floor=1.0)
    log = makers.play_rounds(pool, truth, (choices, 10), (choices, 10))
    found = account_for_pool(log, pool)
    assert found.share == pytest.approx(1, rel=1e-9) and found.evidence == pytest.approx(1)
    # An item that was known before the second round could not be drawn then.
    free = next(row for row in range(60) if row not in log.rows)
    known = replace(
        log,
        supplied_rows=np.array([free]),
        supplied_status=np.array([1]),
        supplied_labels=np.array([0.0]),
        supplied_round=np.array([2]),
    )
    ratios = 1 / (log.q * (60 - np.arange(20) - (log.round == 2)))
    assert account_for_pool(known, pool).share == pytest.approx(ratios.mean())
    assert account_for_pool(replace(log, history=()), pool) is None
