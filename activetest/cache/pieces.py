"""Pieces of a pool: the row groups whose items are written and checked together.

A piece is as many consecutive row groups of one file as have at most 65,536 rows together, or one
that has more. So footers alone decide, and many small row groups do not make many files.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from activetest.cache.store import Store, StoreWriter
from activetest.nouns.rows import Array
from activetest.pool.files import Piece as RowGroup
from activetest.pool.ids import Text, hash_canonical
from activetest.pool.pool import Pool

# Rows of a piece of several row groups.
MOST_ROWS = 2**16
# Arrays of ids: where those of a piece end among its letters, and the letters of all.
ID_ENDS, ID_LETTERS = "id_ends", "id_letters"
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
    """

    def __init__(self, writer: StoreWriter, starts: Sequence[int]) -> None:
        self._writer, self._starts, self._letters = writer, starts, [0] * len(starts)

    def write(self, start: int, ids: Text) -> None:
        """Write ids of items of a piece: those at start, start + 1, ... Raises OSError."""
        piece = bisect_right(self._starts, start) - 1
        self._writer.write(ID_ENDS, start, self._letters[piece] + ids.offsets[1:])
        self._letters[piece] += len(ids.letters)
        with open(self._name_file(piece), "ab") as file:
            file.write(ids.letters.data)

    def join(self) -> None:
        """Write the letters of all pieces behind each other. Raises OSError."""
        self._writer.create(ID_LETTERS, (0,), np.uint8)
        for path in map(self._name_file, range(len(self._starts))):
            with open(path, "rb") as file:
                while part := file.read(_LETTERS):
                    self._writer.append(ID_LETTERS, np.frombuffer(part, np.uint8))
            self._writer.append(ID_LETTERS, np.empty(0, np.uint8), ends_piece=True)
            path.unlink()

    def _name_file(self, piece: int) -> Path:
        return self._writer.folder / f"{piece}.letters"


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
