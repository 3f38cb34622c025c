"""The rows of a report: levels of tables, effective sizes, and when an interval is reliable."""

from dataclasses import replace
from operator import attrgetter
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import NotEstimable
from activetest.estimation.group_estimates import find_metric_variance
from activetest.estimation.population import Population
from activetest.estimation.random_draws import RandomDraws
from activetest.estimation.view import View, build_view
from activetest.item_statistics import specification
from activetest.item_statistics.statistic import statistic
from activetest.nouns.choices import Choices
from activetest.nouns.estimate import Estimate, Shape, Sides
from activetest.nouns.log import DECLINED, PENDING, Log, count_answers
from activetest.nouns.quantity import Quantity, Saving
from activetest.reporting import rows
from activetest.reporting.notes import note_kinds
from activetest.reporting.requirements import parse_requirement
from activetest.reporting.verdicts import judge_requirements
from activetest.simulation.baseline import compute_baseline
from tests.makers import build_farm, play_rounds, set_status, supply_first, supply_labels

SIZE = 240
# A sample for is_reliable whose labels are taken as they are.
CERTAIN = SimpleNamespace(doubted=False, unaccounted=False)
CHOICES = Choices("error", ("error",), "agreement", groups=("place", "shift"))


@pytest.fixture
def farm(tmp_path):
    """A pool with a column of four groups and one of two, its labels, and 120 of them drawn."""
    pool, truth = build_farm(tmp_path, SIZE, ("place", "shift"))
    return SimpleNamespace(
        pool=pool, truth=truth, log=play_rounds(pool, truth, (CHOICES, 60), (CHOICES, 60))
    )


def view_of(farm, log=None, *, metrics=("error",), choices: Choices = CHOICES) -> View:
    found = [find_metric(farm, name) for name in metrics]
    return build_view(log or farm.log, farm.pool, choices, found, seed=1, own_view=True)


def find_metric(farm, name: str):
    return specification.find_metric(
        name, specification.describe_pool(farm.pool.roles, None, farm.pool)
    )


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_simultaneous_groups_and_differences_share_the_error_of_their_column(farm, level):
    """Bonferroni: four places and two shifts; six pairs of places, and one of shifts."""
    view = view_of(farm, choices=replace(CHOICES, level=level))
    metric = find_metric(farm, "error")
    both = ("place", "shift")
    groups = rows.estimate_groups(view, [metric], both, "fixed", simultaneous=True)
    shared = [1 - (1 - level) / 4] * 4 + [1 - (1 - level) / 2] * 2
    assert [row.level for row in groups] == approx(shared)
    alone = rows.estimate_groups(view, [metric], ("shift",), "fixed", simultaneous=True)
    assert [row.level for row in alone] == approx([1 - (1 - level) / 2] * 2)
    differences = rows.estimate_differences(view, [metric], both, simultaneous=True)
    assert [row.level for row in differences] == approx([1 - (1 - level) / 6] * 6 + [level])
    plain = rows.estimate_differences(view, [metric], both, simultaneous=False)
    assert [row.level for row in plain] == [level] * 7
    for row, other in zip(differences[:6], plain[:6], strict=True):
        pair = (other.group, other.against, other.estimate)
        assert (row.group, row.against, row.estimate) == pair
        assert row.lower < other.lower < other.upper < row.upper


def test_groups_without_an_interval_take_no_part_of_the_error(farm):
    """38 draws: some places have fewer than ten labels. All of one shift is then supplied."""
    metric, log = find_metric(farm, "error"), play_rounds(farm.pool, farm.truth, (CHOICES, 38))
    view = view_of(farm, log)
    groups = rows.estimate_groups(view, [metric], ("place",), "fixed", simultaneous=True)
    shown = sum(row.lower is not None for row in groups)
    assert 0 < shown < 4
    assert [row.level for row in groups] == approx([1 - 0.05 / shown] * 4)
    night = np.flatnonzero(farm.pool.rows(0, SIZE).codes[:, 1] == 1)
    log = supply_labels(log, np.setdiff1d(night, log.rows), farm.truth)
    found = rows.estimate_groups(
        view_of(farm, log), [metric], ("shift",), "fixed", simultaneous=True
    )
    assert [row.method for row in found] == ["group-beta", "exact"]
    assert [row.level for row in found] == approx([0.95, 0.95])
    # Of the population behind the pool, no group is known.
    sampled = replace(view_of(farm, log), population=Population())
    found = rows.estimate_groups(sampled, [metric], ("shift",), "fixed", simultaneous=True)
    assert all(row.lower < row.upper for row in found)
    assert [row.level for row in found] == approx([0.975, 0.975])


