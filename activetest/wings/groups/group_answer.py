"""The answer to a study's question about groups, from posteriors of the groups (Ji 2021)."""

from dataclasses import dataclass

import numpy as np

from activetest import catalog
from activetest.errors import ChoiceError, NotEstimable
from activetest.estimation.view import View, build_view
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts, Metric
from activetest.nouns.choices import Choices
from activetest.nouns.group_report import Assessment, Comparison, Confusion
from activetest.nouns.log import Log
from activetest.nouns.pool import PoolView
from activetest.nouns.quantity import Quantity
from activetest.nouns.report import Note
from activetest.nouns.rows import Array
from activetest.nouns.surrogate import Surrogate
from activetest.reporting.rows import HEADLINE
from activetest.rounds.fit import make_generator
from activetest.wings.groups import between_groups
from activetest.wings.groups import confusion as cells
from activetest.wings.groups import group_notes as notes
from activetest.wings.groups.arms import Arms, cell_variances
from activetest.wings.groups.bandit import IDENTIFY, Bandit
from activetest.wings.groups.choices import QuestionChoices
from activetest.wings.groups.counts import GroupCounts, count_groups, task_group
from activetest.wings.groups.group_ranking import (
    GroupRank,
    find_region_chances,
    rank_groups,
    summarise_groups,
)
from activetest.wings.groups.planning import forecast_decision_labels


@dataclass(frozen=True)
class _Counts:
    """Labels counted in the question's groups, in predicted classes, and in bins.

    bins    None where the pool has no probabilities
    view    holds the metrics of everything that was not drawn uniformly; None where all was
    """

    groups: GroupCounts
    matrix: GroupCounts
    bins: GroupCounts | None
    view: View | None


def answer_question(
    log: Log, cache: PoolView, choices: Choices, *, seed: int, surrogate: Surrogate | None
) -> tuple[Assessment, list[Note]]:
    """The answer, and what to know before believing it.

    surrogate is the one that was fitted to every label. Raises ChoiceError where the question
    cannot be answered because of choices, and NotEstimable where so many items were declined that
    all remaining groups would be named.
    """
    facts = specification.describe_pool(cache.roles, choices.costs, cache)
    metric, level = specification.find_metric(choices.metric, facts), choices.level
    own = choices.of(QuestionChoices)
    counts = _count_labels(log, cache, choices, facts, seed, surrogate)
    bandit = between_groups.make_bandit(counts.groups, cache, choices)
    rng = make_generator(seed, len(log.history) + 1, "groups")
    stands = summarise_groups(counts.groups, counts.view, metric, level, rng)
    _check_worst(choices, stands.n_answerable, declined=bool(log.declined))
    groups, ranks = rank_groups(stands, own.worst, level, rng)
    comparison = _compare(bandit.pair, bandit, stands, choices) if bandit.pair else None
    probability: float | None = None
    if comparison:
        probability = comparison.probability
    elif choices.question == IDENTIFY:
        probability = ranks.answer_probability
    decided = None if probability is None else probability >= level
    diagram = None
    if counts.bins:
        diagram = cells.estimate_reliability(counts.bins, counts.view, _find_ece(facts), level, rng)
    matrix = cells.estimate_confusion(counts.matrix, counts.view, cache.classes, level)
    more = None
    if decided is False:
        more = _expect_labels(bandit, choices, stands, ranks.among_worst, rng)
    answer = Assessment(
        question=choices.question or "",
        metric=metric.title,
        target=own.target,
        column=task_group(choices),
        worst=own.worst,
        rope=own.rope,
        prior="informative" if counts.groups.informed else "uniform",
        prior_strength=float(bandit.arms.prior[0].sum()),
        level=level,
        groups=groups,
        comparison=comparison,
        confusion=matrix,
        reliability=diagram,
        decided=decided,
        probability=probability,
        more_labels=more,
        rmse=_matrix_rmse(counts.matrix.arms, matrix) if own.target else stands.rmse,
    )
    return answer, notes.write_notes(answer)


