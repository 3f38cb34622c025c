"""The plain mean exists for uniform draws only."""

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx

from activetest.errors import NotEstimable
from activetest.estimators import iid, lure
from activetest.nouns.estimate import Sample

STATS = np.array([[1.0], [0.0], [0.0], [1.0], [1.0]])
AHEAD = 20 - np.arange(5.0)
UNIFORM = Sample(
    stats=STATS,
    q=1 / AHEAD,
    weights=(1 / (AHEAD * (AHEAD - 1))) / (1 / (AHEAD * (AHEAD - 1))).sum(),
    known_sum=np.cumsum(STATS, axis=0) - STATS,
    imputed=np.zeros((5, 1)),
    imputed_sum=np.zeros((5, 1)),
    inside=np.ones(5),
    left=AHEAD,
    size=20,
    total=STATS.sum(axis=0),
    unknown=15,
    counted=np.ones(5),
    uniform=True,
    limits=np.array([[0.15], [0.9]]),
    expect=lambda weights: (np.zeros(5), np.zeros(5)),
    label_variance=lambda weights: 0.0,
)


def test_it_is_the_plain_mean_and_equals_lure():
    estimated = iid.estimate(UNIFORM)
    assert estimated.mean[0] == approx(3 / 5)
    assert estimated.mean == approx(lure.estimate(UNIFORM).mean)


def test_draws_that_were_not_uniform_are_refused_with_a_hint():
    with pytest.raises(NotEstimable, match="no plain mean") as refused:
        iid.estimate(replace(UNIFORM, uniform=False))
    assert "lure" in refused.value.hint
