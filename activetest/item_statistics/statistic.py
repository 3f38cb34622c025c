"""Item statistics: what one item contributes to a metric, by a name that says everything.

A name is a word and, after colons, its parameters: tp:3, right_in:0.5:0.6. Rounds record sums of
statistics under these names, so a name means the same for ever. Classes are named by their codes.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np

from activetest import catalog
from activetest.errors import UnknownMethod
from activetest.item_statistics import bins, counts, losses, tops
from activetest.nouns.rows import Array, Outputs


@dataclass(frozen=True)
class Statistic:
    """One number per item, known once its label is.

    name           recorded with sums; empty for statistics that are never recorded
    value          value(outputs, labels (R, K)) -> (R, K); labels None: every class, K = C
    lower, upper   range of the value; infinite where it has no useful bound
    cells          outputs matter through the predicted class alone
    by_correctness it matters just whether the prediction is the label
    counted        counted(outputs, labels) -> as value: what of the label the value is a function
                   of, where comparing that is more exact than comparing values; None: the value
    graded         it takes values between its bounds: a mean of it within [0, 1] is no share
    outcomes       how many of the first labels have all of its values; None where all may be needed
    power          how it grows with a label that is far off, where labels are numbers
    terms          of a sum over several models' outputs: (name of a model, statistic of its
                   outputs, weight) each; "" is the model of the pool. Empty for all others
    signed         False of what a sum over models comes to without its sign
    tells          codes of the classes that it tells from all others, beside the predicted one;
                   None where it may tell all apart
    """

    name: str
    value: Callable[[Outputs, Array | None], Array]
    lower: float = 0.0
    upper: float = 1.0
    cells: bool = False
    by_correctness: bool = False
    counted: Callable[[Outputs, Array | None], Array] | None = None
    graded: bool = False
    outcomes: int | None = None
    tells: tuple[int, ...] | None = None
    power: int = 1
    terms: tuple[tuple[str, "Statistic", float], ...] = ()
    signed: bool = True

    @property
    def is_indicator(self) -> bool:
        """Whether it is 0 or 1: a mean of it is a share."""
        return (self.lower, self.upper) == (0.0, 1.0) and not self.graded

    def table(self, outputs: Outputs, classes: int) -> Array:
        """(R, C) value of every row under every class; (R, 2) its bounds where there are none."""
        if not classes:
            return np.tile([self.lower, self.upper], (len(outputs.pred), 1))
        if outputs.probs is not None and not self.cells:
            return self.value(outputs, None)
        return self.value(
            outputs, np.broadcast_to(np.arange(classes), (len(outputs.pred), classes))
        )

    def count(self, outputs: Outputs, classes: int) -> Array:
        """(R, C) numbers that are equal for two classes where an item adds the same under both."""
        if self.counted is None:
            return self.table(outputs, classes)
        return replace(self, value=self.counted).table(outputs, classes)

    def range_by_row(self, outputs: Outputs, classes: int) -> Array:
        """(2, R) smallest and largest value of every row."""
        table = tabulate((self,), classes)[0] if self.cells else self.table(outputs, classes)
        ends = np.stack([table.min(axis=1), table.max(axis=1)])
        return ends[:, outputs.pred] if self.cells else ends

    def range_between(self, outputs: Outputs, low: float, high: float) -> Array:
        """(2, R) smallest and largest value of every row whose label is a number from low to high.

        Of a convex function of the label that is smallest where a prediction is right, or grows
        or falls throughout.
        """
        ends = [np.full(len(outputs.pred), low), np.full(len(outputs.pred), high)]
        table = self.value(outputs, np.stack([*ends, np.clip(outputs.pred, low, high)], axis=1))
        return np.stack([table.min(axis=1), table.max(axis=1)])

    def matrix(self, classes: int) -> Array:
        """(C, C) value for each predicted (row) and true (column) class; cells only."""
        return self.table(Outputs(np.arange(classes)), classes)


# Of more classes, only those that are told apart are looked at: others are alike.
MANY_CLASSES = 128


def list_labels(statistics: Sequence[Statistic], classes: int) -> Array:
    """(C, K) labels with which items of each predicted class have all values of the statistics.

    Of many classes these are the predicted one, those that are told apart, and one more.
    """
    few, count = [each.tells for each in statistics], statistics[0].outcomes or classes
    if classes <= MANY_CLASSES or None in few:
        return np.broadcast_to(np.arange(count), (classes, count))
    others = sorted({code for codes in few for code in codes or ()})
    rest = np.broadcast_to([*others, classes], (classes, len(others) + 1))
    return np.column_stack([np.arange(classes), rest])


def tabulate(statistics: Sequence[Statistic], classes: int, *, others: bool = False) -> Array:
    """(T, C, K) values for each predicted class under all labels that differ; cells only.

    others adds, last, a label of a class that is none of these.
    """
    outputs, labels = Outputs(np.arange(classes)), list_labels(statistics, classes)
    if others:
        labels = np.column_stack([labels, np.full(classes, -1)])
    return np.stack([each.value(outputs, labels) for each in statistics])


_ONE_MODEL = r"([^()]+)\(([A-Za-z][A-Za-z0-9_.-]*)\)"
_OF_MODELS = re.compile(rf"{_ONE_MODEL}(?:-{_ONE_MODEL})?")
# Around a difference: how large it is, whichever of the two is larger.
_SIZE = "|"
# Makes a statistic from its name and the parameters in it.
Maker = Callable[..., Statistic]


@lru_cache(maxsize=4096)
def statistic(name: str) -> Statistic:
    """The statistic of that name.

    Behind it the model may stand whose outputs it is of, as in zero_one(v2), and another model that
    is subtracted, as in zero_one(v2)-zero_one(v1); |zero_one(v2)-zero_one(v1)| is how large that
    is. A first word that is none of ours is looked up in the packages that bring statistics: see
    catalog. Raises UnknownMethod where nobody brings it.
    """
    if found := _OF_MODELS.fullmatch(name.strip(_SIZE)):
        first, second = found.group(1, 2), found.group(3, 4)
        terms = [(first[1], statistic(first[0]), 1.0)]
        if second[1]:
            terms.append((second[1], statistic(second[0]), -1.0))
        total = sum_over_models(name, tuple(terms))
        return _leave_out_sign(total) if name.startswith(_SIZE) else total
    word, *texts = name.split(":")
    make: Maker = _MAKERS.get(word) or catalog.load("statistics", word).make
    own: Statistic = make(name, *map(json.loads, texts))
    return own


def follows_from_name(each: Statistic) -> bool:
    """Whether its name says everything: what was found of it can be kept by its name."""
    try:
        return bool(each.name) and statistic(each.name) is each
    except UnknownMethod:
        return False


def _sum_bounds(terms: Iterable[tuple[Statistic, float]]) -> tuple[float, float]:
    """The range of a weighted sum; a weight of 0 leaves a statistic out."""
    ends = [sorted((weight * each.lower, weight * each.upper)) for each, weight in terms if weight]
    return sum(end[0] for end in ends), sum(end[1] for end in ends)


def sum_over_models(name: str, terms: tuple[tuple[str, Statistic, float], ...]) -> Statistic:
    """The weighted sum of statistics of several models' outputs; terms as in Statistic.

    Outputs have those of the models as `others`.
    """

    def value(outputs: Outputs, labels: Array | None) -> Array:
        if labels is None:
            classes = outputs.known_probs.shape[1]
            labels = np.broadcast_to(np.arange(classes), (len(outputs.pred), classes))
        parts = [
            weight * each.value(outputs.others[model], labels) for model, each, weight in terms
        ]
        total: Array = np.sum(parts, axis=0)
        return total

    return Statistic(
        name,
        value,
        *_sum_bounds((each, weight) for _, each, weight in terms),
        graded=any(each.graded for _, each, _ in terms),
        power=max(each.power for _, each, _ in terms),
        terms=terms,
    )


def _leave_out_sign(apart: Statistic) -> Statistic:
    """How large a difference is."""
    return replace(
        apart,
        value=lambda outputs, labels: np.abs(apart.value(outputs, labels)),
        lower=0.0,
        signed=False,
    )


def combine_statistics(statistics: Sequence[Statistic], weights: Sequence[float]) -> Statistic:
    """The weighted sum of statistics, as one that is never recorded."""
    if len(statistics) == 1 and weights[0] == 1:
        return statistics[0]

    def value(outputs: Outputs, labels: Array | None) -> Array:
        first, *others = (
            weight * each.value(outputs, labels)
            for each, weight in zip(statistics, weights, strict=True)
        )
        return sum(others, start=first)

    lower, upper = _sum_bounds(zip(statistics, weights, strict=True))
    few = [each.tells for each in statistics]
    tells = None if None in few else tuple({code for codes in few for code in codes or ()})
    cells = all(each.cells for each in statistics)
    terms: tuple[tuple[str, Statistic, float], ...] = ()
    if any(each.terms for each in statistics):
        terms = tuple(
            (model, part, weight * own)
            for each, weight in zip(statistics, weights, strict=True)
            for model, part, own in each.terms or (("", each, 1.0),)
        )
    return Statistic("", value, lower, upper, cells, tells=tells, terms=terms)


def _make(
    value: Callable[..., Array],
    lower: float = 0.0,
    upper: float = 1.0,
    *,
    cells: bool = False,
    by_correctness: bool = False,
    counted: Callable[..., Array] | None = None,
    tells: int | None = None,
    power: int = 1,
) -> Maker:
    """Makes statistics of a function that takes its parameters first, all with these bounds.

    tells  how many of the parameters, from the first, are the classes that it tells apart
    """
    return lambda name, *parameters: Statistic(
        name,
        partial(value, *parameters) if parameters else value,
        lower,
        upper,
        cells,
        by_correctness,
        counted,
        tells=None if tells is None else tuple(map(int, parameters[:tells])),
        power=power,
    )


def _cost(name: str, costs: list[list[float]]) -> Statistic:
    table = np.array(costs, float)
    bounds = float(table.min()), float(table.max())
    return Statistic(name, partial(counts.cost, table), *bounds, cells=True)


def _curve(
    name: str, code: int, scores: list[float], others: list[float], hits: list[float]
) -> Statistic:
    value = partial(counts.curve, code, scores, others, hits)
    counted = partial(counts.true, code)
    return Statistic(name, value, -np.inf, np.inf, counted=counted)


def _label_within(name: str, low: float, high: float) -> Statistic:
    return Statistic(name, partial(losses.label_within, low, high), low, high, graded=True)


_MAKERS: dict[str, Maker] = {
    "zero_one": _make(losses.zero_one, cells=True, by_correctness=True, tells=0),
    "log_loss": _make(losses.log_loss, upper=np.inf, counted=losses.floored_probability),
    "brier": _make(losses.brier, upper=2.0, counted=losses.label_probability),
    "missed_top": _make(losses.missed_top),
    "tp": _make(counts.tp, cells=True, by_correctness=True, tells=1),
    "fp": _make(counts.fp, cells=True, by_correctness=True, tells=1),
    "fn": _make(counts.fn, cells=True, tells=1),
    "true": _make(counts.true, cells=True, tells=1),
    "of_class": _make(counts.of_class, cells=True, tells=0),
    "excess": _make(counts.excess, -1.0, cells=True, tells=1),
    "cell": _make(counts.cell, cells=True, tells=1),
    "cost": _cost,
    "right_in": _make(bins.right_in, by_correctness=True),
    "conf_in": _make(bins.conf_in, by_correctness=True),
    "in_bin": _make(bins.in_bin, by_correctness=True),
    "true_in": _make(bins.true_in),
    "prob_in": _make(bins.prob_in),
    "in_top": _make(tops.in_top),
    "true_in_top": _make(tops.true_in_top),
    "squared": _make(losses.squared, upper=np.inf, power=2),
    "absolute": _make(losses.absolute, upper=np.inf),
    "signed": _make(losses.signed, -np.inf, np.inf),
    "label": _make(losses.label, -np.inf, np.inf),
    "label_within": _label_within,
    "label_squared": _make(losses.label_squared, upper=np.inf, power=2),
    "pinball": _make(losses.pinball, upper=np.inf),
    "nll": _make(losses.nll, -np.inf, np.inf),
    "inside": _make(losses.inside),
    "curve": _curve,
}
