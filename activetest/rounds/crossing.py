"""Cross-fitting inside a round: items are predicted from labels of the same round, without bias.

A round of n draws has scores that stay as they are, and items are divided into folds by a hash. A
drawn item is predicted from the labels that are older than the round and from those of its draws
outside the item's fold; an item that was not drawn from the same without the round's last draw.
Reason: given the order in which all other items come, item i is next with chance q_m(i) at draw m,
so that [known before m] + [drawn at m] / q_m(i), which multiplies its label less its prediction in
the step of draw m, is 1 on average over i's places. So it is whatever the prediction is, as long as
it is a function of the first n - 1 other items: those are the round's other draws for a drawn item,
and all draws but the last for another one. Hence every step stays unbiased.

Predictions from labels of the round are mixed with those made before it: a handful of errors says
little about thousands of items that are likely to be right. The share follows from how many labels
of the rarer kind the others were expected to have, and from no label of the round: a share that
followed labels would be another one for errors than for the rest, which costs precision.

Steps of different rounds stay uncorrelated, those of one round need not be. So predictions of a
round serve fixed intervals and looks at ends of rounds; what is valid at every draw bets on the
predictions that were made before the round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from activetest import catalog
from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.choices import Refit
from activetest.nouns.log import LABELLED, PENDING, Crossed, Log, Round, count_usable_draws
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array
from activetest.pool.hashing import uniforms
from activetest.rounds.fit import (
    fit_others,
    list_known_before,
    observe_statistics,
    restore_surrogate,
)
from activetest.rounds.group_sums import list_group_names, sum_by_group
from activetest.rounds.replay import list_known
from activetest.system.parallel import map_reduce

# Folds, and the draws from which on a round learns from itself.
FOLDS, FEWEST_DRAWS = 5, 25
# Labels of the rarer kind, right or wrong, that others are expected to have: beyond so many a part
# of what is expected of an item follows from them, and with HALF more of them half of it.
FEWEST_LABELS, HALF = 10.0, 15.0
# Of the hash of folds: no round has this number.
_STREAM = 2**40
# Of what is kept: another one where other numbers follow from the same labels. Numbers
# that version 0.11 kept may be none, see nouns.contraction.
_VERSION = 2


@dataclass(frozen=True)
class _RoundLabels:
    """Labels known of a round's draws: earlier labels, and those of its first `used` draws.

    earlier         (K,) positions and labels of what is older than the round
    rows            (n,) positions of the draws
    labels          (n,) of them; NaN for an item that was declined
    fold            (n,) of the draws
    """

    earlier: tuple[Array, Array]
    rows: Array
    labels: Array
    fold: Array

    def list_others(self, fold: int, *, last: bool) -> tuple[Array, Array]:
        """Positions and labels of the draws outside a fold, with the last draw or without."""
        chosen = (self.fold != fold) & ~np.isnan(self.labels)
        chosen[-1] &= last
        return self.rows[chosen], self.labels[chosen]


def cross_rounds(log: Log, cache: PoolView, statistics: tuple[Statistic, ...], *, seed: int) -> Log:
    """The log with predictions of these statistics from each round's own labels, where it has some.

    Rounds without them keep the predictions that were made before them: those of few draws or with
    answers to come, but for the answered beginning of the first; those whose items have no
    probabilities, or where another program may have changed chances on the way; and those whose
    surrogate does not learn from labels at every round, or takes long to.
    """
    if not statistics:
        return log
    history = []
    for each in log.history:
        if not each.objectives:
            # It is about other classes, and so is what it said: see estimation.cells.
            history.append(each)
            continue
        used = count_whole(log, each) if _learns(each, cache) else 0
        crossed = _cross_round(log, each, used, cache, statistics, seed) if used else None
        history.append(each if crossed is each.crossed else replace(each, crossed=crossed))
    return replace(log, history=tuple(history))


def keep_crossed(log: Log, crossed: Log) -> Log:
    """The log with what its rounds say from their own labels in another one of the same rounds.

    So they need not find it again.
    """
    pairs = zip(log.history, crossed.history, strict=True)
    return replace(log, history=tuple(replace(a, crossed=b.crossed) for a, b in pairs))


def find_folds(hashes: Array, seed: int) -> Array:
    """(R,) fold of each item, by the hashes (R,) of their ids."""
    return (FOLDS * uniforms(hashes, seed, _STREAM)).astype(np.int8)


def _learns(round: Round, cache: PoolView) -> bool:
    """Whether the surrogate of a round can be fitted to the labels of each fold."""
    name = round.choices["surrogate"]
    every = round.choices.get("refit", Refit.EVERY) == Refit.EVERY
    fast = catalog.fact("surrogates", name, "CROSSES")
    return bool(fast) and every and name not in cache.unavailable


def count_whole(log: Log, round: Round) -> int:
    """Draws of a round whose labels may say something of its other items; 0 for none."""
    if round.deterministic or round.lacks_weights or len(round.rows) < FEWEST_DRAWS:
        return 0
    start, stop = np.searchsorted(log.round, [round.number, round.number + 1])
    if (log.status[start:stop] == PENDING).any():
        # The answered beginning of the first round is a round of so many draws.
        stop = max(count_usable_draws(log)[0], start)
    return int(stop - start) if stop - start >= FEWEST_DRAWS else 0


def _cross_round(
    log: Log,
    round: Round,
    used: int,
    cache: PoolView,
    statistics: tuple[Statistic, ...],
    seed: int,
) -> Crossed:
    """The predictions of a round with its own labels."""
    known = _list_known(log, round, used, find_folds(cache.hashes[log.rows], seed))
    names, groups = tuple(each.name for each in statistics), list_group_names(cache)
    origin = _describe_origin(known, round, cache, statistics, groups)
    if round.crossed is not None and round.crossed.origin == origin:
        return round.crossed
    place = blake2b(repr((names, groups)).encode(), digest_size=4).hexdigest()
    found = cache.compute_stored(
        f"crossed-{round.number}-{place}",
        origin,
        lambda: _predict(log, round, known, cache, statistics, seed),
    )
    about = found["imputed"], found["sums"], found["share"][:-1], float(found["share"][-1])
    return Crossed(names, groups, *about, origin)


def _list_known(log: Log, round: Round, used: int, folds: Array) -> _RoundLabels:
    """The labels of a round's first draws, as many as used; folds are those of all draws."""
    start = int(np.searchsorted(log.round, round.number))
    here = slice(start, start + used)
    return _RoundLabels(
        list_known(log, round.number),
        log.rows[here],
        np.where(log.status[here] == LABELLED, log.labels[here], np.nan),
        folds[here],
    )


