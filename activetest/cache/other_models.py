"""Outputs of other models for every item: columns of the pool itself, or a file with its ids.

Classes: `surrogate_prob_<member>`, a list per row, or `surrogate_prob_<member>_<class>`, a number
per class; where the pool has a score, `surrogate_prob_<member>` may be the same kind of score.
Classes without probabilities, and values: `surrogate_pred_<member>`, or columns of the pool that
the user named. Members keep the order of their columns. Where all of them say classes alone, their
codes are kept, -1 for what is no class of the pool.
"""

from collections.abc import Callable, Sequence
from operator import add

import numpy as np
import pyarrow as pa

from activetest.cache import tables
from activetest.cache.cache import Cache
from activetest.cache.parts import EXTERNAL, Draft, Part, drafting_part, open_copy, open_part
from activetest.errors import PoolError
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.rows import Array, Outputs, spread_votes
from activetest.pool import outputs as pool_outputs
from activetest.pool.classes import list_width
from activetest.pool.columns import read_text, reject_nulls, row_numbers
from activetest.pool.files import Files
from activetest.pool.ids import Text, hash_rows, hash_text
from activetest.pool.outputs import Checked
from activetest.pool.pool import Pool
from activetest.pool.roles import (
    OTHER_PREDICTIONS,
    OTHER_PROBABILITIES,
    is_number,
    is_scalar,
    is_vector,
)
from activetest.pool.schema import Schema
from activetest.pool.written_numbers import find_written_values
from activetest.system.parallel import map_reduce

_NUMBERS = "a number per row, all with the same sign, such as % or $, or none"
# Axes of a table of codes or values.
_FLAT = 2

# Finds the pool positions (R,) of a batch whose first row has this number; -1 for unknown ids.
_Lookup = Callable[[pa.RecordBatch, int], Array]


def ensure_other_models(
    cache: Cache, pool: Pool, source: str | None, *, fingerprint: str | None = None
) -> Part | None:
    """The part of other models' outputs, built unless it is there.

    source       the file of their outputs; None for columns of the pool
    fingerprint  of a copy in the cache that is used when the file can no longer be opened

    None where the pool has no such columns. Raises PoolError for columns or rows that cannot be
    used, OSError when the part cannot be written.
    """
    folder = cache.folder / EXTERNAL
    if source is None and not find_columns(pool.files.schema, pool.schema.others):
        return None
    try:
        stamp = None if source is None else Files(source).stamp()
    except PoolError:
        if part := open_copy_in(cache, pool, fingerprint):
            return part
        raise
    origin = {"pool": _describe_pool(cache, pool), "file": stamp}
    if part := open_part(folder, origin):
        return part
    # Read first: a damaged cache is replaced, with what is being drafted in it.
    _ = cache.hashes
    with drafting_part(folder, origin) as draft:
        if source is None:
            _write_part(draft, pool.files, cache, pool, pool.uri, _number_rows)
        else:
            with tables.open_table(source, id=pool.schema.id) as files:
                schema = pool.schema
                columns = find_columns(files.schema, schema.others)
                forms = find_written_values(files, columns, schema.task, schema.decimal)
                files.read_written(forms)
                _write_part(
                    draft, files, cache, pool, source, _make_id_lookup(files, cache, pool, source)
                )
    return Part.open(folder)


def open_copy_in(cache: Cache, pool: Pool, fingerprint: str | None) -> Part | None:
    """The part in the cache, if it fits the pool and has this fingerprint; no file is read."""
    return open_copy(cache.folder / EXTERNAL, _describe_pool(cache, pool), fingerprint)


def find_columns(table: pa.Schema, named: Sequence[str] = ()) -> list[str]:
    """The columns of other models' outputs: by their names, and those that the user named."""
    return [
        name
        for name in table.names
        if name.startswith((OTHER_PROBABILITIES, OTHER_PREDICTIONS)) or name in named
    ]


def _describe_pool(cache: Cache, pool: Pool) -> list:
    """Facts of the pool that the part depends on, JSON-ready."""
    schema = pool.schema
    meaning = [schema.task, schema.kind, list(schema.classes), schema.positive]
    meaning += [list(schema.others)] if schema.others else []
    return [cache.manifest["stamp"], meaning]


