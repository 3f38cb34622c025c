"""Missing answers: draws that have no label yet count at a guess, and at the worst they can be.

Declined items count at the worst they can be, too, where a metric is bounded over all items.

A fixed interval needs every term of an estimate, and a term needs the labels of all earlier draws.
Where some never came, the estimate takes the surrogate's guess for them, and its interval is the
hull of the intervals that the worst labels would give: it holds whatever the reason why labels are
missing. Or estimates use the whole rounds before the first missing answer alone. The method
is decided by the expected widths, and these by what is known without any label: how many draws
lack one, which and how probable they were, and what the first round's surrogate expected.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise, product
from typing import Any

import numpy as np
from scipy.special import ndtri

from activetest import catalog
from activetest.errors import NotEstimable, PoolChanged
from activetest.estimation.certain import find_part
from activetest.estimation.corrections import tabulate
from activetest.estimation.delta_method import divide_by_answered
from activetest.estimation.estimate import estimate_metric
from activetest.estimation.evidence import Evidence, Group
from activetest.estimation.samples import build_sample, find_metric_steps, weigh_items
from activetest.estimation.value import Value, WorstCase
from activetest.item_statistics.metric import Metric, take_mean
from activetest.item_statistics.statistic import Statistic, combine_statistics
from activetest.nouns.beliefs import moments
from activetest.nouns.estimate import Sample
from activetest.nouns.log import DECLINED, LABELLED, PENDING, Log, count_usable_draws
from activetest.nouns.rounding import find_nearly_largest, is_above
from activetest.nouns.rows import Array, Rows
from activetest.rounds.fit import restore_surrogate

# Labelled draws that a plan needs at least.
_FEWEST = 2
# Statistics without classes whose bounds are combined at most.
_MOST_BOUNDED = 4
# Passes that find the estimator's own guesses, and steps to the worst labels of a ratio.
_PASSES, _STEPS = 3, 50


@dataclass(frozen=True)
class Filled:
    """Evidence in which K missing answers are filled, drawn items first, for one metric and group.

    evidence          with every filled item taken for labelled, its statistics at the guess
    drawn, supplied   places of the items in the log's draws, and among supplied items
    columns           (d,) columns of the metric's statistics in the evidence's
    values            (K, L, d) statistics under each label that the item could have
    guess             (K, d) the round's prediction of the statistics
    inside            (K,) 1.0 where the item is in the group and can change the metric
    until             the round before which answers were filled
    """

    evidence: Evidence
    metric: Metric
    group: Group
    drawn: Array
    supplied: Array
    columns: list[int]
    values: Array
    guess: Array
    inside: Array
    until: int = 0

    def of_group(self, group: Group) -> "Filled":
        """The same evidence, for another group."""
        part = find_part(self.evidence, self.metric, group)
        inside = np.concatenate([part.drawn[self.drawn], part.supplied[self.supplied]])
        return replace(self, group=group, inside=inside)

    @property
    def steps(self) -> Array:
        """(M,) places of the draws that the estimate is made of."""
        return find_metric_steps(self.evidence, self.metric)

    def set_statistics(self, stats: Array) -> Evidence:
        """The evidence with (K, d) statistics of the missing items."""
        evidence, count = self.evidence, len(self.drawn)
        drawn, supplied = evidence.stats.copy(), evidence.supplied_stats.copy()
        drawn[self.drawn[:, None], self.columns] = stats[:count]
        supplied[self.supplied[:, None], self.columns] = stats[count:]
        return replace(evidence, stats=drawn, supplied_stats=supplied)

    def complete(self, stats: Array, *, labelled: bool) -> Sample:
        """The sample with (K, d) statistics of the missing items; counted where `labelled`.

        None is graded: a worst case is known only where guesses keep close to the surrogate.
        """
        sample = build_sample(self.set_statistics(stats), self.metric, self.group)
        sample = replace(sample, graded=None)
        if labelled:
            return sample
        guessed = np.isin(self.steps, self.drawn)
        counted = np.where(guessed, 0.0, sample.counted)
        return replace(sample, counted=counted, possible=self._possible)

    @cached_property
    def _possible(self) -> tuple[float, float] | None:
        """Range that the known labels leave possible: more than the guesses would."""
        log = self.evidence.log
        status, supplied_status = log.status.copy(), log.supplied_status.copy()
        status[self.drawn], supplied_status[self.supplied] = PENDING, PENDING
        log = replace(log, status=status, supplied_status=supplied_status)
        return build_sample(replace(self.evidence, log=log), self.metric, self.group).possible


def can_fill(estimator: str) -> bool:
    """Whether an estimator says how much a label weighs in it."""
    return hasattr(catalog.load("estimators", catalog.bare_name(estimator)), "label_weights")


def fill_missing(evidence: Evidence, metric: Metric, group: Group, level: float) -> Filled | None:
    """The evidence with missing answers filled; None where whole rounds are used as they are.

    They are where no answer is missing, where they are expected to give the narrower interval, for
    metrics whose items can cost any amount, or whose interval has a method of its own, as there is
    no worst case; and where items have weights.
    """
    if group.mass is not None:
        return None
    until = _choose_rounds(evidence, metric, group, level)
    return None if until is None else fill_rounds(evidence, metric, group, until)


def estimate_with_missing(filled: Filled, estimator: str) -> Value:
    """The metric's value with missing answers at their guess, and its worst cases.

    Raises NotEstimable where there is no value.
    """
    value, found = _find_both_ends(filled, estimator)
    (low, lowest), (high, highest) = found
    cases = [_complete_value(filled, stats, estimator) for stats in (lowest, highest)]
    return replace(value, worst=WorstCase(cases[0], cases[1], (low, high)))


def bound_with_declined(
    evidence: Evidence,
    metric: Metric,
    group: Group,
    estimator: str,
    *,
    until: int,
    always: bool,
) -> WorstCase | None:
    """A metric over all items, with declined ones at their least and their most.

    Two values of the same log, in which these items have labels: of one mean every item has its own
    least, or most; of several means those labels with which the metric is least, or most. So have
    items without an answer before the round `until`. None where no declined item of the group can
    change the metric, unless `always`. Raises NotEstimable where there is no value.
    """
    filled = fill_rounds(evidence, metric, group, until, declined=True)
    log = evidence.log
    status = np.append(log.status[filled.drawn], log.supplied_status[filled.supplied])
    if not (always or filled.inside[status == DECLINED].any()):
        return None
    ends = [(each.lower, each.upper) for each in metric.statistics]
    few = bool(evidence.classes) or len(ends) <= _MOST_BOUNDED
    # The linear form of a curve has no bounds, but the curve has.
    curve = bool(evidence.classes) and bool(np.isfinite([metric.lower, metric.upper]).all())
    bounded = (few and bool(np.isfinite(ends).all())) or curve
    if not bounded or (len(ends) > 1 and not can_fill(estimator)):
        return WorstCase(None, None, (-np.inf, np.inf))
    if len(ends) == 1:
        cases = filled.values.min(axis=1), filled.values.max(axis=1)
        low, high = (_complete_value(filled, stats, estimator) for stats in cases)
        limits = [float(np.clip(end, *ends[0])) for end in (-np.inf, np.inf)]
        if low is not None and high is not None:
            limits = [float(each.estimate.limited_mean[0]) for each in (low, high)]
    else:
        _, found = _find_both_ends(filled, estimator, passes=0)
        cases = found[0][1], found[1][1]
        low, high = (_complete_value(filled, stats, estimator) for stats in cases)
        values = [each.value for each in (low, high) if each is not None]
        limits = [min(found[0][0], *values), max(found[1][0], *values)]
    if metric.interval is not None:
        # Steps along the gradient find the largest sum of gaps, and may miss the smallest.
        low, limits = None, [metric.lower, limits[1]]
    known = filled.set_statistics(cases[0]), filled.set_statistics(cases[1])
    return WorstCase(low, high, (limits[0], limits[1]), known)


def _find_both_ends(
    filled: Filled, estimator: str, *, passes: int = _PASSES
) -> tuple[Value, list[tuple[float, Array]]]:
    """The value with missing answers at their guess, and at both ends what _find_worst finds.

    passes are those that find the estimator's own guess, which the ends hardly depend on.
    """
    name, options = catalog.split_options("estimators", estimator)
    method = catalog.load("estimators", name)
    guess = filled.guess
    for _ in range(passes):
        guess = _take_guess(filled, guess, partial(method.estimate, **options))
    sample = filled.complete(guess, labelled=False)
    value = estimate_metric(sample, filled.metric, estimator)
    sides = (False, True)
    return value, [_find_worst(filled, value, sample, guess, method, up=up) for up in sides]


def _complete_value(filled: Filled, stats: Array, estimator: str) -> Value | None:
    """The value with (K, d) statistics of the missing items; None where it is undefined."""
    try:
        completed = filled.complete(stats, labelled=True)
        return estimate_metric(completed, filled.metric, estimator)
    except NotEstimable:
        return None


def _take_guess(filled: Filled, guess: Array, estimate: Callable[[Sample], object]) -> Array:
    """(K, d) guesses of the estimator for the drawn items, with these guesses for those before.

    So a term's residual is 0. Estimators without guesses keep those of the rounds.
    """
    steps = filled.steps
    at = np.flatnonzero(np.isin(filled.drawn, steps) & (filled.inside[: len(filled.drawn)] > 0))
    found = getattr(estimate(filled.complete(guess, labelled=False)), "guess", None)
    if found is None or not len(at):
        return guess
    own = np.asarray(found)[np.searchsorted(steps, filled.drawn[at])]
    if not own.any():
        return guess
    moved = guess.copy()
    moved[at] = np.clip(own, filled.values[at].min(axis=1), filled.values[at].max(axis=1))
    return moved


# --- which draws are used


def _choose_rounds(evidence: Evidence, metric: Metric, group: Group, level: float) -> int | None:
    """The round before which every missing answer is filled; None where none is."""
    if not has_worst_case(metric, bool(evidence.classes)):
        return None
    widths = expect_widths(evidence, metric, group, level)
    least = min(widths.values(), default=0.0)
    best = next((each for each in widths if not is_above(widths[each], least, unit=least)), None)
    return None if best is None or best == min(widths) else best


def expect_widths(
    evidence: Evidence, metric: Metric, group: Group, level: float
) -> dict[int, float]:
    """{round: expected width of the interval with every missing answer before it filled}.

    The first is the first round that lacks an answer, so that nothing is filled: whole rounds. The
    others are the further rounds that lack answers, and the one to come; but for those before which
    filling gains no answer, as where a round was drawn and none has come yet. Empty where no answer
    is missing, or where the first round did not foresee the metric.
    """
    log = evidence.log
    lacking = np.unique(
        np.concatenate(
            [log.round[log.status == PENDING], log.supplied_round[log.supplied_status == PENDING]]
        )
    )
    lacking = lacking[lacking <= len(log.history)]
    answered = log.round[log.status != PENDING]
    ends = (*lacking.tolist(), len(log.history) + 1)
    gains = [
        until
        for before, until in pairwise(ends)
        if ((answered >= before) & (answered < until)).any()
    ]
    plan = _plan(evidence, metric, group) if gains else None
    if plan is None:
        return {}
    return {
        until: _expect_width(evidence, metric, group, plan, until, level)
        for until in (ends[0], *gains)
    }


def has_worst_case(metric: Metric, classes: bool) -> bool:
    """Whether a missing answer changes the metric by no more than is known."""
    bounds = [(each.lower, each.upper) for each in metric.statistics]
    few = classes or len(bounds) <= _MOST_BOUNDED
    return metric.interval is None and bool(np.isfinite(bounds).all()) and few


@dataclass(frozen=True)
class _Plan:
    """Expectations of every item without any label.

    variance          (D,) of the linearised metric at drawn items, by the first round's surrogate
    drawn, supplied   (D,) and (B,) its range over the labels the item could have; 0 outside
    span              its range over all items
    """

    variance: Array
    drawn: Array
    supplied: Array
    span: float


def _plan(evidence: Evidence, metric: Metric, group: Group) -> _Plan | None:
    """The plan; None where the first round did not foresee the metric."""
    log, recorded = evidence.log, evidence.recorded
    columns, place = evidence.find_columns(metric), evidence.find_place(group)
    place = place if recorded.count[0, place] else 0
    if not recorded.count[0, place]:
        return None
    mean = recorded.sums[0, place, columns] / recorded.count[0, place]
    slope = np.ones(1) if len(mean) == 1 else metric.gradient(mean)
    if not np.isfinite(slope).all():
        return None
    objective = combine_statistics(metric.statistics, list(slope))
    span = objective.upper - objective.lower
    try:
        variance = _expect_variance(evidence, objective)
    except PoolChanged:
        variance = np.full(len(log.rows), span**2 / 4)
    inside = group.membership(evidence.drawn.codes)

    def measure(rows: Rows) -> Array:
        if not len(rows.index):
            return np.zeros(0)
        ranges = np.ptp(list_values(rows, metric, evidence.classes) @ slope, axis=1)
        return ranges * group.membership(rows.codes)

    return _Plan(variance * inside, measure(evidence.drawn), measure(evidence.supplied), span)


def _expect_variance(evidence: Evidence, objective: Statistic) -> Array:
    """(D,) variance of the objective at drawn items, as the first round's surrogate saw it.

    Raises PoolChanged where that cannot be had any more.
    """
    first = evidence.log.history[0]
    if not first.objectives:
        raise PoolChanged("the first round is about other classes", "`study.report()`")
    surrogate = restore_surrogate(first, evidence.cache)
    variance: Array = moments(surrogate.beliefs(evidence.drawn, (objective,)))[1][0]
    return variance


def _expect_width(
    evidence: Evidence, metric: Metric, group: Group, plan: _Plan, until: int, level: float
) -> float:
    """The expected width of the interval with every missing answer before a round filled.

    Infinite where the draws would have too few labels, or more missing ones than labels.
    """
    log = evidence.log
    filled, drawn_filled, supplied_filled = _fill_log(log, until)
    count, _ = count_usable_draws(filled)
    evidence = replace(evidence, log=filled, used=count)
    steps = find_metric_steps(evidence, metric)
    labelled = int((log.status[steps] != PENDING).sum())
    if labelled < max(_FEWEST, len(steps) - labelled):
        return np.inf
    weights, items = weigh_items(evidence, metric)
    drawn, supplied = np.split(items, [len(log.rows)])
    inverse = 1 / log.q[steps]
    variance = (weights**2 * (inverse - 1) * inverse) @ plan.variance[steps] / group.size**2
    widening = drawn[drawn_filled] @ plan.drawn[drawn_filled]
    widening += supplied[supplied_filled] @ plan.supplied[supplied_filled]
    # Wilson's (1927): an interval has a width even where nothing is expected to vary.
    z, inside = -ndtri((1 - level) / 2), group.membership(evidence.drawn.codes)[steps].sum()
    least = (z * plan.span / (2 * max(inside, 1.0))) ** 2
    return float(2 * z * np.sqrt(variance + least) + widening / group.size)


def _fill_log(log: Log, until: int, *, declined: bool = False) -> tuple[Log, Array, Array]:
    """The log with every missing answer before a round filled, and places of those filled.

    With those of declined items, where they are to count.
    """
    drawn, supplied = (
        np.flatnonzero(((status == PENDING) & (rounds < until)) | (declined & (status == DECLINED)))
        for status, rounds in (
            (log.status, log.round),
            (log.supplied_status, log.supplied_round),
        )
    )
    status, supplied_status = log.status.copy(), log.supplied_status.copy()
    status[drawn], supplied_status[supplied] = LABELLED, LABELLED
    filled = replace(log, status=status, supplied_status=supplied_status)
    if log.soft is not None and log.supplied_soft is not None:
        # No annotator is in doubt about them.
        soft, supplied_soft = log.soft.copy(), log.supplied_soft.copy()
        soft[drawn], supplied_soft[supplied] = 0.0, 0.0
        filled = replace(filled, soft=soft, supplied_soft=supplied_soft)
    return filled, drawn, supplied


def fill_rounds(
    evidence: Evidence,
    metric: Metric,
    group: Group,
    until: int,
    *,
    declined: bool = False,
) -> Filled:
    """The evidence with every missing answer before a round filled, and declined items if asked."""
    log, drawn, supplied = _fill_log(evidence.log, until, declined=declined)
    used, whole = count_usable_draws(log)
    columns = evidence.find_columns(metric)
    parts = evidence.drawn[drawn], evidence.supplied[supplied]
    values, guesses = [], []
    for rows in parts:
        if len(rows.index):
            found = list_values(rows, metric, evidence.classes, declined=log.declined)
            values.append(found * rows.mass[:, None, None])
            guess = evidence.surrogate.expected(rows, metric.statistics).T.astype(float)
            guesses.append(np.column_stack([guess, *[rows.mass] * log.declined]))
    guess, recorded = np.concatenate(guesses), evidence.recorded
    predicted = np.flatnonzero(recorded.count[recorded.round[drawn], 0] > 0)
    guess[predicted, : len(columns)] = recorded.imputed[drawn[predicted]][:, columns]
    found = np.concatenate(values)
    guess = np.clip(guess, found.min(axis=1), found.max(axis=1))
    columns += [len(evidence.statistics)] * log.declined
    stats, supplied_stats = evidence.stats.copy(), evidence.supplied_stats.copy()
    stats[drawn, -1], supplied_stats[supplied, -1] = parts[0].mass, parts[1].mass
    # With another answer a round would say something else from its own labels.
    waiting = evidence.log.round[drawn[evidence.log.status[drawn] == PENDING]]
    filled = Filled(
        evidence=replace(
            evidence,
            log=log,
            crossed=evidence.crossed.without(waiting),
            used=used,
            steps=np.flatnonzero(~log.deterministic[:used]),
            whole=whole,
            stats=stats,
            supplied_stats=supplied_stats,
        ),
        metric=metric,
        group=group,
        drawn=drawn,
        supplied=supplied,
        columns=columns,
        values=found,
        guess=guess,
        inside=np.zeros(len(guess)),
        until=until,
    )
    return filled.of_group(group)


def list_values(rows: Rows, metric: Metric, classes: int, *, declined: bool = False) -> Array:
    """(R, L, d) statistics of rows under each of the labels they could have.

    Classes of the pool, and one that it does not have; without classes, every combination of the
    statistics' bounds. Where items were declined, these could be declined as well: one more
    statistic is last, whether an item was answered.
    """
    statistics = metric.statistics
    if classes:
        values = np.stack([tabulate(each, rows, classes) for each in statistics], axis=-1)
    else:
        ends = list(product(*((each.lower, each.upper) for each in statistics)))
        values = np.tile(np.array(ends, float), (len(rows.index), 1, 1))
    if declined:
        values = np.concatenate([values, np.ones((*values.shape[:2], 1))], axis=2)
        values = np.concatenate([values, np.zeros_like(values[:, :1])], axis=1)
    return values


# --- the worst they can be


def _find_worst(
    filled: Filled, value: Value, sample: Sample, guess: Array, method: Any, *, up: bool
) -> tuple[float, Array]:
    """The smallest or largest estimate (on its own scale), and the (K, d) statistics that give it.

    Means are linear in the statistics of missing items, but for guesses that may be clipped and
    means that are cut off at what is possible: these range freely over all they could be. From
    there every step goes to the labels that are worst along the metric's gradient, until none is
    worse. For a mean, and for any ratio of means (also over the items that can be answered), that
    is the worst of all; for other metrics it is the worst in sight.
    """
    moves = (filled.values - guess[:, None]) * filled.inside[:, None, None]
    weights = _weigh_missing(filled, sample, method)
    start, low, high, free = _clip_range(filled, sample, value, moves, weights)
    sides = np.stack([moves * each[:, None] for each in weights])
    sign, metric = 1.0 if up else -1.0, filled.metric
    single = len(start) == 1
    plain = take_mean if len(metric.statistics) == 1 else metric.smooth
    mapped = divide_by_answered(metric, plain, sample)
    mean, best = start, sign * float(mapped.smooth(start))
    chosen, places = guess, np.arange(len(guess))
    for _ in range(_STEPS):
        slope = sign * (np.ones(1) if single else mapped.gradient(mean))
        if not np.isfinite(slope).all():
            return value.metric.bounds[int(up)], chosen
        gains = np.maximum(*(sides * slope))
        # A free mean gains the same whatever the labels.
        worst = find_nearly_largest((gains * ~free).sum(axis=2), axis=1)
        linear = sides[:, places, worst]
        step = np.where(slope * linear[1] > slope * linear[0], linear[1], linear[0]).sum(axis=0)
        step = np.where(free, np.where(slope > 0, high, low) - start, step)
        result = sign * float(mapped.smooth(start + step))
        labels = filled.values[places, find_nearly_largest(gains.sum(axis=2), axis=1)]
        if not np.isfinite(result):
            return value.metric.bounds[int(up)], labels
        if result <= best + 1e-12 * abs(best):
            break
        mean, best, chosen = start + step, result, labels
    return sign * best, chosen


def _weigh_missing(filled: Filled, sample: Sample, method: Any) -> list[Array]:
    """Smallest and largest weight (K, d) of the missing items' statistics in the means."""
    size = sample.stats.shape[1]
    if sample.unknown == 0:
        # Everything is filled: the mean is that of all items.
        return [np.full((len(filled.values), size), 1 / sample.size)] * 2
    evidence = filled.evidence
    places = np.append(filled.drawn, filled.supplied + len(evidence.log.rows))
    items = weigh_items(evidence, filled.metric)[1][places] / sample.size
    # Statistics have the weights of their items already.
    mass = evidence.mass[places]
    items = items / np.where(mass > 0, mass, 1.0)
    found = [np.tile(items[:, None], (1, size)) for _ in range(2)]
    low, high = sample.stats.copy(), sample.stats.copy()
    at = np.flatnonzero(np.isin(filled.drawn, filled.steps))
    steps = np.searchsorted(filled.steps, filled.drawn[at])
    inside = filled.inside[at, None]
    low[steps] = filled.values[at].min(axis=1) * inside
    high[steps] = filled.values[at].max(axis=1) * inside
    for each, weights in zip(found, method.label_weights(sample, low, high), strict=True):
        each[at] = weights[steps]
    return found


def _clip_range(
    filled: Filled, sample: Sample, value: Value, moves: Array, weights: list[Array]
) -> tuple[Array, Array, Array, Array]:
    """The (d,) means, what they could be at least and at most, and whether they may be cut off."""
    mean, limits = value.means.mean, value.means.limits
    sides = np.stack([moves * each[:, None] for each in weights])
    low = mean + sides.min(axis=(0, 2)).sum(axis=0)
    high = mean + sides.max(axis=(0, 2)).sum(axis=0)
    shift = np.zeros((2, len(mean)))
    if not filled.evidence.log.declined:
        shift = np.stack([moves.min(axis=1).sum(axis=0), moves.max(axis=1).sum(axis=0)])
        shift /= sample.size
    least, most = limits + shift[0], limits + shift[1]
    # Where everything is filled, means are what they are.
    free = ((low < most[0]) | (high > least[1])) & (sample.unknown > 0)
    return (
        np.clip(mean, *limits),
        np.clip(low, *least),
        np.clip(high, *most),
        free,
    )
