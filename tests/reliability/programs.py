"""Real processes of the program, what their study then holds, and what they left behind."""

import os
import signal
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

from activetest.cli.app import main
from activetest.study.stored import StoredStudy
from tests.reliability.forks import ROOT

STUDY = ".activetest"


class Started:
    """A process that starts from nothing: `python -m activetest` in a folder."""

    def __init__(self, folder: Path, *words: str) -> None:
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
        environment.pop("ACTIVETEST_STUDY", None)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        command = [sys.executable, "-m", "activetest", *words]
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, **pipes,
            preexec_fn=_hear_interrupts,  # noqa: PLW1509 no threads
        )  # fmt: skip
        self.poll, self.send = self._process.poll, self._process.send_signal

    def communicate(self) -> tuple[int, str, str]:
        """Exit code, below zero for a signal, output and messages, once it has ended."""
        texts = self._process.communicate()
        return self._process.returncode, *texts


def _hear_interrupts() -> None:
    """Jobs in the background ignore them, and their children do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_here(folder: Path, *words: str) -> int:
    """The exit code of a command that runs in this process, in a folder."""
    with chdir(folder):
        return main(words)


def take_snapshot(folder: Path) -> tuple:
    """All that a study in a folder has recorded, and its choices; empty without a study."""
    if not (folder / STUDY / "study.toml").exists():
        return ()
    study = StoredStudy.open(folder / STUDY)
    return study.ledger.record(), study.choices, study.seed


def find_leftovers(folder: Path) -> list[str]:
    """Files that only a process at work has in a folder or its study."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.name != STUDY
        and (path.name.startswith(".") or path.name.endswith((".tmp", "-journal")))
    ]
