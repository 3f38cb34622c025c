"""One latent-class model of several annotators and the black box: corrected labels, their doubt.

Given an item's true class, all raters answer independently: every annotator, and the black box,
whose answer is its prediction. Their choice of items may depend on the answers before.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import fdtrc

from activetest.nouns.rows import Array

# The prior of an annotator for every true class, as in Dawid-Skene; that of the true class for
# every predicted one, and of the corrections: as if one item had been seen, or were known.
_RIGHT, _WRONG, _ITEM = 4.0, 1.0, 1.0
# Steps of EM, and the largest change of a probability after which it ends: at the labels that are
# known, and from there in each replicate.
_FIT, _REFIT = (2000, 1e-8), (40, 1e-4)
# Replicates: at most, at least, and the numbers that all of them may have together.
_MOST, _FEWEST, _SIZE = 200, 50, 3_000_000
# Items that two or three annotators share, from which on their errors are estimated and tested.
NEEDS_SHARED = 20
# Pairs of raters that are tested, those that share most; and the part of the mean variance of their
# residuals that is added to each, so that none is without.
_PAIRS, _RIDGE = 15, 1e-3


@dataclass(frozen=True)
class Raters:
    """Evidence in the answers to n items, of K classes, J annotators and the black box.

    labels       (n, K) indicators of the classes with the expectation 1 where the class is the true
                 one and 0 elsewhere: they sum to 1, and may lie outside of 0 and 1
    posterior    (n, K) probability of each class
    confusion    (J + 1, K, K) probability of each answer (last) for each true class; the box last
    independent  p-value of raters who err independently; None where fewer than four raters share
                 enough items
    replicates   (P, B, K) labels of each of P patterns of answers in each replicate
    pattern      (n,) of each item
    times        (B, n) how often each item is in each replicate
    """

    labels: Array
    posterior: Array
    confusion: Array
    independent: float | None
    replicates: Array
    pattern: Array
    times: Array

    def measure_doubt(self, tables: Array, shares: Array) -> float:
        """The variance that not knowing the classes adds to a sum over items.

        tables (n, K) are the values of each item under each class, shares (n,) its weight in the
        sum, which together are those of the pool's items.

        Efron (1979), "Bootstrap methods": what refitted labels add to the variance of the sum over
        resampled items, and the variance of the pool's classes given its answers. Where refitting
        makes up for which items were resampled, so may the estimate by its own predictions: it
        adds no less than it varies itself.
        """
        known = (self.labels * tables).sum(axis=1)
        total = shares.sum()
        apart = shares * (known - (shares @ known / total if total else 0.0))
        moved = np.zeros(self.times.shape)
        for place in range(tables.shape[1]):
            change = self.replicates[self.pattern, :, place].T - self.labels[:, place]
            moved += change * (shares * tables[:, place])
        fixed, refit = self.times @ apart, (self.times * moved).sum(axis=1)
        added = max((fixed + refit).var() - fixed.var(), refit.var())
        mean = (self.posterior * tables).sum(axis=1)
        spread = np.maximum((self.posterior * tables**2).sum(axis=1) - mean**2, 0)
        return float(added + np.abs(shares) @ spread)


def fit_raters(
    answers: Array, predicted: Array, classes: int, weights: Array, rng: np.random.Generator
) -> Raters:
    """The mode of the model, the labels it corrects, and replicates of both.

    answers     (n, J) code of each annotator's answer, -1 where there is none
    predicted   (n,) code of the black box's
    weights     (n,) how many items of the pool each one stands for

    Dawid & Skene (1979), with the box as one more rater and items as often as they stand for
    others. The posterior p of a true class knows the box's prediction, but neither an item's group
    nor its score: to stay right where these tell more, it is corrected to p G^-1, where G[y, c] is
    the mean of p(c) over items of class y with the same prediction: one Newton step towards the
    largest likelihood in any part of the items.
    """
    seen, pattern, count = np.unique(
        np.column_stack([predicted, answers]), axis=0, return_inverse=True, return_counts=True
    )
    pattern = pattern.ravel()
    size, raters = len(answers), answers.shape[1]
    most = _SIZE // max(len(seen) * classes * max(raters, 1), 1)
    replicates = int(np.clip(most, _FEWEST, _MOST))
    times = rng.multinomial(size, np.full(size, 1 / size), replicates).astype(float)
    given = np.vstack([np.ones(size), times]) * weights
    given *= size / given.sum(axis=1, keepdims=True)
    into = csr_matrix((np.ones(size), (pattern, np.arange(size))), (len(seen), size))
    model = _Model(seen[:, 1:], seen[:, 0], classes)
    weight = into @ given.T
    votes = (model.given @ np.tile(np.eye(classes), (raters, 1)))[:, None]
    start = (votes + _ITEM / classes) / (votes.sum(axis=2, keepdims=True) + _ITEM)
    fitted = model.climb(start, weight[:, :1], *_FIT)
    repeated = np.repeat(fitted, replicates, axis=1)
    posterior = np.hstack([fitted, model.climb(repeated, weight[:, 1:], *_REFIT)])
    labels = model.correct(posterior, weight)
    confusion, residuals = model.compare(posterior, weight)
    shared = (seen[:, 1:] >= 0).sum(axis=1) >= 3
    tested = count[shared].sum() >= NEEDS_SHARED
    return Raters(
        labels=labels[pattern, 0],
        posterior=posterior[pattern, 0],
        confusion=confusion,
        independent=_test_pairs(residuals, posterior, seen, count, weight) if tested else None,
        replicates=labels[:, 1:],
        pattern=pattern,
        times=times,
    )


class _Model:
    """EM over P patterns of answers in B replicates at once: axes (P, B, K)."""

    def __init__(self, answers: Array, predicted: Array, classes: int) -> None:
        patterns, raters = answers.shape
        place, rater = np.nonzero(answers >= 0)
        column = rater * classes + answers[place, rater]
        self.given = csr_matrix(
            (np.ones(len(place)), (place, column)), (patterns, raters * classes)
        )
        self.answers, self.predicted, self.classes = answers, predicted, classes
        self.cells = csr_matrix(
            (np.ones(patterns), (np.arange(patterns), predicted)), (patterns, classes)
        )
        prior = np.full((classes, classes), _WRONG / max(classes - 1, 1))
        np.fill_diagonal(prior, _RIGHT)
        self.prior = prior[None, :, None]

    def climb(self, posterior: Array, weight: Array, steps: int, least: float) -> Array:
        """(P, B, K) posterior after so many steps, or once none of them changes it."""
        for _ in range(steps):
            confusion, share = self.estimate(posterior, weight)
            logs = np.log(share)[self.predicted]
            logs += _multiply(self.given, np.log(confusion).reshape(-1, *posterior.shape[1:]))
            found = np.exp(logs - logs.max(axis=2, keepdims=True))
            found /= found.sum(axis=2, keepdims=True)
            change = np.abs(found - posterior).max(initial=0)
            posterior = found
            if change < least:
                break
        return posterior

    def estimate(self, posterior: Array, weight: Array) -> tuple[Array, Array]:
        """(J, answers, B, K) of each true class, and (predicted, B, K) share of true classes."""
        weighed = posterior * weight[..., None]
        votes = _multiply(self.given.T, weighed).reshape(-1, self.classes, *posterior.shape[1:])
        votes = votes + self.prior
        cells = _multiply(self.cells.T, weighed) + _ITEM / self.classes
        return votes / votes.sum(axis=1, keepdims=True), cells / cells.sum(axis=2, keepdims=True)

    def correct(self, posterior: Array, weight: Array) -> Array:
        """(P, B, K) corrected labels."""
        labels = np.empty_like(posterior)
        for code in np.unique(self.predicted):
            at = self.predicted == code
            rows = posterior[at].swapaxes(0, 1)
            weighed = rows * weight[at].T[..., None]
            means = weighed.swapaxes(1, 2) @ rows + _ITEM * np.eye(self.classes)
            means /= weighed.sum(axis=1)[..., None] + _ITEM
            solved = np.linalg.solve(means.swapaxes(1, 2), rows.swapaxes(1, 2))
            labels[at] = solved.transpose(2, 0, 1)
        return labels

    def compare(self, posterior: Array, weight: Array) -> tuple[Array, Array]:
        """(J + 1, K, K) confusion, and (J + 1, P, B, K) whether each rater is right, less expected.

        The residuals are 0 where a rater gave no answer; the box is last.
        """
        confusion, share = self.estimate(posterior, weight)
        cells = share * (self.cells.T @ weight)[..., None] + 1e-12
        box = cells / cells.sum(axis=0)
        every = np.concatenate([confusion, box[None]])
        given = np.column_stack([self.answers, self.predicted]).T[..., None, None]
        right = np.einsum("jkbk->jbk", every)[:, None]
        hit = given == np.arange(self.classes)
        return every[:, :, 0].swapaxes(1, 2), np.where(given >= 0, hit - right, 0.0)


def _multiply(matrix: csr_matrix, values: Array) -> Array:
    """A sparse matrix times values along their first axis."""
    product: Array = matrix @ values.reshape(len(values), -1)
    return product.reshape(-1, *values.shape[1:])


def _test_pairs(
    residuals: Array, posterior: Array, seen: Array, count: Array, weight: Array
) -> float:
    """The p-value of Rao's (1948) score test that no two raters are right together too often.

    Hotelling's (1931) statistic of the pairs' scores, with their covariance over the replicates.
    """
    answered = np.column_stack([seen[:, 1:], seen[:, 0]]) >= 0
    pairs = list(combinations(range(answered.shape[1]), 2))
    shared = [count[answered[:, pair].all(axis=1)].sum() for pair in pairs]
    chosen = sorted(range(len(pairs)), key=lambda at: -shared[at])[:_PAIRS]
    scores = []
    for first, second in (pairs[at] for at in chosen if shared[at] >= NEEDS_SHARED):
        both = (residuals[first] * residuals[second] * posterior).sum(axis=2)
        scores.append((both * weight).sum(axis=0))
    found = np.array(scores)
    covariance = np.cov(found[:, 1:]).reshape(len(found), -1)
    level = np.trace(covariance) / len(found)
    if level <= 0:
        return 1.0
    covariance += _RIDGE * level * np.eye(len(found))
    square = found[:, 0] @ np.linalg.solve(covariance, found[:, 0])
    tests, draws = len(found), found.shape[1] - 1
    return float(fdtrc(tests, draws - tests, square * (draws - tests) / (tests * (draws - 1))))
