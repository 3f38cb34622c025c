"""The range of a metric that what is known leaves possible."""

from dataclasses import replace
from itertools import product
from operator import attrgetter
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import NotEstimable
from activetest.estimation.view import build_view, find_possible_range
from activetest.item_statistics.metric import Facts, ratio_metric
from activetest.item_statistics.specification import describe_pool, find_metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, PENDING, truncate_log
from tests import makers
from tests.makers import build_table, set_status

FACTS = Facts("classification", ("no", "yes"), 1)


def sample(total, *, size: int = 10, unknown: int = 0, limits=((0.2,), (0.7,))):
    """A sample with the means of a metric's statistics, and of answers where declined."""
    return SimpleNamespace(
        possible=None,
        total=np.array(total, float),
        size=size,
        unknown=unknown,
        limits=np.array(limits, float),
    )


@pytest.mark.parametrize(
    ("name", "total", "exact"),
    [
        ("error", [3], 0.3),
        # Eight of the ten items were answered.
        ("error", [2, 8], 0.25),
        ("accuracy", [2, 8], 0.75),
        ("recall[yes]", [3, 1], 0.75),
        ("recall[yes]", [3, 1, 8], 0.75),
        ("f1[yes]", [3, 1, 1, 8], 0.75),
    ],
)
def test_where_everything_is_known_it_is_the_value(name, total, exact):
    found = find_possible_range(sample(total), find_metric(name, FACTS))
    assert found == (approx(exact), approx(exact))


def test_where_something_is_unknown_it_is_what_the_limits_leave():
    assert find_possible_range(sample([3], unknown=5), find_metric("error", FACTS)) == (0.2, 0.7)
    found = find_possible_range(sample([3], unknown=5), find_metric("accuracy", FACTS))
    assert found == (approx(0.3), approx(0.8))
    assert find_possible_range(sample([3, 1], unknown=5), find_metric("recall[yes]", FACTS)) == (
        0.0,
        1.0,
    )


def test_a_metric_that_is_not_defined_for_what_is_known_has_its_own_range():
    assert find_possible_range(sample([0, 0]), find_metric("recall[yes]", FACTS)) == (0.0, 1.0)
    nobody = sample([0, 0], limits=((0.0, 0.0), (1.0, 1.0)))
    assert find_possible_range(nobody, find_metric("error", FACTS)) == (0.0, 1.0)


# --- whose draws they are


CHOICES = Choices(metric="error", metrics=("error",), surrogate="agreement", groups=("place",))
GROUPED = pytest.mark.pool(rows=60, groups=("place",))


def view(pool, log, *names, choices=CHOICES):
    facts = describe_pool(pool.roles, None, pool)
    metrics = [find_metric(name, facts) for name in names]
    return build_view(log, pool, choices, metrics, seed=1, own_view=False), metrics


@GROUPED
def test_what_items_were_drawn_for_is_what_the_last_such_round_aimed_at(pool, play_rounds):
    """Rounds of all items, before and after, aimed at nothing in particular."""
    first = replace(CHOICES, metric="precision[cat]", metrics=("precision[cat]",))
    last = replace(first, metric="precision[owl]", metrics=("precision[owl]",))
    found, (error,) = view(pool, play_rounds((first, 4), (last, 4)), "error")
    with pytest.raises(NotEstimable) as raised:
        found.value(error, "doubly-robust")
    assert "items were drawn for precision[owl] alone" in raised.value.problem
    assert "`study.change(metric=['precision[owl]', 'error'])`" in raised.value.problem


