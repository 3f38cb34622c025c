"""What the labels so far say about every group of one column: the counts behind all posteriors.

Active Bayesian Assessment (Ji 2021), Priors and Table 1. Labels speak for the rest of a cell as
they are where they were drawn uniformly inside it, and by weight where they were not.
"""

from dataclasses import dataclass

import numpy as np

from activetest.bandits.arms import ACCURACY, CONFUSION, COST, ECE, ERROR, KINDS, Arms
from activetest.bandits.exchangeable import counts, exchangeable_counts
from activetest.bandits.partition import EDGES, CellTotals, Partition, believed, cell_totals
from activetest.errors import ChoiceError
from activetest.item_statistics import calibration, specification
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, Log
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.pool.groups import PREDICTED

# Labels that a prior counts as, unless the user says otherwise.
_STRENGTHS = {ACCURACY: 2.0, ERROR: 2.0, ECE: 2.0, COST: 1.0, CONFUSION: 1.0}


@dataclass(frozen=True)
class GroupCounts:
    """What is known of the groups of one column.

    arms        the counts
    partition   how the pool was cut into their cells
    cells       (N,) cell of every row
    labelled    (L,) labels there are in each cell, whether they count or not
    non_uniform      (L,) cells whose evidence rests on labels that were not drawn uniformly inside them,
                and so counts by weight
    informed    whether priors come from the model's probabilities
    """

    arms: Arms
    partition: Partition
    cells: Array
    labelled: Array
    non_uniform: Array
    informed: bool

    @property
    def weighted(self) -> Array:
        """(A,) whether some cell of the group is non_uniform."""
        return self.arms.total(self.non_uniform.astype(float)) > 0


def count_groups(
    log: Log, cache, choices: Choices, *, kind: str | None = None, group: str | None = None
) -> GroupCounts:
    """The groups of a column (default: the first of the choices) as the log knows them.

    A group "" is the whole pool. kind is one of KINDS or a specification such as ece[10] (default:
    what the task is judged by). One pass over the pool the first time, and none after that. Raises
    ChoiceError where the pool or the choices lack what the kind needs: classes, probabilities,
    costs.
    """
    asked = kind or choices.judged
    kind = _checked(asked, cache, choices)
    partition = _partition(asked, cache, task_group(choices) if group is None else group)
    width = _width(kind, cache)
    ground = cell_totals(cache, partition, kind in (COST, CONFUSION), width)
    positions = np.concatenate([log.rows, log.supplied_rows])
    status = np.concatenate([log.status, log.supplied_status])
    rows = cache.take(positions)
    labels = np.concatenate([log.labels, log.supplied_labels])
    cells, outcome = ground.cells[positions], _outcome(rows.outputs, labels, kind, width)
    shape = ground.size.shape[0], width
    told, declined = status == LABELLED, status == DECLINED
    size = ground.size - np.bincount(cells[declined], minlength=shape[0])
    known, evidence, non_uniform = exchangeable_counts(
        log, cache, partition, cells, outcome, size, shape
    )
    owner = partition.owner(cache)
    values = partition.values(cache)
    predicted = _predicted(partition, cache, shape[0]) if kind in (COST, CONFUSION) else None
    arms = Arms(
        kind=kind,
        meaning=tuple({partition.group: value} if partition.group else {} for value in values),
        owner=owner,
        size=size,
        value=_value(kind, choices, predicted, shape),
        score=_score(ground, rows, cells, declined, size, predicted),
        known=counts(cells[known], outcome[known], np.ones(known.sum()), shape),
        told=None if (known == told).all() else counts(cells[told], outcome[told], None, shape),
        evidence=evidence,
        prior=_prior(ground, rows, cells, known | declined, choices, kind, width),
    )
    return GroupCounts(
        arms=arms,
        partition=partition,
        cells=ground.cells,
        labelled=np.bincount(cells[told], minlength=shape[0]),
        non_uniform=non_uniform,
        informed=ground.belief is not None and choices.prior == "informative",
    )


def task_group(choices: Choices) -> str:
    """The group column of the task. Raises ChoiceError where there is none."""
    if not choices.groups:
        raise ChoiceError("there are no groups to assess", f"init --group {PREDICTED}, or a column")
    return choices.groups[0]


