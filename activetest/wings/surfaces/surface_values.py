"""Values of arms and cells of a surface in the pool at hand: what is known, and the rest."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from activetest.nouns.rounding import MARGIN
from activetest.nouns.rows import Array
from activetest.nouns.surface import Surface, SurfaceData
from activetest.system.parallel import one_blas_thread

# Combinations that are predicted at once.
_BLOCK = 10_000
# The share of an arm's items that rounding may leave of none.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class SurfaceValues:
    """The statistic's mean over the items of M arms or cells; NaN where none can be labelled.

    mean       (M,)
    lower      (M,) of the interval
    upper      (M,) of the interval
    variance   (M,) of the mean
    support    (M,) items that have a label or can still get one
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
    of the rest; where values are 0 or 1, of whole numbers of items.

    Where attributes are uncertain an item counts in each arm by its probability, and so does its
    label. The variance is then that of as many whole items, which is at least that of parts.
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
    mean, variance = np.empty(len(codes)), np.empty(len(codes))
    for start in range(0, len(codes), _BLOCK):
        part = slice(start, start + _BLOCK)
        with one_blas_thread():
            phi, psi = surface.predict(codes[part])
        mean[part], variance[part], own = _average_draws(
            phi, psi, np.asarray, lambda phi, psi: phi * (1 - phi) / (psi + 1)
        )
        variance[part] += own
    lower, upper = _find_limits(mean, variance, level)
    nothing = np.zeros(len(mean))
    return SurfaceValues(mean, lower, upper, variance, nothing, nothing)


def _combine(
    surface: Surface, data: SurfaceData, cell_of_arm: Array, cells: int, level: float
) -> SurfaceValues:
    rest, known, total = _count_items(data)
    inside = cell_of_arm >= 0
    place = cell_of_arm[inside]

    def add(values: Array) -> Array:
        return np.bincount(place, values[inside], minlength=cells)

    n_known, n_rest, expected = add(known), add(rest), add(rest * surface.mean)
    _, between, own = _average_draws(
        surface.phi,
        surface.psi,
        lambda phi: add(rest * phi),
        lambda phi, psi: rest * phi * (1 - phi) * (psi + rest) / (psi + 1),
    )
    left, items = np.where(n_rest > 0, n_rest, 1.0), n_known + n_rest
    share, variance = expected / left, (add(own) + between) / left**2
    lower, upper = _find_limits(share, variance, level)
    lower, upper = n_rest * lower, n_rest * upper
    if np.isin(data.values, (0, 1)).all():
        lower, upper = _round_limits(lower, upper, expected, n_rest)
    below = np.where(items > 0, items, np.nan)
    mean, lower, upper = ((add(total) + part) / below for part in (expected, lower, upper))
    return SurfaceValues(mean, lower, upper, variance * (n_rest / below) ** 2, items, n_known)


def _count_items(data: SurfaceData) -> tuple[Array, Array, Array]:
    """(A,) of each arm: items that can still be labelled, labels, and the sum of their values.

    Labels count once each, whatever their weights: they are known.
    """
    # Sums of sparse arrays in single precision are in single precision; products are not.
    known = data.membership.T @ np.ones(len(data.items))
    total = data.membership.T @ np.asarray(data.values, float)
    rest = data.arms.support - known
    if data.declined is not None:
        rest = rest - data.arms.membership.T @ data.declined.astype(float)
    # Parts of items are in single precision.
    return np.where(rest > _ROUNDING * data.arms.support, rest, 0.0), known, total


def _average_draws(
    phi: Array,
    psi: Array,
    gather: Callable[[Array], Array],
    measure: Callable[[Array, Array], Array],
) -> tuple[Array, Array, Array]:
    """Mean and variance over draws of gather(phi), and the mean over draws of measure(phi, psi).

    A draw after the other: all of them in double precision need a gigabyte for 100,000 arms.
    """
    center = shift = square = own = np.zeros(())
    for number, (drawn, scale) in enumerate(zip(phi, np.broadcast_to(psi, phi.shape), strict=True)):
        each = drawn.astype(float)
        gathered = gather(each)
        center = center if number else gathered
        # Small numbers: the square of a mean is no small part of the mean square otherwise.
        gap = gathered - center
        shift, square = shift + gap, square + gap**2
        own = own + measure(each, scale.astype(float))
    shift = shift / len(phi)
    return center + shift, np.maximum(square / len(phi) - shift**2, 0), own / len(phi)


def _round_limits(lower: Array, upper: Array, expected: Array, rest: Array) -> tuple[Array, Array]:
    """The limits of sums over the rest as whole numbers, where the rest is whole items.

    A sum of zeros and ones is one: the limits of a Beta would leave out "all right" and "all wrong"
    of a few items however likely these are. Rounded, they are nearly the Beta-binomial's own. The
    expectation stays between them.
    """
    whole = np.isclose(rest, np.round(rest), rtol=0, atol=1e-6)
    return (
        np.where(whole, np.minimum(np.ceil(lower - 0.5), np.floor(expected + MARGIN)), lower),
        np.where(whole, np.maximum(np.floor(upper + 0.5), np.ceil(expected - MARGIN)), upper),
    )


def _find_limits(mean: Array, variance: Array, level: float) -> tuple[Array, Array]:
    """The limits of Betas with these means and variances; those of a point where one is certain."""
    room = mean * (1 - mean)
    certain = (room <= 0) | (variance <= 0)
    scale = np.where(certain, 1.0, room / np.where(certain, 1.0, variance) - 1)
    scale = np.maximum(scale, 1e-6)
    tail = (1 - level) / 2
    a, b = np.where(certain, 1, mean * scale), np.where(certain, 1, (1 - mean) * scale)
    lower, upper = betaincinv(a, b, tail), 1 - betaincinv(b, a, tail)
    return np.where(certain, mean, np.minimum(lower, mean)), np.where(
        certain, mean, np.maximum(upper, mean)
    )