def _count_labels(
    log: Log,
    cache: PoolView,
    choices: Choices,
    facts: Facts,
    seed: int,
    surrogate: Surrogate | None,
) -> _Counts:
    groups = count_groups(log, cache, choices, kind=choices.metric)
    matrix = cells.count_by_class(log, cache, choices)
    bins = cells.count_by_confidence(log, cache, choices) if facts.probabilities else None
    metrics = [specification.find_metric(choices.metric, facts)] if groups.weighted.any() else []
    for column in cells.list_cell_metrics(matrix, cache.classes).values():
        metrics += column
    if bins and cells.find_non_uniform(bins).any():
        metrics += [_find_ece(facts), *cells.list_bin_metrics(bins).values()]
    if not metrics:
        return _Counts(groups, matrix, bins, None)
    view = build_view(log, cache, choices, metrics, seed=seed, own_view=False, surrogate=surrogate)
    return _Counts(groups, matrix, bins, view)


def _check_worst(choices: Choices, n_answerable: int, *, declined: bool) -> None:
    """Raises where no group with an item would be left to be better.

    NotEstimable where items were declined, which nobody chose; else ChoiceError.
    """
    worst = choices.of(QuestionChoices).worst
    if choices.question == IDENTIFY and worst >= n_answerable:
        raise (NotEstimable if declined else ChoiceError)(
            f"`worst={worst}`: {n_answerable} groups of {task_group(choices)!r} have items "
            "that can be answered",
            "ask for fewer, or `study.change(question='none')`",
        )


def _find_ece(facts: Facts) -> Metric:
    return specification.find_metric(cells.BINS_KIND, facts)


def _compare(
    pair: tuple[int, int], bandit: Bandit, stands: GroupRank, choices: Choices
) -> Comparison:
    """The difference of the two groups that the question names."""
    first, second = pair
    apart = stands.draws[:, first] - stands.draws[:, second]
    tail = (1 - choices.level) / 2
    lower, upper = np.quantile(apart, [tail, 1 - tail])
    mean = float(stands.estimate[first] - stands.estimate[second])
    quantity = Quantity(
        estimate=mean,
        lower=min(float(lower), mean),
        upper=max(float(upper), mean),
        level=choices.level,
        method=" and ".join(dict.fromkeys(stands.method[[first, second]])),
    )
    chances = find_region_chances(stands, pair, bandit.rope)
    region = ("below", "within", "above")[int(chances.argmax())]
    groups = bandit.arms.groups[first], bandit.arms.groups[second]
    return Comparison(
        quantity=quantity,
        first=groups[0],
        second=groups[1],
        p_below=float(chances[0]),
        p_within=float(chances[1]),
        p_above=float(chances[2]),
        probability=float(chances.max()),
        region=region,
        words=notes.describe_region(*groups, region, bandit.arms.worse_sign, bandit.rope),
        rope=bandit.rope,
    )


def _expect_labels(
    bandit: Bandit, choices: Choices, stands: GroupRank, among: Array, rng: np.random.Generator
) -> int | None:
    """Labels still expected until the question is decided; None where they cannot be foreseen.

    among    (G,) probability of each group with items, the worst first, to be among the worst
    """
    active = catalog.fact("acquisition", choices.acquisition, "CHOOSES_GROUPS")
    likely = np.zeros(len(bandit.arms.groups))
    likely[stands.order[: stands.n_answerable]] = among
    more = forecast_decision_labels(
        bandit,
        catalog.load("acquisition", choices.acquisition).allocate if active else None,
        likely=likely,
        floor=choices.floor,
        level=choices.level,
        rng=rng,
    )
    # Labels that do not count as known are not bought again.
    left = int(stands.items.sum() - stands.known.sum())
    return None if more is None else min(more, left)


def _matrix_rmse(arms: Arms, matrix: Confusion) -> float | None:
    """Root of the mean over items of the summed variances of their predicted class's column.

    None where some column is doubly robust.
    """
    if any(column.method == HEADLINE for column in matrix.columns):
        return None
    outcomes = np.eye(arms.prior.shape[1])
    total = sum(cell_variances(arms, np.broadcast_to(each, arms.value.shape)) for each in outcomes)
    return float(np.sqrt(total @ arms.size / max(arms.size.sum(), 1)))
