"""Label counts of every group of one column, from which all posteriors follow.

Active Bayesian Assessment (Ji 2021), Priors and Table 1. Labels that were drawn uniformly inside a
cell count as they are, all others are weighted.
"""

from dataclasses import dataclass

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics import calibration, specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, Log
from activetest.nouns.pool import PoolView
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.pool.groups import PREDICTED
from activetest.wings.groups.arms import ACCURACY, CONFUSION, COST, ECE, ERROR, KINDS, Arms
from activetest.wings.groups.choices import Prior, QuestionChoices
from activetest.wings.groups.exchangeable import exchangeable_counts, sum_by_outcome
from activetest.wings.groups.partition import (
    EDGES,
    CellTotals,
    Partition,
    compute_cell_totals,
    sum_probs,
)

# Labels that a prior counts as, unless the user says otherwise.
_STRENGTHS = {ACCURACY: 2.0, ERROR: 2.0, ECE: 2.0, COST: 1.0, CONFUSION: 1.0}


@dataclass(frozen=True)
class GroupCounts:
    """The label counts of the groups of one column.

    arms          the counts
    partition     how the pool was cut into their cells
    cells         (N,) cell of every row
    labelled      (L,) labels in each cell, whether they count as known or not
    non_uniform   (L,) cells with labels that were not drawn uniformly inside them and are weighted
    informed      whether priors come from the model's probabilities
    """

    arms: Arms
    partition: Partition
    cells: Array
    labelled: Array
    non_uniform: Array
    informed: bool

    @property
    def weighted(self) -> Array:
        """(A,) whether some cell of the group is non-uniform."""
        return self.arms.sum_cells(self.non_uniform.astype(float)) > 0


def count_groups(
    log: Log,
    cache: PoolView,
    choices: Choices,
    *,
    kind: str | None = None,
    group: str | None = None,
) -> GroupCounts:
    """The groups of a column (default: the first of the choices) with the labels of the log.

    A group "" is the whole pool. kind is one of KINDS or a specification such as ece[10] (default:
    what the groups are judged by). The pool is read once and never again. Raises ChoiceError if the
    pool or the choices lack what the kind needs: classes, probabilities, costs.
    """
    own = choices.of(QuestionChoices)
    specified = kind or name_judged(choices)
    kind = _check_kind(specified, cache, choices)
    by_class = kind in (COST, CONFUSION)
    partition = _choose_partition(specified, cache, task_group(choices) if group is None else group)
    width = _count_outcomes(kind, cache)
    totals = compute_cell_totals(cache, partition, by_class, width)
    positions, status = log.item_rows, log.item_status
    rows = cache.take(positions)
    labels = log.item_labels
    cells, outcome = totals.cells[positions], _code_outcomes(rows.outputs, labels, kind, width)
    shape = totals.size.shape[0], width
    labelled, declined = status == LABELLED, status == DECLINED
    size = totals.size - np.bincount(cells[declined], minlength=shape[0])
    known, exchangeable, non_uniform = exchangeable_counts(
        log, cache, partition, cells, outcome, size, shape
    )
    predicted = _predicted_class(partition, cache, shape[0]) if by_class else None
    arms = Arms(
        kind=kind,
        groups=tuple(
            {partition.group: value} if partition.group else {}
            for value in partition.group_values(cache)
        ),
        arm_of_cell=partition.group_of_cell(cache),
        size=size,
        value=_outcome_values(kind, choices, predicted, shape),
        mean_confidence=_average_confidence(totals, rows, cells, declined, size, predicted),
        known_counts=sum_by_outcome(cells[known], outcome[known], np.ones(known.sum()), shape),
        observed_counts=None
        if (known == labelled).all()
        else sum_by_outcome(cells[labelled], outcome[labelled], None, shape),
        exchangeable_counts=exchangeable,
        prior=_set_prior(totals, rows, cells, known | declined, own, kind, width),
    )
    return GroupCounts(
        arms=arms,
        partition=partition,
        cells=totals.cells,
        labelled=np.bincount(cells[labelled], minlength=shape[0]),
        non_uniform=non_uniform,
        informed=totals.prob_sums is not None and own.prior == Prior.INFORMATIVE,
    )


def name_judged(choices: Choices) -> str:
    """The metric that groups are judged by: the target, else the metric."""
    return choices.of(QuestionChoices).target or choices.metric


def task_group(choices: Choices) -> str:
    """The group column of the task. Raises ChoiceError where there is none."""
    if not choices.groups:
        raise ChoiceError("there are no groups to assess", f"`groups=['{PREDICTED}']`, or a column")
    return choices.groups[0]


