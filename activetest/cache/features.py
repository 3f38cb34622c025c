"""All features of every item, in standard units: two passes over the pool."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from operator import add

import numpy as np

from activetest.cache import components
from activetest.cache.cache import Cache
from activetest.cache.parts import FEATURES, Part, drafting_part, open_part
from activetest.cache.space import check_space
from activetest.nouns.rows import Array
from activetest.pool.ids import hash_rows
from activetest.pool.pool import Block, Pool, Strip
from activetest.system.parallel import BlockSum

# Rows standardised at once: they stay in the processor's cache.
_STRIP = 4096

# A standard deviation below this share of the mean is what rounding leaves of a constant.
_CONSTANT = 1e-12

# Values that are not finite are handled; numpy need not warn about them.
_QUIET = np.errstate(over="ignore", invalid="ignore")

_UNUSED = ("ids", "outputs", "groups", "amounts")


@dataclass(frozen=True)
class Scale:
    """The pool's own units.

    centre   (D,) mean of each feature, missing values left out
    inverse  (D,) one over its standard deviation; 0 for a constant, which tells no rows apart
    """

    centre: Array
    inverse: Array

    @_QUIET
    def standardise(self, features: list[Array]) -> Array:
        """(R, D) float32 from (R,) and (R, W) columns; what is missing or infinite becomes 0."""
        rows = len(features[0]) if features else 0
        table = np.empty((rows, len(self.centre)), np.float32)
        for begin, strip in _split_rows(features):
            part = (strip - self.centre) * self.inverse
            table[begin : begin + len(strip)] = np.where(np.isfinite(part), part, 0)
        return np.where(np.isfinite(table), table, np.float32(0))


def describe_origin(cache: Cache, pool: Pool) -> list:
    """Origin of the part, JSON-ready."""
    return [cache.manifest["stamp"], list(pool.schema.features), *_list_shape(pool)]


def _list_shape(pool: Pool) -> list[list[int]]:
    """The shape of the image that the features are; nothing of features that are none."""
    return [list(pool.schema.shape)] if pool.schema.shape else []


def ensure_features(cache: Cache, pool: Pool) -> Part:
    """The part of features, built unless it is there.

    Of a population of several parts, units and fingerprint are those of the first: values of its
    items stay as they were when others come.

    Raises PoolError where the pool is damaged, OSError when it cannot be written.
    """
    folder, origin = cache.folder / FEATURES, describe_origin(cache, pool)
    if part := open_part(folder, origin):
        return part
    # Read first: a damaged cache is replaced, with what is being drafted in it.
    hashes, first = cache.hashes, pool.files.part_rows[0]
    with drafting_part(folder, origin) as draft:
        scale = measure_scale(pool)
        width = len(scale.centre)
        check_space(draft.folder, 4 * pool.rows * width, pool)
        draft.put("centre", scale.centre)
        draft.put("inverse", scale.inverse)
        draft.create(FEATURES, (pool.rows, width), np.float32, [*accumulate(cache.piece_rows)])

        def write_strip(strip: Strip) -> int:
            block = pool.read_block(strip)
            draft.write(FEATURES, block.start, scale.standardise(block.features))
            stop = min(block.start + strip.batch.num_rows, first)
            return _hash_block(hashes[block.start : max(stop, block.start)], block)

        total = pool.map_strips(write_strip, add, without=_UNUSED, here=True) if width else 0
        content = json.dumps([pool.feature_names(), total % 2**64, *_list_shape(pool)])
        draft.fingerprint = hashlib.sha256(content.encode()).hexdigest()[:16]
    return Part.open(folder)


def read_scale(part: Part) -> Scale:
    """The units of a part of features."""
    return Scale(part.read("centre"), part.read("inverse"))


def _hash_block(keys: Array, block: Block) -> int:
    """The sum of the hashes of the rows of a block, whose ids hash to keys (R,)."""
    total = 0
    for begin in range(0, len(keys), _STRIP):
        part = slice(begin, begin + _STRIP)
        values = [
            column
            for feature in block.features
            for column in feature[: len(keys)][part].reshape(len(keys[part]), -1).T
        ]
        total += int(hash_rows(keys[part], values).sum(dtype=np.uint64))
    return total


def measure_scale(pool: Pool) -> Scale:
    """Mean and standard deviation of every feature over the first part, as exact as doubles are.

    The pixels of an image have one of both, so that they stay comparable.
    """
    if not pool.schema.features:
        return Scale(np.empty(0), np.empty(0))
    rows = pool.files.part_rows[0]
    first = pool.read_block(next(pool.strips(without=_UNUSED, stop=rows)))
    rough = components.estimate_rough_scale(first.features)

    def sum_strip(strip: Strip) -> BlockSum:
        kept = max(rows - strip.start, 0)
        columns = [each[:kept] for each in pool.read_block(strip).features]
        sums = _sum_chunk(columns, rough)
        return BlockSum.of(strip.number, sums)

    if pool.schema.shape:
        rough = _share_scale(rough)
    sums: Array = pool.map_strips(sum_strip, add, without=_UNUSED).total
    if pool.schema.shape:
        sums = np.array([np.full(len(each), each.sum()) for each in sums])
    present, total, squares = sums
    count = np.maximum(present, 1)
    mean = total / count
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.sqrt(np.maximum(squares / count - mean**2, 0)) * rough.scale
        centre = rough.centre + rough.scale * mean
        varies = spread > _CONSTANT * np.abs(centre)
    varies &= np.isfinite(spread) & np.isfinite(centre)
    inverse = np.divide(1, spread, out=np.zeros(len(spread)), where=varies)
    return Scale(np.where(varies, centre, 0), inverse)


def _share_scale(rough: components.RoughScale) -> components.RoughScale:
    """The scale of all columns together, for each of them."""
    spread = np.sqrt((rough.scale**2).mean() + rough.centre.var())
    size = len(rough.centre)
    return components.RoughScale(np.full(size, rough.centre.mean()), np.full(size, spread))


@_QUIET
def _sum_chunk(features: list[Array], rough: components.RoughScale) -> Array:
    """(3, D) counts, sums and sums of squares of (R,) and (R, W) columns, in units of the scale."""
    sums = np.zeros((3, len(rough.centre)))
    for _, strip in _split_rows(features):
        scaled = (strip - rough.centre) / rough.scale
        present = np.isfinite(scaled)
        values = np.where(present, scaled, 0)
        sums += [present.sum(axis=0), values.sum(axis=0), (values**2).sum(axis=0)]
    return sums


def _split_rows(features: list[Array]) -> Iterator[tuple[int, Array]]:
    """(first row, (R, D) float64 values) of a few thousand rows at a time."""
    for begin in range(0, len(features[0]) if features else 0, _STRIP):
        parts = [column[begin : begin + _STRIP].astype(float) for column in features]
        yield begin, np.column_stack(parts)