def test_a_metric_that_labels_leave_undefined_takes_its_part_of_the_error(farm):
    """Recall without a positive: whether it is defined says something about the labels."""
    pred = farm.pool.rows(0, SIZE).outputs.pred
    place = farm.pool.rows(0, SIZE).codes[:, 0]
    truth = np.where(place == 0, 0.0, pred.astype(float))
    log = play_rounds(farm.pool, truth, (CHOICES, 60), (CHOICES, 60))
    metric = find_metric(farm, "recall[yes]")
    view = view_of(farm, log, metrics=("recall[yes]",))
    found = rows.estimate_groups(view, [metric], ("place",), "fixed", simultaneous=True)
    assert [row.estimate is None for row in found] == [True, False, False, False]
    assert found[1].level == approx(1 - 0.05 / 4)


def test_anytime_intervals_of_groups_share_the_error_alike_at_every_look(farm):
    """Every group that can ever have ten labels counts, at the first look already."""
    metric = find_metric(farm, "error")
    for count in (12, 120):
        log = play_rounds(farm.pool, farm.truth, (CHOICES, count))
        found = rows.estimate_groups(
            view_of(farm, log), [metric], ("place",), "anytime", simultaneous=True
        )
        assert [row.level for row in found] == approx([1 - 0.05 / 4] * 4)


def test_the_surrogates_own_view_has_a_spread_and_others_have_none(farm):
    metric, log = find_metric(farm, "error"), play_rounds(farm.pool, farm.truth, (CHOICES, 30))
    view = view_of(farm, log)
    own = rows.estimate_row(view, metric, "ase", level=0.95)
    assert own.surrogate_std == view.value(metric, "ase").spread > 0
    assert rows.estimate_row(view, metric, "doubly-robust", level=0.95).surrogate_std is None


def test_labels_that_were_supplied_are_no_draws_of_a_group(farm):
    metric, log = find_metric(farm, "error"), play_rounds(farm.pool, farm.truth, (CHOICES, 12))
    free = np.setdiff1d(np.arange(farm.pool.size), log.rows)[:40]
    view = view_of(farm, supply_labels(log, free, farm.truth))
    found = rows.estimate_groups(view, [metric], ("place",), "fixed", simultaneous=False)
    few = [row for row in found if row.reason]
    assert few and all(f"too few drawn labels ({row.n_labeled} of 10)" == row.reason for row in few)


def test_a_difference_is_of_two_groups_with_ten_labels_each(farm):
    metric, log = find_metric(farm, "error"), play_rounds(farm.pool, farm.truth, (CHOICES, 38))
    view = view_of(farm, log)
    groups = rows.estimate_groups(view, [metric], ("place",), "fixed", simultaneous=False)
    enough = [row.group for row in groups if row.n_labeled >= 10]
    few = [row for row in groups if row.n_labeled < 10]
    assert len(enough) >= 2 and few
    for row in few:
        assert row.reason == f"too few labels ({row.n_labeled} of 10)"
        assert row.lower is None and row.shrunk is not None
    found = rows.estimate_differences(view, [metric], ("place",), simultaneous=True)
    count = len(enough)
    assert [(row.group, row.against) for row in found] == [
        (enough[one], enough[two]) for one in range(count) for two in range(one + 1, count)
    ]
    sizes = {row.group["place"]: (row.n_labeled, row.n_pool, row.estimate) for row in groups}
    for row in found:
        first, second = sizes[row.group["place"]], sizes[row.against["place"]]
        assert row.n_labeled == first[0] + second[0]
        assert row.n_pool == first[1] + second[1] == 120
        assert row.estimate == approx(first[2] - second[2])
        assert row.level == approx(1 - 0.05 / (count * (count - 1) / 2))


