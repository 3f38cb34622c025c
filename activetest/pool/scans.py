"""Columns that are looked at row by row, for as long as they may be what is looked for."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from activetest.pool.files import Files

# Rows in which all columns are looked at first.
_SAMPLE = 1000


class Scanned(Protocol):
    """Facts about a column."""

    def add(self, column: pa.Array, start: int) -> bool:
        """Look at rows, the first of them `start`; whether the column may still be such a one."""


S = TypeVar("S", bound=Scanned)


def scan_columns(files: Files, names: tuple[str, ...], make: Callable[[str], S]) -> dict[str, S]:
    """{name: what is known of it} of the columns that may be what is looked for by all rows.

    The first rows are added twice. The result is kept for as long as the files stay the same.
    """
    found: dict[str, S] = _scan(files.place, files.key, names, make)
    return found


@lru_cache(maxsize=16)
def _scan(
    place: tuple[str, str | None, tuple[str, ...]],
    key: tuple[Any, ...],
    names: tuple[str, ...],
    make: Callable[[str], Any],
) -> dict[str, Any]:
    files, kept = Files(*place), {name: make(name) for name in names}

    def look(batch: pa.RecordBatch, start: int) -> dict[str, Any]:
        return {name: each for name, each in kept.items() if each.add(batch.column(name), start)}

    if kept and files.pieces:
        kept = look(files.sample([*kept], _SAMPLE, checked=False, whole=False), 0)
    for piece in files.pieces:
        start = piece.start
        for batch in files.batches([*kept], piece, checked=False) if kept else ():
            kept = look(batch, start)
            start += batch.num_rows
            if not kept:
                break
    return kept
