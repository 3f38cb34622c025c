"""Files and folders appear whole or not at all, and what killed processes left is removed."""

import contextlib
import errno
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from activetest.system import atomic, locks

ROOT = Path(__file__).parents[2]


class Failure(Exception):
    """Raised by a block."""


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
            assert folder.parent in building.parents
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


@pytest.mark.parametrize("empty", [False, True])
def test_a_created_folder_appears_whole(tmp_path, empty):
    folder = tmp_path / "below" / "study"
    if empty:
        folder.mkdir(parents=True)
    with atomic.creating_folder(folder) as building:
        (building / "config").write_text("new")
        assert not folder.exists() or names(folder) == []
    assert names(folder) == ["config"] and names(folder.parent) == ["study"]


def test_of_two_that_create_a_folder_the_first_stays_and_the_second_fails(tmp_path):
    folder = tmp_path / "study"
    with pytest.raises(OSError), atomic.creating_folder(folder) as building:
        (building / "config").write_text("second")
        with atomic.creating_folder(folder) as other:
            (other / "config").write_text("first")
    assert names(tmp_path) == ["study"] and (folder / "config").read_text() == "first"


def test_no_folder_is_created_over_anything(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "part").write_text("mine")
    for name in ("file", "full"):
        with pytest.raises(OSError), atomic.creating_folder(tmp_path / name) as building:
            (building / "part").write_text("new")
    assert names(tmp_path) == ["file", "full"]
    assert (tmp_path / "full" / "part").read_text() == "mine"


