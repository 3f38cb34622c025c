"""Documents of one object: rows under a key, columns, pandas' forms, an answer for each id."""

import json
import math
import shutil
import subprocess

import pyarrow as pa
import pytest

from activetest.errors import PoolError
from activetest.formats import _json_values, json_lines

ROWS = [{"id": f"r{number}", "pred": "cd"[number % 2]} for number in range(12)]
IDS, PREDS = ([row[name] for row in ROWS] for name in ("id", "pred"))
TABLE = {"id": IDS, "pred": PREDS}


def read(path, document, **how) -> tuple[dict[str, list], list[str]]:
    """(columns, notes) of a document."""
    path = path / "p.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document, **how), "utf-8")
    tables = list(json_lines.read_pool(path))
    assert all(each.schema.equals(tables[0].schema, check_metadata=True) for each in tables)
    document = json.loads((tables[0].schema.metadata or {}).get(b"activetest", b"{}"))
    return pa.concat_tables(tables).to_pydict(), document.get("notes", [])


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("document", "note"),
    [
        ({"results": ROWS}, "the rows are the 12 objects under 'results'"),
        (
            {"version": 1, "score": 0.5, "results": ROWS, "config": {"a": [1]}},
            "the rows are the 12 objects under 'results'; not read: version, score, config",
        ),
        (
            {"run": {"out": {"rows": ROWS}}, "messages": [{"role": "user", "content": "x"}]},
            "the rows are the 12 objects under 'run.out.rows'; not read: messages",
        ),
        (
            {"schema": {"fields": [{"name": "id"}, {"name": "pred"}]}, "data": ROWS},
            "the rows are the 12 objects under 'data'; not read: schema",
        ),
        (TABLE, "each of 2 columns is a list of 12 values"),
        (
            {"model": "m", **TABLE, "n": 12},
            "each of 2 columns is a list of 12 values; not read: model, n",
        ),
        (
            {name: {str(at): each for at, each in enumerate(TABLE[name])} for name in TABLE},
            "each of 2 columns is an object of 12 values",
        ),
        (
            {"pred": dict(zip(IDS, PREDS, strict=True))},
            "each of 1 columns is an object of 12 values; id is their key",
        ),
        (
            {"columns": ["id", "pred"], "data": [[*row.values()] for row in ROWS]},
            "the rows are 12 lists of the values of 2 columns",
        ),
        (
            {"columns": ["pred"], "index": IDS, "data": [[each] for each in PREDS]},
            "the rows are 12 lists of the values of 1 columns; id is their index",
        ),
        (
            {row["id"]: {"pred": row["pred"]} for row in ROWS},
            "the 12 keys of the object are read as ids (id)",
        ),
        (
            {row["id"]: row["pred"] for row in ROWS},
            "the 12 keys of the object are read as ids, and its values as pred",
        ),
        (
            {"model": "m", "predictions": {row["id"]: row["pred"] for row in ROWS}, "n": [1]},
            "the 12 keys of the object are read as ids, and its values as pred, under "
            "'predictions'; not read: model, n",
        ),
        (
            {"range": "A1:B13", "values": [["id", "pred"], *([*row.values()] for row in ROWS)]},
            "the rows are 12 lists of the values of 2 columns",
        ),
    ],
)
def test_rows_are_found_and_what_was_understood_is_said(tmp_path, document, note, indent):
    assert read(tmp_path, document, indent=indent) == (TABLE, [note])


def test_answers_for_ids_may_be_numbers_or_probabilities(tmp_path):
    assert read(tmp_path, dict.fromkeys(IDS, 0.25))[0] == {"id": IDS, "score": [0.25] * 12}
    assert read(tmp_path, dict.fromkeys(IDS, 3))[0] == {"id": IDS, "pred": [3] * 12}
    probs = {each: [0.25, 0.75] for each in IDS}
    assert read(tmp_path, probs)[0] == {"id": IDS, "prob": [[0.25, 0.75]] * 12}


@pytest.mark.parametrize(
    "document",
    [
        {"id": "a", "pred": "c"},
        {"id": "a", "pred": "c", "messages": [{"role": "user", "content": "x"}]},
        {"id": "a", "pred": "c", "parts": [{"x": 1}, {"x": 2}]},
        {"id": "a", "prob": [0.5, 0.5], "vector": [1, 2]},
        {"a": 1, "b": "x"},
        {"a": "x", "b": None},
    ],
)
def test_a_single_row_stays_a_row(tmp_path, document):
    assert read(tmp_path, document) == ({name: [each] for name, each in document.items()}, [])
    assert read(tmp_path, document, indent=2)[1] == []


def test_objects_one_after_another_are_rows_whatever_is_in_them(tmp_path):
    lines = "\n".join(json.dumps({"id": str(at), "parts": ROWS}) for at in range(3))
    found, notes = read(tmp_path, lines)
    assert found["id"] == ["0", "1", "2"] and notes == []
    # Also where the first line is longer than what is looked at.
    long = {"id": "x" * 100_000, "parts": ROWS}
    found, notes = read(tmp_path, f"{json.dumps(long)}\n{lines}")
    assert len(found["id"]) == 4 and notes == []
    pretty = "\n".join(json.dumps({"id": str(at), "parts": ROWS}, indent=1) for at in range(3))
    assert len(read(tmp_path, pretty)[0]["id"]) == 3


