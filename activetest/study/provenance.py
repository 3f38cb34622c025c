"""Auxiliary data of a study: attached to the cache, and checked for changes since it was set up.

Rounds rest on all features, on other models' outputs, and on what features and training rows say,
where their surrogates saw them: these surrogates predict again for statistics that the rounds did
not record, and must see the same values. Training rows themselves are only learned from.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from activetest.cache import auxiliary
from activetest.cache.cache import Cache
from activetest.cache.parts import (
    EVIDENCE,
    EXTERNAL,
    FEATURES,
    TRAIN,
    TRAINED,
    find_surrogates_using,
)
from activetest.cache.votes import FurtherModel
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


@dataclass(frozen=True)
class Provenance:
    """Where the auxiliary data of a study come from, and whose surrogates see them.

    entries  [pool] of study.toml; of a study to come, empty
    files    {"train": address or None, "other_models": likewise}, that open from anywhere
    coming   name of the surrogate of coming rounds
    past     names of the surrogates that rounds were drawn with
    changed  those keys of files whose address is new: no copy of another file replaces them
    further   the further models of the study
    """

    entries: Mapping[str, Any]
    files: Mapping[str, str | None]
    coming: str
    past: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    further: tuple[FurtherModel, ...] = ()

    def attach(self, cache: Cache, pool: Pool) -> Cache:
        """The cache with what the coming surrogate uses, and past ones as far as available.

        Raises PoolError for files that the coming surrogate cannot use, ChoiceError when it lacks
        data that it requires.
        """
        files, known = self.files, {part: self.entries.get(KEYS[part]) for part in KEYS}
        for key, part in FILES.items():
            if key in self.changed and files[key]:
                del known[part]
        try:
            cache = auxiliary.attach_auxiliary(
                cache,
                pool,
                {self.coming},
                train=files["train"],
                other_models=files["other_models"],
                past=self.past,
                fingerprints=known,
                further=self.further,
            )
        except PoolError as error:
            for key, address in files.items():
                if not address or key in self.changed:
                    continue
                named = any(each in error.problem for each in (address, mask_secrets(address)))
                if named and _is_missing(address):
                    hint = _hint_missing(key, self.coming, pool)
                    raise PoolError(mask_secrets(error.problem), hint) from error
            raise
        return self.mark_unavailable(cache)

    def mark_unavailable(self, cache: Cache) -> Cache:
        """The cache, which then knows the past surrogates that cannot predict again."""
        unavailable = dict(self._list_unavailable(cache))
        return cache.attach(cache.parts, unavailable) if unavailable else cache

    def find_missing_part(self, cache: Cache) -> str | None:
        """The part that the coming surrogate sees and the cache lacks; None where it has all."""
        for part, key in KEYS.items():
            used = find_surrogates_using(part, {self.coming})
            if used and self.entries.get(key) and part not in cache.parts:
                return part
        return None

    def check_unchanged(self, cache: Cache) -> None:
        """Raises PoolChanged where the coming surrogate would see other values than past ones."""
        for part, users, before, now in self._list_seen(cache):
            if not users or not find_surrogates_using(part, {self.coming}):
                continue
            if now and before not in (None, now):
                raise PoolChanged(
                    cache.unavailable[users[0]],
                    "restore it, choose a `surrogate` that does not see it, or start another "
                    "study: `Study.create(pool, folder)`",
                )

    def choose_fingerprints(self, cache: Cache) -> dict[str, str]:
        """The fingerprints for study.toml: those from before where past rounds rest on them."""
        found = {key: cache.part_fingerprint(part) for part, key in KEYS.items()}
        if "train" not in self.changed:
            found[KEYS[TRAIN]] = found[KEYS[TRAIN]] or self.entries.get(KEYS[TRAIN])
        for part, users, before, now in self._list_seen(cache):
            if users:
                found[KEYS[part]] = before or now
        return {key: value for key, value in found.items() if value}

    def describe_changes(self, cache: Cache) -> list[str]:
        """Changes since the study was set up, in plain sentences."""
        entries, notices = self.entries, []
        trained_on = cache.part_fingerprint(TRAIN)
        if trained_on and entries.get(KEYS[TRAIN]) not in (None, trained_on):
            notices.append(
                f"The training rows in {entries['train']} have changed since the study was set "
                "up: rounds learn from them as they are when drawn."
            )
        for key, part in FILES.items():
            address = self.files.get(key)
            if address and part in cache.parts and _is_missing(address):
                notices.append(
                    f"{name_source(entries[key])} cannot be opened any more: the copy that the "
                    "study made of it is used."
                )
        return [*notices, *describe_unavailable(cache)]

    def _list_seen(self, cache: Cache) -> Iterator[tuple[str, list[str], str | None, str | None]]:
        """(part, past surrogates that saw it, its fingerprint before and now)."""
        for part in _SEEN_BY_ROUNDS:
            users = auxiliary.find_surrogates_that_saw(part, self.past)
            yield part, users, self.entries.get(KEYS[part]), cache.part_fingerprint(part)

    def _list_unavailable(self, cache: Cache) -> Iterator[tuple[str, str]]:
        """(surrogate, why) of past rounds whose surrogates cannot predict again."""
        for part, users, before, now in self._list_seen(cache):
            state = "is not what it was" if now else "is not there as it was"
            for name in users:
                missing = not now and auxiliary.needs_other_models(name)
                if before not in (None, now) or missing:
                    what = self._describe_part(part)
                    yield name, f"{what} {state} when rounds were drawn with surrogate {name!r}"

    def _describe_part(self, part: str) -> str:
        """Contents of a part, and the file they are from."""
        if part in (FEATURES, EVIDENCE):
            return f"what the features say in {name_source(self.entries['uri'])}"
        key, words = {
            EXTERNAL: ("other_models", "what other models say"),
            TRAINED: ("train", "what training rows say"),
        }[part]
        address = self.files.get(key)
        return f"{words} in {mask_secrets(address)}" if address else words


def describe_unavailable(cache: Cache) -> tuple[str, ...]:
    """Past rounds that cannot be predicted again, in plain sentences."""
    return tuple(
        f"{why[0].upper()}{why[1:]}: of those rounds, only what they recorded is used."
        for why in cache.unavailable.values()
    )


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
