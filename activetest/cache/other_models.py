"""What other models say about every item: columns of the pool itself, or a file with their ids.

Classes: `surrogate_prob_<member>`, a list per row, or `surrogate_prob_<member>_<class>`, a number
per class; where the pool has a score, `surrogate_prob_<member>` may be the same kind of score.
Values: `surrogate_pred_<member>`. Members keep the order of their columns.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from activetest.cache import tables
from activetest.cache.parts import EXTERNAL, Draft, Part, copied, drafted, opened
from activetest.errors import PoolError
from activetest.nouns.rows import Array
from activetest.parallel import map_reduce
from activetest.pool import outputs as pool_outputs
from activetest.pool.classes import list_width
from activetest.pool.columns import row_numbers, text
from activetest.pool.ids import Text, hashes, row_hashes
from activetest.pool.roles import few, is_number, is_vector
from activetest.pool.schema import Schema

PROBABILITIES, PREDICTIONS = "surrogate_prob_", "surrogate_pred_"


@dataclass(frozen=True)
class Found:
    """What some rows of the file were about.

    places        arrays of pool positions, -1 for ids that are not in the pool
    renormalised  members' probabilities that did not sum to one
    total         sum of the hashes of the rows
    """

    places: list[Array]
    renormalised: int
    total: int

    def __add__(self, other: "Found") -> "Found":
        return Found(
            self.places + other.places,
            self.renormalised + other.renormalised,
            self.total + other.total,
        )


def ensure(cache, pool, source: str | None, *, known: str | None = None) -> Part | None:
    """The part, made unless it is there; from the pool's own columns where source is None.

    None where these do not exist. A file that cannot be opened any more is not missed where the
    part has the fingerprint `known`. Raises PoolError for columns or rows that cannot serve.
    """
    folder = cache.folder / EXTERNAL
    if source is None and not columns_of(pool.files.schema):
        return None
    try:
        stamp = None if source is None else tables.stamp(source)
    except PoolError:
        if part := copy(cache, pool, known):
            return part
        raise
    made_from = {"pool": _beside(cache, pool), "file": stamp}
    if part := opened(folder, made_from):
        return part
    with drafted(folder, made_from) as draft:
        if source is None:
            _write(draft, pool.files, cache, pool, pool.uri, _in_order)
        else:
            with tables.opened(source, id=pool.schema.id) as files:
                _write(draft, files, cache, pool, source, _by_id(files, cache, pool, source))
    return Part(folder)


def copy(cache, pool, known: str | None) -> Part | None:
    """The part as it is, if it fits the pool and has this fingerprint; no file is looked at."""
    return copied(cache.folder / EXTERNAL, _beside(cache, pool), known)


def columns_of(table: pa.Schema) -> list[str]:
    """The columns of other models' outputs."""
    return [name for name in table.names if name.startswith((PROBABILITIES, PREDICTIONS))]


def _beside(cache, pool) -> list:
    """What of the pool the part depends on."""
    schema = pool.schema
    meaning = [schema.task, schema.kind, list(schema.classes), schema.positive]
    return [cache.manifest["stamp"], meaning]


def members(table: pa.Schema, schema: Schema, source: str) -> list[Schema]:
    """The outputs of each member, as those of a pool would be described.

    Raises PoolError when there are none, or when one lacks a class or has columns that cannot be.
    """
    regression = schema.task == "regression"
    prefix = PREDICTIONS if regression else PROBABILITIES
    columns = [name for name in table.names if name.startswith(prefix)]
    if not columns:
        wanted = f"{prefix}<model>, a {'number' if regression else 'list of probabilities'} per row"
        raise PoolError(
            f"{source} has no column {prefix}*; its columns are {few(table.names)}",
            hint=f"other models' outputs are columns {wanted}",
        )
    if regression:
        for name in columns:
            _require(table, name, is_number(table.field(name).type), "a number per row", source)
        return [Schema("regression", "pred", (name,), pred=name) for name in columns]
    apart = _per_class(columns, table, schema)
    made: dict[str, Schema] = {}
    for name in columns:
        member = _of_list(table, name, schema, source)
        member = member or _of_classes(table, name, apart, schema, source)
        made.setdefault(member.outputs[0], member)
    return list(made.values())


def _of_list(table: pa.Schema, name: str, schema: Schema, source: str) -> Schema | None:
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
            hint=f"one probability per class, in the order {few(list(classes))}",
        )
    return Schema("classification", "prob-list", (name,), classes=classes)


def _per_class(columns: list[str], table: pa.Schema, schema: Schema) -> dict[str, tuple[str, str]]:
    """{column: (member, class)} of columns of numbers whose names end with a class."""
    # The longest class first: "0_not_a" is class "not_a", even where there is a class "a".
    classes = sorted(schema.classes, key=len, reverse=True)
    found = {}
    for name in columns:
        said = name.removeprefix(PROBABILITIES)
        ending = next((each for each in classes if said.endswith(f"_{each}")), None)
        if ending is not None and is_number(table.field(name).type):
            found[name] = said.removesuffix(f"_{ending}"), ending
    return found


