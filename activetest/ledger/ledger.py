"""The ledger of a study: what was drawn with which probability, and every label ever given.

Rounds, draws and answers are only ever added. Current answers are derived: of all answers to an
item by one annotator, the latest whose file was not taken back. Every write is one transaction, on
disk when it returns, and moves the revision by one: rounds and files know what came before them.
It is also an entry of a hash chain, as gates, plans and further models are, which move no
revision: no draw is computed from them. Whatever a ledger tells was read in one pass, whose rows
all agree with the chain.
"""

import json
import sqlite3
import weakref
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import filterfalse, groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from threading import get_ident
from types import MappingProxyType
from typing import Any, NamedTuple

from activetest.errors import StorageError, StudyError
from activetest.ledger import chain
from activetest.ledger.arrays import StoredParams, split_params, write_arrays
from activetest.ledger.contents import (
    Contents,
    GivenAnswer,
    UnreadableTable,
    is_refusal,
    read_contents,
)
from activetest.ledger.entries import Writer
from activetest.ledger.history import Draw, LoggedRow, list_rows
from activetest.ledger.migrations import APPLICATION, MIGRATIONS, is_older, migrate
from activetest.ledger.rounds import (
    RoundParser,
    parse_draws,
    serialise_draws,
    serialise_round,
)
from activetest.ledger.tables import (
    StoredAnswer,
    StoredCriterion,
    StoredDraw,
    StoredFile,
    StoredGate,
    StoredModel,
    StoredPart,
    StoredPlan,
    StoredRater,
    StoredRound,
)
from activetest.ledger.untrusted import check_files, check_schema, restrict
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, Round
from activetest.nouns.rows import Array
from activetest.nouns.study_lists import (
    FIRST,
    AskedGate,
    Criterion,
    Model,
    Part,
    Plan,
    Rater,
)
from activetest.system.safe_text import escape_controls

# Seconds to wait for the lock. A writer holds it for milliseconds.
PATIENCE = 60.0
# Bytes of a page: a round of 2 KB would take up a page of SQLite's usual size for itself.
_PAGE = 8192
_HINT = (
    "`study.verify()` lists what is damaged: restore ledger.db from a backup, or save what can "
    "still be read with `study.export(rescue=True)`"
)
# Errors of parsing for content that no round has left.
_UNPARSABLE = (IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)

_REMEDY = "free some space, or see who may write there"
_UPGRADE = "upgrade with: python -m pip install --upgrade activetest"
_OLDER = (
    "`study.export()` of that version writes every draw and label, and `Study.from_draws(pool, "
    "draws)` of this one makes a study of them"
)


class OtherVersion(StudyError):
    """A version wrote the ledger which this one does not read: one before 0.3, or a newer one."""


class LedgerMoved(Exception):
    """The ledger has changed since it was read: whatever was computed from it is out of date."""


class Answer(NamedTuple):
    """Answer of one annotator about one item; status is LABELLED or DECLINED of nouns.log."""

    id: str
    annotator: str
    status: int
    label: str


class Times(NamedTuple):
    """When a ledger was created and written to, in ISO form; files is the number that counts."""

    created: str | None
    rounds: tuple[str, ...]
    answers: tuple[str, ...]
    files: int


class RetractedFile(NamedTuple):
    """A label file that was taken back: its name, when it was ingested, number of answers."""

    source: str
    time: str
    answers: int

    def __str__(self) -> str:
        """One line."""
        count = f"{self.answers:,} answer{'s' * (self.answers != 1)}"
        return escape_controls(f"taken back: {count} of {self.source}, which came at {self.time}")

    def __repr__(self) -> str:
        """One line."""
        return f"<RetractedFile {self}>"


@dataclass(frozen=True)
class Record:
    """Draws and answers as of one revision. Items are ids: pool positions may change.

    draws     in the order drawn
    answers   those that count now, in the order given
    supplied  {id: first round that knew it, None when no round did} of items that were answered
              but never drawn, also where the answer was taken back after a round knew it
    """

    revision: int
    draws: tuple[Draw, ...]
    answers: tuple[Answer, ...]
    supplied: dict[str, int | None]