def _check_kind(specified: str, cache: PoolView, choices: Choices) -> str:
    """The kind of a specification. Raises ChoiceError if the pool does not allow it."""
    kind, _ = specification.split_specification(specified)
    if kind not in KINDS:
        raise ChoiceError(
            f"groups cannot be judged by {specified!r}", f"choose from {', '.join(KINDS)}"
        )
    if not cache.classes:
        raise ChoiceError(
            "groups are judged by their labels' classes, and this pool predicts values",
            "leave the task out; report gives metrics of groups",
        )
    if kind != CONFUSION:
        specification.find_metric(
            specified, specification.describe_pool(cache.roles, choices.costs, cache)
        )
    return kind


def _choose_partition(specified: str, cache: PoolView, group: str) -> Partition:
    kind, argument = specification.split_specification(specified)
    if kind == ECE:
        return Partition(group, (EDGES, *_find_edges(cache, argument)))
    if kind in (COST, CONFUSION) and not _is_class(group, cache):
        return Partition(group, (PREDICTED,))
    # Groups of the predicted class need no strata of it: nearly all cells would be empty.
    return Partition(group)


def _find_edges(cache: PoolView, argument: str | None) -> tuple[float, ...]:
    """(B + 1,) edges of bins of the confidence; kept, since equal counts need a pass."""

    def find() -> tuple[float, ...]:
        facts = specification.describe_pool(cache.roles, None, cache)
        return tuple(map(float, calibration.find_edges(ECE, facts, argument)))

    return cache.compute_once(("edges", argument), find)


def _is_class(group: str, cache: PoolView) -> bool:
    """Whether a group is the computed predicted class, not a column of that name."""
    return group == PREDICTED and PREDICTED in cache.roles.get("computed", ())


def _count_outcomes(kind: str, cache: PoolView) -> int:
    """J outcomes: right and wrong, or the classes, and one for all others if they can occur."""
    if kind not in (COST, CONFUSION):
        return 2
    return len(cache.classes) + bool(cache.roles.get("open_classes"))


def _code_outcomes(outputs: Outputs, labels: Array, kind: str, width: int) -> Array:
    """(R,) code of each label's outcome; a class outside the pool's is the last one."""
    if kind not in (COST, CONFUSION):
        return (labels != outputs.pred).astype(np.intp)
    codes = np.nan_to_num(labels, nan=0).astype(np.intp)
    return np.where(codes < 0, width - 1, codes)


def _predicted_class(partition: Partition, cache: PoolView, cells: int) -> Array:
    """(L,) code of the predicted class of each cell."""
    if partition.strata:
        return np.arange(cells) % partition.count_strata(cache)
    codes = {name: code for code, name in enumerate(cache.classes)}
    return np.array([codes[value] for value in partition.group_values(cache)])


def _outcome_values(
    kind: str, choices: Choices, predicted: Array | None, shape: tuple[int, int]
) -> Array:
    """(L, J) value of each outcome; in a confusion matrix, whether the prediction is right."""
    if predicted is None:
        return np.tile([0.0, 1.0] if kind == ERROR else [1.0, 0.0], (shape[0], 1))
    if kind == CONFUSION:
        return (np.arange(shape[1]) == predicted[:, None]).astype(float)
    costs = np.array(choices.costs, float)
    # A class outside the pool's has the largest cost of the prediction.
    costs = np.column_stack([costs, costs.max(axis=1)])
    return costs[predicted, : shape[1]]


def _average_confidence(
    totals: CellTotals,
    rows: Rows,
    cells: Array,
    declined: Array,
    size: Array,
    predicted: Array | None,
) -> Array:
    """(L,) mean confidence of the cell's items that were not declined; 0 without any."""
    if totals.prob_sums is None:
        return np.full(len(size), np.nan)
    outcome = 0 if predicted is None else predicted
    total = totals.prob_sums[np.arange(len(size)), outcome]
    confidence = rows.outputs.confidence[declined]
    total = total - np.bincount(cells[declined], confidence, minlength=len(size))
    return np.where(size > 0, total / np.maximum(size, 1), 0.0)


def _set_prior(
    totals: CellTotals,
    rows: Rows,
    cells: Array,
    excluded: Array,
    choices: QuestionChoices,
    kind: str,
    width: int,
) -> Array:
    """(L, J) parameters of each cell's Dirichlet before any label.

    Informative: the mean probabilities of the items without a label, times the strength.
    """
    strength = _STRENGTHS[kind] if choices.prior_strength is None else choices.prior_strength
    cell_count, prob_sums = len(totals.size), totals.prob_sums
    equal = np.full((cell_count, width), 1 / width)
    if choices.prior == Prior.UNIFORM or prob_sums is None:
        return strength * equal
    left = totals.size - np.bincount(cells[excluded], minlength=cell_count)
    excluded_sums = sum_probs(
        rows.outputs[excluded], cells[excluded], prob_sums.shape, kind in (COST, CONFUSION)
    )
    # Without remaining items the prior applies to no item.
    remaining = np.where(left[:, None] > 0, np.maximum(prob_sums - excluded_sums, 0), prob_sums)
    total = remaining.sum(axis=1, keepdims=True)
    return strength * np.divide(remaining, total, out=equal, where=total > 0)
