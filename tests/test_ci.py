"""The scripts of `.ci`, whose Python only says what it is asked to do; what they print is real."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# A Python that makes environments of itself and runs the scripts beside `.ci/run`.
PYTHON = f"""#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; exit; fi
case "$1" in .ci/*) exec "{sys.executable}" "$@";; esac
echo "$@"
[ "$*" != "$FAILS" ]
"""

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.fixture
def run_script(tmp_path) -> Callable[..., tuple[int, list[str]]]:
    """run_script(name, *words, fails="") is the exit code and the lines that a script prints."""

    def run(name: str, *words: str, fails: str = "") -> tuple[int, list[str]]:
        for each in ("python3", f"python{PROJECT['requires-python'].removeprefix('>=')}"):
            (tmp_path / each).write_text(PYTHON)
            (tmp_path / each).chmod(0o755)
        env = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "FAILS": fails}
        command = ["bash", ROOT / ".ci" / name, *words]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()

    return run


FIRST, SECOND = ["-m pip install .", "-m activetest demo"], ["-m pip install .[test]", "-m pytest"]
LONGER = ["-m pytest -m ci"]


def test_the_run_names_the_processor_and_then_runs_the_two_commands_and_longer_tests(run_script):
    code, lines = run_script("run")
    assert code == 0
    assert re.fullmatch(r"processor: \S.*; kernels: \S.*", lines[0])
    assert lines[1:] == FIRST + SECOND + LONGER


@pytest.mark.parametrize("fails", FIRST + SECOND + LONGER)
def test_the_run_ends_with_the_first_command_that_fails(run_script, fails):
    code, lines = run_script("run", fails=fails)
    assert code == 1
    assert lines[0].startswith("processor: ")
    assert lines[-1] == fails and lines[1:] == (FIRST + SECOND + LONGER)[: len(lines) - 1]


def test_the_lowest_versions_are_those_of_the_project(run_script):
    code, lines = run_script("lowest", "torch==2.13.0")
    assert code == 0
    needs = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    lowest = [re.sub(">=([^,]+).*", r"==\1", each) for each in needs if ">=" in each]
    assert set(lowest) < set(lines) and "torch==2.13.0" in lines
    (install,) = [line for line in lines if line.startswith("-m pip")]
    assert re.fullmatch(r"-m pip install --constraint \S+ .\[test\]", install)
    assert lines[-2:] == FIRST[1:] + SECOND[1:]


def test_a_version_of_something_else_is_no_lowest_version(run_script):
    code, lines = run_script("lowest", "tensorflow==2.0")
    assert code == 1 and not lines


def name(*python: str, **env: str) -> str:
    """The output of `.ci/processor.py`."""
    command = [*python, ROOT / ".ci" / "processor.py"]
    return subprocess.run(
        command, env=os.environ | env, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64")
    or "openblas" not in {each["internal_api"] for each in threadpool_info()},
    reason="only OpenBLAS on x86-64 lets itself be told its kernel",
)
def test_the_kernel_that_is_named_is_the_one_in_use():
    line = name(sys.executable, OPENBLAS_CORETYPE="Nehalem")
    assert line.endswith("; kernels: openblas Nehalem (OPENBLAS_CORETYPE=Nehalem)\n")


def test_without_numpy_no_kernel_is_named():
    assert "kernels: unknown (No module named 'numpy')" in name(sys.executable, "-I", "-S")
