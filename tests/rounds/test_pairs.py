"""Learning which of two models is right where they differ."""

import numpy as np
import pytest
from pytest import approx
from scipy.optimize import minimize
from scipy.special import log_softmax

from activetest.rounds.pairs import FIRST, NEITHER, SECOND, find_probs, fit_shifts, write_logits


def draw_items(count: int = 60, *, several: bool = True):
    """Logits of items, and outcomes that favour the second model."""
    rng = np.random.default_rng(4)
    first = rng.uniform(0.1, 0.9, count)
    second = rng.uniform(0.1, 0.9, count) if several else 1 - first
    logits = write_logits(first, second, several=several)
    chances = find_probs(logits, np.array([-1.0, 0.3]))
    outcome = (chances.cumsum(axis=1) < rng.random((count, 1))).sum(axis=1)
    return logits, outcome


def test_without_labels_probabilities_are_the_surrogates_own_in_proportion():
    logits = write_logits(np.array([0.5, 0.9]), np.array([0.25, 0.9]), several=True)
    assert fit_shifts(logits[:0], np.zeros(0, int)) == approx([0, 0])
    probs = find_probs(logits, np.zeros(2))
    assert probs[0] == approx([0.5, 0.25, 0.25])
    # Both cannot be right: what is left for neither is 0.01 beside 0.9 and 0.9.
    assert probs[1] == approx(np.array([0.9, 0.9, 0.01]) / 1.81)


@pytest.mark.parametrize("count", [1, 5, 60])
@pytest.mark.parametrize("several", [True, False])
def test_shifts_are_where_the_posterior_is_largest(count, several):
    logits, outcome = (each[:count] for each in draw_items(several=several))
    design = np.array([[1.0, 0], [-1, 0], [0, 1]])

    def measure(shifts):
        moved = log_softmax(logits + design @ shifts, axis=1)
        return 0.5 * shifts @ shifts - moved[np.arange(count), outcome].sum()

    best = minimize(measure, np.zeros(2), tol=1e-12).x
    assert fit_shifts(logits, outcome) == approx(best, abs=1e-4)


def test_labels_that_favour_a_model_do_so_for_other_items():
    logits, outcome = draw_items()
    before, after = (
        find_probs(logits, each) for each in (np.zeros(2), fit_shifts(logits, outcome))
    )
    assert (outcome == SECOND).sum() > (outcome == FIRST).sum()
    assert (after[:, SECOND] > before[:, SECOND]).all()
    assert after.sum(axis=1) == approx(np.ones(len(after)))


def test_of_two_classes_one_model_is_right_and_another_label_says_nothing():
    logits, outcome = draw_items(several=False)
    assert (find_probs(logits, np.array([0.5, 3.0]))[:, NEITHER] == 0).all()
    strange = np.append(outcome, NEITHER), np.vstack([logits, logits[:1]])
    assert fit_shifts(strange[1], strange[0]) == approx(fit_shifts(logits, outcome))
