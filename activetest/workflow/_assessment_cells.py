"""The confusion matrix and the reliability of a pool, for reports on a task."""

from dataclasses import replace

import numpy as np

from activetest.arms import Arms, samples
from activetest.arms_intervals import entries, intervals
from activetest.arms_survey import Survey, survey
from activetest.assess_view import View
from activetest.evidence import Array
from activetest.groups import BINS, CONFIDENCE
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.metrics._calibration import in_bins
from activetest.metrics._metric import Metric, linear
from activetest.metrics._statistics import statistic
from activetest.report_groups import Bin, Cell, Column, Confusion, Reliability
from activetest.workflow._assessment_groups import EXACT, NONE, POSTERIOR
from activetest.workflow._lines import HEADLINE, line

# Classes whose cells are all kept, and the mistakes that are kept of more.
_WHOLE, _MISTAKES = 40, 20
# Classes whose columns are estimated by weight where they have to be: a pass over the pool each.
_WEIGHED = 12
_DRAWS = 10_000
_OUTSIDE = "another class"
_UNEVEN = "its labels were not drawn uniformly inside it"
_FEW = f"fewer than {NEEDS_INSIDE} labels, and not drawn uniformly inside it"
BINS_KIND = f"ece[{len(BINS)}]"


def by_class(log, cache, choices) -> Survey:
    """The whole pool, cut by predicted classes."""
    return survey(log, cache, choices, kind="confusion", group="")


def by_confidence(log, cache, choices) -> Survey:
    """The whole pool, cut by bins of the confidence.

    Bins are those of the metric, or the groups `confidence` where labels were drawn uniformly
    inside these: they differ in where their edges belong.
    """
    made = survey(log, cache, choices, kind=BINS_KIND, group="")
    if not uneven(made).any() or CONFIDENCE not in cache.roles.get("computed", ()):
        return made
    groups = survey(log, cache, choices, kind="accuracy", group=CONFIDENCE)
    if groups.weighted.any():
        return made
    places = [BINS.index(meaning[CONFIDENCE]) for meaning in groups.arms.meaning]
    told = {}
    for name in ("size", "score", "known", "evidence", "prior"):
        old = getattr(made.arms, name)
        told[name] = np.zeros_like(old) if name != "prior" else old.copy()
        told[name][places] = getattr(groups.arms, name)
    return replace(made, arms=replace(made.arms, **told), uneven=np.zeros_like(made.uneven))


def uneven(made: Survey) -> Array:
    """(L,) cells that need a weighted estimate."""
    return made.uneven & (made.arms.rest > 0)


def confusion_metrics(made: Survey, classes: tuple[str, ...]) -> dict[int, list[Metric]]:
    """{predicted class: the metrics of its C cells} of columns that need weighted estimates."""
    if len(classes) > _WEIGHED:
        return {}
    return {
        int(column): [
            linear(
                "confusion",
                statistic(f"cell:{row}:{column}"),
                class_name=f"{truth} as {classes[column]}",
            )
            for row, truth in enumerate(classes)
        ]
        for column in np.flatnonzero(uneven(made))
    }


def bin_metrics(made: Survey) -> dict[int, Metric]:
    """{bin: share of all items that are right and in it} of bins that need weighted estimates."""
    right = in_bins("right_in", np.array(made.partition.strata[1:], np.float32))
    return {
        int(place): linear(f"right in bin {place}", right[place])
        for place in np.flatnonzero(uneven(made))
    }


