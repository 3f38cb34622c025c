"""Gradients of the joint model, and what its potential begins with."""

from dataclasses import fields, replace

import numpy as np
import pytest

from activetest.nouns.surface import Attributes
from activetest.nouns.uncertain import UncertainAttributes
from activetest.wings.surfaces.attribute_models import full
from tests.wings.surfaces.attribute_models.makers import make_attributes


def shift(now: full.Parameters, name: str, place: int, step: float) -> full.Parameters:
    """The parameters with one number changed."""
    values = getattr(now, name).copy()
    values.flat[place] += step
    return replace(now, **{name: values})


@pytest.mark.parametrize("dropped", [False, True])
def test_the_direction_is_the_gradient_by_finite_differences(dropped):
    rng = np.random.default_rng(5)
    data, codes = make_attributes(rng, items=60, gold=20)
    data.known[5, 1] = -1
    data.known[25, 0] = codes[25, 0]
    data = UncertainAttributes(
        data.attributes,
        {0: data.probs[0], 1: data.probs[1]},
        np.column_stack([data.known[:, :2], codes[:, 2]]),
    )
    potential = full.prepare_potential(data)
    now = full.begin(data, potential.onehot.shape[1], rng)
    now = now.map(lambda values: values + 0.3 * rng.standard_normal(values.shape))
    gold = np.array([0, 5, 7, 25])
    others = np.array([30, 41, 59])

    def evaluate(at: full.Parameters, unlabelled: np.ndarray) -> float:
        return full.find_direction(data, potential, at, gold, unlabelled, dropped=dropped)[0]

    _, direction = full.find_direction(data, potential, now, gold, others, dropped=dropped)
    for each in fields(now):
        # Temperatures learn from known values alone.
        unlabelled = others[:0] if each.name == "log_t" else others
        for place in range(min(getattr(now, each.name).size, 6)):
            high, low = (
                evaluate(shift(now, each.name, place, step), unlabelled) for step in (1e-5, -1e-5)
            )
            found = getattr(direction, each.name).flat[place]
            np.testing.assert_allclose(found, (high - low) / 2e-5, rtol=1e-5, atol=1e-8)
            if dropped:
                assert each.name == "log_t" or found == 0


def test_the_potential_begins_with_how_often_combinations_are_predicted_together():
    attributes = Attributes(("a", "b"), (("0", "1"), ("0", "1")))
    first = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    second = np.array([0, 0, 0, 1, 1, 1, 1, 0])
    probs = {0: np.eye(2, dtype=np.float32)[first], 1: np.eye(2, dtype=np.float32)[second]}
    data = UncertainAttributes(attributes, probs, np.full((8, 2), -1, np.int32))
    # Independent values would stand together twice in every cell.
    expected = np.log(np.array([[4, 2, 2, 4]]) / 3)
    np.testing.assert_allclose(full.prepare_potential(data).prior, expected)
