"""From a log to the next draws: fit the surrogate, score what is left, draw by race.

`next` and `simulate` both call plan_round.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache as cached
from typing import Any

import numpy as np

from activetest import __version__, catalog
from activetest.errors import ChoiceError, NotEstimable
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.choices import Augmentation, Choices, FloorRule, Selection
from activetest.nouns.log import Allocation, ArmAllocation, Log, Objective, Round
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.nouns.surrogate import Surrogate
from activetest.rounds import race
from activetest.rounds.fit import (
    find_disagreeing,
    find_drawable_items,
    find_predicted_as,
    find_reusable_round,
    get_surrogate,
    list_learned,
)
from activetest.rounds.group_sums import list_group_names, sum_by_group
from activetest.rounds.known_labels import KnownLabels
from activetest.rounds.objectives import (
    find_compared_models,
    find_drawn_classes,
    find_objectives,
    linearise_objective,
    list_recorded_statistics,
)
from activetest.rounds.scores import make_scorer
from activetest.rounds.weighted import find_rates, weigh_surrogate
from activetest.sampling.floor import choose_floor, chooses_floor
from activetest.sampling.question import chooses_between, find_question
from activetest.system.parallel import map_reduce


@dataclass(frozen=True)
class RoundState:
    """One round before anything is drawn.

    round         as it will be recorded, with no draw yet
    surrogate     what the labels so far let one believe
    statistics    (T,) whose expectations are recorded
    q             (N,) probability of the first draw; 0 where a row is not free
    expected      (T, N) expectations of the statistics; None where the pool is more than one chunk
    """

    round: Round
    surrogate: Surrogate
    statistics: tuple[Statistic, ...]
    q: Array
    expected: Array | None = None

    @property
    def has_probabilities(self) -> bool:
        """Whether every row that is left can be drawn: else draws have no usable probabilities."""
        if self.round.allocation and not self.round.choices["floor"]:
            return False
        return bool(self.round.choices["selection"] == Selection.DRAW)


def plan_round(
    log: Log,
    cache: PoolView,
    choices: Choices,
    *,
    seed: int,
    count: int,
    surrogate: Surrogate | None = None,
    key: Array | None = None,
) -> Round:
    """The next round: up to count draws, their probabilities, and the sums estimates will need.

    Deterministic in (log, pool, choices, seed, count, key). surrogate is what get_surrogate gives,
    where that is at hand; key as in prepare_round. Raises NotEstimable when nothing is left to
    draw.
    """
    state = prepare_round(log, cache, choices, seed=seed, count=count, surrogate=surrogate, key=key)
    top = state.round.choices["selection"] == Selection.TOP
    choose = race.take_top if top else race.draw_by_race
    drawn = choose(cache.hashes[: cache.size], state.q, count, seed=seed, stream=state.round.number)
    return record_round(state, drawn, cache)


def prepare_round(
    log: Log,
    cache: PoolView,
    choices: Choices,
    *,
    seed: int,
    count: int = 1,
    surrogate: Surrogate | None = None,
    key: Array | None = None,
) -> RoundState:
    """The state of the next round, for a batch of `count`.

    key are the labels (N,) of all items, which only simulations have; only acquisitions that need
    them look at them. Raises ValueError where they are missing then.

    Items that can change none of the metrics that the choices name are not drawn. Raises
    NotEstimable when nothing else is left, and ChoiceError when the scores alone, without a
    floor, would never draw some of it: no estimate could be unbiased then. A choice between groups
    may leave rows without a chance, and so may true losses of zero: those add nothing to the mean
    that the draws are for.
    """
    number = len(log.history) + 1
    free = find_drawable_items(log, cache)
    if not free.any():
        raise NotEstimable("every item of the pool is drawn or labelled", hint="`study.report()`")
    drawn_from = find_drawn_classes(choices, cache.roles, cache)
    among = find_compared_models(choices, cache)
    drawable = free & find_predicted_as(cache, drawn_from) & find_disagreeing(cache, among)
    if not drawable.any():
        raise _explain_nothing_left(choices, among=bool(among))
    earlier = find_reusable_round(log, choices, cache.unavailable)
    surrogate = surrogate or get_surrogate(log, cache, choices, seed=seed)
    statistics = list_recorded_statistics(choices, cache)
    scoring = _find_scoring_surrogate(surrogate, cache, choices, key)
    objectives, shares = _find_objectives(log, cache, scoring, choices, free, seed, number)
    question = find_question(choices) if chooses_between(choices.acquisition) else None
    score = None if question else make_scorer(scoring, choices, seed=seed, number=number)

    pieces = cache.chunks()
    expected: list[Array] = []

    def on_piece(piece: tuple[int, int]) -> tuple[Array, list[Array]]:
        start, stop = piece
        rows, here = cache.rows(start, stop), free[start:stop]
        mean = surrogate.expected(rows, statistics)
        if len(pieces) == 1:
            expected.append(mean)
        terms = [*(each * here for each in mean), here]
        return sum_by_group(cache, rows.codes, terms), [score(rows, objectives)] if score else []

    source = (
        (earlier.fit_round, earlier.fit_labels)
        if earlier
        else (number, len(list_learned(log, choices)[0]))
    )
    sums, scores = map_reduce(
        pieces,
        on_piece,
        lambda left, right: (left[0] + right[0], left[1] + right[1]),
        title="scoring the pool",
    )
    allocation: Allocation | ArmAllocation | None = None
    if question:
        allocation, q = question.allocate(
            log, cache, choices, free=free, seed=seed, number=number, count=count
        )
    else:
        scored = np.hstack(scores)
        # A pool may be large: nothing is kept twice.
        scores.clear()
        if catalog.fact("acquisition", choices.acquisition, "NEEDS_MEMBERS"):
            choices = _check_members(scored[:, drawable], choices, labels=source[1])
        drawn = len(log.rows)
        choices, objectives, q = _weigh_by_scores(
            scored, cache, surrogate, choices, objectives, drawable, drawn=drawn, shares=shares
        )
    none = np.empty(0)
    planned = Round(
        number=number,
        rows=none.astype(np.int64),
        q=none,
        choices=dict(_record_choices(choices)),
        params=surrogate.params(),
        statistics=tuple(each.name for each in statistics),
        groups=list_group_names(cache),
        imputed=np.empty((0, len(statistics))),
        imputed_sum=sums[:, :-1],
        count=np.rint(sums[:, -1]).astype(np.int64),
        objectives=objectives,
        fit_round=source[0],
        fit_labels=source[1],
        allocation=allocation,
        drawn_from=drawn_from,
        among=among,
        version=__version__,
    )
    return RoundState(planned, surrogate, statistics, q, expected[0] if expected else None)


def _find_objectives(
    log: Log,
    cache: PoolView,
    surrogate: Surrogate,
    choices: Choices,
    free: Array,
    seed: int,
    number: int,
) -> tuple[tuple[Objective, ...], Array | None]:
    """The objectives of a round: the metrics, or those that an acquisition finds by itself.

    And the shares of the latter in the round; None for metrics, which count alike.
    """
    if not catalog.fact("acquisition", choices.acquisition, "AIMS"):
        return find_objectives(log, cache, surrogate, choices, free), None
    method = catalog.load("acquisition", choices.acquisition)
    found: tuple[tuple[Objective, ...], Array] = method.find_aims(
        log, cache, choices, surrogate=surrogate, seed=seed, number=number
    )
    return found


def _find_scoring_surrogate(
    surrogate: Surrogate, cache: PoolView, choices: Choices, key: Array | None
) -> Surrogate:
    """The source of an acquisition's scores: the surrogate, or the key (N,) where it needs that."""
    if not catalog.fact("acquisition", choices.acquisition, "NEEDS_KEY"):
        return surrogate
    if key is None:
        raise ValueError(f"{choices.acquisition} scores items by their true labels")
    return weigh_surrogate(KnownLabels(key), cache)


