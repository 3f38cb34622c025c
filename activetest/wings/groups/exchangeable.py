"""Labels that are exchangeable with the unlabelled items of their cell.

Active Bayesian Assessment (Ji 2021) draws uniformly inside groups; here labels may come from other
sources as well.
"""

import numpy as np

from activetest.nouns.log import (
    LABELLED,
    Allocation,
    ArmAllocation,
    Log,
    count_usable_draws,
    weigh_draws,
)
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.pool.allocations import keeps_cells
from activetest.wings.groups.partition import Partition

# Uniform draws since the last other label from which on a cell uses them alone.
_ENOUGH = 10


def sum_by_outcome(
    cells: Array, outcome: Array, weights: Array | None, shape: tuple[int, int]
) -> Array:
    """(L, J) sums of weights by cell and outcome; without weights, counts."""
    places = cells.astype(np.intp) * shape[1] + outcome
    return np.bincount(places, weights, minlength=shape[0] * shape[1]).reshape(shape)


def exchangeable_counts(
    log: Log,
    cache: PoolView,
    partition: Partition,
    cells: Array,
    outcome: Array,
    size: Array,
    shape: tuple[int, int],
) -> tuple[Array, Array, Array]:
    """Known labels, exchangeable counts and non-uniform cells, of draws and then supplied items.

    known         (D + B,) whether a label counts as known
    counts        (L, J) labels exchangeable with the unlabelled rest of their cell
    non_uniform   (L,) cells whose counts are weighted

    cells, outcome (D + B,) of every label, size (L,), shape (L, J).

    Uniform draws inside a cell are a random sample of what was unlabelled before them. Those since
    the last other label are used alone if there are no other draws, or if they are enough and at
    least as many as the weighted draws. Otherwise all draws are used. Non-uniform ones are weighted
    and count as their effective number (sum w)^2 / sum w^2 (Kish 1965), split in proportion to the
    weights. Other labels after all draws that are used count as unknown, since they changed what
    the unlabelled rest consists of. Labels of incomplete rounds are not used yet.
    """
    count, complete = len(size), count_usable_draws(log)[0]
    uniform, weights = weigh_draws(log, lambda each: _is_nested(each, partition, cache))
    drawn = len(log.rows)
    labelled = log.item_status == LABELLED
    known = labelled.copy()
    all_known = np.bincount(cells[known], minlength=count) == size
    known[complete:drawn] = False
    time = np.concatenate(
        [np.arange(drawn), np.searchsorted(log.round[:complete], log.supplied_round)]
    )
    drawn_uniformly = known & np.append(uniform, np.zeros(len(known) - drawn, bool))
    last_used = np.full(count, -1)
    np.maximum.at(last_used, cells[drawn_uniformly], time[drawn_uniformly])
    other = known & ~drawn_uniformly
    # Supplied items precede draws with the same time.
    too_late = other & (time > last_used[cells]) & (last_used[cells] >= 0)
    first_allowed = np.full(count, -1)
    np.maximum.at(
        first_allowed, cells[other & ~too_late], _first_later_draw(time, drawn)[other & ~too_late]
    )
    counts_alone = drawn_uniformly & (time >= first_allowed[cells])
    weights = np.append(weights, np.zeros(len(known) - drawn)) * other
    n_alone, n_uniform, n_weighted = (
        np.bincount(cells[subset], minlength=count)
        for subset in (counts_alone, drawn_uniformly, weights > 0)
    )
    enough = ((n_weighted == 0) & (n_alone == n_uniform)) | (
        (n_alone >= _ENOUGH) & (n_alone >= n_weighted)
    )
    non_uniform = ~enough & (n_uniform + n_weighted > 0)
    # In a non-uniform cell the weighted draws are known.
    np.maximum.at(last_used, cells[weights > 0], time[weights > 0])
    too_late = np.where(
        non_uniform[cells], other & (weights == 0) & (time > last_used[cells]), too_late
    )
    known = (known & ~too_late) | (labelled & all_known[cells])
    unit_weights = np.where(non_uniform[cells], drawn_uniformly, counts_alone).astype(float)
    unit_counts = sum_by_outcome(cells, outcome, unit_weights, shape)
    weighted_counts = sum_by_outcome(cells, outcome, weights * non_uniform[cells], shape)
    squares = np.bincount(cells, weights**2, minlength=count)
    label_value = weighted_counts.sum(axis=1) / np.where(squares > 0, squares, 1)
    return known, unit_counts + weighted_counts * label_value[:, None], non_uniform


def _first_later_draw(time: Array, drawn: int) -> Array:
    """(D + B,) first draw after each label."""
    return time + (np.arange(len(time)) < drawn)


def _is_nested(
    allocation: Allocation | ArmAllocation, partition: Partition, cache: PoolView
) -> bool:
    """Whether an allocation weighted all items of a cell of the partition alike."""
    crossed, strata = partition.crossed_columns(cache), 1
    if isinstance(allocation, ArmAllocation):
        computed = cache.roles.get("computed", ())
        names = {(name,) if name in computed else name for name in allocation.attributes}
        nested = allocation.certain and names <= crossed
    else:
        drawn = Partition(allocation.group, allocation.strata)
        nested, strata = drawn.crossed_columns(cache) <= crossed, drawn.count_strata(cache)
    return nested and keeps_cells(allocation, cache, strata=strata)
