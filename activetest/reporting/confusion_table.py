"""Classes that are taken for others, as shares of the pool: the table of a page.

The pool is cut by predicted classes. In each part, the share of every true class is the doubly
robust estimate of any group, and the part's own share of the pool is known.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation.cut_pool import CutPool
from activetest.estimation.evidence import Group
from activetest.estimation.view import View, build_view
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.item_statistics.metric import Metric, linear_metric
from activetest.item_statistics.statistic import Statistic
from activetest.item_statistics.thresholds import hit
from activetest.nouns.quantity import Quantity
from activetest.nouns.report_details import MOST_CLASSES, ConfusionCell, ConfusionTable
from activetest.nouns.rows import Array, Outputs
from activetest.reporting.rows import HEADLINE, count_labelled, is_reliable
from activetest.rounds.fit import list_labelled

_OTHERS, _OUTSIDE = "other classes", "another class"


def estimate_confusion_table(view: View) -> ConfusionTable | None:
    """The table, from what the view's log says; None where no item is labelled, or for regression.

    A cell without a labelled item has no estimate, nor has one whose predicted class has fewer
    labelled draws than a group needs.
    """
    cache, log = view.cache, view.log
    positions, labels = list_labelled(log)
    if not cache.classes or not len(positions):
        return None
    predicted = np.concatenate([cache.rows(*piece).outputs.pred for piece in cache.chunks()])
    classes = len(cache.classes)
    # Classes of other models are none of this one, either.
    codes = np.maximum(labels.astype(np.int64), -1)
    sizes = np.bincount(predicted, minlength=classes)
    shown = _choose_classes(sizes, np.bincount(codes[codes >= 0], minlength=classes))
    place = np.full(classes + 1, len(shown))
    place[shown] = np.arange(len(shown))
    # The code -1, of labels that are no class of the pool, finds the last place.
    true, cells = place[codes], place[predicted]
    left_out = tuple(cache.classes[code] for code in range(classes) if place[code] == len(shown))
    others = _OTHERS if left_out else _OUTSIDE if (true == len(shown)).any() else None
    names = [cache.classes[code] for code in shown]
    rows, columns = [*names, *[_OTHERS] * bool(left_out)], [*names, *[others] * bool(others)]
    counts = np.zeros((len(rows), len(columns)), np.int64)
    np.add.at(counts, (cells[positions], true), 1)
    found = _estimate_cells(view, cells, rows, _list_metrics(shown, columns), counts)
    return ConfusionTable(tuple(rows), tuple(columns), tuple(found), others, left_out)


def _choose_classes(sizes: Array, labels: Array) -> Array:
    """Codes of the most frequent classes, in order: by predictions in the pool, then by labels."""
    if len(sizes) <= MOST_CLASSES:
        return np.arange(len(sizes))
    order = np.lexsort((np.arange(len(sizes)), -labels, -sizes))
    return np.sort(order[:MOST_CLASSES])


def _list_metrics(shown: Array, columns: Sequence[str]) -> list[Metric]:
    """The share of each true class; the last one of all that are not shown, where it is there."""
    statistics = [hit(int(code)) for code in shown]
    if len(columns) > len(shown):
        value = partial(_is_no_class, shown)
        name, few = "hit of no class shown", tuple(shown.tolist())
        statistics.append(Statistic(name, value, cells=True, tells=few))
    return [
        linear_metric("share", each, class_name=name)
        for each, name in zip(statistics, columns, strict=True)
    ]


def _estimate_cells(
    view: View, cells: Array, rows: Sequence[str], metrics: Sequence[Metric], counts: Array
) -> list[ConfusionCell]:
    """The cells, row by row; cells (N,) are the rows of all items, counts are labels in cells."""
    there, codes = np.unique(cells, return_inverse=True)
    cut = CutPool(view.cache, codes, [rows[place] for place in there])
    surrogate = view.evidence.surrogate
    about = view.log, cut, view.choices, metrics
    parted = build_view(*about, seed=view.seed, own_view=False, surrogate=surrogate)
    whole, *groups = parted.evidence.groups
    group_of = dict(zip(there.tolist(), groups, strict=True))
    found = []
    for place, predicted in enumerate(rows):
        group = group_of.get(place)
        for metric, labels in zip(metrics, counts[place].tolist(), strict=True):
            quantity = Quantity(None, None, None, view.choices.level, "none")
            if group is not None and labels:
                quantity = _estimate_share(parted, metric, group, group.total / whole.total)
            cell = ConfusionCell(
                quantity=quantity,
                predicted=predicted,
                truth=metric.class_name or "",
                n_labeled=int(labels),
            )
            found.append(cell)
    return found


def _estimate_share(view: View, metric: Metric, group: Group, share: float) -> Quantity:
    """The share of the pool that is in a cell, from the share of the group, whose own is known."""
    level = view.choices.level
    nothing = Quantity(None, None, None, level, "none")
    try:
        value = view.value(metric, HEADLINE, group)
        if not value.estimate.exact and count_labelled(view, group) < NEEDS_INSIDE:
            return nothing
        interval = view.interval(value, level, group=group)
    except NotEstimable:
        return nothing
    lower, upper = interval.find_ends()
    return replace(
        interval,
        estimate=share * value.value,
        lower=share * lower,
        upper=share * upper,
        reliable=is_reliable(value, interval.method),
    )


def _is_no_class(shown: Array, outputs: Outputs, labels: Array | None) -> Array:
    """(R, K) 1.0 where the label is none of these classes."""
    codes = np.arange(outputs.known_probs.shape[1])[None] if labels is None else labels
    found = ~np.isin(codes, shown)
    return np.broadcast_to(found, (len(outputs.pred), found.shape[1])).astype(float)
