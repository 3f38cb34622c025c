"""Everything that a ledger holds, read in one pass and checked against its hash chain.

Tables are read from beginning to end, in the order of their keys, and no index is believed: what is
known follows from rows whose hashes hold, or from nothing.
"""

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from itertools import groupby, repeat
from operator import attrgetter, itemgetter
from types import UnionType
from typing import Any, NamedTuple

from activetest.ledger import chain
from activetest.ledger.tables import CHANGING, ROWS, TABLES, Entry, Tables
from activetest.nouns.choices import Declined
from activetest.nouns.study_lists import FIRST, Rater, is_model_name

# Errors of SQLite for a file that it may not read or write; all others mean damage.
_REFUSED = (
    *("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY"),
    *("SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH", "SQLITE_NOLFS", "SQLITE_PROTOCOL"),
    *("SQLITE_INTERRUPT", "SQLITE_NOMEM"),
)
# Errors of an entry that is not what was recorded.
_UNUSABLE = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
# The largest number of a row: the next ones can be computed and stored.
_LARGEST = 2**53
# Name of a row of each table.
_TITLES = {
    "parts": "part",
    "models": "model",
    "criteria": "criterion",
    "raters": "rater",
    "rounds": "round",
    "draws": "round",
    "files": "file of labels",
    "answers": "file of labels",
    "gates": "gate",
    "plans": "plan",
}


class UnreadableTable(Exception):
    """A table cannot be read; the text says which, and where."""


class GivenAnswer(NamedTuple):
    """An answer in words: the number of its file, who answered, and the label as text."""

    number: int
    file: int
    id: str
    annotator: str
    status: int
    label: str


