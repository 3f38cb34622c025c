"""Parts of a cache that only some surrogates want: folders of arrays inside it, written lazily."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from activetest.cache.arrays import Arrays, replacing
from activetest.nouns.rows import Array

FEATURES, TRAIN, EXTERNAL = "features", "train", "external"
_VERSION = 2
_MANIFEST = "manifest.json"


class Part:
    """A part as it is on the disk.

    arrays       by name, memory-mapped
    made_from    what it was made from, JSON-ready: equal as long as nobody touched that; parts of
                 a file beside the pool say what of it is the "pool" and what is the "file"
    fingerprint  hexadecimal: of the values it was made from
    said         plain sentences about them
    """

    def __init__(self, folder: Path):
        """Raises OSError, EOFError, ValueError, KeyError or TypeError for no whole part."""
        manifest = json.loads((folder / _MANIFEST).read_text())
        if manifest["version"] != _VERSION:
            raise ValueError(f"part version {manifest['version']}")
        self.made_from = manifest["made_from"]
        self.fingerprint: str = manifest["fingerprint"]
        self.said = tuple(manifest["said"])
        self.arrays = {
            name: mapped(folder / f"{name}.npy", shape)
            for name, shape in manifest["arrays"].items()
        }


@dataclass
class Draft:
    """A part that is being written: its arrays, and what its manifest will say."""

    arrays: Arrays
    fingerprint: str = ""
    said: list[str] = field(default_factory=list)


def opened(folder: Path, made_from) -> Part | None:
    """The part in a folder, if it is whole and was made from this."""
    try:
        part = Part(folder)
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None
    return part if part.made_from == made_from else None


def copied(folder: Path, pool, fingerprint: str | None) -> Part | None:
    """The part in a folder, whatever became of its file, if it is whole and holds these values.

    pool is the other half of what it was made from.
    """
    try:
        part = Part(folder)
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        return None
    fits = part.made_from["pool"] == pool and part.fingerprint == fingerprint
    return part if fits else None


@contextmanager
def drafted(folder: Path, made_from) -> Iterator[Draft]:
    """A draft that takes the folder's place when the block succeeds, and vanishes when it fails."""
    with replacing(folder) as fresh:
        draft = Draft(Arrays(fresh))
        try:
            yield draft
        finally:
            draft.arrays.close()
        manifest = {
            "version": _VERSION,
            "made_from": made_from,
            "fingerprint": draft.fingerprint,
            "said": draft.said,
            "arrays": draft.arrays.shapes,
        }
        (fresh / _MANIFEST).write_text(json.dumps(manifest))


def mapped(path: Path, shape: list[int]) -> Array:
    """A memory-mapped array. Raises ValueError when it is not of the shape."""
    array = np.load(path, mmap_mode="r") if 0 not in shape else np.load(path)
    if list(array.shape) != shape:
        raise ValueError(f"{path} has shape {array.shape}")
    return array
