"""What a simulation does: every strategy that is compared, and where it is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from activetest.acquisition import SIMULATED
from activetest.choices import checked
from activetest.evidence import Choices

DRAW, TOP = "draw", "top"


@dataclass(frozen=True)
class Plan:
    """What every run does.

    strategies            choices to draw with, one study each
    estimators, metrics   what to estimate
    budgets               draws after which to estimate, increasing
    interval              kind of interval, see assess_view
    batch                 items to draw at a time
    seed                  the runs' own seeds are derived from it
    """

    strategies: tuple[Choices, ...]
    estimators: tuple[str, ...]
    metrics: tuple[str, ...]
    budgets: tuple[int, ...]
    interval: str
    batch: int
    seed: int

    def seed_of(self, run: int) -> int:
        """The seed of a run: the same for every strategy, so that they differ by nothing else."""
        return (self.seed * 1_000_003 + run) % 2**63


def strategies(
    common: dict,
    roles: dict,
    *,
    surrogates: Sequence[str],
    acquisitions: Sequence[str],
    selections: Sequence[str],
    powers: Sequence[float],
) -> tuple[Choices, ...]:
    """One choice for every way to draw that these make, each once; common is what all share.

    Equal scores have no top and no power, the order of scores no power, and draws with replacement
    no top. Raises ChoiceError or UnknownMethod for what makes no sense in a pool with these roles.
    """
    found = {}
    for surrogate, acquisition, selection, power in product(
        surrogates, acquisitions, selections, powers
    ):
        if acquisition == "uniform" or with_replacement(acquisition):
            selection = DRAW
        if acquisition == "uniform" or selection == TOP:
            power = 1.0
        entries = common | {"surrogate": surrogate, "acquisition": acquisition}
        entries |= {"selection": selection, "power": power}
        made = checked(entries, roles, where="simulate", simulated=True)
        found[made] = None
    return tuple(found)


def with_replacement(acquisition: str) -> bool:
    """Whether an acquisition draws with replacement, as no study does."""
    return acquisition in SIMULATED
