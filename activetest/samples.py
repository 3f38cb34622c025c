"""From a log to samples: the answered draws and what was predictable before each.

One sample serves one metric and one group.
"""

from dataclasses import dataclass, replace

import numpy as np

from activetest.evidence import DECLINED, LABELLED, PENDING, Array, Log, Rows, Sample
from activetest.metrics._losses import bounds
from activetest.metrics._metric import Metric
from activetest.passes import map_reduce
from activetest.rounds import group_names, observed


@dataclass(frozen=True)
class Group:
    """The whole pool (no column), or the rows of one code in one column of the codes.

    name           "" for the whole pool, else "column=value"
    size           members
    column, code   position in Rows.codes, and the code there; None for the whole pool
    meaning        {name of the column: value}; None for the whole pool
    """

    name: str
    size: int
    column: int | None = None
    code: int | None = None
    meaning: dict[str, str] | None = None

    def holds(self, codes: Array) -> Array:
        """(R,) 1.0 where rows with these codes (R, columns) belong to the group."""
        if self.column is None:
            return np.ones(len(codes))
        return (codes[:, self.column] == self.code).astype(float)


@dataclass(frozen=True)
class Evidence:
    """A log in arrays: the pool's T statistics and, last, whether the item could be answered.

    used                   draws that estimates use: whole rounds, everything before them answered
    whole                  False where the answered beginning of an unfinished first round is used
    stats, brought_stats   (D, T + 1) and (B, T + 1); zeros unless the item is labelled
    codes, brought_codes   (D, columns) and (B, columns) codes of the group columns
    statistics             (T,) names
    groups                 the whole pool first
    """

    log: Log
    used: int
    whole: bool
    stats: Array
    brought_stats: Array
    codes: Array
    brought_codes: Array
    statistics: tuple[str, ...]
    groups: tuple[Group, ...]


def gather(log: Log, cache) -> Evidence:
    """Everything that samples need, looked up once."""
    drawn, brought = cache.take(log.rows), cache.take(log.brought_rows)
    used, whole = _used(log)
    return Evidence(
        log=log,
        used=used,
        whole=whole,
        stats=_answered(drawn, log.labels, log.status, cache.statistics),
        brought_stats=_answered(brought, log.brought_labels, log.brought_status, cache.statistics),
        codes=drawn.codes,
        brought_codes=brought.codes,
        statistics=cache.statistics,
        groups=_groups(cache),
    )


def sample(evidence: Evidence, metric: Metric, group: Group | None = None) -> Sample:
    """The sample for one metric, over the whole pool unless a group is given.

    Its d statistics are the metric's and, where any item was declined, whether one was answered.
    """
    log, used, group = evidence.log, evidence.used, group or evidence.groups[0]
    declined = bool((log.status == DECLINED).any() or (log.brought_status == DECLINED).any())
    columns = [evidence.statistics.index(name) for name in metric.statistics] + [-1] * declined
    member, brought_member = group.holds(evidence.codes), group.holds(evidence.brought_codes)
    stats = evidence.stats[:, columns] * member[:, None]
    brought = evidence.brought_stats[:, columns] * brought_member[:, None]
    before = np.cumsum(stats, axis=0) - stats
    before += _brought_before(log, brought)
    imputed, imputed_sum, left, remaining, doubt = _predicted(log, group.name, member, columns)
    known, known_brought = log.status != PENDING, log.brought_status != PENDING
    total = stats[known].sum(axis=0) + brought[known_brought].sum(axis=0)
    unknown = group.size - int(member[known].sum() + brought_member[known_brought].sum())
    # Labels that were brought say nothing about the variance of draws.
    counted = (log.status[:used] == LABELLED) & (member[:used] > 0)
    return Sample(
        stats=stats[:used],
        probs=log.probs[:used],
        weights=_weights(evidence.groups[0].size, used),
        known_sum=before[:used],
        imputed=imputed[:used],
        imputed_sum=imputed_sum[:used],
        inside=member[:used],
        left=left[:used],
        doubt=doubt[:used],
        size=group.size,
        total=total,
        unknown=unknown,
        tally=_tally(evidence, counted),
        uniform=bool(np.allclose(log.probs[:used] * remaining[:used], 1, rtol=1e-6)),
        limits=_limits(metric, total, unknown, group.size, declined),
    )


def _used(log: Log) -> tuple[int, bool]:
    """Number of draws that estimates use, and whether they are whole rounds.

    Steps need every earlier draw answered, and a fixed interval must not end inside a round: where
    the answered beginning ends could depend on the answers. A label that a round knew and that was
    then taken back ends it as well.
    """
    waiting = np.flatnonzero(log.status == PENDING)
    answered = int(waiting[0]) if len(waiting) else len(log.rows)
    taken_back = log.brought_round[log.brought_status == PENDING]
    if len(taken_back):
        answered = min(answered, int(np.searchsorted(log.round, taken_back.min())))
    if answered == len(log.rows):
        return answered, True
    start = int(np.searchsorted(log.round, log.round[answered]))
    return (start, True) if start else (answered, answered == 0)


