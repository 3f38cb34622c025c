"""Studies that draw with replacement: active risk estimation, which only a simulation does.

Sawade 2010; Active Testing (Kossen 2021), appendix D.1. An item stays in the pool when it was drawn
and may come again; a budget counts draws, whether or not they bring a label that is new.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import add

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation import estimate
from activetest.estimation.view import ANYTIME
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.choices import Choices
from activetest.nouns.estimate import Sample
from activetest.nouns.log import LABELLED, Log
from activetest.nouns.rows import Array, Rows
from activetest.parallel import map_reduce
from activetest.rounds import race
from activetest.rounds.fit import (
    find_free_items,
    fit_surrogate,
    is_refit_due,
    make_generator,
    observe_statistics,
)
from activetest.rounds.objectives import find_objectives, linearise_objective
from activetest.rounds.scores import make_scorer
from activetest.simulation.design import Plan


@dataclass(frozen=True)
class Repeats:
    """M draws with replacement: pool positions, and the probability that each had."""

    rows: Array
    prob: Array

    def once(self, truth: Array) -> Log:
        """Every item among them once, with its label."""
        _, first = np.unique(self.rows, return_index=True)
        rows = self.rows[np.sort(first)]
        return replace(
            Log.empty(),
            rows=rows,
            prob=np.ones(len(rows)),
            round=np.ones(len(rows), np.int64),
            status=np.full(len(rows), LABELLED),
            labels=truth[rows],
        )


def played(
    made, truth: Array, plan: Plan, choices: Choices, metrics: list[Metric], seed: int
) -> Iterator[tuple]:
    """((estimator, metric, budget), (estimate, lower, upper, labels)) of one study."""
    draws, number = Repeats(np.empty(0, np.int64), np.empty(0)), 0
    surrogate, learned = None, -1
    for budget in plan.budgets:
        while len(draws.rows) < budget:
            number += 1
            known = draws.once(truth)
            if surrogate is None or is_refit_due(choices.refit, learned, len(known.rows)):
                surrogate = fit_surrogate(
                    known, made, choices, rng=make_generator(seed, number, "fit")
                )
                learned = len(known.rows)
            count = min(plan.batch, budget - len(draws.rows))
            weight = _weight(known, made, choices, surrogate, seed=seed, number=number)
            rng = make_generator(seed, number, "replaced")
            rows = rng.choice(made.size, count, p=weight)
            draws = Repeats(np.append(draws.rows, rows), np.append(draws.prob, weight[rows]))
        for metric in metrics:
            for estimator in plan.estimators:
                try:
                    numbers = _estimated(draws, made, truth, metric, estimator, choices, plan)
                except NotEstimable:
                    continue
                labels = len(np.unique(draws.rows))
                yield (estimator, metric.title, budget), (*numbers, labels)


@dataclass(frozen=True)
class _Centred:
    """A surrogate whose statistics are taken from the risk: what active risk estimation scores."""

    surrogate: object
    risk: float

    def draw_members(self, count: int, rng: np.random.Generator):
        return self.surrogate.draw_members(count, rng)

    def beliefs(self, rows: Rows, statistics: tuple[Statistic, ...], **known) -> Beliefs:
        believed = self.surrogate.beliefs(rows, statistics, **known)
        return replace(believed, outcome_values=believed.outcome_values - self.risk)


def _weight(known: Log, made, choices: Choices, surrogate, *, seed: int, number: int) -> Array:
    """(N,) probabilities of a draw.

    Active Testing, eq. (15)-(17); the risk is what the surrogate expects of the pool.
    """
    free = find_free_items(known, made.size)
    linearised = tuple(
        map(linearise_objective, find_objectives(known, made, surrogate, choices, free))
    )

    def expected(piece) -> Array:
        return surrogate.expected(made.rows(*piece), linearised).sum(axis=1, dtype=float)

    risks = map_reduce(made.chunks(), expected, np.add) / made.size
    scores = [
        make_scorer(_Centred(surrogate, float(risk)), choices, seed=seed, number=number)
        for risk in risks
    ]

    def on_piece(piece) -> list[Array]:
        rows = made.rows(*piece)
        pairs = zip(scores, linearised, strict=True)
        return [np.concatenate([score(rows, (one,)) for score, one in pairs])]

    whole = np.hstack(map_reduce(made.chunks(), on_piece, add))
    whole = race.sharpen_scores(whole, whole.max(axis=1), choices.power)
    weight, _ = race.mix_scores(whole, np.ones(made.size, bool), choices.floor)
    return weight / weight.sum()


def _estimated(
    draws: Repeats, made, truth: Array, metric: Metric, estimator: str, choices: Choices, plan: Plan
) -> tuple[float, float, float]:
    """Estimate, lower and upper. Raises NotEstimable."""
    if metric.refine or plan.interval == ANYTIME:
        raise NotEstimable("this estimate does not exist for draws with replacement", "--interval fixed")
    value = estimate.estimate_metric(sample(draws, made, truth, metric), metric, estimator)
    # No surrogate has said how much such draws vary: what they show is all there is.
    observed = replace(value.estimate, model_variance=float(value.estimate.variance[0, 0]))
    interval = estimate.build_interval(replace(value, estimate=observed), choices.level)
    return value.value, interval.lower, interval.upper


def sample(draws: Repeats, made, truth: Array, metric: Metric) -> Sample:
    """The draws as an estimator sees them: nothing ever leaves the pool, so nothing is known."""
    stats = observe_statistics(made.take(draws.rows), truth[draws.rows], metric.statistics)
    nothing, ones = np.zeros_like(stats), np.ones(len(stats))
    return Sample(
        stats=stats,
        prob=draws.prob,
        weights=ones / len(ones),
        known_sum=nothing,
        imputed=nothing,
        imputed_sum=nothing,
        inside=ones,
        left=0 * ones,
        size=made.size,
        total=nothing.sum(axis=0),
        unknown=made.size,
        counted=ones,
        uniform=bool(np.allclose(draws.prob * made.size, 1)),
        limits=np.array([[each.lower, each.upper] for each in metric.statistics]).T,
        expect=lambda weights: (0 * ones, 0 * ones),
        label_variance=lambda weights: 0.0,
        replaced=True,
    )
