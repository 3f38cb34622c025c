"""The types of columns of text are found from all rows: numbers, decimal commas, lists, objects."""

import json

import pyarrow as pa
import pytest

from activetest.formats import csv
from activetest.formats._text_columns import TextColumns, read_typed


def read(*rows: str | None, size: int = 2, **others: list[str]) -> tuple[list, list[str]]:
    """(values of a column, notes) where the texts come some at a time."""
    table = pa.table({"x": pa.array(rows, pa.string()), **others})
    columns = TextColumns(table.column_names)
    batches = table.to_batches(max_chunksize=size)
    tables = list(read_typed(columns, iter(batches), iter(batches)))
    document = json.loads((tables[0].schema.metadata or {}).get(b"activetest", b"{}"))
    return pa.concat_tables(tables)["x"].to_pylist(), document.get("notes", [])


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "-2", "", "NA"], [1, -2, None, None]),
        (["1", "2.5", "nan"], [1.0, 2.5, None]),
        (["1", "2.5", "x"], ["1", "2.5", "x"]),
        (["0,87", "1", "-1,5e-3"], [0.87, 1.0, -0.0015]),
        (["802.269,48", "1.234", "12 345,5", "1'000", ""], [802269.48, 1234, 12345.5, 1000, None]),
        # One column alone leaves it open whether these are thousands.
        (["1,234", "2,500"], ["1,234", "2,500"]),
        (["1.5", "0,5"], ["1.5", "0,5"]),
        (["1.234", "2.5"], [1.234, 2.5]),
        (["0,5", "1.5"], ["0,5", "1.5"]),
        (["12,5,7", "0,5"], ["12,5,7", "0,5"]),
    ],
)
def test_a_column_has_the_narrowest_type_that_holds_all_rows(texts, values):
    assert read(*texts)[0] == values
    assert read(*texts, size=1)[0] == values


def test_a_decimal_comma_elsewhere_tells_what_points_and_commas_are():
    sure = {"y": ["0,5", "1", "2"]}
    assert read("1.234", "10.000", "12", **sure)[0] == [1234.0, 10000.0, 12.0]
    assert read("1,234", "2,500", "3,000", **sure)[0] == [1.234, 2.5, 3.0]
    # A point behind a zero, or before two digits, is one of decimals.
    assert read("0.123", "10.000", "12.000", **sure)[0] == [0.123, 10.0, 12.0]
    assert read("1.25", "10.000", "12.000", **sure)[0] == [1.25, 10.0, 12.0]
    assert read("0,5", "1", "2", **sure)[1] == ["decimals are written with a comma in x, y"]


@pytest.mark.parametrize(
    "texts",
    [
        ["[0.25, 0.75]", "[1, 0]"],
        ["[0.25 0.75]", "[1. 0.]"],
        ["[ 2.5e-01\n 0.75 ]", "[1.  0.]"],
        ["(0.25, 0.75)", "(1, 0,)"],
        ["array([0.25, 0.75])", "array([1, 0], dtype=float32)"],
        ["[np.float64(0.25), np.float32(0.75)]", "[np.float64(1.0), np.float64(0.0)]"],
        ["tensor([0.2500, 0.7500])", "tensor([1., 0.])"],
        ["0.25|0.75", "1.0 | 0.0"],
        ["0.25 .75", " 1.0  0.0"],
        ["0.25; 7.5e-1", "1.0;0.0"],
    ],
)
def test_lists_of_numbers_in_cells_are_lists(texts):
    expected = [[0.25, 0.75], [1.0, 0.0], None]
    assert read(*texts, None) == (expected, ["texts are read as lists of numbers: x"])
    assert read(None, *texts, size=1)[0] == [None, *expected[:2]]


@pytest.mark.parametrize(
    "texts",
    [
        ["1|2", "2|3"],
        ["1 234", "2 500"],
        ["0.5|1", "0.5|0.5"],
        ["0.5|", "0.5|0.5"],
        ["[1, 2]", "[1, 2, 3]"],
        ["[1]", "[2]"],
        ["[]", "[1, 2]"],
        ["[0.1 ... 0.2]", "[0.1 ... 0.2]"],
        ["['a', 'b']", "['a', 'c']"],
        ["[1, 2", "[1, 2]"],
        ["5", "[1, 2]"],
        ["[1, 2]", "5"],
        ["[[1, 2]]", "[[1, 2]]"],
    ],
)
def test_other_texts_in_brackets_stay_text(texts):
    assert read(*texts) == (texts, [])
    assert read(*texts, size=1) == (texts, [])


@pytest.mark.parametrize(
    "texts",
    [
        ['{"a": 0.25, "b c": 0.75}', '{"b c": 1}'],
        ["{'a': 0.25, 'b c': 0.75}", "{'a': None, 'b c': 1.0,}"],
        ["{'a': np.float64(0.25), 'b c': np.float32(0.75)}", "{'b c': np.float64(1.0)}"],
        [
            "[{'label': 'a', 'score': 0.25}, {'label': 'b c', 'score': 0.75}]",
            "[{'label': 'b c', 'score': 1.0}]",
        ],
        ['{"\\u0061": 0.25, "b\\u0020c": 0.75}', '{"b c": 1}'],
    ],
)
def test_objects_of_numbers_in_cells_are_records(texts):
    expected = [{"a": 0.25, "b c": 0.75}, {"a": None, "b c": 1.0}]
    assert read(*texts) == (expected, ["texts are read as a number for each name: x"])
    assert read(*texts, size=1)[0] == expected


@pytest.mark.parametrize(
    "text",
    [
        *("{}", "{'a'}", "{'a': 'b'}", "{'a': 1} + {'b': 2}", "{'a': 1, 'a': 2}", "{a: 1}"),
        *("{'a': {}}", "__import__('os')", "{'a': __import__('os')}", "{" * 10_000),
        "[{'a': 'b', 'c': exit()}]",
    ],
)
def test_other_texts_in_braces_stay_text(text):
    assert read(text, text) == ([text, text], [])


def test_objects_of_thousands_of_names_stay_text():
    texts = [json.dumps({f"name {row} {place}": 1 for place in range(300)}) for row in range(5)]
    assert read(*texts[:3])[0][0]["name 2 0"] is None
    assert read(*texts)[0] == texts


def test_ids_are_text_whatever_they_look_like(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text('id;x\n"0,5";0,5\n"[1, 2]";1\n')
    assert pa.concat_tables(csv.read_pool(path)).to_pydict() == {
        "id": ["0,5", "[1, 2]"],
        "x": [0.5, 1.0],
    }


def test_zeros_that_numbers_lose_are_named():
    values, (note,) = read("00017", "5", "00123")
    assert values == [17, 5, 123]
    assert "lose the zeros in front of '00017'" in note and "`id='x'` keeps them" in note
    assert read("0", "10", "0.5")[1] == [] and read("007", "x")[1] == []
