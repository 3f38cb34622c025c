"""The confusion matrix and the reliability of a pool, for reports on a task."""

from dataclasses import replace

import numpy as np

from activetest.bandits.counts import GroupCounts, count_groups
from activetest.bandits.credible import entries, intervals
from activetest.bandits.ranks import draws
from activetest.estimation.view import View
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.item_statistics.calibration import in_bins
from activetest.item_statistics.metric import Metric, fraction, linear
from activetest.item_statistics.statistic import statistic
from activetest.nouns.group_report import Bin, Cell, Column, Confusion, Reliability
from activetest.nouns.log import LABELLED
from activetest.nouns.rows import Array
from activetest.pool.groups import BINS, CONFIDENCE
from activetest.reporting.group_ranking import EXACT, NONE, POSTERIOR, PSEUDO
from activetest.reporting.rows import HEADLINE, estimate_row

# Classes whose cells are all kept, and the mistakes that are kept of more.
_WHOLE, _MISTAKES = 40, 20
# Classes whose columns are estimated by weight where they have to be: a pass over the pool each.
_WEIGHED = 12
_DRAWS = 10_000
_OUTSIDE = "another class"
BINS_KIND = f"ece[{len(BINS)}]"


def by_class(log, cache, choices) -> GroupCounts:
    """The whole pool, cut by predicted classes."""
    return count_groups(log, cache, choices, kind="confusion", group="")


def by_confidence(log, cache, choices) -> GroupCounts:
    """The whole pool, cut by bins of the confidence.

    Bins are those of the metric, or the groups `confidence` where labels were drawn uniformly
    inside these: they differ in where their edges belong.
    """
    made = count_groups(log, cache, choices, kind=BINS_KIND, group="")
    if not non_uniform(made).any() or CONFIDENCE not in cache.roles.get("computed", ()):
        return made
    groups = count_groups(log, cache, choices, kind="accuracy", group=CONFIDENCE)
    if groups.weighted.any():
        return made
    places = [BINS.index(meaning[CONFIDENCE]) for meaning in groups.arms.meaning]
    told = {}
    for name in ("size", "score", "known", "evidence", "prior"):
        old = getattr(made.arms, name)
        told[name] = np.zeros_like(old) if name != "prior" else old.copy()
        told[name][places] = getattr(groups.arms, name)
    labelled = np.zeros_like(made.labelled)
    labelled[places] = groups.labelled
    if groups.arms.told is not None:
        told["told"] = np.zeros_like(told["known"])
        told["told"][places] = groups.arms.told
    arms = replace(made.arms, **{"told": None} | told)
    return replace(made, arms=arms, labelled=labelled, non_uniform=np.zeros_like(made.non_uniform))


def non_uniform(made: GroupCounts) -> Array:
    """(L,) cells whose labels count by weight, and which are not known exactly."""
    return made.non_uniform & (made.arms.rest > 0)


def confusion_metrics(made: GroupCounts, classes: tuple[str, ...]) -> dict[int, list[Metric]]:
    """{predicted class: the metrics of its J cells} of columns whose labels count by weight.

    Labels outside the classes have what all others leave of the column's share of the pool.
    """
    if len(classes) > _WEIGHED:
        return {}
    found, arms = {}, made.arms
    for column in map(int, np.flatnonzero(non_uniform(made))):
        said = classes[column]
        cells = [statistic(f"cell:{row}:{column}") for row in range(len(classes))]
        found[column] = [
            linear("confusion", cell, class_name=f"{truth} as {said}")
            for cell, truth in zip(cells, classes, strict=True)
        ]
        if arms.prior.shape[1] > len(classes):
            share = arms.size[column] / arms.size.sum()
            above, below = (share, *[-1.0] * len(cells)), (1.0, *[0.0] * len(cells))
            name = f"{_OUTSIDE} as {said}"
            found[column].append(
                fraction(name, cells, above=above, below=below, upper=float(share))
            )
    return found


def bin_metrics(made: GroupCounts) -> dict[int, Metric]:
    """{bin: share of all items that are right and in it} of bins whose labels count by weight."""
    right = in_bins("right_in", np.array(made.partition.strata[1:], np.float32))
    return {
        int(place): linear(f"right in bin {place}", right[place])
        for place in np.flatnonzero(non_uniform(made))
    }


