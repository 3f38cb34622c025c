"""Draws and known labels: the log every estimate is made from. Axes as in rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from activetest.nouns.choices import find_lowest_share
from activetest.nouns.rows import Array
from activetest.nouns.study_lists import FIRST, PartDraws, Target

PENDING, LABELLED, DECLINED = 0, 1, 2
# The methods by which the numbers of reports follow from a log. It grows when the same log leads to
# other numbers; what changed then is a sentence in reporting/notes.py.
METHODS = 9
# Fields of a log that have a value for each draw, and for each supplied item.
_OF_DRAWS = ("rows", "q", "round", "status", "labels")
_OF_SUPPLIED = ("rows", "status", "labels", "round")
# Those that drawn and supplied items have both: item_rows, item_status ...
_OF_ITEMS = ("rows", "status", "labels", "soft")


@dataclass(frozen=True)
class Objective:
    """A weighted sum of statistics whose mean draws were meant to estimate well.

    statistics   (d,) names
    weights      (d,) one each: the metric's gradient when the round began
    total        sum of the squares of the acquisition's scores for it, over every row that could
                 be drawn; NaN where another program drew by a rule of its own
    peak         largest of those scores: where choices raise scores to a power, they are divided by
                 it first, also in the total
    """

    statistics: tuple[str, ...]
    weights: tuple[float, ...]
    total: float
    peak: float = 1.0


@dataclass(frozen=True)
class Allocation:
    """How a round that chose between groups weighted the rows of each of L cells.

    group, strata   what the pool was cut by: see wings.groups.partition.Partition
    weight          (L,) weight of one row of each cell when the round began
    """

    group: str
    strata: tuple[Any, ...]
    weight: tuple[float, ...]


@dataclass(frozen=True)
class ArmAllocation:
    """How a round that explored a surface weighted the rows: sparse, for arms may be many.

    attributes  K columns whose combinations are the arms
    arms        (L, K) names of the values of each arm that it chose
    weight      (L,) weight of a row that is surely in that arm, when the round began
    rest        weight that every row had besides
    certain     whether every row was in one arm: draws were uniform inside arms then
    """

    attributes: tuple[str, ...]
    arms: tuple[tuple[str, ...], ...]
    weight: tuple[float, ...]
    rest: float
    certain: bool


@dataclass(frozen=True)
class Crossed:
    """Predictions of a round's items from its own labels, each from other folds: rounds.crossing.

    statistics    (T,) names of the statistics below
    groups        (G,) names of the groups below; the first is "" (everything)
    imputed       (n, T) expectation of each statistic at each drawn item whose label it follows
    sums          (G, T) of expectations over what was neither known nor drawn when the round began
    share         (n,) of these expectations in what estimates expect of drawn items
    rest_share    the same for items that were not drawn
    origin        of what they follow from
    """

    statistics: tuple[str, ...]
    groups: tuple[str, ...]
    imputed: Array
    sums: Array
    share: Array
    rest_share: float
    origin: str = ""


NO_MODELS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Round:
    """One batch of draws from one frozen score vector, as it is recorded.

    number        1, 2, ...
    rows          (n,) pool positions in the order drawn
    q             (n,) probability of each draw, given all before it; NaN for items that were chosen
                  by the largest score, or drawn where others had no chance
    choices       the fields of Choices that the round was drawn with
    params        the surrogate's parameters, JSON-ready or arrays: enough to predict again
    statistics    (T,) names of the statistics below
    groups        (G,) names of the groups below; the first is "" (everything)
    imputed       (n, T) the surrogate's expectation of each statistic at each drawn item
    imputed_sum   (G, T) its sum over what was neither known nor drawn when the round began
    count         (G,) number of such rows
    objectives    what draws were meant to estimate: enough to compute the weight of every row
                  again, unless there is an allocation
    fit_round     number of the round whose surrogate this is: its own unless it was not refitted
    fit_labels    number of labels that this surrogate was fitted to
    allocation    of rounds that chose between groups or arms: enough to compute the weight of every
                  row again; None for those whose rows had scores of their own
    methods       METHODS of the version that drew it
    version       of activetest that drew it
    again         names of the groups that it did not record: an earlier surrogate predicted them
    imputed_again (n, T) imputed by that surrogate; None where there are no such groups
    drawn_from    codes of the predicted classes whose items could be drawn, because others could
                  not change what the round was for; None where every item could
    among         names of models: items could be drawn on which their predictions are not all the
                  same, because others could not change what the round was for; empty where that is
                  not asked
    imported      it was drawn by another program, and came with a log: what probability its other
                  items had is not known, unless its acquisition is uniform
    doubtful_share   share of the pool that probabilities of its log account for, where it is in
                  doubt whether they account for all; None where it is not
    parts         how many draws from each part were planned before it
    targets       what it was to estimate
    looks         numbers of draws at which looks are planned; None without looks
    phase         of its draws, where items are drawn in two phases
    crossed       predictions from its own labels, once they are known; they are never recorded
    """

    number: int
    rows: Array
    q: Array
    choices: dict[str, Any]
    params: Mapping[str, Any]
    statistics: tuple[str, ...]
    groups: tuple[str, ...]
    imputed: Array
    imputed_sum: Array
    count: Array
    objectives: tuple[Objective, ...]
    fit_round: int = 0
    fit_labels: int = 0
    allocation: Allocation | ArmAllocation | None = None
    methods: int = METHODS
    again: tuple[str, ...] = ()
    imputed_again: Array | None = None
    drawn_from: tuple[int, ...] | None = None
    among: tuple[str, ...] = ()
    imported: bool = False
    doubtful_share: float | None = None
    version: str = ""
    parts: tuple[PartDraws, ...] = ()
    targets: tuple[Target, ...] = ()
    looks: tuple[int, ...] | None = None
    phase: int = FIRST
    crossed: Crossed | None = None

    @property
    def part(self) -> int:
        """The number of the part of the population that its items are of."""
        return self.parts[0].part if self.parts else FIRST

    def could_draw(self, pred: Array) -> Array:
        """(R,) whether items predicted as these classes (R,) could be drawn, if not yet known."""
        if self.drawn_from is None:
            return np.ones(len(pred), bool)
        return np.isin(pred, self.drawn_from)

    @property
    def left_out(self) -> bool:
        """Whether items that could not change what it was for could not be drawn."""
        return self.drawn_from is not None or bool(self.among)

    def serves(self, classes: frozenset[int] | None, models: frozenset[str] = NO_MODELS) -> bool:
        """Whether all items could be drawn that are predicted as these classes; None are all.

        models   those of which only items matter that they predict differently, if there are any
        """
        if self.among:
            return bool(models) and models <= {*self.among}
        return self.drawn_from is None or (classes is not None and classes <= {*self.drawn_from})

    @property
    def lacks_weights(self) -> bool:
        """Whether another program drew it, and only drawn items have a known probability."""
        return self.imported and not (self.objectives and self.objectives[0].total > 0)

    @property
    def deterministic(self) -> bool:
        """Whether its items have no probabilities: the largest scores, or plain Thompson draws."""
        return bool(np.isnan(self.q).any())


@dataclass(frozen=True)
class Elsewhere:
    """Labels outside of the part of the population that a log is about.

    rows    (K,) positions of their items, behind those of the part: see rounds.part_pool
    labels  (K,) as in Log
    round   (K,) first round of the part that knew each
    """

    rows: Array
    labels: Array
    round: Array


@dataclass(frozen=True)
class Log:
    """Draws, in order, and known labels: the only input of every estimate.

    rows, q, round       (D,) pool position, probability and number of the round of each draw; a
                         deterministic item is a draw whose probability is NaN, see Round
    status               (D,) PENDING, LABELLED or DECLINED
    labels               (D,) class code or value as float; NaN unless labelled
    supplied_rows        (B,) pool positions of items whose labels were supplied without a draw
    supplied_status      (B,) LABELLED or DECLINED; PENDING where the answer was taken back
    supplied_labels      (B,) as labels
    supplied_round       (B,) first round that knew it; one more than the last when none did yet
    history              the rounds, in order
    soft, supplied_soft  (D, C) and (B, C) probability of each class for every item whose label is
                         in doubt, NaN unless labelled; what is missing to one is outside the
                         classes. None where labels are taken as certain
    answers              (D + B,) number of answers that count about each drawn and then each
                         supplied item, by any annotator; None where one was given about each item
                         that is not pending
    given                (D + B, J) class code of each annotator's answer about each drawn and then
                         each supplied item, the number of classes for a label that is none of
                         them, -1 without an answer; None where labels are taken as they are
    elsewhere            labels of other parts of the population, of which surrogates learn; None
                         for a log of all parts
    """

    rows: Array
    q: Array
    round: Array
    status: Array
    labels: Array
    supplied_rows: Array
    supplied_status: Array
    supplied_labels: Array
    supplied_round: Array
    history: tuple[Round, ...] = ()
    soft: Array | None = None
    supplied_soft: Array | None = None
    answers: Array | None = None
    given: Array | None = None
    elsewhere: Elsewhere | None = None

    @property
    def deterministic(self) -> Array:
        """(D,) True for items without a probability, see Round."""
        return np.asarray(np.isnan(self.q))

    @property
    def doubtful_share(self) -> float | None:
        """Share of the pool that a log accounts for that it came with, where that is in doubt."""
        found = (each.doubtful_share for each in self.history)
        return next((share for share in found if share is not None), None)

    @property
    def item_rows(self) -> Array:
        """(D + B,) pool positions of what was drawn, and then of what was supplied."""
        return np.concatenate([self.rows, self.supplied_rows])

    @property
    def item_status(self) -> Array:
        """(D + B,) their status."""
        return np.concatenate([self.status, self.supplied_status])

    @property
    def item_labels(self) -> Array:
        """(D + B,) their labels."""
        return np.concatenate([self.labels, self.supplied_labels])

    @property
    def item_soft(self) -> Array | None:
        """(D + B, C) their probability of each class; None where labels are taken as certain."""
        if self.soft is None or self.supplied_soft is None:
            return None
        return np.concatenate([self.soft, self.supplied_soft])

    @property
    def declined(self) -> bool:
        """Whether any item was declined: then every mean is over those that can be answered."""
        return bool(DECLINED in self.status or DECLINED in self.supplied_status)

    @property
    def left_out(self) -> bool:
        """Whether a round left out items that could not change what it was for."""
        return any(each.left_out for each in self.history)

    @staticmethod
    def empty() -> "Log":
        """Nothing drawn, nothing known."""
        whole = np.empty(0, np.int64)
        real = np.empty(0)
        return Log(whole, real, whole, whole, real, whole, whole, real, whole)


def count_answers(log: Log, amount: Array) -> float:
    """Number of answers that were bought, or their price: labels and declined items.

    amount (D + B,) is what an answer about each item counts, 0 for items to leave out. Every
    annotator's answer counts; a correction of an own answer is no further one.
    """
    answers = (log.item_status != PENDING) if log.answers is None else log.answers
    return float(answers @ amount)


def truncate_log(log: Log, number: int, *, supplied: int) -> Log:
    """The log as it was once round `number` was labelled, with what round `supplied` knew."""
    drawn, known = log.round <= number, log.supplied_round <= supplied

    def cut(values: Array | None, kept: Array) -> Array | None:
        return None if values is None else values[kept]

    return replace(
        log,
        **{name: getattr(log, name)[drawn] for name in _OF_DRAWS},
        **{f"supplied_{name}": getattr(log, f"supplied_{name}")[known] for name in _OF_SUPPLIED},
        history=tuple(each for each in log.history if each.number <= number),
        soft=cut(log.soft, drawn),
        supplied_soft=cut(log.supplied_soft, known),
        answers=cut(log.answers, np.concatenate([drawn, known])),
        given=cut(log.given, np.concatenate([drawn, known])),
        elsewhere=_cut_elsewhere(log.elsewhere, supplied),
    )


def _cut_elsewhere(found: Elsewhere | None, supplied: int) -> Elsewhere | None:
    """Labels elsewhere that a round of this number knew."""
    if found is None:
        return None
    kept = found.round <= supplied
    return Elsewhere(found.rows[kept], found.labels[kept], found.round[kept])


def supply_draws_before(log: Log, number: int) -> Log:
    """The log as if draws of the rounds before `number` had been supplied, and not drawn.

    Round `number` is then the first one, and the first that knew any label: estimates rest on its
    draws and on later ones, as those about a model must that labels before it took part in making.
    Of a pending draw nothing is known, and as after an answer that was taken back no later draw is
    used until there is an answer. A round that drew with the surrogate of a dropped one has its
    own.
    """
    old, dropped = log.round < number, number - 1
    drawn = len(old) - int(old.sum())
    of_supplied = np.arange(len(old), len(log.item_rows))
    order = np.concatenate([np.flatnonzero(~old), of_supplied, np.flatnonzero(old)])

    def split(items: Array | None) -> tuple[Array | None, Array | None]:
        found = None if items is None else items[order]
        return (None, None) if found is None else (found[:drawn], found[drawn:])

    known_since = np.maximum(log.supplied_round - dropped, 1)
    columns: dict[str, Any] = {}
    for name in _OF_ITEMS:
        columns[name], columns[f"supplied_{name}"] = split(getattr(log, f"item_{name}"))
    return replace(
        log,
        **columns,
        q=log.q[~old],
        round=log.round[~old] - dropped,
        supplied_round=np.concatenate([known_since, np.ones(len(old) - drawn, np.int64)]),
        history=_renumber(log.history[dropped:], dropped),
        answers=None if log.answers is None else log.answers[order],
        given=None if log.given is None else log.given[order],
    )


def take_parts(
    log: Log, parts: Sequence[int], find_places: Callable[[Array], Array], size: int
) -> Log:
    """The log of some parts of the population, whose rounds are numbered from 1 on, as they are.

    parts        their numbers, which become 1, 2, ...: draws of a round are of one part
    find_places  of positions in the whole population those in the parts, from `size` on outside

    Strata are drawn from independently: whatever is known of items elsewhere may say what to expect
    of the parts', and weighs nothing in their means.
    """
    history = [each for each in log.history if each.part in parts]
    numbers = np.array([each.number for each in history], np.int64)
    drawn = np.isin(log.round, numbers)
    supplied_places = find_places(log.supplied_rows)
    supplied = supplied_places < size
    known = np.concatenate([drawn, supplied])
    outside = ~known & (log.item_status == LABELLED)
    since = np.concatenate(
        [
            np.searchsorted(numbers, log.round, side="right"),
            np.searchsorted(numbers, log.supplied_round),
        ]
    )
    elsewhere = Elsewhere(
        find_places(log.item_rows[outside]), log.item_labels[outside], since[outside] + 1
    )
    if (other := log.elsewhere) is not None:
        rounds = np.searchsorted(numbers, other.round) + 1
        elsewhere = Elsewhere(
            np.append(elsewhere.rows, find_places(other.rows)),
            np.append(elsewhere.labels, other.labels),
            np.append(elsewhere.round, rounds),
        )

    def cut(values: Array | None, kept: Array) -> Array | None:
        return None if values is None else values[kept]

    def place(round: Round, number: int) -> Round:
        draws = tuple(PartDraws(parts.index(each.part) + 1, each.planned) for each in round.parts)
        rows = find_places(round.rows)
        return replace(round, number=number, fit_round=number, rows=rows, parts=draws)

    return replace(
        log,
        rows=find_places(log.rows[drawn]),
        q=log.q[drawn],
        round=np.searchsorted(numbers, log.round[drawn]) + 1,
        status=log.status[drawn],
        labels=log.labels[drawn],
        supplied_rows=supplied_places[supplied],
        supplied_status=log.supplied_status[supplied],
        supplied_labels=log.supplied_labels[supplied],
        supplied_round=since[len(drawn) :][supplied] + 1,
        history=tuple(place(each, number) for number, each in enumerate(history, start=1)),
        soft=cut(log.soft, drawn),
        supplied_soft=cut(log.supplied_soft, supplied),
        answers=cut(log.answers, known),
        given=cut(log.given, known),
        elsewhere=elsewhere,
    )


def _renumber(history: Sequence[Round], dropped: int) -> tuple[Round, ...]:
    """Rounds as if the first ones had not been: the next number is 1."""
    first: dict[int, int] = {}
    for each in history:
        first.setdefault(each.fit_round or each.number, each.number - dropped)
    return tuple(
        replace(
            each,
            number=each.number - dropped,
            fit_round=first[each.fit_round or each.number],
        )
        for each in history
    )


def drop_waiting_rounds(log: Log) -> Log:
    """The log without the rounds after the last one of which an item has an answer.

    Results from it change with answers alone, and not because more items were drawn: no
    number of a report, and no verdict, may follow the number of rounds that nobody has looked at.
    """
    last = int(log.round[log.status != PENDING].max(initial=0))
    return truncate_log(log, last, supplied=len(log.history) + 1)


def count_usable_draws(log: Log) -> tuple[int, bool]:
    """Number of draws that estimates use, and whether they are whole rounds.

    Deterministic items are counted. An estimate's term needs every earlier draw answered, and a
    fixed interval must not end inside a round: where the answered beginning ends could depend on
    the answers. A label that a round was fitted to and that was then taken back ends it as well.
    Of the first round alone the answered beginning is used.
    """
    waiting = np.flatnonzero(log.status == PENDING)
    answered = int(waiting[0]) if len(waiting) else len(log.rows)
    taken_back = log.supplied_round[log.supplied_status == PENDING]
    if len(taken_back):
        answered = min(answered, int(np.searchsorted(log.round, taken_back.min())))
    if answered == len(log.rows):
        return answered, True
    start = int(np.searchsorted(log.round, log.round[answered]))
    if log.deterministic[:start].all() and not log.deterministic[answered]:
        return answered, answered == start
    return start, True


def weigh_draws(
    log: Log, is_nested: Callable[[Allocation | ArmAllocation], bool]
) -> tuple[Array, Array]:
    """(D,) whether each draw was uniform inside its cell, and (D,) weights of the others.

    is_nested says of an allocation whether each cell lies in one of the cells or arms that it
    weights. A weight is one over (the draw's probability times the number of items left), and 0 for
    draws without a probability and those of some predicted classes alone.
    """
    uniform, weights = np.zeros(len(log.rows), bool), np.zeros(len(log.rows))
    for record in log.history:
        draws = slice(*np.searchsorted(log.round, [record.number, record.number + 1]))
        if _is_uniform(record, is_nested):
            uniform[draws] = True
        elif not (record.deterministic or record.left_out):
            left = record.count[0] - np.arange(draws.stop - draws.start)
            weights[draws] = 1 / (log.q[draws] * left)
    return uniform, weights


def _is_uniform(record: Round, is_nested: Callable[[Allocation | ArmAllocation], bool]) -> bool:
    """Whether a round's draws were uniform inside every cell."""
    if record.left_out:
        return False
    if record.allocation and is_nested(record.allocation):
        return True
    unscored = record.choices["acquisition"] == "uniform" and not record.allocation
    return not record.deterministic and (unscored or find_lowest_share(record.choices) == 1)
