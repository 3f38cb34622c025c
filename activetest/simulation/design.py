"""What a simulation does: every strategy that is compared, and where it is looked at."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product

from activetest import catalog
from activetest.bandits.bandit import COMPARE, IDENTIFY
from activetest.errors import ChoiceError
from activetest.nouns.choices import Choices
from activetest.sampling.choices import checked
from activetest.sampling.question import NONE, option, usual_floor

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


@dataclass(frozen=True)
class Asked:
    """What is asked of the pool's groups: see Choices. compare is the text A,B."""

    task: str
    worst: int = Choices.worst
    compare: str | None = None
    prior: str = Choices.prior
    strength: float | None = None
    rope: float = Choices.rope

    def choices(self) -> dict:
        """As choices; which of several commas parts two values is seen later."""
        apart = () if self.compare is None else self.compare.rpartition(",")[::2]
        return asdict(self) | {"compare": apart}


def asking(task: str | None, wishes: dict, *, grouped: bool = False) -> Asked | None:
    """What is asked of groups, with these fields; None without a task.

    Raises ChoiceError for wishes about no task, and for groups without one.
    """
    if task in (None, NONE):
        idle = [*wishes, *(["group"] if grouped else [])]
        if idle:
            first = min(idle)
            task = COMPARE if first in ("compare", "rope") else IDENTIFY
            raise ChoiceError(f"{option(first)} has no effect without a task", f"--task {task}")
        return None
    return Asked(task, **wishes)


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

    Equal scores and choices between groups have no top and no power, the order of scores no power,
    and draws with replacement no top. Without a floor every acquisition has its usual one. Raises
    ChoiceError or UnknownMethod for what makes no sense in a pool with these roles.
    """
    found = {}
    for surrogate, acquisition, selection, power in product(
        surrogates, acquisitions, selections, powers
    ):
        alike = acquisition == "uniform" or catalog.fact(
            "acquisition", acquisition, "CHOOSES_GROUPS"
        )
        if alike or with_replacement(acquisition):
            selection = DRAW
        if alike or selection == TOP:
            power = 1.0
        entries = {"floor": usual_floor(acquisition)} | common
        entries |= {"surrogate": surrogate, "acquisition": acquisition}
        entries |= {"selection": selection, "power": power}
        made = checked(entries, roles, where="simulate", simulated=True)
        found[made] = None
    return tuple(found)


def with_replacement(acquisition: str) -> bool:
    """Whether an acquisition draws with replacement, as no study does."""
    return bool(catalog.fact("acquisition", acquisition, "SIMULATION_ONLY"))
