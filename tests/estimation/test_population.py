"""The pool's own sampling variance, of items and of clusters."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import NotEstimable
from activetest.estimation.estimate import estimate_difference
from activetest.estimation.evidence import list_groups
from activetest.estimation.population import Population, sum_cluster_products, sum_squares
from activetest.estimation.samples import weigh_items
from activetest.estimation.value import KnownItems
from activetest.estimation.view import build_view
from activetest.item_statistics.specification import describe_pool, find_metric
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, PENDING
from tests.makers import (
    build_pool,
    build_table,
    label_items,
    play_rounds,
    set_status,
    supply_labels,
)

INFLUENCE = np.array([0.9, -1.3, 0.4, 0.7, -0.7])
CLUSTERS = np.array([0, 0, 1, 1, 1])
CHOICES = Choices(metric="error", metrics=("error",), surrogate="agreement")


def expect_sums(draws: int, supplied: int | None) -> tuple[float, float, float]:
    """Total probability, and the means of both estimated sums, over every order of draws.

    Probabilities of draws depend on the influence of the item drawn before it. The item supplied is
    known to all draws.
    """
    size = len(INFLUENCE)
    ahead = size - np.arange(draws)
    weights = 1 / (ahead * (ahead - 1.0))
    weights /= weights.sum()
    found = np.zeros(3)

    def draw(order: list[int], probs: list[float], chance: float) -> None:
        if len(order) == draws:
            items = order + ([] if supplied is None else [supplied])
            more = len(items) - draws
            known = KnownItems(
                since=np.append(np.arange(1, draws + 1), np.zeros(more, int)),
                drawn=np.append(np.arange(draws), np.full(more, -1)),
                inverse=1 / np.array(probs),
                weights=weights,
                all=False,
            )
            squares = sum_squares(INFLUENCE[items], known)
            products = sum_cluster_products(INFLUENCE[items], CLUSTERS[items], known)
            found[:] += chance * np.array([1, squares, products])
            return
        free = [item for item in range(size) if item not in order and item != supplied]
        scores = np.arange(1.0, size + 1)[free] + (INFLUENCE[order[-1]] ** 2 if order else 0)
        for item, q in zip(free, scores / scores.sum(), strict=True):
            draw([*order, item], [*probs, q], chance * q)

    draw([], [], 1.0)
    return tuple(found)


@pytest.mark.parametrize(("draws", "supplied"), [(2, None), (3, None), (4, None), (2, 1), (3, 4)])
def test_both_sums_are_unbiased_over_every_order_of_adaptive_draws(draws, supplied):
    products = sum(
        INFLUENCE[one] * INFLUENCE[two]
        for one in range(5)
        for two in range(5)
        if one != two and CLUSTERS[one] == CLUSTERS[two]
    )
    assert expect_sums(draws, supplied) == approx((1, INFLUENCE @ INFLUENCE, products))


def test_one_draw_says_nothing_about_pairs():
    """Nor about what lies between them: there is no such number to divide by."""
    known = KnownItems(
        since=np.array([1, 0]),
        drawn=np.array([0, -1]),
        inverse=np.array([5.0]),
        weights=np.ones(1),
        all=False,
    )
    assert sum_cluster_products(np.array([0.5, 0.2]), np.zeros(2, int), known) == 0


@pytest.fixture
def pool(tmp_path):
    return build_pool(tmp_path, 200, groups=("place",))


@pytest.fixture
def truth(pool):
    return label_items(pool)


def view(pool, log, *names, population=None, **changes):
    facts = describe_pool(pool.roles, None, pool)
    metrics = [find_metric(name, facts) for name in names]
    choices = replace(CHOICES, **changes)
    found = build_view(log, pool, choices, metrics, seed=1, own_view=False, population=population)
    return found, metrics


def test_a_share_gets_the_variance_of_the_pools_items_and_loses_the_bounds_of_the_pool(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 60), (CHOICES, 60))
    here, (error,) = view(pool, log, "error")
    there, _ = view(pool, log, "error", population=Population())
    own, about = here.value(error, "doubly-robust"), there.value(error, "doubly-robust")
    assert about.value == own.value
    assert about.of_pool.estimate.variance == approx(own.estimate.variance)
    added = about.estimate.variance[0, 0] - own.estimate.variance[0, 0]
    assert added == approx(own.value * (1 - own.value) / 199)
    assert own.estimate.limits[:, 0] != approx([0, 1])
    assert about.estimate.limits[:, 0].tolist() == [0, 1]
    # Freedom is that of a sum of variances, not that of the last few draws.
    ends = [each.interval(each.value(error, "doubly-robust"), 0.95) for each in (here, there)]
    assert ends[1].lower < ends[0].lower
    assert ends[1].upper > ends[0].upper


def test_where_every_label_is_known_the_pool_is_as_many_draws_and_nothing_is_exact(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 50))
    rest = np.setdiff1d(np.arange(200), log.rows)
    log = supply_labels(log, rest, truth)
    there, (error, loss) = view(pool, log, "error", "log-loss", population=Population())
    value = there.value(error, "doubly-robust")
    share = float((truth != pool.rows(0, 200).outputs.pred).mean())
    assert value.value == approx(share)
    assert value.estimate.variance[0, 0] == approx(share * (1 - share) / 199)
    assert value.estimate.freedom == approx(199)
    found = there.interval(value, 0.95)
    assert found.method == "korn-graubard"
    assert found.lower < share - 1.8 * np.sqrt(share * (1 - share) / 200)
    value = there.value(loss, "doubly-robust")
    probs = pool.rows(0, 200).outputs.probs.astype(float)
    losses = -np.log(probs[np.arange(200), truth.astype(int)])
    assert value.estimate.variance[0, 0] == approx(losses.var(ddof=1) / 200, rel=1e-6)


def test_where_every_label_is_known_clusters_add_up_their_deviations(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 200))
    wrong = (truth != pool.rows(0, 200).outputs.pred).astype(float)
    # Errors come every third item: clusters of three have one each, all alike.
    alike = np.arange(200) // 3
    there, (error,) = view(pool, log, "error", population=Population(alike))
    sampled = there.value(error, "doubly-robust").sampled
    assert sampled.clustered < sampled.items / 10
    # They never make the variance smaller than independent items would.
    assert sampled.variance == sampled.items == approx(wrong.var(ddof=1) / 200)
    together = np.where(wrong > 0, 200 + np.arange(200) // 12, np.arange(200) // 12)
    there, (error,) = view(pool, log, "error", population=Population(_encode(together)))
    value = there.value(error, "doubly-robust")
    count = len(np.unique(together))
    sums = np.bincount(_encode(together), wrong - wrong.mean())
    assert value.estimate.variance[0, 0] == approx(sums @ sums / 200**2 * count / (count - 1))
    assert value.estimate.freedom < count


def test_a_metric_of_several_means_is_linearised(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 200))
    there, (recall,) = view(pool, log, "recall[dog]", population=Population())
    value = there.value(recall, "doubly-robust")
    dogs = truth == 1
    found = (pool.rows(0, 200).outputs.pred == 1)[dogs]
    binomial = found.mean() * (1 - found.mean()) / dogs.sum()
    assert value.estimate.variance[0, 0] == approx(binomial * 200 / 199, rel=1e-3)


def test_a_cluster_with_items_in_both_groups_does_not_count_twice_in_their_difference(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 200))
    codes = pool.rows(0, 200).codes[:, 0]
    wrong = (truth != pool.rows(0, 200).outputs.pred).astype(float)
    clusters = np.arange(200) // 5
    there, (error,) = view(pool, log, "error", population=Population(clusters))
    groups = list_groups(pool)[1:]
    values = [there.value(error, "doubly-robust", each) for each in groups]
    found = there.difference(*values, groups, 0.95)
    apart = found.estimate
    means = [wrong[codes == each.code].mean() for each in groups]
    assert apart == approx(means[0] - means[1])
    u = sum(
        sign * np.where(codes == each.code, wrong - mean, 0) / each.size
        for sign, each, mean in zip((1, -1), groups, means, strict=True)
    )
    sums = np.bincount(clusters, u)
    expected = max(sums @ sums * 40 / 39, u @ u * 200 / 199)
    assert found.variance == approx(expected, rel=1e-6)
    assert found.lower < apart < found.upper


def test_a_group_has_the_clusters_that_its_items_are_of(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 200))
    codes = pool.rows(0, 200).codes[:, 0]
    clusters = _encode(np.where(codes == 0, np.arange(200) // 20, 100 + np.arange(200) // 5))
    there, (error,) = view(pool, log, "error", population=Population(clusters))
    barn = list_groups(pool)[1]
    sampled = there.value(error, "doubly-robust", barn).sampled
    inside = codes == 0
    wrong = (truth != pool.rows(0, 200).outputs.pred)[inside]
    sums = np.bincount(clusters[inside], wrong - wrong.mean()) / barn.size
    u = (wrong - wrong.mean()) / barn.size
    # Of items of a cluster only products are added to what items alone have.
    alone = u @ u
    assert sampled.clustered == approx((sums @ sums) * 10 / 9)
    assert sampled.items == approx(alone * barn.size / (barn.size - 1))
    sizes = np.bincount(clusters[inside])
    sizes = sizes[sizes > 0]
    assert len(sizes) == 10
    assert sampled.freedom == approx(sizes.sum() ** 2 / (sizes @ sizes) - 1)


def test_two_clusters_are_one_degree_of_freedom(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 200))
    halves = np.arange(200) // 100
    there, (error,) = view(pool, log, "error", population=Population(halves))
    sampled = there.value(error, "doubly-robust").sampled
    wrong = (truth != pool.rows(0, 200).outputs.pred).astype(float)
    sums = np.bincount(halves, wrong - wrong.mean()) / 200
    assert sampled.clustered == approx(2 * sums @ sums)
    assert sampled.freedom == 1


def test_an_estimate_outside_of_what_a_share_can_be_has_the_variance_of_none(pool):
    """Few errors, drawn where they are likely: terms without one are below zero."""
    rare = label_items(pool, wrong=100)
    values = []
    for seed in range(20):
        log = play_rounds(pool, rare, (CHOICES, 6), seed=seed)
        there, (error,) = view(pool, log, "error", population=Population())
        values.append(there.value(error, "doubly-robust"))
    below = [value for value in values if value.estimate.mean[0] < 0]
    assert below
    assert all(value.sampled.items == 0 for value in below)


def test_one_cluster_says_nothing_about_others(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 50))
    there, (error,) = view(pool, log, "error", population=Population(np.zeros(200, int)))
    with pytest.raises(NotEstimable, match="one cluster"):
        there.value(error, "doubly-robust")


def test_calibration_errors_and_the_surrogates_view_are_about_the_pool(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 50))
    there, (ece, error) = view(pool, log, "ece", "error", population=Population())
    with pytest.raises(NotEstimable, match="this pool alone"):
        there.value(ece, "doubly-robust")
    there = build_view(log, pool, CHOICES, [error], seed=1, own_view=True, population=Population())
    with pytest.raises(NotEstimable, match="own view is about this pool"):
        there.value(error, "ase")


def _encode(values):
    return np.unique(values, return_inverse=True)[1]


def test_missing_answers_widen_the_populations_interval_as_they_do_the_pools(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 60), (CHOICES, 60))
    gaps = set_status(log, [100, 101], PENDING)
    ends = {}
    for name, each in (("whole", log), ("gaps", gaps)):
        for population in (None, Population()):
            found, (error,) = view(pool, each, "error", population=population)
            value = found.value(error, "doubly-robust")
            assert (value.worst is not None) == (name == "gaps")
            ends[name, population is None] = found.interval(value, 0.95)
            groups = list_groups(pool)[1:]
            values = [found.value(error, "doubly-robust", one, alike=True) for one in groups]
            ends[name, population is None, "apart"] = found.difference(*values, groups, 0.95)
    for more in ((), ("apart",)):
        here, there = (ends["gaps", own, *more] for own in (True, False))
        assert there.lower < here.lower
        assert there.upper > here.upper
        without = ends["whole", False, *more]
        assert there.upper - there.lower > without.upper - without.lower
    found, (error,) = view(pool, gaps, "error", population=Population())
    value = found.value(error, "doubly-robust")
    for each in (value.worst.low, value.worst.high):
        assert each.sampled.value.value == each.value != value.value
    # Each end of a difference by as much, also where one group alone lacks answers.
    groups = list_groups(pool)[1:]
    values = [found.value(error, "doubly-robust", each, alike=True) for each in groups]
    certain = [
        replace(
            each, worst=None, sampled=replace(each.sampled, value=replace(each.of_pool, worst=None))
        )
        for each in values
    ]
    for pair in (values, [values[0], certain[1]], [certain[0], values[1]]):
        whole = [replace(each, worst=None) for each in certain]
        hull = found.difference(*pair, groups, 0.95)
        plain = found.difference(*whole, groups, 0.95)
        here = [estimate_difference(*(each.of_pool for each in two), 0.95) for two in (pair, whole)]
        assert here[0].lower < here[1].lower and here[0].upper > here[1].upper
        assert plain.lower - hull.lower == approx(here[1].lower - here[0].lower)
        assert hull.upper - plain.upper == approx(here[0].upper - here[1].upper)


def test_the_skewness_of_the_pools_items_is_that_of_their_mean(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 200))
    there, (loss,) = view(pool, log, "log-loss", population=Population())
    value = there.value(loss, "doubly-robust")
    probs = pool.rows(0, 200).outputs.probs.astype(float)
    losses = -np.log(probs[np.arange(200), truth.astype(int)])
    deviations = losses - losses.mean()
    skewness = (deviations**3).mean() / (deviations**2).mean() ** 1.5
    assert value.estimate.skewness == approx(skewness / np.sqrt(200), rel=1e-6)
    assert 3 <= value.estimate.spread_freedom <= value.estimate.freedom


def test_of_weighted_items_a_ratio_is_sampled(tmp_path, truth, pool):
    rng = np.random.default_rng(3)
    rows = pool.rows(0, 200)
    weight = rng.integers(1, 9, 200).astype(float)
    columns = {"id": [f"item-{row}" for row in range(200)], "weight": weight}
    columns |= {f"prob_{each}": rows.outputs.probs[:, code] for code, each in enumerate("abc")}
    (tmp_path / "other").mkdir()
    weighted = build_table(tmp_path / "other", columns, weight="weight")
    log = play_rounds(weighted, truth, (CHOICES, 200))
    there, (error,) = view(weighted, log, "error", population=Population())
    value = there.value(error, "doubly-robust")
    wrong = (truth != rows.outputs.pred).astype(float)
    mean = weight @ wrong / weight.sum()
    assert value.value == approx(mean)
    u = weight * (wrong - mean) / weight.sum()
    assert value.estimate.variance[0, 0] == approx(u @ u * 200 / 199, rel=1e-6)
    # And so it is on average over what is drawn.
    found = []
    for seed in range(30):
        log = play_rounds(weighted, truth, (CHOICES, 80), seed=seed)
        there, (error,) = view(weighted, log, "error", population=Population())
        found.append(there.value(error, "doubly-robust").sampled.items)
    assert np.mean(found) == approx(u @ u * 200 / 199, abs=3 * np.std(found) / np.sqrt(30))
    assert np.std(found) < 0.5 * np.mean(found)


def find_losses(pool, truth):
    probs = pool.rows(0, pool.size).outputs.probs.astype(float)
    return -np.log(probs[np.arange(pool.size), truth.astype(int)])


def sum_variances(first: float, second: float, freedom: float, other: float) -> float:
    """Satterthwaite's (1946) degrees of freedom of a sum of two variances."""
    return (first + second) ** 2 / (first**2 / freedom + second**2 / other)


