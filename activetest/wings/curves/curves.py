"""ROC, precision-recall and reliability, with an interval at every point.

A point is the estimate of a metric as in any other row of a report: recall, false positive rate and
precision with the class called from a threshold on, or accuracy in a group of items.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from activetest import catalog
from activetest.errors import ChoiceError, NotEstimable
from activetest.estimation.cells import view_cells
from activetest.estimation.cut_pool import CutPool
from activetest.estimation.samples import find_metric_steps
from activetest.estimation.simultaneous import find_joint_level
from activetest.estimation.value import Value
from activetest.estimation.view import FIXED, View, build_view
from activetest.item_statistics import arguments, calibration, specification
from activetest.item_statistics.metric import Facts, Metric, linear_metric
from activetest.item_statistics.rates import Rate
from activetest.item_statistics.thresholds import (
    choose_thresholds,
    find_cells,
    find_own_threshold,
    hit,
    rate_at,
    share_at,
)
from activetest.nouns.choices import Choices
from activetest.nouns.curve import MEASURES, Curve, CurveKind, CurvePoint
from activetest.nouns.estimate import FEW
from activetest.nouns.log import Log
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.pool import PoolView
from activetest.nouns.quantity import Quantity
from activetest.nouns.report import EstimateRow
from activetest.nouns.rows import Array
from activetest.reporting.rows import (
    HEADLINE,
    count_bought,
    count_labelled,
    estimate_groups,
    estimate_row,
)
from activetest.rounds.fit import get_surrogate, list_labelled, make_generator

# Thresholds unless another number is given, and the most.
POINTS, _MOST = 100, 1000
# Largest rounding error of a whole number of items.
_ROUNDING = 1e-6
_NOTHING = "no item has a score above all scores"
_EMPTY = "the pool has no item in this bin"
# Measures that are constant from a threshold to the next, and fall as the threshold rises.
_FALLING = ("recall", "false_positive_rate")
# Shares of which these are the first over the sum.
_PARTS = {
    "recall": ("tp", "fn"),
    "false_positive_rate": ("fp", "tn"),
    "precision": ("tp", "fp"),
}
# Labels of the rarer kind, as uniform draws would have shown them, with which the delta method is
# believed where draws are not uniform (tests/benchmarks: bands of curves).
_ENOUGH = {"recall": 3, "false_positive_rate": 3, "precision": 8}


def estimate_curve(
    log: Log,
    cache: PoolView,
    choices: Choices,
    facts: Facts,
    kind: CurveKind,
    *,
    class_name: str | None,
    points: int | None,
    bins: str | None,
    simultaneous: bool,
    seed: int,
) -> Curve:
    """A curve of the pool, from what the log says.

    class_name     default: the positive class of a binary pool; for reliability the predicted class
    points         thresholds at most, for curves that have any
    bins           as in the brackets of ece, for reliability
    simultaneous   all intervals hold together with the probability of the level, not each alone

    Raises ChoiceError for a class, a number or bins that the pool or the curve does not have.
    """
    if facts.task != "classification":
        raise ChoiceError(
            f"a {kind} curve is about classes, and this pool has values",
            "`study.report()` shows its metrics",
        )
    arguments.require_probabilities(f"{kind} curve", facts)
    if kind == CurveKind.RELIABILITY:
        if points is not None:
            raise ChoiceError("a reliability curve has bins, no thresholds", "`bins=10`")
        code = None if class_name is None else _find_class(facts, class_name)
        return _estimate_reliability(
            log, cache, choices, facts, code, bins, simultaneous=simultaneous, seed=seed
        )
    if bins is not None:
        raise ChoiceError(f"a {kind} curve has thresholds, no bins", "`points=50`")
    count = POINTS if points is None else points
    if not 2 <= count <= _MOST:
        raise ChoiceError(f"`points` is {count}", f"it must be from 2 to {_MOST:,}")
    code = _find_class(facts, class_name)
    return _estimate_rates(
        log, cache, choices, facts, kind, code, count, simultaneous=simultaneous, seed=seed
    )


def _find_class(facts: Facts, name: str | None) -> int:
    """The code of a class. Raises ChoiceError where it is not one of the pool's, or not given."""
    if name is None and facts.positive is not None:
        return facts.positive
    if name is None:
        raise ChoiceError(
            "a curve is about one class against all others, and this pool has "
            f"{len(facts.classes)}",
            f"name one of them: {shorten_list(facts.classes)}",
        )
    if name not in facts.classes:
        raise ChoiceError(
            f"there is no class {name!r}", f"the classes are {shorten_list(facts.classes)}"
        )
    return facts.classes.index(name)


# --- thresholds


