"""Studies and pools that may only be read."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.errors import CacheRebuilt, PoolError, StorageError, StudyError
from activetest.study.study import Study
from tests import makers

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="permissions are another matter on this system"
)
NOBODY = 65534
# Of both kinds, where the second is converted.
BOTH = pytest.mark.parametrize("labelled", ["pool.parquet", "pool.csv"], indirect=True)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Do without the rights of root, if this is root: permissions count."""
    if os.geteuid():
        yield
        return
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def place(monkeypatch) -> Iterator[Path]:
    """A working directory that everybody may enter."""
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    folder = Path(tempfile.mkdtemp(prefix="activetest-tests-"))
    folder.chmod(0o755)
    monkeypatch.chdir(folder)
    yield folder
    protect(folder, folders=0o755, files=0o644)
    shutil.rmtree(folder)


def protect(folder: Path, *, folders: int = 0o555, files: int = 0o444) -> None:
    """Set the permissions of a folder and of everything in it."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(folders if path.is_dir() else files)


@pytest.fixture
def labelled(place, request) -> Path:
    """The folder of a study of a pool in a folder `data`, with eight labels."""
    (place / "data").mkdir()
    table = pq.read_table(makers.write_pool(place / "data" / "pool.parquet", 60))
    pyarrow.csv.write_csv(table, place / "data" / "pool.csv")
    protect(place / "data")
    study = Study.create(
        f"data/{getattr(request, 'param', 'pool.parquet')}", "study", groups="place", seed=1
    )
    answers = "".join(f"{id},cat\n" for id in study.next(8).ids)
    (place / "labels.csv").write_text(f"id,label\n{answers}")
    # Whatever is imported late is imported now: others may not be allowed to read this Python.
    assert main(["ingest", "labels.csv", "--study", "study"]) == 0
    for words in ([], ["--format", "json"], ["--require", "nonsense"]):
        assert main(["report", "--study", "study", *words]) in (0, 2)
    return place / "study"


def read_report(capsys) -> dict:
    """The report as anybody gets it."""
    capsys.readouterr()
    with as_nobody():
        assert main(["report", "--study", "study", "--format", "json"]) == 0
        return json.loads(capsys.readouterr().out)


@BOTH
def test_a_study_needs_no_right_to_write_in_the_folder_of_its_pool(labelled, capsys):
    stored = Study.open("study")._stored
    pool = Path(stored.uri).relative_to(labelled.parent)
    labelled.parent.chmod(0o777)
    with as_nobody():
        with pytest.raises(PermissionError):
            (labelled.parent / "data" / "new").touch()
        assert main(["init", str(pool), "--study", "other", "--seed", "1"]) == 0
        assert main(["next", "-n", "3", "--study", "other"]) == 0
        assert main(["report", "--study", "other"]) == 0
    names = sorted(path.name for path in (labelled.parent / "data").iterdir())
    assert names == ["pool.csv", "pool.parquet"]


def test_a_gate_of_a_study_that_may_only_be_read_is_decided_and_a_note_says_what_is_missing(
    labelled, capsys
):
    study = Study.open("study")
    gates = ["error<=0.9", "accuracy>=0.05"]
    study.report(require=gates[:1])
    expected = Study.open("study").report(require=gates[:1])
    content = (labelled / "ledger.db").read_bytes()
    protect(labelled)
    with as_nobody():
        # It was recorded before.
        assert Study.open("study").report(require=gates[:1]).notes == expected.notes
        found = Study.open("study").report(require=gates)
        assert found.gates[0].quantity == expected.gates[0].quantity
        (note,) = (each.text for each in found.notes if "may only be read" in each.text)
        assert note in " ".join(str(found).split()) and note in json.loads(found.to_json())["notes"]
    assert (labelled / "ledger.db").read_bytes() == content


@BOTH
def test_a_report_needs_no_right_to_write(labelled, capsys):
    expected = read_report(capsys)
    protect(labelled)
    before = {path: path.stat().st_mtime_ns for path in labelled.parent.rglob("*")}
    assert read_report(capsys) == expected
    with as_nobody():
        assert main(["status", "--study", "study"]) == 0
        assert Study.open("study").report(differences="place").estimates
        study = Study.open("study")
        with pytest.raises(StorageError, match=r"cannot write .*ledger\.db"):
            study.next(3)
        with pytest.raises(StorageError, match=r"cannot write .*ledger\.db"):
            study.undo()
    assert before == {path: path.stat().st_mtime_ns for path in labelled.parent.rglob("*")}


def test_a_cache_that_may_not_be_written_is_built_elsewhere_and_a_note_names_the_place(
    labelled, capsys
):
    expected = read_report(capsys)
    shutil.rmtree(labelled / "cache")
    protect(labelled)
    assert read_report(capsys) == expected
    with as_nobody():
        assert main(["report", "--study", "study"]) == 0
        error = capsys.readouterr().err
        assert f"note: {labelled} may not be written: a cache of its pool is built in" in error
        place = Path(error.split("is built in ")[1].split(",")[0])
        with pytest.warns(CacheRebuilt) as caught:
            study = Study.open("study")
            assert study.report().to_json() == study.report().to_json()
        assert len(caught) == 1
    assert not place.exists() and not (labelled / "cache").exists()


def test_what_may_not_be_read_is_not_called_unwritable(labelled, capsys):
    unreadable = [labelled / "ledger.db", labelled / "study.toml", labelled]
    for path in unreadable:
        mode = path.stat().st_mode
        path.chmod(0)
        with as_nobody():
            with pytest.raises((StudyError, PermissionError)):
                Study.open("study").status()
            assert main(["status", "--study", "study"]) == 2
        error = capsys.readouterr().err
        assert "cannot write" not in error and str(path) in error and "read" in error
        path.chmod(mode)
    with as_nobody():
        assert main(["status", "--study", "study"]) == 0


def test_a_pool_that_may_not_be_read_is_not_called_unwritable(labelled, capsys):
    pool = Path(Study.open("study")._stored.uri)
    os.utime(pool, (1, 1))
    pool.chmod(0)
    with as_nobody():
        assert main(["report", "--study", "study"]) == 2
        error = capsys.readouterr().err
        assert "cannot write" not in error and "may not be read" in error and pool.name in error
        with pytest.raises(PoolError):
            Study.open("study").report()
