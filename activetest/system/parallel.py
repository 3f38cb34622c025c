"""Every pass over the rows of a pool goes through here: an engine underneath does the pieces.

Results are the same to the last bit whatever the engine and however many workers it has. Engines
but for threads are in `engines`, which is loaded where one of them is chosen.
"""

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from operator import add
from typing import Any, Protocol, TypeVar

from activetest.system import progress

Piece = TypeVar("Piece")
Result = TypeVar("Result")

# NumPy reads the header of an array with the parser of Python, and in Python 3.11 threads that
# parse at once can disturb each other ("AST constructor recursion depth mismatch").
reading_header = threading.RLock()


# Variable of the environment that names the engine where nothing else does.
ENGINE = "ACTIVETEST_ENGINE"


class Engine(Protocol):
    """Something that does the pieces of a pass, with a number of workers.

    is_cluster  whether they may be on other machines
    """

    is_cluster: bool

    def run(
        self, fn: Callable[[Piece], Result], pieces: Iterable[Piece], total: int | None
    ) -> Iterator[Result]:
        """The results of fn, in the order of the pieces; at most two per worker exist at once.

        total  the number of pieces, where that is known
        """
        ...

    def close(self) -> None:
        """End its workers; a pass that is begun later starts new ones."""
        ...


def map_reduce(
    pieces: Iterable[Piece],
    fn: Callable[[Piece], Result],
    combine: Callable[[Result, Result], Result],
    *,
    workers: int | None = None,
    title: str = "going through the pool",
    total: int | None = None,
    here: bool = False,
) -> Any:
    """combine(...combine(fn(piece 1), fn(piece 2))..., fn(piece P)), or None without pieces.

    fn is pure and runs where the engine says: in threads (numpy and pyarrow release the interpreter
    lock), or with all that it refers to in other processes. combine runs in the calling thread,
    strictly in the order of the pieces, so sums are the same to the last bit wherever and however
    often fn was called. At most two results per worker exist at once. The first exception of fn, in
    the order of the pieces, is raised, and the pieces not begun are dropped.

    workers  threads of this process; default: the engine chooses (threads: one per processor)
    title    what this is called while it is watched
    total    the number of pieces; default: their length, where they have one
    here     fn changes what this process alone has, such as a file it writes, or the pieces are
             made here: other processes are of no use
    """
    if total is None and isinstance(pieces, Sized):
        total = len(pieces)
    first = list(islice(rest := iter(pieces), 2))
    found: Any = None
    begun = False
    with progress.step(title, total) as step:
        # For one piece even to count the processors would only cost time, like threads.
        engine = Threads(1) if len(first) < 2 else _find_engine(workers, here)
        for result in engine.run(fn, chain(first, rest), total):
            found = combine(found, result) if begun else result
            begun = True
            step.advance()
    return found


_chosen: ContextVar[Engine | None] = ContextVar("_chosen", default=None)


@contextmanager
def running_on(engine: Engine) -> Iterator[None]:
    """Passes that are begun in the block, by its thread, run on the engine."""
    token = _chosen.set(engine)
    try:
        yield
    finally:
        _chosen.reset(token)


def find_chosen_engine() -> Engine | None:
    """The engine of this block, or of the environment; None where neither names one."""
    if (engine := _chosen.get()) is None and (address := os.environ.get(ENGINE)):
        from activetest.system import engines

        return engines.open_shared(address)
    return engine


def _find_engine(workers: int | None, here: bool) -> Engine:
    if workers or here:
        return Threads(workers)
    return find_chosen_engine() or Local()


# A piece that takes so many seconds of a processor keeps the lock of the interpreter from other
# threads, and processes are worth their start where so many seconds are left for each of two. To
# see that costs a pass of few pieces too much.
_LONG_PIECE, _LONG_PASS, _SEVERAL = 0.05, 2.0, 6


class Local:
    """The engine that is there by default: threads, and processes for what is long to compute.

    How long a pass takes is seen from its first two pieces, which the calling thread does.
    """

    is_cluster = False

    def run(
        self, fn: Callable[[Piece], Result], pieces: Iterable[Piece], total: int | None
    ) -> Iterator[Result]:
        """See Engine.run."""
        workers, a_piece = processors(), math.inf
        if workers == 1 or (total or 0) < _SEVERAL:
            yield from Threads(workers).run(fn, pieces)
            return
        pieces = iter(pieces)
        # The first may compute what the others have from it: the shorter of two is as they are.
        for piece in islice(pieces, 2):
            began = time.thread_time()
            result = fn(piece)
            a_piece = min(a_piece, time.thread_time() - began)
            yield result
        left = a_piece * ((total or 2) - 2)
        several = min(workers, int(left / _LONG_PASS))
        if a_piece < _LONG_PIECE or several < 2 or not may_start_processes():
            yield from Threads(workers).run(fn, pieces)
            return
        from activetest.system.engines.processes import Processes

        with closing(Processes(several)) as engine:
            yield from engine.run(fn, pieces)

    def close(self) -> None:
        """Threads and processes end with each pass."""


def may_start_processes() -> bool:
    """Whether this process may have children: those that Python calls daemons have none."""
    from multiprocessing import current_process

    return not current_process().daemon


class Threads:
    """Threads of this process.

    workers  how many; None for one per processor
    """

    is_cluster = False

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers

    def run(
        self, fn: Callable[[Piece], Result], pieces: Iterable[Piece], total: int | None = None
    ) -> Iterator[Result]:
        """See Engine.run."""
        workers, pieces = self._workers or processors(), iter(pieces)
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

    def close(self) -> None:
        """Threads end with each pass."""


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
