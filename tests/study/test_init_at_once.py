"""Several programs create a study in one folder: one of them does, and the others are told."""

import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from activetest.errors import StudyError
from activetest.study import init as verb
from activetest.study import stored
from activetest.study.study import Study
from activetest.system import atomic
from tests.makers import init

LABELS = 10


@pytest.fixture
def pool(folder, write_pool) -> Path:
    return write_pool(folder / "pool.parquet", 40)


@pytest.fixture(params=["parquet", "csv", "frame"])
def given(request, folder, write_pool, tmp_path_factory):
    """A pool by its address, one that is converted, and one that is copied."""
    if request.param == "csv":
        rows = "".join(f"item-{row},0.{row + 10}\n" for row in range(40))
        (folder / "pool.csv").write_text(f"id,score\n{rows}")
        return "pool.csv"
    if request.param == "frame":
        return pq.read_table(write_pool(tmp_path_factory.mktemp("pools") / "pool.parquet", 40))
    write_pool(folder / "pool.parquet", 40)
    return "pool.parquet"


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Number and content of every file below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(folder)): (path.stat().st_ino, path.read_bytes()) for path in files
    }


def create_and_label(given) -> dict[str, tuple[int, bytes]]:
    """Another program: it creates the study, and buys ten labels."""
    study = Study.create(given, seed=5)
    study.ingest(dict.fromkeys(study.next(LABELS).ids, study.setup.schema.classes[0]))
    return contents(study.folder)


# Steps of init into which another program comes: a module and the function that is entered.
STEPS = [
    (verb, "_open_pool"),
    (stored.config, "write_config"),
    (atomic.os, "rename"),
]


@pytest.mark.parametrize("then", ["goes on", "is interrupted"])
@pytest.mark.parametrize("step", STEPS, ids=[name for _, name in STEPS])
def test_whoever_comes_first_keeps_the_study_and_every_label(given, step, then, monkeypatch):
    folder, before = Path(".activetest"), {}
    module, name = step
    entered = getattr(module, name)

    def come_first(*arguments, **named):
        # The last step is the one that puts the study in its place, not those of its cache.
        if before or (name == "rename" and Path(arguments[1]).name != folder.name):
            return entered(*arguments, **named)
        monkeypatch.setattr(module, name, entered)
        before.update(create_and_label(given))
        if then == "is interrupted":
            raise KeyboardInterrupt
        return entered(*arguments, **named)

    monkeypatch.setattr(module, name, come_first)
    with pytest.raises(KeyboardInterrupt if then == "is interrupted" else StudyError) as raised:
        init(given, seed=6)
    assert before and contents(folder) == before
    assert Study.open().status().counts.labeled == LABELS and Study.open().seed == 5
    assert not [path for path in folder.parent.iterdir() if path.name.endswith(".tmp")]
    if then == "goes on":
        assert "another program created it meanwhile" in raised.value.problem
        assert "No such file" not in str(raised.value) and "Study.open(" in raised.value.hint


def test_an_interruption_just_after_the_study_stands_leaves_it_whole(given, monkeypatch):
    rename = os.rename

    def interrupt(source, target):
        rename(source, target)
        if Path(target).name == ".activetest":
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(os, "rename", interrupt)
        init(given, seed=5)
    assert Study.open().next(3).round == 1


def test_a_study_in_pieces_is_no_place_for_another(pool):
    """The ledger stands there, whatever is missing beside it."""
    study = Study.create("pool.parquet", seed=5)
    ledger = (study.folder / "ledger.db").read_bytes()
    (study.folder / "study.toml").unlink()
    shutil.rmtree(study.folder / "cache")
    with pytest.raises(StudyError, match="without its study.toml"):
        init("pool.parquet", seed=6)
    with pytest.raises(StudyError, match="already"), stored.creating_study(study.folder):
        pass
    assert parts(study.folder) == ["ledger.db", "pool.summary"]
    assert (study.folder / "ledger.db").read_bytes() == ledger


def test_files_of_others_that_appear_meanwhile_stay(pool, monkeypatch):
    rename = os.rename

    def write_first(source, target):
        if Path(target).name == "study":
            Path(target).mkdir()
            (Path(target) / "mine").write_text("mine")
        rename(source, target)

    monkeypatch.setattr(os, "rename", write_first)
    with pytest.raises(StudyError, match="cannot write .*study") as raised:
        init("pool.parquet", "study", seed=5)
    assert raised.value.hint and parts(Path("study")) == ["mine"]
