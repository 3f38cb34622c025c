"""Wings can be deleted: the rest works, and a study that uses one is answered in a sentence."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from activetest import wings
from activetest.nouns.choices import Choices
from activetest.nouns.records import list_names
from activetest.study.stored import StoredStudy
from activetest.wings import WINGS

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "sample_data"
# Names of choices that mean something else in files about choices: declined items at their worst,
# a column of labels, and an argument of reports.
OTHER_MEANINGS = {
    "nouns/choices.py": {"worst"},
    "estimation/assumptions.py": {"worst"},
    "pool/classes.py": {"target"},
    "study/findings.py": {"surface"},
    "study/report.py": {"rope", "surface"},
    "study/study.py": {"surface"},
}
# A study of each wing: how it begins, what is missing without the wing, and when that is said.
USES = {
    "best": ("--model v2=digits.parquet --question best", "report", "no question is called 'best'"),
    "curves": ("", "export --curve reliability", "no export is called 'curve'"),
    "groups": ("--group ink --question identify", "report", "no question is called 'identify'"),
    "judges": ("--judge verdict", "report", "lacks 'findings/judge'"),
    "neural": ("--surrogate ensemble", "next", "no surrogate is called 'ensemble'"),
    "surfaces": ("--attributes ink,predicted", "report", "lacks 'findings/surface'"),
}
LOOP = """
import csv, pkgutil
import activetest
from activetest.cli.app import main

for found in pkgutil.walk_packages(activetest.__path__, "activetest."):
    if "__main__" not in found.name and "sample_data" not in found.name:
        __import__(found.name)
for words in (
    "init digits.parquet --group ink --seed 1",
    "next --n 20 -o batch.csv",
    "ingest answers.csv",
    "report",
    "report --format markdown",
    "report --format json -o report.json",
    "report -o report.html",
    "report --require error<=0.9",
    "status",
    "simulate digits.parquet --labels digits.labels.csv --budget 10 --runs 2",
):
    if words.startswith("ingest"):
        labels = dict(csv.reader(open("digits.labels.csv")))
        drawn = [row["id"] for row in csv.DictReader(open("batch.csv"))]
        with open("answers.csv", "w") as file:
            csv.writer(file).writerows([("id", "label"), *((id, labels[id]) for id in drawn)])
    assert main(words.split()) in (0, 3), words
"""


def run(package: Path, folder: Path, *words: str) -> subprocess.CompletedProcess:
    """Python with the copy of the package in its path."""
    env = os.environ | {"PYTHONPATH": str(package)}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with a pool, its labels, and the verdicts of a judge."""
    place = tmp_path / "work"
    place.mkdir()
    for name in ("digits.parquet", "digits.labels.csv"):
        shutil.copy(SAMPLE / name, place)
    rows = "".join(f"i{row},{'yes' if row % 3 else 'no'}\n" for row in range(60))
    (place / "verdicts.csv").write_text("id,verdict\n" + rows)
    return place


def copy_without(target: Path, *wings: str) -> Path:
    """A folder with a copy of the package that lacks these wings."""
    ignored = shutil.ignore_patterns("__pycache__", *wings)

    def leave_out(place: str, names: list[str]) -> set[str]:
        inside = Path(place).name == "wings"
        return ignored(place, names) if inside else {"__pycache__"}

    shutil.copytree(ROOT / "activetest", target / "activetest", ignore=leave_out)
    return target


def test_every_wing_is_in_the_table():
    found = {each.parent.name for each in ROOT.glob("activetest/wings/*/__init__.py")}
    assert found == {*WINGS} == {*USES}


def test_without_any_wing_a_study_runs_to_its_report_and_a_simulation_too(tmp_path, folder):
    package = copy_without(tmp_path / "copy", *WINGS)
    done = run(package, folder, "-c", LOOP)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-500:]


@pytest.mark.slow
@pytest.mark.parametrize("wing", WINGS)
def test_without_a_wing_a_study_runs_to_its_report_and_a_simulation_too(tmp_path, folder, wing):
    package = copy_without(tmp_path / "copy", wing)
    done = run(package, folder, "-c", LOOP)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-500:]


