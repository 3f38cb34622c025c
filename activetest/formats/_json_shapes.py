"""Rows of JSON documents that are one object: where they stand, and how they become objects.

Programs write rows under a key ({"results": [rows]}), a list for each column, pandas' forms
(columns, index, split), or an answer for each id. The form follows from the types of
the values and the names of the keys; what was understood is said.
"""

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activetest.errors import PoolError
from activetest.formats import _json_values
from activetest.formats._json_values import Objects, read_array, read_entries, read_value, too_large
from activetest.nouns.name_lists import shorten_list

# Names of columns, by which a row is told from what holds rows.
_COLUMNS = {"id", "pred", "prob", "score", "label", "prediction", "text", "target", "judge"}
_NAMES, _VALUES = ("columns", "fields", "header", "headers"), ("data", "rows", "values")
# Parts of a message to a model, whose lists are no rows.
_MESSAGE = {"role", "content"}
# So many entries are more than the columns of a single row.
_MANY = 10
_DEEPEST = 3
_WHOLE = (bool, int, float, str)


@dataclass(frozen=True)
class Shape:
    """The rows of a document.

    read  gives them, each time anew
    note  what was understood
    """

    read: Callable[[], Iterable[Mapping[str, Any]]]
    note: str


def find_shape(path: Path, *, lines: bool) -> Shape | None:
    """The rows of a document that is one object; None where that is a row itself, or one of many.

    lines  it may be an object a line, of which one is damaged: that is said elsewhere

    Raises PoolError for what is no JSON, where several lists may be the rows, and for more than 256
    MiB of anything but rows.
    """
    try:
        entries = read_entries(path)
    except PoolError:
        if lines:
            return None
        raise
    if not entries:
        return None
    listed = any(isinstance(each, Objects) for each in entries.values())
    if not listed and path.stat().st_size > _json_values.LARGEST:
        raise too_large(str(path))
    found = _find_split(entries) or _find_rows(path, entries) or _find_table(entries)
    return found or (None if _is_row(entries) else _find_inside(path, entries))


def find_list_shape(path: Path) -> Shape:
    """The rows of a document that is a list of lists: a header and its rows, or probabilities.

    Raises PoolError for what is no JSON, more than 256 MiB, and any other list of lists.
    """
    if path.stat().st_size > _json_values.LARGEST:
        raise too_large(str(path))
    rows = read_value(path)
    if shape := _find_split({"rows": rows}):
        return shape
    note = f"each of {len(rows):,} lists holds "
    if _are_probabilities(dict(enumerate(rows)), 1):
        return Shape(
            lambda: ({"prob": row} for row in rows),
            f"{note}the probabilities of all classes; ids are the numbers of the lists",
        )
    named = [_read_named(row) for row in rows]
    if all(named):
        return Shape(
            lambda: ({"prob": row} for row in named if row),
            f"{note}names and numbers; ids are the numbers of the lists",
        )
    raise PoolError(
        f"{path} is a list of lists, and the first does not hold the names of columns",
        hint='write an object for each row, as [{"id": "a", "pred": "x"}, ...], or a first list '
        "with the names of the columns",
    )


def _read_named(row: Any) -> dict[str, float] | None:
    """{name: number} of a list of objects with a name and a number each, as pipelines write all."""
    pairs = {}
    for each in row if isinstance(row, list) else ():
        values = list(each.values()) if isinstance(each, dict) else []
        names = [value for value in values if isinstance(value, str)]
        numbers = [value for value in values if isinstance(value, int | float)]
        if len(values) != 2 or len(names) != 1 or len(numbers) != 1:
            return None
        pairs[names[0]] = numbers[0]
    return pairs or None


def _find_table(entries: Mapping[str, Any]) -> Shape | None:
    """Columns, objects by their ids, or answers by their ids."""
    return _find_columns(entries) or _find_index(entries) or _find_answers(entries)


