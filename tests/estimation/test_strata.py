"""The estimate over parts is the sum of theirs, with the sum of their variances."""

import numpy as np
import pytest

from activetest.estimation.view import build_view
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.sampling.part_rounds import plan_rounds
from activetest.simulation.simulate import answered

pytestmark = pytest.mark.pool(rows=300, groups=("place",))
CHOICES = Choices("error", ("error",), "agreement", floor=0.2)
# Sizes of parts, and draws from each: the second is drawn from most, and is the smallest.
ENDS, DRAWS = (160, 200, 300), ((1, 30), (2, 30), (3, 20))


@pytest.fixture
def log(pool, truth) -> Log:
    """Rounds of three parts, whose numbers of draws are not in proportion to their sizes."""
    pool.part_ends, pool.part_names = ENDS, ("a", "b", "c")
    found = Log.empty()
    for part, count in DRAWS:
        for each in plan_rounds(found, pool, CHOICES, seed=1, count=count, among=[part]):
            found = answered(found, each, truth)
    return found


def view_of(log, pool, *names):
    facts = specification.describe_pool(pool.roles, None, pool)
    metrics = [specification.find_metric(name, facts) for name in names]
    return build_view(log, pool, CHOICES, metrics, seed=1, own_view=False), metrics


@pytest.mark.parametrize("estimator", ["doubly-robust", "lure"])
def test_means_and_variances_add_up_by_shares(log, pool, estimator):
    view, (metric,) = view_of(log, pool, "error")
    whole = view.value(metric, estimator)
    parts = [each.value(metric, estimator) for each in view.parts]
    shares = np.diff([0, *ENDS]) / ENDS[-1]
    assert whole.value == pytest.approx(shares @ [each.value for each in parts], rel=1e-12)
    variance = shares**2 @ [each.estimate.variance[0, 0] for each in parts]
    assert whole.estimate.variance[0, 0] == pytest.approx(variance, rel=1e-12)
    found, weights = whole.estimate, whole.estimate.weights
    apart = weights * (found.terms[:, 0] - weights @ found.terms[:, 0])
    assert (apart**2).sum() / (1 - (weights**2).sum()) == pytest.approx(variance, rel=1e-9)
    assert weights.sum() == pytest.approx(1) and found.terms.mean() == pytest.approx(
        whole.value, abs=0.2
    )


def test_few_draws_of_a_large_part_leave_few_degrees_of_freedom(log, pool):
    view, (metric,) = view_of(log, pool, "error")
    freedom = view.value(metric, "doubly-robust").estimate.freedom
    shares = np.diff([0, *ENDS]) / ENDS[-1]
    squares = shares**2 @ [
        (each.value(metric, "doubly-robust").estimate.weights ** 2).sum() for each in view.parts
    ]
    assert freedom == pytest.approx(1 / squares - 1) and freedom < len(log.rows) - 5


def test_labels_of_a_part_that_is_drawn_from_often_count_less(log, pool):
    """As a uniform draw from all parts would have shown them."""
    view, (metric,) = view_of(log, pool, "error")
    whole = view.value(metric, "doubly-robust").estimate
    alone = [each.value(metric, "doubly-robust").estimate for each in view.parts]
    assert whole.uniform_count < sum(each.uniform_count for each in alone)
    assert whole.max_weight > max(each.max_weight for each in alone)


def test_groups_and_functions_of_several_means_are_joined_too(log, pool):
    view, (metric,) = view_of(log, pool, "f1[dog]")
    parts = [each.value(metric, "doubly-robust", of_means=True) for each in view.parts]
    shares = np.diff([0, *ENDS]) / ENDS[-1]
    means = sum(share * each.means.mean for share, each in zip(shares, parts, strict=True))
    whole = view.value(metric, "doubly-robust")
    assert whole.means.mean == pytest.approx(means)
    assert whole.value == pytest.approx(float(metric.smooth(whole.means.limited_mean)))
    group = view.evidence.groups[1]
    inside = [own.size for _, own in view.list_parts(group)]
    assert sum(inside) == group.size
    assert np.isfinite(view.interval(view.value(metric, "doubly-robust", group), 0.95).variance)


def test_a_part_that_is_known_adds_no_variance(pool, truth):
    pool.part_ends, pool.part_names = (20, 300), ("a", "b")
    log = Log.empty()
    for part, count in ((1, 20), (2, 60)):
        for each in plan_rounds(log, pool, CHOICES, seed=1, count=count, among=[part]):
            log = answered(log, each, truth)
    view, (metric,) = view_of(log, pool, "error")
    first, second = (each.value(metric, "doubly-robust") for each in view.parts)
    whole = view.value(metric, "doubly-robust").estimate
    assert first.estimate.exact
    expected = (280 / 300) ** 2 * second.estimate.variance[0, 0]
    assert whole.variance[0, 0] == pytest.approx(expected)
    assert len(whole.terms) == 60


def test_parts_that_are_all_known_are_exact(pool, truth):
    pool.part_ends, pool.part_names = (100, 300), ("a", "b")
    log = Log.empty()
    for each in plan_rounds(log, pool, CHOICES, seed=1, count=300):
        log = answered(log, each, truth)
    view, (metric,) = view_of(log, pool, "error")
    value = view.value(metric, "doubly-robust")
    wrong = (truth != pool.rows(0, 300).outputs.pred).mean()
    assert value.estimate.exact and value.value == pytest.approx(wrong)
    assert view.interval(value, 0.95).find_ends() == pytest.approx((wrong, wrong))


def test_the_surrogates_expectation_is_the_sum_of_those_of_parts(log, pool):
    view, (metric,) = view_of(log, pool, "error")
    for group in view.evidence.groups:
        inside = view.list_parts(group)
        sizes = np.array([own.size for _, own in inside])
        parts = [part.value(metric, "doubly-robust", own).predicted for part, own in inside]
        whole = view.value(metric, "doubly-robust", group)
        assert whole.predicted == pytest.approx(sizes @ parts / sizes.sum())
        assert whole.sample.known_sum[0, 0] == 0.0
