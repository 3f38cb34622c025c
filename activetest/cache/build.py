"""From a pool to its cache: one pass for statistics, one that checks, converts and writes."""

import hashlib
import json
import os
import shutil
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from activetest import atomic, progress
from activetest.cache.archive import ArchiveWriter, Statement, write_archive
from activetest.cache.checked import Manifest
from activetest.cache.components import Projection
from activetest.cache.design import Design, measure_pool
from activetest.cache.pieces import (
    PieceArrays,
    PieceIds,
    PoolPiece,
    map_pieces,
    name_piece,
    shape_array,
    split_pool,
)
from activetest.cache.space import check_space, measure_ids
from activetest.errors import CacheDamaged, PoolError
from activetest.item_statistics.defaults import cached_statistics
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.nouns.rows import Array
from activetest.pool import groups as grouping
from activetest.pool.ids import Text, build_index, find_duplicates, hash_rows, hash_text
from activetest.pool.long_tables import describe_pivot
from activetest.pool.pool import Block, Pool, Strip
from activetest.pool.schema import Schema

VERSION = 5

# The study's only part and only model: the archives of a piece of the pool.
ITEMS, MODEL = "pool/{}/items.npz", "pool/{}/model.npz"
# What all pieces share: how the design is computed, and the order of ids.
GLOBALS = "globals.npz"

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


@dataclass(frozen=True)
class WrittenPiece:
    """A piece as a manifest states it.

    files  {path in the folder of the cache: statement}
    about  where its rows are, their hashes, and what was corrected in them
    """

    files: dict[str, Statement]
    about: dict[str, Any]


def build_into(
    pool: Pool, folder: Path, old: Manifest | None = None, *, known: bool = False
) -> None:
    """Write the cache of a pool to a folder, as a whole or not at all.

    old    of an older cache there: pieces of files that have not changed are kept, where what all
           pieces share has not changed
    known  the pool is that of a study that goes on: ids that are canonically equal, which earlier
           versions took, stay items of their own

    Raises PoolError for a value that cannot be right, StorageError where the disk has no room for
    it, OSError when it cannot be written.
    """
    design, values = measure_pool(pool)
    shared = _hash_shared(pool, design, values)
    pieces = split_pool(pool)
    with atomic.replacing_folder(folder) as building:
        check_space(building, _measure_arrays(pool, design), pool)
        kept: dict[int, WrittenPiece] = {}
        if old and old.content["globals"] == shared:
            kept = _keep_pieces(pool, pieces, old, building)

        def write(piece: PoolPiece, map_strips: Any) -> list[WrittenPiece]:
            if piece.number in kept:
                return [kept[piece.number]]
            return [_write_piece(building, pool, piece, design, values, map_strips, shared)]

        written: list[WrittenPiece] = map_pieces(pieces, write, add, title=_BUILDING)
        files = {name: stated for piece in written for name, stated in piece.files.items()}
        rows = [piece.rows for piece in pieces]
        pieces_written = Manifest(building, "", {"files": files})
        arrays = PieceArrays(pieces_written, rows, (ITEMS, MODEL))
        with progress.step("indexing ids"):
            order = _index_ids(arrays, pool, known=known)
        numbers = _list_numbers(design) | {"id_order": order}
        files[GLOBALS] = write_archive(building / GLOBALS, numbers)
        about = [piece.about for piece in written]
        sums = [total for each in about for total in _list_sums(each)]
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
            "mean_weight": _find_mean_weight(arrays, pool),
            "schema": pool.schema.to_dict(),
            "notices": _describe_corrections(pool, about),
            "globals": shared,
            "pieces": about,
            "files": files,
            "stamp": pool.files.stamp(),
        }
        Manifest.write(building, manifest)
        # Windows moves no folder with a file that is mapped.
        pieces_written.close()


