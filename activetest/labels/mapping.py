"""Meanings of labels where a file does not use the pool's words: a mapping, and words for none.

A mapping is CSV with two columns, the label and the class it stands for, below the header from,to
or without a header. An empty class says that there is no label yet.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from os import PathLike
from typing import Any

from activetest.errors import LabelError
from activetest.labels.files import Edit, Label, name_source, read_text
from activetest.labels.matching import ClassMatcher
from activetest.labels.values import write_value
from activetest.nouns.csv_rows import open_table
from activetest.nouns.log import PENDING

_HEADER = ("from", "to")
_EXPECTED = "each line holds a label and the class it stands for, with a comma between them"


def read_label_map(source: Any) -> dict[str, str]:
    """{label: class} of a CSV file, or of a mapping; an empty class is no label yet.

    Raises LabelError, naming file and line, for anything else, and for a label that stands for two
    classes.
    """
    if isinstance(source, Mapping):
        name = "`map`"

        def write(value: Any) -> str:
            return write_value(value, name, "label").strip()

        return _collect((name, write(label), write(each)) for label, each in source.items())
    if not isinstance(source, str | PathLike) or str(source) == "-":
        kind = repr(source) if source == "-" else f"of type {type(source).__name__}"
        hint = "give the path of a CSV file, or a mapping from labels to classes"
        raise LabelError(f"`map` is {kind}", hint)
    name = name_source(source)
    found = _collect(_read_lines(read_text(source, name), name))
    if not found:
        raise LabelError(f"{name} is empty", _EXPECTED)
    return found


def make_edit(
    mapping: Mapping[str, str], missing: Iterable[str], normalise: Callable[[str], str]
) -> Edit:
    """A function from rows to what they say.

    mapping    {label: class}, by the rule of `matching`
    missing    words that stand where there is no label yet, in any case
    normalise  from a label to how the study spells it
    """
    words = {word.strip().casefold() for word in missing}
    known = ClassMatcher(mapping)

    def edit_row(row: Label) -> Label:
        if not row.label:
            return row
        label = row.label if row.label.casefold() not in words else ""
        named = known.find(label)
        label = label if named is None else mapping[named]
        if not label:
            return row._replace(label="", status=PENDING)
        label = normalise(label)
        return row if label == row.label else row._replace(label=label)

    return lambda rows: map(edit_row, rows)


def _read_lines(text: str, name: str) -> Iterator[tuple[str, str, str]]:
    """(place, label, class) of every line that is not blank. Raises LabelError."""
    table = open_table(text, name, lambda row: tuple(row) == _HEADER, _EXPECTED)
    if table and tuple(table.header) != _HEADER:
        width = len(_HEADER)
        table = open_table(text, name, lambda row: len(row) == width, _EXPECTED, among=1)
        table = table and table._replace(rows=chain([(1, table.header)], table.rows))
    for line, row in table.rows if table else ():
        cells = [cell.strip() for cell in row]
        place = f"{name}, line {line}"
        if len(cells) != len(_HEADER):
            raise LabelError(f"{place}: {len(cells)} fields, not 2", _EXPECTED)
        yield place, cells[0], cells[1]


def _collect(pairs: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """{label: class}. Raises LabelError for an empty label, or one that stands for two classes."""
    found: dict[str, str] = {}
    for place, label, name in pairs:
        if not label:
            raise LabelError(f"{place}: the label is empty", _EXPECTED)
        if found.setdefault(label, name) != name:
            raise LabelError(
                f"{place}: {label!r} stands for {found[label]!r} and for {name!r}",
                "keep one of them",
            )
    return found
