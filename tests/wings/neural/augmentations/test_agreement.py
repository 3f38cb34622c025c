"""Items that are learned with the black box's labels: ALT-MAS, section 3.1."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.surrogates._training_data import prepare_training_data
from activetest.wings.neural.augmentations import agreement
from activetest.wings.neural.augmentations.agreement import (
    balance_classes,
    choose_augmented,
    find_threshold,
    score_pool,
    select_surest,
    split_labels,
)
from activetest.wings.neural.surrogates import mc_dropout

USERS = ("ensemble", "forest", "gp", "linear", "mc-dropout", "radial-bnn")


class PoolOfRows:
    """A pool as the augmentation sees it, and the numbers of rows that it read at a time."""

    def __init__(self, rows, chunk: int = 100):
        self.all, self.chunk, self.size, self.read = rows, chunk, len(rows.index), []

    def chunks(self):
        ends = range(0, self.size, self.chunk)
        return [(start, min(start + self.chunk, self.size)) for start in ends]

    def rows(self, start, stop):
        return self.take(np.arange(start, stop))

    def take(self, positions):
        self.read.append(len(positions))
        return self.all[np.asarray(positions)]


def known(pool, count: int, *, train: bool = False, augment: str = "agreement"):
    """A training set of the first labels of a pool."""
    rows = PoolOfRows(pool.rows)
    return replace(pool.training(count, train=train), augment=augment, pool=rows, background=None)


def with_right(training, right):
    """The training set with labels that agree with the box where right (M,)."""
    pred = training.rows.outputs.pred
    return replace(training, labels=np.where(right, pred, (pred + 1) % 3).astype(float))


def chosen(training, seed: int = 2):
    return choose_augmented(training, rng=np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("scores", "right", "threshold", "hits", "reached"),
    [
        # The first two are right, the third is not: precision 1 down to 0.8.
        ([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1], 0.8, 2, 2),
        # The most confident is wrong: 3 of 4 is the best there is.
        ([0.9, 0.8, 0.7, 0.6], [0, 1, 1, 1], 0.6, 3, 4),
        # 1 of 2 at 0.8 and at 0.6: the lower one is reached by more.
        ([0.9, 0.8, 0.7, 0.6], [0, 1, 0, 1], 0.6, 2, 4),
        # A threshold cannot part equals: 1 of 2, then 2 of 3.
        ([0.8, 0.8, 0.7], [1, 0, 1], 0.7, 2, 3),
        ([0.8, 0.7], [0, 0], 0.7, 0, 2),
    ],
)
def test_the_threshold_has_the_highest_precision_and_calls_most_rows(
    scores, right, threshold, hits, reached
):
    found = find_threshold(np.array(scores), np.array(right))
    assert found == (threshold, hits, reached)


def test_as_many_are_learned_as_the_precision_says_the_most_confident_first():
    scores, rng = np.array([0.6, 0.9, 0.7, 0.8]), np.random.default_rng(1)
    assert select_surest(scores, 1, 2, rng).tolist() == [1, 3]
    assert select_surest(scores, 5, 5, rng).tolist() == [1, 3, 2, 0]
    assert select_surest(scores, 0, 5, rng).tolist() == []
    # 0.29 times 100 is 28.999... in floating point.
    assert len(select_surest(np.zeros(100), 29, 100, rng)) == 29


def test_equal_scores_are_learned_in_random_order_not_in_that_of_the_pool():
    first = select_surest(np.zeros(1000), 1, 2, np.random.default_rng(1))
    assert 200 < (first < 500).sum() < 300


def test_the_minority_is_drawn_again_until_it_is_as_many():
    right = np.array([True] * 7 + [False] * 2)
    index = balance_classes(right, np.random.default_rng(3))
    assert right[index].sum() == (~right[index]).sum() == 7
    assert set(index) == set(range(9))
    alone = balance_classes(np.ones(4, bool), np.random.default_rng(3))
    assert sorted(alone) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("right", "wrong", "validated"),
    # Three in ten of each kind, rounded up; one of each kind always remains for training.
    [(70, 30, (21, 9)), (99, 1, (30, 0)), (1, 5, (0, 2)), (2, 0, (1, 0)), (1, 0, (0, 0))],
)
def test_labels_are_split_alike_for_right_and_wrong_ones(right, wrong, validated):
    labels = np.array([True] * right + [False] * wrong)
    train, validation = split_labels(labels, np.random.default_rng(4))
    assert (labels[validation].sum(), (~labels[validation]).sum()) == validated
    everything = sorted([*train, *validation])
    assert everything == list(range(right + wrong)) if sum(validated) else not everything


# --- which items


def test_when_all_labels_are_right_every_other_item_of_the_pool_is_learned(class_pool):
    """A model that is right 99 times in 100 often shows no error in 100 labels."""
    pytest.importorskip("torch")
    training = known(class_pool(), 100)
    training = with_right(training, np.ones(100, bool))
    assert chosen(training).tolist() == list(range(100, 600))


def test_when_all_labels_are_wrong_nothing_is_learned_and_no_item_read(class_pool):
    training = known(class_pool(), 100)
    training = with_right(training, np.zeros(100, bool))
    assert chosen(training).tolist() == []
    assert training.pool.read == []


@pytest.mark.parametrize("count", [0, 1])
def test_without_a_validation_part_nothing_is_learned(class_pool, count):
    training = known(class_pool(), count)
    training = with_right(training, np.ones(count, bool))
    assert chosen(training).tolist() == []


def test_two_labels_are_enough(class_pool):
    pytest.importorskip("torch")
    training = with_right(known(class_pool(), 2), np.ones(2, bool))
    assert len(chosen(training)) == 598


def test_without_a_right_validation_item_nothing_is_learned(class_pool):
    """The only right label is learned from, so that precision is 0."""
    training = with_right(known(class_pool(), 30), np.arange(30) == 7)
    assert chosen(training).tolist() == []


def test_without_a_wrong_validation_item_all_pass_that_are_as_confident_as_one(class_pool):
    """The only wrong label is learned from, and the items around it are left out."""
    pytest.importorskip("torch")
    training = known(class_pool(), 100)
    far = np.argmax(training.rows.features[:, 0])
    training = with_right(training, np.arange(100) != far)
    found = chosen(training)
    assert 100 < len(found) < 500
    left_out = np.setdiff1d(np.arange(100, 600), found)
    features = training.pool.all.features[:, 0]
    assert features[left_out].mean() > features[found].mean() + 0.5


def test_items_where_the_box_was_wrong_are_left_out_all_over_the_pool(class_pool):
    """A box that is wrong where the first feature is between 35 and 45; others have 30 and 50.

    Labels are of the first items.
    """
    pytest.importorskip("torch")
    pool = class_pool()
    pool.rows = replace(pool.rows, features=40 + 5 * pool.rows.features)
    training = known(pool, 150)
    training = with_right(training, abs(training.rows.features[:, 0] - 40) > 5)
    found = chosen(training)
    assert len(found) > 100 and found.min() >= 150
    assert (found[1:] > found[:-1]).all()
    assert (found > 500).sum() > 15
    wrong = abs(pool.rows.features[:, 0] - 40) <= 5
    assert wrong[found].mean() < 0.1 and wrong[150:].mean() > 0.3
    assert chosen(training).tolist() == found.tolist()


def test_a_pool_is_read_in_chunks_and_of_what_is_learned_no_more_than_is_held(
    class_pool, monkeypatch
):
    pytest.importorskip("torch")
    monkeypatch.setattr(agreement, "MOST_AUGMENTED", 60)
    training = known(class_pool(), 100)
    right = training.rows.features[:, 0] <= 1
    data = prepare_training_data(with_right(training, right), rng=np.random.default_rng(2))
    assert training.pool.read == [100] * 6 + [60]
    assert len(data.augmented) == 60 and len(data.labels) == 160
    rows = PoolOfRows(training.pool.all, 7)
    scores = score_pool(rows, lambda each: each.features[:, 0])
    assert scores == approx(training.pool.all.features[:, 0])
    assert max(rows.read) == 7


# --- what is learned


@pytest.fixture
def some_chosen(monkeypatch):
    """Items 300, 301 and 420 are what the classifier chooses."""
    positions = np.array([300, 301, 420])
    monkeypatch.setattr(agreement, "choose_augmented", lambda training, rng: positions)
    return positions


@pytest.mark.parametrize("train", [False, True])
def test_rows_are_training_rows_labelled_and_augmented_items_and_nothing_else(
    class_pool, some_chosen, train
):
    pool = class_pool()
    data = prepare_training_data(known(pool, 40, train=train), rng=np.random.default_rng(2))
    first = pool.train.features if train else np.empty((0, 2))
    features = pool.rows.features
    assert (data.inputs == np.concatenate([first, features[some_chosen], features[:40]])).all()
    labels = [pool.train.labels] * train + [pool.rows.outputs.pred[some_chosen], pool.labels[:40]]
    assert (data.labels == np.concatenate(labels)).all()
    assert (data.weights == 1).all() and not data.outputs
    assert (data.augmented == some_chosen).all()


def test_without_augmentation_rows_are_the_labelled_items_alone(class_pool):
    pool = class_pool()
    data = prepare_training_data(known(pool, 40, augment="none"), rng=np.random.default_rng(2))
    assert (data.inputs == pool.rows.features[:40]).all()
    assert (data.labels == pool.labels[:40]).all()
    assert data.augmented is None


def test_items_thinned_out_were_not_learned(class_pool, some_chosen):
    training = known(class_pool(), 40)
    data = prepare_training_data(training, rng=np.random.default_rng(2), most=42)
    assert data.augmented.tolist() == [300, 301] and len(data.labels) == 42


def test_the_network_is_trained_on_these_rows_and_remembers_the_augmented_ones(
    class_pool, some_chosen, monkeypatch
):
    pytest.importorskip("torch")
    seen = {}
    train_network = mc_dropout.train_dropout_network

    def watch(torch, data, **more):
        seen["inputs"] = data.inputs * data.scale + data.center
        seen["targets"] = data.targets
        return train_network(torch, data, **more)

    monkeypatch.setattr(mc_dropout, "train_dropout_network", watch)
    pool = class_pool()
    surrogate = mc_dropout.fit(known(pool, 40), rng=np.random.default_rng(1))
    places = [*some_chosen, *range(40)]
    assert seen["inputs"] == approx(pool.rows.features[places], abs=1e-5)
    assert (seen["targets"] == [*pool.rows.outputs.pred[some_chosen], *pool.labels[:40]]).all()
    again = mc_dropout.restore(surrogate.params())
    assert surrogate.augmented.tolist() == again.augmented.tolist() == some_chosen.tolist()
    assert surrogate.note.endswith(", 3 items learned as the model labels them")
    # A bit for each item up to the last one.
    assert surrogate.params()["augmented"].nbytes == 53
    assert (again.members.probs(pool.rows) == surrogate.members.probs(pool.rows)).all()


OTHERS = ["forest", "gp", "linear"]
OTHERS += [pytest.param(name, marks=pytest.mark.slow) for name in ("ensemble", "radial-bnn")]


@pytest.mark.parametrize("name", OTHERS)
def test_other_surrogates_learn_the_same_rows(class_pool, some_chosen, name):
    if name in ("ensemble", "radial-bnn"):
        pytest.importorskip("torch")
    pool = class_pool()
    module = catalog.load("surrogates", name)
    surrogate = module.fit(known(pool, 40), rng=np.random.default_rng(1))
    again = module.restore(surrogate.params())
    assert surrogate.augmented.tolist() == again.augmented.tolist() == some_chosen.tolist()
    # Probabilities of the box for a row do not enter.
    other = replace(pool.rows, outputs=replace(pool.rows.outputs, probs=None))
    assert (again.members.probs(other) == surrogate.members.probs(pool.rows)).all()
    plain = module.fit(known(pool, 40, augment="none"), rng=np.random.default_rng(1))
    assert plain.augmented is None and "augmented" not in plain.params()
    assert module.restore(plain.params()).augmented is None


@pytest.mark.parametrize("augment", ["none", "agreement"])
@pytest.mark.parametrize("name", USERS)
def test_without_any_row_every_member_gives_all_classes_the_same_probability(
    class_pool, name, augment
):
    if name in ("ensemble", "mc-dropout", "radial-bnn"):
        pytest.importorskip("torch")
    pool, module = class_pool(), catalog.load("surrogates", name)
    surrogate = module.fit(known(pool, 0, augment=augment), rng=np.random.default_rng(1))
    for each in (surrogate, module.restore(surrogate.params())):
        draws = each.members.draws(pool.rows, each.draw_members(4, np.random.default_rng(1)))
        assert draws.shape == (4, 600, 3)
        assert (draws == np.float32(1 / 3)).all()
        assert (each.members.probs(pool.rows) == np.float32(1 / 3)).all()
        assert (each.augmented is None) == (augment == "none")


@pytest.mark.parametrize("name", ["forest", "gp", "linear"])
def test_values_without_any_row_are_what_the_box_usually_predicts(value_pool, name):
    pool, module = value_pool(), catalog.load("surrogates", name)
    training = replace(pool.training(0), augment="none")
    surrogate = module.fit(training, rng=np.random.default_rng(1))
    for each in (surrogate, module.restore(surrogate.params())):
        mean, variance = each.members.moments(pool.rows)
        assert mean == approx(np.full(300, training.background.outputs.pred.mean()))
        assert variance == approx(np.full(300, training.scale**2))
        means, _ = each.members.draws(pool.rows, np.arange(3))
        assert means == approx(np.tile(mean, (3, 1)))


@pytest.mark.parametrize("name", ["forest", "gp", "linear"])
def test_values_without_augmentation_are_learned_from_features_alone(value_pool, name):
    pool, module = value_pool(), catalog.load("surrogates", name)
    training = replace(pool.training(60), augment="none")
    surrogate = module.fit(training, rng=np.random.default_rng(1))
    mean, _ = surrogate.members.moments(pool.rows)
    outputs = replace(pool.rows.outputs, pred=pool.rows.outputs.pred + 100)
    moved = replace(pool.rows, outputs=outputs)
    assert (module.restore(surrogate.params()).members.moments(moved)[0] == mean).all()
    # The mean of the labels predicts them worse.
    assert ((mean - pool.labels) ** 2).mean() < pool.labels.var()


def test_features_are_needed(class_pool):
    pool = class_pool()
    training = known(pool, 20)
    training = replace(training, rows=replace(training.rows, features=None))
    with pytest.raises(ChoiceError, match="augment='agreement'"):
        prepare_training_data(training, rng=np.random.default_rng(1))
