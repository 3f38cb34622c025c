"""What takes long to compute, kept in the cache: arrays, and what they follow from."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from activetest.cache.parts import drafting_part, open_part
from activetest.cache.store import mark_damaged
from activetest.errors import CacheDamaged
from activetest.nouns.rows import Array

RESULTS = "results"


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
