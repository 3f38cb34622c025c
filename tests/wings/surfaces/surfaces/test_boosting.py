"""Boosted trees on attribute values, in folds of arms."""

import numpy as np
import pytest

from activetest.nouns.surface import Attributes
from activetest.wings.surfaces.surfaces import _boosting as boosting

SIZES = (2, 2, 2, 3)
CODES = Attributes(tuple("abcd"), tuple(tuple(map(str, range(n))) for n in SIZES)).decode(
    np.arange(24)
)


def make_counts(labels: int) -> np.ndarray:
    """Right nearly always where two attributes agree, and else nearly never."""
    rate = np.where(CODES[:, 0] == CODES[:, 1], 0.95, 0.05)
    return labels * np.stack([rate, 1 - rate], axis=1)


def test_trees_learn_what_is_no_sum_of_attributes():
    mean = boosting.fit(CODES, make_counts(20), SIZES)(CODES)
    agree = CODES[:, 0] == CODES[:, 1]
    assert mean[agree].min() > 0.75 and mean[~agree].max() < 0.25


def test_labels_of_an_arm_do_not_move_its_own_mean():
    counts = make_counts(20)
    folds = boosting.assign_folds(np.arange(24))
    assert set(folds) == set(range(boosting.FOLDS))
    changed = counts.copy()
    changed[5] = changed[5, ::-1]
    k = folds[5]
    before = boosting.fit_folds(CODES, counts, SIZES, folds)[k](CODES)
    after = boosting.fit_folds(CODES, changed, SIZES, folds)[k](CODES)
    np.testing.assert_array_equal(before, after)


def test_folds_are_those_of_the_number_alone():
    numbers = np.array([7, 3, 1000, 7])
    assert boosting.assign_folds(numbers)[0] == boosting.assign_folds(numbers)[3]
    np.testing.assert_array_equal(
        boosting.assign_folds(numbers[::-1]), boosting.assign_folds(numbers)[::-1]
    )


def test_labels_of_one_kind_have_a_constant():
    counts = np.array([[3.0, 0], [2, 0]])
    mean = boosting.fit(CODES[:2], counts, SIZES)(CODES)
    np.testing.assert_allclose(mean, 5.5 / 6)
    assert boosting.fit(CODES[:0], counts[:0], SIZES)(CODES)[0] == pytest.approx(0.5)
