"""Predictions of past rounds, for statistics or groups that they did not record.

Any prediction made before a draw serves that draw, also one of an older surrogate: so those of
rounds 1, 2, 4, 8, ... predict, each for all rounds until the next, by a pass over the pool.
"""

import json
from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np

from activetest.estimation.recorded_predictions import find_places
from activetest.item_statistics.statistic import Statistic, follows_from_name
from activetest.nouns.log import Log, Round
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.fit import list_known_before, restore_surrogate
from activetest.rounds.group_sums import list_group_names, sum_by_group
from activetest.rounds.replay import list_known
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
    found: dict[int, tuple[Surrogate, Array]] = {}
    for each in sources.values():
        if each.number not in found:
            surrogate = restore_surrogate(each, cache)
            sums = _find_sums(log, cache, each, surrogate, statistics)
            found[each.number] = surrogate, sums
    about = statistics, groups
    history = [
        _repredict_round(each, log, cache, *found[sources[each.number].number], *about)
        if each.number in lacking
        else each
        for each in log.history
    ]
    return replace(log, history=tuple(history))


def _find_sums(
    log: Log,
    cache: PoolView,
    source: Round,
    surrogate: Surrogate,
    statistics: tuple[Statistic, ...],
) -> Array:
    """As _sum_over_pool, which is a pass over the pool: what it found is kept with the cache.

    Sums follow from what the surrogate knows, from the labels that it learned of other models'
    outputs, and from the pool. Of statistics that their names do not describe nothing is kept.
    """
    if not all(map(follows_from_name, statistics)):
        return _sum_over_pool(cache, surrogate, statistics)
    described = repr(([each.name for each in statistics], list_group_names(cache)))
    place = blake2b(described.encode(), digest_size=4).hexdigest()
    found = cache.compute_stored(
        f"sums-{source.number}-{place}",
        [described, cache.identity, _describe(source, log)],
        lambda: {"sums": _sum_over_pool(cache, surrogate, statistics)},
    )
    return found["sums"]


def _describe(source: Round, log: Log) -> str:
    """Hexadecimal: of all that what a round expects follows from, beside the pool."""
    known = list_known(log, source.number)
    about = source.number, dict(source.choices), dict(source.params), *known
    text = json.dumps(about, sort_keys=True, default=_describe_array)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _describe_array(values: Array) -> list[Any]:
    array = np.ascontiguousarray(values)
    return [str(array.dtype), array.shape, blake2b(array.tobytes(), digest_size=16).hexdigest()]


def _sum_over_pool(
    cache: PoolView, surrogate: Surrogate, statistics: tuple[Statistic, ...]
) -> Array:
    """(G, T + 1) sums of what a surrogate expects of every row of the pool.

    The last column counts rows.
    """

    def on_piece(piece: tuple[int, int]) -> Array:
        return _sum_expectations(surrogate, cache, cache.rows(*piece), statistics)

    return np.asarray(map_reduce(cache.chunks(), on_piece, np.add))


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
    surrogate: Surrogate,
    whole: Array,
    statistics: tuple[Statistic, ...],
    groups: tuple[str, ...],
) -> Round:
    """The round, with the predictions of a surrogate where it has none of its own.

    whole  (G, T + 1) sums of these over the pool

    Its record of a statistic in a group stays, whatever else is asked for: adding a group
    moves no number of the whole pool. A group that it did not record has its sums and its
    predictions at the drawn items from one surrogate, as an unbiased estimate needs.
    """
    known = cache.take(list_known_before(log, round.number))
    left = whole - _sum_expectations(surrogate, cache, known, statistics)
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
