"""Pools in Excel workbooks: which sheet holds the outputs, and its rows as columns of text.

Reading is bounded as for answers in workbooks: see formats.xlsx. Formulas are never evaluated:
the result counts that the spreadsheet wrote beside them.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from activetest.errors import LabelError, PoolError
from activetest.formats import add_notes, xlsx
from activetest.formats._errors import raising_parse_errors
from activetest.formats._text_columns import TextColumns, read_typed
from activetest.nouns.name_lists import find_repeated, shorten_list

# Rows that become a batch.
_BATCH = 8192
# Names of columns that a sheet of outputs may have.
_OUTPUTS = re.compile(r"(y_)?(pred|prob|score)\w*", re.I)
# Excel's numbers have 15 digits: longer ids are others than they were.
_MOST_DIGITS = 10**15


def read_pool(path: Path, *, id: str) -> Iterator[pa.Table]:
    """The rows below the header of the first sheet of outputs; at least one table.

    Numbers, texts and dates are as the sheet has them, and ids stay text. Raises PoolError.
    """
    name = str(path)
    with raising_parse_errors(path, xlsx._RESAVE):
        if path.stat().st_size > xlsx._UNPACKED:
            raise PoolError(
                f"{name} is larger than {xlsx._UNPACKED // 2**20} MiB", "save it as CSV"
            )
        content = path.read_bytes()
    try:
        sheet, header, start, notes = _find_pool_sheet(content, name)
        rows = xlsx._read_rows(sheet, name, len(header))
        batches = list(_read_batches(islice(rows, start, None), header, id, name))
    except LabelError as error:
        raise PoolError(error.problem, error.hint) from error
    columns = TextColumns(header, {id})
    for table in read_typed(columns, iter(batches), iter(batches)):
        yield table.replace_schema_metadata(add_notes(table.schema.metadata, notes, last=True))


def _find_pool_sheet(content: bytes, name: str) -> tuple[Any, list[str], int, list[str]]:
    """(sheet, names of its columns, rows before the first item, notes). Raises LabelError."""
    found = []
    for sheet in xlsx._open_book(content, name, results=True):
        if sheet.sheet_state != "visible":
            continue
        rows = [
            [_write_value(cell) or "" for cell in row]
            for row in xlsx._read_rows(sheet, name, xlsx._COLUMNS, rows=xlsx._LOOKED_AT)
        ]
        counts = [sum(bool(text.strip()) for text in row) for row in rows]
        # A title stands alone in its row, and begins it.
        names = (bool(count > 1 or (count and not rows[at][0])) for at, count in enumerate(counts))
        start = next((at for at, named in enumerate(names) if named), 0)
        if any(counts):
            found.append((sheet, _name_columns(rows[start], rows[start + 1 :]), start))
    if not found:
        raise LabelError(f"{name} has no sheet with cells", xlsx._RESAVE)
    sheet, header, start = next(
        (each for each in found if any(map(_OUTPUTS.fullmatch, each[1]))), found[0]
    )
    for column in find_repeated(header):
        raise LabelError(f"{name}: two columns are called {column!r}", "rename one of them")
    others = [each.title for each, _, _ in found if each is not sheet]
    notes = []
    if others:
        notes.append(f"read from the sheet {sheet.title!r}, and not from {shorten_list(others)}")
    if start:
        notes.append(f"above the header, {start} {'row is' if start == 1 else 'rows are'} left out")
    return sheet, header, start + 1, notes


def _name_columns(names: list[str], rows: list[list[str]]) -> list[str]:
    """The names of the columns; those without a name are called as pandas calls them."""
    width = max(
        (at + 1 for row in [names, *rows] for at, text in enumerate(row) if text), default=0
    )
    named = [text.strip() for text in names] + [""] * (width - len(names))
    return [text or f"Unnamed: {at}" for at, text in enumerate(named[:width])]


def _read_batches(
    rows: Iterator[tuple[Any, ...]], header: list[str], id: str, name: str
) -> Iterator[pa.RecordBatch]:
    """The rows as text, without empty ones. Raises LabelError for ids that are dates."""
    at = header.index(id) if id in header else None
    schema = pa.schema([(column, pa.string()) for column in header])
    waiting: list[list[str | None]] = []
    for row in rows:
        values = [_write_value(cell) for cell in row]
        if not any(values):
            continue
        if at is not None and at < len(row):
            _check_id(row[at], name, id)
        waiting.append([*values, *[None] * (len(header) - len(values))])
        if len(waiting) == _BATCH:
            yield _make_batch(waiting, schema)
            waiting = []
    if waiting:
        yield _make_batch(waiting, schema)


def _make_batch(rows: list[list[str | None]], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _check_id(cell: Any, name: str, column: str) -> None:
    """Raises LabelError for an id that the spreadsheet has changed."""
    if cell.value is None:
        return
    where = f"{name}, cell {xlsx._name_column(cell.column - 1)}{cell.row}"
    xlsx._read_cell(cell, where, column)
    if isinstance(cell.value, int | float) and abs(cell.value) >= _MOST_DIGITS:
        raise LabelError(
            f"{where}: the id {cell.value:g} has more than 15 digits, which spreadsheets round",
            "format the column as text before the ids are pasted, or save them as CSV",
        )


def _write_value(cell: Any) -> str | None:
    """The value of a cell as text: 3 for 3.0, dates as 2026-01-31; None for an empty one."""
    value = cell.value
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < _MOST_DIGITS else repr(value)
    if hasattr(value, "isoformat"):
        text = str(value.isoformat())
        return text.removesuffix("T00:00:00")
    return str(value)