def find_members(table: pa.Schema, schema: Schema, source: str) -> list[Schema]:
    """The outputs of each member, as those of a pool would be described.

    Raises PoolError when there are none, or when one lacks a class or has columns that cannot be.
    """
    regression = schema.task == "regression"
    prefix = OTHER_PREDICTIONS if regression else OTHER_PROBABILITIES
    columns = [name for name in table.names if name.startswith(prefix)]
    # Beside probabilities, classes say nothing more.
    by_name = () if columns and not regression else (OTHER_PREDICTIONS,)
    predicted = [name for name in table.names if name.startswith(by_name) or name in schema.others]
    columns = predicted if regression else columns
    if not columns and not predicted:
        form = f"{prefix}<model>, a {'number' if regression else 'list of probabilities'} per row"
        raise PoolError(
            f"{source} has no column {prefix}*; its columns are {shorten_list(table.names)}",
            hint=f"other models' outputs are columns {form}",
        )
    if regression:
        for name in columns:
            _require(table, name, is_number(table.field(name).type), _NUMBERS, source)
        return [Schema("regression", "pred", (name,), pred=name) for name in columns]
    by_class = _split_class_columns(columns, table, schema)
    found: dict[str, Schema] = {}
    for name in columns:
        member = _read_list_member(table, name, schema, source)
        member = member or _find_class_member(table, name, by_class, schema, source)
        found.setdefault(member.outputs[0], member)
    for name in predicted:
        rule = "a class per row"
        _require(table, name, is_scalar(table.field(name).type), rule, source)
        found[name] = Schema(
            "classification",
            "pred",
            (name,),
            pred=name,
            classes=schema.classes,
            open_classes=True,
            numbered=schema.numbered,
        )
    order = {name: place for place, name in enumerate(table.names)}
    return sorted(found.values(), key=lambda member: order[member.outputs[0]])


def _read_list_member(table: pa.Schema, name: str, schema: Schema, source: str) -> Schema | None:
    """The member that a list column is; None for a column of numbers."""
    kind = table.field(name).type
    if is_number(kind):
        return None
    _require(table, name, is_vector(kind), "a list of numbers per row", source)
    width, classes = list_width(kind), schema.classes
    if width not in (None, len(classes)):
        raise PoolError(
            f"column {name!r} of {source} holds lists of {width}, and the pool has "
            f"{len(classes)} classes",
            hint=f"one probability per class, in the order {shorten_list(list(classes))}",
        )
    return Schema("classification", "prob-list", (name,), classes=classes)


def _split_class_columns(
    columns: list[str], table: pa.Schema, schema: Schema
) -> dict[str, tuple[str, str]]:
    """{column: (member, class)} of columns of numbers whose names end with a class."""
    # The longest class first: "0_not_a" is class "not_a", even where there is a class "a".
    classes = sorted(schema.classes, key=len, reverse=True)
    found = {}
    for name in columns:
        rest = name.removeprefix(OTHER_PROBABILITIES)
        ending = next((each for each in classes if rest.endswith(f"_{each}")), None)
        if ending is not None and is_number(table.field(name).type):
            found[name] = rest.removesuffix(f"_{ending}"), ending
    return found


def _find_class_member(
    table: pa.Schema, name: str, by_class: dict[str, tuple[str, str]], schema: Schema, source: str
) -> Schema:
    """The member that a column of numbers belongs to."""
    classes = schema.classes
    if name in by_class:
        member = by_class[name][0]
        own = {each: column for column, (owner, each) in by_class.items() if owner == member}
        lacking = [each for each in classes if each not in own]
        if not lacking:
            outputs = tuple(own[each] for each in classes)
            return Schema("classification", "prob-columns", outputs, classes=classes)
        absent = f"{OTHER_PROBABILITIES}{member}_{lacking[0]}"
        problem = f"{source} has a column {name!r} and no column {absent!r}"
    else:
        problem = f"column {name!r} of {source} is {table.field(name).type}, no list"
    if schema.kind == "score":
        return Schema("classification", "score", (name,), classes=classes, positive=schema.positive)
    raise PoolError(
        problem,
        hint=f"a list of {len(classes)} probabilities per row, or a column for each of the classes "
        f"{shorten_list(list(classes))}",
    )


def _require(table: pa.Schema, name: str, fits: bool, rule: str, source: str) -> None:
    """Raises PoolError for a column whose type does not fit."""
    if not fits:
        raise PoolError(f"column {name!r} of {source} is {table.field(name).type}", hint=rule)


def _number_rows(batch: pa.RecordBatch, start: int) -> Array:
    """(R,) positions of rows that are the pool's own."""
    return np.arange(start, start + batch.num_rows)


def _make_id_lookup(files: Files, cache: Cache, pool: Pool, source: str) -> _Lookup:
    """A function that finds the positions of a batch's rows. Raises PoolError without ids."""
    names = files.schema.names
    id = next((name for name in (pool.schema.id, "id") if name in names), None)
    if id is None and pool.schema.id is not None:
        raise PoolError(
            f"{source} has no column {pool.schema.id!r}; its columns are {shorten_list(names)}",
            hint="its rows need the ids of the pool",
        )
    if id is None and (found := files.rows) != cache.size:
        raise PoolError(
            f"{source} has {found:,} rows, the pool has {cache.size:,}, and there are no ids",
            hint="give a row for every item, in order, or ids to both",
        )
    order = np.argsort(cache.hashes)
    keys = cache.hashes[order]
    distinct = bool((keys[1:] != keys[:-1]).all())

    def find_rows(batch: pa.RecordBatch, start: int) -> Array:
        ids = row_numbers(start, batch.num_rows) if id is None else read_text(batch.column(id), id)
        if id is not None and cache.id_prefix:
            # The hashes are those of the row numbers alone.
            ids = Text.of([ids[row].removeprefix(cache.id_prefix) for row in range(len(ids))])
        found = np.full(len(ids), -1)
        if distinct:
            hashes = hash_text(ids)
            places = np.minimum(np.searchsorted(keys, hashes), len(keys) - 1)
            found = np.where(keys[places] == hashes, order[places], -1)
        unknown = np.flatnonzero(found < 0)
        found[unknown] = cache.find_alike([f"{cache.id_prefix}{ids[int(row)]}" for row in unknown])
        return found

    return find_rows


