"""Predictions of a round from its own labels leave every estimate exactly unbiased.

The code under test is the program's own from the log to the estimate; only the race is replaced, by
going through all its outcomes with their probabilities. Folds are given, and rounds of few draws
learn from themselves. Nothing here is random.
"""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from activetest import catalog
from activetest.estimation import samples
from activetest.estimators import _own_labels
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED
from activetest.rounds import crossing
from activetest.rounds.fit import find_free_items, observe_statistics
from tests.guarantees.test_unbiased import metric_of, studies
from tests.makers import build_table, set_status, write_pool

SIZE = 5
CHOICES = Choices("error", ("error",), "agreement", floor=0.2)
HALVES, PAIRS, ALONE = (0, 1, 0, 1, 0), (0, 0, 1, 1, 2), (0, 1, 2, 3, 4)

pytestmark = pytest.mark.pool(rows=SIZE, seed=3, groups=("place",))


@pytest.fixture
def truth(pool):
    """Labels that make the black box wrong on the second, third and last item."""
    labels = pool.rows(0, SIZE).outputs.pred.astype(float)
    labels[[1, 2, 4]] = (labels[[1, 2, 4]] + 1) % 3
    return labels


@pytest.fixture
def divide(monkeypatch, pool, scored):
    """divide(folds, fewest): rounds of two draws learn from themselves, between these folds."""

    def set_folds(folds, fewest=0.0):
        monkeypatch.setattr(crossing, "FOLDS", max(folds) + 1)
        monkeypatch.setattr(crossing, "FEWEST_DRAWS", 2)
        monkeypatch.setattr(crossing, "HALF", 0.5)
        monkeypatch.setattr(crossing, "FEWEST_LABELS", fewest)
        fold_of = {
            each: fold
            for named in (pool, scored[0])
            for each, fold in zip(named.hashes.tolist(), folds, strict=True)
        }
        monkeypatch.setattr(
            crossing,
            "find_folds",
            lambda hashes, seed: np.array([fold_of[each] for each in hashes.tolist()]),
        )

    return set_folds


def find_bias(pool, truth, choices, name, *, groups=(0,), **ways):
    """(groups, d) expectation of the doubly robust means over all orders, less the true means.

    At least one round of some study learned from itself.
    """
    metric = metric_of(pool, name)
    method = catalog.load("estimators", "doubly-robust")
    expected, total = np.zeros((len(groups), len(metric.statistics))), 0.0
    learned = 0
    for log, prob in studies(pool, truth, choices, **ways):
        evidence = samples.collect_evidence(log, pool, choices, [metric], seed=1)
        learned += evidence.crossed.rounds.any()
        for place, group in enumerate(groups):
            sample = samples.build_sample(evidence, metric, evidence.groups[group])
            # A group that happens to be known completely is reported exactly: no estimate.
            sample = replace(sample, unknown=max(sample.unknown, 1e-9))
            expected[place] += prob * method.estimate(sample).mean
        total += prob
    assert learned and total == pytest.approx(1, abs=1e-12)
    rows = pool.rows(0, pool.size)
    values = observe_statistics(rows, truth, metric.statistics)
    mass = [evidence.groups[group].membership(rows.codes) * rows.mass for group in groups]
    return expected - np.array([each @ values / each.sum() for each in mass])


@pytest.mark.parametrize(
    ("folds", "batches"),
    [(HALVES, (2, 1)), (PAIRS, (2, 1)), (ALONE, (1, 3)), (HALVES, (3, 1))],
    ids=str,
)
def test_draws_and_predictions_that_react_to_labels_are_unbiased(
    pool, truth, divide, folds, batches
):
    """Of the pool and every group; scores differ between items, and so do their chances."""
    divide(folds)
    bias = find_bias(pool, truth, CHOICES, "error", groups=(0, 1, 2), batches=batches)
    assert np.abs(bias).max() < 1e-12


def keep_last_draw(monkeypatch):
    """Items that were not drawn learn from the last draw, too."""
    plain = crossing._RoundLabels.list_others
    monkeypatch.setattr(
        crossing._RoundLabels,
        "list_others",
        lambda known, fold, *, last: plain(known, fold, last=True),
    )