def _estimate_rates(
    log: Log,
    cache: PoolView,
    choices: Choices,
    facts: Facts,
    kind: CurveKind,
    code: int,
    points: int,
    *,
    simultaneous: bool,
    seed: int,
) -> Curve:
    """ROC or precision-recall of a class."""
    found = _view_rates(log, cache, choices, facts, kind, code, points, seed=seed)
    view, families, parts, few = found.view, found.families, found.parts, found.few
    count = len(found.thresholds)
    level = choices.level
    if simultaneous:
        level = found.find_level(level, seed)
    measured = [[_estimate_point(view, metric, level) for metric in each] for each in families]
    quantities, moved = [], np.zeros(count + 1, bool)
    for measure, rows, lacking in zip(MEASURES[kind], measured, few, strict=True):
        family = [replace(row.quantity, level=choices.level) for row in rows]
        family = [
            widen_interval(view, quantity, pair, level) if is_few else quantity
            for quantity, pair, is_few in zip(family, parts[measure], lacking, strict=True)
        ]
        if measure in _FALLING:
            family, here = make_monotone(family)
            moved |= here
        quantities.append(family)
    called = np.append(np.cumsum(np.bincount(found.cells, minlength=count)[::-1])[::-1], 0)
    labelled = found.labels["tp"] + found.labels["fp"]
    reasons = [[row.reason for row in rows if row.reason] for rows in zip(*measured, strict=True)]
    reasons[-1] = [_NOTHING] if reasons[-1] else []
    # Single precision, written with as few digits as tell the thresholds apart.
    places = [*(float(str(each)) for each in found.thresholds), None]
    drawn = [
        CurvePoint(
            place={"threshold": places[place], "n_pool": int(called[place])},
            n_labeled=int(labelled[place]),
            measures=tuple(family[place] for family in quantities),
            reasons=tuple(reasons[place]),
        )
        for place in range(count + 1)
    ]
    name = facts.classes[code]
    return _draw_curve(view, kind, name, drawn, simultaneous=simultaneous, moved=int(moved.sum()))


@dataclass(frozen=True)
class _Rates:
    """The rates of a curve at all its thresholds.

    view        of all of them
    thresholds  (K,), and cells (N,) of the items between them
    families    the rates of each measure, and parts the two shares of each rate
    labels      as of count_outcomes, and few for each measure as of find_unsure
    """

    view: View
    thresholds: Array
    cells: Array
    families: list[list[Metric]]
    parts: dict[str, list[list[Metric]]]
    labels: dict[str, Array]
    few: list[Array]

    def find_level(self, level: float, seed: int) -> float:
        """The level of single intervals with which those of all rates hold together."""
        rng = make_generator(seed, len(self.view.log.history) + 1, "curve")
        pairs = zip(self.families, self.few, strict=True)
        values = [_list_values(self.view, each, lacking) for each, lacking in pairs]
        return find_joint_level(values, level, rng)


def _view_rates(
    log: Log,
    cache: PoolView,
    choices: Choices,
    facts: Facts,
    kind: CurveKind,
    code: int,
    points: int,
    *,
    seed: int,
) -> _Rates:
    """The rates of a class at so many thresholds at most."""
    scores, name = cache.scores(code), facts.classes[code]
    pred = np.concatenate([cache.rows(*piece).outputs.pred for piece in cache.chunks()])
    own = find_own_threshold(pred == code, scores)
    thresholds = choose_thresholds(scores, points, own=own)
    cells, count = find_cells(thresholds, scores), len(thresholds)
    families = [
        [rate_at(_find_rate(measure), place, count, name) for place in range(count + 1)]
        for measure in MEASURES[kind]
    ]
    parts = {
        measure: [list_parts(measure, place, count) for place in range(count + 1)]
        for measure in MEASURES[kind]
    }
    shares = [metric for each in parts.values() for pair in each for metric in pair]
    view = view_cells(
        log,
        cache,
        choices,
        [metric for each in families for metric in each] + shares,
        cells=cells,
        count=count,
        code=code,
        seed=seed,
    )
    labels = count_outcomes(view.log, cells, count)
    few = [
        find_unsure(view, measure, find_few(measure, labels), parts[measure])
        for measure in MEASURES[kind]
    ]
    return _Rates(view, thresholds, cells, families, parts, labels, few)


def find_band_level(
    log: Log, cache: PoolView, choices: Choices, facts: Facts, code: int, *, seed: int
) -> float:
    """The level of single intervals with which those at all thresholds of a class hold together.

    It is the higher one of the bands of ROC and precision-recall.
    """
    about = log, cache, choices, facts
    return max(
        _view_rates(*about, kind, code, POINTS, seed=seed).find_level(choices.level, seed)
        for kind in (CurveKind.ROC, CurveKind.PRECISION_RECALL)
    )


