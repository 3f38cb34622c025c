"""Files that are nobody's work may be written over, and what a study rests on never."""

import os
from pathlib import Path

import pytest

from activetest.errors import ChoiceError, StorageError
from activetest.system import overwrite


def refuse(path: Path) -> None:
    raise ChoiceError(f"{path} is not ours")


def accept(path: Path) -> None:
    """Every file is ours."""


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A study and its inputs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mystudy" / "rounds").mkdir(parents=True)
    for name in ("study.toml", "ledger.db", "rounds/a.npz"):
        (tmp_path / "mystudy" / name).write_text("kept")
    (tmp_path / "pools" / "2024").mkdir(parents=True)
    (tmp_path / "pools" / "2024" / "part.parquet").write_text("kept")
    for name in ("pool.csv", "train.csv", "mine.csv"):
        (tmp_path / name).write_text("kept")
    return tmp_path


INPUTS = {
    "the pool": "pool.csv",
    "a folder of pools": "pools",
    "the file of training rows": Path("train.csv"),
    "what is elsewhere": "s3://bucket/mine.csv",
    "no address": {"a": 1},
    "nothing": None,
    "an empty name": "",
    "a pool that is gone": "gone.parquet",
}


def check(path, check_content=accept, **more) -> None:
    overwrite.check_target(
        Path(path), check_content, **{"inputs": INPUTS, "study": Path("mystudy")} | more
    )


PROTECTED = {
    "pool.csv": "the pool",
    "pools/../pool.csv": "the pool",
    "train.csv": "the file of training rows",
    "mystudy/ledger.db": "inside the study",
    "mystudy/new.csv": "inside the study",
    "mystudy/rounds/a.npz": "inside the study",
    "mystudy/new/new.csv": "inside the study",
    "pools/2024/part.parquet": "inside a folder of pools",
    "pools/new.PARQUET": "inside a folder of pools",
    "link": "the pool",
    "hard": "the file of training rows",
    "hard of a part": "a file of a folder of pools",
    "hard of a round": "a file of the study",
    "link of a folder/new.csv": "inside the study",
    "link of a folder/../mystudy/new.csv": "inside the study",
}


@pytest.mark.skipif(os.name != "posix", reason="elsewhere links need a permission")
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("path", PROTECTED)
def test_no_file_of_a_study_and_no_input_is_written_over(place, path, force):
    (place / "link").symlink_to("pool.csv")
    os.link("train.csv", "hard")
    os.link("pools/2024/part.parquet", "hard of a part")
    os.link("mystudy/rounds/a.npz", "hard of a round")
    (place / "link of a folder").symlink_to("mystudy")
    before = sorted(place.rglob("*"))
    with pytest.raises(StorageError, match="never written over") as raised:
        check(path, force=force)
    assert PROTECTED[path] in raised.value.problem and path in raised.value.problem
    assert raised.value.hint == "write to another file" and sorted(place.rglob("*")) == before


def test_names_of_any_case_are_the_same_where_the_system_says_so(place, monkeypatch):
    """A file system that ignores case: both names lead to one file."""
    state = os.stat

    def ignore_case(path, *rest, **more):
        return state(os.fspath(path).lower() if isinstance(path, str | Path) else path)

    (place / "x").mkdir()
    monkeypatch.chdir(place / "x")
    lower = Path(str(place).lower())
    if not lower.exists():
        lower.parent.mkdir(parents=True, exist_ok=True)
        lower.symlink_to(place)
    monkeypatch.setattr(os, "stat", ignore_case)
    for name in ("../POOL.csv", "../MyStudy/new.csv"):
        with pytest.raises(StorageError, match="never written over"):
            check(name, inputs={"the pool": "../pool.csv"}, study=Path("../mystudy"))


def test_addresses_of_files_are_inputs_too(place):
    with pytest.raises(StorageError, match="is the pool"):
        check("pool.csv", inputs={"the pool": (place / "pool.csv").as_uri()})
    (place / "a b.csv").write_text("kept")
    with pytest.raises(StorageError, match="is the pool"):
        check("a b.csv", inputs={"the pool": (place / "a b.csv").as_uri()})


def test_every_study_is_recognised_also_from_elsewhere(place):
    (place / "other").mkdir()
    (place / "other" / "study.toml").touch()
    (place / ".activetest").mkdir()
    for name in ("other/curves.svg", ".activetest/curves.svg", "mystudy/curves.svg"):
        with pytest.raises(StorageError, match="inside the study"):
            check(name, study=None)


def test_a_file_is_only_replaced_where_it_is_ours_or_by_force(place):
    with pytest.raises(ChoiceError, match=r"mine\.csv is not ours"):
        check("mine.csv", refuse)
    check("mine.csv", refuse, force=True)
    check("mine.csv", accept)


def test_new_and_empty_files_and_devices_are_written_without_a_look(place):
    (place / "empty.csv").touch()
    # A name that no file can have is refused where it is written.
    for path in ("new.csv", "nowhere/new.csv", "empty.csv", os.devnull, "x" * 300, "mine.csv/new"):
        check(path, refuse)


def test_in_a_folder_of_pools_only_what_is_ours_is_replaced(place):
    (place / "pools" / "notes.csv").write_text("mine")
    check("pools/new.csv", refuse)
    check("pools/notes.csv", accept)
    for force, error in ((False, ChoiceError), (True, StorageError)):
        with pytest.raises(error, match=r"notes\.csv"):
            check("pools/notes.csv", refuse, force=force)
