"""A further model's file of outputs, joined with the other columns of a pool by id."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from activetest.errors import PoolError
from activetest.nouns.canonical import make_canonical
from activetest.nouns.class_names import (
    read_class_names,
    read_further_classes,
    write_further_classes,
)
from activetest.nouns.rows import Array
from activetest.pool.classes import find_predicted
from activetest.pool.column_names import find_common
from activetest.pool.columns import class_names, decode, read_text
from activetest.pool.convert import ROW_GROUP, store_tables, write_parquet
from activetest.pool.files import BATCH, COMMON, ID, Files
from activetest.pool.ids import Text
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema
from activetest.system.safe_text import first_line

# Settings that say how outputs are read.
_OF_OUTPUTS = ("outputs", "task", "positive", "threshold", "classes", "scale", "decimal")
_NOT_READ = ("features", "groups", "amounts")
_ALIKE = (
    "correct the file: outputs of a further model are written like those of the pool, and have the "
    "same classes"
)


def list_joined_columns(schema: Schema) -> tuple[str, ...]:
    """The columns that a joined file has: every one with a role."""
    return tuple(dict.fromkeys([*schema.columns, *schema.others]))


def open_outputs(files: Files, name: str, schema: Schema) -> Pool:
    """The ids and outputs of a file, in the roles that the columns of a pool have.

    name  of the file in messages

    Whole numbers that stand for classes do so by the names in the file itself, where it has some.
    Raises PoolError where one of these columns is not there, or cannot have its role, and for
    probabilities of further classes.
    """
    outputs, of_file = schema.output_columns, read_class_names(files.schema.metadata)
    names = {
        column: found
        for column, found in {**schema.class_names, **of_file}.items()
        if column in outputs
    }
    bare = replace(
        schema.drop_groups(),
        computed=(),
        weight=None,
        price=None,
        others=(),
        named=tuple(names),
        names=tuple(tuple(each) for each in names.values()),
    )
    missing = [column for column in bare.columns if column not in files.schema.names]
    if missing:
        raise PoolError(
            f"{name} has no column {missing[0]!r}",
            "it needs the columns of ids and outputs that the first model has: "
            f"{', '.join(bare.columns)}",
        )
    if further := _find_further_class(files, schema):
        raise PoolError(
            f"{name} has a column {further!r}, and the pool has no such class",
            "leave it out where it is no probability; a model of other classes needs another study",
        )
    pool = Pool(name, bare, files)
    try:
        pool.check()
    except PoolError as error:
        problem = error.problem.removeprefix(f"{pool.uri} is not the pool this study was made for")
        raise PoolError(
            f"the outputs in {name} are not like those of the pool{problem}",
            _ALIKE,
        ) from error
    return pool


def _find_further_class(files: Files, schema: Schema) -> str | None:
    """A column that is called like those of probabilities and is none of the pool's."""
    prefix = find_common(schema.outputs) if schema.kind == "prob-columns" else ""
    if not prefix or prefix[-1].isalnum():
        return None
    known = {*schema.columns, *schema.ignored}
    found = (each for each in files.schema.names if each.startswith(prefix))
    return next((each for each in found if each not in known), None)


def find_rows(outputs: Pool, find: Callable[[Text], Array], size: int) -> tuple[Array, int]:
    """(N,) the row of each of N items in a file of outputs, and how many rows are of no item.

    find  gives the pool positions of ids, -1 for ids that no item has

    All outputs of the file are checked. Raises PoolError for items that it lacks, for an id that
    comes twice, and for outputs that cannot be right.
    """
    if outputs.schema.id is None and outputs.rows != size:
        raise PoolError(
            f"{outputs.uri} has {outputs.rows:,} rows and the pool {size:,} items, and without a "
            "column of ids each row is of the item with its number",
            "give a file with a row for each item, in the order of the pool",
        )
    rows, others = np.full(size, -1), 0
    for strip in outputs.strips(without=_NOT_READ):
        try:
            block = outputs.read_block(strip)
        except PoolError as error:
            # Settings that its own hint may name are those of the study.
            raise PoolError(error.problem, _ALIKE) from error
        here = np.arange(strip.start, strip.start + len(block.ids))
        if outputs.schema.id is None:
            rows[here] = here
            continue
        places = find(block.ids)
        inside = places >= 0
        others += int((~inside).sum())
        places, here = places[inside], here[inside]
        first = np.unique(places, return_index=True)[1]
        again = np.setdiff1d(np.arange(len(places)), first)
        again = np.union1d(again, np.flatnonzero(rows[places] >= 0))
        if len(again):
            id = block.ids[int(here[again[0]]) - strip.start]
            raise PoolError(
                f"the id {id!r} is in {outputs.uri} twice",
                "leave one of the two rows out",
            )
        rows[places] = here
    return rows, others


