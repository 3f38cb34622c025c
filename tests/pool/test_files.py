"""Rows of files in blocks that do not depend on how the files were written."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest import PoolError, Study, inspect
from activetest.pool import pool as pools
from activetest.pool.files import Files
from activetest.pool.pool import Pool
from tests import makers

ROWS = 1000


def write_files(folder, groups: int, parts: int = 1) -> Files:
    """A thousand rows in so many files, with so many rows in a row group."""
    folder.mkdir(exist_ok=True)
    words = pa.array([f"w{row % 7}" for row in range(ROWS)]).dictionary_encode()
    table = pa.table({"id": range(ROWS), "word": words, "pair": [[r, -r] for r in range(ROWS)]})
    for part in range(parts):
        size = -(-ROWS // parts)
        piece = table.slice(part * size, size)
        pq.write_table(piece, folder / f"{part}.parquet", row_group_size=groups)
    return Files(str(folder))


def test_batches_of_all_rows_come_with_the_number_of_their_first(tmp_path, monkeypatch):
    files, batches = write_files(tmp_path / "pool", 400, 2), Files.batches
    monkeypatch.setattr(
        Files, "batches", lambda self, names, piece, **how: batches(self, names, piece, 150, **how)
    )
    found = [(start, batch.column(0)[0].as_py()) for start, batch in files.scan(["id"])]
    assert found == [(row, row) for row in (0, 150, 300, 400, 500, 650, 800, 900)]


@pytest.mark.parametrize(("groups", "parts"), [(ROWS, 1), (7, 1), (64, 1), (100, 3), (333, 2)])
@pytest.mark.parametrize(("start", "stop"), [(0, None), (128, 512), (640, None), (960, 1000)])
def test_blocks_end_where_their_numbers_say(groups, parts, start, stop, tmp_path):
    files = write_files(tmp_path / "pool", groups, parts)
    assert files.rows == ROWS
    blocks = list(files.blocks(["word", "id", "pair"], 64, start=start, stop=stop))
    ends = [*range(start, stop or ROWS, 64), stop or ROWS]
    assert [at for at, _ in blocks] == ends[:-1]
    assert [batch.num_rows for _, batch in blocks] == np.diff(ends).tolist()
    ids = [id for _, batch in blocks for id in batch.column("id").to_pylist()]
    assert ids == list(range(start, stop or ROWS))
    words = [word for _, batch in blocks for word in batch.column("word").to_pylist()]
    assert words == [f"w{id % 7}" for id in ids]
    pairs = [pair for _, batch in blocks for pair in batch.column("pair").to_pylist()]
    assert pairs == [[id, -id] for id in ids]


@pytest.mark.parametrize("groups", [300_000, 1_000, 65_536, 70_000])
def test_runs_of_strips_cover_every_row_once(groups, tmp_path, monkeypatch):
    monkeypatch.setattr(pools, "_RUN_BLOCKS", 1)
    rows = 300_000
    pred = np.arange(rows) % 2
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({"pred": pred}), path, row_group_size=groups)
    pool = Pool.open(path)
    strips = list(pool.strips())
    assert [strip.start for strip in strips] == list(range(0, rows, 65_536))
    assert [strip.number for strip in strips] == list(range(5))
    runs = pool._split_runs(65_536)
    assert (len(runs) >= 4) == (groups < rows) and all(start % 65_536 == 0 for start, _ in runs)
    seen = pool.map_strips(lambda strip: [(strip.start, strip.batch.num_rows)], list.__add__)
    assert seen == [(strip.start, strip.batch.num_rows) for strip in strips]


@pytest.mark.parametrize("whole", [True, False])
def test_a_footer_with_another_number_of_rows_than_there_are_is_damage(tmp_path, whole):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({"id": range(300), "pred": [row % 2 for row in range(300)]}), path)
    makers.claim_rows(path, 400, file=whole)
    # Where both numbers agree, looking at a file need not read all of it.
    for use in (Study.create, *(() if whole else (inspect,))):
        with pytest.raises(PoolError, match="its footer says .* rows, and it has") as caught:
            use(path)
        assert "copy it again" in caught.value.hint


@pytest.mark.parametrize("column", ["id", "score", "note"])
def test_a_damaged_histogram_in_a_footer_is_an_error_and_ends_no_process(tmp_path, column):
    """It holds how many values are null and how many are not: here it has three numbers."""
    path = tmp_path / "pool.parquet"
    columns = {"id": [f"i{row}" for row in range(300)], "score": [row / 300 for row in range(300)]}
    pq.write_table(pa.table(columns | {"note": columns["id"]}), path)
    content = bytearray(path.read_bytes())
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    two, three = bytes([0x26, 0, 0xD8, 0x04]), bytes([0x36, 0, 0x58, 0x04])
    place = start
    for _ in range([*columns, "note"].index(column) + 1):
        place = content.index(two, place + 1)
    content[place : place + 4] = three
    path.write_bytes(content)
    code = (
        "import sys, activetest as at; from activetest.pool.files import Files\n"
        f"files = Files({str(path)!r})\n"
        "for call in (lambda: files.measure_column('id'), lambda: files.find_range('score'), "
        f"lambda: at.inspect({str(path)!r}), lambda: at.Study.create({str(path)!r}, 'made')):\n"
        "    try:\n        call()\n"
        "    except at.PoolError as error:\n        print('refused', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    refused = [line for line in done.stdout.splitlines() if line.startswith("refused")]
    # Whatever reads the column says so, and whatever does not need it goes on.
    assert len(refused) == {"id": 3, "score": 3, "note": 2}[column], done.stdout
    assert all("histogram" in line for line in refused)
