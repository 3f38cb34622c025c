"""Where the table of a CSV file begins, and what of it holds nothing."""

import cProfile
import json

import pytest

from activetest.errors import PoolError
from activetest.formats import csv

HEADER = "id,pred,amount\n"
ROWS = "".join(f"img{k:02},{'cat' if k % 3 else 'dog'},{k / 2}\n" for k in range(12))


def read(folder, content: str) -> tuple[list[str], int, list[str]]:
    """The columns, the number of rows and the notes of a file."""
    (folder / "p.csv").write_bytes(content.encode())
    tables = list(csv.read_pool(folder / "p.csv"))
    metadata = tables[0].schema.metadata or {}
    notes = json.loads(metadata.get(b"activetest", b'{"notes": []}'))["notes"]
    return tables[0].column_names, sum(table.num_rows for table in tables), notes


ABOVE = {
    "a title": ("My report\n", "'My report'"),
    "a padded title": ("My report,,\n,,\n", "'My report'"),
    "a title of two cells": ("Report,March\n", "'Report,March'"),
    "comments": ("# model: v3\n# a, b, c, d\n", "'# model: v3', '# a, b, c, d'"),
    "a quoted title of two lines": ('"My\nreport"\n', "'\"My', 'report\"'"),
}


@pytest.mark.parametrize("case", ABOVE)
def test_lines_above_the_header_are_left_out_and_said(tmp_path, case):
    above, shown = ABOVE[case]
    names, rows, (note,) = read(tmp_path, above + HEADER + ROWS)
    assert (names, rows) == (["id", "pred", "amount"], 12)
    assert note.endswith(f"above the header, and left out: {shown}")


@pytest.mark.parametrize("letter", [",", "\t"])
def test_the_line_that_tells_spreadsheets_the_delimiter_is_none_of_the_table(tmp_path, letter):
    content = f"sep={letter}\r\n" + (HEADER + ROWS).replace(",", letter)
    assert read(tmp_path, content) == (["id", "pred", "amount"], 12, [])


@pytest.mark.parametrize(
    ("again", "said"), [(1, "1 row repeats the header"), (2, "2 rows repeat the header")]
)
def test_headers_of_files_that_were_joined_are_no_rows(tmp_path, again, said):
    content = (HEADER + ROWS) * again + " id,pred,amount \n,,\n" + ROWS
    names, rows, notes = read(tmp_path, content)
    assert (names, rows) == (["id", "pred", "amount"], 12 * again + 12)
    assert notes[0] == "1 row is empty, and left out"
    assert notes[1] == f"{said}, as in files that were joined, and left out"
    tables = csv.read_pool(tmp_path / "p.csv")
    assert [value for table in tables for value in table["amount"].to_pylist()][:2] == [0, 0.5]
    single = tmp_path / "single.csv"
    single.write_text("pred\na\npred\n")
    assert sum(table.num_rows for table in csv.read_pool(single)) == 2


@pytest.mark.parametrize(
    "header",
    [
        "id,pred,amount",
        "#id,pred,amount",
        '"id","a\nb",c',
        "\ufeffid,pred,x",
        "id,,x",
    ],
)
def test_an_unusual_header_is_the_header(tmp_path, header):
    names, rows, notes = read(tmp_path, f"{header}\n{ROWS}")
    assert (rows, notes) == (12, [])
    assert len(names) == 3 and names[0].endswith("id")


def test_columns_may_be_called_by_years(tmp_path):
    rows = "".join(f"a{k},{k},{2 * k}\n" for k in range(9))
    assert read(tmp_path, f"id,2019,2020\n{rows}")[:2] == (["id", "2019", "2020"], 9)


def test_a_file_without_a_header_is_refused_and_with_one_read(tmp_path):
    with pytest.raises(PoolError, match="p.csv is no header, it looks like a row: img00,dog,0.0"):
        read(tmp_path, ROWS)
    assert read(tmp_path, "id,pred,score\n" + ROWS)[1] == 12


def test_rows_and_columns_that_hold_nothing_are_no_items_and_no_features(tmp_path):
    table = (HEADER + ROWS).replace("\n", ",,\n")
    names, rows, (note,) = read(tmp_path, table + ",,,,\n , ,,,\n\n")
    assert (names, rows, note) == (["id", "pred", "amount"], 12, "2 rows are empty, and left out")
    assert read(tmp_path, table)[2] == []


def test_an_index_without_a_name_has_the_name_that_pandas_gives_it(tmp_path):
    lines = (HEADER + ROWS).splitlines()
    numbered = ["," + lines[0], *(f"{k},{line}" for k, line in enumerate(lines[1:]))]
    assert read(tmp_path, "\n".join(numbered))[0] == ["Unnamed: 0", "id", "pred", "amount"]


def test_a_header_may_be_longer_than_what_tells_the_format(tmp_path):
    names = [f"column{k:05}" for k in range(8000)]
    found, rows, _ = read(tmp_path, ",".join(names) + "\n" + ",".join(["1"] * 8000) + "\n")
    assert (found, rows) == (names, 1)


def test_work_grows_with_the_number_of_columns_and_not_with_its_square(tmp_path):
    calls = []
    for count in (200, 800):
        text = ",".join(f"f{k}" for k in range(count)) + "\n" + ",".join(["1"] * count) + "\n"
        profile = cProfile.Profile()
        profile.runcall(read, tmp_path, text)
        calls.append(sum(each.callcount for each in profile.getstats()))
    assert calls[1] < 6 * calls[0]


def test_a_row_that_says_that_values_are_missing_is_not_empty(tmp_path):
    names, rows, notes = read(tmp_path, "x,pred\n1,2\nNA,NA\n,\n3,4\n")
    assert (names, rows, notes) == (["x", "pred"], 3, ["1 row is empty, and left out"])
