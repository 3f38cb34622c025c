"""MC dropout: masks cut units out, and the surest rows are learned as the black box has them."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.nouns.rows import Outputs
from activetest.surrogates import mc_dropout
from activetest.surrogates._inputs import prepare_training_data

torch = pytest.importorskip("torch")


def test_cutting_units_out_is_multiplying_them_with_a_mask(value_pool):
    """As torch has it: hidden values times mask over the share kept."""
    pool = value_pool()
    surrogate = mc_dropout.fit(pool.training(0, train=True), rng=np.random.default_rng(1))
    params = surrogate.params()
    rng = np.random.default_rng(params["seed"])
    first, second = (torch.from_numpy(rng.random((50, 256)) >= 0.5) / 0.5 for _ in range(2))
    inputs = (pool.rows.features - params["center"]) / params["scale"]
    layers = [
        (torch.from_numpy(params[f"weights_{n}"][0]), torch.from_numpy(params[f"bias_{n}"][0]))
        for n in range(3)
    ]
    hidden = (torch.from_numpy(inputs.astype(np.float32)) @ layers[0][0] + layers[0][1]).relu()
    hidden = ((hidden * first[:, None]) @ layers[1][0] + layers[1][1]).relu()
    means = ((hidden * second[:, None]) @ layers[2][0] + layers[2][1])[..., 0].numpy()
    exact = params["level"] + params["spread"] * means
    assert surrogate.members.draws(pool.rows, np.arange(50))[0] == approx(exact, abs=1e-4)


# --- the augmentation: ALT-MAS, section 3.1


def augmented(training, seed: int = 2):
    """The training data before and after."""
    rng = np.random.default_rng(seed)
    taught = prepare_training_data(training, rng=rng)
    return taught, mc_dropout._augment(torch, training, taught, rng=rng)


def test_a_box_that_was_always_right_labels_all_the_rows_that_nobody_has(class_pool):
    pool = class_pool(300)
    training = pool.training(50)
    training = replace(training, labels=training.rows.outputs.pred.astype(float))
    taught, more = augmented(training)
    unknown = training.background.index >= 50
    added = slice(len(taught.labels), None)
    assert sorted(more.labels[added]) == sorted(training.background.outputs.pred[unknown])
    assert (more.weights[added] == 1).all()
    assert (more.inputs[: added.start] == taught.inputs).all()


def test_a_box_that_was_never_right_labels_none(class_pool):
    pool = class_pool(300)
    training = pool.training(50)
    training = replace(training, labels=(training.rows.outputs.pred + 1.0) % 3)
    taught, more = augmented(training)
    assert len(more.labels) == len(taught.labels)


def test_rows_where_the_box_was_wrong_are_left_out(class_pool):
    """A box that is wrong wherever the first feature is positive: few of those rows are added."""
    pool = class_pool()
    training = pool.training(150)
    positive = training.rows.features[:, 0] > 0
    pred = training.rows.outputs.pred
    training = replace(training, labels=np.where(positive, (pred + 1) % 3, pred).astype(float))
    taught, more = augmented(training)
    added = more.inputs[len(taught.labels) :]
    assert len(added) > 30
    assert (added[:, 0] > 0).mean() < 0.1
    assert (training.background.features[:, 0] > 0).mean() > 0.3


def test_hard_labels_are_enough(class_pool):
    pool = class_pool(300)
    pool.rows = replace(pool.rows, outputs=Outputs(pool.rows.outputs.pred))
    surrogate = mc_dropout.fit(pool.training(40), rng=np.random.default_rng(1))
    probs = surrogate.members.probs(pool.rows)
    assert (probs.argmax(axis=1) == pool.labels).mean() > 0.6


def test_with_training_rows_nothing_is_added(class_pool):
    training = class_pool().training(50, train=True)
    surrogate = mc_dropout.fit(training, rng=np.random.default_rng(1))
    assert not surrogate.params()["outputs"]
    assert len(surrogate.params()["center"]) == 2


def test_the_minority_is_drawn_again_until_it_is_as_many():
    right = np.array([True] * 7 + [False] * 2)
    index = mc_dropout.balance_classes(right, np.random.default_rng(3))
    assert right[index].sum() == (~right[index]).sum() == 7
    assert set(index) == set(range(9))
    alone = mc_dropout.balance_classes(np.ones(4, bool), np.random.default_rng(3))
    assert sorted(alone) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("said", "right", "threshold", "precision"),
    [
        # The first two are right, the third is not: precision 1 down to 0.8.
        ([0.9, 0.8, 0.7, 0.6], [1, 1, 0, 1], 0.8, 1.0),
        # The most confident is wrong: 3 of 4 is the best there is.
        ([0.9, 0.8, 0.7, 0.6], [0, 1, 1, 1], 0.6, 0.75),
        # A threshold cannot part equals: 1 of 2, then 2 of 3.
        ([0.8, 0.8, 0.7], [1, 0, 1], 0.7, 2 / 3),
        ([0.8, 0.7], [0, 0], 0.7, 0.0),
    ],
)
def test_the_threshold_has_the_highest_precision_and_calls_most_rows(
    said, right, threshold, precision
):
    found = mc_dropout.find_threshold(np.array(said), np.array(right))
    assert found == approx((threshold, precision))


def test_half_a_precision_keeps_half_of_what_passes_the_surest_first():
    said = np.array([0.1, 0.9, 0.6, 0.8, 0.7])
    assert mc_dropout.select_surest(said, 0.6, 0.5).tolist() == [1, 3]
    assert mc_dropout.select_surest(said, 0.6, 1.0).tolist() == [1, 3, 4, 2]
    assert mc_dropout.select_surest(said, 0.6, 0.0).tolist() == []
