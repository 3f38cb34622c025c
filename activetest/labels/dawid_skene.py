"""Dawid & Skene (1979): true classes and annotators' error rates, each estimated from the other."""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.rows import Array

# The prior of an annotator, for every true class: as if four items had been labelled right and one
# wrong. Without it, an annotator with one answer would be never or always right.
_RIGHT, _WRONG = 4.0, 1.0
_SMALLEST_GAIN, _MOST_STEPS = 1e-9, 1000

# (A,) items, annotators and labels of the answers.
_Answers = tuple[Array, Array, Array]


@dataclass(frozen=True)
class Consensus:
    """The estimates for I items, J annotators and K classes.

    posterior    (I, K) probability of each item's true class
    confusion    (J, K, K) probability that annotator j answers l where the true class is k
    prevalence   (K,) share of each class among the items
    """

    posterior: Array
    confusion: Array
    prevalence: Array


def fit_dawid_skene(
    items: Array, annotators: Array, labels: Array, sizes: tuple[int, int, int]
) -> Consensus:
    """The most probable confusion matrices of the annotators, and the true classes given these.

    items, annotators, labels   (A,) item, annotator and label of each answer, as codes from 0
    sizes                       (I, J, K)

    Dawid & Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
    algorithm", equations 2.3 to 2.5, starting from the shares of votes, with pseudo-answers: EM
    then climbs to a mode of the posterior of the confusion matrices. The model's predictions are
    not used: where it errs on the same items as the annotators, it would look better than it is.
    Where no item has two answers, errors cannot be told from classes, and the answers are taken as
    they are.
    """
    item_count, _, classes = sizes
    votes = np.zeros((item_count, classes))
    np.add.at(votes, (items, labels), 1.0)
    posterior = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    prior = np.full((classes, classes), _WRONG / max(classes - 1, 1))
    np.fill_diagonal(prior, _RIGHT)
    answers = (items, annotators, labels)
    confusion, prevalence = _estimate_annotators(answers, posterior, sizes, prior)
    if len(votes) and votes.sum(axis=1).max() > 1:
        before = -np.inf
        for _ in range(_MOST_STEPS):
            posterior, fit = _estimate_classes(answers, confusion, prevalence, item_count)
            # The objective of EM: log-likelihood of the answers and the pseudo-answers.
            fit += (prior * np.log(confusion)).sum() + np.log(prevalence).sum()
            confusion, prevalence = _estimate_annotators(answers, posterior, sizes, prior)
            if fit - before < _SMALLEST_GAIN * item_count:
                break
            before = fit
    return Consensus(posterior, confusion, prevalence)


def _estimate_annotators(
    answers: _Answers, posterior: Array, sizes: tuple[int, int, int], prior: Array
) -> tuple[Array, Array]:
    """Confusion and prevalence under a posterior of the classes, each class counted once more."""
    items, annotators, labels = answers
    _, annotator_count, classes = sizes
    votes = np.zeros((annotator_count, classes, classes))
    np.add.at(votes, (annotators, labels), posterior[items])
    counts = votes.swapaxes(1, 2) + prior
    class_counts = posterior.sum(axis=0) + 1
    return counts / counts.sum(axis=2, keepdims=True), class_counts / class_counts.sum()


def _estimate_classes(
    answers: _Answers, confusion: Array, prevalence: Array, count: int
) -> tuple[Array, float]:
    """(I, K) posterior of the classes, and the log-likelihood of the answers."""
    items, annotators, labels = answers
    logs = np.tile(np.log(prevalence), (count, 1))
    np.add.at(logs, items, np.log(confusion)[annotators, :, labels])
    largest = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - largest)
    total = weights.sum(axis=1, keepdims=True)
    return weights / total, float((np.log(total) + largest).sum())
