"""Parts of a cache that only some surrogates use: folders of arrays, written on demand."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from activetest import atomic
from activetest.cache.arrays import Arrays
from activetest.nouns.rows import Array
from activetest.parallel import reading_header

FEATURES, TRAIN, EXTERNAL = "features", "train", "external"
_VERSION = 2
_MANIFEST = "manifest.json"


class Part:
    """A part as it is on the disk.

    arrays       by name, memory-mapped
    origin       what it was built from, JSON-ready: equal as long as nobody touched that. Where it
                 was built from an auxiliary file it is {"pool": ..., "file": ...}
    fingerprint  hexadecimal: of the values it was built from
    notices      plain sentences about them
    """

    def __init__(self, folder: Path) -> None:
        """Raises OSError, EOFError, ValueError, KeyError or TypeError for an incomplete part."""
        manifest = json.loads((folder / _MANIFEST).read_text())
        if manifest["version"] != _VERSION:
            raise ValueError(f"part version {manifest['version']}")
        self.origin: Any = manifest["made_from"]
        self.fingerprint: str = manifest["fingerprint"]
        self.notices: tuple[str, ...] = tuple(manifest["said"])
        self.arrays: dict[str, Array] = {
            name: map_array(folder / f"{name}.npy", shape)
            for name, shape in manifest["arrays"].items()
        }


@dataclass
class Draft:
    """A part that is being written: its arrays, and what its manifest will state."""

    arrays: Arrays
    fingerprint: str = ""
    notices: list[str] = field(default_factory=list)


def open_part(folder: Path, origin: Any) -> Part | None:
    """The part in a folder, if it is complete and was built from this origin."""
    part = _read_part(folder)
    return part if part and part.origin == origin else None


def open_copy(folder: Path, pool: Any, fingerprint: str | None) -> Part | None:
    """The part in a folder, if it is complete and has this fingerprint; its file is not read.

    pool  the "pool" half of its origin
    """
    part = _read_part(folder)
    fits = part and part.origin["pool"] == pool and part.fingerprint == fingerprint
    return part if fits else None


@contextmanager
def drafting_part(folder: Path, origin: Any) -> Iterator[Draft]:
    """A draft that takes the folder's place when the block succeeds, and is removed otherwise.

    Raises OSError when it cannot be written.
    """
    with atomic.replacing_folder(folder) as building:
        draft = Draft(Arrays(building))
        try:
            yield draft
        finally:
            draft.arrays.close()
        manifest = {
            "version": _VERSION,
            "made_from": origin,
            "fingerprint": draft.fingerprint,
            "said": draft.notices,
            "arrays": draft.arrays.shapes,
        }
        (building / _MANIFEST).write_text(json.dumps(manifest))


def map_array(path: Path, shape: list[int]) -> Array:
    """A memory-mapped array. Raises ValueError when it is not of the shape."""
    with reading_header:
        array = np.load(path, mmap_mode="r") if 0 not in shape else np.load(path)
    if list(array.shape) != shape:
        raise ValueError(f"{path} has shape {array.shape}")
    return array


def _read_part(folder: Path) -> Part | None:
    """The part in a folder; None when it is missing, damaged, or of another version."""
    try:
        return Part(folder)
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None