def repair_pieces(pool: Pool, manifest: Manifest) -> bool:
    """Write damaged pieces of a cache again, alone; False where more than pieces is damaged.

    A piece that becomes another than it was is damaged for whoever opens the cache. Raises
    PoolError where the pool cannot be read, OSError where the cache cannot be written.
    """
    content, pieces = dict(manifest.content), split_pool(pool)
    damaged = set(manifest.list_damaged())
    names = {_name_file(kind, each.number): each for each in pieces for kind in (ITEMS, MODEL)}
    try:
        design = _read_design(manifest)
    except CacheDamaged:
        return False
    finally:
        manifest.close()
    places = {(manifest.folder / file).parent for file in damaged}
    places |= {manifest.folder, manifest.folder / "pool"}
    links = any(place.is_symlink() for place in places)
    # What is written through a link would be elsewhere.
    if links or not damaged <= names.keys():
        return False
    shared, values = content["globals"], content["group_values"]
    # Computed once, before all threads need them.
    _ = pool.deciles
    with atomic.temporary_folder(manifest.folder.parent, manifest.folder.name) as aside:

        def write(piece: PoolPiece, map_strips: Any) -> list[WrittenPiece]:
            return [_write_piece(aside, pool, piece, design, values, map_strips, shared)]

        harmed = {names[file].number: names[file] for file in sorted(damaged)}
        map_pieces([*harmed.values()], write, add, title=_BUILDING)
        for file in damaged:
            (manifest.folder / file).parent.mkdir(parents=True, exist_ok=True)
            atomic.move_file(aside / file, manifest.folder / file)
    content.pop("damaged", None)
    Manifest.write(manifest.folder, content)
    return True


def compute_fingerprint(pool: Pool, old: Manifest | None = None) -> tuple[str, list[str]]:
    """The fingerprint of a pool and the sum of row hashes of each row group, in one pass.

    old  of a cache: files that have not changed since then are not read
    """
    pieces = split_pool(pool)
    known = _find_unchanged(pool, pieces, old) if old else {}

    def hash_strip(strip: Strip) -> Counter[int]:
        block = pool.read_block(strip)
        return _sum_hashes(pool, block, hash_text(block.ids))

    def hash_piece(piece: PoolPiece, map_strips: Any) -> list[list[int]]:
        if old and piece.number in known:
            return [_list_sums(old.content["pieces"][known[piece.number]])]
        sums = map_strips(piece.strips(pool, ("features", "groups")), hash_strip, add)
        return [[sums[at] % 2**64 for at in range(piece.places[0], piece.places[1] + 1)]]

    found: list[list[int]] = map_pieces(pieces, hash_piece, add, title=_COMPARING)
    sums = [total for each in found for total in each]
    return _hash_pool(pool, sums), [_to_hex(each) for each in sums]


def list_row_groups(content: Mapping[str, Any]) -> list[tuple[int, str]]:
    """(rows, sum of row hashes) of each row group of the pool that a manifest is of."""
    return [(rows, total) for piece in content["pieces"] for rows, total in piece["row_groups"]]


def _find_unchanged(pool: Pool, pieces: list[PoolPiece], old: Manifest) -> dict[int, int]:
    """{number of a piece: its number in an older manifest} where its file has not changed."""
    stamps, before = pool.files.stamp(), old.content["stamp"] or []
    if old.content["schema"] != pool.schema.to_dict():
        return {}
    known = {
        (
            about["file"],
            about["first"],
            about["start"],
            *(rows for rows, _ in about["row_groups"]),
        ): at
        for at, about in enumerate(old.content["pieces"])
    }
    found = {}
    for piece in pieces:
        groups = pool.pieces[piece.places[0] : piece.places[1] + 1]
        place = piece.file, piece.groups[0], piece.start, *(each.rows for each in groups)
        same = piece.file < len(before) and before[piece.file] == stamps[piece.file]
        if same and place in known:
            found[piece.number] = known[place]
    return found


def _keep_pieces(
    pool: Pool, pieces: list[PoolPiece], old: Manifest, building: Path
) -> dict[int, WrittenPiece]:
    """Take undamaged pieces of files that have not changed from an older cache."""
    kept = {}
    for number, before in _find_unchanged(pool, pieces, old).items():
        names = {_name_file(kind, number): _name_file(kind, before) for kind in (ITEMS, MODEL)}
        if not any(map(old.check_file, names.values())):
            with suppress(OSError):
                for name, source in names.items():
                    (building / name).parent.mkdir(parents=True, exist_ok=True)
                    _link_file(old.folder / source, building / name)
                files = {name: old.files[source] for name, source in names.items()}
                kept[number] = WrittenPiece(files, old.content["pieces"][before])
    old.close()
    return kept


def _name_file(kind: str, number: int) -> str:
    """The path of a piece's archive in the folder of a cache."""
    return kind.format(name_piece(number))


