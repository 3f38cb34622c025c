"""Shares of items for arms."""

import numpy as np

from activetest import catalog
from activetest.nouns.surface import Attributes, SurfaceData
from activetest.nouns.uncertain import JointModel, UncertainAttributes
from activetest.rounds import membership
from tests.attribute_models.makers import make_attributes


def test_shares_of_an_item_sum_to_one_and_known_items_have_one_arm():
    data, codes = make_attributes(np.random.default_rng(2), gold=50)
    model = catalog.load("attribute_models", "full").fit(data, rng=np.random.default_rng(0))
    arms = membership.spread_items(membership.FittedAttributes(data, model, "full"))
    shares = arms.membership
    np.testing.assert_allclose(np.asarray(shares.sum(axis=1)).ravel(), 1, rtol=1e-5)
    np.testing.assert_allclose(arms.support.sum(), len(data), rtol=1e-5)
    counts = np.diff(shares.indptr)
    assert (counts[:50] == 1).all() and counts[50:].max() > 3
    assert (arms.codes[arms.of_item[:50]] == codes[:50]).all()
    whole = model.predict(data, np.arange(len(data)))
    order = [int(arms.attributes.number(code[None])[0]) for code in arms.codes]
    difference = np.abs(whole[:, order] - shares.toarray())
    assert difference.max() < 0.12 and shares.data.min() >= 0.01


def test_small_shares_are_left_out_but_never_the_largest():
    probs = np.array([[0.5, 0.495, 0.005, 0.0], [0.006, 0.005, 0.005, 0.003]])
    kept = membership._choose_shares(probs)
    assert kept.tolist() == [[True, True, False, False], [True, False, False, False]]
    many = membership._choose_shares(np.full((2, 50), 0.02))
    assert many.sum(axis=1).tolist() == [20, 20]


def test_fractional_counts_reach_the_surface():
    attributes = Attributes(("a",), (("0", "1"),))
    probs = np.array([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]], np.float32)
    known = np.array([[-1], [-1], [0]], np.int32)
    data = UncertainAttributes(attributes, {0: probs}, known)
    arms = membership.spread_items(membership.FittedAttributes(data, JointModel(np.ones(1)), "raw"))
    np.testing.assert_allclose(arms.support, [1.75, 1.25])
    surface_data = SurfaceData(
        arms=arms,
        items=np.array([0, 1, 2]),
        values=np.array([1.0, 0.0, 1.0]),
        weights=np.ones(3),
        confidence=None,
        predicted=np.zeros(3, np.int32),
        classes=2,
    )
    np.testing.assert_allclose(surface_data.counts, [[1.25, 0.5], [0.75, 0.5]])
    surface = catalog.load("surfaces", "beta").fit(surface_data, rng=np.random.default_rng(0))
    mean = 2 / 3
    expected = [(0.1 * mean + 1.25) / 1.85, (0.1 * mean + 0.75) / 1.35]
    np.testing.assert_allclose(surface.mean, expected)