def read_ids(files: Files, id: str | None) -> list[str]:
    """(N,) the ids of the rows of files, in canonical form; none where there is no such column."""
    if id is None:
        return []
    texts = (read_text(batch.column(id), id) for _, batch in files.scan([id]))
    return [make_canonical(text[row]) for text in texts for row in range(len(text))]


def read_first(given: Files, title: str, id: str | None, columns: Mapping[str, Any]) -> Pool:
    """The file of a first model, by the rules for outputs of a pool.

    title    of the file in messages
    id       the column of ids that the pool has
    columns  settings of the columns of the pool

    Raises PoolError for outputs that cannot be read.
    """
    if id:
        require_ids(given, title, id)
    elif "id" in given.schema.names:
        raise PoolError(
            f"{title} has ids, and the pool has no column 'id'",
            "say which one holds them: `id=column`",
        )
    settings = {name: columns[name] for name in _OF_OUTPUTS if name in columns}
    try:
        found = Pool.open(
            given.uri, id=id, **settings, features=(), text=(), suggest=False, name=title
        )
    except PoolError as error:
        raise PoolError(f"{title}: {error.problem}", error.hint) from error
    found.schema = replace(found.schema.drop_groups(), ignored=())
    return found


def require_ids(given: Files, title: str, id: str) -> None:
    """Raises PoolError for a file of outputs without the column of ids."""
    if id not in given.schema.names:
        raise PoolError(
            f"{title} has no column {id!r}",
            "it needs the ids of the pool, and the outputs of the model",
        )


def join_outputs(
    files: Files,
    outputs: Pool,
    title: str,
    target: Path,
    *,
    common: bool = False,
    kept: Array | None = None,
) -> tuple[str, ...]:
    """Write the outputs of a file in the order of a pool: what Files joins with it.

    files    of the pool
    outputs  the file of outputs, whose column of ids is called as that of the pool
    title    of that file in messages
    common   leave items of the pool out that it lacks
    kept     (N,) bool: which items of the pool other models have; None for all

    Gives sentences about the file. Raises PoolError where it lacks an item of the pool, and what
    find_rows raises.
    """
    ids, places = read_ids(files, outputs.schema.id), dict[str, int]()
    # Of ids that come twice it is said where the pool is read.
    first = np.array([places.setdefault(id, row) for row, id in enumerate(ids)], np.int64)

    def find(names: Text) -> Array:
        canonical = (make_canonical(names[row]) for row in range(len(names)))
        return np.array([places.get(name, -1) for name in canonical], np.int64)

    rows, others = find_rows(outputs, find, files.rows)
    rows = rows[first] if ids else rows
    missing = np.flatnonzero(rows < 0)
    if common:
        kept = (rows >= 0) & (True if kept is None else kept)
    else:
        reject_missing(title, len(missing), lambda: ids[int(missing[0])])
    names = list(outputs.schema.output_columns)
    read = [batch for _, batch in outputs.files.blocks(names, ROW_GROUP)]
    table = pa.Table.from_batches(read).replace_schema_metadata(outputs.files.schema.metadata)
    taken = table.combine_chunks().take(pa.array(rows, mask=rows < 0))
    _write_joined_file(taken, ids, kept, target)
    return describe_others(title, others)


def join_common(files: Files, id: str, kept: Array, target: Path) -> None:
    """Write which items of a pool are kept, (N,) bool, as a file that Files joins with it."""
    _write_joined_file(pa.table({}), read_ids(files, id), kept, target)


def _write_joined_file(
    table: pa.Table, ids: Sequence[str], kept: Array | None, target: Path
) -> None:
    """Write columns of outputs with the ids of their rows, and which of these are kept."""
    further = {ID: pa.array(ids, pa.string())} if ids else {}
    if kept is not None and not kept.all():
        further[COMMON] = pa.array(kept, mask=~kept)
    columns = dict(zip(table.column_names, table.columns, strict=True)) | further
    table = pa.table(columns).replace_schema_metadata(table.schema.metadata)
    parts = (table.slice(start, ROW_GROUP) for start in range(0, table.num_rows, ROW_GROUP))
    write_parquet(store_tables(parts), target, checksums=True)


