"""Every model of uncertain attributes, against sums over all combinations."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from activetest import catalog
from activetest.errors import ChoiceError
from activetest.nouns.surface import Attributes
from activetest.nouns.uncertain import JointModel, UncertainAttributes
from tests.wings.surfaces.attribute_models.makers import make_attributes


def fit(name: str, data: UncertainAttributes) -> JointModel:
    """The model of a method."""
    return catalog.load("attribute_models", name).fit(data, rng=np.random.default_rng(1))


@pytest.mark.parametrize("name", catalog.own_names("attribute_models"))
def test_the_normaliser_is_the_sum_over_all_combinations(name):
    data, codes = make_attributes(np.random.default_rng(0), items=400, gold=60)
    # The second attribute is certain.
    data = UncertainAttributes(
        data.attributes,
        {0: data.probs[0], 2: data.probs[2]},
        np.column_stack([data.known[:, 0], codes[:, 1], data.known[:, 2]]),
    )
    model = fit(name, data)
    rows = np.array([70, 80, 399])
    probs = model.predict(data, rows)
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    for place, row in enumerate(rows):
        weights = []
        for number, (a, c) in enumerate(product(range(2), range(3))):
            weight = data.probs[0][row, a].astype(float) ** model.temperatures[0]
            weight *= data.probs[2][row, c].astype(float) ** model.temperatures[1]
            if model.potential is not None:
                weight *= np.exp(model.potential[data.context[row], number])
                assert data.candidates[data.context[row], number].tolist() == [a, codes[row, 1], c]
            weights.append(weight)
        np.testing.assert_allclose(probs[place], np.array(weights) / sum(weights), rtol=1e-6)


@pytest.mark.parametrize("name", catalog.own_names("attribute_models"))
def test_what_is_known_is_certain_also_where_one_attribute_alone_is(name):
    data, codes = make_attributes(np.random.default_rng(0), items=400, gold=60)
    data.known[100, 1] = codes[100, 1]
    model = fit(name, data)
    probs = model.predict(data, np.array([3, 100, 200]))
    assert sorted(probs[0]) == [0] * 11 + [1]
    assert data.combinations[probs[0].argmax()].tolist() == codes[3].tolist()
    assert (probs[1] > 0).tolist() == (data.combinations[:, 1] == codes[100, 1]).tolist()
    assert (probs[2] > 0).all()


def test_temperatures_undo_what_multiplied_the_logits():
    sharpness = (0.5, 1.0, 3.0)
    data, _ = make_attributes(
        np.random.default_rng(3), items=5000, gold=4000, sharpness=sharpness, correlation=0.0
    )
    np.testing.assert_allclose(
        fit("temperature", data).temperatures, 1 / np.array(sharpness), rtol=0.1
    )
    # Known values alone decide, however few they are among the others.
    few = replace(data, known=np.where(np.arange(5000)[:, None] < 400, data.known, -1))
    np.testing.assert_allclose(
        fit("temperature", few).temperatures, 1 / np.array(sharpness), rtol=0.3
    )


def test_the_joint_model_is_better_than_temperatures_and_these_than_nothing():
    gains = []
    for seed in range(6):
        data, codes = make_attributes(
            np.random.default_rng(seed), items=1500, sharpness=(0.5, 1.0, 2.0)
        )
        truth, rows = replace(data, known=codes), np.flatnonzero(~data.gold)
        values = [
            fit(name, data).mean_log_likelihood(truth, rows)
            for name in ("raw", "temperature", "full")
        ]
        gains.append(np.diff(values))
    mean, error = np.mean(gains, axis=0), np.std(gains, axis=0, ddof=1) / np.sqrt(6)
    assert (mean > 2 * error).all(), (mean, error)


@pytest.mark.parametrize("name", catalog.having("attribute_models", "NEEDS_GOLD"))
def test_a_model_that_is_trained_needs_enough_known_values(name):
    data, _ = make_attributes(np.random.default_rng(0), items=100, gold=19)
    with pytest.raises(ChoiceError, match="19 items have known values of a0, a1, a2"):
        fit(name, data)


def test_too_many_combinations_are_refused_in_words():
    attributes = Attributes(("a", "b"), (tuple(map(str, range(400))),) * 2)
    probs = np.full((3, 400), 1 / 400, np.float32)
    known = np.full((3, 2), -1, np.int32)
    with pytest.raises(ChoiceError, match="a, b have 160,000 combinations"):
        UncertainAttributes(attributes, {0: probs, 1: probs}, known)
    certain = UncertainAttributes(attributes, {0: probs}, known * np.array([1, 0]))
    assert len(certain.combinations) == 400