@dataclass(frozen=True)
class Contents(Tables):
    """Everything that a ledger holds, and what is wrong with it."""

    @property
    def head(self) -> bytes:
        """The hash of the last entry: it covers everything that the ledger holds."""
        return self.entries[-1].hash if self.entries else b""

    @cached_property
    def given(self) -> list[GivenAnswer]:
        """All answers. Raises KeyError or ValueError for one that is none."""
        names = {rater.number: rater.name for rater in self.raters}
        rater, value, status = map(_column, repeat(self.answers), ("rater", "value", "status"))
        labels = {each: parse_label(each) for each in {*_column(self.answers, "value")}}
        annotator, label = map(names.__getitem__, rater), map(labels.__getitem__, value)
        number, file, id = map(_column, repeat(self.answers), ("number", "file", "id"))
        rows = zip(number, file, id, annotator, status, label, strict=True)
        return list(map(partial(tuple.__new__, GivenAnswer), rows))

    @property
    def unknown_kind(self) -> str | None:
        """A kind of entries that only a newer version knows; None without any."""
        return next((each.kind for each in self.entries if each.kind not in chain.KINDS), None)

    @cached_property
    def newer(self) -> str | None:
        """Something that only a newer version records, and this one would misread; None without."""
        return next(self._list_newer(), None)

    def _list_newer(self) -> Iterator[str]:
        if kind := self.unknown_kind:
            yield f"an entry of the kind {kind!r}"
        if len(self.criteria) > 1:
            yield f"a second {_TITLES['criteria']}"
        for rater in self.raters:
            if rater.kind != Rater.kind:
                yield f"a rater of the kind {rater.kind!r}"
        of_models = {
            value for each in self.models for value in (each.version, each.part, each.removed)
        }
        prices = {each.price for each in self.raters} | {*_column(self.answers, "price")}
        phases = {each.phase for each in self.rounds} | {*_column(self.draws, "phase")}
        repeats = {*_column(self.draws, "repeat"), *_column(self.answers, "repeat")}
        for found, words in (
            (of_models - {None}, "a version, a part or a removal of a model"),
            (prices - {None}, "a price of an answer"),
            (phases - {FIRST}, "a round of a second phase"),
            (repeats - {None}, "a repeat of an item"),
        ):
            if found:
                yield words
        if {*_column(self.answers, "criterion")} - {FIRST}:
            yield "an answer by a second criterion"
        if any(_holds(value, list | dict) for value in {*_column(self.answers, "value")}):
            yield "an answer of several classes or numbers"
        for plan in self.plans:
            if plan.declined not in tuple(Declined):
                yield f"a plan by which declined items count as {plan.declined!r}"

    def list_problems(self) -> Iterator[str]:
        """Where the rows and the chain differ, in words; the first is the place to look at."""
        hashes = {number: chain.hash_text(text) for number, text in self.texts.items()}
        by_entry = self._sort_by_entry()
        recorded: dict[tuple[str, int, str], Any] = {}
        previous = b""
        for place, entry in enumerate(self.entries, start=1):
            found = None
            covered = by_entry.pop(entry.number, {})
            try:
                rows = [
                    row
                    for table, unnamed in covered.items()
                    for row in chain.write_rows(table, unnamed, hashes)
                ]
                found = chain.link(previous, entry.kind, entry.of, entry.data, rows)
                recorded |= _list_changes(entry)
            except _UNUSABLE:
                found = None
            if found != entry.hash or entry.number != place:
                yield f"{self._describe_entry(entry, covered)} is not what was recorded"
            previous = entry.hash
        left = [names for covered in by_entry.values() for names in self._list_names(covered)]
        for name in dict.fromkeys(left):
            yield f"{name} is in no entry of the chain"
        yield from self._compare_changes(recorded)
        yield from self._check_references()
        drawn = set(map(attrgetter("id", "repeat", "phase"), self.draws))
        if len(drawn) < len(self.draws):
            yield "an item is drawn twice"

    def _sort_by_entry(self) -> dict[int, dict[str, list[Any]]]:
        """{entry: {table: the rows that came with it}}, in the order in which they are hashed."""
        of_round = {each.number: each.entry for each in self.rounds}
        of_file = {each.number: each.entry for each in self.files}
        found: dict[int, dict[str, list[Any]]] = {}
        for table in sorted(_TITLES):
            rows: list[Any] = getattr(self, table)
            numbers: Iterator[int]
            if table == "draws":
                numbers = map(of_round.get, _column(rows, "round"), repeat(0))
            elif table == "answers":
                numbers = map(of_file.get, _column(rows, "file"), repeat(0))
            else:
                numbers = _column(rows, "entry")
            for entry, group in groupby(zip(numbers, rows, strict=True), itemgetter(0)):
                covered = found.setdefault(entry, {}).setdefault(table, [])
                covered.extend(map(itemgetter(1), group))
        return found

    def _list_names(self, covered: Mapping[str, list[Any]]) -> list[str]:
        """Descriptions of rows, in words."""
        return [self._describe(table, row) for table, rows in covered.items() for row in rows]

    def _compare_changes(self, recorded: dict[tuple[str, int, str], Any]) -> Iterator[str]:
        """Where columns that entries change are not what the last of them recorded."""
        for table, columns in CHANGING.items():
            rows = [self.meta] if table == "meta" else getattr(self, table)
            for row in rows:
                for column in columns:
                    if getattr(row, column) != recorded.get((table, row.number, column)):
                        where = self._describe(table, row)
                        what = {"undone": "undo", "retired": "retirement"}.get(column, column)
                        yield f"the {what} of {where} is not what was recorded"
        moves = sum(each.kind in chain.MOVING for each in self.entries)
        # A newer version may know further kinds that advance it.
        if self.meta.revision != moves and self.unknown_kind is None:
            yield "the revision of the study is not what was recorded"

    def _check_references(self) -> Iterator[str]:
        """Where a row names another one that is not there, or its content is of no use."""
        if self.newer is None:
            try:
                self.given  # noqa: B018
            except (KeyError, ValueError, RecursionError):
                yield "an answer is of a rater that is not there, or has a value that is none"
        for gate in self.gates:
            if not all(_holds(each, dict) for each in (gate.expression, gate.conditions or "{}")):
                yield f"{self._describe('gates', gate)} does not say what is asked"
        names = [each.name for each in self.models]
        if len({*names}) < len(names) or not all(map(is_model_name, names)):
            yield "a model has the name of another one, or none that a model can have"
        parts = {each.number for each in self.parts}
        if not {*_column(self.draws, "part")} <= parts or not parts:
            yield "an item is drawn from a part that is not there"
        for table in (*_TITLES, "texts"):
            rows = getattr(self, table)
            numbers = list(rows) if table == "texts" else list(map(itemgetter(0), rows))
            if numbers and not 0 < min(numbers) <= max(numbers) <= _LARGEST:
                yield f"a row of the table {table} has a number out of range"
        rounds = list(_column(self.draws, "round"))
        if rounds != sorted(rounds):
            yield "the draws of a round are among those of another one"
        if self.meta.seed < 0:
            yield "the seed is below zero"

    def _describe_entry(self, entry: Entry, covered: Mapping[str, list[Any]]) -> str:
        """Subject of an entry, in words."""
        main = {chain.ROUND: "rounds", chain.FILE: "files", chain.UNDO: "files"}
        main |= {chain.GATE: "gates", chain.PLAN: "plans", chain.MODEL: "models"}
        main |= {chain.PART: "parts", chain.RETIRE: "parts"}
        if entry.kind == chain.STUDY:
            return f"the beginning of the study ({', '.join(self._list_names(covered))})"
        if entry.kind == chain.RESTART:
            return "the new beginning of the study"
        if entry.kind not in main:
            return f"entry {entry.number} of the chain"
        table = main[entry.kind]
        rows = [each for each in getattr(self, table) if each.number == entry.of]
        name = self._describe(table, rows[0]) if rows else f"{_TITLES[table]} {entry.of}"
        if entry.kind in (chain.UNDO, chain.RETIRE):
            return f"the {'undo' if entry.kind == chain.UNDO else 'retirement'} of {name}"
        raters = [self._describe("raters", row) for row in covered.get("raters", ())]
        return " with ".join([name, *raters])

    def _describe(self, table: str, row: Any) -> str:
        """Description of a row, in words."""
        if table == "meta":
            return "the study"
        if table in ("draws", "answers"):
            return f"{_TITLES[table]} {row.round if table == 'draws' else row.file}"
        name = f"{_TITLES[table]} {row.number}"
        if table == "files":
            return f"{name} ({row.source!r}, {row.time})"
        title = getattr(row, "name", None) or getattr(row, "requirement", None)
        return f"{name} ({title!r})" if title else name


