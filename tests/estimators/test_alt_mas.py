"""ALT-MAS: the metric of every pass, by hand and against scikit-learn."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from pytest import approx
from sklearn import metrics as sk

from activetest.errors import NotEstimable
from activetest.estimation import beliefs as module
from activetest.estimation.view import build_view
from activetest.estimators import alt_mas
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, PENDING, Log
from activetest.rounds.fit import make_generator
from activetest.rounds.weighted import weigh_surrogate
from activetest.surrogates._classes import Ensemble
from tests.makers import build_table

CHOICES = Choices("accuracy", ("accuracy",), "agreement")
PLUG_INS = ("labels", "labels+augmented", "nothing")
NAMES = ("cat", "dog", "owl")


@dataclass(frozen=True)
class Fixed:
    """Members whose most probable classes (K, N) are given."""

    classes: Any

    @property
    def size(self) -> int:
        return len(self.classes)

    def params(self) -> dict[str, Any]:
        return {}

    def draws(self, rows, which):
        return 0.2 + 0.4 * np.eye(3)[self.classes[which][:, rows.index]]

    def probs(self, rows):
        return self.draws(rows, np.arange(self.size)).mean(axis=0)


@dataclass(frozen=True)
class Augmented(Ensemble):
    """Passes that learned the box's labels of some items."""

    augmented: Any = None


def make_pool(folder, pred, weight=None):
    """A pool of hard labels, with weights where there are any."""
    columns = {"id": range(len(pred)), "pred": [NAMES[code] for code in pred]}
    if weight is None:
        return build_table(folder, columns, classes=NAMES)
    return build_table(folder, columns | {"weight": weight}, classes=NAMES, weight="weight")


def supply(positions, labels, status=LABELLED) -> Log:
    """A log that knows these labels from the start."""
    count = len(positions)
    return replace(
        Log.empty(),
        supplied_rows=np.asarray(positions),
        supplied_status=np.full(count, status),
        supplied_labels=np.asarray(labels, float),
        supplied_round=np.ones(count, np.int64),
    )


def look(pool, log, classes, augmented=None):
    """find(metric, plug_in) -> the value by passes with these classes (K, N)."""
    surrogate = Augmented(Fixed(np.asarray(classes)), augmented=augmented)

    def find(name: str, plug_in: str = "labels"):
        facts = specification.describe_pool(pool.roles, None, pool)
        metric = specification.find_metric(name, facts)
        view = build_view(log, pool, CHOICES, [metric], seed=1, own_view=True, surrogate=surrogate)
        value = view.value(metric, f"alt-mas[plug-in={plug_in}]")
        return value, partial(view.interval, value, 0.5)

    return find


# --- a pool of eight items and two passes, by hand
#
# item        0    1    2    3    4    5    6    7
# box         cat  cat  cat  dog  dog  dog  owl  owl
# label       cat  dog  .    .    .    .    .    .
# first pass  dog  dog  cat  dog  cat  dog  owl  cat
# second      cat  cat  dog  dog  dog  owl  cat  cat
# augmented                       x         x

BOX = (0, 0, 0, 1, 1, 1, 2, 2)
PASSES = ((1, 1, 0, 1, 0, 1, 2, 0), (0, 0, 1, 1, 1, 2, 0, 0))
BY_HAND = {
    # Right in the first pass: 0, 2, 3, 5, 6; in the second: 0, 3, 4.
    ("accuracy", "labels"): (5 / 8, 3 / 8),
    # And items 4 and 6 in both.
    ("accuracy", "labels+augmented"): (6 / 8, 4 / 8),
    # By predictions alone: 2, 3, 5, 6 and 0, 1, 3, 4.
    ("accuracy", "nothing"): (4 / 8, 4 / 8),
    # Of the three cats of the box: 0 and 2; 0.
    ("precision[cat]", "labels"): (2 / 3, 1 / 3),
    ("precision[cat]", "labels+augmented"): (2 / 3, 1 / 3),
    ("precision[cat]", "nothing"): (1 / 3, 2 / 3),
    # Owls: 6; 5.
    ("recall[owl]", "labels"): (1 / 1, 0 / 1),
    ("recall[owl]", "labels+augmented"): (1 / 1, 1 / 2),
    ("recall[owl]", "nothing"): (1 / 1, 0 / 1),
    # Dogs: 1, 3, 5; 1, 2, 3, 4. True positives 3, 5; 3, 4. With 4 as a dog: 3, 4, 5; 3, 4.
    ("f1[dog]", "labels"): (2 * 2 / (3 + 3), 2 * 2 / (3 + 4)),
    ("f1[dog]", "labels+augmented"): (2 * 3 / (3 + 4), 2 * 2 / (3 + 4)),
    # Dogs: 0, 1, 3, 5; 2, 3, 4.
    ("f1[dog]", "nothing"): (2 * 2 / (3 + 4), 2 * 2 / (3 + 3)),
}


