"""What surrogates see beside the pool's outputs, and what became of it since rounds rest on it.

Rounds rest on all features and on other models' outputs where their surrogates saw them: these are
asked again for what the rounds did not record, and must find what they found then. Training rows
are only learnt from.
"""

from collections.abc import Iterable, Mapping

from activetest.cache import auxiliary
from activetest.cache.cache import Cache
from activetest.cache.parts import EXTERNAL, FEATURES, TRAIN
from activetest.errors import PoolChanged, PoolError

FILES = {"train": TRAIN, "surrogates": EXTERNAL}
# Where study.toml keeps the fingerprint of what init found.
KEYS = {
    TRAIN: "train_fingerprint",
    EXTERNAL: "surrogates_fingerprint",
    FEATURES: "features_fingerprint",
}
_RESTED_ON = (FEATURES, EXTERNAL)


def attach_auxiliary(
    made: Cache,
    pool,
    entries: Mapping,
    *,
    beside: Mapping[str, str | None],
    renamed: Iterable[str],
    past: set[str],
    coming: str,
) -> Cache:
    """The cache with what the coming surrogate wants, and what past ones do as far as it is there.

    entries   [pool] of study.toml
    beside    {"train": address or None, "surrogates": likewise}, openable
    renamed   those of them that were given anew: no copy of another file stands in for them
    past      names of the surrogates that rounds were drawn with

    Raises PoolError for files that cannot serve the coming surrogate, ChoiceError when it lacks
    what it cannot do without.
    """
    renamed = set(renamed)
    known = {
        part: entries.get(KEYS[part])
        for key, part in FILES.items()
        if key not in renamed or not beside[key]
    }
    try:
        made = auxiliary.attach_auxiliary(made, pool, {coming}, past=past, known=known, **beside)
    except PoolError as error:
        for key, address in beside.items():
            if key not in renamed and address and address in error.problem and _gone(address):
                raise PoolError(error.problem, _without(key, coming, pool)) from error
        raise
    unavailable = _unavailable(made, entries, beside, past)
    return Cache(made.folder, made.parts, unavailable) if unavailable else made


def check(made: Cache, entries: Mapping, *, past: set[str], coming: str) -> None:
    """Raises PoolChanged where coming rounds would rest on other values than past ones do."""
    for part in _RESTED_ON:
        then, now = entries.get(KEYS[part]), made.source(part)
        used = auxiliary.seeing(part, past)
        if used and auxiliary.seeing(part, {coming}) and now and then not in (None, now):
            raise PoolChanged(
                made.unavailable[used[0]],
                "restore it, choose a --surrogate that does not see it, or start another study "
                "with --study DIR",
            )


def fingerprints(
    made: Cache, entries: Mapping, *, renamed: Iterable[str], past: set[str]
) -> dict[str, str]:
    """What study.toml is to keep: of what rounds rest on, what it was then."""
    found = {}
    for part, key in KEYS.items():
        then, now = entries.get(key), made.source(part)
        same = part == TRAIN and "train" not in renamed
        rested = part in _RESTED_ON and auxiliary.seeing(part, past)
        if value := (then or now) if rested else (now or then) if same else now:
            found[key] = value
    return found


def changes(made: Cache, entries: Mapping, beside: Mapping[str, str | None]) -> list[str]:
    """What is not as init found it, in plain sentences."""
    said = []
    if made.source(TRAIN) and entries.get(KEYS[TRAIN]) not in (None, made.source(TRAIN)):
        said.append(
            f"The training rows in {entries['train']} have changed since init: rounds learn from "
            "them as they are when drawn."
        )
    said += [
        f"{entries[key]} cannot be opened any more: the copy that the study made of it is used."
        for key, part in FILES.items()
        if beside.get(key) and part in made.parts and _gone(beside[key])
    ]
    return [*said, *lasting(made)]


def lasting(made: Cache) -> tuple[str, ...]:
    """What can never be predicted again as things are, in plain sentences."""
    return tuple(
        f"{why[0].upper()}{why[1:]}: of those rounds, only what they recorded is used."
        for why in made.unavailable.values()
    )


def _unavailable(made: Cache, entries: Mapping, beside: Mapping, past: set[str]) -> dict[str, str]:
    """{surrogate: why} of past rounds that cannot be asked again."""
    others = beside.get("surrogates")
    what = {
        FEATURES: f"what the features say in {entries['uri']}",
        EXTERNAL: f"what other models say{f' in {others}' if others else ''}",
    }
    found = {}
    for part in _RESTED_ON:
        then, now = entries.get(KEYS[part]), made.source(part)
        state = "is not what it was" if now else "is not there as it was"
        for name in auxiliary.seeing(part, past):
            if then not in (None, now) or (not now and auxiliary.needs_others(name)):
                found[name] = f"{what[part]} {state} when rounds were drawn with surrogate {name!r}"
    return found


def _gone(address: str) -> bool:
    from activetest.cache import tables

    try:
        tables.stamp(address)
    except PoolError:
        return True
    return False


def _without(key: str, coming: str, pool) -> str:
    """How to go on when a file is gone."""
    without = f"--{key} ''"
    if key == "surrogates" and auxiliary.needs_others(coming):
        regression = pool.schema.task == "regression"
        without = f"--surrogate {'residual' if regression else 'agreement'}"
    return f"activetest init POOL --{key} NEWPATH, or {without} to go on without it"
