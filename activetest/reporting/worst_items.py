"""The labelled items that a model did worst on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from activetest.estimation.view import View
from activetest.item_statistics.metric import Metric
from activetest.nouns.pool import SeveralModels
from activetest.nouns.report_details import MOST_ITEMS, DisputedItem, WorstItem
from activetest.nouns.rounding import level_ties
from activetest.nouns.rows import Array, Outputs, Rows
from activetest.rounds.fit import list_labelled

# {first word of a statistic that is a loss of its own: what it is called}.
_LOSSES = {
    "log_loss": "log loss",
    "brier": "Brier loss",
    "cost": "cost",
    "squared": "squared error",
    "absolute": "absolute error",
    "pinball": "pinball loss",
    "nll": "negative log-likelihood",
}
# Mean of the logits of an answer below which it is unlike others. Logits are multiples of 1/256, so
# that sums of them are exact.
_UNLIKE = -1.0
_CONFIDENCE, _WRONG, _SQUARED = (
    "confidence in the wrong class",
    "1 for a wrong prediction",
    "squared error",
)


def find_worst_items(view: View, metric: Metric) -> tuple[tuple[WorstItem, ...], str | None]:
    """At most MOST_ITEMS labelled items with the largest loss above 0, and what the loss is.

    The loss is the metric's own where it is the mean of one, or a map of that mean. Else of a
    regression pool it is the squared error. Of classes, it is the confidence in a wrong prediction,
    of those that the metric is about: recall[fraud] is about frauds that were missed. Ties go to
    the more confident prediction, then to the item that was drawn or supplied first.

    Items are without text, and with labels as the log has them. Of a difference of models it is the
    loss of the first model that is beyond that of the other.
    """
    positions, labels = list_labelled(view.log)
    if not len(positions):
        return (), None
    cache, classes = view.cache, _list_classes(view, metric.models)
    seen = cache.take(positions)
    rows, *others = (seen.others[model] for model in metric.models) if metric.models else (seen,)
    own = _strip_models(metric)
    losses, words = _measure_losses(own, rows, labels, bool(cache.classes))
    for each in others:
        losses = losses - _measure_losses(own, each, labels, bool(cache.classes))[0]
    sure = _find_confidence(rows)
    known = np.zeros(len(losses)) if sure is None else sure
    unlike = _find_unlike(rows)
    order = np.lexsort((np.arange(len(losses)), -level_ties(known), -level_ties(losses)))
    order = order[losses[order] > 0][:MOST_ITEMS]
    if not len(order):
        return (), None
    ids = cache.ids(positions[order])
    found = [
        WorstItem(
            id=id,
            text=None,
            predicted=_name(classes, rows.outputs.pred[at]),
            label=_name(cache.classes, labels[at]),
            confidence=None if sure is None else float(sure[at]),
            loss=float(losses[at]),
            unlike=bool(unlike[at]),
        )
        for id, at in zip(ids, order.tolist(), strict=True)
    ]
    return tuple(found), words


def find_disputed_items(view: View, models: Sequence[str]) -> tuple[DisputedItem, ...]:
    """At most MOST_ITEMS labelled items on which models and the first of them are not both right.

    And not both wrong: the first is the reference.
    Those on which most of the models differ from it come first, then those that were drawn first.
    Items are without text, and with labels as the log has them.
    """
    positions, labels = list_labelled(view.log)
    if not len(positions):
        return ()
    cache = view.cache
    seen = cache.take(positions)
    preds = [seen.outputs.others[name].pred for name in models]
    if cache.classes:
        right = np.array([pred == labels for pred in preds])
    else:
        squares = np.array([(pred - labels) ** 2 for pred in preds])
        errors = level_ties(squares.ravel()).reshape(squares.shape)
        # The reference is right where no model is nearer.
        nearer = errors[1:] < errors[0]
        right = np.vstack([~nearer.any(axis=0), nearer])
        right[1:] |= right[0] & (errors[1:] == errors[0])
    apart = (right[1:] != right[0]).sum(axis=0)
    order = np.argsort(-apart, kind="stable")
    order = order[apart[order] > 0][:MOST_ITEMS]
    classes = [_list_classes(view, (name,)) for name in models]
    own = [seen.others[name].outputs.pred for name in models]
    return tuple(
        DisputedItem(
            id=id,
            text=None,
            label=_name(cache.classes, labels[at]),
            answers=tuple(
                (name, _name(known, pred[at]), bool(hit[at]))
                for name, known, pred, hit in zip(models, classes, own, right, strict=True)
            ),
        )
        for id, at in zip(cache.ids(positions[order]), order.tolist(), strict=True)
    )


def _list_classes(view: View, models: Sequence[str]) -> tuple[str, ...]:
    """The classes of the first of these models, or of the pool's own."""
    if models and isinstance(view.cache, SeveralModels):
        return view.cache.list_classes(models[0])
    return view.cache.classes


def _strip_models(metric: Metric) -> Metric:
    """The metric as of the outputs of the model that it is of, or from which it subtracts."""
    if not metric.models:
        return metric
    terms = (each.terms[0] for each in metric.statistics)
    own = tuple(each for model, each, _ in terms if model == metric.models[0])
    return replace(metric, statistics=own)


def _measure_losses(metric: Metric, rows: Rows, labels: Array, classes: bool) -> tuple[Array, str]:
    """(M,) loss of each labelled item, and what it is."""
    statistics, outputs, about = metric.statistics, rows.outputs, labels[:, None]
    if len(statistics) == 1:
        word = statistics[0].name.split(":")[0].split()[0]
        if word in _LOSSES:
            return np.asarray(statistics[0].value(outputs, about)[:, 0], float), _LOSSES[word]
    if not classes:
        return (outputs.pred.astype(float) - labels) ** 2, _SQUARED
    wrong = outputs.pred != labels
    if metric.class_name is not None and statistics and not (metric.of_labels or metric.against):
        wrong = wrong & _find_parts(metric, outputs, about)
    sure = _find_confidence(rows)
    if sure is None:
        return wrong.astype(float), _WRONG
    return np.where(wrong, sure, 0.0), _CONFIDENCE


def _find_parts(metric: Metric, outputs: Outputs, labels: Array) -> Array:
    """(M,) whether items with these labels (M, 1) are a part of the metric, above or below."""
    values = np.array([each.value(outputs, labels)[:, 0] for each in metric.statistics])
    if metric.ratio is not None:
        values = np.array(metric.ratio) @ np.vstack([np.ones(values.shape[1]), values])
    found: Array = (np.abs(values) > 1e-9).any(axis=0)
    return found


def _find_unlike(rows: Rows) -> Array:
    """(M,) whether learners of the model's answers would have answered otherwise: cache.answers."""
    if rows.evidence is None or not rows.evidence.shape[1]:
        return np.zeros(len(rows.index), bool)
    found: Array = rows.evidence.sum(axis=1, dtype=float) < _UNLIKE * rows.evidence.shape[1]
    return found


def _find_confidence(rows: Rows) -> Array | None:
    """(M,) probability of the predicted class; None without probabilities."""
    if rows.outputs.probs is None:
        return None
    return np.asarray(rows.outputs.confidence, float)


def _name(classes: tuple[str, ...], value: float) -> str:
    """A class by its code, or a number."""
    if not classes:
        return f"{float(value):.6g}"
    return classes[int(value)] if value >= 0 else ""