@pytest.mark.parametrize(("name", "plug_in"), BY_HAND)
def test_eight_items_and_two_passes_by_hand(tmp_path, name, plug_in):
    pool = make_pool(tmp_path, BOX)
    value, find_interval = look(pool, supply([0, 1], [0, 1]), PASSES, np.array([4, 6]))(
        name, plug_in
    )
    first, second = BY_HAND[name, plug_in]
    assert value.value == approx((first + second) / 2, abs=1e-12)
    # A metric of one mean keeps the means of its statistic, here of errors.
    assert sorted(value.metric.transform(value.estimate.draws)) == approx(sorted((first, second)))
    assert value.estimate.variance[0, 0] == approx((first - second) ** 2 / 2)
    interval = find_interval()
    assert interval.method == "credible"
    low, high = sorted((first, second))
    assert (interval.lower, interval.upper) == approx(
        (low + (high - low) / 4, high - (high - low) / 4)
    )


def test_the_mean_of_the_metric_is_not_the_metric_of_the_mean(tmp_path):
    value, _ = look(make_pool(tmp_path, BOX), supply([0, 1], [0, 1]), PASSES)("f1[dog]")
    true_positives, positives = (2 + 2) / 2, (3 + 4) / 2
    assert abs(value.value - 2 * true_positives / (3 + positives)) > 1e-3


def test_labels_are_plugged_in_where_nothing_else_is_said(tmp_path):
    assert alt_mas.OPTIONS["plug-in"] == PLUG_INS
    pool, log = make_pool(tmp_path, BOX), supply([0, 1], [0, 1])
    facts = specification.describe_pool(pool.roles, None, pool)
    metric = specification.find_metric("accuracy", facts)
    surrogate = Ensemble(Fixed(np.asarray(PASSES)))
    view = build_view(log, pool, CHOICES, [metric], seed=1, own_view=True, surrogate=surrogate)
    assert view.value(metric, "alt-mas").value == approx(1 / 2)
    # Of this surrogate nobody says that it was augmented.
    assert view.value(metric, "alt-mas[plug-in=labels+augmented]").value == approx(1 / 2)


def test_a_label_counts_more_than_what_the_surrogate_learned_of_its_item(tmp_path):
    """Item 1 is a dog, whatever the surrogate took from the box before that was known."""
    find = look(make_pool(tmp_path, BOX), supply([0, 1], [0, 1]), PASSES, np.array([0, 1, 4, 6]))
    assert find("accuracy", "labels+augmented")[0].value == approx((6 / 8 + 4 / 8) / 2)


def test_an_item_that_waits_is_labelled_by_the_passes_and_a_declined_one_by_nobody(tmp_path):
    pool = make_pool(tmp_path, BOX)
    log = supply([0, 1, 2, 3], [0, 1, np.nan, np.nan])
    log.supplied_status[2:] = PENDING, DECLINED
    find = look(pool, log, PASSES, np.array([4]))
    # Of seven: without item 3, which is right in both.
    for plug_in, (first, second) in {
        "labels": (4 / 7, 2 / 7),
        "labels+augmented": (5 / 7, 2 / 7),
        "nothing": (3 / 7, 3 / 7),
    }.items():
        value, _ = find("accuracy", plug_in)
        assert value.value == approx((first + second) / 2), plug_in


