"""A surrogate that knows every label."""

import numpy as np
from pytest import approx

from activetest.item_statistics.statistic import statistic
from activetest.nouns.beliefs import moments
from activetest.rounds.known_labels import KnownLabels
from tests.makers import label_items

STATISTICS = (statistic("zero_one"), statistic("log_loss"))


def test_it_expects_the_truth_and_doubts_nothing(pool):
    truth = label_items(pool)
    rows = pool.rows(5, 30)
    known = KnownLabels(truth)
    wrong = np.arange(5, 30) % 3 == 0
    mean, variance = moments(known.beliefs(rows, STATISTICS))
    assert (mean[0] == wrong).all() and (variance == 0).all()
    assert (known.expected(rows, STATISTICS) == mean).all()
    assert known.params() == {}


def test_all_its_members_are_one(pool):
    rows = pool.rows(0, 12)
    known = KnownLabels(label_items(pool))
    members = known.draw_members(3, np.random.default_rng(0))
    assert known.beliefs(rows, STATISTICS, members).known_draws.shape == (1, 12, 1)
    mean, variance = known.totals(rows, members, STATISTICS)
    assert mean.shape == variance.shape == (3, 2) and (variance == 0).all()
    assert (mean == mean[0]).all() and mean[0, 0] == approx(4)
