"""Arrow files, streams and Feather are read by content; nothing in them is believed."""

import random
import struct

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolError
from activetest.formats import find_format, read_file_notes
from activetest.nouns.file_head import read_head
from activetest.pool import convert

TABLE = pa.table(
    {
        "id": ["a", "b", "c"],
        "pred": pa.array(["x", "y", "x"]).dictionary_encode(),
        "prob": pa.array([[0.5, 0.5], [1, 0], None]),
        "when": pa.array([1, 2, 3], pa.timestamp("ms")),
    }
)


def write_file(path, table=TABLE, **options):
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=2)


def write_stream(path, table=TABLE):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)


def write_feather(path, table=TABLE):
    pyarrow.feather.write_feather(table, path)


WRITERS = {
    "file": write_file,
    "stream": write_stream,
    "feather": write_feather,
    "zstd": lambda path: write_file(path, compression="zstd"),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", ["pool.arrow", "pool.csv", "pool"])
def test_a_table_of_arrow_is_a_pool_by_its_content(tmp_path, writer, name):
    path = tmp_path / name
    WRITERS[writer](str(path))
    assert find_format(read_head(path)) == "arrow"
    assert convert.needs_conversion(str(path))
    convert.to_parquet(str(path), str(tmp_path / "out.parquet"))
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.to_pydict() == TABLE.to_pydict()
    assert table.schema.field("pred").type == pa.string()


def test_feather_of_version_1_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "old.feather"
    path.write_bytes(b"FEA1" + bytes(100))
    with pytest.raises(PoolError, match=r"old\.feather is Feather of version 1") as caught:
        convert.to_parquet(str(path), str(tmp_path / "out.parquet"))
    assert "version 2" in caught.value.hint


def test_columns_that_no_pool_holds_are_left_out_and_named(tmp_path):
    union = pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["a"])]
    )
    write_file(str(tmp_path / "p.arrow"), pa.table({"pred": [1, 2], "mixed": union}))
    convert.to_parquet(str(tmp_path / "p.arrow"), str(tmp_path / "out.parquet"))
    schema = pq.read_schema(tmp_path / "out.parquet")
    assert schema.names == ["pred"]
    (note,) = read_file_notes(schema.metadata).notes
    assert "left out" in note and "mixed" in note
    write_file(str(tmp_path / "p.arrow"), pa.table({"mixed": union}))
    with pytest.raises(PoolError, match="column 'mixed' is dense_union"):
        convert.to_parquet(str(tmp_path / "p.arrow"), str(tmp_path / "out.parquet"))


def test_a_value_that_parquet_cannot_hold_is_an_error(tmp_path):
    table = pa.table({"pred": [1], "when": pa.array([2**62], pa.timestamp("s"))})
    write_file(str(tmp_path / "p.arrow"), table)
    with pytest.raises(
        PoolError, match=r"column 'when' is timestamp\[s\] and cannot be stored"
    ) as caught:
        convert.to_parquet(str(tmp_path / "p.arrow"), str(tmp_path / "out.parquet"))
    assert caught.value.hint and not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("writer", ["file", "stream"])
def test_a_truncated_or_damaged_file_is_a_named_error_or_a_table(tmp_path, writer):
    """Never a crash: offsets that lead out of a buffer are checked before they are followed."""
    path, target = tmp_path / "p.arrow", tmp_path / "out.parquet"
    WRITERS[writer](str(path))
    content = path.read_bytes()
    rng = random.Random(0)
    failed = 0
    for attempt in range(60):
        damaged = bytearray(content)
        if attempt % 3 == 0:
            del damaged[rng.randrange(1, len(content)) :]
        else:
            for _ in range(rng.choice([1, 3])):
                damaged[rng.randrange(8, len(content))] = rng.choice([0, 255, rng.randrange(256)])
        path.write_bytes(damaged)
        try:
            if convert.needs_conversion(str(path)):
                convert.to_parquet(str(path), str(target))
        except PoolError as error:
            failed += 1
            assert error.hint and not target.exists()
        target.unlink(missing_ok=True)
    assert failed > 15


@pytest.mark.parametrize("writer", ["file", "stream"])
def test_offsets_that_lead_out_of_their_buffer_are_not_followed(tmp_path, writer):
    path = tmp_path / "p.arrow"
    WRITERS[writer](str(path))
    content = path.read_bytes()
    offsets = struct.pack("<3i", 0, 1, 2)
    assert offsets in content
    path.write_bytes(content.replace(offsets, struct.pack("<3i", 0, 1, 200), 1))
    with pytest.raises(PoolError, match=r"p\.arrow cannot be read"):
        convert.to_parquet(str(path), str(tmp_path / "out.parquet"))


def test_a_length_that_is_only_claimed_takes_no_memory(tmp_path):
    path = tmp_path / "p.arrows"
    write_stream(str(path))
    content = path.read_bytes()
    (length,) = struct.unpack_from("<i", content, 4)
    batch = 8 + length
    (message,) = struct.unpack_from("<i", content, batch + 4)
    body = content.index(struct.pack("<q", 0), batch + 8)
    for huge in (2**40, 2**62):
        for place in range(batch + 8, min(batch + 8 + message, body) - 8, 8):
            damaged = bytearray(content)
            struct.pack_into("<q", damaged, place, huge)
            path.write_bytes(damaged)
            with pytest.raises(PoolError, match=r"p\.arrows"):
                convert.to_parquet(str(path), str(tmp_path / "out.parquet"))