def _find_inside(path: Path, entries: Mapping[str, Any]) -> Shape | None:
    """The one object in an object that holds rows in one of these ways."""
    shapes = {
        name: _find_split(each) or _find_table(each)
        for name, each in entries.items()
        if isinstance(each, dict)
    }
    found = {name: shape for name, shape in shapes.items() if shape}
    if len(found) > 1:
        raise PoolError(
            f"{path} is one object, and several objects in it may hold the rows: "
            f"{shorten_list(found)}",
            hint=_hint_extract(path, (next(iter(found)),)),
        )
    for name, shape in found.items():
        others = [each for each in entries if each != name]
        more = f"; not read: {shorten_list(others)}" if others else ""
        return Shape(shape.read, f"{shape.note}, under {name!r}{more}")
    return None


def _hint_extract(path: Path, keys: Sequence[str]) -> str:
    """A line that writes what stands under these keys to a file of its own."""
    name = shlex.quote(str(path.with_name(f"{path.stem}-{keys[-1]}.json")))
    query = shlex.quote("." + ".".join(map(json.dumps, keys)))
    return (
        "write the right one to a file of its own, for example: "
        f"jq {query} {shlex.quote(str(path))} > {name}"
    )


def _find_rows(path: Path, entries: Mapping[str, Any]) -> Shape | None:
    """The one list of objects, which may be inside of other objects."""
    lists = dict(_list_objects(entries, ()))
    if not lists or (_is_row(entries) and max(lists.values()) < _MANY):
        return None
    if len(lists) > 1:
        found = [f"{'.'.join(keys)} ({count:,})" for keys, count in lists.items()]
        largest = max(lists, key=lambda each: lists[each])
        raise PoolError(
            f"{path} is one object, and several lists of objects in it may be the rows: "
            f"{shorten_list(found)}",
            hint=_hint_extract(path, largest),
        )
    (keys, count), *_ = lists.items()
    others = [name for name in entries if name != keys[0]]
    return Shape(
        lambda: (row for _, row in read_array(path, keys)),
        f"the rows are the {count:,} objects under {'.'.join(keys)!r}"
        + (f"; not read: {shorten_list(others)}" if others else ""),
    )


def _list_objects(
    entries: Mapping[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], int]]:
    """(keys, number) of the lists of objects that may be rows."""
    for name, value in entries.items():
        keys = (*above, name)
        inner = isinstance(value, list) and value and all(isinstance(each, dict) for each in value)
        found = Objects(len(value), value[0]) if inner else value
        if isinstance(found, Objects) and not {*found.first} >= _MESSAGE and name != "fields":
            yield keys, found.count
        elif isinstance(value, dict) and len(keys) < _DEEPEST:
            yield from _list_objects(value, keys)


def _find_split(entries: Mapping[str, Any]) -> Shape | None:
    """Names of columns, and a list of lists of their values, as pandas' `split` writes them."""
    names = next((entries[key] for key in _NAMES if _are_names(entries.get(key))), None)
    rows = next((entries[key] for key in _VALUES if isinstance(entries.get(key), list)), None)
    if not names and rows and len(rows) > 1 and _are_names(rows[0]):
        # As sheets come from a service: the first list is the header.
        names, rows = rows[0], rows[1:]
    if not names or not rows:
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return None
    index = entries.get("index")
    note = f"the rows are {len(rows):,} lists of the values of {len(names):,} columns"
    if not isinstance(index, list) or len(index) != len(rows) or _is_numbering(index):
        return Shape(lambda: (dict(zip(names, row, strict=True)) for row in rows), note)
    key = _name_ids(names)
    return Shape(
        lambda: (
            {key: each, **dict(zip(names, row, strict=True))}
            for each, row in zip(index, rows, strict=True)
        ),
        f"{note}; {key} is their index",
    )


