"""Tables with a row for each item and class, as one with a row for each item.

Melted and unpivoted tables have a column of ids, one of classes and one of probabilities. They are
known by all of it: names, each class once for each item, and probabilities that sum to one. All
rows of an item must have the same values in the other columns.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from activetest.formats import add_notes
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.rows import Array
from activetest.pool.column_names import split_words
from activetest.pool.columns import decode
from activetest.pool.roles import is_amount, is_text

_ID = re.compile(r"(.*_)?(id|uuid|guid|key|nr|item|row|index|name|doc|document|sample)(_id)?")
# Of a file of items, where no column is called an id.
_FILE = re.compile(r"(.*_)?(image|img|photo|picture|audio|video|file|filename|path|url)")
_CLASS = re.compile(
    r"((predicted|pred)_)?(class|label|category|variable|option|choice|outcome|intent)(es|s)?"
    r"(_?(name|id|label))?",
)
_PROBABILITY = re.compile(
    r"(y_)?(pred(icted)?_)?(class_)?(prob|probs|proba|probability|p|score|value|confidence|softmax)",
)
# Rows that are looked at before all are, classes of an item, and how far sums are from 1.
SAMPLE, _MOST, _TOLERANCE = 1000, 10_000, 1e-3
# Items times classes, so many times the rows: some classes of some items may be missing.
_SPARSE = 4


@dataclass(frozen=True)
class LongColumns:
    """The columns of a table with a row for each item and class."""

    id: str
    name: str
    probability: str


def find_columns(table: pa.Schema, id: str | None = None) -> LongColumns | None:
    """The columns that a table of items and classes would have, by names and types; else None.

    id  the column that the user named
    """
    names: list[list[str]] = [[], [], []]
    files: list[str] = []
    for field in table:
        scalar = is_text(field.type) or kinds.is_integer(field.type)
        words = "_".join(split_words(field.name))
        if field.name == id:
            names[0].append(field.name)
        elif scalar and _CLASS.fullmatch(words):
            names[1].append(field.name)
        elif id is None and scalar and _ID.fullmatch(words):
            names[0].append(field.name)
        elif id is None and is_text(field.type) and _FILE.fullmatch(words):
            files.append(field.name)
        elif is_amount(field.type) and _PROBABILITY.fullmatch(words):
            names[2].append(field.name)
    names[0] = ["id"] if "id" in names[0] else names[0] or files
    if any(len(each) != 1 for each in names):
        return None
    return LongColumns(*(each[0] for each in names))


def describe_pivot(table: pa.Schema, id: str | None) -> str:
    """How a table that may have a row for each item and class is made wide; empty for others."""
    columns = find_columns(table, id)
    if columns is None:
        return ""
    name, probability = columns.name, columns.probability
    return (
        f"; if there is a row for each item and class, make one of each item: in pandas "
        f"frame.pivot(index={columns.id!r}, columns={name!r}, values={probability!r})"
        f".add_prefix('prob_').reset_index(), in Spark "
        f"frame.groupBy({columns.id!r}).pivot({name!r}).max({probability!r}), and prob_ before "
        "the names of the classes"
    )


def may_be_long(rows: pa.Table, columns: LongColumns) -> bool:
    """Whether the first rows may be of such a table: ids come again, or one class is in all."""
    ids, names = rows.column(columns.id), rows.column(columns.name)
    if len(rows) < 2 or ids.null_count or names.null_count:
        return False
    return pc.count_distinct(ids).as_py() < len(rows) or pc.count_distinct(names).as_py() == 1


def read_long(table: pa.Table, columns: LongColumns) -> pa.Table | None:
    """A row for each item, in the order in which items first come; None for any other table.

    Probabilities are in columns prob_CLASS. Of the other columns those are left out, with a note,
    of which an item has several values.
    """
    ids, names = (table.column(each) for each in (columns.id, columns.name))
    values = table.column(columns.probability)
    if ids.null_count or names.null_count or values.null_count or not table.num_rows:
        return None
    items, firsts = _encode(ids)
    classes, class_firsts = _encode(names)
    size, width = len(firsts), len(class_firsts)
    if not 1 < width <= min(_MOST, table.num_rows) or size * width > _SPARSE * table.num_rows:
        return None
    places = items * width + classes
    if size == table.num_rows or len(np.unique(places)) < len(places):
        return None
    cells = np.zeros(size * width)
    cells[places] = values.cast(pa.float64()).to_numpy()
    probs = cells.reshape(size, width)
    # Of ids that come with every class, what is wrong with the numbers is said as of any pool.
    complete = columns.id == "id" and size * width == table.num_rows
    if not complete and not (np.abs(probs.sum(axis=1) - 1) <= _TOLERANCE).all():
        return None
    others, left_out = _find_constant(table, columns, items, firsts)
    wide = table.select([columns.id, *others]).take(pa.array(firsts))
    words = names.take(pa.array(class_firsts)).cast(pa.string()).to_pylist()
    for place in _sort(words):
        wide = wide.append_column(f"prob_{words[place]}", pa.array(probs[:, place]))
    note = (
        f"a row for each item and class: {table.num_rows:,} rows are read as {size:,} items of "
        f"{width:,} classes (columns {columns.id}, {columns.name}, {columns.probability})"
    )
    if left_out:
        note += f"; left out, because they differ inside of items: {shorten_list(left_out)}"
    return wide.replace_schema_metadata(add_notes(table.schema.metadata, [note]))


def _encode(values: pa.ChunkedArray) -> tuple[Array, Array]:
    """((R,) codes from 0 up in the order in which values first come, (K,) first row of each)."""
    codes = (
        decode(values.combine_chunks()).dictionary_encode(null_encoding="encode").indices.to_numpy()
    )
    return codes, np.unique(codes, return_index=True)[1]


def _find_constant(
    table: pa.Table, columns: LongColumns, items: Array, firsts: Array
) -> tuple[list[str], list[str]]:
    """(columns with one value an item, others)."""
    used = {columns.id, columns.name, columns.probability}
    constant: list[str] = []
    others: list[str] = []
    for name in table.column_names:
        if name in used:
            continue
        try:
            codes, _ = _encode(table.column(name))
        except (pa.ArrowException, TypeError):
            others.append(name)
            continue
        (constant if (codes == codes[firsts][items]).all() else others).append(name)
    return constant, others


def _sort(words: list[str]) -> list[int]:
    """The order of classes: numbers by size, words as they first come."""
    if all(word.isdecimal() for word in words):
        return sorted(range(len(words)), key=lambda place: int(words[place]))
    return list(range(len(words)))


def widen(tables: Iterator[pa.Table], id: str | None = None) -> Iterator[pa.Table]:
    """The tables, or one with a row for each item where they have one for each class of it.

    The first of the tables may be without rows. A table of another kind comes as it is, a part at a
    time; only of one that may be long all is read at once.
    """
    waiting = [next(tables)]
    columns = find_columns(waiting[0].schema, id)
    if columns is not None:
        for table in tables:
            waiting.append(table)
            if sum(each.num_rows for each in waiting) >= SAMPLE:
                break
        sample = pa.concat_tables(waiting)
        if may_be_long(sample.slice(0, SAMPLE), columns):
            waiting = [pa.concat_tables([sample, *tables])]
            wide = read_long(waiting[0], columns)
            if wide is not None:
                waiting = [wide]
    # Of types that nothing holds, too.
    yield waiting[0].slice(0, 0)
    yield from waiting
    yield from tables