def _draw_curve(
    view: View,
    kind: CurveKind,
    class_name: str | None,
    points: Sequence[CurvePoint],
    *,
    simultaneous: bool,
    moved: int = 0,
) -> Curve:
    """The curve through points that were estimated from a view."""
    everything = view.evidence.groups[0]
    return Curve(
        kind=kind,
        class_name=class_name,
        level=view.choices.level,
        simultaneous=simultaneous,
        estimator=HEADLINE,
        n_draws=count_labelled(view, everything),
        n_labeled=view.evidence.count_known(everything),
        n_answers=count_bought(view, everything).bought,
        n_pool=view.cache.size,
        points=tuple(points),
        moved=moved,
    )


def _find_rate(measure: str) -> Rate:
    """The rate of a class that a measure is."""
    rate: Rate = catalog.load("metrics", measure.replace("_", "-"))
    return rate


def count_outcomes(log: Log, cells: Array, count: int) -> dict[str, Array]:
    """{word: (count + 1,) labels that are known of its kind at each threshold}.

    log is that of a view of cells: labels are 1 and 0.
    """
    rows, labels = list_labelled(log)
    found = {}
    for word, label, called in (("tp", 1, 1), ("fp", 0, 1), ("fn", 1, 0), ("tn", 0, 0)):
        by_cell = np.bincount(cells[rows[labels == label]], minlength=count)
        below = np.append(0, np.cumsum(by_cell))
        found[word] = by_cell.sum() - below if called else below
    return found


def list_parts(measure: str, place: int, count: int) -> list[Metric]:
    """The two shares a and b of which a measure is a / (a + b)."""
    return [share_at(word, place, count) for word in _PARTS[measure]]


def find_few(measure: str, labels: dict[str, Array]) -> Array:
    """(P,) whether fewer than 3 labels of one kind are behind a measure."""
    return np.min([labels[kind] for kind in _PARTS[measure]], axis=0) < FEW


def find_unsure(view: View, measure: str, few: Array, parts: Sequence[Sequence[Metric]]) -> Array:
    """(P,) whether too few labels of one kind are behind a measure to show how it errs.

    few    (P,) of find_few
    parts  (P,) the two shares of list_parts

    Where draws are not uniform, labels count as uniform draws would have shown them, and precision
    needs 8: others of that kind may be hidden among items that are seldom drawn.
    """
    unsure = few.copy()
    for place in map(int, np.flatnonzero(~few)):
        for metric in parts[place]:
            try:
                value = view.value(metric, HEADLINE)
            except NotEstimable:
                # Draws say nothing about this share.
                continue
            if value.sample.uniform:
                return unsure
            hidden = value.estimate.uniform_minority_count < _ENOUGH[measure]
            unsure[place] |= hidden and not value.estimate.exact
    return unsure


def widen_interval(
    view: View, quantity: Quantity, parts: Sequence[Metric], level: float
) -> Quantity:
    """The interval of a ratio a / (a + b), made to hold where few labels of a or b are known.

    The delta method knows no doubt about a kind of which hardly a label was seen. The intervals of
    both shares do: at half the error each, both hold, and so does what they leave for the ratio.
    An interval that is known to hold stays.
    """
    if quantity.lower is None or quantity.upper is None or quantity.kind == "exact":
        return quantity
    half = 1 - (1 - level) / 2
    (low, high), (least, most) = (_bound_share(view, each, half) for each in parts)
    lower = low / (low + most) if low + most > 0 else 0.0
    upper = high / (high + least) if high + least > 0 else 1.0
    # Whether it is reliable is what reports say of it.
    return replace(quantity, lower=min(quantity.lower, lower), upper=max(quantity.upper, upper))


def _bound_share(view: View, metric: Metric, level: float) -> tuple[float, float]:
    """The interval of a share; all that is possible where no draw says anything about it."""
    group = view.evidence.groups[0]
    value = view.value(metric, HEADLINE)
    if not value.estimate.inside.any():
        return view.possible_range(metric, group)
    interval = view.interval(value, level)
    return interval.find_ends()


def _list_values(view: View, metrics: Sequence[Metric], few: Array) -> list[tuple[Value, bool]]:
    """The values of those metrics that have one, and whether few labels are behind each of them."""
    found = []
    for metric, is_few in zip(metrics, few, strict=True):
        try:
            found.append((view.value(metric, HEADLINE), bool(is_few)))
        except NotEstimable:
            continue
    return found


