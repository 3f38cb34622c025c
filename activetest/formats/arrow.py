"""Arrow's own files and streams; a file of version 2 is what Feather writes today."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from activetest.errors import LabelError, PoolError
from activetest.formats._answer_tables import read_batches
from activetest.formats._errors import raising_parse_errors
from activetest.nouns.file_head import FileHead
from activetest.system.safe_text import first_line

TITLE = "Arrow IPC and Feather"
SUFFIXES = (".arrow", ".arrows", ".feather", ".ipc")
PRECEDENCE = -1
POOL = True
ANSWERS = True

_AGAIN = "the file is damaged; write or copy it again"
_FILE = b"ARROW1"
_OLD_FEATHER = b"FEA1"
# Before the length of each message in a stream.
_CONTINUES = b"\xff\xff\xff\xff"


def recognise(head: FileHead) -> bool:
    """Whether it begins like an Arrow file, like Feather, or like the first message of a stream."""
    if head.start.startswith((_FILE, _OLD_FEATHER)):
        return True
    if not head.start.startswith(_CONTINUES) or len(head.start) < 8:
        return False
    (length,) = struct.unpack_from("<i", head.start, 4)
    return bool(0 < length < head.size)


def read_pool(path: Path, *, id: str | None = None) -> Iterator[pa.Table]:
    """The rows, a batch at a time, none of which is believed before it is checked.

    Raises PoolError for a damaged file, and for Feather of version 1, which Arrow no longer reads.
    """
    # Mapped, not read: a length that the file only claims then takes no memory.
    with raising_parse_errors(path, _AGAIN), pa.memory_map(str(path)) as source:
        if source.read(len(_OLD_FEATHER)) == _OLD_FEATHER:
            raise PoolError(
                f"{path} is Feather of version 1",
                hint="write it again as version 2, which is an Arrow file, or as Parquet",
            )
        yield from _check_batches(*_open(source))


def read_answers(
    content: bytes, name: str, *, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """The rows of columns id, label[, annotator][, status]. Raises LabelError."""
    try:
        schema, batches = _open(pa.BufferReader(content))

        def read(names: list[str]) -> Iterable[pa.RecordBatch]:
            for table in _check_batches(schema, batches):
                yield from table.select(names).to_batches()

        yield from read_batches(schema, read, name, columns)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise LabelError(f"{name} cannot be read: {first_line(error)}", _AGAIN) from error


def _open(source: pa.NativeFile) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The columns and the batches of a file or a stream, from its beginning on."""
    source.seek(0)
    beginning = source.read(len(_FILE))
    source.seek(0)
    if beginning != _FILE:
        stream = pa.ipc.open_stream(source)
        return stream.schema, stream
    file = pa.ipc.open_file(source)
    return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))


def _check_batches(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches as tables, the first without rows. Raises ArrowInvalid for damage."""
    for field in schema:
        _ = field.name  # Raises UnicodeDecodeError.
    yield pa.Table.from_batches([], schema)
    for batch in batches:
        # Offsets that lead out of a buffer would be followed.
        batch.validate(full=True)
        yield pa.Table.from_batches([batch])
