"""How far an observed variance is believed, and what stands for the rest.

Active draws pass over items that the surrogate is sure of. Where it is wrong about them, few labels
say so: the variance that was observed is too small, the surrogate's own is, and an estimate errs
towards what was seen. Labels are therefore counted as uniform draws would have shown them, on the
side of a limit that they would move. As far as these are too few, the observed variance is replaced
by one that uniform draws would have left: draws are worse than uniform where a model is wrong about
itself. The device is that of Korn and Graubard 1998, who ask the same of weighted samples.
"""

import numpy as np

from activetest.intervals._shares import (
    CLOPPER_PEARSON,
    JEFFREYS,
    binomial_limits,
    effective_size,
)
from activetest.nouns.estimate import FEW, HIGH_FLOOR, Estimate, Excess
from activetest.nouns.rounding import is_above, is_below

# Labels on a side with which the observed variance is believed, of draws whose floor is high; and
# for an end that has to hold alone, as that of a gate.
ENOUGH, _ENOUGH_ALONE = 15.0, 24.0
# The same for labels that moved a loss far: of either end.
_ENOUGH_LOSSES = 20.0
# A share of the items that is next to nothing.
_LEAST_UNDRAWN = 1e-12
# The variance that half of a distance adds.
_HALF_AS_FAR = 0.25


def believe(observed: float, expected: float, support: float) -> float:
    """The observed variance as far as it is supported (from 0 to 1), and never less than observed.

    For the rest stands what is expected.
    """
    believed = min(support, 1.0)
    return max(observed, believed * observed + (1 - believed) * expected)


def raise_variances(estimate: Estimate, variance: float, *, decides: bool) -> tuple[float, float]:
    """The variances behind the lower and the upper limit, from the one that both rest on so far.

    The variance of uniform draws is larger by what labels of this side add. decides is for ends
    that have to hold alone. The lower the floor of the draws, the more labels it takes: below 0.35
    they are counted over how much less likely than a uniform draw the least likely draw was.
    """
    draws = float(estimate.inside.sum())
    if estimate.sides is None or not draws or not np.isfinite(estimate.one_draw):
        return variance, variance
    added = max(estimate.one_draw / draws * estimate.undrawn - variance, 0.0)
    rarity = _find_rarity(estimate)
    enough = ENOUGH if rarity is None and not decides else _ENOUGH_ALONE * (rarity or 1.0)
    below, above = (
        believe(variance, variance + share * added, count / enough)
        for count, share in zip(estimate.sides.counts, estimate.sides.shares, strict=True)
    )
    return below, above


def _find_rarity(estimate: Estimate) -> float | None:
    """How many times less likely than a uniform draw the least likely one was; None: a high floor.

    Draws with a high floor hide so little that labels count as they are.
    """
    return estimate.max_weight if estimate.floor < HIGH_FLOOR else None


def widen_loss(
    estimate: Estimate, ends: tuple[float, float], level: float, *, decides: bool
) -> tuple[float, float]:
    """The ends of a loss between bounds, as far apart as losses that were not met yet may put them.

    How far labels moved the loss, over how far they could have, is a share: the distance to its
    limit is that of the loss, on either side on which too few labels moved it far. The distances of
    both sides add up as squares (Zou and Donner 2008). An end that is nearer to what is known than
    one item can move it is there: nearly all that can be found was found.
    """
    excess = estimate.excess
    if excess is None:
        return ends
    # Where neither side shows how far losses move, nothing else speaks against one that was missed.
    hides = _find_rarity(estimate) is not None or max(excess.counts) < _ENOUGH_LOSSES
    careful = decides or hides
    (less, below), (more, above) = (
        _reach_limits(estimate, excess, side, level, careful=careful) for side in (0, 1)
    )
    mean, (lower, upper) = float(estimate.limited_mean[0]), estimate.limits[:, 0].tolist()
    low, high = ends
    if below > 0:
        low = min(low, mean - float(np.hypot(below, more)))
    if above > 0:
        high = max(high, mean + float(np.hypot(above, less)))
    fall, rise = (each / estimate.open_items for each in excess.most)
    low = lower if is_below(low, lower + rise) else low
    high = upper if is_above(high, upper - fall) else high
    return max(low, lower), min(high, upper)