def test_items_count_by_their_weights(tmp_path):
    weight = np.array([1, 1, 2, 0, 4, 1, 1, 2], float)
    pool = make_pool(tmp_path, BOX, weight)
    rows = pool.rows(0, 8)
    assert rows.mass == approx(weight / weight.mean())
    log = supply([0, 1], [0, 1])
    metric = specification.find_metric(
        "precision[dog]", specification.describe_pool(pool.roles, None, pool)
    )
    surrogate = weigh_surrogate(Augmented(Fixed(np.asarray(PASSES)), augmented=[4]), pool)
    view = build_view(log, pool, CHOICES, [metric], seed=1, own_view=True, surrogate=surrogate)
    for plug_in, expected in {
        "labels": (1 / 5 + 4 / 5) / 2,
        "labels+augmented": (5 / 5 + 4 / 5) / 2,
        "nothing": (1 / 5 + 4 / 5) / 2,
    }.items():
        assert view.value(metric, f"alt-mas[plug-in={plug_in}]").value == approx(expected)


# --- what many labels lead to


def test_with_all_labels_known_labels_give_the_truth_and_predictions_do_not(tmp_path):
    """Remark 3.3: the estimate is the metric itself, unless labels are not plugged in."""
    rng = np.random.default_rng(3)
    pred, truth = rng.integers(3, size=(2, 60))
    pool = make_pool(tmp_path, pred)
    wrong = np.where(rng.random((4, 60)) < 0.3, rng.integers(3, size=(4, 60)), truth)
    by_hand = {
        "accuracy": np.mean(pred == truth),
        "precision[owl]": np.mean(truth[pred == 2] == 2),
        "recall[owl]": np.mean(pred[truth == 2] == 2),
    }
    errors = {plug_in: [] for plug_in in PLUG_INS}
    for known in (0, 20, 40, 60):
        find = look(pool, supply(np.arange(known), truth[:known]), wrong, np.arange(50, 60))
        for plug_in in PLUG_INS:
            values = {name: find(name, plug_in)[0].value for name in by_hand}
            errors[plug_in].append(max(abs(values[name] - by_hand[name]) for name in by_hand))
    # Equal to the last bit of the same division.
    assert errors["labels"][-1] == errors["labels+augmented"][-1] < 1e-15
    assert errors["nothing"][0] == errors["nothing"][-1] > 0.02
    assert errors["labels"][0] > errors["labels"][-1]


def test_predictions_alone_are_free_of_what_labels_leave_possible(tmp_path):
    """All labels say that every cat is right, and the passes say that none is."""
    pred = np.zeros(6, int)
    log = supply(np.arange(6), pred)
    find = look(make_pool(tmp_path, pred), log, np.ones((2, 6), int))
    for name in ("accuracy", "f1[cat]", "precision[cat]"):
        assert find(name)[0].value == 1
        if name != "f1[cat]":
            value, find_interval = find(name, "nothing")
            assert value.value == 0
            assert not value.estimate.exact
            assert (find_interval().lower, find_interval().upper) == (0, 0)


# --- every pass against scikit-learn


@pytest.mark.parametrize("plug_in", PLUG_INS)
def test_passes_are_scored_as_scikit_learn_scores_them(tmp_path, plug_in, monkeypatch):
    monkeypatch.setattr(module, "_NUMBERS", 3 * module._MEMBERS * 17)
    rng = np.random.default_rng(8)
    pred, truth = rng.integers(3, size=(2, 50))
    classes = rng.integers(3, size=(5, 50))
    known, augmented = rng.choice(50, 12, replace=False), np.arange(0, 50, 6)
    labels = classes.copy()
    if plug_in == "labels+augmented":
        labels[:, augmented] = pred[augmented]
    if plug_in != "nothing":
        labels[:, known] = truth[known]
    find = look(make_pool(tmp_path, pred), supply(known, truth[known]), classes, augmented)
    scores = {
        "accuracy": sk.accuracy_score,
        "precision[dog]": partial(sk.precision_score, labels=[1], average="macro"),
        "recall[dog]": partial(sk.recall_score, labels=[1], average="macro"),
        "f1[dog]": partial(sk.f1_score, labels=[1], average="macro"),
        "precision[macro]": partial(sk.precision_score, average="macro"),
        "recall[macro]": partial(sk.recall_score, average="macro"),
        "f1[macro]": partial(sk.f1_score, average="macro"),
        "mcc": sk.matthews_corrcoef,
    }
    for name, score in scores.items():
        by_pass = [score(each, pred) for each in labels]
        value, find_interval = find(name, plug_in)
        assert np.sort(value.metric.transform(value.estimate.draws)) == approx(np.sort(by_pass)), (
            name
        )
        assert value.value == approx(np.mean(by_pass)), name
        interval = find_interval()
        # It holds the mean, also where that is no value between the quartiles.
        lower, upper = np.quantile(by_pass, [0.25, 0.75])
        ends = min(lower, np.mean(by_pass)), max(upper, np.mean(by_pass))
        assert (interval.lower, interval.upper) == approx(ends)