def _explain_nothing_left(choices: Choices, *, among: bool) -> NotEstimable:
    """Why nothing can be drawn although there are items without a label."""
    if among:
        return NotEstimable(
            "the models do the same on every item that has no label",
            "read `study.report()`, or draw others, too: `study.change(floor=0.1)`",
        )
    names = dict.fromkeys((choices.metric, *choices.also, *choices.metrics, *choices.draw_for))
    return NotEstimable(
        f"no item is left that can change {' or '.join(names)}",
        'read `study.report()`, or aim at another metric: `study.change(metric="error")`',
    )


def _check_members(scores: Array, choices: Choices, *, labels: int) -> Choices:
    """The choices that a round with these scores (A, R) of its members can be drawn with.

    Where all its members agree because the surrogate has learned from no label, or from nothing but
    labels of one class, items are drawn uniformly at random, whatever the choices say, and the
    round records that it was. Raises ChoiceError where members agree in spite of labels.
    """
    if scores.any():
        return choices
    if labels and choices.augment == Augmentation.OUTPUTS:
        raise ChoiceError(
            f"all members of the surrogate {choices.surrogate!r} agree about every item: "
            f"{choices.acquisition} has nothing to go by",
            "choose a surrogate with members that differ, or `acquisition='optimal'`",
        )
    draw, mix = Selection.DRAW.value, FloorRule.MIX.value
    return replace(choices, selection=draw, floor=1.0, floor_rule=mix)