def test_only_labels_that_estimates_use_are_counted(farm):
    """All draws but the one that waits, or the rounds before it; the surrogate's view uses all."""
    log = supply_first(farm.log, farm.pool, farm.truth, 4)
    log = set_status(set_status(log, [3, 20], DECLINED), 100, PENDING)
    view = view_of(farm, log)
    whole, shift = view.evidence.groups[0], view.evidence.groups[5]
    inside = farm.pool.rows(0, SIZE).codes[:, 1] == shift.code
    labelled = np.setdiff1d(np.arange(120), [3, 20, 100])
    used = labelled[labelled < 60]
    assert rows.count_labelled(view, whole) == len(used) == 58
    assert rows.count_labelled(view, shift) == inside[log.rows[used]].sum()
    assert view.evidence.count_known(whole) == 117 + 4
    assert (
        view.evidence.count_known(shift)
        == inside[log.rows[labelled]].sum() + inside[log.supplied_rows].sum()
    )
    metric = find_metric(farm, "error")
    for estimator, kind, count in (
        ("doubly-robust", "fixed", 117),
        ("doubly-robust", "anytime", 58),
        ("ase", "fixed", 121),
    ):
        row = rows.estimate_row(view, metric, estimator, level=0.95, kind=kind)
        assert (row.n_labeled, row.n_pool) == (count, SIZE)


def test_as_many_random_labels_would_leave_the_same_variance(farm):
    """v = s^2 (1 / n - 1 / N) has n = s^2 / (v + s^2 / N); labels are saved where n is more."""
    view, metric = view_of(farm), find_metric(farm, "error")
    row = rows.estimate_row(view, metric, "doubly-robust", level=0.95)
    value = view.value(metric, "doubly-robust")
    estimate = value.estimate
    variance = estimate.variance[0, 0] * (1 + 2 / 3 / estimate.spread_freedom)
    assert estimate.model_variance < variance
    single = value.value * (1 - value.value)
    assert row.n_eff == approx(single / (variance + single / SIZE))
    assert row.quantity.saved == approx(row.n_eff / 120)
    assert row.quantity.saving.kind == "about"
    assert single * (1 / row.n_eff - 1 / SIZE) == approx(variance)
    assert rows.estimate_row(view, metric, "ase", level=0.95).n_eff is None
    share = value.estimate.weights / farm.log.q
    assert row.max_weight_share == approx(share.max() / share.sum())
    group = rows.estimate_row(view, metric, "doubly-robust", view.evidence.groups[1], level=0.95)
    assert group.max_weight_share is None and group.n_eff is not None


def saving_of(
    *,
    single=0.1,
    variance=0.01,
    size=100,
    rarer=5.0,
    reliable=True,
    method="gamma",
    means=(0.2,),
    tally=np.inf,
    rarer_shown=0.0,
    open_share=1.0,
    model=0.0,
    freedom=1e12,
    relevant=None,
    bought=None,
    several=False,
    unmet=0.0,
    doubt=0.0,
    bounds=(0.0, 1.0),
):
    """The saving by 20 labels that leave this variance, where one draw leaves `single`."""
    made_of = Estimate(
        mean=np.array([single]),
        variance=np.array([[variance]]),
        terms=np.full((20, 1), single),
        weights=np.full(20, 0.05),
        guess=np.zeros((20, 1)),
        limits=np.array([[0.0], [1.0]]),
        inside=np.ones(20),
        one_draw=single,
        minority_count=rarer,
        model_variance=model,
        shape=Shape(freedom, 0.0, freedom),
        uniform_count=tally,
        sides=Sides((rarer_shown, rarer_shown), (1.0, 1.0)),
        open_share=open_share,
        unmet=unmet,
        doubt=doubt,
        known=(1 - open_share) * single,
    )
    value = SimpleNamespace(
        estimate=made_of,
        of_pool=SimpleNamespace(estimate=made_of),
        sample=SimpleNamespace(size=100),
        relevant=relevant,
        means=SimpleNamespace(mean=np.array(means)),
        metric=SimpleNamespace(statistics=("loss",), bounds=bounds),
        sampled=None,
        several=several,
        possible=bounds,
    )
    interval = Quantity(0.2, 0.1, 0.3, 0.95, method, variance=variance)
    return rows.measure_saving(
        value, interval, RandomDraws(size), bought or Saving(20), reliable=reliable
    )


