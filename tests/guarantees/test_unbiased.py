"""Estimates are exactly unbiased over every order in which the draws can come.

The code under test is the program's own from the log to the estimate; only the race is replaced, by
going through all its outcomes with their probabilities. Nothing here is random.
"""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from activetest import catalog
from activetest.estimation import estimate, samples
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.rounds.fit import find_free_items, observe_statistics
from activetest.sampling import plan
from activetest.simulation.simulate import answered
from tests.makers import build_table, supply_labels, write_pool

SIZE, BATCHES = 5, (2, 2)
# Every order of three draws is half of those of four, with several draws in the second round.
SHORT = (1, 2)
ESTIMATORS = ("lure", "doubly-robust")
CHOICES = Choices("error", ("error",), "agreement", floor=0.2)

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",))
one_item_more = pytest.mark.pool(rows=SIZE + 1, seed=3, groups=("place",))


@pytest.fixture
def truth(pool):
    """Labels that make the black box wrong on the second, third and last item."""
    labels = pool.rows(0, pool.size).outputs.pred.astype(float)
    labels[[1, 2, -1]] = (labels[[1, 2, -1]] + 1) % 3
    return labels


def orders(strength, count):
    """(rows, probability) of every ordered draw of `count` rows."""
    if not count:
        yield (), 1.0
        return
    for row in np.flatnonzero(strength):
        rest = strength.copy()
        rest[row] = 0
        for more, prob in orders(rest, count - 1):
            yield (row, *more), strength[row] / strength.sum() * prob


def studies(pool, truth, choices, *, bring=lambda log: (), batches=BATCHES, log=None):
    """(log, probability) of every way a study can go; bring(log): rows brought after a round.

    A batch is a number of draws, or a rule that says which rows are picked: rule(log, strength).
    """
    log = log or Log.empty()
    if not batches:
        yield log, 1.0
        return
    frozen, rule = plan.prepare_round(log, pool, choices, seed=1, key=truth), batches[0]
    deterministic = callable(rule)
    ways = [(rule(log, frozen.q), 1.0)] if deterministic else orders(frozen.q, rule)
    for rows, prob in ways:
        one = plan.record_round(frozen, np.array(rows), pool)
        one = replace(one, q=np.full(len(rows), np.nan)) if deterministic else one
        after = answered(log, one, truth)
        after = supply_labels(after, bring(after), truth)
        for end, more in studies(pool, truth, choices, bring=bring, batches=batches[1:], log=after):
            yield end, prob * more


def metric_of(pool, name):
    return specification.find_metric(name, specification.describe_pool(pool.roles, None, pool))


def check_unbiased(pool, truth, choices, name, *, groups=(0,), forget=lambda log: log, **ways):
    """Both estimators expect the means of a metric's statistics that groups have, (d,) each.

    Returns the (d,) true means of the first of these groups.
    """
    metric = metric_of(pool, name)
    expected = np.zeros((len(groups), len(ESTIMATORS), len(metric.statistics)))
    total = 0.0
    for log, prob in studies(pool, truth, choices, **ways):
        evidence = samples.collect_evidence(forget(log), pool, choices, [metric], seed=1)
        for place, group in enumerate(groups):
            one = samples.build_sample(evidence, metric, evidence.groups[group])
            # A group that happens to be known completely is reported exactly, which is no estimate.
            one = replace(one, unknown=max(one.unknown, 1e-9))
            estimates = [catalog.load("estimators", each).estimate(one) for each in ESTIMATORS]
            expected[place] += prob * np.array([each.mean for each in estimates])
        total += prob
    assert total == pytest.approx(1)
    rows = pool.rows(0, pool.size)
    values = observe_statistics(rows, truth, metric.statistics)
    mass = [evidence.groups[group].membership(rows.codes) * rows.mass for group in groups]
    targets = np.array([each @ values / each.sum() for each in mass])
    for place, group in enumerate(groups):
        for estimator, mean in zip(ESTIMATORS, expected[place], strict=True):
            assert mean == pytest.approx(targets[place], rel=1e-6, abs=1e-7), (estimator, group)
    return targets[0]


def ungrouped(log):
    """The log as if its rounds had been drawn before the study knew of any group."""

    def without(each):
        whole = each.imputed_sum[:1], each.count[:1]
        return replace(each, groups=("",), imputed_sum=whole[0], count=whole[1])

    return replace(log, history=tuple(map(without, log.history)))


def first_unseen(pool):
    """The first row nobody has seen, once any error has been seen: brought in answer to labels."""

    def pick(log):
        errors = any(log.labels != pool.take(log.rows).outputs.pred)
        free = np.flatnonzero(find_free_items(log, pool.size))
        return free[:1] if errors and len(free) > 2 else ()

    return pick


