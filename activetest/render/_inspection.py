"""What a file holds, in words and in tables."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from activetest.nouns.inspection import Column, Inspection
from activetest.render._tables import Table
from activetest.system.safe_text import escape_controls

# Columns of a file that a table shows, and letters of their names.
_MOST, _LONGEST = 40, 40
# So many columns that follow each other and are alike have one row.
_MANY = 6


def sentence(found: Inspection) -> str:
    """The format and the size, in one line."""
    columns = len(found.columns)
    parts = [f"{found.name}: {found.title}", f"{found.rows:,} row{'s' * (found.rows != 1)}"]
    parts += [f"{columns:,} column{'s' * (columns != 1)}"] * bool(columns)
    return escape_controls(", ".join(parts))


def columns(found: Inspection) -> Table:
    """A row for each column of the file, or for the first of them."""
    rows = [row for run in _split_runs(found.columns) for row in _write_run(run)]
    if (more := len(rows) - _MOST) > 0:
        rows[_MOST:] = [(f"{more:,} more", "", "", "")]
    return Table("", ("column", "type", "role", "example"), tuple(rows), kept=("type", "role"))


def _split_runs(columns: Sequence[Column]) -> list[list[Column]]:
    """Columns that follow each other and are alike, together."""

    def describe(column: Column) -> tuple[str, str]:
        return column.type, column.role.partition(" of ")[0]

    return [list(run) for _, run in groupby(columns, describe)]


def _write_run(run: Sequence[Column]) -> list[tuple[str, ...]]:
    """A row for each column, or one for many that are alike."""
    first, last = run[0], run[-1]
    if len(run) < _MANY:
        return [(_shorten(each.name), each.type, _shorten(each.role), each.example) for each in run]
    kind, _, whose = first.role.partition(" of ")
    role = f"{kind} of a class" if whose else kind
    names = f"{_shorten(first.name)} ... {_shorten(last.name)}"
    return [(names, first.type, f"{role} ({len(run):,} columns)", first.example)]


def facts(found: Inspection) -> list[tuple[str, str]]:
    """(name, value) of what is known besides."""
    return [(name, escape_controls(value)) for name, value in _list_facts(found)]


def ending(found: Inspection) -> list[str]:
    """Why there can be no study; empty where there can, or it is said elsewhere."""
    lines = [f"No study can be made of it: {found.problem}", *([found.hint] if found.hint else [])]
    return list(map(escape_controls, lines)) if found.problem else []


def steps(found: Inspection) -> list[tuple[str, str]]:
    """(words, the line to type) of each way to go on."""
    if found.readings:
        words = [f"If {each.meaning}:" for each in found.readings]
        words[0] = f"{found.question}. {words[0]}"
        return [
            (escape_controls(text), each.create)
            for text, each in zip(words, found.readings, strict=True)
        ]
    return [("To create its study:", found.create)] if found.create else []


def _list_facts(found: Inspection) -> Iterator[tuple[str, str]]:
    for place, each in enumerate(found.summary):
        yield "" if place else "read as", each
    if found.metrics:
        yield "metrics", ", ".join(found.metrics)
    for place, lacking in enumerate(found.lacking):
        name = "not without more" if not place else ""
        yield name, f"{', '.join(lacking.metrics)}: need {lacking.needs}"
    for labels in found.labels:
        many = f"{labels.count:,} label{'s' * (labels.count != 1)}"
        yield "labels", f"column {labels.column!r} has {many}: {labels.advice}"


def _shorten(text: str) -> str:
    text = escape_controls(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
