"""Rows of a report about several models: each alone, and how far it is from a reference."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from activetest.errors import NotEstimable
from activetest.estimation.group_estimates import HEADLINE
from activetest.estimation.simultaneous import find_joint_level
from activetest.estimation.value import Value
from activetest.estimation.view import ANYTIME, View
from activetest.item_statistics.compared import settle_models
from activetest.item_statistics.metric import Metric
from activetest.nouns.estimate import FEW
from activetest.nouns.report import Comparison, EstimateRow
from activetest.reporting.rows import estimate_row
from activetest.rounds.fit import make_generator


def list_settled(apart: Iterable[Metric]) -> list[Metric]:
    """For differences of mistakes, the shares of items on which one of two models is right."""
    return list(filter(None, map(settle_models, apart)))


def estimate_models(
    view: View, metrics: Sequence[Metric], kind: str, *, rope: float | None
) -> list[EstimateRow]:
    """A row for every metric of one further model, or of one minus a reference.

    Intervals of the differences of one metric hold together with the probability of the study's
    level: by a sup-t band, or Bonferroni's where they are to hold at every look. rope is the size
    up to which a difference counts as none, None where there is no such size.
    """
    families: dict[tuple[str, str | None], list[Metric]] = {}
    for metric in metrics:
        if len(metric.models) > 1:
            families.setdefault((metric.name, metric.class_name), []).append(metric)
    level, rows = view.choices.level, []
    levels = {key: _find_level(view, each, kind) for key, each in families.items()}
    for metric in metrics:
        if len(metric.models) < 2:
            rows.append(estimate_row(view, metric, HEADLINE, level=level, kind=kind))
            continue
        own = levels[metric.name, metric.class_name]
        row = estimate_row(view, metric, HEADLINE, level=own, kind=kind)
        rows.append(replace(row, compared=_compare(view, metric, row, kind, rope)))
    return rows


def _find_level(view: View, metrics: Sequence[Metric], kind: str) -> float:
    """The level of single intervals that makes those of all these differences hold together."""
    level = view.choices.level
    if len(metrics) < 2:
        return level
    if kind == ANYTIME:
        return 1 - (1 - level) / len(metrics)
    found = [value for each in metrics if (value := _find_value(view, each)) is not None]
    # With few labels on a side, each difference errs in its own way.
    families = [[(value, value.estimate.minority_count < FEW)] for value in found]
    rng = make_generator(view.seed, len(view.log.history) + 1, "models")
    return find_joint_level(families, level, rng)


def _find_value(view: View, metric: Metric) -> Value | None:
    """The value of a metric; None where it does not exist yet."""
    try:
        return view.value(metric, HEADLINE)
    except NotEstimable:
        return None


def _compare(
    view: View, metric: Metric, row: EstimateRow, kind: str, rope: float | None
) -> Comparison:
    """Shares of items on which one model alone is right, and whether models are as good as equal.

    Two one-sided tests (Schuirmann 1987): equal are models whose interval at twice the error lies
    within the rope.
    """
    found, settled = Comparison(rope=rope), settle_models(metric)
    value = _find_value(view, metric)
    if value is None or row.lower is None:
        return found
    if settled is not None and (either := _find_value(view, settled)) is not None:
        apart = float(value.means.limited_mean[0])
        share = max(either.value, abs(apart))
        better, worse = ((share + each) / 2 for each in (-apart, apart))
        found = replace(found, better=better, worse=worse)
    if rope is None:
        return found
    wide = estimate_row(view, metric, HEADLINE, level=2 * (row.level or 0) - 1, kind=kind)
    ends = np.array([wide.lower, wide.upper], float)
    return replace(found, equal=bool(wide.reliable and (np.abs(ends) <= rope).all()))
