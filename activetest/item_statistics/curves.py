"""Areas under curves: no functions of means, but linear around what weighted items say.

The area of the pool is the area A of weighted items plus the pool's mean of the influence function
at them, up to terms of second order (von Mises 1947). An influence function says how fast the area
changes as weight moves to an item; it has mean 0 over the weighted items themselves.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from activetest.item_statistics import arguments
from activetest.item_statistics.losses import codes
from activetest.item_statistics.metric import Facts, Metric, take_mean
from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.arguments import add_to_brackets
from activetest.nouns.rows import Array, Outputs

# Knots and digits that an approximation of a curve's influence function keeps.
_KNOTS, _DIGITS = 65, 6


@dataclass(frozen=True)
class Steps:
    """Weights of hits and of other items at each of S distinct scores, in ascending order."""

    scores: Array
    hits: Array
    others: Array

    def places(self, scores: Array) -> tuple[Array, Array]:
        """(R,) numbers of steps below each of R scores, and of steps that are not above it."""
        below = np.searchsorted(self.scores, scores, "left")
        return below, np.searchsorted(self.scores, scores, "right")


@dataclass(frozen=True)
class Area:
    """Sums over weighted items.

    value       the area
    influence   influence(scores (R,)) -> (R,) of an item that is no hit, and (R,) of a hit
    """

    value: float
    influence: Callable[[Array], tuple[Array, Array]]


def metrics(
    name: str,
    area: Callable[[Steps], Area | None],
    undefined: str,
    facts: Facts,
    argument: str | None,
) -> tuple[Metric, ...]:
    """The area for a class against all others, for every class (*), or the macro average.

    area gives None where there is none, for the reason undefined, in which {} stands for the class.
    The macro average is over the classes that have an area.
    """
    arguments.require_probabilities(name, facts)
    meant = arguments.parse_classes(name, facts, argument, ("macro",))
    if isinstance(meant, str):
        every = tuple(range(len(facts.classes)))
        named, reason = add_to_brackets(name, meant), undefined.format("any class")
        return (_metric(named, area, every, undefined=reason),)
    found = []
    for code in meant:
        class_name = facts.classes[code]
        reason = undefined.format(repr(class_name))
        found.append(_metric(name, area, (code,), class_name=class_name, undefined=reason))
    return tuple(found)


def _metric(
    name: str, area: Callable[[Steps], Area | None], classes: tuple[int, ...], **fields: Any
) -> Metric:
    """The mean area of these classes, in [0, 1], with these fields of Metric."""

    def refine(outputs: Outputs, labels: Array, weights: Array) -> Metric:
        found = {
            code: area(_count_steps(outputs.known_probs[:, code], labels == code, weights))
            for code in classes
        }
        there = {code: each for code, each in found.items() if each is not None}
        value = np.mean([each.value for each in there.values()]) if there else np.nan

        def influence(outputs: Outputs, labels: Array | None) -> Array:
            labels = codes(outputs, labels)
            total = np.zeros((len(outputs.pred), labels.shape[1]))
            for code, each in there.items():
                other, hit = each.influence(outputs.known_probs[:, code])
                total += np.where(labels == code, hit[:, None], other[:, None])
            return total / max(len(there), 1)

        statistic = Statistic("", influence, -np.inf, np.inf)
        return Metric(name, (statistic,), lambda mean: value + take_mean(mean), upper=1.0, **fields)

    return Metric(name, (), take_mean, upper=1.0, refine=refine, **fields)


def approximate_influence(metric: Metric, code: int, scores: Array) -> Statistic:
    """A refined metric's influence function as a statistic with a name, from a few of the scores.

    metric is about one class, of this code; scores (M,) are probabilities of it.
    """
    knots = np.unique(np.quantile(scores, np.linspace(0, 1, _KNOTS)).round(_DIGITS))
    probs = np.zeros((len(knots), code + 1))
    probs[:, code] = knots
    outputs = Outputs(np.zeros(len(knots), int), probs)
    values = metric.statistics[0].value(outputs, np.array([[-1, code]])).round(_DIGITS)
    parts = (code, knots.tolist(), *values.T.tolist())
    return statistic(":".join(["curve", *(json.dumps(part) for part in parts)]))


def _count_steps(scores: Array, hits: Array, weights: Array) -> Steps:
    """Of M items: scores, whether each is a hit, weights; items without weight do not count."""
    there = weights > 0
    found, place = np.unique(scores[there], return_inverse=True)
    hits, weights = hits[there], weights[there]
    size = len(found)
    return Steps(
        found,
        np.bincount(place, weights * hits, minlength=size),
        np.bincount(place, weights * ~hits, minlength=size),
    )
