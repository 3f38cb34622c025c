"""Auxiliary data of a study: attached to the cache, and checked for changes since it was set up.

Rounds rest on all features, on other models' outputs, and on what features and training rows say,
where their surrogates saw them: these surrogates predict again for statistics that the rounds did
not record, and must see the same values. Training rows themselves are only learned from.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from activetest.cache import auxiliary
from activetest.cache.cache import Cache
from activetest.cache.parts import EVIDENCE, EXTERNAL, FEATURES, TRAIN, TRAINED
from activetest.errors import PoolChanged, PoolError
from activetest.pool.pool import Pool
from activetest.study.frames import name_source
from activetest.system.safe_text import mask_secrets

# The key in study.toml of the address of each file.
FILES = {"train": TRAIN, "other_models": EXTERNAL}
# The key in study.toml of the fingerprint of each part, as init found it.
KEYS = {
    TRAIN: "train_fingerprint",
    EXTERNAL: "other_models_fingerprint",
    FEATURES: "features_fingerprint",
    EVIDENCE: "evidence_fingerprint",
    TRAINED: "trained_fingerprint",
}
_SEEN_BY_ROUNDS = (FEATURES, EXTERNAL, EVIDENCE, TRAINED)


def attach_auxiliary(
    cache: Cache,
    pool: Pool,
    entries: Mapping[str, Any],
    *,
    files: Mapping[str, str | None],
    changed: Iterable[str],
    past: set[str],
    coming: str,
) -> Cache:
    """The cache with the data that the coming surrogate uses, and past ones as far as available.

    entries  [pool] of study.toml
    files    {"train": address or None, "other_models": likewise}, that open from anywhere
    changed  those keys of files whose address is new: no copy of another file replaces them
    past     names of the surrogates that rounds were drawn with
    coming   name of the surrogate of coming rounds

    Raises PoolError for files that the coming surrogate cannot use, ChoiceError when it lacks data
    that it requires.
    """
    changed = set(changed)
    known = {
        part: entries.get(KEYS[part])
        for key, part in FILES.items()
        if key not in changed or not files[key]
    }
    known |= {part: entries.get(KEYS[part]) for part in (FEATURES, TRAINED)}
    try:
        cache = auxiliary.attach_auxiliary(
            cache,
            pool,
            {coming},
            train=files["train"],
            other_models=files["other_models"],
            past=past,
            fingerprints=known,
        )
    except PoolError as error:
        for key, address in files.items():
            if not address or key in changed:
                continue
            named = any(each in error.problem for each in (address, mask_secrets(address)))
            if named and _is_missing(address):
                hint = _hint_missing(key, coming, pool)
                raise PoolError(mask_secrets(error.problem), hint) from error
        raise
    return mark_unavailable(cache, entries, files=files, past=past)


def mark_unavailable(
    cache: Cache, entries: Mapping[str, Any], *, files: Mapping[str, str | None], past: set[str]
) -> Cache:
    """The cache, which then knows the past surrogates that cannot predict again."""
    unavailable = _find_unavailable(cache, entries, files, past)
    return cache.attach(cache.parts, unavailable) if unavailable else cache


def find_missing_part(cache: Cache, entries: Mapping[str, Any], *, coming: str) -> str | None:
    """The part that the coming surrogate sees and the cache lacks; None where it has all."""
    for part, key in KEYS.items():
        used = auxiliary.find_surrogates_using(part, {coming})
        if used and entries.get(key) and part not in cache.parts:
            return part
    return None


def check_unchanged(
    cache: Cache, entries: Mapping[str, Any], *, past: set[str], coming: str
) -> None:
    """Raises PoolChanged where the coming surrogate would see other values than past ones saw."""
    for part in _SEEN_BY_ROUNDS:
        before, now = entries.get(KEYS[part]), cache.part_fingerprint(part)
        users = auxiliary.find_surrogates_that_saw(part, past)
        if not users or not auxiliary.find_surrogates_using(part, {coming}):
            continue
        if now and before not in (None, now):
            raise PoolChanged(
                cache.unavailable[users[0]],
                "restore it, choose a `surrogate` that does not see it, or start another study: "
                "`Study.create(pool, folder)`",
            )


def choose_fingerprints(
    cache: Cache, entries: Mapping[str, Any], *, changed: Iterable[str], past: set[str]
) -> dict[str, str]:
    """The fingerprints for study.toml: those from before where past rounds rest on the values."""
    found = {}
    for part, key in KEYS.items():
        before, now = entries.get(key), cache.part_fingerprint(part)
        if part in _SEEN_BY_ROUNDS and auxiliary.find_surrogates_that_saw(part, past):
            value = before or now
        elif part == TRAIN and "train" not in changed:
            value = now or before
        else:
            value = now
        if value:
            found[key] = value
    return found


def describe_changes(
    cache: Cache, entries: Mapping[str, Any], files: Mapping[str, str | None]
) -> list[str]:
    """What has changed since the study was set up, in plain sentences."""
    notices = []
    trained_on = cache.part_fingerprint(TRAIN)
    if trained_on and entries.get(KEYS[TRAIN]) not in (None, trained_on):
        notices.append(
            f"The training rows in {entries['train']} have changed since the study was set "
            "up: rounds learn from them as they are when drawn."
        )
    for key, part in FILES.items():
        address = files.get(key)
        if address and part in cache.parts and _is_missing(address):
            notices.append(
                f"{name_source(entries[key])} cannot be opened any more: the copy that the study "
                "made of it is used."
            )
    return [*notices, *describe_unavailable(cache)]


def describe_unavailable(cache: Cache) -> tuple[str, ...]:
    """Which past rounds cannot be predicted again, in plain sentences."""
    return tuple(
        f"{why[0].upper()}{why[1:]}: of those rounds, only what they recorded is used."
        for why in cache.unavailable.values()
    )


def _find_unavailable(
    cache: Cache,
    entries: Mapping[str, Any],
    files: Mapping[str, str | None],
    past: set[str],
) -> dict[str, str]:
    """{surrogate: why} of past rounds whose surrogates cannot predict again."""
    others, train = files.get("other_models"), files.get("train")
    features = f"what the features say in {name_source(entries['uri'])}"
    data = {
        FEATURES: features,
        EVIDENCE: features,
        EXTERNAL: f"what other models say{f' in {mask_secrets(others)}' if others else ''}",
        TRAINED: f"what training rows say{f' in {mask_secrets(train)}' if train else ''}",
    }
    found = {}
    for part in _SEEN_BY_ROUNDS:
        before, now = entries.get(KEYS[part]), cache.part_fingerprint(part)
        state = "is not what it was" if now else "is not there as it was"
        for name in auxiliary.find_surrogates_that_saw(part, past):
            missing = not now and auxiliary.needs_other_models(name)
            if before not in (None, now) or missing:
                found[name] = f"{data[part]} {state} when rounds were drawn with surrogate {name!r}"
    return found


def _is_missing(address: str) -> bool:
    """Whether there is no file at an address."""
    from activetest.pool.files import Files

    try:
        Files(address).stamp()
    except PoolError:
        return True
    return False


def _hint_missing(key: str, coming: str, pool: Pool) -> str:
    """How to go on when a file is missing."""
    without = f"{key}=''"
    if key == "other_models" and auxiliary.needs_other_models(coming):
        regression = pool.schema.task == "regression"
        without = f"surrogate={'residual' if regression else 'agreement'!r}"
    return f"`study.change({key}=newpath)`, or `{without}` to go on without it"
