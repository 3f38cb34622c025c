"""Requirements of every acquisition and surrogate, and of methods for their readers."""

import ast
import inspect
import json
import re
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from activetest import catalog
from activetest.errors import ActivetestError
from activetest.item_statistics.defaults import CLASSIFICATION, HARD_LABELS, REGRESSION, STATISTICS
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.item_statistics.statistic import Statistic, combine_statistics, statistic
from activetest.nouns.beliefs import Beliefs, Objectives, moments
from activetest.nouns.rows import Outputs, Rows
from activetest.nouns.training import TrainingSet
from activetest.wings.groups.arms import Arms
from activetest.wings.groups.bandit import IDENTIFY, Bandit

SIZE, CLASSES = 40, 3
ARMS = catalog.having("acquisition", "CHOOSES_GROUPS")
EXPLORERS = catalog.having("acquisition", "CHOOSES_ARMS")
SELECTORS = catalog.having("acquisition", "SELECTS_MODELS")
POOLS = {"classes": CLASSIFICATION, "hard labels": HARD_LABELS, "values": REGRESSION}
# Surrogates, each with the kinds of pools whose task it serves.
SERVED = [
    (name, kind)
    for name in catalog.names("surrogates")
    for kind in POOLS
    if catalog.fact("surrogates", name, "TASK")
    in (None, "regression" if kind == "values" else "classification")
]
# Methods of this project's own, or older than papers: their docstrings explain them instead.
OWN = {"uniform", "agreement", "residual", "model", "iid"}


def pool_rows(kind: str) -> Rows:
    """SIZE rows of a pool of that kind, with three design columns."""
    rng = np.random.default_rng(3)
    design = rng.normal(size=(SIZE, 3)).astype(np.float32)
    probs = rng.dirichlet(np.ones(CLASSES), size=SIZE).astype(np.float32)
    outputs = {
        "classes": Outputs(probs.argmax(axis=1), probs),
        "hard labels": Outputs(probs.argmax(axis=1)),
        "values": Outputs(rng.normal(size=SIZE), std=np.full(SIZE, 0.5)),
    }[kind]
    constants = (None, None, None)
    if kind != "values":
        constants = right_and_wrong(outputs, STATISTICS[POOLS[kind]])
    codes = np.zeros((SIZE, 0), np.int64)
    others = rng.dirichlet(np.ones(CLASSES), size=(SIZE, 2))
    external = others if kind != "values" else outputs.pred[:, None] + rng.normal(size=(SIZE, 2))
    seen = (design, external.astype(np.float32))
    return Rows(np.arange(SIZE), outputs, design, codes, *constants, *seen)


def statistics_of(kind: str) -> tuple[Statistic, ...]:
    """Statistics with constants in the cache, a count and a weighted sum: surrogates know all."""
    kept = tuple(map(statistic, STATISTICS[POOLS[kind]]))
    more = statistic("pinball:0.9" if kind == "values" else "tp:1")
    return (*kept, more, combine_statistics([kept[0], more], (0.5, -2.0)))


def known(kind: str, count: int) -> TrainingSet:
    """The first count rows of the pool with labels; some are not what the box says."""
    rows = pool_rows(kind)[:count]
    rng = np.random.default_rng(4)
    if kind == "values":
        labels = rows.outputs.pred + rng.normal(scale=0.5, size=count)
    else:
        labels = np.where(rng.random(count) < 0.3, 0, rows.outputs.pred).astype(float)
    statistics = STATISTICS[POOLS[kind]]
    stats = [statistic(name).value(rows.outputs, labels[:, None])[:, 0] for name in statistics]
    table = np.reshape(stats, (len(statistics), count)).T
    classes = 0 if kind == "values" else CLASSES
    background = pool_rows(kind)
    return TrainingSet(rows, labels, table, statistics, classes, scale=1.0, background=background)


def beliefs() -> Beliefs:
    """Two targets, three outcomes, four members."""
    rng = np.random.default_rng(5)
    draws = rng.dirichlet(np.ones(CLASSES), size=(4, SIZE))
    outcome_values = rng.random((2, SIZE, CLASSES))
    return Beliefs(
        draws.mean(axis=0), outcome_values, 0.1 * rng.random(outcome_values.shape), draws
    )


def objectives(order: Any = slice(None)) -> Objectives:
    """Predictions of the rows in this order, and the outcomes that are alike for two metrics."""
    rng = np.random.default_rng(6)
    pred, kinds = rng.integers(CLASSES, size=SIZE), np.array([[0, 1, 1], [0, 1, 0], [0, 1, 2]])
    return Objectives(pred[order], np.stack([kinds[pred[order]], kinds[2 - pred[order]]]))