def _of_classes(
    table: pa.Schema, name: str, apart: dict[str, tuple[str, str]], schema: Schema, source: str
) -> Schema:
    """The member that a column of numbers belongs to."""
    classes = schema.classes
    if name in apart:
        member = apart[name][0]
        parts = {each: column for column, (owner, each) in apart.items() if owner == member}
        lacking = [each for each in classes if each not in parts]
        if not lacking:
            outputs = tuple(parts[each] for each in classes)
            return Schema("classification", "prob-columns", outputs, classes=classes)
        wanted = f"{PROBABILITIES}{member}_{lacking[0]}"
        problem = f"{source} has a column {name!r} and no column {wanted!r}"
    else:
        problem = f"column {name!r} of {source} is {table.field(name).type}, no list"
    if schema.kind == "score":
        return Schema("classification", "score", (name,), classes=classes, positive=schema.positive)
    raise PoolError(
        problem,
        hint=f"a list of {len(classes)} probabilities per row, or a column for each of the classes "
        f"{few(list(classes))}",
    )


def _require(table: pa.Schema, name: str, fits: bool, rule: str, source: str) -> None:
    if not fits:
        raise PoolError(f"column {name!r} of {source} is {table.field(name).type}", hint=rule)


def _in_order(batch: pa.RecordBatch, start: int) -> Array:
    """Positions of rows that are the pool's own."""
    return np.arange(start, start + batch.num_rows)


def _by_id(files, cache, pool, source: str) -> Callable[[pa.RecordBatch, int], Array]:
    """What finds the positions of a batch's rows. Raises PoolError for a file without ids."""
    names = files.schema.names
    id = next((name for name in (pool.schema.id, "id") if name in names), None)
    if id is None and pool.schema.id is not None:
        raise PoolError(
            f"{source} has no column {pool.schema.id!r}; its columns are {few(names)}",
            hint="its rows need the ids of the pool",
        )
    if id is None and (found := tables.rows(files)) != cache.size:
        raise PoolError(
            f"{source} has {found:,} rows, the pool has {cache.size:,}, and there are no ids",
            hint="give a row for every item, in order, or ids to both",
        )
    order = np.argsort(cache.hashes)
    keys = cache.hashes[order]
    distinct = bool((keys[1:] != keys[:-1]).all())

    def places(batch: pa.RecordBatch, start: int) -> Array:
        ids = row_numbers(start, batch.num_rows) if id is None else text(batch.column(id), id)
        return (
            _positions(ids, keys, order)
            if distinct
            else cache.find([ids[row] for row in range(len(ids))])
        )

    return places


def _positions(ids: Text, keys: Array, order: Array) -> Array:
    """(R,) positions of ids among items whose hashes are keys (N,), ascending; -1 for unknown."""
    wanted = hashes(ids)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, order[at], -1)


def _write(draft: Draft, files, cache, pool, source: str, places) -> None:
    """Every member of every item."""
    schemas = members(files.schema, pool.schema, source)
    regression, classes = pool.schema.task == "regression", len(pool.schema.classes)
    shape = (cache.size, len(schemas)) if regression else (cache.size, len(schemas), classes)
    draft.arrays.create(EXTERNAL, shape, np.float32)
    whole = draft.arrays.zeros(EXTERNAL)
    id = next((name for name in (pool.schema.id, "id") if name in files.schema.names), None)
    outputs = [name for each in schemas for name in each.outputs]

    def on_strip(strip: tuple[int, pa.RecordBatch]) -> Found:
        start, batch = strip
        with tables.placed(source, start, batch, id):
            at = places(batch, start)
            checked = [pool_outputs.read(batch, each) for each in schemas]
        inside = at >= 0
        told = [each.outputs.pred if regression else each.outputs.probs for each in checked]
        whole[at[inside]] = np.stack(told, axis=1)[inside]
        raw = [column[inside] for each in checked for column in each.raw]
        total = int(row_hashes(cache.hashes[at[inside]], raw).sum(dtype=np.uint64))
        return Found([at], sum(each.renormalised for each in checked), total)

    columns = list(dict.fromkeys([*([id] if id else []), *outputs]))
    found = map_reduce(
        tables.strips(files, columns, len(schemas) * max(classes, 1)),
        on_strip,
        lambda one, other: one + other,
    )
    unmatched = _check_whole(np.concatenate(found.places), cache, source)
    draft.fingerprint = f"{found.total % 2**64:016x}"
    draft.said += _said(schemas, source, found.renormalised, unmatched)


def _check_whole(at: Array, cache, source: str) -> int:
    """Rows about no item of the pool. Raises PoolError for items with no row, or with two."""
    counts = np.bincount(at[at >= 0], minlength=cache.size)
    if len(twice := np.flatnonzero(counts > 1)):
        raise PoolError(
            f"{source} has {counts[twice[0]]} rows with id {cache.ids(twice[:1])[0]!r}",
            hint="one row per item",
        )
    if len(missing := np.flatnonzero(counts == 0)):
        raise PoolError(
            f"{source} has no row for {len(missing):,} of the pool's {cache.size:,} items, "
            f"id {cache.ids(missing[:1])[0]!r} first",
            hint="other models must say something about every item",
        )
    return int((at < 0).sum())


def _said(schemas: list[Schema], source: str, renormalised: int, unmatched: int) -> list[str]:
    """What was read, and what was put right or left alone."""
    names = few([each.outputs[0] for each in schemas])
    said = [f"other models: {len(schemas)} in {source}, from {names}"]
    if renormalised:
        said.append(f"renormalised {renormalised:,} rows of probabilities of other models")
    if unmatched:
        said.append(f"{unmatched:,} rows of {source} are about no item of the pool")
    return said