@GROUPED
def test_a_group_is_filled_as_its_own_width_says_unless_it_is_compared(pool, play_rounds):
    """Missing answers are all of one group: the other one loses nothing by filling them."""
    whole = play_rounds((CHOICES, 16), (CHOICES, 24))
    codes = pool.take(whole.rows).codes[:, 0]
    chosen = set()
    for count in (1, 4, 7, 10):
        missing = np.flatnonzero((codes == 0) & (np.arange(40) >= 16))[:count]
        found, (error,) = view(pool, set_status(whole, missing, PENDING), "error")
        filled = found.fill_missing(error) is not None
        for group in found.evidence.groups[1:]:
            alone = found.fill_missing(error, group) is not None
            assert (found.fill_missing(error, group, alike=True) is not None) == filled
            used = len(found.value(error, "doubly-robust", group).sample.q)
            assert used == (40 if alone else 16)
            alike = found.value(error, "doubly-robust", group, alike=True)
            assert len(alike.sample.q) == (40 if filled else 16)
            chosen.add((filled, alone))
    assert chosen == {(True, True), (True, False)}


@GROUPED
def test_an_anytime_interval_is_of_the_group_that_was_asked_for(pool, play_rounds):
    found, (error,) = view(pool, play_rounds((CHOICES, 30)), "error")
    limits = attrgetter("lower", "upper", "level", "method")
    whole, barn, tree = (
        limits(found.confidence_sequence(error, 0.9, each))
        for each in (None, *found.evidence.groups[1:])
    )
    assert limits(found.confidence_sequence(error, 0.9, found.evidence.groups[0])) == whole
    assert len({whole, barn, tree}) == 3
    value = found.value(error, "doubly-robust")
    assert limits(found.interval(value, 0.9, "anytime")) == whole
    assert found.interval(value, 0.9, "anytime").estimate == value.value
    assert limits(found.interval(value, 0.9, "anytime", found.evidence.groups[1])) == barn


def test_a_curve_at_an_earlier_round_is_the_one_that_was_seen_then(pool, play_rounds):
    log = play_rounds((CHOICES, 16), (CHOICES, 14))
    found, (area,) = view(pool, log, "auroc[cat]")
    found.value(area, "doubly-robust")
    then = found.as_of(1, [area], supplied=1).value(area, "doubly-robust").estimate
    first, (alone,) = view(pool, truncate_log(log, 1, supplied=1), "auroc[cat]")
    seen = first.value(alone, "doubly-robust").estimate
    assert then.mean == approx(seen.mean) and then.variance == approx(seen.variance)


@GROUPED
def test_two_draws_are_enough_for_an_estimate_and_one_is_not(pool, play_rounds):
    log = play_rounds((CHOICES, 2))
    found, (error,) = view(pool, log, "error")
    assert len(found.value(error, "doubly-robust").sample.q) == 2
    top = replace(CHOICES, selection="top")
    log = play_rounds((top, 5), (CHOICES, 1))
    found, (error,) = view(pool, log, "error")
    with pytest.raises(NotEstimable, match=r"by the largest score.*\(1 so far\)"):
        found.value(error, "doubly-robust")
    log = play_rounds((top, 5), (CHOICES, 2))
    assert view(pool, log, "error")[0].value(error, "doubly-robust").value >= 0


@GROUPED
@pytest.mark.parametrize("declined", [(), (3, 20, 41)])
def test_estimate_open_leave_a_ratio_with_a_constant_the_range_of_every_answer(
    pool, truth, play_rounds, declined
):
    """Items that were declined and are ignored count nowhere, neither above nor below."""
    declined = list(declined)
    log = play_rounds((CHOICES, 60))
    log = set_status(log, declined, DECLINED)
    log = set_status(log, [7, 30], PENDING)
    ignoring = replace(CHOICES, declined="ignore")
    found, (metric,) = view(pool, log, "specificity[dog]", choices=ignoring)
    low, high = found.possible_range(metric, found.evidence.groups[0])
    pred = pool.rows(0, 60).outputs.pred
    kept = np.setdiff1d(np.arange(60), log.rows[declined])
    values = []
    # Where none was declined, none will be.
    for answers in product((0, 1, 2, None) if declined else (0, 1, 2), repeat=2):
        labels = truth.copy()
        rows = [row for row in kept if row not in log.rows[[7, 30]]]
        for row, answer in zip(log.rows[[7, 30]], answers, strict=True):
            if answer is not None:
                labels[row] = answer
                rows.append(row)
        others = [row for row in rows if labels[row] != 1]
        values.append(np.mean([pred[row] != 1 for row in others]))
    assert (low, high) == (approx(min(values)), approx(max(values)))
    assert low < high


