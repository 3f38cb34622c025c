"""Predictions of past rounds, for statistics or groups that they did not record.

Any prediction made before a draw serves that draw, also one of an older surrogate: so those of
rounds 1, 2, 4, 8, ... predict, each for all rounds until the next, in one pass over the pool.
"""

from dataclasses import replace

import numpy as np

from activetest.estimation.recorded_predictions import find_places
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.log import Log, Round
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import list_known_before, restore_surrogate
from activetest.rounds.group_sums import list_group_names, sum_by_group
from activetest.system.parallel import map_reduce


def repredict(log: Log, cache: PoolView, statistics: tuple[Statistic, ...]) -> Log:
    """The log with predictions of every round for all these statistics and every group.

    Rounds that recorded them for all groups stay as they are, and so do those without objectives
    and those whose items were deterministic, for estimates need nothing from them.
    """
    names, groups = {each.name for each in statistics}, list_group_names(cache)
    # The surrogate of a round without objectives is about other classes: see estimation.cells.
    lacking = {
        each.number
        for each in log.history
        if each.objectives
        and not each.deterministic
        and not (set(groups) <= set(each.groups) and names <= set(each.statistics))
    }
    # The last of rounds 1, 2, 4, 8, ... that is not after it.
    sources = {each: log.history[(1 << (each.bit_length() - 1)) - 1] for each in lacking}
    wholes = _sum_over_pool(cache, {each.number: each for each in sources.values()}, statistics)
    history = [
        _repredict_round(each, log, cache, sources[each.number], wholes, statistics, groups)
        if each.number in lacking
        else each
        for each in log.history
    ]
    return replace(log, history=tuple(history))


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
    """(G, T + 1) sums over rows of what a surrogate expects, and how many of them count."""
    terms = [*surrogate.expected(rows, statistics), (rows.mass > 0).astype(float)]
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

    Its record of a statistic in a group stays, whatever else is asked for: adding a group
    moves no number of the whole pool. A group that it did not record has its sums and its
    predictions at the drawn items from one surrogate, as an unbiased estimate needs.
    """
    surrogate = restore_surrogate(source, cache)
    known = cache.take(list_known_before(log, round.number))
    left = wholes[source.number] - _sum_expectations(surrogate, cache, known, statistics)
    count, sums = np.rint(left[:, -1]).astype(np.int64), left[:, :-1]
    again = surrogate.expected(cache.take(round.rows), statistics).T.astype(float)
    names = tuple(each.name for each in statistics)
    columns, recorded_columns = find_places(names, round.statistics)
    places, recorded = find_places(groups, round.groups)
    imputed = again.copy()
    imputed[:, columns] = round.imputed[:, recorded_columns]
    sums[places[:, None], columns] = round.imputed_sum[recorded[:, None], recorded_columns]
    count[places] = round.count[recorded]
    missing = tuple(group for group in groups if group not in round.groups)
    return replace(
        round,
        statistics=names,
        groups=groups,
        imputed=imputed,
        imputed_sum=sums,
        count=count,
        again=missing,
        imputed_again=again if missing else None,
    )