def _write_part(
    draft: Draft, files: Files, cache: Cache, pool: Pool, source: str, find_rows: _Lookup
) -> None:
    """Write the outputs of every member for every item; find_rows finds a batch's positions."""
    schemas = find_members(files.schema, pool.schema, source)
    regression, classes = pool.schema.task == "regression", len(pool.schema.classes)
    votes = not regression and all(each.kind == "pred" for each in schemas)
    flat = regression or votes
    shape = (cache.size, len(schemas)) if flat else (cache.size, len(schemas), classes)
    id = next((name for name in (pool.schema.id, "id") if name in files.schema.names), None)
    outputs = [name for each in schemas for name in each.outputs]

    def write_strip(strip: tuple[int, pa.RecordBatch]) -> list[tuple[Array, int, int]]:
        start, batch = strip
        with tables.locating_bad_rows(source, start, batch, id):
            positions = find_rows(batch, start)
            checked = [_read_member(batch, each) for each in schemas]
        inside = positions >= 0
        known = positions[inside]
        values = [_select_values(member.outputs, 0 if flat else classes) for member in checked]
        table[known] = np.stack(values, axis=1)[inside]
        raw = [column[inside] for member in checked for column in member.raw]
        total = int(hash_rows(cache.hashes[known], raw).sum(dtype=np.uint64))
        return [(positions, sum(member.renormalised for member in checked), total)]

    columns = list(dict.fromkeys([*([id] if id else []), *outputs]))
    strips = tables.read_strips(files, columns, len(schemas) * max(classes, 1))
    with draft.scratch(shape, np.int32 if votes else np.float32) as table:
        positions, renormalised, totals = zip(
            *map_reduce(strips, write_strip, add, here=True), strict=True
        )
        _check_votes(table, schemas, pool.schema, source)
        draft.put_items(cache.piece_rows, {EXTERNAL: table})
    unmatched = _check_coverage(np.concatenate(positions), cache, source)
    draft.fingerprint = f"{sum(totals) % 2**64:016x}"
    draft.notices += _describe_part(schemas, source, sum(renormalised), unmatched)


def _read_member(batch: pa.RecordBatch, member: Schema) -> Checked:
    """One member's outputs for the rows of a batch. Raises BadRow."""
    if member.kind != "pred" or member.task == "regression":
        return pool_outputs.read_outputs(batch, member)
    array = batch.column(member.prediction)
    reject_nulls(array, member.prediction, "other models must say something about every item")
    codes, _ = tables.encode_classes(array, member.classes, numbered=member.numbered)
    pred = codes.astype(np.int32)
    return Checked(Outputs(pred), [pred])


def _select_values(outputs: Outputs, classes: int) -> Array:
    """(R, C) class probabilities; (R,) values or, for classes = 0, codes."""
    if outputs.probs is not None:
        return outputs.probs
    return spread_votes(outputs.pred, classes) if classes else outputs.pred


def _check_votes(table: Array, members: list[Schema], schema: Schema, source: str) -> None:
    """Raises PoolError for a member that predicts no class of the pool; table as in Rows.external.

    Of a member that is sometimes of another opinion about the classes, the rest counts.
    """
    for place, member in enumerate(members):
        if schema.task == "regression" or member.kind != "pred":
            continue
        voted = table[:, place] >= 0 if table.ndim == _FLAT else table[:, place] > 0
        if not voted.any():
            raise PoolError(
                f"column {member.prediction!r} of {source} holds none of the pool's classes "
                f"{shorten_list(list(schema.classes))}",
                hint="write classes as the pool does",
            )


def _check_coverage(positions: Array, cache: Cache, source: str) -> int:
    """Number of rows about no item of the pool.

    Raises PoolError for items with no row, or with two.
    """
    counts = np.bincount(positions[positions >= 0], minlength=cache.size)
    if len(repeated := np.flatnonzero(counts > 1)):
        raise PoolError(
            f"{source} has {counts[repeated[0]]} rows with id {cache.ids(repeated[:1])[0]!r}",
            hint="one row per item",
        )
    if len(missing := np.flatnonzero(counts == 0)):
        raise PoolError(
            f"{source} has no row for {len(missing):,} of the pool's {cache.size:,} items, "
            f"id {cache.ids(missing[:1])[0]!r} first",
            hint="other models must say something about every item",
        )
    return int((positions < 0).sum())


def _describe_part(
    schemas: list[Schema], source: str, renormalised: int, unmatched: int
) -> list[str]:
    """Notices of what was read, corrected or left out."""
    names = shorten_list([each.outputs[0] for each in schemas])
    notices = [f"other models: {len(schemas)} in {source}, from {names}"]
    if renormalised:
        notices.append(f"renormalised {renormalised:,} rows of probabilities of other models")
    if unmatched:
        notices.append(f"{unmatched:,} rows of {source} are about no item of the pool")
    return notices
