"""Tasks distributed over processes, each on its own processor."""

import os
import signal
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import active_children, get_context
from queue import SimpleQueue
from threading import Thread
from typing import Any

from activetest.errors import ActivetestError
from activetest.system.engines.children import end_with_parent, hidden_main, holding_interrupts
from activetest.system.parallel import find_chosen_engine, one_blas_thread


def run_tasks(
    prepare: Callable[..., Any],
    inputs: tuple[Any, ...],
    play: Callable[[Any, Any], Any],
    tasks: Iterable[Any],
    workers: int,
) -> Generator[tuple[Any, Any], None, None]:
    """(task, play(prepare(*inputs), task)) for every task, in the order of completion.

    prepare runs once per worker. A single worker is this process itself; several are separate
    processes, for which prepare and play must be functions of a module. The first exception of a
    task is raised, and tasks that have not started are dropped. An interrupt ends the workers at
    once, and so does closing the generator. Raises ActivetestError when a worker dies.

    On a cluster that is chosen as the engine, its workers do the tasks, in their order.
    """
    engine = find_chosen_engine()
    if engine is not None and engine.is_cluster:
        tasks = list(tasks)
        found = engine.run(_Prepared(prepare, inputs, play), tasks, len(tasks))
        yield from zip(tasks, found, strict=True)
        return
    if workers == 1:
        prepared = prepare(*inputs)
        yield from ((task, play(prepared, task)) for task in tasks)
        return
    # Spawned, not forked: a fork inherits locks of threads that it does not have.
    context = get_context("spawn")
    numbers = context.SimpleQueue()
    for number in range(workers):
        numbers.put(number)
    pool = ProcessPoolExecutor(workers, context, _start_worker, (prepare, inputs, play, numbers))
    others = active_children()
    try:
        # as_completed would hold locks of futures that are still to come, and an interrupt that
        # arrives in between would keep them for ever.
        finished: SimpleQueue[Future[Any]] = SimpleQueue()
        with hidden_main(), holding_interrupts():
            pending = {pool.submit(_run_task, task): task for task in tasks}
            for future in pending:
                future.add_done_callback(finished.put)
        while pending:
            future = finished.get()
            yield pending.pop(future), future.result()
    except BrokenProcessPool as error:
        raise ActivetestError(
            "a worker died, perhaps for want of memory",
            "take fewer of them: `workers=1`; with `save=path` nothing is lost",
        ) from error
    except (KeyboardInterrupt, GeneratorExit):
        for process in active_children():
            if process not in others:
                process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class _Prepared:
    """Plays tasks, with what was prepared before the first of them."""

    prepare: Callable[..., Any]
    inputs: tuple[Any, ...]
    play: Callable[[Any, Any], Any]

    @cached_property
    def prepared(self) -> Any:
        return self.prepare(*self.inputs)

    def __call__(self, task: Any) -> Any:
        return self.play(self.prepared, task)


_context: tuple[Any, ...] = ()


def _start_worker(
    prepare: Callable[..., Any],
    inputs: tuple[Any, ...],
    play: Callable[[Any, Any], Any],
    numbers: Any,
) -> None:
    """Bind a worker to one processor, and so to one thread; it ends with its parent."""
    global _context  # noqa: PLW0603, one for each worker process
    if hasattr(os, "sched_setaffinity"):
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {processors[numbers.get() % len(processors)]})
    # The parent receives an interrupt too, and ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=end_with_parent, daemon=True).start()
    _context = prepare(*inputs), play


def _run_task(task: Any) -> Any:
    prepared, play = _context
    with one_blas_thread():
        return play(prepared, task)
