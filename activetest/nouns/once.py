"""Results that follow from an object alone are computed when somebody first asks for them."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

T = TypeVar("T")


class Remembers:
    """An object that keeps what was computed of it; a changed copy of it keeps nothing."""

    def compute_once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Result of compute() the first time it was called for this key."""
        kept = vars(self).setdefault("_computed", {})
        if key not in kept:
            kept[key] = compute()
        found: T = kept[key]
        return found


class Later(Mapping[str, Any]):
    """A mapping that is made, or whose making fails, when somebody first looks into it."""

    def __init__(self, make: Callable[[], Mapping[str, Any]]) -> None:
        """The contents are what make() gives."""
        self._make = make

    @cached_property
    def _contents(self) -> dict[str, Any]:
        return dict(self._make())

    def __getitem__(self, name: str) -> Any:
        return self._contents[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)

    def __reduce__(self) -> tuple[Any, ...]:
        """Elsewhere it is made already."""
        return dict, (self._contents,)
