"""Intervals where much is known: for the mean of what was open, and from there to the whole.

Items that are known before the first draw that counts add nothing to the doubt, and neither their
labels nor their number belong into an effective sample size or a count of rare events.
"""

from dataclasses import replace

from activetest.nouns.estimate import Estimate, Interval


def restrict_to_open(estimate: Estimate) -> Estimate:
    """The same estimate (d = 1), of the mean over what was open: known + share x that mean."""
    known, share = estimate.known, estimate.open_share
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
    return replace(
        interval,
        lower=known + share * interval.lower,
        upper=known + share * interval.upper,
        variance=interval.variance * share**2,
    )
