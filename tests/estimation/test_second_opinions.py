"""What another answer adds: by the weight of an item, and by how likely its label is wrong."""

import numpy as np
import pytest
from pytest import approx

from activetest.estimation import second_opinions
from activetest.estimation.second_opinions import Opinions, rank_classes, rank_values
from activetest.item_statistics.specification import describe_pool, find_metric
from activetest.nouns.choices import Choices
from activetest.rounds.fit import list_labelled
from tests.makers import build_pool, label_items, play_rounds

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
    from tests.makers import build_table

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