def _checked(asked: str, cache, choices: Choices) -> str:
    """The kind that is asked for. Raises ChoiceError where it cannot be had."""
    kind, _ = specification.split(asked)
    if kind not in KINDS:
        raise ChoiceError(
            f"groups cannot be judged by {asked!r}", f"choose from {', '.join(KINDS)}"
        )
    if not cache.classes:
        raise ChoiceError(
            "groups are judged by their labels' classes, and this pool predicts values",
            "leave the task out; report gives metrics of groups",
        )
    if kind != CONFUSION:
        specification.one(asked, specification.facts(cache.roles, choices.costs, cache))
    return kind


def _partition(asked: str, cache, group: str) -> Partition:
    kind, argument = specification.split(asked)
    if kind == ECE:
        return Partition(group, (EDGES, *_edges(cache, argument)))
    if kind in (COST, CONFUSION) and not _is_class(group, cache):
        return Partition(group, (PREDICTED,))
    # The predicted class is not cut by itself: its square would be all but empty.
    return Partition(group)


def _edges(cache, argument: str | None) -> tuple[float, ...]:
    """(B + 1,) edges of bins of the confidence; kept, for equal counts ask for all of them."""

    def found() -> tuple[float, ...]:
        facts = specification.facts(cache.roles, None, cache)
        return tuple(map(float, calibration.edges(ECE, facts, argument)))

    return cache.kept(("edges", argument), found)


def _is_class(group: str, cache) -> bool:
    """Whether a group is the predicted class, and no column of that name."""
    return group == PREDICTED and PREDICTED in cache.roles.get("computed", ())


def _width(kind: str, cache) -> int:
    """J outcomes: right and wrong, or the classes and where it may occur any other."""
    if kind not in (COST, CONFUSION):
        return 2
    return len(cache.classes) + bool(cache.roles.get("open_classes"))


def _outcome(outputs: Outputs, labels: Array, kind: str, width: int) -> Array:
    """(R,) which outcome each label is; a class outside the pool's is the last one."""
    if kind not in (COST, CONFUSION):
        return (labels != outputs.pred).astype(np.intp)
    codes = np.nan_to_num(labels, nan=0).astype(np.intp)
    return np.where(codes < 0, width - 1, codes)


def _predicted(partition: Partition, cache, count: int) -> Array:
    """(L,) code of the class that is predicted in each cell."""
    if partition.strata:
        return np.arange(count) % partition.deep(cache)
    places = {name: code for code, name in enumerate(cache.classes)}
    return np.array([places[value] for value in partition.values(cache)])


def _value(kind: str, choices: Choices, predicted: Array | None, shape) -> Array:
    """(L, J) what an outcome counts; in a confusion matrix, whether the prediction is right."""
    if predicted is None:
        return np.tile([0.0, 1.0] if kind == ERROR else [1.0, 0.0], (shape[0], 1))
    if kind == CONFUSION:
        return (np.arange(shape[1]) == predicted[:, None]).astype(float)
    costs = np.array(choices.costs, float)
    # A class outside the pool's costs the most that the prediction can cost.
    costs = np.column_stack([costs, costs.max(axis=1)])
    return costs[predicted, : shape[1]]


def _score(ground: CellTotals, rows: Rows, cells: Array, declined: Array, size: Array, predicted):
    """(L,) mean confidence of the cell's items that can be answered; 0 without any."""
    if ground.belief is None:
        return np.full(len(size), np.nan)
    right = 0 if predicted is None else predicted
    total = ground.belief[np.arange(len(size)), right]
    confidence = rows.outputs.confidence[declined]
    total = total - np.bincount(cells[declined], confidence, minlength=len(size))
    return np.where(size > 0, total / np.maximum(size, 1), 0.0)


def _prior(
    ground: CellTotals,
    rows: Rows,
    cells: Array,
    seen: Array,
    choices: Choices,
    kind: str,
    width: int,
) -> Array:
    """(L, J) parameters of each cell's Dirichlet before any label.

    Informative: the mean probabilities of the items without a label, times the strength.
    """
    strength = _STRENGTHS[kind] if choices.strength is None else choices.strength
    count, belief = len(ground.size), ground.belief
    even = np.full((count, width), 1 / width)
    if choices.prior == "uniform" or belief is None:
        return strength * even
    left = ground.size - np.bincount(cells[seen], minlength=count)
    gone = believed(rows.outputs[seen], cells[seen], belief.shape, kind in (COST, CONFUSION))
    # Where nothing is left the prior speaks for no item.
    rest = np.where(left[:, None] > 0, np.maximum(belief - gone, 0), belief)
    total = rest.sum(axis=1, keepdims=True)
    return strength * np.divide(rest, total, out=even, where=total > 0)
