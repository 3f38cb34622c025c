"""Limits for a share at an effective sample size (Korn and Graubard 1998)."""

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from activetest.nouns.rounding import MARGIN

# Draws that Clopper and Pearson's limits add to the far side, and Jeffreys' to either.
CLOPPER_PEARSON, JEFFREYS = 1.0, 0.5
# Beta quantiles exist up to about this size.
_LARGEST = 1e15


def effective_size(share: float, variance: float, *, otherwise: float) -> float:
    """How many uniform draws would leave a share with this variance; otherwise where it is zero.

    A variance of rounding is none. Within a deviation of a bound, share (1 - share) over the
    variance is no sample size any more.
    """
    if variance <= 1 / _LARGEST**2:
        return otherwise
    deviation = min(variance**0.5, 0.5)
    inner = np.clip(share, deviation, 1 - deviation)
    return float(inner * (1 - inner) / variance)


def binomial_limits(
    share: float,
    size: float,
    freedom: float,
    level: float,
    *,
    minority_count: float,
    added: float = CLOPPER_PEARSON,
) -> tuple[float, float]:
    """Lower and upper limit of a share: beta quantiles at a size that Student's t shrinks.

    added is the part of a draw that each limit adds beyond it, the rest being added on this side:
    all of it is Clopper and Pearson's limit, half of it Jeffreys' (Brown, Cai and DasGupta 2001).
    Where no label of the rarer kind was seen (minority_count 0), the nearer bound stays in: no
    label is evidence against it. Beyond any size that a pool can have
    both limits are the share: a variance of rounding is none.
    """
    if size > _LARGEST:
        return share, share
    tail = (1 - level) / 2
    size *= (ndtri(tail) / stdtrit(freedom, tail)) ** 2
    hits, misses = share * size, (1 - share) * size
    within = 1 - added
    lower = betaincinv(hits + within, misses + added, tail) if hits + within > 0 else 0.0
    upper = betaincinv(hits + added, misses + within, 1 - tail) if misses + within > 0 else 1.0
    if minority_count == 0:
        lower, upper = 0.0 if share < 0.5 else lower, 1.0 if share > 0.5 else upper
    return float(lower), float(upper)


def round_outward(lower: float, upper: float, items: float) -> tuple[float, float]:
    """The ends as whole numbers of items: of a small pool the truth is one of few shares."""
    if not np.isfinite(items):
        return lower, upper
    return np.floor(lower * items + MARGIN) / items, np.ceil(upper * items - MARGIN) / items
