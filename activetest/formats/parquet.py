"""Parquet: what a study reads, as it is."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from activetest.formats._errors import raising_parse_errors
from activetest.nouns.file_head import FileHead

TITLE = "Parquet"
SUFFIXES = (".parquet",)
PRECEDENCE = -1
POOL = True

_AGAIN = "the file is damaged; write or copy it again"


def recognise(head: FileHead) -> bool:
    """Whether it begins like Parquet."""
    return head.start.startswith(b"PAR1")


def read_pool(path: Path, *, id: str | None = None) -> Iterator[pa.Table]:
    """The rows, a row group at a time. Raises PoolError for a damaged file."""
    with raising_parse_errors(path, _AGAIN), path.open("rb") as source:
        file = pq.ParquetFile(source)
        yield file.schema_arrow.empty_table()
        for group in range(file.num_row_groups):
            yield file.read_row_group(group)
