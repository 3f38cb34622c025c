"""Pieces of a pool: the row groups whose arrays are written, checked and rebuilt together.

A piece is as many consecutive row groups of one file as have at most 65,536 rows together, or one
that has more. So footers alone decide, and many small row groups do not make many files.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from activetest.cache.checked import Manifest
from activetest.errors import CacheDamaged
from activetest.nouns.rows import Array
from activetest.parallel import map_reduce
from activetest.pool.ids import Text, hash_canonical
from activetest.pool.pool import Pool, Strip

# Rows of a piece of several row groups.
MOST_ROWS = 2**16
# Arrays whose items are along the second axis: they have a line for each statistic.
_ACROSS = ("right", "wrong", "spread")
# Ids that are looked at together.
_STRIP = 16384
# With fewer pieces than this, the strips of each are what threads share.
_MANY_PIECES = 4


@dataclass(frozen=True)
class PoolPiece:
    """A piece of a pool.

    number  of the piece
    file    position of its file among those of the pool, and `path` where it is
    groups  (first, last) row group of the file
    places  the same among all row groups of the pool
    start   position of the first row in the pool
    rows    number of rows
    """

    number: int
    file: int
    path: str
    groups: tuple[int, int]
    places: tuple[int, int]
    start: int
    rows: int

    def strips(self, pool: Pool, without: tuple[str, ...] = ()) -> Iterator[Strip]:
        """Its rows, decoded in the calling thread: see Pool.strips."""
        return pool.strips(self.start, self.start + self.rows, without=without)


def split_pool(pool: Pool) -> list[PoolPiece]:
    """The pieces of a pool, in order."""
    found: list[PoolPiece] = []
    # Files without rows have a place, too.
    places_of_files = {path: place for place, path in enumerate(pool.files.paths)}
    for each in pool.pieces:
        last = found[-1] if found else None
        if last and last.path == each.path and last.rows + each.rows <= MOST_ROWS:
            begins, rows = (last.groups[0], last.places[0], last.start), last.rows + each.rows
            found.pop()
        else:
            begins, rows = (each.row_group, each.number, each.start), each.rows
        file = places_of_files[each.path]
        groups, places = (begins[0], each.row_group), (begins[1], each.number)
        found.append(PoolPiece(len(found), file, each.path, groups, places, begins[2], rows))
    return found


def map_pieces(pieces: Sequence[PoolPiece], fn: Any, combine: Any, *, title: str) -> Any:
    """fn(piece, map_strips) of all pieces, combined in their order; see parallel.map_reduce.

    map_strips(strips, fn, combine) goes through the strips of a piece: in threads where there are
    so few pieces that they do not keep all threads busy, and in the calling thread otherwise.
    """
    if len(pieces) >= _MANY_PIECES:
        return map_reduce(pieces, lambda piece: fn(piece, _map_here), combine, title=title)

    def map_strips(strips: Iterator[Strip], each: Any, combine: Any) -> Any:
        return map_reduce(strips, each, combine, title=title)

    return reduce(combine, [fn(piece, map_strips) for piece in pieces])


def _map_here(strips: Iterator[Strip], fn: Any, combine: Any) -> Any:
    return reduce(combine, map(fn, strips))


class PieceArrays:
    """Arrays of N items, of which each piece has its own in archives.

    Indexing is by item: a slice without a step, or positions. An array whose items are its second
    axis (T, N) gives all T lines of them.
    """

    def __init__(self, manifest: Manifest, rows: Sequence[int], files: Sequence[str]) -> None:
        """The pieces have so many rows; files name the archives of a piece, {} for its number."""
        self._manifest, self._files = manifest, files
        self._starts = np.array([0, *accumulate(rows)])
        self._homes = {
            name: file
            for file in files
            for name in manifest.files[file.format(name_piece(0))]["arrays"]
        }

    def __contains__(self, name: str) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def count_rows(self) -> list[int]:
        """The rows of each piece."""
        counts: list[int] = np.diff(self._starts).tolist()
        return counts

    def part(self, piece: int, name: str) -> Array:
        """An array of a piece, of all its items. Raises CacheDamaged."""
        return self._manifest.read_array(self._home(piece, name), name)

    def items(self, piece: int, name: str) -> Array:
        """The same, with an item for every row of the piece. Raises CacheDamaged."""
        values = self.part(piece, name)
        rows = int(self._starts[piece + 1] - self._starts[piece])
        if values.shape[_find_axis(name)] != rows:
            manifest = self._manifest
            raise CacheDamaged(manifest.folder, self._home(piece, name), name, manifest.text)
        return values

    def select(self, name: str, items: slice | Array) -> Array:
        """The items, of an array. Raises IndexError, CacheDamaged."""
        if isinstance(items, slice):
            return self._join(name, *items.indices(int(self._starts[-1]))[:2])
        axis = _find_axis(name)
        found: Array | None = None
        for piece, places, rows in self.locate(items):
            values = self.items(piece, name)
            values = values[:, rows] if axis else values[rows]
            if len(rows) == len(items):
                return values
            if found is None:
                others = values.shape[:axis] + values.shape[axis + 1 :]
                # In memory as numpy returns it where all items are of one piece.
                found = np.moveaxis(np.empty((len(items), *others), values.dtype), 0, axis)
            np.moveaxis(found, axis, 0)[places] = np.moveaxis(values, axis, 0)
        return self._join(name, 0, 0) if found is None else found

    def locate(self, positions: Array) -> Iterator[tuple[int, Array, Array]]:
        """(piece, places among the positions, rows of the piece) of those that pieces have."""
        if len(positions) and not 0 <= positions.min() <= positions.max() < self._starts[-1]:
            raise IndexError(f"there are {self._starts[-1]} items")
        pieces = np.searchsorted(self._starts, positions, side="right") - 1
        order = np.argsort(pieces, kind="stable")
        present, begins = np.unique(pieces[order], return_index=True)
        for piece, (begin, end) in zip(
            present.tolist(), pairwise([*begins.tolist(), len(order)]), strict=True
        ):
            places = order[begin:end]
            yield piece, places, positions[places] - self._starts[piece]

    def _join(self, name: str, start: int, stop: int) -> Array:
        """The items start, ..., stop - 1; those of one piece are not copied."""
        axis = _find_axis(name)
        first, last = np.searchsorted(self._starts[1:-1], [start, max(stop - 1, start)], "right")
        joined, done = np.empty(0), 0
        for piece in range(first, last + 1):
            begin, end = (max(at - int(self._starts[piece]), 0) for at in (start, stop))
            values = self.items(piece, name)
            values = values[:, begin:end] if axis else values[begin:end]
            if first == last:
                return values
            if piece == first:
                shape = [*values.shape]
                shape[axis] = min(stop, int(self._starts[-1])) - start
                joined = np.empty(shape, values.dtype)
            place = slice(done, done + values.shape[axis])
            joined[(slice(None), place) if axis else place] = values
            done = place.stop
            self.release(piece, name)
        return joined

    def release(self, piece: int, *names: str) -> None:
        """Let go of the memory that arrays of a piece take, until they are used again."""
        for name in names:
            self._manifest.release_array(self._home(piece, name), name)

    def _home(self, piece: int, name: str) -> str:
        """The archive that an array of a piece is in."""
        return self._homes[name].format(name_piece(piece))


class PieceIds:
    """The ids of all items, in UTF-8, by their positions."""

    def __init__(self, arrays: PieceArrays) -> None:
        self._arrays = arrays

    def read(self, positions: Array) -> list[bytes]:
        """The ids at these positions (R,), in their order. Raises CacheDamaged, IndexError."""
        found = [b""] * len(positions)
        for piece, places, rows in self._arrays.locate(positions.astype(np.int64)):
            letters = self._arrays.part(piece, "id_letters")
            offsets = self._arrays.part(piece, "id_offsets")
            ends = zip(
                places.tolist(), offsets[rows].tolist(), offsets[rows + 1].tolist(), strict=True
            )
            for place, begin, end in ends:
                found[place] = letters[begin:end].tobytes()
            self._arrays.release(piece, "id_letters", "id_offsets")
        return found

    def hash_canonical(self) -> Array:
        """(N,) uint64 hash of the canonical form of each id. Raises CacheDamaged."""
        keys = []
        for piece, rows in enumerate(self._arrays.count_rows()):
            letters = self._arrays.part(piece, "id_letters")
            offsets = self._arrays.part(piece, "id_offsets")
            hashes = self._arrays.items(piece, "hashes")
            for start in range(0, rows, _STRIP):
                strip = offsets[start : start + _STRIP + 1]
                text = Text(letters[strip[0] : strip[-1]], strip - strip[0])
                keys.append(hash_canonical(text, hashes[start : start + _STRIP]))
            self._arrays.release(piece, "id_letters", "id_offsets")
        return np.concatenate(keys)

    def __getitem__(self, row: int) -> str:
        return self.read(np.array([row]))[0].decode("utf-8", "surrogateescape")


def name_piece(number: int) -> str:
    """What the files of a piece are called by."""
    return f"{number:06}"


def shape_array(name: str, rows: int, item: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an array of items, each of which has a part of this shape."""
    return (*item, rows) if name in _ACROSS else (rows, *item)


def _find_axis(name: str) -> int:
    """That of an array's items."""
    return int(name in _ACROSS)
