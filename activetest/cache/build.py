"""From a pool to its cache: one pass for statistics, one that checks, converts and writes."""

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from operator import add
from pathlib import Path

import numpy as np

from activetest import atomic, progress
from activetest.cache.arrays import Arrays
from activetest.cache.checked import SMALL_BLOCK, Manifest
from activetest.cache.design import Design, measure_pool
from activetest.cache.space import check_space
from activetest.errors import PoolError
from activetest.item_statistics.defaults import cached_statistics
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.nouns.rows import Array
from activetest.pool import groups as grouping
from activetest.pool.ids import Text, build_index, find_duplicates, hash_rows, hash_text
from activetest.pool.pool import Block, Pool, Strip
from activetest.pool.schema import Schema

VERSION = 4

# Rows whose tables of losses over all classes are made at once: they stay in the processor's cache.
_STRIP = 16384
# Steps, for whoever watches.
_BUILDING, _COMPARING = "building the cache", "comparing the pool with the study's"


@dataclass(frozen=True)
class RowCounts:
    """Counts over some rows.

    hashes        {number of a row group: sum of the hashes of its rows, not yet modulo 2^64}
    renormalised  rows whose probabilities did not sum to one
    disagreeing   rows whose predicted class is not the most probable one
    missing       (D,) missing values of each feature
    """

    hashes: Counter[int]
    renormalised: int
    disagreeing: int
    missing: Array

    def __add__(self, other: "RowCounts") -> "RowCounts":
        return RowCounts(
            self.hashes + other.hashes,
            self.renormalised + other.renormalised,
            self.disagreeing + other.disagreeing,
            self.missing + other.missing,
        )


# Counts, and ids that are not written yet.
_Result = tuple[RowCounts, list[Text]]


def build_into(pool: Pool, folder: Path) -> None:
    """Write the cache of a pool to a folder, as a whole or not at all.

    Raises PoolError for a value that cannot be right, StorageError where the disk has no room for
    it, OSError when it cannot be written.
    """
    design, values = measure_pool(pool)
    with atomic.replacing_folder(folder) as building:
        arrays = Arrays(building)
        try:
            _create_arrays(arrays, pool, design)
            check_space(arrays, pool)
            counts = _write_rows(arrays, pool, design, values)
            with progress.step("indexing ids"):
                _write_id_index(arrays, pool)
            mean_weight = _find_mean_weight(arrays, pool)
        finally:
            arrays.close()
        sums = [counts.hashes[piece.number] % 2**64 for piece in pool.pieces]
        manifest = {
            "version": VERSION,
            "rows": pool.rows,
            "classes": pool.schema.classes,
            "statistics": _choose_statistics(pool.schema),
            "fingerprint": _hash_pool(pool, sums),
            "group_names": pool.schema.groups,
            "group_values": values,
            "components": design.components,
            "mean_weight": mean_weight,
            "schema": pool.schema.to_dict(),
            "notices": _describe_corrections(pool, counts),
            "arrays": arrays.seal(),
            "stamp": pool.files.stamp(),
            "piece_rows": [piece.rows for piece in pool.pieces],
            "piece_sums": [_to_hex(each) for each in sums],
        }
        Manifest.write(building, manifest)


def compute_fingerprint(pool: Pool) -> tuple[str, list[str]]:
    """The fingerprint of a pool and the sum of row hashes of each piece, in one pass."""

    def hash_strip(strip: Strip) -> Counter[int]:
        block = pool.read_block(strip)
        return _sum_hashes(pool, block, hash_text(block.ids))

    total = pool.map_strips(hash_strip, add, without=("features", "groups"), title=_COMPARING)
    sums = [total[piece.number] % 2**64 for piece in pool.pieces]
    return _hash_pool(pool, sums), [_to_hex(each) for each in sums]


