"""Pieces of a pool: the row groups whose items are written and checked together.

A piece is as many consecutive row groups of one file as have at most 65,536 rows together, or one
that has more. So footers alone decide, and many small row groups do not make many files.
"""

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from activetest.cache.store import Store, StoreWriter
from activetest.nouns.rows import Array
from activetest.pool.columns import read_text
from activetest.pool.files import Piece as RowGroup
from activetest.pool.ids import Text, hash_canonical
from activetest.pool.pool import Pool

# Rows of a piece of several row groups.
MOST_ROWS = 2**16
# Arrays of ids: where those of a piece end among its letters, and the letters of all.
ID_ENDS, ID_LETTERS = "id_ends", "id_letters"
# Array of ids that are whole numbers; ids that are row numbers need none.
ID_NUMBERS = "id_numbers"
# Ids that are looked at together.
_STRIP = 16384
# Bytes of ids that are copied at once.
_LETTERS = 2**22


def split_pool(pool: Pool) -> list[list[RowGroup]]:
    """The pieces of a pool, in order, by their row groups."""
    found: list[list[RowGroup]] = []
    rows = 0
    for each in pool.pieces:
        rows += each.rows
        if not found or found[-1][-1].path != each.path or rows > MOST_ROWS:
            found.append([])
            rows = each.rows
        found[-1].append(each)
    return found


class IdWriter:
    """Writes ids of pieces: of each in its order, and of several pieces by several threads.

    Where the letters of a piece begin follows from those of the pieces before: until all are known
    they wait in files of their own.

    starts  position of the first item of each piece
    waiting  where these files are until the cache is complete
    """

    def __init__(self, writer: StoreWriter, starts: Sequence[int], waiting: Path) -> None:
        self._writer, self._starts, self._letters = writer, starts, [0] * len(starts)
        self._waiting = waiting

    def write(self, start: int, ids: Text) -> None:
        """Write ids of items of a piece: those at start, start + 1, ... Raises OSError."""
        piece = bisect_right(self._starts, start) - 1
        self._writer.write(ID_ENDS, start, self._letters[piece] + ids.offsets[1:])
        with open(self._name_file(piece), "ab" if self._letters[piece] else "wb") as file:
            file.write(ids.letters.data)
        self._letters[piece] += len(ids.letters)

    def sum_piece(self, piece: int) -> list[int]:
        """How many letters a piece has, and their checksum; none where their file is not there."""
        count = checksum = 0
        with suppress(FileNotFoundError), open(self._name_file(piece), "rb") as file:
            while part := file.read(_LETTERS):
                count, checksum = count + len(part), crc32(part, checksum)
        return [count, checksum]

    def join(self) -> None:
        """Write the letters of all pieces behind each other. Raises OSError."""
        self._writer.create(ID_LETTERS, (0,), np.uint8)
        for path in map(self._name_file, range(len(self._starts))):
            with open(path, "rb") as file:
                while part := file.read(_LETTERS):
                    self._writer.append(ID_LETTERS, np.frombuffer(part, np.uint8))
            self._writer.append(ID_LETTERS, np.empty(0, np.uint8), ends_piece=True)

    def _name_file(self, piece: int) -> Path:
        return self._waiting / f"{piece}.letters"


def choose_id_arrays(pool: Pool) -> dict[str, tuple[tuple[int, ...], Any]]:
    """{name: (shape of an item's part, type)} of the arrays of a pool's ids, but for letters.

    Whole numbers are kept as numbers; numbers of rows follow from where an item stands.
    """
    if pool.schema.id is None:
        return {}
    kind = pool.files.schema.field(pool.schema.id).type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return {ID_NUMBERS: ((), np.int64)}
    return {ID_ENDS: ((), np.int64)}


class PieceIds:
    """The ids of all items, in UTF-8, by their positions.

    Letters of a piece stand together, and ends of ids are counted from where these begin.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        # Where each piece begins: its items, and its letters.
        self._starts, self._letters = (
            np.array([0, *store.arrays[name]["stops"]]) for name in (ID_ENDS, ID_LETTERS)
        )

    def read(self, positions: Array) -> list[bytes]:
        """The ids at these positions (R,), in their order. Raises CacheDamaged, IndexError."""
        positions = positions.astype(np.int64)
        ends = self._store.read(ID_ENDS, positions)
        pieces = np.searchsorted(self._starts, positions, side="right") - 1
        begins = np.zeros(len(positions), np.int64)
        inside = positions > self._starts[pieces]
        begins[inside] = self._store.read(ID_ENDS, positions[inside] - 1)
        letters = self._store.read(ID_LETTERS, pieces=np.unique(pieces).tolist())
        spots = self._letters[pieces]
        places = zip((spots + begins).tolist(), (spots + ends).tolist(), strict=True)
        found = [letters[begin:end].tobytes() for begin, end in places]
        self._store.release(ID_LETTERS)
        return found

    def hash_canonical(self) -> Array:
        """(N,) uint64 hash of the canonical form of each id. Raises CacheDamaged."""
        keys = []
        for piece, (start, stop) in enumerate(pairwise(self._starts.tolist())):
            text = self.read_piece(piece)
            hashes = self._store.read("hashes", slice(start, stop))
            for first in range(0, len(text), _STRIP):
                ends = text.offsets[first : first + _STRIP + 1]
                strip = Text(text.letters[ends[0] : ends[-1]], ends - ends[0])
                keys.append(hash_canonical(strip, hashes[first : first + _STRIP]))
            self._store.release(ID_ENDS, ID_LETTERS)
        return np.concatenate(keys)

    def read_piece(self, piece: int) -> Text:
        """The ids of a piece. Raises CacheDamaged."""
        ends = self._store.read(ID_ENDS, slice(*self._starts[piece : piece + 2]))
        letters = self._store.read(ID_LETTERS, slice(*self._letters[piece : piece + 2]))
        return Text(letters, np.append(np.zeros(1, np.int64), ends))

    def __getitem__(self, row: int) -> str:
        return self.read(np.array([row]))[0].decode("utf-8", "surrogateescape")


class NumberIds:
    """Ids that are whole numbers, or numbers of rows, as PieceIds gives them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._starts = [0, *store.arrays["hashes" if "hashes" in store.arrays else "pred"]["stops"]]

    def read(self, positions: Array) -> list[bytes]:
        """The ids at these positions (R,), in their order. Raises CacheDamaged, IndexError."""
        return [b"%d" % number for number in self._read_numbers(positions).tolist()]

    def hash_canonical(self) -> Array:
        """(N,) uint64 hash of each id: digits have no other form. Raises CacheDamaged."""
        return self._store.read("hashes")

    def read_piece(self, piece: int) -> Text:
        """The ids of a piece. Raises CacheDamaged."""
        numbers = self._read_numbers(np.arange(*self._starts[piece : piece + 2]))
        return read_text(pa.array(numbers), "id")

    def _read_numbers(self, positions: Array) -> Array:
        """(R,) the numbers at these positions."""
        if ID_NUMBERS in self._store.arrays:
            return self._store.read(ID_NUMBERS, positions.astype(np.int64))
        if len(positions) and not 0 <= positions.min() <= positions.max() < self._starts[-1]:
            raise IndexError(f"there are {self._starts[-1]} items")
        return positions

    def __getitem__(self, row: int) -> str:
        return self.read(np.array([row]))[0].decode()


def open_ids(store: Store) -> PieceIds | NumberIds:
    """The ids of a cache's items."""
    return PieceIds(store) if ID_ENDS in store.arrays else NumberIds(store)
