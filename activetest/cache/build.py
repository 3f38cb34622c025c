"""From a pool to its cache: one pass for statistics, one that checks, converts and writes."""

import hashlib
import json
import math
import os
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import astuple
from operator import add
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from activetest.cache.design import Design, measure_pool
from activetest.cache.journal import (
    Counts,
    Journal,
    describe_build,
    read_design,
    read_piece,
    write_design,
    write_piece,
)
from activetest.cache.parts import PARTS, RESULTS
from activetest.cache.pieces import (
    ID_ENDS,
    ID_LETTERS,
    ID_NUMBERS,
    IdWriter,
    choose_id_arrays,
    open_ids,
    split_pool,
)
from activetest.cache.space import announce_cost, check_space, estimate_seconds, measure_ids
from activetest.cache.store import Store, StoreWriter
from activetest.errors import PoolError
from activetest.item_statistics.defaults import cached_statistics
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.nouns.rows import Array
from activetest.pool import groups as grouping
from activetest.pool.ids import Text, build_index, find_duplicates, hash_rows, hash_text
from activetest.pool.long_tables import describe_pivot
from activetest.pool.pool import Block, Pool, Strip
from activetest.pool.schema import Schema
from activetest.system import atomic, progress

VERSION = 7
# The versions that are read: what another one stores besides is used as it is.
READABLE = (6, VERSION)

# Arrays with a line for each statistic: items are along the second axis.
ACROSS = ("right", "wrong", "spread")
# Rows whose tables of losses over all classes are made at once: they stay in the processor's cache.
_STRIP = 16384
# Arrays of the projection of features, and all that have no item for each of the pool.
_PROJECTION = ("feature_centre", "feature_fill", "feature_weights", "feature_offset")
SHARED = {"centre", "scale", *_PROJECTION, "id_order", ID_LETTERS}
# Seconds that a build takes, by estimate, from which on its pieces are kept when it is interrupted:
# less is built anew in a moment.
WORTH_KEEPING = 2.0
_NOTHING: Counts = (Counter(), Counter(), Counter())
# Steps, for whoever watches.
_BUILDING, _COMPARING = "building the cache", "comparing the pool with the study's"


# Of some rows: position of the first, how many they are, counts, and ids that wait to be written.
_Strip = tuple[int, int, Counts, Text | None]


def build_into(
    pool: Pool,
    folder: Path,
    old: Store | None = None,
    *,
    known: bool = False,
    kept: Path | None = None,
) -> None:
    """Write the cache of a pool to a folder, as a whole or not at all.

    old    what was in it, whatever has happened to its files: parts and results are kept where the
           pool has not changed
    known  the pool is that of a study that goes on: ids that are canonically equal, which earlier
           versions took, stay items of their own
    kept   where pieces of a cache that takes long stay when this is interrupted, until it is
           complete: the next build of the same goes on behind them. Default: beside the folder

    Raises PoolError for a value that cannot be right, StorageError where the disk has no room for
    it, OSError when it cannot be written.
    """
    kept = kept or atomic.name_unfinished(folder)
    seconds = estimate_seconds(pool)
    if seconds < WORTH_KEEPING:
        atomic.remove_kept(kept)
        opened = atomic.replacing_folder(folder)
    else:
        opened = atomic.continuing_folder(folder, kept)
    with opened as building, closing(StoreWriter(building)) as writer:
        journal = _open_journal(pool, building)
        if len(journal.lines) < 2:
            announce_cost(pool, seconds)
        design, values = _measure_pool(pool, journal)
        hashes, corrected, missing = _write_pieces(writer, pool, design, values, journal)
        sums = _list_sums(pool, hashes)
        written = writer.finish_arrays()
        with progress.step("indexing ids"):
            writer.put("id_order", _index_ids(written, pool, known=known))
        for name, numbers in _list_numbers(design).items():
            writer.put(name, numbers)
        pool.files.reject_change()
        manifest = {
            "version": VERSION,
            "rows": pool.rows,
            "classes": pool.schema.classes,
            "statistics": _choose_statistics(pool.schema),
            "fingerprint": _hash_pool(pool, sums),
            "group_names": pool.schema.groups,
            "group_values": values,
            "model_columns": design.model_columns,
            "components": design.components,
            "mean_weight": _find_mean_weight(written, pool),
            "schema": pool.schema.to_dict(),
            "notices": _describe_corrections(pool, corrected, missing),
            "pieces": [
                {"row_groups": [[each.rows, _to_hex(sums[each.number])] for each in groups]}
                for groups in split_pool(pool)
            ],
            "stamp": pool.files.stamp(),
        }
        written.close()
        if old:
            # Windows moves no folder with a file that is mapped.
            old.close()
        writer.finish(manifest)
        for name in (*PARTS, RESULTS) if old and describes_pool(old.content, pool) else ():
            with suppress(OSError):
                os.rename(folder / name, building / name)


