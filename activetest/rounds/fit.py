"""Fitting: the labels that a round knows, and the surrogate fitted to them."""

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from activetest import catalog
from activetest.errors import PoolChanged, StudyError
from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.choices import Choices, Refit
from activetest.nouns.log import LABELLED, Log, Round
from activetest.nouns.pool import PoolView, SeveralModels
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.nouns.training import TrainingSet
from activetest.rounds.weighted import find_counted, weigh_surrogate
from activetest.system import progress
from activetest.system.parallel import map_reduce, one_blas_thread

# Choices with another value of which a surrogate is fitted again.
OF_FITS = ("surrogate", "refit", "augment")
# Rows of the pool that stand in for training rows.
_BACKGROUND_ROWS = 1000
# Rows whose predicted classes are counted at once: no table of all classes is made of them.
_COUNTED = 65_536
_BACKUP = "restore the study from a backup: what it had learned is not what the round wrote"


def find_free_items(log: Log, size: int) -> Array:
    """(N,) True where an item was neither drawn nor supplied."""
    free = np.ones(size, bool)
    free[log.item_rows] = False
    return free


def find_drawable_items(log: Log, cache: PoolView) -> Array:
    """(N,) True where an item is free and has a weight above 0, where items have weights."""
    free, counted = find_free_items(log, cache.size), find_counted(cache)
    return free if counted is None else free & counted


def find_predicted_as(cache: PoolView, codes: Sequence[int] | None) -> Array:
    """(N,) True where an item is predicted as one of the classes; everywhere without codes."""
    if codes is None:
        return np.ones(cache.size, bool)

    def find() -> Array:
        pieces = [cache.rows(*each).outputs.pred for each in cache.chunks()]
        return np.concatenate([np.isin(pred, codes) for pred in pieces])

    return cache.compute_once(("predicted as", tuple(codes)), find)


def find_disagreeing(cache: PoolView, models: Sequence[str]) -> Array:
    """(N,) True where not all of these models predict the same; everywhere without models."""
    if not models:
        return np.ones(cache.size, bool)

    def find() -> Array:
        pieces = [cache.rows(*each).outputs.others for each in cache.chunks()]
        return np.concatenate([tell_apart(each, models) for each in pieces])

    return cache.compute_once(("disagreeing", tuple(models)), find)


def tell_apart(seen: Mapping[str, Outputs], models: Sequence[str]) -> Array:
    """(R,) True where not all of these models predict the same, by the outputs of each."""
    first, *others = (seen[name].pred for name in models)
    return np.asarray(np.any([each != first for each in others], axis=0))


def get_surrogate(log: Log, cache: PoolView, choices: Choices, *, seed: int) -> Surrogate:
    """The surrogate that the next round would have: fitted now, or an earlier one still in use."""
    number = len(log.history) + 1
    earlier = find_reusable_round(log, choices, cache.unavailable)
    if earlier:
        return restore_surrogate(earlier, cache)
    return fit_surrogate(log, cache, choices, rng=make_generator(seed, number, "fit"))


def get_surrogates(
    logs: Sequence[Log], cache: PoolView, choices: Choices, *, seeds: Sequence[int]
) -> list[Surrogate]:
    """Surrogates, as by get_surrogate, for each of several logs, whose studies have these seeds.

    Surrogates that can be are fitted together, which takes less time.
    """
    reused = any(find_reusable_round(log, choices, cache.unavailable) for log in logs)
    sets = [list_learned(log, choices) for log in logs]
    alone = reused or isinstance(cache, SeveralModels)
    number = min(len(log.history) for log in logs) + 1
    found = None if alone else _fit_together(choices, cache, sets, number)
    if found is None:
        pairs = zip(logs, seeds, strict=True)
        found = [get_surrogate(log, cache, choices, seed=seed) for log, seed in pairs]
    return found


def find_reusable_round(
    log: Log, choices: Choices, unavailable: Container[str] = ()
) -> Round | None:
    """The last round, where its surrogate is not due to be fitted again.

    A surrogate whose files are missing cannot be used again: see Cache.unavailable.
    """
    if choices.refit == Refit.EVERY or not log.history or choices.surrogate in unavailable:
        return None
    last = log.history[-1]
    then = Choices.from_record(last.choices)
    if any(getattr(then, name) != getattr(choices, name) for name in OF_FITS):
        return None
    return (
        None if is_refit_due(choices.refit, last.fit_labels, len(list_labelled(log)[0])) else last
    )


