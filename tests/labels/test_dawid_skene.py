"""Dawid and Skene's annotators: found again by simulation, and harmless where nothing is known."""

from itertools import permutations

import numpy as np
import pytest
from pytest import approx

from activetest.labels.dawid_skene import fit_dawid_skene

HABITS = np.array(
    [
        [[0.95, 0.03, 0.02], [0.05, 0.90, 0.05], [0.02, 0.08, 0.90]],
        [[0.80, 0.10, 0.10], [0.25, 0.70, 0.05], [0.10, 0.05, 0.85]],
        [[0.60, 0.30, 0.10], [0.05, 0.90, 0.05], [0.05, 0.35, 0.60]],
        [[0.85, 0.10, 0.05], [0.10, 0.80, 0.10], [0.30, 0.10, 0.60]],
    ]
)
PREVALENCE = np.array([0.6, 0.3, 0.1])


def answered(rng, count: int, habits=HABITS, prevalence=PREVALENCE):
    """True classes (I,), and (items, annotators, labels) where every annotator answers all."""
    truth = rng.choice(len(prevalence), count, p=prevalence)
    items = np.repeat(np.arange(count), len(habits))
    annotators = np.tile(np.arange(len(habits)), count)
    chances = habits[annotators, truth[items]].cumsum(axis=1)
    labels = (rng.random(len(items))[:, None] > chances).sum(axis=1)
    return truth, (items, annotators, labels)


def test_habits_and_prevalence_of_a_large_crowd_are_found_again():
    truth, answers = answered(np.random.default_rng(0), 4000)
    found = fit_dawid_skene(*answers, (4000, 4, 3))
    # A share of 400 items or more is known to 0.025; twice that for what is latent.
    np.testing.assert_allclose(found.confusion, HABITS, atol=0.07)
    np.testing.assert_allclose(found.prevalence, PREVALENCE, atol=0.03)
    right = (found.posterior.argmax(axis=1) == truth).mean()
    items, annotators, labels = answers
    logs = np.tile(np.log(PREVALENCE), (4000, 1))
    np.add.at(logs, items, np.log(HABITS)[annotators, :, labels])
    votes = np.zeros((4000, 3))
    np.add.at(votes, (items, labels), 1)
    assert right > (logs.argmax(axis=1) == truth).mean() - 0.002
    assert right > (votes.argmax(axis=1) == truth).mean()


def test_the_posterior_means_what_it_says():
    truth, answers = answered(np.random.default_rng(1), 4000)
    sure = fit_dawid_skene(*answers, (4000, 4, 3)).posterior
    best, claimed = sure.argmax(axis=1), sure.max(axis=1)
    for low, high in [(0.5, 0.8), (0.8, 0.95), (0.95, 1.01)]:
        inside = (claimed >= low) & (claimed < high)
        error = np.sqrt(claimed[inside] @ (1 - claimed[inside])) / inside.sum()
        gap = (best == truth)[inside].mean() - claimed[inside].mean()
        assert abs(gap) < 4 * error + 0.01


def test_a_thousand_answers_about_an_item_are_no_less_than_a_few():
    """Their probability is below the smallest number: only its logarithm can be kept."""
    crowd = 1500
    labels = np.concatenate([np.arange(crowd) % 5 == 0, np.arange(crowd) % 5 > 0]).astype(int)
    items, annotators = np.repeat([0, 1], crowd), np.tile(np.arange(crowd), 2)
    found = fit_dawid_skene(items, annotators, labels, (2, crowd, 2))
    assert found.posterior == approx(np.eye(2), abs=1e-9)


def test_with_one_answer_per_item_the_answers_are_taken_as_they_are():
    rng = np.random.default_rng(2)
    labels = rng.choice(3, 50, p=[0.9, 0.08, 0.02])
    found = fit_dawid_skene(np.arange(50), rng.integers(4, size=50), labels, (50, 4, 3))
    assert np.array_equal(found.posterior, np.eye(3)[labels])


def test_unanimous_answers_keep_their_label():
    truth = np.array([0, 1, 2, 0, 1, 0] * 3)
    answers = (np.repeat(np.arange(18), 3), np.tile(np.arange(3), 18), np.repeat(truth, 3))
    posterior = fit_dawid_skene(*answers, (18, 3, 3)).posterior
    assert np.array_equal(posterior.argmax(axis=1), truth)
    assert (posterior.max(axis=1) > 0.97).all()


def test_few_answers_prove_nothing_about_an_annotator():
    # The third answers once and is outvoted: nobody is never right because of that.
    items, annotators, labels = [0, 0, 0, 1, 1], [0, 1, 2, 0, 1], [0, 0, 1, 1, 1]
    found = fit_dawid_skene(*map(np.array, (items, annotators, labels)), (2, 3, 2))
    assert found.posterior.argmax(axis=1).tolist() == [0, 1]
    assert 0.5 < found.confusion[2, 0, 0] < 0.8


def test_an_annotator_who_says_the_same_about_everything_is_not_believed():
    rng = np.random.default_rng(3)
    lazy = np.array([[1.0, 0.0], [1.0, 0.0]])
    good = np.array([[0.9, 0.1], [0.1, 0.9]])
    habits = np.stack([good, good, lazy, lazy, lazy])
    truth, answers = answered(rng, 300, habits, np.array([0.5, 0.5]))
    best = fit_dawid_skene(*answers, (300, 5, 2)).posterior.argmax(axis=1)
    # The majority says 0 about all of them.
    assert (best == truth).mean() > 0.8


@pytest.mark.parametrize("order", list(permutations(range(3)))[1:])
def test_names_of_annotators_classes_and_items_do_not_matter(order):
    _, (items, annotators, labels) = answered(np.random.default_rng(4), 40, HABITS[:3])
    sizes, order = (40, 3, 3), np.array(order)
    found = fit_dawid_skene(items, annotators, labels, sizes)
    other = fit_dawid_skene(39 - items, order[annotators], order[labels], sizes)
    assert other.posterior[::-1][:, order] == approx(found.posterior, abs=1e-6)
    assert other.confusion[order][:, order][:, :, order] == approx(found.confusion, abs=1e-6)


def test_probabilities_sum_to_one_also_where_nobody_answered():
    _, answers = answered(np.random.default_rng(5), 20)
    found = fit_dawid_skene(*answers, (21, 5, 4))
    assert found.posterior.sum(axis=1) == approx(1)
    assert found.confusion.sum(axis=2) == approx(1)
    assert found.posterior[20] == approx(found.prevalence, abs=1e-3)


def test_one_class_and_no_answers_are_no_trouble():
    ones = np.ones(4, int)
    assert (fit_dawid_skene(ones, np.arange(4), 0 * ones, (2, 4, 1)).posterior[1] == 1).all()
    none = np.empty(0, int)
    assert fit_dawid_skene(none, none, none, (0, 0, 0)).posterior.shape == (0, 0)
