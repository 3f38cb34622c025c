"""Excel workbooks (.xlsx): pools, a sheet for annotators with the classes, and what comes back.

Answers are read from all sheets that have the columns, a pool from the first of outputs. Formulas
are never evaluated: where one stands in place of an id or an answer, that is an error, and in a
pool the result counts that the spreadsheet wrote beside it. openpyxl reads and writes them
(`pip install 'activetest[xlsx]'`).

Workbooks are zip files, and hostile ones are small: what they unpack to, the rows and the columns
are bounded, and declarations of types, which may name other files, are refused.
"""

import io
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pyarrow as pa

from activetest.errors import ChoiceError, ColumnsUnclear, LabelError, TextsShortened
from activetest.formats._tasks import write_text
from activetest.nouns.answer_fields import FIELDS, ORDER, require_columns
from activetest.nouns.file_head import FileHead
from activetest.nouns.name_lists import join_names
from activetest.system.safe_text import NOT_XML

TITLE = "Excel workbook"
SUFFIXES = (".xlsx",)
# A workbook of any program.
PRECEDENCE = -1
POOL = True
ANSWERS = True
TASKS = True

_SHEET, _CLASSES = "tasks", "classes"
# The column that the titles of sheets are, where they name annotators.
_BY_SHEET = "sheet"
_EXPECTED = (
    "the first row names the columns: id, label, and annotator and status where needed; "
    "`columns` says which other ones they are"
)
_SHEETS = 200
# Rows in which a header is looked for; those below it tell what its columns hold.
_LOOKED_AT = 40
# Bytes that all parts together may unpack to, and cells that are looked at: Excel has no more rows.
_UNPACKED, _PARTS, _ROWS, _COLUMNS = 2**28, 10_000, 2**20, 1_000
# Of rows times columns, empty ones included: each takes time however small the file is.
_CELLS = 2**24
_BLOCK = 2**16
_FIRST_PARTS = (b"xl/", b"[Content_Types].xml", b"docProps/")
# Limits of Excel's cells, and text that they cannot hold: it takes _x0041_ for A.
_LONGEST = 32_767
_CUT = " ... (cut off)"
_IMPOSSIBLE = re.compile(f"{NOT_XML.pattern}|_x[0-9A-Fa-f]{{4}}_")
# A cell whose text stays text, whatever it looks like.
_TEXT = "@"
_RESAVE = "save it again as .xlsx, or as CSV"


def recognise(head: FileHead) -> bool:
    """Whether this is a zip file with the parts of a workbook."""
    start = head.start
    return start.startswith(b"PK\x03\x04") and any(part in start for part in _FIRST_PARTS)


def read_pool(path: Path, *, id: str | None = None) -> Iterator[pa.Table]:
    """The rows below the header of the first sheet of outputs: see formats._workbook_pools."""
    from activetest.formats import _workbook_pools

    return _workbook_pools.read_pool(path, id=id or "id")


