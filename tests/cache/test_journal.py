"""A build of a cache that was interrupted goes on behind the pieces that are done."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import build, space
from activetest.cache.cache import build_cache
from activetest.cache.design import measure_pool
from activetest.cache.journal import read_design, write_design
from activetest.cache.store import StoreWriter
from activetest.cli.app import main
from activetest.cli.progress_line import describe
from activetest.errors import LargeCache
from activetest.pool.pool import Pool
from activetest.system import atomic, progress
from tests import makers

PIECES, ROWS = 6, 300


@pytest.fixture(autouse=True)
def every_build_is_worth_keeping(monkeypatch) -> None:
    monkeypatch.setattr(build, "WORTH_KEEPING", 0.0)


def write_pools(folder: Path, *, text: bool = True, seed: int = 0) -> Path:
    """A folder of files, each of which is a piece."""
    folder.mkdir()
    for number in range(PIECES):
        path = makers.write_pool(folder / f"{number}.parquet", ROWS, seed=seed + number)
        table = pq.read_table(path)
        ids = [f"{number}-{row}" if text else number * ROWS + row for row in range(ROWS)]
        pq.write_table(table.set_column(0, "id", pa.array(ids)), path)
    return folder


def open_pool(folder: Path, **choices) -> Pool:
    return Pool.open(str(folder), **{"features": ("x1", "x2"), "groups": ("place",)} | choices)


def read_files(folder: Path) -> dict[str, bytes]:
    """{name: content} of what is in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


class Cut(OSError):
    """The connection to the disk is cut off."""


@contextmanager
def cut_off(monkeypatch, name: str, after: int) -> Iterator[None]:
    """Let so many writes of an array succeed, and then none."""
    write, count = StoreWriter.write, iter(range(10**6))

    def fail(self, array, at, values):
        if array == name and next(count) >= after:
            raise Cut
        write(self, array, at, values)

    with monkeypatch.context() as changed, pytest.raises(Cut):
        changed.setattr(StoreWriter, "write", fail)
        yield


def interrupt(monkeypatch, pool: Pool, folder: Path, name: str, after: int) -> Path:
    """Begin a build, which fails; what it keeps."""
    with cut_off(monkeypatch, name, after):
        build_cache(pool, folder)
    kept = atomic.name_unfinished(folder)
    assert kept.is_dir() and not folder.exists()
    return kept


def count_reads(monkeypatch) -> list[int]:
    """Positions of the blocks that are read from here on."""
    read, found = Pool.read_block, []

    def count(self, strip):
        found.append((strip.start, strip.parts))
        return read(self, strip)

    monkeypatch.setattr(Pool, "read_block", count)
    return found


