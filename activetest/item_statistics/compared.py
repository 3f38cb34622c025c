"""Statistics and metrics of several models' outputs for the same items, and their differences.

A difference of means over items is the mean of the difference: an item on which two models do the
same adds nothing to it, whatever its label is.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Metric, linear_metric
from activetest.item_statistics.statistic import Statistic, statistic
from activetest.nouns.rows import Array, Outputs


def bind_metric(metric: Metric, model: str) -> Metric:
    """The metric of one model's outputs.

    Raises ChoiceError for an area under a curve, whose shape follows one model's scores.
    """
    if metric.refine is not None:
        raise ChoiceError(
            f"{metric.title} is an area under a curve, and is not compared between models",
            "compare means of losses, or report each model alone: `study.report(model='NAME')`",
        )
    return replace(
        metric,
        statistics=tuple(statistic(f"{each.name}({model})") for each in metric.statistics),
        models=(model,),
        given_shares=None,
        averaged=None,
        against=None,
    )


def subtract_models(metric: Metric, model: str, reference: str) -> Metric:
    """A metric of one model's outputs minus the same of a reference's.

    A metric that is a line in one mean is so of the difference of the statistics. Raises
    ChoiceError as bind_metric does.
    """
    first, second = (bind_metric(metric, each) for each in (model, reference))
    span = metric.upper - metric.lower
    if metric.ratio is not None and len(metric.statistics) == 1 and not metric.ratio[1][1]:
        ((_, slope), (below, _)), names = metric.ratio, (first, second)
        apart = statistic("-".join(each.statistics[0].name for each in names))
        line = linear_metric(metric.name, apart, slope=slope / below, class_name=metric.class_name)
        return replace(line, lower=-span, upper=span, models=(model, reference))
    count = len(metric.statistics)
    return Metric(
        metric.name,
        first.statistics + second.statistics,
        lambda mean: metric.smooth(mean[..., :count]) - metric.smooth(mean[..., count:]),
        -span,
        span,
        metric.class_name,
        metric.undefined,
        models=(model, reference),
    )


def settle_models(apart: Metric) -> Metric | None:
    """The share of items on which one of two models alone is right, from a difference of theirs.

    None for a metric that does not count mistakes.
    """
    if not subtracts_mistakes(apart):
        return None
    settled = statistic(f"|{apart.statistics[0].name}|")
    return replace(linear_metric("settled", settled), models=apart.models)


def counts_mistakes(metric: Metric) -> bool:
    """Whether a metric of one model follows from its share of mistakes alone."""
    return [each.name for each in metric.statistics] == ["zero_one"]


def subtracts_mistakes(metric: Metric) -> bool:
    """Whether a metric follows from the share of mistakes of one model minus that of another.

    An item adds -1, 0 or 1 to it.
    """
    first, *more = metric.statistics or (None,)
    terms = () if more or first is None or not first.signed else first.terms
    return [each.name for _, each, _ in terms] == ["zero_one"] * 2


def find_same(each: Statistic, first: Outputs, second: Outputs) -> Array:
    """(R,) items of which a statistic is the same for two models' outputs, whatever the label."""
    same: Array = first.pred == second.pred
    if each.cells:
        return same
    for own, other in ((first.probs, second.probs), (first.std, second.std)):
        if own is not None and other is not None:
            same = same & (own == other).all(axis=tuple(range(1, own.ndim)))
        elif own is not other:
            same = np.zeros_like(same)
    return same


def list_told_apart(statistics: Sequence[Statistic]) -> frozenset[str]:
    """The two models of which a metric asks only items that they predict differently, or none.

    So it is where the metric is one mean, and what an item adds follows from its predicted class.
    """
    terms = statistics[0].terms if len(statistics) == 1 else ()
    apart = len(terms) > 1 and all(each.cells for _, each, _ in terms)
    return frozenset(model for model, _, _ in terms if apart)


def find_differing(outputs: Outputs, apart: Statistic) -> Array:
    """(R,) 1.0 where an item can add something to a difference of two models' statistics."""
    (first, each, _), (second, _, _) = apart.terms
    return 1.0 - find_same(each, outputs.others[first], outputs.others[second])
