"""Several models over the same items: what is expected of them together."""

import numpy as np
import pytest
from pytest import approx

from activetest.estimation.samples import collect_evidence
from activetest.item_statistics import specification
from activetest.item_statistics.compared import subtract_models
from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.rounds.compared_pool import ComparedPool, SharedCodes
from activetest.rounds.fit import fit_surrogate
from activetest.sampling.plan import plan_round
from activetest.simulation.simulate import answered
from tests.makers import build_table

ROWS = 120
CHOICES = Choices("error", ("error",), "agreement")
pytestmark = pytest.mark.pool(rows=ROWS, seed=3)


@pytest.fixture
def rival(pool, tmp_path):
    """A model that does the same on every second item, and is surer of the others."""
    rows = pool.rows(0, ROWS)
    probs = np.roll(rows.outputs.probs, 1, axis=1) ** 2
    probs /= probs.sum(axis=1, keepdims=True)
    probs[::2] = rows.outputs.probs[::2]
    columns = {f"prob_{name}": probs[:, code] for code, name in enumerate(pool.classes)}
    return build_table(tmp_path, {"id": pool.ids(np.arange(ROWS))} | columns)


@pytest.fixture
def known(pool):
    """The log of 60 labels by which the first model is right throughout."""
    truth = pool.rows(0, ROWS).outputs.pred.astype(float)
    log = Log.empty()
    return answered(log, plan_round(log, pool, CHOICES, seed=1, count=60), truth)


def fit(pool, rival, log):
    compared = ComparedPool("v1", pool, {"v2": rival}, log)
    return compared, fit_surrogate(log, compared, CHOICES, rng=np.random.default_rng(0))


MISTAKES = ("zero_one(v2)", "zero_one(v1)", "zero_one(v2)-zero_one(v1)")


def test_the_difference_of_items_that_are_alike_is_known_before_any_label(pool, rival):
    compared, surrogate = fit(pool, rival, Log.empty())
    rows = compared.rows(0, ROWS)
    for name in ("zero_one(v2)-zero_one(v1)", "brier(v2)-brier(v1)", "tp:1(v2)-tp:1(v1)"):
        expected = surrogate.expected(rows, (statistic(name),))[0]
        assert (expected[::2] == 0).all() and (expected[1::2] != 0).any()
        mean, variance = moments(surrogate.beliefs(rows, (statistic(name),)))
        assert np.abs(mean[0, ::2]).max() < 1e-12 > variance[0, ::2].max()
        assert variance[0, 1::2].max() > 0


def test_a_difference_is_expected_to_be_that_of_its_parts(pool, rival, known):
    """In double precision; the mean of the beliefs is the expectation."""
    compared, surrogate = fit(pool, rival, known)
    rows = compared.rows(0, ROWS)
    second, first, apart = surrogate.expected(rows, tuple(map(statistic, MISTAKES)))
    differ = np.arange(ROWS) % 2 == 1
    assert apart[differ] == approx((second - first)[differ], abs=0.5)
    for name in MISTAKES[::2]:
        (mean,), _ = moments(surrogate.beliefs(rows, (statistic(name),)))
        assert mean == approx(surrogate.expected(rows, (statistic(name),))[0], abs=1e-6)


def test_labels_say_which_model_is_right_where_they_differ(pool, rival, known):
    apart = (statistic("zero_one(v2)-zero_one(v1)"),)
    found = []
    for log in (Log.empty(), known):
        compared, surrogate = fit(pool, rival, log)
        found.append(surrogate.expected(compared.rows(0, ROWS), apart)[0, 1::2].mean())
    assert found[1] > found[0] + 0.1


def test_statistics_without_a_model_are_those_of_the_first(pool, rival, known):
    compared, surrogate = fit(pool, rival, known)
    plain = fit_surrogate(known, pool, CHOICES, rng=np.random.default_rng(0))
    names = (statistic("zero_one"), statistic("tp:1"))
    assert surrogate.expected(compared.rows(0, ROWS), names) == approx(
        plain.expected(pool.rows(0, ROWS), names)
    )
    assert surrogate.params() == plain.params()


def test_only_items_on_which_models_differ_are_unknown(pool, rival, known):
    from activetest.estimation.samples import build_sample

    metric = specification.find_metric("error", specification.describe_pool(pool.roles, None, pool))
    metric = subtract_models(metric, "v2", "v1")
    compared = ComparedPool("v1", pool, {"v2": rival}, known)
    sample = build_sample(collect_evidence(known, compared, CHOICES, [metric], seed=1), metric)
    assert sample.relevant == ROWS // 2
    drawn = known.rows % 2 == 1
    assert sample.unknown == ROWS // 2 - drawn.sum()
    assert (sample.inside == drawn).all()
    assert sample.left[0] == ROWS // 2


def test_weights_multiply_what_is_expected_and_change_no_belief_in_a_label(pool, rival, tmp_path):
    """Of models with the same outputs as in a pool without weights."""
    weights = np.linspace(0.5, 3, ROWS)
    made = []
    for number, each in enumerate((pool, rival)):
        probs = each.rows(0, ROWS).outputs.probs
        columns = {f"prob_{name}": probs[:, code] for code, name in enumerate(pool.classes)}
        folder = tmp_path / str(number)
        folder.mkdir()
        table = {"id": pool.ids(np.arange(ROWS)), "traffic": weights} | columns
        made.append(build_table(folder, table, weight="traffic"))
    names = tuple(map(statistic, MISTAKES))
    truth = pool.rows(0, ROWS).outputs.pred.astype(float)
    found = []
    for own, other in ((pool, rival), made):
        drawn = plan_round(Log.empty(), pool, CHOICES, seed=1, count=60)
        compared, surrogate = fit(own, other, answered(Log.empty(), drawn, truth))
        found.append(surrogate.expected(compared.rows(0, ROWS), names[::2]))
    mass = made[0].rows(0, ROWS).mass
    assert mass.std() > 0.1
    # Surrogates of pools with and without weights differ a little.
    assert found[1] == approx(found[0] * mass, abs=1e-3)


def test_codes_that_models_share_are_those_of_the_first_pool():
    own, further = ("a", "b", "x", "z"), ("x", "y", "z")
    codes = SharedCodes(("a", "b", "c"), own, further)
    assert codes.share(np.array([0, 1, 2, 3])).tolist() == [0, 1, -2, -4]
    labels = np.array([0, 1, 2, -1, -2, -3, -4, np.nan])
    assert codes.read(labels)[:-1].tolist() == [0, 1, -1, -1, 2, -1, 3]
    assert np.isnan(codes.read(labels)[-1])