@pytest.mark.parametrize(("shown", "part"), [(0.0, 0.0), (3.0, 0.25), (12.0, 1.0), (40.0, 1.0)])
def test_of_several_means_no_more_is_claimed_than_labels_of_the_rarer_kind_show(shown, part):
    """While no missed item was met, recall looks as precise as if there were none."""
    usual = saving_of(variance=0.001, rarer_shown=shown).random / 20
    assert usual > 2
    found = saving_of(variance=0.001, rarer_shown=shown, several=True).random / 20
    assert found == approx(1 + part * (usual - 1))
    # Of precision, whose draws are all of items that it is about, nothing can have been missed.
    sure = saving_of(variance=0.001, rarer_shown=shown, several=True, unmet=0.005).random / 20
    assert sure == approx(1 + max(part, 1 / 1.01) * (usual - 1))
    below = saving_of(variance=0.009, size=10**9, rarer_shown=shown)
    assert below.random < 20
    assert saving_of(variance=0.009, size=10**9, rarer_shown=shown, several=True) == below


def test_a_number_is_shown_wherever_the_interval_is_reliable_also_below_one():
    about = saving_of(variance=0.0999, size=10**9)
    assert (about.kind, about.bought, about.random) == ("about", 20, approx(1, rel=0.002))
    assert saving_of(variance=0.2, size=10**9).random == approx(0.5)
    assert saving_of(variance=0.2, size=10**9).ratio == approx(0.025)
    # Of 2 items, one draw of both leaves nothing open.
    assert saving_of(variance=1e-12, size=2).random == approx(2)


def test_a_share_has_the_variance_of_its_items_and_random_draws_meet_declined_ones_too():
    share = saving_of(single=0.2, size=10**9, method="korn-graubard")
    assert share.random == approx(0.2 * 0.8 / 0.01, rel=1e-6)
    # Where a quarter is declined, a third more has to be asked for as many labels.
    asked = saving_of(single=0.2, size=10**9, method="korn-graubard", means=(0.15, 0.75))
    assert asked.random == approx(share.random / 0.75, rel=1e-6)


@pytest.mark.parametrize("method", ["korn-graubard", "gamma", "delta-beta", "group-t"])
def test_a_surrogate_is_believed_as_far_as_uniform_draws_would_have_shown_that_it_is_wrong(method):
    """Between what it expects, with many labels, and the variance of uniform draws, with none."""
    known = {"single": 0.2, "variance": 0.001, "size": 10**9, "method": method, "model": 0.002}
    single = 0.16 if method == "korn-graubard" else 0.2
    uniform = single / 20
    half = approx(single / (0.001 + uniform / 2), rel=1e-6)
    assert saving_of(**known, tally=np.inf).random == approx(single / 0.002, rel=1e-6)
    assert saving_of(**known, tally=70.0).random == half
    assert saving_of(**known, tally=0.0).random == approx(20, rel=1e-6)
    # Or as far as labels of the rarer kind support it.
    assert saving_of(**known, tally=0.0, rarer_shown=6.0).random == half
    assert saving_of(**known, tally=0.0, rarer_shown=12.0).random == approx(single / 0.002)
    # The draws' variance is the least, and a surrogate that expects more than uniform draws counts.
    assert saving_of(**known | {"variance": 0.02}).random == approx(single / 0.02, rel=1e-6)
    assert saving_of(**known | {"model": 0.02}, tally=0.0).random == approx(single / 0.02, rel=1e-6)


def test_of_few_residuals_that_make_a_variance_the_claim_is_the_median():
    """Half of the variances of f degrees of freedom are above 1 - 2 / (3 f) of their mean."""
    known = {"single": 0.2, "variance": 0.001, "size": 10**9}
    claimed = saving_of(**known, freedom=6.0).random
    assert claimed == approx(200 / (1 + 2 / 18), rel=1e-6)
    median = np.median(np.random.default_rng(1).chisquare(6, 100_000)) / 6
    assert claimed == approx(200 * median, rel=0.02)
    # Without bounds it is mostly of what no draw met while it has few degrees of freedom.
    tails = saving_of(**known, freedom=8.0, bounds=(0.0, np.inf)).random
    assert tails == approx(claimed * (1 + 2 / 18) / (1 + 2 / 24) / 2, rel=1e-6)


def test_random_items_leave_less_doubt_about_labels_the_more_are_labelled():
    """Of 20 labels whose doubt is .004 of a variance of .01, one leaves .08, drawn or not."""
    known = {"single": 0.2, "variance": 0.01, "doubt": 0.004}
    assert saving_of(**known, size=10**9).random == approx(28, rel=1e-6)
    assert saving_of(**known, size=100).random == approx(0.28 / (0.01 + 0.002))


