"""Metrics of probabilities by rank or in bins: areas under curves, the top, calibration.

Areas are linear around what weighted items say: see item_statistics.curves. Calibration errors say
how far what happens is from what was claimed, in bins: see item_statistics.calibration. As
estimates from few labels they are too large: chance alone moves accuracy away from confidence
(Kumar, Liang and Ma 2019).
"""

from itertools import chain

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics import arguments, calibration, curves, tops
from activetest.item_statistics.metric import Facts, Formula, Metric, divide, ratio_metric
from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.arguments import add_to_brackets
from activetest.nouns.rows import Array

_MOST_AT_TOP, _EXAMPLE_OF_TOP = 10**12, "precision-at-k[100]"
_EXAMPLE_OF_RATE = "recall-at-fpr[0.05]"
# Bins of all classes together: every one is two statistics.
_MOST_BINS = 1500


@Formula
def auroc(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Area under the receiver operating characteristic of one class against all others, in [0, 1].

    The probability that an item of the class gets a higher probability of it than an item of any
    other class; a tie counts half (Hanley and McNeil 1982). Of a class, * for every class, or
    macro, which is scikit-learn's multi_class="ovr". Without an argument: the positive class of a
    binary pool, macro of any other.
    """
    undefined = "no item labelled as {}, or none labelled otherwise, has been seen"
    return curves.metrics("auroc", _find_auroc, undefined, facts, argument)


def _find_auroc(steps: curves.Steps) -> curves.Area | None:
    """Influence is made of placement values (DeLong, DeLong and Clarke-Pearson 1988)."""
    size, rest = steps.hits.sum(), steps.others.sum()
    if not (size > 0 and rest > 0):
        return None
    # (S + 1,) shares of the hits, and of the others, below each step, and 1.
    hits, others = (np.append(0.0, np.cumsum(s) / s.sum()) for s in (steps.hits, steps.others))
    value = float(np.diff(hits) @ (others[:-1] + others[1:]) / 2)

    def influence(scores: Array) -> tuple[Array, Array]:
        """Another: (hits above - A) / share of others. A hit: (others below - A) / share of hits.

        Those at the same score count half.
        """
        low, high = steps.places(scores)
        above, below = 1 - (hits[low] + hits[high]) / 2, (others[low] + others[high]) / 2
        return (above - value) * (size + rest) / rest, (below - value) * (size + rest) / size

    return curves.Area(value, influence)


@Formula
def average_precision(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Area under the steps of the precision-recall curve, in [0, 1] (Zhu 2004).

    AP = (1 / P) sum over items i of the class of T(s_i) / C(s_i): P is the weight of the class,
    C(s) that of all items with a score of s or more, T(s) that of those among them that are of the
    class. Equal scores are one threshold. Of a class, * for every class, or macro. Without an
    argument: the positive class of a binary pool, macro of any other.
    """
    undefined = "no item labelled as {} has been seen"
    return curves.metrics("average-precision", _find_precision, undefined, facts, argument)


def _find_precision(steps: curves.Steps) -> curves.Area | None:
    size, rest = steps.hits.sum(), steps.others.sum()
    if not size > 0:
        return None
    called = np.cumsum((steps.hits + steps.others)[::-1])[::-1]
    precision = np.cumsum(steps.hits[::-1])[::-1] / called
    value = float(steps.hits @ precision / size)
    # (S + 1,) sums over the first steps, from none of them to all.
    gain = np.append(0.0, np.cumsum(steps.hits / called))
    loss = np.append(0.0, np.cumsum(steps.hits * precision / called))
    # A hit above all others would be called alone, and rightly.
    precision = np.append(precision, 1.0)

    def influence(scores: Array) -> tuple[Array, Array]:
        """The derivative of AP by an item's weight, where all weights sum to one.

        (y (T(s) / C(s) + sum_t w_t / C(t) - AP) - sum_t w_t T(t) / C(t)^2) / P with y = 1 for a
        hit: the sums are over steps t up to the item's s, and w_t is the weight of the hits there.
        """
        low, high = steps.places(scores)
        scale = (size + rest) / size
        return -scale * loss[high], scale * (precision[low] + gain[high] - value - loss[high])

    return curves.Area(value, influence)


@Formula
def recall_at_fpr(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """One class against all others, in [0, 1], where x of the others are called like the class.

    A point of the receiver operating characteristic (Fawcett 2006). The argument is x, between 0
    and 1; after a comma a class, * for every class, or macro. Without a class: the positive one of
    a binary pool, macro of any other.
    """
    if argument is None:
        raise ChoiceError("'recall-at-fpr' needs its rate", f"for example {_EXAMPLE_OF_RATE}")
    text, comma, meant = (part.strip() for part in argument.partition(","))
    level = arguments.parse_number("recall-at-fpr", text, 0, 1, _EXAMPLE_OF_RATE)

    def find_point(steps: curves.Steps) -> curves.Area | None:
        return _find_point(steps, level)

    undefined = "no item labelled as {}, or none labelled otherwise, has been seen"
    name = f"recall-at-fpr[{level:g}]"
    return curves.metrics(name, find_point, undefined, facts, meant if comma else None)


def _find_point(steps: curves.Steps, level: float) -> curves.Area | None:
    """The recall where the threshold has this share of the items of other classes at or above it.

    Between two thresholds, and for equal scores, the curve is a straight line: each item at the
    threshold counts in part, as if it were above or below at random. Its influence function is that
    of Hsieh and Turnbull 1996: besides the class's own items, those of others move the threshold,
    and the recall by the slope of the curve.
    """
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


@Formula
def precision_at_k(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Share of the k items with the highest probability of a class that are of it, in [0, 1].

    The argument is k; after a comma a class, or * for every class. Without a class: the positive
    one of a binary pool, every class of any other. Of a pool of fewer items it is about all. Where
    items have weights, k stands for the weight of k items of mean weight. Of a group, it is about
    the items among the k that are in it (Buckley and Voorhees 2000).

    Where items at the k-th score are more than there is room for, it is the mean over all ways to
    choose among them (McSherry and Najork 2008): each of them counts in part.
    """
    name = "precision-at-k"
    arguments.require_probabilities(name, facts)
    if argument is None:
        raise ChoiceError("'precision-at-k' needs its k", f"for example {_EXAMPLE_OF_TOP}")
    text, comma, meant = (part.strip() for part in argument.partition(","))
    count = arguments.parse_whole_number(name, text, 1, _MOST_AT_TOP, _EXAMPLE_OF_TOP)
    codes = arguments.parse_single_classes(name, facts, meant if comma else None)
    return tuple(_look_at_top(add_to_brackets(name, str(count)), count, c, facts) for c in codes)


def _look_at_top(name: str, count: int, code: int, facts: Facts) -> Metric:
    if facts.scores is None:
        raise ChoiceError(
            f"{name!r} needs the probabilities of a whole pool", "`study.report()` has them"
        )
    weights = None if facts.weights is None else facts.weights()
    # Weights have no unit: k items are those of mean weight.
    mass = count if weights is None else count * weights.mean()
    threshold, share = tops.find_threshold(facts.scores(code), mass, weights)
    parts = f"{code}:{threshold!r}:{share!r}"
    return ratio_metric(
        name,
        [statistic(f"true_in_top:{parts}"), statistic(f"in_top:{parts}")],
        above=(0, 1, 0),
        below=(0, 0, 1),
        upper=1.0,
        class_name=facts.classes[code],
        undefined=f"none of the {count} items that score highest has been seen",
    )


@Formula
def ece(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Sum over bins of |share right - confidence|, in [0, 1]; 15 bins of equal width.

    Bins are of the confidence, the probability of the predicted class (Naeini, Cooper and
    Hauskrecht 2015; Guo et al. 2017). ece[10], ece[equal-count] and ece[equal-count,10] are others;
    bins of equal counts: Nguyen and O'Connor 2015.
    """
    statistics = _compare_in_bins("ece", facts, argument, "right_in", "conf_in")
    name = calibration.add_bins_to_name("ece", argument)
    return (Metric(name, statistics, _sum_gaps, upper=1.0, interval="calibration"),)


@Formula
def calibration_error_squared(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Sum over bins of share * (accuracy - confidence)^2, in [0, 1]; bins as for ece.

    The reliability term of Murphy 1973 (Kumar, Liang and Ma 2019). Its square root is what is
    called l2 calibration error.
    """
    name = "calibration-error-squared"
    statistics = _compare_in_bins(name, facts, argument, "right_in", "conf_in", "in_bin")
    name = calibration.add_bins_to_name(name, argument)
    return (Metric(name, statistics, _sum_squares, upper=1.0, interval="calibration-squared"),)


@Formula
def classwise_ece(facts: Facts, argument: str | None = None) -> tuple[Metric, ...]:
    """Mean over classes of the sum over bins of |share of the class - its probability|, in [0, 1].

    Every class has its own bins, of the probability of the class; what may be asked of them is as
    for ece: classwise-ece[equal-count,10] (Kull et al. 2019; called static by Nixon et al. 2019).
    """
    name = "classwise-ece"
    arguments.require_probabilities(name, facts)
    classes = len(facts.classes)
    _, bins = calibration.parse_bins(name, argument)
    if bins * classes > _MOST_BINS:
        raise ChoiceError(
            f"{name!r} would have {bins} bins for each of {classes} classes, {_MOST_BINS} at most",
            "ask for ece, or for fewer bins as in classwise-ece[5]",
        )
    edges = [calibration.find_edges(name, facts, argument, code) for code in range(classes)]
    in_bins = calibration.statistics_of_bins
    statistics = (
        *chain(*(in_bins(f"true_in:{code}", each) for code, each in enumerate(edges))),
        *chain(*(in_bins(f"prob_in:{code}", each) for code, each in enumerate(edges))),
    )

    def average(mean: Array) -> Array:
        return _sum_gaps(mean) / classes

    name = calibration.add_bins_to_name(name, argument)
    return (Metric(name, statistics, average, upper=1.0, interval="calibration"),)


def _compare_in_bins(
    name: str, facts: Facts, argument: str | None, *words: str
) -> tuple[Statistic, ...]:
    """The statistics of these words in bins of the confidence, those of the first word first."""
    arguments.require_probabilities(name, facts)
    edges = calibration.find_edges(name, facts, argument)
    return tuple(chain(*(calibration.statistics_of_bins(word, edges) for word in words)))


def _sum_gaps(mean: Array) -> Array:
    happened, claimed = np.split(mean, 2, axis=-1)
    values: Array = np.abs(happened - claimed).sum(axis=-1)
    return values


def _sum_squares(mean: Array) -> Array:
    right, confidence, share = np.split(mean, 3, axis=-1)
    # A bin without items adds nothing.
    values: Array = np.nan_to_num(divide((right - confidence) ** 2, share)).sum(axis=-1)
    return values
