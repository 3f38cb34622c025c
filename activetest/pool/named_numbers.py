"""Columns that give numbers to names, as records: maps, and lists of names with a number each.

The names may stand in a list of their own beside the numbers: labels and scores.

The names stand in the rows, so that all of them are read first. Where the numbers of each row sum
to one, and nothing else is called prob, they are the probabilities of all classes.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from activetest.formats import add_notes
from activetest.pool.column_names import split_words
from activetest.pool.roles import is_amount, is_text

# Names that a column has together: others are no classes.
_MOST = 1000
_TOLERANCE = 1e-3
_PROB = "prob"
# Names of outputs that such a column may have, and of other outputs.
_OUTPUTS = re.compile(r"(y_)?(pred|prob|score|output|confidence|likelihood)\w*")
# Lists of the names of classes.
_CLASSES = re.compile(r"(class|label|category|display)(es|s)?(_names?)?|classes|categories")
_OTHER_OUTPUTS = re.compile(r"pred|score|prob(_.*)?")

Read = Callable[[], Iterator[pa.Table]]
Path = tuple[str, ...]


def find_named(table: pa.Schema) -> list[str]:
    """The columns that give numbers to names."""
    return [field.name for field in table if _find_pair(field.type) is not None]


def are_outputs(table: pa.Schema) -> bool:
    """Whether such a column may be the only outputs of a table, by its name and those of others."""
    if any(_OTHER_OUTPUTS.fullmatch(name) for name in set(table.names) - {*find_named(table)}):
        return False
    if _find_lists(table):
        return True
    return any(_OUTPUTS.fullmatch("_".join(split_words(name))) for name in find_named(table))


def _find_pair(kind: pa.DataType) -> tuple[int, int] | None:
    """Places of the name and the number in the values of a column; None for another type."""
    if kinds.is_map(kind):
        fields = [kind.key_type, kind.item_type]
    elif (kinds.is_list(kind) or kinds.is_large_list(kind)) and kinds.is_struct(kind.value_type):
        fields = [each.type for each in kind.value_type]
    else:
        return None
    if len(fields) != 2:
        return None
    for name, number in ((0, 1), (1, 0)):
        codes = kinds.is_integer(fields[name]) and kinds.is_floating(fields[number])
        if codes or (is_text(fields[name]) and is_amount(fields[number])):
            return name, number
    return None


def read_named(read: Read) -> Iterator[pa.Table]:
    """The tables, in which columns that give numbers to names are records; at least one.

    read  gives the tables, the same each time
    """
    tables = read()
    first = next(tables)
    lists = _find_lists(first.schema)
    if lists and all(_are_parallel(table, *lists) for table in read()):
        read = partial(_read_joined, read, *lists)
        tables = read()
        first = next(tables)
    columns = find_named(first.schema)
    if not columns:
        yield first
        yield from tables
        return
    found = {column: _Names() for column in columns}
    for table in read():
        for column, names in found.items():
            names.add(table.column(column))
    found = {column: names for column, names in found.items() if names.fits}
    called = _rename(found, first.schema)
    for number, table in enumerate(read()):
        for column, names in found.items():
            place = table.column_names.index(column)
            chunks = [names.convert(chunk) for chunk in table.column(column).chunks]
            records = pa.chunked_array(chunks, names.type)
            table = table.set_column(place, called[column], records)  # noqa: PLW2901
        if not number:
            schema = table.schema
            for column, name in called.items():
                note = f"{column} gives numbers to {len(found[column].names):,} names"
                note += ", the probabilities of classes" if name == _PROB else ""
                schema = schema.with_metadata(add_notes(schema.metadata, [note]))
        yield table.replace_schema_metadata(schema.metadata)


def _find_lists(table: pa.Schema) -> tuple[Path, Path] | None:
    """Where lists of names of classes and of a number for each are; None without just one of both.

    They may be fields of one record.
    """
    places: list[tuple[Path, pa.DataType]] = []
    for field in table:
        fields = field.type if kinds.is_struct(field.type) else ()
        places += [((field.name,), field.type), *(((field.name, f.name), f.type) for f in fields)]
    lists = [
        (path, kind.value_type, "_".join(split_words(path[-1])))
        for path, kind in places
        if kinds.is_list(kind) or kinds.is_large_list(kind)
    ]
    names = [path for path, kind, words in lists if is_text(kind) and _CLASSES.fullmatch(words)]
    numbers = [
        path
        for path, kind, words in lists
        if is_amount(kind) and (_OUTPUTS.fullmatch(words) or words == "values")
    ]
    if len(names) != 1 or len(numbers) != 1 or names[0][:-1] != numbers[0][:-1]:
        return None
    return names[0], numbers[0]


def _are_parallel(table: pa.Table, names: Path, numbers: Path) -> bool:
    """Whether the lists of each row are equally long, and none is missing."""
    texts, values = _take(table, names), _take(table, numbers)
    missing = texts.null_count or values.null_count
    return not missing and pc.list_value_length(texts) == pc.list_value_length(values)


def _read_joined(read: Read, names: Path, numbers: Path) -> Iterator[pa.Table]:
    """The tables with a list of names and numbers in place of both; records stay as they are."""
    for table in read():
        texts, values = _take(table, names), _take(table, numbers)
        pairs = pa.StructArray.from_arrays([texts.flatten(), values.flatten()], ["name", "number"])
        starts = np.concatenate([[0], np.cumsum(pc.list_value_length(texts).to_numpy())])
        joined = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), pairs)
        others = [name for name in table.column_names if name not in (names[0], numbers[0])]
        kept = table if len(names) > 1 else table.select(others)
        yield kept.append_column(numbers[-1], joined)


def _take(table: pa.Table, path: Path) -> pa.Array:
    """(R,) a column, or a field of a record."""
    values = table.column(path[0]).combine_chunks()
    values = pc.struct_field(values, list(path[1:])) if len(path) > 1 else values
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _rename(found: dict[str, "_Names"], table: pa.Schema) -> dict[str, str]:
    """{column: what it is called}: prob, where it is the only one of probabilities."""
    probable = [column for column, names in found.items() if names.sum_to_one]
    taken = any(name == _PROB or name.startswith(f"{_PROB}_") for name in table.names)
    only = probable[0] if len(probable) == 1 and not taken else None
    return {column: _PROB if column == only else column for column in found}


class _Names:
    """The names in a column, in the order in which they first come."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.fits = self.sum_to_one = True
        self._seen = False

    @property
    def type(self) -> pa.DataType:
        return pa.struct([(name, pa.float64()) for name in self.names])

    def add(self, column: pa.ChunkedArray) -> None:
        """Take the names of these rows; a name twice in a row, or none, fits no record."""
        for chunk in column.chunks if self.fits else ():
            rows, names, numbers = _take_apart(chunk)
            if names.null_count or len(names) == 0:
                self.fits = self.fits and not names.null_count
                continue
            self._seen = True
            self.names |= dict.fromkeys(pc.unique(names).to_pylist())
            pairs = pa.table({"row": rows, "name": names, "number": numbers})
            counts = pairs.group_by(["row", "name"]).aggregate([([], "count_all")])
            self.fits &= len(counts) == len(pairs) and len(self.names) <= _MOST
            sums = pairs.group_by("row").aggregate([("number", "sum")]).column("number_sum")
            off = pc.abs(pc.subtract(sums, 1))
            self.sum_to_one &= bool(pc.all(pc.less(off, _TOLERANCE)).as_py())

    def convert(self, chunk: pa.Array) -> pa.Array:
        """The rows as records; a row without any is null."""
        rows, names, numbers = _take_apart(chunk)
        parts = []
        places = pa.array(range(len(chunk)), pa.int64())
        for name in self.names:
            mask = pc.equal(names, name)
            at = pc.index_in(places, rows.filter(mask))
            parts.append(numbers.filter(mask).take(at))
        missing = chunk.is_null()
        return pa.StructArray.from_arrays(parts, fields=list(self.type), mask=missing)


def _take_apart(chunk: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """(rows, names, numbers) of all pairs in a column."""
    pair = _find_pair(chunk.type)
    if pair is None:
        raise ValueError("a column without names and numbers")
    if kinds.is_map(chunk.type):
        pairs = pa.StructArray.from_arrays([chunk.keys, chunk.items], ["name", "number"])
        chunk = pa.ListArray.from_arrays(chunk.offsets, pairs)
    rows = pc.list_parent_indices(chunk).cast(pa.int64())
    values = pc.list_flatten(chunk)
    name, number = (pc.struct_field(values, [place]) for place in pair)
    return rows, name.cast(pa.string()), number.cast(pa.float64())
