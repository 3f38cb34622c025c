"""Runs tests on a changed copy of the tree, in a process forked from one that imported the rest.

The working tree is read once and never written.
"""

import contextlib
import importlib
import json
import os
import py_compile
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.mutate.changes import AT_IMPORT, Change, apply_change
from tests.mutate.coverage_map import CoverageMap, group_by_file

# Modules of others that are slow to import: a forked process finds them imported.
PYTEST = ("hypothesis", "pytest", "xdist.plugin")
WARM = (
    "numpy",
    "pyarrow.parquet",
    "rich.console",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "sklearn.linear_model",
    "typer.testing",
)
# Seconds of a processor beyond those of the tests on the unchanged tree, and how many times as slow
# they may be: a change that makes a loop endless is noticed by its time.
GRACE, FACTOR = 15, 4
# A process that waits for ever uses no processor: times as many seconds on the clock.
WAITING = 20

# Signs of a noticed change, in place of a test.
TOO_LONG = (signal.SIGXCPU, signal.SIGKILL)
DIED, NO_TESTS = "the process of the tests died", "pytest could not start"


@dataclass(frozen=True)
class Outcome:
    """The end of a run of tests."""

    killer: str | None
    timed_out: bool = False
    passed: int = 0

    @property
    def killed(self) -> bool:
        """Whether something noticed."""
        return self.timed_out or self.killer is not None


class FirstFailure:
    """A pytest plugin that keeps the name of the first test that failed, and counts the others."""

    def __init__(self) -> None:
        self.test: str | None = None
        self.passed = 0

    def pytest_runtest_logreport(self, report) -> None:
        """Of all phases."""
        if report.failed and self.test is None:
            self.test = report.nodeid
        self.passed += report.passed and report.when == "call"

    def pytest_collectreport(self, report) -> None:
        """A file that cannot be imported is noticed as well."""
        if report.failed and self.test is None:
            self.test = report.nodeid


def copy_tree(tree: Path, folder: Path) -> None:
    """Copy what git tracks or would, compiled, so that a change is all that is compiled again."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=tree,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [Path(os.fsdecode(name)) for name in listed.stdout.split(b"\0") if name]
    else:
        names = [path.relative_to(tree) for path in tree.rglob("*") if path.is_file()]
    for name in names:
        if (tree / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree / name, folder / name)
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "."],
        cwd=folder,
        check=False,
        capture_output=True,
    )


def import_warm(names: Iterable[str]) -> None:
    """Import what children need; what is not installed is left to the tests that skip then."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def run_tests(
    tree: Path, tests: Iterable[str], limit: float, *, but: Iterable[str] = ()
) -> Outcome:
    """Run tests of a copy in a forked process until the first fails.

    Args:
        tree: The copy.
        tests: Files or node ids.
        limit: Seconds of a processor after which the process is killed.
        but: Tests that are left out.
    """
    result = tree / ".mutate-result"
    result.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
            _run_child(tree, [*tests, *(f"--deselect={test}" for test in but)], result)
        finally:
            os._exit(70)
    status = _wait(child, WAITING * limit)
    if status is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in TOO_LONG):
        return Outcome(None, timed_out=True)
    if not result.exists():
        return Outcome(DIED)
    found = json.loads(result.read_text(encoding="utf-8"))
    if found["code"] in (0, 5):
        return Outcome(None, passed=found["passed"])
    return Outcome(found["test"] or NO_TESTS, passed=found["passed"])


def _run_child(tree: Path, tests: list[str], result: Path) -> None:
    """Become a process that knows the copy only, run pytest there, and leave the result."""
    os.setsid()
    os.chdir(tree)
    with (tree / ".mutate-log").open("wb") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.environ["PYTHONPATH"] = str(tree)
    sys.path[:] = [str(tree), *(path for path in sys.path if path)]
    for name in [each for each in sys.modules if each.partition(".")[0] in ("tests", "activetest")]:
        del sys.modules[name]
    importlib.invalidate_caches()
    import pytest

    first = FirstFailure()
    options = ["-x", "-q", "--no-header", "--tb=short", "-n", "0", "-p", "no:cacheprovider"]
    code = pytest.main([*options, *tests], plugins=[first])
    found = {"code": int(code), "test": first.test, "passed": first.passed}
    result.write_text(json.dumps(found), encoding="utf-8")
    os._exit(0)