def sum_influences(there, log, pool, truth, metric, group, at=slice(None)):
    """The population's u of every item known, their weights, and the pool's variance from these."""
    inside = group.membership(pool.take(log.rows).codes) * (log.status != PENDING)
    losses = find_losses(pool, truth)[log.rows]
    value = there.value(metric, "doubly-robust", group)
    u = (losses - value.value) * inside / group.size
    weights = weigh_items(there.evidence, metric)[1]
    sampled = group.size * weights @ u**2 / (weights @ inside)
    return value, u, weights, inside, sampled * group.size / (group.size - 1)


@pytest.mark.parametrize("place", [0, 1])
def test_the_variance_of_the_pool_is_estimated_from_weighted_labels(pool, truth, place):
    log = play_rounds(pool, truth, (CHOICES, 40), (CHOICES, 30))
    there, (loss,) = view(pool, log, "log-loss", population=Population())
    group = list_groups(pool)[place]
    value, u, weights, inside, items = sum_influences(there, log, pool, truth, loss, group)
    own, about, sampled = value.of_pool.estimate, value.estimate, value.sampled
    assert sampled.influence == approx(u)
    assert sampled.items == sampled.variance == approx(items)
    assert sampled.clustered == 0
    assert sampled.freedom == inside.sum() - 1
    assert sampled.value is value.of_pool
    # Both variances add up, and so do their third moments.
    assert about.variance == approx(own.variance + items)
    assert about.model_variance == approx(own.model_variance + items)
    third = weights @ u**3 / (weights @ u**2) ** 1.5
    assert sampled.skewness == approx(third)
    observed = own.variance[0, 0]
    both = own.skewness * observed**1.5 + third * items**1.5
    assert about.skewness == approx(both / (observed + items) ** 1.5)
    expected = sum_variances(observed, items, own.freedom, sampled.freedom)
    assert about.freedom == approx(expected)
    parts = weights * u**2
    relative = (parts**2).sum() / parts.sum() ** 2 - 1 / np.count_nonzero(parts)
    assert sampled.spread_freedom == approx(np.clip(2 / relative, 3, sampled.freedom))
    spread = sum_variances(observed, items, own.spread_freedom, sampled.spread_freedom)
    assert about.spread_freedom == approx(spread)
    # A group's interval has the freedom of both, or that of its own draws if that is less.
    drawn = np.count_nonzero(own.inside)
    kept = min(drawn, int(sum_variances(observed, items, drawn - 1, sampled.freedom)) + 1)
    assert np.count_nonzero(about.inside) == kept
    assert (about.inside <= own.inside).all()
    # The draws stay what they are.
    assert about.limits[:, 0].tolist() == [0, np.inf]
    for name in ("mean", "terms", "weights", "guess"):
        assert getattr(about, name) is getattr(own, name)
    for name in (
        "one_draw",
        "minority_count",
        "weighted_minority_count",
        "uniform_minority_count",
        "max_weight",
        "floor",
    ):
        assert getattr(about, name) == getattr(own, name)
    assert about.max_weight > 1 > about.floor > 0
    assert len({about.minority_count, about.weighted_minority_count}) == 2
    assert about.draws is None and not about.exact


