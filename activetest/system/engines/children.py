"""Processes that this one starts: what they do not run again, not hear, and not outlive."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import connection, parent_process
from multiprocessing.context import SpawnContext, SpawnProcess
from threading import RLock, current_thread, main_thread
from types import ModuleType
from typing import Any

_hiding = RLock()


class _Worker(SpawnProcess):
    def start(self) -> None:
        with hidden_main(), holding_interrupts():
            super().start()


class Spawning(SpawnContext):
    """Workers are spawned, not forked: a fork inherits locks of threads that it does not have.

    workers  all that were started, whether they still run or not
    """

    def __init__(self) -> None:
        super().__init__()
        self.workers: list[_Worker] = []

    def Process(self, *args: Any, **named: Any) -> _Worker:  # type: ignore[override]  # noqa: N802
        """A worker, which is started later."""
        self.workers.append(_Worker(*args, **named))
        return self.workers[-1]

    def end_workers(self) -> None:
        """End all that still run, whatever they do."""
        while self.workers:
            worker = self.workers.pop()
            if worker.is_alive():
                worker.terminate()


@contextmanager
def hidden_main() -> Iterator[None]:
    """Processes that start meanwhile do not run the user's program again, as spawned ones would.

    Workers need nothing of it, and a script may call us outside of `if __name__ == "__main__"`.
    """
    with _hiding:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


@contextmanager
def holding_interrupts() -> Iterator[None]:
    """Interrupts wait until the block ends; processes that start meanwhile get none, ever.

    The terminal would send one to each, and one that still imports would print a traceback.
    """
    if current_thread() is not main_thread():
        # Here, nobody hears of interrupts.
        yield
        return
    arrived: list[int] = []
    numbers = signal.SIGINT, signal.SIGTERM
    handlers = {number: signal.getsignal(number) for number in numbers}
    for number, handler in handlers.items():
        if callable(handler):
            signal.signal(number, lambda number, frame: arrived.append(number))
    # Processes inherit what is blocked.
    blocks = hasattr(signal, "pthread_sigmask")
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, numbers[:1]) if blocks else ()
    try:
        yield
    finally:
        if blocks:
            signal.pthread_sigmask(signal.SIG_SETMASK, earlier)
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])


def end_with_parent() -> None:
    """Exit when the parent is gone: a killed parent cannot end its workers."""
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
    os._exit(1)
