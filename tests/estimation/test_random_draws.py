"""Random draws that would be as good, where items have weights, are those that simulations make."""

import numpy as np
import pytest

from activetest.estimation.evidence import list_groups
from activetest.estimation.random_draws import RandomDraws, expect_random_draws
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.simulation.baseline import compute_baseline
from tests.makers import build_table, play_rounds, supply_labels

SIZE = 300


@pytest.fixture
def columns():
    """A pool of two groups: those of one weigh nine times as much. Weights differ much in both."""
    rng = np.random.default_rng(2)
    place = rng.choice(["barn", "tree"], SIZE)
    weight = rng.lognormal(0, 1, SIZE) * np.where(place == "barn", 9, 1)
    weight[:20] = 0
    return {"pred": rng.integers(0, 2, SIZE), "place": place, "visits": weight}


@pytest.fixture
def truth(columns):
    """One item in six is wrong."""
    return np.where(np.arange(SIZE) % 6 == 0, 1 - columns["pred"], columns["pred"]).astype(float)


def build(folder, columns, **roles):
    return build_table(folder, columns, groups=("place",), features=(), **roles)


def find_error(pool):
    return specification.find_metric("error", specification.describe_pool(pool.roles, None, pool))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_their_variance_is_that_of_simulated_ones(tmp_path, columns, truth, place):
    pool = build(tmp_path, columns, weight="visits")
    group = list_groups(pool)[place]
    rows = pool.rows(0, pool.size)
    inside = np.flatnonzero(group.membership(rows.codes) * rows.mass > 0)
    budgets = (20, 50, len(inside) // 2, int(0.9 * len(inside)))
    rows, rng = rows[inside], np.random.default_rng(1)
    found = compute_baseline(
        find_error(pool), rows.outputs, truth[inside], budgets, rng, rows.weight
    )
    single, draws = found.truth * (1 - found.truth), expect_random_draws(pool, group)
    counts = [draws.find_count(single, found.error(budget)) for budget in budgets]
    assert counts == pytest.approx(budgets, rel=0.1)
    # As if items counted alike, it would be far more.
    assert RandomDraws(group.items).find_count(single, found.error(50)) > 60


def test_alike_weights_and_none_are_the_same(tmp_path, columns):
    pools = [
        build(tmp_path, columns | {"visits": np.full(SIZE, 7)}, name=name, **roles)
        for name, roles in (("weighted", {"weight": "visits"}), ("plain", {}))
    ]
    for groups in zip(*map(list_groups, pools), strict=True):
        counts = [
            expect_random_draws(pool, group).find_count(0.2, 0.004)
            for pool, group in zip(pools, groups, strict=True)
        ]
        assert counts[0] == pytest.approx(counts[1], rel=1e-9)


def test_how_much_of_the_pool_was_drawn_is_how_much_it_weighs(tmp_path, columns, truth):
    """Most of the weight is supplied: many light items are few of what is left to weigh."""
    pool = build(tmp_path, columns, weight="visits")
    weight = pool.rows(0, SIZE).weight
    heavy = np.argsort(-weight)[:200]
    choices = Choices("error", ("error",), "agreement", acquisition="uniform")
    log = supply_labels(Log.empty(), heavy, truth)
    log = play_rounds(pool, truth, (choices, 40), log=log)
    metric = find_error(pool)
    view = build_view(log, pool, choices, [metric], seed=1, own_view=False)
    estimate = view.value(metric, "lure").estimate
    drawn = weight[log.rows].sum() / np.delete(weight, heavy).sum()
    assert np.delete(weight, heavy).sum() < 40
    assert estimate.undrawn == pytest.approx(1 - drawn)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_draws_shrink_as_the_items_that_are_left_do_draw_by_draw(tmp_path, columns, place):
    """Each at the time when it is expected to be made."""
    pool = build(tmp_path, columns, weight="visits")
    group = list_groups(pool)[place]
    rows = pool.rows(0, pool.size)
    weight = rows.weight[group.membership(rows.codes) * rows.mass > 0]
    count = len(weight)
    draws = expect_random_draws(pool, group)
    assert draws.size == count == group.items
    ratios, steps = [], []
    for drawn in range(count - 1):
        low, high = 0.0, 50 / weight.min()
        for _ in range(60):
            time = (low + high) / 2
            early = np.exp(-time * weight).sum() > count - drawn - 1
            low, high = (time, high) if early else (low, time)
        left = np.exp(-low * weight)
        ratios.append(left @ weight / left.sum() / weight.mean())
        steps.append(1 / (count - drawn - 1) - 1 / (count - drawn))
    expected = np.cumsum(np.square(ratios) * steps) / np.cumsum(steps)
    for drawn in (5, count // 3, count - 20):
        found = np.interp(drawn, draws.drawn, draws.shrunk)
        assert found == pytest.approx(expected[drawn - 1], rel=0.03)


def test_a_number_of_draws_leaves_its_variance():
    alike = RandomDraws(100)
    assert alike.find_count(0.25, 0.25 * (1 / 40 - 1 / 100)) == pytest.approx(40)
    drawn = np.array([0.0, 50.0, 100.0])
    weighed = RandomDraws(100, drawn, np.array([1.0, 0.5, 0.1]))
    for count, shrunk in ((25, 0.75), (50, 0.5), (75, 0.3)):
        left = 0.25 * (1 / count - 1 / 100) * shrunk
        assert weighed.find_count(0.25, left) == pytest.approx(count)
        assert weighed.find_count(0.25, left + 0.1 / count, 0.1) == pytest.approx(count)


def test_one_kind_of_weight_is_none(tmp_path, columns):
    pool = build(
        tmp_path, columns | {"visits": np.where(np.arange(SIZE) < 9, 0, 3)}, weight="visits"
    )
    draws = expect_random_draws(pool, list_groups(pool)[0])
    assert draws == RandomDraws(SIZE - 9)
