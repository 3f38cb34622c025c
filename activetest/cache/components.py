"""From features to a few standardised principal components: learn the map, then apply it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from activetest.nouns.rounding import fix_signs
from activetest.nouns.rows import Array

# Components kept: enough for a linear surrogate that is fitted on a few hundred labels.
COMPONENTS = 8

# Rows standardised at once: with 64 features they stay in the processor's cache.
_STRIP = 8192

# Rows whose products are summed at once in double precision.
_EXACT = 2048

# Multiplications the covariance may cost; with more features it is taken over evenly spaced rows.
_WORK = 2**34

# A standard deviation below this, in units of the rough scale, is what float32 sums leave of a
# constant.
_CONSTANT = 1e-4

# Eigenvalues whose relative difference is below this are taken for equal.
_TURNING = 1e-6

# Values that are not finite are handled; numpy need not warn about them.
_QUIET = np.errstate(over="ignore", invalid="ignore")

# Above this many features a few components come cheaper from subspace iteration than from all of
# them.
_FULL = 1024


@dataclass(frozen=True)
class RoughScale:
    """Centre (D,) and scale (D,) of the features in the first rows.

    Sums of values that are shifted and scaled by them stay exact in float32.
    """

    centre: Array
    scale: Array


@dataclass(frozen=True)
class Moments:
    """Sums over rows of features in units of a RoughScale; a missing value adds nothing.

    rows    number of rows
    present (D,) number of values that were there
    total   (D,) sum
    gram    (D, D) sum of products
    """

    rows: int
    present: Array
    total: Array
    gram: Array

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(
            self.rows + other.rows,
            self.present + other.present,
            self.total + other.total,
            self.gram + other.gram,
        )


@dataclass(frozen=True)
class Projection:
    """Features -> components: (x - centre) @ weights + offset, missing values replaced first.

    centre  (D,) subtracted first
    fill    (D,) what stands for a missing value after that: its column's mean
    weights (D, k) float32; k components of unit variance
    offset  (k,) float32
    """

    centre: Array
    fill: Array
    weights: Array
    offset: Array


@_QUIET
def estimate_rough_scale(features: list[Array]) -> RoughScale:
    """Centre and scale of a first batch of (R,) and (R, W) columns; 0 and 1 without values."""
    means, scales = [], []
    for column in features:
        values = column.reshape(len(column), -1).astype(float)
        there = np.isfinite(values)
        count = np.maximum(there.sum(axis=0), 1)
        mean = np.where(there, values, 0).sum(axis=0) / count
        spread = np.sqrt((np.where(there, values - mean, 0) ** 2).sum(axis=0) / count)
        means.append(np.where(np.isfinite(mean), mean, 0))
        scales.append(np.where(np.isfinite(spread) & (spread > 0), spread, 1))
    return RoughScale(np.concatenate(means), np.concatenate(scales))


def choose_row_step(rows: int, width: int) -> int:
    """k, where the covariance is taken over every k-th row, for so many rows and features."""
    affordable = max(_WORK // width**2, 16 * width, 131_072)
    return -(-rows // affordable)


@_QUIET
def compute_moments(features: list[Array], rough: RoughScale) -> Moments:
    """Moments of a chunk of (R,) and (R, W) columns."""
    width = len(rough.centre)
    rows = len(features[0])
    present, total, gram = np.zeros(width), np.zeros(width), np.zeros((width, width))
    scale = (1 / rough.scale).astype(np.float32)[:, None]
    for centred in _centre_strips(features, rough.centre):
        strip = np.multiply(centred, scale, out=centred)
        for begin in range(0, strip.shape[1], _EXACT):
            # In double precision: what single precision rounds, small components would magnify.
            exact = strip[:, begin : begin + _EXACT].astype(float)
            sums = exact.sum(axis=1)
            if np.isfinite(sums).all():
                present += exact.shape[1]
            else:
                there = np.isfinite(exact)
                exact[~there] = 0
                present += there.sum(axis=1)
                sums = exact.sum(axis=1)
            total += sums
            gram += exact @ exact.T
    return Moments(rows, present, total, gram)


def compute_mean_and_scale(moments: Moments, rough: RoughScale) -> tuple[Array, Array]:
    """(D,) mean and standard deviation of each column; 1 for a constant one."""
    mean = moments.total / moments.rows
    spread = np.sqrt(np.maximum(np.diag(moments.gram) / moments.rows - mean**2, 0))
    return rough.centre + rough.scale * mean, rough.scale * np.where(spread > _CONSTANT, spread, 1)


def fit_projection(moments: Moments, rough: RoughScale) -> Projection:
    """The map from features to the leading principal components of the standardised features.

    Components have variance one. Constant features have no weight, and there are no more
    components than independent features. The largest loading of each is positive. Components of
    the same variance are those nearest to the first features: no rounding turns them.
    """
    mean = moments.total / moments.rows
    covariance = moments.gram / moments.rows - np.outer(mean, mean)
    spread = np.sqrt(np.maximum(np.diag(covariance), 0))
    inverse = np.where(spread > _CONSTANT, 1 / np.maximum(spread, _CONSTANT), 0)
    values, vectors = _find_leading(
        covariance * np.outer(inverse, inverse), min(COMPONENTS, len(mean))
    )
    keep = values > 1e-4
    vectors = fix_signs(_fix_turns(values[keep], vectors[:, keep]))
    weights = inverse[:, None] * vectors / np.sqrt(values[keep])
    centre = moments.total / np.maximum(moments.present, 1)
    return Projection(
        rough.centre,
        rough.scale * centre,
        (weights / rough.scale[:, None]).astype(np.float32),
        -(centre @ weights).astype(np.float32),
    )


@_QUIET
def project_features(features: list[Array], projection: Projection) -> tuple[Array, Array]:
    """(R, k) float32 components, and (D,) how many values were missing in each feature."""
    rows, missing = len(features[0]), np.zeros(len(projection.centre), np.int64)
    components = np.empty((rows, len(projection.offset)), np.float32)
    begin = 0
    for strip in _centre_strips(features, projection.centre):
        part = components[begin : begin + strip.shape[1]]
        np.matmul(strip.T, projection.weights, out=part)
        # A value that is not finite spoils the sums of its row.
        if not np.isfinite(part).all() or not len(projection.offset):
            gaps = ~np.isfinite(strip)
            missing += gaps.sum(axis=1)
            np.matmul(
                np.where(gaps, projection.fill.astype(np.float32)[:, None], strip).T,
                projection.weights,
                out=part,
            )
        begin += strip.shape[1]
    return components + projection.offset, missing


def _centre_strips(features: list[Array], centre: Array) -> Iterator[Array]:
    """(D, <= 8192) float32 strips of the chunk minus the centre; each overwrites the one before."""
    rows = len(features[0])
    block = np.empty((len(centre), min(rows, _STRIP)), np.float32)
    parts = [
        column if column.dtype == np.float32 else column.astype(float, copy=False)
        for column in features
    ]
    places = np.cumsum([0] + [1 if part.ndim == 1 else part.shape[1] for part in parts])
    # In the column's own precision, so that large numbers with small differences keep them.
    centres = [
        centre[begin:end, None].astype(part.dtype)
        for part, begin, end in zip(parts, places[:-1], places[1:], strict=True)
    ]
    for begin in range(0, rows, _STRIP):
        strip = block[:, : min(_STRIP, rows - begin)]
        for part, middle, place in zip(parts, centres, places[:-1], strict=True):
            out, values = strip[place : place + len(middle)], part[begin : begin + _STRIP].T
            np.subtract(values, middle, out=out, dtype=part.dtype, casting="unsafe")
        yield strip


def _fix_turns(values: Array, vectors: Array) -> Array:
    """(D, k) the eigenvectors; those of equal eigenvalues (k,) may be turned among each other.

    Of each such set the first is as near to the first feature as any in their span, the next to the
    next feature among what is at right angles to it, and so on.
    """
    apart = np.abs(np.diff(values)) > _TURNING * values[:-1]
    parts = []
    for part in np.split(vectors, np.flatnonzero(apart) + 1, axis=1):
        found: list[Array] = []
        for row in part if part.shape[1] > 1 else ():
            near = part @ row
            for other in found:
                near -= (other @ near) * other
            length = np.sqrt(near @ near)
            if length > _TURNING and len(found) < part.shape[1]:
                found.append(near / length)
        parts.append(np.stack(found, axis=1) if found else part)
    return np.hstack(parts) if parts else vectors


def _find_leading(matrix: Array, count: int) -> tuple[Array, Array]:
    """The count largest eigenvalues, in descending order, and their eigenvectors (D, count)."""
    if len(matrix) <= _FULL:
        values, vectors = np.linalg.eigh(matrix)
        return values[::-1][:count], vectors[:, ::-1][:, :count]
    block = np.linalg.qr(np.random.default_rng(0).standard_normal((len(matrix), 3 * count)))[0]
    for _ in range(50):
        block = np.linalg.qr(matrix @ block)[0]
    values, turn = np.linalg.eigh(block.T @ matrix @ block)
    return values[::-1][:count], (block @ turn)[:, ::-1][:, :count]