def is_refit_due(refit: str, then: int, now: int) -> bool:
    """Whether a surrogate fitted to `then` labels is due to be fitted again to `now`."""
    if refit in (Refit.EVERY, Refit.NEVER):
        return refit == Refit.EVERY
    return now >= (max(2 * then, 1) if refit == Refit.DOUBLING else then + int(refit))


def restore_surrogate(round: Round, cache: PoolView) -> Surrogate:
    """The surrogate of a round.

    Raises PoolChanged where a file that it rests on has changed, StudyError where it learned items
    that the pool does not have.
    """
    if isinstance(cache, SeveralModels):
        return cache.restore_surrogate(round)
    cache = cache.whole
    name = round.choices["surrogate"]
    if name in cache.unavailable:
        raise PoolChanged(
            cache.unavailable[name],
            'restore it; `study.report(interval="fixed")` needs only what the rounds recorded',
        )
    return weigh_surrogate(_restore_unweighted(round, cache), cache)


def _restore_unweighted(round: Round, cache: PoolView) -> Surrogate:
    """As restore_surrogate, for statistics without the weights of items."""
    name = round.choices["surrogate"]
    _check_packed(round, cache.size)
    method = catalog.load("surrogates", catalog.bare_name(name))
    try:
        surrogate: Surrogate = method.restore(round.params)
        attach = getattr(surrogate, "attach", None)
        surrogate = surrogate if attach is None else attach(cache)
        _try_out(surrogate, cache)
    except StudyError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise StudyError(
            f"the surrogate of round {round.number} cannot be restored: {error}", _BACKUP
        ) from error
    learned = getattr(surrogate, "augmented", None)
    if learned is not None and learned.max(initial=-1) >= cache.size:
        raise _explain_damage(round)
    return surrogate


def _try_out(surrogate: Surrogate, cache: PoolView) -> None:
    """Raises ValueError, or whatever NumPy does, where it cannot predict an item of this pool."""
    expected = surrogate.expected(cache.rows(0, 1), tuple(map(statistic, cache.statistics)))
    if not np.isfinite(expected).all():
        raise ValueError("what it predicts is no number")


