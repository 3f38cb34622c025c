"""Surrogates whose prediction of a value is Gaussian: outcomes are quadrature nodes."""

import threading
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs, expectation, moments
from activetest.nouns.rows import Array, Rows

# Gauss-Hermite for the standard normal: exact for polynomials up to degree 29, and within 6 % of
# the mean of |x - a|, worst at a = 0.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Before any label the residual's variance is taken as this share of the predictions' variance.
GUESS = 0.25


class GaussianMembers(Protocol):
    """Members that each predict a value for every row, with Gaussian noise.

    size                E, or None where members can be drawn without end
    moments(rows)       (R,) mean and variance of the label, all doubt included
    draws(rows, which)  (K, R) means of members, and (K, R) or (K, 1) variance of the label around
                        them; which is what members() gave
    params()            enough to make them again: JSON-ready values and arrays
    """

    size: int | None

    def moments(self, rows: Rows) -> tuple[Array, Array]: ...

    def draws(self, rows: Rows, which) -> tuple[Array, Array]: ...

    def params(self) -> dict: ...


@dataclass(frozen=True)
class GaussianEnsemble:
    """The surrogate that a set of members makes for a pool of values.

    Voters without a size make members themselves: members(count, rng), of length count. last
    remembers what each thread asked about last: a round asks twice about the same rows.
    """

    members: GaussianMembers
    last: threading.local = field(default_factory=threading.local, compare=False, repr=False)

    @property
    def note(self) -> str | None:
        """What else to know about the members, in a few words."""
        return getattr(self.members, "note", None)

    def params(self) -> dict:
        """Those of the members."""
        return self.members.params()

    def beliefs(self, rows: Rows, statistics: tuple[Statistic, ...], members=None) -> Beliefs:
        """Outcomes are nodes of a Gaussian; see reweighted for the draws."""
        mean, variance = self._moments(rows)
        draws = None
        if members is not None:
            which = members if self.members.size is None else np.unique(members)
            draws = reweighted(mean, variance, *self.members.draws(rows, which))
        return over_nodes(rows, mean, variance, statistics, draws)

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) expectation of each statistic."""
        return expectation(self.beliefs(rows, statistics))

    def draw_members(self, count: int, rng: np.random.Generator):
        """Numbers of members, each as often as any other, or draws of new ones."""
        if self.members.size is None:
            return self.members.draw_members(count, rng)
        return np.arange(count) % self.members.size

    def totals(self, rows: Rows, members, statistics: tuple[Statistic, ...]) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation under each member, and variance."""
        if self.members.size is None:
            return totals(rows, *self.members.draws(rows, members), statistics)
        distinct, place = np.unique(members, return_inverse=True)
        mean, variance = totals(rows, *self.members.draws(rows, distinct), statistics)
        return mean[place], variance[place]

    def _moments(self, rows: Rows) -> tuple[Array, Array]:
        if getattr(self.last, "rows", None) is not rows:
            self.last.moments = self.members.moments(rows)
            self.last.rows = rows
        return self.last.moments


def over_nodes(
    rows: Rows,
    mean: Array,
    variance: Array,
    statistics: tuple[Statistic, ...],
    draws: Array | None = None,
) -> Beliefs:
    """Outcomes are 15 nodes of N(mean, variance), both (R,); probs (R, 15) are their weights."""
    labels = _nodes(mean, variance)
    probs = np.broadcast_to(_WEIGHTS, labels.shape)
    outcome_values = np.stack([each.value(rows.outputs, labels) for each in statistics])
    return Beliefs(probs, outcome_values, draws=draws)


def reweighted(mean: Array, variance: Array, means: Array, variances: Array) -> Array:
    """(K, R, 15) probabilities that members give the nodes of N(mean, variance), both (R,).

    means (K, R) and variances (K, R) or (K, 1) of the members: their densities over that of the
    nodes, times the nodes' weights, scaled to one.
    """
    labels = _nodes(mean, variance)
    variances = np.broadcast_to(variances, means.shape)[..., None]
    logs = -0.5 * ((labels - means[..., None]) ** 2 / variances - _NODES**2)
    weights = _WEIGHTS * np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def totals(
    rows: Rows, means: Array, variances: Array, statistics: tuple[Statistic, ...]
) -> tuple[Array, Array]:
    """(K, T) sums over rows of each statistic's expectation under each member, and variance.

    means (K, R), variances (K, R) or (K, 1).
    """
    sums = [
        [part.sum(axis=1) for part in moments(over_nodes(rows, mean, variance, statistics))]
        for mean, variance in zip(means, np.broadcast_to(variances, means.shape), strict=True)
    ]
    mean, variance = np.moveaxis(np.array(sums), 1, 0)
    return mean, variance


def _nodes(mean: Array, variance: Array) -> Array:
    """(R, 15) nodes of N(mean, variance)."""
    return mean[:, None] + np.sqrt(variance)[:, None] * _NODES
