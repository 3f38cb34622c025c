"""Recall at a false positive rate: a point of the receiver operating characteristic (Fawcett 2006).

The threshold on the class's probability is set so that a given share of the items of other classes
is at or above it, and the recall is the share of the class there. Between two thresholds, and for
equal scores, the curve is a straight line: each item at the threshold counts in part, as if it were
above or below at random. Its influence function is that of Hsieh and Turnbull 1996: besides the
class's own items, those of others move the threshold, and the recall by the slope of the curve.
"""

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments, curves
from activetest.item_statistics.metric import Facts, Metric
from activetest.nouns.rows import Array

TASK = "classification"
BETTER = "higher"
TITLE = "Recall at false positive rate {}"

_EXAMPLE = "recall-at-fpr[0.05]"


def metrics(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """One class against all others, in [0, 1], where x of the others are called like the class.

    The argument is x, between 0 and 1; after a comma a class, * for every class, or macro. Without
    a class: the positive one of a binary pool, macro of any other.
    """
    if argument is None:
        raise ChoiceError("'recall-at-fpr' needs its rate", f"for example {_EXAMPLE}")
    text, comma, meant = (part.strip() for part in argument.partition(","))
    level = arguments.parse_number("recall-at-fpr", text, 0, 1, _EXAMPLE)

    def find_point(steps: curves.Steps) -> curves.Area | None:
        return _find_point(steps, level)

    undefined = "no item labelled as {}, or none labelled otherwise, has been seen"
    name = f"recall-at-fpr[{level:g}]"
    return curves.metrics(name, find_point, undefined, facts, meant if comma else None)


def _find_point(steps: curves.Steps, level: float) -> curves.Area | None:
    size, rest = steps.hits.sum(), steps.others.sum()
    if not (size > 0 and rest > 0):
        return None
    # (S + 1,) shares of others and of hits among the highest steps, from none to all.
    rates, recalls = (
        np.append(0.0, np.cumsum(each[::-1]) / each.sum()) for each in (steps.others, steps.hits)
    )
    # The last place that the rate allows; rounding must not cost a step.
    place = int(np.searchsorted(rates, level * (1 + 1e-12), "right")) - 1
    place = min(place, len(rates) - 2)
    share = (level - rates[place]) / (rates[place + 1] - rates[place])
    value = float(recalls[place] + share * (recalls[place + 1] - recalls[place]))
    threshold = steps.scores[len(steps.scores) - 1 - place]
    slope = _find_slope(steps, rates, recalls, level)

    def influence(scores: Array) -> tuple[Array, Array]:
        """Another: -slope (above - x) / share of others. A hit: (above - R) / share of hits.

        above is 1 above the threshold, and in part at it.
        """
        above = np.where(scores > threshold, 1.0, np.where(scores == threshold, share, 0.0))
        return -slope * (above - level) * (size + rest) / rest, (above - value) * (
            size + rest
        ) / size

    return curves.Area(value, influence)


def _find_slope(steps: curves.Steps, rates: Array, recalls: Array, level: float) -> float:
    """Slope of the curve at a rate, over as much of it as chance may move the threshold.

    The curve is made of steps, whose own slopes say nothing. One standard error of the rate to
    either side, of as many items as are as uneven as the others (Kish 1965).
    """
    others = steps.others
    count = others.sum() ** 2 / (others**2).sum()
    reach = np.sqrt(level * (1 - level) / count)
    ends = np.clip([level - reach, level + reach], 0, 1)
    low, high = np.interp(ends, rates, recalls)
    return float((high - low) / (ends[1] - ends[0]))