@cache
def fit(name: str, kind: str, count: int = 15):
    """The surrogate after so many labels, or why this kind of pool is not for it.

    Networks owe all of this whether they are large and have learned much, or not: they have four
    units and take few epochs.
    """
    method = catalog.load("surrogates", name)
    small = {"width": 4} if "width" in getattr(method, "OPTIONS", ()) else {}
    try:
        with pytest.MonkeyPatch.context() as few:
            few.setattr("activetest.wings.neural.torch_training._MOST_EPOCHS", 10)
            return method.fit(known(kind, count), rng=np.random.default_rng(7), **small)
    except ActivetestError as refused:
        assert refused.hint
        return refused


def fitted(name: str, kind: str, count: int = 15):
    """The surrogate after so many labels; skips the test where it refuses this kind of pool."""
    surrogate = fit(name, kind, count)
    if isinstance(surrogate, ActivetestError):
        pytest.skip(surrogate.problem)
    return surrogate


FAMILIES = {
    "acquisition": "score",
    "estimators": "estimate",
    "intervals": "interval",
    "surrogates": "fit",
    "metrics": "metrics",
}


def explain(module: str, name: str) -> str:
    """The docstring of a member of a chapter: of a function, or behind a value."""
    body = ast.parse(inspect.getsource(import_module(module))).body
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.get_docstring(node)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(following.value)
    raise AssertionError(f"{module} has no {name}")


@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family in FAMILIES for name in catalog.names(family)]
)
def test_every_method_explains_itself_and_cites_its_source(family, name):
    module = catalog.load(family, name)
    verbs = dict.fromkeys(ARMS, "allocate") | dict.fromkeys(EXPLORERS, "rank_arms")
    verbs |= dict.fromkeys(SELECTORS, "open_selector")
    verb = getattr(module, verbs.get(name, FAMILIES[family]))
    if isinstance(module, ModuleType):
        assert module.__doc__ and verb.__doc__
        text = module.__doc__ + verb.__doc__
    else:
        text = explain(catalog._find(family, name).module, name.replace("-", "_"))
    if name not in OWN:
        assert re.search(r"\b(1[89]|20)\d\d\b", text)


# --- acquisition


OTHERS = ARMS + EXPLORERS + SELECTORS
SCORES = [name for name in catalog.names("acquisition") if name not in OTHERS]


@pytest.mark.parametrize("name", SCORES)
def test_acquisitions_give_every_row_a_finite_score_that_is_not_negative(name):
    scores = catalog.load("acquisition", name).score(beliefs(), objectives())
    assert scores.shape == (SIZE,)
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()


@pytest.mark.parametrize("name", SCORES)
def test_acquisitions_follow_the_rows_when_they_are_shuffled(name):
    order = np.random.default_rng(8).permutation(SIZE)
    one = beliefs()
    other = Beliefs(
        one.probs[order],
        one.outcome_values[:, order],
        one.outcome_variance[:, order],
        one.draws[:, order],
    )
    score = catalog.load("acquisition", name).score
    np.testing.assert_allclose(score(other, objectives(order)), score(one, objectives())[order])


def groups(order) -> Bandit:
    """Which of six groups is the least accurate? Nothing is left to label in the third."""
    known = np.array([[3, 1], [1, 1], [0, 4], [9, 3], [0, 0], [2, 5]], float)[order]
    meaning = tuple({"place": str(number)} for number in order)
    size, value = np.array([9, 40, 4, 60, 30, 50])[order], np.tile([1.0, 0.0], (6, 1))
    each = (np.arange(6), size, value, np.zeros(6), known, known, np.ones((6, 2)))
    return Bandit(Arms("accuracy", meaning, *each), IDENTIFY)


@pytest.mark.parametrize("name", ARMS)
def test_acquisitions_of_groups_give_probabilities_to_those_with_items_left(name):
    shares = catalog.load("acquisition", name).allocate(
        groups(np.arange(6)), 300, np.random.default_rng(1)
    )
    assert shares.shape == (6,)
    assert (shares >= 0).all()
    assert shares.sum() == pytest.approx(1)
    assert shares[2] == 0


@pytest.mark.parametrize("name", ARMS)
def test_acquisitions_of_groups_follow_them_when_they_are_shuffled(name):
    order = np.random.default_rng(8).permutation(6)
    shares = catalog.load("acquisition", name).allocate
    one = shares(groups(np.arange(6)), 20_000, np.random.default_rng(1))
    other = shares(groups(order), 20_000, np.random.default_rng(2))
    np.testing.assert_allclose(other, one[order], atol=0.03)


# --- surrogates


