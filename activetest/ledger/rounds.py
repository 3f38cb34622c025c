"""A round as the text that the ledger keeps, and back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from activetest.nouns.log import Aim, Round, Shares


def texts(round: Round, plain: dict) -> list[str | None]:
    """What the ledger keeps of a round besides its draws; plain are its JSON-ready parameters."""
    names = (plain, round.choices, round.statistics, round.groups)
    numbers = (round.imputed_sum, round.count)
    return [
        *(json.dumps(part) for part in names),
        *(json.dumps(np.asarray(part).tolist()) for part in numbers),
        json.dumps([asdict(aim) for aim in round.aims]),
        round.shares and json.dumps(asdict(round.shares)),
    ]


def draws(round: Round) -> list[tuple[float | None, str]]:
    """Probability (None for items without) and what was imputed, of every draw in order.

    Raises ValueError for a round in which some have one and others none.
    """
    picked = np.isnan(round.probs)
    if picked.any() and not picked.all():
        raise ValueError("the items of one round have probabilities, or none of them has")
    probs = [None] * len(picked) if picked.any() else round.probs.tolist()
    imputed = map(json.dumps, np.asarray(round.imputed).tolist())
    return list(zip(probs, imputed, strict=True))


def rebuilt(
    number: int, params: Mapping, kept: Sequence[str | None], drawn: Sequence[tuple]
) -> Round:
    """The round of these texts but the first; drawn holds row, probability and what was imputed."""
    *kept, shares = kept
    choices, statistics, groups, imputed_sum, count, aims = map(json.loads, kept)
    rows, probs, imputed = zip(*drawn, strict=True)
    return Round(
        number=number,
        rows=np.array(rows, np.int64),
        probs=np.array(probs, float),
        choices=choices,
        params=params,
        statistics=tuple(statistics),
        groups=tuple(groups),
        imputed=np.array([json.loads(values) for values in imputed], float),
        imputed_sum=np.array(imputed_sum, float),
        count=np.array(count),
        aims=tuple(
            Aim(
                tuple(aim["statistics"]),
                tuple(aim["weights"]),
                _number(aim["total"]),
                aim.get("peak", 1.0),
            )
            for aim in aims
        ),
        shares=shares and _shares(**json.loads(shares)),
    )


def _shares(group: str, strata: list, strength: list[float]) -> Shares:
    return Shares(group, tuple(strata), tuple(strength))


def _number(total: float | None) -> float:
    return np.nan if total is None else total
