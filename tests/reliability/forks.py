"""Processes of the program that begin where everything is imported, so that there can be many.

Run as a program, this file forks one such process after the other, as it is told on its standard
input. Whoever kills a process kills nothing but what the command does.
"""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
# Bytes of what a process prints that are kept.
_KEPT = 20_000


class Server:
    """The program that forks; one process at a time. A context manager."""

    def __enter__(self) -> "Server":
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        environment.pop("ACTIVETEST_STUDY", None)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
        self._program = subprocess.Popen([sys.executable, __file__], env=environment, **pipes)
        return self

    def __exit__(self, *error: Any) -> None:
        self._program.communicate()

    def start(self, folder: Path, *words: str, size: int | None = None) -> "Forked":
        """A process in a folder; no file of it grows beyond a size, if there is one."""
        request = {"folder": str(folder), "words": words, "size": size}
        self._program.stdin.write(json.dumps(request).encode() + b"\n")
        return Forked(int(self._program.stdout.readline()), self._program.stdout)

    def run(self, folder: Path, *words: str, size: int | None = None) -> tuple[int, str, str]:
        """Exit code, output and messages of a process."""
        return self.start(folder, *words, size=size).communicate()


class Forked:
    """One process."""

    def __init__(self, pid: int, answers) -> None:
        self._pid, self._answers = pid, answers

    def poll(self) -> bool | None:
        """None while it runs."""
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._answers, selectors.EVENT_READ)
            return True if waiting.select(0) else None

    def send(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            # It may end just now.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def communicate(self) -> tuple[int, str, str]:
        """Exit code, below zero for a signal, output and messages, once it has ended."""
        return tuple(json.loads(self._answers.readline()))


def serve() -> None:
    """Fork a process for each line of standard input, and tell its number and how it ended."""
    _import_everything()
    # As it is before the program handles it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for line in sys.stdin:
        request = json.loads(line)
        readers, writers = zip(os.pipe(), os.pipe(), strict=True)
        child = os.fork()
        if not child:
            _run(request, writers)
        for handle in writers:
            os.close(handle)
        print(child, flush=True)
        texts = _read_all(readers)
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), *texts]), flush=True)


def _import_everything() -> None:
    """Import all that commands import when they run."""
    from activetest import catalog
    from activetest.study import init, next, report  # noqa: F401

    for family, name in (("surrogates", "linear"), ("surrogates", "agreement")):
        catalog.load(family, name)
    for family, name in (("acquisition", "optimal"), ("metrics", "error"), ("render", "json")):
        catalog.load(family, name)


def _run(request: dict, writers: tuple[int, ...]) -> NoReturn:
    """Run a command as the program does, and end."""
    import resource

    from activetest.cli.app import run

    for place, handle in enumerate(writers, 1):
        os.dup2(handle, place)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(request["folder"])
    if request["size"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (request["size"],) * 2)
    sys.argv = ["activetest", *request["words"]]
    code = 1
    try:
        run()
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _read_all(readers: tuple[int, ...]) -> list[str]:
    """The texts that come through several pipes until all are closed."""
    texts = dict.fromkeys(readers, b"")
    with selectors.DefaultSelector() as waiting:
        for handle in readers:
            waiting.register(handle, selectors.EVENT_READ)
        while waiting.get_map():
            for key, _ in waiting.select():
                part = os.read(key.fd, 65536)
                if part:
                    texts[key.fd] = (texts[key.fd] + part)[:_KEPT]
                else:
                    waiting.unregister(key.fd)
                    os.close(key.fd)
    return [text.decode("utf-8", "replace") for text in texts.values()]


if __name__ == "__main__":
    serve()
