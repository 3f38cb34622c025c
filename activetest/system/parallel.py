"""Every pass over the rows of a pool goes through here: another engine can be put underneath.

Results are the same to the last bit however many threads there are.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import Any, TypeVar

from activetest.system import progress

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
    title: str = "going through the pool",
    total: int | None = None,
) -> Any:
    """combine(...combine(fn(piece 1), fn(piece 2))..., fn(piece P)), or None without pieces.

    fn is pure and runs in threads (numpy and pyarrow release the interpreter lock); combine runs in
    the calling thread, strictly in the order of the pieces, so sums are the same to the last bit
    however many workers there are (default: one per processor). At most two results per worker
    exist at once. The first exception of fn, in the order of the pieces, is raised, and the pieces
    not begun are dropped.

    title    what this is called while it is watched
    total    the number of pieces; default: their length, where they have one
    """
    if total is None and isinstance(pieces, Sized):
        total = len(pieces)
    found: Any = None
    begun = False
    with progress.step(title, total) as step:
        for result in _in_order(iter(pieces), fn, workers):
            found = combine(found, result) if begun else result
            begun = True
            step.advance()
    return found


def _in_order(
    pieces: Iterator[Piece], fn: Callable[[Piece], Result], workers: int | None
) -> Iterator[Result]:
    """The results of fn, in the order of the pieces."""
    first = list(islice(pieces, 2))
    pieces = chain(first, pieces)
    # For one piece even to count the processors would only cost time, like threads.
    workers = 1 if len(first) < 2 else workers or processors()
    if workers == 1:
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


@dataclass(frozen=True)
class BlockSum:
    """A sum of floating-point numbers over blocks of rows, whoever added which of them first.

    Neighbours are added in pairs, pairs in pairs, and so on, by the numbers of the blocks alone.

    nodes  (level, number, sum of the blocks number * 2^level, ... (number + 1) * 2^level - 1)
    """

    nodes: tuple[tuple[int, int, Any], ...]

    @staticmethod
    def of(block: int, value: Any) -> "BlockSum":
        """The value of one block; values know addition."""
        return BlockSum(((0, block, value),))

    def __add__(self, later: "BlockSum") -> "BlockSum":
        """The sum of these blocks and those that follow them."""
        nodes = list(self.nodes)
        for node in later.nodes:
            nodes.append(node)
            while len(nodes) > 1 and _are_pair(nodes[-2], nodes[-1]):
                level, number, value = nodes.pop()
                nodes[-1] = (level + 1, number // 2, nodes[-1][2] + value)
        return BlockSum(tuple(nodes))

    @property
    def total(self) -> Any:
        """The sum over all blocks."""
        return reduce(add, (value for _, _, value in self.nodes))


def _are_pair(left: tuple[int, int, Any], right: tuple[int, int, Any]) -> bool:
    """Whether two nodes are the halves of one node of the next level."""
    return bool(right[1] % 2) and left[:2] == (right[0], right[1] - 1)


# Variables that libraries of linear algebra read when they are loaded.
BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_limiting = threading.Lock()
# {file of a library: (its controls, the threads it had)}, and how many blocks limit them.
_limited: dict[str, tuple[Any, int]] = {}
_limits = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra uses one thread in the block: what it sums depends on their number.

    It holds for the whole process, and for libraries that are loaded by now: a block inside such
    a block takes care of those loaded since. Where the environment allows one thread from the
    start, as on the command line, there is nothing to do.
    """
    if all(os.environ.get(name) == "1" for name in BLAS_THREADS):
        yield
        return
    from threadpoolctl import ThreadpoolController

    global _limits  # noqa: PLW0603, one for each process, as the threads are
    with _limiting:
        _limits += 1
        for library in ThreadpoolController().select(user_api="blas").lib_controllers:
            if library.filepath not in _limited and library.num_threads != 1:
                _limited[library.filepath] = library, library.num_threads
                library.set_num_threads(1)
    try:
        yield
    finally:
        with _limiting:
            _limits -= 1
            while not _limits and _limited:
                library, threads = _limited.popitem()[1]
                library.set_num_threads(threads)


@contextmanager
def one_torch_thread(torch: Any) -> Iterator[None]:
    """The module torch uses one thread in the block: what it sums depends on their number."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def processors() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
