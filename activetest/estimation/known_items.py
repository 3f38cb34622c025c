"""What is not known of a pool, and intervals where much is: for the mean of what was open.

Items that are known before the first draw that counts add nothing to the doubt, and neither their
labels nor their number belong into an effective sample size or a count of rare events.
"""

from dataclasses import replace

from activetest.nouns.estimate import Estimate, Interval
from activetest.nouns.log import PENDING, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.rounds.fit import find_free_items


def find_unknown(log: Log, size: int) -> Array:
    """(N,) True where an item has no answer yet, drawn or not; declined items have one."""
    unknown = find_free_items(log, size)
    unknown[log.rows[log.status == PENDING]] = True
    unknown[log.supplied_rows[log.supplied_status == PENDING]] = True
    return unknown


def measure_items(cache: PoolView, rows: Array) -> float:
    """The number of the items at these positions, or the sum of their weights."""
    return float(cache.take(rows).mass.sum()) if cache.roles.get("weight") else len(rows)


def restrict_to_open(estimate: Estimate) -> Estimate:
    """The same estimate (d = 1), of the mean over what was open: known + share x that mean."""
    known, share = estimate.known, estimate.open_share
    if (known, share) == (0.0, 1.0):
        return estimate
    return replace(
        estimate,
        mean=(estimate.mean - known) / share,
        variance=estimate.variance / share**2,
        terms=(estimate.terms - known) / share,
        limits=(estimate.limits - known) / share,
        model_variance=estimate.model_variance / share**2,
        known=0.0,
        open_share=1.0,
    )


def include_known(interval: Interval, estimate: Estimate) -> Interval:
    """The interval of the whole mean, from that of the mean over what was open."""
    known, share = estimate.known, estimate.open_share
    if (known, share) == (0.0, 1.0):
        return interval
    return replace(
        interval,
        lower=known + share * interval.lower,
        upper=known + share * interval.upper,
        variance=interval.variance * share**2,
    )
