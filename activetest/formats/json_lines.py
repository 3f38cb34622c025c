"""Tables of JSON objects: one a line, one after another, or all in one array."""

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from activetest.errors import LabelError, PoolError
from activetest.formats import add_notes
from activetest.formats._answers import flatten, read_objects, take_rows
from activetest.formats._errors import raising_parse_errors
from activetest.formats._json_shapes import Shape, find_list_shape, find_shape
from activetest.formats._json_values import Parser
from activetest.nouns.answer_fields import find_columns
from activetest.nouns.encodings import describe_invalid
from activetest.nouns.file_head import FileHead, read_head
from activetest.nouns.name_lists import shorten_list
from activetest.system.safe_text import first_line

TITLE = "JSON Lines, and arrays of JSON objects"
SUFFIXES = (".jsonl", ".ndjson", ".json")
# Logs of many programs are lines of JSON too.
PRECEDENCE = -1
POOL = True
ANSWERS = True

# Bytes read at once, and letters of an object that is no line.
_BLOCK = 2**24
_LARGEST = 2**26
# The names and the rows of a table that pandas calls split.
_SPLIT = ("columns", "data")
# Objects and lists inside one another: the parser has a stack for more, but not for any number.
_DEEPEST = 200
_DEEP = f"more than {_DEEPEST} lists or objects are inside one another"

# Arrow's message on a column of numbers, texts and truth values, and how many such there may be.
_PLAIN = "(?:number|string|boolean)"
_MIXED = re.compile(rf"Column\(/(.+)\) changed from {_PLAIN} to {_PLAIN} ")
_UNLIKE = re.compile("Field (.+?) has incompatible types")
_MOST_MIXED = 20

_MARK = b"\xef\xbb\xbf"
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
# How a list of lists begins.
_LISTS = re.compile(rb'\[\s*\[\s*["{\d.-]')
# Numbers stay text: only the ends of objects are looked for.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def recognise(head: FileHead) -> bool:
    """Whether this begins like JSON objects; blank files and others by their name."""
    beginning = head.start.removeprefix(_MARK).lstrip()
    first, second = beginning[:1], beginning[1:].lstrip()[:1]
    if first == b"{" and second in (b'"', b"}"):
        return True
    if first == b"[" and (second in (b"{", b"]") or _LISTS.match(beginning)):
        return True
    return head.suffix in SUFFIXES and first in (b"", b"{", b"[")


def read_pool(path: Path, *, id: str | None = None) -> Iterator[pa.Table]:
    """The rows, typed; at least one table. Ids stay as they are: text is text.

    Raises PoolError for what cannot be parsed.
    """
    shape = _find_shape(path)
    if shape is None:
        yield from _type_blocks(path, "", lambda: _read_blocks(path, None))
        return
    with TemporaryFile() as kept:
        # The converted rows of a document are read again, and not the document.
        sizes: list[int] = []

        def read_blocks() -> Iterator[bytes]:
            if sizes:
                kept.seek(0)
                yield from map(kept.read, sizes)
                return
            for block in _read_blocks(path, shape):
                kept.write(block)
                sizes.append(len(block))
                yield block

        yield from _type_blocks(path, shape.note, read_blocks)


def _type_blocks(
    path: Path, note: str, read_blocks: Callable[[], Iterator[bytes]]
) -> Iterator[pa.Table]:
    """The tables of blocks of lines, which are read twice; see read_pool."""
    texts: list[str] = []
    with raising_parse_errors(path):
        while True:
            try:
                schema = _find_schema(_write_texts(block, texts) for block in read_blocks())
                break
            except pa.ArrowException as error:
                name = "/".join(_MIXED.findall(str(error)) or _UNLIKE.findall(str(error)))
                if not name or name in texts or len(texts) >= _MOST_MIXED:
                    raise
                texts.append(name)
    if schema is None:
        raise PoolError(f"{path} has no rows", hint="give one JSON object per line")
    notes = [note] if note else []
    notes += [f"values of several types are read as text: {shorten_list(texts)}"] if texts else []
    metadata = add_notes(schema.metadata, notes, last=True)
    yield schema.empty_table().replace_schema_metadata(metadata)
    options = pyarrow.json.ParseOptions(explicit_schema=schema)
    for block in read_blocks():
        with raising_parse_errors(path):
            lines = io.BytesIO(_write_texts(block, texts))
            table = pyarrow.json.read_json(lines, parse_options=options)
            yield table.replace_schema_metadata(metadata)


