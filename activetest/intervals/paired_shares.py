"""Paired shares: the share of mistakes of one model minus that of another, on the same items.

An item adds -1, 0 or 1. (1 + difference) / 2 has the limits that Korn and Graubard 1998 give a
share: of all numbers between 0 and 1 with one mean, those that are 0 or 1 vary the most, so that
the variance of uniform draws, which stands for the one that was observed while labels are few, is
at least as large as it can be. Where all labels are on one side, the limits are Clopper and
Pearson's, as those of a sign test.
"""

from dataclasses import replace

import numpy as np

from activetest.intervals import korn_graubard
from activetest.nouns.estimate import Estimate
from activetest.nouns.quantity import Quantity


def interval(estimate: Estimate, level: float, *, decides: bool = False) -> Quantity:
    """Interval for one mean (d = 1) of a statistic between -1 and 1; decides as in korn_graubard.

    Without a label among the items on which the models differ, it is all that is possible.
    """
    low, high = estimate.limits[:, 0].tolist()
    if not (estimate.exact or estimate.inside.any()):
        mean = float(np.clip(estimate.mean[0], low, high))
        return Quantity(mean, low, high, level, "paired-shares", variance=1.0)
    share = replace(
        estimate,
        mean=(1 + estimate.mean) / 2,
        variance=estimate.variance / 4,
        terms=(1 + estimate.terms) / 2,
        limits=np.clip((1 + estimate.limits) / 2, 0, 1),
        model_variance=estimate.model_variance / 4,
        # In steps of half an item.
        open_items=2 * estimate.open_items,
        excess=None,
    )
    found = korn_graubard.interval(share, level, decides=decides)
    value, lower, upper = (2 * end - 1 for end in (share.mean[0], *found.find_ends()))
    method = "exact" if found.method == "exact" else "paired-shares"
    return Quantity(float(value), lower, upper, level, method, variance=4 * found.variance)