def widen_share(
    estimate: Estimate, ends: tuple[float, float], level: float, *, decides: bool
) -> tuple[float, float]:
    """The ends of a share, as far apart as labels that contradict their guesses may put them.

    Where guesses are good, such labels alone leave a variance, and few of them say little about it.
    On either side their share has Clopper and Pearson's limits, as of uniform draws; the distances
    of both sides add up as squares (Zou and Donner 2008). The more of them there are, the more the
    ends are believed as they are.
    """
    excess = estimate.excess
    if excess is None:
        return ends
    size = max(estimate.uniform_count, 1.0) / max(estimate.undrawn, _LEAST_UNDRAWN)
    (less, below), (more, above) = (
        (share - near, far - share)
        for share, (near, far) in (
            (share, binomial_limits(share, size, estimate.freedom, level, minority_count=count))
            for share, count in zip(excess.mean, excess.counts, strict=True)
        )
    )
    hidden = 1 - min(excess.support / (_ENOUGH_LOSSES if decides else ENOUGH), 1.0)
    mean = float(estimate.limited_mean[0])
    fall = ends[0] - mean + float(np.hypot(below, more))
    rise = mean + float(np.hypot(above, less)) - ends[1]
    return ends[0] - hidden * max(fall, 0.0), ends[1] + hidden * max(rise, 0.0)


def widen_unmet(estimate: Estimate, ends: tuple[float, float], level: float) -> tuple[float, float]:
    """The ends of a share of means, with room on a side to which no label pulls it.

    As of recall while no positive was found among the items that are predicted as negative: there
    may be as many below the line as draws can have missed, by Poisson's limit for none.
    """
    room = -np.log((1 - level) / 2) * estimate.unmet * estimate.undrawn
    if estimate.sides is None or not room:
        return ends
    share, (least, most) = float(estimate.limited_mean[0]), estimate.limits[:, 0].tolist()
    (low, high), (below, above) = ends, estimate.sides.counts
    low = low if below else max(min(low, share / (1 + room)), least)
    return low, high if above else min(max(high, (share + room) / (1 + room)), most)


def _reach_limits(
    estimate: Estimate, excess: Excess, side: int, level: float, *, careful: bool
) -> tuple[float, float]:
    """How far a loss may move if labels moved it less to this side, and if they moved it more.

    Neither where enough labels moved it far.
    """
    enough = _ENOUGH_LOSSES * (_find_rarity(estimate) or 1.0)
    support, most = excess.counts[side] / enough, excess.most[side]
    if support >= 1 or most <= 0:
        return 0.0, 0.0
    share = min(excess.mean[side] / most, 1.0)
    squares = float(estimate.variance[0, 0]) / most**2, estimate.model_variance / most**2
    # As if one more label, drawn as rarely as the rarest, had moved the loss as far as it can; half
    # as far where an end need not be as careful.
    draws, part = float(estimate.inside.sum()), 1.0 if careful else _HALF_AS_FAR
    hidden = share * (1 - share) / draws + part * (estimate.max_weight / draws) ** 2
    squares = squares[0], max(squares[1], hidden * estimate.undrawn)
    added = CLOPPER_PEARSON if careful or excess.counts[side] < FEW else JEFFREYS
    freedom = estimate.freedom
    near, _, _ = limit_share(
        estimate, share, squares, level, support, CLOPPER_PEARSON, freedom, 1.0
    )
    _, far, _ = limit_share(
        estimate, share, squares, level, support, added, freedom, estimate.max_weight
    )
    return most * max(share - near, 0.0), most * max(far - share, 0.0)


def limit_share(
    estimate: Estimate,
    share: float,
    squares: tuple[float, float],
    level: float,
    support: float,
    added: float,
    freedom: float,
    rarity: float,
) -> tuple[float, float, float]:
    """Both limits of a share, and the variance behind them; support is how far it is believed.

    squares are its variance as observed and as the surrogate expects it. While it is not believed,
    the effective size is no more than that of draws that were all as unlikely as rarity says.
    """
    draws = estimate.inside.sum()
    # Of a finite pool, uniform draws leave a doubt only about what they have not drawn.
    uniform = share * (1 - share) / draws * estimate.undrawn
    observed, expected = squares
    variance = believe(float(observed), max(uniform, expected), support)
    size = effective_size(share, variance, otherwise=np.inf)
    if share <= 0 or support < 1:
        plain = share * (1 - share) / variance if variance > 0 else 0.0
        size = min(size, max(draws / max(estimate.undrawn, 1 / draws) / rarity, plain))
    near, far = binomial_limits(
        share, size, freedom, level, minority_count=estimate.minority_count, added=added
    )
    return near, far, variance
