"""A study whose pool is not at hand: what it keeps of it, and what a report from that says."""

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from activetest.cache.cache import Cache, open_cache
from activetest.cache.parts import EVIDENCE, EXTERNAL, FEATURES, TRAIN, TRAINED
from activetest.cache.summary import MOST_BYTES, keep_summary, read_summary, unpack_summary
from activetest.errors import CacheDamaged, PoolError, StudyError
from activetest.study.folder import CACHE, SUMMARY

if TYPE_CHECKING:
    from activetest.study.stored import StoredStudy

# Descriptions of what a surrogate sees of each part.
_WORDS = {
    EVIDENCE: "what features say of the model's answers",
    FEATURES: "all features of the items",
    TRAIN: "training rows",
    TRAINED: "what training rows say of the items",
    EXTERNAL: "what other models say",
}


def keep(cache: Cache, folder: Path) -> None:
    """Keep the summary of a study's pool, unless it is there. Raises OSError."""
    # A damaged cache is built again by whoever reads it, and kept by the next command.
    with contextlib.suppress(CacheDamaged):
        now = datetime.now(UTC).isoformat(timespec="seconds")
        keep_summary(cache, folder / SUMMARY, date=now)


def recall(study: "StoredStudy", place: Path) -> tuple[Cache, str]:
    """The cache of a pool that is not at hand, and what to say about it.

    place  an empty folder, or one that is not there, for the cache that the summary becomes

    Raises PoolError where the study keeps nothing of it, StudyError where that is damaged, or less
    than the study's surrogate sees.
    """
    ledger, path = study.ledger, study.folder / SUMMARY
    try:
        date = read_summary(path).date
        place.mkdir(parents=True, exist_ok=True)
        cache = unpack_summary(path, place, rows=ledger.rows, fingerprint=ledger.fingerprint)
    except FileNotFoundError:
        found = _find_cache(study)
        if found is None:
            raise _explain(study) from None
        cache, date = found
    provenance, coming = study.provenance(), study.choices.surrogate
    if missing := provenance.find_missing_part(cache):
        raise StudyError(
            f"surrogate {coming!r} sees {_WORDS[missing]}, which are too much to be kept without "
            f"the pool: a summary has at most {MOST_BYTES} bytes per item",
            "report where the pool is",
        )
    return provenance.mark_unavailable(cache), (
        "The pool is not at hand: numbers rest on the ledger and on what the study kept of the "
        f"pool on {date[:10]}. Texts of items, and columns that are no groups, are left out."
    )


def _find_cache(study: "StoredStudy") -> tuple[Cache, str] | None:
    """The study's cache as it is, where it is of the right pool, and when it was built."""
    folder = study.folder / CACHE
    parts = [part for part in _WORDS if (folder / part).is_dir()]
    cache = open_cache(folder, parts) or open_cache(folder)
    if cache is None or cache.fingerprint != study.ledger.fingerprint:
        return None
    changed = (folder / "manifest.json").stat().st_mtime
    return cache, datetime.fromtimestamp(changed, UTC).isoformat(timespec="seconds")


def _explain(study: "StoredStudy") -> PoolError:
    """Why there is no report."""
    try:
        study.check_pool_is_there()
    except PoolError as error:
        kept = "and the study keeps no summary of it, as one has only after a command that read it"
        return PoolError(f"{error.problem}, {kept}", error.hint)
    return PoolError(
        f"the pool {study.pool_name} does not answer, and the study keeps no summary of it",
        "check the address and the network, and run a command where the pool can be read",
    )
