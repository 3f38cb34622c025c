"""A round as the text that the ledger keeps, and back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from activetest.nouns.log import Allocation, Objective, Round


def texts(round: Round, plain: dict) -> list[str | None]:
    """What the ledger keeps of a round besides its draws; plain are its JSON-ready parameters."""
    names = (plain, round.choices, round.statistics, round.groups)
    numbers = (round.imputed_sum, round.count)
    return [
        *(json.dumps(part) for part in names),
        *(json.dumps(np.asarray(part).tolist()) for part in numbers),
        json.dumps([asdict(objective) for objective in round.objectives]),
        round.allocation and json.dumps(asdict(round.allocation)),
    ]


def draws(round: Round) -> list[tuple[float | None, str]]:
    """Probability (None for items without) and what was imputed, of every draw in order.

    Raises ValueError for a round in which some have one and others none.
    """
    deterministic = np.isnan(round.prob)
    if deterministic.any() and not deterministic.all():
        raise ValueError("the items of one round have probabilities, or none of them has")
    prob = [None] * len(deterministic) if deterministic.any() else round.prob.tolist()
    imputed = map(json.dumps, np.asarray(round.imputed).tolist())
    return list(zip(prob, imputed, strict=True))


def rebuilt(
    number: int, params: Mapping, kept: Sequence[str | None], drawn: Sequence[tuple]
) -> Round:
    """The round of these texts but the first; drawn holds row, probability and what was imputed."""
    *kept, allocation = kept
    choices, statistics, groups, imputed_sum, count, objectives = map(json.loads, kept)
    rows, prob, imputed = zip(*drawn, strict=True)
    return Round(
        number=number,
        rows=np.array(rows, np.int64),
        prob=np.array(prob, float),
        choices=choices,
        params=params,
        statistics=tuple(statistics),
        groups=tuple(groups),
        imputed=np.array([json.loads(values) for values in imputed], float),
        imputed_sum=np.array(imputed_sum, float),
        count=np.array(count),
        objectives=tuple(
            Objective(
                tuple(objective["statistics"]),
                tuple(objective["weights"]),
                _number(objective["total"]),
                objective.get("peak", 1.0),
            )
            for objective in objectives
        ),
        allocation=allocation and _allocation(**json.loads(allocation)),
    )


def _allocation(group: str, strata: list, weight: list[float]) -> Allocation:
    return Allocation(group, tuple(strata), tuple(weight))


def _number(total: float | None) -> float:
    return np.nan if total is None else total