def test_random_labels_are_of_the_whole_pool_also_where_few_items_can_change_the_metric():
    """Of 100 items 20 are flagged: of n random labels, n / 5 are of these."""
    known = {"single": 0.2, "variance": 0.004}
    assert saving_of(**known, size=10**9, relevant=20).random == approx(5 * 50, rel=1e-6)
    # Draws of ours are of these, also where the surrogate is not believed.
    assert saving_of(**known, size=10**9, relevant=20, tally=0.0).random == approx(5 * 20, rel=1e-6)
    # Who has drawn all 20 has left no doubt, and random labels need all 100 for that.
    assert saving_of(**known | {"variance": 1e-12}, size=100, relevant=20).random == approx(100)


@pytest.mark.parametrize("name", ["precision[yes]", "recall[yes]", "error"])
def test_one_meaning_of_saved_random_labels_of_the_pool_reach_the_same_error(farm, name):
    """As a simulation counts them: where few items can change the metric, too."""
    choices = replace(CHOICES, metric=name, metrics=(name,))
    metric = find_metric(farm, name)
    log = play_rounds(farm.pool, farm.truth, (choices, 60))
    view = view_of(farm, log, metrics=(name,), choices=choices)
    value, outputs = view.value(metric, "doubly-robust"), farm.pool.rows(0, SIZE).outputs
    single = rows.find_variance_of_items(value, view.interval(value, 0.95))
    rng = np.random.default_rng(2)
    uniform = compute_baseline(metric, outputs, farm.truth, (60,), rng).error(60)
    assert RandomDraws(SIZE).leave_variance(single, 60) == approx(uniform, rel=0.3)


def test_where_labels_have_prices_what_was_saved_is_money():
    """Labels of cheap items are worth less each, and more for the money."""
    paid = Saving(20, spent=10.0, price=4.0)
    saving = saving_of(single=0.2, variance=0.02, size=10**9, bought=paid)
    assert (saving.random, saving.cost) == (approx(10), approx(40))
    assert (saving.ratio, saving_of(single=0.2, variance=0.02, size=10**9).ratio) == approx(
        (4, 0.5)
    )
    assert Saving(20, price=4.0, spent=0.0).ratio is None


def test_what_was_known_before_the_first_draw_counts_while_errors_are_few():
    """Of 1,000 items 500 are known: 20 uniform draws of the rest leave a quarter of the doubt."""
    given = {"single": 0.2, "variance": 0.0, "size": 1000, "method": "korn-graubard", "tally": 0.0}
    given["variance"] = 1e-12
    half = saving_of(**given, open_share=0.5).random
    assert half == approx(0.16 / (0.25 * 0.16 / 20 + 0.16 / 1000), rel=1e-6)
    assert half > 3.5 * saving_of(**given).random


def test_it_is_too_early_while_the_interval_is_not_reliable_or_one_kind_alone_was_found():
    for early in (saving_of(reliable=False), saving_of(rarer=0.0), saving_of(single=np.nan)):
        assert (early.kind, early.random, early.ratio) == ("too early", None, None)
        assert early.bought == 20
    none = saving_of(variance=np.nan)
    assert (none.kind, none.random, none.bought) == ("none", None, 20)


def test_every_answer_that_was_bought_is_counted_once_for_each_annotator(farm):
    """Drawn, supplied, declined and waiting labels, and labels of items without probability."""
    log = supply_first(farm.log, farm.pool, farm.truth, 7)
    log = set_status(set_status(log, [3, 20], DECLINED), 100, PENDING)
    log = replace(log, q=np.where(np.arange(120) < 10, np.nan, log.q))
    whole, everything = farm.pool.size, np.ones(127)
    assert count_answers(log, everything) == 119 + 7
    several = np.ones(127, int)
    several[[0, 5, 125]] = 3
    several[100] = 0
    assert count_answers(replace(log, answers=several), everything) == 119 + 7 + 6
    half = np.arange(127) < 60
    assert count_answers(replace(log, answers=several), half) == 60 + 4
    view = view_of(farm, log)
    metric = find_metric(farm, "error")
    for estimator in ("doubly-robust", "ase"):
        row = rows.estimate_row(view, metric, estimator, level=0.95)
        assert (row.n_answers, row.n_pool) == (126, whole)


