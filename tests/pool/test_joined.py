"""Outputs of another file in the place of a pool's own, joined by id."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolError
from activetest.pool import joined
from activetest.pool.files import Files
from activetest.pool.pool import Pool
from tests.makers import write_pool

CLASSES = ("prob_cat", "prob_dog", "prob_owl")


@pytest.fixture
def pool(tmp_path) -> Pool:
    path = write_pool(tmp_path / "pool.parquet", 50)
    return Pool.open(str(path), groups=("place", "predicted"))


@pytest.fixture
def outputs(tmp_path) -> pa.Table:
    """Outputs of another model about the same items and two more, in another order."""
    table = pq.read_table(write_pool(tmp_path / "other.parquet", 52, seed=1))
    return table.take(np.random.default_rng(0).permutation(52)).select(["id", *CLASSES])


def find(pool: Pool):
    ids = pq.read_table(pool.files.uri)["id"].to_pylist()
    places = {id: place for place, id in enumerate(ids)}
    return lambda wanted: np.array([places.get(id, -1) for id in wanted], np.int64)


def open_table(table: pa.Table, pool: Pool, tmp_path, **settings) -> Pool:
    pq.write_table(table, tmp_path / "new.parquet", **settings)
    return joined.open_outputs(Files(str(tmp_path / "new.parquet")), "new.parquet", pool.schema)


def join(table: pa.Table, pool: Pool, tmp_path, **settings) -> tuple[pa.Table, int]:
    opened = open_table(table, pool, tmp_path, **settings)
    rows, others = joined.find_rows(opened, find(pool), pool.rows)
    joined.write_joined(pool, opened, rows, tmp_path / "joined.parquet")
    return pq.read_table(tmp_path / "joined.parquet"), others


@pytest.mark.parametrize("size", [1, 7, 100])
def test_each_item_has_its_own_columns_and_the_outputs_of_the_file(
    pool, outputs, tmp_path, size, monkeypatch
):
    monkeypatch.setattr(joined, "ROW_GROUP", 8)
    found, others = join(outputs, pool, tmp_path, row_group_size=size)
    own = pq.read_table(pool.files.uri)
    assert others == 2
    for name in ("id", "x1", "x2", "place"):
        assert found[name].to_pylist() == own[name].to_pylist()
    rows = {row["id"]: row for row in outputs.to_pylist()}
    for row in found.to_pylist():
        assert [row[name] for name in CLASSES] == [rows[row["id"]][name] for name in CLASSES]


def test_a_joined_file_is_a_pool_of_the_same_roles(pool, outputs, tmp_path):
    join(outputs, pool, tmp_path)
    again = Pool("again", pool.schema, Files(str(tmp_path / "joined.parquet")))
    again.check()
    assert again.rows == 50
    assert {*joined.list_joined_columns(pool.schema)} == {*again.files.schema.names}


def test_columns_without_a_role_are_left_out(pool, outputs, tmp_path):
    found, _ = join(outputs.append_column("secret", [["x"] * 52]), pool, tmp_path)
    assert "secret" not in found.column_names


def test_an_item_without_outputs_is_marked(pool, outputs, tmp_path):
    table = outputs.filter(pa.compute.not_equal(outputs["id"], "item-7"))
    rows, _ = joined.find_rows(open_table(table, pool, tmp_path), find(pool), pool.rows)
    assert np.flatnonzero(rows < 0).tolist() == [7]


@pytest.mark.parametrize("again", [0, 51])
def test_an_id_that_comes_twice_is_named(pool, outputs, tmp_path, again, monkeypatch):
    """In one block of rows and in two."""
    monkeypatch.setattr(Pool, "_count_strip_rows", lambda *_: 10)
    inside = outputs.filter(pa.compute.is_in(outputs["id"], pq.read_table(pool.files.uri)["id"]))
    parts = [inside, inside.slice(3, 1)]
    table = pa.concat_tables(parts if again else parts[::-1])
    opened = open_table(table, pool, tmp_path)
    with pytest.raises(PoolError, match=f"id {inside['id'][3].as_py()!r} is in new.parquet twice"):
        joined.find_rows(opened, find(pool), pool.rows)


@pytest.mark.parametrize("name", ["id", "prob_owl"])
def test_a_column_that_is_missing_is_named(pool, outputs, tmp_path, name):
    with pytest.raises(PoolError, match=f"new.parquet has no column '{name}'") as error:
        open_table(outputs.drop_columns([name]), pool, tmp_path)
    assert "id, prob_cat, prob_dog, prob_owl" in error.value.hint


def test_probabilities_of_a_further_class_are_refused(pool, outputs, tmp_path):
    table = outputs.append_column("prob_elk", [[0.0] * 52])
    with pytest.raises(PoolError, match="column 'prob_elk', and the pool has no such class"):
        open_table(table, pool, tmp_path)


def test_a_column_of_the_pool_that_is_called_so_is_no_further_class(pool, outputs, tmp_path):
    schema = replace(pool.schema, ignored=("prob_max",))
    pq.write_table(outputs.append_column("prob_max", [[0.0] * 52]), tmp_path / "new.parquet")
    assert joined.open_outputs(Files(str(tmp_path / "new.parquet")), "new.parquet", schema)


def test_outputs_of_another_type_are_refused(pool, outputs, tmp_path):
    place = outputs.column_names.index("prob_cat")
    table = outputs.set_column(place, "prob_cat", [["much"] * 52])
    with pytest.raises(PoolError, match="outputs in new.parquet are not like those of the pool"):
        open_table(table, pool, tmp_path)


def test_outputs_that_cannot_be_right_are_named_by_row_and_id(pool, outputs, tmp_path):
    place = outputs.column_names.index("prob_cat")
    table = outputs.set_column(place, "prob_cat", [[1.5, *outputs["prob_cat"].to_pylist()[1:]]])
    opened = open_table(table, pool, tmp_path)
    id = outputs["id"][0].as_py()
    with pytest.raises(PoolError, match=f"row 0 of new.parquet .*, id '{id}'"):
        joined.find_rows(opened, find(pool), pool.rows)


def test_classes_go_by_the_names_in_the_file_where_they_are_numbers(tmp_path):
    """Hugging Face writes them so, and each file has an order of its own."""

    def write(name: str, classes: list[str], codes: list[int]) -> str:
        features = {"pred": {"names": classes, "_type": "ClassLabel"}}
        metadata = {"huggingface": str({"info": {"features": features}}).replace("'", '"')}
        columns = {"id": ["a", "b", "c"], "pred": codes}
        pq.write_table(pa.table(columns).replace_schema_metadata(metadata), tmp_path / name)
        return str(tmp_path / name)

    pool = Pool.open(write("pool.parquet", ["no", "yes"], [0, 1, 1]))
    path = write("new.parquet", ["yes", "no"], [0, 1, 1])
    opened = joined.open_outputs(Files(path), "new.parquet", pool.schema)
    joined.write_joined(pool, opened, np.arange(3), tmp_path / "joined.parquet")
    assert pq.read_table(tmp_path / "joined.parquet")["pred"].to_pylist() == ["yes", "no", "no"]


def test_rows_without_ids_are_those_of_the_same_number(tmp_path):
    pq.write_table(pa.table({"score": [0.1, 0.9, 0.4]}), tmp_path / "pool.parquet")
    pool = Pool.open(str(tmp_path / "pool.parquet"))
    opened = open_table(pa.table({"score": [0.2, 0.3, 0.7]}), pool, tmp_path)
    rows, others = joined.find_rows(opened, lambda _: pytest.fail("there are no ids"), 3)
    assert (rows.tolist(), others) == ([0, 1, 2], 0)
    for count in (2, 4):
        opened = open_table(pa.table({"score": [0.2] * count}), pool, tmp_path)
        with pytest.raises(PoolError, match=f"has {count} rows and the pool 3 items"):
            joined.find_rows(opened, lambda _: None, 3)


def test_every_page_of_a_joined_file_is_checked(pool, outputs, tmp_path):
    join(outputs, pool, tmp_path)
    path = tmp_path / "joined.parquet"
    joined.check_pages(path)
    content = path.read_bytes()
    footer = pq.read_metadata(path)
    for place in range(footer.num_columns):
        column = footer.row_group(0).column(place)
        at = column.data_page_offset + column.total_compressed_size // 2
        changed = bytearray(content)
        changed[at] ^= 1
        path.write_bytes(changed)
        with pytest.raises(PoolError, match="joined.parquet is damaged"):
            joined.check_pages(path)
    path.write_bytes(content[:-5])
    with pytest.raises(PoolError, match="joined.parquet is damaged"):
        joined.check_pages(path)
