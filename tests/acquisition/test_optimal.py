"""The optimal score is the doubt about the statistic, and nothing else."""

import numpy as np
from pytest import approx

from activetest.acquisition import optimal
from activetest.nouns.beliefs import Beliefs

WRONG = np.array([0.0, 0.02, 0.5, 0.9, 1.0])


def zero_one(wrong: np.ndarray) -> Beliefs:
    """Outcomes [right, wrong] under zero-one loss."""
    outcome_values = np.broadcast_to([0.0, 1.0], (1, len(wrong), 2))
    return Beliefs(np.column_stack([1 - wrong, wrong]), outcome_values)


def test_under_zero_one_loss_it_is_the_standard_deviation_of_a_coin():
    assert optimal.score(zero_one(WRONG)) == approx(np.sqrt(WRONG * (1 - WRONG)))


def test_error_and_accuracy_want_the_same_rows():
    one = zero_one(WRONG)
    assert optimal.score(one) == approx(optimal.score(Beliefs(one.probs, 1 - one.outcome_values)))


def test_a_certain_loss_is_not_worth_a_label_however_large_it_is():
    beliefs = Beliefs(np.array([[0.3, 0.7]]), np.array([[[50.0, 50.0]]]))
    assert optimal.score(beliefs) == approx([0])


def test_doubt_inside_an_outcome_counts():
    beliefs = Beliefs(np.array([[0.5, 0.5]]), np.zeros((1, 1, 2)), np.array([[[0.0, 8.0]]]))
    assert optimal.score(beliefs) == approx([2])


def test_it_gives_draws_the_smallest_variance_of_all_scores():
    """sum_j v_j / q_j over a pool, against a hundred other score vectors."""
    wrong = np.random.default_rng(3).random(30)
    variance = wrong * (1 - wrong)

    def of_draws(score):
        return (variance * score.sum() / score).sum()

    best = of_draws(optimal.score(zero_one(wrong)))
    others = np.random.default_rng(4).random((100, 30))
    assert all(best < of_draws(other) for other in (*others, wrong, np.ones(30)))
