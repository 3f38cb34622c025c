"""Engines that run passes in other processes, on this machine or on others: see parallel.

    threads            threads of this process, as without any engine
    processes          processes of this machine, one for each processor
    ray                the Ray cluster that runs on this machine, or one that lasts as long as this
    host:6379          the Ray cluster of this head, of which this machine is a part
    ray://host:10001   the Ray cluster behind this server, from outside

A function travels with all that it refers to (cloudpickle), once for each pass; pools and caches
travel as the places where they are, and workers open them once. The result of a piece is known by
the place of the piece in the order, so that a piece that was done twice counts once.
"""

import atexit
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any

from activetest.errors import ChoiceError
from activetest.system.parallel import ENGINE, Threads, running_on

NAMES = ("threads", "processes", "ray")

_sharing = Lock()
# {address: engine} of those that the environment names; a fork has no workers of its parent.
_shared: dict[str, Any] = {}
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.clear)


def make_engine(address: str) -> Any:
    """The engine of this name or address, which has to be closed; nothing is started yet.

    Raises ChoiceError for another one, and where a package is missing.
    """
    if address == "threads":
        return Threads()
    if address == "processes":
        from activetest.system.engines.processes import Processes

        return Processes()
    from activetest.system.engines.ray_tasks import RayTasks, is_ray

    if not is_ray(address):
        raise ChoiceError(
            f"no engine is called {address!r}",
            f"choose from {', '.join(NAMES)}, or give an address: host:6379, ray://host:10001",
        )
    return RayTasks(address)


@contextmanager
def using(address: str | None) -> Iterator[None]:
    """Passes in the block run on the engine of this name or address; None changes nothing.

    Raises ChoiceError as make_engine does.
    """
    with ExitStack() as stack:
        if address is not None:
            engine = make_engine(address)
            stack.callback(engine.close)
            stack.enter_context(running_on(engine))
        yield


def open_shared(address: str) -> Any:
    """The engine that the environment names, which is there until the program ends.

    Raises ChoiceError as make_engine does.
    """
    with _sharing:
        if address not in _shared:
            try:
                engine = make_engine(address)
            except ChoiceError as error:
                problem = f"the environment variable {ENGINE}: {error.problem}"
                raise ChoiceError(problem, error.hint) from error
            _shared[address] = engine
            atexit.register(engine.close)
        return _shared[address]