def _column(rows: Sequence[Any], name: str) -> Iterator[Any]:
    """A column of a table."""
    return map(attrgetter(name), rows)


def _list_changes(entry: Entry) -> dict[tuple[str, int, str], Any]:
    """{(table, key, column): value} of the columns that an entry sets.

    Raises one of _UNUSABLE for data that are none.
    """
    changes = json.loads(entry.data or "{}").get("set", {})
    return {
        (table, int(key), column): value
        for table, rows in changes.items()
        for key, columns in rows.items()
        for column, value in columns.items()
    }


def parse_label(value: str | None) -> str:
    """The value of an answer as text: a class as it is, a number as Python writes it.

    It is empty where there is none. Raises ValueError for anything else.
    """
    if value is None:
        return ""
    found = json.loads(value)
    if isinstance(found, str):
        return found
    if isinstance(found, float) and math.isfinite(found):
        return repr(found)
    raise ValueError(f"{value[:50]!r} is neither a class nor a number")


def _holds(text: str | None, kinds: type | UnionType) -> bool:
    """Whether a text is JSON, and its value of one of these kinds."""
    try:
        return isinstance(json.loads(text or "null"), kinds)
    except (ValueError, RecursionError):
        return False


def is_refusal(error: Exception) -> bool:
    """Whether the system refused to read or write, which says nothing about the content."""
    return str(getattr(error, "sqlite_errorname", "")).startswith(_REFUSED)


def read_contents(db: sqlite3.Connection) -> Contents:
    """All rows, in the transaction that is open.

    Raises UnreadableTable where SQLite cannot read a table, or a value is of another type.
    """
    tables: dict[str, Any] = {each.name: read_table(db, each.name) for each in fields(Contents)}
    if len(tables["meta"]) != 1:
        raise UnreadableTable(f"the table meta has {len(tables['meta'])} rows")
    return Contents(**tables | {"meta": tables["meta"][0], "texts": dict(tables["texts"])})


def read_table(db: sqlite3.Connection, name: str) -> list[Any]:
    """The rows of one of TABLES, in the order of their keys. Raises UnreadableTable."""
    columns = TABLES[name]
    rows: list[Any] = []
    try:
        query = f"SELECT {', '.join(columns)} FROM {name} NOT INDEXED ORDER BY rowid"
        # Without _make, which a table of a million rows would spend its time in.
        rows.extend(map(partial(tuple.__new__, ROWS[name]), db.execute(query)))
    except (sqlite3.DatabaseError, OverflowError) as error:
        if is_refusal(error):
            raise
        after = f" after {next(iter(columns))} {rows[-1][0]}" if rows else ""
        raise UnreadableTable(f"the table {name} cannot be read{after}: {error}") from error
    for column, (title, types) in zip(zip(*rows, strict=True), columns.items(), strict=False):
        if not set(map(type, column)) <= set(types):
            place = next(place for place, value in enumerate(column) if type(value) not in types)
            raise UnreadableTable(
                f"the {title} in row {place + 1} of the table {name} is no {types[0].__name__}"
            )
    return rows