def _find_schema(blocks: Iterator[bytes]) -> pa.Schema | None:
    """The columns of all blocks; None without any. Raises ArrowException for types that differ."""
    schema = None
    for block in blocks:
        found = pyarrow.json.read_json(io.BytesIO(block)).schema
        # Text that looks like a date stays text.
        types = ((field.name, field.type) for field in found)
        found = pa.schema(
            [(name, pa.string() if pa.types.is_timestamp(kind) else kind) for name, kind in types]
        )
        both = [schema, found] if schema else [found]
        schema = pa.unify_schemas(both, promote_options="permissive")
    return schema


def _write_texts(block: bytes, names: Sequence[str]) -> bytes:
    """The lines with text for the numbers and truth values of some columns: a, or b/c inside."""
    if not names:
        return block
    try:
        rows = [json.loads(line) for line in block.split(b"\n") if line.strip()]
    except ValueError as error:
        raise pa.ArrowInvalid(str(error)) from error
    for row in rows:
        for name in names:
            _write_text(row, name)
    return b"\n".join(json.dumps(row).encode() for row in rows)


def _write_text(row: Any, name: str) -> None:
    if not isinstance(row, dict):
        return
    if name not in row:
        first, _, rest = name.partition("/")
        _write_text(row.get(first) if rest else None, rest)
    elif isinstance(row[name], int | float):
        row[name] = str(row[name])


