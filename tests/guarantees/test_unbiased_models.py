"""Draws that were made for one model are unbiased for another, and for their difference.

Over every order in which the draws can come, through the program's own code: see test_unbiased.
"""

from dataclasses import replace

import numpy as np
import pytest

from activetest import catalog
from activetest.cache.votes import FurtherModel, ensure_votes
from activetest.estimation import samples
from activetest.estimation.anytime import compute_increments_at
from activetest.item_statistics.compared import bind_metric, subtract_models
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log
from activetest.rounds import crossing
from activetest.rounds.compared_pool import ComparedPool
from activetest.rounds.fit import observe_statistics
from activetest.rounds.replay import replay_rounds
from activetest.sampling import plan
from tests.guarantees.test_unbiased import CHOICES, SIZE, first_unseen, metric_of, studies
from tests.makers import build_table

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",))
ESTIMATORS = ("lure", "doubly-robust")


@pytest.fixture
def truth(pool):
    """Labels that make the first model wrong on the second, third and last item."""
    labels = pool.rows(0, SIZE).outputs.pred.astype(float)
    labels[[1, 2, -1]] = (labels[[1, 2, -1]] + 1) % 3
    return labels


@pytest.fixture
def rival(pool, tmp_path):
    """A model of the same items that does the same as the first on two of them."""
    rows = pool.rows(0, SIZE)
    probs = np.roll(rows.outputs.probs, 1, axis=1)
    probs[[0, 3]] = rows.outputs.probs[[0, 3]]
    columns = {f"prob_{name}": probs[:, code] for code, name in enumerate(pool.classes)}
    table = {"id": pool.ids(np.arange(SIZE))} | columns
    table["place"] = [pool.group_values[0][code] for code in rows.codes[:, 0]]
    return build_table(tmp_path, table, groups=("place",))


def estimate_means(evidence, metric, group, estimator):
    one = samples.build_sample(evidence, metric, evidence.groups[group])
    # A group that happens to be known completely is reported exactly, which is no estimate.
    one = replace(one, unknown=max(one.unknown, 1e-9))
    return catalog.load("estimators", estimator).estimate(one).mean


def find_expectations(
    pool, truth, rival, metrics, choices=CHOICES, groups=(0, 1), drawn_from=None, **ways
):
    """(metrics, groups, estimators, d) means, each over all studies; and the true ones."""
    expected = 0.0
    for log, prob in studies(drawn_from or pool, truth, choices, **ways):
        compared = ComparedPool("v1", pool, {"v2": rival}, log)
        evidence = samples.collect_evidence(log, compared, choices, metrics, seed=1)
        expected = expected + prob * np.array(
            [
                [
                    [estimate_means(evidence, metric, group, each) for each in ESTIMATORS]
                    for group in groups
                ]
                for metric in metrics
            ]
        )
    rows = compared.rows(0, SIZE)
    inside = [evidence.groups[group].membership(rows.codes) for group in groups]
    values = [observe_statistics(rows, truth, metric.statistics) for metric in metrics]
    return expected, np.array([[each @ value / each.sum() for each in inside] for value in values])


@pytest.mark.parametrize(
    "ways", [{}, {"bring": first_unseen}, {"batches": (1, 2)}], ids=["drawn", "supplied", "short"]
)
@pytest.mark.parametrize("name", ["error", "brier"])
def test_a_difference_is_unbiased_whoever_the_draws_were_made_for(pool, truth, rival, name, ways):
    ways = {key: value(pool) if key == "bring" else value for key, value in ways.items()}
    metric = metric_of(pool, name)
    metrics = [subtract_models(metric, "v2", "v1"), bind_metric(metric, "v2")]
    expected, targets = find_expectations(pool, truth, rival, metrics, **ways)
    assert np.abs(targets[0]).max() > 0.1
    assert expected == pytest.approx(np.broadcast_to(targets[:, :, None], expected.shape), abs=1e-7)