# --- where there is no value


def test_passes_in_which_a_metric_is_nothing_over_nothing_are_left_out(tmp_path):
    """No owl in the first pass; all owls are found in the second, none in the third."""
    classes = [[0, 1, 0, 0], [0, 1, 2, 0], [2, 1, 0, 0]]
    find = look(make_pool(tmp_path, (0, 1, 2, 2)), supply([1], [1]), classes)
    value, _ = find("recall[owl]")
    assert value.value == approx(1 / 2)
    assert value.estimate.undefined == 1
    assert len(value.estimate.draws) == 2
    assert find("accuracy")[0].estimate.undefined == 0


def test_a_metric_without_a_value_in_any_pass_has_none(tmp_path):
    find = look(make_pool(tmp_path, (0, 1, 0, 1)), supply([1], [1]), [[0, 1, 0, 1]] * 2)
    with pytest.raises(NotEstimable, match="owl"):
        find("recall[owl]")


def test_a_single_pass_has_a_value_and_no_spread(tmp_path):
    value, find_interval = look(make_pool(tmp_path, BOX), supply([0, 1], [0, 1]), PASSES[:1])(
        "accuracy"
    )
    assert value.value == approx(5 / 8)
    with pytest.raises(NotEstimable, match="single pass"):
        find_interval()


def test_another_plug_in_is_an_error_of_the_program():
    with pytest.raises(ValueError, match="everything"):
        alt_mas.estimate(None, plug_in="everything")


# --- surrogates that only know whether the box is right


def test_a_surrogate_without_classes_gives_the_likelier_of_right_and_wrong(tmp_path):
    rng = np.random.default_rng(2)
    probs = rng.dirichlet([1, 1, 1], 40)
    pool = build_table(
        tmp_path,
        {"id": range(40)} | {f"prob_{name}": probs[:, code] for code, name in enumerate(NAMES)},
    )
    pred, known = pool.rows(0, 40).outputs.pred, np.arange(10)
    truth = np.where(known % 3 == 0, (pred[known] + 1) % 3, pred[known])
    log = supply(known, truth)
    metric = specification.find_metric(
        "accuracy", specification.describe_pool(pool.roles, None, pool)
    )
    view = build_view(log, pool, CHOICES, [metric], seed=1, own_view=True)
    surrogate = view.evidence.surrogate
    members = surrogate.draw_members(module._MEMBERS, make_generator(1, 1, "passes"))
    right = surrogate.beliefs(pool.rows(0, 40), metric.statistics, members).known_draws[..., 0]
    likelier = right >= 0.5
    assert 0 < likelier[:, 10:].mean() < 1
    by_pass = (np.sum(pred[known] == truth) + likelier[:, 10:].sum(axis=1)) / 40
    assert view.value(metric, "alt-mas").value == approx(by_pass.mean(), abs=1e-6)
    nothing = view.value(metric, "alt-mas[plug-in=nothing]").value
    assert nothing == approx(likelier.mean(), abs=1e-6)


def test_values_have_no_most_probable_class(tmp_path):
    values = np.linspace(0, 2, 12)
    pool = build_table(tmp_path, {"id": range(12), "pred": values})
    metric = specification.find_metric("mae", specification.describe_pool(pool.roles, None, pool))
    choices = Choices("mae", ("mae",), "residual")
    view = build_view(
        supply([0, 1, 2], [0.1, 0.2, 0.1]), pool, choices, [metric], seed=1, own_view=True
    )
    with pytest.raises(NotEstimable, match="predicts values"):
        view.value(metric, "alt-mas")
