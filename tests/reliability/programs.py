"""Real processes of the program, what their study then holds, and what they left behind."""

import os
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

from activetest.cli.app import main
from activetest.study.stored import StoredStudy

ROOT = Path(__file__).parents[2]
STUDY = ".activetest"


def start(folder: Path, *words: str, **options) -> subprocess.Popen:
    """A process of the program in a folder; options as for Popen."""
    environment = {name: value for name, value in os.environ.items() if name != "ACTIVETEST_STUDY"}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "activetest", *words]
    return subprocess.Popen(command, cwd=folder, env=environment, **options)


def run(folder: Path, *words: str, **options) -> tuple[int, str, str]:
    """Exit code, output and messages of a process in a folder."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = start(folder, *words, **pipes, **options)
    out, err = process.communicate()
    return process.returncode, out, err


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
    """What only a process at work has in a folder or its study."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.name != STUDY
        and (path.name.startswith(".") or path.name.endswith((".tmp", "-journal")))
    ]
