"""Auxiliary data that some surrogates use: all features, training rows, other models' outputs.

They are parts of the cache, built when they are first needed, and built again when the pool or the
file they come from has changed. The code that builds them is imported only then: most studies need
none of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from activetest import catalog
from activetest.cache.cache import Cache
from activetest.cache.parts import (
    EVIDENCE,
    EXTERNAL,
    FEATURES,
    TRAIN,
    TRAINED,
    VOTES,
    find_surrogates_using,
)
from activetest.errors import ChoiceError, PoolError
from activetest.pool.pool import Pool

if TYPE_CHECKING:
    from activetest.cache.votes import FurtherModel

# The fact by which a surrogate states that it saw all features in rounds of earlier versions.
_SAW_FEATURES = "SAW_FEATURES"


def attach_auxiliary(
    cache: Cache,
    pool: Pool,
    names: Iterable[str],
    *,
    train: str | None = None,
    other_models: str | None = None,
    past: Iterable[str] = (),
    fingerprints: Mapping[str, str | None] | None = None,
    further: Sequence["FurtherModel"] = (),
) -> Cache:
    """The cache with the data that these surrogates use; the same cache where they use none.

    names         of the surrogates
    train         file of rows with the pool's features and a label, or None
    other_models  file of other models' outputs by id; None: columns of the pool, where it has any
    past          names of surrogates that only predict again: they learn from no file, and outputs
                  of other models are left out where they are no longer available
    fingerprints  {part: fingerprint} that a study remembers: a copy with it is used where the file
                  cannot be opened, and for past surrogates without reading the file
    further        further models of the study

    Workers open the result again with open_cache(cache.folder, cache.parts). Raises PoolError for a
    file that cannot be used, ChoiceError when a surrogate lacks data that it requires, OSError when
    the cache's folder cannot be written.
    """
    names, past, parts = set(names), set(past), []
    fingerprints = fingerprints or {}
    saw = fingerprints.get(FEATURES) and find_surrogates_that_saw(FEATURES, past)
    if find_surrogates_using(FEATURES, names | past) or saw:
        from activetest.cache import features

        features.ensure_features(cache, pool)
        parts.append(FEATURES)
    if train is not None and _learns_from_rows(names, pool):
        from activetest.cache import features, trained, training_rows

        units, fingerprint = features.ensure_features(cache, pool), fingerprints.get(TRAIN)
        rows = training_rows.ensure_training_rows(
            cache, pool, units, train, fingerprint=fingerprint
        )
        parts.append(TRAIN)
        if find_surrogates_using(TRAINED, names):
            trained.ensure_trained(cache, pool, rows)
            parts.insert(0, TRAINED)
    elif find_surrogates_that_saw(TRAINED, past) and fingerprints.get(TRAINED):
        from activetest.cache import trained

        if trained.open_trained(cache, pool, fingerprints[TRAINED]):
            parts.insert(0, TRAINED)
    listening = find_surrogates_using(EVIDENCE, names | past)
    if listening and pool.schema.classes and (pool.schema.features or pool.schema.texts):
        from activetest.cache import evidence

        evidence.ensure_evidence(cache, pool)
        # First: it is small, and a summary may have no room for all features.
        parts.insert(0, EVIDENCE)
    fingerprint = fingerprints.get(EXTERNAL)
    if find_surrogates_using(EXTERNAL, names):
        from activetest.cache import other_models as others

        if others.ensure_other_models(cache, pool, other_models, fingerprint=fingerprint):
            parts.append(EXTERNAL)
        elif any(map(needs_other_models, names)):
            raise ChoiceError(
                "surrogate 'external' needs what other models say, and the pool has no columns "
                f"{'surrogate_pred_*' if pool.schema.task == 'regression' else 'surrogate_prob_*'}",
                "give a file of them with `other_models`, or choose another surrogate",
            )
    elif find_surrogates_using(EXTERNAL, past) and _can_open_other_models(
        cache, pool, other_models, fingerprint
    ):
        parts.append(EXTERNAL)
    if further and find_surrogates_using(VOTES, names | past):
        from activetest.cache.votes import ensure_votes

        ensure_votes(cache, further)
        parts.insert(0, VOTES)
    return cache.attach(parts) if parts else cache


def check_unused_files(
    cache: Cache, pool: Pool, *, train: str | None, other_models: str | None
) -> tuple[str, ...]:
    """Check auxiliary files that the surrogates so far do not use; a sentence about each.

    Raises as attach_auxiliary does.
    """
    notices = []
    if train and TRAIN not in cache.parts:
        from activetest.cache import training_rows

        training_rows.check_training_rows(pool, train)
        users = _list_surrogates_using(TRAIN)
        notices.append(f"{train} waits for a surrogate that learns from it: {users}")
    if other_models and EXTERNAL not in cache.parts:
        from activetest.cache import other_models as others

        others.ensure_other_models(cache, pool, other_models)
        users = _list_surrogates_using(EXTERNAL)
        notices.append(f"{other_models} waits for a surrogate that sees it: {users}")
    return tuple(notices)


def needs_other_models(name: str) -> bool:
    """Whether a surrogate cannot do without outputs of other models."""
    return bool(catalog.fact("surrogates", name, "NEEDS_OTHER_MODELS"))


def find_surrogates_that_saw(part: str, past: Iterable[str]) -> list[str]:
    """The same, also those that rested on it in rounds of earlier versions."""
    past = set(past)
    saw = part == FEATURES
    earlier = {name for name in past if saw and catalog.fact("surrogates", name, _SAW_FEATURES)}
    return sorted(earlier.union(find_surrogates_using(part, past)))


def _learns_from_rows(names: Iterable[str], pool: Pool) -> bool:
    """Whether a surrogate of coming rounds learns from training rows."""
    names = set(names)
    if find_surrogates_using(FEATURES, names):
        return True
    listens = find_surrogates_using(TRAINED, names)
    return bool(listens and (pool.schema.features or pool.schema.texts))


def _list_surrogates_using(part: str) -> str:
    """The names of all surrogates that use a part."""
    return ", ".join(find_surrogates_using(part, catalog.names("surrogates")))


def _can_open_other_models(
    cache: Cache, pool: Pool, source: str | None, fingerprint: str | None
) -> bool:
    """Whether outputs of other models are available: from the copy in the cache, or the source."""
    from activetest.cache import other_models as others

    if others.open_copy_in(cache, pool, fingerprint):
        return True
    try:
        return others.ensure_other_models(cache, pool, source) is not None
    except PoolError:
        return False