def read_answers(
    content: bytes, name: str, *, columns: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """A row per object with an id and a label; objects may lie inside of it. Raises LabelError."""
    rows = [(place, flatten(row)) for place, row in read_objects(content, name, "row")]
    if not rows:
        raise LabelError(f"{name} is empty", "give one JSON object with id and label per line")
    if len(rows) == 1 and content.removeprefix(_MARK).lstrip()[:1] == b"{":
        rows = _unfold(rows[0][1], columns) or rows
    yield from take_rows(rows, name, columns)


def _unfold(
    single: Mapping[str, Any], columns: Mapping[str, str]
) -> list[tuple[str, dict[str, Any]]]:
    """(place, row) where one object holds all answers; none where it is an answer itself.

    It may have a list or an object for each field, or a list of rows, with or without their
    columns beside it, or be an object from id to label.
    """
    try:
        fields = find_columns(list(single), columns, "")
    except LabelError:
        # The columns that the user names may be those of rows inside.
        fields = {}
    rows: list[dict[str, Any]]
    if set(_SPLIT) <= set(single) and all(isinstance(single[key], list) for key in _SPLIT):
        names, data = (single[key] for key in _SPLIT)
        fit = all(isinstance(row, list) and len(row) == len(names) for row in data)
        rows = [dict(zip(map(str, names), row, strict=True)) for row in data] if fit else []
    elif {"id", "label"} <= set(fields):
        rows = _unfold_columns({column: single[column] for column in fields.values()})
    elif tables := [each for each in single.values() if _is_table(each)]:
        rows = [flatten(row) for row in tables[0]] if len(tables) == 1 else []
    elif fields or any(isinstance(each, dict | list) for each in single.values()):
        rows = []
    else:
        rows = [{"id": id, "label": label} for id, label in single.items()]
    return [(f"entry {number}", row) for number, row in enumerate(rows, 1)]


def _unfold_columns(held: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of columns that are lists, or objects with the same keys; none of other values."""
    if all(isinstance(each, dict) for each in held.values()):
        if len({tuple(each) for each in held.values()}) != 1:
            return []
        held = {column: list(each.values()) for column, each in held.items()}
    if not all(isinstance(each, list) for each in held.values()):
        return []
    if len({len(each) for each in held.values()}) != 1:
        return []
    return [dict(zip(held, row, strict=True)) for row in zip(*held.values(), strict=True)]


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _find_shape(path: Path) -> Shape | None:
    """The rows of a document that is one object, or a list of lists. Raises PoolError."""
    with raising_parse_errors(path):
        head = read_head(path)
    text = head.start.removeprefix(_MARK).lstrip()
    if _LISTS.match(text):
        return find_list_shape(path)
    line, _, rest = text.partition(b"\n")
    several = line.rstrip().endswith(b"}") and rest.strip() and _has_lines(head)
    if text[:1] != b"{" or several:
        return None
    return find_shape(path, lines=_has_lines(head))


def _read_blocks(path: Path, shape: Shape | None) -> Iterator[bytes]:
    """Blocks of whole lines, one object each. Raises PoolError."""
    with raising_parse_errors(path):
        if shape:
            blocks = _write_blocks(shape)
        else:
            blocks = (
                _read_lines(path)
                if _has_lines(read_head(path))
                else _join_lines(_split_objects(path))
            )
        for block in blocks:
            if _measure_depth(block) > _DEEPEST:
                raise PoolError(f"{path} cannot be read: {_DEEP}", hint="leave that field out")
            block.decode()
            yield block


def _has_lines(head: FileHead) -> bool:
    """Whether there is an object a line: the first line is one, or longer than a head."""
    text = head.start.removeprefix(_MARK).lstrip()
    if text[:1] == b"[":
        return False
    line, end, _ = text.partition(b"\n")
    if not end:
        return True
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        # One that is broken is no object over several lines.
        return len(line.strip()) > 1 and not line.rstrip().endswith((b"{", b"[", b","))
    return True


def _read_lines(path: Path) -> Iterator[bytes]:
    """Blocks of whole lines, without blank ones."""
    with path.open("rb") as file:
        if file.read(3) != _MARK:
            file.seek(0)
        while block := file.read(_BLOCK):
            block += file.readline()
            if block.strip():
                yield block


def _write_blocks(shape: Shape) -> Iterator[bytes]:
    """Blocks of the rows of a document, each on one line."""
    return _join_lines(
        json.dumps(row, ensure_ascii=False).encode("utf-8", "replace") for row in shape.read()
    )


def _join_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of lines."""
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= _BLOCK:
            yield b"\n".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"\n".join(waiting)


def _split_objects(path: Path) -> Iterator[bytes]:
    """Each object of an array, or of objects one after another, on one line. Raises PoolError."""
    with path.open("rb") as file:
        objects = _Objects(file, path)
        if array := objects.peek() == "[":
            objects.at += 1
        while (letter := objects.peek()) not in ("", "]"):
            # A string holds no line end that is not escaped.
            yield objects.take_text().replace("\r", " ").replace("\n", " ").encode()
            if array and objects.peek() == ",":
                objects.at += 1
            elif array and objects.peek() not in ("", "]"):
                raise objects.make_error("no comma follows it")
        if array != bool(letter):
            raise objects.make_error("the array does not end" if array else "no object follows it")
        objects.at += 1
        if objects.peek():
            raise objects.make_error("the array ends before the file does")


class _Objects(Parser):
    """Objects as they stand in a file: numbers may be of any size."""

    count = 0

    def take_text(self) -> str:
        """The object that begins here. Raises PoolError where there is none, or a broken one."""
        self.count += 1
        if self.peek() != "{":
            raise self.make_error("it is no object")
        while True:
            try:
                _, end = _DECODER.raw_decode(self.text, self.at)
            except RecursionError as error:
                raise self.make_error(_DEEP) from error
            except ValueError as error:
                if len(self.text) - self.at > _LARGEST or not self.fill():
                    raise self.make_error(first_line(error)) from error
                continue
            found, self.at = self.text[self.at : end], end
            return found

    def make_error(self, problem: str) -> PoolError:
        """An error about the object that was read last."""
        return PoolError(
            f"{self.path} cannot be read: object {self.count:,} (counting from 1): {problem}",
            hint="give an array of JSON objects, or one object per line",
        )

    def call_undecodable(self, error: UnicodeDecodeError) -> PoolError:
        problem, hint = describe_invalid(self.path) or (f"{self.path} is not UTF-8", "")
        return PoolError(problem, hint or "save it as UTF-8")


def _measure_depth(block: bytes) -> int:
    """How many lists and objects are inside one another, at most; never too few."""
    if max(line.count(b"{") + line.count(b"[") for line in block.split(b"\n")) <= _DEEPEST:
        return 0
    letters = np.frombuffer(_STRING.sub(b"", block), np.uint8)
    steps = np.isin(letters, list(b"{[")).astype(np.int64) - np.isin(letters, list(b"}]"))
    depth = np.cumsum(steps)
    lowest = np.minimum.accumulate(np.minimum(depth, 0))
    return int((depth - lowest).max(initial=0))
