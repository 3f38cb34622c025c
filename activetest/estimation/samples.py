"""From a log to samples: the answered draws and what was predictable before each.

One sample serves one metric and one group.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation.certain import (
    count_ahead,
    count_predictions,
    find_certainty,
    find_part,
    find_possible,
    find_remaining,
    find_steps,
    sum_supplied_before,
)
from activetest.estimation.corrections import Correction, correct_labels, tabulate
from activetest.estimation.evidence import Evidence, Group, list_groups
from activetest.estimation.recorded_predictions import (
    collect_crossed,
    collect_recorded,
    weigh_recorded,
)
from activetest.estimation.repredict import repredict
from activetest.item_statistics.compared import list_told_apart
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.statistic import Statistic, combine_statistics
from activetest.nouns.beliefs import moments
from activetest.nouns.choices import Choices, Declined, find_lowest_share
from activetest.nouns.estimate import Sample
from activetest.nouns.log import LABELLED, PENDING, Log, count_usable_draws
from activetest.nouns.pool import PoolView
from activetest.nouns.rounding import MARGIN
from activetest.nouns.rows import Array, Outputs, Rows, sum_before
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.crossing import cross_rounds
from activetest.rounds.fit import get_surrogate, list_labelled, observe_statistics

# A guess from which on a label of 1 agrees with it, and one of 0 below it.
_AGREES = 0.5 * (1 + MARGIN)


@dataclass(frozen=True)
class Draws:
    """The M draws that estimates are made of, for all metrics that the same items can change.

    steps      (M,) their places among those of the log
    rows       the rows drawn
    weights    (M,) of their steps, see Sample
    remaining  (M,) items that could be drawn before each of them, or the sum of their weights
    uniform    every draw was as likely as any other
    floor      lowest floor of their rounds
    learned    (M,) labels that the surrogate of each draw's round had learned from
    """

    steps: Array
    rows: Rows
    weights: Array
    remaining: Array
    uniform: bool
    floor: float
    learned: Array


def collect_evidence(
    log: Log,
    cache: PoolView,
    choices: Choices,
    metrics: Sequence[Metric],
    *,
    seed: int,
    predict_again: bool = True,
    surrogate: Surrogate | None = None,
    correction: Correction | None = None,
) -> Evidence:
    """Everything that samples of these metrics need, collected once.

    surrogate is what get_surrogate gives, where that is at hand, and correction that of labels, for
    a log without the answers that it rests on. Statistics that rounds did not record are
    predicted again with their own surrogates, unless `predict_again` is False: the metrics that
    need it are then estimated without.
    """
    statistics = tuple(
        {each.name: each for metric in metrics for each in metric.statistics}.values()
    )
    if predict_again:
        log = cross_rounds(repredict(log, cache, statistics), cache, statistics, seed=seed)
    drawn, supplied = cache.take(log.rows), cache.take(log.supplied_rows)
    count, whole = count_usable_draws(log)
    groups = list_groups(cache)
    stats = _statistics_of_labelled(drawn, log.labels, log.status, statistics)
    supplied_stats = _statistics_of_labelled(
        supplied, log.supplied_labels, log.supplied_status, statistics
    )
    if log.given is not None:
        correction = correct_log(log, cache, groups[0], drawn, supplied, seed=seed)
    if correction is not None:
        about = statistics, len(cache.classes)
        stats = correction.correct(stats, drawn, *about, 0)
        supplied_stats = correction.correct(supplied_stats, supplied, *about, len(stats))
    return Evidence(
        log=log,
        cache=cache,
        seed=seed,
        used=count,
        steps=np.flatnonzero(~log.deterministic[:count]),
        whole=whole,
        drawn=drawn,
        stats=stats,
        supplied_stats=supplied_stats,
        supplied=supplied,
        statistics=statistics,
        groups=groups,
        surrogate=surrogate or get_surrogate(log, cache, choices, seed=seed),
        recorded=weigh_recorded(collect_recorded(log, statistics, groups), log, cache),
        crossed=collect_crossed(log, statistics, groups),
        classes=len(cache.classes),
        open_classes=bool(cache.roles.get("open_classes")),
        predicted=count_predictions(cache) if cache.classes else None,
        counts_declined=log.declined and choices.declined == Declined.WORST,
        correction=correction,
    )


def build_sample(evidence: Evidence, metric: Metric, group: Group | None = None) -> Sample:
    """The sample for one metric, over the whole pool unless a group is given.

    Its d statistics are the metric's and, where any item was declined, whether one was answered.
    Raises NotEstimable for a group of items without weight.
    """
    log, group = evidence.log, group or evidence.groups[0]
    if not group.total:
        raise NotEstimable("no item of this group counts: each has a weight of 0")
    part, draws = find_part(evidence, metric, group), _find_draws(evidence, metric)
    steps, lure_weights = draws.steps, draws.weights
    columns = evidence.find_columns(metric) + [-1] * log.declined
    member, supplied_member = part.drawn, part.supplied
    stats = evidence.stats[:, columns] * member[:, None]
    supplied = evidence.supplied_stats[:, columns] * supplied_member[:, None]
    before = sum_before(stats) + (part.certain + sum_supplied_before(log, supplied))
    place = evidence.find_place(group)
    whole_group = group.membership(evidence.drawn.codes)
    recorded, lined = evidence.recorded, _find_lined(evidence, metric, group)
    crossed = evidence.crossed.without(np.flatnonzero(lined) + 1)
    imputed, imputed_sum, left = part.drop_certain(
        *crossed.blend(recorded, place, whole_group, columns)
    )
    known, known_supplied = log.status != PENDING, log.supplied_status != PENDING
    total = part.certain + stats[known].sum(axis=0) + supplied[known_supplied].sum(axis=0)
    correction = evidence.correction
    corrected = correction is not None and correction.raters is not None
    mass = member * evidence.drawn.mass
    unknown = (
        part.count_unknown(log)
        if group.mass is None
        else _measure_unknown(evidence, group, mass[known], supplied_member[known_supplied])
    )

    rounds = recorded.round[steps]
    own = np.where(lined[rounds], np.searchsorted(rounds, rounds), -1)
    expected: dict[bytes, tuple[Array, Array]] = {}

    def expect(weights: Array) -> tuple[Array, Array]:
        # Estimators ask for the same weights, as of every metric that is one mean.
        key = weights.tobytes()
        if key not in expected:
            # Weights stay numpy's doubles: Python's floats would leave single precision single.
            objective = combine_statistics(
                metric.statistics, list(weights[: len(metric.statistics)])
            )
            mean, variance = moments(evidence.surrogate.beliefs(draws.rows, (objective,)))
            # A last statistic, whether an item can be answered, is taken to be certain.
            mean = mean[0] + weights[len(metric.statistics) :].sum() * draws.rows.mass
            expected[key] = mean * member[steps], variance[0] * member[steps]
        return expected[key]

    shares = _weigh_items(log, evidence.used, steps, lure_weights, known=not unknown)
    shares = shares * np.concatenate([member, supplied_member]) * evidence.mass

    def label_variance(weights: Array) -> float:
        return _label_variance(evidence, metric, weights, shares) / group.total**2

    def spread(weights: Array, mean: Array) -> float:
        answered, masses = shares * (log.item_status != PENDING), evidence.mass[:, None]
        values = np.concatenate([stats, supplied]) / np.where(masses > 0, masses, 1.0)
        # Of the items that can change the metric, around their own mean.
        center = (mean * group.size - part.certain) / max(part.count, 1)
        pulls = (values - center) @ weights * (part.count / group.size)
        return float(answered @ pulls**2 / answered.sum()) if answered.any() else np.nan

    return Sample(
        stats=stats[steps],
        q=log.q[steps],
        weights=lure_weights,
        known_sum=before[steps],
        imputed=imputed[steps],
        imputed_sum=imputed_sum[steps],
        inside=member[steps],
        left=left[steps],
        crossed=crossed.find_draws(recorded)[steps],
        own=own if lined.any() else None,
        size=group.total,
        total=total,
        unknown=unknown,
        # Labels that were supplied or deterministic say nothing about the variance of draws.
        counted=((log.status[steps] == LABELLED) & (member[steps] > 0)).astype(float),
        uniform=draws.uniform,
        # Corrected labels say what is likely, and rule nothing out.
        limits=limit_means(
            metric,
            total * (not corrected),
            group.total if corrected else unknown,
            group.total,
            log.declined,
        ),
        possible=(
            find_possible(evidence, metric, part, total, group.total)
            if len(metric.statistics) > 1 and not corrected
            else None
        ),
        # The intervals of sums of gaps know nothing of the labels' doubt.
        doubted=correction is not None and (correction.doubted or metric.interval is not None),
        unaccounted=log.doubtful_share is not None,
        certain=part.certain_open,
        relevant=None if part.count == group.size else part.count,
        expect=expect,
        label_variance=label_variance,
        reach=_find_reach(evidence, metric, draws.rows.outputs, lined),
        bounded=_is_bounded(metric, evidence.classes),
        spread=spread,
        remaining=draws.remaining,
        mass=None if evidence.drawn.weight is None else mass[steps],
        floor=draws.floor,
        learned=draws.learned,
        graded=np.array(
            [
                each.graded or bool(np.isinf([each.lower, each.upper]).any())
                for each in metric.statistics
            ]
            + [False] * log.declined
        ),
    )


def _find_lined(evidence: Evidence, metric: Metric, group: Group) -> Array:
    """(H,) rounds in which a line through what was expected predicts labels, by the other labels.

    So it is where labels are numbers, whatever features say beside the outputs: the line that
    leaves out one label has a closed form, and costs fewer labels than a surrogate that learns
    again. Of classes it is where verdicts are all there is. Of a group there may be few labels for
    a line of its own.
    """
    whole = evidence.crossed.whole
    if group.column is not None or not (metric.of_labels or metric.against is not None):
        return np.zeros_like(whole)
    if not evidence.classes:
        return whole
    verdicts = evidence.drawn.outputs.probs is None and not evidence.drawn.design.shape[1]
    return whole & verdicts


def _find_reach(
    evidence: Evidence, metric: Metric, outputs: Outputs, lined: Array
) -> Callable[[Array], Array] | None:
    """See Sample.reach, of drawn items with these outputs; lined (H,) as above."""
    (loss, *others), classes, log = metric.statistics, evidence.classes, evidence.log
    guessed = bool(lined.any()) and loss.is_indicator and not others
    if not guessed and (others or metric.refine or loss.is_indicator):
        return None

    def reach(guess: Array) -> Array:
        if _is_bounded(metric, classes):
            low, high = loss.range_by_row(outputs, classes)
        else:
            # Labels are no farther apart than those that were seen and the predictions.
            seen = np.append(log.item_labels[log.item_status == LABELLED], outputs.pred)
            low, high = loss.range_between(outputs, float(seen.min()), float(seen.max()))
        # A value may be anything: how far it is from what was guessed is what labels show. Of a
        # share of labels it is whether they contradict the guess.
        start = np.stack([high, low] if classes else [guess, guess])
        if guessed:
            start = np.tile(np.where(guess > _AGREES, high, low), (2, 1))
        return np.stack([start, [low, high]], axis=1)

    return reach


def _is_bounded(metric: Metric, classes: int) -> bool:
    """Whether the first statistic of a metric is between bounds for every item.

    Of an item whose label is one of several classes, there is a largest value.
    """
    loss = metric.statistics[0]
    return classes > 0 or bool(np.isfinite([loss.lower, loss.upper]).all())


def _find_draws(evidence: Evidence, metric: Metric) -> Draws:
    """The draws that estimates of the metric are made of; what is said of them is found once."""
    certain = find_certainty(evidence, metric)
    classes = None if certain is None else certain.classes
    models = list_told_apart(metric.statistics)

    def find() -> Draws:
        log = evidence.log
        steps = find_steps(log, evidence.used, classes, models)
        rows = evidence.drawn[steps]
        _, _, free = evidence.recorded.of(0, np.ones(len(log.rows)), [])
        learned = np.array([each.fit_labels for each in log.history], float)
        remaining = find_remaining(evidence, steps, free[steps])
        return Draws(
            steps,
            rows,
            _weigh_steps(evidence, steps),
            remaining,
            bool(np.allclose(log.q[steps] * remaining, rows.mass, rtol=1e-6)),
            _find_lowest_floor(log, steps),
            learned[evidence.recorded.round[steps]],
        )

    key = models if any(each.among for each in evidence.log.history) else None
    return evidence.compute_once(("draws", classes, key), find)


def _find_lowest_floor(log: Log, steps: Array) -> float:
    """The lowest floor that the rounds of these draws had; 1.0 for uniform draws."""
    rounds = [log.history[number - 1].choices for number in np.unique(log.round[steps])]
    floors = [
        1.0 if choices.get("acquisition") == "uniform" else find_lowest_share(choices)
        for choices in rounds
    ]
    return min(floors, default=1.0)


def find_metric_steps(evidence: Evidence, metric: Metric) -> Array:
    """(M,) places of the draws that estimates of the metric are made of."""
    certain, models = find_certainty(evidence, metric), list_told_apart(metric.statistics)
    classes = None if certain is None else certain.classes
    return find_steps(evidence.log, evidence.used, classes, models)


def _weigh_steps(evidence: Evidence, steps: Array) -> Array:
    of_class = None if evidence.predicted is None else evidence.predicted[0]
    items = evidence.groups[0].items
    return _lure_weights(*count_ahead(evidence.log, steps, evidence.used, of_class, items).T)


def describe_unfinished(evidence: Evidence) -> str:
    """Why labels that estimates do not use yet have to wait; empty where none waits."""
    log, used = evidence.log, evidence.used
    labelled = np.flatnonzero(log.status == LABELLED)
    if not (labelled >= used).any():
        return ""
    before = log.status[: np.searchsorted(log.round, log.round[labelled[-1]], side="right")]
    missing = np.flatnonzero(before == PENDING)
    if not len(missing):
        return "a label that later draws were made with was taken back"
    *others, last = map(str, dict.fromkeys(log.round[missing].tolist()))
    rounds = f"rounds {', '.join(others)} and {last}" if others else f"round {last}"
    items = "1 item" if len(missing) == 1 else f"{len(missing):,} items"
    verb = "has" if len(missing) == 1 else "have"
    # Of an unfinished first round, the answered beginning is used.
    order = "rounds" if evidence.whole else "items"
    return f"{items} of {rounds} {verb} no label, and {order} count in order"


def known_weights(
    log: Log, items: int, group: Group, drawn_rows: Rows, supplied_rows: Rows
) -> tuple[Array, Array, Array]:
    """(M,) positions and labels of labelled items, and their weights in an estimate.

    Of a metric that every item can change, in the group; see weigh_items. items is the number of
    the pool's items that can change a mean.
    """
    count, _ = count_usable_draws(log)
    steps = find_steps(log, count, None)
    weights = _lure_weights(*count_ahead(log, steps, count, None, items).T)
    mass = np.concatenate([drawn_rows.mass, supplied_rows.mass])
    inside = group.membership(np.concatenate([drawn_rows.codes, supplied_rows.codes]))
    known = _knows_all(log, items, mass)
    found = _weigh_items(log, count, steps, weights, known=known) * mass * inside
    return *list_labelled(log), found[log.item_status == LABELLED]


def correct_log(
    log: Log, cache: PoolView, whole: Group, drawn: Rows, supplied: Rows, *, seed: int
) -> Correction:
    """The correction of the labels of a log with answers, each item with its weight in an estimate.

    drawn and supplied are its rows.
    """
    _, _, weights = known_weights(log, whole.items, whole, drawn, supplied)
    predicted = np.append(drawn.outputs.pred, supplied.outputs.pred)
    return correct_labels(log, predicted, weights, len(cache.classes), seed=seed)


def weigh_items(evidence: Evidence, metric: Metric) -> tuple[Array, Array]:
    """(M,) weights of the draws that estimates use, and (D + B,) of all items, labelled or not.

    The weights of items are those that LURE gives to known items: a draw weighs w / q, and every
    item w for each draw after it, w as in Sample; and that times the item's own weight.
    """
    log, whole = evidence.log, evidence.groups[0]
    steps, part = find_metric_steps(evidence, metric), find_part(evidence, metric, whole)
    weights = _weigh_steps(evidence, steps)
    known = _knows_all(log, whole.items, evidence.mass)
    known = known or (part.count < whole.size and part.count_unknown(log) == 0)
    items = _weigh_items(log, evidence.used, steps, weights, known=known)
    return weights, items * evidence.mass


def _knows_all(log: Log, items: int, mass: Array) -> bool:
    """Whether every item that counts is known; mass (D + B,) of those in the log."""
    return bool(np.count_nonzero(mass) == items) and PENDING not in log.item_status


def _weigh_items(log: Log, count: int, steps: Array, weights: Array, *, known: bool) -> Array:
    """(D + B,) weights of items but for their own, see weigh_items; alike if all is known."""
    if known:
        return np.ones(len(log.item_rows))
    stepwise = np.zeros(count)
    stepwise[steps] = weights
    ahead = np.append(np.cumsum(stepwise[::-1])[::-1], 0.0)
    drawn = np.zeros(len(log.rows))
    drawn[:count] = ahead[1:]
    drawn[steps] += weights / log.q[steps]
    return np.append(drawn, ahead[np.searchsorted(log.round[:count], log.supplied_round)])


def _label_variance(evidence: Evidence, metric: Metric, weights: Array, shares: Array) -> float:
    """N^2 times the variance of the weighted sum that labels of several annotators leave.

    shares (D + B,) are the weights of items in the estimate.
    """
    log, correction = evidence.log, evidence.correction
    if (soft := log.item_soft) is None:
        return 0.0
    objective = combine_statistics(metric.statistics, list(weights[: len(metric.statistics)]))
    if correction is not None and correction.raters is not None:
        tables = np.concatenate(
            [
                tabulate(objective, each, evidence.classes)
                for each in (evidence.drawn, evidence.supplied)
            ]
        )
        at = correction.places
        return correction.raters.measure_doubt(tables[at][:, correction.codes], shares[at])
    labelled = log.item_status == LABELLED
    # A label may also be of a class that is none of the pool's.
    soft = np.column_stack([soft, np.clip(1 - soft.sum(axis=1), 0, 1)])[labelled]
    rows = evidence.drawn, evidence.supplied
    tables = np.concatenate([tabulate(objective, each, soft.shape[1] - 1) for each in rows])
    tables, shares = tables[labelled], shares[labelled]
    mean = (soft * tables).sum(axis=1)
    return float(shares**2 @ np.maximum((soft * tables**2).sum(axis=1) - mean**2, 0))


def _statistics_of_labelled(
    rows: Rows, labels: Array, status: Array, statistics: tuple[Statistic, ...]
) -> Array:
    """(R, T + 1) statistics of labelled rows and a 1; zeros for the others."""
    stats = np.zeros((len(labels), len(statistics) + 1))
    known = status == LABELLED
    if known.any():
        stats[known, :-1] = observe_statistics(rows[known], labels[known], statistics)
        stats[known, -1] = 1
    return stats if rows.weight is None else stats * rows.weight[:, None]


def _lure_weights(items: Array, ahead: Array) -> Array:
    """(M,) LURE's weights, proportional to 1 / (n (n - 1)) with n items left for the m-th draw.

    items and ahead (M,) as count_ahead gives them. Where draws among all items and among those that
    matter are mixed, a term of the first has a variance in proportion to n times the number of
    those that matter, not to n^2. Supplied and deterministic items do not count: weights
    that reacted to them would react to labels.
    """
    # The last of all N draws knows everything: its term is the exact mean.
    weights = 1 / (ahead * np.maximum(ahead - 1, 1e-300))
    if len(items) and items.min() < items.max():
        weights *= items / items.min()
    return weights / weights.sum() if len(weights) else weights


def _measure_unknown(
    evidence: Evidence, group: Group, mass: Array, supplied_member: Array
) -> float:
    """Weight of the group's items about which nothing is known now, where items have weights.

    mass are the weights of its known draws, supplied_member is 1.0 where a known supplied item is
    in the group. It is exactly 0 where every item that counts is known.
    """
    known = evidence.log.supplied_status != PENDING
    supplied = supplied_member * evidence.supplied.mass[known]
    left = group.items - np.count_nonzero(mass) - np.count_nonzero(supplied)
    return max(group.total - float(mass.sum() + supplied.sum()), 0.0) if left else 0.0


def limit_means(metric: Metric, total: Array, unknown: float, size: float, declined: bool) -> Array:
    """(2, d) means that what is known leaves possible: the rest at its lower and upper bound."""
    bounds = np.array([[each.lower, each.upper] for each in metric.statistics]).T
    if declined:
        # Over answerable items only, whose number is not known: nothing sharper than the bounds.
        return np.hstack([bounds, [[0.0], [1.0]]])
    return (total + (bounds * unknown if unknown else 0.0)) / size * np.ones((2, 1))