@pytest.mark.parametrize("came", [0, 1], ids=["there", "came after a round"])
def test_votes_of_models_about_each_other_leave_all_numbers_unbiased(pool, truth, rival, came):
    ensure_votes(pool, [FurtherModel(rival.fingerprint, came, lambda: rival)])
    ensure_votes(rival, [FurtherModel(pool.fingerprint, 0, lambda: pool)])
    pool, rival = pool.attach(["votes"]), rival.attach(["votes"])
    choices = replace(CHOICES, surrogate="auto")
    metric = metric_of(pool, "error")
    metrics = [subtract_models(metric, "v2", "v1"), bind_metric(metric, "v2"), metric]
    expected, targets = find_expectations(pool, truth, rival, metrics, choices)
    assert expected == pytest.approx(np.broadcast_to(targets[:, :, None], expected.shape), abs=1e-7)


@pytest.fixture
def divide(monkeypatch, pool):
    """Rounds of two draws learn from themselves, between two halves of the items."""
    fold_of = {each: place % 2 for place, each in enumerate(pool.hashes.tolist())}
    for name, value in (("FOLDS", 2), ("FEWEST_DRAWS", 2), ("HALF", 0.5), ("FEWEST_LABELS", 0.0)):
        monkeypatch.setattr(crossing, name, value)
    monkeypatch.setattr(
        crossing,
        "find_folds",
        lambda hashes, seed: np.array([fold_of[each] for each in hashes.tolist()]),
    )


def test_rounds_that_learn_from_themselves_leave_it_unbiased(pool, truth, rival, divide):
    metric = subtract_models(metric_of(pool, "error"), "v2", "v1")
    expected, targets = find_expectations(pool, truth, rival, [metric])
    assert expected == pytest.approx(np.broadcast_to(targets[:, :, None], expected.shape), abs=1e-7)


@pytest.mark.parametrize("floor", [0.1, 0.5])
def test_draws_that_aim_at_a_difference_leave_all_numbers_unbiased(pool, truth, rival, floor):
    aim = "error(v2)-error(v1)"
    choices = Choices(aim, (aim,), "agreement", floor=floor)
    drawn_from = ComparedPool("v1", pool, {"v2": rival}, Log.empty())
    metric = metric_of(pool, "error")
    metrics = [subtract_models(metric, "v2", "v1"), bind_metric(metric, "v2"), metric]
    expected, targets = find_expectations(
        pool, truth, rival, metrics, choices, drawn_from=drawn_from
    )
    assert expected == pytest.approx(np.broadcast_to(targets[:, :, None], expected.shape), abs=1e-7)


@pytest.mark.parametrize("aim", ["error", "precision[dog]"])
def test_a_whole_report_on_another_model_is_unbiased(pool, truth, rival, aim):
    """Of rounds that left items out, too: to this model their items are known without a draw."""
    choices = Choices(aim, (aim,), "agreement", floor=0.2)
    every = Choices("error", ("error",), "agreement", floor=0.2)
    metric, expected, total = metric_of(rival, "error"), 0.0, 0.0
    first = studies(pool, truth, choices, batches=(1,))
    for begun, chance in first:
        for log, more in studies(pool, truth, every, batches=(2,), log=begun):
            replayed = replay_rounds(log, rival)
            evidence = samples.collect_evidence(replayed, rival, every, [metric], seed=1)
            means = [[estimate_means(evidence, metric, 0, each) for each in ESTIMATORS]]
            expected, total = expected + chance * more * np.array(means), total + chance * more
    target = observe_statistics(rival.rows(0, SIZE), truth, metric.statistics).mean()
    assert total == pytest.approx(1)
    assert expected == pytest.approx(np.full(expected.shape, target), abs=1e-7)


def peek(monkeypatch):
    """The surrogate of a round learns from the round's own labels."""
    from activetest.rounds import replay

    plain = replay.list_known
    monkeypatch.setattr(replay, "list_known", lambda log, number: plain(log, number + 1))