def _write_pieces(
    writer: StoreWriter, pool: Pool, design: Design, values: list[list[str]], journal: Journal
) -> Counts:
    """Write the arrays of items, of those pieces that no journal states to be done."""
    pieces = split_pool(pool)
    id_arrays = choose_id_arrays(pool)
    arrays = id_arrays | _list_arrays(pool.schema, design)
    runs = [(groups[0].start, groups[-1].start + groups[-1].rows) for groups in pieces]
    stops = [stop for _, stop in runs]
    ids = None
    if ID_ENDS in id_arrays:
        ids = IdWriter(writer, [start for start, _ in runs], writer.folder.parent)
    for name, (shape, dtype) in arrays.items():
        whole = (*shape, pool.rows) if name in ACROSS else (pool.rows, *shape)
        writer.create(name, whole, dtype, stops, axis=int(name in ACROSS), again=True)
    done = _find_done(journal, writer, ids)
    left = [run for piece, run in enumerate(runs) if piece not in done]
    item = sum(math.prod(shape) * np.dtype(kind).itemsize for shape, kind in arrays.values())
    letters = measure_ids(pool, lettered=ids is not None)
    there = item * (pool.rows - sum(stop - start for start, stop in left))
    check_space(writer.folder, item * pool.rows + letters, pool, there=there)

    def write_strip(strip: Strip) -> list[_Strip]:
        block = pool.read_block(strip)
        if ID_NUMBERS in id_arrays:
            writer.write(ID_NUMBERS, block.start, pool.read_id_numbers(strip))
        counts = _write_block(writer, pool, block, design, values)
        return [(block.start, len(block.ids), counts, block.ids if ids else None)]

    def combine(left: list[_Strip], right: list[_Strip]) -> list[_Strip]:
        counted.add(left)
        counted.add(right)
        return []

    with progress.step(
        _BUILDING, len(runs), unit="pieces", done=len(done), size=pool.files.size
    ) as step:
        counted = _PieceCounts(runs, done, journal, writer, ids, step)
        if left:
            found = pool.map_strips(write_strip, combine, runs=left, title=_BUILDING, here=True)
            counted.add(found)
    if ids:
        ids.join()
    return counted.sum_up()


def _measure_pool(pool: Pool, journal: Journal) -> tuple[Design, list[list[str]]]:
    """The results of measure_pool: of now, or of when the journal was begun."""
    if len(journal.lines) > 1:
        return read_design(journal.lines[1])
    found = measure_pool(pool)
    journal.add(write_design(*found))
    return found


class _PieceCounts:
    """Counts of the pieces of a build: those that were done before, and those that become so.

    Strips of a piece come in their order; those of different pieces may come in different threads.
    """

    def __init__(
        self,
        runs: Sequence[tuple[int, int]],
        done: Mapping[int, Counts],
        journal: Journal,
        writer: StoreWriter,
        ids: IdWriter | None,
        step: progress.Step,
    ) -> None:
        self._starts = [start for start, _ in runs]
        self._left = [stop - start for start, stop in runs]
        self._counts = dict.fromkeys(range(len(runs)), _NOTHING) | dict(done)
        self._journal, self._writer, self._ids = journal, writer, ids
        self._step, self._lock = step, Lock()

    def add(self, strips: Iterable[_Strip]) -> None:
        """Count strips that are written, and write their ids. Raises OSError."""
        for start, rows, counts, texts in strips:
            piece = bisect_right(self._starts, start) - 1
            if self._ids and texts is not None:
                self._ids.write(start, texts)
            self._counts[piece] = _add_counts(self._counts[piece], counts)
            self._left[piece] -= rows
            if not self._left[piece]:
                checksums = self._writer.sum_piece(piece)
                letters = self._ids.sum_piece(piece) if self._ids else [0, 0]
                with self._lock:
                    line = write_piece(piece, self._counts[piece], checksums, letters)
                    self._journal.add(line)
                    self._step.advance()

    def sum_up(self) -> Counts:
        """The counts of all pieces."""
        sums, corrected, missing = (Counter[Any](each) for each in _NOTHING)
        for counts in self._counts.values():
            sums.update(counts[0])
            corrected.update(counts[1])
            missing.update(counts[2])
        return sums, corrected, missing


def _add_counts(left: Counts, right: Counts) -> Counts:
    sums, corrected, missing = map(add, left, right)
    return sums, corrected, missing


