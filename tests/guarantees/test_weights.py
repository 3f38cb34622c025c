"""Items with weights: weighted numbers everywhere, and nothing new where all weights are equal."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from activetest.errors import ChoiceError, NotEstimable, PoolError
from activetest.estimation.anytime import compute_increments_at
from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.item_statistics.metric import evaluate
from activetest.nouns.choices import Choices, find_lowest_share
from activetest.nouns.log import Log
from activetest.pool.pool import Pool
from activetest.rounds.fit import find_free_items
from activetest.sampling.plan import plan_round, prepare_round
from activetest.simulation.baseline import compute_baseline
from tests.makers import build_table, play_rounds, supply_labels

SIZE = 60
CHOICES = Choices("error", ("error", "f1"), "agreement", groups=("place",))
METRICS = ("error", "f1", "mcc", "log-loss", "auroc[*]", "average-precision[0]", "ece[5]")
METRICS += ("ece[equal-count,4]", "recall[0]", "rate[*]")
METRICS += ("recall-at-fpr[0.2,1]",)


@pytest.fixture
def columns():
    """A binary pool with copies of each item, none of some."""
    rng = np.random.default_rng(4)
    score = rng.random(SIZE)
    copies = rng.integers(0, 5, SIZE)
    return {
        "id": [f"i{row}" for row in range(SIZE)],
        "score": score,
        "copies": copies,
        "place": rng.choice(["barn", "tree"], SIZE),
    }


@pytest.fixture
def truth(columns):
    """Labels that follow the score."""
    return (np.random.default_rng(5).random(SIZE) < columns["score"]).astype(float)


def build(folder, columns, *, name="pool", **roles):
    roles = {"features": (), "groups": ("place",)} | roles
    return build_table(folder, columns, name=name, **roles)


def facts_of(pool):
    return specification.describe_pool(pool.roles, None, pool)


def repeat(columns, truth):
    """The pool in which every item stands as often as its number of copies, and its labels."""
    index = np.repeat(np.arange(SIZE), columns["copies"])
    table = {name: np.asarray(values)[index] for name, values in columns.items()}
    return table | {"id": [f"r{row}" for row in range(len(index))]}, truth[index]


# --- the same as copies, and as no weights


@pytest.mark.parametrize("name", METRICS)
def test_a_weight_of_k_is_k_copies(tmp_path, columns, truth, name):
    pool = build(tmp_path, columns, weight="copies")
    table, labels = repeat(columns, truth)
    copied = build(tmp_path, table, name="copied", groups=())
    log = supply_labels(Log.empty(), np.arange(SIZE), truth)
    for metric, same in zip(
        *(specification.find_metrics(name, facts_of(each)) for each in (pool, copied)), strict=True
    ):
        expected = evaluate(same, copied.rows(0, copied.size).outputs, labels)
        view = build_view(log, pool, CHOICES, [metric], seed=1, own_view=False)
        value = view.value(metric, "doubly-robust")
        assert value.value == pytest.approx(expected, abs=1e-6)
        assert value.estimate.exact
        rows = pool.rows(0, SIZE)
        assert evaluate(metric, rows.outputs, truth, rows.weight) == pytest.approx(
            expected, abs=1e-6
        )


def test_equal_weights_change_no_draw_and_no_number(tmp_path, columns, truth):
    heavy = columns | {"copies": np.full(SIZE, 3)}
    pools = build(tmp_path, heavy, weight="copies"), build(tmp_path, columns, name="plain")
    logs = [play_rounds(pool, truth, (CHOICES, 10), (CHOICES, 10)) for pool in pools]
    assert (logs[0].rows == logs[1].rows).all()
    assert logs[0].q == pytest.approx(logs[1].q, rel=1e-12)
    for name in ("error", "f1", "auroc[0]", "brier"):
        found = []
        for pool, log in zip(pools, logs, strict=True):
            metric = specification.find_metric(name, facts_of(pool))
            view = build_view(log, pool, CHOICES, [metric], seed=1, own_view=True)
            for group in (None, view.evidence.groups[1]):
                for estimator in ("doubly-robust", "lure") + ("ase",) * (group is None):
                    value = view.value(metric, estimator, group)
                    interval = view.interval(value, 0.95, group=group)
                    found.append((value.value, interval.lower, interval.upper))
        weighted, plain = np.split(np.array(found), 2)
        assert weighted == pytest.approx(plain, rel=1e-7)


def test_equal_weights_change_no_increment_of_a_bet(tmp_path, columns, truth):
    heavy = columns | {"copies": np.full(SIZE, 3)}
    choices = replace(CHOICES, interval="anytime")
    found = []
    for pool in (
        build(tmp_path, heavy, weight="copies"),
        build(tmp_path, columns, name="plain"),
    ):
        log = play_rounds(pool, truth, (choices, 10), (choices, 10))
        metric = specification.find_metric("error", facts_of(pool))
        view = build_view(log, pool, choices, [metric], seed=1, own_view=False)
        interval = view.confidence_sequence(metric, 0.95)
        found.append((interval.lower, interval.upper))
        assert interval.lower < interval.upper
    assert found[0] == pytest.approx(found[1], rel=1e-9)


# --- what cannot matter, and what bets may lose


def test_items_of_weight_0_are_never_drawn_and_never_missed(tmp_path, columns, truth):
    pool = build(tmp_path, columns, weight="copies")
    counted = np.flatnonzero(columns["copies"] > 0)
    log = play_rounds(pool, truth, (CHOICES, 30), (CHOICES, SIZE))
    assert sorted(log.rows) == counted.tolist()
    metric = specification.find_metric("error", facts_of(pool))
    value = build_view(log, pool, CHOICES, [metric], seed=1, own_view=False).value(metric, "lure")
    wrong = truth != pool.rows(0, SIZE).outputs.pred
    assert value.estimate.exact
    assert value.value == pytest.approx(columns["copies"] @ wrong / columns["copies"].sum())
    with pytest.raises(NotEstimable, match="drawn or labelled"):
        plan_round(log, pool, CHOICES, seed=1, count=1)
    assert find_free_items(log, SIZE).any()


@pytest.mark.parametrize("name", ["error", "f1"])
@pytest.mark.parametrize("group", [0, 1])
def test_what_a_bet_can_gain_holds_every_draw(tmp_path, columns, truth, name, group):
    """Ranges, known sums and bounds, of a mean whose terms average to it over the next draw."""
    pool = build(tmp_path, columns, weight="copies")
    log = supply_labels(play_rounds(pool, truth, (CHOICES, 8)), [2, 3], truth)
    log = play_rounds(pool, truth, (CHOICES, 8), log=log)
    metric = specification.find_metric(name, facts_of(pool))
    view = build_view(log, pool, CHOICES, [metric], seed=1, own_view=False)
    where = view.evidence.groups[group]
    (each,) = compute_increments_at(view.evidence, metric, where, [0.3])
    assert (each.low <= each.value + 1e-12).all()
    assert (each.value <= each.high + 1e-12).all()
    rows = pool.rows(0, SIZE)
    mass = where.membership(rows.codes) * rows.mass
    above, below = np.array(metric.ratio)
    stats = np.column_stack(
        [s.value(pool.rows(0, SIZE).outputs, truth[:, None])[:, 0] for s in metric.statistics]
    )
    values = (above - 0.3 * below) @ np.vstack([np.ones(SIZE), stats.T])
    mean = mass @ values / mass.sum()
    assert (each.least - 1e-12 <= mean - each.offset).all()
    assert (mean - each.offset <= each.most + 1e-12).all()


def test_draws_in_proportion_to_the_weights_make_plain_means(tmp_path, columns, truth):
    uniform = replace(CHOICES, acquisition="uniform")
    pool = build(tmp_path, columns, weight="copies")
    log = play_rounds(pool, truth, (uniform, 20))
    weight = pool.rows(0, SIZE).weight
    left = SIZE - np.cumsum(weight[log.rows]) + weight[log.rows]
    assert log.q == pytest.approx(weight[log.rows] / left)
    metric = specification.find_metric("error", facts_of(pool))
    view = build_view(log, pool, uniform, [metric], seed=1, own_view=False)
    assert view.value(metric, "iid").value == pytest.approx(view.value(metric, "lure").value)


def test_the_baseline_draws_in_proportion_to_the_weights(tmp_path, columns, truth):
    pool = build(tmp_path, columns, weight="copies")
    metric = specification.find_metric("error", facts_of(pool))
    rows = pool.rows(0, SIZE)
    rng = np.random.default_rng(0)
    weighted = compute_baseline(metric, rows.outputs, truth, (10, 20), rng, rows.weight)
    mass, wrong = rows.weight, truth != rows.outputs.pred
    assert weighted.truth == pytest.approx(mass @ wrong / SIZE)
    # Draws with replacement would have this variance; without, it is smaller.
    one = mass @ (wrong - weighted.truth) ** 2 / SIZE
    assert 0.3 * one / 10 < weighted.error(10) < 1.05 * one / 10
    assert weighted.error(20) < weighted.error(10) / 2


def test_draws_with_prices_say_more_for_the_money(tmp_path, columns):
    """Expected price times variance of a draw, where the surrogate is right: least with prices."""
    prices = np.geomspace(0.1, 10, SIZE)
    choices = replace(CHOICES, floor=0.0)
    pools = (
        build(tmp_path, columns | {"cost": prices}, price="cost"),
        build(tmp_path, columns | {"cost": prices}, name="unpriced"),
    )
    scores = np.sqrt(columns["score"] * (1 - columns["score"]))
    found = []
    for pool in pools:
        prob = prepare_round(Log.empty(), pool, choices, seed=1).q
        found.append((prob @ prices) * (scores**2 / prob).sum())
    least = (scores * np.sqrt(prices)).sum() ** 2
    assert found[0] == pytest.approx(least, rel=1e-4)
    assert found[0] < 0.8 * found[1]


@pytest.mark.parametrize("fields", [{}, {"floor_rule": "clip"}, {"acquisition": "entropy"}])
def test_no_price_makes_an_item_less_likely_than_the_floor_says(tmp_path, columns, fields):
    """One item in ten costs a hundred times as much: it may be the one that is wrong."""
    prices = np.where(np.arange(SIZE) % 10, 1.0, 100.0)
    pool = build(tmp_path, columns | {"cost": prices}, price="cost")
    choices = replace(CHOICES, **fields)
    least = find_lowest_share(asdict(choices)) / SIZE
    prob = prepare_round(Log.empty(), pool, choices, seed=1).q
    assert prob.min() > least * (1 - 1e-9)
    assert prob[prices > 1].mean() < prob[prices == 1].mean()


def test_rounds_record_what_the_surrogate_expects_of_weighted_items(tmp_path, columns, truth):
    pool = build(tmp_path, columns, weight="copies")
    drawn = plan_round(Log.empty(), pool, CHOICES, seed=1, count=5)
    rows = pool.rows(0, SIZE)
    # Without labels the surrogate believes the model's own confidence.
    wrong = (1 - rows.outputs.confidence) * rows.weight
    place = drawn.statistics.index("zero_one")
    assert drawn.imputed[:, place] == pytest.approx(wrong[drawn.rows], rel=1e-3)
    assert drawn.imputed_sum[0, place] == pytest.approx(wrong.sum(), rel=1e-3)


# --- what cannot be a weight


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, -2.0], "row 1 .*'copies' is -2"),
        ([1.0, None], "row 1 .*'copies' is null"),
        ([1.0, np.nan], "row 1 .*'copies' is nan"),
        ([np.inf, 1.0], "row 0 .*'copies' is inf"),
        ([0, 0], "every weight in column 'copies' .* is 0"),
        (["a", "b"], "'copies' is string"),
        ([True, False], "'copies' is bool"),
    ],
)
def test_a_column_that_holds_no_weights_is_refused(tmp_path, values, message):
    columns = {"id": ["a", "b"], "score": [0.2, 0.9], "copies": values}
    with pytest.raises(PoolError, match=message):
        build_table(tmp_path, columns, weight="copies")


def test_a_price_is_above_0(tmp_path):
    columns = {"id": ["a", "b"], "score": [0.2, 0.9], "cost": [1.0, 0.0]}
    with pytest.raises(PoolError, match="'cost' is 0"):
        build_table(tmp_path, columns, price="cost")


def test_the_models_outputs_are_no_weights(tmp_path, columns):
    with pytest.raises(ChoiceError, match="'score' holds ids or the model's outputs"):
        build(tmp_path, columns, weight="score")


def test_very_large_and_very_small_weights_can_be_summed(tmp_path, columns, truth):
    sizes = np.where(np.arange(SIZE) % 2, 1e300, 1e308)
    pool = build(tmp_path, columns | {"copies": sizes}, weight="copies")
    assert pool.rows(0, SIZE).weight.mean() == pytest.approx(1)
    log = play_rounds(pool, truth, (CHOICES, 10))
    assert (log.rows % 2 == 0).all()


def test_columns_that_look_like_weights_are_pointed_out(tmp_path, columns):
    columns = columns | {"sample_weight": np.ones(SIZE)}
    build_table(tmp_path, columns)
    notices = " ".join(Pool.open(tmp_path / "pool.parquet").notices)
    assert "column 'sample_weight' may hold weights of items: `weight='sample_weight'`" in notices
    notices = " ".join(Pool.open(tmp_path / "pool.parquet", weight="sample_weight").notices)
    assert "weights: column 'sample_weight'" in notices
    assert "may hold" not in notices