def confusion(made: Survey, view: View | None, classes: tuple[str, ...], level: float) -> Confusion:
    """P(true class | predicted class): a posterior that counts true labels (Ji 2021, Table 1).

    Columns whose labels were not drawn uniformly inside are made of doubly robust estimates of
    their cells, over the column's known share of the pool.
    """
    arms, truths = made.arms, (*classes, _OUTSIDE)[: made.arms.prior.shape[1]]
    told = np.stack(entries(arms, level), axis=-1)
    method, reason = _methods(made), [None] * len(classes)
    asked = confusion_metrics(made, classes)
    for place in np.flatnonzero(uneven(made)):
        told[place] = np.nan
        few = arms.known[place].sum() < NEEDS_INSIDE
        if few or place not in asked:
            method[place] = NONE
            reason[place] = _FEW if few else f"{_UNEVEN}; report --metric 'confusion[A as B]'"
            continue
        method[place] = HEADLINE
        told[place] = _column(view, asked[place], arms, place, level)
    told[arms.size == 0] = np.nan
    columns = tuple(
        Column(name, *_counts(arms, place), str(method[place]), reason[place])
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
    made: Survey, view: View | None, ece: Metric, level: float, rng: np.random.Generator
) -> Reliability:
    """Accuracy in each bin of the confidence, and the calibration error that the bins make.

    ece is that of the same bins, for labels that were not drawn uniformly inside them.
    """
    arms = made.arms
    # As short as single precision tells them apart.
    edges = [float(str(edge)) for edge in np.array(made.partition.strata[1:], np.float32)]
    told = np.stack(entries(arms, level), axis=-1)[:, 0]
    method, reason = _methods(made), [None] * len(told)
    asked = bin_metrics(made)
    for place, metric in asked.items():
        told[place] = np.nan
        if arms.known[place].sum() < NEEDS_INSIDE:
            method[place], reason[place] = NONE, _FEW
        else:
            method[place] = HEADLINE
            told[place] = _share(view, metric, arms, place, level)
    told[arms.size == 0] = np.nan
    bins = tuple(
        Bin(
            edges[place],
            edges[place + 1],
            *_counts(arms, place),
            float(arms.score[place]) if arms.size[place] else None,
            *_numbers(told[place]),
            str(method[place]),
            reason[place],
        )
        for place in range(len(told))
    )
    if asked:
        found = line(view, ece, HEADLINE, level=level)
        told = found.estimate, found.lower, found.upper
        return Reliability(bins, *told, NONE if found.estimate is None else HEADLINE, found.reason)
    drawn = samples(arms, _DRAWS, rng)
    (lower,), (upper,) = intervals(arms, drawn, level, rng)
    method = POSTERIOR if arms.rest.any() else EXACT
    return Reliability(bins, float(drawn.mean()), float(lower), float(upper), method)


def _methods(made: Survey) -> Array:
    method = np.full(len(made.arms.size), POSTERIOR, dtype=object)
    method[made.arms.rest == 0] = EXACT
    method[made.arms.size == 0] = NONE
    return method


def _counts(arms: Arms, cell: int) -> tuple[int, int]:
    """Items of a cell, and labels in it."""
    return int(arms.size[cell]), int(arms.known[cell].sum())


def _share(view: View, metric: Metric, arms: Arms, cell: int, level: float) -> Array:
    """(3,) estimate and ends of a share of the cell's items, from that of all items; NaN if none.

    How many items the cell has is known.
    """
    found = line(view, metric, HEADLINE, level=level)
    told = np.array([found.estimate, found.lower, found.upper], float)
    return np.clip(told * arms.size.sum() / arms.size[cell], 0, 1)


def _column(view: View, metrics: list[Metric], arms: Arms, cell: int, level: float) -> Array:
    """(J, 3) estimates and ends of a column; what is left of it belongs to no class."""
    told = np.stack([_share(view, metric, arms, cell, level) for metric in metrics])
    total = told[:, 0].sum()
    if arms.prior.shape[1] > len(metrics):
        left = [max(1 - total, 0.0), np.nan, np.nan]
        return np.vstack([told, left])
    return np.clip(told / total, 0, 1) if total > 0 else np.full_like(told, np.nan)


def _numbers(told: Array) -> tuple[float | None, float | None, float | None]:
    """Plain numbers, None where there is none."""
    return tuple(float(each) if np.isfinite(each) else None for each in told)
