"""The files of a report: formats from endings, only our own files replaced, all or none."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from activetest import catalog
from activetest.errors import ActivetestError, ChoiceError, StorageError
from activetest.render.files import documents
from activetest.study import report_files
from activetest.study.study import Study

GATE = "error<=0.9"
NAMES = ["report.html", "report.json", "junit.xml", "summary.md", "report.txt"]


@pytest.fixture
def face(study, label_draws) -> Study:
    label_draws(study, 12)
    return Study.open()


@pytest.fixture
def report(face):
    return face.report(require=GATE, details=True)


def test_every_format_has_endings_of_its_own_and_marks():
    endings = [
        ending
        for each in catalog.names("render")
        for ending in catalog.fact("render", each, "SUFFIXES")
    ]
    assert len(set(endings)) == len(endings) >= len(NAMES)
    for each in catalog.names("render"):
        assert catalog.fact("render", each, "MARKS") or catalog.fact("render", each, "HEAD"), each


def test_a_report_is_written_in_the_format_of_each_ending(report, folder):
    report.save(NAMES)
    found = {name: (folder / name).read_text(encoding="utf-8") for name in NAMES}
    assert found["report.json"] == report.to_json()
    assert found["summary.md"].endswith(report.to_markdown())
    assert "<testsuites " in found["junit.xml"]
    assert "gates: 1" in found["report.txt"] and "\x1b" not in found["report.txt"]


def test_text_in_a_file_is_the_same_whatever_standard_output_is(report, folder, monkeypatch):
    report.save("first.txt")
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    report.save("second.txt")
    assert (folder / "first.txt").read_bytes() == (folder / "second.txt").read_bytes()


def test_an_earlier_report_is_replaced_and_anything_else_only_by_force(report, folder):
    for name in NAMES:
        path = folder / name
        report.save(path)
        report.save(path)
        foreign = '{\n  "schema_version": 3,\n  "of": "<testsuites ", "as": "<!-- report -->"\n}\n'
        path.write_text(foreign, encoding="utf-8")
        with pytest.raises(StorageError, match="is there already"):
            report.save(path)
        assert path.read_text(encoding="utf-8") == foreign
        report.save(path, force=True)
        report.save(path)


def test_a_report_in_one_format_does_not_take_the_place_of_another(report, folder):
    report.save("report.json")
    os.rename(folder / "report.json", folder / "summary.md")
    with pytest.raises(StorageError):
        report.save("summary.md")


@pytest.mark.parametrize(
    "path", ["report", "report.pdf", "-", "missing/report.json", "report.json\0", "folder.md"]
)
def test_what_can_be_no_report_s_file_is_refused_and_nothing_is_written(report, folder, path):
    (folder / "folder.md").mkdir()
    before = sorted(folder.rglob("*"))
    for check in (report.save, Study.open().check_report_files):
        with pytest.raises(ActivetestError):
            check(["first.json", path])
    assert sorted(folder.rglob("*")) == before


def test_an_unknown_ending_names_the_known_ones(report):
    with pytest.raises(ChoiceError) as error:
        report.save("report.pdf")
    assert all(ending in error.value.hint for ending in (".json", ".xml", ".md", ".txt"))


def test_no_file_of_the_study_or_its_pool_is_written_over(report, face, folder):
    linked = folder / "linked.json"
    linked.symlink_to(folder / "pool.parquet")
    pool = (folder / "pool.parquet").read_bytes()
    for path in (face.folder / "report.json", linked):
        for force in (False, True):
            with pytest.raises(StorageError):
                report.save(path, force=force)
            with pytest.raises(StorageError):
                face.check_report_files(path, force=force)
    assert (folder / "pool.parquet").read_bytes() == pool


@pytest.mark.parametrize("name", ["../out.md", "/tmp/out.md", "link/out.md", "a/../../out.md"])
def test_a_study_of_somebody_else_writes_nothing_elsewhere(study, folder, name, tmp_path_factory):
    (folder / "link").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    with pytest.raises(ChoiceError, match="not below"):
        report_files.locate_files([name], study.folder)
    assert report_files.locate_files(["deep/out.md"], study.folder) == (folder / "deep/out.md",)


def test_two_names_of_one_file_are_refused(report, folder):
    with pytest.raises(ChoiceError, match="one file"):
        report.save(["report.json", folder / "report.json"])


def test_where_one_file_fails_none_is_written(report, folder, monkeypatch):
    report.save(NAMES)
    before = {name: (folder / name).read_bytes() for name in NAMES}
    written = []

    def fill(path: Path, text: str) -> None:
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        written.append(path)
        path.write_text(text, encoding="utf-8")

    monkeypatch.setattr(documents, "_write_text", fill)
    with pytest.raises(StorageError, match="No space left|space"):
        replace(report, seed=7).save(NAMES)
    assert {name: (folder / name).read_bytes() for name in NAMES} == before
    assert not [each for each in folder.iterdir() if "activetest-" in each.name]


def test_junit_needs_gates(face, folder):
    with pytest.raises(ChoiceError, match="list of gates"):
        face.report().save(["report.json", "junit.xml"])
    assert not (folder / "report.json").exists()


def test_a_page_needs_details(face, folder):
    with pytest.raises(ChoiceError, match="details"):
        face.report().save("report.html")
    assert not (folder / "report.html").exists()


def test_checking_changes_nothing(face, report, folder):
    report.save("report.json")
    before = (folder / "report.json").read_bytes()
    assert face.check_report_files(["report.json", "new.md"]) == ("json", "markdown")
    assert (folder / "report.json").read_bytes() == before
    assert not (folder / "new.md").exists()
    assert json.loads(before)["schema_version"]
