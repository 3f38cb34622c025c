"""What a killed `init` of an earlier version left stands in nobody's way, and goes."""

import os
import time

import pytest

from activetest import locks
from activetest.errors import ActivetestError
from activetest.study.init import init
from activetest.study.stored import StoredStudy


def leave(folder, *names: str):
    """A folder with files in it, last touched long ago."""
    folder.mkdir(parents=True)
    for name in names or ("part",):
        (folder / name).write_text("half of something")
    then = time.time() - 86400
    os.utime(folder, (then, then))
    return folder


@pytest.mark.parametrize(
    ("name", "files"),
    [(".cache-ab12", ()), (".pool-xy_9", ("frame.parquet",)), ("cache", ("manifest.json",))],
)
def test_what_is_left_of_an_unfinished_study_goes(folder, write_pool, name, files):
    write_pool(folder / "pool.parquet", 20)
    leave(folder / ".activetest" / name, *files)
    init("pool.parquet", seed=1, dry_run=True)
    assert [path.name for path in (folder / ".activetest").iterdir()] == [name]
    init("pool.parquet", seed=1)
    parts = sorted(part.name for part in StoredStudy.open().folder.iterdir())
    assert parts == ["cache", "ledger.db", "pool.summary", "study.toml"]


@pytest.mark.parametrize("name", ["cache", ".cache-of-mine", "pool", "notes"])
def test_folders_of_others_are_no_place_for_a_study(folder, write_pool, name):
    write_pool(folder / "pool.parquet", 20)
    leave(folder / "study" / name)
    with pytest.raises(ActivetestError, match="is no study"):
        init("pool.parquet", "study", seed=1)
    assert (folder / "study" / name / "part").read_text() == "half of something"


def test_folders_of_others_beside_a_study_stay(folder, write_pool):
    write_pool(folder / "pool.parquet", 20)
    for name in ("study.results.tmp", "study.0badcafe.tmp", ".study-ab12", "study.tmp"):
        leave(folder / name, "results.csv")
    before = sorted(path.name for path in folder.iterdir())
    init("pool.parquet", "study", seed=1)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*before, "study"])
    assert (folder / "study.results.tmp" / "results.csv").read_text() == "half of something"


@pytest.mark.skipif(os.name != "posix", reason="folders are locked there")
def test_an_init_removes_nothing_from_a_folder_that_another_has_just_filled(
    folder, write_pool, monkeypatch
):
    """It saw an unfinished study, and a whole one stands there when it may remove something."""
    write_pool(folder / "pool.parquet", 20)
    leave(folder / ".activetest" / ".cache-ab12")
    try_lock, entered = locks.try_lock, []

    def be_late(handle, **more):
        if not entered:
            entered.append(True)
            init("pool.parquet", seed=5)
        return try_lock(handle, **more)

    monkeypatch.setattr(locks, "try_lock", be_late)
    with pytest.raises(ActivetestError, match="another program created it meanwhile|already"):
        init("pool.parquet", seed=6)
    parts = sorted(part.name for part in StoredStudy.open().folder.iterdir())
    assert parts == ["cache", "ledger.db", "pool.summary", "study.toml"]
    assert StoredStudy.open().seed == 5
