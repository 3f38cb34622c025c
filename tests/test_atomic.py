"""Files and folders appear whole or not at all, and what killed processes left is removed."""

import os
import re
import stat
import time
from pathlib import Path

import pytest

from activetest import atomic


class Failure(Exception):
    """Raised by a block."""


def leave(path, *, hours: float):
    """A folder with a file in it, last changed so many hours ago."""
    path.mkdir()
    (path / "part").write_text("half")
    then = time.time() - 3600 * hours
    os.utime(path, (then, then))
    return path


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- files


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("before", [None, "old"])
def test_a_file_appears_when_the_block_ends_and_not_before(tmp_path, before, durable):
    path = tmp_path / "file.txt"
    if before:
        path.write_text(before)
    with atomic.replacing_file(path, durable=durable) as building:
        building.write_text("new")
        assert building.parent == path.parent
        assert (path.read_text() if path.exists() else None) == before
    assert path.read_text() == "new"
    assert names(tmp_path) == ["file.txt"]


@pytest.mark.parametrize("before", [None, "old"])
def test_a_block_that_fails_leaves_the_file_as_it_was(tmp_path, before):
    path = tmp_path / "file.txt"
    if before:
        path.write_text(before)
    with pytest.raises(Failure), atomic.replacing_file(path) as building:
        building.write_text("half of the new")
        raise Failure
    assert names(tmp_path) == (["file.txt"] if before else [])
    assert not before or path.read_text() == before