def _hash_pool(pool: Pool, sums: list[int]) -> str:
    """Rows, meaning of the outputs, order-free sum of row hashes: as 32 hexadecimal digits."""
    schema = pool.schema
    classes = list(schema.classes)
    meaning = [schema.task, schema.kind, classes, schema.id is None, schema.std is None]
    # Absent from pools without them, whose fingerprints stay as they were.
    meaning += [name for name in ("weight", "price") if getattr(schema, name) is not None]
    text = json.dumps([pool.rows, meaning, sum(sums) % 2**64])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _sum_hashes(pool: Pool, block: Block, keys: Array) -> Counter[int]:
    """{number of a row group: sum of the hashes of its rows}; ids of the rows hash to keys."""
    amounts = [block.amounts[column] for column in pool.schema.amount_columns]
    hashes = hash_rows(keys, [*block.checked.raw, *amounts])
    starts = [piece.start for piece in pool.pieces]
    first = bisect_right(starts, block.start) - 1
    end = bisect_left(starts, block.start + len(keys))
    begins = np.maximum(np.array(starts[first:end]) - block.start, 0)
    sums = np.add.reduceat(hashes, begins, dtype=np.uint64)
    return Counter(dict(zip(range(first, end), sums.tolist(), strict=True)))


def _to_hex(total: int) -> str:
    return f"{total:016x}"


def _choose_statistics(schema: Schema) -> tuple[str, ...]:
    """Names of the statistics that are computed per item."""
    return cached_statistics(schema.task, schema.kind)


def _create_arrays(arrays: Arrays, pool: Pool, design: Design) -> None:
    """Create every array of the cache."""
    schema, rows = pool.schema, pool.rows
    regression = schema.task == "regression"
    arrays.create("hashes", (rows,), np.uint64)
    arrays.create("id_letters", (0,), np.uint8, block=SMALL_BLOCK)
    arrays.create("id_offsets", (0,), np.int64, block=SMALL_BLOCK)
    arrays.create("id_order", (rows,), np.uint64, block=SMALL_BLOCK)
    arrays.create("pred", (rows,), float if regression else np.int32)
    arrays.create("design", (rows, design.model_columns + design.components), np.float32)
    arrays.create("codes", (rows, len(schema.groups)), np.int32)
    if schema.uncertain:
        width = sum(map(len, schema.uncertain_values))
        arrays.create("attribute_probs", (rows, width), np.float32)
        arrays.create("attribute_known", (rows, len(schema.uncertain)), np.int32)
    if schema.std is not None:
        arrays.create("std", (rows,), float)
    if schema.kind != "pred":
        arrays.create("probs", (rows, len(schema.classes)), np.float32)
    for name in ("weight", "price"):
        if getattr(schema, name) is not None:
            arrays.create(name, (rows,), float)
    if not regression:
        for name in ("right", "wrong", "spread"):
            arrays.create(name, (len(_choose_statistics(schema)), rows), np.float32, axis=1)


def _write_rows(arrays: Arrays, pool: Pool, design: Design, values: list[list[str]]) -> RowCounts:
    """The second pass: check and write every row; counts of all."""

    def convert(strip: Strip) -> _Result:
        counts, ids = _write_block(arrays, pool, pool.read_block(strip), design, values)
        return counts, [ids]

    def write_ids(result: _Result) -> RowCounts:
        # Where a strip's ids begin is known only once all before it are written.
        counts, texts = result
        for ids in texts:
            arrays.extend("id_offsets", arrays.shapes["id_letters"][0] + ids.offsets[:-1])
            arrays.extend("id_letters", ids.letters)
        return counts

    def join(left: _Result, right: _Result) -> _Result:
        return left[0] + right[0], left[1] + right[1]

    def combine(left: _Result, right: _Result) -> _Result:
        return write_ids(left) + write_ids(right), []

    counts = write_ids(pool.map_strips(convert, combine, gather=join, title=_BUILDING))
    arrays.extend("id_offsets", np.array(arrays.shapes["id_letters"]))
    return counts