@pytest.mark.parametrize("wing", WINGS)
def test_a_study_that_uses_a_deleted_wing_is_answered_in_one_sentence(tmp_path, folder, wing):
    given, command, sentence = USES[wing]
    pool = "verdicts.csv" if wing == "judges" else "digits.parquet"
    begun = run(ROOT, folder, "-m", "activetest", "init", pool, *given.split())
    assert begun.returncode == 0, begun.stderr
    before = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    package = copy_without(tmp_path / "copy", wing)
    done = run(package, folder, "-m", "activetest", *command.split())
    assert done.returncode == 2 and not done.stdout
    assert sentence in done.stderr and "Traceback" not in done.stderr
    assert before == {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize(("wing", "choice"), [("groups", "rope"), ("surfaces", "min_support")])
def test_a_study_goes_on_without_a_wing_whose_choices_it_only_recorded(
    tmp_path, folder, wing, choice
):
    package, config = copy_without(tmp_path / "copy", wing), folder / ".activetest/study.toml"

    def do(place: Path, *words: str) -> str:
        done = run(place, folder, "-m", "activetest", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    do(ROOT, "init", "digits.parquet", "--seed", "1")
    do(ROOT, "next", "-n", "5", "-o", "first.csv")
    before = tomllib.loads(config.read_text())["choices"]
    do(package, "init", "--budget", "50")
    do(package, "next", "--new", "-n", "5", "-o", "second.csv")
    do(package, "report")
    after = tomllib.loads(config.read_text())["choices"]
    assert after == before | {"budget": 50} and choice in after
    do(ROOT, "next", "--new", "-n", "5", "-o", "third.csv")
    study = StoredStudy.open(folder / ".activetest")
    first, second, third = ([*each.choices] for each in study.log(study.cache()).history)
    assert first == third and choice in first
    assert [name for name in first if name in second] == second != first


def test_an_unknown_choice_is_refused_where_no_wing_is_missing(folder):
    run(ROOT, folder, "-m", "activetest", "init", "digits.parquet", "--seed", "1")
    config = folder / ".activetest/study.toml"
    config.write_text(config.read_text().replace("rope =", "roap ="))
    done = run(ROOT, folder, "-m", "activetest", "status")
    assert done.returncode == 2 and "there is no choice 'roap'" in done.stderr


@pytest.mark.parametrize(
    ("wing", "option"),
    [
        ("best", "--tolerance"),
        ("groups", "--worst"),
        ("surfaces", "--min-support"),
        ("judges", "--judge"),
    ],
)
def test_options_of_a_deleted_wing_are_not_offered(tmp_path, folder, wing, option):
    package = copy_without(tmp_path / "copy", wing)
    whole, rest = (
        run(each, folder, "-m", "activetest", "init", "--help-all").stdout
        for each in (ROOT, package)
    )
    assert option in whole and option not in rest
    assert "--group" in rest


def find_named(tree: ast.AST, fields: set[str]) -> set[str]:
    """Fields that code names: as attributes, as texts, and as arguments of Choices and replace."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                found.add(name)
            case ast.Call(func=ast.Name(id="Choices" | "replace"), keywords=named):
                found |= {each.arg for each in named}
    return found & fields


def test_no_file_of_the_core_names_a_choice_that_a_wing_declares():
    """For mypy, choices of the core have no such attribute: it does not see what wings add."""
    records = [wing.CHOICES for wing in wings.load_each("choices")]
    declared = {each.name for record in records for each in fields(record)}
    assert {"worst", "rope", "surface", "min_support"} < declared <= {*list_names(Choices)}
    found = {}
    for file in sorted((ROOT / "activetest").rglob("*.py")):
        inside, text = file.relative_to(ROOT / "activetest"), file.read_text(encoding="utf-8")
        of_choices = "nouns.choices import" in text or inside.as_posix() == "nouns/choices.py"
        if of_choices and inside.parts[0] not in ("wings", "sample_data"):
            found[inside.as_posix()] = find_named(ast.parse(text), declared)
    assert {file: named for file, named in found.items() if named} == OTHER_MEANINGS
