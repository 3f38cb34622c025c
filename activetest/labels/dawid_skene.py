"""Dawid & Skene (1979): true classes and every annotator's habits, each learned from the other."""

from dataclasses import dataclass

import numpy as np

from activetest.nouns.rows import Array

# What an annotator is worth before anything is known, for every true class: as if four items had
# been labelled right and one wrong. Without it, whoever answered once is never or always right.
_RIGHT, _WRONG = 4.0, 1.0
_SMALLEST_GAIN, _MOST_STEPS = 1e-9, 1000


@dataclass(frozen=True)
class Consensus:
    """What the answers say about items and annotators; I items, J annotators, K classes.

    posterior    (I, K) probability of each item's true class
    confusion    (J, K, K) probability that annotator j says l where the truth is k
    prevalence   (K,) share of each class among the items
    """

    posterior: Array
    confusion: Array
    prevalence: Array


def dawid_skene(
    items: Array, annotators: Array, labels: Array, sizes: tuple[int, int, int]
) -> Consensus:
    """The most probable habits of the annotators, and the true classes given these.

    items, annotators, labels   (A,) who said what about which item, as codes from 0
    sizes                       (I, J, K)

    Dawid & Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
    algorithm", equations 2.3 to 2.5, from the shares of votes, with pseudo-answers: EM then climbs
    to a mode of the posterior of the habits. The black box has no say in it: where it slips on the
    same items as the annotators, it would look better than it is. Where no item has two answers
    nothing tells habits from classes, and the answers are taken as they are.
    """
    item_count, _, classes = sizes
    votes = np.zeros((item_count, classes))
    np.add.at(votes, (items, labels), 1.0)
    posterior = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    prior = np.full((classes, classes), _WRONG / max(classes - 1, 1))
    np.fill_diagonal(prior, _RIGHT)
    answers = (items, annotators, labels)
    confusion, prevalence = _habits(answers, posterior, sizes, prior)
    if len(votes) and votes.sum(axis=1).max() > 1:
        before = -np.inf
        for _ in range(_MOST_STEPS):
            posterior, fit = _truths(answers, confusion, prevalence, item_count)
            # The objective of EM: what the answers and the pseudo-answers say together.
            fit += (prior * np.log(confusion)).sum() + np.log(prevalence).sum()
            confusion, prevalence = _habits(answers, posterior, sizes, prior)
            if fit - before < _SMALLEST_GAIN * item_count:
                break
            before = fit
    return Consensus(posterior, confusion, prevalence)


def _habits(answers, posterior: Array, sizes, prior: Array) -> tuple[Array, Array]:
    """Confusion and prevalence under a posterior of the classes; every class is met once more."""
    items, annotators, labels = answers
    _, annotator_count, classes = sizes
    said = np.zeros((annotator_count, classes, classes))
    np.add.at(said, (annotators, labels), posterior[items])
    counts = said.swapaxes(1, 2) + prior
    met = posterior.sum(axis=0) + 1
    return counts / counts.sum(axis=2, keepdims=True), met / met.sum()


def _truths(answers, confusion: Array, prevalence: Array, count: int) -> tuple[Array, float]:
    """(I, K) posterior of the classes under these habits, and the log-likelihood of the answers."""
    items, annotators, labels = answers
    logs = np.tile(np.log(prevalence), (count, 1))
    np.add.at(logs, items, np.log(confusion)[annotators, :, labels])
    largest = logs.max(axis=1, keepdims=True)
    weights = np.exp(logs - largest)
    total = weights.sum(axis=1, keepdims=True)
    return weights / total, float((np.log(total) + largest).sum())
