"""The lines of a report: one per estimate, or the reason why there is none."""

from dataclasses import replace

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation import shrinkage
from activetest.estimation.estimate import Value, difference
from activetest.estimation.samples import Group
from activetest.estimation.view import FIXED, OWN_VIEW, View
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.item_statistics.metric import Metric
from activetest.nouns.estimate import RARE
from activetest.nouns.log import LABELLED
from activetest.nouns.report import EstimateRow

HEADLINE = "doubly-robust"
# Labels on either side of a metric of several means, below which its shape is not known.
_FEW = 3


def overall(
    view: View, metrics: list[Metric], estimators: tuple[str, ...], kind: str
) -> list[EstimateRow]:
    """A line for every metric and estimator; the first is the headline."""
    level = view.choices.level
    lines = [
        estimate_row(view, metric, name, level=level, kind=kind)
        for metric in metrics
        for name in estimators
    ]
    return [replace(each, headline=place == 0) for place, each in enumerate(lines)]


def grouped(
    view: View, metrics: list[Metric], columns: tuple[str, ...], kind: str, *, simultaneous: bool
) -> list[EstimateRow]:
    """A line for every metric and group of these columns, each column's values shrunk together.

    simultaneous spreads the error over all groups of the table (Bonferroni): with probability
    `level` every interval of a metric holds.
    """
    groups = [group for group in view.evidence.groups[1:] if set(group.meaning) <= set(columns)]
    level = _spread(view.choices.level, len(groups)) if simultaneous else view.choices.level
    lines = []
    for metric in metrics:
        for column in columns:
            here = [group for group in groups if column in group.meaning]
            lines += _column(view, metric, here, level, kind)
    return lines


def estimate_row(
    view: View, metric: Metric, estimator: str, group: Group | None = None, *, level, kind=FIXED
) -> EstimateRow:
    """One estimate with its interval, or the reason why there is none."""
    return _estimate_row(view, metric, estimator, group, level, kind)[0]


def measured(view: View, metric: Metric, group: Group) -> tuple[EstimateRow, float]:
    """The doubly robust line of a group, and the variance of its estimate; NaN without one."""
    made, value = _estimate_row(view, metric, HEADLINE, group, view.choices.level, FIXED)
    return made, np.nan if value is None else _variance(value)


def differences(
    view: View, metrics: list[Metric], columns: tuple[str, ...], *, simultaneous: bool
) -> list[EstimateRow]:
    """A line for every two groups of a column: the first minus the second, jointly judged."""
    lines = []
    for metric in metrics:
        for column in columns:
            lines += _pairs(view, metric, column, simultaneous)
    return lines


def _column(
    view: View, metric: Metric, groups: list[Group], level: float, kind: str
) -> list[EstimateRow]:
    """The groups of one column, with their values drawn towards what the surrogate foresees."""
    made = [_estimate_row(view, metric, HEADLINE, group, level, kind) for group in groups]
    try:
        whole = view.value(metric, HEADLINE)
    except NotEstimable:
        return [each for each, _ in made]
    values = [np.nan if value is None else value.value for _, value in made]
    variances = [np.nan if value is None else _variance(value) for _, value in made]
    # What the surrogate expects of a group, moved by what it is wrong about the whole pool.
    moved = whole.value - whole.foreseen
    foreseen = [np.nan if value is None else value.foreseen for _, value in made]
    centre = np.clip(np.add(foreseen, moved), metric.lower, metric.upper)
    centre = np.where(np.isfinite(centre) & (metric.refine is None), centre, whole.value)
    shrunk = shrinkage.shrink(np.array(values), np.array(variances), centre)
    return [replace(each, shrunk=float(one)) for (each, _), one in zip(made, shrunk, strict=True)]


