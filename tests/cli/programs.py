"""The program in a process of its own, and its commands."""

import os
import subprocess
import sys
from pathlib import Path

from activetest.cli import formatter

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "activetest"]
COMMANDS = {name: formatter.load_command(name) for name in formatter.COMMANDS}


def program(*words: str, **options) -> subprocess.CompletedProcess:
    """The program in a process of its own, with pipes for its streams."""
    env = os.environ | {"PYTHONPATH": str(ROOT)} | options.pop("env", {})
    options = {"capture_output": True, "text": True, "timeout": 120} | options
    return subprocess.run([*PROGRAM, *words], env=env, check=False, **options)