def _find_columns(entries: Mapping[str, Any]) -> Shape | None:
    """A list for each column, or an object from the places of rows to the values of each."""
    columns = {name: each for name, each in entries.items() if isinstance(each, list)}
    lengths = {len(each) for each in columns.values()}
    others = [name for name in entries if name not in columns]
    plain = all(isinstance(entries[name], (*_WHOLE, type(None))) for name in others)
    if len(columns) > 1 and len(lengths) == 1 and plain and not _are_probabilities(entries):
        (count,) = lengths
        if not count or any(name in _COLUMNS for name in others):
            return None
        return Shape(
            lambda: (
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ),
            f"each of {len(columns):,} columns is a list of {count:,} values"
            + (f"; not read: {shorten_list(others)}" if others else ""),
        )
    places = _find_places(entries)
    if places is None or not _are_columns(entries, places):
        return None
    key = None if _is_numbering(places) else _name_ids(entries)
    return Shape(
        lambda: (
            ({key: place} if key else {}) | {name: each[place] for name, each in entries.items()}
            for place in places
        ),
        f"each of {len(entries):,} columns is an object of {len(places):,} values"
        + (f"; {key} is their key" if key else ""),
    )


def _find_places(entries: Mapping[str, Any]) -> list[str] | None:
    """The keys that all values, which are objects, have; None where they have others."""
    values = list(entries.values())
    if not all(isinstance(each, dict) and each for each in values):
        return None
    places = list(values[0])
    return places if all(each.keys() == values[0].keys() for each in values) else None


def _are_columns(entries: Mapping[str, Any], places: Sequence[str]) -> bool:
    """Whether objects in an object are columns, and not rows."""
    for outer, inner in ((_is_numbering, True), (lambda keys: bool({*keys} & _COLUMNS), False)):
        if outer(list(entries)) != outer(list(places)):
            return outer(list(places)) == inner
    return len(entries) < len(places)


def _find_index(entries: Mapping[str, Any]) -> Shape | None:
    """An object for each id."""
    if len(entries) < 2 or not all(isinstance(each, dict) and each for each in entries.values()):
        return None
    if len({frozenset(each) for each in entries.values()}) > len(entries) // 2:
        # Parts of a whole, each of its own kind.
        return None
    key = _name_ids(set().union(*entries.values()))
    return Shape(
        lambda: ({key: name, **each} for name, each in entries.items()),
        f"the {len(entries):,} keys of the object are read as ids ({key})",
    )


def _find_answers(entries: Mapping[str, Any]) -> Shape | None:
    """An answer for each id: a class, a number, or the probabilities of all classes."""
    if len(entries) < _MANY or any(name in _COLUMNS for name in entries):
        return None
    values = list(entries.values())
    if _are_probabilities(entries):
        column = "prob"
    elif all(isinstance(each, str) for each in values):
        column = "pred"
    elif all(isinstance(each, int | float) for each in values):
        column = "score" if any(isinstance(each, float) for each in values) else "pred"
    else:
        return None
    return Shape(
        lambda: ({"id": name, column: each} for name, each in entries.items()),
        f"the {len(entries):,} keys of the object are read as ids, and its values as {column}",
    )


def _are_probabilities(entries: Mapping[Any, Any], least: int = _MANY) -> bool:
    """Whether each of so many values is a list of numbers that sum to one."""
    return len(entries) >= least and all(
        isinstance(each, list)
        and len(each) > 1
        and all(isinstance(number, int | float) for number in each)
        and abs(sum(each) - 1) < 1e-3
        for each in entries.values()
    )


def _is_row(entries: Mapping[str, Any]) -> bool:
    """Whether an object has a plain value under the name of a column."""
    return any(isinstance(entries.get(name), _WHOLE) for name in _COLUMNS)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_numbering(keys: Sequence[Any]) -> bool:
    """Whether these are 0, 1, 2 ..."""
    return all(str(key) == str(number) for number, key in enumerate(keys))


def _name_ids(names: Iterable[str]) -> str:
    """A name for a column of ids that is none of these."""
    return "key" if "id" in {*names} else "id"
