"""Draws in proportion to the true loss."""

import numpy as np
from pytest import approx

from activetest.acquisition import oracle
from activetest.item_statistics.statistic import combine_statistics, statistic
from activetest.rounds.known_labels import KnownLabels
from tests.makers import label_items


def test_it_is_the_size_of_the_true_loss_and_no_surrogate_matters(pool):
    truth = label_items(pool)
    rows = pool.rows(0, pool.size)
    loss = statistic("log_loss")
    probs = rows.outputs.probs.astype(float)
    expected = -np.log(probs[np.arange(pool.size), truth.astype(int)])
    assert oracle.score(KnownLabels(truth).beliefs(rows, (loss,))) == approx(expected)
    below = combine_statistics((loss,), (-2.0,))
    assert oracle.score(KnownLabels(truth).beliefs(rows, (below,))) == approx(2 * expected)
