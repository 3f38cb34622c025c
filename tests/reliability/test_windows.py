"""The verbs on a file system with the rules of Windows."""

import os
import random
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from activetest.study.stored import StoredStudy
from activetest.system import atomic
from tests import makers
from tests.reliability import windows
from tests.reliability.programs import STUDY, find_leftovers, run_here, take_snapshot
from tests.reliability.test_kills import choose_command, write_labels

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is open is read from /proc")


@pytest.fixture(scope="module")
def imported(tmp_path_factory) -> None:
    """Everything that the verbs import is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ACTIVETEST_STUDY", raising=False)
        play_loop(tmp_path_factory.mktemp("before") / "work", "pool.csv")


@pytest.fixture
def like_windows(monkeypatch, tmp_path, imported):
    """A folder; from here on the rules hold, and nobody waits for files that are open."""
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    monkeypatch.setattr(atomic, "_wait", lambda seconds: None)
    windows.install(monkeypatch)
    return tmp_path


def write_pool(folder: Path, name: str, rows: int = 300) -> None:
    """A pool of either format."""
    makers.write_pool(folder / "pool.parquet", rows)
    if name.endswith(".csv"):
        import pyarrow.csv
        import pyarrow.parquet as pq

        pyarrow.csv.write_csv(pq.read_table(folder / "pool.parquet"), folder / name)
        os.utime(folder / name, ns=(0, 0))


def label_pending(folder: Path, name: str = "labels.csv") -> None:
    """A file with a label for everything that was drawn."""
    rows = [f"{draw.id},cat" for draw in take_snapshot(folder)[0].draws]
    (folder / name).write_text("\n".join(["id,label", *rows]) + "\n")


def play_loop(folder: Path, pool: str) -> None:
    """Every verb, twice where files are replaced."""
    folder.mkdir(parents=True)
    write_pool(folder, pool)
    init = ["init", pool, "--seed", "1", "--group", "place"]
    assert run_here(folder, *init, "--dry-run") == 0
    assert run_here(folder, *init) == 0
    for number in range(2):
        for words in (["next", "-n", "6", "-o", "batch.csv"], ["next", "-o", "batch.csv"]):
            assert run_here(folder, *words) == 0
        label_pending(folder, f"labels-{number}.csv")
        assert run_here(folder, "ingest", f"labels-{number}.csv") == 0
        assert run_here(folder, "report", "--interval", "anytime", "--format", "json") == 0
    assert run_here(folder, "init", "--metric", "f1", "--floor", "0.5") == 0
    assert run_here(folder, "ingest", "--undo") == 0
    assert run_here(folder, "export", "-o", "draws.csv") == 0
    assert run_here(folder, "verify") == 0
    assert run_here(folder, "status") == 0
    assert find_leftovers(folder) == []


@pytest.mark.parametrize("pool", ["pool.parquet", "pool.csv"])
def test_every_verb_works(like_windows, pool):
    folder = like_windows / "work"
    play_loop(folder, pool)
    assert windows.find_odd_names(folder) == []


def test_the_rules_hold(like_windows):
    first, second = like_windows / "first", like_windows / "second"
    first.mkdir()
    second.mkdir()
    for move in (os.rename, os.replace):
        with pytest.raises(OSError):
            move(first, second)
    file = first / "file"
    with open(file, "w"):
        for act in (
            lambda: os.replace(file, first / "x"),
            file.unlink,
            lambda: os.rename(first, "y"),
        ):
            with pytest.raises(PermissionError):
                act()
    with pytest.raises(PermissionError):
        os.open(first, os.O_RDONLY)
    for name in ("aux.csv", "a:b", "a."):
        with pytest.raises(OSError):
            os.mkdir(first / name)


def begin(folder: Path, pool: str) -> None:
    """A study with six labels and a pending batch."""
    folder.mkdir(parents=True)
    write_pool(folder, pool)
    assert run_here(folder, "init", pool, "--seed", "1") == 0
    assert run_here(folder, "next", "-n", "6") == 0
    label_pending(folder)
    assert run_here(folder, "ingest", "labels.csv") == 0


def damage_cache(folder: Path) -> None:
    """Change a byte of every array."""
    for path in (folder / STUDY / "cache").rglob("*.npy"):
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(bytes(data))


EITHER = ["pool.parquet", pytest.param("pool.csv", marks=pytest.mark.slow)]


@pytest.mark.parametrize("pool", EITHER)
def test_a_damaged_cache_is_built_again(like_windows, pool, capsys):
    folder = like_windows / "work"
    begin(folder, pool)
    capsys.readouterr()
    assert run_here(folder, "report", "--format", "json") == 0
    before = capsys.readouterr().out
    damage_cache(folder)
    # The first command finds the damage while it reads, the next builds the cache in its place.
    for _ in range(2):
        assert run_here(folder, "report", "--format", "json") == 0
        assert capsys.readouterr().out == before
    assert run_here(folder, "verify") == 0
    assert find_leftovers(folder) == []


@pytest.mark.parametrize("pool", EITHER)
def test_a_cache_that_is_in_use_stays_and_hinders_few(like_windows, pool, capsys):
    """Another program, such as a notebook, has the maps of the cache open."""
    folder = like_windows / "work"
    begin(folder, pool)
    study = StoredStudy.open(folder / STUDY)
    used = study.cache()
    before = take_snapshot(folder)
    assert run_here(folder, "init", "--group", "place") == 2
    assert "close" in capsys.readouterr().err
    assert take_snapshot(folder) == before
    assert run_here(folder, "next", "-n", "4") == 0
    assert len(used.ids([0, 1])) == 2
    damage_cache(folder)
    assert run_here(folder, "report") == 0
    used.close()
    assert run_here(folder, "init", "--group", "place") == 0
    assert run_here(folder, "verify") == 0
    assert find_leftovers(folder) == []


def test_a_changed_file_is_converted_again_while_the_old_conversion_is_read(like_windows):
    folder = like_windows / "work"
    begin(folder, "pool.csv")
    study = StoredStudy.open(folder / STUDY)
    pool = study.open_pool()
    strips = pool.strips()
    next(strips)
    text = (folder / "pool.csv").read_text()
    (folder / "pool.csv").write_text(text + "\n")
    assert run_here(folder, "report") == 0
    assert run_here(folder, "init", "--id", "id") == 0
    del strips


def test_a_file_that_is_open_for_a_moment_is_replaced(like_windows, monkeypatch):
    path = like_windows / "file"
    path.write_text("old")
    with open(path) as reader:
        monkeypatch.setattr(atomic, "_wait", lambda seconds: reader.close())
        with atomic.replacing_file(path) as building:
            building.write_text("new")
    assert path.read_text() == "new"


def test_a_file_that_stays_open_is_not_replaced_and_said(like_windows, capsys):
    folder = like_windows / "work"
    begin(folder, "pool.parquet")
    assert run_here(folder, "next", "-n", "4", "-o", "batch.csv") == 0
    drawn = take_snapshot(folder)
    with open(folder / "batch.csv"):
        assert run_here(folder, "next", "-o", "batch.csv") == 2
    assert "batch.csv" in capsys.readouterr().err
    assert take_snapshot(folder) == drawn
    assert find_leftovers(folder) == []


def play_with_open_files(work: Path, commands: int, seed: int) -> int:
    """Commands while other programs have files open; how many were refused, and changed nothing."""
    chance, refused = random.Random(seed), 0
    folders = work / "disturbed", work / "undisturbed"
    for folder in folders:
        folder.mkdir(parents=True)
        write_pool(folder, "pool.csv")
        assert run_here(folder, "init", "pool.csv", "--seed", "1", "--group", "place") == 0
    folder, undisturbed = folders
    for number in range(commands):
        before = take_snapshot(folder)
        _, words = choose_command(chance, before[0], number)
        for each in folders:
            write_labels(each, before[0], number)
        files = [path for path in folder.rglob("*") if path.is_file()]
        with ExitStack() as readers:
            for path in chance.sample(files, min(chance.randrange(4), len(files))):
                readers.enter_context(open(path, "rb"))
            code = run_here(folder, *words)
        assert code in (0, 2)
        if code == 2:
            refused += 1
            # A batch may be drawn before its file turns out to be in use.
            again = words[0] == "next"
            assert take_snapshot(folder) == before or again
            assert run_here(folder, *words) == 0
        assert run_here(undisturbed, *words) == 0
        assert take_snapshot(folder) == take_snapshot(undisturbed)
        assert find_leftovers(folder) == []
    return refused


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 7))
def test_open_files_change_no_study(like_windows, seed, count_trials):
    count_trials("refusals of open files", play_with_open_files(like_windows, 60, seed))
    count_trials("commands beside open files", 60)
