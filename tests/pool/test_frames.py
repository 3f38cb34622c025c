"""Frames of pandas, Polars and Arrow become pools, and columns become frames."""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import cache
from activetest.errors import ActivetestError, ChoiceError, LabelError, PoolError
from activetest.pool import frames
from activetest.pool.pool import Pool

SAMPLES = Path(__file__).parents[2] / "sample_data"


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


@pytest.fixture
def polars():
    return pytest.importorskip("polars")


def read_frame(frame) -> pa.Table:
    """The stored table of a frame."""
    with TemporaryDirectory() as folder:
        frames.save_frame(frame, Path(folder) / "x.parquet")
        return pq.read_table(Path(folder) / "x.parquet", memory_map=False)


def problem_of(frame) -> str:
    """The problem of a frame; every such error has a hint."""
    with pytest.raises(PoolError) as error:
        read_frame(frame)
    assert error.value.hint
    return error.value.problem


def types_of(frame) -> dict[str, str]:
    return {field.name: str(field.type) for field in read_frame(frame).schema}


def fingerprint_of(path: Path, folder: Path) -> str:
    return cache.build_cache(Pool.open(str(path), groups=("place",)), folder).fingerprint


# --- the same content is the same pool


@pytest.fixture
def table(tmp_path, write_pool) -> pa.Table:
    """40 items in a file: ids, probabilities, features and a group."""
    return pq.read_table(write_pool(tmp_path / "pool.parquet", 40))


def as_pandas(table: pa.Table):
    return table.to_pandas()


def as_old_pandas(table: pa.Table):
    """Of a version whose frames are no Arrow streams."""
    frame = table.to_pandas()

    class OldFrame(type(frame)):
        @property
        def __arrow_c_stream__(self):
            raise AttributeError("__arrow_c_stream__")

    return OldFrame(frame)


def as_polars(table: pa.Table):
    return pytest.importorskip("polars").from_arrow(table)


def as_categories(table: pa.Table):
    frame = table.to_pandas()
    return frame.assign(place=frame["place"].astype("category"), id=frame["id"].astype("category"))


def as_polars_categories(table: pa.Table):
    polars = pytest.importorskip("polars")
    return polars.from_arrow(table).with_columns(polars.col("place").cast(polars.Categorical))


def with_index(table: pa.Table):
    return table.to_pandas().set_index("id")


def with_another_index(table: pa.Table):
    frame = table.to_pandas()
    return frame.set_axis(range(7, 7 + len(frame)))


def in_chunks(table: pa.Table):
    return pa.concat_tables([table.slice(0, 7), table.slice(7)])


def as_stream(table: pa.Table):
    """Another package's frame: nothing but the interface."""

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return table.__arrow_c_stream__(requested_schema)

    return Stream()


@pytest.mark.parametrize(
    "convert",
    [
        as_pandas,
        as_old_pandas,
        as_polars,
        as_categories,
        as_polars_categories,
        with_index,
        with_another_index,
        in_chunks,
        as_stream,
        pa.Table.to_reader,
        lambda table: table.combine_chunks().to_batches()[0],
    ],
)
def test_a_frame_is_the_pool_that_its_file_is(convert, table, tmp_path, pandas):
    frame = convert(table)
    assert frames.is_frame(frame)
    assert frames.save_frame(frame, tmp_path / "saved.parquet") == 40
    saved = fingerprint_of(tmp_path / "saved.parquet", tmp_path / "first")
    assert saved == fingerprint_of(tmp_path / "pool.parquet", tmp_path / "second")


def test_another_value_is_another_pool(table, tmp_path, pandas):
    """The comparison of fingerprints above sees one changed probability."""
    frame = table.to_pandas()
    frame.loc[3, ["prob_cat", "prob_dog", "prob_owl"]] = [0.5, 0.25, 0.25]
    frames.save_frame(frame, tmp_path / "saved.parquet")
    saved = fingerprint_of(tmp_path / "saved.parquet", tmp_path / "first")
    assert saved != fingerprint_of(tmp_path / "pool.parquet", tmp_path / "second")


