"""From a pool to its cache: one pass for statistics, one that checks, converts and writes."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np

from activetest.cache.arrays import Arrays, replacing
from activetest.cache.design import Design, measure_pool
from activetest.errors import PoolError
from activetest.item_statistics.defaults import STATISTICS, default_metrics
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.nouns.rows import Array
from activetest.pool import groups as grouping
from activetest.pool.ids import Text, hashes, ordered, repeated, row_hashes

VERSION = 1

# Rows whose tables of losses over all classes are made at once: they stay in the processor's cache.
_STRIP = 16384


@dataclass(frozen=True)
class PassCounts:
    """What was found in some rows.

    hash          sum of the hashes of the rows, modulo 2^64
    renormalised  rows whose probabilities did not sum to one
    disagreeing   rows whose predicted class is not the most probable one
    missing       (D,) missing values of each feature
    """

    hash: int
    renormalised: int
    disagreeing: int
    missing: Array

    def __add__(self, other: "PassCounts") -> "PassCounts":
        return PassCounts(
            (self.hash + other.hash) % 2**64,
            self.renormalised + other.renormalised,
            self.disagreeing + other.disagreeing,
            self.missing + other.missing,
        )


def build_into(pool, folder: Path) -> None:
    """Write the cache of a pool to a folder.

    Raises PoolError, and OSError when it cannot be written.
    """
    design, values = measure_pool(pool)
    with replacing(folder) as fresh:
        arrays = Arrays(fresh)
        try:
            _create(arrays, pool, design)
            tallies = _write(arrays, pool, design, values)
            _order(arrays, pool)
        finally:
            arrays.close()
        manifest = {
            "version": VERSION,
            "rows": pool.rows,
            "classes": pool.schema.classes,
            "statistics": _statistics(pool.schema),
            "fingerprint": _digest(pool, [counts.hash for counts in tallies]),
            "group_names": pool.schema.groups,
            "group_values": values,
            "components": design.components,
            "schema": pool.schema.to_dict(),
            "notices": _notices(pool, reduce(add, tallies)),
            "arrays": arrays.shapes,
            "stamp": pool.files.stamp(),
            "piece_rows": [piece.rows for piece in pool.pieces],
            "piece_sums": [_hex(counts.hash) for counts in tallies],
        }
        (fresh / "manifest.json").write_text(json.dumps(manifest))


def fingerprint(pool) -> tuple[str, list[str]]:
    """The fingerprint of a pool and the sum of row hashes of each piece, in one pass."""

    def scan(strip) -> Counter:
        block = pool.block(strip)
        return Counter({strip.piece.number: _row_sum(block, hashes(block.ids))})

    found = pool.each(scan, add, without=("features", "groups"))
    sums = [found[piece.number] % 2**64 for piece in pool.pieces]
    return _digest(pool, sums), [_hex(total) for total in sums]


def _digest(pool, sums: list[int]) -> str:
    """Rows, meaning of the outputs, order-free sum of row hashes: as 32 hexadecimal digits."""
    schema = pool.schema
    meaning = [
        schema.task,
        schema.kind,
        list(schema.classes),
        schema.id is None,
        schema.std is None,
    ]
    return hashlib.sha256(json.dumps([pool.rows, meaning, sum(sums) % 2**64]).encode()).hexdigest()[
        :32
    ]


def _row_sum(block, keys: Array) -> int:
    """The sum of the hashes of the rows, whose ids hash to keys."""
    return int(row_hashes(keys, block.checked.raw).sum(dtype=np.uint64))


def _hex(total: int) -> str:
    return f"{total:016x}"


def _statistics(schema) -> tuple[str, ...]:
    """What is computed per item."""
    return STATISTICS[default_metrics(schema.task, schema.kind)]


def _create(arrays: Arrays, pool, design: Design) -> None:
    """Create every array of the cache."""
    schema, rows = pool.schema, pool.rows
    regression = schema.task == "regression"
    arrays.create("hashes", (rows,), np.uint64)
    arrays.create("id_letters", (0,), np.uint8)
    arrays.create("id_offsets", (0,), np.int64)
    arrays.create("id_order", (rows,), np.uint64)
    arrays.create("pred", (rows,), float if regression else np.int32)
    arrays.create("design", (rows, design.heads + design.components), np.float32)
    arrays.create("codes", (rows, len(schema.groups)), np.int32)
    if schema.std is not None:
        arrays.create("std", (rows,), float)
    if schema.kind != "pred":
        arrays.create("probs", (rows, len(schema.classes)), np.float32)
    if not regression:
        for name in ("right", "wrong", "spread"):
            arrays.create(name, (len(_statistics(schema)), rows), np.float32)


def _write(arrays: Arrays, pool, design: Design, values: list[list[str]]) -> list[PassCounts]:
    """The second pass: every row checked and written; a tally per piece."""

    def convert(strip) -> tuple[dict[int, PassCounts], list[Text]]:
        counts, ids = _write_block(arrays, pool.block(strip), design, values, pool.schema)
        return {strip.piece.number: counts}, [ids]

    def keep(result: tuple[dict[int, PassCounts], list[Text]]) -> dict[int, PassCounts]:
        # Where a strip's ids begin is known only once all before it are written.
        tallies, texts = result
        for ids in texts:
            arrays.extend("id_offsets", arrays.shapes["id_letters"][0] + ids.offsets[:-1])
            arrays.extend("id_letters", ids.letters)
        return tallies

    def gather(before, now) -> tuple[dict[int, PassCounts], list[Text]]:
        return _merged(before[0], now[0]), before[1] + now[1]

    def combine(before, now) -> tuple[dict[int, PassCounts], list[Text]]:
        return _merged(keep(before), keep(now)), []

    tallies = list(keep(pool.each(convert, combine, gather=gather)).values())
    arrays.extend("id_offsets", np.array(arrays.shapes["id_letters"]))
    return tallies


def _merged(before: dict[int, PassCounts], now: dict[int, PassCounts]) -> dict[int, PassCounts]:
    """Tallies per piece, those of a piece that is in both added."""
    shared = {number: before[number] + now[number] for number in before.keys() & now.keys()}
    return before | now | shared


def _write_block(
    arrays: Arrays, block, design: Design, values: list[list[str]], schema
) -> tuple[PassCounts, Text]:
    """Write what is known of a block; its tally, and its ids."""
    outputs, start = block.checked.outputs, block.start
    keys = hashes(block.ids)
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
            grouping.place(*group, known) for group, known in zip(block.groups, values, strict=True)
        ]
        arrays.write("codes", start, np.stack(codes, axis=1))
    if schema.task == "classification":
        for begin in range(0, len(keys), _STRIP):
            constants = right_and_wrong(outputs[begin : begin + _STRIP], _statistics(schema))
            for name, constant in zip(("right", "wrong", "spread"), constants, strict=True):
                arrays.write_across(name, start + begin, constant)
    counts = PassCounts(
        _row_sum(block, keys), block.checked.renormalised, block.checked.disagreeing, missing
    )
    return counts, block.ids


def _order(arrays: Arrays, pool) -> None:
    """Write the index of ids. Raises PoolError when two items have one id."""
    order = ordered(arrays.read("hashes"))
    ids = Text(arrays.read("id_letters"), arrays.read("id_offsets"))
    if duplicates := repeated(order, ids):
        first, second = duplicates
        raise PoolError(
            f"rows {first:,} and {second:,} of {pool.uri} (counting from 0) "
            f"have the same id {ids[first]!r}",
            hint="ids must be unique; name another column with --id, or remove the repeated rows",
        )
    arrays.write("id_order", 0, order)


def _notices(pool, counts: PassCounts) -> list[str]:
    """What was put right, or is odd, in plain sentences."""
    said = []
    if count := counts.renormalised:
        said.append(f"renormalised the probabilities of {count:,} of {pool.rows:,} items")
    if count := counts.disagreeing:
        said.append(
            f"pred is not the most probable class for {count:,} of {pool.rows:,} items; "
            "pred is what is tested"
        )
    if pool.schema.features and (count := int(counts.missing.sum())):
        gaps = zip(pool.feature_names(), counts.missing, strict=True)
        columns = list(dict.fromkeys(name for name, missing in gaps if missing))
        shown = ", ".join(columns[:8]) + (" and others" if len(columns) > 8 else "")
        said.append(
            f"missing or infinite feature values ({count:,}, in {shown}) "
            "stand at their column's mean"
        )
    return said
