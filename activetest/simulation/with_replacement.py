"""Studies that draw with replacement: active risk estimation, which only a simulation does.

Sawade 2010; Active Testing (Kossen 2021), appendix D.1. A drawn item stays in the pool
and may be drawn again; a budget counts draws, whether or not their labels are new.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation import estimate
from activetest.estimation.view import ANYTIME
from activetest.item_statistics.metric import Metric
from activetest.nouns.beliefs import Beliefs
from activetest.nouns.choices import Choices
from activetest.nouns.estimate import Sample
from activetest.nouns.log import LABELLED, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds import race
from activetest.rounds.fit import (
    find_drawable_items,
    find_free_items,
    fit_surrogate,
    is_refit_due,
    make_generator,
    observe_statistics,
)
from activetest.rounds.objectives import find_objectives, linearise_objective
from activetest.rounds.scores import make_scorer
from activetest.rounds.weighted import find_rates
from activetest.simulation.baseline import count_random_labels
from activetest.simulation.design import Plan
from activetest.system.parallel import map_reduce

# Estimator, metric and budget.
RunItem = tuple[str, str, int]


@dataclass(frozen=True)
class ReplacedDraws:
    """M draws with replacement: pool positions, and the probability that each had."""

    rows: Array
    q: Array

    def to_log(self, truth: Array) -> Log:
        """A log of every drawn item once, with its label."""
        _, first = np.unique(self.rows, return_index=True)
        rows = self.rows[np.sort(first)]
        return replace(
            Log.empty(),
            rows=rows,
            q=np.ones(len(rows)),
            round=np.ones(len(rows), np.int64),
            status=np.full(len(rows), LABELLED),
            labels=truth[rows],
        )


def play_study(
    cache: PoolView, truth: Array, plan: Plan, choices: Choices, metrics: list[Metric], seed: int
) -> Iterator[tuple[RunItem, tuple[float, ...]]]:
    """((estimator, metric, budget), (estimate, lower, upper, labels)) of one study."""
    draws, number = ReplacedDraws(np.empty(0, np.int64), np.empty(0)), 0
    surrogate: Surrogate | None = None
    fit_labels = -1
    for budget in plan.budgets:
        while len(draws.rows) < budget:
            number += 1
            log = draws.to_log(truth)
            if surrogate is None or is_refit_due(choices.refit, fit_labels, len(log.rows)):
                surrogate = fit_surrogate(
                    log, cache, choices, rng=make_generator(seed, number, "fit")
                )
                fit_labels = len(log.rows)
            count = min(plan.batch, budget - len(draws.rows))
            q = find_draw_probabilities(log, cache, choices, surrogate, seed=seed, number=number)
            rng = make_generator(seed, number, "replaced")
            rows = rng.choice(cache.size, count, p=q)
            draws = ReplacedDraws(np.append(draws.rows, rows), np.append(draws.q, q[rows]))
        for metric in metrics:
            for estimator in plan.estimators:
                try:
                    numbers = _estimate(draws, cache, truth, metric, estimator, choices, plan)
                except NotEstimable:
                    continue
                rows = np.unique(draws.rows)
                paid = count_random_labels(cache, rows)
                yield (estimator, metric.title, budget), (*numbers, len(rows), *paid)


@dataclass(frozen=True)
class _CentredSurrogate:
    """A surrogate whose statistics have the risk subtracted, as active risk estimation scores."""

    surrogate: Surrogate
    risk: float

    def params(self) -> dict[str, Any]:
        """The parameters of the surrogate."""
        return self.surrogate.params()

    def beliefs(self, rows: Rows, statistics: tuple[Any, ...], members: Any = None) -> Beliefs:
        """The surrogate's beliefs about statistic minus risk."""
        beliefs = self.surrogate.beliefs(rows, statistics, members)
        return replace(beliefs, outcome_values=beliefs.outcome_values - self.risk)

    def expected(self, rows: Rows, statistics: tuple[Any, ...]) -> Array:
        """(T, R) expectation of each statistic minus the risk."""
        return self.surrogate.expected(rows, statistics) - self.risk

    def draw_members(self, count: int, rng: np.random.Generator) -> Any:
        """Members of the surrogate."""
        return self.surrogate.draw_members(count, rng)

    def totals(self, rows: Rows, members: Any, statistics: tuple[Any, ...]) -> tuple[Array, Array]:
        """(K, T) sums over rows of each expectation minus the risk, and of each variance."""
        mean, variance = self.surrogate.totals(rows, members, statistics)
        return mean - len(rows.index) * self.risk, variance


