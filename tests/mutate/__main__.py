"""python -m tests.mutate: changes the core one place at a time and lists what no test notices."""

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.mutate.changes import Change, choose_changes, find_changes
from tests.mutate.coverage_map import CoverageMap, hash_text, record_tests
from tests.mutate.runner import PYTEST, WARM, Runner, copy_tree, import_warm

ROOT = Path(__file__).parents[2]
ROOMS = (
    "estimators",
    "intervals",
    "sampling",
    "estimation",
    "rounds",
    "wings/groups",
    "ledger",
    "labels",
    "study",
    "reporting",
)
# Tests that run nothing of the core.
SKIPPED = ("benchmarks", "mutate", "test_style.py", "test_workflows.py", "test_release.py")
EQUIVALENT = Path(__file__).parent / "equivalent.txt"


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutate", description=__doc__)
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), help="folders of activetest/")
    parser.add_argument("--only", nargs="+", metavar="FILE", help="files, instead of rooms")
    parser.add_argument("--count", type=int, default=300, help="changes to test (300)")
    parser.add_argument("--seed", type=int, default=1, help="which changes (1)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--seconds", type=float, default=60, help="of tests for a change (60)")
    parser.add_argument("--tests", nargs="+", metavar="FILE", help="run these for every change")
    parser.add_argument("--again", action="store_true", help="test earlier survivors again")
    parser.add_argument("--map-only", action="store_true", help="record which test runs what")
    parser.add_argument("--known", action="store_true", help="record no test files, use the map")
    parser.add_argument("--tree", type=Path, default=ROOT, help=argparse.SUPPRESS)
    parser.add_argument(
        "--cache", type=Path, default=ROOT / ".mutate", help="folder of map and results (.mutate)"
    )
    return parser.parse_args(arguments)


