"""Whether one group is better than another by more than a margin (Ji 2021, Comparison).

Regions of the difference of two groups: below -rope, within, above rope; lambda is the largest of
their posterior probabilities.
"""

import numpy as np
from scipy.special import betainc, betaincinv

from activetest.nouns.rows import Array
from activetest.wings.groups.arms import ERROR, Arms

# Gauss-Legendre over the quantiles: errors are about 1e-5, or 1e-3 with hardly any labels.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
# Digits of lambda. Smaller differences are errors of the quadrature and must not decide between
# arms: the expected lambda of both is equal if no single label can change the decision.
_DIGITS = 5
# Smallest parameter of a Beta.
_LEAST = 1e-6
# A difference as large as the rope is within it, whatever rounding does.
_ROUNDING = 1e-9


def count_regions(difference: Array, rope: float) -> Array:
    """(..., 3) shares of samples (S, ...) of a difference that are below, within and above."""
    below = (difference < -rope - _ROUNDING).mean(axis=0)
    above = (difference > rope + _ROUNDING).mean(axis=0)
    return np.stack([below, 1 - below - above, above], axis=-1)


def integrate_regions(first: Array, second: Array, rope: float) -> Array:
    """(..., 3) probabilities of the regions of first value minus second value, by quadrature.

    first, second  (..., 4) of each group's mean: the part that is certain, the most that the
                   rest can add, and the two parameters of the Beta of the rest's share
    """
    certain, variable, right, wrong = np.moveaxis(first[..., None], -2, 0)
    value = certain + variable * betaincinv(right, wrong, _NODES)
    above = _probability_below(second, value - rope - _ROUNDING) @ _WEIGHTS
    not_below = _probability_below(second, value + rope + _ROUNDING) @ _WEIGHTS
    # first - second < -rope is second > first + rope; only rounding makes a mass negative.
    return np.maximum(np.stack([1 - not_below, not_below - above, above], axis=-1), 0)


def _probability_below(arm: Array, bounds: Array) -> Array:
    """Probability that the value of an arm (..., 4) is below each of the bounds (..., nodes)."""
    certain, variable, right, wrong = np.moveaxis(arm[..., None], -2, 0)
    # Without a variable part it is a step, narrower than rounding.
    share = (bounds - certain) / np.maximum(variable, _ROUNDING / 1000)
    return betainc(right, wrong, np.clip(share, 0, 1))


def match_beta(parameters: Array, known: Array, unlabelled: Array, size: Array) -> Array:
    """(..., 4) a group's mean for integrate_regions.

    parameters  (..., 2) of its Beta, for labels that count 1 and those that count 0
    known       (...) labels that count 1; size, unlabelled (...) items, and those without a label

    The share among the unlabelled items is Beta-binomial; it is approximated by a Beta with the
    same mean and variance. It is coarse if the rope is only an item or two of a group;
    count_regions of samples is not. unlabelled may be infinite: then the mean is that of the
    population.
    """
    strength = parameters.sum(axis=-1)
    infinite = np.isinf(unlabelled)
    finite = np.where(infinite, 1.0, unlabelled)
    matched = (strength + 1) * finite / (strength + finite) - 1
    matched = np.where(infinite, strength, np.maximum(matched, _LEAST))
    shape = parameters / strength[..., None] * matched[..., None]
    size = np.maximum(size, 1)
    certain = np.where(infinite, 0.0, known / size)
    variable = np.where(infinite, 1.0, finite / size)
    parts = np.stack(np.broadcast_arrays(certain, variable), axis=-1)
    return np.concatenate([parts, np.maximum(shape, _LEAST)], axis=-1)


def compare_arms(
    arms: Arms,
    pair: tuple[int, int],
    rope: float,
    extra: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0)),
) -> Array:
    """(..., 3) probabilities of the regions for two arms of accuracy or error.

    extra   (2, 2) labels in addition to the known ones: right and wrong ones of the first arm of
            the pair, then of the second
    """
    first, second = (
        _describe_arm(arms, arm, labels) for arm, labels in zip(pair, extra, strict=True)
    )
    return integrate_regions(first, second, rope)


def expect_lambda(arms: Arms, theta: Array, pair: tuple[int, int], rope: float) -> Array:
    """(S, ..., 2) expected lambda after one more label in either arm, given theta (S, ..., L, J).

    Ji 2021, Comparison: the arm with the larger one is labelled.
    """
    first, second = (_describe_arm(arms, arm, (0, 0)) for arm in pair)
    expected = []
    for place, arm in enumerate(pair):
        after = []
        for label in ((1, 0), (0, 1)):
            changed = _describe_arm(arms, arm, label)
            sides = (changed, second) if place == 0 else (first, changed)
            after.append(integrate_regions(*sides, rope).max(axis=-1))
        expected.append(
            (theta[..., _single_cell(arms, arm), :] * np.stack(after, axis=-1)).sum(axis=-1)
        )
    return np.stack(expected, axis=-1).round(_DIGITS)


def _describe_arm(arms: Arms, arm: int, extra: tuple[int, int]) -> Array:
    """(..., 4) an arm for integrate_regions, with extra (2,) right and wrong labels."""
    cell = _single_cell(arms, arm)
    known = arms.known_counts[..., cell, :] + extra
    parameters = arms.posterior[..., cell, :] + extra
    size = arms.size[cell]
    unlabelled = np.maximum(size - known.sum(axis=-1), 0)
    index = 1 if arms.kind == ERROR else 0
    return match_beta(parameters[..., [index, 1 - index]], known[..., index], unlabelled, size)


def _single_cell(arms: Arms, arm: int) -> int:
    """The single cell of an arm."""
    (cell,) = np.flatnonzero(arms.arm_of_cell == arm)
    return int(cell)
