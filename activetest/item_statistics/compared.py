"""Statistics and metrics of several models' outputs for the same items, and their differences.

A difference of means over items is the mean of the difference: an item on which two models do the
same adds nothing to it, whatever its label is.
"""

from dataclasses import replace

import numpy as np

from activetest.errors import ChoiceError
from activetest.item_statistics.metric import Metric, take_mean
from activetest.item_statistics.statistic import Statistic
from activetest.nouns.rows import Array, Outputs


def sum_over_models(name: str, terms: tuple[tuple[str, Statistic, float], ...]) -> Statistic:
    """The weighted sum of statistics of several models' outputs, under a name.

    terms are as in Statistic; outputs have those of the models as `others`.
    """

    def value(outputs: Outputs, labels: Array | None) -> Array:
        if labels is None:
            classes = outputs.known_probs.shape[1]
            labels = np.broadcast_to(np.arange(classes), (len(outputs.pred), classes))
        parts = [
            weight * each.value(outputs.others[model] if model else outputs, labels)
            for model, each, weight in terms
        ]
        total: Array = np.sum(parts, axis=0)
        return total

    ends = [sorted((weight * each.lower, weight * each.upper)) for _, each, weight in terms]
    lower, upper = (float(sum(end[side] for end in ends)) for side in (0, 1))
    statistics = [each for _, each, _ in terms]
    return Statistic(
        name,
        value,
        lower,
        upper,
        graded=any(each.graded for each in statistics),
        power=max(each.power for each in statistics),
        terms=terms,
    )


def bind_metric(metric: Metric, model: str, own: str) -> Metric:
    """The metric of one model's outputs.

    own is the name of the pool's own model. Raises ChoiceError for an area under a curve, whose
    shape follows one model's scores.
    """
    if metric.refine is not None:
        raise ChoiceError(
            f"{metric.title} is an area under a curve, and is not compared between models",
            "compare means, such as `error`, or report each model alone: `study.report(model=...)`",
        )
    place = "" if model == own else model
    statistics = tuple(
        sum_over_models(f"{each.name}({model})", ((place, each, 1.0),))
        for each in metric.statistics
    )
    return replace(
        metric,
        statistics=statistics,
        models=(model,),
        given_shares=None,
        averaged=None,
        against=None,
    )


def subtract_models(metric: Metric, model: str, reference: str, own: str) -> Metric:
    """A metric of one model's outputs minus the same of a reference's.

    own is the name of the pool's own model. A metric that is a line in one mean is so of the
    difference of the statistics. Raises ChoiceError as bind_metric does.
    """
    first, second = (bind_metric(metric, each, own) for each in (model, reference))
    span = metric.upper - metric.lower
    found = Metric(
        metric.name,
        first.statistics + second.statistics,
        lambda mean: metric.smooth(mean[..., :count]) - metric.smooth(mean[..., count:]),
        -span,
        span,
        metric.class_name,
        metric.undefined,
        models=(model, reference),
    )
    count = len(metric.statistics)
    if metric.ratio is None or count > 1 or metric.ratio[1][1]:
        return found
    (_, slope), (below, _) = metric.ratio
    terms = [
        (place, each, sign * slope / below)
        for sign, bound in ((1, first), (-1, second))
        for place, each, _ in bound.statistics[0].terms
    ]
    name = "-".join(each.statistics[0].name for each in (first, second))
    apart = replace(sum_over_models(name, tuple(terms)), lower=-span, upper=span)
    return replace(found, statistics=(apart,), smooth=take_mean, ratio=((0.0, 1.0), (1.0, 0.0)))