@pytest.mark.parametrize(("name", "kind"), SERVED)
@pytest.mark.parametrize("count", [0, pytest.param(1, marks=pytest.mark.ci), 15])
def test_surrogates_believe_in_probabilities_whatever_number_of_labels_they_saw(name, kind, count):
    surrogate = fitted(name, kind, count)
    believed = surrogate.beliefs(pool_rows(kind), statistics_of(kind))
    outcomes = believed.probs.shape[1]
    assert believed.probs.shape == (SIZE, outcomes)
    assert believed.outcome_values.shape == (len(statistics_of(kind)), SIZE, outcomes)
    assert np.isfinite(believed.outcome_values).all()
    assert (believed.probs >= 0).all()
    np.testing.assert_allclose(believed.probs.sum(axis=1), 1, rtol=1e-5)
    assert believed.outcome_variance is None or (believed.outcome_variance >= 0).all()


@pytest.mark.parametrize(("name", "kind"), SERVED)
@pytest.mark.parametrize("count", [0, 15])
def test_surrogates_expect_the_mean_of_their_beliefs(name, kind, count):
    surrogate = fitted(name, kind, count)
    rows = pool_rows(kind)
    mean, _ = moments(surrogate.beliefs(rows, statistics_of(kind)))
    np.testing.assert_allclose(
        surrogate.expected(rows, statistics_of(kind)), mean, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize(("name", "kind"), SERVED)
def test_surrogates_follow_the_rows_when_they_are_shuffled(name, kind):
    surrogate = fitted(name, kind)
    order = np.random.default_rng(9).permutation(SIZE)
    rows = pool_rows(kind)
    one, other = (surrogate.beliefs(some, statistics_of(kind)) for some in (rows, rows[order]))
    np.testing.assert_allclose(other.probs, one.probs[order], rtol=1e-5)
    np.testing.assert_allclose(other.outcome_values, one.outcome_values[:, order], rtol=1e-5)


@pytest.mark.parametrize(("name", "kind"), SERVED)
def test_surrogates_come_back_from_their_parameters(name, kind):
    surrogate = fitted(name, kind)
    params = surrogate.params()
    kept = {name: part for name, part in params.items() if isinstance(part, np.ndarray)}
    plain = {name: part for name, part in params.items() if name not in kept}
    again = catalog.load("surrogates", name).restore(json.loads(json.dumps(plain)) | kept)
    one, other = (each.beliefs(pool_rows(kind), statistics_of(kind)) for each in (again, surrogate))
    np.testing.assert_array_equal(one.probs, other.probs)
    np.testing.assert_array_equal(one.outcome_values, other.outcome_values)


@pytest.mark.parametrize(("name", "kind"), SERVED)
def test_surrogates_have_members_whose_totals_are_finite(name, kind):
    surrogate = fitted(name, kind)
    members = surrogate.draw_members(5, np.random.default_rng(10))
    mean, variance = surrogate.totals(pool_rows(kind), members, statistics_of(kind))
    shape = (5, len(statistics_of(kind)))
    assert mean.shape == shape
    assert variance.shape == shape
    assert np.isfinite(mean).all()
    assert (variance >= -1e-9).all()


@pytest.mark.parametrize(("name", "kind"), SERVED)
def test_members_of_surrogates_believe_in_probabilities_of_the_same_outcomes(name, kind):
    surrogate = fitted(name, kind)
    members = surrogate.draw_members(6, np.random.default_rng(10))
    believed = surrogate.beliefs(pool_rows(kind), statistics_of(kind), members)
    assert believed.draws.shape[1:] == believed.probs.shape
    assert (believed.draws >= 0).all()
    np.testing.assert_allclose(believed.draws.sum(axis=2), 1, rtol=1e-5)


@pytest.mark.parametrize(("name", "kind"), SERVED)
@pytest.mark.parametrize("count", [0, 15])
def test_surrogates_expect_of_a_weighted_sum_what_they_expect_of_its_parts(name, kind, count):
    surrogate = fitted(name, kind, count)
    mean, variance = moments(surrogate.beliefs(pool_rows(kind), statistics_of(kind)))
    np.testing.assert_allclose(mean[-1], 0.5 * mean[0] - 2 * mean[-2], atol=1e-5)
    deviation = np.sqrt(variance)
    # Whatever their correlation.
    assert (deviation[-1] <= 0.5 * deviation[0] + 2 * deviation[-2] + 1e-5).all()
    assert (deviation[-1] >= abs(0.5 * deviation[0] - 2 * deviation[-2]) - 1e-3).all()


@pytest.mark.parametrize("kind", POOLS)
def test_every_kind_of_pool_has_a_surrogate(kind):
    assert any(
        not isinstance(fit(name, kind), ActivetestError) for name in catalog.names("surrogates")
    )
