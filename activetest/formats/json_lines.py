"""Tables of JSON objects: one a line."""

import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.json

from activetest.errors import PoolError
from activetest.formats._errors import raising_parse_errors
from activetest.nouns.file_head import FileHead

TITLE = "JSON Lines"
SUFFIXES = (".jsonl", ".ndjson", ".json")
# Logs of many programs are lines of JSON too.
PRECEDENCE = -1
POOL = True

# Bytes read at once.
_BLOCK = 2**24

_MARK = b"\xef\xbb\xbf"


def recognise(head: FileHead) -> bool:
    """Whether this begins like JSON objects; blank files and others by their name."""
    beginning = head.start.removeprefix(_MARK).lstrip()
    if beginning[:1] == b"{" and beginning[1:].lstrip()[:1] in (b'"', b"}"):
        return True
    return head.suffix in SUFFIXES and beginning[:1] in (b"", b"{", b"[")


def read_pool(path: Path, *, id: str | None = None) -> Iterator[pa.Table]:
    """The rows, typed; at least one table. Ids stay as they are: text is text.

    Raises PoolError for what cannot be parsed.
    """
    schema = None
    for block in _read_blocks(path):
        with raising_parse_errors(path):
            found = pyarrow.json.read_json(io.BytesIO(block)).schema
            found = pa.schema([(field.name, _keep_dates_as_text(field.type)) for field in found])
            schema = (
                found
                if schema is None
                else pa.unify_schemas([schema, found], promote_options="permissive")
            )
    if schema is None:
        raise PoolError(f"{path} has no rows", hint="give one JSON object per line")
    yield schema.empty_table()
    options = pyarrow.json.ParseOptions(explicit_schema=schema)
    for block in _read_blocks(path):
        with raising_parse_errors(path):
            yield pyarrow.json.read_json(io.BytesIO(block), parse_options=options)


def _keep_dates_as_text(kind: pa.DataType) -> pa.DataType:
    """The type as it is, but text that looks like a date stays text."""
    return pa.string() if pa.types.is_timestamp(kind) else kind


def _read_blocks(path: Path) -> Iterator[bytes]:
    """Blocks of whole lines, without blank ones."""
    with raising_parse_errors(path), path.open("rb") as file:
        if file.read(3) != _MARK:
            file.seek(0)
        while block := file.read(_BLOCK):
            block += file.readline()
            if block.strip():
                yield block