def test_labels_that_were_supplied_divide_and_count_for_what_they_add(farm):
    """100 of 240 items are known already: 100 draws of the rest are no 230 random ones."""
    log = supply_first(Log.empty(), farm.pool, farm.truth, 100)
    log = replace(log, supplied_round=np.ones(100, int))
    log = play_rounds(farm.pool, farm.truth, (CHOICES, 50), (CHOICES, 50), log=log)
    view, metric = view_of(farm, log), find_metric(farm, "error")
    row = rows.estimate_row(view, metric, "doubly-robust", level=0.95)
    saving = row.quantity.saving
    assert (row.n_labeled, saving.bought) == (100, 200)
    # Supplied labels count for what they add: without them, 100 draws are worth fewer.
    assert 150 < saving.random < 240
    assert 0.75 < saving.ratio < 1.2
    assert saving.random / 100 > 1.5
    [gate] = judge_requirements(view, [(parse_requirement("error<=0.9"), metric)], "fixed")
    assert gate.n_answers == row.n_answers == 200


def test_draws_items_and_answers_are_counted_apart(farm):
    """Draws are those that a number is made of: not the surrogate's view, nor a known value."""
    log = supply_first(Log.empty(), farm.pool, farm.truth, 100)
    log = replace(log, supplied_round=np.ones(100, int))
    log = play_rounds(farm.pool, farm.truth, (CHOICES, 50), (CHOICES, 40), log=log)
    view, metric = view_of(farm, log), find_metric(farm, "error")
    found = [rows.estimate_row(view, metric, name, level=0.95) for name in ("doubly-robust", "ase")]
    found += judge_requirements(view, [(parse_requirement("error<=0.9"), metric)], "fixed")
    counted = [(each.n_draws, each.n_labeled, each.n_answers) for each in found]
    assert counted == [(90, 90, 190), (None, 190, 190), (90, 90, 190)]
    groups = rows.estimate_groups(view, [metric], ("place",), "fixed", simultaneous=False)
    assert sum(row.n_draws for row in groups) == 90
    apart = rows.estimate_differences(view, [metric], ("place",), simultaneous=False)
    of_group = {row.group["place"]: row.n_draws for row in groups}
    for row in apart:
        assert row.n_draws == of_group[row.group["place"]] + of_group[row.against["place"]]
    rest = np.setdiff1d(np.arange(SIZE), np.concatenate([log.rows, log.supplied_rows]))
    known = view_of(farm, supply_labels(log, rest, farm.truth))
    found = [rows.estimate_row(known, metric, "doubly-robust", level=0.95)]
    found += judge_requirements(known, [(parse_requirement("error<=0.9"), metric)], "fixed")
    assert {each.method for each in found} == {"exact"}
    assert [each.n_draws for each in found] == [None, None]


def test_the_variance_of_the_items_counts_those_that_were_supplied(farm):
    """All that is known: the plain variance of the pool's Brier scores, within sampling error."""
    log = supply_first(Log.empty(), farm.pool, farm.truth, 200)
    log = replace(log, supplied_round=np.ones(200, int))
    log = play_rounds(farm.pool, farm.truth, (CHOICES, 20), (CHOICES, 19), log=log)
    view, metric = view_of(farm, log, metrics=("brier",)), find_metric(farm, "brier")
    outputs = farm.pool.rows(0, SIZE).outputs
    brier = metric.statistics[0].value(outputs, farm.truth[:, None])[:, 0]
    single = view.value(metric, "doubly-robust").estimate.one_draw
    assert single == approx(brier.var(), rel=0.02)


@pytest.mark.parametrize(
    ("method", "several", "enough"),
    [
        ("korn-graubard", False, 0),
        ("group-beta", False, 0),
        ("group-t", False, 20),
        ("delta-beta", True, 3),
        ("group-beta", True, 3),
        ("group-t", True, 3),
    ],
)
def test_an_interval_is_reliable_from_so_many_labels_of_the_rarer_kind_on(method, several, enough):
    """Of a metric of one mean both counts have to reach it, and of several the plain one."""

    def reliable(count: float, weighted: float) -> bool:
        estimate = SimpleNamespace(minority_count=count, weighted_minority_count=weighted)
        return rows.is_reliable(
            SimpleNamespace(several=several, estimate=estimate, declined=None, sample=CERTAIN),
            method,
        )

    assert reliable(enough, enough)
    if enough:
        assert not reliable(enough - 0.1, 1e3)
        assert reliable(1e3, enough - 0.1) == several


