"""A study folder: which pool, which choices, which ledger, and a cache that can be rebuilt."""

import contextlib
import errno
import json
import os
import shutil
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from uuid import uuid4

import numpy as np

from activetest.cache import cache as caches
from activetest.cache.arrays import sweep
from activetest.cache.cache import Cache
from activetest.errors import ChoiceError, StorageError, StudyError
from activetest.labels.annotators import DAWID_SKENE, Opinion, opinion, settled
from activetest.labels.files import numbering
from activetest.ledger.ledger import Ledger, Record
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, PENDING, Log
from activetest.nouns.rows import Array
from activetest.pool.pool import Pool
from activetest.sampling.choices import checked
from activetest.study import config, provenance

FOLDER = ".activetest"
_HEADER = """\
# The pool of this study, and the choices for the rounds to come: edit them here, or run
# `activetest init` again. What was drawn and every label are in ledger.db; never delete that file.
"""


class Study:
    """One study.

    folder   where it lives
    pool     "uri", "train" and "surrogates" as they were written, and the role of every column
    choices  for the rounds to come
    seed     of every random number
    ledger   what was drawn and answered
    """

    def __init__(self, folder: Path, pool: dict, choices: Choices, ledger: Ledger):
        self.folder = folder
        self.pool = pool
        self.choices = choices
        self.ledger = ledger
        self.seed = ledger.seed

    @staticmethod
    def create(
        folder: Path, *, pool: dict, choices: Choices, seed: int, fingerprint: str, rows: int
    ) -> "Study":
        """A new study, there as a whole or not at all. A cache that is already there is kept.

        Raises StudyError when there is one, StorageError when the folder cannot be written.
        """
        folder = Path(folder).absolute()
        if _is_study(folder) or (folder / "ledger.db").exists():
            raise StudyError(f"there is already a study in {folder}", "choose another --study DIR")
        pool = config.relative(pool, folder)
        checked(asdict(choices), pool, where="the choices")
        building = folder.with_name(f"{folder.name}.{uuid4().hex[:8]}.tmp")
        with storing(folder):
            try:
                building.mkdir(parents=True)
                sweep(folder.parent, f"{folder.name}.", ".tmp")
                Ledger.create(building / "ledger.db", seed=seed, fingerprint=fingerprint, rows=rows)
                _write(building / "study.toml", _to_toml(pool, choices))
                if folder.is_dir():
                    for part in folder.iterdir():
                        part.rename(building / part.name)
                building.rename(folder)
            finally:
                shutil.rmtree(building, ignore_errors=True)
        return Study.open(folder)

    @staticmethod
    def open(folder: Path | None = None) -> "Study":
        """The study in a folder, in ACTIVETEST_STUDY, or in the nearest folder above this one.

        Raises StudyError when there is none or it is damaged, ChoiceError for a bad study.toml.
        """
        folder = _find(folder or os.environ.get("ACTIVETEST_STUDY"))
        path = folder / "study.toml"
        try:
            entries = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ChoiceError(f"{path} is not TOML: {error}", "correct that line") from error
        pool = entries.get("pool")
        config.check(pool, path)
        if unknown := set(entries) - {"pool", "choices"}:
            raise ChoiceError(f"{path}: there is no section {min(unknown)!r}", "remove it")
        choices = checked(entries.get("choices", {}), pool, where=f"{path}, [choices]")
        return Study(folder, pool, choices, Ledger(folder / "ledger.db"))

    @property
    def addresses(self) -> dict[str, str]:
        """Of the pool ("uri") and the files beside it, openable from any working directory."""
        return config.resolved(self.pool, self.folder)

    @property
    def uri(self) -> str:
        """The pool's address, openable from any working directory."""
        return self.addresses["uri"]

    def update(self, choices: Choices, pool: dict | None = None) -> None:
        """Change the choices for the rounds to come, and the roles of columns where given."""
        pool = pool or self.pool | self.addresses
        as_it_was = {k: self.pool[k] for k, at in self.addresses.items() if pool.get(k) == at}
        pool = config.relative(pool, self.folder) | as_it_was
        path = self.folder / "study.toml"
        self.choices = checked(asdict(choices), pool, where="the choices")
        self.pool = pool
        building = path.with_name(f"{uuid4().hex[:8]}.tmp")
        with storing(path):
            try:
                _write(building, _to_toml(pool, choices))
                building.replace(path)
            finally:
                building.unlink(missing_ok=True)

    def open_pool(self) -> Pool:
        """The pool, with the roles of columns as `init` understood them; nothing is read yet."""
        return Pool(self.uri, config.roles(self.pool))

    def cache(self, *, equipped: bool = True) -> Cache:
        """The cache of the pool, built again when it must be.

        Equipped with what the surrogates of past and coming rounds want, unless only items are
        looked up. Raises PoolChanged when the pool is not the one the study was made for, PoolError
        for files beside it that cannot serve coming rounds.
        """
        with storing(self.folder):
            pool = self.open_pool()
            made = caches.current(pool, self.folder / "cache", expected=self.ledger.fingerprint)
            return self.attach_auxiliary(made, pool) if equipped else made

    def attach_auxiliary(
        self,
        made: Cache,
        pool: Pool,
        *,
        coming: str | None = None,
        beside: dict | None = None,
        renamed: Collection[str] = (),
    ) -> Cache:
        """The cache with what past rounds and the coming surrogate want: see study_beside.equip."""
        beside = beside or {key: self.addresses.get(key) for key in provenance.FILES}
        coming, past = coming or self.choices.surrogate, self.ledger.surrogates()
        given = {"beside": beside, "renamed": renamed, "past": past, "coming": coming}
        return provenance.attach_auxiliary(made, pool, self.pool, **given)

    def check_coming(self, made: Cache, coming: str | None = None) -> None:
        """Raises PoolChanged where coming rounds would see what past ones saw otherwise."""
        coming, past = coming or self.choices.surrogate, self.ledger.surrogates()
        provenance.check(made, self.pool, past=past, coming=coming)

    def changes(self, made: Cache) -> list[str]:
        """What is not as init found it, in plain sentences."""
        return provenance.changes(made, self.pool, self.addresses)

    def log(self, cache: Cache, record: Record | None = None) -> Log:
        """What is known, in the words of the methods; of the latest record unless one is given.

        Of several answers to one item the majority decides, or their median where labels are
        values, or Dawid-Skene where that is chosen.
        """
        record = record or self.ledger.record()
        known = settled(record.answers, values=self.pool["task"] == "regression")
        doubts = opinion(record.answers) if self.choices.annotators == DAWID_SKENE else None
        if doubts:
            known |= {id: (LABELLED, label) for id, label in doubts.labels.items()}
        drawn, supplied = [draw.id for draw in record.draws], list(record.supplied)
        status, labels = self._outcomes(drawn, known, cache)
        supplied_status, supplied_labels = self._outcomes(supplied, known, cache)
        rows = cache.find(drawn)
        last = max((draw.round for draw in record.draws), default=0)
        seen = [last + 1 if number is None else number for number in record.supplied.values()]
        return Log(
            rows=rows,
            prob=np.array([draw.prob for draw in record.draws], float),
            round=np.array([draw.round for draw in record.draws], np.int64),
            status=status,
            labels=labels,
            supplied_rows=cache.find(supplied),
            supplied_status=supplied_status,
            supplied_labels=supplied_labels,
            supplied_round=np.array(seen, np.int64),
            history=self.ledger.rounds(rows),
            soft=_soft(drawn, doubts, cache) if doubts else None,
            supplied_soft=_soft(supplied, doubts, cache) if doubts else None,
        )

    def _outcomes(self, ids: list[str], known: dict, cache: Cache) -> tuple[Array, Array]:
        """Status and label of each item: class codes or values, NaN unless labelled."""
        outcomes = [known.get(id, (PENDING, "")) for id in ids]
        number = numbering(cache.classes)
        values = [number(label) if status == LABELLED else np.nan for status, label in outcomes]
        return np.array([status for status, _ in outcomes], np.int64), np.array(values, float)


