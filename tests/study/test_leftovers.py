"""What a killed `init` leaves behind stands in nobody's way, and goes."""

import os
import time

from activetest.study.init import init
from activetest.study.stored import StoredStudy


def left(folder, *, hours: float):
    """A folder with a file in it, last touched so long ago."""
    folder.mkdir(parents=True)
    (folder / "part").write_text("half of something")
    then = time.time() - 3600 * hours
    os.utime(folder, (then, then))
    return folder


def test_an_init_that_was_killed_while_it_read_the_pool_can_be_repeated(folder, write_pool):
    write_pool(folder / "pool.parquet", 20)
    left(folder / ".activetest" / ".cache-ab12", hours=2)
    init("pool.parquet", seed=1)
    parts = sorted(part.name for part in StoredStudy.open().folder.iterdir())
    assert parts == ["cache", "ledger.db", "study.toml"]


def test_init_removes_the_unfinished_studies_of_killed_ones_but_not_of_those_at_work(
    folder, write_pool
):
    write_pool(folder / "pool.parquet", 20)
    left(folder / ".activetest.0badcafe.tmp", hours=2)
    at_work = left(folder / ".activetest.12345678.tmp", hours=0)
    stranger = left(folder / "activetest.tmp", hours=2)
    init("pool.parquet", seed=1)
    assert {part.name for part in folder.iterdir()} == {
        ".activetest",
        at_work.name,
        stranger.name,
        "pool.parquet",
    }
