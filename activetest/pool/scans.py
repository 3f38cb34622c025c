"""Columns that are looked at row by row, for as long as they may be what is looked for."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from activetest.pool.files import Files

# Rows in which all columns are looked at first.
_SAMPLE = 1000


def scan_columns(
    files: Files, names: Sequence[str], add: Callable[[str, pa.Array, int], bool]
) -> list[str]:
    """The columns that are kept to the last row: add(name, values, first row) says whether.

    The first rows are added twice.
    """
    kept = list(names)

    def look(batch: pa.RecordBatch, start: int) -> list[str]:
        return [name for name in kept if add(name, batch.column(name), start)]

    for piece in files.pieces[:1]:
        kept = look(next(files.batches(kept, piece, _SAMPLE, checked=False, whole=False)), 0)
    for piece in files.pieces:
        start = piece.start
        for batch in files.batches(kept, piece, checked=False) if kept else ():
            kept = look(batch, start)
            start += batch.num_rows
            if not kept:
                break
    return kept