def _link_file(source: Path, target: Path) -> None:
    """The same file under another name; a copy where the file system has no links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _hash_shared(pool: Pool, design: Design, values: list[list[str]]) -> str:
    """A digest of all that pieces follow from besides their rows."""
    edges = None if pool.deciles is None else pool.deciles.tolist()
    statistics = _choose_statistics(pool.schema)
    meaning = [VERSION, pool.schema.to_dict(), statistics, values, edges, design.model_columns]
    total = hashlib.blake2b(json.dumps(meaning).encode(), digest_size=16)
    for name, numbers in _list_numbers(design).items():
        total.update(json.dumps([name, numbers.dtype.str, numbers.shape]).encode())
        total.update(np.ascontiguousarray(numbers).tobytes())
    return total.hexdigest()


def _list_numbers(design: Design) -> dict[str, Array]:
    """The numbers by which the design is computed, by name."""
    found = {"centre": design.centre, "scale": design.scale}
    if design.projection is not None:
        found |= {f"feature_{name}": part for name, part in asdict(design.projection).items()}
    return found


def _read_design(manifest: Manifest) -> Design:
    """The design of a cache. Raises CacheDamaged."""

    def read(name: str) -> Array:
        return np.array(manifest.read_array(GLOBALS, name))

    projection = None
    if "feature_weights" in manifest.files[GLOBALS]["arrays"]:
        names = ("centre", "fill", "weights", "offset")
        projection = Projection(*(read(f"feature_{name}") for name in names))
    return Design(manifest.content["model_columns"], read("centre"), read("scale"), projection)


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


# (shape of an item's part, type) of arrays, by their names.
_Shapes = dict[str, tuple[tuple[int, ...], Any]]


def _list_arrays(schema: Schema, design: Design) -> dict[str, _Shapes]:
    """What the archives of a piece hold besides ids."""
    regression = schema.task == "regression"
    items: _Shapes = {
        "hashes": ((), np.uint64),
        "codes": ((len(schema.groups),), np.int32),
    }
    if schema.uncertain:
        items["attribute_probs"] = ((sum(map(len, schema.uncertain_values)),), np.float32)
        items["attribute_known"] = ((len(schema.uncertain),), np.int32)
    items |= {
        name: ((), float) for name in ("weight", "price") if getattr(schema, name) is not None
    }
    model: _Shapes = {
        "pred": ((), float if regression else np.int32),
        "design": ((design.model_columns + design.components,), np.float32),
    }
    if schema.std is not None:
        model["std"] = (), float
    if schema.kind != "pred":
        model["probs"] = (len(schema.classes),), np.float32
    if not regression:
        lines = (len(_choose_statistics(schema)),), np.float32
        model |= dict.fromkeys(("right", "wrong", "spread"), lines)
    return {ITEMS: items, MODEL: model}


def _measure_arrays(pool: Pool, design: Design) -> int:
    """Bytes that the cache will take: its arrays, and ids as long as the pool's footers say."""
    kinds = _list_arrays(pool.schema, design).values()
    parts = [part for kind in kinds for part in kind.values()]
    item = sum(int(np.prod(shape)) * np.dtype(dtype).itemsize for shape, dtype in parts)
    return item * pool.rows + measure_ids(pool)


def _write_piece(
    folder: Path,
    pool: Pool,
    piece: PoolPiece,
    design: Design,
    values: list[list[str]],
    map_strips: Any,
    shared: str,
) -> WrittenPiece:
    """Check and write the rows of a piece; map_strips goes through its strips, see map_pieces."""
    comment = {
        "part": "pool",
        "file": Path(piece.path).name,
        "row_groups": piece.groups,
        "rows": piece.rows,
        "globals": shared,
    }
    with ExitStack() as stack:
        writers: dict[str, ArchiveWriter] = {}
        for kind, arrays in _list_arrays(pool.schema, design).items():
            path = folder / _name_file(kind, piece.number)
            path.parent.mkdir(parents=True, exist_ok=True)
            writers[kind] = ArchiveWriter(path)
            stack.callback(writers[kind].close)
            for name, (shape, dtype) in arrays.items():
                writers[kind].create(name, shape_array(name, piece.rows, shape), dtype)
        writers[ITEMS].create("id_offsets", (piece.rows + 1,), np.int64)
        writers[ITEMS].create("id_letters", (0,), np.uint8)
        rows = letters = 0

        def convert(strip: Strip) -> _Result:
            block = pool.read_block(strip)
            start = block.start - piece.start
            return _write_block(writers, pool, block, start, design, values), [block.ids]

        def write_ids(result: _Result) -> RowCounts:
            # Where a strip's ids begin is known only once all before it are written.
            nonlocal rows, letters
            counts, texts = result
            for ids in texts:
                writers[ITEMS].write("id_offsets", rows, letters + ids.offsets)
                writers[ITEMS].extend("id_letters", ids.letters)
                rows, letters = rows + len(ids), letters + len(ids.letters)
            return counts

        def combine(left: _Result, right: _Result) -> _Result:
            return write_ids(left) + write_ids(right), []

        counts = write_ids(map_strips(piece.strips(pool), convert, combine))
        comments = {ITEMS: comment, MODEL: comment | {"model": "model"}}
        files = {
            _name_file(kind, piece.number): writer.finish(json.dumps(comments[kind]))
            for kind, writer in writers.items()
        }
    groups = pool.pieces[piece.places[0] : piece.places[1] + 1]
    about = {
        "file": piece.file,
        "first": piece.groups[0],
        "start": piece.start,
        "row_groups": [[each.rows, _to_hex(counts.hashes[each.number] % 2**64)] for each in groups],
        "renormalised": counts.renormalised,
        "disagreeing": counts.disagreeing,
        "missing": {int(at): int(counts.missing[at]) for at in np.flatnonzero(counts.missing)},
    }
    # As it will be read again.
    return WrittenPiece(files, json.loads(json.dumps(about)))


