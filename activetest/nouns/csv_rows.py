"""Rows of text whose cells are separated by commas, semicolons, tabs or bars."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from activetest.errors import LabelError

# Separators of cells; where several fit, the first of them counts.
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
# A cell may be as long as the whole text, which is in memory.
_LONGEST = 2**31 - 1
# A header may stand below a title and comments: so many rows are looked at.
_AMONG = 20
# The first line in which spreadsheets say what separates cells.
_SEP = re.compile(r'"?sep=([,;\t|])"?[,;\t|]*[ ]*(?:\r\n|\r|\n)', re.IGNORECASE)


class Table(NamedTuple):
    """A table in a text.

    header  the names of its columns, without blanks around them
    comma   what separates cells
    rows    (line, cells) of the rows below the header, without those of which all cells are blank
    """

    header: list[str]
    comma: str
    rows: Iterator[tuple[int, list[str]]]


def split_declared(text: str) -> tuple[str | None, str]:
    r"""The letter between cells that a first line tells spreadsheets, and the text below it.

    >>> split_declared("sep=;\nid;label\n")
    (';', 'id;label\n')
    """
    found = _SEP.match(text)
    return (found.group(1), text[found.end() :]) if found else (None, text)


def read_rows(
    text: str, comma: str, name: str, hint: str, *, first: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """(line at which it ends, cells) of each row that has any. Raises LabelError.

    first  lines before the text
    """
    if csv.field_size_limit() < _LONGEST:
        # It is one for the whole process, and texts of 140,000 characters are written by us.
        csv.field_size_limit(_LONGEST)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=comma, strict=True)
    try:
        for row in lines:
            if any(map(str.strip, row)):
                yield lines.line_num + first, row
    except csv.Error as error:
        quotes = "a quote that opens a cell needs one that closes it, and quotes inside are doubled"
        raise LabelError(
            f"{name}, line {lines.line_num + first}: {error}",
            f"{quotes}; {hint}" if hint else quotes,
        ) from error


def open_table(
    text: str, name: str, is_header: Callable[[list[str]], bool], hint: str, *, among: int = _AMONG
) -> Table | None:
    """The table of a text; None where no row has any cell.

    is_header  whether these are the columns that are looked for
    among      so many rows

    The header is the first of the first rows that has these columns, whatever separates them; where
    none has, the first row, with what splits it into most cells. Raises LabelError for broken rows.
    """
    declared, text = split_declared(text)
    first = 1 if declared else 0
    commas = [declared] if declared else list(SEPARATORS)
    heads = {comma: _read_head(text, comma, among) for comma in commas}
    places = [
        (at, comma)
        for comma in commas
        for at, row in enumerate(heads[comma])
        if is_header([cell.strip() for cell in row])
    ]
    # The first in the order of the separators, of those in the first row.
    above, comma = min(places, key=lambda place: place[0], default=(0, ""))
    comma = comma or max(commas, key=lambda each: len(heads[each][0]) if heads[each] else 0)
    rows = read_rows(text, comma, name, hint, first=first)
    found = next(islice(rows, above, None), None)
    # A row of separators has cells where something else splits it.
    if found is None or not any(cell.strip("".join(commas) + " ") for cell in found[1]):
        return None
    return Table([cell.strip() for cell in found[1]], comma, rows)


def _read_head(text: str, comma: str, among: int) -> list[list[str]]:
    """The first rows, as far as they can be read."""
    found: list[list[str]] = []
    try:
        for _, row in islice(read_rows(text, comma, "", ""), among):
            found.append(row)
    except LabelError:
        pass
    return found
