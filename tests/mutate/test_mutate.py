"""The tool that changes the core lists what no test notices."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutate.__main__ import list_gone, read_equivalent
from tests.mutate.changes import apply_change, choose_changes, find_changes
from tests.mutate.runner import order_tests

ROOT = Path(__file__).parents[2]
MARKS = "activetest/toy/marks.py"
MODULE = '''"""Marks of an exam."""


def grade(points: int) -> str:
    """More than three points pass."""
    if points > 3:
        return "passed"
    return "failed"
'''
# Neither 3 nor 4 points are tested.
TESTS = """from activetest.toy.marks import grade


def test_many_points_pass():
    assert grade(9) == "passed"


def test_no_points_fail():
    assert grade(0) == "failed"


def test_that_fails_on_the_unchanged_tree():
    assert grade(0) == "passed"
"""
SETTINGS = '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n'


@pytest.fixture
def planted(tmp_path) -> Path:
    """A tree with one module and its tests."""
    files = {
        "activetest/__init__.py": "",
        "activetest/toy/__init__.py": "",
        MARKS: MODULE,
        "tests/toy/test_marks.py": TESTS,
        "pyproject.toml": SETTINGS,
    }
    for name, text in files.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "tree"


def run_tool(tree: Path, *options: str) -> tuple[int, list[str]]:
    """The exit code and the lines of the tool on a planted tree, with a cache of its own."""
    words = ["--tree", tree, "--only", MARKS, "--jobs", "1", "--cache", tree.parent / "cache"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.mutate", *map(str, words), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout.splitlines()


def check_survivors(code: int, lines: list[str], tests: int) -> None:
    """The two changes that 0 and 9 points cannot tell from the original survive, four do not."""
    assert [line for line in lines if line.startswith("survived: ")] == [
        f"survived: {MARKS}:6 grade: 3 -> 4   [{tests} tests]",
        f"survived: {MARKS}:6 grade: points > 3 -> points >= 3   [{tests} tests]",
    ], "\n".join(lines)
    assert lines[-1] == "2 of 6 survived (33.3 %); 0 equivalent left out"
    assert code == 1


def test_planted_survivors_are_listed_the_tree_is_left_alone_and_results_are_kept(planted):
    """A test that fails anyway kills nothing; a second run tests nothing again."""
    run = run_tool(planted, "--tests", "tests/toy/test_marks.py")
    check_survivors(*run, tests=2)
    assert (planted / MARKS).read_text(encoding="utf-8") == MODULE
    kept = planted.parent / "cache" / "results.jsonl"
    results = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    assert {each["by"] for each in results} == {
        None,
        "tests/toy/test_marks.py::test_many_points_pass",
        "tests/toy/test_marks.py::test_no_points_fail",
    }
    code, lines = run_tool(planted, "--tests", "tests/toy/test_marks.py")
    assert lines[0] == "6 changes, 6 tested earlier"
    check_survivors(code, lines, tests=2)
    # But for survivors on which no test had run.
    results[0] |= {"outcome": "survived", "tests": 0}
    kept.write_text("\n".join(map(json.dumps, results)) + "\n", encoding="utf-8")
    code, lines = run_tool(planted, "--tests", "tests/toy/test_marks.py")
    assert lines[0] == "6 changes, 5 tested earlier"
    check_survivors(code, lines, tests=2)


@pytest.mark.slow
def test_recorded_lines_say_which_tests_to_run(planted):
    """Tests in a process of their own are recorded as well."""
    if importlib.util.find_spec("coverage") is None:
        pytest.skip("coverage is not installed: pip install '.[test]'")
    words = [sys.executable, "-c", "import activetest.toy.marks as m; assert m.grade(9) > 'm'"]
    other = planted / "tests" / "other" / "test_program.py"
    other.parent.mkdir()
    other.write_text(
        "import subprocess\n\n\ndef test_a_program():\n"
        f"    subprocess.run({words!r}, check=True)\n",
        encoding="utf-8",
    )
    check_survivors(*run_tool(planted), tests=3)


def list_changes(code: str) -> set[str]:
    """All changes of a piece of code as `before -> after`."""
    return {f"{each.before} -> {each.after}" for each in find_changes(code, "file.py")}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("a < b", {"a < b -> a <= b"}),
        ("a == b", {"a == b -> a != b"}),
        ("a - b", {"a - b -> a + b"}),
        ("a and b", {"a and b -> a or b"}),
        ("not a", {"not a -> a"}),
        ("x[a:b]", {"a:b -> :b", "a:b -> a:"}),
        ("min(a, b)", {"min(a, b) -> max(a, b)", "min(a, b) -> pass"}),
        ("np.sqrt(a)", {"np.sqrt(a) -> a", "np.sqrt(a) -> pass"}),
        ("os.fsync(a)", {"os.fsync(a) -> pass"}),
        ("f(a, ddof=b)", {"f(a, ddof=b) -> f(a)", "f(a, ddof=b) -> pass"}),
        ("raise ValueError(f'{n + 1}')", {"raise ValueError(f'{n + 1}') -> pass"}),
        ("def f(a: int = 1): ...", {"1 -> 2"}),
        ("sql = 'BEGIN IMMEDIATE'", {"'BEGIN IMMEDIATE' -> 'BEGIN DEFERRED'"}),
        ("a = 0.5, True", {"0.5 -> 1.0", "True -> False"}),
        ('"""Text 1."""', set()),
    ],
)
def test_a_piece_of_code_has_these_changes(code, expected):
    assert list_changes(code) == expected


def test_changes_that_nobody_could_see_are_few_have_a_reason_and_can_be_made():
    equivalent = read_equivalent()
    assert all(len(reason) > 10 for reason in equivalent.values())
    assert len(equivalent) < 80
    wrong = "activetest/labels/annotators.py infer_labels: 6 -> 8"
    assert list_gone(ROOT, [*equivalent, wrong]) == [wrong]


def test_every_change_can_be_made_and_has_a_name_of_its_own():
    """A name holds when lines above move; a sample keeps its order when it grows."""
    file = "activetest/intervals/betting.py"
    source = (ROOT / file).read_text(encoding="utf-8")
    changes = find_changes(source, file)
    assert len({change.key for change in changes}) == len(changes) > 100
    moved = find_changes(f'"""Head."""\n\nimport os\n\n{source}', file)
    assert [change.key for change in moved] == [change.key for change in changes]
    sample = choose_changes(ROOT, [file], seed=3, count=12)
    assert choose_changes(ROOT, [file], seed=3, count=7) == sample[:7]
    assert choose_changes(ROOT, [file], seed=4, count=12) != sample
    for change in sample:
        compile(apply_change(source, change), file, "exec")


def test_tests_of_the_file_come_first_then_those_of_its_room_up_to_the_budget():
    tests = {
        "tests/cli/test_report.py::test_a": 1.0,
        "tests/rounds/test_race.py::test_b": 3.0,
        "tests/rounds/test_fit.py::test_c": 2.0,
        "tests/guarantees/test_families.py::test_d": 50.0,
    }
    assert order_tests("activetest/rounds/race.py", tests, budget=10) == [
        {"tests/rounds/test_race.py::test_b": 3.0},
        {"tests/rounds/test_fit.py::test_c": 2.0},
        {"tests/cli/test_report.py::test_a": 1.0},
    ]
