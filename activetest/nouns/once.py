"""Results that follow from an object alone are computed when somebody first asks for them."""

from collections.abc import Callable, Hashable
from typing import TypeVar

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