def _weigh_by_scores(
    scores: Array,
    cache: PoolView,
    surrogate: Surrogate,
    choices: Choices,
    objectives: tuple[Objective, ...],
    free: Array,
    *,
    drawn: int,
    shares: Array | None = None,
) -> tuple[Choices, tuple[Objective, ...], Array]:
    """The choices with the floor that is used, the objectives with their totals, and (N,) q.

    scores (A, N) of the acquisition for every objective, free (N,) the rows that can be drawn,
    shares (A,) of the objectives as in race.mix_scores.
    Raises ChoiceError as prepare_round does.
    """
    peaks = np.ones(len(scores))
    if choices.power != 1:
        peaks = scores.max(axis=1, where=free, initial=0.0)
        scores = race.sharpen_scores(scores, peaks, choices.power)
    if chooses_floor(choices, objectives[0]):
        share = choose_floor(
            cache,
            surrogate,
            linearise_objective(objectives[0]),
            scores,
            free,
            choices,
            drawn=drawn,
        )
        choices = replace(choices, floor=share)
    top = choices.selection == Selection.TOP
    floor = 0.0 if top else choices.floor
    rates = find_rates(cache)
    q, totals = race.mix_scores(scores, free, floor, rates, choices.floor_rule, shares)
    if top:
        # Rows below the top are left out on purpose.
        q = np.where(free, np.maximum(q, np.finfo(float).tiny), 0.0)
    never = np.count_nonzero(free & (q == 0))
    if never and not draws_whole_mean(choices, objectives):
        raise ChoiceError(
            f"with floor 0, {never} items could never be drawn: their score is zero",
            hint="`floor=0.05` gives them a chance",
        )
    objectives = tuple(
        replace(objective, total=float(total), peak=float(peak))
        for objective, total, peak in zip(objectives, totals, peaks, strict=True)
    )
    return choices, objectives, q


def draws_whole_mean(choices: Choices, objectives: Sequence[Objective]) -> bool:
    """Whether items of weight zero add nothing to the one mean that draws are to estimate.

    So it is of true losses, and of no others: what a surrogate expects to be zero may not be.
    """
    needs_key = catalog.fact("acquisition", choices.acquisition, "NEEDS_KEY")
    return bool(needs_key) and [len(each.statistics) for each in objectives] == [1]


@cached
def _record_choices(choices: Choices) -> Mapping[str, Any]:
    """The choices as a round records them."""
    return asdict(choices)


def record_round(state: RoundState, drawn: Array, cache: PoolView) -> Round:
    """The round in which the rows `drawn` came in this order."""
    if state.expected is None:
        mean = state.surrogate.expected(cache.take(drawn), state.statistics)
    else:
        mean = state.expected[:, drawn]
    q = np.full(len(drawn), np.nan)
    if state.has_probabilities:
        q = race.draw_probabilities(state.q, drawn)
    return replace(state.round, rows=drawn, q=q, imputed=mean.T.astype(float))
