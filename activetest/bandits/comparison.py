"""Whether one group is better than another by more than does not matter (Ji 2021, Comparison).

Regions of the difference of two groups: below -rope, within, above rope; lambda is the largest of
their posterior probabilities.
"""

import numpy as np
from scipy.special import betainc, betaincinv

from activetest.bandits.arms import ERROR, Arms
from activetest.nouns.rows import Array

# Gauss-Legendre over the quantiles: errors are about 1e-5, 1e-3 where a group has hardly a label.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
# Of lambda; what is finer is the quadrature's, and no reason to prefer an arm: the expected lambda
# of both is the same wherever no single label can turn the decision.
_DIGITS = 5
# Of the parameters of a Beta.
_LEAST = 1e-6
# Differences are shares of whole items: one that is as large as the rope is within, whatever its
# last digit.
_HAIR = 1e-9


def regions(difference: Array, rope: float) -> Array:
    """(..., 3) shares of samples (S, ...) of a difference that are below, within and above."""
    below = (difference < -rope - _HAIR).mean(axis=0)
    above = (difference > rope + _HAIR).mean(axis=0)
    return np.stack([below, 1 - below - above, above], axis=-1)


def region_probabilities(one: Array, two: Array, rope: float) -> Array:
    """(..., 3) probabilities of the regions of value one minus value two, by quadrature.

    one, two  (..., 4) of each group's mean: what is certain of it, what the rest can add, and the
              two parameters of the Beta which that share of the rest has
    """
    certain, room, right, wrong = np.moveaxis(one[..., None], -2, 0)
    value = certain + room * betaincinv(right, wrong, _NODES)
    low = _below(two, value - rope - _HAIR) @ _WEIGHTS
    high = _below(two, value + rope + _HAIR) @ _WEIGHTS
    # one - two < -rope where two > one + rope; only rounding can make a mass negative.
    return np.maximum(np.stack([1 - high, high - low, low], axis=-1), 0)


def _below(two: Array, bounds: Array) -> Array:
    """Probability that the value of two (..., 4) is below each of the bounds (..., nodes)."""
    certain, room, right, wrong = np.moveaxis(two[..., None], -2, 0)
    # Without room it is a step, and narrower than a hair.
    share = (bounds - certain) / np.maximum(room, _HAIR / 1000)
    return betainc(right, wrong, np.clip(share, 0, 1))


def matched_beta(parameters: Array, known: Array, rest: Array, size: Array) -> Array:
    """(..., 4) a group's mean as region_probabilities wants it, from what is known of it.

    parameters  (..., 2) of its Beta, for labels that count 1 and those that count 0
    known       (...) labels that count 1; size, rest (...) items, and those without a label

    The share of the rest is Beta-binomial; it is taken for a Beta with the same mean and variance.
    That is coarse where the rope is but an item or two of a group; samples and regions are not.
    rest may be infinite: then the mean is that of the population the pool comes from.
    """
    strength = parameters.sum(axis=-1)
    endless = np.isinf(rest)
    finite = np.where(endless, 1.0, rest)
    matched = (strength + 1) * finite / (strength + finite) - 1
    matched = np.where(endless, strength, np.maximum(matched, _LEAST))
    shape = parameters / strength[..., None] * matched[..., None]
    size = np.maximum(size, 1)
    certain = np.where(endless, 0.0, known / size)
    room = np.where(endless, 1.0, finite / size)
    ends = np.stack(np.broadcast_arrays(certain, room), axis=-1)
    return np.concatenate([ends, np.maximum(shape, _LEAST)], axis=-1)


def confidence(arms: Arms, pair: tuple[int, int], rope: float, more=((0, 0), (0, 0))) -> Array:
    """(..., 3) probabilities of the regions for arms of accuracy or error.

    more (2, 2) are labels besides those that are known: right and wrong ones of the first arm of
    the pair, then of the second.
    """
    return region_probabilities(
        *(_side(arms, *each) for each in zip(pair, more, strict=True)), rope
    )


def expected_lambda(arms: Arms, theta: Array, pair: tuple[int, int], rope: float) -> Array:
    """(S, ..., 2) expected lambda after one more label in either of the pair, as theta goes.

    Ji 2021, Comparison: the arm with the largest is the one to label.
    """
    one, two = (_side(arms, arm, (0, 0)) for arm in pair)
    hoped = []
    for place, arm in enumerate(pair):
        after = []
        for label in ((1, 0), (0, 1)):
            other = _side(arms, arm, label)
            sides = (other, two) if place == 0 else (one, other)
            after.append(region_probabilities(*sides, rope).max(axis=-1))
        hoped.append((theta[..., _cell(arms, arm), :] * np.stack(after, axis=-1)).sum(axis=-1))
    return np.stack(hoped, axis=-1).round(_DIGITS)


def _side(arms: Arms, arm: int, more) -> Array:
    """(..., 4) one arm as region_probabilities wants it, with more (2,) labels, right and wrong."""
    cell = _cell(arms, arm)
    known = arms.known[..., cell, :] + more
    parameters = arms.posterior[..., cell, :] + more
    size = arms.size[cell]
    rest = np.maximum(size - known.sum(axis=-1), 0)
    counted = 1 if arms.kind == ERROR else 0
    return matched_beta(parameters[..., [counted, 1 - counted]], known[..., counted], rest, size)


def _cell(arms: Arms, arm: int) -> int:
    """The one cell of an arm."""
    (cell,) = np.flatnonzero(arms.owner == arm)
    return int(cell)
