"""Scores of rows: the acquisition, applied to what the surrogate believes."""

from collections.abc import Callable

import numpy as np

from activetest import catalog
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.choices import Choices
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import make_generator

# Members that acquisitions which need them are shown, and numbers at a time that they make.
_MEMBERS, _NUMBERS = 100, 2**20


def make_scorer(
    surrogate: Surrogate, choices: Choices, *, seed: int, number: int
) -> Callable[[Rows, tuple[Statistic, ...]], Array]:
    """score(rows, linearised) -> (A, R) for a round: one line per objective.

    Scores are those of the items themselves, without their weights: see rounds.weighted. A row's
    scores do not depend on other rows: they can be computed again, in other chunks.
    """
    acquisition = catalog.load("acquisition", choices.acquisition)
    members = (
        surrogate.draw_members(_MEMBERS, make_generator(seed, number, "members"))
        if catalog.fact("acquisition", choices.acquisition, "NEEDS_MEMBERS")
        else None
    )

    def score(rows: Rows, linearised: tuple[Statistic, ...]) -> Array:
        rows = rows.unweighted
        if members is None:
            strips = [rows]
            known = {}
        else:
            outcomes = 15 if rows.outputs.probs is None else rows.outputs.probs.shape[1]
            strip = max(_NUMBERS // (_MEMBERS * outcomes), 1)
            starts = range(0, max(len(rows.index), 1), strip)
            strips = [rows[start : start + strip] for start in starts]
            known = {"members": members}
        scores = [
            [acquisition.score(surrogate.beliefs(strip, (each,), **known)) for strip in strips]
            for each in linearised
        ]
        return np.stack([np.concatenate(parts) for parts in scores])

    return score
