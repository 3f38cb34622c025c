"""A round as the texts that the ledger keeps, and back."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from activetest.nouns.log import Allocation, Objective, Round


def serialise_round(round: Round, params: dict[str, Any]) -> list[str | None]:
    """What the ledger keeps of a round besides its draws, as JSON; params are without arrays."""
    names = (params, round.choices, round.statistics, round.groups)
    numbers = (round.imputed_sum, round.count)
    return [
        *(json.dumps(part) for part in names),
        *(json.dumps(np.asarray(part).tolist()) for part in numbers),
        json.dumps([asdict(objective) for objective in round.objectives]),
        None if round.allocation is None else _serialise_allocation(round.allocation),
    ]


def serialise_draws(round: Round) -> list[tuple[float | None, str]]:
    """(probability, None for items without; imputed values as JSON) of every draw in order.

    Raises ValueError for a round in which some items have a probability and others none.
    """
    deterministic = np.isnan(round.prob)
    if deterministic.any() and not deterministic.all():
        raise ValueError("the items of one round have probabilities, or none of them has")
    prob = [None] * len(deterministic) if deterministic.any() else round.prob.tolist()
    imputed = map(json.dumps, np.asarray(round.imputed).tolist())
    return list(zip(prob, imputed, strict=True))


def parse_round(
    number: int, params: Any, texts: Sequence[str | None], draws: Sequence[tuple]
) -> Round:
    """The round of these texts: those of serialise_round after the first, which gave params.

    draws  (pool position, probability or None, imputed values as JSON) of each
    """
    choices, statistics, groups, imputed_sum, count, objectives, allocation = map(
        _parse_text, texts
    )
    rows, prob, imputed = zip(*draws, strict=True)
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
        objectives=tuple(map(_parse_objective, objectives)),
        allocation=None if allocation is None else _parse_allocation(allocation),
    )


def _parse_text(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _parse_objective(entries: dict[str, Any]) -> Objective:
    total = entries["total"]
    return Objective(
        tuple(entries["statistics"]),
        tuple(entries["weights"]),
        np.nan if total is None else total,
        entries.get("peak", 1.0),
    )


# In the ledger the weights of an allocation are called "strength".
def _serialise_allocation(allocation: Allocation) -> str:
    return json.dumps(
        {
            "group": allocation.group,
            "strata": allocation.strata,
            "strength": allocation.weight,
        }
    )


def _parse_allocation(entries: dict[str, Any]) -> Allocation:
    return Allocation(entries["group"], tuple(entries["strata"]), tuple(entries["strength"]))