def test_a_frame_without_the_stream_interface_is_read_by_its_columns(pandas):
    frame = as_old_pandas(pa.table({"id": ["a"], "pred": [1]}))
    assert not hasattr(frame, "__arrow_c_stream__")
    assert read_frame(frame).to_pylist() == [{"id": "a", "pred": 1}]


@pytest.mark.parametrize("name", ["digits", "diabetes"])
def test_samples_have_the_fingerprints_of_their_files(name, tmp_path, pandas, polars):
    path = SAMPLES / f"{name}.parquet"

    def fingerprint(path: Path, folder: str) -> str:
        return cache.build_cache(Pool.open(str(path)), tmp_path / folder).fingerprint

    expected = fingerprint(path, "file")
    for number, frame in enumerate((pandas.read_parquet(path), polars.read_parquet(path))):
        frames.save_frame(frame, tmp_path / f"{number}.parquet")
        assert fingerprint(tmp_path / f"{number}.parquet", f"frame-{number}") == expected


# --- columns of pandas


def test_lists_and_arrays_in_cells_are_lists(pandas, tmp_path):
    cells = [np.array([0.25, 0.75]), [0.5, 0.5], (0.75, 0.25)]
    frame = pandas.DataFrame({"id": [1, 2, 3], "prob": cells})
    frames.save_frame(frame, tmp_path / "pool.parquet")
    pool = Pool.open(tmp_path / "pool.parquet")
    assert (pool.schema.kind, pool.schema.classes) == ("prob-list", ("0", "1"))
    assert pool.show([2], ["prob"]) == {"prob": [[0.75, 0.25]]}


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([1, "a"], "holds a number in row 0 and text in row 1"),
        ([None, "a", 1.5], "holds text in row 1 and a number in row 2"),
        ([True, 1], "holds true/false in row 0 and a number in row 1"),
        ([1, 2.5, "a"], "holds a number in row 0 and text in row 2"),
        ([[0.5, 0.5], "a"], "holds a list in row 0 and text in row 1"),
        ([np.eye(2)], "cannot be read"),
        ([[0.5, "a"]], "cannot be read"),
        (["a", "\ud800"], "cannot be read"),
        ([2**70], "cannot be read"),
        ([1 + 2j], "cannot be read"),
    ],
)
def test_a_column_of_several_sorts_is_named(values, problem, pandas):
    cells = pandas.Series(values, dtype=object)
    frame = pandas.DataFrame({"id": range(len(values)), "pred": cells})
    assert f"column 'pred' {problem}" in problem_of(frame)


@pytest.mark.parametrize("dtype", [object, "string", "category", None])
def test_every_missing_value_of_pandas_is_null(dtype, pandas):
    values = ["a", None, np.nan] + ([pandas.NA] if dtype is object else [])
    frame = pandas.DataFrame({"x": pandas.Series(values, dtype=dtype)})
    assert read_frame(frame)["x"].to_pylist() == ["a"] + [None] * (len(values) - 1)


def test_types_of_pandas_become_those_that_a_pool_knows(pandas):
    frame = pandas.DataFrame(
        {
            "text": ["a", "b"],
            "class": pandas.Categorical([3, 1]),
            "flag": pandas.Series([True, None], dtype="boolean"),
            "count": pandas.Series([1, None], dtype="Int32"),
            "sparse": pandas.arrays.SparseArray([0, 7]),
        }
    )
    types = types_of(frame)
    assert types.pop("text") in ("string", "large_string")
    expected = {"class": "int64", "flag": "bool", "count": "int32", "sparse": "int64"}
    assert types == expected


@pytest.mark.skipif(not hasattr(pa, "uuid"), reason="this version of Arrow has no UUIDs")
def test_identifiers_of_databases_are_text():
    storage = pa.array([UUID(int=1).bytes, None], pa.binary(16))
    table = read_frame(pa.table({"id": pa.ExtensionArray.from_storage(pa.uuid(), storage)}))
    assert table["id"].to_pylist() == [str(UUID(int=1)), None]


