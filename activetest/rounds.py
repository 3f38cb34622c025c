"""From a log to the next draws: learn from the labels, score what is left, race.

`next` and `simulate` both call plan.
"""

from dataclasses import asdict, dataclass, replace

import numpy as np

from activetest import catalog, sampling
from activetest.errors import ChoiceError, NotEstimable
from activetest.evidence import LABELLED, Array, Beliefs, Choices, Known, Log, Round, Rows
from activetest.expectation import moments
from activetest.metrics._losses import loss
from activetest.passes import map_reduce


@dataclass(frozen=True)
class Frozen:
    """The scores of one round, before anything is drawn from them.

    number       of the round
    params       of the surrogate
    mean, variance   (T, N) its expectation and variance of each statistic
    free         (N,) True where an item can be drawn
    strength     (N,) probability of the first draw
    """

    number: int
    params: dict
    mean: Array
    variance: Array
    free: Array
    strength: Array


def plan(log: Log, cache, choices: Choices, *, seed: int, count: int) -> Round:
    """The next round: up to count draws, their probabilities, and the sums estimates will need.

    Deterministic in (log, pool, choices, seed, count). Raises NotEstimable when nothing is left to
    draw.
    """
    frozen = freeze(log, cache, choices, seed=seed)
    drawn = sampling.race(cache.hashes, frozen.strength, count, seed=seed, stream=frozen.number)
    return record(frozen, drawn, cache, choices)


def freeze(log: Log, cache, choices: Choices, *, seed: int) -> Frozen:
    """What the labels so far say about every row.

    Raises NotEstimable when nothing is left, and ChoiceError when the scores alone, without a
    floor, would never draw some of it: no estimate could be unbiased then.
    """
    number = len(log.history) + 1
    free = unseen(log, cache.size)
    if not free.any():
        raise NotEstimable("every item of the pool is drawn or labelled", hint="activetest report")
    surrogate = learn(log, cache, choices, rng=generator(seed, number, "fit"))
    scores, mean, variance = _score(cache, surrogate, choices, rng=generator(seed, number, "score"))
    strength = sampling.strengths(scores, free, choices.floor)
    if never := np.count_nonzero(free & (strength == 0)):
        raise ChoiceError(
            f"with floor 0, {never} items could never be drawn: their score is zero",
            hint="activetest init POOL --floor 0.05",
        )
    return Frozen(number, surrogate.params(), mean, variance, free, strength)


def record(frozen: Frozen, drawn: Array, cache, choices: Choices) -> Round:
    """The round in which the rows `drawn` came in this order."""
    imputed_sum, members, doubt = _sums(cache, frozen)
    return Round(
        number=frozen.number,
        rows=drawn,
        probs=sampling.probabilities(frozen.strength, drawn),
        choices=asdict(choices),
        params=frozen.params,
        statistics=cache.statistics,
        groups=group_names(cache),
        imputed=frozen.mean[:, drawn].T.astype(float),
        imputed_sum=imputed_sum,
        count=members,
        doubt=doubt,
    )


def unseen(log: Log, size: int) -> Array:
    """(N,) True where an item was neither drawn nor brought."""
    free = np.ones(size, bool)
    free[log.rows] = False
    free[log.brought_rows] = False
    return free


def learn(log: Log, cache, choices: Choices, *, rng: np.random.Generator):
    """The chosen surrogate, fitted to every label that is known."""
    drawn, brought = log.status == LABELLED, log.brought_status == LABELLED
    rows = cache.take(np.concatenate([log.rows[drawn], log.brought_rows[brought]]))
    labels = np.concatenate([log.labels[drawn], log.brought_labels[brought]])
    # A few thousand predictions give their scale well enough for a prior.
    scale = (
        1.0
        if cache.classes
        else float(np.std(cache.rows(0, min(cache.size, 65536)).outputs.pred)) or 1.0
    )
    known = Known(
        rows,
        labels,
        observed(rows, labels, cache.statistics),
        cache.statistics,
        len(cache.classes),
        scale,
    )
    return catalog.load("surrogates", choices.surrogate).fit(known, rng=rng)


def observed(rows: Rows, labels: Array, statistics: tuple[str, ...]) -> Array:
    """(M, T) the statistics of items whose labels are known."""
    if not len(labels):
        return np.empty((0, len(statistics)))
    outputs = rows.outputs
    if outputs.probs is not None:
        # Kept in single precision for the whole pool, but a few labels deserve double.
        outputs = replace(outputs, probs=outputs.probs.astype(float))
    return np.column_stack([loss(name)(outputs, labels[:, None])[:, 0] for name in statistics])


def generator(seed: int, number: int, purpose: str) -> np.random.Generator:
    """The generator for one purpose in one round, spawned from the study's seed."""
    return np.random.default_rng([seed, number, *purpose.encode()])


def group_names(cache) -> tuple[str, ...]:
    """(G,) "" for the whole pool, then "column=value" for every value of every group column."""
    named = (
        f"{column}={value}"
        for column, values in zip(cache.group_names, cache.group_values, strict=True)
        for value in values
    )
    return ("", *named)


def _score(cache, surrogate, choices: Choices, *, rng) -> tuple[Array, Array, Array]:
    """(N,) scores, (T, N) expectations and (T, N) variances, in one pass over the pool."""
    acquisition = catalog.load("acquisition", choices.acquisition)
    aims = [
        cache.statistics.index(name)
        for name in catalog.load("metrics", choices.metric).metric().statistics
    ]

    def on_piece(piece):
        beliefs = surrogate.beliefs(cache.rows(*piece))
        aimed = Beliefs(
            beliefs.probs,
            beliefs.stakes[aims],
            None if beliefs.noise is None else beliefs.noise[aims],
            beliefs.draws,
        )
        return [(acquisition.score(aimed, rng), *moments(beliefs))]

    scored = map_reduce(cache.chunks(), on_piece, lambda one, more: one + more)
    return tuple(np.concatenate(parts, axis=-1) for parts in zip(*scored, strict=True))


def _sums(cache, frozen: Frozen) -> tuple[Array, Array, Array]:
    """imputed_sum (G, T), count (G,) and doubt (G, T, 4) of a Round."""
    statistics = len(frozen.mean)

    def on_piece(piece):
        start, stop = piece
        here = frozen.free[start:stop]
        doubt = np.where(here, 1 / np.where(here, frozen.strength[start:stop], 1.0) - 1, 0.0)
        g, v = (
            frozen.mean[:, start:stop].astype(float),
            frozen.variance[:, start:stop].astype(float),
        )
        terms = np.concatenate([g * here, doubt * v, doubt * g**2, doubt * g, [doubt, here]])
        return _by_group(cache, terms, start, stop)

    sums = map_reduce(cache.chunks(), on_piece, np.add)
    doubt = sums[:, statistics : 4 * statistics].reshape(-1, 3, statistics)
    constant = np.broadcast_to(sums[:, None, None, -2], (len(sums), 1, statistics))
    doubt = np.concatenate([doubt, constant], axis=1).transpose(0, 2, 1)
    return sums[:, :statistics], np.rint(sums[:, -1]).astype(np.int64), doubt


def _by_group(cache, terms: Array, start: int, stop: int) -> Array:
    """(G, number of terms) sums of (terms, R) over the whole chunk and over every group in it."""
    sums = [terms.sum(axis=1)[None]]
    if cache.group_names:
        codes = cache.rows(start, stop).codes
        for column, values in enumerate(cache.group_values):
            by_value = [
                np.bincount(codes[:, column], term, minlength=len(values)) for term in terms
            ]
            sums.append(np.stack(by_value, axis=1))
    return np.concatenate(sums)
