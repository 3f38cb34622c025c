"""Input of acquisitions' scores: what a surrogate believes about rows, and for which metrics."""

from dataclasses import dataclass, replace

import numpy as np

from activetest.nouns.contraction import contract
from activetest.nouns.rows import Array


@dataclass(frozen=True)
class Beliefs:
    """A surrogate's beliefs about R rows.

    probs             (R, C) plug-in probability of each outcome
    outcome_values    (T, R, C) value of statistic t under outcome c
    outcome_variance  (T, R, C) variance of that value inside an outcome; None where an outcome
                      determines the value
    draws             (K, R, C) the members' probabilities, or None where they are not needed
    of_classes        whether the outcomes are the classes, in code order
    """

    probs: Array
    outcome_values: Array
    outcome_variance: Array | None = None
    draws: Array | None = None
    of_classes: bool = False

    @property
    def known_draws(self) -> Array:
        """(K, R, C) draws, which the caller knows to exist. Raises ValueError otherwise."""
        if self.draws is None:
            raise ValueError("these beliefs have no draws of members")
        return self.draws


@dataclass(frozen=True)
class Objectives:
    """Objectives that R rows are scored for. Axes as in rows; A metrics.

    pred    (R,) what the black box predicts: class codes, or values
    kinds   (A, R, C) of every metric that draws aim at, which labels add the same to it: outcomes
            with the same number do, and the number is that of the first of them. See
            item_statistics.kinds. None unless the method states NEEDS_KINDS
    """

    pred: Array
    kinds: Array | None = None

    @property
    def known_kinds(self) -> Array:
        """(A, R, C) kinds, which the caller knows to exist. Raises ValueError otherwise."""
        if self.kinds is None:
            raise ValueError("these objectives say nothing of which outcomes are alike")
        return self.kinds


def split_beliefs(beliefs: Beliefs) -> list[Beliefs]:
    """The beliefs about each of the T statistics alone."""
    values, variance = beliefs.outcome_values, beliefs.outcome_variance
    return [
        replace(
            beliefs,
            outcome_values=values[t : t + 1],
            outcome_variance=None if variance is None else variance[t : t + 1],
        )
        for t in range(len(values))
    ]


def expectation(beliefs: Beliefs) -> Array:
    """(T, R) expectation of each statistic over outcomes."""
    return _expect(beliefs.probs, beliefs.outcome_values)


def moments(beliefs: Beliefs) -> tuple[Array, Array]:
    """(T, R) expectation and (T, R) variance of each statistic, that inside outcomes included."""
    mean = expectation(beliefs)
    variance = _expect(beliefs.probs, (beliefs.outcome_values - mean[..., None]) ** 2)
    if beliefs.outcome_variance is not None:
        variance += _expect(beliefs.probs, beliefs.outcome_variance)
    return mean, variance


def _expect(probs: Array, values: Array) -> Array:
    """(T, R) sum over outcomes of (R, C) probs times (T, R, C) values."""
    if probs.shape[1] != 2:
        sums: Array = contract("rc,trc->tr", probs, values)
        return sums
    # With two outcomes whole columns at a time are several times faster.
    return np.asarray(probs[:, 0] * values[..., 0] + probs[:, 1] * values[..., 1])