@pytest.mark.parametrize("categories", [["cat", "dog", "owl"], [3, 1, 2]])
def test_categories_are_classes(categories, pandas, tmp_path):
    """Only those that occur, in the order that they have in a file."""
    pred = pandas.Categorical([categories[1], categories[0]] * 2, categories=categories)
    frames.save_frame(pandas.DataFrame({"pred": pred}), tmp_path / "pool.parquet")
    found = Pool.open(tmp_path / "pool.parquet").schema.classes
    assert found == tuple(map(str, sorted(categories[:2])))


def test_predictions_that_are_true_or_false_are_classes(pandas, tmp_path):
    frames.save_frame(pandas.DataFrame({"pred": [True, False]}), tmp_path / "pool.parquet")
    assert Pool.open(tmp_path / "pool.parquet").schema.classes == ("False", "True")


def test_ids_may_be_whole_numbers(pandas, tmp_path):
    frame = pandas.DataFrame({"id": [17, 4], "pred": ["a", "b"]})
    frames.save_frame(frame, tmp_path / "pool.parquet")
    built = cache.build_cache(Pool.open(tmp_path / "pool.parquet"), tmp_path / "cache")
    assert list(built.ids([0, 1])) == ["17", "4"]


def test_an_id_that_occurs_twice_is_named(pandas, tmp_path):
    frames.save_frame(pandas.DataFrame({"id": [4, 4], "pred": [0, 1]}), tmp_path / "pool.parquet")
    with pytest.raises(PoolError, match="'4'"):
        cache.build_cache(Pool.open(tmp_path / "pool.parquet"), tmp_path / "cache")


# --- the index of pandas, and names


def test_named_levels_of_an_index_are_columns(pandas):
    index = pandas.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["id", None])
    frame = pandas.DataFrame({"pred": [1, 2]}, index=index)
    assert read_frame(frame).to_pylist() == [{"id": "a", "pred": 1}, {"id": "b", "pred": 2}]


def test_a_named_range_is_a_column(pandas):
    """Arrow would keep it in the metadata alone."""
    frame = pandas.DataFrame({"pred": [1, 2]}, index=pandas.RangeIndex(5, 7, name="id"))
    assert read_frame(frame)["id"].to_pylist() == [5, 6]


@pytest.mark.parametrize("index", [[7, 9], ["u", "v"], [1.5, 1.5]])
def test_an_index_without_a_name_is_left_out(index, pandas):
    frame = pandas.DataFrame({"pred": [1, 2]}, index=index)
    assert read_frame(frame).to_pylist() == [{"pred": 1}, {"pred": 2}]


def test_names_have_to_be_text_and_different(pandas, polars):
    assert "called 0, which is no text" in problem_of(pandas.DataFrame({0: [1]}))
    assert "('a', 'b'), which is no text" in problem_of(pandas.DataFrame({("a", "b"): [1]}))
    twice = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    assert "two columns are called 'a'" in problem_of(twice)
    both = pandas.DataFrame({"id": [1]}, index=pandas.Index([2], name="id"))
    assert "the index and a column are both called 'id'" in problem_of(both)
    assert "two columns are called 'a'" in problem_of(pa.table([[1], [2]], names=["a", "a"]))


def test_a_frame_needs_columns_and_rows(pandas, tmp_path):
    assert "no columns" in problem_of(pandas.DataFrame(index=[1, 2]))
    with pytest.raises(PoolError, match="the frame has no rows"):
        frames.save_frame(pandas.DataFrame({"pred": []}), tmp_path / "pool.parquet")
    assert not list(tmp_path.iterdir())


# --- types of Arrow and Polars


