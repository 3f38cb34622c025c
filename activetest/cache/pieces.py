"""Pieces of a pool: the row groups whose items are written and checked together.

A piece is as many consecutive row groups of one file as have at most 65,536 rows together, or one
that has more. So footers alone decide, and many small row groups do not make many files.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np

from activetest.cache.store import Store
from activetest.nouns.rows import Array
from activetest.pool.files import Piece as RowGroup
from activetest.pool.ids import Text, hash_canonical
from activetest.pool.pool import Pool, Strip
from activetest.system.parallel import map_reduce

# Rows of a piece of several row groups.
MOST_ROWS = 2**16
# Arrays of ids: where those of a piece end among its letters, and the letters of all.
ID_ENDS, ID_LETTERS = "id_ends", "id_letters"
# Ids that are looked at together.
_STRIP = 16384
# With fewer pieces than this, the strips of each are what threads share.
_MANY_PIECES = 4


@dataclass(frozen=True)
class PoolPiece:
    """A piece of a pool: these row groups of one of its files."""

    groups: Sequence[RowGroup]

    @property
    def start(self) -> int:
        """The position of the first row in the pool."""
        return self.groups[0].start

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(group.rows for group in self.groups)

    def strips(self, pool: Pool) -> Iterator[Strip]:
        """Its rows, decoded in the calling thread: see Pool.strips."""
        return pool.strips(self.start, self.start + self.rows)


def split_pool(pool: Pool) -> list[PoolPiece]:
    """The pieces of a pool, in order."""
    found: list[list[RowGroup]] = []
    rows = 0
    for each in pool.pieces:
        rows += each.rows
        if not found or found[-1][-1].path != each.path or rows > MOST_ROWS:
            found.append([])
            rows = each.rows
        found[-1].append(each)
    return list(map(PoolPiece, found))


def map_pieces(pieces: Sequence[PoolPiece], fn: Any, combine: Any, *, title: str) -> Any:
    """fn(piece, map_strips) of all pieces, combined in their order; see parallel.map_reduce.

    map_strips(strips, fn, combine) goes through the strips of a piece: in threads where there are
    so few pieces that they do not keep all threads busy, and in the calling thread otherwise.
    """
    if len(pieces) >= _MANY_PIECES:

        def map_here(strips: Iterator[Strip], each: Any, combine: Any) -> Any:
            return reduce(combine, map(each, strips))

        return map_reduce(pieces, lambda piece: fn(piece, map_here), combine, title=title)
    map_strips = partial(map_reduce, title=title)
    return reduce(combine, [fn(piece, map_strips) for piece in pieces])


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