def test_where_all_is_known_the_rarer_side_is_counted_among_all_items(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 200))
    there, (loss, error) = view(pool, log, "log-loss", "error", population=Population())
    about = there.value(loss, "doubly-robust").estimate
    deviations = (find_losses(pool, truth) - find_losses(pool, truth).mean()) / 200
    sides = [deviations[deviations > 0], deviations[deviations < 0]]
    counts = [side.sum() ** 2 / (side**2).sum() for side in sides]
    assert about.minority_count == approx(min(counts)) != approx(max(counts))
    assert about.weighted_minority_count == about.uniform_minority_count == about.minority_count
    assert about.inside.sum() == len(about.terms) == 200
    assert (about.terms == about.mean).all()
    assert (about.max_weight, about.floor) == (1, 1)
    # One draw of 200 has 200 times the variance of their mean.
    assert about.one_draw == approx(200 * about.variance[0, 0])
    assert there.value(error, "doubly-robust").estimate.max_weight == 1


def test_items_that_were_declined_stand_for_no_others(pool, truth):
    log = play_rounds(pool, truth, (CHOICES, 200))
    gone = np.arange(200) % 7 == 1
    log = set_status(log, np.flatnonzero(gone), DECLINED)
    there, (error, _) = view(pool, log, "error", "log-loss", population=Population())
    value = there.value(error, "doubly-robust")
    rows = log.rows[~gone]
    wrong = (truth != pool.rows(0, 200).outputs.pred)[rows]
    share = wrong.mean()
    assert value.value == approx(share)
    # The mean is a ratio: items that were declined are drawn as others are, and pull at nothing.
    assert value.sampled.items == approx(share * (1 - share) / len(rows) * 200 / 199)
    assert value.sampled.freedom == len(rows) - 1