def test_types_of_polars_become_those_that_a_pool_knows(polars):
    frame = polars.DataFrame(
        {
            "category": polars.Series(["b", "a"], dtype=polars.Categorical),
            "enum": polars.Series(["b", "a"], dtype=polars.Enum(["a", "b"])),
            "list": [[0.5, 0.5], [0.25, 0.75]],
            "array": polars.Series([[1, 2], [3, 4]], dtype=polars.Array(polars.Float32, 2)),
            "struct": [{"a": "x"}, {"a": None}],
            "decimal": polars.Series(["1.5", None]).cast(polars.Decimal(10, 2)),
            "empty": [None, None],
        }
    )
    table = read_frame(frame)
    types = {field.name: str(field.type).split("<")[0] for field in table.schema}
    assert types["category"] == types["enum"] == "large_string"
    assert (types["array"], types["list"]) == ("fixed_size_list", "large_list")
    assert table["category"].to_pylist() == table["enum"].to_pylist() == ["b", "a"]
    assert table["struct"].to_pylist() == [{"a": "x"}, {"a": None}]


def test_views_and_categories_of_arrow_are_stored_as_what_they_show(tmp_path):
    table = pa.table(
        {
            "ends": pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"]),
            "codes": pa.array(["x", None, "x"]).dictionary_encode(),
            "lists": pa.array([["a"]] * 3, pa.list_(pa.dictionary(pa.int8(), pa.string()))),
            "gaps": pa.DictionaryArray.from_arrays([0, 1, 0], [None, 4]),
        }
    )
    frames.save_frame(table, tmp_path / "pool.parquet")
    saved = pq.read_table(tmp_path / "pool.parquet")
    assert saved.to_pydict() == {
        "ends": ["a", "a", "b"],
        "codes": ["x", None, "x"],
        "lists": [["a"]] * 3,
        "gaps": [None, 4, None],
    }
    assert not any("dictionary" in str(field.type) for field in saved.schema)


def test_a_type_that_no_file_holds_is_refused():
    table = pa.table({"pred": [1], "time": pa.array([None], pa.month_day_nano_interval())})
    assert "column 'time' is month_day_nano_interval" in problem_of(table)


def test_metadata_of_packages_stays_outside(table, tmp_path, pandas):
    frames.save_frame(table.to_pandas().set_index("id"), tmp_path / "saved.parquet")
    assert pq.read_schema(tmp_path / "saved.parquet").metadata is None


# --- what is no frame


def test_what_is_no_frame_says_what_would_be_one(pandas, polars):
    for value in (3, None, [1], {"pred": [1]}, pandas.Series([1]), polars.LazyFrame({"a": [1]})):
        assert not frames.is_frame(value)
        assert "is no frame" in problem_of(value)
    for column in (polars.Series([1]), pa.chunked_array([[1]])):
        assert "is no frame" in problem_of(column)


# --- streams


def record_batch(values: np.ndarray) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values)], names=["x"])


def test_a_stream_is_written_as_it_comes(tmp_path):
    """Never more than a row group and a batch at once, in row groups of 131,072."""
    schema, open_batches, most = pa.schema([("x", pa.int64())]), [], 0

    def batches():
        nonlocal most
        for number in range(10):
            most = max(most, number - len(open_batches))
            yield record_batch(np.arange(number * 60_000, (number + 1) * 60_000))
            rows = sum(file.stat().st_size > 0 for file in tmp_path.iterdir())
            open_batches.append(rows)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    assert frames.save_frame(reader, tmp_path / "pool.parquet") == 600_000
    # The file was being written while batches were still to come.
    assert open_batches[5:] == [1] * 5
    footer = pq.read_metadata(tmp_path / "pool.parquet")
    groups = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
    assert max(groups) == 131_072 and sum(groups) == 600_000
    assert pq.read_table(tmp_path / "pool.parquet")["x"].to_pylist() == list(range(600_000))


def test_a_long_chunk_is_written_in_row_groups(tmp_path):
    frames.save_frame(pa.table({"x": np.arange(300_000)}), tmp_path / "pool.parquet")
    footer = pq.read_metadata(tmp_path / "pool.parquet")
    groups = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
    assert groups == [131_072, 131_072, 37_856]


