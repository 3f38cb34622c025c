"""Workflows: every supported Python on every system, with the commands of `.ci/run`."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed: pip install '.[test]'")

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {
    file.stem: yaml.safe_load(file.read_text(encoding="utf-8"))
    for file in sorted(FOLDER.glob("*.yml"))
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Without quotes YAML reads the key `on` as a truth value.
TRIGGERS = True


def list_steps(name: str) -> list[dict]:
    """The steps of all jobs of a workflow."""
    return [step for job in WORKFLOWS[name]["jobs"].values() for step in job["steps"]]


def find_pythons() -> list[str]:
    """The versions that the classifiers name."""
    pattern = re.compile(r"Programming Language :: Python :: (3\.\d+)")
    return [found[1] for each in PROJECT["classifiers"] if (found := pattern.fullmatch(each))]


def test_there_are_workflows_for_tests_and_releases():
    assert set(WORKFLOWS) == {"tests", "release"}
    assert set(WORKFLOWS["tests"][TRIGGERS]) == {"push", "pull_request"}
    assert WORKFLOWS["release"][TRIGGERS] == {"push": {"tags": ["v*"]}}


def test_the_tests_run_on_the_pythons_of_the_classifiers():
    matrix = WORKFLOWS["tests"]["jobs"]["tests"]["strategy"]["matrix"]
    pythons = find_pythons()
    assert matrix["python"] == pythons
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    minors = [int(version.split(".")[1]) for version in pythons]
    assert minors == list(range(minors[0], minors[-1] + 1))


def test_the_tests_run_on_linux_macos_and_windows():
    job = WORKFLOWS["tests"]["jobs"]["tests"]
    systems = [name.split("-")[0] for name in job["strategy"]["matrix"]["os"]]
    assert systems == ["ubuntu", "macos", "windows"]
    assert job["runs-on"] == "${{ matrix.os }}"
    assert any(
        step.get("with", {}).get("python-version") == "${{ matrix.python }}"
        for step in job["steps"]
    )


def test_the_commands_are_those_that_ci_runs():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [
        step["run"] for step in WORKFLOWS["tests"]["jobs"]["tests"]["steps"] if "run" in step
    ]
    assert commands == [line for line in script if line.startswith("python -m ")]


def test_style_is_checked_once():
    jobs = WORKFLOWS["tests"]["jobs"]
    assert "tests/test_style.py" in jobs["tests"]["env"]["PYTEST_ADDOPTS"]
    assert "strategy" not in jobs["style"]
    assert any(
        step.get("run") == 'python -m pytest -m "ci or not ci" tests/test_style.py'
        for step in list_steps("tests")
    )
    assert (ROOT / "tests" / "test_style.py").exists()


def test_the_lowest_versions_are_tested_once_with_the_lowest_python():
    job = WORKFLOWS["tests"]["jobs"]["lowest"]
    assert "strategy" not in job
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/lowest"]
    assert job["steps"][1]["with"]["python-version"] == find_pythons()[0]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_to_a_major_version(name):
    actions = [step["uses"] for step in list_steps(name) if "uses" in step]
    assert actions
    assert [action for action in actions if not re.fullmatch(r"actions/[\w-]+@v\d+", action)] == []


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_only_read_unless_a_job_says_otherwise_and_has_no_secrets(name):
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    assert "secrets." not in (FOLDER / f"{name}.yml").read_text(encoding="utf-8")