def largest(log, strength):
    """A deterministic rule: the row with the largest score."""
    return [int(np.argmax(strength))]


def reacting(pool):
    """A rule that looks at the labels: after an error one row is picked, else the last two."""

    def rule(log, strength):
        free = np.flatnonzero(find_free_items(log, pool.size))
        wrong = any(log.labels != pool.take(log.rows).outputs.pred)
        return free[:1] if wrong else free[-2:]

    return rule


@pytest.mark.parametrize("surrogate", ["agreement", "model"])
@pytest.mark.parametrize("metric", ["error", "log-loss", "rate[dog]", "precision-at-k[3,owl]"])
def test_an_adaptive_study_is_unbiased(pool, truth, surrogate, metric):
    """Of every group as well, from the same draws."""
    choices = Choices(metric, (metric,), surrogate, floor=0.2)
    check_unbiased(pool, truth, choices, metric, groups=(0, 1, 2))


@one_item_more
@pytest.mark.parametrize("acquisition", ["expected-loss", "optimal"])
def test_clipped_draws_are_unbiased(pool, truth, acquisition):
    """Of every group, where some items have the least probability there is, and others more."""
    choices = replace(CHOICES, acquisition=acquisition, floor=0.95, floor_rule="clip")
    weight = plan.prepare_round(Log.empty(), pool, choices, seed=1).q
    assert 1 < np.isclose(weight, weight.min(), rtol=1e-9).sum() < pool.size - 1
    check_unbiased(pool, truth, choices, "log-loss", groups=(0, 1, 2), batches=SHORT)


def test_clipped_draws_of_items_with_weights_and_prices_are_unbiased(pool, truth, tmp_path):
    columns = pq.read_table(tmp_path / "pool.parquet").to_pydict()
    columns |= {"traffic": [0.5, 2.0, 1.0, 3.0, 0.25], "cents": [1.0, 9.0, 4.0, 1.0, 1.0]}
    pool = build_table(tmp_path, columns, name="priced", weight="traffic", price="cents")
    choices = replace(CHOICES, floor=0.7, floor_rule="clip")
    check_unbiased(pool, truth, choices, "error", batches=SHORT)


@pytest.mark.parametrize("metric", ["error", "log-loss", "f1[dog]"])
def test_draws_by_true_losses_are_unbiased(pool, truth, metric):
    """With a floor: for every estimate, of losses and of what has no loss of its own."""
    choices = Choices(metric, (metric,), "agreement", "oracle", floor=0.2)
    check_unbiased(pool, truth, choices, metric, groups=(0, 1, 2), batches=SHORT)


@pytest.mark.parametrize(("name", "drawn"), [("error", 3), ("log-loss", SIZE)])
@pytest.mark.parametrize("weighted", [False, True])
def test_true_losses_without_a_floor_leave_no_error_from_the_first_draw_on(
    pool, truth, tmp_path, name, drawn, weighted
):
    """Active Testing, section 3.1: an estimate of one draw has no variance.

    Items without a loss are not drawn while there are others.
    """
    if weighted:
        weights = [0.5, 2.0, 1.0, 3.0, 0.25]
        columns = pq.read_table(tmp_path / "pool.parquet").to_pydict() | {"traffic": weights}
        pool = build_table(tmp_path, columns, name="weighted", weight="traffic")
    choices = Choices(name, (name,), "agreement", "oracle", floor=0.0)
    metric = metric_of(pool, name)
    rows = pool.rows(0, SIZE)
    exact = rows.mass @ observe_statistics(rows, truth, metric.statistics) / rows.mass.sum()
    for count in (1, 2, 3):
        ends = [log for log, _ in studies(pool, truth, choices, batches=(1,) * count)]
        assert len({log.rows[0] for log in ends}) == drawn
        for log in ends:
            evidence = samples.collect_evidence(log, pool, choices, [metric], seed=1)
            sample = samples.build_sample(evidence, metric, evidence.groups[0])
            lure = catalog.load("estimators", "lure")
            # One draw has a weight, and no variance to report.
            weights, _ = lure.label_weights(sample, sample.stats, sample.stats)
            found = (weights * sample.stats).sum(axis=0)
            assert found == pytest.approx(exact, rel=1e-12)
            if count > 1:
                estimate = lure.estimate(sample)
                assert estimate.mean == pytest.approx(found, rel=1e-12)
                assert estimate.variance == pytest.approx(0, abs=1e-25)


def test_only_an_answer_key_knows_true_losses(pool):
    choices = Choices("error", ("error",), "agreement", "oracle")
    with pytest.raises(ValueError, match="by their true labels"):
        plan.prepare_round(Log.empty(), pool, choices, seed=1)


def test_a_floor_that_follows_from_the_labels_so_far_leaves_it_unbiased(pool, truth):
    choices = Choices("error", ("error",), "agreement", interval="anytime")
    check_unbiased(pool, truth, choices, "error")