@pytest.mark.parametrize("several", [False, True])
def test_gamma_limits_are_reliable_unless_few_losses_make_most_of_the_variance(several):
    """From 50 draws and 6 degrees of freedom on, whatever the labels' counts.

    Without bounds it takes labels that are off by what matters, and a variance of these.
    """

    def reliable(
        draws: int,
        freedom: float,
        *,
        off: float = 5.0,
        tail: float = 1.5,
        excess: object = None,
        name: str = "absolute",
    ) -> bool:
        estimate = SimpleNamespace(
            terms=np.zeros((draws, 1)),
            spread_freedom=freedom,
            minority_count=2.0,
            excess=excess,
            residual_count=off,
            tail_index=tail,
        )
        return rows.is_reliable(
            SimpleNamespace(
                several=several,
                estimate=estimate,
                declined=None,
                sample=CERTAIN,
                metric=SimpleNamespace(statistics=(statistic("signed"), statistic(name))),
            ),
            "gamma",
        )

    assert reliable(50, 6.0) and reliable(1000, 90.0)
    assert not reliable(49, 40.0)
    assert not reliable(1000, 5.9)
    assert not reliable(50, 6.0, off=4.9) and not reliable(50, 6.0, tail=1.1)
    assert reliable(50, 20.0, name="squared") and not reliable(1000, 19.9, name="squared")
    assert not reliable(50, 19.9, name="label_squared:0.0")
    assert reliable(50, 5.0, off=0.0, tail=0.1, excess=SimpleNamespace(bounded=True))
    assert not reliable(50, 6.0, off=4.9, excess=SimpleNamespace(bounded=False))


@pytest.mark.parametrize("method", ["exact", "betting"])
def test_what_is_certain_or_holds_at_every_look_is_reliable(method):
    estimate = SimpleNamespace(minority_count=0.0, weighted_minority_count=0.0)
    for several in (True, False):
        assert rows.is_reliable(
            SimpleNamespace(several=several, estimate=estimate, declined=None, sample=CERTAIN),
            method,
        )


def test_an_interval_wider_than_its_variance_says_is_marked(farm):
    """While errors are few the variance is held up by what is expected."""
    metric, found = find_metric(farm, "error"), set()
    pred = farm.pool.rows(0, SIZE).outputs.pred
    truth = np.where(np.arange(SIZE) % 12 == 0, 1 - pred, pred).astype(float)
    for log in (farm.log, *(play_rounds(farm.pool, truth, (CHOICES, n)) for n in (20, 40, 60))):
        view = view_of(farm, log)
        row = rows.estimate_row(view, metric, "doubly-robust", level=0.9)
        value = view.value(metric, "doubly-robust")
        widened = view.interval(value, 0.9).variance > 1.000001 * value.estimate.variance[0, 0]
        assert row.variance_inflated == widened
        found.add(bool(widened))
        assert not rows.estimate_row(view, metric, "ase", level=0.9).variance_inflated
    assert found == {True, False}


def test_groups_are_shrunk_towards_what_is_expected_of_them(farm):
    """By the variance of each: max of what is seen and expected."""
    view, metric = view_of(farm), find_metric(farm, "error")
    found = rows.estimate_groups(view, [metric], ("place",), "fixed", simultaneous=False)
    whole = view.value(metric, "doubly-robust")
    for row, group in zip(found, view.evidence.groups[1:5], strict=True):
        value = view.value(metric, "doubly-robust", group)
        centre = value.predicted + whole.value - whole.predicted
        assert min(value.value, centre) - 1e-9 <= row.shrunk <= max(value.value, centre) + 1e-9
        plain = max(value.estimate.variance[0, 0], value.estimate.model_variance)
        # More where its labels are too few for that: as its interval has it.
        believed = view.interval(value, 0.95, "fixed", group).variance
        assert find_metric_variance(value) == approx(believed)
        assert believed >= plain - 1e-12


def test_an_anytime_interval_is_that_of_the_whole_pool_unless_a_group_is_named(farm):
    view, metric = view_of(farm), find_metric(farm, "error")
    whole, *groups = view.evidence.groups
    limits = attrgetter("lower", "upper", "level", "method")
    found = limits(view.confidence_sequence(metric, 0.95))
    assert found == limits(view.confidence_sequence(metric, 0.95, whole))
    assert found != limits(view.confidence_sequence(metric, 0.95, groups[0]))


