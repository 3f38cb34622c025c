"""Tables of text: what separates cells, and where the header stands."""

import csv

import pytest

from activetest.errors import LabelError
from activetest.nouns.csv_rows import open_table, read_rows


def read(text, header=("a", "b")):
    table = open_table(text, "name", lambda row: row == list(header), "do this")
    return table and (table.header, table.comma, list(table.rows))


@pytest.mark.parametrize("comma", [",", ";", "\t", "|"])
def test_the_header_tells_what_separates_cells(comma):
    text = f"a{comma}b\n1{comma}2\n\n3{comma}\n{comma}\n"
    assert read(text) == (["a", "b"], comma, [(2, ["1", "2"]), (4, ["3", ""])])


def test_the_header_may_stand_below_a_title_and_lines_are_those_of_the_file():
    assert read("title\n\nmade by, x\na;b\n1;2\n") == (["a", "b"], ";", [(5, ["1", "2"])])
    assert read("sep=;\r\na;b\r\n1;2\r\n") == (["a", "b"], ";", [(3, ["1", "2"])])
    # The first row that is one counts, not a later one that is split by something better.
    assert read("a;b\na,b\n")[1] == ";"


def test_without_the_header_the_first_row_is_one_and_is_split_into_most_cells():
    assert read("x;y;z\n1;2;3\n")[:2] == (["x", "y", "z"], ";")
    assert read("x\n1\n")[:2] == (["x"], ",")
    assert read("\n , \n") is None
    far = "x\n" * 20 + "a,b\n"
    assert read(far)[0] == ["x"] and read(far[2:])[0] == ["a", "b"]


def test_a_cell_may_be_longer_than_a_reader_of_csv_allows_by_itself():
    csv.field_size_limit(131_072)
    text = "x" * 200_000
    assert read(f"a,b\n{text},1\n")[2] == [(2, [text, "1"])]
    assert next(read_rows(f'"{text}\n{text}",1\n', ",", "name", ""))[0] == 2


def test_what_is_broken_is_named_with_its_line():
    with pytest.raises(LabelError, match="name, line 4: unexpected end of data") as error:
        read('title\na,b\n1,2\n3,"4\n')
    assert error.value.hint.startswith("a quote that opens a cell")
    assert error.value.hint.endswith("; do this")
