"""Rows that are no items: units below the header, the header once more, sums at the end.

They make texts of columns of numbers, and would be items with a class of their own.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from activetest.errors import PoolError
from activetest.pool.column_names import may_be_output
from activetest.pool.files import Files
from activetest.pool.number_texts import keep_texts
from activetest.pool.roles import is_text
from activetest.pool.scans import scan_columns

# The fewest rows that tell, and rows that may be no items.
_FEWEST, _MOST = 20, 3
# At most one row in so many is no item.
_RARE = 10
# Columns that are looked at, and letters of a value that are shown.
_COLUMNS, _SHOWN = 100, 40
_NUMBER = (
    "^[-+(]?\\s*[$€£¥]?\\s*[-+]?[0-9][0-9.,'\\s\u00a0\u202f]*(?:[eE][-+]?[0-9]+)?\\s*[%$€£¥]?\\)?$"
)
_DIGIT = re.compile(r"\d")
_HINT = "leave the row out of the file: units, sums, gaps and a second header are no items"
_SUMS = {
    *("total", "totals", "grand total", "sum", "mean", "average", "summe", "gesamt", "insgesamt"),
    *("mittelwert", "durchschnitt", "totale", "somme", "moyenne", "suma", "media", "somma", "soma"),
}


@dataclass
class _Column:
    """A column of texts nearly all of which are numbers, but for a few.

    name      of the column
    decimals  whether some have decimals, so that they are no codes of classes
    strange   {row: text} of the others
    """

    name: str
    decimals: bool = False
    strange: dict[int, str] = field(default_factory=dict)

    def add(self, column: pa.Array, start: int) -> bool:
        """Look at values; whether the column may still be such a column."""
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            return False
        texts = column.cast(pa.large_string())
        if (pc.mean(pc.binary_length(texts)).as_py() or 0) > _SHOWN:
            return False
        texts = pc.utf8_trim_whitespace(texts)
        numbers = pc.fill_null(pc.match_substring_regex(texts, _NUMBER), False)
        self.decimals |= bool(
            pc.any(pc.match_substring_regex(texts, "^[^a-zA-Z]*[.,][0-9]")).as_py()
        )
        others = keep_texts(texts.filter(pc.invert(numbers)))
        if len(others) > _MOST and not pc.all(pc.equal(others, self.name)).as_py():
            return False
        for row in np.flatnonzero(~numbers.to_numpy(zero_copy_only=False)) if len(others) else ():
            if (text := texts[row].as_py()) and len(keep_texts(texts[row : row + 1])):
                self.strange[start + int(row)] = text
        return len([text for text in self.strange.values() if text != self.name]) <= _MOST


def check_rows(files: Files, name: str) -> None:
    """Raises PoolError for a row in which columns of numbers hold words, or that is a sum.

    name  of the pool in messages
    """
    names = tuple(each.name for each in files.schema if is_text(each.type))[:_COLUMNS]
    if files.rows < _FEWEST or files.remote or not names:
        return
    found = {
        name: column
        for name, column in scan_columns(files, names, _Column).items()
        if _RARE * len(column.strange) <= files.rows
    }
    for row in sorted({row for column in found.values() for row in column.strange}):
        words = {key: each.strange[row] for key, each in found.items() if row in each.strange}
        column, text = next(iter(words.items()))
        place = f"row {row:,} of {name} (counting from 0) is no item: column {column!r} is "
        if text == column and _repeats_header(files, names, row):
            raise PoolError(f"{place}{text!r} there, as in the header", _HINT)
        outputs = any(found[each].decimals and may_be_output(each) for each in words)
        if outputs or _is_sum(text) or _are_units(row, words, found):
            raise PoolError(f"{place}{text[:_SHOWN]!r} there, and a number elsewhere", _HINT)
    first = files.schema.names[0]
    if first in names and _is_sum(text := _find_last(files.place, files.key, first)):
        raise PoolError(
            f"row {files.rows - 1:,} of {name} (counting from 0) is no item: column {first!r} is "
            f"{text!r} there, in the last row",
            _HINT,
        )


def _repeats_header(files: Files, names: tuple[str, ...], row: int) -> bool:
    """Whether several of the columns hold their own names in a row."""
    piece = next(each for each in files.pieces if each.start <= row < each.start + each.rows)
    row -= piece.start
    for batch in files.batches([*names], piece, checked=False, whole=False):
        if row < batch.num_rows:
            return sum(map(str.__eq__, (str(each[row]) for each in batch.columns), names)) > 1
        row -= batch.num_rows
    return False


@lru_cache(maxsize=8)
def _find_last(
    place: tuple[str, str | None, tuple[str, ...]], key: tuple[Any, ...], column: str
) -> str:
    """The text in the last row."""
    files = Files(*place)
    *_, batch = files.batches([column], files.pieces[-1], checked=False)
    return str(batch.column(0)[-1])


def _is_sum(text: str) -> bool:
    return text.casefold().strip(": ") in _SUMS


def _are_units(row: int, words: dict[str, str], found: dict[str, _Column]) -> bool:
    """Whether several columns have words in the first row, and numbers in all others."""
    alone = all(len(found[each].strange) == 1 for each in words)
    return row == 0 and len(words) > 1 and alone and not any(map(_DIGIT.search, words.values()))
