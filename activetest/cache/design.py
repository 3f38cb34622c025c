"""The first pass over a pool: how the design is computed, and which groups there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from activetest.cache import components
from activetest.nouns.rows import Array, Outputs
from activetest.pool import groups as grouping
from activetest.pool.pool import Pool, Strip
from activetest.system.parallel import BlockSum

# The confidence enters the design as a logit, cut off where only rounding is left of it.
LOGIT_LIMIT = 12.0


@dataclass(frozen=True)
class Design:
    """How an item becomes a row of the design: the model's own outputs, then features.

    model_columns  H, the number of columns before the components
    centre         (H,) mean of predicted values and log standard deviations; empty for classes
    scale          (H,) their standard deviation
    projection     features onto components; None without features
    """

    model_columns: int
    centre: Array
    scale: Array
    projection: components.Projection | None

    @property
    def components(self) -> int:
        """Number of components of features."""
        return 0 if self.projection is None else len(self.projection.offset)

    def rows(self, outputs: Outputs, features: list[Array]) -> tuple[Array, Array]:
        """(R, H + components) float32, and how many values were missing in each feature."""
        missing = np.zeros(1, np.int64)
        parts = [self._scale_outputs(outputs)]
        if self.projection is not None:
            scores, missing = components.project_features(features, self.projection)
            parts.append(scores)
        return np.concatenate(parts, axis=1), missing

    def _scale_outputs(self, outputs: Outputs) -> Array:
        """(R, H) float32 confidence, or prediction in standard units."""
        if len(self.centre):
            return (
                (np.stack(_predicted_values(outputs), axis=1) - self.centre) / self.scale
            ).astype(np.float32)
        if not self.model_columns:
            return np.empty((len(outputs.pred), 0), np.float32)
        confidence = outputs.confidence[:, None].astype(float)
        with np.errstate(divide="ignore"):
            logit = np.log(confidence) - np.log1p(-confidence)
        return np.clip(logit, -LOGIT_LIMIT, LOGIT_LIMIT).astype(np.float32)


# Of some rows: sums of moments of features and of predicted values, empty without any, and the
# values of each group.
_Measured = tuple[Any, Any, list[set[str]]]


def _join_measured(left: _Measured, right: _Measured) -> _Measured:
    groups = [first | second for first, second in zip(left[2], right[2], strict=True)]
    return left[0] + right[0], left[1] + right[1], groups


def measure_pool(pool: Pool) -> tuple[Design, list[list[str]]]:
    """The design of a pool, and the values of each group in order.

    Of a population of several parts, the first one says how the design is computed: what is known
    of its items stays as it was when others come.

    Raises PoolError when a group column has too many values.
    """
    schema = pool.schema
    regression = schema.task == "regression"
    model_columns = 1 + (schema.std is not None) if regression else int(schema.kind != "pred")
    if not (schema.features or schema.groups or regression):
        return Design(model_columns, np.zeros(0), np.ones(0), None), []
    without = ("ids", "amounts") if regression else ("ids", "outputs", "amounts")
    measured = pool.files.part_rows[0]
    first = pool.read_block(next(pool.strips(without=without, stop=measured)))
    feature_scale = value_scale = None
    step = 1
    if schema.features:
        feature_scale = components.estimate_rough_scale(first.features)
        step = components.choose_row_step(measured, len(feature_scale.centre))
    if regression:
        value_scale = components.estimate_rough_scale(_predicted_values(first.checked.outputs))

    def measure_strip(strip: Strip) -> _Measured:
        block = pool.read_block(strip)
        kept = max(measured - block.start, 0)
        features: Any = ()
        values: Any = ()
        if feature_scale:
            columns = [column[:kept:step] for column in block.features]
            features = BlockSum.of(strip.number, components.compute_moments(columns, feature_scale))
        if value_scale:
            predicted = [each[:kept] for each in _predicted_values(block.checked.outputs)]
            values = BlockSum.of(strip.number, components.compute_moments(predicted, value_scale))
        groups = [grouping.find_occurring(codes, names) for codes, names in block.groups]
        _check_groups(schema.groups, groups)
        return features, values, groups

    features, values, groups = pool.map_strips(measure_strip, _join_measured, without=without)
    _check_groups(schema.groups, groups)
    centre, scale, projection = np.zeros(0), np.ones(0), None
    if value_scale:
        centre, scale = components.compute_mean_and_scale(values.total, value_scale)
    if feature_scale:
        projection = components.fit_projection(features.total, feature_scale)
    design = Design(model_columns, centre, scale, projection)
    possible = dict(zip(schema.uncertain, schema.uncertain_values, strict=True))
    if grouping.LABEL in schema.computed:
        possible[grouping.LABEL] = schema.classes
    bins = {
        group: grouping.name_number_bins(np.array(edges)) for group, edges in schema.bins.items()
    }
    return design, [
        list(possible[group])
        if group in possible
        else grouping.sort_names(names, bins.get(group, []))
        for group, names in zip(schema.groups, groups, strict=True)
    ]


def _check_groups(groups: Sequence[str], values: Sequence[set[str]]) -> None:
    """Raises PoolError when a group has more values than a report can have lines."""
    for group, names in zip(groups, values, strict=True):
        grouping.reject_too_many(group, names)


def _predicted_values(outputs: Outputs) -> list[Array]:
    """Predicted values, and the logarithm of their standard deviation where there is one."""
    if outputs.std is None:
        return [outputs.pred]
    return [outputs.pred, np.log(np.maximum(outputs.std, 1e-12))]