def _estimate_point(view: View, metric: Metric, level: float) -> EstimateRow:
    """A metric's row; a reason says what draws left out, not what to do about this one point."""
    row = estimate_row(view, metric, HEADLINE, level=level)
    if row.estimate is None and view.log.left_out:
        used, drawn = len(find_metric_steps(view.evidence, metric)), len(view.evidence.steps)
        if used < drawn:
            reason = "items that can change this point were left out of the draws"
            return replace(row, reason=reason)
    return row


def make_monotone(quantities: Sequence[Quantity]) -> tuple[list[Quantity], Array]:
    """The quantities with values and ends that never rise, and (P,) where one was moved.

    Estimates by isotonic regression (Barlow et al. 1972): summed over points they come closer to a
    truth that falls. A lower end bounds all points before it too, and an upper end all that follow:
    where all intervals hold, the narrower ones do. No end crosses the estimate.
    """
    from scipy.optimize import isotonic_regression

    found = list(quantities)
    there = [place for place, each in enumerate(found) if each.estimate is not None]
    if not there:
        return found, np.zeros(len(found), bool)
    values = np.array([found[place].estimate for place in there], float)
    fitted = values
    if (np.diff(values) > 0).any():
        fitted = np.asarray(isotonic_regression(values, increasing=False).x)
    lower, upper = (
        np.array([getattr(found[place], end) for place in there], float)
        for end in ("lower", "upper")
    )
    highest = np.fmax.accumulate(lower[::-1])[::-1]
    lowest = np.fmin.accumulate(upper)
    ends = np.fmin(highest, fitted), np.fmax(lowest, fitted)
    for place, value, low, high in zip(there, fitted, *ends, strict=True):
        quantity = replace(found[place], estimate=float(value))
        if quantity.lower is not None:
            quantity = replace(quantity, lower=float(low), upper=float(high))
        found[place] = quantity
    moved = [new != old for new, old in zip(found, quantities, strict=True)]
    return found, np.array(moved, bool)


# --- bins


def _estimate_reliability(
    log: Log,
    cache: PoolView,
    choices: Choices,
    facts: Facts,
    code: int | None,
    bins: str | None,
    *,
    simultaneous: bool,
    seed: int,
) -> Curve:
    """Accuracy in bins of the confidence, or the share of a class in bins of its probability."""
    if code is None:
        name, metric = None, specification.find_metric("accuracy", facts)
    else:
        name = facts.classes[code]
        metric = linear_metric("share", hit(code), class_name=name)
    scores = cache.scores(code)
    edges = calibration.find_edges(CurveKind.RELIABILITY, facts, bins, code)
    # A bin holds low < score <= high, and the first one also 0. Empty ones are no groups.
    bin_of = np.searchsorted(edges[1:-1], scores, "left")
    there, cells = np.unique(bin_of, return_inverse=True)
    cut = CutPool(cache, cells, [str(place) for place in there])
    surrogate = get_surrogate(log, cache, choices, seed=seed)
    view = build_view(log, cut, choices, [metric], seed=seed, own_view=False, surrogate=surrogate)
    rows = estimate_groups(view, [metric], cut.group_names, FIXED, simultaneous=simultaneous)
    mass = np.concatenate([cache.rows(*piece).mass for piece in cache.chunks()])
    weights, sums = np.bincount(cells, mass), np.bincount(cells, mass * scores)
    sizes = np.bincount(cells)
    labelled = np.bincount(cells[list_labelled(log)[0]], minlength=len(there))
    # Single precision, written with as few digits as tell the edges apart.
    written = [float(str(edge)) for edge in edges]
    nothing = Quantity(None, None, None, choices.level, "none")
    points = [
        CurvePoint(
            {"low": low, "high": high, "n_pool": 0, "predicted": None}, 0, (nothing,), (_EMPTY,)
        )
        for low, high in pairwise(written)
    ]
    for place, row, size, weight, total, known in zip(
        there, rows, sizes, weights, sums, labelled, strict=True
    ):
        quantity = replace(row.quantity, level=choices.level)
        if not (log.declined or cache.roles.get("weight")):
            quantity = _round_outward(quantity, int(size))
        about = {"n_pool": int(size), "predicted": float(total / weight) if weight > 0 else None}
        points[place] = CurvePoint(
            place=points[place].place | about,
            n_labeled=int(known),
            measures=(quantity,),
            reasons=(row.reason,) if row.reason else (),
        )
    return _draw_curve(view, CurveKind.RELIABILITY, name, points, simultaneous=simultaneous)


def _round_outward(quantity: Quantity, size: int) -> Quantity:
    """The share of a bin of so many items with ends that are whole numbers of items."""
    if quantity.lower is None or quantity.upper is None:
        return quantity
    lower = np.floor(quantity.lower * size + _ROUNDING) / size
    upper = np.ceil(quantity.upper * size - _ROUNDING) / size
    return replace(quantity, lower=float(lower), upper=float(upper))