def keep_own_fold(monkeypatch):
    """Items learn from their own fold."""
    plain = crossing._RoundLabels.list_others
    monkeypatch.setattr(
        crossing._RoundLabels,
        "list_others",
        lambda known, fold, *, last: plain(known, -1, last=last),
    )


@pytest.mark.parametrize("harm", [keep_last_draw, keep_own_fold])
def test_without_either_rule_the_estimate_is_biased(pool, truth, divide, monkeypatch, harm):
    divide(HALVES)
    harm(monkeypatch)
    assert abs(find_bias(pool, truth, CHOICES, "error", batches=(2, 1)).item()) > 1e-4


def test_items_whose_others_are_expected_to_say_little_are_predicted_as_before(pool, truth, divide):
    """Some are in the same round, and others are not: the number follows the others alone."""
    divide(PAIRS, fewest=0.9)
    bias = find_bias(pool, truth, CHOICES, "error", groups=(0, 1), batches=(3, 1))
    assert np.abs(bias).max() < 1e-12


@pytest.mark.parametrize("metric", ["log-loss", "f1[dog]", "rate[dog]", "precision-at-k[3,owl]"])
def test_other_metrics_are_unbiased(pool, truth, divide, metric):
    """Also those that no round recorded: there the round's own labels predict them."""
    divide(PAIRS)
    for choices in (CHOICES, Choices(metric, (metric,), "agreement", floor=0.2)):
        bias = find_bias(pool, truth, choices, metric, groups=(0, 2), batches=(2, 1))
        assert np.abs(bias).max() < 1e-12


def test_labels_supplied_in_answer_to_errors_leave_it_unbiased(pool, truth, divide):
    """They count from the next round on."""

    def bring(log):
        errors = any(log.labels != pool.take(log.rows).outputs.pred)
        free = np.flatnonzero(find_free_items(log, SIZE))
        return free[:1] if errors and len(free) > 2 else ()

    divide(HALVES)
    bias = find_bias(pool, truth, CHOICES, "error", groups=(0, 1), batches=(2, 2), bring=bring)
    assert np.abs(bias).max() < 1e-12


def test_declined_items_leave_the_share_of_mistakes_unbiased(pool, truth, divide):
    """The mean over all items of what counts and is wrong; an item that is declined is not."""
    divide(HALVES)
    metric, expected = metric_of(pool, "error"), 0.0
    for labelled, prob in studies(pool, truth, CHOICES, batches=(3,)):
        log = set_status(labelled, np.flatnonzero(labelled.rows == 1), DECLINED)
        evidence = samples.collect_evidence(log, pool, CHOICES, [metric], seed=1)
        sample = samples.build_sample(evidence, metric)
        expected += prob * catalog.load("estimators", "doubly-robust").estimate(sample).mean[0]
    wrong = truth != pool.rows(0, SIZE).outputs.pred
    assert expected == pytest.approx(np.delete(wrong, 1).sum() / SIZE, abs=1e-12)


def test_items_with_weights_are_unbiased(tmp_path, truth, divide):
    table = pq.read_table(write_pool(tmp_path / "plain.parquet", SIZE, seed=3)).to_pydict()
    table |= {"traffic": [3.0, 10.0, 0.5, 0.0, 3.0], "price": [1.0, 0.1, 2.0, 5.0, 9.0]}
    weighted = build_table(tmp_path, table, groups=("place",), weight="traffic", price="price")
    divide(HALVES)
    bias = find_bias(weighted, truth, CHOICES, "error", groups=(0, 1), batches=(2, 1))
    assert np.abs(bias).max() < 1e-12


def test_a_choice_between_groups_leaves_it_unbiased(pool, truth, divide):
    """Its weights stay as they are for a round, like any others."""
    choices = replace(CHOICES, acquisition="thompson", question="identify", groups=("place",))
    divide(PAIRS)
    bias = find_bias(pool, truth, choices, "error", groups=(0, 1), batches=(2, 2))
    assert np.abs(bias).max() < 1e-12


@pytest.fixture
def scored(tmp_path):
    """A pool of scores, and labels on another scale; their uncertainty makes scores differ."""
    rng = np.random.default_rng(4)
    columns = {"id": [str(row) for row in range(SIZE)], "pred": rng.normal(size=SIZE)}
    built = build_table(tmp_path, columns | {"pred_std": rng.uniform(0.3, 2, SIZE)})
    return built, 1.3 + 0.5 * np.array(columns["pred"]) + 0.2 * rng.normal(size=SIZE)


