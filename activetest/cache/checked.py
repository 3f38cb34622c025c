"""Arrays on the disk, every block of which is checked against its checksum before it is used.

A manifest states the shapes of the arrays and the checksums of their checksums, and carries one of
its own. What does not fit is a CacheDamaged: nobody computes with it, and the cache is built again.
"""

import json
import warnings
import zlib
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from activetest import atomic
from activetest.errors import CacheDamaged, CacheRebuilt
from activetest.nouns.rows import Array
from activetest.pool.hashing import mix

MANIFEST = "manifest.json"
# Bytes of a block in a line: few enough for a look at single rows, enough for a fast checksum.
BLOCK = 2**16
# The same where a few items here and there are looked up.
SMALL_BLOCK = 2**12
# Words that are summed at once, and columns that they are dealt to: a prime number, so that pages
# and sectors that change places change what columns hold.
_AT_ONCE, _COLUMNS = 2**19, 509
_HALF, _FACTOR = np.uint64(32), np.uint64(0x9E3779B97F4A7C15)
# What arrays hold. A manifest from elsewhere may state anything.
_TYPES = {"<f4", "<f8", "<i4", "<i8", "<u8", "|u1"}


@dataclass(frozen=True)
class Manifest:
    """What the folder of a cache, or of a part of it, states.

    folder   where it is
    text     as it is on the disk
    content  what it says
    """

    folder: Path
    text: str
    content: dict[str, Any]

    @staticmethod
    def read(folder: Path, version: int) -> "Manifest":
        """The manifest of a folder.

        Raises OSError where there is none, ValueError for one of another version, CacheDamaged for
        one that is not as it was written.
        """
        data = (folder / MANIFEST).read_bytes()
        text = data.decode(errors="replace")
        damage = CacheDamaged(folder, MANIFEST, text)
        try:
            content = json.loads(data)
            if "damaged" in content:
                raise CacheDamaged(folder, str(content["damaged"]), text)
            found = content["version"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise damage from error
        if found != version:
            raise ValueError(f"cache version {found}")
        if content.pop("checksum", None) != _hash_content(content):
            raise damage
        return Manifest(folder, text, content)

    @staticmethod
    def write(folder: Path, content: dict[str, Any]) -> None:
        """Write the manifest of a folder. Raises OSError when it cannot be written."""
        # As it will be read: tuples become lists.
        content = json.loads(json.dumps(content))
        text = json.dumps(content | {"checksum": _hash_content(content)})
        (folder / MANIFEST).write_text(text)

    def open_arrays(self) -> "dict[str, CheckedArray]":
        """The arrays, by name. Raises CacheDamaged where one is missing or shorter than stated."""
        return {name: CheckedArray(self, name) for name in self.content["arrays"]}


def _hash_content(content: dict[str, Any]) -> str:
    return blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


def seal_array(
    folder: Path, name: str, values: Array, begin: int, axis: int, *, block: int = BLOCK
) -> dict[str, Any]:
    """Write the checksums of an array's blocks; what a manifest states of the array.

    begin  the byte of its file at which values begin
    axis   that of the items: blocks are some items, of all lines of the other axis
    block  bytes of a block in a line
    """
    lines = _view_lines(values, axis)
    per_item = lines[0].shape[1] if lines else 1
    # Blocks are whole words of eight bytes, whatever an item takes.
    rows = max(block // per_item // 8 * 8, 8)
    blocks = -(-values.shape[axis] // rows) if lines else 0
    sums = _sum_blocks(lines, np.arange(blocks), rows).astype("<u8").tobytes()
    (folder / f"{name}.sums").write_bytes(sums)
    return {
        "shape": values.shape,
        "dtype": values.dtype.str,
        "begin": begin,
        "axis": axis,
        "block_rows": rows,
        "checksum": zlib.crc32(sums),
    }


def _view_lines(values: Array, axis: int) -> list[Array]:
    """(items, bytes of one) bytes of each line that holds items one after another."""
    if not values.size:
        return []
    lines = values if axis else values[None]
    items = values.shape[axis]
    return [np.ascontiguousarray(line).reshape(items, -1).view(np.uint8) for line in lines]


def _sum_blocks(lines: list[Array], blocks: Array, rows: int) -> Array:
    """(B,) uint64 checksums of blocks: the items block * rows, ... in all lines.

    A block's words are dealt to 509 columns and summed there; the sums, each with its upper half
    folded into the lower one, times odd numbers, are summed modulo 2^64. No change of one word
    leaves the checksum as it was. Others do with a probability of 2^-32, but for those made of
    opposite changes a multiple of 509 words apart. Most of it is one addition a word: a third of
    the time of a product a word, and a fifth of that of zlib's CRC.
    """
    sums = np.zeros(len(blocks), np.uint64)
    for line in lines:
        whole, width = len(line) // rows, rows * line.shape[1]
        words = line[: whole * rows].reshape(-1).view("<u8").reshape(whole, width // 8)
        sums *= _FACTOR
        inside = blocks < whole
        sums[inside] += _sum_words(words, blocks[inside])
        if not inside.all():
            end = np.zeros(width, np.uint8)
            end[: (len(line) - whole * rows) * line.shape[1]] = line[whole * rows :].reshape(-1)
            sums[~inside] += _sum_words(end.view("<u8")[None], np.zeros(1, np.int64))
    return sums


def _sum_words(words: Array, blocks: Array) -> Array:
    """(B,) uint64 checksums of some of the lines of words (blocks, W)."""
    sums = np.empty(len(blocks), np.uint64)
    step = max(_AT_ONCE // max(words.shape[1], 1), 1)
    whole = words.shape[1] // _COLUMNS * _COLUMNS
    for begin in range(0, len(blocks), step):
        chosen = blocks[begin : begin + step]
        adjacent = chosen[-1] - chosen[0] == len(chosen) - 1
        part = words[chosen[0] : chosen[-1] + 1] if adjacent else words[chosen]
        columns = part[:, :whole].reshape(len(part), -1, _COLUMNS).sum(axis=1, dtype=np.uint64)
        columns[:, : words.shape[1] - whole] += part[:, whole:]
        columns ^= columns >> _HALF
        sums[begin : begin + step] = np.einsum("bw,w->b", columns, _list_factors(_COLUMNS))
    return sums


@cache
def _list_factors(count: int) -> Array:
    """(count,) odd numbers."""
    return mix(np.arange(count, dtype=np.uint64)) | np.uint64(1)


class CheckedArray:
    """An array mapped from the disk; what is read of it has been checked, once in this process.

    Indexing is by item: a slice without a step, positions or one position. An array whose items are
    its second axis (T, N) gives all T lines of them.
    """

    def __init__(self, manifest: Manifest, name: str) -> None:
        """Raises CacheDamaged where the file is missing, or shorter than the manifest states."""
        self.name, self._manifest = name, manifest
        stated = manifest.content["arrays"][name]
        shape, self._axis = tuple(stated["shape"]), stated["axis"]
        self.shape: tuple[int, ...] = shape
        self._rows: int = stated["block_rows"]
        if stated["dtype"] not in _TYPES:
            raise self._damage()
        path, dtype = manifest.folder / f"{name}.npy", np.dtype(stated["dtype"])
        try:
            sums = (manifest.folder / f"{name}.sums").read_bytes()
            self._values: Array = (
                np.asarray(np.memmap(path, dtype, "r", stated["begin"], shape))
                if 0 not in shape
                else np.empty(shape, dtype)
            )
        except (OSError, EOFError, ValueError, TypeError) as error:
            raise self._damage() from error
        self.size: int = shape[self._axis]
        self.dtype, self.axis = dtype, int(self._axis)
        self._lines = _view_lines(self._values, self._axis)
        self._sums = np.frombuffer(sums[: len(sums) // 8 * 8], "<u8")
        blocks = -(-self.size // self._rows) if self._lines else 0
        if zlib.crc32(sums) != stated["checksum"] or len(self._sums) != blocks:
            raise self._damage()
        # Threads may check one block twice, and agree.
        self._checked = np.zeros(blocks, bool)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, items: Any) -> Any:
        """The items. Raises CacheDamaged for a block that is not as it was written."""
        if isinstance(items, slice):
            start, stop, step = items.indices(self.size)
            if step != 1:
                raise IndexError("a slice has no step")
            self._check(np.arange(start // self._rows, -(-stop // self._rows)))
        else:
            positions = np.asarray(items)
            if positions.dtype == bool:
                raise IndexError("a mask is no position")
            if positions.size and not 0 <= positions.min() <= positions.max() < self.size:
                raise IndexError(f"{self.name} has {self.size} items")
            self._check(np.unique(positions // self._rows))
        return self._values[:, items] if self._axis else self._values[items]

    def read_ranges(self, begins: Array, ends: Array) -> list[bytes]:
        """The bytes of the items begins[k], ..., ends[k] - 1 of an array of bytes, for every k."""
        if len(begins) and not (
            begins.min() >= 0 and (begins <= ends).all() and ends.max() <= self.size
        ):
            raise self._damage()
        touched = [
            np.arange(first, last)
            for first, last in zip(begins // self._rows, -(-ends // self._rows), strict=True)
        ]
        self._check(np.unique(np.concatenate([*touched, np.empty(0, np.int64)])))
        values = self._values.data
        ranges = zip(begins.tolist(), ends.tolist(), strict=True)
        return [bytes(values[begin:end]) for begin, end in ranges]

    def _check(self, blocks: Array) -> None:
        """Check those of the blocks that were not checked before."""
        if not len(self._checked):
            return
        blocks = blocks[~self._checked[blocks]]
        if (_sum_blocks(self._lines, blocks, self._rows) != self._sums[blocks]).any():
            raise self._damage()
        self._checked[blocks] = True

    def _damage(self) -> CacheDamaged:
        return CacheDamaged(self._manifest.folder, self.name, self._manifest.text)


def mark_damaged(damage: CacheDamaged) -> None:
    """Let nobody open the manifest of a damaged folder again, unless it was replaced meanwhile.

    Raises the damage itself where the folder may not be written.
    """
    path = damage.folder / MANIFEST
    try:
        if path.read_bytes().decode(errors="replace") == damage.manifest:
            with atomic.replacing_file(path) as marked:
                marked.write_text(json.dumps({"damaged": damage.name}))
    except FileNotFoundError:
        return
    except OSError as error:
        raise damage from error


def announce_rebuild(damage: CacheDamaged | None) -> None:
    """Tell the user that what was damaged has been built again."""
    if damage:
        warnings.warn(
            f"{damage.problem}; it was built again, and results are those of an undamaged one",
            CacheRebuilt,
            stacklevel=2,
        )