def _answered(rows: Rows, labels: Array, status: Array, statistics: tuple[str, ...]) -> Array:
    """(R, T + 1) statistics of labelled rows and a 1; zeros for the others."""
    stats = np.zeros((len(labels), len(statistics) + 1))
    labelled = status == LABELLED
    if labelled.any():
        some = replace(rows, outputs=rows.outputs[labelled])
        stats[labelled, :-1] = observed(some, labels[labelled], statistics)
        stats[labelled, -1] = 1
    return stats


def _brought_before(log: Log, brought: Array) -> Array:
    """(D, d) sum of the statistics (B, d) of brought items that the draw's round knew."""
    order = np.argsort(log.brought_round, kind="stable")
    sums = np.concatenate([np.zeros((1, brought.shape[1])), np.cumsum(brought[order], axis=0)])
    return sums[np.searchsorted(log.brought_round[order], log.round, side="right")]


def _groups(cache) -> tuple[Group, ...]:
    """The whole pool, then every value of every group column: the order in which rounds record."""
    groups, recorded = [Group("", cache.size)], group_names(cache)
    for column, (name, values) in enumerate(
        zip(cache.group_names, cache.group_values, strict=True)
    ):

        def sizes(piece, column=column, values=values):
            return np.bincount(cache.rows(*piece).codes[:, column], minlength=len(values))

        counts = map_reduce(cache.chunks(), sizes, np.add)
        groups += [
            Group(recorded[len(groups) + code], int(counts[code]), column, code, {name: value})
            for code, value in enumerate(values)
        ]
    return tuple(groups)


def _weights(size: int, used: int) -> Array:
    """(M,) LURE's weights, proportional to 1 / (n (n - 1)) with n = N - m + 1 for the m-th draw.

    Items that were brought do not count: weights that reacted to them would react to labels.
    """
    ahead = size - np.arange(used, dtype=float)
    # The last of all N draws knows everything: its term is the exact mean.
    weights = 1 / (ahead * np.maximum(ahead - 1, 1e-300))
    return weights / weights.sum() if used else weights


def _predicted(log: Log, group: str, member: Array, columns: list[int]):
    """What was predictable before each draw.

    imputed (D, d), imputed_sum (D, d), left (D,), rows left of the whole pool (D,) and
    doubt (D, d, 4). A round that was drawn before the group was asked for recorded nothing about
    it: zeros, as without a surrogate.
    """
    shape = (len(log.rows), len(columns))
    imputed, imputed_sum, doubt = np.zeros(shape), np.zeros(shape), np.zeros((*shape, 4))
    left, remaining = np.zeros(len(log.rows)), np.zeros(len(log.rows))
    for each in log.history:
        here = log.round == each.number
        remaining[here] = each.count[0] - np.arange(here.sum())
        if group not in each.groups:
            continue
        place, inside = each.groups.index(group), member[here]
        # A last column, for whether an item can be answered, is imputed as certain.
        guess = np.column_stack([each.imputed, np.ones(len(inside))])[:, columns] * inside[:, None]
        whole = np.append(each.imputed_sum[place], each.count[place])[columns]
        imputed[here] = guess
        imputed_sum[here] = whole - (np.cumsum(guess, axis=0) - guess)
        left[here] = each.count[place] - (np.cumsum(inside) - inside)
        doubt[here] = np.concatenate([each.doubt[place], np.zeros((1, 4))])[columns]
    return imputed, imputed_sum, left, remaining, doubt


def _tally(evidence: Evidence, counted: Array) -> int:
    """Labels of the rarer kind, right or wrong, among the draws counted (M,); all, for values."""
    labels = int(counted.sum())
    if "zero_one" not in evidence.statistics:
        return labels
    errors = evidence.stats[: evidence.used, evidence.statistics.index("zero_one")]
    wrong = int(errors[counted].sum())
    return min(wrong, labels - wrong)


def _limits(metric: Metric, total: Array, unknown: int, size: int, declined: bool) -> Array:
    """(2, d) means that what is known leaves possible: the rest at its lower and upper bound."""
    low, high = bounds(metric.statistics[0])
    if declined:
        # Over answerable items only, whose number is not known: nothing sharper than the bounds.
        return np.array([[low, 0.0], [high, 1.0]])
    ends = np.array([[low], [high]]) * unknown if unknown else 0.0
    return np.broadcast_to((total + ends) / size, (2, len(total)))