def list_read_pieces(reads: list) -> set[int]:
    """Pieces of which everything was read."""
    return {start // ROWS for start, parts in reads if "groups" in parts and "ids" in parts}


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("place", [("design", 0), ("hashes", 2), ("probs", 5), ("id_order", 0)])
def test_a_resumed_cache_is_that_of_an_undisturbed_build(tmp_path, monkeypatch, text, place):
    pool = open_pool(write_pools(tmp_path / "pool", text=text))
    whole = build_cache(pool, tmp_path / "whole")
    kept = interrupt(monkeypatch, pool, tmp_path / "cache", *place)
    reads = count_reads(monkeypatch)
    found = build_cache(open_pool(tmp_path / "pool"), tmp_path / "cache")
    assert read_files(found.folder) == read_files(whole.folder)
    assert not kept.exists()
    if place[0] == "id_order":
        assert not reads


def test_pieces_that_are_done_are_not_read_again(tmp_path, monkeypatch):
    pool = open_pool(write_pools(tmp_path / "pool"))
    monkeypatch.setattr("activetest.system.parallel.processors", lambda: 1)
    interrupt(monkeypatch, pool, tmp_path / "cache", "probs", 4)
    reads = count_reads(monkeypatch)
    build_cache(pool, tmp_path / "cache")
    assert list_read_pieces(reads) == {4, 5}


@pytest.mark.parametrize("file", ["new/probs.npy", "new/id_ends.npy", "1.letters"])
@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_a_damaged_piece_is_built_again(tmp_path, monkeypatch, file, damage):
    pool = open_pool(write_pools(tmp_path / "pool"))
    whole = build_cache(pool, tmp_path / "whole")
    path = interrupt(monkeypatch, pool, tmp_path / "cache", "id_order", 0) / file
    content = path.read_bytes()
    place = len(content) // 4
    path.write_bytes(content[:place] + (bytes(16) + content[place + 16 :]) * (damage != "cut"))
    if damage == "gone":
        path.unlink()
    reads = count_reads(monkeypatch)
    found = build_cache(pool, tmp_path / "cache")
    assert reads and read_files(found.folder) == read_files(whole.folder)
    if damage == "changed":
        assert list_read_pieces(reads) == {1}


@pytest.mark.parametrize("damage", ["torn", "changed"])
@pytest.mark.parametrize("line", range(4))
def test_a_journal_counts_up_to_its_first_damaged_line(tmp_path, monkeypatch, line, damage):
    pool = open_pool(write_pools(tmp_path / "pool"))
    whole = build_cache(pool, tmp_path / "whole")
    kept = interrupt(monkeypatch, pool, tmp_path / "cache", "id_order", 0)
    lines = (kept / "journal.jsonl").read_bytes().splitlines(keepends=True)
    assert len(lines) == 2 + PIECES
    torn = lines[line][: len(lines[line]) // 2]
    if damage == "changed":
        # Still JSON, with another number or another name.
        torn = lines[line].replace(b"1", b"2", 1) if line else lines[line].replace(b"x2", b"x3")
    (kept / "journal.jsonl").write_bytes(b"".join(lines[:line]) + torn)
    reads = count_reads(monkeypatch)
    found = build_cache(pool, tmp_path / "cache")
    assert len(list_read_pieces(reads)) == PIECES - max(line - 2, 0)
    assert read_files(found.folder) == read_files(whole.folder)


@pytest.mark.parametrize("change", ["pool", "roles", "small"])
def test_what_is_of_another_pool_or_other_roles_is_removed(tmp_path, monkeypatch, change):
    pool = open_pool(write_pools(tmp_path / "pool"))
    kept = interrupt(monkeypatch, pool, tmp_path / "cache", "probs", 5)
    (kept / "new" / "stranger").write_text("of no use")
    if change == "pool":
        pool = open_pool(write_pools(tmp_path / "other", seed=9))
    elif change == "roles":
        pool = open_pool(tmp_path / "pool", groups=())
    else:
        monkeypatch.setattr(build, "WORTH_KEEPING", 10.0)
    found = build_cache(pool, tmp_path / "cache")
    whole = build_cache(pool, tmp_path / "whole")
    assert read_files(found.folder) == read_files(whole.folder)
    assert not kept.exists()


def test_a_second_build_leaves_the_first_alone(tmp_path, monkeypatch):
    pool = open_pool(write_pools(tmp_path / "pool"))
    whole = build_cache(pool, tmp_path / "whole")
    kept = atomic.name_unfinished(tmp_path / "cache")
    with atomic.continuing_folder(tmp_path / "cache", kept) as building:
        (building / "first").write_text("at work")
        found = build_cache(pool, tmp_path / "cache")
        atomic.remove_kept(kept)
        assert read_files(found.folder) == read_files(whole.folder)
        found.close()
        assert (building / "first").read_text() == "at work"
    assert read_files(tmp_path / "cache") == {"first": b"at work"} and not kept.exists()


def test_a_folder_of_that_name_that_is_somebody_s_own_stays(tmp_path):
    pool = open_pool(write_pools(tmp_path / "pool"))
    kept = atomic.name_unfinished(tmp_path / "cache")
    kept.mkdir()
    (kept / "mine").write_text("mine")
    build_cache(pool, tmp_path / "cache")
    atomic.remove_kept(kept)
    assert read_files(kept) == {"mine": b"mine"}


def test_nothing_is_written_through_a_link(tmp_path, monkeypatch):
    pool = open_pool(write_pools(tmp_path / "pool"))
    kept = interrupt(monkeypatch, pool, tmp_path / "cache", "probs", 5)
    (tmp_path / "precious").write_text("precious")
    (kept / "new" / "probs.npy").unlink()
    os.symlink(tmp_path / "precious", kept / "new" / "probs.npy")
    build_cache(pool, tmp_path / "cache")
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_journal_keeps_the_design_to_the_last_bit(tmp_path):
    design, values = measure_pool(open_pool(write_pools(tmp_path / "pool")))
    # Products of matrices depend on the order of their numbers in memory.
    weights = np.asfortranarray(np.stack([design.projection.weights[:, 0]] * 2, axis=1))
    design = replace(design, projection=replace(design.projection, weights=weights))
    again, names = read_design(write_design(design, values))
    assert names == values
    for first, second in zip(
        [design.centre, *vars(design.projection).values()],
        [again.centre, *vars(again.projection).values()],
        strict=True,
    ):
        assert first.dtype == second.dtype and first.strides == second.strides
        assert np.array_equal(first, second)


KILLED = """
import os, signal, sys
from activetest.cache import build
from activetest.cache.journal import Journal
from activetest.cli.app import main
from activetest.cli.progress_line import describe
build.WORTH_KEEPING = 0.0
add = Journal.add
def kill(self, content):
    add(self, content)
    if len(self.lines) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
Journal.add = kill
main(sys.argv[1:])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no such signal")
@pytest.mark.parametrize("fresh", [False, True])
def test_init_goes_on_after_a_kill_unless_it_is_fresh(folder, monkeypatch, fresh):
    write_pools(folder / "pool")
    words = ["init", "pool", "--seed", "1"]
    assert main([*words, "--study", "whole"]) == 0
    words += ["--study", "study"]
    done = subprocess.run([sys.executable, "-c", KILLED, *words], check=False)
    assert done.returncode == -signal.SIGKILL
    kept = folder / ".study.unfinished"
    assert kept.is_dir() and not (folder / "study").exists()
    reads = count_reads(monkeypatch)
    assert main([*words, *(["--fresh"] if fresh else [])]) == 0
    assert len(list_read_pieces(reads)) == (PIECES if fresh else PIECES - 3)
    assert read_files(folder / "study" / "cache") == read_files(folder / "whole" / "cache")
    assert not kept.exists()


def test_a_build_that_takes_long_is_announced(tmp_path, monkeypatch):
    pool = open_pool(write_pools(tmp_path / "pool"))
    monkeypatch.setattr(space, "LONG", 0.0)
    said = "1,800 items takes about 1 min of one processor, and 130 MB of memory"
    with pytest.warns(LargeCache, match=said):
        build_cache(pool, tmp_path / "cache")


def test_estimates_grow_with_items_and_columns(tmp_path):
    pool = open_pool(write_pools(tmp_path / "pool"))
    thin = open_pool(tmp_path / "pool", features=(), groups=())
    assert 0 < space.estimate_seconds(thin) < space.estimate_seconds(pool) < build_limit()
    assert space.estimate_memory(pool) > 30 * pool.rows


def build_limit() -> float:
    """Seconds from which on a real build is worth keeping."""
    return 2.0


def test_pieces_and_bytes_are_counted_and_those_done_before_too(tmp_path, monkeypatch):
    pool = open_pool(write_pools(tmp_path / "pool"))
    monkeypatch.setattr("activetest.system.parallel.processors", lambda: 1)
    interrupt(monkeypatch, pool, tmp_path / "cache", "probs", 3)
    watch, found = progress.Watch(), []

    def look(*arguments):
        found.append(describe(watch.step, watch.step.begun))
        return read(*arguments)

    read = Pool.read_block
    monkeypatch.setattr(Pool, "read_block", look)
    with progress.watching(watch):
        build_cache(pool, tmp_path / "cache")
    counted = [line.split(", ")[0] for line in found]
    assert counted == [f"building the cache: {done} of 6 pieces" for done in (3, 3, 5)]
    assert all("of 0 MB" in line for line in found)
