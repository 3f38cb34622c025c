"""Parquet: what a study reads, as it is."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from activetest.errors import LabelError
from activetest.formats._answer_tables import read_batches
from activetest.formats._errors import raising_parse_errors
from activetest.nouns.file_head import FileHead
from activetest.system.safe_text import first_line

TITLE = "Parquet"
SUFFIXES = (".parquet",)
# Nothing else begins so: no other format needs to be asked, or imported.
PRECEDENCE = 1
POOL = True
ANSWERS = True

_ROWS = 65_536
_AGAIN = "the file is damaged; write or copy it again"


def recognise(head: FileHead) -> bool:
    """Whether it begins like Parquet."""
    return head.start.startswith(b"PAR1")


def read_pool(path: Path, *, id: str | None = None) -> Iterator[pa.Table]:
    """The rows, some thousand at a time. Raises PoolError for a damaged file."""
    with raising_parse_errors(path, _AGAIN), path.open("rb") as source:
        file = pq.ParquetFile(source)
        yield pa.Table.from_batches([], file.schema_arrow)
        for batch in _read_whole(file):
            # Text may be none, and offsets lead anywhere.
            batch.validate(full=True)
            yield pa.Table.from_batches([batch])


def read_answers(
    content: bytes, name: str, *, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The rows of columns id, label[, annotator][, status]. Raises LabelError."""
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        yield from read_batches(
            file.schema_arrow, lambda names: _read_whole(file, names), name, columns
        )
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise LabelError(
            f"{name} cannot be read: {first_line(error)}", "write it again, or save it as CSV"
        ) from error


def _read_whole(file: pq.ParquetFile, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """All rows. Raises ArrowInvalid where there are fewer than the footer says."""
    left = file.metadata.num_rows
    for batch in file.iter_batches(_ROWS, columns=columns):
        left -= batch.num_rows
        yield batch
    if left:
        raise pa.ArrowInvalid(f"its footer says {file.metadata.num_rows:,} rows, and {left:,} lack")