def test_labels_supplied_in_answer_to_errors_leave_it_unbiased(pool, truth):
    check_unbiased(pool, truth, CHOICES, "error", bring=first_unseen(pool))


def test_picks_before_between_and_after_the_draws_leave_it_unbiased(pool, truth):
    batches = (largest, 1, largest, 1, largest)
    check_unbiased(pool, truth, CHOICES, "error", batches=batches, groups=(0, 1))


@one_item_more
@pytest.mark.parametrize("metric", ["error", "f1"])
def test_picks_that_answer_to_labels_leave_it_unbiased(pool, truth, metric):
    """One or two of them: weights that counted picks would follow the labels."""
    batches = (1, reacting(pool), 1, reacting(pool), 1)
    check_unbiased(pool, truth, CHOICES, metric, batches=batches)


def test_draws_by_the_information_about_several_metrics_leave_it_unbiased(pool, truth):
    aims = {"also": ("recall[dog]", "precision[owl]"), "surrogate": "linear"}
    choices = replace(CHOICES, **aims, acquisition="metric-information")
    assert len(set(plan.prepare_round(Log.empty(), pool, choices, seed=1).q.round(9))) > 3
    check_unbiased(pool, truth, choices, "error", batches=SHORT)


def test_a_choice_between_groups_leaves_it_unbiased_with_a_floor(pool, truth):
    between = {"acquisition": "thompson", "question": "identify", "groups": ("place",)}
    choices = replace(CHOICES, **between)
    check_unbiased(pool, truth, choices, "error", groups=(0, 1), batches=SHORT)


def test_the_exploration_of_a_surface_leaves_it_unbiased_with_a_floor(pool, truth, monkeypatch):
    """One arm at a time: the other keeps the floor alone."""
    monkeypatch.setattr(catalog.load("acquisition", "surface-variance"), "ARMS", 1)
    explores = {"acquisition": "surface-variance", "question": "surface", "surface": "beta"}
    choices = replace(CHOICES, **explores, attributes=("place",), groups=("place",), min_support=2)
    first = plan.prepare_round(Log.empty(), pool, choices, seed=1)
    assert len(set(first.q.round(9))) > 1
    check_unbiased(pool, truth, choices, "error", groups=(0, 1), batches=SHORT)


def test_exploring_where_the_label_is_an_attribute_leaves_it_unbiased(tmp_path, truth, monkeypatch):
    """Known labels move items between arms; the chances of others follow the model alone."""
    monkeypatch.setattr(catalog.load("acquisition", "surface-variance"), "ARMS", 1)
    table = pq.read_table(write_pool(tmp_path / "plain.parquet", SIZE, seed=3)).to_pydict()
    built = build_table(tmp_path, table, attributes=("label",))
    explores = {"acquisition": "surface-variance", "question": "surface", "surface": "beta"}
    choices = replace(CHOICES, **explores, attributes=("label",), groups=("label",), min_support=1)
    first = plan.prepare_round(Log.empty(), built, choices, seed=1)
    assert len(set(first.q.round(9))) > 2 and not first.round.allocation.certain
    check_unbiased(built, truth, choices, "error", batches=SHORT)


# --- several means, and what rounds did not record


@pytest.mark.parametrize("surrogate", ["agreement", "model"])
def test_the_hits_misses_and_false_alarms_of_f1_are_unbiased(pool, truth, surrogate):
    choices = Choices("f1", ("f1",), surrogate, floor=0.2)
    target = check_unbiased(pool, truth, choices, "f1", groups=(0, 2))
    assert len(target) == 9
    assert (target > 0).sum() >= 3


@pytest.mark.parametrize("bring", [False, True], ids=["drawn only", "brought as well"])
def test_f1_is_unbiased_where_rounds_recorded_the_error_alone(pool, truth, bring):
    """The third round is predicted by the surrogate of the second."""
    ways = {"bring": first_unseen(pool)} if bring else {}
    target = check_unbiased(pool, truth, CHOICES, "f1", batches=(1, 1, 1), **ways)
    assert (target > 0).sum() >= 3


def test_a_group_is_unbiased_where_rounds_did_not_know_of_it(pool, truth):
    ways = {"batches": (1, 1, 1), "forget": ungrouped}
    check_unbiased(pool, truth, CHOICES, "error", groups=(1,), **ways)


# --- items with weights and prices

WEIGHTS = {"weight": "traffic"}, {"weight": "traffic", "price": "price"}


