"""Before the first label: variances of draws and widths of intervals in imagined worlds."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from activetest.estimation.worlds import (
    count_gate_labels,
    count_labels,
    expect_half_width,
    imagine_worlds,
)
from activetest.item_statistics.specification import describe_pool, find_metric
from tests import makers


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    return makers.build_pool(tmp_path_factory.mktemp("worlds"), 60)


def find(pool, name):
    return find_metric(name, describe_pool(pool.roles, None, pool))


def read_probs(pool):
    outputs = pool.take(np.arange(pool.size)).outputs
    return outputs.probs.astype(float), outputs.pred


def test_with_the_odds_of_the_model_errors_are_as_frequent_as_it_expects(pool):
    probs, _ = read_probs(pool)
    worlds = imagine_worlds(pool, find(pool, "error"), floor=1.0, doubt=1.0)
    doubts = 1 - probs.max(axis=1)
    middle = list(worlds.odds).index(1.0)
    assert worlds.value[middle] == pytest.approx(doubts.mean())
    twice = 2 * doubts / (1 - doubts + 2 * doubts)
    assert worlds.value[middle + 1] == pytest.approx(twice.mean())
    assert (np.diff(worlds.value) > 0).all()


def test_a_random_draw_has_the_variance_of_an_indicator(pool):
    worlds = imagine_worlds(pool, find(pool, "error"), floor=1.0, doubt=1.0)
    assert worlds.random == pytest.approx(worlds.value * (1 - worlds.value))


def test_a_draw_of_ours_has_the_variance_of_its_blend(pool):
    """Around right guesses an item's variance is p (1 - p), and q blends its root with a floor."""
    probs, _ = read_probs(pool)
    doubts = 1 - probs.max(axis=1)
    variance = doubts * (1 - doubts)
    score = np.sqrt(variance)
    q = 0.35 / 60 + 0.65 * score / score.sum()
    worlds = imagine_worlds(pool, find(pool, "error"), floor=0.35, doubt=1.0)
    middle = list(worlds.odds).index(1.0)
    assert worlds.single[:, middle] == pytest.approx((variance / q).sum() / 60**2)


def test_doubt_that_is_spread_evenly_leaves_less_to_gain(pool):
    worlds = imagine_worlds(pool, find(pool, "error"), floor=0.35, doubt=2.0)
    assert (worlds.single[1] > worlds.single[0]).all()
    assert (worlds.single[1] < worlds.random * 1.05).all()
    most = imagine_worlds(pool, find(pool, "error"), floor=0.35, doubt=1e9)
    probs, pred = read_probs(pool)
    # Then every item of a predicted class is as doubtful as the others.
    doubts = 1 - probs.max(axis=1)
    even = np.array([doubts[pred == each].mean() for each in pred])
    variance = even * (1 - even)
    score = np.sqrt(variance)
    q = 0.35 / 60 + 0.65 * score / score.sum()
    middle = list(worlds.odds).index(1.0)
    assert most.single[1, middle] == pytest.approx((variance / q).sum() / 60**2, rel=1e-6)


def test_a_metric_of_several_means_has_the_variance_of_its_linear_part(pool):
    """The precision of a class is that of the items predicted as it: others tell nothing."""
    probs, pred = read_probs(pool)
    worlds = imagine_worlds(pool, find(pool, "precision[cat]"), floor=1.0, doubt=1.0)
    middle = list(worlds.odds).index(1.0)
    right = probs[pred == 0, 0]
    share = right.mean()
    assert worlds.value[middle] == pytest.approx(share)
    part = (pred == 0).mean()
    assert worlds.random[middle] == pytest.approx(share * (1 - share) / part, rel=1e-6)


def test_values_between_worlds_have_variances_between_theirs(pool):
    worlds = imagine_worlds(pool, find(pool, "error"), floor=0.35, doubt=2.0)
    single, random = worlds.find_variances(float(worlds.value[3]))
    assert single == pytest.approx(worlds.single[:, 3])
    assert random == pytest.approx(worlds.random[3])
    # Beyond all worlds they follow those of a share.
    far = worlds.value[0] / 2
    single, random = worlds.find_variances(float(far))
    change = far * (1 - far) / (worlds.value[0] * (1 - worlds.value[0]))
    assert single == pytest.approx(worlds.single[:, 0] * change)
    likely = worlds.list_likely(worlds.random)
    assert [value for value, _ in likely] == pytest.approx(worlds.value[7:10])


def test_the_width_of_random_draws_is_that_of_the_exact_interval():
    widths = expect_half_width(
        0.25, 0.25 * 0.75, np.array([40, 400]), size=10**9, level=0.95, bounds=(0, 1)
    )
    for count, width in zip((40, 400), widths, strict=True):
        exact = binomtest(count // 4, count).proportion_ci(0.95)
        assert width == pytest.approx((exact.high - exact.low) / 2, rel=1e-6)


def test_without_bounds_the_width_is_students():
    found = expect_half_width(3.0, 4.0, np.array([11]), size=10**9, level=0.95, bounds=(0, np.inf))
    assert found == pytest.approx(2.228 * 2 / 11**0.5, rel=1e-3)


def test_everything_labelled_leaves_no_width():
    found = expect_half_width(0.5, 0.25, np.array([99, 100]), size=100, level=0.9, bounds=(0, 1))
    assert 0 < found[0] < 0.05 and found[1] == 0


def test_the_number_of_labels_is_the_first_that_is_narrow_enough():
    about = {"size": 5000, "level": 0.95, "bounds": (0.0, 1.0)}
    count = count_labels(0.2, 0.1, half_width=0.04, **about)
    before, then = expect_half_width(0.2, 0.1, np.array([count - 1, count]), **about)
    assert then <= 0.04 < before
    assert count_labels(0.2, 0.1, half_width=1e-9, **about) == 5000


@pytest.mark.parametrize(("truth", "limit"), [(0.05, 0.1), (0.15, 0.1), (0.85, 0.8)])
def test_so_many_labels_decide_a_gate_with_the_power(truth, limit):
    """Of random draws from a pool without end, by the binomial distribution itself."""
    count = count_gate_labels(
        limit,
        truth,
        truth * (1 - truth),
        power=0.9,
        alpha=0.05,
        size=10**9,
        bounds=(0, 1),
    )
    hits = np.arange(count + 1)
    ends = [binomtest(int(each), count).proportion_ci(0.9) for each in hits]
    decides = [each.high <= limit if truth < limit else each.low >= limit for each in ends]
    power = binom.pmf(hits, count, truth)[np.array(decides)].sum()
    assert 0.9 <= power <= 0.95


def test_draws_with_half_the_variance_need_half_the_labels():
    about = {"power": 0.8, "alpha": 0.05, "size": 10**9, "bounds": (0, 1)}
    single = count_gate_labels(0.1, 0.07, 0.07 * 0.93, **about)
    half = count_gate_labels(0.1, 0.07, 0.07 * 0.93 / 2, **about)
    assert half == pytest.approx(single / 2, abs=1)
    small = count_gate_labels(0.1, 0.07, 0.07 * 0.93, **about | {"size": single})
    assert small == pytest.approx(single / 2, abs=1)
