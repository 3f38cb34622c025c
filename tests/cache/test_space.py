"""The space of a cache is stated before it is written."""

import os
import shutil
import warnings
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import build, space
from activetest.cache.cache import build_cache
from activetest.cli.app import main
from activetest.errors import LargeCache, StorageError
from activetest.pool.pool import Pool
from tests import makers

ROWS = 4000


def repeat_rows(path, rows: int = ROWS) -> None:
    """A pool of equal rows, which take next to nothing in the file."""
    names = [f"class {number}" for number in range(40)]
    columns = {f"prob_{name}": pa.repeat(1 / 40, rows) for name in names}
    columns |= {f"x{number}": pa.repeat(1.0, rows) for number in range(3)}
    pq.write_table(pa.table(columns), path, compression="zstd")


def limit_disk(monkeypatch, *, free: int = 10**12) -> None:
    """The disk has so many bytes left."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))


@pytest.mark.parametrize("kind", ["ids", "no ids"])
def test_the_estimate_is_what_the_cache_takes(folder, monkeypatch, kind):
    found = []
    monkeypatch.setattr(build, "check_space", lambda _, needed, pool, there: found.append(needed))
    if kind == "ids":
        makers.write_pool(folder / "pool.parquet", ROWS)
    else:
        repeat_rows(folder / "pool.parquet")
    cache = build_cache(Pool.open("pool.parquet", features=()), folder / "cache")
    taken = sum(file.stat().st_size for file in cache.folder.rglob("*.npy"))
    assert len(found) == 1 and abs(found[0] - taken) < 0.1 * taken


def test_a_small_file_with_many_rows_is_announced(folder, monkeypatch, capsys):
    repeat_rows(folder / "pool.parquet", 20_000)
    size = os.path.getsize("pool.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache = build_cache(Pool.open("pool.parquet"), folder / "other")
    assert sum(file.stat().st_size for file in cache.folder.rglob("*.npy")) > 100 * size
    # The cache takes over a hundred times the file.
    monkeypatch.setattr(space, "NOTABLE", 10**6)
    takes = r"20,000 items takes about \d MB of disk, made from 0\.0 MB of pool"
    with pytest.warns(LargeCache, match=takes):
        build_cache(Pool.open("pool.parquet"), folder / "other")
    assert main(["init", "pool.parquet"]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("note: the cache of 20,000 items takes about ") == 1
    assert "takes about" not in captured.out
    assert main(["report"]) == 0 and "takes about" not in capsys.readouterr().err


def test_a_large_cache_is_announced_whatever_the_pool_takes(folder, monkeypatch):
    makers.write_pool(folder / "pool.parquet", ROWS)
    monkeypatch.setattr(space, "LARGE", 10**5)
    with pytest.warns(LargeCache):
        build_cache(Pool.open("pool.parquet"), folder / "cache")


def test_a_cache_for_which_there_is_no_room_is_refused(pool_file, folder, monkeypatch, capsys):
    limit_disk(monkeypatch, free=2000)
    with pytest.raises(StorageError, match="takes about .* of disk, and 0.0 MB are free"):
        build_cache(Pool.open(pool_file), folder / "cache")
    assert main(["init", pool_file]) == 2
    assert "are free" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == [pool_file]
    limit_disk(monkeypatch)
    assert main(["init", pool_file, "--surrogate", "agreement"]) == 0
    # All features are a part of their own.
    limit_disk(monkeypatch, free=100)
    assert main(["init", "--surrogate", "forest"]) == 2
    assert "are free" in capsys.readouterr().err