class Ledger:
    """The file `ledger.db` of a study.

    It is open until `close()`, the end of a `with` block, or the end of the object that has it.

    Raises StorageError when the disk refuses, StudyError when the file is damaged, too new, or from
    before version 0.3.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, Contents] | None = None
        self._record: Record | None = None
        self._parser = RoundParser({})
        if not path.is_file():
            raise StudyError(f"{path} is missing", "restore it from a backup: it holds every label")
        check_files(path)
        self._use(_connect(path))
        try:
            self._check()
        except BaseException:
            # The error, which has this object, may live long.
            self.close()
            raise

    def _use(self, db: sqlite3.Connection) -> None:
        """Work with this connection, and close it with this object."""
        self._db, self._close = db, weakref.finalize(self, _close, db)
        self._thread = get_ident()

    def close(self) -> None:
        """Close the file, once or several times. Nothing can be read or written afterwards."""
        self._close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _check(self) -> None:
        """See that the file is a ledger, and bring it up to date."""
        with self._transaction("DEFERRED") as db:
            version = check_version(db, self.path)
            check_schema(db, self.path, version)
        if version < len(MIGRATIONS):
            try:
                self._migrate()
            except StorageError as error:
                if not is_forbidden(error):
                    raise
                copy = _copy_to_memory(self._db)
                self.close()
                self._use(copy)
                self._migrate()
                # Anything written there would be lost.
                self._db.execute("PRAGMA query_only = ON")

    @staticmethod
    def create(
        path: Path,
        *,
        seed: int,
        part: Part,
        plan: Plan | None = None,
        model: Model | None = None,
    ) -> "Ledger":
        """A new ledger for a study of one part of the population; plan is recorded where given.

        model  the first one, whose outputs are those that the part's fingerprint is of
        """
        model, time = replace(model or Model(), fingerprint=part.fingerprint), _now()
        with closing(_connect(path)) as db, _raising_study_errors(path):
            db.execute(f"PRAGMA page_size = {_PAGE}")
            db.execute("BEGIN IMMEDIATE")
            migrate(db)
            db.execute(
                "INSERT INTO meta (number, seed, revision, time) VALUES (?, ?, 0, ?)",
                (FIRST, seed, time),
            )
            writer = Writer(db)
            begin: dict[str, Any] = {"number": FIRST, "entry": writer.number, "time": time}
            rows: dict[str, list[Any]] = {
                "parts": [_store_part(part, begin)],
                "models": [_store_model(model, **begin)],
                "criteria": [StoredCriterion(**asdict(Criterion()), **begin)],
                "raters": [StoredRater(**asdict(Rater()), **begin)],
            }
            changes: dict[str, dict[int, dict[str, Any]]] = {
                "meta": {FIRST: {"seed": seed, "time": time}},
                "parts": {FIRST: {"fingerprint": part.fingerprint}},
                "models": {FIRST: {"fingerprint": part.fingerprint}},
            }
            writer.append(chain.STUDY, rows=rows, changes=changes)
            if plan is not None:
                _insert_plan(writer, None, plan)
            db.execute("COMMIT")
        return Ledger(path)

    @property
    def seed(self) -> int:
        """The seed of every random number."""
        return self._read().meta.seed

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the population: that of its items up to the last part."""
        return self._read().parts[-1].fingerprint

    @property
    def rows(self) -> int:
        """The number of items of all parts."""
        return sum(each.rows for each in self._read().parts)

    @property
    def hashes(self) -> list[str]:
        """The chain, a hash of 64 hexadecimal digits for each write; the last covers them all."""
        return [entry.hash.hex() for entry in self._read().entries]

    def record(self) -> Record:
        """Draws and known answers, all as of the same revision."""
        self._read()
        if self._record is None:
            assert self._seen is not None
            self._record = _find_known(self._seen[1])
        return self._record

    def count_replaced(self) -> int:
        """Answers that count now and contradict an earlier one by the same annotator."""
        contents = self._read()
        counting = {(each.id, each.annotator) for each in self.record().answers}
        if len(counting) == len(contents.answers):
            return 0
        found: dict[tuple[str, str], set[tuple[int, str]]] = {}
        for each in contents.given:
            found.setdefault((each.id, each.annotator), set()).add((each.status, each.label))
        return sum(len(found[key]) > 1 for key in counting)

    def rounds(self, rows: Array) -> tuple[Round, ...]:
        """The rounds as recorded, as far as `rows` reaches: (D,) the pool position of each draw."""
        contents, parser = self._read(), self._parser
        draws = contents.draws[: len(rows)]
        ends = [draw.round for draw in draws]
        kept = [each for each in contents.rounds if ends and each.number <= ends[-1]]
        by_text: dict[int, list[StoredRound]] = {}
        for each in kept:
            by_text.setdefault(each.record, []).append(each)
        records: dict[int, dict[str, Any]] = {}
        rounds: dict[int, Round] = {}
        try:
            if ends != sorted(ends):
                raise ValueError("its draws are among those of another one")
            for text, group in by_text.items():
                found = parser.records(text, [each.numbers for each in group])
                records |= zip((each.number for each in group), found, strict=True)
            for each in kept:
                params: Any = parser.params(each.params, each.params_numbers)
                if each.fit_round is not None:
                    params = rounds[each.fit_round].params
                elif each.arrays is not None:
                    params = StoredParams(params, self._arrays_folder, each.arrays)
                here = slice(bisect_left(ends, each.number), bisect_right(ends, each.number))
                drawn = parse_draws(draws[here], len(records[each.number]["statistics"]))
                rounds[each.number] = Round(
                    number=each.number,
                    rows=rows[here],
                    choices=parser.text(each.choices),
                    params=params,
                    fit_round=each.fit_round or each.number,
                    fit_labels=each.fit_labels,
                    phase=each.phase,
                    **drawn,
                    **records[each.number],
                )
        except _UNPARSABLE as error:
            raise self._call_damaged(f"a round cannot be read: {error}") from error
        return tuple(rounds.values())

    def surrogates(self) -> set[str]:
        """Names of the surrogates that rounds were drawn with."""
        texts = {each.choices for each in self._read().rounds}
        with self._reading_choices():
            return {self._parser.text(number).get("surrogate") for number in texts}

    def first_choices(self) -> Choices | None:
        """The choices that the first round was drawn with; None before it.

        Raises StudyError where nobody can have chosen so.
        """
        rounds = self._read().rounds
        with self._reading_choices():
            return Choices.from_record(self._parser.text(rounds[0].choices)) if rounds else None

    @contextmanager
    def _reading_choices(self) -> Iterator[None]:
        """Raises StudyError for choices that no round has left."""
        try:
            yield
        except (AttributeError, *_UNPARSABLE) as error:
            raise self._call_damaged(f"the choices of a round cannot be read: {error}") from error

    def record_round(
        self, round: Round, ids: Sequence[str], *, revision: int, plan: Plan | None = None
    ) -> None:
        """Record one round: see record_rounds."""
        self.record_rounds([(round, ids)], revision=revision, plan=plan)

    def record_rounds(
        self,
        rounds: Sequence[tuple[Round, Sequence[str]]],
        *,
        revision: int,
        plan: Plan | None = None,
    ) -> None:
        """Record rounds, before any of their items is shown; and the plan, if it is another one.

        All or nothing. rounds are in order, each with the ids of its draws: of several, each is
        about a part of the population. The parameters of a surrogate that was fitted in an earlier
        round are kept there. Raises LedgerMoved when anything was written after `revision`, which
        the rounds were computed from.
        """
        prepared = [self._prepare_round(round) for round, _ in rounds]
        ids = [id for _, drawn in rounds for id in drawn]
        with self._write(revision) as (writer, contents):
            taken = {draw.id for draw in contents.draws}
            if len(taken | set(ids)) < len(taken) + len(ids):
                raise ValueError("an item is drawn once")
            if plan is not None:
                _insert_plan(writer, contents, plan)
            first = 1 + (contents.draws[-1].position if contents.draws else 0)
            for insert, (_, drawn) in zip(prepared, rounds, strict=True):
                insert(writer, drawn, first)
                first += len(drawn)

    def add_answers(
        self, answers: Sequence[Answer], *, source: str, revision: int, numeric: bool = False
    ) -> None:
        """Record the answers of one file, all or none; they count from now on.

        numeric  labels are numbers

        Raises LedgerMoved when anything was written after `revision`, which they were checked with.
        """
        with self._write(revision) as (writer, contents):
            _AnswerWriter(writer, contents, source, numeric=numeric).insert(answers)

    def record_log(
        self,
        rounds: Sequence[tuple[Round, Sequence[str]]],
        answers: Sequence[Answer],
        *,
        source: str,
        before: Mapping[int, Sequence[Answer]] = MappingProxyType({}),
        numeric: bool = False,
    ) -> None:
        """Record rounds with the ids of their draws, and then answers about them: all or nothing.

        before   {number: answers that this round is the first to know}
        numeric  labels are numbers

        Raises LedgerMoved where anything was written before.
        """
        prepared = [self._prepare_round(round) for round, _ in rounds]
        ids = [id for _, each in rounds for id in each]
        if len(set(ids)) < len(ids):
            raise ValueError("an item is drawn once")
        with self._write(0) as (writer, contents):
            files, first = _AnswerWriter(writer, contents, source, numeric=numeric), 1
            for insert, (round, drawn) in zip(prepared, rounds, strict=True):
                if known := before.get(round.number):
                    files.insert(known)
                insert(writer, drawn, first)
                first += len(drawn)
            if answers:
                files.insert(answers)

    def _prepare_round(self, round: Round) -> Callable[[Writer, Sequence[str], int], None]:
        """A function that stores a round, given the ids of its draws and the position of the first.

        A file of its arrays is written already.
        """
        # The earlier round whose surrogate it has; None where it has its own.
        fit_round = round.fit_round if 0 < round.fit_round < round.number else None
        plain, arrays = split_params(round.params if fit_round is None else {})
        packed, drawn = serialise_round(round, plain), serialise_draws(round)
        file = write_arrays(arrays, self._arrays_folder) if arrays else None

        def insert(writer: Writer, ids: Sequence[str], first: int) -> None:
            number, phase = round.number, round.phase
            part = round.parts[0].part if round.parts else FIRST
            choices, params, record = map(writer.share, packed[:3])
            stored = StoredRound(
                number=number,
                entry=writer.number,
                time=_now(),
                labels_seen=writer.revision,
                phase=phase,
                fit_round=fit_round,
                fit_labels=round.fit_labels,
                arrays=file,
                choices=choices,
                params=params,
                record=record,
                params_numbers=packed.params_numbers,
                numbers=packed.numbers,
            )
            draws = [
                StoredDraw(position, number, id, None, part, phase, *draw)
                for position, (id, draw) in enumerate(zip(ids, drawn, strict=True), start=first)
            ]
            writer.append(chain.ROUND, of=number, rows={"rounds": [stored], "draws": draws})

        return insert

    def record_gates(self, gates: Sequence[AskedGate]) -> None:
        """Record that gates were asked for, those that were not asked for before."""
        if not _list_new_gates(self._read(), gates):
            return
        with self._append() as (writer, contents):
            number = contents.gates[-1].number if contents.gates else 0
            for gate in _list_new_gates(contents, gates):
                number += 1
                fields = asdict(gate) | {
                    "expression": json.dumps(gate.expression),
                    "threshold": float(gate.threshold),
                    "level": float(gate.level),
                    "conditions": json.dumps(gate.conditions) if gate.conditions else None,
                }
                row = StoredGate(number=number, entry=writer.number, time=_now(), **fields)
                writer.append(chain.GATE, of=number, rows={"gates": [row]})

    def add_model(self, model: Model, place: Callable[[], None], *, revision: int) -> None:
        """Record a further model of the study, whose name no model has, also in other case.

        place  puts the file of its outputs where it belongs, when the name is known to be free and
               nobody else can take it

        Raises StudyError for a name that is taken, and LedgerMoved when a round, labels or another
        beginning were recorded after `revision`.
        """
        with self._write(revision) as (writer, contents):
            names = {each.name.lower(): each.name for each in contents.models}
            if taken := names.get(model.name.lower()):
                raise StudyError(
                    f"the study has a model {taken!r} already",
                    "give this one another name",
                )
            place()
            number = contents.models[-1].number + 1
            row = _store_model(model, number=number, entry=writer.number, time=_now())
            writer.append(
                chain.MODEL,
                of=number,
                rows={"models": [row]},
                changes={"models": {number: {"fingerprint": model.fingerprint}}},
            )

    def add_part(self, part: Part, place: Callable[[], None], *, revision: int) -> None:
        """Record a further part of the population, whose name no part has, also in other case.

        place  as in add_model

        Raises StudyError for a name that is taken, and LedgerMoved when a round, labels, another
        part or another beginning were recorded after `revision`.
        """
        with self._write(revision) as (writer, contents):
            names = {each.name.lower(): each.name for each in contents.parts}
            if taken := names.get(part.name.lower()):
                raise StudyError(
                    f"the study has a part {taken!r} already", "give this one another name"
                )
            place()
            number = contents.parts[-1].number + 1
            begin: dict[str, Any] = {"number": number, "entry": writer.number, "time": _now()}
            writer.append(
                chain.PART,
                of=number,
                rows={"parts": [_store_part(part, begin)]},
                changes={"parts": {number: {"fingerprint": part.fingerprint}}},
            )

    def retire_part(self, number: int, *, revision: int) -> None:
        """Record that a part leaves the population.

        Raises LedgerMoved when a round, labels, a part or another beginning were recorded after
        `revision`.
        """
        with self._write(revision) as (writer, _):
            changes = {"parts": {number: {"retired": writer.revision + 1}}}
            writer.append(chain.RETIRE, of=number, changes=changes, time=_now())

    def parts(self) -> tuple[Part, ...]:
        """The parts of the population, in the order in which they came."""
        return tuple(
            Part(*each[2:7], retired=each.retired is not None) for each in self._read().parts
        )

    def list_rounds_of(self, part: int) -> set[int]:
        """The numbers of the rounds that drew from a part."""
        return {each.round for each in self._read().draws if each.part == part}

    def models(self) -> tuple[Model, ...]:
        """The models of the study, in the order in which they came."""
        contents = self._read()
        return tuple(
            Model(
                each.name,
                each.version,
                each.part,
                each.source,
                each.fingerprint,
                None if each.trained is None else bool(each.trained),
                sum(round.entry < each.entry for round in contents.rounds),
            )
            for each in contents.models
        )

    def record_plan(self, plan: Plan) -> None:
        """Record what is planned from now on, where it is another plan than the last one."""
        if _parse_plan(self._read()) != plan:
            with self._append() as (writer, contents):
                _insert_plan(writer, contents, plan)

    def gates(self) -> tuple[AskedGate, ...]:
        """The gates that were asked for, in that order."""
        return tuple(map(_parse_gate, self._read().gates))

    def plan(self) -> Plan | None:
        """The plan that holds now; None before the first one."""
        return _parse_plan(self._read())

    def first_source(self) -> str | None:
        """The name of the first file of labels; None without any."""
        files = self._read().files
        return files[0].source if files else None

    def last_file(self) -> tuple[str, tuple[Answer, ...]] | None:
        """The source and the answers of the last file that still counts; None without any."""
        contents = self._read()
        last = _find_last_file(contents)
        if last is None:
            return None
        answers = (Answer(*each[2:]) for each in contents.given if each.file == last.number)
        return last.source or "", tuple(answers)

    def undo(self, *, revision: int | None = None) -> RetractedFile | None:
        """Take back the last file that still counts; None when there is none. Its history stays.

        Raises LedgerMoved when anything was written after `revision`, where that is given.
        """
        with self._append() as (writer, contents):
            if revision is not None and contents.meta.revision != revision:
                raise LedgerMoved
            last = _find_last_file(contents)
            if last is None:
                return None
            changes = {"files": {last.number: {"undone": writer.revision + 1}}}
            writer.append(chain.UNDO, of=last.number, changes=changes, time=_now())
            count = sum(each.file == last.number for each in contents.answers)
        return RetractedFile(last.source or "", last.time or "", count)

    def restart(self, *, seed: int, fingerprint: str, revision: int) -> None:
        """Set another seed and another fingerprint of the pool, before anything is drawn.

        Raises StudyError when anything was written after `revision`, or drawn before it.
        """
        changes: dict[str, dict[int, dict[str, Any]]] = {
            "meta": {FIRST: {"seed": seed}},
            "parts": {FIRST: {"fingerprint": fingerprint}},
            "models": {FIRST: {"fingerprint": fingerprint}},
        }
        try:
            with self._write(revision) as (writer, contents):
                if contents.rounds:
                    raise LedgerMoved
                writer.append(chain.RESTART, changes=changes, time=_now())
        except LedgerMoved as error:
            raise StudyError(
                "items were drawn or labels were added meanwhile", "try again"
            ) from error

    @property
    def _arrays_folder(self) -> Path:
        """The folder of the surrogates' arrays."""
        return self.path.parent / "rounds"

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction in which the file can be looked at, whatever is in it."""
        with self._transaction("DEFERRED") as db:
            yield db

    def list_log(self) -> list[LoggedRow]:
        """Every draw and every answer ever given, as rows for people."""
        contents = self._read()
        times = {each.number: each.time or "" for each in contents.rounds}
        draws, supplied = _list_draws(contents), _find_supplied(contents)
        return list_rows(draws, times, contents.files, contents.given, supplied)

    def list_times(self) -> "Times":
        """When it was created, when rounds were drawn, and when files that count came."""
        contents = self._read()
        return Times(
            contents.meta.time,
            tuple(each.time for each in contents.rounds if each.time),
            tuple(each.time for each in contents.files if each.time and each.undone is None),
            sum(each.undone is None for each in contents.files),
        )

    @contextmanager
    def _write(self, revision: int) -> Iterator[tuple[Writer, Contents]]:
        """As _append. Raises LedgerMoved where the ledger is not at this revision."""
        with self._append() as (writer, contents):
            if contents.meta.revision != revision:
                raise LedgerMoved
            yield writer, contents

    @contextmanager
    def _append(self) -> Iterator[tuple[Writer, Contents]]:
        """A transaction that may append entries to what is there now."""
        with self._transaction("IMMEDIATE") as db:
            contents = self._read_open(db)
            seen, self._seen, self._record = self._seen, None, None
            writer = Writer(db, contents)
            yield writer, contents
        if seen and (written := writer.find_contents()):
            # Only another connection's write moves the version that SQLite tells this one.
            self._seen, self._parser = (seen[0], written), RoundParser(written.texts)

    def _read(self) -> Contents:
        """Everything that the ledger holds now. Raises StudyError where it is damaged."""
        if get_ident() != self._thread:
            # SQLite lets one thread use a connection, and any may find that a cache is damaged.
            with Ledger(self.path) as opened:
                contents = opened._read()
                self._parser = opened._parser
                return contents
        with self._transaction("DEFERRED") as db:
            return self._read_open(db)

    def _read_open(self, db: sqlite3.Connection) -> Contents:
        """As _read, in the transaction that is open. Unchanged contents are not read again."""
        # Reading begins the transaction: from here on nobody else's write is seen.
        db.execute("SELECT 1 FROM meta").fetchone()
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if self._seen is None or self._seen[0] != version:
            contents = read_contents(db)
            for problem in contents.list_problems():
                raise self._call_damaged(problem)
            if contents.newer:
                raise call_newer(self.path, contents.newer)
            self._seen, self._record = (version, contents), None
            self._parser = RoundParser(contents.texts)
        return self._seen[1]

    def _call_damaged(self, problem: str) -> StudyError:
        return StudyError(f"{self.path} is damaged: {problem}", _HINT)

    def _migrate(self) -> None:
        """Bring a file of an earlier version up to date."""
        with self._transaction("IMMEDIATE") as db:
            try:
                migrate(db)
            except _UNPARSABLE as error:
                raise self._call_damaged(f"it cannot be read: {error}") from error

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        with _raising_study_errors(self.path, "read" if kind == "DEFERRED" else "write"):
            self._db.execute(f"BEGIN {kind}")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")


class _AnswerWriter:
    """Stores files of answers from one source, one after another."""

    def __init__(self, writer: Writer, contents: Contents, source: str, *, numeric: bool) -> None:
        # The name of a file may be anything, and texts of SQLite are UTF-8.
        self._source = source.encode("utf-8", "backslashreplace").decode()
        self._writer, self._numeric = writer, numeric
        self._file = contents.files[-1].number if contents.files else 0
        self._answer = contents.answers[-1].number if contents.answers else 0
        self._raters = {each.name: each.number for each in contents.raters}

    def insert(self, answers: Sequence[Answer]) -> None:
        """Store a file of these answers, and the raters that are new in it."""
        self._file += 1
        time, entry = _now(), self._writer.number
        raters = []
        for name in dict.fromkeys(answer.annotator for answer in answers):
            if name not in self._raters:
                number = max(self._raters.values(), default=0) + 1
                self._raters[name] = number
                raters.append(StoredRater(number, entry, **asdict(Rater(name)), time=time))
        file = StoredFile(self._file, entry, self._source, time, self._writer.revision + 1, None)
        rows = [
            StoredAnswer(
                place,
                self._file,
                each.id,
                None,
                FIRST,
                self._raters[each.annotator],
                each.status,
                None if each.status == DECLINED else _write_value(each.label, self._numeric),
                *(None, None, None, None),
            )
            for place, each in enumerate(answers, start=self._answer + 1)
        ]
        self._answer += len(rows)
        stored: dict[str, list[Any]] = {"files": [file], "answers": rows, "raters": raters}
        self._writer.append(chain.FILE, of=self._file, rows=stored)


def _write_value(label: str, numeric: bool) -> str:
    """A label as JSON: a number where it is written as numbers are."""
    if numeric:
        with suppress(ValueError):
            number = float(label)
            if repr(number) == label:
                return json.dumps(number)
    return json.dumps(label)


def _list_new_gates(contents: Contents, gates: Sequence[AskedGate]) -> list[AskedGate]:
    """The gates that were not asked for before, each once."""
    known = [_parse_gate(each) for each in contents.gates]
    new: list[AskedGate] = []
    for gate in gates:
        if not any(map(gate.is_same, [*known, *new])):
            new.append(gate)
    return new


def _parse_gate(stored: StoredGate) -> AskedGate:
    """A gate as it was asked for."""
    expression, conditions = map(json.loads, (stored.expression, stored.conditions or "{}"))
    fields: Any = stored._replace(expression=expression, conditions=conditions)[2:-1]
    return AskedGate(*fields)


def _store_part(part: Part, begin: Mapping[str, Any]) -> StoredPart:
    """A part as a row."""
    fields = {name: value for name, value in asdict(part).items() if name != "retired"}
    return StoredPart(**fields, **begin, retired=None)


def _store_model(model: Model, *, number: int, entry: int, time: str | None) -> StoredModel:
    """A model as a row."""
    return StoredModel(
        number,
        entry,
        model.name,
        model.version,
        model.part,
        model.source,
        model.fingerprint,
        None if model.trained is None else int(model.trained),
        time,
        None,
    )


def _parse_plan(contents: Contents) -> Plan | None:
    """The last plan; None without any."""
    return Plan(*contents.plans[-1][2:-1]) if contents.plans else None


def _insert_plan(writer: Writer, contents: Contents | None, plan: Plan) -> None:
    """Store a plan where it is another one than the last."""
    if contents is not None and _parse_plan(contents) == plan:
        return
    number = contents.plans[-1].number + 1 if contents and contents.plans else 1
    budget = None if plan.budget is None else float(plan.budget)
    fields = asdict(plan) | {"budget": budget, "level": float(plan.level)}
    row = StoredPlan(number=number, entry=writer.number, time=_now(), **fields)
    writer.append(chain.PLAN, of=number, rows={"plans": [row]})


def _find_known(contents: Contents) -> Record:
    """Draws and known answers."""
    counting = map(itemgetter(slice(2, None)), _list_counting(contents))
    answers = tuple(map(partial(tuple.__new__, Answer), counting))
    draws, supplied = _list_draws(contents), _find_supplied(contents)
    return Record(contents.meta.revision, draws, answers, supplied)


def _list_draws(contents: Contents) -> tuple[Draw, ...]:
    """Every draw, in order."""
    rows = map(attrgetter("id", "round", "q"), contents.draws)
    return tuple(map(partial(tuple.__new__, Draw), rows))


def _find_last_file(contents: Contents) -> StoredFile | None:
    """The last file that was not taken back."""
    return next((each for each in contents.files[::-1] if each.undone is None), None)


def _list_counting(contents: Contents) -> list[GivenAnswer]:
    """The answers that count: of each item by each annotator, the last that was not taken back."""
    counts = {each.number for each in contents.files if each.undone is None}
    given = contents.given
    if len(counts) < len(contents.files):
        given = [each for each in given if each.file in counts]
    if len(set(map(attrgetter("id"), given))) == len(given):
        return given
    return sorted({(each.id, each.annotator): each for each in given}.values())


def _find_supplied(contents: Contents) -> dict[str, int | None]:
    """Items that were answered but never drawn, see Record.

    Answers that were taken back are left out, unless a round knew them.
    """
    # Both grow from round to round.
    seen = [each.labels_seen for each in contents.rounds]
    known_since: dict[int, int | None] = {}
    for file in contents.files:
        first = bisect_left(seen, file.revision)
        late = first == len(seen) or (file.undone is not None and seen[first] >= file.undone)
        known_since[file.number] = None if late else contents.rounds[first].number
    undone = {each.number for each in contents.files if each.undone is not None}
    drawn = {draw.id for draw in contents.draws}
    supplied: dict[str, int | None] = {}
    for file, answers in groupby(contents.answers, attrgetter("file")):
        number = known_since[file]
        if number is None and file in undone:
            continue
        ids = filterfalse(drawn.__contains__, map(attrgetter("id"), answers))
        found: dict[str, int | None] = dict.fromkeys(ids, number)
        for id in found.keys() & supplied.keys():
            earlier = supplied[id]
            if number is None or (earlier is not None and earlier < number):
                found[id] = earlier
        supplied |= found
    return supplied


def check_version(db: sqlite3.Connection, path: Path) -> int:
    """The number of migrations of a ledger. Raises StudyError for what is none that can be read."""
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        if is_older(db):
            raise OtherVersion(f"{path} is from a version of activetest before 0.3", _OLDER)
        raise StudyError(f"{path} is not a ledger", "restore it from a backup")
    if version > len(MIGRATIONS):
        raise call_newer(path)
    return version


def call_newer(path: Path, found: str | None = None) -> OtherVersion:
    """The error about a ledger of a newer version; `found` is what only such a version records."""
    problem = f"{path} is from a newer version of activetest"
    return OtherVersion(f"{problem}: it has {found}" if found else problem, _UPGRADE)


def _connect(path: Path) -> sqlite3.Connection:
    with _raising_study_errors(path, "read"):
        db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            # FULL leaves out the folder with the journal: a power cut would take a commit back.
            db.execute("PRAGMA synchronous = EXTRA")
            restrict(db)
        except BaseException:
            db.close()
            raise
    return db


def _close(db: sqlite3.Connection) -> None:
    """Close a connection; one of another thread, which SQLite leaves open, goes as memory does."""
    with suppress(sqlite3.ProgrammingError):
        db.close()


def _copy_to_memory(db: sqlite3.Connection) -> sqlite3.Connection:
    """A copy of a file that may only be read, which can be brought up to date for reading."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    db.backup(copy)
    restrict(copy)
    return copy


def is_forbidden(error: StorageError) -> bool:
    """Whether a ledger, or the folder that its journal would be in, may only be read."""
    name = getattr(error.__cause__, "sqlite_errorname", "")
    return str(name).startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def _raising_study_errors(path: Path, action: str = "write") -> Iterator[None]:
    """Turn SQLite's errors into a StudyError; a broken constraint is a bug and passes through.

    action  what is done with the file: "read" or "write"
    """
    try:
        yield
    except UnreadableTable as error:
        raise StudyError(f"{path} is damaged: {error}", _HINT) from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
            raise
        if not is_refusal(error):
            raise StudyError(f"{path} is damaged: {error}", _HINT) from error
        remedy = "check its permissions" if action == "read" else _REMEDY
        raise StorageError(
            f"cannot {action} {path}: {error}", f"{remedy}; nothing that was recorded is lost"
        ) from error
