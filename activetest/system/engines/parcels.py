"""Functions on their way to other processes, and their results on the way back.

Locks, and what belongs to a thread, are not sent: a worker makes its own.
"""

import io
import pickle
import threading
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

from activetest.errors import CacheDamaged
from activetest.system.parallel import Threads, one_blas_thread, running_on

# Functions that a worker keeps: a pass may begin another one before it ends.
_KEPT = 4

_functions: OrderedDict[str, Callable[[Any], Any]] = OrderedDict()


class Parcel(NamedTuple):
    """A function and all that it refers to.

    head    all but large arrays
    arrays  the bytes of these, which processes of one machine can share
    """

    head: bytes
    arrays: Sequence[Any]


class Outcome(NamedTuple):
    """The value of a function for a piece, or the error it raised."""

    value: Any
    error: Exception | None


def pack(fn: Callable[[Any], Any]) -> Parcel:
    """The function as a parcel. Raises TypeError for one that refers to what cannot be sent."""
    try:
        from cloudpickle import Pickler
    except ImportError:
        # Earlier versions of joblib brought it along.
        from joblib.externals.cloudpickle import Pickler

    class Packer(Pickler):
        dispatch_table = Pickler.dispatch_table.new_child(
            {
                type(threading.Lock()): lambda _: (threading.Lock, ()),
                type(threading.RLock()): lambda _: (threading.RLock, ()),
                threading.local: lambda _: (threading.local, ()),
            }
        )

    head, arrays = io.BytesIO(), []

    def keep_large(buffer: pickle.PickleBuffer) -> bool:
        arrays.append(buffer.raw())
        return False

    Packer(head, protocol=5, buffer_callback=keep_large).dump(fn)
    return Parcel(head.getvalue(), arrays)


def do_piece(key: str, fetch: Callable[[], Parcel], piece: Any) -> Outcome:
    """At a worker: the outcome for a piece. The parcel of this key is fetched once."""
    try:
        with running_on(Threads(1)), one_blas_thread():
            if key not in _functions:
                parcel = fetch()
                _functions[key] = pickle.loads(parcel.head, buffers=parcel.arrays)
                if len(_functions) > _KEPT:
                    _functions.popitem(last=False)
            return Outcome(_functions[key](piece), None)
    except Exception as error:
        return Outcome(None, _make_portable(error))


def _make_portable(error: Exception) -> Exception:
    """The error as it can be sent, with its place in the code."""
    error.add_note("".join(traceback.format_exception(error)).rstrip())
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class Begun(Protocol):
    """A function that other processes know.

    workers  how many processes do its pieces
    """

    workers: int

    def begin(self, piece: Any) -> Any:
        """Let a worker do the piece; a ticket for its outcome."""
        ...

    def wait(self, ticket: Any) -> Outcome:
        """The outcome of a piece, as soon as it is there."""
        ...

    def drop(self, ticket: Any) -> None:
        """Nobody needs the outcome any more."""
        ...


def collect(begun: Begun, fn: Callable[[Any], Any], pieces: Iterable[Any]) -> Iterator[Any]:
    """The results of pieces, in their order; see Engine.run.

    Only this process can build a damaged cache again: pieces that met one are done here.
    """
    pieces = iter(pieces)
    waiting = deque((piece, begun.begin(piece)) for piece in islice(pieces, 2 * begun.workers))
    try:
        while waiting:
            piece, ticket = waiting[0]
            value, error = begun.wait(ticket)
            waiting.popleft()
            if isinstance(error, CacheDamaged):
                value = fn(piece)
            elif error is not None:
                raise error
            yield value
            waiting.extend((piece, begun.begin(piece)) for piece in islice(pieces, 1))
    finally:
        for _, ticket in waiting:
            begun.drop(ticket)