def _soft(ids: list[str], doubts: Opinion, cache: Cache) -> Array:
    """(R, C) probability of each class for every item; what is missing to one is outside them."""
    places = {name: code for code, name in enumerate(cache.classes)}
    inside = [code for code, name in enumerate(doubts.names) if name in places]
    columns = [places[doubts.names[code]] for code in inside]
    table = np.full((len(ids), len(cache.classes)), np.nan)
    for row, id in enumerate(ids):
        if id in doubts.probs:
            table[row] = 0.0
            table[row, columns] = doubts.probs[id][inside]
    return table


@contextlib.contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turns what the file system says against writing into a StorageError."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}",
            "free some space" if full else "choose a folder you may write to: --study DIR",
        ) from error


def _find(folder: str | Path | None) -> Path:
    """The study folder that a path means, or the nearest one above the working directory."""
    if folder:
        folder = Path(folder).absolute()
        if found := next((at for at in (folder, folder / FOLDER) if _is_study(at)), None):
            return found
        raise StudyError(f"there is no study in {folder}", "start one: activetest init POOL")
    here = Path.cwd()
    if found := next((at / FOLDER for at in (here, *here.parents) if _is_study(at / FOLDER)), None):
        return found
    raise StudyError(
        f"there is no study in {here} or above",
        "start one with: activetest init POOL, or say where it is: --study DIR",
    )


def _is_study(folder: Path) -> bool:
    return (folder / "study.toml").is_file()


def _write(path: Path, text: str) -> None:
    """Write a file and wait until it is on the disk."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _to_toml(pool: dict, choices: Choices) -> str:
    """Two flat sections; what is None is left out."""
    lines = [_HEADER]
    for section, entries in (("pool", pool), ("choices", asdict(choices))):
        lines.append(f"\n[{section}]\n")
        lines += [f"{key} = {_value(v)}\n" for key, v in entries.items() if v is not None]
    return "".join(lines)


def _value(value) -> str:
    """A string, number, truth value or list of strings in TOML, which agrees with JSON on them."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
