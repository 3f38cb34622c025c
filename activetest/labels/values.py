"""Labels that are values of a program: columns, rows, or a mapping from ids.

They become the same rows as those of a file, by the same rules.
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral
from typing import Any

from activetest.errors import LabelError
from activetest.labels.files import SWITCH_OFF, Edit, Label, merge_repeated, parse_row
from activetest.nouns.answer_fields import FIELDS, SAMPLE, require_columns
from activetest.nouns.class_sets import describe_remedy

_SORTS = "labels are text, numbers or true/false; None where one is still missing"
_COLUMNS_EXPECTED = "its columns are id and label, and annotator and status where needed"
_KEYS_EXPECTED = "a row has the keys id and label, and annotator and status where needed"


def read_columns(
    columns: Mapping[str, Sequence[Any]], name: str = "the frame", *, edit: Edit | None = None
) -> list[Label]:
    """Labels of a frame, as its columns id, label[, annotator][, status] of one length.

    Values are text, numbers or true/false; None, NaN and missing values of pandas are empty. A
    whole number is the same class however it is held: 3, 3.0 and "3". Raises LabelError, naming
    row (the first is row 0) and id, for anything else, and LabelConflict for two different answers
    about one item by one annotator. `name` stands for the frame in messages, and `edit` changes
    rows before those about one item are compared.
    """

    def sample() -> dict[str, list[str]]:
        return {name: [str(each) for each in columns[name][:SAMPLE]] for name in columns}

    found = require_columns(list(columns), {}, name, sample, _COLUMNS_EXPECTED)
    rows = zip(*(columns[column] for column in found.values()), strict=True)
    return _read((dict(zip(found, row, strict=True)) for row in rows), name, edit=edit)


def read_rows(
    rows: Iterable[Mapping[str, Any]], name: str = "the rows", *, edit: Edit | None = None
) -> list[Label]:
    """Labels of rows with the keys id, label[, annotator][, status]; as read_columns."""

    def check(row: Any, number: int) -> dict[str, Any]:
        if not isinstance(row, Mapping):
            raise LabelError(f"{name}, row {number}: {_name(row)}, not a mapping", _KEYS_EXPECTED)
        missing = [key for key in ("id", "label") if key not in row]
        if missing:
            raise LabelError(f"{name}, row {number}: there is no {missing[0]!r}", _KEYS_EXPECTED)
        return {key: row[key] for key in FIELDS if key in row}

    found = (check(row, number) for number, row in enumerate(rows))
    return _read(
        found, name, edit=edit, switch_off="if that key means something else, leave it out"
    )


def read_mapping(
    labels: Any, name: str = "the mapping", *, edit: Edit | None = None, id_prefix: str = ""
) -> list[Label]:
    """Labels of a mapping from id to label, or of a pandas Series indexed by id; as read_columns.

    An id may occur twice, as 17 and "17" or in the index of a Series, with the same label.
    `id_prefix` stands before whole numbers among the ids, which are rows of a frame then.
    """

    def name_item(id: Any) -> Any:
        return f"{id_prefix}{id}" if isinstance(id, Integral) and not isinstance(id, bool) else id

    rows = ({"id": name_item(id), "label": label} for id, label in labels.items())
    return _read(rows, name, "entry", edit=edit)


def is_mapping(labels: Any) -> bool:
    """Whether read_mapping can read it: a mapping, or a Series of pandas."""
    series = getattr(sys.modules.get("pandas"), "Series", None)
    return isinstance(labels, Mapping) or (series is not None and isinstance(labels, series))


def _read(
    rows: Iterable[Mapping[str, Any]],
    name: str,
    unit: str = "row",
    *,
    edit: Edit | None,
    switch_off: str = SWITCH_OFF,
) -> list[Label]:
    found = (
        make_label(row, f"{unit} {number}", name, switch_off=switch_off)
        for number, row in enumerate(rows)
    )
    return merge_repeated(edit(found) if edit else found, name)


def make_label(
    row: Mapping[str, Any], place: str, name: str, *, switch_off: str = SWITCH_OFF
) -> Label:
    """A row whose values are text, numbers or true/false; see files.parse_row."""
    id = write_value(row["id"], f"{name}, {place}", "id")
    where = f"{name}, {place}" + (f", id {id!r}" if id else "")
    texts = {key: write_value(row[key], where, key) for key in FIELDS[1:] if key in row}
    return parse_row({"id": id} | texts, place, where, switch_off=switch_off)


def write_value(value: Any, where: str, column: str) -> str:
    """A value as text, as the pool names classes and ids: True, 3, 3.5; empty where it is missing.

    A label may be a list of one, or of none. Raises LabelError for a value of another sort.
    """
    if column == "label" and _is_list(value) and len(value) < 2:
        value = next(iter(value), None)
    if isinstance(value, str):
        return _check_text(str(value), where, column)
    # A number of NumPy or of a tensor library, which has no other shape than ().
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if _is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool | int | float | Decimal):
        return str(value)
    if column == "label" and _marks_parts(value):
        raise LabelError(
            f"{where}: the label marks parts of the item, such as (start, end, class)",
            "labels are one class per item: export a project in which annotators classify whole "
            "texts, or write a class for each item to a CSV file with the columns id and label",
        )
    hint = describe_remedy() if _is_list(value) and column == "label" else _SORTS
    raise LabelError(f"{where}: the {column} is {_name(value)}", hint)


def _is_list(value: Any) -> bool:
    """Whether this holds several values: a list, a set, or an array that is no single number."""
    array = hasattr(value, "__array__") and getattr(value, "ndim", 0) > 0
    return isinstance(value, list | tuple | set | frozenset) or array


def _marks_parts(value: Any) -> bool:
    """Whether these are spans: a start, an end and a class each."""
    nested = isinstance(value, list) and value and isinstance(value[0], list | Mapping)
    first = value[0] if nested else value
    if isinstance(first, Mapping):
        return any("start" in str(key) for key in first)
    plain = isinstance(first, list) and len(first) == 3 and isinstance(first[2], str)
    return plain and all(isinstance(each, int) for each in first[:2])


def _check_text(text: str, where: str, column: str) -> str:
    """The text. Raises LabelError where UTF-8 cannot hold it; ids may have bytes of their pool."""
    try:
        text.encode("utf-8", "surrogateescape" if column == "id" else "strict")
    except UnicodeEncodeError as error:
        raise LabelError(
            f"{where}: the {column} {text!r} is no Unicode text", "read it again as UTF-8"
        ) from error
    return text


def _is_missing(value: Any) -> bool:
    """Whether this is None, NaN, or a missing value of pandas."""
    pandas = sys.modules.get("pandas")
    missing = (None, getattr(pandas, "NA", None), getattr(pandas, "NaT", None))
    if any(value is each for each in missing):
        return True
    return isinstance(value, float | Decimal) and math.isnan(value)


def _name(value: Any) -> str:
    """The sort of a value that is no label."""
    return f"of type {type(value).__name__}"