@pytest.mark.skipif(os.name != "posix", reason="elsewhere links need a permission")
def test_the_folder_that_a_link_points_to_is_created(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with atomic.creating_folder(tmp_path / "link") as building:
        (building / "config").write_text("new")
    assert (tmp_path / "link").is_symlink() and names(tmp_path / "elsewhere") == ["config"]


def test_a_block_that_fails_creates_no_folder(tmp_path):
    with pytest.raises(Failure), atomic.creating_folder(tmp_path / "study") as building:
        (building / "config").write_text("half")
        raise Failure
    assert names(tmp_path) == []


# --- what killed processes left


of_locks = pytest.mark.skipif(os.name != "posix", reason="there, locks are tried by other means")
# Work of a killed process, in a folder that it is given.
WORK = {
    "a file": "with atomic.replacing_file(folder / 'batch.csv') as path:",
    "a replaced folder": "with atomic.replacing_folder(folder / 'cache') as path:",
    "a created folder": "with atomic.creating_folder(folder / 'study') as path:",
    "a temporary folder": "with atomic.temporary_folder(folder) as path:",
}
PROGRAM = """
import sys
from pathlib import Path
from activetest.system import atomic
folder = Path(sys.argv[1])
{}
    target = path / "part" if path.is_dir() else path
    target.write_text("half")
    print(path, flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def working(folder, work: str):
    """Another process that does so until it is killed; the path it works at."""
    program = [sys.executable, "-c", PROGRAM.format(WORK[work]), str(folder)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(program, cwd=ROOT, **streams) as process:
        try:
            yield process, Path(process.stdout.readline().strip())
        finally:
            process.kill()


def visit(folder) -> None:
    """Write something else there."""
    with atomic.replacing_file(folder / "other") as building:
        building.write_text("new")


@of_locks
@pytest.mark.parametrize("work", WORK)
def test_what_a_killed_process_left_is_removed_and_nothing_that_is_in_use(
    tmp_path, work, monkeypatch
):
    with working(tmp_path, work) as (process, path):
        before = names(tmp_path)
        # A clock that is off by years changes nothing.
        monkeypatch.setattr(time, "time", lambda: 0.0)
        for when in (0, 2**31):
            for name in before:
                os.utime(tmp_path / name, (when, when))
            visit(tmp_path)
        assert names(tmp_path) == sorted([*before, "other"]) and path.exists()
        process.kill()
        process.wait()
        assert path.exists()
        visit(tmp_path)
        assert names(tmp_path) == ["other"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere links need a permission")
def test_what_others_left_stays(tmp_path):
    """No name but our own, nothing without the marker, nothing in the place of the marker."""
    form = ".x.activetest-0badcafe.tmp"
    for name in ("study.results.tmp", ".batch.csv.0badcafe.tmp", f"{form}.d", form.lstrip(".")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "activetest-temporary").write_text("")
    (tmp_path / ".x.activetest-0badcafg.tmp").write_text("no hexadecimal number")
    unmarked = tmp_path / ".x.activetest-00000001.tmp"
    unmarked.mkdir()
    (unmarked / "mine").write_text("mine")
    marked_by_others = tmp_path / ".x.activetest-00000002.tmp"
    marked_by_others.mkdir()
    (marked_by_others / "activetest-temporary").write_text("my notes")
    linked = tmp_path / ".x.activetest-00000003.tmp"
    linked.mkdir()
    (linked / "activetest-temporary").symlink_to(tmp_path / "empty")
    (tmp_path / "empty").touch()
    (tmp_path / ".x.activetest-00000004.tmp").symlink_to(marked_by_others)
    before = sorted(tmp_path.rglob("*"))
    visit(tmp_path)
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "other"])


@of_locks
def test_a_folder_that_was_not_marked_yet_and_one_that_was_half_removed_go(tmp_path):
    (tmp_path / ".x.activetest-00000001.tmp").mkdir()
    half = tmp_path / ".x.activetest-00000002.tmp"
    half.mkdir()
    (half / "activetest-temporary").write_text("")
    visit(tmp_path)
    assert names(tmp_path) == ["other"]


@of_locks
def test_nothing_is_removed_where_there_are_no_locks(tmp_path, monkeypatch):
    for work in ("a file", "a replaced folder"):
        with working(tmp_path, work) as (process, _):
            process.kill()
            process.wait()
        before = names(tmp_path)
        monkeypatch.setattr(locks, "try_lock", lambda handle, shared=False: None)
        visit(tmp_path)
        with atomic.replacing_folder(tmp_path / "cache") as building:
            (building / "part").write_text("new")
        assert before and set(names(tmp_path)) == {*before, "cache", "other"}
        monkeypatch.undo()


@of_locks
def test_a_temporary_file_that_goes_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    """Another process takes it for a leftover."""
    try_lock, seen = locks.try_lock, []

    def remove_first(handle, **more):
        seen.append(handle)
        if len(seen) in (1, 3):
            for path in tmp_path.glob(".*.tmp"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return try_lock(handle, **more)

    monkeypatch.setattr(locks, "try_lock", remove_first)
    with atomic.replacing_file(tmp_path / "file") as building:
        building.write_text("new")
    with atomic.replacing_folder(tmp_path / "cache") as building:
        (building / "part").write_text("new")
    assert names(tmp_path) == ["cache", "file"] and len(seen) == 4


@of_locks
def test_a_file_that_a_process_reads_is_not_removed(tmp_path):
    class Owner:
        """Whoever reads."""

    path, owner = tmp_path / "pool.parquet", Owner()
    path.write_text("rows")
    assert locks.hold_file(owner, path) and locks.hold_file(owner, path)
    atomic.remove_unused(path)
    assert path.exists()
    del owner
    atomic.remove_unused(path)
    assert not path.exists()
    assert not locks.hold_file(Owner(), path)


@pytest.mark.skipif(os.name != "posix", reason="names are limited otherwise")
def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    for name in ("x" * 255, "\u00e9" * 127):
        with atomic.replacing_file(tmp_path / name) as building:
            building.write_text("new")
        assert (tmp_path / name).read_text() == "new"
    entered = []
    with pytest.raises(OSError), atomic.replacing_file(tmp_path / ("x" * 256)):
        entered.append("the block")
    assert not entered and len(names(tmp_path)) == 2


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
    """Calls to the system, in order: ("sync", name), ("place", name)."""
    found: list[tuple[str, str]] = []
    of_handles: dict[int, str] = {}
    originals = {name: getattr(os, name) for name in ("open", "fsync", "replace", "rename")}

    def note_open(path, flags, *rest, **more):
        handle = originals["open"](path, flags, *rest, **more)
        of_handles[handle] = Path(path).name
        return handle

    def note_sync(handle):
        name = of_handles.get(handle) or Path(os.readlink(f"/proc/self/fd/{handle}")).name
        found.append(("sync", re.sub(r"activetest-\w{8}\.tmp$", "new", name)))
        originals["fsync"](handle)

    def note_place(source, target):
        found.append(("place", Path(target).name))
        originals["replace"](source, target)

    def note_rename(source, target):
        found.append(("place", Path(target).name))
        originals["rename"](source, target)

    monkeypatch.setattr(os, "open", note_open)
    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_place)
    monkeypatch.setattr(os, "rename", note_rename)
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
def test_a_created_folder_and_those_above_it_are_on_the_disk(tmp_path, calls):
    with atomic.creating_folder(tmp_path / "above" / "study") as building:
        (building / "part").write_text("new")
    assert calls[:4] == [
        *(("sync", "new"), ("place", "study")),
        *(("sync", "above"), ("sync", tmp_path.name)),
    ]


def test_a_temporary_folder_that_cannot_be_marked_goes(tmp_path, monkeypatch):
    """A full disk may have room for a name and none for what is in the file."""

    def refuse(*_):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(OSError, match="no space"), atomic.replacing_folder(tmp_path / "folder"):
        pass
    assert names(tmp_path) == []
