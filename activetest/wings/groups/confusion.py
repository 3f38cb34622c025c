"""The confusion matrix and the reliability of a pool, for questions about groups."""

from dataclasses import replace
from typing import Any

import numpy as np

from activetest.estimation.view import View
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.item_statistics.calibration import statistics_of_bins
from activetest.item_statistics.metric import Metric, linear_metric, ratio_metric
from activetest.item_statistics.statistic import statistic
from activetest.nouns.choices import Choices
from activetest.nouns.group_report import Bin, Cell, Column, Confusion, Reliability
from activetest.nouns.log import LABELLED, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.quantity import Quantity
from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array
from activetest.pool.groups import BINS, CONFIDENCE
from activetest.reporting.rows import HEADLINE, estimate_row
from activetest.wings.groups.counts import GroupCounts, count_groups
from activetest.wings.groups.credible import outcome_share_intervals, value_intervals
from activetest.wings.groups.group_ranking import EXACT, NONE, POSTERIOR, PSEUDO
from activetest.wings.groups.ranks import draw_values

# With at most so many classes all cells are kept; with more, only so many of the largest mistakes.
_WHOLE, _MISTAKES = 40, 20
# With at most so many classes columns are estimated by the draws' probabilities where they have to
# be: each takes a pass over the pool.
_WEIGHTED = 12
_DRAWS = 10_000
_OUTSIDE = "another class"
BINS_KIND = f"ece[{len(BINS)}]"


def count_by_class(log: Log, cache: PoolView, choices: Choices) -> GroupCounts:
    """The whole pool, cut by predicted classes."""
    return count_groups(log, cache, choices, kind="confusion", group="")


def count_by_confidence(log: Log, cache: PoolView, choices: Choices) -> GroupCounts:
    """The whole pool, cut by bins of the confidence.

    Bins are those of the calibration error, or the groups `confidence` where labels were drawn
    uniformly inside these: the two differ in the bin that an edge belongs to.
    """
    counts = count_groups(log, cache, choices, kind=BINS_KIND, group="")
    if not find_non_uniform(counts).any() or CONFIDENCE not in cache.roles.get("computed", ()):
        return counts
    groups = count_groups(log, cache, choices, kind="accuracy", group=CONFIDENCE)
    if groups.weighted.any():
        return counts
    places = [BINS.index(meaning[CONFIDENCE]) for meaning in groups.arms.groups]
    fields: dict[str, Any] = {}
    for name in ("size", "mean_confidence", "known_counts", "exchangeable_counts", "prior"):
        of_bins = getattr(counts.arms, name)
        values = of_bins.copy() if name == "prior" else np.zeros_like(of_bins)
        values[places] = getattr(groups.arms, name)
        fields[name] = values
    labelled = np.zeros_like(counts.labelled)
    labelled[places] = groups.labelled
    observed = None
    if groups.arms.observed_counts is not None:
        observed = np.zeros_like(counts.arms.known_counts)
        observed[places] = groups.arms.observed_counts
    arms = replace(counts.arms, observed_counts=observed, **fields)
    return replace(
        counts, arms=arms, labelled=labelled, non_uniform=np.zeros_like(counts.non_uniform)
    )


def find_non_uniform(counts: GroupCounts) -> Array:
    """(L,) bool: cells whose labels were not drawn uniformly, and which are not known exactly."""
    return counts.non_uniform & (counts.arms.unlabelled > 0)


def list_cell_metrics(counts: GroupCounts, classes: tuple[str, ...]) -> dict[int, list[Metric]]:
    """{predicted class: the metrics of its J cells} of columns not drawn uniformly.

    The share of labels outside the classes is the column's share of the pool minus the shares of
    all classes.
    """
    if len(classes) > _WEIGHTED:
        return {}
    found, arms = {}, counts.arms
    for column in map(int, np.flatnonzero(find_non_uniform(counts))):
        predicted = classes[column]
        cells = [statistic(f"cell:{row}:{column}") for row in range(len(classes))]
        found[column] = [
            linear_metric("confusion", cell, class_name=f"{truth} as {predicted}")
            for cell, truth in zip(cells, classes, strict=True)
        ]
        if arms.prior.shape[1] > len(classes):
            share = arms.size[column] / arms.size.sum()
            above, below = (share, *[-1.0] * len(cells)), (1.0, *[0.0] * len(cells))
            name = f"{_OUTSIDE} as {predicted}"
            found[column].append(
                ratio_metric(name, cells, above=above, below=below, upper=float(share))
            )
    return found


def list_bin_metrics(counts: GroupCounts) -> dict[int, Metric]:
    """{bin: share of all items that are right and in it} of bins not drawn uniformly."""
    right = statistics_of_bins("right_in", np.array(counts.partition.strata[1:], np.float32))
    return {
        int(place): linear_metric(f"right in bin {place}", right[place])
        for place in np.flatnonzero(find_non_uniform(counts))
    }


