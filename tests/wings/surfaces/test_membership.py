"""Shares of items for arms."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from activetest import catalog
from activetest.cache import cache
from activetest.errors import ChoiceError
from activetest.nouns.choices import Choices
from activetest.nouns.surface import Attributes, SurfaceData
from activetest.nouns.uncertain import JointModel, UncertainAttributes
from activetest.wings.surfaces import membership
from activetest.wings.surfaces.attribute_models import full
from activetest.wings.surfaces.fitting import (
    collect_surface_data,
    describe_arms,
    find_arms,
    weigh_rows,
)
from tests.makers import build_table, label_items, play_rounds
from tests.wings.surfaces.attribute_models.makers import make_attributes


def test_shares_of_an_item_sum_to_one_and_known_items_have_one_arm():
    data, codes = make_attributes(np.random.default_rng(2), gold=50)
    model = catalog.load("attribute_models", "full").fit(data, rng=np.random.default_rng(0))
    arms = membership.spread_items(membership.FittedAttributes(data, model, "full"))
    shares = arms.membership
    np.testing.assert_allclose(np.asarray(shares.sum(axis=1)).ravel(), 1, rtol=1e-5)
    np.testing.assert_allclose(arms.support.sum(), len(data), rtol=1e-5)
    counts = np.diff(shares.indptr)
    assert (counts[:50] == 1).all() and counts[50:].max() > 3
    assert (arms.codes[arms.of_item[:50]] == codes[:50]).all()
    whole = model.predict(data, np.arange(len(data)))
    order = [int(arms.attributes.number(code[None])[0]) for code in arms.codes]
    difference = np.abs(whole[:, order] - shares.toarray())
    assert difference.max() < 0.12 and shares.data.min() >= 0.01


def test_small_shares_are_left_out_but_never_the_largest():
    probs = np.array([[0.5, 0.495, 0.005, 0.0], [0.006, 0.005, 0.005, 0.003]])
    kept = membership._choose_shares(probs)
    assert kept.tolist() == [[True, True, False, False], [True, False, False, False]]
    many = membership._choose_shares(np.full((2, 50), 0.02))
    assert many.sum(axis=1).tolist() == [20, 20]


def test_fractional_counts_reach_the_surface():
    attributes = Attributes(("a",), (("0", "1"),))
    probs = np.array([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]], np.float32)
    known = np.array([[-1], [-1], [0]], np.int32)
    data = UncertainAttributes(attributes, {0: probs}, known)
    arms = membership.spread_items(membership.FittedAttributes(data, JointModel(np.ones(1)), "raw"))
    np.testing.assert_allclose(arms.support, [1.75, 1.25])
    surface_data = SurfaceData(
        arms=arms,
        items=np.array([0, 1, 2]),
        values=np.array([1.0, 0.0, 1.0]),
        weights=np.ones(3),
        confidence=None,
        predicted=np.zeros(3, np.int32),
        classes=2,
    )
    np.testing.assert_allclose(surface_data.counts, [[1.25, 0.5], [0.75, 0.5]])
    surface = catalog.load("surfaces", "beta").fit(surface_data, rng=np.random.default_rng(0))
    mean = 2 / 3
    expected = [(0.1 * mean + 1.25) / 1.85, (0.1 * mean + 0.75) / 1.35]
    np.testing.assert_allclose(surface.mean, expected)


# --- in a study

ROWS = 400
SURFACE = Choices(
    "accuracy",
    ("accuracy", "error"),
    "agreement",
    acquisition="surface-variance",
    floor=0.1,
    question="surface",
    surface="beta",
    attributes=("sex", "race"),
    groups=("sex", "race"),
    min_support=2,
)


def make_columns(gold: int) -> dict:
    """A pool with a certain attribute, an uncertain one, and some of its true values."""
    rng = np.random.default_rng(4)
    data, codes = make_attributes(rng, items=ROWS, sizes=(2, 3), gold=gold)
    probs = rng.dirichlet([1, 1, 1], ROWS)
    race = np.array(["a", "b", "c"])[codes[:, 1]]
    return {
        **{f"prob_{name}": probs[:, code] for code, name in enumerate(("cat", "dog", "owl"))},
        "sex": np.array(["F", "M"])[codes[:, 0]],
        "race": [value if row < gold else None for row, value in enumerate(race)],
        **{f"attr_prob_race_{name}": data.probs[1][:, code] for code, name in enumerate("abc")},
    }


def test_a_pool_with_known_values_is_spread_by_the_full_model(tmp_path):
    columns = make_columns(40)
    pool = build_table(tmp_path, columns, attributes=("sex", "race"))
    first, second = describe_arms(pool, SURFACE)
    assert first == "uncertain attributes: race, by the model full; 40 items have known values"
    assert second.startswith("combinations of attributes: 6, of which 6 occur")
    arms = find_arms(pool, ("sex", "race"))
    shares = arms.membership.toarray()
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    # The certain attribute is certain, and so is the other where it is known.
    inside = arms.codes[:, 0] == (np.array(columns["sex"]) == "M")[:, None]
    assert (shares[~inside] == 0).all()
    names = [arms.attributes.name(code)["race"] for code in arms.codes]
    for row in range(40):
        assert names[shares[row].argmax()] == columns["race"][row] and shares[row].max() == 1
    raw = find_arms(pool, ("sex", "race"), "raw").membership.toarray()
    np.testing.assert_allclose(raw[50][raw[50] > 0].sum(), 1, rtol=1e-5)
    assert np.abs(raw - shares).max() > 0.02


def test_a_model_that_has_learned_is_kept_for_as_long_as_attributes_are_the_same(
    tmp_path, monkeypatch
):
    columns, fitted = make_columns(40), []
    learn = full.fit

    def fit(data, *, rng):
        fitted.append(len(data.known))
        return learn(data, rng=rng)

    monkeypatch.setattr(full, "fit", fit)
    names = ("sex", "race")

    def build_kept(name: str) -> cache.Cache:
        built = build_table(tmp_path, columns, name=name, attributes=names)
        built.keeps_results = True
        return built

    def reopen() -> cache.Cache:
        opened = cache.open_cache(pool.folder)
        opened.keeps_results = True
        return opened

    pool = build_kept("pool")
    first = find_arms(pool, names)
    second = find_arms(reopen(), names)
    assert len(fitted) == 1
    np.testing.assert_array_equal(first.membership.toarray(), second.membership.toarray())
    # Another model, then that one again: the last one is kept.
    find_arms(reopen(), names, "temperature")
    find_arms(reopen(), names)
    assert len(fitted) == 2

    def find_others(name: str) -> None:
        other = build_kept(name)
        shutil.copytree(pool.folder / "results", other.folder / "results")
        find_arms(other, names)

    find_others("same")
    assert len(fitted) == 2
    # Other probabilities, or another known value, and it learns again.
    columns["attr_prob_race_a"], columns["attr_prob_race_b"] = (
        columns[f"attr_prob_race_{name}"] for name in "ba"
    )
    find_others("probabilities")
    assert len(fitted) == 3
    columns["race"][0] = "abc"["abc".index(columns["race"][0]) - 1]
    find_others("value")
    assert len(fitted) == 4


def test_without_enough_known_values_probabilities_stay_as_they_are_and_it_is_said(tmp_path):
    columns = make_columns(19)
    pool = build_table(tmp_path, columns, attributes=("sex", "race"))
    notice = describe_arms(pool, SURFACE)[0]
    assert notice.endswith("by the model raw; 19 items have known values, and 20 are needed "
                           "to calibrate their probabilities")  # fmt: skip
    arms = find_arms(pool, ("sex", "race"))
    row = 100
    expected = np.sort([columns[f"attr_prob_race_{name}"][row] for name in "abc"])
    found = np.sort(arms.membership[row].data)
    expected = expected[expected >= membership.SMALLEST_SHARE]
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-5)
    with pytest.raises(ChoiceError, match="19 items have known values of race"):
        find_arms(pool, ("sex", "race"), "temperature")


def test_labels_are_spread_and_draws_have_the_weights_that_can_be_computed_again(tmp_path):
    pool = build_table(tmp_path, make_columns(40), attributes=("sex", "race"))
    log = play_rounds(pool, label_items(pool), (SURFACE, 30), (SURFACE, 10))
    data = collect_surface_data(log, pool, SURFACE)
    shares = data.membership
    assert (np.diff(shares.indptr) > 1).any()
    np.testing.assert_allclose(data.counts.sum(), data.weights.sum(), rtol=1e-5)
    allocation = log.history[1].allocation
    assert not allocation.certain
    free = np.ones(ROWS, bool)
    free[log.rows[:30]] = False
    weight = np.where(free, weigh_rows(allocation, pool.rows(0, ROWS), pool), 0.0)
    np.testing.assert_allclose(weight.sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(log.q[30], weight[log.rows[30]], rtol=1e-6)


def test_a_label_that_is_an_attribute_is_as_likely_as_its_class_until_it_is_known(tmp_path):
    columns = make_columns(0)
    chosen = replace(SURFACE, attributes=("sex", "label"), groups=("sex", "label"))
    pool = build_table(tmp_path, columns, attributes=("sex", "label"))
    truth = label_items(pool)
    log = play_rounds(pool, truth, (chosen, 40), (chosen, 12))
    data = collect_surface_data(log, pool, chosen)
    arms, classes = data.arms, ("cat", "dog", "owl")
    names = [arms.attributes.name(code) for code in arms.codes]
    for row in range(ROWS):
        shares = dict(zip(arms.membership[row].indices, arms.membership[row].data, strict=True))
        found = {names[arm]["label"]: share for arm, share in shares.items()}
        assert {names[arm]["sex"] for arm in shares} == {columns["sex"][row]}
        if row in log.rows:
            assert found == {classes[int(truth[row])]: 1}
            continue
        probs = np.array([columns[f"prob_{name}"][row] for name in classes])
        probs = (
            np.where(probs >= membership.SMALLEST_SHARE, probs, 0)
            / probs[probs >= membership.SMALLEST_SHARE].sum()
        )
        for name, prob in zip(classes, probs, strict=True):
            np.testing.assert_allclose(found.get(name, 0), prob, rtol=1e-5)
    # Inside an arm of a label, the model is right where it predicts the label.
    right = pool.rows(0, ROWS).outputs.pred == truth
    values = dict(zip(data.items.tolist(), data.values, strict=True))
    assert all(values[row] == right[row] for row in values)
    # Draws of later rounds do not depend on the labels that came since.
    allocation = log.history[1].allocation
    free = np.ones(ROWS, bool)
    free[log.rows[:40]] = False
    weight = np.where(free, weigh_rows(allocation, pool.rows(0, ROWS), pool), 0.0)
    np.testing.assert_allclose(weight.sum(), 1, rtol=1e-6)
    np.testing.assert_allclose(log.q[40], weight[log.rows[40]], rtol=1e-6)


def test_draws_that_depend_on_an_uncertain_attribute_are_uniform_in_no_arm(tmp_path):
    pool = build_table(tmp_path, make_columns(40), attributes=("sex", "race"))
    thompson = replace(
        SURFACE, acquisition="thompson", question="estimate", groups=("race", "sex"), attributes=()
    )
    log = play_rounds(pool, label_items(pool), (thompson, 60))
    uncertain = collect_surface_data(log, pool, SURFACE).weights
    by_sex = replace(thompson, groups=("sex", "race"))
    log = play_rounds(pool, label_items(pool), (by_sex, 60))
    certain = collect_surface_data(log, pool, SURFACE).weights
    assert (certain == 1).all() and (uncertain != 1).any()