def _wait(child: int, limit: float) -> int | None:
    """The exit status; None if the child was killed at the limit. Its own children end with it."""
    end = time.monotonic() + limit
    status = None
    pause = 0.01
    while time.monotonic() < end:
        found, code = os.waitpid(child, os.WNOHANG)
        if found:
            status = code
            break
        time.sleep(pause)
        pause = min(0.2, 1.5 * pause)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
    return status


def write_module(path: Path, text: str) -> None:
    """Replace a module and remove its compiled form, which could be as old and as long."""
    path.write_text(text, encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()


def order_tests(file: str, tests: dict[str, float], budget: float) -> list[dict[str, float]]:
    """Groups of tests to run after each other: of the file, of its room, of the rooms above.

    Args:
        file: The changed file.
        tests: Tests that run the changed line, with their seconds.
        budget: How many seconds of tests are run at most, the quickest files first.
    """
    room = Path("tests", *Path(file).parts[1:-1])
    stem = Path(file).stem.lstrip("_")
    stages: list[dict[str, float]] = [{}, {}, {}]
    used = 0.0
    groups = group_by_file(tests)

    def find_stage(name: str) -> int:
        path = Path(name)
        if path.parts[: len(room.parts)] != room.parts:
            return 2
        return 0 if path.stem.startswith(f"test_{stem}") else 1

    for name in sorted(groups, key=lambda name: (find_stage(name), sum(groups[name].values()))):
        for test, seconds in sorted(groups[name].items(), key=lambda pair: pair[1]):
            if used + seconds <= budget or not any(stages):
                stages[find_stage(name)][test] = seconds
                used += seconds
    return [stage for stage in stages if stage]


class Runner:
    """One copy of the tree, in which one change after another is tested.

    Args:
        tree: The copy.
        coverage: The lines that each test runs, or None if `tests` are to run for every change.
        budget: Seconds of tests for a change, measured on the unchanged tree.
        tests: Test files that are run for every change.
    """

    def __init__(
        self, tree: Path, coverage: CoverageMap | None, budget: float, tests: list[str]
    ) -> None:
        self.tree, self.coverage, self.budget, self.tests = tree, coverage, budget, tests
        self.sound: dict[str, bool] = {}

    def find_stages(self, change: Change) -> list[dict[str, float]]:
        """The tests of a change, in groups."""
        if self.coverage is None:
            return [dict.fromkeys(self.tests, 10.0)]
        lines = None if change.lines == AT_IMPORT else change.lines
        tests = self.coverage.find_tests(self.tree, change.file, lines)
        return order_tests(change.file, tests, self.budget)

    def test_change(self, change: Change) -> dict:
        """{key, outcome: killed, timed out or survived, by, tests, seconds} of one change."""
        began = time.monotonic()
        path = self.tree / change.file
        source = path.read_text(encoding="utf-8")
        times = path.stat()
        stages = self.find_stages(change)
        outcome, run = Outcome(None), 0
        try:
            write_module(path, apply_change(source, change))
            for stage in stages:
                outcome = self._run_stage(path, source, change, dict(stage))
                run += outcome.passed
                if outcome.killed:
                    break
        finally:
            write_module(path, source)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            py_compile.compile(str(path), quiet=2)
        return {
            "key": change.key,
            "line": change.line,
            "outcome": "timed out"
            if outcome.timed_out
            else ("killed" if outcome.killed else "survived"),
            "by": outcome.killer,
            "tests": run,
            "seconds": round(time.monotonic() - began, 1),
        }

    def _run_stage(self, path: Path, source: str, change: Change, stage: dict) -> Outcome:
        """Run tests; one that fails on the unchanged tree too is left out."""
        limit = GRACE + FACTOR * sum(stage.values())
        tests = list(stage)
        while True:
            unsound = [test for test, sound in self.sound.items() if not sound]
            outcome = run_tests(self.tree, tests, limit, but=unsound)
            if outcome.killer is None or self._is_sound(
                path, source, change, outcome.killer, tests
            ):
                return outcome
            if outcome.killer == NO_TESTS:
                # They have other names by now, as those of parameters may have.
                tests = list(group_by_file(stage))

    def _is_sound(
        self, path: Path, source: str, change: Change, test: str, stage: list[str]
    ) -> bool:
        """Whether a test, or what else noticed the change, passes on the unchanged tree."""
        if test == DIED:
            return True
        if test not in self.sound:
            tests = list(stage) if test == NO_TESTS else [test]
            write_module(path, source)
            sound = not run_tests(self.tree, tests, 10 * GRACE).killed
            write_module(path, apply_change(source, change))
            if test == NO_TESTS:
                return sound
            self.sound[test] = sound
        return self.sound[test]