def confusion(
    made: GroupCounts, view: View | None, classes: tuple[str, ...], level: float
) -> Confusion:
    """P(true class | predicted class): a posterior that counts true labels (Ji 2021, Table 1).

    Columns whose labels were not drawn uniformly inside are made of doubly robust estimates of
    their cells, over the column's known share of the pool; where there are few labels for that, or
    many classes, labels count in the posterior by weight.
    """
    arms, truths = made.arms, (*classes, _OUTSIDE)[: made.arms.prior.shape[1]]
    told = np.stack(entries(arms, level), axis=-1)
    method = _methods(made)
    for place, metrics in confusion_metrics(made, classes).items():
        column = _column(view, metrics, made, place, level)
        if column is not None:
            told[place], method[place] = column, HEADLINE
    told[arms.size == 0] = np.nan
    columns = tuple(
        Column(name, *_counts(made, place), str(method[place]))
        for place, name in enumerate(classes)
    )
    cells = [
        Cell(truth, said, *_numbers(told[column, row]))
        for column, said in enumerate(classes)
        for row, truth in enumerate(truths)
    ]
    complete = len(classes) <= _WHOLE
    if not complete:
        wrong = [each for each in cells if each.truth != each.predicted and each.estimate]
        cells = sorted(wrong, key=lambda each: -each.estimate)[:_MISTAKES]
    return Confusion(classes, truths, columns, tuple(cells), complete)


def reliability(
    made: GroupCounts, view: View | None, ece: Metric, level: float, rng: np.random.Generator
) -> Reliability:
    """Accuracy in each bin of the confidence, and the calibration error that the bins make.

    ece is that of the same bins, for labels that were not drawn uniformly inside them.
    """
    arms = made.arms
    # As short as single precision tells them apart.
    edges = [float(str(edge)) for edge in np.array(made.partition.strata[1:], np.float32)]
    told = np.stack(entries(arms, level), axis=-1)[:, 0]
    method = _methods(made)
    for place, metric in bin_metrics(made).items():
        column = _column(view, [metric], made, place, level)
        if column is not None:
            told[place], method[place] = column[0], HEADLINE
    told[arms.size == 0] = np.nan
    bins = tuple(
        Bin(
            edges[place],
            edges[place + 1],
            *_counts(made, place),
            float(arms.score[place]) if arms.size[place] else None,
            *_numbers(told[place]),
            str(method[place]),
        )
        for place in range(len(told))
    )
    if HEADLINE in method:
        found = estimate_row(view, ece, HEADLINE, level=level)
        told = found.estimate, found.lower, found.upper
        return Reliability(bins, *told, NONE if found.estimate is None else HEADLINE, found.reason)
    drawn = draws(arms, _DRAWS, rng)
    ece = (float(each[0]) for each in intervals(arms, drawn, level, rng))
    method = next((each for each in (PSEUDO, POSTERIOR) if each in method), EXACT)
    return Reliability(bins, *ece, method)


def _methods(made: GroupCounts) -> Array:
    method = np.full(len(made.arms.size), POSTERIOR, dtype=object)
    method[made.non_uniform] = PSEUDO
    method[made.arms.rest == 0] = EXACT
    method[made.arms.size == 0] = NONE
    return method


def _counts(made: GroupCounts, cell: int) -> tuple[int, int]:
    """Items of a cell, and labels in it."""
    return int(made.arms.size[cell]), int(made.labelled[cell])


def _column(
    view: View, metrics: list[Metric], made: GroupCounts, cell: int, level: float
) -> Array | None:
    """(M, 3) doubly robust estimates and ends of shares of a cell's items.

    Several are all that there are: they are made to sum to one, and ends move along. None where
    estimates use too few labels of the cell, or one of them has no number.
    """
    if _used(view, made, cell) < NEEDS_INSIDE:
        return None
    # Estimated is the share of all items; how many are in the cell is known.
    arms, told = made.arms, []
    for metric in metrics:
        found = estimate_row(view, metric, HEADLINE, level=level)
        told.append((found.estimate, found.lower, found.upper))
    share = arms.size[cell] / arms.size.sum()
    told = np.clip(np.array(told, float) / share, 0, None)
    total = told[:, 0].sum()
    if not np.isfinite(told).all() or (len(told) > 1 and total <= 0):
        return None
    return np.minimum(told / total if len(told) > 1 else told, 1)


def _used(view: View, made: GroupCounts, cell: int) -> int:
    """Labelled draws in a cell that estimates use."""
    log, steps = view.log, view.evidence.steps
    inside = made.cells[log.rows[steps]] == cell
    return int((inside & (log.status[steps] == LABELLED)).sum())


def _numbers(told: Array) -> tuple[float | None, float | None, float | None]:
    """Plain numbers, None where there is none."""
    return tuple(float(each) if np.isfinite(each) else None for each in told)