def estimate_confusion(
    counts: GroupCounts, view: View | None, classes: tuple[str, ...], level: float
) -> Confusion:
    """P(true class | predicted class): a posterior that counts true labels (Ji 2021, Table 1).

    Columns whose labels were not drawn uniformly inside are made of doubly robust estimates of
    their cells, divided by the column's known share of the pool. Where a column has too few labels
    for that, or the pool many classes, labels are weighted in the posterior.
    """
    arms, truths = counts.arms, (*classes, _OUTSIDE)[: counts.arms.prior.shape[1]]
    shares = np.stack(outcome_share_intervals(arms, level), axis=-1)
    methods = _choose_methods(counts)
    for place, metrics in list_cell_metrics(counts, classes).items():
        column = _estimate_shares(view, metrics, counts, place, level)
        if column is not None:
            shares[place], methods[place] = column, HEADLINE
    shares[arms.size == 0] = np.nan
    columns = tuple(
        Column(name, *_count_cell(counts, place), str(methods[place]))
        for place, name in enumerate(classes)
    )
    cells = [
        Cell(
            quantity=_build_quantity(shares[column, row], level, methods[column]),
            truth=truth,
            predicted=predicted,
        )
        for column, predicted in enumerate(classes)
        for row, truth in enumerate(truths)
    ]
    complete = len(classes) <= _WHOLE
    if not complete:
        level_estimates = level_ties(np.array([cell.estimate or 0.0 for cell in cells]))
        mistakes = [
            (-level_estimates[place], place)
            for place, cell in enumerate(cells)
            if cell.truth != cell.predicted and cell.estimate
        ]
        cells = [cells[place] for _, place in sorted(mistakes)[:_MISTAKES]]
    return Confusion(classes, truths, columns, tuple(cells), complete)


def estimate_reliability(
    counts: GroupCounts, view: View | None, ece: Metric, level: float, rng: np.random.Generator
) -> Reliability:
    """Accuracy in each bin of the confidence, and the calibration error that the bins make.

    ece is the metric of the same bins, for labels that were not drawn uniformly inside them.
    """
    arms = counts.arms
    # Single precision, written with as few digits as tell the edges apart.
    edges = [float(str(edge)) for edge in np.array(counts.partition.strata[1:], np.float32)]
    accuracies = np.stack(outcome_share_intervals(arms, level), axis=-1)[:, 0]
    methods = _choose_methods(counts)
    for place, metric in list_bin_metrics(counts).items():
        share = _estimate_shares(view, [metric], counts, place, level)
        if share is not None:
            accuracies[place], methods[place] = share[0], HEADLINE
    accuracies[arms.size == 0] = np.nan
    bins = []
    for place, accuracy in enumerate(accuracies):
        items, labels = _count_cell(counts, place)
        bins.append(
            Bin(
                quantity=_build_quantity(accuracy, level, methods[place]),
                low=edges[place],
                high=edges[place + 1],
                n_pool=items,
                n_labeled=labels,
                confidence=float(arms.mean_confidence[place]) if items else None,
            )
        )
    if view is not None and HEADLINE in methods:
        row = estimate_row(view, ece, HEADLINE, level=level)
        method = NONE if row.estimate is None else HEADLINE
        return Reliability(tuple(bins), replace(row.quantity, method=method), row.reason)
    drawn = draw_values(arms, _DRAWS, rng)
    estimate, lower, upper = (float(each[0]) for each in value_intervals(arms, drawn, level, rng))
    method = next((each for each in (PSEUDO, POSTERIOR) if each in methods), EXACT)
    return Reliability(tuple(bins), Quantity(estimate, lower, upper, level, method))


def _choose_methods(counts: GroupCounts) -> Array:
    """(L,) the method of each cell, before doubly robust estimates."""
    methods = np.full(len(counts.arms.size), POSTERIOR, dtype=object)
    methods[counts.non_uniform] = PSEUDO
    methods[counts.arms.unlabelled == 0] = EXACT
    methods[counts.arms.size == 0] = NONE
    return methods


def _count_cell(counts: GroupCounts, cell: int) -> tuple[int, int]:
    """Items of a cell, and labels in it."""
    return int(counts.arms.size[cell]), int(counts.labelled[cell])


def _estimate_shares(
    view: View | None, metrics: list[Metric], counts: GroupCounts, cell: int, level: float
) -> Array | None:
    """(M, 3) doubly robust estimates, lower and upper ends of shares of a cell's items.

    Several shares are all that there are: estimates are divided by their sum, and ends with them.
    None where the cell has too few labels, or one of the estimates has no number.
    """
    if view is None or _count_used(view, counts, cell) < NEEDS_INSIDE:
        return None
    # The estimates are shares of all items; how many items are in the cell is known.
    arms, numbers = counts.arms, []
    for metric in metrics:
        row = estimate_row(view, metric, HEADLINE, level=level)
        numbers.append((row.estimate, row.lower, row.upper))
    share = arms.size[cell] / arms.size.sum()
    shares = np.clip(np.array(numbers, float) / share, 0, None)
    total = shares[:, 0].sum()
    if not np.isfinite(shares).all() or (len(shares) > 1 and total <= 0):
        return None
    return np.minimum(shares / total if len(shares) > 1 else shares, 1)


def _count_used(view: View, counts: GroupCounts, cell: int) -> int:
    """Labelled draws in a cell that estimates use."""
    log, steps = view.log, view.evidence.steps
    inside = counts.cells[log.rows[steps]] == cell
    return int((inside & (log.status[steps] == LABELLED)).sum())


def _build_quantity(numbers: Array, level: float, method: str) -> Quantity:
    """From (3,) estimate, lower and upper; NaN where there is none."""
    estimate, lower, upper = (float(each) if np.isfinite(each) else None for each in numbers)
    return Quantity(estimate, lower, upper, level, str(method))