@pytest.fixture(params=WEIGHTS, ids=["weights", "weights and prices"])
def non_uniform_pool(request, tmp_path):
    """The same pool, whose items have weights, one of them 0 and one half of all, and prices."""
    table = pq.read_table(write_pool(tmp_path / "plain.parquet", SIZE, seed=3)).to_pydict()
    table |= {"traffic": [3.0, 10.0, 0.5, 3.5, 0.0]}
    table |= {"price": [1.0, 0.1, 2.0, 9.0, 5.0]}
    return build_table(tmp_path, table, groups=("place",), **request.param)


@pytest.fixture
def non_uniform_truth(non_uniform_pool):
    """Labels that make the black box wrong on a heavy item, a light one and one of weight 0."""
    labels = non_uniform_pool.rows(0, SIZE).outputs.pred.astype(float)
    labels[[1, 2, 4]] = (labels[[1, 2, 4]] + 1) % 3
    return labels


@pytest.mark.parametrize(("metric", "groups"), [("error", (0, 1)), ("f1", (2,))])
def test_weighted_means_are_unbiased(non_uniform_pool, non_uniform_truth, groups, metric):
    choices = Choices(metric, (metric,), "agreement", floor=0.2)
    ways = {"groups": groups, "batches": (2, 1)}
    check_unbiased(non_uniform_pool, non_uniform_truth, choices, metric, **ways)


def test_weighted_means_are_unbiased_with_labels_in_answer_to_errors(
    non_uniform_pool, non_uniform_truth
):
    """One of the labels supplied is of an item without weight."""
    ways = {"bring": lambda log: (4,) if len(log.rows) == 1 else (), "batches": (1, 1)}
    check_unbiased(non_uniform_pool, non_uniform_truth, CHOICES, "error", **ways)


def test_weighted_f1_is_unbiased_where_rounds_recorded_the_error_alone(
    non_uniform_pool, non_uniform_truth
):
    ways = {"batches": (1, 1), "groups": (1,), "forget": ungrouped}
    check_unbiased(non_uniform_pool, non_uniform_truth, CHOICES, "f1", **ways)


# --- identities


def test_forgetting_the_probabilities_would_be_seen_here(pool, truth):
    """The plain mean of the same draws is biased: the enumeration can tell."""
    choices = Choices("error", ("error",), "model", floor=0.2)
    mean = sum(
        prob * np.mean(log.labels != pool.take(log.rows).outputs.pred)
        for log, prob in studies(pool, truth, choices)
    )
    wrong = np.mean(truth != pool.rows(0, SIZE).outputs.pred)
    assert abs(mean - wrong) > 0.01


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_when_everything_is_drawn_the_estimate_is_the_truth(pool, truth, estimator):
    log, metric = Log.empty(), metric_of(pool, "error")
    while len(log.rows) < SIZE:
        log = answered(log, plan.plan_round(log, pool, CHOICES, seed=5, count=4), truth)
    evidence = samples.collect_evidence(log, pool, CHOICES, [metric], seed=1)
    estimated = estimate.estimate_metric(samples.build_sample(evidence, metric), metric, estimator)
    assert estimated.estimate.exact
    assert estimated.value == np.mean(truth != pool.rows(0, SIZE).outputs.pred)
    assert estimated.estimate.variance[0, 0] == 0


def test_lure_is_the_formula_of_the_paper(pool, truth):
    """Active Testing, eq. (3)-(4), written as it stands there."""
    choices = Choices("log-loss", ("log-loss",), "agreement", floor=0.2)
    log = Log.empty()
    for _ in range(2):
        log = answered(log, plan.plan_round(log, pool, choices, seed=2, count=2), truth)
    size, labels = SIZE, len(log.rows)
    metric = metric_of(pool, "log-loss")
    losses = observe_statistics(pool.take(log.rows), log.labels, metric.statistics)[:, 0]
    m = np.arange(1, labels + 1)
    v = 1 + (size - labels) / (size - m) * (1 / ((size - m + 1) * log.q) - 1)
    evidence = samples.collect_evidence(log, pool, choices, [metric], seed=1)
    estimated = estimate.estimate_metric(samples.build_sample(evidence, metric), metric, "lure")
    assert estimated.value == pytest.approx(np.mean(v * losses))


def test_doubly_robust_with_nothing_imputed_is_lure(pool, truth):
    log = answered(Log.empty(), plan.plan_round(Log.empty(), pool, CHOICES, seed=2, count=4), truth)
    metric = metric_of(pool, "error")
    one = samples.build_sample(
        samples.collect_evidence(log, pool, CHOICES, [metric], seed=1), metric
    )
    # Nothing imputed, and nothing learned about the level: the group was not recorded.
    bare = replace(one, imputed=one.imputed * 0, imputed_sum=one.imputed_sum * 0, left=one.left * 0)
    robust, lure = (
        catalog.load("estimators", name).estimate(bare) for name in ("doubly-robust", "lure")
    )
    assert robust.mean == pytest.approx(lure.mean)
    assert robust.variance == pytest.approx(lure.variance)
