"""A pool cut into cells: estimates of many statistics that are sums over cells, in one pass.

A statistic of a threshold depends on the cell of an item and on whether its label is one class. So
one statistic per cell is predicted, whether the label is the class, and its sums over cells say
what all thresholds need: a cell takes the place of the predicted class, and the label is 1 for the
class and 0 for any other. Samples, estimators and intervals are those of any other metric.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from activetest.estimation.cut_pool import CutPool
from activetest.estimation.evidence import list_groups
from activetest.estimation.repredict import repredict
from activetest.estimation.samples import correct_log
from activetest.estimation.view import View, build_view
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.statistic import Statistic
from activetest.item_statistics.thresholds import hit, miss
from activetest.nouns.beliefs import Beliefs, expectation
from activetest.nouns.choices import Choices
from activetest.nouns.log import Log, Round
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.nouns.surrogate import Surrogate
from activetest.rounds.crossing import cross_rounds
from activetest.rounds.fit import get_surrogate
from activetest.rounds.weighted import WeightedSurrogate, weigh_surrogate


class _CellSurrogate:
    """Beliefs of a surrogate of the pool about its items, where cells are classes.

    All that samples ask of a surrogate; members are not asked for.
    """

    def __init__(self, surrogate: Surrogate, pool: PoolView, code: int) -> None:
        if isinstance(surrogate, WeightedSurrogate):
            surrogate = surrogate.surrogate
        self._surrogate, self._pool, self._hit = surrogate, pool, hit(code)
        # Samples of many metrics ask about the same rows.
        self._found: dict[bytes, Array] = {}

    def beliefs(self, rows: Rows, statistics: tuple[Any, ...], members: Any = None) -> Beliefs:
        """Beliefs about R rows, whose label is 0 or 1."""
        del members
        labels = np.broadcast_to([0, 1], (len(rows.index), 2))
        values = np.stack([each.value(rows.outputs, labels) for each in statistics])
        return Beliefs(self._predict(rows), values)

    def expected(self, rows: Rows, statistics: tuple[Any, ...]) -> Array:
        """(T, R) expectation of each statistic."""
        return expectation(self.beliefs(rows, statistics))

    def _predict(self, rows: Rows) -> Array:
        """(R, 2) probability that the label is not the class, and that it is."""
        key = rows.index.tobytes()
        if key not in self._found:
            found = self._surrogate.expected(self._pool.take(rows.index), (self._hit,))
            hits = np.clip(found[0].astype(float), 0, 1)
            self._found[key] = np.column_stack([1 - hits, hits])
        return self._found[key]


def view_cells(
    log: Log,
    cache: PoolView,
    choices: Choices,
    metrics: Sequence[Metric],
    *,
    cells: Array,
    count: int,
    code: int,
    seed: int,
) -> View:
    """The view of metrics whose statistics depend on cells and on whether the label is a class.

    metrics   of statistics that take a cell, or a cell plus a multiple of count, for the predicted
              class, and 1 and 0 for the label
    cells     (N,) cell of each item, from 0 to count - 1
    code      of the class

    The surrogates of past rounds predict again, as for any metric that rounds did not record.
    """
    cells, sources = _split_cells(cells, count, log, cache)
    size = count * max(1, 1 + int(cells.max(initial=0)) // count)
    names = [str(place) for place in range(size)]
    statistics = tuple(
        {each.name: each for metric in metrics for each in metric.statistics}.values()
    )
    both = hit(code), miss(code)
    predicted = tuple(each.name for each in both)
    divided = CutPool(cache, cells, names)
    predicted_log = cross_rounds(repredict(log, divided, both), divided, both, seed=seed)
    cut = CutPool(cache, cells, names, as_classes=True)
    values = _tabulate(statistics, size)
    history = [
        _convert_round(each, cells[each.rows], predicted, statistics, values, sources)
        for each in predicted_log.history
    ]
    converted = replace(
        log,
        labels=_convert_labels(log.labels, code),
        supplied_labels=_convert_labels(log.supplied_labels, code),
        given=None,
        soft=_convert_soft(log.soft, code),
        supplied_soft=_convert_soft(log.supplied_soft, code),
        history=tuple(history),
        # Items elsewhere are in no cell.
        elsewhere=None,
    )
    correction = None
    if log.given is not None:
        rows = cache.take(log.rows), cache.take(log.supplied_rows)
        correction = correct_log(log, cache, list_groups(cache)[0], *rows, seed=seed).tell(code)
    surrogate = _CellSurrogate(get_surrogate(log, cache, choices, seed=seed), cache, code)
    return build_view(
        converted,
        cut,
        choices,
        metrics,
        seed=seed,
        own_view=False,
        surrogate=weigh_surrogate(cast("Surrogate", surrogate), cut),
        correction=correction,
    )


def _split_cells(
    cells: Array, count: int, log: Log, cache: PoolView
) -> tuple[Array, dict[tuple[int, ...], tuple[int, ...]]]:
    """(N,) cells, and {codes of classes that a round drew from: cells that it could draw from}.

    Where rounds left out predicted classes, a cell is split by which rounds could draw its items;
    the parts follow each other by multiples of count.
    """
    sources = sorted({each.drawn_from for each in log.history if each.drawn_from is not None})
    if not sources:
        return cells, {}
    pred = np.concatenate([cache.rows(*piece).outputs.pred for piece in cache.chunks()])
    drawable = np.stack([np.isin(pred, source) for source in sources], axis=1)
    patterns, places = np.unique(drawable, axis=0, return_inverse=True)
    found = {}
    for source, could in zip(sources, patterns.T, strict=True):
        parts = np.flatnonzero(could)[:, None] * count + np.arange(count)
        found[source] = tuple(parts.ravel().tolist())
    return cells + count * places.ravel(), found


def _tabulate(statistics: Sequence[Statistic], size: int) -> Array:
    """(T, L, 2) value of each statistic in each cell, without and with a hit."""
    outputs, labels = Outputs(np.arange(size)), np.broadcast_to([0, 1], (size, 2))
    return np.stack([each.value(outputs, labels) for each in statistics])


def _convert_round(
    round: Round,
    cells: Array,
    predicted: tuple[str, ...],
    statistics: Sequence[Statistic],
    values: Array,
    sources: Mapping[tuple[int, ...], tuple[int, ...]],
) -> Round:
    """The round with predictions of the statistics; without, where it has none of `predicted`."""
    source = None if round.drawn_from is None else sources[round.drawn_from]
    # Without objectives nobody asks for the surrogate of the pool's own classes.
    about: dict[str, Any] = {"groups": ("",), "objectives": (), "drawn_from": source}
    about |= {"again": (), "imputed_again": None, "count": round.count[:1], "crossed": None}
    if round.statistics != predicted:
        nothing = np.empty((len(cells), 0)), np.empty((1, 0))
        return replace(round, statistics=(), imputed=nothing[0], imputed_sum=nothing[1], **about)
    names = tuple(each.name for each in statistics)
    imputed, sums = _convert_predictions(round.imputed, round.imputed_sum, cells, values)
    if (crossed := round.crossed) is not None:
        own = _convert_predictions(crossed.imputed, crossed.sums, cells, values)
        about["crossed"] = replace(
            crossed, statistics=names, groups=("",), imputed=own[0], sums=own[1]
        )
    return replace(round, statistics=names, imputed=imputed, imputed_sum=sums, **about)


def _convert_predictions(
    imputed: Array, sums: Array, cells: Array, values: Array
) -> tuple[Array, Array]:
    """(n, T) expectations and (1, T) their sums, from those of hits and misses.

    imputed (n, 2) at the first n draws, whose cells are the first of these; sums (1 + L, 2) of the
    pool and of each cell; values as _tabulate gives them.
    """
    (hits, misses), cells = imputed.T, cells[: len(imputed)]
    sum_hits, sum_misses = sums[1:].T
    found = values[:, cells, 1] * hits + values[:, cells, 0] * misses
    return found.T, (values[..., 1] @ sum_hits + values[..., 0] @ sum_misses)[None]


def _convert_labels(labels: Array, code: int) -> Array:
    """1.0 where a label is the class, 0.0 where it is another one, NaN where there is none."""
    return np.where(np.isnan(labels), np.nan, labels == code)


def _convert_soft(soft: Array | None, code: int) -> Array | None:
    """(D, 2) probability of another class, and of the class."""
    return None if soft is None else np.column_stack([1 - soft[:, code], soft[:, code]])
