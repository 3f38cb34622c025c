"""Items drawn and labelled against the pool, part by part."""

from collections.abc import Iterator, Sequence

import numpy as np

from activetest.estimation.view import View
from activetest.nouns.log import LABELLED
from activetest.nouns.pool import PoolView
from activetest.nouns.report_details import MOST_VALUES, SampledShare
from activetest.nouns.rows import Array
from activetest.pool.groups import CONFIDENCE, assign_bins, compute_bins, compute_group

# Bins of predicted values.
_BINS = 5


def compare_with_pool(view: View) -> tuple[SampledShare, ...]:
    """The shares of every part: what the outputs cut the pool by first, then columns of groups.

    Parts that no item of the pool is in are left out.
    """
    cache, log = view.cache, view.log
    drawn = log.rows[log.status == LABELLED]
    found = [
        share
        for what, codes, names in _list_cuts(cache)
        for share in _compare(what, codes, codes[drawn], names)
    ]
    inside = view.evidence.drawn.codes[log.status == LABELLED]
    for column, name in enumerate(cache.group_names):
        if name in cache.roles.get("computed", ()):
            continue
        sizes = [each.size for each in view.evidence.groups if each.column == column]
        values = cache.group_values[column]
        counts = np.bincount(inside[:, column], minlength=len(values))
        found += _list_shares(name, values, np.array(sizes), counts)
    return tuple(found)


def _list_cuts(cache: PoolView) -> Iterator[tuple[str, Array, list[str]]]:
    """Cuts of the pool by its outputs: a name, codes (N,), and names of the parts."""
    pieces = [cache.rows(*piece).outputs for piece in cache.chunks()]
    predicted = np.concatenate([each.pred for each in pieces])
    if not cache.classes:
        values = predicted.astype(float)
        yield "predicted value", *assign_bins(values, compute_bins(values, _BINS))
        return
    if pieces[0].probs is not None:
        codes = [compute_group(CONFIDENCE, each, cache.classes) for each in pieces]
        yield "confidence", np.concatenate([each for each, _ in codes]), codes[0][1]
    yield "predicted class", predicted.astype(np.int64), list(cache.classes)


def _compare(what: str, codes: Array, drawn: Array, names: Sequence[str]) -> list[SampledShare]:
    """The parts of one cut: codes (N,) of all items, and those of labelled draws."""
    sizes, counts = (np.bincount(each, minlength=len(names)) for each in (codes, drawn))
    return _list_shares(what, names, sizes, counts)


def _list_shares(
    what: str, names: Sequence[str], sizes: Array, counts: Array
) -> list[SampledShare]:
    """The parts with items: the MOST_VALUES largest in their order, then all others together."""
    pool, labels = int(sizes.sum()), int(counts.sum())
    there = np.flatnonzero(sizes)
    largest = np.sort(there[np.argsort(-sizes[there], kind="stable")][:MOST_VALUES])
    parts = [(names[at], int(sizes[at]), int(counts[at])) for at in largest.tolist()]
    rest = np.setdiff1d(there, largest)
    if len(rest):
        parts.append((f"{len(rest):,} others", int(sizes[rest].sum()), int(counts[rest].sum())))
    return [
        SampledShare(what, name, size / pool, count / labels if labels else 0.0, size, count)
        for name, size, count in parts
    ]
