"""All features of every item, in standard units: two passes over the pool."""

import hashlib
import json
from dataclasses import dataclass
from operator import add

import numpy as np

from activetest.cache import components
from activetest.cache.parts import FEATURES, Part, drafted, opened
from activetest.nouns.rows import Array
from activetest.pool.ids import row_hashes

# Rows standardised at once: they stay in the processor's cache.
_STRIP = 4096

# A standard deviation below this share of the mean is what rounding leaves of a constant.
_CONSTANT = 1e-12

# Values that are not finite are looked for, and need no warning besides.
_QUIET = np.errstate(over="ignore", invalid="ignore")

_UNUSED = ("ids", "outputs", "groups")


@dataclass(frozen=True)
class Scale:
    """The pool's own units.

    centre   (D,) mean of each feature, missing values left out
    inverse  (D,) one over its standard deviation; 0 for a constant, which tells no rows apart
    """

    centre: Array
    inverse: Array

    @_QUIET
    def standardised(self, features: list[Array]) -> Array:
        """(R, D) float32 from (R,) and (R, W) columns; what is missing or infinite becomes 0."""
        made = np.empty((len(features[0]) if features else 0, len(self.centre)), np.float32)
        for begin, strip in _strips(features):
            part = (strip - self.centre) * self.inverse
            made[begin : begin + len(strip)] = np.where(np.isfinite(part), part, 0)
        return np.where(np.isfinite(made), made, np.float32(0))


@dataclass(frozen=True)
class _Sums:
    """(D,) counts, sums and sums of squares of the values that are there, in a pilot's units."""

    count: Array
    total: Array
    squares: Array

    def __add__(self, other: "_Sums") -> "_Sums":
        return _Sums(
            self.count + other.count, self.total + other.total, self.squares + other.squares
        )


def made_from(cache, pool) -> list:
    """What the part depends on."""
    return [cache.manifest["stamp"], list(pool.schema.features)]


def ensure(cache, pool) -> Part:
    """The part, made unless it is there.

    Raises PoolError where the pool is damaged, OSError when it cannot be written.
    """
    folder, source = cache.folder / FEATURES, made_from(cache, pool)
    if part := opened(folder, source):
        return part
    with drafted(folder, source) as draft:
        scale = measured(pool)
        draft.arrays.create(FEATURES, (pool.rows, len(scale.centre)), np.float32)
        for name in ("centre", "inverse"):
            draft.arrays.create(name, (0,), float)
            draft.arrays.extend(name, getattr(scale, name))

        def write(strip) -> int:
            block = pool.block(strip)
            draft.arrays.write(FEATURES, block.start, scale.standardised(block.features))
            return _hashed(cache.hashes[block.start : block.start + strip.batch.num_rows], block)

        total = pool.each(write, add, without=_UNUSED) if pool.schema.features else 0
        seen = json.dumps([pool.feature_names(), total % 2**64])
        draft.fingerprint = hashlib.sha256(seen.encode()).hexdigest()[:16]
    return Part(folder)


def scale_of(part: Part) -> Scale:
    """The units of a part."""
    return Scale(*(np.asarray(part.arrays[name]) for name in ("centre", "inverse")))


def _hashed(keys: Array, block) -> int:
    """The sum of the hashes of the rows of a block, whose ids hash to keys (R,)."""
    total = 0
    for begin in range(0, len(keys), _STRIP):
        part = slice(begin, begin + _STRIP)
        values = [
            column
            for feature in block.features
            for column in feature[part].reshape(len(keys[part]), -1).T
        ]
        total += int(row_hashes(keys[part], values).sum(dtype=np.uint64))
    return total


def measured(pool) -> Scale:
    """Mean and standard deviation of every feature over the pool, as exact as doubles are."""
    if not pool.schema.features:
        return Scale(np.empty(0), np.empty(0))
    first = components.pilot(pool.block(next(pool.strips(without=_UNUSED))).features)
    sums = pool.each(lambda strip: _sums(pool.block(strip).features, first), add, without=_UNUSED)
    count = np.maximum(sums.count, 1)
    mean = sums.total / count
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(sums.squares / count - mean**2, 0)) * first.scale
        centre = first.centre + first.scale * mean
        varies = spread > _CONSTANT * np.abs(centre)
    varies &= np.isfinite(spread) & np.isfinite(centre)
    inverse = np.divide(1, spread, out=np.zeros(len(spread)), where=varies)
    return Scale(np.where(varies, centre, 0), inverse)


@_QUIET
def _sums(features: list[Array], first: components.Pilot) -> _Sums:
    """Of one chunk."""
    count, total, squares = (np.zeros(len(first.centre)) for _ in range(3))
    for _, strip in _strips(features):
        strip = (strip - first.centre) / first.scale
        there = np.isfinite(strip)
        strip = np.where(there, strip, 0)
        count += there.sum(axis=0)
        total += strip.sum(axis=0)
        squares += (strip**2).sum(axis=0)
    return _Sums(count, total, squares)


def _strips(features: list[Array]):
    """(first row, (R, D) float64) of a few thousand rows at a time."""
    for begin in range(0, len(features[0]) if features else 0, _STRIP):
        parts = [column[begin : begin + _STRIP].astype(float) for column in features]
        yield begin, np.column_stack(parts)
