"""The answer to a study's task, from posteriors of its groups (Ji 2021)."""

from dataclasses import dataclass

import numpy as np

from activetest import catalog
from activetest.bandits.arms import Arms, variances
from activetest.bandits.bandit import IDENTIFY, Bandit
from activetest.bandits.comparison import regions
from activetest.bandits.counts import GroupCounts, count_groups, task_group
from activetest.bandits.planning import decision_labels
from activetest.errors import ChoiceError
from activetest.estimation.view import View, look
from activetest.item_statistics import specification
from activetest.item_statistics.metric import Facts, Metric
from activetest.nouns.choices import Choices
from activetest.nouns.group_report import Assessment, Comparison, Confusion
from activetest.nouns.rows import Array
from activetest.reporting import confusion as cells
from activetest.reporting import group_notes as words
from activetest.reporting.group_ranking import Standing, ranking, standing
from activetest.reporting.rows import HEADLINE
from activetest.rounds.fit import generator
from activetest.sampling import between_groups


@dataclass(frozen=True)
class _Known:
    """Everything that is counted: of the task's groups, of predicted classes, of bins.

    binned    None where the pool has no probabilities
    view      sees what is estimated by weight; None where nothing is
    """

    groups: GroupCounts
    matrix: GroupCounts
    binned: GroupCounts | None
    view: View | None


def assessment(
    log, cache, choices: Choices, *, seed: int, surrogate
) -> tuple[Assessment, list[str]]:
    """The answer, and what to know before believing it.

    surrogate is the one that knows every label. Raises ChoiceError where the task cannot be asked
    of this pool: by choices or, once items are declined, because all groups would be named.
    """
    facts = specification.facts(cache.roles, choices.costs, cache)
    metric, level = specification.one(choices.metric, facts), choices.level
    known = _known(log, cache, choices, facts, seed, surrogate)
    bandit = between_groups.bandit(known.groups, cache, choices)
    rng = generator(seed, len(log.history) + 1, "groups")
    stands = standing(known.groups, known.view, metric, level, rng)
    _check_worst(choices, stands.there)
    groups, ranks = ranking(stands, choices.worst, level, rng)
    compared = _comparison(bandit, stands, choices) if bandit.pair else None
    if compared:
        probability = compared.probability
    else:
        probability = ranks.named if choices.task == IDENTIFY else None
    decided = None if probability is None else probability >= level
    binned = None
    if known.binned:
        binned = cells.reliability(known.binned, known.view, _ece(facts), level, rng)
    matrix = cells.confusion(known.matrix, known.view, cache.classes, level)
    answer = Assessment(
        task=choices.task,
        metric=metric.title,
        target=choices.target,
        column=task_group(choices),
        worst=choices.worst,
        rope=choices.rope,
        prior="informative" if known.groups.informed else "uniform",
        strength=float(bandit.arms.prior[0].sum()),
        level=level,
        groups=groups,
        comparison=compared,
        confusion=matrix,
        reliability=binned,
        decided=decided,
        probability=probability,
        more=_more(bandit, choices, stands, ranks.among, rng) if decided is False else None,
        rmse=_matrix_rmse(known.matrix.arms, matrix) if choices.target else stands.rmse,
    )
    return answer, words.notes(answer)


def _known(log, cache, choices: Choices, facts: Facts, seed: int, surrogate) -> _Known:
    groups = count_groups(log, cache, choices, kind=choices.metric)
    matrix = cells.by_class(log, cache, choices)
    binned = cells.by_confidence(log, cache, choices) if facts.probabilities else None
    asked = [specification.one(choices.metric, facts)] if groups.weighted.any() else []
    for column in cells.confusion_metrics(matrix, cache.classes).values():
        asked += column
    if binned and cells.non_uniform(binned).any():
        asked += [_ece(facts), *cells.bin_metrics(binned).values()]
    if not asked:
        return _Known(groups, matrix, binned, None)
    view = look(log, cache, choices, asked, seed=seed, own_view=False, surrogate=surrogate)
    return _Known(groups, matrix, binned, view)


def _check_worst(choices: Choices, there: int) -> None:
    """Raises ChoiceError where no group with an item would be left to be better."""
    if choices.task == IDENTIFY and choices.worst >= there:
        raise ChoiceError(
            f"--worst {choices.worst}: {there} groups of {task_group(choices)!r} have items that "
            "can be answered",
            "ask for fewer, or activetest init POOL --task none",
        )


def _ece(facts: Facts) -> Metric:
    return specification.one(cells.BINS_KIND, facts)


def _comparison(bandit: Bandit, stands: Standing, choices: Choices) -> Comparison:
    one, two = bandit.pair
    apart = stands.draws[:, one] - stands.draws[:, two]
    tail = (1 - choices.level) / 2
    lower, upper = np.quantile(apart, [tail, 1 - tail])
    mean = float(stands.estimate[one] - stands.estimate[two])
    shares = regions(apart, bandit.rope)
    region = ("below", "within", "above")[int(shares.argmax())]
    groups = bandit.arms.meaning[one], bandit.arms.meaning[two]
    return Comparison(
        *groups,
        difference=mean,
        lower=min(float(lower), mean),
        upper=max(float(upper), mean),
        p_below=float(shares[0]),
        p_within=float(shares[1]),
        p_above=float(shares[2]),
        probability=float(shares.max()),
        region=region,
        words=words.compared(*groups, region, bandit.arms.worse, bandit.rope),
        rope=bandit.rope,
    )


def _more(bandit: Bandit, choices: Choices, stands: Standing, among: Array, rng) -> int | None:
    """Labels still expected until the task is decided."""
    active = catalog.fact("acquisition", choices.acquisition, "CHOOSES_GROUPS")
    likely = np.zeros(len(bandit.arms.meaning))
    likely[stands.order[: stands.there]] = among
    more = decision_labels(
        bandit,
        catalog.load("acquisition", choices.acquisition).shares if active else None,
        likely=likely,
        floor=choices.floor,
        level=choices.level,
        rng=rng,
    )
    # Some labels do not count as known, and are not to be bought again.
    left = int(stands.items.sum() - stands.known.sum())
    return None if more is None else min(more, left)


def _matrix_rmse(arms: Arms, matrix: Confusion) -> float | None:
    """Root of the mean over items of the summed variances of their predicted class's column.

    None where some column is doubly robust.
    """
    if any(column.method == HEADLINE for column in matrix.columns):
        return None
    outcomes = np.eye(arms.prior.shape[1])
    total = sum(variances(arms, np.broadcast_to(each, arms.value.shape)) for each in outcomes)
    return float(np.sqrt(total @ arms.size / max(arms.size.sum(), 1)))
