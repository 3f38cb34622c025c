"""Passes in processes of this machine, where threads would wait for the interpreter's lock."""

import mmap
import os
import pickle
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from threading import RLock, Thread
from typing import Any

from activetest.errors import ActivetestError
from activetest.system.engines.children import Spawning, end_with_parent
from activetest.system.engines.parcels import Outcome, Parcel, collect, do_piece, pack
from activetest.system.parallel import BLAS_THREADS, ENGINE, processors

# How often workers may die during one pass.
_DEATHS = 3
# Where arrays begin in a file: at multiples of so many bytes.
_ALIGNED = 64


class Processes:
    """Processes that start with the first pass and live until the engine is closed.

    workers  how many; None for one per processor
    """

    is_cluster = False

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or processors()
        self._lock = RLock()
        self._pool: ProcessPoolExecutor | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._context = Spawning()
        self._numbers = count()

    def run(
        self, fn: Callable[[Any], Any], pieces: Iterable[Any], total: int | None = None
    ) -> Iterator[Any]:
        """See Engine.run.

        A worker that dies is replaced, and its pieces are done again. Raises ActivetestError when
        that happens again and again.
        """
        with self._lock:
            self._folder = self._folder or _make_folder()
            path = Path(self._folder.name) / str(next(self._numbers))
        _write_parcel(path, pack(fn))
        try:
            yield from collect(_Sent(self, path), fn, pieces)
        finally:
            # Windows removes no file that a worker still maps.
            with suppress(OSError):
                path.unlink()

    def close(self) -> None:
        """End the workers, whatever they do."""
        with self._lock:
            pool, self._pool = self._pool, None
            self._context.end_workers()
            if pool is not None:
                pool.shutdown(cancel_futures=True)
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def submit(self, path: Path, piece: Any) -> tuple[ProcessPoolExecutor, Future[Outcome]]:
        """Let a worker do a piece of the function in a file: the workers, and what it will find."""
        with self._lock:
            while True:
                self._pool = self._pool or self._start()
                try:
                    return self._pool, self._pool.submit(_do_piece, path, piece)
                except BrokenProcessPool:
                    self.replace(self._pool)

    def replace(self, pool: ProcessPoolExecutor) -> None:
        """Let others take the place of workers of whom one has died; all their futures are done."""
        with self._lock:
            pool.shutdown()
            if self._pool is pool:
                self._pool = None

    def _start(self) -> ProcessPoolExecutor:
        self._context = Spawning()
        return ProcessPoolExecutor(self.workers, self._context, _start_worker)


def _make_folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="activetest-", ignore_cleanup_errors=True)


@dataclass
class _Ticket:
    """A piece that is being done, by which workers, and its outcome to come."""

    piece: Any
    pool: ProcessPoolExecutor
    future: Future[Outcome]


class _Sent:
    """A function in a file that workers read; see parcels.Begun."""

    def __init__(self, engine: Processes, path: Path) -> None:
        self.workers = engine.workers
        self._engine, self._path = engine, path
        self._begun: list[_Ticket] = []
        self._deaths = 0

    def begin(self, piece: Any) -> _Ticket:
        """Let a worker do the piece."""
        self._begun.append(_Ticket(piece, *self._engine.submit(self._path, piece)))
        return self._begun[-1]

    def wait(self, ticket: _Ticket) -> Outcome:
        """The outcome. Every piece that a dead worker left undone is begun again."""
        while True:
            try:
                found = ticket.future.result()
            except BrokenProcessPool:
                self._begin_again(ticket.pool)
                continue
            self._deaths = 0
            self._begun.remove(ticket)
            return found

    def drop(self, ticket: _Ticket) -> None:
        """Let it be done for nobody.

        Python 3.11 prints a traceback where a worker ends that has futures which were cancelled.
        """

    def _begin_again(self, pool: ProcessPoolExecutor) -> None:
        self._deaths += 1
        if self._deaths > _DEATHS:
            raise ActivetestError(
                f"workers died {self._deaths} times at the same piece, perhaps for want of memory",
                f"{ENGINE}=threads in the environment needs less of it",
            )
        self._engine.replace(pool)
        for each in self._begun:
            if isinstance(each.future.exception(), BrokenProcessPool):
                each.pool, each.future = self._engine.submit(self._path, each.piece)


def _start_worker() -> None:
    """At a worker: one thread for linear algebra; it ends with its parent."""
    # Before numpy is imported.
    os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))
    # The parent receives an interrupt too, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=end_with_parent, daemon=True).start()


def _do_piece(path: Path, piece: Any) -> Outcome:
    return do_piece(str(path), partial(_read_parcel, path), piece)


def _write_parcel(path: Path, parcel: Parcel) -> None:
    """A file of the sizes of all parts, and the parts."""
    parts = [memoryview(parcel.head), *parcel.arrays]
    with open(path, "wb") as file:
        pickle.dump([part.nbytes for part in parts], file)
        for part in parts:
            file.seek(-file.tell() % _ALIGNED, os.SEEK_CUR)
            file.write(part)


def _read_parcel(path: Path) -> Parcel:
    """The parcel of a file, whose arrays are mapped: workers share their memory."""
    parts = []
    with open(path, "rb") as file:
        content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        sizes, at = pickle.load(file), file.tell()
    for size in sizes:
        at += -at % _ALIGNED
        parts.append(content[at : at + size])
        at += size
    return Parcel(bytes(parts[0]), parts[1:])
