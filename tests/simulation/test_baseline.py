"""The yardstick of simulations: what uniform draws without replacement would have done."""

import numpy as np
import pytest
from pytest import approx

from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts, evaluate
from activetest.nouns.choices import Choices
from activetest.nouns.rows import Outputs
from activetest.simulation.baseline import compare_with_uniform, compute_baseline

SIZE = 400


@pytest.fixture
def pool():
    """Outputs and labels of three classes, with what one may ask of them."""
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([1, 1, 1], SIZE)
    labels = (probs.cumsum(axis=1) > rng.random((SIZE, 1))).argmax(axis=1).astype(float)
    outputs = Outputs(probs.argmax(axis=1), probs)
    return Facts("classification", ("cat", "dog", "owl"), probabilities=True), outputs, labels


def drawn(metric, outputs, labels, count: int, *, runs: int = 1500) -> np.ndarray:
    """(runs,) squared errors of the plain value on uniform samples."""
    rng, true = np.random.default_rng(2), evaluate(metric, outputs, labels)
    found = []
    for _ in range(runs):
        rows = rng.permutation(SIZE)[:count]
        found.append((evaluate(metric, outputs[rows], labels[rows]) - true) ** 2)
    return np.array(found)


@pytest.mark.parametrize("name", ["error", "accuracy", "log-loss", "brier"])
def test_a_mean_has_a_closed_form(pool, name):
    facts, outputs, labels = pool
    metric = specification.find_metric(name, facts)
    made = compute_baseline(metric, outputs, labels, (40, 100), np.random.default_rng(3))
    assert made.exact
    assert made.truth == approx(evaluate(metric, outputs, labels))
    for count in (40, 100):
        errors = drawn(metric, outputs, labels, count)
        assert abs(made.error(count) - errors.mean()) < 4 * errors.std() / len(errors) ** 0.5


@pytest.mark.parametrize("name", ["f1[dog]", "mcc", "auroc[owl]"])
def test_everything_else_is_simulated(pool, name):
    """From two independent simulations, of 1000 and of 400 samples."""
    facts, outputs, labels = pool
    metric = specification.find_metric(name, facts)
    made = compute_baseline(metric, outputs, labels, (60,), np.random.default_rng(3))
    assert not made.exact
    assert made.truth == approx(evaluate(metric, outputs, labels))
    errors = drawn(metric, outputs, labels, 60, runs=400)
    assert abs(made.error(60) - errors.mean()) < 4 * errors.std() * (1 / 1000 + 1 / 400) ** 0.5


@pytest.mark.parametrize("name", ["error", "f1[dog]"])
def test_labels_that_reach_an_error_are_the_way_back_from_it(pool, name):
    facts, outputs, labels = pool
    made = compute_baseline(
        specification.find_metric(name, facts), outputs, labels, (40, 100), np.random.default_rng(3)
    )
    for count in (40, 55, 100, 250):
        assert made.labels(made.error(count)) == approx(count, rel=0.05)
    # Fewer than a 16th of the smallest budget are not told apart.
    assert made.labels(made.error(40) * 100) == approx(2)


def test_four_times_the_labels_quarter_the_error_as_long_as_they_are_few(pool):
    facts, outputs, labels = pool
    made = compute_baseline(
        specification.find_metric("error", facts), outputs, labels, (2,), np.random.default_rng(3)
    )
    assert made.error(2) / made.error(8) == approx(4, rel=0.1)
    assert made.error(399) < made.error(200) / 50


@pytest.mark.parametrize("selection", ["draw", "top"])
@pytest.mark.parametrize("estimates", [(0.5, 0.5, 0.5), (0.5, 0.6, 0.5)])
def test_chance_tells_nothing_of_top_scores_where_no_two_runs_differ(pool, selection, estimates):
    """Even where their intervals do, which the surrogate's own view simulates."""
    facts, outputs, labels = pool
    uniform = compute_baseline(
        specification.find_metric("error", facts), outputs, labels, (40,), np.random.default_rng(3)
    )
    table = np.array(
        [(each, each - 0.4, each + 0.3 + 0.1 * run, 40) for run, each in enumerate(estimates)]
    )
    choices = Choices("error", ("error",), "agreement", selection=selection)
    one = compare_with_uniform(choices, "ase", "error", 40, table, uniform)
    same = len(set(estimates)) == 1
    assert (one.mse_ratio_se is None) == same
    assert (one.coverage is None) == (same and selection == "top")
    assert one.mse_ratio == approx(uniform.error(40) / one.rmse**2)


def test_what_rounding_leaves_is_no_error(pool):
    facts, outputs, labels = pool
    uniform = compute_baseline(
        specification.find_metric("error", facts), outputs, labels, (40,), np.random.default_rng(0)
    )
    values = uniform.truth * (1 + np.array([-1.0, 1.0, 1.0]) * 2e-16)
    table = np.column_stack([values, values, values, np.full(3, 40.0)])
    choices = Choices("error", ("error",), "agreement")
    one = compare_with_uniform(choices, "lure", "error", 40, table, uniform)
    assert one.rmse == one.bias == one.median == 0 and one.coverage == 1
    assert one.mse_ratio == one.labels_saved == np.inf and one.mse_ratio_se is None


def test_where_labels_have_prices_random_ones_are_as_many_as_cost_as_much(pool):
    """40 labels that cost as much as 20 random ones."""
    facts, outputs, labels = pool
    uniform = compute_baseline(
        specification.find_metric("error", facts), outputs, labels, (40,), np.random.default_rng(0)
    )
    values = uniform.truth + np.array([-0.05, 0.05])
    table = np.column_stack([values, values, values, np.full(2, 40.0)])
    choices = Choices("error", ("error",), "agreement")
    alike, paid = (
        compare_with_uniform(choices, "lure", "error", 40, each, uniform)
        for each in (table, np.column_stack([table, [10.0, 30.0]]))
    )
    assert alike.n_labeled == paid.n_labeled == 40
    assert alike.mse_ratio == approx(uniform.error(40) / 0.0025)
    assert paid.mse_ratio == approx(uniform.error(20) / 0.0025)
    assert paid.labels_saved == approx(2 * alike.labels_saved)


@pytest.mark.parametrize(("name", "weighted"), [("auroc[owl]", False), ("accuracy", True)])
def test_a_budget_of_the_whole_pool_may_be_the_only_one(pool, name, weighted):
    facts, outputs, labels = pool
    size, outputs, labels = 100, outputs[np.arange(100)], labels[:100]
    metric, rng = specification.find_metric(name, facts), np.random.default_rng(3)
    weights = np.linspace(1, 2, size) if weighted else None
    made = compute_baseline(metric, outputs, labels, (size,), rng, weights)
    assert made.truth == approx(evaluate(metric, outputs, labels, weights))
    assert made.medians[size] == approx(0, abs=1e-20) and made.error(40) > 0
