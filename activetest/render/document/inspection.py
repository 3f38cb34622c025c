"""Contents of a file, as blocks."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from activetest.nouns.inspection import Column, Inspection
from activetest.render.document.blocks import Block, Code, Facts, Sentence, Table
from activetest.system.safe_text import escape_controls

# Columns of a file that a table shows, and letters of their names.
_MOST, _LONGEST = 40, 40
# So many columns that follow each other and are alike have one row.
_MANY = 6


def list_inspection_blocks(found: Inspection) -> list[Block]:
    """The format and the size, columns, what is known besides, and each way to go on."""
    blocks: list[Block] = [Sentence(_describe_size(found), style="title")]
    if found.columns:
        blocks.append(_tabulate_columns(found))
    blocks.append(Facts([(name, escape_controls(value)) for name, value in _list_facts(found)]))
    if found.problem:
        lines = [f"No study can be made of it: {found.problem}", found.hint]
        blocks += [Sentence(escape_controls(line), style="plain") for line in lines if line]
    for text, line in _list_steps(found):
        blocks += [Sentence(escape_controls(text), style="plain"), Code(line)]
    return blocks


def _describe_size(found: Inspection) -> str:
    columns = len(found.columns)
    parts = [f"{found.name}: {found.title}", f"{found.rows:,} row{'s' * (found.rows != 1)}"]
    parts += [f"{columns:,} column{'s' * (columns != 1)}"] * bool(columns)
    return escape_controls(", ".join(parts))


def _tabulate_columns(found: Inspection) -> Table:
    """A row for each column of the file, or for the first of them."""
    rows = [row for run in _split_runs(found.columns) for row in _write_run(run)]
    if (more := len(rows) - _MOST) > 0:
        rows[_MOST:] = [(f"{more:,} more", "", "", "")]
    headings = ("column", "type", "role", "example")
    return Table("", headings, tuple(rows), kept=("type", "role"), whole="JSON has all")


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


def _list_steps(found: Inspection) -> list[tuple[str, str]]:
    """(words, the line to type) of each way to go on."""
    if not found.readings:
        return [("To create its study:", found.create)] if found.create else []
    words = [f"If {each.meaning}:" for each in found.readings]
    words[0] = f"{found.question}. {words[0]}"
    return [(text, each.create) for text, each in zip(words, found.readings, strict=True)]


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
