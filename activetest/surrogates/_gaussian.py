"""Surrogates whose prediction of a value is Gaussian: outcomes are quadrature nodes."""

import threading
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs, expectation, moments
from activetest.nouns.rows import Array, Rows

# Gauss-Hermite for the standard normal: exact for polynomials up to degree 29, and within 6 % of
# the mean of |x - a|, worst at a = 0.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
# Share of the predictions' variance that the residual's variance has before any label.
RESIDUAL_VARIANCE_SHARE = 0.25


class GaussianMembers(Protocol):
    """Members that each predict a value for every row, with Gaussian noise.

    size                E, or None if members are drawn from a continuous distribution
    moments(rows)       (R,) mean and variance of the label under the whole ensemble
    draws(rows, which)  (K, R) means of members, and (K, R) or (K, 1) variance of the label around
                        them; which is what draw_members() returned
    params()            JSON-ready values and arrays from which they can be restored
    """

    @property
    def size(self) -> int | None: ...

    def moments(self, rows: Rows) -> tuple[Array, Array]: ...

    def draws(self, rows: Rows, which: Any) -> tuple[Array, Array]: ...

    def params(self) -> dict[str, Any]: ...


@runtime_checkable
class DrawableMembers(GaussianMembers, Protocol):
    """Members without a size, which are drawn from a distribution: `count` of them."""

    def draw_members(self, count: int, rng: np.random.Generator) -> Any: ...


@dataclass(frozen=True)
class GaussianEnsemble:
    """The surrogate that mixes the Gaussian predictions of its members.

    last keeps the latest rows of each thread and their moments, since rounds evaluate the same rows
    twice and members may be slow.
    """

    members: GaussianMembers
    last: threading.local = field(default_factory=threading.local, compare=False, repr=False)

    @property
    def note(self) -> str | None:
        """A short remark about the members for the report, if they have one."""
        return getattr(self.members, "note", None)

    @property
    def informed(self) -> bool:
        """Whether the members had any row to learn from."""
        return not getattr(self.members, "has_no_labels", False)

    def params(self) -> dict[str, Any]:
        """The parameters of the members."""
        return self.members.params()

    def beliefs(
        self, rows: Rows, statistics: tuple[Statistic, ...], members: Any = None
    ) -> Beliefs:
        """Outcomes are nodes of a Gaussian; see reweight_nodes for the draws."""
        mean, variance = self._moments(rows)
        draws = None
        if members is not None:
            which = members if self.members.size is None else np.unique(members)
            draws = reweight_nodes(mean, variance, *self.members.draws(rows, which))
        return node_beliefs(rows, mean, variance, statistics, draws)

    def expected(self, rows: Rows, statistics: tuple[Statistic, ...]) -> Array:
        """(T, R) expectation of each statistic."""
        return expectation(self.beliefs(rows, statistics))

    def draw_members(self, count: int, rng: np.random.Generator) -> Any:
        """Numbers of members, each as often as any other, or newly drawn members."""
        if isinstance(self.members, DrawableMembers):
            return self.members.draw_members(count, rng)
        return np.arange(count) % self._size

    def totals(
        self, rows: Rows, members: Any, statistics: tuple[Statistic, ...]
    ) -> tuple[Array, Array]:
        """(K, T) sums over rows of each statistic's expectation under each member, and variance."""
        if self.members.size is None:
            return sum_moments(rows, *self.members.draws(rows, members), statistics)
        distinct, place = np.unique(members, return_inverse=True)
        mean, variance = sum_moments(rows, *self.members.draws(rows, distinct), statistics)
        return mean[place], variance[place]

    @property
    def _size(self) -> int:
        """E. Raises TypeError if members have neither a size nor draw_members."""
        if self.members.size is None:
            raise TypeError("members without a size need draw_members")
        return self.members.size

    def _moments(self, rows: Rows) -> tuple[Array, Array]:
        if getattr(self.last, "rows", None) is not rows:
            self.last.moments = self.members.moments(rows)
            self.last.rows = rows
        return self.last.moments


def node_beliefs(
    rows: Rows,
    mean: Array,
    variance: Array,
    statistics: tuple[Statistic, ...],
    draws: Array | None = None,
) -> Beliefs:
    """Outcomes are 15 nodes of N(mean, variance), both (R,); probs (R, 15) are their weights."""
    labels = _place_nodes(mean, variance)
    probs = np.broadcast_to(_WEIGHTS, labels.shape)
    outcome_values = np.stack([each.value(rows.outputs, labels) for each in statistics])
    return Beliefs(probs, outcome_values, draws=draws)


def reweight_nodes(mean: Array, variance: Array, means: Array, variances: Array) -> Array:
    """(K, R, 15) probabilities that members give the nodes of N(mean, variance), both (R,).

    means (K, R) and variances (K, R) or (K, 1) of the members: their densities over that of the
    nodes, times the nodes' weights, scaled to one.
    """
    labels = _place_nodes(mean, variance)
    variances = np.broadcast_to(variances, means.shape)[..., None]
    logs = -0.5 * ((labels - means[..., None]) ** 2 / variances - _NODES**2)
    weights = _WEIGHTS * np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def sum_moments(
    rows: Rows, means: Array, variances: Array, statistics: tuple[Statistic, ...]
) -> tuple[Array, Array]:
    """(K, T) sums over rows of each statistic's expectation under each member, and variance.

    means (K, R), variances (K, R) or (K, 1).
    """
    sums = [
        [part.sum(axis=1) for part in moments(node_beliefs(rows, mean, variance, statistics))]
        for mean, variance in zip(means, np.broadcast_to(variances, means.shape), strict=True)
    ]
    mean, variance = np.moveaxis(np.array(sums), 1, 0)
    return mean, variance


def _place_nodes(mean: Array, variance: Array) -> Array:
    """(R, 15) nodes of N(mean, variance)."""
    return mean[:, None] + np.sqrt(variance)[:, None] * _NODES
