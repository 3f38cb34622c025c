"""Numbers apart from the words around them: what a round repeats is stored once, and is short.

A value of JSON becomes a text, which rounds of the same choices share, and bytes. Every float, and
every list of whole numbers, stands in the text as {"<f8": shape} or {"<i8": shape}, and in the
bytes with 8 bytes for each number, the lowest first, in the order of the text. They come back bit
for bit.
"""

import json
import math
import zlib
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from activetest.nouns.rows import Array

_FLOATS, _WHOLE = "<f8", "<i8"
_KINDS = {name: np.dtype(name) for name in (_FLOATS, _WHOLE)}
_BYTES = 8


def pack_numbers(value: Any) -> tuple[str, bytes]:
    """The text of a value that JSON can hold, arrays of numbers included, and its numbers."""
    found: list[Array] = []
    text = json.dumps(_take_numbers(value, found))
    return text, b"".join(each.tobytes() for each in found)


def unpack_numbers(structure: Any, content: bytes) -> Any:
    """The value of pack_numbers, from its parsed text and its numbers.

    Raises ValueError for bytes that do not belong to the text.
    """
    return unpack_several(structure, [content])[0]


def unpack_several(structure: Any, contents: Sequence[bytes], *, arrays: bool = False) -> list[Any]:
    """As unpack_numbers, for several values of one text; what has no numbers is shared.

    arrays  lists of numbers become arrays
    """
    size = _BYTES * sum(math.prod(shape) for shape in _list_shapes(structure))
    if any(len(content) != size for content in contents):
        raise ValueError("there are not as many numbers as places for them")
    rows = len(contents)
    table = np.frombuffer(b"".join(contents), np.uint8).reshape(rows, size)
    position = 0

    def put(part: Any) -> Iterable[Any]:
        nonlocal position
        if not _list_shapes(part):
            return repeat(part, rows)
        if isinstance(part, list):
            return map(list, zip(*map(put, part), strict=True))
        if not _is_place(part):
            values = zip(*map(put, part.values()), strict=True)
            return [dict(zip(part, each, strict=True)) for each in values]
        ((kind, shape),) = part.items()
        start, position = position, position + _BYTES * math.prod(shape)
        numbers = np.ascontiguousarray(table[:, start:position]).view(kind)
        numbers = numbers.reshape(rows, *shape)
        return list(numbers) if arrays and shape else numbers.tolist()

    return list(put(structure))


def compress_matrices(text: str, content: bytes) -> bytes:
    """The numbers of pack_numbers in fewer bytes, where square matrices are nearly symmetric."""
    bits = np.frombuffer(content, "<i8").copy()
    below, above = _find_mirrored(json.loads(text))
    folded = np.zeros(len(bits), bool)
    folded[below] = True
    # Numbers below a diagonal, as their small distance from above: first 0, then -1, 1, -2, ...
    distance = bits[below] - bits[above]
    ordered = np.concatenate([bits[~folded], (distance << 1) ^ (distance >> 63)])
    return zlib.compress(ordered.view(np.uint8).reshape(-1, _BYTES).T.tobytes())


def decompress_matrices(structure: Any, content: bytes) -> bytes:
    """The inverse of compress_matrices. Raises ValueError for what it cannot have written."""
    count = sum(math.prod(shape) for shape in _list_shapes(structure))
    unpacking = zlib.decompressobj()
    try:
        numbers = unpacking.decompress(content, _BYTES * count + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(numbers) != _BYTES * count or not unpacking.eof:
        raise ValueError("there are not as many numbers as places for them")
    columns = np.frombuffer(numbers, np.uint8).reshape(_BYTES, count)
    ordered = np.ascontiguousarray(columns.T).view("<i8").ravel()
    below, above = _find_mirrored(structure)
    folded = np.zeros(count, bool)
    folded[below] = True
    bits = np.empty(count, "<i8")
    bits[~folded] = ordered[: count - len(below)]
    distance = ordered[count - len(below) :]
    bits[below] = bits[above] + ((distance >> 1 & (2**63 - 1)) ^ -(distance & 1))
    return bits.tobytes()


def _take_numbers(value: Any, found: list[Array]) -> Any:
    """The value with places of numbers in their stead; the numbers are added to `found`."""
    if isinstance(value, dict):
        if set(value) & set(_KINDS):
            raise ValueError(f"{_FLOATS} and {_WHOLE} are no names")
        return {name: _take_numbers(each, found) for name, each in value.items()}
    if isinstance(value, float):
        found.append(np.array(value, _FLOATS))
        return {_FLOATS: []}
    if isinstance(value, list | tuple | np.ndarray) and len(value):
        kind, numbers = _find_kind(value)
        if kind:
            found.append(np.ascontiguousarray(numbers, kind))
            return {kind: list(found[-1].shape)}
        return [_take_numbers(each, found) for each in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _find_kind(value: Any) -> tuple[str, Array | None]:
    """The kind of _KINDS that holds all of a list, and the numbers; empty where none does."""
    if not isinstance(value, np.ndarray):
        leaves = {type(each) for each in _list_leaves(value)}
        if leaves not in ({float}, {int}):
            return "", None
        try:
            value = np.array(value)
        except ValueError:
            # Lists of different lengths.
            return "", None
    kind = {"f": _FLOATS, "i": _WHOLE}.get(value.dtype.kind, "")
    return kind, value if kind else None


def _list_leaves(value: Any) -> Any:
    """Everything in nested lists that is no list."""
    for each in value:
        if isinstance(each, list | tuple):
            if not each:
                yield None
            yield from _list_leaves(each)
        else:
            yield each


def _list_shapes(structure: Any) -> list[list[int]]:
    """The shapes of the numbers of a text, in order."""
    if isinstance(structure, list):
        return [shape for each in structure for shape in _list_shapes(each)]
    if not isinstance(structure, dict):
        return []
    if _is_place(structure):
        (shape,) = structure.values()
        if not all(type(length) is int and length >= 0 for length in shape):
            raise ValueError(f"{shape!r} is no shape")
        return [shape]
    return [shape for each in structure.values() for shape in _list_shapes(each)]


def _is_place(part: Any) -> bool:
    """Whether a part of a text is a place of numbers."""
    return isinstance(part, dict) and len(part) == 1 and not part.keys().isdisjoint(_KINDS)


def _find_mirrored(structure: Any) -> tuple[Array, Array]:
    """(K,) places of all numbers below the diagonal of square matrices, and of those opposite."""
    below, above, position = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for shape in _list_shapes(structure):
        if len(shape) == 2 and shape[0] == shape[1]:
            row, column = np.tril_indices(shape[0], -1)
            below.append(position + row * shape[0] + column)
            above.append(position + column * shape[0] + row)
        position += math.prod(shape)
    return np.concatenate(below), np.concatenate(above)
