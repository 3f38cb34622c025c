"""Effects of a piece of code on the system, as Python's audit events tell."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Events that no file of somebody else may bring about.
_NEVER = (
    *("os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"),
    *("subprocess.Popen", "socket.connect", "socket.getaddrinfo", "socket.sendto"),
    *("pickle.find_class", "urllib.Request", "webbrowser.open"),
    *("sqlite3.enable_load_extension", "sqlite3.load_extension"),
)
# Events that change the file system, and which of their arguments are paths.
_CHANGES = {
    **dict.fromkeys(("os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.chmod"), (0,)),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink"), (0, 1)),
    **dict.fromkeys(("shutil.rmtree", "tempfile.mkdtemp", "tempfile.mkstemp"), (0,)),
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# The lists to which events are added now; a hook cannot be taken away again.
_watching: list[tuple[Path, list[str]]] = []


@contextmanager
def watching(allowed: Path) -> Iterator[list[str]]:
    """The events in the block, one line each, that are not allowed.

    Programs that run, connections, pickles and texts that are executed never are. Files may only
    be written, moved and removed below the folder `allowed`.
    """
    _install()
    events: list[str] = []
    _watching.append((allowed.resolve(), events))
    try:
        yield events
    finally:
        _watching.pop()


def _install(installed: list[bool] = []) -> None:  # noqa: B006, remembers that it was called
    if not installed:
        sys.addaudithook(_note)
        installed.append(True)


def _note(event: str, values: tuple) -> None:
    """Add an event to the lists where it is not allowed."""
    if not _watching:
        return
    allowed, events = _watching[-1]
    if event.startswith(_NEVER):
        events.append(f"{event} {values!r:.200}")
    elif event == "compile" and values[1] == "<string>" and not _is_of_library(values[0]):
        events.append(f"a text is executed: {values[0]!r:.200}")
    elif event == "open":
        path, mode, flags = values
        writes = bool(flags & _WRITING) if isinstance(flags, int) else bool(mode) and mode != "r"
        if writes and isinstance(path, str | bytes | os.PathLike) and _is_outside(path, allowed):
            events.append(f"{path!r} is written")
    elif event in _CHANGES:
        for place in _CHANGES[event]:
            if isinstance(values[place], str | bytes | os.PathLike) and _is_outside(
                values[place], allowed
            ):
                events.append(f"{event} {values[place]!r}")


def _is_of_library(text: str | bytes | None) -> bool:
    """Whether a text that is executed is the standard library's: a dataclass, or a named tuple."""
    text = text or b""
    text = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    return text.startswith((b"def __create_fn__(", b"lambda _cls, "))


def _is_outside(path: str | bytes | os.PathLike, allowed: Path) -> bool:
    """Whether a path leads elsewhere; the parent's links are followed, as the system does."""
    path = os.path.abspath(os.fsdecode(path))
    parent = os.path.realpath(os.path.dirname(path))
    full = os.path.join(parent, os.path.basename(path))
    return full != os.devnull and not Path(full).is_relative_to(allowed)