def find_draw_probabilities(
    log: Log, cache: PoolView, choices: Choices, surrogate: Surrogate, *, seed: int, number: int
) -> Array:
    """(N,) probability of every item in the next draw.

    Active Testing, eq. (15)-(17); the risk is what the surrogate expects of the pool.
    """
    free = find_free_items(log, cache.size)
    objectives = find_objectives(log, cache, surrogate, choices, free)
    linearised = tuple(map(linearise_objective, objectives))

    def expected(chunk: tuple[int, int]) -> Array:
        return surrogate.expected(cache.rows(*chunk), linearised).sum(axis=1, dtype=float)

    risks = map_reduce(cache.chunks(), expected, np.add) / cache.size
    scores = [
        make_scorer(_CentredSurrogate(surrogate, float(risk)), choices, seed=seed, number=number)
        for risk in risks
    ]

    def score_chunk(chunk: tuple[int, int]) -> list[Array]:
        rows = cache.rows(*chunk)
        pairs = zip(scores, objectives, strict=True)
        return [np.concatenate([score(rows, (objective,)) for score, objective in pairs])]

    weights = np.hstack(map_reduce(cache.chunks(), score_chunk, add))
    weights = race.sharpen_scores(weights, weights.max(axis=1), choices.power)
    drawable = find_drawable_items(Log.empty(), cache)
    rates = find_rates(cache)
    q, _ = race.mix_scores(weights, drawable, choices.floor, rates, choices.floor_rule)
    return q / q.sum()


def _estimate(
    draws: ReplacedDraws,
    cache: PoolView,
    truth: Array,
    metric: Metric,
    estimator: str,
    choices: Choices,
    plan: Plan,
) -> tuple[float, float, float]:
    """Estimate, lower and upper. Raises NotEstimable."""
    if metric.refine or plan.interval == ANYTIME:
        raise NotEstimable(
            "this estimate does not exist for draws with replacement", '`interval="fixed"`'
        )
    value = estimate.estimate_metric(collect_sample(draws, cache, truth, metric), metric, estimator)
    # There is no model of the variance of such draws, only their sample variance.
    observed = replace(value.estimate, model_variance=float(value.estimate.variance[0, 0]))
    interval = estimate.build_interval(replace(value, estimate=observed), choices.level)
    return value.value, *interval.find_ends()


def collect_sample(draws: ReplacedDraws, cache: PoolView, truth: Array, metric: Metric) -> Sample:
    """The draws as a sample for estimators: no item leaves the pool, so that none is known."""
    rows = cache.take(draws.rows)
    stats = observe_statistics(rows, truth[draws.rows], metric.statistics) * rows.mass[:, None]
    zeros, ones = np.zeros_like(stats), np.ones(len(stats))
    return Sample(
        stats=stats,
        q=draws.q,
        weights=ones / len(ones),
        known_sum=zeros,
        imputed=zeros,
        imputed_sum=zeros,
        inside=ones,
        left=0 * ones,
        size=cache.size,
        total=zeros.sum(axis=0),
        unknown=cache.size,
        counted=ones,
        uniform=bool(np.allclose(draws.q * cache.size, rows.mass)),
        limits=np.array([[each.lower, each.upper] for each in metric.statistics]).T,
        expect=lambda weights: (0 * ones, 0 * ones),
        label_variance=lambda weights: 0.0,
        replaced=True,
        remaining=cache.size * ones,
        mass=rows.weight,
    )
