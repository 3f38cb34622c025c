"""A sheet of a workbook is a pool: which one, below which header, and what its cells hold."""

import datetime
import json

import openpyxl
import pyarrow as pa
import pytest

import activetest as at
from activetest.errors import PoolError
from activetest.formats import find_format, xlsx
from activetest.nouns.file_head import read_head


def write_sheets(path, **sheets) -> str:
    """A workbook with these sheets: {title: rows}."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def read_sheet(path, **options) -> tuple[dict[str, list], list[str]]:
    """(columns, notes) of the pool in a workbook."""
    tables = list(xlsx.read_pool(path, **options))
    document = json.loads((tables[0].schema.metadata or {}).get(b"activetest", b"{}"))
    return pa.concat_tables(tables).to_pydict(), document.get("notes", [])


def test_a_workbook_is_a_pool(tmp_path):
    rows = [
        ("id", "pred", "score", "n", "when", "text"),
        (17, "cat", 0.25, 3.0, datetime.date(2026, 1, 31), "=1+1"),
        (),
        ("007", True, 1, None, datetime.datetime(2026, 1, 31, 12, 30), "a\nb"),
    ]
    path = write_sheets(tmp_path / "p.xlsx", Tabelle1=rows)
    assert find_format(read_head(path)) == "xlsx"
    assert read_sheet(path) == (
        {
            "id": ["17", "007"],
            "pred": ["cat", "True"],
            "score": [0.25, 1.0],
            "n": [3, None],
            "when": ["2026-01-31", "2026-01-31T12:30:00"],
            # The formula has no result: no spreadsheet has calculated it.
            "text": [None, "a\nb"],
        },
        [],
    )


def test_cells_of_text_are_read_as_a_file_of_text_is(tmp_path):
    path = write_sheets(tmp_path / "p.xlsx", a=[("key", "prob"), ("07", "[0,25 0,75]"), ("8", "x")])
    assert read_sheet(path)[0] == {"key": [7, 8], "prob": ["[0,25 0,75]", "x"]}
    assert read_sheet(path, id="key")[0]["key"] == ["07", "8"]
    path = write_sheets(tmp_path / "p.xlsx", a=[("id", "score"), ("a", "0,25"), ("b", "1.234,5")])
    found, notes = read_sheet(path)
    assert found["score"] == [0.25, 1234.5]
    assert notes == ["decimals are written with a comma in score"]


def test_the_sheet_with_outputs_is_read_and_the_others_are_said(tmp_path):
    cover = [("about", "this"), ("a", "b")]
    pool = [("Results of March",), (), ("id", "y_pred"), ("a", "x")]
    path = write_sheets(tmp_path / "p.xlsx", cover=cover, pool=pool, more=pool)
    assert read_sheet(path) == (
        {"id": ["a"], "y_pred": ["x"]},
        [
            "read from the sheet 'pool', and not from cover, more",
            "above the header, 2 rows are left out",
        ],
    )
    book = openpyxl.load_workbook(path)
    book["pool"].sheet_state = book["more"].sheet_state = "hidden"
    book.save(path)
    assert read_sheet(path) == ({"about": ["a"], "this": ["b"]}, [])


def test_columns_without_a_name_are_called_as_pandas_calls_them(tmp_path):
    path = write_sheets(tmp_path / "p.xlsx", a=[(None, "pred", ""), (0, "x", "y"), (1, "z")])
    assert read_sheet(path)[0] == {
        "Unnamed: 0": [0, 1],
        "pred": ["x", "z"],
        "Unnamed: 2": ["y", None],
    }


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([("id", "pred", "pred"), ("a", "x", "y")], "two columns are called 'pred'"),
        ([("id", "pred"), (datetime.date(2026, 2, 1), "x")], "cell A2: a date stands in"),
        ([("pred", "id"), ("x", 1234567890123456)], "cell B2: the id 1.23457e.15 has more than 15"),
        ([], "no sheet with cells"),
    ],
)
def test_a_workbook_that_is_no_pool_says_why(tmp_path, rows, problem):
    path = write_sheets(tmp_path / "p.xlsx", a=rows)
    with pytest.raises(PoolError, match=problem) as caught:
        list(xlsx.read_pool(path))
    assert "p.xlsx" in caught.value.problem and caught.value.hint


def test_pools_are_bounded_as_answers_are(tmp_path, monkeypatch):
    path = write_sheets(tmp_path / "p.xlsx", a=[("id", "pred"), *[("a", "x")] * 50])
    monkeypatch.setattr(xlsx, "_CELLS", 64)
    with pytest.raises(PoolError, match="more than 32 rows"):
        list(xlsx.read_pool(path))
    monkeypatch.setattr(xlsx, "_UNPACKED", 1000)
    with pytest.raises(PoolError, match="is larger than|unpacks to more than"):
        list(xlsx.read_pool(path))


def test_a_workbook_of_answers_is_none_of_outputs(tmp_path):
    path = write_sheets(tmp_path / "p.xlsx", a=[("id", "label"), ("a", "x"), ("b", "")])
    found = at.inspect(path)
    assert found.problem == "these are answers of annotators, and no outputs of a model"
    assert [(each.column, each.count) for each in found.labels] == [("label", 1)]
