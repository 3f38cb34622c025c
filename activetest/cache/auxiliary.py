"""What some surrogates want besides the cache: all features, training rows, other models' outputs.

They are parts of the cache, made when they are first wanted, and made again when the pool or the
file they come from has changed. What makes them is imported then: most studies want nothing.
"""

from collections.abc import Iterable, Mapping

from activetest import catalog
from activetest.cache.cache import Cache
from activetest.cache.parts import EXTERNAL, FEATURES, TRAIN
from activetest.errors import ChoiceError, PoolError

# What the file of a surrogate states that reads a part.
_USES = {FEATURES: "NEEDS_FEATURES", EXTERNAL: "USES_OTHER_MODELS"}


def attach_auxiliary(
    cache: Cache,
    pool,
    names: Iterable[str],
    *,
    train: str | None = None,
    surrogates: str | None = None,
    past: Iterable[str] = (),
    known: Mapping[str, str | None] | None = None,
) -> Cache:
    """The cache with what surrogates of these names want; the same cache where they want nothing.

    train       file of rows with the pool's features and a label, or None
    surrogates  file of other models' outputs by id; None: columns of the pool, where it has any
    past        names of surrogates that only predict again: they learn from no file, and what other
                models say is missing where it cannot be had any more
    known       {part: fingerprint} of what is remembered of files: a copy with it serves where the
                file cannot be opened, and for past surrogates without looking at the file

    Workers open the result again with open(cache.folder, cache.parts). Raises PoolError for a file
    that cannot serve, ChoiceError when a surrogate lacks what it cannot do without, OSError when
    the cache's folder cannot be written.
    """
    names, past, known, parts = set(names), set(past), known or {}, []
    if seeing(FEATURES, names | past):
        from activetest.cache import features
        from activetest.cache import training_rows as training

        scaled = features.ensure(cache, pool)
        parts.append(FEATURES)
        if train is not None and seeing(FEATURES, names):
            training.ensure(cache, pool, scaled, train, known=known.get(TRAIN))
            parts.append(TRAIN)
    if seeing(EXTERNAL, names):
        from activetest.cache import other_models as external

        if external.ensure(cache, pool, surrogates, known=known.get(EXTERNAL)):
            parts.append(EXTERNAL)
        elif any(map(needs_others, names)):
            raise ChoiceError(
                "surrogate 'external' needs what other models say, and the pool has no columns "
                f"{'surrogate_pred_*' if pool.schema.task == 'regression' else 'surrogate_prob_*'}",
                "give a file of them with --surrogates, or choose another surrogate",
            )
    elif seeing(EXTERNAL, past) and _remembered(cache, pool, surrogates, known.get(EXTERNAL)):
        parts.append(EXTERNAL)
    return Cache(cache.folder, parts) if parts else cache


def inspected(cache: Cache, pool, *, train: str | None, surrogates: str | None) -> tuple[str, ...]:
    """Checks files that were named and that the surrogates so far do not read, and says so.

    Raises as equip does.
    """
    said = []
    if train and TRAIN not in cache.parts:
        from activetest.cache import training_rows as training

        training.check(pool, train)
        said.append(f"{train} waits for a surrogate that learns from it: {_listed(FEATURES)}")
    if surrogates and EXTERNAL not in cache.parts:
        from activetest.cache import other_models as external

        external.ensure(cache, pool, surrogates)
        said.append(f"{surrogates} waits for a surrogate that sees it: {_listed(EXTERNAL)}")
    return tuple(said)


def needs_others(name: str) -> bool:
    """Whether a surrogate is nothing without other models."""
    return bool(catalog.fact("surrogates", name, "NEEDS_OTHER_MODELS"))


def seeing(part: str, names: Iterable[str]) -> list[str]:
    """Those of the surrogates of these names whose beliefs rest on a part: features or external."""
    return sorted(name for name in names if catalog.fact("surrogates", name, _USES[part]))


def _listed(part: str) -> str:
    return ", ".join(catalog.having("surrogates", _USES[part]))


def _remembered(cache: Cache, pool, surrogates: str | None, known: str | None) -> bool:
    """Whether what other models said can be had: from the copy, or from its source."""
    from activetest.cache import other_models as external

    try:
        return bool(external.copy(cache, pool, known) or external.ensure(cache, pool, surrogates))
    except PoolError:
        return False
