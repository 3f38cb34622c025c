"""Agreement: is the black box right here?

Bayesian logistic regression on its own confidence, its predicted class and the features. Nobody who
only has predictions has training data, and a model of the classes learned from a few dozen labels
ruins every estimate built on it. This one models a single bit per item. Its prior is the black box
itself: with no labels, P(right) is the box's confidence. How far to move from there is learned too:
the prior's widths are averaged over by their evidence. What an error costs, given that there is
one, is first what the box's other probabilities say, and then corrected by one learned factor per
predicted class; which class it is instead, likewise, by the errors seen so far.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics.outcomes import other_classes, when_wrong
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.rows import Array, Rows
from activetest.nouns.training import TrainingSet
from activetest.surrogates._logistic import averaged, sigmoid

TASK = "classification"

# Prior standard deviations that are tried: of the confidence's slope (mean 1) and the intercept, of
# the features (mean 0). Half decades from "as the black box says" to "anything may be".
_CALIBRATION = (0.1, 0.3, 1.0, 3.0)
_FEATURES = (0.03, 0.1, 0.3, 1.0)
# That of a predicted class (mean 0), in units of the first.
_CLASS = 0.5
# With more classes than this, predicted classes get no intercepts of their own.
_MOST_EFFECTS = 30
# Pseudo-observations that hold the cost factors at 1, over all classes and for one class.
_COST_PRIOR = 2.0
# Pseudo-observations behind the black box's own word on which class it is instead.
_CLASS_PRIOR = 3.0


def fit(training: TrainingSet, *, rng: np.random.Generator | None = None) -> "Agreement":
    """The posterior mode and covariance after M labels; deterministic.

    Raises ChoiceError for a regression pool.
    """
    del rng
    if not training.classes:
        raise ChoiceError(
            "the surrogate 'agreement' asks whether a class is right, "
            "and this pool predicts values",
            hint="activetest init POOL --surrogate residual",
        )
    rows = training.rows
    effects = training.classes if training.classes <= _MOST_EFFECTS else 0
    design = _columns_of(rows, effects)
    # The column after the effects and the intercept is the logit of the confidence.
    heads = effects + 1 + (rows.outputs.probs is not None)
    mean = np.zeros(design.shape[1])
    mean[effects + 1 : heads] = 1.0
    right = (training.labels == rows.outputs.pred).astype(float)
    mode, covariance = averaged(design, right, mean, _widths(design.shape[1], effects, heads))
    cost, noise = _costs(training, right == 0)
    return Agreement(
        effects, training.statistics, mode, covariance, cost, noise, _confused(training, right == 0)
    )


@dataclass(frozen=True)
class Agreement:
    """A posterior of D coefficients: class effects first, then the intercept, then the design.

    effects       number of class effects: one per predicted class, or 0 where classes are many
    learned       (T,) names of the cache's statistics, for which there are factors
    mode          (D,) posterior mode, averaged over the prior's widths
    covariance    (D, D) of a Gaussian around it
    cost, noise   (T, classes) factors on mean and variance of those statistics when wrong
    confused      (E, 2) predicted and true class of every error seen
    """

    effects: int
    learned: tuple[str, ...]
    mode: Array
    covariance: Array
    cost: Array
    noise: Array
    confused: Array

    def params(self) -> dict:
        """JSON-ready parameters: the fields, arrays as lists."""
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return {"effects": self.effects, "learned": list(self.learned), **arrays}

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Array | None = None
    ) -> Beliefs:
        """Outcomes [right, wrong] (C = 2), from the posterior mode; draws from the members."""
        wrong = sigmoid(-self._logits(rows, self.mode))
        right, mean, spread = self._outcomes(rows, statistics)
        doubts = None if members is None else sigmoid(-self._logits(rows, members.T)).T
        return Beliefs(
            _columns(1 - wrong, wrong),
            _columns(right, mean),
            _columns(np.zeros_like(spread), spread),
            None if doubts is None else np.stack([1 - doubts, doubts], axis=-1),
        )

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) expectation of each statistic: those of the beliefs, without their noise."""
        wrong = sigmoid(-self._logits(rows, self.mode))
        right, mean, _ = self._outcomes(rows, statistics, noise=False)
        mean -= right
        mean *= wrong
        mean += right
        return mean

    def draw_members(self, count: int, rng: np.random.Generator) -> Array:
        """(K, D) draws from the posterior of the coefficients."""
        return rng.multivariate_normal(self.mode, self.covariance, size=count, method="cholesky")

    def totals(
        self, rows: Rows, members: Array, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation under each member, and variance."""
        wrong = sigmoid(-self._logits(rows, members.T))
        right, mean, spread = self._outcomes(rows, statistics)
        gap = mean - right
        # h is right + gap B, B ~ Bernoulli(wrong), and when wrong has variance `spread` besides.
        total = right.sum(axis=1, dtype=float) + wrong.T @ gap.T
        return total, wrong.T @ (gap**2 + spread).T - (wrong**2).T @ (gap**2).T

    def _logits(self, rows: Rows, weights: Array) -> Array:
        """(R,) or (R, K) logit of being right, for (D,) or (D, K) weights."""
        weights = weights.astype(np.float32)
        logits = rows.design @ weights[self.effects + 1 :] + weights[self.effects]
        return logits + weights[rows.outputs.pred] if self.effects else logits

    def _outcomes(
        self, rows: Rows, statistics, *, noise: bool = True
    ) -> tuple[Array, Array, Array]:
        """(T, R) value of each statistic when right, and its mean and variance when wrong."""
        places = {
            t: self.learned.index(each.name)
            for t, each in enumerate(statistics)
            if each.name in self.learned
        }
        others = None if len(places) == len(statistics) else self.instead(rows)
        asked = [None if t in places else each for t, each in enumerate(statistics)]
        right, mean, spread = when_wrong(asked, rows.outputs, others, noise=noise)
        for t, which in places.items():
            cost, factor = (
                one[which].astype(np.float32)[rows.outputs.pred] for one in (self.cost, self.noise)
            )
            right[t], mean[t] = rows.right[which], rows.wrong[which] * cost
            if noise:
                spread[t] = rows.spread[which] * factor
        return right, mean, spread

    def instead(self, rows: Rows) -> Array:
        """(C, R) probability of each class given an error: the box's word and the errors seen."""
        classes = self.cost.shape[1]
        others = other_classes(rows.outputs, classes)
        if not len(self.confused):
            return others
        seen = np.zeros((classes, classes), np.float32)
        np.add.at(seen, (self.confused[:, 1], self.confused[:, 0]), 1)
        # Along the predicted class, as the rows need it.
        weight = _CLASS_PRIOR + seen.sum(axis=0)
        others *= (_CLASS_PRIOR / weight).astype(others.dtype)[rows.outputs.pred]
        others += (seen / weight).astype(others.dtype)[:, rows.outputs.pred]
        return others


_ARRAYS = ("mode", "covariance", "cost", "noise", "confused")


def restore(params: dict) -> Agreement:
    """The surrogate that params() described."""
    arrays = {name: np.array(params[name], float) for name in _ARRAYS}
    arrays["confused"] = arrays["confused"].reshape(-1, 2).astype(np.intp)
    return Agreement(params["effects"], tuple(params["learned"]), **arrays)


def _columns(right: Array, wrong: Array) -> Array:
    """(..., 2) view in which each outcome is contiguous in memory, and so is arithmetic on it."""
    return np.moveaxis(np.stack([right, wrong]), 0, -1)


def _columns_of(rows: Rows, effects: int) -> Array:
    """(R, D) one column per predicted class, the intercept, the rows' design."""
    one_hot = np.eye(effects)[rows.outputs.pred] if effects else np.empty((len(rows.design), 0))
    return np.column_stack([one_hot, np.ones(len(rows.design)), rows.design.astype(float)])


def _widths(size: int, effects: int, heads: int) -> Array:
    """(W, D) prior standard deviations to try: D = size, of which heads come before features."""
    tried = np.array(list(product(_CALIBRATION, _FEATURES if size > heads else (1.0,))))
    deviations = np.where(np.arange(size) < heads, tried[:, :1], tried[:, 1:])
    deviations[:, :effects] *= _CLASS
    return deviations


def _confused(training: TrainingSet, wrong: Array) -> Array:
    """(E, 2) predicted and true class of the errors, wrong (M,) bool; other classes left out."""
    pairs = np.column_stack([training.rows.outputs.pred[wrong], training.labels[wrong]]).astype(
        np.intp
    )
    return pairs[pairs[:, 1] >= 0]


def _costs(training: TrainingSet, wrong: Array) -> tuple[Array, Array]:
    """(T, classes) factors on the black box's own mean and variance of statistics given an error.

    Observed over expected among the errors, wrong (M,) bool: shrunk to 1 over all classes, and to
    that again for each predicted class.
    """
    codes = training.rows.outputs.pred[wrong]
    shape = (len(training.statistics), training.classes)
    cost, noise = np.ones(shape), np.ones(shape)
    for t in range(shape[0]):
        observed = training.stats[wrong, t]
        expected, spread = (
            part[t, wrong].astype(float) for part in (training.rows.wrong, training.rows.spread)
        )
        cost[t] = _shrunk_ratio(observed, expected, codes, training.classes)
        noise[t] = _shrunk_ratio(
            (observed - cost[t, codes] * expected) ** 2, spread, codes, training.classes
        )
    return cost, noise


def _shrunk_ratio(observed: Array, expected: Array, codes: Array, classes: int) -> Array:
    """(classes,) sum of observed over sum of expected by code, each shrunk to the overall ratio.

    The overall ratio is shrunk to 1.
    """
    if len(expected) == 0 or expected.sum() == 0:
        return np.ones(classes)
    prior = _COST_PRIOR * expected.mean()
    overall = (prior + observed.sum()) / (prior + expected.sum())
    by_code = [np.bincount(codes, values, minlength=classes) for values in (observed, expected)]
    return (prior * overall + by_code[0]) / (prior + by_code[1])
