"""Groups that are measured well stay; the others go where they are expected to be."""

import numpy as np
import pytest
from pytest import approx

from activetest.estimation.shrinkage import shrink
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.reporting.rows import estimate_groups
from tests.makers import build_table, play_rounds


def test_groups_that_differ_by_no_more_than_chance_all_become_the_expected_value():
    assert shrink([0.49, 0.51], [0.01, 0.01], 0.5) == approx(0.5)
    assert shrink([0.3, 0.4, 0.35], [0.2, 0.1, 0.3], 0.6) == approx(0.6)


def test_known_groups_stay_as_they_are_whatever_the_others_say():
    assert shrink([0.1, 0.9], [0, 0], 0.5) == approx([0.1, 0.9])
    # Rounding is no variance: nobody would weigh anything beside such a group.
    with_rounding, without = (
        shrink([0.1, 0.2, 0.9], [each, 0.01, 0.01], 0.5) for each in (1e-34, 0)
    )
    assert with_rounding == approx(without)
    shrunk = shrink([0.1, 0.4, 0.6, 0.5], [0, 1, 1, 1], 0.5)
    assert shrunk == approx([0.1, 0.5, 0.5, 0.5])


def test_groups_without_an_estimate_become_what_is_expected():
    nan, inf = np.nan, np.inf
    shrunk = shrink([0.2, 0.8, 0.9, nan], [1e-4, 1e-4, inf, nan], 0.5)
    assert shrunk[2:] == approx([0.5, 0.5])
    assert shrunk[:2] == approx([0.2, 0.8], abs=1e-3)
    assert shrink([nan, nan], [nan, nan], [0.1, 0.2]) == approx([0.1, 0.2])
    assert shrink([0.3], [0.1], 0.7) == approx(0.7)
    assert shrink([], [], 0.5).shape == (0,)


def test_two_equally_doubtful_groups_by_hand():
    # w = 4 each: Q = 2 * 4 * 1 = 8, tau^2 = (8 - 1) / (8 - 32 / 8) = 7/4, B = 1.75 / 2 = 7/8.
    assert shrink([1.0, 3.0], [0.25, 0.25], 2.0) == approx([2 - 7 / 8, 2 + 7 / 8])


def test_three_unequal_groups_by_hand():
    # w = 1, 1/2, 1/4: mean 1, Q = 1 + 1/2 + 4/4, tau^2 = (5/2 - 2) / (7/4 - 21/16 * 4/7) = 1/2,
    # and B = 1/3, 1/5, 1/9.
    moved = [1 - 1 / 3, 1 + 1 / 5, 1 + 2 / 9]
    assert shrink([0, 2, 3], [1, 2, 4], [1, 1, 1]) == approx(moved)


def test_units_and_order_do_not_matter():
    rng = np.random.default_rng(0)
    estimates, variances, expected = rng.normal(size=6), rng.random(6) / 5, rng.normal(size=6) / 9
    shrunk = shrink(estimates, variances, expected)
    assert shrink(1000 * estimates, 1e6 * variances, 1000 * expected) == approx(1000 * shrunk)
    order = rng.permutation(6)
    assert shrink(estimates[order], variances[order], expected[order]) == approx(shrunk[order])


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_variances_of_any_size_give_numbers(scale):
    shrunk = shrink([0.1, 0.5, 0.9], [scale, 2 * scale, 1e-3], 0.5)
    assert np.isfinite(shrunk).all()


def test_shrunk_groups_are_closer_to_the_truth_than_raw_ones_and_than_one_constant():
    rng = np.random.default_rng(1)
    runs, groups, tau = 2000, 8, 0.3
    variances = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0])
    truth = rng.normal(0, tau, size=(runs, groups))
    raw = truth + rng.normal(size=truth.shape) * np.sqrt(variances)
    shrunk = np.array([shrink(each, variances, 0.0) for each in raw])
    error = {name: np.mean((each - truth) ** 2) for name, each in [("raw", raw), ("all", shrunk)]}
    best = np.mean(tau**2 * variances / (tau**2 + variances))
    assert best < error["all"] < 1.25 * best < 0.7 * min(error["raw"], tau**2)


def test_groups_without_a_draw_say_nothing_of_how_far_groups_are_apart(tmp_path):
    """Their estimates hardly vary: they are what surrogates expect, and no draw tells otherwise."""
    rng, size = np.random.default_rng(3), 1000
    score = rng.uniform(0.05, 0.95, size)
    place = np.where(np.arange(size) % 100 == 0, np.arange(size) // 100, 10 + np.arange(size) % 2)
    columns = {"id": range(size), "score": score, "place": [f"p{code}" for code in place]}
    pool = build_table(tmp_path, columns, groups=("place",))
    choices = Choices("error", ("error",), "agreement", groups=("place",))
    pred = pool.rows(0, size).outputs.pred
    # Far apart: one large group is nearly always right, the other nearly always wrong.
    truth = np.where(rng.random(size) < np.where(place == 10, 0.05, 0.9), 1 - pred, pred)
    log = play_rounds(pool, truth.astype(float), *[(choices, 20)] * 8)
    error = specification.find_metric("error", specification.describe_pool(pool.roles, None, pool))
    view = build_view(log, pool, choices, [error], seed=1, own_view=False)
    lines = estimate_groups(view, [error], ("place",), "fixed", simultaneous=False)
    large = [line for line in lines if line.n_pool > 100]
    assert len(large) == 2
    assert sum(line.n_labeled == 0 for line in lines) > 2
    for line in large:
        assert abs(line.shrunk - line.estimate) < 0.1