def test_a_block_that_leaves_no_file_changes_nothing(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with atomic.replacing_file(path) as building:
        building.write_text("new")
        building.unlink()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["file.txt"]


def test_two_writers_do_not_share_a_temporary_file(tmp_path):
    path = tmp_path / "file.txt"
    with atomic.replacing_file(path) as first, atomic.replacing_file(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    # The outer block ends last.
    assert path.read_text() == "first"


def test_a_file_cannot_take_the_place_of_a_folder(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError), atomic.replacing_file(tmp_path / "folder") as building:
        building.write_text("new")
    assert names(tmp_path) == ["folder"]


def test_a_moved_file_replaces_the_one_there(tmp_path):
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    atomic.move_file(tmp_path / "new", tmp_path / "old")
    assert names(tmp_path) == ["old"] and (tmp_path / "old").read_text() == "new"


def test_the_names_in_a_folder_can_be_waited_for(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    atomic.sync_folder(tmp_path)
    assert synced == [tmp_path.stat().st_ino]


# --- folders


def test_a_folder_appears_whole_in_place_of_the_old_one(tmp_path):
    folder = tmp_path / "below" / "cache"
    for content in ("first", "second"):
        with atomic.replacing_folder(folder) as building:
            (building / content).write_text(content)
            assert building.parent == folder.parent
            assert not folder.exists() or names(folder) == ["first"]
        assert names(folder) == [content]
    assert names(folder.parent) == ["cache"]


@pytest.mark.skipif(os.name != "posix", reason="only there have folders such permissions")
def test_others_may_read_a_folder(tmp_path):
    with atomic.replacing_folder(tmp_path / "cache"):
        pass
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o755


def test_no_folder_is_renamed_to_a_name_that_is_taken(tmp_path, monkeypatch):
    """Windows refuses that, also where the folder in the way is empty."""
    rename = os.rename

    def rename_as_windows_does(source, target):
        if Path(target).exists():
            raise FileExistsError(target)
        rename(source, target)

    monkeypatch.setattr(os, "rename", rename_as_windows_does)
    for content in ("first", "second"):
        with atomic.replacing_folder(tmp_path / "cache") as building:
            (building / content).write_text(content)
        assert names(tmp_path / "cache") == [content]
    assert names(tmp_path) == ["cache"]


def test_a_block_that_fails_leaves_the_folder_as_it_was(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "old").write_text("old")
    with pytest.raises(Failure), atomic.replacing_folder(folder) as building:
        (building / "new").write_text("half")
        raise Failure
    assert names(tmp_path) == ["cache"] and names(folder) == ["old"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file keeps its folder")
def test_who_reads_the_old_folder_can_read_on(tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "part").write_text("old")
    with open(folder / "part", encoding="utf-8") as file:
        with atomic.replacing_folder(folder) as building:
            (building / "part").write_text("new")
        assert file.read() == "old"
    assert (folder / "part").read_text() == "new"


def test_a_folder_cannot_take_the_place_of_a_file(tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(OSError), atomic.replacing_folder(tmp_path / "cache") as building:
        (building / "part").write_text("new")
    assert names(tmp_path) == ["cache"]


def test_of_two_that_replace_a_folder_at_once_the_later_one_stays(tmp_path):
    folder = tmp_path / "cache"
    with atomic.replacing_folder(folder) as later:
        with atomic.replacing_folder(folder) as earlier:
            (earlier / "earlier").write_text("")
        (later / "later").write_text("")
    assert names(folder) == ["later"] and names(tmp_path) == ["cache"]


def test_a_completed_folder_keeps_what_was_in_it(tmp_path):
    folder = tmp_path / "below" / "study"
    (folder / "cache").mkdir(parents=True)
    with atomic.completing_folder(folder) as building:
        (building / "config").write_text("new")
        assert names(folder) == ["cache"]
    assert names(folder) == ["cache", "config"] and names(folder.parent) == ["study"]


def test_of_two_that_complete_a_folder_the_first_stays_whole(tmp_path):
    folder = tmp_path / "study"
    with (
        pytest.raises(FileExistsError, match="config"),
        atomic.completing_folder(folder) as building,
    ):
        (building / "config").write_text("second")
        with atomic.completing_folder(folder) as other:
            for name in ("config", "ledger", "a"):
                (other / name).write_text("first")
    assert names(folder) == ["a", "config", "ledger"] and names(tmp_path) == ["study"]
    assert {(folder / name).read_text() for name in names(folder)} == {"first"}


def test_a_block_that_fails_completes_no_folder(tmp_path):
    with pytest.raises(Failure), atomic.completing_folder(tmp_path / "study") as building:
        (building / "config").write_text("half")
        raise Failure
    assert names(tmp_path) == []


# --- what killed processes left


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (atomic.replacing_folder, ".study-ab12"),
        (atomic.completing_folder, "study.0badcafe.tmp"),
    ],
)
def test_temporary_folders_of_killed_processes_are_removed_after_an_hour(tmp_path, write, name):
    leave(tmp_path / name, hours=2)
    others = {"stranger", f"{name}-of-another" if name.endswith(".tmp") else "study-ab12"}
    for other in others:
        leave(tmp_path / other, hours=2)
    at_work = leave(tmp_path / name.replace("ab12", "cd34").replace("0badcafe", "12"), hours=0.5)
    with write(tmp_path / "study"):
        pass
    assert set(names(tmp_path)) == {"study", at_work.name, *others}


def test_no_other_module_writes_atomically_by_hand():
    package = Path(atomic.__file__).parent
    by_hand = re.compile(r"os\.(replace|rename|fsync)\b|\b(mkdtemp|mkstemp)\b|\.rename\(")
    others = [path for path in package.rglob("*.py") if path.name != "atomic.py"]
    assert by_hand.search(Path(atomic.__file__).read_text(encoding="utf-8"))
    found = [path.name for path in others if by_hand.search(path.read_text(encoding="utf-8"))]
    assert found == []


# --- on the disk


@pytest.fixture
def calls(monkeypatch) -> list[tuple[str, str]]:
    """What is asked of the system, in order: ("sync", name), ("place", name)."""
    found: list[tuple[str, str]] = []
    of_handles: dict[int, str] = {}
    originals = {name: getattr(os, name) for name in ("open", "fsync", "replace")}
    rename = Path.rename

    def note_open(path, flags, *rest, **more):
        handle = originals["open"](path, flags, *rest, **more)
        of_handles[handle] = Path(path).name
        return handle

    def note_sync(handle):
        name = of_handles.get(handle) or Path(os.readlink(f"/proc/self/fd/{handle}")).name
        found.append(("sync", re.sub(r"\w{8}\.tmp$", "new", name)))
        originals["fsync"](handle)

    def note_place(source, target):
        found.append(("place", Path(target).name))
        originals["replace"](source, target)

    def note_rename(source, target):
        found.append(("place", Path(target).name))
        return rename(source, target)

    monkeypatch.setattr(os, "open", note_open)
    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_place)
    monkeypatch.setattr(Path, "rename", note_rename)
    return found


of_linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="names of open files")


@of_linux
def test_a_durable_file_is_on_the_disk_before_and_after_it_takes_its_place(tmp_path, calls):
    with atomic.replacing_file(tmp_path / "file.txt", durable=True) as building:
        building.write_text("new")
    assert calls == [("sync", ".file.txt.new"), ("place", "file.txt"), ("sync", tmp_path.name)]
    calls.clear()
    with atomic.replacing_file(tmp_path / "file.txt") as building:
        building.write_text("newer")
    assert calls == [("place", "file.txt")]


@of_linux
def test_a_completed_folder_and_those_above_it_are_on_the_disk(tmp_path, calls):
    with atomic.completing_folder(tmp_path / "above" / "study") as building:
        (building / "part").write_text("new")
    assert calls[:4] == [
        *(("sync", "study.new"), ("place", "study")),
        *(("sync", "above"), ("sync", tmp_path.name)),
    ]
