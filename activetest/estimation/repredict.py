"""Predictions of past rounds, for statistics or groups that they did not record.

Any prediction made before a draw serves that draw, also one of an older surrogate: so those of
rounds 1, 2, 4, 8, ... predict, each for all rounds until the next, in one pass over the pool.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from activetest.item_statistics.statistic import Statistic
from activetest.nouns.log import Log, Round
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.parallel import map_reduce
from activetest.rounds.fit import list_known_before, restore_surrogate
from activetest.rounds.group_sums import list_group_names, sum_by_group


def repredict(log: Log, cache: PoolView, statistics: tuple[Statistic, ...]) -> Log:
    """The log with predictions of every round for all these statistics and every group.

    Rounds that recorded them for all groups stay as they are, and so do those of older versions and
    those whose items were deterministic, for estimates need nothing from them.
    """
    names, groups = {each.name for each in statistics}, list_group_names(cache)
    # A round without objectives was drawn by an older version, whose surrogate cannot be restored.
    lacking = {
        each.number
        for each in log.history
        if each.objectives
        and not each.deterministic
        and (each.groups != groups or not names <= set(each.statistics))
    }
    sources = {each: _find_source(each, log.history) for each in lacking}
    wholes = _sum_over_pool(cache, {each.number: each for each in sources.values()}, statistics)
    history = [
        _repredict_round(each, log, cache, sources[each.number], wholes, statistics, groups)
        if each.number in lacking
        else each
        for each in log.history
    ]
    return replace(log, history=tuple(history))


def _find_source(number: int, history: Sequence[Round]) -> Round:
    """The last of rounds 1, 2, 4, 8, ... that is not after this one; itself if that is too old."""
    source = history[(1 << (number.bit_length() - 1)) - 1]
    return source if source.objectives else history[number - 1]


def _sum_over_pool(
    cache: PoolView, sources: dict[int, Round], statistics: tuple[Statistic, ...]
) -> dict[int, Array]:
    """{number: (G, T + 1)} sums of what each surrogate expects of every row of the pool.

    The last column counts rows.
    """
    surrogates = {number: restore_surrogate(each, cache) for number, each in sources.items()}

    def on_piece(piece: tuple[int, int]) -> list[Array]:
        rows = cache.rows(*piece)
        return [_sum_expectations(each, cache, rows, statistics) for each in surrogates.values()]

    if not surrogates:
        return {}
    sums = map_reduce(
        cache.chunks(),
        on_piece,
        lambda left, right: [a + b for a, b in zip(left, right, strict=True)],
    )
    return dict(zip(surrogates, sums, strict=True))


def _sum_expectations(
    surrogate: Surrogate, cache: PoolView, rows: Rows, statistics: tuple[Statistic, ...]
) -> Array:
    """(G, T + 1) sums over rows of what a surrogate expects, and their number."""
    terms = [*surrogate.expected(rows, statistics), np.ones(len(rows.index))]
    return sum_by_group(cache, rows.codes, terms)


def _repredict_round(
    round: Round,
    log: Log,
    cache: PoolView,
    source: Round,
    wholes: dict[int, Array],
    statistics: tuple[Statistic, ...],
    groups: tuple[str, ...],
) -> Round:
    """The round, with the predictions of the source's surrogate where it has none of its own.

    What it recorded for all these groups stays: no number depends on what else is asked for.
    """
    surrogate = restore_surrogate(source, cache)
    known = cache.take(list_known_before(log, round.number))
    left = wholes[source.number] - _sum_expectations(surrogate, cache, known, statistics)
    drawn = surrogate.expected(cache.take(round.rows), statistics).T.astype(float)
    names = tuple(each.name for each in statistics)
    if round.groups == groups:
        for name in set(names) & set(round.statistics):
            new, old = names.index(name), round.statistics.index(name)
            drawn[:, new], left[:, new] = round.imputed[:, old], round.imputed_sum[:, old]
    return replace(
        round,
        statistics=names,
        groups=groups,
        imputed=drawn,
        imputed_sum=left[:, :-1],
        count=np.rint(left[:, -1]).astype(np.int64),
    )