def _write_block(
    writers: dict[str, ArchiveWriter],
    pool: Pool,
    block: Block,
    start: int,
    design: Design,
    values: list[list[str]],
) -> RowCounts:
    """Write the rows of a block, from row `start` of the piece on, but for their ids."""
    schema, outputs = pool.schema, block.checked.outputs
    items, model = writers[ITEMS], writers[MODEL]
    keys = hash_text(block.ids)
    rows, missing = design.rows(outputs, block.features)
    items.write("hashes", start, keys)
    model.write("pred", start, outputs.pred)
    model.write("design", start, rows)
    if outputs.std is not None:
        model.write("std", start, outputs.std)
    if outputs.probs is not None:
        model.write("probs", start, outputs.probs)
    if values:
        codes = [
            grouping.recode(present, names, known)
            for (present, names), known in zip(block.groups, values, strict=True)
        ]
        items.write("codes", start, np.stack(codes, axis=1))
    if schema.uncertain:
        parts = [block.uncertain[name] for name in schema.uncertain]
        items.write("attribute_probs", start, np.concatenate([p.probs for p in parts], axis=1))
        items.write("attribute_known", start, np.stack([p.known for p in parts], axis=1))
    for name in ("weight", "price"):
        if (column := getattr(schema, name)) is not None:
            items.write(name, start, block.amounts[column])
    if schema.task == "classification":
        statistics = _choose_statistics(schema)
        for begin in range(0, len(keys), _STRIP):
            constants = right_and_wrong(outputs[begin : begin + _STRIP], statistics)
            for name, constant in zip(("right", "wrong", "spread"), constants, strict=True):
                model.write_across(name, start + begin, constant)
    checked = block.checked
    sums = _sum_hashes(pool, block, keys)
    return RowCounts(sums, checked.renormalised, checked.disagreeing, missing)


def _index_ids(arrays: PieceArrays, pool: Pool, *, known: bool) -> Array:
    """(N,) the index of ids. Raises PoolError when two items have one id, or canonically equal."""
    keys, ids = arrays.select("hashes", slice(None)), PieceIds(arrays)
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


def _find_mean_weight(arrays: PieceArrays, pool: Pool) -> float:
    """The mean of the weights; 1 without any. Raises PoolError where all weights are 0."""
    if pool.schema.weight is None:
        return 1.0
    weights = arrays.select("weight", slice(None))
    if not weights.any():
        raise PoolError(
            f"every weight in column {pool.schema.weight!r} of {pool.uri} is 0",
            hint="name another column with `weight`, or leave it out",
        )
    # Scaled first: a sum of very large weights must not overflow.
    largest = float(weights.max())
    return largest * float((weights / largest).mean())


def _list_sums(about: Mapping[str, Any]) -> list[int]:
    """The sum of row hashes of each row group of a piece."""
    return [int(total, 16) for _, total in about["row_groups"]]


def _describe_corrections(pool: Pool, pieces: list[dict[str, Any]]) -> list[str]:
    """What was corrected in the pieces, or is unusual, in plain sentences."""
    notices = []
    if count := sum(piece["renormalised"] for piece in pieces):
        notices.append(f"renormalised the probabilities of {count:,} of {pool.rows:,} items")
    if count := sum(piece["disagreeing"] for piece in pieces):
        notices.append(
            f"pred is not the most probable class for {count:,} of {pool.rows:,} items; "
            "pred is what is tested"
        )
    missing = sum((Counter(piece["missing"]) for piece in pieces), Counter[str]())
    if pool.schema.features and (count := missing.total()):
        names = pool.feature_names()
        columns = list(dict.fromkeys(names[at] for at in sorted(map(int, missing))))
        shown = ", ".join(columns[:8]) + (" and others" if len(columns) > 8 else "")
        notices.append(
            f"missing or infinite feature values ({count:,}, in {shown}) "
            "stand at their column's mean"
        )
    return notices
