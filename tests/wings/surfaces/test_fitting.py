"""Data that a surface is fitted to: arms of the pool, labels and how much they count."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.cache.cache import Cache, open_cache
from activetest.errors import ChoiceError, NotEstimable, PoolError, UnknownMethod
from activetest.item_statistics.metric import Facts
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, PENDING, ArmAllocation, Log, truncate_log
from activetest.wings.surfaces import fitting as surfaces
from activetest.wings.surfaces.fitting import (
    collect_surface_data,
    describe_arms,
    find_arms,
    fit_surface,
)
from activetest.wings.surfaces.surfaces import stacked
from tests.makers import build_table, label_items, play_rounds, set_status, supply_labels

ROWS = 90


def reopen(pool: Cache) -> Cache:
    """The same pool, in a process that has computed nothing."""
    opened = open_cache(pool.folder)
    assert opened is not None
    return opened


SURFACE = Choices(
    "accuracy",
    ("accuracy", "error"),
    "agreement",
    acquisition="surface-variance",
    floor=0.1,
    question="surface",
    surface="beta",
    attributes=("place", "age"),
    groups=("place", "age"),
    min_support=2,
)
UNIFORM = replace(SURFACE, acquisition="uniform")
OPTIMAL = replace(SURFACE, acquisition="optimal", floor=0.3)


@pytest.fixture
def columns():
    rng = np.random.default_rng(4)
    probs = rng.dirichlet([1, 1, 1], ROWS)
    return {
        "id": [f"item-{row}" for row in range(ROWS)],
        **{f"prob_{name}": probs[:, code] for code, name in enumerate(("cat", "dog", "owl"))},
        "place": rng.choice(["barn", "tree"], ROWS, p=[0.7, 0.3]),
        "age": np.arange(ROWS) % 30,
        "rare": ["yes" if row == 7 else "no" for row in range(ROWS)],
    }


@pytest.fixture
def pool(tmp_path, columns):
    return build_table(tmp_path, columns, attributes=("place", "age[3]", "rare"))


@pytest.fixture
def truth(pool):
    return label_items(pool)


def test_arms_are_the_combinations_that_occur(pool, columns):
    arms = find_arms(pool, ("place", "age", "rare"))
    band = np.minimum(np.searchsorted([9, 19], columns["age"]), 2)
    items = zip(columns["place"], band, columns["rare"], strict=True)
    occurring = sorted(
        (("barn", "tree").index(place), int(age), ("no", "yes").index(rare))
        for place, age, rare in set(items)
    )
    assert arms.codes.tolist() == [list(each) for each in occurring]
    assert len(arms) == 7
    assert arms.support.sum() == ROWS
    assert describe_arms(pool, replace(SURFACE, attributes=("place", "age", "rare"))) == (
        "combinations of attributes: 12, of which 7 occur and 6 have at least 2 items",
    )
    assert describe_arms(pool, replace(SURFACE, attributes=())) == ()
    (none,) = describe_arms(pool, replace(SURFACE, attributes=("place",), min_support=5000))
    assert none == (
        "combinations of attributes: 2, of which 2 occur and 0 have at least 5,000 items, as they "
        "need to be ranked: name fewer attributes, or lower `min_support`"
    )


def test_draws_inside_arms_count_as_one_and_others_by_weight(pool, truth):
    log = play_rounds(pool, truth, (SURFACE, 6), (UNIFORM, 4), (OPTIMAL, 15))
    data = collect_surface_data(log, pool, SURFACE)
    assert data.items.tolist() == log.rows.tolist()
    assert data.weights[:10] == approx(1)
    arm = data.arms.of_item[data.items]
    weights = 1 / (log.q * (ROWS - np.arange(25)))
    for each in np.unique(arm[10:]):
        here = 10 + np.flatnonzero(arm[10:] == each)
        w = weights[here]
        assert data.weights[here] == approx(w * w.sum() / (w**2).sum())
        assert data.weights[here].sum() == approx(w.sum() ** 2 / (w**2).sum())
    assert data.counts.sum() == approx(data.weights.sum())


def test_values_are_those_of_the_metric(pool, truth):
    log = play_rounds(pool, truth, (UNIFORM, 20))
    right = log.labels == pool.take(log.rows).outputs.pred
    assert collect_surface_data(log, pool, SURFACE).values.tolist() == right.tolist()
    wrong = collect_surface_data(log, pool, replace(SURFACE, metric="error")).values
    assert wrong.tolist() == (~right).tolist()
    costs = ((0.0, 0.5, 1.0), (0.25, 0.0, 1.0), (1.0, 1.0, 0.0))
    cost = collect_surface_data(log, pool, replace(SURFACE, metric="cost", costs=costs)).values
    pred = pool.take(log.rows).outputs.pred
    assert cost.tolist() == [costs[p][int(y)] for p, y in zip(pred, log.labels, strict=True)]


def test_confidence_and_classes_are_those_of_the_pool(pool):
    data = collect_surface_data(Log.empty(), pool, SURFACE)
    outputs = pool.rows(0, ROWS).outputs
    assert data.confidence == approx(outputs.confidence)
    assert data.predicted.tolist() == outputs.pred.tolist()
    assert (data.classes, len(data.items), data.supplied) == (3, 0, 0)


def test_supplied_labels_count_as_drawn_and_are_counted(pool, truth):
    log = supply_labels(play_rounds(pool, truth, (UNIFORM, 5)), [], truth)
    free = np.setdiff1d(np.arange(ROWS), log.rows)[:4]
    data = collect_surface_data(supply_labels(log, free, truth), pool, SURFACE)
    assert data.weights.tolist() == [1] * 9
    assert data.supplied == 4
    assert data.items[5:].tolist() == free.tolist()


def test_declined_items_have_no_label_and_leave_the_support(pool, truth):
    log = set_status(play_rounds(pool, truth, (UNIFORM, 6)), [0, 1], DECLINED)
    data = collect_surface_data(set_status(log, [2], PENDING), pool, SURFACE)
    assert np.flatnonzero(data.declined).tolist() == sorted(log.rows[:2])
    assert data.items.tolist() == log.rows[3:].tolist()
    # Another annotator answered one of them.
    answered = supply_labels(log, log.rows[:1], truth)
    data = collect_surface_data(set_status(answered, [2], PENDING), pool, SURFACE)
    assert np.flatnonzero(data.declined).tolist() == [log.rows[1]]
    assert data.items[-1] == log.rows[0]


def test_items_chosen_by_a_score_are_known_and_say_nothing_about_others(pool, truth):
    top = replace(OPTIMAL, selection="top")
    data = collect_surface_data(play_rounds(pool, truth, (top, 5)), pool, SURFACE)
    assert (len(data.items), data.weights.sum()) == (5, 0)
    likeliest = replace(SURFACE, selection="top")
    data = collect_surface_data(play_rounds(pool, truth, (likeliest, 5)), pool, SURFACE)
    assert data.weights.tolist() == [1] * 5


def test_draws_for_other_attributes_are_weighted(pool, truth):
    """Uniform inside place and age, not inside the coarser arms of place alone."""
    log = play_rounds(pool, truth, (SURFACE, 12))
    inside = collect_surface_data(log, pool, replace(SURFACE, attributes=("place", "age", "rare")))
    assert inside.weights == approx(1)
    across = collect_surface_data(log, pool, replace(SURFACE, attributes=("place",)))
    assert (across.weights < 0.999).any()


def test_a_policy_for_one_of_the_attributes_draws_uniformly_inside_arms(pool, truth):
    thompson = replace(SURFACE, acquisition="thompson", question="identify")
    log = play_rounds(pool, truth, (thompson, 8))
    assert collect_surface_data(log, pool, SURFACE).weights == approx(1)
    other = replace(SURFACE, attributes=("age",))
    assert (collect_surface_data(log, pool, other).weights != 1).any()


@pytest.mark.parametrize("question", ["surface", "identify"])
def test_draws_inside_other_bins_of_an_attribute_are_weighted(
    tmp_path, columns, pool, truth, question
):
    between = replace(SURFACE, acquisition="thompson", question=question, groups=("age", "place"))
    drawn = SURFACE if question == "surface" else between
    log = play_rounds(pool, truth, (drawn, 12), (drawn, 12))
    assert collect_surface_data(log, pool, SURFACE).weights == approx(1)
    other = build_table(tmp_path, columns, name="other", attributes=("place", "age[5]", "rare"))
    assert (collect_surface_data(log, other, SURFACE).weights != 1).any()


def test_a_surface_is_a_function_of_the_log_and_the_seed(pool, truth):
    log = play_rounds(pool, truth, (UNIFORM, 10))
    first, data = fit_surface(log, pool, SURFACE, seed=3)
    again, _ = fit_surface(log, pool, SURFACE, seed=3)
    assert first.mean.tolist() == again.mean.tolist()
    method = catalog.load("surfaces", "beta")
    assert first.mean.tolist() == method.fit(data, rng=np.random.default_rng(0)).mean.tolist()
    with pytest.raises(UnknownMethod, match="no surface is called 'betta'"):
        fit_surface(log, pool, replace(SURFACE, surface="betta"), seed=3)


@pytest.mark.parametrize("metric", ["brier", "log-loss", "f1", "ece", "recall[cat]"])
def test_metrics_that_are_no_mean_from_0_to_1_are_refused(pool, metric):
    with pytest.raises(ChoiceError, match="statistic from 0 to 1"):
        collect_surface_data(Log.empty(), pool, replace(SURFACE, metric=metric))


def test_attributes_that_are_missing_are_an_error(pool):
    with pytest.raises(ChoiceError, match="the study has none"):
        collect_surface_data(Log.empty(), pool, replace(SURFACE, attributes=()))
    with pytest.raises(ChoiceError, match="'height' is not an attribute"):
        collect_surface_data(Log.empty(), pool, replace(SURFACE, attributes=("height",)))


def test_too_many_arms_are_refused(tmp_path, columns, monkeypatch):
    monkeypatch.setattr(surfaces, "MOST_ARMS", 6)
    pool = build_table(tmp_path, columns, name="other", attributes=("place", "age[3]", "rare"))
    with pytest.raises(PoolError, match="7 combinations of place, age, rare occur"):
        find_arms(pool, ("place", "age", "rare"))
    assert len(find_arms(pool, ("place", "age"))) == 6


def test_more_combinations_than_numbers_are_refused(tmp_path, columns):
    ages = {f"age{number}": columns["age"] for number in range(13)}
    names = tuple(f"{name}[30]" for name in ages)
    pool = build_table(tmp_path, columns | ages, name="wide", attributes=names)
    with pytest.raises(PoolError, match="more combinations than can be numbered"):
        find_arms(pool, tuple(ages))


def test_weights_of_rows_are_computed_again_from_what_a_round_keeps(pool):
    allocation = ArmAllocation(
        ("place", "age"), (("barn", "0-9"), ("tree", "19-29")), (0.5, 0.25), 0.01, True
    )
    rows = pool.rows(0, ROWS)
    names = [
        (pool.group_values[0][place], pool.group_values[1][age]) for place, age, _ in rows.codes
    ]
    expected = [
        0.01 + {("barn", "0-9"): 0.5, ("tree", "19-29"): 0.25}.get(each, 0) for each in names
    ]
    assert surfaces.weigh_rows(allocation, rows, pool) == approx(expected)
    for lost in (("barn", "0-8"), ("shed", "0-9")):
        with pytest.raises(NotEstimable, match="no longer the same"):
            surfaces.weigh_rows(replace(allocation, arms=(lost,), weight=(1.0,)), rows, pool)
    with pytest.raises(NotEstimable, match="no longer the same"):
        surfaces.weigh_rows(replace(allocation, attributes=("place", "height")), rows, pool)


# --- between refits


@pytest.mark.parametrize(
    ("refit", "labels", "then"),
    [
        ("every", 37, 37),
        ("never", 37, 37),
        ("doubling", 0, 0),
        ("doubling", 1, 1),
        ("doubling", 31, 16),
        ("doubling", 32, 32),
        ("20", 19, 0),
        ("20", 20, 20),
        ("20", 59, 40),
    ],
)
def test_a_surface_is_fitted_anew_as_often_as_refit_says(refit, labels, then):
    assert surfaces.count_refit_labels(refit, labels) == then


def test_between_refits_a_fit_continues_the_one_to_the_labels_of_the_last(pool, truth, monkeypatch):
    fits, learn = [], stacked.fit

    def fit(data, *, rng, earlier=None):
        fits.append((len(data.items), earlier is not None))
        return learn(data, rng=rng, earlier=earlier)

    monkeypatch.setattr(stacked, "fit", fit)
    rare = replace(SURFACE, surface="stacked", refit="40", acquisition="uniform")
    log = play_rounds(pool, truth, (rare, 40), (rare, 15))
    surface, data = fit_surface(log, pool, rare, seed=3)
    assert fits == [(40, False), (55, True)]
    # The labels of the refit are those of the rounds before.
    first = fit_surface(truncate_log(log, 1, supplied=0), pool, rare, seed=3)[1]
    assert set(first.items) == set(data.items[:40])
    assert fits[2:] == [(40, False)]
    # The same without what was kept, and whatever was asked before.
    fits.clear()
    again = fit_surface(log, reopen(pool), rare, seed=3)[0]
    assert fits == [(40, False), (55, True)]
    np.testing.assert_array_equal(surface.phi, again.phi)
    fit_surface(log, pool, rare, seed=3)
    assert fits[2:] == [(55, True)]
    # Another label of the first 40, another seed or method, and it is another state.
    wrong = replace(log, labels=np.where(np.arange(55) == 5, (log.labels + 1) % 3, log.labels))
    for changed, seed in ((log, 4), (wrong, 4)):
        fits.clear()
        fit_surface(changed, pool, rare, seed=seed)
        assert fits == [(40, False), (55, True)]
    fits.clear()
    anew = fit_surface(log, pool, replace(rare, refit="every"), seed=3)[0]
    assert fits == [(55, False)]
    assert not np.array_equal(anew.phi, surface.phi)
    np.testing.assert_allclose(anew.mean, surface.mean, atol=0.1)


def test_labels_that_were_supplied_early_are_among_the_first(pool, truth, monkeypatch):
    first, learn = [], stacked.fit

    def fit(data, *, rng, earlier=None):
        first.append({*data.items.tolist()})
        return learn(data, rng=rng, earlier=earlier)

    monkeypatch.setattr(stacked, "fit", fit)
    rare = replace(SURFACE, surface="stacked", refit="40", acquisition="uniform")
    log = supply_labels(Log.empty(), range(10), truth)
    log = play_rounds(pool, truth, (rare, 30), (rare, 20), log=log)
    fit_surface(log, pool, rare, seed=3)
    assert [len(items) for items in first] == [40, 60]
    assert first[0] == {*range(10), *log.rows[:30].tolist()}


def test_a_method_that_cannot_continue_is_always_fitted_anew(pool, truth, monkeypatch):
    rare = replace(SURFACE, refit="40", acquisition="uniform")
    log = play_rounds(pool, truth, (rare, 40), (rare, 15))

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(pool, "compute_stored", refuse)
    found = fit_surface(log, pool, rare, seed=3)[0]
    every = fit_surface(log, pool, replace(rare, refit="every"), seed=3)[0]
    np.testing.assert_array_equal(found.mean, every.mean)


def test_labels_of_several_annotators_are_wrong_as_often_as_their_classes_say(pool, truth):
    """By hand: classes 0 and 2 of three, and a label of no class, which gets what is missing."""
    log = play_rounds(pool, truth, (UNIFORM, 3))
    soft = np.array([[0.9, 0.1, 0.0], [0.2, 0.2, 0.6], [0.1, 0.1, 0.1]])
    log = replace(log, soft=soft, supplied_soft=np.zeros((0, 3)))
    known, labels = np.array([True, True, True]), np.array([0.0, 2.0, -1.0])
    assert surfaces._count_doubtful(log, labels, known) == approx(0.1 + 0.4 + 0.3)
    assert surfaces._count_doubtful(log, labels[1:], known & [False, True, True]) == approx(0.7)
    certain = replace(log, soft=np.array([[1.0 + 1e-9, 0, 0]] * 3))
    assert surfaces._count_doubtful(certain, np.zeros(3), known) == 0.0
    assert surfaces._count_doubtful(replace(log, soft=None), labels, known) == 0.0


def test_shares_of_values_have_no_surface():
    facts = Facts("regression", deviation=True)
    with pytest.raises(ChoiceError, match="surfaces are about classifiers"):
        surfaces.find_surface_metric("interval-coverage", facts)


def test_the_true_values_of_arms_are_means_over_all_pieces_of_the_pool(pool, truth, monkeypatch):
    monkeypatch.setattr(type(pool), "chunks", lambda _: [(0, 30), (30, 50), (50, ROWS)])
    arms, values = surfaces.find_true_values(pool, SURFACE, truth)
    right = pool.rows(0, ROWS).outputs.pred == truth
    inside = np.asarray(arms.membership.todense())
    expected = [right[arm > 0].mean() for arm in inside.T]
    assert values == approx(expected) and len(set(values.round(6))) > 2
