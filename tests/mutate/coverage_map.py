"""Lines of the package that each test runs: found once, kept in a folder that git ignores.

The file is also the pytest plugin that records it: `coverage` follows tests, threads and the
processes that tests start, each under the name of its test.
"""

import difflib
import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

SETTINGS = """[run]
source = {tree}/activetest
data_file = {data}/coverage
parallel = true
concurrency = thread
context = ${{MUTATE_TEST-}}
"""


def hash_text(text: str) -> str:
    """A short name for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Recorder:
    """A pytest plugin: the lines, the seconds and the outcome of every test."""

    def __init__(self, folder: Path) -> None:
        import coverage

        self.outcomes: dict[str, dict] = {}
        self.folder = folder
        self.coverage = coverage.Coverage(config_file=str(folder / "coveragerc"))
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """The lines of a test and of its fixtures go under its name."""
        os.environ["MUTATE_TEST"] = nodeid
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report) -> None:
        """Seconds of all phases; a test that failed or was skipped is worth nothing here."""
        outcome = self.outcomes.setdefault(report.nodeid, {"seconds": 0.0, "passed": True})
        outcome["seconds"] = round(outcome["seconds"] + report.duration, 3)
        outcome["passed"] &= report.passed

    def save(self) -> None:
        """Write outcomes.json and the lines."""
        self.coverage.stop()
        self.coverage.save()
        (self.folder / "outcomes.json").write_text(json.dumps(self.outcomes), encoding="utf-8")


def record_tests(tree: Path, folder: Path, files: list[str]) -> dict[str, dict]:
    """{test: {seconds, passed, lines: {file: [lines]}}} of the tests of these files."""
    import coverage

    folder.mkdir(parents=True, exist_ok=True)
    settings = SETTINGS.format(tree=tree, data=folder)
    (folder / "coveragerc").write_text(settings, encoding="utf-8")
    # Processes that tests start read the settings anew, and so the name of their test.
    start = {"COVERAGE_PROCESS_START": str(folder / "coveragerc")}
    environment = os.environ | {"PYTHONPATH": str(tree)} | start
    subprocess.run(
        [sys.executable, "-m", "tests.mutate.coverage_map", str(folder), *files],
        cwd=tree,
        env=environment,
        check=False,
        stdout=(folder / "log").open("w"),
        stderr=subprocess.STDOUT,
    )
    tests = json.loads((folder / "outcomes.json").read_text(encoding="utf-8"))
    combined = coverage.Coverage(config_file=str(folder / "coveragerc"))
    combined.combine([str(folder)])
    data = combined.get_data()
    for file in data.measured_files():
        name = str(Path(file).relative_to(tree))
        for line, contexts in data.contexts_by_lineno(file).items():
            for test in contexts:
                if test in tests:
                    tests[test].setdefault("lines", {}).setdefault(name, []).append(line)
    return tests


class CoverageMap:
    """The records of test files, each made with the sources of its time.

    Args:
        folder: Where records and sources are kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, dict] = {}
        for path in sorted(folder.glob("record-*.json")):
            record = json.loads(path.read_text(encoding="utf-8"))
            self.records[record["file"]] = record

    def find_missing(self, tree: Path, files: list[str]) -> list[str]:
        """The test files that were not recorded as they are now."""
        return [
            file
            for file in files
            if self.records.get(file, {}).get("hash")
            != hash_text((tree / file).read_text(encoding="utf-8"))
        ]

    def add_records(self, tree: Path, files: list[str], tests: dict[str, dict]) -> None:
        """Keep what was found, with the sources that it was found on."""
        sources = {}
        for path in sorted((tree / "activetest").rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            sources[str(path.relative_to(tree))] = name = hash_text(text)
            (self.folder / f"source-{name}").write_text(text, encoding="utf-8")
        for file in files:
            record = {
                "file": file,
                "hash": hash_text((tree / file).read_text(encoding="utf-8")),
                "sources": sources,
                "tests": {test: found for test, found in tests.items() if in_file(test, file)},
            }
            self.records[file] = record
            path = self.folder / f"record-{hash_text(file)}.json"
            path.write_text(json.dumps(record), encoding="utf-8")

    def find_tests(self, tree: Path, file: str, lines: tuple[int, int] | None) -> dict[str, float]:
        """Tests that pass and run one of these lines (any line at None), with their seconds."""
        now = (tree / file).read_text(encoding="utf-8")
        earlier: dict[str, set[int] | None] = {}
        found = {}
        for record in self.records.values():
            source = record["sources"].get(file)
            if source is None:
                continue
            if source not in earlier:
                earlier[source] = self._find_earlier_lines(source, now, lines)
            wanted = earlier[source]
            for test, facts in record["tests"].items():
                ran = facts.get("lines", {}).get(file)
                if facts["passed"] and ran and (wanted is None or wanted.intersection(ran)):
                    found[test] = facts["seconds"]
        return found

    def _find_earlier_lines(
        self, source: str, now: str, lines: tuple[int, int] | None
    ) -> set[int] | None:
        """The numbers that these lines had; those of a changed block are all of its old lines."""
        if lines is None:
            return None
        here = set(range(lines[0], lines[1] + 1))
        if source == hash_text(now):
            return here
        before = (self.folder / f"source-{source}").read_text(encoding="utf-8").splitlines()
        matcher = difflib.SequenceMatcher(None, before, now.splitlines(), autojunk=False)
        found: set[int] = set()
        for tag, old, old_end, new, new_end in matcher.get_opcodes():
            inside = here & set(range(new + 1, new_end + 1))
            if inside and tag == "equal":
                found |= {line - new + old for line in inside}
            elif inside:
                found |= set(range(old, old_end + 2))
        return found


def in_file(test: str, file: str) -> bool:
    """Whether a test is of this file."""
    return test.partition("::")[0] == file


def group_by_file(tests: dict[str, float]) -> dict[str, dict[str, float]]:
    """{file: {test: seconds}}."""
    groups: dict[str, dict[str, float]] = defaultdict(dict)
    for test, seconds in tests.items():
        groups[test.partition("::")[0]][test] = seconds
    return dict(groups)


if __name__ == "__main__":
    import pytest

    recorder = Recorder(Path(sys.argv[1]))
    pytest.main(["-q", "-n", "0", "-p", "no:cacheprovider", *sys.argv[2:]], plugins=[recorder])
    recorder.save()
