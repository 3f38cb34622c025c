"""Files with a further file joined: its columns, row by row, and rows that it leaves out."""

import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolChanged
from activetest.pool.files import COMMON, ID, Files

SIZE = 50


@pytest.fixture
def place(tmp_path) -> tuple[str, str]:
    """A folder of three files with row groups of 7 rows, and a file with row groups of 11."""
    numbers = pa.table({"number": range(SIZE)})
    (tmp_path / "pool").mkdir()
    for name, part in (("a", numbers[:20]), ("b", numbers[20:21]), ("c", numbers[21:])):
        pq.write_table(part, tmp_path / "pool" / f"{name}.parquet", row_group_size=7)
    kept = [None if row % 9 == 4 else True for row in range(SIZE)]
    texts = {"pred": [f"class {row}" for row in range(SIZE)]}
    joined = pa.table({**texts, ID: texts["pred"], COMMON: pa.array(kept, pa.bool_())})
    pq.write_table(joined, tmp_path / "all.parquet", row_group_size=11)
    pq.write_table(joined.drop_columns([COMMON]), tmp_path / "joined.parquet", row_group_size=11)
    return str(tmp_path / "pool"), str(tmp_path / "joined.parquet")


def read(files: Files, columns: list[str]) -> list[tuple]:
    rows = (batch for _, batch in files.scan(columns))
    return [tuple(row.values()) for batch in rows for row in batch.to_pylist()]


def test_columns_stand_beside_those_of_their_rows(place):
    files = Files(*place)
    assert files.schema.names == ["number", "pred"] and files.rows == SIZE
    expected = [(row, f"class {row}") for row in range(SIZE)]
    assert read(files, ["number", "pred"]) == expected
    assert read(files, ["pred"]) == [(text,) for _, text in expected]
    for rows in (1, 3, 8, 64):
        found = [batch.to_pylist() for _, batch in files.blocks(["pred", "number"], rows)]
        assert [tuple(row.values())[::-1] for part in found for row in part] == expected


def test_rows_that_are_none_of_the_study_are_left_out_of_all_columns(place):
    files = Files(place[0], place[1].replace("joined", "all"))
    kept = [row for row in range(SIZE) if row % 9 != 4]
    assert files.schema.names == ["number", "pred"]
    assert read(files, ["number", "pred"]) == [(row, f"class {row}") for row in kept]
    assert read(files, ["number"]) == [(row,) for row in kept]
    assert files.rows == len(kept) and files.left_out == files.gaps == SIZE - len(kept)
    assert Files(*place).left_out == 0


def test_files_are_the_same_elsewhere_and_change_with_either(place):
    files = Files(*place)
    assert files.key != Files(place[0]).key
    again = pickle.loads(pickle.dumps(files))
    assert again.key == files.key and read(again, ["pred"]) == read(files, ["pred"])
    pq.write_table(pq.read_table(place[1])[::-1], place[1])
    assert Files(*place).key != files.key


def test_a_pool_with_another_number_of_rows_is_another_one(place):
    pq.write_table(pq.read_table(place[1])[1:], place[1])
    with pytest.raises(PoolChanged, match="has 50 rows, and it had 49"):
        read(Files(*place), ["pred"])
