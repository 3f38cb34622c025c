"""ASE: known labels as they are, and the surrogate for the rest."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import NotEstimable
from activetest.estimators import ase
from activetest.nouns.estimate import Sample

NOTHING = np.zeros((2, 1))
TOLD = Sample(
    stats=np.array([[1.0], [0.0]]),
    q=np.array([0.5, 0.5]),
    weights=np.array([0.5, 0.5]),
    known_sum=NOTHING,
    imputed=NOTHING,
    imputed_sum=NOTHING,
    inside=np.ones(2),
    left=np.ones(2),
    size=10,
    total=np.array([1.0]),
    unknown=8,
    counted=np.ones(2),
    uniform=False,
    limits=np.array([[0.1], [0.9]]),
    expect=lambda weights: (np.zeros(2), np.zeros(2)),
    label_variance=lambda weights: 0.0,
    surrogate=np.array([2.0]),
    posterior=np.array([[1.0], [2.0], [3.0]]),
)


def test_it_adds_what_is_known_to_what_the_surrogate_expects():
    assert ase.estimate(TOLD).mean[0] == approx((1 + 2) / 10)


def test_its_spread_is_that_of_the_members():
    estimated = ase.estimate(TOLD)
    assert estimated.draws[:, 0] == approx([0.2, 0.3, 0.4])
    assert estimated.variance[0, 0] == approx(0.01)


def test_how_the_labels_were_drawn_does_not_matter():
    other = replace(TOLD, q=np.array([0.01, 0.9]), weights=np.array([0.9, 0.1]))
    assert ase.estimate(other).mean == approx(ase.estimate(TOLD).mean)


def test_it_has_no_terms_for_intervals_that_need_draws():
    estimated = ase.estimate(TOLD)
    assert (
        len(estimated.terms)
        == len(estimated.guess)
        == len(estimated.weights)
        == len(estimated.inside)
        == 0
    )
    assert estimated.model_variance == 0
    assert estimated.freedom == np.inf


def test_without_the_surrogates_view_it_does_not_exist():
    with pytest.raises(NotEstimable):
        ase.estimate(replace(TOLD, surrogate=None, posterior=None))


def test_the_literal_equation_has_the_surrogate_speak_for_every_item():
    whole = replace(TOLD, surrogate=np.array([4.0]), posterior=np.array([[3.0], [4.0], [8.0]]))
    estimated = ase.estimate(whole, plug_in="nothing")
    assert estimated.mean[0] == approx(0.4)
    assert estimated.draws[:, 0] == approx([0.3, 0.4, 0.8])
    # The range that labels leave possible does not bind it, not even when all are known.
    assert estimated.ignores_labels
    assert ase.estimate(replace(whole, unknown=0), plug_in="nothing").mean[0] == approx(0.4)
    assert ase.estimate(replace(TOLD, unknown=0)).exact


def test_another_plug_in_is_refused():
    with pytest.raises(ValueError, match="plug_in"):
        ase.estimate(TOLD, plug_in="everything")