def _list_sets(known: _RoundLabels) -> dict[tuple[int, bool], tuple[Array, Array]]:
    """{(fold, with the last draw): positions and labels} of what each fold learns from.

    Where the last draw is in the fold itself, both are the same, and stand at True alone.
    """
    found = {}
    for fold in range(FOLDS):
        for last in (True, False):
            if last or fold != known.fold[-1]:
                rows, labels = known.list_others(fold, last=last)
                found[fold, last] = (
                    np.concatenate([known.earlier[0], rows]),
                    np.concatenate([known.earlier[1], labels]),
                )
    return found


def _find_shares(known: _RoundLabels, round: Round, cache: PoolView) -> Array:
    """(n + 1,) share of the round's own labels in what is expected of drawn items, and of others.

    It follows from how many labels of the rarer kind the n - 1 others are expected to have; where
    values are predicted, labels are of no kind, and all of it does.
    """
    if not cache.classes:
        return np.ones(len(known.rows) + 1)
    rows = cache.take(known.rows).unweighted
    surrogate = restore_surrogate(round, cache)
    wrong = surrogate.expected(rows, (statistic("zero_one"),))[0].astype(float)
    kinds = np.stack([wrong, 1 - wrong]) * ~np.isnan(known.labels)
    total = kinds.sum(axis=1, keepdims=True)
    expected = (total - np.append(kinds, kinds[:, -1:], axis=1)).min(axis=0)
    more = np.maximum(expected - FEWEST_LABELS, 0.0)
    return more / (more + HALF)


def _describe_origin(
    known: _RoundLabels,
    round: Round,
    cache: PoolView,
    statistics: Sequence[Statistic],
    groups: Sequence[str],
) -> str:
    """Hexadecimal: of all that the predictions of a round follow from."""
    names = [each.name for each in statistics]
    digest = blake2b(digest_size=16)
    about = _VERSION, FOLDS, round.number, round.choices["surrogate"], names, list(groups)
    digest.update(repr((*about, cache.size)).encode())
    # The shape of a curve follows the labels, and its name does not.
    labelled = ~np.isnan(known.labels)
    values = observe_statistics(
        cache.take(known.rows[labelled]), known.labels[labelled], tuple(statistics)
    )
    hashes = cache.hashes
    for part in (
        hashes[known.earlier[0]],
        known.earlier[1],
        hashes[known.rows],
        known.labels,
        known.fold,
        values,
    ):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _predict(
    log: Log,
    round: Round,
    known: _RoundLabels,
    cache: PoolView,
    statistics: tuple[Statistic, ...],
    seed: int,
) -> dict[str, Array]:
    """(n, T) expectations at drawn items, (G, T) sums over what could be drawn, (n + 1,) shares."""
    share, groups = _find_shares(known, round, cache), len(list_group_names(cache))
    imputed = np.zeros((len(known.rows), len(statistics)))
    if not share.any():
        return {"imputed": imputed, "sums": np.zeros((groups, len(statistics))), "share": share}
    sets = _list_sets(known)
    fitted = dict(zip(sets, fit_others(round, cache, list(sets.values())), strict=True))
    for fold in np.unique(known.fold).tolist():
        here = np.flatnonzero(known.fold == fold)
        imputed[here] = fitted[fold, True].expected(cache.take(known.rows[here]), statistics).T
    free = np.ones(cache.size, bool)
    free[list_known_before(log, round.number)] = False
    free[known.rows] = False

    def on_piece(piece: tuple[int, int]) -> Array:
        rows, here = cache.rows(*piece), slice(*piece)
        expected = np.zeros((len(statistics), len(rows.index)))
        folds = find_folds(cache.hashes[here], seed)
        for fold in np.unique(folds).tolist():
            places = np.flatnonzero(folds == fold)
            surrogate = fitted[fold, fold == known.fold[-1]]
            expected[:, places] = surrogate.expected(rows[places], statistics)
        return sum_by_group(cache, rows.codes, list(expected * free[here]))

    sums = map_reduce(cache.chunks(), on_piece, np.add)
    sums += sum_by_group(cache, cache.take(known.rows).codes, list(imputed.T))
    return {"imputed": imputed, "sums": sums, "share": share}