def test_a_surrogate_that_knows_labels_of_its_own_round_is_biased(pool, truth, rival, monkeypatch):
    peek(monkeypatch)
    metric = bind_metric(metric_of(pool, "error"), "v2")
    expected, targets = find_expectations(pool, truth, rival, [metric])
    assert np.abs(expected - targets[:, :, None])[..., 1, :].max() > 1e-4


def test_without_a_floor_a_difference_rests_on_items_on_which_models_differ(pool, truth, rival):
    aim = "error(v2)-error(v1)"
    choices = Choices("error", ("error",), "agreement", floor=0.0, draw_for=(aim,))
    compared = ComparedPool("v1", pool, {"v2": rival}, Log.empty())
    metric = subtract_models(metric_of(pool, "error"), "v2", "v1")
    expected, targets = find_expectations(
        pool, truth, rival, [metric], choices, batches=(1, 1), drawn_from=compared
    )
    assert np.abs(targets[0]).max() > 0.1
    assert expected == pytest.approx(np.broadcast_to(targets[:, :, None], expected.shape), abs=1e-7)
    drawn = plan.plan_round(Log.empty(), compared, choices, seed=1, count=SIZE)
    assert drawn.among == ("v1", "v2")
    assert sorted(drawn.rows) == [1, 2, 4]


@pytest.mark.parametrize("floors", [(0.0, 0.2), (0.2, 0.0)], ids=["then others", "others before"])
def test_draws_of_some_items_and_of_all_serve_what_each_of_them_can(pool, truth, rival, floors):
    aim = "error(v2)-error(v1)"
    first, then = (
        Choices("error", ("error",), "agreement", floor=floor, draw_for=(aim,)) for floor in floors
    )
    compared = ComparedPool("v1", pool, {"v2": rival}, Log.empty())
    metric = metric_of(pool, "error")
    metrics = [subtract_models(metric, "v2", "v1"), bind_metric(metric, "v2"), metric]
    expected, total = 0.0, 0.0
    for begun, chance in studies(compared, truth, first, batches=(1 + bool(first.floor),)):
        found, targets = find_expectations(
            pool,
            truth,
            rival,
            metrics,
            then,
            (0,),
            drawn_from=compared,
            batches=(2 - bool(first.floor),),
            log=begun,
        )
        expected, total = expected + chance * found, total + chance
    assert total == pytest.approx(1)
    assert expected == pytest.approx(np.broadcast_to(targets[:, :, None], expected.shape), abs=1e-7)


@pytest.mark.parametrize("floor", [0.0, 0.2])
def test_bets_on_a_difference_are_fair_at_any_threshold(pool, truth, rival, floor):
    """Each increment, and what was known before it, has the mean of the difference."""
    aim, threshold = "error(v2)-error(v1)", 0.1
    choices = Choices("error", ("error",), "agreement", floor=floor, draw_for=(aim,))
    compared = ComparedPool("v1", pool, {"v2": rival}, Log.empty())
    metric = subtract_models(metric_of(pool, "error"), "v2", "v1")
    rows = compared.rows(0, SIZE)
    target = observe_statistics(rows, truth, metric.statistics).mean() - threshold
    found = 0.0
    for log, prob in studies(compared, truth, choices, batches=(2,)):
        evidence = samples.collect_evidence(log, compared, choices, [metric], seed=1)
        plain, bets = compute_increments_at(evidence, metric, evidence.groups[0], [0.0, threshold])
        means = bets.value + bets.offset
        assert (bets.low <= bets.value + 1e-12).all() and (bets.value <= bets.high + 1e-12).all()
        assert (bets.least + bets.offset <= target + 1e-12).all()
        assert (bets.most + bets.offset >= target - 1e-12).all()
        # Both take items on which the models do the same as known, whatever the threshold.
        assert means == pytest.approx(plain.value + plain.offset - threshold, abs=1e-9)
        found = found + prob * means
    assert found == pytest.approx(np.full(2, target), abs=1e-7)
