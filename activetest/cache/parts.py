"""Parts of a cache that only some surrogates use: folders of arrays, written on demand.

So is what takes long to compute: results are arrays, kept with what they follow from.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from activetest import catalog
from activetest.cache.store import Store, StoreWriter, announce_rebuild, mark_damaged
from activetest.errors import CacheDamaged
from activetest.nouns.rows import Array
from activetest.system import atomic

PARTS = "features", "train", "external", "evidence", "trained", "votes"
FEATURES, TRAIN, EXTERNAL, EVIDENCE, TRAINED, VOTES = PARTS
# Votes about classes are kept as bytes, in units of 1 / VOTE from 0 at NO_VOTE.
VOTE, NO_VOTE = 64, 128
# Beside the columns of evidence; and beside training rows, how many letters of texts are read.
FACTS, LONGEST = "facts", "longest"
# The facts by which the file of a surrogate states that it uses a part, and those by which it does
# where there is one.
_USES = {
    FEATURES: ("NEEDS_FEATURES",),
    TRAIN: ("NEEDS_FEATURES", "USES_EVIDENCE"),
    EXTERNAL: ("USES_OTHER_MODELS",),
    EVIDENCE: ("USES_EVIDENCE",),
    TRAINED: ("USES_EVIDENCE",),
    VOTES: ("COUNTS_VOTES",),
}
PART_VERSION = 7
RESULTS = "results"
# Bytes of zeros written at once.
_ZEROS = 2**20


def find_surrogates_using(part: str, names: Iterable[str]) -> list[str]:
    """Those of the surrogates of these names whose beliefs rest on a part of the cache."""
    return sorted(
        name
        for name in names
        if any(catalog.fact("surrogates", name, fact) for fact in _USES[part])
    )


class Part(Store):
    """A part as it is on the disk.

    origin       what it was built from, JSON-ready: equal as long as nobody touched that. Where it
                 was built from an auxiliary file it is {"pool": ..., "file": ...}
    fingerprint  hexadecimal: of the values it was built from
    notices      plain sentences about them
    """

    def __init__(self, folder: Path, content: dict[str, Any], text: str = "") -> None:
        """Raises KeyError or TypeError for no such part."""
        super().__init__(folder, content, text)
        self.origin: Any = content["made_from"]
        self.fingerprint: str = content["fingerprint"]
        self.notices: tuple[str, ...] = tuple(content["said"])

    @staticmethod
    def open(folder: Path) -> "Part":
        """The part in a folder.

        Raises CacheDamaged, or OSError, ValueError, KeyError or TypeError for no such part.
        """
        return Part.read_manifest(folder, PART_VERSION).open_files()


class Draft(StoreWriter):
    """A part that is being written to a folder, and what its manifest will state."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.fingerprint = ""
        self.notices: list[str] = []

    def put_items(self, rows: Sequence[int], arrays: dict[str, Array]) -> None:
        """Write arrays of all items; the pieces of the pool have so many rows. Raises OSError."""
        for name, values in arrays.items():
            self.put(name, values, [*accumulate(rows)])

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


def find_part(folder: Path) -> Part | None:
    """The part in a folder; None when it is missing, damaged, or of another version."""
    with suppress(CacheDamaged, OSError, ValueError, KeyError, TypeError):
        return Part.open(folder)
    return None


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
        Part.open(folder)
    except CacheDamaged as found:
        damage = found.problem
    except (OSError, ValueError, KeyError, TypeError):
        pass
    with atomic.replacing_folder(folder) as building, closing(Draft(building)) as draft:
        yield draft
        about = {"fingerprint": draft.fingerprint, "said": draft.notices}
        draft.finish({"version": PART_VERSION, "made_from": origin, **about})
    announce_rebuild(damage)


def keep_result(
    folder: Path, name: str, origin: Any, compute: Callable[[], Mapping[str, Array]]
) -> dict[str, Array]:
    """The arrays that compute() returned for this origin, in this process or an earlier one.

    folder   of the cache
    name     of the result: there is one at a time, the last
    origin   what the arrays follow from, JSON-ready

    A result that is not as it was written is computed again, and the user is told. Where the folder
    cannot be written nothing is kept.
    """
    place = folder / RESULTS / name
    try:
        if part := open_part(place, origin):
            return {key: part.read(key).copy() for key in part.arrays}
    except CacheDamaged as damage:
        with suppress(CacheDamaged):
            mark_damaged(damage)
    computed = dict(compute())
    # It saves time alone.
    with suppress(OSError):
        place.parent.mkdir(exist_ok=True)
        with drafting_part(place, origin) as draft:
            for key, values in computed.items():
                draft.put(key, values)
    return computed


def list_results(folder: Path) -> list[str]:
    """The folders of the results in a cache, relative to it."""
    found = sorted((folder / RESULTS).glob("*/")) if (folder / RESULTS).is_dir() else []
    return [f"{RESULTS}/{each.name}" for each in found]
