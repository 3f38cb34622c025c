"""Items that cannot change a metric: their part is known from the start, whoever drew them.

They are neither unknown nor guessed, and a draw of one adds nothing: to the estimate they are like
items outside of a group, whose sum is known. Rounds that left items out because these could not
change what the rounds were for serve the metrics for which that holds; to all other metrics their
items are known without a draw, like those with the largest scores.
"""

from dataclasses import dataclass

import numpy as np

from activetest.estimation.evidence import Evidence, Group
from activetest.item_statistics.compared import find_differing
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.relevance import Certain, find_certain, find_possible_ratio
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.log import NO_MODELS, PENDING, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, sum_before
from activetest.rounds.group_sums import sum_by_group
from activetest.system.parallel import map_reduce


@dataclass(frozen=True)
class Part:
    """The items of a group that can change a metric, and what the d statistics of others sum to.

    drawn, supplied   (D,) and (B,) 1.0 for items that can
    count             number of the group's items that can
    unknown           (C,) those about which nothing is known now, by predicted class
    certain           (d,) sum over the group's other items
    certain_left      (D,) number of them that were not known before each draw
    certain_left_sum  (D, d) sum over those
    certain_open      (d,) sum over those of them that have no answer now
    """

    drawn: Array
    supplied: Array
    count: int
    unknown: Array
    certain: Array
    certain_left: Array
    certain_left_sum: Array
    certain_open: Array

    def count_unknown(self, log: Log) -> int:
        """Number of items that can change the metric and about which nothing is known now."""
        known = self.drawn @ (log.status != PENDING)
        return self.count - int(known + self.supplied @ (log.supplied_status != PENDING))

    def drop_certain(self, imputed: Array, sums: Array, left: Array) -> tuple[Array, Array, Array]:
        """Predictions as RecordedPredictions.of gives them, without what is certain.

        A statistic of which nothing was recorded stays 0.
        """
        return (
            imputed * self.drawn[:, None],
            np.where(sums != 0, sums - self.certain_left_sum, 0.0),
            np.where(left > 0, left - self.certain_left, 0),
        )


def find_part(evidence: Evidence, metric: Metric, group: Group) -> Part:
    """The part of a group that can change a metric."""
    log = evidence.log
    member, supplied_member = (
        group.membership(evidence.drawn.codes),
        group.membership(evidence.supplied.codes),
    )
    count = len(metric.statistics) + log.declined
    certain = find_certainty(evidence, metric)
    place = evidence.find_place(group)
    if subtracts_models(evidence, metric):
        return _find_differing(evidence, metric.statistics[0], place, member, supplied_member)
    if evidence.predicted is None:
        # Values are predicted: every item matters, and none has a class.
        nothing, each = np.zeros(count), np.zeros(len(member))
        alike = nothing, each, each[:, None] * nothing, nothing
        return Part(member, supplied_member, group.size, np.zeros(0), *alike)
    of_class = evidence.predicted[place]
    pred, supplied_pred = evidence.drawn.outputs.pred, evidence.supplied.outputs.pred
    relevant, values = np.ones(len(of_class), bool), np.zeros((len(of_class), count))
    if certain is not None:
        # An item whose part is known needs no answer.
        relevant = certain.relevant
        values = np.hstack([certain.values, ~relevant[:, None]])[:, :count]
    known, more_known = (
        member * (log.status != PENDING) * evidence.drawn.mass,
        supplied_member * (log.supplied_status != PENDING) * evidence.supplied.mass,
    )
    unknown = of_class.astype(float) - np.bincount(pred, known, len(of_class))
    unknown -= np.bincount(supplied_pred, more_known, len(of_class))
    terms = np.column_stack([~relevant, values])
    others, more = member[:, None] * terms[pred], supplied_member[:, None] * terms[supplied_pred]
    sums = of_class @ terms
    left = sums - sum_before(others) - sum_supplied_before(log, more)
    return Part(
        member * relevant[pred],
        supplied_member * relevant[supplied_pred],
        group.size if certain is None else int(of_class @ relevant),
        unknown * relevant,
        sums[1:],
        left[:, 0],
        left[:, 1:],
        unknown @ values,
    )


def subtracts_models(evidence: Evidence, metric: Metric) -> bool:
    """Whether items on which two models do the same are known to add nothing to a difference.

    Where items were declined, the difference is over those that can be answered.
    """
    two = len(metric.statistics) == 1 and len(metric.models) > 1
    return two and evidence.drawn.weight is None and not evidence.log.declined


def _find_differing(
    evidence: Evidence, apart: Statistic, place: int, member: Array, supplied_member: Array
) -> Part:
    """The items of a group on which two models differ: all others add nothing to the difference."""
    log, cache = evidence.log, evidence.cache

    def count(piece: tuple[int, int]) -> Array:
        rows = cache.rows(*piece)
        return sum_by_group(cache, rows.codes, [find_differing(rows.outputs, apart)])

    counts = cache.compute_once(
        ("differing", apart.name), lambda: map_reduce(cache.chunks(), count, np.add)
    )
    drawn, supplied = (
        inside * find_differing(rows.outputs, apart)
        for inside, rows in ((member, evidence.drawn), (supplied_member, evidence.supplied))
    )
    total, differing = float(evidence.groups[place].size), float(counts[place, 0])
    others, more = member - drawn, supplied_member - supplied
    left = total - differing - sum_before(others)
    left -= sum_supplied_before(log, more[:, None])[:, 0]
    none = np.zeros(1)
    return Part(
        drawn,
        supplied,
        int(differing),
        np.zeros(evidence.classes),
        none,
        left,
        np.zeros((len(left), 1)),
        none,
    )


