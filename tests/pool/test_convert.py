"""CSV and JSON lines become Parquet without losing anything."""

import csv
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activetest.errors import ActivetestError, PoolError
from activetest.formats import json_lines
from activetest.pool import convert
from activetest.pool.pool import Pool

SLOW_DISK = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def converted(folder, name: str, content: str | bytes, **options) -> pa.Table:
    """A file with this content, as the table it becomes."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    convert.to_parquet(str(path), str(folder / "out.parquet"), **options)
    return pq.read_table(folder / "out.parquet")


def test_a_file_with_a_header_alone_is_named_as_the_user_named_it(tmp_path):
    with pytest.raises(PoolError, match=r"head\.csv has no rows"):
        converted(tmp_path, "head.csv", "id,score\n")
    assert [path.name for path in tmp_path.iterdir()] == ["head.csv"]


def test_columns_of_a_csv_get_the_narrowest_type_that_holds_all_rows(tmp_path):
    table = converted(tmp_path, "p.csv", "id,a,b,c,d\n007,1,1,x,\n008,2,2.5,3,\n")
    assert [str(field.type) for field in table.schema] == [
        "string",
        "int64",
        "double",
        "string",
        "int64",
    ]
    assert table["id"].to_pylist() == ["007", "008"]
    assert table["d"].to_pylist() == [None, None]


def test_a_type_is_found_from_the_last_row_too(tmp_path):
    rows = "".join(f"{k},1\n" for k in range(5000)) + "5000,0.5\n"
    table = converted(tmp_path, "p.csv", "id,score\n" + rows)
    assert table["score"].type == pa.float64() and len(table) == 5001


def test_the_id_column_the_user_names_stays_text(tmp_path):
    table = converted(tmp_path, "p.csv", "key,pred\n01,1\n02,0\n", id="key")
    assert table["key"].to_pylist() == ["01", "02"]


def test_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path):
    table = converted(tmp_path, "p.csv", b"\xef\xbb\xbfid,pred\r\na,1\r\nb,0\r\n")
    assert table.to_pydict() == {"id": ["a", "b"], "pred": [1, 0]}
    lines = converted(tmp_path, "p.jsonl", b'\xef\xbb\xbf{"id": "a"}\r\n{"id": "b"}\r\n')
    assert lines.to_pydict() == {"id": ["a", "b"]}


def test_quoted_values_may_hold_commas_quotes_and_line_ends(tmp_path):
    table = converted(tmp_path, "p.csv", 'id,text\na,"one, ""two""\nthree"\n')
    assert table["text"].to_pylist() == ['one, "two"\nthree']


def test_a_semicolon_in_the_name_of_a_column_is_no_delimiter(tmp_path):
    table = converted(tmp_path, "p.csv", '"a;b\nc",pred\nx;y,1\n')
    assert table.column_names == ["a;b\nc", "pred"] and table["pred"].to_pylist() == [1]


def test_tabs_are_the_delimiter_of_tsv(tmp_path):
    table = converted(tmp_path, "p.tsv", "id\tpred\na\t1\n")
    assert table.to_pydict() == {"id": ["a"], "pred": [1]}


def test_json_lines_may_mix_whole_and_fractional_numbers_lists_and_nulls(tmp_path):
    lines = ['{"id": 1, "p": [1, 0], "x": 1}', '{"id": 2, "p": [0.5, 0.5], "x": null}', '{"id": 3}']
    table = converted(tmp_path, "p.jsonl", "\n".join(lines))
    assert table.to_pydict() == {
        "id": [1, 2, 3],
        "p": [[1, 0], [0.5, 0.5], None],
        "x": [1, None, None],
    }


def test_blocks_of_json_lines_of_different_types_are_one_table(tmp_path, monkeypatch):
    monkeypatch.setattr(json_lines, "_BLOCK", 20)
    lines = [json.dumps({"id": k, "x": k if k < 5 else k / 2}) for k in range(10)]
    table = converted(tmp_path, "p.jsonl", "\n".join(lines) + "\n\n")
    assert table["x"].to_pylist() == [0, 1, 2, 3, 4, 2.5, 3, 3.5, 4, 4.5]


def test_ids_that_look_like_dates_stay_text_in_json_lines(tmp_path):
    table = converted(tmp_path, "p.jsonl", '{"id": "2020-01-01"}\n{"id": "2020-01-02"}')
    assert table["id"].to_pylist() == ["2020-01-01", "2020-01-02"]


def test_many_rows_are_written_as_row_groups_of_bounded_size(tmp_path):
    rows = "".join(f"{k},1\n" for k in range(300_000))
    converted(tmp_path, "p.csv", "id,pred\n" + rows)
    metadata = pq.read_metadata(tmp_path / "out.parquet")
    sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
    assert sum(sizes) == 300_000 and max(sizes) <= 131_072


BAD = {
    "empty.csv": ("", "is empty"),
    "commas.tsv": ("id,pred\na\t1\n", "cannot be read: .*Expected 2 columns, got 1"),
    "twice.csv": ("id,id\na,b\n", "two columns of .* called 'id'"),
    "ragged.csv": ("id,pred\na,1\nb\n", "cannot be read: .*Expected 2 columns, got 1"),
    "latin names.csv": (
        b"id,pred,\xf6\na,1,2\n",
        "is not UTF-8, from line 1 on: it looks like Windows",
    ),
    "wide.csv": ("id,pred\na,1\n".encode("utf-16"), "looks like UTF-16"),
    "wide.jsonl": ('{"id": 1}\n'.encode("utf-16-be"), "looks like UTF-16"),
    "latin.csv": (b"id,pred\n\xe9,1\n", "is not UTF-8, from line 2 on: it looks like Windows"),
    "latin.jsonl": (b'{"id": "a"}\n{"id": "\xe9"}', "is not UTF-8, from line 2 on"),
    "half.csv": ("id,pred\né,1\n".encode() + b"\xe9,1\n", "is not UTF-8 in line 3, though"),
    "blank.jsonl": ("\n\n", "has no rows"),
    "broken.jsonl": ('{"id": 1}\n{"id": ', "cannot be read: .*JSON parse error"),
    "mixed.jsonl": ('{"id": 1}\n{"id": [1]}', "cannot be read: .*JSON parse error"),
    "array.json": ('[{"id": 1}', "cannot be read: .*the array does not end"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_cannot_be_parsed_is_a_named_error_and_leaves_nothing(tmp_path, name):
    content, problem = BAD[name]
    with pytest.raises(PoolError, match=problem) as caught:
        converted(tmp_path, name, content)
    assert name in caught.value.problem and caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_missing_csv_is_named(tmp_path):
    with pytest.raises(PoolError, match="no file .*p.csv"):
        convert.to_parquet(str(tmp_path / "p.csv"), str(tmp_path / "out.parquet"))


WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n,\"';"),
    min_size=1,
    max_size=12,
)


@SLOW_DISK
@given(
    st.lists(st.tuples(WORDS, st.floats(allow_nan=False, allow_infinity=False)), min_size=1),
)
def test_every_csv_that_python_writes_is_read_back(tmp_path, rows):
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerows([("id", "x"), *rows])
    table = converted(tmp_path, "p.csv", written.getvalue())
    assert table["id"].to_pylist() == [word for word, _ in rows]
    assert table["x"].to_pylist() == [number for _, number in rows]


@SLOW_DISK
@given(st.binary(max_size=200), st.sampled_from(["p.csv", "p.jsonl", "p.tsv", "p.parquet"]))
def test_any_bytes_are_a_pool_or_a_named_error(tmp_path, content, name):
    path = tmp_path / name
    path.write_bytes(content)
    try:
        if convert.needs_conversion(str(path)):
            convert.to_parquet(str(path), str(tmp_path / "out.parquet"))
            path = tmp_path / "out.parquet"
        Pool.open(path)
    except ActivetestError as error:
        assert error.problem and error.hint


COLUMN = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-5, 5)), min_size=3, max_size=3),
    st.lists(st.one_of(st.none(), st.floats(width=32)), min_size=3, max_size=3),
    st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "0", ""])), min_size=3, max_size=3),
    st.lists(st.booleans(), min_size=3, max_size=3),
    st.lists(st.lists(st.floats(0, 1), max_size=3), min_size=3, max_size=3),
)
NAMES = st.sampled_from(["id", "prob", "prob_a", "prob_b", "score", "pred", "pred_std", "f", "g"])


@SLOW_DISK
@given(st.dictionaries(NAMES, COLUMN, min_size=1), st.sampled_from([(), ("g",), ("g*f",)]))
def test_any_table_is_a_cache_or_a_named_error(tmp_path, columns, groups):
    from activetest.cache import cache

    pq.write_table(pa.table(columns), tmp_path / "pool.parquet")
    try:
        pool = Pool.open(tmp_path / "pool.parquet", groups=groups)
        built_cache = cache.build_cache(pool, tmp_path / "cache")
    except ActivetestError as error:
        assert error.problem and error.hint
    else:
        rows = built_cache.rows(0, 3)
        ids = built_cache.ids(range(3))
        assert built_cache.find(ids).tolist() == [0, 1, 2]
        assert bool((rows.design == rows.design).all())
        assert cache.ensure_cache(pool, tmp_path / "cache").fingerprint == built_cache.fingerprint


@pytest.mark.parametrize("name", ["typo.csv", "nowhere/typo.jsonl"])
def test_a_mistyped_file_is_looked_for_by_its_folder(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    opened = convert.open_as_parquet(name)
    with pytest.raises(PoolError, match=f"there is no file {name}") as caught, opened:
        pass
    assert f"looked in {(tmp_path / name).parent}" in caught.value.hint


def test_tables_of_text_on_other_machines_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = convert.open_as_parquet("https://host.example/pool.csv")
    with pytest.raises(PoolError, match="cannot be opened") as caught, opened:
        pass
    assert caught.value.hint == "download the file, and give its path"
