"""Tasks spread over processes, each with a processor of its own."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, get_context, parent_process
from threading import Thread

from activetest.errors import ActivetestError


def finished(
    prepare: Callable, scene: tuple, play: Callable, tasks: Iterable, workers: int
) -> Iterator[tuple]:
    """(task, play(prepare(*scene), task)) for every task, in the order in which they are done.

    prepare runs once per worker. One worker is this process itself, and several are processes of
    their own: prepare and play are then functions of a module. The first exception of a task is
    raised, and tasks not begun are dropped. Raises ActivetestError when a worker dies.
    """
    if workers == 1:
        made = prepare(*scene)
        yield from ((task, play(made, task)) for task in tasks)
        return
    # Spawned, not forked: a fork would inherit locks of threads that are not there.
    context = get_context("spawn")
    places = context.SimpleQueue()
    for place in range(workers):
        places.put(place)
    pool = ProcessPoolExecutor(workers, context, _begin, (prepare, scene, play, places))
    try:
        waiting = {pool.submit(_play, task): task for task in tasks}
        for future in as_completed(tuple(waiting)):
            yield waiting.pop(future), future.result()
    except BrokenProcessPool as error:
        raise ActivetestError(
            "a worker died, perhaps for want of memory",
            "take fewer of them: --workers 1; with --save FILE nothing is lost",
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


_scene: tuple = ()


def _begin(prepare: Callable, scene: tuple, play: Callable, places) -> None:
    """A worker keeps to one processor, and so to one thread, and ends when its parent does."""
    global _scene
    if hasattr(os, "sched_setaffinity"):
        mine = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {mine[places.get() % len(mine)]})
    # The parent hears an interrupt too, and says what is to be said.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    Thread(target=_end_with_parent, daemon=True).start()
    _scene = prepare(*scene), play


def _end_with_parent() -> None:
    """A parent that was killed cannot say that there are no more tasks."""
    connection.wait([parent_process().sentinel])
    os._exit(1)


def _play(task):
    made, play = _scene
    return play(made, task)