# --- where draws left out what cannot change the metric


def draw_for(pool, truth, name, *, count):
    """A log of uniform draws for a metric alone."""
    choices = replace(CHOICES, metric=name, metrics=(name,), acquisition="uniform")
    log = play_rounds(pool, truth, (choices, count))
    assert log.left_out
    return log


def test_items_that_draws_left_out_add_nothing_to_a_ratio_of_others(pool, truth):
    pred = pool.rows(0, 200).outputs.pred
    owls = int((pred == 2).sum())
    right = truth == pred
    for count in (owls, owls // 2):
        log = draw_for(pool, truth, "precision[owl]", count=count)
        there, (precision,) = view(
            pool, log, "precision[owl]", population=Population(), metric="precision[owl]"
        )
        value = there.value(precision, "doubly-robust")
        assert value.relevant == owls
        square = ((right[log.rows] - value.value) ** 2).mean()
        assert value.sampled.items == approx(square / owls * 200 / 199)
        assert value.sampled.freedom == count - 1
    # Also in clusters, and between groups that share them.
    log = draw_for(pool, truth, "precision[owl]", count=owls)
    clusters = np.arange(200) // 5
    there, (precision,) = view(
        pool, log, "precision[owl]", population=Population(clusters), metric="precision[owl]"
    )
    value = there.value(precision, "doubly-robust")
    u = np.where(pred == 2, right - right[pred == 2].mean(), 0) / owls
    sums = np.bincount(clusters, u)
    expected = sums @ sums + u @ u / 199 * 40 / 39
    assert value.sampled.clustered == approx(expected, rel=0.03)
    groups = list_groups(pool)[1:]
    values = [there.value(precision, "doubly-robust", each, alike=True) for each in groups]
    found = there.difference(*values, groups, 0.95)
    apart = found.estimate
    codes = pool.rows(0, 200).codes[:, 0]
    inside = [(pred == 2) & (codes == each.code) for each in groups]
    assert apart == approx(right[inside[0]].mean() - right[inside[1]].mean())
    binomial = sum(right[each].mean() * (1 - right[each].mean()) / each.sum() for each in inside)
    assert found.variance >= 0.99 * binomial


def test_a_share_of_items_left_out_is_refused_where_clusters_need_them(pool, truth):
    """Of independent items its own value says the variance; clusters are unlike in size."""
    name = "confusion[dog as owl]"
    log = draw_for(pool, truth, name, count=30)
    there, (cell,) = view(pool, log, name, population=Population(), metric=name)
    value = there.value(cell, "doubly-robust")
    assert value.relevant < 200 and 0 < value.value < 0.2
    assert value.sampled.items == approx(value.value * (1 - value.value) / 199)
    clustered = Population(np.arange(200) // 5)
    there, (cell,) = view(pool, log, name, population=clustered, metric=name)
    with pytest.raises(NotEstimable, match="left out items that cannot change confusion"):
        there.value(cell, "doubly-robust")
