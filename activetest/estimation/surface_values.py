"""Values of arms and cells of a surface in the pool at hand: what is known, and the rest."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta as beta_distribution

from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface, SurfaceData


@dataclass(frozen=True)
class SurfaceValues:
    """The statistic's mean over the items of M arms or cells.

    mean       (M,)
    lower      (M,) of the interval
    upper      (M,) of the interval
    variance   (M,) of the mean
    support    (M,) items that can be answered
    known      (M,) labels among them
    """

    mean: Array
    lower: Array
    upper: Array
    variance: Array
    support: Array
    known: Array


def estimate_arms(surface: Surface, data: SurfaceData, level: float) -> SurfaceValues:
    """(A,) values of every arm of the pool: (known + rest x E[rho]) / items.

    Exact where everything is labelled. The sum over the rest is Beta-binomial given phi and psi,
    with variance rest phi (1 - phi) (psi + rest) / (psi + 1), of values from 0 to 1 at most; phi
    and psi are averaged over their draws. The interval is that of a Beta with the mean and variance
    of the rest.
    """
    return _combine(surface, data, np.arange(len(data.arms)), len(data.arms), level)


def estimate_cells(
    surface: Surface, data: SurfaceData, cell_of_arm: Array, cells: int, level: float
) -> SurfaceValues:
    """(M,) values of cells, unions of arms: cell_of_arm (A,) is -1 for arms in none of them.

    Given phi and psi, arms are independent; what is uncertain about phi is common to them.
    """
    return _combine(surface, data, cell_of_arm, cells, level)


def estimate_absent(surface: Surface, codes: Array, level: float) -> SurfaceValues:
    """(M,) values that combinations (M, K) would have that never occur in the pool."""
    phi, psi = surface.predict(codes)
    mean = phi.astype(float).mean(axis=0)
    variance = (phi * (1 - phi) / (psi + 1)).mean(axis=0) + phi.astype(float).var(axis=0)
    lower, upper = _find_limits(mean, variance, level)
    nothing = np.zeros(len(mean))
    return SurfaceValues(mean, lower, upper, variance, nothing, nothing)


def _combine(
    surface: Surface, data: SurfaceData, cell_of_arm: Array, cells: int, level: float
) -> SurfaceValues:
    membership = data.arms.membership
    support = data.arms.support
    if data.declined is not None:
        support = support - np.asarray(membership[data.declined].sum(axis=0)).ravel()
    known = np.asarray(data.membership.sum(axis=0)).ravel()
    total = np.asarray(data.membership.T @ data.values).ravel()
    rest = np.maximum(support - known, 0)
    phi, psi = surface.phi.astype(float), surface.psi.astype(float)
    own = rest * phi * (1 - phi) * (psi + rest) / (psi + 1)
    inside = cell_of_arm >= 0
    place = cell_of_arm[inside]

    def add(values: Array) -> Array:
        return np.bincount(place, values[inside], minlength=cells)

    draws = np.stack([add(rest * each) for each in phi])
    n, n_known, n_rest = add(support), add(known), add(rest)
    expected = add(rest * surface.mean)
    variance = add(own.mean(axis=0)) + draws.var(axis=0)
    left = np.maximum(n_rest, 1e-12)
    lower, upper = _find_limits(expected / left, variance / left**2, level)
    items = np.maximum(n, 1e-12)
    mean, lower, upper = (
        (add(total) + n_rest * part) / items for part in (expected / left, lower, upper)
    )
    return SurfaceValues(mean, lower, upper, variance / items**2, n, n_known)


def _find_limits(mean: Array, variance: Array, level: float) -> tuple[Array, Array]:
    """The limits of Betas with these means and variances; those of a point where one is certain."""
    room = mean * (1 - mean)
    certain = (room <= 0) | (variance <= 0)
    scale = np.where(certain, 1.0, room / np.where(certain, 1.0, variance) - 1)
    scale = np.maximum(scale, 1e-6)
    tail = (1 - level) / 2
    a, b = np.where(certain, 1, mean * scale), np.where(certain, 1, (1 - mean) * scale)
    lower, upper = (beta_distribution.ppf(p, a, b) for p in (tail, 1 - tail))
    return np.where(certain, mean, np.minimum(lower, mean)), np.where(
        certain, mean, np.maximum(upper, mean)
    )