def test_where_several_lists_may_be_the_rows_it_is_asked_and_the_hint_works(tmp_path):
    document = {"prompts": ROWS[:2], "my results": ROWS}
    with pytest.raises(PoolError, match=r"prompts \(2\), my results \(12\)") as caught:
        read(tmp_path, document)
    line = caught.value.hint.partition("example: ")[2]
    assert "jq" in line and "my results" in line
    if shutil.which("jq"):
        subprocess.run(line, shell=True, check=True)
        written = tmp_path / "p-my results.json"
        assert pa.concat_tables(json_lines.read_pool(written)).to_pydict() == TABLE


def test_where_several_objects_may_hold_the_rows_it_is_asked(tmp_path):
    with pytest.raises(PoolError, match="may hold the rows: a, b") as caught:
        read(tmp_path, {"a": TABLE, "b": TABLE, "c": {"d": 1}})
    assert "jq '.\"a\"'" in caught.value.hint


def test_rows_under_a_key_may_be_more_than_fit_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_json_values, "LARGEST", 300)
    monkeypatch.setattr(_json_values, "_CHUNK", 64)
    monkeypatch.setattr(json_lines, "_BLOCK", 50)
    assert read(tmp_path, {"results": ROWS})[0] == TABLE
    with pytest.raises(PoolError, match="is larger than"):
        read(tmp_path, {row["id"]: row["pred"] * 50 for row in ROWS})


@pytest.mark.parametrize(
    "text", ['{"results": [{"id": 1}, ', '{"a": ' * 5000, '{"results": [{"id": 1}]', '{"a": tru}']
)
def test_a_damaged_document_is_an_error(tmp_path, text):
    with pytest.raises(PoolError):
        read(tmp_path, text)


def test_words_that_no_file_can_hold_are_replaced(tmp_path):
    found, _ = read(tmp_path, '{"results": [{"id": "\\ud800a"}, {"id": "b"}]}')
    assert found == {"id": ["?a", "b"]}


def test_a_list_of_lists_has_a_header_or_holds_probabilities(tmp_path):
    rows = [["id", "pred"], *([*row.values()] for row in ROWS)]
    assert read(tmp_path, rows) == (TABLE, ["the rows are 12 lists of the values of 2 columns"])
    found, notes = read(tmp_path, [[0.25, 0.75], [1, 0]])
    assert found == {"prob": [[0.25, 0.75], [1, 0]]}
    assert "probabilities of all classes; ids are the numbers of the lists" in notes[0]
    named = [
        [{"label": "a", "score": 0.25}, {"label": "b", "score": 0.75}],
        [{"score": 1.0, "label": "b"}, {"score": 0.0, "label": "a"}],
    ]
    assert read(tmp_path, named, indent=1)[0] == {
        "prob": [{"a": 0.25, "b": 0.75}, {"a": 0, "b": 1}]
    }


@pytest.mark.parametrize(
    "document", [[[1, 2], [3, 4]], [["a", 1], ["b", 2]], [[{"a": 1}]], [["id"], ["a", "b"]]]
)
def test_another_list_of_lists_says_what_to_write(tmp_path, document):
    with pytest.raises(PoolError, match="first does not hold the names") as caught:
        read(tmp_path, document)
    assert "with the names of the columns" in caught.value.hint


@pytest.mark.parametrize("block", [1, 40, 2**24])
def test_the_rows_of_a_document_become_lines_once_whatever_they_hold(tmp_path, monkeypatch, block):
    made = []
    write_blocks = json_lines._write_blocks
    monkeypatch.setattr(json_lines, "_BLOCK", block)
    monkeypatch.setattr(
        json_lines, "_write_blocks", lambda shape: made.append(shape) or write_blocks(shape)
    )
    texts = ["a\0b", "line\nend", "é\u2028", "9" * 400, "", "{}"]
    rows = [{"id": f"{at}", "text": each, "x": at + 0.5} for at, each in enumerate(texts)]
    found, notes = read(tmp_path, {"rows": [*rows, {"id": "last", "text": None, "y": 1}]})
    assert found["text"] == [*texts, None] and found["y"] == [None] * len(texts) + [1]
    assert found["id"][-1] == "last" and notes == ["the rows are the 7 objects under 'rows'"]
    assert len(made) == 1


@pytest.mark.parametrize("between", ["\n", ""])
def test_a_document_with_a_very_long_number_is_read_as_any_other(tmp_path, between):
    """Parsers of tables take it for an infinity, wherever it stands."""
    rows = '[{"id": "a", "x": -' + "9" * 5000 + '}, {"id": "b", "x": 12}]'
    document = f'{{{between}"rows": {rows},{between} "n": {"7" * 5000}}}'
    found, notes = read(tmp_path, document)
    assert found == {"id": ["a", "b"], "x": [-math.inf, 12]}
    assert notes == ["the rows are the 2 objects under 'rows'; not read: n"]
    with pytest.raises(PoolError, match=r"p\.json"):
        read(tmp_path, f'{{\n"rows": [{{"id": "a"}}], "n": {"9" * 5000}')
