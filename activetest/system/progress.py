"""Progress of a long computation, for whoever watches it.

Computations name their steps, and count what is done of them. Nothing here writes or reads a clock
for them: whoever watches looks at the step of the moment as often as it likes. Without a watch, a
step costs next to nothing.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

# Of fewer parts than this, what goes on inside a part says more.
_FEW = 4
# From how many parts, or which share of them, the time that is left is known well enough.
_ENOUGH, _SHARE = 8, 0.05


class Step:
    """One step of a computation.

    title  what is done, as "scoring the pool"
    total  parts in all; None where nobody knows
    unit   what parts are called, where their number means something to users
    done   parts that are done, those of an earlier computation included
    size   bytes that all parts have, about evenly; 0 where they say nothing to users
    begun  when it began, in seconds of time.monotonic
    """

    def __init__(self, title: str, total: int | None, unit: str, done: int, size: int = 0) -> None:
        self.size = size
        self.title, self.total, self.unit, self.done = title, total, unit, done
        self.begun = time.monotonic()
        self._before = done

    def advance(self, amount: int = 1) -> None:
        """So many more parts are done; for the thread that began the step, or by turns."""
        self.done += amount

    def find_time_left(self, now: float) -> float | None:
        """Seconds that are left at the speed so far; None where that says too little.

        now  seconds of time.monotonic
        """
        if not self.total:
            return None
        here = self.done - self._before
        if here < min(_ENOUGH, _SHARE * self.total) or here <= 0:
            return None
        return (now - self.begun) / here * max(self.total - self.done, 0)


class Watch:
    """Sees the steps that the thread which created it is in."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._steps: tuple[Step, ...] = ()

    @property
    def step(self) -> Step | None:
        """The present step: the outermost step with enough parts, else the innermost."""
        steps = self._steps
        counted = (each for each in steps if each.total is not None and each.total >= _FEW)
        return next(counted, steps[-1] if steps else None)

    @property
    def is_here(self) -> bool:
        """Whether this is the thread that is watched."""
        return threading.get_ident() == self._thread

    @contextmanager
    def entering(self, step: Step) -> Iterator[None]:
        """The step lasts as long as the block."""
        before = self._steps
        self._steps = (*before, step)
        try:
            yield
        finally:
            self._steps = before


_watch: ContextVar[Watch | None] = ContextVar("_watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """The watch sees the steps of the block."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


@contextmanager
def step(
    title: str, total: int | None = None, *, unit: str = "", done: int = 0, size: int = 0
) -> Iterator[Step]:
    """A step that lasts as long as the block, which counts its parts; see Step.

    Of steps inside each other, the outermost that counts is shown.
    """
    begun, watch = Step(title, total, unit, done, size), _watch.get()
    if watch is None or not watch.is_here:
        yield begun
        return
    with watch.entering(begun):
        yield begun


def go_through(title: str, parts: Sequence[T]) -> Iterator[T]:
    """The parts, one after another, as a step that counts those that are done; see step."""
    with step(title, len(parts)) as counting:
        for part in parts:
            yield part
            counting.advance()
