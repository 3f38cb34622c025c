"""Every pass over the rows of a pool goes through here: another engine can be put underneath."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import Any, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")

# NumPy reads the header of an array with the parser of Python, and in Python 3.11 threads that
# parse at once can disturb each other ("AST constructor recursion depth mismatch").
reading_header = threading.RLock()


def map_reduce(
    pieces: Iterable[Piece],
    fn: Callable[[Piece], Result],
    combine: Callable[[Result, Result], Result],
    *,
    workers: int | None = None,
) -> Any:
    """combine(...combine(fn(piece 1), fn(piece 2))..., fn(piece P)), or None without pieces.

    fn is pure and runs in threads (numpy and pyarrow release the interpreter lock); combine runs in
    the calling thread, strictly in the order of the pieces, so sums are the same to the last bit
    however many workers there are (default: one per processor). At most two results per worker
    exist at once. The first exception of fn, in the order of the pieces, is raised, and the pieces
    not begun are dropped.
    """
    workers = workers or processors()
    total: Any = None
    begun = False
    for result in _in_order(iter(pieces), fn, workers):
        total = combine(total, result) if begun else result
        begun = True
    return total


def _in_order(
    pieces: Iterator[Piece], fn: Callable[[Piece], Result], workers: int
) -> Iterator[Result]:
    """The results of fn, in the order of the pieces."""
    first = list(islice(pieces, 2))
    pieces = chain(first, pieces)
    if workers == 1 or len(first) < 2:
        # Threads would only cost time.
        yield from map(fn, pieces)
        return
    with ThreadPoolExecutor(workers) as threads:
        waiting = deque(threads.submit(fn, piece) for piece in islice(pieces, 2 * workers))
        try:
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(threads.submit(fn, piece) for piece in islice(pieces, 1))
        finally:
            for future in waiting:
                future.cancel()


def processors() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