def read_answers(
    content: bytes, name: str, *, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The rows below the headers, with the cell as their place. Raises LabelError."""
    others = {field: column for field, column in columns.items() if field != "annotator"}
    by_sheet = columns.get("annotator") == _BY_SHEET
    try:
        sheets = _open_sheets(content, name, columns)
        by_sheet = False
    except LabelError:
        if not by_sheet:
            raise
        sheets = _open_sheets(content, name, others)
    titles = [repr(each.sheet.title) for each in sheets]
    note = (
        f"The sheets {join_names(titles)} were read as one file"
        + (
            ", each of an annotator of its own"
            if by_sheet
            else "; where each is of one annotator, "
        )
        + "`columns={'annotator': 'sheet'}` says so" * (not by_sheet)
    )
    # All sheets share what may be looked at.
    most = _CELLS // len(sheets)
    for header, found, above, sheet in sheets:
        where = f"sheet {sheet.title!r}, " if len(sheets) > 1 else ""
        last = max(header.index(column) for column in found.values()) + 1
        for number, row in enumerate(_read_rows(sheet, name, last, cells=most), 1):
            if number <= above or all(cell.value in (None, "") for cell in row):
                continue
            answer: dict[str, Any] = {"place": f"{where}row {number}"}
            answer |= {"annotator": sheet.title} if by_sheet else {}
            answer |= {"note": note} if len(sheets) > 1 else {}
            for field, column in found.items():
                at = header.index(column)
                cell = f"{where}cell {_name_column(at)}{number}"
                answer[field] = _read_cell(row[at], f"{name}, {cell}", column)
            yield answer


def write_tasks(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    orders: Sequence[int],
    classes: Sequence[str],
) -> bytes:
    """A workbook with a row per item: id, label, annotator, status, the shown columns, the order.

    All texts are cells of text, so nothing is a formula. Classes are a list to choose from. Raises
    ChoiceError for ids and classes that no cell can hold.
    """
    openpyxl = check_ready()
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title, sheet.freeze_panes = _SHEET, "A2"
    shown = [column for column in columns if column not in FIELDS]
    _warn_of_long_texts(rows, shown)
    _fill_row(sheet, 1, [*FIELDS, *map(_shorten, shown), ORDER])
    for number, (row, order) in enumerate(zip(rows, orders, strict=True), 2):
        answer = [_check_text(str(row.get(field) or ""), field) for field in FIELDS]
        _fill_row(sheet, number, [*answer, *(_show(row.get(each)) for each in shown), order])
    _offer(openpyxl, sheet, "D", ["declined"], len(rows))
    if classes:
        listed = book.create_sheet(_CLASSES)
        for number, each in enumerate(classes, 1):
            _fill_row(listed, number, [_check_text(each, "class")])
        _offer(openpyxl, sheet, "B", f"={_CLASSES}!$A$1:$A${len(classes)}", len(rows))
    target = io.BytesIO()
    book.save(target)
    return target.getvalue()


def check_ready() -> ModuleType:
    """The package that writes workbooks. Raises ChoiceError where it is not installed."""
    return _import_openpyxl(ChoiceError, "writing")


def list_columns(content: bytes, name: str) -> set[str]:
    """The columns of a sheet that write_tasks wrote. Raises LabelError for any other workbook."""
    (header, _, _, sheet), *others = _open_sheets(content, name, {})
    names = {*sheet.parent.sheetnames, *(each.sheet.title for each in others)}
    if header[: len(FIELDS)] != [*FIELDS] or ORDER not in header or names - {_SHEET, _CLASSES}:
        raise LabelError(f"{name} is no workbook of tasks")
    return set(header) - {*FIELDS, ORDER}


class _Sheet(NamedTuple):
    """A sheet of answers: its header, {field: column}, the row of the header, and the sheet."""

    header: list[str]
    found: dict[str, str]
    above: int
    sheet: Any


def _open_sheets(content: bytes, name: str, columns: Mapping[str, str]) -> list[_Sheet]:
    """The sheets with the columns, of which there is at least one. Raises LabelError."""
    problems: list[LabelError] = []
    found: list[_Sheet] = []
    for sheet in _open_book(content, name):
        try:
            found.append(_find_header(sheet, name, columns))
        except LabelError as error:
            problems.append(error)
    if not found:
        # The largest sheet is the one that is meant.
        raise max(
            problems,
            key=_count_values,
            default=LabelError(f"{name} has no sheet with cells", _RESAVE),
        )
    return found


def _open_book(content: bytes, name: str, *, results: bool = False) -> list[Any]:
    """The sheets of a workbook that have cells. Raises LabelError.

    results  of formulas, as the spreadsheet wrote them, in place of the formulas
    """
    openpyxl = _import_openpyxl(LabelError, "reading")
    _check_parts(content, name)
    try:
        # Links to other workbooks are left alone.
        book = openpyxl.load_workbook(
            io.BytesIO(content), read_only=True, data_only=results, keep_links=False
        )
        sheets = [each for each in book.worksheets if hasattr(each, "reset_dimensions")]
    except Exception as error:  # Whatever a damaged part makes openpyxl raise.
        raise _describe_damage(name, error) from error
    if len(sheets) > _SHEETS:
        raise LabelError(
            f"{name} has more than {_SHEETS} sheets",
            "keep what is to be read in a workbook of its own, or save it as CSV",
        )
    for sheet in sheets:
        # The size that a sheet states is not believed.
        sheet.reset_dimensions()
    return sheets


def _count_values(problem: LabelError) -> int:
    """How many values the columns of a sheet have, as far as they were looked at."""
    columns = problem.columns if isinstance(problem, ColumnsUnclear) else {}
    return sum(1 for values in columns.values() for value in values if value)


def _find_header(sheet: Any, name: str, columns: Mapping[str, str]) -> _Sheet:
    """A sheet of answers, whose header may stand below a title. Raises LabelError for another."""
    rows = [
        [write_text(cell.value).strip() for cell in row]
        for row in _read_rows(sheet, name, _COLUMNS, rows=_LOOKED_AT)
    ]
    problem: LabelError | None = None
    for above, header in enumerate(rows, 1):
        width = max((at for at, cell in enumerate(header, 1) if cell), default=0)
        if not width:
            continue

        def sample(above: int = above, header: list[str] = header) -> dict[str, list[str]]:
            return dict(zip(header, map(list, zip(*rows[above:], strict=True)), strict=False))

        where = f"{name}, sheet {sheet.title!r},"
        try:
            found = require_columns(header[:width], columns, where, sample, _EXPECTED)
            return _Sheet(header[:width], found, above, sheet)
        except LabelError as error:
            problem = problem or error
    raise problem or LabelError(f"{name}, sheet {sheet.title!r}, has no cells", _RESAVE)


def _read_rows(
    sheet: Any, name: str, columns: int, *, rows: int | None = None, cells: int | None = None
) -> Iterator[tuple[Any, ...]]:
    """The first cells of each row; cells is how many may be looked at.

    Raises LabelError for more rows than Excel has, and for so many that they take minutes.
    """
    cells = cells or _CELLS
    most = min(rows or _ROWS, max(cells // columns, 1))
    try:
        found = sheet.iter_rows(max_col=columns)
        yield from islice(found, most)
        if not rows and next(found, None) is not None:
            if most == _ROWS:
                raise LabelError(f"{name} has more than {_ROWS:,} rows", _RESAVE)
            raise LabelError(
                f"{name} has more than {most:,} rows, and what is read stands in the first "
                f"{columns:,} columns: more than {cells:,} cells",
                "keep ids and labels in the first columns, or in a workbook of their own",
            )
    except LabelError:
        raise
    except Exception as error:  # As above: sheets are parsed as they are read.
        raise _describe_damage(name, error) from error


def _read_cell(cell: Any, where: str, column: str) -> Any:
    """The value of a cell. Raises LabelError for a formula, and for a date or a time."""
    if cell.data_type == "f":
        raise LabelError(
            f"{where}: a formula stands in the column {column!r}, and formulas are not evaluated",
            "paste values in their place (Excel: Paste Special, Values)",
        )
    if cell.data_type == "d" or hasattr(cell.value, "isoformat"):
        raise LabelError(
            f"{where}: a date stands in the column {column!r}",
            "spreadsheets take texts such as 1-2 for dates: format the column as text, and correct "
            "that cell",
        )
    return cell.value


def _check_parts(content: bytes, name: str) -> None:
    """Raises LabelError for what is no zip file, too large inside, or declares types."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            if len(parts) > _PARTS or sum(part.file_size for part in parts) > _UNPACKED:
                raise LabelError(
                    f"{name} unpacks to more than {_UNPACKED // 2**20} MiB, or {_PARTS:,} parts",
                    "keep ids and labels in a workbook of their own, or save it as CSV",
                )
            # A part may be called anything, and XML may be UTF-16.
            for part in parts:
                _reject_types(archive, part, name)
    except LabelError:
        raise
    except Exception as error:  # Zip files are damaged in many ways.
        raise _describe_damage(name, error) from error


def _reject_types(archive: zipfile.ZipFile, part: zipfile.ZipInfo, name: str) -> None:
    """Raises LabelError for XML with a declaration of types: no workbook needs one."""
    end = b""
    with archive.open(part) as file:
        while block := file.read(_BLOCK):
            block = block.replace(b"\0", b"")
            if b"<!DOCTYPE" in end + block or b"<!ENTITY" in end + block:
                raise LabelError(f"{name}: {part.filename!r} declares types of its own", _RESAVE)
            end = block[-8:]


def _describe_damage(name: str, error: Exception) -> LabelError:
    lines = str(error).splitlines()
    reason = f": {lines[0][:200]}" if lines else ""
    return LabelError(f"{name} is no Excel workbook that can be read{reason}", _RESAVE)


def _import_openpyxl(error: type[LabelError] | type[ChoiceError], verb: str) -> ModuleType:
    """The package. Raises the error where it is not installed."""
    try:
        import openpyxl
        import openpyxl.worksheet.datavalidation
    except ImportError as problem:
        raise error(
            f"{verb} Excel workbooks needs the package openpyxl",
            "install it by pip install 'activetest[xlsx]', or use CSV",
        ) from problem
    return openpyxl


def _fill_row(sheet: Any, number: int, values: Sequence[Any]) -> None:
    """Write a row; texts are cells of text, also those that begin like a formula."""
    for column, value in enumerate(values, 1):
        cell = sheet.cell(number, column)
        if isinstance(value, str):
            cell.number_format = _TEXT
        # An empty text would be no cell, whose format is that of numbers.
        if value != "":
            cell.value = value
        if isinstance(value, str) and value:
            cell.data_type = "s"


def _offer(openpyxl: Any, sheet: Any, column: str, listed: str | list[str], rows: int) -> None:
    """A list to choose from in the cells of a column."""
    formula = listed if isinstance(listed, str) else f'"{",".join(listed)}"'
    rule = openpyxl.worksheet.datavalidation.DataValidation(
        type="list", formula1=formula, allow_blank=True
    )
    sheet.add_data_validation(rule)
    rule.add(f"{column}2:{column}{max(rows, 1) + 1}")


def _check_text(text: str, what: str) -> str:
    """The text. Raises ChoiceError where no cell can hold it as it is."""
    if len(text) > _LONGEST or _IMPOSSIBLE.search(text):
        raise ChoiceError(
            f"no cell of a workbook can hold the {what} {text[:80]!r} as it is",
            "use another format, for example csv",
        )
    return text


def _show(value: Any) -> Any:
    """A value to look at: a number, or a text that fits into a cell."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
        return value
    return _shorten(write_text(value))


def _shorten(text: str) -> str:
    """A text to look at; what no cell can hold is written as Python writes it, or cut off."""
    text = _IMPOSSIBLE.sub(lambda found: ascii(found.group())[1:-1].replace("_x", "_ x"), text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - len(_CUT)]}{_CUT}"


def _warn_of_long_texts(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Warns with TextsShortened where texts do not fit into cells."""
    long = [
        (row["id"], column)
        for row in rows
        for column in columns
        if isinstance(row.get(column), str | list | dict)
        and len(write_text(row[column])) > _LONGEST
    ]
    if long:
        id, column = long[0]
        texts = "1 text is" if len(long) == 1 else f"{len(long):,} texts are"
        warnings.warn(
            f"{texts} longer than the {_LONGEST:,} characters that a cell of a workbook holds, and "
            f"cut off there (column {column!r} of id {id!r}"
            + (" first" if len(long) > 1 else "")
            + "): annotators see all of a text with `format='csv'` or `format='jsonl'`",
            TextsShortened,
            stacklevel=2,
        )


def _name_column(at: int) -> str:
    """The letters of a column, from 0."""
    letters = ""
    at += 1
    while at:
        at, digit = divmod(at - 1, 26)
        letters = chr(65 + digit) + letters
    return letters
