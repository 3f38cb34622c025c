"""Korn-Graubard: binomial limits at an effective sample size, for statistics that are 0 or 1.

Korn and Graubard 1998. The effective size needs a variance, and the observed one collapses where
the rarer kind of label hides among items that are seldom drawn. Then the mean is too small as well,
so that only the limit towards more of that kind is in danger. There the observed variance is
believed as far as labels of that kind support it; for the rest stands the variance of uniform
draws, or what the surrogate expects where that is more. With it, Jeffreys' limit is wide enough
(Brown, Cai and DasGupta 2001); the other limit is Clopper and Pearson's. Where the variance is
observed and few draws make most of it, that limit allows for it.
"""

import numpy as np

from activetest.intervals._belief import ENOUGH, limit_share, widen_share
from activetest.intervals._shares import CLOPPER_PEARSON, JEFFREYS, round_outward
from activetest.nouns.estimate import HIGH_FLOOR, Estimate
from activetest.nouns.quantity import Quantity
from activetest.nouns.rounding import is_above

# Labels of the rarer kind, as uniform draws would have shown them, with which the observed variance
# is believed at the ends that decide gates, near and far; that of the far one, and of draws with a
# lower floor, were all draws as unlikely as the least likely one.
_ENOUGH_NEAR, _ENOUGH_FAR = 8.0, 20.0
# Part of an observed variance's own error that the binomial limits leave out: the kurtosis of terms
# whose weights differ.
_LEFT_OUT = 0.5


def interval(estimate: Estimate, level: float, *, decides: bool = False) -> Quantity:
    """Interval for one mean (d = 1) of a statistic that is 0 or 1.

    Labels of the rarer kind are counted as uniform draws would have shown them. The lower the floor
    of the draws, the more of that kind may hide among the items that it leaves, and the more labels
    it takes: below 0.35 they are counted over how much less likely than a uniform draw the least
    likely draw was. Where none was seen, the far limit is Clopper and Pearson's as well (Jeffreys'
    modified: Brown, Cai and DasGupta 2001, 4.1.2).

    decides is for an end that has to hold alone, as that of a gate: both limits are Clopper and
    Pearson's, and the variance of either needs labels to be believed. The far limit needs
    more, counted as those of a low floor.

    A statistic that lies between 0 and 1 would get an interval far too wide: its variance is not
    mean (1 - mean).
    """
    floor, ceiling = estimate.limits[:, 0]
    mean = float(np.clip(estimate.mean[0], floor, ceiling))
    if estimate.exact:
        return Quantity(mean, mean, mean, level, "exact", variance=0.0)
    share, count = min(mean, 1 - mean), estimate.uniform_minority_count
    support = count / _ENOUGH_NEAR if decides else 1.0
    freedom = estimate.freedom
    squares = float(estimate.variance[0, 0]), estimate.model_variance
    near, _, _ = limit_share(
        estimate, share, squares, level, support, CLOPPER_PEARSON, freedom, 1.0
    )
    rarity = estimate.max_weight
    careful = decides or estimate.floor < HIGH_FLOOR
    support = count / (rarity * _ENOUGH_FAR if careful else ENOUGH)
    added = CLOPPER_PEARSON if decides or estimate.minority_count == 0 else JEFFREYS
    freedom = freedom if decides else _count_freedom(estimate, support)
    _, far, variance = limit_share(estimate, share, squares, level, support, added, freedom, rarity)
    # Jeffreys' limit may leave out a bound that the value itself is at.
    far = max(far, share)
    lower, upper = (1 - far, 1 - near) if is_above(mean, 0.5) else (near, far)
    lower, upper = widen_share(estimate, (lower, upper), level, decides=decides)
    lower, upper = np.clip(round_outward(lower, upper, estimate.open_items), floor, ceiling)
    ends = float(lower), float(upper)
    return Quantity(mean, *ends, level, "korn-graubard", variance=variance)


def _count_freedom(estimate: Estimate, support: float) -> float:
    """Degrees of freedom of the variance behind the far limit.

    Its own relative variance, 2 over them, is in part what the kurtosis of the terms leaves
    (Satterthwaite 1946): of a variance that is observed to a part, the square of that part.
    """
    part = _LEFT_OUT * min(support, 1.0) ** 2
    return 1 / ((1 - part) / estimate.freedom + part / estimate.spread_freedom)
