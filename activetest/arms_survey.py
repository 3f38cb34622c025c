"""What the labels so far say about every group of one column: the counts behind all posteriors.

Active Bayesian Assessment (Ji 2021), Priors and Table 1. Labels speak for the rest of a cell as
they are where they were drawn uniformly inside it, and by weight where they were not.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from activetest import specs
from activetest.arms import ACCURACY, CONFUSION, COST, ECE, ERROR, KINDS, Arms
from activetest.arms_cells import EDGES, Ground, Partition, believed, surveyed
from activetest.errors import ChoiceError
from activetest.evidence import DECLINED, LABELLED, Array, Choices, Log, Outputs, Round, Rows
from activetest.groups import PREDICTED
from activetest.metrics import _calibration

# Labels that a prior counts as, unless the user says otherwise.
_STRENGTHS = {ACCURACY: 2.0, ERROR: 2.0, ECE: 2.0, COST: 1.0, CONFUSION: 1.0}


@dataclass(frozen=True)
class Survey:
    """What is known of the groups of one column.

    arms        the counts
    partition   how the pool was cut into their cells
    cells       (N,) cell of every row
    weighted    (A,) whether evidence of the group rests on labels that were not drawn uniformly
                inside its cells, and so counts by weight
    declined    items that were declined, in all groups
    informed    whether priors come from the model's probabilities
    predicted   (L,) code of the class that is predicted in each cell, for costs and confusion; None
                for other kinds
    uneven      (L,) as weighted, of every cell
    """

    arms: Arms
    partition: Partition
    cells: Array
    weighted: Array
    declined: int
    informed: bool = True
    predicted: Array | None = None
    uneven: Array | None = None


def survey(
    log: Log, cache, choices: Choices, *, kind: str | None = None, group: str | None = None
) -> Survey:
    """The groups of a column (default: the first of the choices) as the log knows them.

    A group "" is the whole pool. kind is one of KINDS or a specification such as ece[10] (default:
    what the task is judged by). One pass over the pool the first time, and none after that. Raises
    ChoiceError where the pool or the choices lack what the kind needs: classes, probabilities,
    costs.
    """
    asked = kind or judged(choices)
    kind = _checked(asked, cache, choices)
    partition = _partition(asked, cache, task_group(choices) if group is None else group)
    width = _width(kind, cache)
    ground = surveyed(cache, partition, kind in (COST, CONFUSION), width)
    positions = np.concatenate([log.rows, log.brought_rows])
    status = np.concatenate([log.status, log.brought_status])
    rows = cache.take(positions)
    labels = np.concatenate([log.labels, log.brought_labels])
    cells, outcome = ground.cells[positions], _outcome(rows.outputs, labels, kind, width)
    told, declined = status == LABELLED, status == DECLINED
    shape = ground.size.shape[0], width
    known = _counts(cells[told], outcome[told], np.ones(told.sum()), shape)
    size = ground.size - np.bincount(cells[declined], minlength=shape[0])
    drawn = slice(0, len(log.rows))
    counted = told[drawn]
    evidence, heavy = _evidence(log, cache, partition, counted, cells[drawn], outcome[drawn], shape)
    owner = partition.owner(cache)
    values = partition.values(cache)
    predicted = _predicted(partition, cache, shape[0]) if kind in (COST, CONFUSION) else None
    arms = Arms(
        kind=kind,
        meaning=tuple({partition.group: value} if partition.group else {} for value in values),
        owner=owner,
        size=size,
        worth=_worth(kind, choices, predicted, shape),
        score=_score(ground, rows, cells, declined, size, predicted),
        known=known,
        evidence=evidence,
        prior=_prior(ground, rows, cells, told | declined, choices, kind, width),
    )
    weighted = np.bincount(owner, heavy, minlength=len(values)) > 0
    informed = ground.belief is not None and choices.prior == "informative"
    declines = int(declined.sum())
    about = weighted, declines, informed, predicted, heavy
    return Survey(arms, partition, ground.cells, *about)


def judged(choices: Choices) -> str:
    """What the task's groups are judged by: the target, else the metric."""
    return choices.target or choices.metric


def task_group(choices: Choices) -> str:
    """The group column of the task. Raises ChoiceError where there is none."""
    if not choices.groups:
        raise ChoiceError("there are no groups to assess", f"init --group {PREDICTED}, or a column")
    return choices.groups[0]


def _checked(asked: str, cache, choices: Choices) -> str:
    """The kind that is asked for. Raises ChoiceError where it cannot be had."""
    kind, _ = specs.split(asked)
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
        specs.one(asked, specs.facts(cache.roles, choices.costs, cache))
    return kind