def _open_journal(pool: Pool, building: Path) -> Journal:
    """The journal of a build, which goes on where an earlier one of the same was interrupted."""
    journal = Journal(building.parent)
    about = describe_build(pool, VERSION)
    if not (journal.lines and journal.lines[0] == json.loads(json.dumps(about))) or not (
        atomic.is_plain(building.parent)
    ):
        atomic.clear_folder(building.parent)
        building.mkdir()
        journal.begin([about])
    return journal


def _find_done(journal: Journal, writer: StoreWriter, ids: IdWriter | None) -> dict[int, Counts]:
    """{piece: its counts} of those that are on the disk as the journal states."""
    done = {}
    lines = journal.lines[2:]
    kept = []
    for line in lines:
        piece, counts, checksums, letters = read_piece(line)
        written = ids.sum_piece(piece) if ids else letters
        if writer.sum_piece(piece) == checksums and written == letters:
            done[piece] = counts
            kept.append(line)
    # Behind a line that was cut off nothing could be read.
    journal.begin([*journal.lines[:2], *kept])
    return done


def describes_pool(content: Mapping[str, Any], pool: Pool) -> bool:
    """Whether a manifest is of the pool's files, and of the roles of its columns."""
    return bool(
        content["stamp"] == pool.files.stamp() and content["schema"] == pool.schema.to_dict()
    )


def compute_fingerprint(pool: Pool) -> tuple[str, list[str]]:
    """The fingerprint of a pool and the sum of row hashes of each row group, in one pass."""

    def hash_strip(strip: Strip) -> Counter[int]:
        block = pool.read_block(strip)
        return _sum_hashes(pool, block, hash_text(block.ids))

    sums = _list_sums(
        pool, pool.map_strips(hash_strip, add, without=("features", "groups"), title=_COMPARING)
    )
    return _hash_pool(pool, sums), [_to_hex(each) for each in sums]


def list_row_groups(content: Mapping[str, Any]) -> list[tuple[int, str]]:
    """(rows, sum of row hashes) of each row group of the pool that a manifest is of."""
    return [(rows, total) for piece in content["pieces"] for rows, total in piece["row_groups"]]


def _list_numbers(design: Design) -> dict[str, Array]:
    """The numbers by which the design is computed, by name."""
    found = {"centre": design.centre, "scale": design.scale}
    if design.projection is not None:
        found |= dict(zip(_PROJECTION, astuple(design.projection), strict=True))
    return found


def join_fingerprints(schema: Schema, *parts: Mapping[str, Any]) -> str:
    """The fingerprint of the items of several pools, which share no id, from their manifests."""
    groups = [group for part in parts for group in list_row_groups(part)]
    rows, sums = sum(rows for rows, _ in groups), [int(total, 16) for _, total in groups]
    return _hash_items(schema, rows, sums)


def _hash_pool(pool: Pool, sums: list[int]) -> str:
    return _hash_items(pool.schema, pool.rows, sums)


def _hash_items(schema: Schema, rows: int, sums: list[int]) -> str:
    """Rows, meaning of the outputs, order-free sum of row hashes: as 32 hexadecimal digits."""
    classes = list(schema.classes)
    meaning = [schema.task, schema.kind, classes, schema.id is None, schema.std is None]
    # Absent from pools without them, whose fingerprints stay as they were.
    meaning += [name for name in ("weight", "price") if getattr(schema, name) is not None]
    text = json.dumps([rows, meaning, sum(sums) % 2**64])
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


def stores_outcomes(classes: int, *, probable: bool) -> bool:
    """Whether a cache holds the values of statistics when the model is right, and when wrong.

    classes   number of classes; 0 for regression
    probable  there are probabilities

    Of hard labels, and of two classes, they are computed as fast as they are read.
    """
    return probable and classes > 2


def _choose_statistics(schema: Schema) -> tuple[str, ...]:
    """Names of the statistics that are computed per item."""
    return cached_statistics(schema.task, schema.kind)


def _list_arrays(schema: Schema, design: Design) -> dict[str, tuple[tuple[int, ...], Any]]:
    """{name: (shape of an item's part, type)} of all arrays of items."""
    regression = schema.task == "regression"
    arrays: dict[str, tuple[tuple[int, ...], Any]] = {
        "hashes": ((), np.uint64),
        "codes": ((len(schema.groups),), np.int32),
        "pred": ((), float if regression else np.int32),
        "design": ((design.model_columns + design.components,), np.float32),
    }
    if schema.uncertain:
        arrays["attribute_probs"] = ((sum(map(len, schema.uncertain_values)),), np.float32)
        arrays["attribute_known"] = ((len(schema.uncertain),), np.int32)
    for name in ("weight", "price", "std"):
        if getattr(schema, name) is not None:
            arrays[name] = (), float
    if schema.kind != "pred":
        arrays["probs"] = (len(schema.classes),), np.float32
    if stores_outcomes(len(schema.classes), probable=schema.kind != "pred"):
        lines = (len(_choose_statistics(schema)),), np.float32
        arrays |= dict.fromkeys(ACROSS, lines)
    return arrays


