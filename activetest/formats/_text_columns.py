"""Columns of which every value is text: what they hold, found from all rows.

Files of text are read twice: the first pass finds the narrowest type of each column, and the second
gives its values. A column holds whole numbers, numbers, numbers with decimal commas, lists of
numbers of one length, objects that give numbers to names, or text.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from activetest.formats import add_notes
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.written_numbers import NO_VALUE

# Names that the objects of one column have together, and letters of one object or list.
_MOST_NAMES, _LONGEST = 1000, 2**20

# Columns of codes that are named, and how these begin.
_SHOWN, _ZEROS = 3, r"^\s*0\d"
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# Thousands in groups, of points, spaces or apostrophes, and a decimal comma.
_WITH_COMMA = r"^[+-]?(?:\d{1,3}(?:[.\x{a0}\x{202f} '][0-9]{3})+|\d+)(?:,\d+)?(?:[eE][+-]?\d+)?$"
_ENGLISH_THOUSANDS = r"^[+-]?[1-9]\d{0,2}(?:,\d{3})+$"
_POINT_THOUSANDS = r"^[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d+)$"
# Text that NumPy and others write around a list, and around each of its numbers.
_OPEN = r"^\s*(?:(?:np\.|numpy\.)?(?:array|tensor)\()?\s*[\[(]\s*"
_CLOSE = r",?\s*[\])]\s*(?:(?:,[^()]*)?\))?\s*$"
# Without brackets, all of them need a point: 1|2 may be two classes, and 1 234 a thousand.
_POINT = r"\d?\.\d+(?:[eE][+-]?\d+)?"
_BARE = rf"^\s*{_POINT}(?:\s*[|;]\s*{_POINT}|\s+{_POINT})+\s*$"
_AROUND_LIST = rf"{_OPEN}|{_CLOSE}"
_AROUND_NUMBER = r"(?:np|numpy)\.float\d+\(([^()]*)\)"
_WORD = r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_ITEM = rf"(?:(?:np|numpy)\.float\d+\()?({_NUMBER}|None|null)\)?"
_PAIR = re.compile(rf"\s*{_WORD}\s*:\s*{_ITEM}\s*(,|$)", re.DOTALL)
# As pipelines write all their classes: a list of objects with a name and a number each.
_NAMED = re.compile(
    rf"\s*\{{\s*{_WORD}\s*:\s*{_WORD}\s*,\s*{_WORD}\s*:\s*{_ITEM}\s*\}}\s*(,|$)", re.DOTALL
)


class _Kind(StrEnum):
    """Kinds of values of a column, the narrowest first."""

    WHOLE = "whole numbers"
    NUMBER = "numbers"
    COMMA = "numbers with decimal commas"
    LIST = "lists of numbers"
    OBJECT = "objects of numbers"
    TEXT = "text"


_PLAIN = {_Kind.WHOLE: pa.int64(), _Kind.NUMBER: pa.float64()}


class _Column:
    """Possible kinds of a column's values, and facts about those seen so far."""

    def __init__(self, kinds: Sequence[_Kind]) -> None:
        self.kinds = list(kinds)
        # Whether a comma can only be that of decimals, and whether all points may be of thousands.
        self.surely_comma, self.points = False, True
        # A value whose zeros in front a number has not.
        self.code: str | None = None
        self.seen = False
        self.width: int | None = None
        self.names: dict[str, None] = {}

    def add(self, column: pa.Array) -> None:
        """Leave out the kinds that these values, which are text, cannot be."""
        values = column.filter(pc.invert(_are_missing(column))).drop_null()
        if not len(values):
            return
        before = self.kinds[0]
        while len(self.kinds) > 1 and not self._fits(self.kinds[0], values):
            del self.kinds[0]
        if self.seen and self.kinds[0] != before:
            self._leave_out_others_than(before)
        if self.kinds[0] == _Kind.WHOLE and self.code is None:
            codes = values.filter(pc.match_substring_regex(values, _ZEROS))
            self.code = codes[0].as_py() if len(codes) else None
        if self.kinds[0] == _Kind.NUMBER and self.points:
            self.points = _all_match(values, _POINT_THOUSANDS)
        self.seen = True

    def _leave_out_others_than(self, before: _Kind) -> None:
        """Leave out the kinds that values seen earlier, which were of that kind, cannot be."""
        plain = before == _Kind.WHOLE or (before == _Kind.NUMBER and self.points)
        possible = {_Kind.NUMBER, _Kind.TEXT} | ({_Kind.COMMA} if plain else set())
        if self.kinds[0] not in possible:
            self.kinds = [_Kind.TEXT]

    def _fits(self, kind: _Kind, values: pa.Array) -> bool:
        if kind == _Kind.COMMA:
            return self._fits_comma(values)
        if kind == _Kind.LIST:
            return self._fits_list(values)
        if kind == _Kind.OBJECT:
            return self._fits_object(values)
        try:
            values.cast(_PLAIN[kind])
        except pa.ArrowInvalid:
            return False
        return True

    def _fits_comma(self, values: pa.Array) -> bool:
        if not _all_match(values, _WITH_COMMA):
            return False
        commas = values.filter(pc.match_substring(values, ","))
        self.surely_comma |= not _all_match(commas, _ENGLISH_THOUSANDS)
        return True

    def _fits_list(self, values: pa.Array) -> bool:
        lists = _read_lists(values)
        if lists is None:
            return False
        for width in pc.unique(pc.list_value_length(lists)).to_pylist():
            if width < 2 or self.width not in (None, width):
                return False
            self.width = width
        return True

    def _fits_object(self, values: pa.Array) -> bool:
        for text in _iterate(values):
            pairs = _read_object(text)
            if not pairs:
                return False
            self.names |= dict.fromkeys(pairs)
            if len(self.names) > _MOST_NAMES:
                return False
        return True