def test_a_stream_that_breaks_leaves_nothing(tmp_path):
    def batches():
        yield record_batch(np.arange(200_000))
        raise OSError("the connection is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("x", pa.int64())]), batches())
    with pytest.raises(PoolError, match="the connection is gone"):
        frames.save_frame(reader, tmp_path / "pool.parquet")
    assert not list(tmp_path.iterdir())


def test_a_stream_is_read_once(tmp_path):
    reader = pa.table({"x": [1]}).to_reader()
    frames.save_frame(reader, tmp_path / "pool.parquet")
    with pytest.raises(PoolError, match="no rows") as error:
        frames.save_frame(reader, tmp_path / "again.parquet")
    assert "once" in error.value.hint


# --- columns as Python values


def test_columns_are_python_values_even_where_types_differ(pandas, polars):
    frame = pandas.DataFrame({"id": [1, 2], "label": pandas.Series(["", 7], dtype=object)})
    columns = frames.read_columns(frame)
    assert (columns["id"], columns["label"]) == ([1, 2], ["", 7])
    assert {type(value) for value in columns["id"]} == {int}
    for other in (polars.DataFrame({"id": [1], "label": ["x"]}), pa.table({"id": [1]})):
        columns = frames.read_columns(other)
        assert columns["id"] == [1] and len(columns) == len(list(columns))


def test_errors_about_columns_are_of_the_kind_that_is_asked_for(pandas):
    for frame in (3, pandas.DataFrame({0: [1]}), pa.table([[1], [2]], names=["a", "a"])):
        with pytest.raises(LabelError) as error:
            frames.read_columns(frame, error=LabelError)
        assert error.value.hint


# --- columns as frames


def test_columns_become_a_frame_of_each_kind(pandas, polars):
    columns = {"id": ["a", "b"], "estimate": [0.5, None], "reason": [None, None]}
    types = {"estimate": float, "reason": str}
    made = {kind: frames.write_frame(columns, kind, types=types) for kind in frames.KINDS}
    assert isinstance(made["pandas"], pandas.DataFrame)
    assert isinstance(made["polars"], polars.DataFrame)
    assert isinstance(made["pyarrow"], pa.Table)
    assert made["pyarrow"].to_pydict() == made["polars"].to_dict(as_series=False) == columns
    assert made["polars"].schema["reason"] == polars.String
    assert made["pandas"]["estimate"].isna().tolist() == [False, True]
    assert made["pandas"]["estimate"].dtype == float


def test_a_frame_without_rows_has_its_types():
    table = frames.write_frame({"x": []}, "pyarrow", types={"x": float})
    assert table.schema == pa.schema([("x", pa.float64())])


def test_another_kind_of_frame_is_refused():
    with pytest.raises(ChoiceError, match="no frame is called 'panda'") as error:
        frames.write_frame({"x": [1]}, "panda")
    assert "did you mean 'pandas'" in error.value.hint


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_package_that_is_missing_is_named(kind, monkeypatch):
    """And no other kind of frame comes in its place."""
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(ActivetestError, match=f"{kind} is not installed") as error:
        frames.write_frame({"x": [1]}, kind)
    assert "pip install" in error.value.hint and "pyarrow" in error.value.hint


def test_pools_and_frames_of_arrow_need_neither_pandas_nor_polars(tmp_path):
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(name, *_):\n"
        "        if name in ('pandas', 'polars'): raise ImportError(name)\n"
        "sys.meta_path.insert(0, Missing)\n"
        "import pyarrow as pa\n"
        "from pathlib import Path\n"
        "from activetest.pool import frames\n"
        f"frames.save_frame(pa.table({{'x': [1]}}), Path({str(tmp_path / 'x.parquet')!r}))\n"
        "frames.is_frame(3), frames.write_frame({'x': [1]}, 'pyarrow')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert frames.read_columns(pq.read_table(tmp_path / "x.parquet"))["x"] == [1]


def test_whole_numbers_of_64_bits_are_in_frames():
    assert frames.write_frame({"x": [2**64 - 1, 3]}, "pyarrow")["x"].to_pylist() == [2**64 - 1, 3]


@pytest.mark.parametrize("values", [[2**64], [1, "a"], [[("key", 1)]]])
def test_what_makes_no_column_is_refused_by_its_name(values):
    with pytest.raises(ChoiceError, match="column 'odd' cannot be in a frame"):
        frames.write_frame({"odd": values}, "pyarrow")