@pytest.mark.parametrize(("metric", "batches"), [("mae", (2, 1)), ("mean", (4,)), ("mean", (2, 2))])
def test_values_are_unbiased(scored, divide, metric, batches):
    """Of folds, and of a line through scores by all labels but an item's own."""
    divide(HALVES)
    choices = Choices(metric, (metric,), "residual", floor=0.2)
    bias = find_bias(*scored, choices, metric, batches=batches)
    assert np.abs(bias).max() < 1e-12


def test_features_leave_a_line_through_scores_in_place(tmp_path, scored, divide):
    """It needs no fit for each fold: sums of folds are not asked for."""
    plain, labels = scored
    outputs = plain.rows(0, SIZE).outputs
    columns = {"pred": outputs.pred, "pred_std": outputs.std, "size": [3.0, 1, 4, 1, 5]}
    built = build_table(
        tmp_path, {"id": [str(row) for row in range(SIZE)]} | columns, features=("size",)
    )
    assert built.rows(0, SIZE).design.shape[1] > plain.rows(0, SIZE).design.shape[1]
    divide(HALVES)
    choices, metric = Choices("mean", ("mean",), "residual", floor=0.2), metric_of(built, "mean")
    log = next(iter(studies(built, labels, choices, batches=(3,))))[0]
    evidence = samples.collect_evidence(log, built, choices, [metric], seed=1)
    sample = samples.build_sample(evidence, metric)
    assert sample.own.tolist() == [0, 0, 0] and not sample.crossed.any()
    bias = find_bias(built, labels, choices, "mean", batches=(2, 2))
    assert np.abs(bias).max() < 1e-12


@pytest.fixture
def judged(tmp_path):
    """A pool of verdicts without probabilities, two of them wrong; weights make draws differ."""
    columns = {
        "id": [str(row) for row in range(SIZE)],
        "pred": ["yes", "no", "yes", "yes", "no"],
        "place": ["north", "south", "north", "south", "north"],
        "traffic": [3.0, 10.0, 0.5, 2.5, 1.0],
    }
    built = build_table(tmp_path, columns, groups=("place",), weight="traffic")
    return built, np.array([1.0, 0, 0, 1, 1])


@pytest.mark.parametrize("batches", [(4,), (2, 2), (1, 3)])
def test_shares_of_labels_by_a_line_through_verdicts_are_unbiased(judged, divide, batches):
    """Of groups they follow from folds."""
    divide(HALVES)
    choices = Choices("rate[yes]", ("rate[yes]",), "agreement", floor=0.2)
    bias = find_bias(*judged, choices, "rate[yes]", groups=(0, 1), batches=batches)
    assert np.abs(bias).max() < 1e-12


def keep_own_label(monkeypatch):
    """A line knows the item's own label."""
    plain = _own_labels.add_moments

    def keep(weight, residual, deviation, learned, add):
        def add_all(values, share):
            return np.tile((share * values / share[-1]).sum(axis=0), (len(add(values, share)), 1))

        return plain(weight, residual, deviation, learned, add_all)

    monkeypatch.setattr(_own_labels, "add_moments", keep)


def forget_last_draw(monkeypatch):
    """Items that were not drawn follow the line without the first draw in place of the last."""
    monkeypatch.setattr(_own_labels, "find_odds_of_last", lambda chance: np.eye(len(chance))[0])


def take_later_chances(monkeypatch):
    """Weights of draws follow their own chances, which say what came before."""
    monkeypatch.setattr(_own_labels, "find_first_chances", lambda prob: prob)


@pytest.mark.parametrize("harm", [keep_own_label, forget_last_draw, take_later_chances])
def test_a_line_that_knows_more_than_the_others_is_biased(
    scored, judged, divide, monkeypatch, harm
):
    divide(HALVES)
    harm(monkeypatch)
    for made, metric, surrogate in (
        (scored, "mean", "residual"),
        (judged, "rate[yes]", "agreement"),
    ):
        choices = Choices(metric, (metric,), surrogate, floor=0.2)
        assert abs(find_bias(*made, choices, metric, batches=(3,)).item()) > 1e-5
