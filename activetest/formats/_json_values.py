"""JSON of any size, a value at a time: lines of objects, and the elements of a long array.

Files come from other programs and may be damaged or hostile: no value is larger than 256 MiB, and
nothing is nested deeper than Python's parser allows.
"""

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from activetest.errors import PoolError
from activetest.formats._errors import raising_parse_errors

# The most bytes of one value, and those read at once.
LARGEST = 2**28
_CHUNK = 2**20
_MARK = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
# Whole numbers of more digits than Python reads are infinite, as they are to parsers of tables.
_OF_LONG_NUMBERS = json.JSONDecoder(
    parse_int=lambda text: int(text) if len(text) <= _DIGITS else float(text)
)
_DIGITS = 308
# Errors of the parser where a value is no JSON: too deep, a number of too many digits, no UTF-8.
_BROKEN = (ValueError, RecursionError)


def read_lines(path: Path) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(number of the line from 1 up, its position in bytes, its object); blank lines are none.

    Raises PoolError naming the line.
    """
    with raising_parse_errors(path), path.open("rb") as file:
        number, position = 0, 0
        while line := file.readline(LARGEST + 1):
            number += 1
            if len(line) > LARGEST:
                raise too_large(f"{path}, line {number}")
            content = line.removeprefix(_MARK) if number == 1 else line
            if content.strip():
                yield number, position, parse_object(content, f"{path}, line {number}")
            position += len(line)


def parse_object(content: bytes, place: str) -> dict[str, Any]:
    """The object that is all of this. Raises PoolError naming the place."""
    try:
        value = json.loads(content.decode())
    except _BROKEN as error:
        raise damaged(place, error) from error
    if not isinstance(value, dict):
        raise PoolError(f"{place}: not an object but {name_type(value)}", hint="{...} is expected")
    return value


def take(value: Any, *path: str | int) -> Any:
    """The part at a path of keys and places in a value of JSON; None where there is none.

    >>> take({"choices": [{"text": "yes"}]}, "choices", 0, "text"), take({"text": 1}, "text", "a")
    ('yes', None)
    """
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and len(value) > step:
            value = value[step]
        else:
            return None
    return value


def take_all(value: Any, *path: str | int) -> list[dict[str, Any]]:
    """The objects in the list that lies at a path; none where it is no list."""
    found = take(value, *path)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def find_keys(text: bytes, *names: str) -> set[str]:
    """Those of these keys that stand somewhere in JSON."""
    pattern = rf'"({"|".join(names)})"\s*:'.encode()
    return {found.decode() for found in re.findall(pattern, text)}


def read_array(path: Path, keys: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number from 1 up, object) of the array that stands under these keys of a JSON document.

    Text outside of the array is skipped. Raises PoolError naming the element, also where there
    is no such array.
    """
    with raising_parse_errors(path), path.open("rb") as file:
        yield from Parser(file, path).read_array(keys)


@dataclass(frozen=True)
class Objects:
    """Facts about an array of objects that is not kept.

    count  how many there are
    first  the first of them
    """

    count: int
    first: dict[str, Any]


def read_entries(path: Path) -> dict[str, Any] | None:
    """The values of the object that is all of a document; None where more follows it.

    In place of an array of objects stands what is known of it. Raises PoolError for what is no
    JSON.
    """
    with raising_parse_errors(path), path.open("rb") as file:
        return Parser(file, path).read_entries()


def read_value(path: Path) -> Any:
    """All of a document. Raises PoolError for what is no JSON."""
    with raising_parse_errors(path):
        content = path.read_bytes()
    try:
        return json.loads(content.decode("utf-8-sig"))
    except _BROKEN as error:
        raise damaged(str(path), error) from error


def damaged(place: str, error: Exception) -> PoolError:
    """The error for what is no JSON."""
    if isinstance(error, RecursionError):
        reason = "nested too deeply"
    elif isinstance(error, UnicodeDecodeError):
        reason = "not UTF-8"
    elif isinstance(error, json.JSONDecodeError):
        reason = error.msg
    else:
        reason = "a number of too many digits"
    return PoolError(
        f"{place}: not valid JSON ({reason})",
        hint="write the file again, or remove that part of it",
    )