class TextColumns:
    """The columns of a file of text.

    header  their names
    keep    names of columns that are text whatever they hold
    """

    def __init__(self, header: Sequence[str], keep: Collection[str] = ()) -> None:
        self._columns = {
            name: _Column([_Kind.TEXT] if name in keep else list(_Kind)) for name in header
        }

    def add(self, batch: pa.RecordBatch) -> None:
        """Look at rows, whose values are text."""
        for found, column in zip(self._columns.values(), batch.columns, strict=True):
            found.add(column)

    def decide(self) -> None:
        """Make up which columns hold what, when all rows were seen.

        Commas are those of decimals where a column leaves no doubt: 1,234 may be a thousand.
        """
        sure = any(
            each.kinds[0] == _Kind.COMMA and each.surely_comma for each in self._columns.values()
        )
        for each in self._columns.values():
            if sure and each.kinds[0] == _Kind.NUMBER and each.points:
                each.kinds = [_Kind.COMMA]
            if not sure and each.kinds[0] == _Kind.COMMA:
                each.kinds = [_Kind.TEXT]

    @property
    def schema(self) -> pa.Schema:
        """The columns as they are read, with the notes."""
        types = [(name, self._find_type(name)) for name in self._columns]
        return pa.schema(types, add_notes(None, self.notes))

    @property
    def notes(self) -> list[str]:
        """Sentences on what is no plain number or text."""
        notes = []
        for kind, words in (
            (_Kind.COMMA, "decimals are written with a comma in {}"),
            (_Kind.LIST, "texts are read as lists of numbers: {}"),
            (_Kind.OBJECT, "texts are read as a number for each name: {}"),
        ):
            names = [name for name, each in self._columns.items() if each.kinds[0] == kind]
            notes += [words.format(shorten_list(names))] if names else []
        codes = {
            name: each.code
            for name, each in self._columns.items()
            if each.kinds[0] == _Kind.WHOLE and each.code
        }
        return notes + [
            f"{name!r} is read as numbers, which lose the zeros in front of {code!r}: if these are "
            f"ids, `id={name!r}` keeps them"
            for name, code in list(codes.items())[:_SHOWN]
        ]

    @property
    def parsed(self) -> dict[str, pa.DataType]:
        """{column: type} of the columns for a parser that knows plain numbers and text."""
        return {name: _find_plain(each) for name, each in self._columns.items()}

    def parse(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of text with the types of `parsed`."""
        arrays = [
            pc.if_else(_are_missing(column), None, column).cast(kind)
            if kind in _NUMBERS
            else column
            for column, kind in zip(batch.columns, self.parsed.values(), strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, batch.schema.names)

    def convert(self, batch: pa.RecordBatch) -> pa.Table:
        """Rows with the types of `parsed`, as they are read."""
        arrays = [
            _convert(column, each, self._find_type(name))
            for (name, each), column in zip(self._columns.items(), batch.columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _find_type(self, name: str) -> pa.DataType:
        found = self._columns[name]
        if found.kinds[0] == _Kind.LIST:
            return pa.list_(pa.float64())
        if found.kinds[0] == _Kind.OBJECT:
            return pa.struct([(each, pa.float64()) for each in found.names])
        return pa.float64() if found.kinds[0] == _Kind.COMMA else _find_plain(found)


def read_typed(
    columns: TextColumns, batches: Iterator[pa.RecordBatch], again: Iterator[pa.RecordBatch]
) -> Iterator[pa.Table]:
    """The tables of a file whose rows are given twice, as text; at least one."""
    for batch in batches:
        columns.add(batch)
    columns.decide()
    yield columns.schema.empty_table()
    for batch in again:
        yield columns.convert(columns.parse(batch))


_NUMBERS = tuple(_PLAIN.values())


def _find_plain(found: _Column) -> pa.DataType:
    """The type that a parser gives a column, which knows plain numbers and text."""
    return _PLAIN.get(found.kinds[0], pa.string())


def _convert(column: pa.Array, found: _Column, kind: pa.DataType) -> pa.Array:
    """The values of a column."""
    if column.type == kind:
        return column
    column = pc.if_else(_are_missing(column), None, column)
    if found.kinds[0] == _Kind.COMMA:
        plain = pc.replace_substring_regex(column, r"[.\x{a0}\x{202f} ']", "")
        return pc.replace_substring(plain, ",", ".").cast(kind)
    if found.kinds[0] == _Kind.LIST:
        values = column.drop_null()
        lists: Any = _read_lists(values)
        # Rows without a list stay without.
        there = column.is_valid()
        places = pc.subtract(pc.cumulative_sum(there.cast(pa.int64())), 1)
        return lists.take(pc.if_else(there, places, None))
    rows = [None if text is None else _read_object(text) for text in column.to_pylist()]
    return pa.array(rows, kind)


def _are_missing(column: pa.Array) -> pa.Array:
    return pc.is_in(column, pa.array(NO_VALUE))


def _all_match(values: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py() in (True, None))


def _iterate(values: pa.Array) -> Iterator[str]:
    """The texts, some thousand at a time."""
    for start in range(0, len(values), 4096):
        yield from values[start : start + 4096].to_pylist()


def _read_lists(values: pa.Array) -> pa.Array | None:
    """(R,) lists of numbers; None where some text is none."""
    if len(values) and values[0].as_py().lstrip()[:1] not in ("[", "(", "a", "n", "t"):
        if not _all_match(values, _BARE):
            return None
        values = pc.utf8_trim_whitespace(pc.replace_substring_regex(values, "[|;]", " "))
    elif not _all_match(values, _OPEN) or not _all_match(values, _CLOSE):
        return None
    inside = pc.replace_substring_regex(values, _AROUND_LIST, "")
    inside = pc.replace_substring_regex(inside, _AROUND_NUMBER, r"\1")
    words = pc.split_pattern(pc.replace_substring_regex(inside, r"\s*,\s*|\s+", ","), ",")
    try:
        numbers = words.values.cast(pa.float64())
    except pa.ArrowInvalid:
        return None
    return pa.ListArray.from_arrays(words.offsets, numbers)


def _read_object(text: str) -> dict[str, float | None] | None:
    """{name: number} of an object of JSON or Python, or of a list of named numbers; else None."""
    text = text.strip()
    named = text[:1] == "["
    if len(text) > _LONGEST or text[:1] + text[-1:] not in ("{}", "[]"):
        return None
    inside, at = text[1:-1], 0
    pairs: dict[str, float | None] = {}
    while at < len(inside) or (named and not at):
        found = (_NAMED if named else _PAIR).match(inside, at)
        if found is None:
            return None
        word, number = found.group(2 if named else 1), found.group(4 if named else 2)
        name = _read_word(word)
        if name is None or name in pairs:
            return None
        pairs[name] = None if number in ("None", "null") else float(number)
        at = found.end()
    return pairs


def _read_word(word: str) -> str | None:
    """The text in quotes; None where it is spelled as no JSON is."""
    if "\\" not in word:
        return word[1:-1]
    try:
        return str(json.loads(word)) if word[0] == '"' else None
    except ValueError:
        return None
