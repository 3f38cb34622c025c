"""JSON objects, however they stand in a file."""

import json
from functools import partial

import pyarrow.parquet as pq
import pytest

from activetest.errors import ColumnsUnclear, LabelError, PoolError
from activetest.formats import _json_values, find_format, json_lines, read_file_notes
from activetest.labels import exports
from activetest.nouns.file_head import take_head
from activetest.pool import convert

ROWS = [{"id": f"i{k}", "text": 'a "b"\n[{', "p": [k / 10, 1 - k / 10]} for k in range(10)]
SHAPES = {
    "array": json.dumps(ROWS),
    "printed": json.dumps(ROWS, indent=2),
    "lines": "\n".join(map(json.dumps, ROWS)),
    "objects": "\n".join(json.dumps(row, indent=1) for row in ROWS),
    "marked": "\ufeff \n" + json.dumps(ROWS),
}


def convert_text(folder, content, name="pool.json"):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    convert.to_parquet(str(path), str(folder / "out.parquet"))
    return pq.read_table(folder / "out.parquet")


@pytest.mark.parametrize("block", [2**24, 100])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["pool.jsonl", "pool.json", "pool.csv", "pool"])
def test_objects_are_rows_in_every_shape_and_under_every_name(
    tmp_path, monkeypatch, shape, name, block
):
    monkeypatch.setattr(json_lines, "_BLOCK", block)
    monkeypatch.setattr(_json_values, "_CHUNK", 64)
    assert find_format(take_head(SHAPES[shape].encode(), name)) == "json-lines"
    assert convert_text(tmp_path, SHAPES[shape], name).to_pylist() == ROWS


def test_numbers_are_read_as_they_are_written(tmp_path):
    table = convert_text(tmp_path, '[{"a": 1, "b": 0.1}, {"a": 9007199254740993, "b": 1e3}]')
    assert table.to_pydict() == {"a": [1, 9007199254740993], "b": [0.1, 1000]}


@pytest.mark.parametrize(
    "write", [lambda rows: "\n".join(map(json.dumps, rows)), partial(json.dumps, indent=1)]
)
@pytest.mark.parametrize("block", [2**24, 1])
def test_columns_of_several_types_are_text(tmp_path, monkeypatch, block, write):
    monkeypatch.setattr(json_lines, "_BLOCK", block)
    rows = [
        {"id": 1, "judge": {"a/b": 0.5, "c": True}, "x": None},
        {"id": "a", "judge": {"a/b": "error", "c": 2}, "x": 1},
        {"id": 3.5, "judge": None, "x": 2.5},
    ]
    table = convert_text(tmp_path, write(rows))
    assert table.column("id").to_pylist() == ["1", "a", "3.5"]
    records = table.column("judge").to_pylist()
    assert records[:2] == [{"a/b": "0.5", "c": "True"}, {"a/b": "error", "c": "2"}]
    assert table.column("x").to_pylist() == [None, 1, 2.5]
    (note,) = read_file_notes(table.schema.metadata).notes
    assert note == "values of several types are read as text: id, judge/a/b, judge/c"


def test_empty_records_are_left_out(tmp_path):
    table = convert_text(tmp_path, '{"id": "a", "meta": {}, "pred": 1}')
    assert table.column_names == ["id", "pred"]
    assert read_file_notes(table.schema.metadata).notes == (
        "left out, because a pool cannot hold what is in them: meta",
    )


