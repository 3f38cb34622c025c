"""Contents of a report on a surface, without formatting: cells, effects and maps."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from activetest.nouns.quantity import Measured


@dataclass(frozen=True, kw_only=True)
class SurfaceCell(Measured):
    """One combination of attribute values, or all combinations that share the values named.

    quantity     the statistic's mean over its items; the method is "surface", "exact" where every
                 item has a label, and "none" without a number
    attributes   {attribute: value}; attributes that are not named may have any value
    n_pool       items that have a label or can still get one; no whole number where attributes are
                 uncertain
    n_labeled    labels among them
    n_arms       complete combinations that occur in it: 0 where the number is a prediction for
                 items that this pool does not have
    reason       why there is no number
    """

    attributes: Mapping[str, str]
    n_pool: float
    n_labeled: float
    n_arms: int
    reason: str | None = None

    @property
    def occurs(self) -> bool:
        """Whether the pool has such an item."""
        return self.n_arms > 0


@dataclass(frozen=True)
class SurfaceMap:
    """The surface by two attributes: each cell joins all values of the other attributes.

    metric          what is mapped
    first, second   the attributes
    rows, columns   their values
    cells           one tuple per row
    """

    metric: str
    first: str
    second: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[SurfaceCell, ...], ...]


@dataclass(frozen=True, kw_only=True)
class SurfaceReport:
    """A statistic at the combinations of attributes.

    metric          what the surface is of
    higher_better   whether large values are good
    method          how it was fitted: a name in the catalogue
    components      what it is made of: {name: share}; empty where that is one thing
    level           of every interval
    attributes      {name: number of values}
    min_support     items that a combination needs to be ranked
    combinations    how many there are, whether they occur or not
    occurring       how many occur in the pool
    ranked          how many have enough items
    labeled         how many have a label
    worst, best     combinations with enough items, the worst and the best first
    effects         every value of every attribute
    cells           those that were named
    maps            those that were named
    detailed        whether more was requested than the short answer
    """

    metric: str
    higher_better: bool
    method: str
    components: Mapping[str, float] = field(default_factory=dict)
    level: float
    attributes: Mapping[str, int]
    min_support: int
    combinations: int
    occurring: int
    ranked: int
    labeled: int
    worst: tuple[SurfaceCell, ...] = ()
    best: tuple[SurfaceCell, ...] = ()
    effects: tuple[SurfaceCell, ...] = ()
    cells: tuple[SurfaceCell, ...] = ()
    maps: tuple[SurfaceMap, ...] = ()
    detailed: bool = False
