"""Quadrature over the nodes of a Gaussian is exact for what a metric squares."""

import numpy as np
import pytest
from pytest import approx
from scipy.special import erf

from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.nouns.rows import Outputs, Rows
from activetest.surrogates._gaussian import node_beliefs

PRED = np.array([0.0, 1.0, -3.0, 100.0])
MEAN = np.array([0.0, 0.5, 2.0, 90.0])
VARIANCE = np.array([1.0, 0.01, 9.0, 400.0])


def expected(name: str):
    """(R,) mean and variance of a statistic."""
    empty = np.empty((4, 0))
    rows = Rows(np.arange(4), Outputs(PRED), empty, empty)
    mean, variance = moments(node_beliefs(rows, MEAN, VARIANCE, (statistic(name),)))
    return mean[0], variance[0]


def test_the_mean_and_variance_of_a_signed_loss_are_exact():
    mean, variance = expected("signed")
    assert mean == approx(PRED - MEAN)
    assert variance == approx(VARIANCE)


def test_the_mean_and_variance_of_a_squared_loss_are_exact():
    """A noncentral chi-square: variance 2 s^4 + 4 d^2 s^2."""
    distance = PRED - MEAN
    mean, variance = expected("squared")
    assert mean == approx(distance**2 + VARIANCE)
    assert variance == approx(2 * VARIANCE**2 + 4 * distance**2 * VARIANCE)


def test_the_mean_of_an_absolute_loss_is_within_six_percent_of_the_folded_normal():
    distance, deviation = PRED - MEAN, np.sqrt(VARIANCE)
    folded = deviation * np.sqrt(2 / np.pi) * np.exp(-(distance**2) / (2 * VARIANCE))
    folded += distance * erf(distance / np.sqrt(2 * VARIANCE))
    assert expected("absolute")[0] == approx(folded, rel=0.06)


@pytest.mark.parametrize("name", ["signed", "squared", "absolute"])
def test_without_variance_the_loss_is_that_of_the_mean(name):
    empty = np.empty((4, 0))
    rows = Rows(np.arange(4), Outputs(PRED), empty, empty)
    mean, variance = moments(node_beliefs(rows, MEAN, np.zeros(4), (statistic(name),)))
    distance = PRED - MEAN
    exact = {"signed": distance, "squared": distance**2, "absolute": np.abs(distance)}[name]
    assert mean[0] == approx(exact)
    assert variance[0] == approx(0, abs=1e-20)
