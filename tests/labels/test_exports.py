"""Label files of any format: what they hold decides, and other names of columns are said."""

import io
import json

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from activetest.errors import LabelConflict, LabelError
from activetest.labels import exports
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from tests.exports import write_xlsx

ROWS = {
    "id": ["a", "b", "c"],
    "label": ["cat", None, None],
    "annotator": ["ann", "ben", None],
    "status": [None, "declined", ""],
    "note": ["x", "y", "z"],
}
ANSWERS = [("a", "cat", "ann", LABELLED), ("b", "", "ben", DECLINED), ("c", "", "", PENDING)]


def write_csv(rows: dict[str, list]) -> bytes:
    lines = [rows, *zip(*rows.values(), strict=True)]
    return "".join(f"{','.join(each or '' for each in line)}\n" for line in lines).encode()


def write_lines(rows: dict[str, list]) -> bytes:
    return "\n".join(map(json.dumps, pa.table(rows).to_pylist())).encode()


def write_array(rows: dict[str, list]) -> bytes:
    return json.dumps(pa.table(rows).to_pylist()).encode()


def write_parquet(rows: dict[str, list]) -> bytes:
    target = io.BytesIO()
    pq.write_table(pa.table(rows), target)
    return target.getvalue()


def write_feather(rows: dict[str, list]) -> bytes:
    target = io.BytesIO()
    pyarrow.feather.write_feather(pa.table(rows), target)
    return target.getvalue()


def write_stream(rows: dict[str, list]) -> bytes:
    target = io.BytesIO()
    table = pa.table(rows)
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    return target.getvalue()


def write_workbook(rows: dict[str, list]) -> bytes:
    return write_xlsx([tuple(rows), *zip(*rows.values(), strict=True)])


WRITERS = [
    *(write_csv, write_lines, write_array, write_parquet, write_feather, write_stream),
    write_workbook,
]


@pytest.fixture(params=WRITERS)
def write(request):
    return request.param


def take(content: bytes, **columns: str) -> list[tuple]:
    rows = exports.parse_content(content, "no name", columns=columns)
    return [(row.id, row.label, row.annotator, row.status) for row in rows]


def test_the_same_answers_come_from_every_format(write):
    assert take(write(ROWS)) == ANSWERS


def test_columns_may_have_other_names(write):
    renamed = {"item": "id", "choice": "label", "who": "annotator", "state": "status"}
    rows = {name: ROWS[renamed[name]] for name in renamed} | {"id": ["7"] * 3, "label": ["no"] * 3}
    assert take(write(rows), **{field: name for name, field in renamed.items()}) == ANSWERS
    with pytest.raises(LabelError, match="no name,? .*has no column 'items'; it has item, choice"):
        take(write(rows), id="items", label="choice")


def test_our_own_key_goes_before_an_id_that_another_tool_gave(write):
    rows = {"id": ["1", "2", "3"], "activetest_id": ROWS["id"], "label": ["cat"] * 3}
    assert [row[0] for row in take(write(rows))] == ["a", "b", "c"]


def test_a_file_without_labels_says_what_it_has(write):
    with pytest.raises(LabelError, match=r"no name,? .*no column 'label'; it has id, note"):
        take(write({"id": ["a"], "note": ["x"]}))


def test_contradictions_name_both_places(write):
    with pytest.raises(LabelConflict, match=r"'cat' in (line|row) \d and labelled 'dog' in"):
        take(write({"id": ["a", "b", "a"], "label": ["cat", "cat", "dog"]}))


def test_numbers_are_the_same_classes_in_every_format():
    rows = {"id": [1, 2, 3], "label": [3.0, 0.5, None]}
    for writer in WRITERS[1:]:
        labels = [(row[0], row[1]) for row in take(writer(rows))]
        assert labels == [("1", "3"), ("2", "0.5"), ("3", "")], writer


@pytest.mark.parametrize("writer", [write_parquet, write_feather, write_stream])
def test_damaged_tables_are_errors(writer):
    content = writer(ROWS)
    for size in (len(content) // 2, len(content) - 40):
        with pytest.raises(LabelError, match="no name"):
            take(content[:size])
    with pytest.raises(LabelError, match="row 0, id 'a': the label is of type list"):
        take(writer({"id": ["a"], "label": [["cat", "dog"]]}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"id": "a", "label": "cat"}\n{"id": "b"}', "line 2: there is no 'label'"),
        (b'{"id": "a", "label": "cat"}\n{"id"', "line 2, line 1: no JSON"),
        (b'{"id": "a", "label": "cat"}\n[1]', "line 2: it is no JSON object"),
        (b'{"id": ["a"], "label": "cat"}', "row 1: the id is of type list"),
        (b'{"id": "a", "label": {}}', "row 1, id 'a': the label is of type dict"),
    ],
)
def test_a_damaged_line_of_json_is_named(content, message):
    with pytest.raises(LabelError, match=f"^no name, {message}"):
        take(content)


def test_the_end_of_a_name_decides_nothing(tmp_path):
    path = tmp_path / "labels.xlsx"
    path.write_bytes(write_csv(ROWS))
    assert len(exports.read_answers(path)) == 3
