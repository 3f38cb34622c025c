"""Shared by the tests of this folder: counts of what was tried, and a table of them at the end."""

import os
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from tests.reliability.forks import Server

_PREFIX = "trials: "


@pytest.fixture
def count_trials(record_property) -> Callable[..., None]:
    """count_trials(what, number=1) adds to what this test has tried, for the table at the end."""
    counts: Counter[str] = Counter()

    def add(what: str, number: int = 1) -> None:
        counts[what] += number

    yield add
    for what, number in counts.items():
        record_property(f"{_PREFIX}{what}", number)


@pytest.fixture(scope="session")
def forks() -> Iterator[Server]:
    """The program that forks processes of activetest."""
    if not hasattr(os, "fork"):
        pytest.skip("only POSIX forks")
    with Server() as server:
        yield server


def pytest_terminal_summary(terminalreporter) -> None:
    """Print how often each thing was tried, and how much of that by tests that failed."""
    failed = {report.nodeid for report in terminalreporter.getreports("failed")}
    tried: Counter[str] = Counter()
    in_vain: Counter[str] = Counter()
    # The properties of a test are complete in the report of its last phase, whose category is "".
    for report in terminalreporter.getreports(""):
        for name, value in report.user_properties if report.when == "teardown" else ():
            if name.startswith(_PREFIX):
                what = name.removeprefix(_PREFIX)
                tried[what] += value
                in_vain[what] += value * (report.nodeid in failed)
    if tried:
        terminalreporter.section("trials")
    for what, number in sorted(tried.items()):
        failures = f", {in_vain[what]:,} of them in tests that failed" * bool(in_vain[what])
        terminalreporter.write_line(f"{number:>8,}  {what}{failures}")
