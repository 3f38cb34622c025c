"""The rows of a report: one per estimate, or the reason why there is none."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation import shrinkage
from activetest.estimation.beliefs import is_model_based
from activetest.estimation.estimate import WORST_CASE, lacks_bounds
from activetest.estimation.evidence import Group
from activetest.estimation.group_estimates import HEADLINE, count_labelled, find_metric_variance
from activetest.estimation.random_draws import RandomDraws, expect_random_draws, find_random_price
from activetest.estimation.raw import measure_raw
from activetest.estimation.value import Value
from activetest.estimation.view import ANYTIME, FIXED, View
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.item_statistics.metric import Metric
from activetest.nouns.estimate import ENOUGH_RESIDUALS, FEW, RARE, Estimate
from activetest.nouns.log import PENDING, count_answers
from activetest.nouns.quantity import DeclinedItems, Quantity, Saving, SavingKind, add_bought
from activetest.nouns.report import EstimateRow
from activetest.nouns.rounding import MARGIN, is_below
from activetest.system.progress import step

# Labels, counted as uniform draws would have shown them, with which a claim of what was saved half
# believes a surrogate; and labels of the rarer kind with which it does so entirely.
_SHOWN, _ENOUGH = 70, 12
# Part below the line of a share that draws may have missed, with which a claim is half believed.
_ROOM = 0.05
# Kinds of intervals that hold at one look at best.
_ONE_LOOK = ("fixed", "posterior")
# Draws from which on coverage was measured, and degrees of freedom that the variance needs: where a
# few losses make most of it, it has fewer.
_DRAWS, _FREEDOM = 50, (6.0, 20.0)
# Degrees of freedom below which the variance of a number without bounds is mostly of losses that no
# draw met: as of squares, few studies meet what makes the error of all large.
_TAIL = 8.0
# With a tail index below 2 the variance of what labels were off by need not exist; of the largest
# tenth of what has a variance one may see an index of little more than 1.
_TAIL_INDEX = 1.2


def estimate_groups(
    view: View, metrics: list[Metric], columns: tuple[str, ...], kind: str, *, simultaneous: bool
) -> list[EstimateRow]:
    """A row for every metric and group of these columns, each column's values shrunk together.

    simultaneous spreads the error over the intervals that a column shows (Bonferroni 1936): with
    probability `level` all intervals of a metric in a column hold, see count_intervals.
    """
    rows = []
    for metric in metrics:
        for column in columns:
            groups = [
                group for group in view.evidence.groups[1:] if column in (group.meaning or ())
            ]
            level = view.choices.level
            if simultaneous:
                level = _adjust_level(level, count_intervals(view, groups, kind, metric))
            rows += _shrink_column(view, metric, groups, level, kind)
    return rows


def mark_one_look(rows: Sequence[EstimateRow], kind: str) -> list[EstimateRow]:
    """The rows, those marked that hold for one look at best where the others hold at every look."""
    return [
        replace(row, quantity=replace(row.quantity, one_look=True))
        if kind == ANYTIME and row.lower is not None and row.quantity.kind in _ONE_LOOK
        else row
        for row in rows
    ]


def count_intervals(
    view: View, groups: Sequence[Group], kind: str, metric: Metric | None = None
) -> int:
    """Of how many groups an interval can miss: those that share the error of their column.

    Fixed intervals: groups with enough labels to have one, and items without a label. These groups
    follow from the number of labels in each and from no label. So a column's error can
    be divided by their number, as if it had been fixed in advance: given where the draws fell,
    each interval misses with probability (1 - level) / count, and any of them with 1 - level at
    most. (Whether a metric such as recall is defined in a group depends on its labels: such
    a group counts, whether it shows an interval or not.) Labels steer later draws, so this
    is as approximate as the intervals are; `tests/benchmarks/groups.py` measures it.

    Anytime-valid intervals hold at every look together, so that the number must not depend on when
    one looks: every group that can ever have enough labels counts from the beginning.
    """
    if kind == ANYTIME:
        return sum(group.size >= NEEDS_INSIDE for group in groups)
    return sum(
        count_labelled(view, group, metric) >= NEEDS_INSIDE and not _is_known(view, group)
        for group in groups
    )


def estimate_differences(
    view: View, metrics: list[Metric], columns: tuple[str, ...], *, simultaneous: bool
) -> list[EstimateRow]:
    """A row for every two groups of a column: the first minus the second.

    simultaneous spreads the error over the pairs of a column with an interval (Bonferroni).
    """
    rows = []
    for metric in metrics:
        for column in columns:
            rows += _subtract_pairs(view, metric, column, simultaneous)
    return rows


def _shrink_column(
    view: View, metric: Metric, groups: list[Group], level: float, kind: str
) -> list[EstimateRow]:
    """The groups of one column, with their values moved towards what the surrogate foresees."""
    rows, found = [], []
    with step("estimating groups", len(groups)) as estimating:
        for group in groups:
            try:
                value = view.value(metric, HEADLINE, group, kind=kind)
            except NotEstimable:
                value = None
            about = view, metric, HEADLINE, group
            rows.append(estimate_row(*about, level=level, kind=kind, value=value))
            found.append(value)
            estimating.advance()
    try:
        # Groups rest on no assumption.
        whole = replace(view, assumptions=()).value(metric, HEADLINE)
    except NotEstimable:
        return rows
    return shrink_rows(metric, rows, found, whole=whole.value, expected=whole.predicted)


def shrink_rows(
    metric: Metric,
    rows: Sequence[EstimateRow],
    values: Sequence[Value | None],
    *,
    whole: float,
    expected: float,
) -> list[EstimateRow]:
    """The rows with their values shrunk towards the surrogate's expectation of each.

    Its error on all items together corrects it.

    whole     the value of all items
    expected  what the surrogate expects of it
    """
    found = [np.nan if value is None else value.value for value in values]
    variances = [np.nan if value is None else find_metric_variance(value) for value in values]
    predicted = [np.nan if value is None else value.predicted for value in values]
    centre = np.clip(np.add(predicted, whole - expected), metric.lower, metric.upper)
    centre = np.where(np.isfinite(centre) & (metric.refine is None), centre, whole)
    shrunk = shrinkage.shrink(np.array(found), np.array(variances), centre)
    return [replace(row, shrunk=each) for row, each in zip(rows, shrunk.tolist(), strict=True)]


def estimate_row(
    view: View,
    metric: Metric,
    estimator: str,
    group: Group | None = None,
    *,
    level: float,
    kind: str = FIXED,
    value: Value | None = None,
) -> EstimateRow:
    """One estimate with its interval, or the reason why there is none.

    value is what View.value gives of it, where that is at hand.
    """
    evidence = view.evidence
    group = group or evidence.groups[0]
    whole = group.column is None
    own, inside = is_model_based(estimator), evidence.count_known(group)
    used = inside
    if not own:
        used = count_labelled(view, group, None if kind == ANYTIME else metric)
    bought = count_bought(view, group)
    row = EstimateRow(
        quantity=Quantity(None, None, None, level, "none", saving=bought),
        metric=metric.name,
        class_name=metric.class_name,
        models=metric.models,
        estimator=estimator,
        n_draws=None if own else used,
        n_labeled=used,
        n_pool=group.size,
        group=group.meaning,
        from_outputs=measure_raw(view.cache, metric, group),
    )
    try:
        value = value or view.value(metric, estimator, group, kind=kind)
    except NotEstimable as error:
        return replace(row, reason=error.problem)
    exact = value.of_pool.estimate.exact
    if own:
        row = replace(row, surrogate_std=value.spread)
    assumptions = name_assumptions(view, metric, group) if kind != ANYTIME and not own else None
    if assumptions:
        used = int(value.sample.counted.sum())
        row = replace(row, n_draws=used, n_labeled=used)
    if exact:
        row = replace(row, n_draws=None, n_labeled=inside)
    elif not whole and used < NEEDS_INSIDE:
        labels = "labels" if used == bought.items else "drawn labels"
        return replace(row, reason=f"too few {labels} ({used} of {NEEDS_INSIDE})")
    try:
        interval = view.interval(value, level, kind, group)
    except NotEstimable as error:
        without = replace(row.quantity, estimate=float(value.value))
        return replace(row, quantity=without, reason=error.problem)
    design = not own and not exact
    reliable = own or is_reliable(value, interval.method)
    draws = expect_random_draws(view.cache, group)
    saving = measure_saving(value, interval, draws, bought, reliable=reliable)
    quantity = replace(
        interval,
        reliable=reliable,
        # Random labels would be compared with what the outputs say of the same items, too.
        saving=saving if design and metric.against is None else bought,
        declined=describe_declined(view, [value]),
        assumptions=assumptions,
    )
    inflated = design and bool(interval.variance > value.estimate.variance[0, 0] * (1 + MARGIN))
    largest = None
    if whole and design:
        weights = value.estimate.weights / value.sample.q
        largest = float(weights.max() / weights.sum())
    return replace(row, quantity=quantity, max_weight_share=largest, variance_inflated=inflated)


def describe_declined(view: View, values: Sequence[Value]) -> DeclinedItems | None:
    """The effect of declined items on a value, or on the first of two less the second.

    None where no declined item can change them.
    """
    shares = [value.answered for value in values if value.answered is not None]
    cases = [value.declined for value in values if value.declined is not None]
    believed = any(value.estimate.draws is not None for value in values)
    if not shares or (view.counts_declined and not (cases or believed)):
        return None
    if believed or not cases or not all(case.bounded for case in cases):
        return DeclinedItems(min(shares), ignored=not view.counts_declined)
    (low, high), *others = (value.over_all for value in values)
    for least, most in others:
        low, high = low - most, high - least
    return DeclinedItems(min(shares), low, high)


def name_assumptions(view: View, metric: Metric, group: Group) -> str | None:
    """The assumptions of a fixed interval, as the user wrote them; None where it has none."""
    return " and ".join(each.text for each in view.find_assumptions(metric, group)) or None


def is_reliable(value: Value, method: str) -> bool:
    """Whether there are enough labels for the interval to be believed.

    Intervals for statistics that are 0 or 1 are made wide enough while labels are few. The others
    cannot foresee how much losses that were not sampled yet would change. Over all items, declined
    ones among them, both ends have to be believed.
    """
    known = method in ("exact", WORST_CASE, "betting")
    if value.sample.doubted or (value.sample.unaccounted and not known):
        return False
    if known:
        return True
    if value.declined is not None:
        ends = filter(None, (value.declined.low, value.declined.high))
        return all(is_reliable(each, method) for each in (replace(value, declined=None), *ends))
    if value.several and method in ("delta-beta", "group-beta", "group-t"):
        return value.estimate.minority_count >= FEW
    if method == "gamma":
        return len(value.estimate.terms) >= _DRAWS and _shows_losses(value)
    enough = RARE if method == "group-t" else 0
    return min(value.estimate.minority_count, value.estimate.weighted_minority_count) >= enough


def _shows_losses(value: Value) -> bool:
    """Whether labels show how far values may be off; of losses between bounds the interval does.

    A variance of squares rests on fourth powers of what labels are off by, if these have a mean.
    """
    estimate, power = value.estimate, max(each.power for each in value.metric.statistics)
    bounded = estimate.excess is not None and estimate.excess.bounded
    return bounded or (
        estimate.residual_count >= ENOUGH_RESIDUALS
        and not is_below(estimate.tail_index, _TAIL_INDEX)
        and estimate.spread_freedom >= _FREEDOM[power > 1]
    )


def _is_known(view: View, group: Group) -> bool:
    """Whether the value of a group is known: every item was answered, and it is about these."""
    evidence = view.evidence
    if view.population is not None:
        return False
    return bool(
        group.membership(evidence.codes)[evidence.log.item_status != PENDING].sum() == group.size
    )


def count_bought(view: View, *groups: Group) -> Saving:
    """All answers about items of groups that were bought, whoever chose the items.

    Where labels have prices, what they cost as well, and what a random one would.
    """
    return add_bought(*(_count_bought(view, group) for group in groups))


def _count_bought(view: View, group: Group) -> Saving:
    evidence = view.evidence
    inside = group.membership(evidence.codes)
    bought, items = (
        round(count_answers(log, inside))
        for log in (evidence.log, replace(evidence.log, answers=None))
    )
    saving = Saving(bought, answered=None if items == bought else items)
    price = find_random_price(view.cache, group)
    if price is None:
        return saving
    rows = evidence.drawn, evidence.supplied
    prices = np.concatenate([np.asarray(each.price) for each in rows])
    return replace(saving, spent=count_answers(evidence.log, inside * prices), price=price)


def measure_saving(
    value: Value, interval: Quantity, draws: RandomDraws, bought: Saving, *, reliable: bool
) -> Saving:
    """How many random draws would leave the variance of the interval, beside what was bought.

    They are from all items of the pool, or of the group, those included that cannot change the
    metric.

    The variance of one is that over the items: all of them, so that labels that were supplied or
    picked count for what they add. Where items have weights, it is in proportion to them. Too
    early while the interval is not reliable, and while labels of one kind alone are known: nothing
    is known of s^2 then. The estimate's variance is as it most likely is: limits hold it up more.
    """
    if not np.isfinite(interval.variance):
        return bought
    single, minority_count = find_variance_of_items(value, interval), value.estimate.minority_count
    if not (reliable and minority_count > 0 and single > 0 and interval.variance > 0):
        return replace(bought, kind=SavingKind.TOO_EARLY)
    # Uniform draws have the variance of the pool's own sampling and annotators as well: annotators
    # the less the more items they label. No draw of ours is spent on what cannot change the metric.
    alone = single if value.relevant is None else value.estimate.one_draw
    variance = _expect_variance(value, alone)
    items = float(bought.answered or bought.bought)
    random = draws.find_count(single, variance, value.estimate.doubt * items)
    if value.several and random > items:
        # Draws that pass over one kind of label look precise until some of it are met.
        random = items + _find_shown(value.estimate) * (random - items)
    return replace(bought, random=float(random), kind=SavingKind.ABOUT)


def _expect_variance(value: Value, single: float) -> float:
    """The variance as it most likely is, as often below the truth as above; single is of one draw.

    At least the observed one. Of one with f degrees of freedom the median is about 1 - 2 / (3 f) of
    its mean: few draws rarely show the large residuals that make most of it. At least, too, what
    the surrogate expects, as far as it is believed: by the labels of the rarer kind and by all, as
    uniform draws would have shown them, for without them a model that is right and one that is
    confidently wrong look alike. For the rest stands the variance of uniform draws, if larger.
    """
    estimate = value.of_pool.estimate
    if estimate.exact:
        return 0.0
    observed = estimate.variance[0, 0] * (1 + 2 / (3 * estimate.spread_freedom))
    if lacks_bounds(value):
        observed *= 1 + (_TAIL / estimate.spread_freedom) ** 2
    uniform = single * estimate.open_share**2 / estimate.inside.sum() * estimate.undrawn
    model, shown = estimate.model_variance, max(estimate.uniform_count, MARGIN)
    rarer = _count_rarer(estimate)
    believed = max(rarer, 1 / (1 + (_SHOWN / shown) ** 2))
    if estimate.excess is not None and estimate.excess.bounded:
        # Of a loss, those decide that labels moved far.
        believed = min(believed, estimate.excess.support / _ENOUGH)
    return float(max(observed, believed * model + (1 - believed) * max(uniform, model)))


def _count_rarer(estimate: Estimate) -> float:
    """How far labels of the rarer kind, as uniform draws would have shown them, are enough."""
    return 1.0 if estimate.exact else min(estimate.uniform_minority_count / _ENOUGH, 1.0)


def _find_shown(estimate: Estimate) -> float:
    """How far labels show what a metric of several means saves: by those of the rarer kind.

    Or by how little draws can have missed, as of precision, which is about items that are flagged.
    """
    missed = (estimate.unmet / _ROOM) ** 2 if estimate.unmet else np.inf
    return max(_count_rarer(estimate), 1 / (1 + missed))


def find_variance_of_items(value: Value, interval: Quantity) -> float:
    """The variance of one uniform draw; of a share, as its interval takes it to be.

    Where a share r of the items can change the metric, n draws meet r n of these: they leave
    s^2 (1 / (r n) - 1 / (r N)), s^2 the variance over these, as if that over all were s^2 / r.
    """
    if value.relevant is not None:
        return value.estimate.one_draw * value.sample.size / max(value.relevant, 1)
    if interval.method != "korn-graubard" or value.estimate.doubt > 0:
        return value.estimate.one_draw
    share = float(np.clip(value.estimate.mean[0], 0, 1))
    # Random draws meet items that are declined as well.
    answered = value.means.mean[-1] if len(value.means.mean) > len(value.metric.statistics) else 1.0
    return share * (1 - share) / float(np.clip(answered, 1e-300, 1))


def _subtract_pairs(
    view: View, metric: Metric, column: str, simultaneous: bool
) -> list[EstimateRow]:
    """The differences of all pairs of groups of a column that have enough labels."""
    groups = [
        group
        for group in view.evidence.groups[1:]
        if column in (group.meaning or ())
        and count_labelled(view, group, metric, alike=True) >= NEEDS_INSIDE
    ]
    level = view.choices.level
    if simultaneous:
        # As in count_intervals; where both groups are known, their difference is.
        known = sum(_is_known(view, group) for group in groups)
        level = _adjust_level(level, comb(len(groups), 2) - comb(known, 2))
    estimates = []
    for group in groups:
        try:
            estimates.append((group, view.value(metric, HEADLINE, group, alike=True)))
        except NotEstimable:
            continue
    pairs = list(combinations(estimates, 2))
    rows = []
    for (group, value), (other, subtracted) in pairs:
        interval = view.difference(value, subtracted, (group, other), level)
        bought = count_bought(view, group, other)
        labels = sum(count_labelled(view, each, metric, alike=True) for each in (group, other))
        rows.append(
            EstimateRow(
                quantity=replace(
                    interval,
                    reliable=not (value.sample.doubted or value.sample.unaccounted),
                    saving=bought,
                    declined=describe_declined(view, [value, subtracted]),
                ),
                metric=metric.name,
                models=metric.models,
                class_name=metric.class_name,
                estimator=HEADLINE,
                n_draws=None if interval.method == "exact" else labels,
                n_labeled=labels,
                n_pool=group.size + other.size,
                group=group.meaning,
                against=other.meaning,
            )
        )
    return rows


def _adjust_level(level: float, count: int) -> float:
    """The level of each of `count` intervals that hold together with probability `level`."""
    return 1 - (1 - level) / max(count, 1)
