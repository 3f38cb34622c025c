"""The value of another answer: by the weight of an item, and by how likely its label is wrong."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from activetest.estimation import second_opinions
from activetest.estimation.second_opinions import (
    Opinions,
    rank_classes,
    rank_values,
    select_soft,
    weigh_labels,
)
from activetest.item_statistics.specification import describe_pool, find_metric
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED
from activetest.rounds.fit import list_labelled
from tests.makers import (
    build_pool,
    build_table,
    label_items,
    play_rounds,
    set_status,
    supply_labels,
)

CHOICES = Choices(metric="error", metrics=("error",), surrogate="agreement")


@pytest.fixture
def pool(tmp_path):
    return build_pool(tmp_path, 120)


@pytest.fixture
def rank(pool):
    """rank(answers, soft=None) of 30 labelled items, and their labels and predictions."""
    log = play_rounds(pool, label_items(pool), (CHOICES, 30))
    metric = find_metric("error", describe_pool(pool.roles, None, pool))
    positions, labels = list_labelled(log)

    def found(answers, soft=None):
        opinions = Opinions(answers, soft, lambda codes: max(dict.fromkeys(codes), key=codes.count))
        return rank_classes(log, pool, CHOICES, metric, opinions, seed=1)

    return found, labels.astype(int), pool.take(positions).outputs.pred


def test_by_majority_an_answer_adds_only_where_it_can_change_the_label(rank):
    found, labels, _ = rank
    answers = [[("ann", code)] for code in labels]
    answers[3] = [("ann", labels[3]), ("bob", (labels[3] + 1) % 3)]
    answers[4] = [("ann", labels[4]), ("bob", labels[4])]
    added, cost = found(answers)
    assert added[3] > 0
    assert np.delete(added, 3) == approx(0, abs=1e-15)
    assert (added <= cost + 1e-15).all()


def test_labels_that_contradict_the_model_are_likelier_wrong(rank, monkeypatch):
    found, labels, pred = rank
    whole = second_opinions.weigh_labels

    def weigh_alike(*args, **named):
        shares, rows, linear = whole(*args, **named)
        return np.full(len(shares), 1 / len(shares)), rows, linear

    monkeypatch.setattr(second_opinions, "weigh_labels", weigh_alike)
    _, cost = found([[("ann", code)] for code in labels])
    assert cost[labels != pred].min() > np.median(cost[labels == pred])


def test_what_it_adds_grows_with_the_square_of_the_weight(rank, monkeypatch):
    found, labels, _ = rank
    answers = [[("ann", code), ("bob", (code + 1) % 3)] for code in labels]
    before = found(answers)
    whole = second_opinions.weigh_labels
    factors = np.linspace(1, 2, len(labels))

    def weigh_more(*args, **named):
        shares, rows, linear = whole(*args, **named)
        return shares * factors, rows, linear

    monkeypatch.setattr(second_opinions, "weigh_labels", weigh_more)
    for more, less in zip(found(answers), before, strict=True):
        assert more == approx(less * factors**2)


def test_dawid_skenes_doubt_is_worth_more_than_its_certainty(rank):
    found, labels, _ = rank
    answers = [[("ann", code), ("bob", code)] for code in labels]
    soft = np.full((len(labels), 3), 0.001)
    soft[np.arange(len(labels)), labels] = 0.998
    soft[7] = 0.01
    soft[7, labels[7]], soft[7, (labels[7] + 1) % 3] = 0.52, 0.47
    answers[7] = [("ann", labels[7]), ("bob", (labels[7] + 1) % 3)]
    added, cost = found(answers, soft)
    assert added[7] > 10 * np.delete(added, 7).max()
    assert cost[7] > added[7] > 0


def test_numbers_are_asked_again_where_answers_lie_apart(tmp_path):
    rng = np.random.default_rng(0)
    columns = {"id": [f"v{row}" for row in range(60)], "pred": rng.normal(size=60)}
    pool = build_table(tmp_path, columns)
    truth = columns["pred"] + rng.normal(size=60)
    choices = Choices(metric="mse", metrics=("mse",), surrogate="residual")
    log = play_rounds(pool, truth, (choices, 20))
    metric = find_metric("mse", describe_pool(pool.roles, None, pool))
    _, labels = list_labelled(log)
    values = [[label, label + 0.01] for label in labels]
    values[5] = [labels[5], labels[5] + 9]
    added, _ = rank_values(log, pool, choices, metric, values, seed=1)
    assert added.argmax() == 5


def test_numbers_that_were_given_once_are_as_uncertain_as_they_are_far_from_the_prediction(
    tmp_path, monkeypatch
):
    columns = {"id": ["a", "b", "c"], "pred": np.array([1.0, 2.0, 4.0])}
    pool = build_table(tmp_path, columns)
    weighed = np.array([0.5, 0.25, 0.1]), pool.rows(0, 3), None
    monkeypatch.setattr(second_opinions, "weigh_labels", lambda *_, **__: weighed)
    added, cost = rank_values(None, pool, None, None, [[3.0], [1.0, 4.0], [5.0, 5.0]], seed=1)
    assert cost == approx([0.25 * 4, 0.0625 * 4.5 / 2, 0])
    assert added == approx([0.25 * 4 / 2, 0.0625 * 4.5 / 6, 0])


# --- by hand


ANSWERS = [
    [("ann", 0)],
    [("ann", 1), ("bob", 2)],
    [("ann", 2), ("bob", 2), ("cat", 2)],
    [("bob", 3), ("ann", 3)],
]
# Of those that several answered, label by label: ann agrees 3 times of 3, bob 2 of 3, cat once.
ACCURACY = {"ann": 7 / 8, "bob": 6 / 8, "cat": 5 / 6}
TYPICAL = np.mean([7 / 8, 6 / 8, 5 / 6])


@pytest.fixture(params=["probabilities", "hard labels"])
def by_hand(request, tmp_path, monkeypatch):
    """A pool of four labelled items, their shares, and what is believed of their classes."""
    soft = request.param == "probabilities"
    probs = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.7, 0.2, 0.1]])
    columns = {"id": list("abcd"), "pred": ["x", "y", "z", "x"]}
    if soft:
        columns = {"id": list("abcd")}
        columns |= {f"prob_{name}": probs[:, code] for code, name in enumerate("xyz")}
    pool = build_table(tmp_path, columns)
    shares, wrong = np.array([0.4, 0.1, 0.3, 0.2]), np.array([0.1, 0.3, 0.2, 0.0])
    rows = pool.rows(0, 4)
    error = find_metric("error", describe_pool(pool.roles, None, pool)).statistics[0]
    surrogate = SimpleNamespace(expected=lambda rows, statistics: wrong[None])
    monkeypatch.setattr(second_opinions, "weigh_labels", lambda *_, **__: (shares, rows, error))
    monkeypatch.setattr(second_opinions, "get_surrogate", lambda *_, **__: surrogate)
    prior = np.zeros((4, 4))
    for at, code in enumerate((0, 1, 2, 0)):
        # The surrogate and the model are believed alike; nobody is surer than 0.99.
        doubt = (wrong[at] + 1 - probs[at, code]) / 2 if soft else max(wrong[at], 0.01)
        others = [each for each in range(4) if each != code]
        belief = np.array([*(probs[at] if soft else np.ones(3)), 0.0]) + 0.001
        prior[at, code] = 1 - doubt
        prior[at, others] = doubt * belief[others] / belief[others].sum()
    return pool, shares, prior


def expect_by_hand(shares, prior, soft=None):
    """The value of another answer and the present cost of doubt, item by item, answer by answer."""
    added, cost = np.zeros(4), np.zeros(4)
    for at, answers in enumerate(ANSWERS):
        predicted = (0, 1, 2, 0)[at]
        loss = [shares[at] * (code != predicted) for code in range(4)]
        given = np.ones(4)
        for annotator, code in answers:
            right = ACCURACY[annotator]
            given *= [right if each == code else (1 - right) / 3 for each in range(4)]
        if soft is not None:
            given = np.maximum([*soft[at], max(1 - sum(soft[at]), 1e-9)], 1e-9)
        chance = prior[at] * given / (prior[at] @ given)
        codes = [code for _, code in answers]
        label = majority(codes)
        if soft is not None:
            label = int(np.argmax([*soft[at], 1 - sum(soft[at])]))
        cost[at] = sum(chance[each] * (loss[each] - loss[label]) ** 2 for each in range(4))
        after = 0.0
        for answer in range(4):
            likely = np.where(np.arange(4) == answer, TYPICAL, (1 - TYPICAL) / 3)
            then = majority([*codes, answer]) if soft is None else int(np.argmax(given * likely))
            after += sum(
                chance[each] * likely[each] * (loss[each] - loss[then]) ** 2 for each in range(4)
            )
        added[at] = max(cost[at] - after, 0)
    return added, cost


def majority(codes) -> int:
    """The code given most often, the first of several."""
    return max(dict.fromkeys(codes), key=codes.count)


def test_what_an_answer_adds_is_the_error_now_less_the_expected_error_then(by_hand):
    pool, shares, prior = by_hand
    found = rank_classes(None, pool, None, None, Opinions(ANSWERS, None, majority), seed=1)
    expected = expect_by_hand(shares, prior)
    for one, other in zip(found, expected, strict=True):
        assert one == approx(other, rel=1e-6, abs=1e-9)
    assert (expected[1] > 0).all() and (expected[0] > 1e-4).any()


def test_dawid_skenes_probabilities_take_the_place_of_the_answers(by_hand, monkeypatch):
    pool, shares, prior = by_hand
    soft = np.array([[0.5, 0.3, 0.1], [0.0, 0.6, 0.4], [0.0, 0.1, 0.9], [0.2, 0.1, 0.1]])
    measured = second_opinions._measure_accuracy(None, Opinions(ANSWERS, soft, majority))
    # How sure it is of what they answered; outside the classes, whether they agree.
    hits = {"ann": (3, 0.6 + 0.9 + 1), "bob": (3, 0.4 + 0.9 + 1), "cat": (1, 0.9)}
    expected = {name: (right + 4) / (count + 5) for name, (count, right) in hits.items()}
    assert measured == (approx(expected), approx(np.mean(list(expected.values()))))
    monkeypatch.setattr(second_opinions, "_measure_accuracy", lambda *_: (ACCURACY, float(TYPICAL)))
    found = rank_classes(None, pool, None, None, Opinions(ANSWERS, soft, majority), seed=1)
    for one, other in zip(found, expect_by_hand(shares, prior, soft), strict=True):
        assert one == approx(other, rel=1e-6, abs=1e-9)


def test_nobody_is_taken_to_be_right_more_often_than_99_times_in_100():
    answers = [[("ann", 0), ("bob", 0)]] * 600
    accuracy, typical = second_opinions._measure_accuracy(None, Opinions(answers, None, majority))
    assert accuracy == {"ann": 0.99, "bob": 0.99} and typical == approx(0.99)


def test_labels_weigh_what_they_weigh_in_the_estimate(pool):
    truth = label_items(pool)
    log = play_rounds(pool, truth, (CHOICES, 12), (CHOICES, 12))
    metric = find_metric("f1[dog]", describe_pool(pool.roles, None, pool))
    shares, rows, linear = weigh_labels(log, pool, CHOICES, metric, seed=1)
    assert (rows.index == list_labelled(log)[0]).all()
    assert shares.sum() == approx(1, abs=0.3) and shares.min() > 0
    # The gradient of f1 = 2 tp / (2 tp + fp + fn) is in proportion to 2 (1 - f1), -f1, -f1.
    tp, fp, fn = (
        float(linear.value(pool.rows(0, 120).outputs[at], np.array([[label]])).item())
        for at, label in _find_outcomes(pool)
    )
    assert fp == approx(fn) and fp < 0 < tp
    # Without an estimate they are alike.
    nobody = set_status(log, np.arange(24), DECLINED)
    nobody = supply_labels(nobody, np.setdiff1d(np.arange(120), log.rows)[:4], truth)
    shares, _, _ = weigh_labels(nobody, pool, CHOICES, metric, seed=1)
    assert shares == approx(np.full(4, 1 / 120))


def _find_outcomes(pool):
    """A row that is predicted a dog, rightly and wrongly, and one that should have been."""
    pred = pool.rows(0, 120).outputs.pred
    dog, other = np.flatnonzero(pred == 1)[0], np.flatnonzero(pred != 1)[0]
    return (slice(dog, dog + 1), 1.0), (slice(dog, dog + 1), 0.0), (slice(other, other + 1), 1.0)


def test_probabilities_of_labels_are_those_of_labelled_items_drawn_ones_first(pool):
    truth = label_items(pool)
    log = play_rounds(pool, truth, (CHOICES, 6))
    assert select_soft(log) is None
    log = supply_labels(log, np.setdiff1d(np.arange(120), log.rows)[:3], truth)
    log = set_status(log, [2], DECLINED)
    soft = np.random.default_rng(0).dirichlet([1, 1, 1], 9)
    found = select_soft(replace(log, soft=soft[:6], supplied_soft=soft[6:]))
    assert (found == soft[[0, 1, 3, 4, 5, 6, 7, 8]]).all()