def reorder_joined(files: Files, id: str | None, joined: Path, target: Path) -> bool:
    """Write a file beside a pool in the order that its ids have by now; whether it is another one.

    files  of the pool alone

    Nothing is written for a pool with other ids, and for one without.
    """
    ids = read_ids(files, id)
    table = pq.read_table(joined)
    known = table[ID].to_pylist() if ids and ID in table.column_names else []
    places = {each: row for row, each in enumerate(known)}
    if len(places) != len(ids) or ids == known or not places.keys() >= {*ids}:
        return False
    rows = pa.array([places[each] for each in ids])
    _write_joined_file(table.combine_chunks().take(rows), (), None, target)
    return True


def reject_missing(title: str, missing: int, find_first: Callable[[], str]) -> None:
    """Raises PoolError where a file lacks items of the pool; find_first gives the id of the first.

    title  of the file
    """
    if missing:
        count = f"{missing:,} item{'s' * (missing != 1)}"
        raise PoolError(
            f"{title} lacks {count} of the pool, the first of which is {find_first()!r}",
            "give a file with outputs for every item, or begin a study with the items that all "
            "models have: `common=True`",
        )


def describe_others(title: str, others: int) -> tuple[str, ...]:
    """A sentence on the rows of a file that are of no item of the pool, where there are any."""
    count = f"{others:,} row{'s' * (others != 1)}"
    return (f"{count} of {title} are of no item of the pool, and are left out",) * bool(others)


def spell_classes(outputs: Pool, find: Callable[[str], str | None]) -> dict[str, str]:
    """{predicted class of a file: how the pool and its other models spell it, where they do}.

    outputs' schema has all of them as its classes then. find gives the class so far that a text
    stands for, or None. Raises PoolError for a file that cannot be read.
    """
    found = {name: find(name) or name for name in find_predicted(outputs)}
    classes = tuple(dict.fromkeys((*outputs.schema.classes, *found)))
    outputs.schema = replace(outputs.schema, classes=classes)
    return found


def write_joined(
    pool: Pool,
    outputs: Pool,
    rows: Array,
    target: Path,
    spelled: Mapping[str, str] | None = None,
) -> None:
    """Write the columns of a pool that have a role, but with the outputs of another file.

    rows     (N,) the row of each item in that file
    spelled  as spell_classes gives it, where classes are open: the file then says which the pool
             does not have

    The columns of outputs are in memory meanwhile. Raises PoolError for a file that is damaged,
    OSError where the target cannot be written.
    """
    names = list(outputs.schema.output_columns)
    others = [name for name in list_joined_columns(pool.schema) if name not in names]
    read = [batch for _, batch in outputs.files.blocks(names, ROW_GROUP)]
    table = pa.Table.from_batches(read).combine_chunks()
    metadata = None
    if spelled is not None:
        (name,) = names
        written = class_names(decode(table.column(name).combine_chunks()))
        spelling = [spelled.get(make_canonical(each.strip())) for each in written]
        table = pa.table({name: pa.array(spelling, pa.string())})
        own = {*pool.schema.classes}
        metadata = write_further_classes([each for each in spelled.values() if each not in own])

    def join() -> Iterator[pa.Table]:
        columns = others or names
        for start, batch in pool.files.blocks(columns, ROW_GROUP):
            taken = table.take(pa.array(rows[start : start + batch.num_rows]))
            kept = pa.Table.from_batches([batch]).select(others)
            for name in names:
                kept = kept.append_column(name, taken.column(name))
            yield kept.replace_schema_metadata(metadata)

    write_parquet(store_tables(join()), target, checksums=True)


def read_further(path: Path) -> tuple[str, ...]:
    """Classes that a joined file predicts and the pool does not; none where the file is gone."""
    try:
        return read_further_classes(pq.read_schema(path).metadata)
    except (OSError, pa.ArrowException):
        return ()


def write_renamed(files: Files, names: Mapping[str, str], target: Path) -> None:
    """Write the columns {name: new name} of files under their new names."""

    def rename() -> Iterator[pa.Table]:
        for _, batch in files.blocks([*names], ROW_GROUP):
            table = pa.Table.from_batches([batch])
            yield table.rename_columns([names[name] for name in table.column_names])

    write_parquet(rename(), target)


def check_pages(path: Path) -> None:
    """Read all of a joined file. Raises PoolError where a page is not as it was written."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for _ in file.iter_batches(BATCH, use_threads=False):
                pass
    except (pa.ArrowException, OSError, ValueError) as error:
        raise PoolError(f"{path} is damaged: {first_line(error)}") from error