def read_equivalent() -> dict[str, str]:
    """{change: why it changes nothing}; lines `change | reason`."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines()
    pairs = [line.rsplit(" | ", 1) for line in lines if line and not line.startswith("#")]
    return {key.strip(): reason.strip() for key, reason in pairs}


def list_files(tree: Path, options: argparse.Namespace) -> list[str]:
    """The files whose changes are sampled."""
    if options.only:
        return [str(Path(file)) for file in options.only]
    return [
        str(path.relative_to(tree))
        for room in options.rooms
        for path in sorted((tree / "activetest" / room).rglob("*.py"))
    ]


def update_map(tree: Path, folder: Path, jobs: int, *, known: bool) -> CoverageMap:
    """The map of the tests as they are; only test files that changed are run."""
    found = CoverageMap(folder)
    files = [
        str(path.relative_to(tree))
        for path in sorted((tree / "tests").rglob("test_*.py"))
        if path.relative_to(tree / "tests").parts[0] not in SKIPPED
    ]
    missing = [] if known else found.find_missing(tree, files)
    if missing:
        print(f"recording which lines the tests of {len(missing)} files run", flush=True)
    with tempfile.TemporaryDirectory(prefix="mutate-map-") as scratch:
        # Small groups: what was recorded is kept if this is interrupted.
        groups = [missing[start : start + 6] for start in range(0, len(missing), 6)]
        tasks = [(tree, Path(scratch, str(number)), each) for number, each in enumerate(groups)]
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            for files, tests in pool.imap_unordered(record_group, tasks):
                found.add_records(tree, files, tests)
    return found


def record_group(task: tuple[Path, Path, list[str]]) -> tuple[list[str], dict[str, dict]]:
    """Record the tests of some files."""
    tree, folder, files = task
    try:
        return files, record_tests(tree, folder, files)
    except FileNotFoundError as error:
        log = (folder / "log").read_text(encoding="utf-8", errors="replace")
        raise SystemExit(f"the tests of {files} cannot be recorded: {error}\n{log}") from None


_runner: Runner | None = None


def start_runner(
    tree: Path,
    scratch: Path,
    coverage: CoverageMap | None,
    budget: float,
    tests: list[str],
    warm: bool,
) -> None:
    """Give this process its own copy of the tree."""
    global _runner  # noqa: PLW0603 one for each process of the pool
    own = scratch / f"copy-{os.getpid()}"
    shutil.copytree(tree, own, symlinks=True)
    import_warm((*PYTEST, *WARM) if warm else PYTEST)
    _runner = Runner(own, coverage, budget, tests)


def test_one(change: Change) -> tuple[Change, dict]:
    """Test a change in the copy of this process."""
    assert _runner is not None
    return change, _runner.test_change(change)


test_one.__test__ = False  # type: ignore[attr-defined]


class Results:
    """Results, a line a change; kept when a run is interrupted.

    Args:
        path: The file.
        tree: Where the sources are: a result holds as long as its file is unchanged.
    """

    def __init__(self, path: Path, tree: Path) -> None:
        self.path, self.tree = path, tree
        self.found: dict[tuple[str, str], dict] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                result = json.loads(line)
                self.found[result["key"], result["source"]] = result

    def name_source(self, change: Change) -> str:
        """The hash of the changed file."""
        return hash_text((self.tree / change.file).read_text(encoding="utf-8"))

    def get(self, change: Change) -> dict | None:
        """The result of a change of the file as it is."""
        return self.found.get((change.key, self.name_source(change)))

    def add(self, change: Change, result: dict) -> None:
        """Keep a result."""
        result = result | {"source": self.name_source(change)}
        self.found[change.key, result["source"]] = result
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(result) + "\n")


def describe(change: Change, result: dict) -> str:
    """One line about a survivor."""
    tests = result["tests"]
    return f"{change}   [{tests} tests]" if tests else f"{change}   [no test runs it]"


def run_changes(
    tree: Path, scratch: Path, changes: list[Change], coverage, options
) -> Iterator[tuple[Change, dict]]:
    """Results as they come."""
    # Of few changes each may import what its tests need.
    warm = len(changes) > 10
    arguments = (tree, scratch, coverage, options.seconds, options.tests or [], warm)
    # Processes of the pool fork for every change, which daemons of multiprocessing may do too.
    with multiprocessing.get_context("fork").Pool(options.jobs, start_runner, arguments) as pool:
        yield from pool.imap_unordered(test_one, changes)


def print_summary(changes: list[Change], results: Results, equivalent: dict[str, str]) -> int:
    """Survivors and counts; the number of survivors."""
    outcomes: Counter[tuple[str, str]] = Counter()
    survivors = []
    for change in changes:
        result = results.get(change)
        if result is None:
            continue
        outcome = "survived" if result["outcome"] == "survived" else "killed"
        outcomes[Path(change.file).parts[1], outcome] += 1
        if outcome == "survived":
            survivors.append((change, result))
    print()
    for change, result in sorted(survivors, key=lambda pair: (pair[0].file, pair[0].line)):
        print("survived:", describe(change, result))
    print()
    for room in sorted({room for room, _ in outcomes}):
        total = outcomes[room, "survived"] + outcomes[room, "killed"]
        print(f"{room:12} {outcomes[room, 'survived']:4} of {total:4} survived")
    total = sum(outcomes.values())
    share = 100 * len(survivors) / max(total, 1)
    left_out = sum(change.key in equivalent for change in changes)
    print(f"{len(survivors)} of {total} survived ({share:.1f} %); {left_out} equivalent left out")
    return len(survivors)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 if something survived."""
    options = parse_arguments(arguments)
    options.cache.mkdir(parents=True, exist_ok=True)
    equivalent = read_equivalent()
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        scratch = Path(folder)
        tree = scratch / "tree"
        copy_tree(options.tree, tree)
        coverage = None
        if not options.tests:
            coverage = update_map(tree, options.cache, options.jobs, known=options.known)
        if options.map_only:
            return 0
        files = list_files(tree, options)
        # As many as asked for are left when those that change nothing are taken out.
        sample = choose_changes(
            tree, files, seed=options.seed, count=options.count + len(equivalent)
        )
        changes = [change for change in sample if change.key not in equivalent][: options.count]
        results = Results(options.cache / "results.jsonl", tree)
        wanted = [
            change
            for change in changes
            if (earlier := results.get(change)) is None
            # A change without tests may have been tested before the map knew of a test.
            or (earlier["outcome"] == "survived" and (options.again or not earlier["tests"]))
        ]
        print(f"{len(changes)} changes, {len(changes) - len(wanted)} tested earlier", flush=True)
        found = run_changes(tree, scratch, wanted, coverage, options)
        for done, (change, result) in enumerate(found, 1):
            results.add(change, result)
            if result["outcome"] == "survived":
                print(f"{done}/{len(wanted)} survived: {describe(change, result)}", flush=True)
            elif done % 20 == 0:
                print(f"{done}/{len(wanted)}", flush=True)
        for key in list_gone(tree, [key for key in equivalent if key.partition(" ")[0] in files]):
            print(f"equivalent.txt names a change that is no more: {key}", file=sys.stderr)
        return min(1, print_summary(changes, results, equivalent))


def list_gone(tree: Path, keys: Iterable[str]) -> list[str]:
    """The changes among these that can no longer be made, because the code has changed."""
    wanted = list(keys)
    present = {
        change.key
        for file in {key.partition(" ")[0] for key in wanted}
        if (tree / file).is_file()
        for change in find_changes((tree / file).read_text(encoding="utf-8"), file)
    }
    return [key for key in wanted if key not in present]


if __name__ == "__main__":
    sys.exit(main())
