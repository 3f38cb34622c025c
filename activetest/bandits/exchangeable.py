"""Which labels speak for the rest of a cell.

Active Bayesian Assessment (Ji 2021) draws uniformly inside groups; here labels may have come in
other ways as well.
"""

import numpy as np

from activetest.bandits.partition import Partition
from activetest.nouns.log import LABELLED, Log, Round, used
from activetest.nouns.rows import Array

# Even draws since the last label that came otherwise, from which on they alone speak for a cell.
_ENOUGH = 10


def counts(cells: Array, outcome: Array, weights: Array, shape: tuple[int, int]) -> Array:
    """(L, J) sums of weights by cell and outcome."""
    places = cells.astype(np.intp) * shape[1] + outcome
    return np.bincount(places, weights, minlength=shape[0] * shape[1]).reshape(shape)


def exchangeable_counts(
    log: Log, cache, partition: Partition, cells: Array, outcome: Array, size: Array, shape
) -> tuple[Array, Array, Array]:
    """What the labels of draws, then of supplied items, say: known, evidence and uneven cells.

    known      (D + B,) labels that count as known
    evidence   (L, J) labels that speak for the rest
    uneven     (L,) cells whose evidence counts by weight

    Draws that were even inside a cell are a random sample of what was left of it. So those since
    the last label that came otherwise speak for the rest, if these are all there are, or enough,
    and as many as the draws that count by weight. If not, all draws count, the others by weight: as
    many as uniform ones would that tell as much, (sum w)^2 / sum w^2 (Kish 1965), split as weights
    are. Labels that came otherwise after all draws that count are taken as not known, for they took
    what they are out of the rest. Labels of rounds that are not complete do not count yet.
    """
    count, complete = len(size), used(log)[0]
    even, weights = _drawn(log, cache, partition)
    drawn = len(log.rows)
    told = np.concatenate([log.status == LABELLED, log.supplied_status == LABELLED])
    known = told.copy()
    all_known = np.bincount(cells[known], minlength=count) == size
    known[complete:drawn] = False
    since = np.concatenate(
        [np.arange(drawn), np.searchsorted(log.round[:complete], log.supplied_round)]
    )
    fair = known & np.append(even, np.zeros(len(known) - drawn, bool))
    last = np.full(count, -1)
    np.maximum.at(last, cells[fair], since[fair])
    other = known & ~fair
    # An item that was supplied before a draw of the same place came before it.
    late = other & (since > last[cells]) & (last[cells] >= 0)
    before = np.full(count, -1)
    np.maximum.at(before, cells[other & ~late], _after(since, drawn)[other & ~late])
    clean = fair & (since >= before[cells])
    weights = np.append(weights, np.zeros(len(known) - drawn)) * other
    alone, every, heavy = (
        np.bincount(cells[some], minlength=count) for some in (clean, fair, weights > 0)
    )
    enough = ((heavy == 0) & (alone == every)) | ((alone >= _ENOUGH) & (alone >= heavy))
    non_uniform = ~enough & (every + heavy > 0)
    # Of an uneven cell the draws that count by weight are known.
    np.maximum.at(last, cells[weights > 0], since[weights > 0])
    late = np.where(non_uniform[cells], other & (weights == 0) & (since > last[cells]), late)
    known = (known & ~late) | (told & all_known[cells])
    plain = np.where(non_uniform[cells], fair, clean).astype(float)
    evidence = counts(cells, outcome, plain, shape)
    by_weight = counts(cells, outcome, weights * non_uniform[cells], shape)
    squares = np.bincount(cells, weights**2, minlength=count)
    value = by_weight.sum(axis=1) / np.where(squares > 0, squares, 1)
    return known, evidence + by_weight * value[:, None], non_uniform


def _after(since: Array, drawn: int) -> Array:
    """(D + B,) first draw after each label: a draw is known to the next one."""
    return since + (np.arange(len(since)) < drawn)


def _drawn(log: Log, cache, partition: Partition) -> tuple[Array, Array]:
    """(D,) whether each draw was even inside its cell, and what its label weighs where it was not.

    The weight is one over (its probability times the items that were left); 0 without one.
    """
    even, weights = np.zeros(len(log.rows), bool), np.zeros(len(log.rows))
    for each in log.history:
        here = slice(*np.searchsorted(log.round, [each.number, each.number + 1]))
        if _even(each, partition, cache):
            even[here] = True
        elif not each.deterministic:
            left = each.count[0] - np.arange(here.stop - here.start)
            weights[here] = 1 / (log.prob[here] * left)
    return even, weights


def _even(each: Round, partition: Partition, cache) -> bool:
    """Whether a round's draws were uniform inside every cell of the partition."""
    if each.allocation:
        drawn = Partition(each.allocation.group, each.allocation.strata)
        inside = drawn.factors(cache) <= partition.factors(cache)
        return inside or (not each.deterministic and each.choices["floor"] == 1)
    alike = each.choices["acquisition"] == "uniform" or each.choices["floor"] == 1
    return alike and not each.deterministic
