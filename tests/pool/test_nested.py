"""Fields of records, vectors of Spark and binary ids are plain columns of a pool."""

import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolError
from activetest.pool.files import Files
from activetest.pool.nested import find_inner, is_spark_vector
from activetest.pool.pool import Pool

VECTOR = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)


def write(folder, **columns) -> str:
    """A Parquet file of these columns."""
    path = folder / "pool.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return str(path)


def read(address: str, *columns: str) -> dict[str, list]:
    """These columns of the pool, or all of them."""
    files = Files(address)
    names = list(columns) or files.schema.names
    batches = [batch for piece in files.pieces for batch in files.batches(names, piece)]
    assert all(batch.schema.names == names for batch in batches)
    return pa.Table.from_batches(batches).to_pydict()


def dense(*values: float) -> dict:
    return {"type": 1, "size": None, "indices": None, "values": list(values)}


def sparse(size: int, **numbers: float) -> dict:
    places = [int(place[1:]) for place in numbers]
    return {"type": 0, "size": size, "indices": places, "values": list(numbers.values())}


def test_fields_of_records_are_columns(tmp_path):
    scores = [{"fact": 0.5, "who": {"name": "a", "bytes": b"x"}}, None, {"fact": 1, "who": None}]
    address = write(tmp_path, id=["a", "b", "c"], scores=scores, pred=["x", "y", "x"])
    assert read(address) == {
        "id": ["a", "b", "c"],
        "scores.fact": [0.5, None, 1.0],
        "scores.who.name": ["a", None, None],
        "pred": ["x", "y", "x"],
    }
    assert read(address, "scores.who.name", "id")["id"] == ["a", "b", "c"]
    pool = Pool.open(address)
    # A record may hold what people said of the item.
    assert pool.schema.features == ()
    assert Pool.open(address, features="scores.fact").schema.features == ("scores.fact",)
    with pytest.raises(PoolError, match="'scores' holds records") as caught:
        Pool.open(address, judge="scores")
    assert "scores.fact" in caught.value.hint
    assert Files(address).find_range("scores.fact") == (0.5, 1.0)


def test_fields_do_not_hide_columns_of_the_same_name(tmp_path):
    columns = {"a.b": ["column", "column"], "a": [{"b": "field"}] * 2}
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table(columns), path)
    assert Files(str(path)).schema.names == ["a.b", "a"]
    # Both would be called a.b.c.
    kind = pa.struct([("b.c", pa.int64()), ("b", pa.struct([("c", pa.int64())]))])
    assert find_inner(pa.schema([("a", kind)])) == {}


def test_a_record_of_probabilities_is_a_column_for_each_class(tmp_path):
    probs = [{"cat": 0.25, "dog": 0.75}, {"cat": 1.0, "dog": None}, {"cat": 0.5, "dog": 0.5}]
    pool = Pool.open(write(tmp_path, id=["a", "b", "c"], probabilities=probs))
    assert pool.schema.classes == ("cat", "dog") and pool.schema.kind == "prob-columns"
    block = pool.read_block(next(pool.strips()))
    assert np.allclose(block.checked.outputs.probs, [[0.25, 0.75], [1, 0], [0.5, 0.5]])


def test_a_missing_record_of_probabilities_is_no_zero(tmp_path):
    pool = Pool.open(write(tmp_path, id=["a", "b"], prob=[{"cat": 0.25, "dog": 0.75}, None]))
    with pytest.raises(PoolError, match="NaN, null"):
        pool.read_block(next(pool.strips()))


def test_a_record_beside_columns_of_probabilities_keeps_its_name(tmp_path):
    one = [{"cat": 0.5, "dog": 0.5}] * 2
    address = write(tmp_path, prob_x=[0.5, 0.5], prob_y=[0.5, 0.5], prob=one)
    assert Files(address).schema.names == ["prob_x", "prob_y", "prob.cat", "prob.dog"]


def test_vectors_of_spark_are_lists(tmp_path):
    vectors = [dense(0.25, 0.75), sparse(2, i1=1.0), None, sparse(2)]
    address = write(tmp_path, id=list("abcd"), v=pa.array(vectors, VECTOR))
    assert read(address)["v"] == [[0.25, 0.75], [0.0, 1.0], None, [0.0, 0.0]]
    whole = pa.array([dense(0.25, 0.75), sparse(2, i0=1.0)], VECTOR)
    assert Pool.open(write(tmp_path, prob=whole)).schema.kind == "prob-list"


@pytest.mark.parametrize(
    "vector", [sparse(2, i2=1.0), sparse(2, i0=1.0) | {"indices": [0, 1]}, sparse(2**31 - 1)]
)
def test_vectors_that_do_not_fit_are_an_error(tmp_path, vector):
    address = write(tmp_path, v=pa.array([vector], VECTOR))
    with pytest.raises(PoolError, match="vectors of Spark") as caught:
        read(address)
    assert "vector_to_array" in caught.value.hint


def test_other_records_are_no_vectors():
    assert is_spark_vector(VECTOR)
    for kind in (pa.int64(), pa.struct([("type", pa.int8())]), pa.struct(list(VECTOR)[::-1])):
        assert not is_spark_vector(kind)


def test_ids_in_bytes_are_text(tmp_path):
    values = [uuid.UUID(int=number) for number in (1, 2**100)]
    plain = pa.array([each.bytes for each in values], pa.binary(16))
    typed = pa.ExtensionArray.from_storage(pa.uuid(), plain)
    texts = pa.array([b"a1", "é".encode()])
    large = texts.cast(pa.large_binary())
    address = write(tmp_path, uuid=typed, hash=plain, item_id=texts, key=large, image=texts)
    found = read(address, "uuid", "hash", "item_id", "key")
    assert found["uuid"] == [str(each) for each in values]
    assert found["hash"] == [each.hex for each in values]
    assert found["item_id"] == found["key"] == ["a1", "é"]
    # Pictures are no text.
    assert Files(address).schema.field("image").type == pa.binary()


def test_a_uuid_of_parquet_needs_no_word_of_arrow(tmp_path):
    values = [uuid.UUID(int=number) for number in (1, 2**100)]
    plain = pa.array([each.bytes for each in values], pa.binary(16))
    path = tmp_path / "pool.parquet"
    typed = pa.ExtensionArray.from_storage(pa.uuid(), plain)
    pq.write_table(pa.table({"id": typed, "pred": ["a", "b"]}), path, store_schema=False)
    assert read(str(path))["id"] == [str(each) for each in values]


def test_bytes_that_are_no_text_are_an_error(tmp_path):
    with pytest.raises(PoolError, match="not UTF-8 in row 1"):
        read(write(tmp_path, id=pa.array([b"a", b"\xff"])))