def _estimate_row(
    view: View, metric: Metric, estimator: str, group: Group | None, level: float, kind: str
) -> tuple[EstimateRow, Value | None]:
    evidence = view.evidence
    group = group or evidence.groups[0]
    whole = group.column is None
    inside = known_inside(view, group)
    used = inside if estimator == OWN_VIEW else labelled_inside(view, group)
    common = {
        "metric": metric.name,
        "class_name": metric.class_name,
        "estimator": estimator,
        "level": level,
        "n_labeled": used,
        "n_pool": group.size,
        "group": group.meaning,
    }
    nothing = {"estimate": None, "lower": None, "upper": None, "method": "none"}
    try:
        value = view.value(metric, estimator, group)
    except NotEstimable as reason:
        return EstimateRow(**common, **nothing, reason=reason.problem), None
    exact = value.inner.exact
    if exact:
        common["n_labeled"] = inside
    elif not whole and used < NEEDS_INSIDE:
        reason = f"not enough labels ({used} of {NEEDS_INSIDE})"
        return EstimateRow(**common, **nothing, reason=reason), value
    try:
        interval = view.interval(value, level, kind, group)
    except NotEstimable as reason:
        common |= {"estimate": value.value, "lower": None, "upper": None, "method": "none"}
        return EstimateRow(**common, reason=reason.problem), value
    design = estimator != OWN_VIEW and not exact
    n_eff, saved = _value(value, interval.variance, used, group.size) if design else (None, None)
    return (
        EstimateRow(
            **common,
            estimate=value.value,
            lower=interval.lower,
            upper=interval.upper,
            method=interval.method,
            n_eff=n_eff,
            labels_saved=saved,
            max_weight_share=_heaviest(value, view) if whole and design else None,
            variance_inflated=design
            and interval.variance > value.inner.variance[0, 0] * (1 + 1e-9),
            reliable=not design or reliable(value, interval.method),
        ),
        value,
    )


def reliable(value: Value, method: str) -> bool:
    """Whether there are labels enough for the interval to be believed.

    An interval for a mean that is 0 or 1 is made wide enough while they are few. No other can know
    what the labels not met yet would change.
    """
    if method in ("exact", "betting"):
        return True
    if value.several and method in ("delta-beta", "group-beta", "group-t"):
        return value.inner.minority_count >= _FEW
    # Heavy tails need more: an estimate that is too small seems to rest on many like labels.
    enough = {"shrunk-t": RARE, "group-t": RARE, "gamma": 2 * RARE}.get(method, 0)
    return min(value.inner.minority_count, value.inner.weighted_minority_count) >= enough


def known_inside(view: View, group: Group) -> int:
    """All labels that are known in a group."""
    evidence = view.evidence
    drawn = group.holds(evidence.drawn.codes)[evidence.log.status == LABELLED]
    supplied = group.holds(evidence.supplied.codes)[evidence.log.supplied_status == LABELLED]
    return int(drawn.sum() + supplied.sum())


def labelled_inside(view: View, group: Group) -> int:
    """Labelled draws that estimates use and that are in the group."""
    evidence = view.evidence
    inside = group.holds(evidence.drawn.codes)[evidence.steps]
    return int(inside[evidence.log.status[evidence.steps] == LABELLED].sum())


def _value(
    value: Value, variance: float, used: int, size: int
) -> tuple[float | None, float | None]:
    """Uniform draws that would have this variance, and that over the labels used."""
    one = value.inner.one_draw
    if not (np.isfinite(one) and variance > 0):
        return None, None
    value = one / (variance + one / size)
    # Below, one draw hardly varies, as with a constant loss: the ratio would be noise.
    return (value, value / used) if value >= 1 else (None, None)


def _heaviest(value: Value, view: View) -> float:
    """Share of the draw that weighs most, among the weights of all draws."""
    weights = value.inner.weights / view.evidence.log.prob[view.evidence.steps]
    return float(weights.max() / weights.sum())


def _variance(value: Value) -> float:
    """Variance of the metric itself; that of its mean where it is one. NaN without a draw."""
    if value.inner.exact:
        return 0.0
    if not value.inner.inside.any():
        return np.nan
    variance = max(value.inner.variance[0, 0], value.inner.model_variance)
    return float(variance * value.slope**2)


def _pairs(view: View, metric: Metric, column: str, simultaneous: bool) -> list[EstimateRow]:
    values = {}
    for group in view.evidence.groups[1:]:
        if column in group.meaning and labelled_inside(view, group) >= NEEDS_INSIDE:
            try:
                values[group.name] = (group, view.value(metric, HEADLINE, group))
            except NotEstimable:
                continue
    made = list(values.values())
    pairs = [(one, two) for place, one in enumerate(made) for two in made[place + 1 :]]
    level = view.choices.level
    level = _spread(level, len(pairs)) if simultaneous and pairs else level
    lines = []
    for (group, value), (other, against) in pairs:
        apart, interval = difference(value, against, level)
        lines.append(
            EstimateRow(
                metric=metric.name,
                class_name=metric.class_name,
                estimator=HEADLINE,
                estimate=apart,
                lower=interval.lower,
                upper=interval.upper,
                level=level,
                method=interval.method,
                n_labeled=labelled_inside(view, group) + labelled_inside(view, other),
                n_pool=group.size + other.size,
                group=group.meaning,
                against=other.meaning,
            )
        )
    return lines


def _spread(level: float, count: int) -> float:
    """The level of each of `count` intervals that hold together with probability `level`."""
    return 1 - (1 - level) / max(count, 1)