def _write_block(
    arrays: Arrays, pool: Pool, block: Block, design: Design, values: list[list[str]]
) -> tuple[RowCounts, Text]:
    """Write the rows of a block; its counts, and its ids."""
    schema, outputs, start = pool.schema, block.checked.outputs, block.start
    keys = hash_text(block.ids)
    rows, missing = design.rows(outputs, block.features)
    arrays.write("hashes", start, keys)
    arrays.write("pred", start, outputs.pred)
    arrays.write("design", start, rows)
    if outputs.std is not None:
        arrays.write("std", start, outputs.std)
    if outputs.probs is not None:
        arrays.write("probs", start, outputs.probs)
    if values:
        codes = [
            grouping.recode(present, names, known)
            for (present, names), known in zip(block.groups, values, strict=True)
        ]
        arrays.write("codes", start, np.stack(codes, axis=1))
    if schema.uncertain:
        parts = [block.uncertain[name] for name in schema.uncertain]
        arrays.write("attribute_probs", start, np.concatenate([p.probs for p in parts], axis=1))
        arrays.write("attribute_known", start, np.stack([p.known for p in parts], axis=1))
    for name in ("weight", "price"):
        if (column := getattr(schema, name)) is not None:
            arrays.write(name, start, block.amounts[column])
    if schema.task == "classification":
        statistics = _choose_statistics(schema)
        for begin in range(0, len(keys), _STRIP):
            constants = right_and_wrong(outputs[begin : begin + _STRIP], statistics)
            for name, constant in zip(("right", "wrong", "spread"), constants, strict=True):
                arrays.write_across(name, start + begin, constant)
    counts = RowCounts(
        _sum_hashes(pool, block, keys),
        block.checked.renormalised,
        block.checked.disagreeing,
        missing,
    )
    return counts, block.ids


def _write_id_index(arrays: Arrays, pool: Pool) -> None:
    """Write the index of ids. Raises PoolError when two items have one id."""
    order = build_index(arrays.read("hashes"))
    ids = Text(arrays.read("id_letters"), arrays.read("id_offsets"))
    if duplicates := find_duplicates(order, ids):
        first, second = duplicates
        raise PoolError(
            f"rows {first:,} and {second:,} of {pool.uri} (counting from 0) "
            f"have the same id {ids[first]!r}",
            hint="ids must be unique; name another column with `id`, or remove the repeated rows",
        )
    arrays.write("id_order", 0, order)


def _find_mean_weight(arrays: Arrays, pool: Pool) -> float:
    """The mean of the weights; 1 without any. Raises PoolError where all weights are 0."""
    if pool.schema.weight is None:
        return 1.0
    weights = arrays.read("weight")
    if not weights.any():
        raise PoolError(
            f"every weight in column {pool.schema.weight!r} of {pool.uri} is 0",
            hint="name another column with `weight`, or leave it out",
        )
    # Scaled first: a sum of very large weights must not overflow.
    largest = float(weights.max())
    return largest * float((weights / largest).mean())


def _describe_corrections(pool: Pool, counts: RowCounts) -> list[str]:
    """What was corrected, or is unusual, in plain sentences."""
    notices = []
    if count := counts.renormalised:
        notices.append(f"renormalised the probabilities of {count:,} of {pool.rows:,} items")
    if count := counts.disagreeing:
        notices.append(
            f"pred is not the most probable class for {count:,} of {pool.rows:,} items; "
            "pred is what is tested"
        )
    if pool.schema.features and (count := int(counts.missing.sum())):
        gaps = zip(pool.feature_names(), counts.missing, strict=True)
        columns = list(dict.fromkeys(name for name, missing in gaps if missing))
        shown = ", ".join(columns[:8]) + (" and others" if len(columns) > 8 else "")
        notices.append(
            f"missing or infinite feature values ({count:,}, in {shown}) "
            "stand at their column's mean"
        )
    return notices
