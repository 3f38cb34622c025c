"""Parts of a cache that only some surrogates use: folders of archives, written on demand."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from activetest import atomic
from activetest.cache.archive import ArchiveWriter, Statement, write_archive
from activetest.cache.checked import Manifest, announce_rebuild
from activetest.cache.pieces import PieceArrays, name_piece
from activetest.errors import CacheDamaged
from activetest.nouns.rows import Array

PARTS = "features", "train", "external", "evidence", "trained"
FEATURES, TRAIN, EXTERNAL, EVIDENCE, TRAINED = PARTS
# Beside the columns of evidence; and beside training rows, how many letters of texts are read.
FACTS, LONGEST = "facts", "longest"
# The archive of what is no array of items, and those of the pieces of the pool.
WHOLE, PIECE = "arrays.npz", "{}.npz"
_VERSION = 6
# Bytes of zeros written at once.
_ZEROS = 2**20


class Part:
    """A part as it is on the disk.

    origin       what it was built from, JSON-ready: equal as long as nobody touched that. Where it
                 was built from an auxiliary file it is {"pool": ..., "file": ...}
    fingerprint  hexadecimal: of the values it was built from
    notices      plain sentences about them
    manifest     of its files
    """

    def __init__(self, folder: Path) -> None:
        """Raises CacheDamaged, or OSError, ValueError, KeyError or TypeError for no such part."""
        self.manifest = read_part_manifest(folder)
        content = self.manifest.content
        self.origin: Any = content["made_from"]
        self.fingerprint: str = content["fingerprint"]
        self.notices: tuple[str, ...] = tuple(content["said"])
        self.rows: list[int] = content["rows"]
        self.manifest.open_files()

    @property
    def items(self) -> PieceArrays:
        """The arrays that have an item for each of the pool."""
        return PieceArrays(self.manifest, self.rows, (PIECE,))

    def read(self, name: str) -> Array:
        """An array that has no item for each of the pool. Raises CacheDamaged."""
        return self.manifest.read_array(WHOLE, name)

    def list_whole(self) -> list[str]:
        """The names of the arrays that have no item for each of the pool."""
        return list(self.manifest.files[WHOLE]["arrays"]) if WHOLE in self.manifest.files else []


@dataclass
class Draft:
    """A part that is being written to a folder, and what its manifest will state.

    rows  of the pieces of the pool, where the part has an archive for each
    """

    folder: Path
    fingerprint: str = ""
    notices: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    files: dict[str, Statement] = field(default_factory=dict)

    def write_whole(self, arrays: dict[str, Array]) -> None:
        """Write all arrays that have no item for each of the pool. Raises OSError."""
        self.files[WHOLE] = write_archive(self.folder / WHOLE, arrays)

    def write_items(self, rows: Sequence[int], arrays: dict[str, Array]) -> None:
        """Write arrays of all items, piece by piece; these have so many rows. Raises OSError."""
        self.rows = list(rows)
        for piece, (begin, end) in enumerate(pairwise(np.cumsum([0, *rows]).tolist())):
            file = PIECE.format(name_piece(piece))
            parts = {name: values[begin:end] for name, values in arrays.items()}
            self.files[file] = write_archive(self.folder / file, parts)

    @contextmanager
    def writing(self, file: str) -> Iterator[ArchiveWriter]:
        """An archive, which is complete after the block. Raises OSError."""
        writer = ArchiveWriter(self.folder / file)
        try:
            yield writer
            self.files[file] = writer.finish()
        finally:
            writer.close()

    @contextmanager
    def scratch(self, shape: tuple[int, ...], dtype: DTypeLike) -> Iterator[Array]:
        """An array of zeros on the disk, for values in any order, which is gone after the block.

        Its space is taken first: running out of it through a map would end the program. Raises
        OSError when the disk is full.
        """
        path, size = self.folder / "scratch", math.prod(shape) * np.dtype(dtype).itemsize
        try:
            with open(path, "wb") as file:
                for begin in range(0, size, _ZEROS):
                    file.write(bytes(min(_ZEROS, size - begin)))
            yield np.memmap(path, dtype, "r+", 0, shape)
        finally:
            path.unlink(missing_ok=True)


def read_part_manifest(folder: Path) -> Manifest:
    """The manifest of a part. Raises as Manifest.read does."""
    return Manifest.read(folder, _VERSION)


def open_part(folder: Path, origin: Any) -> Part | None:
    """The part in a folder, if it is complete and was built from this origin."""
    part = find_part(folder)
    return part if part and part.origin == origin else None


def open_copy(folder: Path, pool: Any, fingerprint: str | None) -> Part | None:
    """The part in a folder, if it is complete and has this fingerprint; its file is not read.

    pool  the "pool" half of its origin
    """
    part = find_part(folder)
    fits = part and part.origin["pool"] == pool and part.fingerprint == fingerprint
    return part if fits else None


@contextmanager
def drafting_part(folder: Path, origin: Any) -> Iterator[Draft]:
    """A draft that takes the folder's place when the block succeeds, and is removed otherwise.

    Where what was there is damaged, the user is told. Raises OSError when it cannot be written.
    """
    damage = None
    try:
        _read_part(folder)
    except CacheDamaged as found:
        damage = found.problem
    with atomic.replacing_folder(folder) as building:
        draft = Draft(building)
        yield draft
        manifest = {
            "version": _VERSION,
            "made_from": origin,
            "fingerprint": draft.fingerprint,
            "said": draft.notices,
            "rows": draft.rows,
            "files": draft.files,
        }
        Manifest.write(building, manifest)
    announce_rebuild(damage)


def _read_part(folder: Path) -> Part | None:
    """The part in a folder; None when it is missing or of another version. Raises CacheDamaged."""
    try:
        return Part(folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_part(folder: Path) -> Part | None:
    """The part in a folder; None when it is missing, damaged, or of another version."""
    try:
        return _read_part(folder)
    except CacheDamaged:
        return None