def find_possible(
    evidence: Evidence, metric: Metric, part: Part, total: Array, size: float
) -> tuple[float, float] | None:
    """The range of a metric of several means that what is known leaves possible; None for its own.

    total (d,) is the sum of the statistics over what is known, and over items without an answer,
    if their part is; size are the items of the group.
    """
    log, count = evidence.log, len(metric.statistics)
    if evidence.predicted is None or log.soft is not None:
        # Labels in doubt are not known for certain.
        return None
    answered = float(total[-1]) if log.declined else size - part.unknown.sum()
    return find_possible_ratio(
        metric,
        total[:count],
        answered,
        part.unknown,
        open_classes=evidence.open_classes,
        declinable=log.declined,
    )


def find_certainty(evidence: Evidence, metric: Metric) -> Certain | None:
    """The certain part of a metric; None where every item matters.

    Where items were declined, a mean is over those that can be answered, and only ratios without
    constants do not ask whether an item can be, if its statistics are 0. For other metrics every
    item matters then; but for those that rounds left out, which count as answered.
    """
    if evidence.drawn.weight is not None:
        # Items count by their weights, and all of them are drawn.
        return None
    certain = find_certain(metric, evidence.classes, open_classes=evidence.open_classes)
    if certain is None or not evidence.log.declined:
        return certain
    constants = metric.ratio is None or any(each[0] for each in metric.ratio)
    if not (constants or certain.values.any()):
        return certain
    return certain if evidence.log.left_out else None


def find_steps(
    log: Log,
    used: int,
    classes: frozenset[int] | None,
    models: frozenset[str] = NO_MODELS,
) -> Array:
    """(M,) places of the draws that estimates are made of, among the first `used`.

    They have a probability, and every item could be drawn that matters: see Round.serves.
    """
    steps = np.flatnonzero(~log.deterministic[:used])
    others = [each.number for each in log.history if not each.serves(classes, models)]
    return steps[~np.isin(log.round[steps], others)] if others else steps


def count_ahead(log: Log, steps: Array, used: int, of_class: Array | None, size: int) -> Array:
    """(M, 2) for LURE's weights: items that each draw could be of, and those not yet drawn.

    A draw counts where it was surely one of these items. of_class (C,) are the items of each
    predicted class, needed where rounds left some out.
    """
    sources = {each.number: each.drawn_from for each in log.history if each.drawn_from is not None}
    draws = np.flatnonzero(~log.deterministic[:used])
    if not sources or of_class is None:
        earlier = np.searchsorted(draws, steps)
        return np.column_stack([np.full(len(steps), size), size - earlier])
    rounds = log.round[draws]
    found = np.empty((len(steps), 2))
    for source in {sources.get(int(number)) for number in log.round[steps]}:
        inside = [
            number
            for number in np.unique(rounds).tolist()
            if source is None or (number in sources and set(sources[number]) <= set(source))
        ]
        covered = np.isin(rounds, inside)
        earlier = sum_before(covered)[np.searchsorted(draws, steps)]
        here = np.array([sources.get(int(number)) == source for number in log.round[steps]])
        items = size if source is None else of_class[list(source)].sum()
        found[here] = np.column_stack([np.full(len(steps), items), items - earlier])[here]
    return found


def find_remaining(evidence: Evidence, steps: Array, recorded: Array) -> Array:
    """(M,) items that could be drawn before each draw; recorded (M,) where rounds left none out."""
    log, remaining = evidence.log, np.array(recorded, float)
    for each in log.history:
        here = log.round[steps] == each.number
        if each.drawn_from is None or evidence.predicted is None or not here.any():
            continue
        drawn = each.could_draw(evidence.drawn.outputs.pred).astype(float)
        supplied = each.could_draw(evidence.supplied.outputs.pred).astype(float)
        before = sum_before(drawn)[steps]
        before += sum_supplied_before(log, supplied[:, None])[steps, 0]
        remaining[here] = (evidence.predicted[0, list(each.drawn_from)].sum() - before)[here]
    return remaining


def count_predictions(cache: PoolView) -> Array:
    """(G, C) items, or their weights, by group and predicted class; the whole pool first."""
    classes = len(cache.classes)
    values = list(map(len, cache.group_values))

    def on_piece(piece: tuple[int, int]) -> Array:
        rows = cache.rows(*piece)
        pred = rows.outputs.pred.astype(np.int64)
        places = [pred, *(pred + classes * codes for codes in rows.codes.T.astype(np.int64))]
        return np.concatenate(
            [
                np.bincount(place, rows.weight, minlength=classes * count)
                for place, count in zip(places, [1, *values], strict=True)
            ]
        )

    counts = cache.compute_once(
        "predictions by group", lambda: map_reduce(cache.chunks(), on_piece, np.add)
    )
    return counts.reshape(-1, classes)


def sum_supplied_before(log: Log, supplied: Array) -> Array:
    """(D, d) sum of the statistics (B, d) of supplied items that the draw's round knew."""
    order = np.argsort(log.supplied_round, kind="stable")
    sums = np.concatenate([np.zeros((1, supplied.shape[1])), np.cumsum(supplied[order], axis=0)])
    return sums[np.searchsorted(log.supplied_round[order], log.round, side="right")]
