"""The methods' view of a pool: memory-mapped arrays behind a few calls. Axes as in rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from activetest.nouns.choices import Choices
from activetest.nouns.log import Log, Round
from activetest.nouns.rows import Array, Rows, TrainingRows
from activetest.nouns.surrogate import Surrogate

T = TypeVar("T")


class PoolView(Protocol):
    """N items in pool order; see cache.Cache, which is one.

    size          N
    classes       names of the classes, in code order; empty for regression
    statistics    (T,) names of the item statistics that are held ready
    group_names   names of the group columns and products
    group_values  (G - 1) lists: the value each code stands for, in order
    part_ends     position behind the last item of each part of the population
    part_names    their names; empty where nobody said them
    unavailable   {surrogate: why}: those of past rounds whose auxiliary data is gone or has changed
    """

    size: int
    classes: tuple[str, ...]
    statistics: tuple[str, ...]
    group_names: tuple[str, ...]
    group_values: list[list[str]]
    part_ends: tuple[int, ...]
    part_names: tuple[str, ...]
    unavailable: Mapping[str, str]

    @property
    def whole(self) -> "PoolView":
        """The whole population, of which surrogates are: itself unless it is a part."""
        ...

    @property
    def hashes(self) -> Array:
        """(N,) uint64 hash of each id."""
        ...

    @property
    def vote_rounds(self) -> tuple[int, ...]:
        """(V,) how many rounds were drawn before each further model of the study had a vote."""
        ...

    @property
    def roles(self) -> dict[str, Any]:
        """Meaning of the pool's columns: see pool.schema.Schema."""
        ...

    @property
    def identity(self) -> Any:
        """Marks of the outputs of its items and of the data of surrogates, JSON-ready."""
        ...

    @property
    def train(self) -> TrainingRows | None:
        """Labelled rows from elsewhere, or None."""
        ...

    @property
    def center(self) -> float:
        """A typical prediction; 0 where classes are predicted."""
        ...

    def rows(self, start: int, stop: int) -> Rows:
        """The items at positions start, ..., stop - 1."""
        ...

    def take(self, indices: Array | Sequence[int]) -> Rows:
        """The items at these positions, in this order."""
        ...

    def ids(self, indices: Array | Sequence[int]) -> list[str]:
        """The ids of the items at these positions."""
        ...

    def chunks(self, size: int | None = None) -> list[tuple[int, int]]:
        """(start, stop) of consecutive chunks that cover the pool."""
        ...

    def uncertain_attributes(self) -> tuple[Array, Array]:
        """(N, V + ...) probabilities of uncertain attributes, and (N, U) known codes, else -1."""
        ...

    def scores(self, code: int | None = None) -> Array:
        """(N,) confidence in the predicted class, or probability of the class with this code."""
        ...

    def compute_once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Result of compute() the first time it was called for this key."""
        ...

    def compute_stored(
        self, name: str, origin: Any, compute: Callable[[], Mapping[str, Array]]
    ) -> Mapping[str, Array]:
        """Result of compute() for this origin: that of the last time, if it was for the same.

        name    of the result
        origin  what it follows from, JSON-ready
        """
        ...


class PoolOver:
    """Views over another pool: they have all of it but rows, which each makes in its own way."""

    def __init__(self, pool: PoolView) -> None:
        """The pool that is looked at."""
        self._pool = pool
        self._computed: dict[Hashable, Any] = {}
        self.size, self.statistics, self.classes = pool.size, pool.statistics, pool.classes
        self.group_names, self.group_values = pool.group_names, pool.group_values
        self.part_ends, self.part_names = pool.part_ends, pool.part_names
        self.unavailable = pool.unavailable

    @property
    def whole(self) -> PoolView:
        """Itself."""
        return cast("PoolView", self)

    @property
    def hashes(self) -> Array:
        """As the pool's."""
        return self._pool.hashes

    @property
    def vote_rounds(self) -> tuple[int, ...]:
        """As the pool's."""
        return self._pool.vote_rounds

    @property
    def roles(self) -> dict[str, Any]:
        """As the pool's."""
        return self._pool.roles

    @property
    def identity(self) -> Any:
        """As the pool's."""
        return self._pool.identity

    @property
    def train(self) -> Any:
        """As the pool's."""
        return self._pool.train

    @property
    def center(self) -> float:
        """As the pool's."""
        return self._pool.center

    def ids(self, indices: Array | Sequence[int]) -> list[str]:
        """As the pool's."""
        return self._pool.ids(indices)

    def chunks(self, size: int | None = None) -> list[tuple[int, int]]:
        """As the pool's."""
        return self._pool.chunks(size)

    def uncertain_attributes(self) -> tuple[Array, Array]:
        """As the pool's."""
        return self._pool.uncertain_attributes()

    def scores(self, code: int | None = None) -> Array:
        """As the pool's."""
        return self._pool.scores(code)

    def compute_once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Result of compute() the first time: apart from what the pool computed."""
        if key not in self._computed:
            self._computed[key] = compute()
        return cast("T", self._computed[key])

    def compute_stored(
        self, name: str, origin: Any, compute: Callable[[], Mapping[str, Array]]
    ) -> Mapping[str, Array]:
        """Result of compute() the first time; nothing is stored."""
        return self.compute_once((name, str(origin)), compute)


class SeveralModels(ABC):
    """A pool whose items were given to several models: it has surrogates for all of them.

    models   their names; the first is the one of the pool's own outputs
    """

    models: tuple[str, ...]

    @abstractmethod
    def restore_surrogate(self, round: Round) -> Surrogate:
        """The surrogate of a round, and those that other models would have had then."""

    @abstractmethod
    def list_classes(self, model: str) -> tuple[str, ...]:
        """Names of the classes of a model, in the order of its codes."""

    @abstractmethod
    def fit_surrogate(self, log: Log, choices: Choices, *, rng: np.random.Generator) -> Surrogate:
        """The chosen surrogates, fitted to every label that is known."""

    @abstractmethod
    def fit_others(self, round: Round, sets: Sequence[tuple[Array, Array]]) -> Sequence[Surrogate]:
        """Surrogates like those of a round, fitted to other positions and labels."""
