"""The first pass over a pool: what makes the columns of the design, and which groups there are."""

from dataclasses import dataclass
from operator import add

import numpy as np

from activetest.cache import components
from activetest.nouns.rows import Array, Outputs
from activetest.pool import groups as grouping

# The confidence enters the design as a logit, cut off where only rounding is left of it.
LOGIT_LIMIT = 12.0


@dataclass(frozen=True)
class Design:
    """How an item becomes a row of the design: the black box's own view of it, then features.

    heads       number of columns before the components
    centre      (heads,) mean of predicted values, log standard deviations; empty for classes
    scale       (heads,) their standard deviation
    projection  features onto components; None without features
    """

    heads: int
    centre: Array
    scale: Array
    projection: components.Projection | None

    @property
    def components(self) -> int:
        """Number of components of features."""
        return 0 if self.projection is None else len(self.projection.offset)

    def rows(self, outputs: Outputs, features: list[Array]) -> tuple[Array, Array]:
        """(R, heads + components) float32, and how many values were missing in each feature."""
        missing = np.zeros(1, np.int64)
        parts = [self._heads(outputs)]
        if self.projection is not None:
            scores, missing = components.project(features, self.projection)
            parts.append(scores)
        return np.concatenate(parts, axis=1), missing

    def _heads(self, outputs: Outputs) -> Array:
        """(R, heads) float32 confidence, or prediction in standard units."""
        if len(self.centre):
            return ((np.stack(_values(outputs), axis=1) - self.centre) / self.scale).astype(
                np.float32
            )
        if not self.heads:
            return np.empty((len(outputs.pred), 0), np.float32)
        confidence = outputs.confidence[:, None].astype(float)
        with np.errstate(divide="ignore"):
            logit = np.log(confidence) - np.log1p(-confidence)
        return np.clip(logit, -LOGIT_LIMIT, LOGIT_LIMIT).astype(np.float32)


@dataclass(frozen=True)
class _Seen:
    """Moments of features and of predicted values (None without any), values of each group."""

    features: components.Moments | None
    values: components.Moments | None
    groups: tuple[set[str], ...]

    def __add__(self, other: "_Seen") -> "_Seen":
        features = None if self.features is None else self.features + other.features
        values = None if self.values is None else self.values + other.values
        return _Seen(
            features, values, tuple(a | b for a, b in zip(self.groups, other.groups, strict=True))
        )


def measure_pool(pool) -> tuple[Design, list[list[str]]]:
    """The design of a pool, and the values of each group in order.

    Raises PoolError when a group column has too many values.
    """
    schema = pool.schema
    regression = schema.task == "regression"
    heads = 1 + (schema.std is not None) if regression else int(schema.kind != "pred")
    if not (schema.features or schema.groups or regression):
        return Design(heads, np.zeros(0), np.ones(0), None), []
    without = ("ids",) if regression else ("ids", "outputs")
    first = pool.block(next(pool.strips(without=without)))
    pilot = components.pilot(first.features) if schema.features else None
    value_pilot = components.pilot(_values(first.checked.outputs)) if regression else None
    every = components.stride(pool.rows, len(pilot.centre)) if pilot else 1

    def seen(strip) -> _Seen:
        block = pool.block(strip)
        features = (
            components.measure([column[::every] for column in block.features], pilot)
            if pilot
            else None
        )
        values = (
            components.measure(_values(block.checked.outputs), value_pilot) if regression else None
        )
        found = _Seen(features, values, tuple(grouping.occurring(*group) for group in block.groups))
        for group, names in zip(schema.groups, found.groups, strict=True):
            grouping.reject_too_many(group, names)
        return found

    total = pool.each(seen, add, without=without)
    for group, names in zip(schema.groups, total.groups, strict=True):
        grouping.reject_too_many(group, names)
    centre, scale = (
        components.standard(total.values, value_pilot) if regression else (np.zeros(0), np.ones(0))
    )
    onto = components.projection(total.features, pilot) if pilot else None
    return Design(heads, centre, scale, onto), [grouping.in_order(names) for names in total.groups]


def _values(outputs: Outputs) -> list[Array]:
    """Predicted values, and the logarithm of their standard deviation where there is one."""
    if outputs.std is None:
        return [outputs.pred]
    return [outputs.pred, np.log(np.maximum(outputs.std, 1e-12))]