def _check_packed(round: Round, size: int) -> None:
    """Raises StudyError for more packed items than a pool of this size has.

    A bit for an item becomes eight bytes: a crafted round would fill the memory.
    """
    try:
        packed = np.asarray(round.params.get("augmented", ()))
    except ValueError as error:
        raise _explain_damage(round) from error
    if packed.size > -(-size // 8):
        raise _explain_damage(round)
    # NumPy 1 would take the last eight bits of a larger number.
    if packed.size and not (packed.dtype.kind in "iu" and 0 <= packed.min() <= packed.max() < 256):
        raise _explain_damage(round)


def _explain_damage(round: Round) -> StudyError:
    return StudyError(
        f"the surrogate of round {round.number} learned items that this pool does not have", _BACKUP
    )


def list_known_before(log: Log, number: int) -> Array:
    """(K,) pool positions of everything that was drawn before a round, or supplied before it."""
    return np.concatenate(
        [log.rows[log.round < number], log.supplied_rows[log.supplied_round <= number]]
    )


def fit_surrogate(
    log: Log, cache: PoolView, choices: Choices, *, rng: np.random.Generator
) -> Surrogate:
    """The chosen surrogate, fitted to every label that is known, or to none: see list_learned."""
    if isinstance(cache, SeveralModels):
        return cache.fit_surrogate(log, choices, rng=rng)
    number = len(log.history) + 1
    known = _collect_training(*list_learned(log, choices), cache, choices, number)
    name, options = catalog.split_options("surrogates", choices.surrogate)
    method = catalog.load("surrogates", name)
    # It may have loaded a library of its own.
    with one_blas_thread(), progress.step("fitting the surrogate"):
        surrogate: Surrogate = method.fit(known, rng=rng, **options)
    return weigh_surrogate(surrogate, cache)


def fit_others(
    round: Round, cache: PoolView, sets: Sequence[tuple[Array, Array]]
) -> list[Surrogate]:
    """Surrogates like that of a round, each fitted to another set of positions and labels."""
    if isinstance(cache, SeveralModels):
        return list(cache.fit_others(round, sets))
    choices = Choices.from_record(round.choices)
    name, options = catalog.split_options("surrogates", choices.surrogate)
    with one_blas_thread(), progress.step("fitting the surrogate"):
        found = _fit_together(choices, cache, sets, round.number)
        if found is None:
            method = catalog.load("surrogates", name)
            rng = np.random.default_rng([round.number, *b"others"])
            known = (_collect_training(*each, cache, choices, round.number) for each in sets)
            fitted = [method.fit(each, rng=rng, **options) for each in known]
            found = [weigh_surrogate(each, cache) for each in fitted]
    return found


def _fit_together(
    choices: Choices, cache: PoolView, sets: Sequence[tuple[Array, Array]], number: int
) -> list[Surrogate] | None:
    """The chosen surrogate, fitted to each set of positions and labels at once; None: it cannot."""
    name, options = catalog.split_options("surrogates", choices.surrogate)
    together = getattr(catalog.load("surrogates", name), "fit_together", None)
    if together is None or options:
        return None
    positions, labels = map(np.concatenate, zip(*sets, strict=True))
    known = _collect_training(positions, labels, cache, choices, number)
    fitted = together(known, [len(each) for each, _ in sets])
    return [weigh_surrogate(each, cache) for each in fitted]


def _collect_training(
    positions: Array, labels: Array, cache: PoolView, choices: Choices, number: int
) -> TrainingSet:
    """The training set of items (M,) with these labels, and what the surrogate learns from.

    In the round of this number, models that came later have no vote.
    """
    rows = cache.take(positions)
    if rows.votes is not None:
        known = sum(each < number for each in cache.vote_rounds)
        rows = rows.change(votes=rows.votes[:, :known])
    # A few thousand predictions give their scale well enough for a prior.
    scale = (
        1.0
        if cache.classes
        else float(np.std(cache.rows(0, min(cache.size, 65536)).outputs.pred)) or 1.0
    )
    return TrainingSet(
        rows,
        labels,
        observe_statistics(rows, labels, tuple(map(statistic, cache.statistics))),
        cache.statistics,
        len(cache.classes),
        scale,
        shares=_count_verdicts(cache, rows),
        **_list_inputs(cache, choices),
    )


def _count_verdicts(cache: PoolView, rows: Rows) -> Array | None:
    """(C,) shares of the predicted classes, see TrainingSet; rows are any of the pool's."""
    if not cache.classes or rows.outputs.probs is not None:
        return None

    def count() -> Array:
        found = map_reduce(
            cache.chunks(_COUNTED),
            lambda piece: np.bincount(
                cache.rows(*piece).outputs.pred, minlength=len(cache.classes)
            ),
            np.add,
        )
        return (found + 1) / (cache.size + len(cache.classes))

    return cache.compute_once("shares of verdicts", count)


def _list_inputs(cache: PoolView, choices: Choices) -> dict[str, Any]:
    """{field of TrainingSet: value} of what else the chosen surrogate learns from."""

    def states(fact: str) -> bool:
        return bool(catalog.fact("surrogates", choices.surrogate, fact))

    if states("NEEDS_FEATURES"):
        places = np.linspace(0, cache.size - 1, min(_BACKGROUND_ROWS, cache.size))
        return {
            "background": cache.take(places.astype(int)),
            "train": cache.train,
            "augment": choices.augment,
            "pool": cache,
            "image": tuple(cache.roles.get("shape", ())),
        }
    return {"train": cache.train} if states("USES_EVIDENCE") else {}


def observe_statistics(rows: Rows, labels: Array, statistics: tuple[Statistic, ...]) -> Array:
    """(M, T) the statistics of items whose labels are known, without their weights."""
    if not len(labels):
        return np.empty((0, len(statistics)))
    outputs = rows.outputs.in_double
    return np.column_stack([each.value(outputs, labels[:, None])[:, 0] for each in statistics])


def list_labelled(log: Log) -> tuple[Array, Array]:
    """(M,) pool positions and labels of everything labelled, drawn items first."""
    labelled = log.item_status == LABELLED
    return log.item_rows[labelled], log.item_labels[labelled]


def list_learned(log: Log, choices: Choices) -> tuple[Array, Array]:
    """(M,) pool positions and labels of what a surrogate that is fitted now learns from.

    It is everything labelled, in other parts of the population, too; nothing where it is never to
    learn from labels.
    """
    positions, labels = list_labelled(log)
    if (other := log.elsewhere) is not None:
        positions = np.concatenate([positions, other.rows])
        labels = np.concatenate([labels, other.labels])
    kept = slice(0 if choices.refit == Refit.NEVER else None)
    return positions[kept], labels[kept]


def make_generator(seed: int, number: int, purpose: str) -> np.random.Generator:
    """The generator for one purpose in one round, spawned from the study's seed."""
    return np.random.default_rng([seed, number, *purpose.encode()])
