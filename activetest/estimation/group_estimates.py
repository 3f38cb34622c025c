"""The doubly robust estimate of a group, with its variance, and the labels behind it."""

from dataclasses import dataclass

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation.certain import find_part
from activetest.estimation.evidence import Group
from activetest.estimation.samples import find_metric_steps
from activetest.estimation.value import Value
from activetest.estimation.view import View
from activetest.intervals import group_beta
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.item_statistics.metric import Metric
from activetest.nouns.log import LABELLED

HEADLINE = "doubly-robust"


@dataclass(frozen=True)
class GroupEstimate:
    """A metric in a group: its estimate, the ends of its interval, and the estimate's variance."""

    value: float
    lower: float
    upper: float
    variance: float


def estimate_group(view: View, metric: Metric, group: Group) -> GroupEstimate | None:
    """The metric in a group; None while there are too few labels for an interval of it."""
    try:
        value = view.value(metric, HEADLINE, group)
        exact = value.of_pool.estimate.exact
        if not exact and count_labelled(view, group, metric) < NEEDS_INSIDE:
            return None
        interval = view.interval(value, view.choices.level, group=group)
    except NotEstimable:
        return None
    variance = find_metric_variance(value)
    if not np.isfinite(variance):
        return None
    return GroupEstimate(value.value, *interval.find_ends(), variance)


def count_labelled(
    view: View, group: Group, metric: Metric | None = None, *, alike: bool = False
) -> int:
    """Labelled draws that estimates use and that are in the group.

    Those of whole rounds, or of fixed intervals of a metric that they can change: see View.value.
    """
    if view.parts:
        return sum(
            count_labelled(part, own, metric, alike=alike) for part, own in view.list_parts(group)
        )
    evidence, steps = view.evidence, view.evidence.steps
    inside = group.membership(evidence.drawn.codes)
    if metric is not None:
        used = view.evidence_of(metric, group, alike=alike)
        steps = used.steps
        if not metric.refine:
            inside = find_part(used, metric, group).drawn
            steps = find_metric_steps(used, metric)
    return int(inside[steps][evidence.log.status[steps] == LABELLED].sum())


def find_metric_variance(value: Value) -> float:
    """Variance of the metric itself; that of its mean where it is one. NaN without a draw.

    It is believed as its interval believes it.
    """
    if value.estimate.exact:
        return 0.0
    if not value.estimate.inside.any():
        return np.nan
    return group_beta.believe_variance(value.estimate) * value.slope**2
