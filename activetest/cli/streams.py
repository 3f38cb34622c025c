"""Standard output is data, standard error is talk; colour and motion only where somebody looks."""

import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TextIO

from activetest.errors import StorageError
from activetest.system.safe_text import escape_controls, mask_secrets

# Codes that this program itself writes to a terminal: a colour or a weight.
_STYLE = re.compile(r"(\x1b\[[0-9;]*m)")
# Enters a block in which lines are written that shall stay.
_Room = Callable[[], AbstractContextManager[None]]
_room: ContextVar[_Room] = ContextVar("_room", default=nullcontext)


@contextmanager
def making_room(room: _Room) -> Iterator[None]:
    """In the block, whatever is written here is written inside `with room():`."""
    token = _room.set(room)
    try:
        yield
    finally:
        _room.reset(token)


def replace_closed() -> None:
    """Discard all output to streams that were closed before this program began."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))


def use_utf8() -> None:
    """Pipes get UTF-8 on every system, as files do, unless PYTHONIOENCODING says otherwise.

    Elsewhere than in a terminal, Windows would write in the code page of the country and fail at
    ids and classes with other characters.
    """
    if "PYTHONIOENCODING" in os.environ:
        return
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")


def write(text: str, *, styled: bool = False) -> None:
    """To standard output, which keeps data as it is; a terminal obeys nothing in it.

    Whoever closed it is not bothered again; a full disk is an error.

    styled  the text has colours of this program: only these reach a terminal as they are
    """
    if sys.stdout.isatty():
        parts = _STYLE.split(text) if styled else [text]
        # Every other part is what was split by: a style.
        text = "".join(part if at % 2 else _escape(part) for at, part in enumerate(parts))
    try:
        with _room.get()():
            sys.stdout.write(text)
            sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
    except UnicodeEncodeError as error:
        raise StorageError(
            f"standard output cannot hold {error.object[error.start]!r}: it is {error.encoding}",
            "nothing is lost: set PYTHONIOENCODING=utf-8, and run the command again",
        ) from error
    except OSError as error:
        discard_output()
        problem = f"cannot write to standard output: {error.strerror}"
        raise StorageError(problem, "nothing is lost: run the command again") from error


def write_lines(text: str) -> None:
    """Lines to standard output; whatever is in a name, a terminal obeys none of it.

    Characters that standard output cannot hold are written as Python writes them.
    """
    encoding = sys.stdout.encoding or "utf-8"
    lines = _escape(mask_secrets(text)).encode(encoding, "backslashreplace").decode(encoding)
    write(f"{lines}\n")


def say(text: str) -> None:
    """Lines to standard error, as of write_lines. Whether somebody reads them changes nothing."""
    try:
        with _room.get()():
            # At once: an interrupt comes before it or after it.
            sys.stderr.write(f"{_escape(mask_secrets(text))}\n")
            sys.stderr.flush()
    except OSError:
        _discard(sys.__stderr__)


def have_one_reader() -> bool:
    """Whether both streams are terminals, or the same file or pipe, as after 2>&1."""
    if sys.stdout.isatty() and sys.stderr.isatty():
        return True
    try:
        data, talk = (os.fstat(stream.fileno()) for stream in (sys.stdout, sys.stderr))
    except (OSError, ValueError):
        return False
    # Where a system has no numbers for pipes, they are all 0.
    return data.st_ino != 0 and os.path.samestat(data, talk)


def fail(
    problem: str,
    hint: str,
    mapping: Mapping[str, str] | None = None,
    commands: Sequence[str] = (),
) -> int:
    """Say what is wrong with the input; the exit code. No name in it can begin a line.

    mapping   {label: class}, shown as the lines of a file that the hint calls FILE
    commands  below the hint, a line each
    """
    lines = [f"error: {problem}", *([f"hint:  {hint}"] if hint else [])]
    lines += [f"  {each}" for each in commands]
    say("\n".join(map(escape_controls, lines)))
    if mapping:
        say(f"FILE, to be checked:\n{_write_mapping(mapping)}")
    return 2


def _write_mapping(mapping: Mapping[str, str]) -> str:
    """CSV with the columns from,to."""
    import csv

    text = io.StringIO(newline="")
    rows = [("from", "to"), *mapping.items()]
    csv.writer(text, lineterminator="\n").writerows(
        (escape_controls(label), escape_controls(name)) for label, name in rows
    )
    return text.getvalue().rstrip("\n")


def discard_output() -> None:
    """Nobody reads standard output any more: what is still written goes nowhere."""
    _discard(sys.__stdout__)


def _discard(stream: TextIO | None) -> None:
    """Discard all output that is still written to a stream."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _escape(text: str) -> str:
    """The text without anything but the ends of lines that a terminal would obey."""
    return escape_controls(text, keep="\n")
