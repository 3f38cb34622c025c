"""Passes as tasks of Ray (Moritz et al. 2018): its core, not Ray Data, which gathers memory.

Ray does the piece of a dead worker or machine again. Workers have this package, and see caches and
pools under the same paths.
"""

import importlib.util
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from threading import Event, RLock, Thread
from typing import Any

from activetest.errors import ActivetestError, ChoiceError
from activetest.system.engines.parcels import Outcome, Parcel, collect, do_piece, pack
from activetest.system.parallel import BLAS_THREADS, ENGINE
from activetest.system.safe_text import first_line

# Seconds that a cluster may take to answer, and its host to accept a connection.
_TIMEOUT, _CONNECTING = 60.0, 10.0
# How often a piece is begun again whose worker or machine has died.
_RETRIES = 3
_ADDRESS = re.compile(r"(ray://)?([\w.-]+|\[[\da-fA-F:]+\]):(\d{1,5})")


def is_ray(address: str) -> bool:
    """Whether this names Ray, or is the address of a cluster: host:6379, ray://host:10001."""
    return address == "ray" or _ADDRESS.fullmatch(address) is not None


def _is_installed() -> bool:
    return importlib.util.find_spec("ray") is not None


class RayTasks:
    """A cluster that is joined, or started on this machine, with the first pass.

    address  as of is_ray
    """

    is_cluster = True

    def __init__(self, address: str) -> None:
        """Raises ChoiceError where Ray is not installed."""
        if not _is_installed():
            raise ChoiceError(
                f"the engine {address} needs Ray, which is not installed",
                "pip install 'activetest[ray]'",
            )
        self._address = address
        self._lock = RLock()
        self._ray: Any = None
        # Set when the cluster that was joined here is left.
        self._leaving: Event | None = None
        self._folder: TemporaryDirectory[str] | None = None

    def run(
        self, fn: Callable[[Any], Any], pieces: Iterable[Any], total: int | None = None
    ) -> Iterator[Any]:
        """See Engine.run. Raises ActivetestError where the cluster does not answer, or is lost."""
        with self._lock:
            self._ray = self._ray or self._join()
        yield from collect(_Sent(self._ray, pack(fn)), fn, pieces)

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        with self._lock:
            if self._leaving is not None:
                self._ray.shutdown()
                self._leaving.set()
            self._ray = self._leaving = None
            if self._folder is not None:
                self._folder.cleanup()
                self._folder = None

    def _join(self) -> Any:
        """The module ray, with a cluster behind it."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        address = _find_running() if self._address == "ray" else self._address
        if address is not None:
            _reach(address)
        import ray

        if ray.is_initialized() and self._address == "ray":
            return ray
        # It prints of every worker that dies, on the standard output, where only results may stand.
        ray._private.worker._worker_logs_enabled = False
        self._leaving = _start_thread(self._address, lambda: self._start(ray.init, address))
        return ray

    def _start(self, init: Callable[..., Any], address: str | None) -> None:
        """Join the cluster at an address; without one, start one on this machine."""
        threads = dict.fromkeys(BLAS_THREADS, "1")
        settings: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
        settings["runtime_env"] = {"env_vars": {**threads, ENGINE: "threads"}}
        if address is None:
            # Sockets in it have short paths at most.
            folder = "/tmp" if os.name == "posix" else None
            self._folder = TemporaryDirectory("", "ray-", folder, ignore_cleanup_errors=True)
            settings |= {"include_dashboard": False, "_temp_dir": self._folder.name}
        init(address or "local", **settings)


class _Sent:
    """A function in the store of the cluster; see parcels.Begun."""

    def __init__(self, ray: Any, parcel: Parcel) -> None:
        self.workers = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self._ray = ray
        import numpy as np

        arrays = [np.frombuffer(each, np.uint8) for each in parcel.arrays]
        self._parcel = ray.put((parcel.head, arrays))
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_do_piece)
        self._do = lambda piece: task.remote([self._parcel], self._parcel.hex(), piece)

    def begin(self, piece: Any) -> Any:
        """Let a worker do the piece."""
        return self._do(piece)

    def wait(self, ticket: Any) -> Outcome:
        """The outcome of the last try."""
        try:
            found: Outcome = self._ray.get(ticket)
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise ActivetestError(
                f"Ray could not do a piece of a pass: {first_line(error)}",
                "see whether its machines run and have memory, then repeat the command",
            ) from error
        return found

    def drop(self, ticket: Any) -> None:
        """Do not begin the piece, if it is not begun yet."""
        self._ray.cancel(ticket)


def _do_piece(parcel: list[Any], key: str, piece: Any) -> Outcome:
    def fetch() -> Parcel:
        import ray

        return Parcel(*ray.get(parcel[0]))

    return do_piece(key, fetch, piece)


def _find_running() -> str | None:
    """The address of the cluster that the environment names, or that runs on this machine."""
    if address := os.environ.get("RAY_ADDRESS"):
        return address
    folder = os.environ.get("RAY_TMPDIR") or ("/tmp" if os.name == "posix" else gettempdir())
    with suppress(OSError, ActivetestError):
        # It stays behind where a cluster was killed.
        address = Path(folder, "ray", "ray_current_cluster").read_text().strip()
        _reach(address)
        return address
    return None


def _reach(address: str) -> None:
    """Raises ActivetestError where nothing listens: Ray itself would try for minutes."""
    if (match := _ADDRESS.fullmatch(address)) is None:
        raise _describe_silence(address, "it is no address of a cluster")
    try:
        place = match[2].strip("[]"), int(match[3])
        socket.create_connection(place, _CONNECTING).close()
    except (OSError, OverflowError) as error:
        reason = f"no answer within {_CONNECTING:g} s" if isinstance(error, TimeoutError) else None
        reason = reason or getattr(error, "strerror", None) or str(error)
        raise _describe_silence(address, reason) from error


def _start_thread(address: str, join: Callable[[], Any]) -> Event:
    """Call join() in a thread that stays until the event is set: what it started ends with it.

    Raises ActivetestError where that takes too long, or Ray refuses.
    """
    errors: list[BaseException] = []
    joined, leaving = Event(), Event()

    def run() -> None:
        try:
            join()
        except BaseException as error:
            errors.append(error)
        joined.set()
        leaving.wait()

    Thread(target=run, daemon=True, name="joining Ray").start()
    if not joined.wait(_TIMEOUT):
        raise _describe_silence(address, f"no answer of Ray within {_TIMEOUT:g} s")
    if errors:
        leaving.set()
        raise _describe_silence(address, first_line(errors[0])) from errors[0]
    return leaving


def _describe_silence(address: str, reason: str) -> ActivetestError:
    return ActivetestError(
        f"the engine {address} cannot be used: {reason}",
        "see whether Ray runs there (ray status), or leave the engine out",
    )
