"""All default tests pass with the newest versions of what the package needs, and no extra.

Tests that need torch or matplotlib skip. `.ci/lowest` runs them with the lowest versions.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS = ("pytest", "pytest-xdist", "hypothesis")
EXTRAS = ("torch", "matplotlib")

pytestmark = pytest.mark.slow


def run(*words: str | Path) -> str:
    """Output of a command in the repository's root; it must succeed."""
    # Nothing of the environment and of the test run that this test is part of.
    own = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in own and not name.startswith("PYTEST_")
    }
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """install(*requirements) -> the Python of a fresh environment with them and the package."""
    folder = tmp_path / "environment"

    def create(*requirements: str) -> Path:
        run(sys.executable, "-m", "venv", folder)
        python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
        run(python, "-m", "pip", "install", "--quiet", *requirements, *TOOLS, ROOT)
        run(python, "-m", "pip", "check")
        return python

    yield create
    # Half a gigabyte, which temporary folders would keep for the next sessions.
    shutil.rmtree(folder, ignore_errors=True)


def check_default_tests(python: Path) -> None:
    """All pass, or skip; those that need an extra skip, and so do those of tools not there."""
    output = run(python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider")
    skipped = [line for line in output.splitlines() if line.startswith("SKIPPED")]
    for extra in EXTRAS:
        assert any(extra in line for line in skipped), f"no test skips without {extra}\n{output}"
    assert re.search(r"\b\d+ passed\b", output)


def test_all_tests_pass_with_the_newest_versions(install):
    names = [dependency.split(">=")[0] for dependency in PROJECT["dependencies"]]
    check_default_tests(install("--upgrade", "--upgrade-strategy", "eager", *names))