BROKEN = {
    "no end": ('[{"id": "a"}, {"id": "b"}', "object 2 .*the array does not end"),
    "cut": ('[{"id": "a"}, {"id": "b', "object 2 .*Unterminated"),
    "numbers": ('[{"id": "a"}, 3]', "object 2 .*no object"),
    "no comma": ('[{"id": "a"} {"id": "b"}]', "object 1 .*no comma"),
    "more": ('[{"id": "a"}]\n[{"id": "b"}]', "object 1 .*the array ends before the file"),
    "bracket": ('{\n"id": "a"}\n]', "object 1 .*no object follows"),
    "latin": (b'[{"id": "\xe9"}]', "is not UTF-8"),
    "empty": ("[]", "has no rows"),
    "mixed": ('[{"id": 1}, {"id": [1]}]', "changed from number to array"),
    "mixed lists": ('[{"id": [1]}, {"id": ["a"]}]', "changed from number to string"),
    "NUL": ('[{"id": "a\0"}]', "object 1"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_named_and_leaves_nothing(tmp_path, case):
    content, problem = BROKEN[case]
    with pytest.raises(PoolError, match=problem) as caught:
        convert_text(tmp_path, content)
    assert "pool.json" in caught.value.problem and caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["pool.json"]


@pytest.mark.parametrize("depth", [201, 900, 20_000])
@pytest.mark.parametrize("pair", ["[]", "{}"])
@pytest.mark.parametrize("array", [False, True])
def test_what_is_too_deep_for_the_parser_is_refused_before_it_sees_it(tmp_path, depth, pair, array):
    """Arrow's parser has no bound of its own: it crashes."""
    opening = pair[0] + ('"a":' if pair == "{}" else "")
    text = '{"x": ' + opening * depth + "1" + pair[1] * depth + "}"
    with pytest.raises(PoolError, match="more than 200 lists or objects"):
        convert_text(tmp_path, f"[{text}]" if array else text)


def test_brackets_in_text_are_not_deep(tmp_path):
    text = '{"text": "' + "[{" * 500 + '\\"' + '"}\n'
    assert convert_text(tmp_path, text * 3).num_rows == 3
    # Nor do closing ones hide what is.
    hidden = '{"x": ' + '{"a": "}}}}", "b": ' * 300 + "1" + "}" * 301
    with pytest.raises(PoolError, match="more than 200 lists or objects"):
        convert_text(tmp_path, hidden)


def read_labels(value, **columns: str) -> list[tuple[str, str]]:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return [(row.id, row.label) for row in exports.parse_content(content, "x", columns=columns)]


@pytest.mark.parametrize(
    "value",
    [
        [{"id": "a", "label": "cat"}, {"id": "b", "label": None}],
        {"a": "cat", "b": None},
        {"id": ["a", "b"], "label": ["cat", None]},
        {"id": {"0": "a", "1": "b"}, "label": {"0": "cat", "1": None}},
        {"columns": ["id", "label"], "index": [0, 1], "data": [["a", "cat"], ["b", None]]},
        {"version": 2, "items": [{"id": "a", "label": "cat"}, {"id": "b", "label": None}]},
        [{"activetest_id": "a", "id": 1, "label": ["cat"]}, {"activetest_id": "b", "label": []}],
        [
            {"id": 1, "meta": {"activetest_id": "a"}, "label": ["cat"]},
            {"id": 2, "meta": {"activetest_id": "b"}, "label": []},
        ],
    ],
)
def test_answers_are_read_in_every_shape_that_programs_write(value):
    assert read_labels(value) == [("a", "cat"), ("b", "")]


@pytest.mark.parametrize(
    "value",
    [
        {"id": "a", "note": "x"},
        {"id": ["a", "b"], "label": ["cat"]},
        {"id": {"0": "a"}, "label": {"1": "cat"}},
        {"columns": ["id", "label"], "data": [["a"]]},
        {"x": [{"id": "a", "label": "cat"}], "y": [{"id": "a", "label": "cat"}]},
        {"a": "cat", "b": {"label": "dog"}},
    ],
)
def test_other_single_objects_are_rows_and_refused(value):
    with pytest.raises(LabelError):
        read_labels(value)


def test_values_inside_of_objects_and_of_lists_of_one_have_names():
    rows = [{"item": {"key": "a"}, "given": [{"by": {"who": "ann", "what": "cat"}}]}]
    with pytest.raises(ColumnsUnclear) as error:
        read_labels(rows)
    assert error.value.columns == {
        "item.key": ["a"], "given.by.who": ["ann"], "given.by.what": ["cat"],
    }  # fmt: skip
    assert read_labels(rows, id="item.key", label="given.by.what") == [("a", "cat")]
    several = [{"id": "a", "label": ["cat", "dog"]}]
    with pytest.raises(LabelError, match="the label is of type list"):
        read_labels(several)