def _write_block(
    writer: StoreWriter,
    pool: Pool,
    block: Block,
    design: Design,
    values: list[list[str]],
) -> Counts:
    """Write the rows of a block, but for their ids."""
    schema, checked, outputs = pool.schema, block.checked, block.checked.outputs
    keys = hash_text(block.ids)
    rows, missing = design.rows(outputs, block.features)
    found: dict[str, Array | None] = {"hashes": keys, "pred": outputs.pred, "design": rows}
    found |= {"std": outputs.std, "probs": outputs.probs}
    if values:
        codes = [
            grouping.recode(present, names, known)
            for (present, names), known in zip(block.groups, values, strict=True)
        ]
        found["codes"] = np.stack(codes, axis=1)
    if schema.uncertain:
        parts = [block.uncertain[name] for name in schema.uncertain]
        found["attribute_probs"] = np.concatenate([p.probs for p in parts], axis=1)
        found["attribute_known"] = np.stack([p.known for p in parts], axis=1)
    for name in ("weight", "price"):
        if (column := getattr(schema, name)) is not None:
            found[name] = block.amounts[column]
    for name, array in found.items():
        if array is not None:
            writer.write(name, block.start, array)
    if stores_outcomes(len(schema.classes), probable=schema.kind != "pred"):
        statistics = _choose_statistics(schema)
        for begin in range(0, len(keys), _STRIP):
            constants = right_and_wrong(outputs[begin : begin + _STRIP], statistics)
            for name, constant in zip(ACROSS, constants, strict=True):
                writer.write(name, block.start + begin, constant)
    corrected = Counter(renormalised=checked.renormalised, disagreeing=checked.disagreeing)
    gaps = Counter({int(at): int(missing[at]) for at in np.flatnonzero(missing)})
    return _sum_hashes(pool, block, keys), corrected, gaps


def _index_ids(store: Store, pool: Pool, *, known: bool) -> Array:
    """(N,) the index of ids. Raises PoolError when two items have one id, or canonically equal."""
    keys, ids = store.read("hashes"), open_ids(store)
    order = build_index(keys)
    alike = keys if known else ids.hash_canonical()
    searched = order if np.array_equal(alike, keys) else build_index(alike)
    if duplicates := find_duplicates(searched, ids):
        first, second = duplicates
        raise PoolError(
            f"rows {first:,} and {second:,} of {pool.uri} (counting from 0) "
            f"have the same id {ids[first]!r}",
            hint="ids must be unique: name another column with `id`, or remove rows that stand "
            "there twice; where ids begin anew in each file, put its name or day before them"
            + describe_pivot(pool.files.schema, pool.schema.id),
        )
    return order


def _find_mean_weight(store: Store, pool: Pool) -> float:
    """The mean of the weights; 1 without any. Raises PoolError where all weights are 0."""
    if pool.schema.weight is None:
        return 1.0
    weights = store.read("weight")
    if not weights.any():
        raise PoolError(
            f"every weight in column {pool.schema.weight!r} of {pool.uri} is 0",
            hint="name another column with `weight`, or leave it out",
        )
    # Scaled first: a sum of very large weights must not overflow.
    largest = float(weights.max())
    return largest * float((weights / largest).mean())


def _list_sums(pool: Pool, sums: Counter[int]) -> list[int]:
    """The sum of row hashes of each row group, modulo 2^64."""
    return [sums[group.number] % 2**64 for group in pool.pieces]


def _describe_corrections(pool: Pool, corrected: Counter[str], missing: Counter[int]) -> list[str]:
    """Corrections of the pool, and unusual facts about it, in plain sentences."""
    notices = []
    if count := corrected["renormalised"]:
        notices.append(f"renormalised the probabilities of {count:,} of {pool.rows:,} items")
    if count := corrected["disagreeing"]:
        notices.append(
            f"pred is not the most probable class for {count:,} of {pool.rows:,} items; "
            "pred is what is tested"
        )
    if pool.schema.features and (count := missing.total()):
        names = pool.feature_names()
        columns = list(dict.fromkeys(names[at] for at in sorted(missing)))
        shown = ", ".join(columns[:8]) + (" and others" if len(columns) > 8 else "")
        notices.append(
            f"missing or infinite feature values ({count:,}, in {shown}) "
            "stand at their column's mean"
        )
    return notices