def too_large(place: str) -> PoolError:
    """The error for a value that is larger than any that is read."""
    return PoolError(
        f"{place} is larger than {LARGEST // 2**20} MiB", hint="leave it out of the file"
    )


def name_type(value: object) -> str:
    """JSON's name for a value of this kind."""
    names = {dict: "an object", list: "an array", str: "text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


class Parser:
    """The beginning of what is left of a document, as text."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.file, self.path = file, path
        self.decode = codecs.getincrementaldecoder("utf-8-sig")().decode
        self.text, self.at, self.ended = "", 0, False
        self.place = str(path)

    def read_array(self, keys: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The elements under these keys, which must be objects."""
        for key in keys:
            if not self._enter(key):
                raise PoolError(f"{self.path} has no {'.'.join(keys)}", hint="give the whole file")
        self._expect("[")
        number = 0
        while self.peek() != "]" or number:
            if number:
                if self.peek() == "]":
                    break
                self._expect(",")
            number += 1
            self.place = f"{self.path}, {keys[-1][:-1] if keys else 'element'} {number}"
            value = self._read_value()
            if not isinstance(value, dict):
                raise PoolError(
                    f"{self.place}: not an object but {name_type(value)}", hint="{...} is expected"
                )
            yield number, value

    def read_entries(self) -> dict[str, Any] | None:
        """See the function of this name."""
        self._expect("{")
        entries: dict[str, Any] = {}
        while self.peek() != "}":
            if entries:
                self._expect(",")
                self.peek()
            name = self._read_value()
            self._expect(":")
            entries[str(name)] = self._read_list() if self.peek() == "[" else self._read_value()
        self.at += 1
        return None if self.peek() else entries

    def _read_list(self) -> Any:
        """The array that begins here; of one of objects, what is known of it."""
        self._expect("[")
        values: list[Any] = []
        objects, first = 0, None
        while self.peek() != "]":
            if values or objects:
                self._expect(",")
            value = self._read_value()
            if isinstance(value, dict) and not values:
                objects, first = objects + 1, first or value
            else:
                values.append(value)
        self.at += 1
        if first is None or values:
            return [first, *values] if first else values
        return Objects(objects, first)

    def _enter(self, key: str) -> bool:
        """Go to the value of this key of the object that begins here."""
        self._expect("{")
        first = True
        while self.peek() != "}":
            if not first:
                self._expect(",")
                self.peek()
            first = False
            name = self._read_value()
            self._expect(":")
            self.peek()
            if name == key:
                return True
            self._read_value()
        return False

    def _read_value(self) -> Any:
        """The value that begins here, whole."""
        self.peek()
        decoder = _DECODER
        while True:
            try:
                value, end = decoder.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                # It may only be cut off.
                if not self.fill():
                    raise damaged(self.place, error) from error
                continue
            except RecursionError as error:
                raise damaged(self.place, error) from error
            except ValueError:
                decoder = _OF_LONG_NUMBERS
                continue
            if end == len(self.text) and self.fill():
                # A number may go on.
                continue
            self.at = end
            return value

    def peek(self) -> str:
        """The next letter that is no white space; empty at the end."""
        while True:
            found = _SPACE.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text) or not self.fill():
                return self.text[self.at : self.at + 1]

    def _expect(self, letter: str) -> None:
        if self.peek() != letter:
            error = json.JSONDecodeError(f"{letter} is missing", "", 0)
            raise damaged(self.place, error)
        self.at += 1

    def fill(self) -> bool:
        """Read as much again as there is, and at least a chunk; whether there was more."""
        if self.ended:
            return False
        rest = self.text[self.at :]
        if len(rest) > LARGEST:
            raise too_large(self.place)
        content = self.file.read(max(_CHUNK, len(rest)))
        self.ended = not content
        try:
            more = self.decode(content, self.ended)
        except UnicodeDecodeError as error:
            raise self.call_undecodable(error) from error
        self.text, self.at = rest + more, 0
        return bool(more) or not self.ended

    def call_undecodable(self, error: UnicodeDecodeError) -> PoolError:
        """The error for text that is not UTF-8."""
        return damaged(self.place, error)