def _partition(asked: str, cache, group: str) -> Partition:
    kind, argument = specs.split(asked)
    if kind == ECE:
        return Partition(group, (EDGES, *_edges(cache, argument)))
    if kind in (COST, CONFUSION) and not _is_class(group, cache):
        return Partition(group, (PREDICTED,))
    # The predicted class is not cut by itself: its square would be all but empty.
    return Partition(group)


@lru_cache(maxsize=4)
def _edges(cache, argument: str | None) -> tuple[float, ...]:
    """(B + 1,) edges of bins of the confidence; kept, for equal counts ask for all of them."""
    facts = specs.facts(cache.roles, None, cache)
    return tuple(map(float, _calibration.edges(ECE, facts, argument)))


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


def _counts(cells: Array, outcome: Array, weights: Array, shape: tuple[int, int]) -> Array:
    """(L, J) sums of weights by cell and outcome."""
    places = cells.astype(np.intp) * shape[1] + outcome
    return np.bincount(places, weights, minlength=shape[0] * shape[1]).reshape(shape)


def _evidence(
    log: Log, cache, partition: Partition, counted: Array, cells: Array, outcome: Array, shape
) -> tuple[Array, Array]:
    """(L, J) counts of drawn labels that speak for their cell, and (L,) where some are weighted.

    counted (D,) is True for labelled draws. Weighted ones count as many as uniform draws would that
    tell as much: (sum w)^2 / sum w^2 (Kish 1965), split as their weights are.
    """
    even, weights = np.zeros(len(cells), bool), np.zeros(len(cells))
    for each in log.history:
        here = slice(*np.searchsorted(log.round, [each.number, each.number + 1]))
        if _even(each, partition, cache):
            even[here] = True
        elif not each.picked:
            left = each.count[0] - np.arange(here.stop - here.start)
            weights[here] = 1 / (log.probs[here] * left)
    weights *= counted & ~even
    plain = _counts(cells, outcome, (counted & even).astype(float), shape)
    by_weight = _counts(cells, outcome, weights, shape)
    total = by_weight.sum(axis=1)
    squares = np.bincount(cells, weights**2, minlength=shape[0])
    heavy = squares > 0
    worth = np.divide(total, squares, out=np.zeros(shape[0]), where=heavy)
    return plain + by_weight * worth[:, None], heavy


def _even(each: Round, partition: Partition, cache) -> bool:
    """Whether a round's draws were uniform inside every cell of the partition."""
    if each.shares:
        drawn = Partition(each.shares.group, each.shares.strata)
        inside = drawn.factors(cache) <= partition.factors(cache)
        return inside or (not each.picked and each.choices["floor"] == 1)
    alike = each.choices["acquisition"] == "uniform" or each.choices["floor"] == 1
    return alike and not each.picked


def _predicted(partition: Partition, cache, count: int) -> Array:
    """(L,) code of the class that is predicted in each cell."""
    if partition.strata:
        return np.arange(count) % partition.deep(cache)
    places = {name: code for code, name in enumerate(cache.classes)}
    return np.array([places[value] for value in partition.values(cache)])


def _worth(kind: str, choices: Choices, predicted: Array | None, shape) -> Array:
    """(L, J) what an outcome counts; in a confusion matrix, whether the prediction is right."""
    if predicted is None:
        return np.tile([0.0, 1.0] if kind == ERROR else [1.0, 0.0], (shape[0], 1))
    if kind == CONFUSION:
        return (np.arange(shape[1]) == predicted[:, None]).astype(float)
    costs = np.array(choices.costs, float)
    # A class outside the pool's costs the most that the prediction can cost.
    costs = np.column_stack([costs, costs.max(axis=1)])
    return costs[predicted, : shape[1]]


def _score(ground: Ground, rows: Rows, cells: Array, declined: Array, size: Array, predicted):
    """(L,) mean confidence of the cell's items that can be answered; 0 without any."""
    if ground.belief is None:
        return np.full(len(size), np.nan)
    right = 0 if predicted is None else predicted
    total = ground.belief[np.arange(len(size)), right]
    confidence = rows.outputs.confidence[declined]
    total = total - np.bincount(cells[declined], confidence, minlength=len(size))
    return np.where(size > 0, total / np.maximum(size, 1), 0.0)


def _prior(
    ground: Ground, rows: Rows, cells: Array, seen: Array, choices: Choices, kind: str, width: int
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
