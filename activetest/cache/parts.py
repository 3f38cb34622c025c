"""Parts of a cache that only some surrogates use: folders of arrays, written on demand."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from activetest import atomic
from activetest.cache.arrays import Arrays
from activetest.cache.checked import CheckedArray, Manifest, announce_rebuild
from activetest.errors import CacheDamaged

FEATURES, TRAIN, EXTERNAL = "features", "train", "external"
_VERSION = 5


class Part:
    """A part as it is on the disk.

    arrays       by name
    origin       what it was built from, JSON-ready: equal as long as nobody touched that. Where it
                 was built from an auxiliary file it is {"pool": ..., "file": ...}
    fingerprint  hexadecimal: of the values it was built from
    notices      plain sentences about them
    """

    def __init__(self, folder: Path) -> None:
        """Raises CacheDamaged, or OSError, ValueError, KeyError or TypeError for no such part."""
        manifest = Manifest.read(folder, _VERSION)
        self.origin: Any = manifest.content["made_from"]
        self.fingerprint: str = manifest.content["fingerprint"]
        self.notices: tuple[str, ...] = tuple(manifest.content["said"])
        self.arrays: dict[str, CheckedArray] = manifest.open_arrays()


@dataclass
class Draft:
    """A part that is being written: its arrays, and what its manifest will state."""

    arrays: Arrays
    fingerprint: str = ""
    notices: list[str] = field(default_factory=list)


def open_part(folder: Path, origin: Any) -> Part | None:
    """The part in a folder, if it is complete and was built from this origin."""
    part = _read_undamaged_part(folder)
    return part if part and part.origin == origin else None


def open_copy(folder: Path, pool: Any, fingerprint: str | None) -> Part | None:
    """The part in a folder, if it is complete and has this fingerprint; its file is not read.

    pool  the "pool" half of its origin
    """
    part = _read_undamaged_part(folder)
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
        damage = found
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
            "arrays": draft.arrays.seal(),
        }
        Manifest.write(building, manifest)
    announce_rebuild(damage)


def _read_part(folder: Path) -> Part | None:
    """The part in a folder; None when it is missing or of another version. Raises CacheDamaged."""
    try:
        return Part(folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read_undamaged_part(folder: Path) -> Part | None:
    """The part in a folder; None when it is missing, damaged, or of another version."""
    try:
        return _read_part(folder)
    except CacheDamaged:
        return None