def test_two_drawn_labels_are_enough_for_an_estimate(farm):
    log = play_rounds(farm.pool, farm.truth, (CHOICES, 2))
    value = view_of(farm, log).value(find_metric(farm, "error"), "doubly-robust")
    assert 0 <= value.value <= 1


def test_intervals_that_hold_for_one_look_are_marked_among_anytime_valid_ones(farm):
    view = view_of(farm)
    metric = find_metric(farm, "error")
    both = ("doubly-robust", "ase")
    for kind, marked in (("anytime", True), ("fixed", False)):
        found = [rows.estimate_row(view, metric, each, level=0.95, kind=kind) for each in both]
        found += rows.estimate_differences(view, [metric], ("shift",), simultaneous=False)
        found = rows.mark_one_look(found, kind)
        kinds = [row.quantity.kind for row in found]
        assert kinds == ["anytime" if marked else "fixed", "posterior", "fixed"]
        assert [row.quantity.one_look for row in found] == [False, marked, marked]
        notes = [note.text for note in note_kinds(kind, (), found)]
        assert any("ase hold for one look at best" in text for text in notes) == marked
    # Where there is no interval, or all is known, there is nothing to mark.
    bare = replace(found[0], quantity=replace(found[0].quantity, lower=None, upper=None))
    exact = replace(found[0], quantity=replace(found[0].quantity, method="exact"))
    unmarked = rows.mark_one_look([bare, exact], "anytime")
    assert not any(row.quantity.one_look for row in unmarked)
    none = replace(bare.quantity, method="none")
    assert (none.kind, exact.quantity.kind) == (None, "exact")


def test_labels_saved_are_asked_of_estimates_by_design_alone(farm):
    """Of the surrogate's own view, and of what is known, the answers bought are counted alone."""
    view, metric = view_of(farm), find_metric(farm, "error")
    saved = [
        rows.estimate_row(view, metric, name, level=0.95).quantity.saving
        for name in ("doubly-robust", "lure", "ase")
    ]
    assert [each.bought for each in saved] == [120] * 3
    assert [each.random is None for each in saved] == [False, False, True]
    assert saved[2] == Saving(120)
    log = supply_labels(farm.log, np.setdiff1d(np.arange(SIZE), farm.log.rows), farm.truth)
    row = rows.estimate_row(view_of(farm, log), metric, "doubly-robust", level=0.95)
    assert row.method == "exact" and row.quantity.saving == Saving(SIZE)
    assert row.max_weight_share is None and not row.variance_inflated
    assert row.n_labeled == SIZE


def test_the_share_of_the_largest_weight_is_among_the_weights_of_all_draws(farm):
    view, metric = view_of(farm), find_metric(farm, "error")
    row = rows.estimate_row(view, metric, "doubly-robust", level=0.95)
    left = SIZE - np.arange(120)
    weights = 1 / (left * (left - 1)) / farm.log.q
    assert row.max_weight_share == approx(weights.max() / weights.sum())
    group = rows.estimate_row(view, metric, "doubly-robust", view.evidence.groups[1], level=0.95)
    model = rows.estimate_row(view, metric, "ase", level=0.95)
    assert group.max_weight_share is None and model.max_weight_share is None


def test_a_pair_in_which_one_value_is_missing_is_left_out_and_the_others_are_not(farm, monkeypatch):
    view, metric = view_of(farm), find_metric(farm, "error")
    names = farm.pool.group_values[0]
    whole = View.value
    for gone in names:

        def refuse(self, metric, estimator, group=None, gone=gone, **named):
            if group is not None and group.meaning == {"place": gone}:
                raise NotEstimable("it is not defined here", "")
            return whole(self, metric, estimator, group, **named)

        monkeypatch.setattr(View, "value", refuse)
        found = rows.estimate_differences(view, [metric], ("place",), simultaneous=False)
        kept = [name for name in names if name != gone]
        assert [(row.group["place"], row.against["place"]) for row in found] == [
            (kept[0], kept[1]),
            (kept[0], kept[2]),
            (kept[1], kept[2]),
        ]
        bought = {
            name: rows.count_bought(view, group).bought
            for name, group in zip(names, view.evidence.groups[1:5], strict=True)
        }
        assert found[0].quantity.saving == Saving(bought[kept[0]] + bought[kept[1]])