@GROUPED
def test_labels_in_doubt_leave_the_metrics_own_range(pool, play_rounds):
    log = play_rounds((CHOICES, 50))
    found, (metric,) = view(pool, log, "f1[dog]")
    low, high = found.possible_range(metric, found.evidence.groups[0])
    assert 0 < low < high < 1
    shares = np.random.default_rng(0).dirichlet([1, 1, 1], 50)
    found, _ = view(pool, replace(log, soft=shares, supplied_soft=np.empty((0, 3))), "f1[dog]")
    assert found.possible_range(metric, found.evidence.groups[0]) == (0, 1)


def test_in_an_open_pool_a_label_can_be_of_no_class(tmp_path):
    """Of 40 predicted dogs, the share of labels that are none of the classes."""
    columns = {"id": range(80), "pred": ["cat", "dog"] * 40}
    pool = build_table(tmp_path, columns)
    log = makers.play_rounds(pool, np.tile([0.0, 1.0], 40), (replace(CHOICES, groups=()), 70))
    cells = [statistic(f"cell:{row}:1") for row in range(2)]
    metric = ratio_metric("other as dog", cells, above=[0.5, -1, -1], below=[1.0, 0, 0], upper=0.5)
    left = 40 - int((log.rows % 2 == 1).sum())
    for open_classes, most in ((True, left / 80), (False, 0)):
        pool.roles["open_classes"] = open_classes
        found = build_view(log, pool, CHOICES, [metric], seed=1, own_view=False)
        assert found.possible_range(metric, found.evidence.groups[0]) == approx((0, most))
    assert left > 1


# --- what metrics share


@pytest.mark.parametrize("status", [None, PENDING, DECLINED])
@pytest.mark.parametrize("acquisition", ["optimal", "uniform"])
def test_metrics_of_the_same_mean_have_the_numbers_that_each_would_have_alone(
    tmp_path, acquisition, status
):
    """Beside one another, and asked in either order; also where items were declined."""
    pool, truth = makers.build_farm(tmp_path, 60, ())
    choices = Choices("error", ("error",), surrogate="agreement", acquisition=acquisition)
    log = makers.play_rounds(pool, truth, (choices, 10), (choices, 10))
    log = log if status is None else set_status(log, [4, 13], status)
    facts = describe_pool(pool.roles, (), pool)
    names = ["error", "accuracy", "brier", "log-loss", "recall[yes]"]
    estimators = ["doubly-robust", "lure", "ase", "ase[plug-in=nothing]", "iid"]

    def read(names):
        metrics = [find_metric(name, facts) for name in names]
        view = build_view(log, pool, choices, metrics, seed=1, own_view=True)
        found = {}
        for metric, estimator in product(metrics, estimators):
            try:
                value = view.value(metric, estimator)
                ends = [view.interval(value, level) for level in (0.8, 0.95)]
            except NotEstimable as reason:
                found[metric.title, estimator] = str(reason)
                continue
            # Random numbers of a posterior go round all statistics of a view.
            drawn = value.estimate.draws is None
            numbers = [(end.lower, end.upper, end.method) for end in ends if drawn]
            found[metric.title, estimator] = value.value, numbers
        return found

    together, backwards = read(names), read(names[::-1])
    alone = {what: numbers for name in names for what, numbers in read([name]).items()}
    assert len(together) == len(names) * len(estimators)
    for what, found in alone.items():
        for other in (together[what], backwards[what]):
            if isinstance(found, str):
                assert other == found
            else:
                assert other[0] == approx(found[0], rel=1e-9)
                for (low, high, method), expected in zip(other[1], found[1], strict=True):
                    assert (low, high) == approx(expected[:2], rel=1e-9)
                    assert method == expected[2]
