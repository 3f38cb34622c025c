"""The answer to which model is best: how likely each is, and how far all are from the likely best.

How likely they are is a belief: see standing. The intervals of differences are those of any report,
at a level at which all of them hold together.
"""

from contextlib import suppress
from dataclasses import replace

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation.simultaneous import find_joint_level
from activetest.estimation.value import Value
from activetest.estimation.view import View, build_view
from activetest.item_statistics.compared import subtract_models
from activetest.item_statistics.metric import Metric
from activetest.nouns.best_report import BestReport, RankedModel
from activetest.nouns.choices import Choices
from activetest.nouns.estimate import FEW
from activetest.nouns.log import Log, Round
from activetest.nouns.pool import SeveralModels
from activetest.nouns.quantity import Quantity
from activetest.nouns.rows import Array
from activetest.reporting.rows import HEADLINE
from activetest.rounds.fit import list_labelled
from activetest.wings.best.choices import BestChoices
from activetest.wings.best.standing import (
    Standing,
    find_judged,
    judge,
    make_rng,
    measure_standing,
)


def find_best(view: View) -> BestReport:
    """The answer for the joined pool of a view. Raises NotEstimable for a single model."""
    pool, choices, log = view.cache, view.choices, view.log
    if not isinstance(pool, SeveralModels):
        raise NotEstimable(
            "the question is which of several models is best, and the study has one",
            "`study.add('v2', 'FILE')` adds another",
        )
    own = choices.of(BestChoices)
    standing = measure_standing(
        log, pool, choices, seed=view.seed, surrogate=view.evidence.surrogate
    )
    draws = standing.draw(make_rng(view.seed, len(log.history) + 1))
    contest, metric = judge(draws, own.tolerance), find_judged(pool, choices)
    leader = contest.leader
    own_value, apart = _measure_apart(view, metric, standing, leader)
    order = np.lexsort((np.arange(len(standing.models)), contest.regret))
    probability = float(contest.best[leader])
    decided = probability >= choices.level
    labels = len(list_labelled(log)[0])
    return BestReport(
        metric=metric.title,
        best=standing.models[leader],
        probability=probability,
        regret=float(contest.regret[leader]),
        level=choices.level,
        tolerance=own.tolerance,
        decided=bool(decided),
        more_labels=0
        if decided
        else _expect_more_labels(draws, leader, choices, labels, pool.size),
        n_labeled=labels,
        n_telling=standing.telling,
        models=tuple(
            RankedModel(
                quantity=apart[each],
                model=standing.models[each],
                value=_add(own_value, apart[each], apart[0], metric),
                p_best=float(contest.best[each]),
                regret=float(contest.regret[each]),
            )
            for each in order.tolist()
        ),
    )


def _add(own: float | None, apart: Quantity, of_own: Quantity, metric: Metric) -> float | None:
    """The value of a model, from the one of the pool's own and how far both are from the best."""
    if own is None or apart.estimate is None or of_own.estimate is None:
        return None
    return min(max(own + apart.estimate - of_own.estimate, metric.lower), metric.upper)


def _measure_apart(
    view: View, metric: Metric, standing: Standing, leader: int
) -> tuple[float | None, list[Quantity]]:
    """The value of the pool's own model, and (K,) how far each is from the likely best one.

    At a level at which all intervals hold together.
    """
    names, level = standing.models, view.choices.level
    found = [Quantity(0.0, 0.0, 0.0, level, "exact", variance=0.0) for _ in names]
    others = [place for place in range(len(names)) if place != leader]
    metrics = {each: subtract_models(metric, names[each], names[leader]) for each in others}
    pairs = [each.statistics[0].name for each in metrics.values()]
    seen = build_view(
        _derive_differences(view.log, pairs),
        *(view.cache, view.choices, [metric, *metrics.values()]),
        seed=view.seed,
        own_view=False,
        surrogate=view.evidence.surrogate,
    )
    own = None
    with suppress(NotEstimable):
        own = seen.value(metric, HEADLINE).value
    values: dict[int, Value] = {}
    for place, each in metrics.items():
        try:
            values[place] = seen.value(each, HEADLINE)
        except NotEstimable:
            found[place] = Quantity(None, None, None, level, "none")
    families = [[(each, each.estimate.minority_count < FEW)] for each in values.values()]
    rng = make_rng(view.seed, len(view.log.history) + 1)
    joint = find_joint_level(families, level, rng) if families else level
    for place, value in values.items():
        try:
            found[place] = replace(seen.interval(value, joint), level=level)
        except NotEstimable:
            found[place] = Quantity(value.value, None, None, level, "none")
    return own, found


def _derive_differences(log: Log, pairs: list[str]) -> Log:
    """The log, with what rounds recorded of two models subtracted where they recorded both."""
    return replace(log, history=tuple(_derive_round(each, pairs) for each in log.history))


def _derive_round(round: Round, pairs: list[str]) -> Round:
    found = {}
    for pair in pairs:
        both = tuple(pair.split("-", 1)) if pair not in round.statistics else ()
        if both and {*both} <= {*round.statistics}:
            found[pair] = [round.statistics.index(each) for each in both]
    if not found or not round.choices.get("question"):
        return round

    def add(values: Array) -> Array:
        more = [values[..., first] - values[..., second] for first, second in found.values()]
        return np.concatenate([values, np.stack(more, axis=-1)], axis=-1)

    again = round.imputed_again
    return replace(
        round,
        statistics=(*round.statistics, *found),
        imputed=add(round.imputed),
        imputed_sum=add(round.imputed_sum),
        imputed_again=None if again is None else add(again),
    )


def _expect_more_labels(
    draws: Array, leader: int, choices: Choices, labels: int, size: int
) -> int | None:
    """Labels that would decide the answer if what is believed now is true.

    The spread of the posterior shrinks with the root of the number of labels.
    """
    center, tolerance = draws.mean(axis=0), choices.of(BestChoices).tolerance
    for factor in np.geomspace(1.05, 1e4, 200):
        total = int(np.ceil(max(labels, 1) * factor))
        if total > size:
            return None
        sharper = center + (draws - center) / np.sqrt(factor)
        if judge(sharper, tolerance).best[leader] >= choices.level:
            return total - labels
    return None
