"""A study on disk: which pool, which choices, which ledger, and a cache that can be rebuilt."""

import errno
import os
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from functools import partial
from itertools import accumulate, repeat
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from activetest.errors import (
    FULL,
    CacheRebuilt,
    ChoiceError,
    PoolChanged,
    PoolError,
    StorageError,
    StudyError,
    SummaryMissing,
    raising_storage_errors,
)
from activetest.labels.annotators import (
    DAWID_SKENE,
    InferredLabels,
    infer_labels,
    list_labelling,
    resolve_answers,
)
from activetest.labels.files import make_label_encoder
from activetest.ledger.ledger import Ledger, Record
from activetest.nouns.choices import Choices
from activetest.nouns.log import LABELLED, PENDING, Log
from activetest.nouns.report_settings import ReportSettings
from activetest.nouns.rows import Array
from activetest.nouns.study_lists import Model, Part
from activetest.pool.schema import Schema
from activetest.sampling.choices import check_choices, check_lasting_choices
from activetest.study import config
from activetest.study.declared import check_shared_error, describe_plan
from activetest.study.folder import (
    CACHE,
    INSIDE,
    LEDGER,
    SUMMARY,
    find_study,
    is_study,
    resolve_address,
)
from activetest.study.frames import name_pool
from activetest.study.restart import finish_restart, prepare_restart
from activetest.system import atomic, locks

if TYPE_CHECKING:
    from activetest.cache.cache import Cache
    from activetest.cache.votes import FurtherModel
    from activetest.pool.pool import Pool
    from activetest.study.conversion import Conversion
    from activetest.study.provenance import Provenance

# The pool and its cache are slow to import: the methods that open them do it.

# How a file system says that a folder may only be read.
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


class StoredStudy:
    """One study.

    folder   where it is stored
    pool     [pool] of study.toml: "uri", "train" and "other_models" as they were written, and the
             role of every column
    choices  for the rounds to come
    seed     of every random number
    reports  what reports of it ask for
    others   entries of [choices] of wings that this installation lacks
    ledger   what was drawn and answered
    """

    def __init__(self, folder: Path, found: config.Config, ledger: Ledger) -> None:
        self.folder = folder
        self.choices = found.choices
        self.reports = found.report
        self.others = found.others
        self.ledger = ledger
        self.pool = self.name_classes_of_parts(found.pool)
        self.seed = ledger.seed
        self._held: set[Path] = set()
        self._temporary: Path | None = None
        self._recalled: tuple[Cache, str] | None = None

    def name_classes_of_parts(self, pool: Mapping[str, Any]) -> dict[str, Any]:
        """Entries of [pool] with the classes that later parts alone predict, where these are open.

        They come last: the codes of classes stay as they were.
        """
        if not pool.get("open_classes") or not (later := self.later_parts):
            return dict(pool)
        from activetest.pool.joined import read_further

        found = (name for path in later for name in read_further(Path(path)))
        return {**pool, "classes": list(dict.fromkeys([*pool["classes"], *found]))}

    @staticmethod
    def open(folder: str | Path | None = None) -> "StoredStudy":
        """The study in a folder, in ACTIVETEST_STUDY, or in the nearest folder above this one.

        Raises StudyError when there is none or it is damaged, ChoiceError for a bad study.toml.
        """
        folder = find_study(folder)
        with ExitStack() as stack:
            ledger = stack.enter_context(Ledger(folder / LEDGER))
            with raising_storage_errors(folder):
                finish_restart(folder, ledger)
            found = config.read_config(folder)
            if others := {*found.models} - {each.name for each in ledger.models()}:
                raise ChoiceError(
                    f"{folder / config.CONFIG}: [[models]] has {min(others)!r}, and the ledger has "
                    "no such model",
                    "remove that section, and add the model again: `study.add(name, file)`",
                )
            study = StoredStudy(folder, found, ledger)
            where = config.name_section(folder, "choices")
            if (first := ledger.first_choices()) is not None:
                check_lasting_choices(first, study.choices, where=where)
            check_shared_error(ledger, study.choices, where=where)
            # It stays open as long as the study is used.
            stack.pop_all()
        return study

    @property
    def addresses(self) -> dict[str, str]:
        """{key: address} of the pool ("uri") and the auxiliary files ("train", "other_models").

        They open from any working directory.
        """
        return config.resolve_addresses(self.pool, self.folder)

    @property
    def uri(self) -> str:
        """The pool's address, which opens from any working directory."""
        return self.addresses["uri"]

    def record(self) -> Record:
        """The draws and answers about its items."""
        return self.ledger.record()

    @property
    def rows(self) -> int:
        """The number of its items."""
        return sum(each.rows for each in self.list_parts())

    def list_parts(self) -> tuple[Part, ...]:
        """The parts of the population, in the order in which they came."""
        return self.ledger.parts()

    @property
    def later_parts(self) -> tuple[str, ...]:
        """The files of the parts that came after the first."""
        return tuple(resolve_address(each.address, self.folder) for each in self.list_parts()[1:])

    def check_one_part(self, what: str) -> None:
        """Raises StudyError where the population has several parts, and what is asked is of one."""
        if len(names := [each.name for each in self.list_parts()]) > 1:
            raise StudyError(
                f"{what} is about one pool, and the population has {len(names)} parts",
                f"`study.report(part={names[-1]!r})` is about one of them",
            )

    def of_part(self, *names: str) -> "StoredStudy":
        """The study as one of some parts of the population alone: their items, draws and labels.

        names  of the parts; "last:4" are the last four

        Raises ChoiceError, with the nearest name, for a part that is not there.
        """
        from activetest.study.parts import find_part

        return find_part(self, *names)

    @property
    def active(self) -> "StoredStudy":
        """The study as one of the parts that are not retired; itself where none is."""
        if not any(each.retired for each in self.list_parts()):
            return self
        from activetest.study.parts import find_active

        return find_active(self)

    def list_models(self) -> tuple[Model, ...]:
        """The models that are judged, in the order in which they came."""
        return self.ledger.models()

    @property
    def joined(self) -> Path | None:
        """The file with the outputs of the first model; None where the pool has them."""
        source = self.list_models()[0].source
        return Path(resolve_address(source, self.folder)) if source else None

    @property
    def model_name(self) -> str:
        """The name of the model whose outputs these are."""
        return self.list_models()[0].name

    def of_model(self, name: str | None = None) -> "StoredStudy":
        """The study as one of a model; itself for None, as is that of the first one for its name.

        Draws and labels are the same, and outputs are the model's. Raises ChoiceError, with the
        nearest name, for a model that is not there.
        """
        from activetest.study.models import find_model

        return find_model(self, name)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the ids and outputs."""
        return self.ledger.fingerprint

    @property
    def cache_folder(self) -> Path:
        """The folder of the cache, which can be built again."""
        return self.folder / CACHE

    @property
    def schema(self) -> Schema:
        """The role of every column."""
        return config.parse_schema(self.pool)

    @property
    def further_classes(self) -> tuple[str, ...]:
        """Classes of an open pool that other models alone predict, in the order of the models."""
        own = self.schema
        if not own.open_classes:
            return ()
        others = [self.of_model(each.name).schema.classes for each in self.list_models()]
        found = dict.fromkeys(name for classes in others for name in classes)
        return tuple(name for name in found if name not in {*own.classes})

    @property
    def pool_name(self) -> str:
        """Name of the pool in reports: its address, as study.toml has it, and of later parts."""
        more = len(self.list_parts()) - 1
        named = name_pool(self.pool["uri"])
        return f"{named} and {more} more part{'s' * (more > 1)}" if more else named

    def update(self, choices: Choices, pool: Mapping[str, Any] | None = None) -> None:
        """Change the choices for the rounds to come, and the entries of [pool] where given.

        Raises ChoiceError for choices that make no sense, StorageError when study.toml cannot be
        written.
        """
        if len(self.list_parts()) > 1:
            from activetest.study.parts import check_choices_of_parts

            check_choices_of_parts(choices)
        pool = self._relative_entries(pool or {**self.pool, **self.addresses})
        self.choices = check_choices(asdict(choices), pool, where="the choices")
        self.pool = pool
        with raising_storage_errors(self.folder / config.CONFIG):
            config.write_config(self.folder, self.describe(pool, choices))
        self.ledger.record_plan(describe_plan(choices, pool))

    def restart(
        self,
        choices: Choices,
        pool: Mapping[str, Any],
        *,
        seed: int,
        fingerprint: str,
        revision: int,
    ) -> None:
        """Like update, with another seed or another fingerprint of the pool, before any draw.

        A crash leaves the old study or the new one. Raises StudyError when anything was recorded
        after `revision` of the ledger, or drawn before it, and what update raises.
        """
        self.check_one_part("another seed, or another meaning of its columns,")
        pool = self._relative_entries(pool)
        choices = check_choices(asdict(choices), pool, where="the choices")
        with raising_storage_errors(self.folder):
            written = self.describe(pool, choices)
            prepare_restart(self.folder, written, seed=seed, fingerprint=fingerprint)
            self.ledger.restart(seed=seed, fingerprint=fingerprint, revision=revision)
            finish_restart(self.folder, self.ledger)
        self.ledger.record_plan(describe_plan(choices, pool))
        self.choices, self.pool, self.seed = choices, pool, seed

    def describe(
        self, pool: dict[str, Any] | None = None, choices: Choices | None = None
    ) -> config.Config:
        """Contents of study.toml, with other entries of [pool] and other choices where given."""
        return config.Config(
            pool or self.pool,
            choices or self.choices,
            self.reports,
            self.others,
            tuple(each.name for each in self.list_models()),
        )

    def _relative_entries(self, pool: Mapping[str, Any]) -> dict[str, Any]:
        """Entries of [pool] as study.toml holds them: addresses that stay keep their spelling."""
        unchanged = {
            key: self.pool[key] for key, old in self.addresses.items() if pool.get(key) == old
        }
        return config.make_relative(pool, self.folder) | unchanged

    def open_pool(self, *, thorough: bool = False) -> "Pool":
        """The pool, with the roles of columns as `init` understood them.

        thorough  read all of a conversion, and make it again where it is damaged

        Nothing is read yet, but a pool that is not Parquet is converted where it has changed. Files
        inside the study are not removed while this object lives. Raises PoolError where there is no
        pool, OSError when its conversion cannot be written.
        """
        self.check_pool_is_there()
        return self._open(self.locate_pool(thorough=thorough))

    def locate_pool(self, *, thorough: bool = False) -> str:
        """Where the Parquet of the pool is, without outputs that are beside it; as open_pool."""
        if not self.converts_pool:
            if self.pool["uri"].startswith(INSIDE):
                self._hold(Path(self.uri))
            return self.uri
        while True:
            path = self._conversion.ensure(self._converted_columns, thorough=thorough)
            # Another process may have removed it before it was held.
            if self._hold(path):
                return str(path)

    @property
    def _converted_columns(self) -> tuple[str, ...]:
        """Columns that a conversion has; none where outputs are joined, which it has not."""
        return () if self.joined else self.schema.columns

    def encode_column(self, name: str) -> Array:
        """(N,) codes from 0 on of the values of a column of the pool.

        Raises PoolError where there is none, or an item has no value.
        """
        return self.open_pool().encode_column(name)

    def show(self, ids: Sequence[str], columns: Sequence[str]) -> dict[str, list[Any]]:
        """{column: its values for these items}. Raises PoolError for one that is not there."""
        rows = find_items(ids, self.cache(auxiliary=False))
        return self.open_pool().show(rows, columns)

    @contextmanager
    def reading_pool(self) -> Iterator["Pool"]:
        """The pool by its content, whatever sizes and times of files say; the study stays as it is.

        Where the study has no sound conversion of that content, the pool is converted among the
        system's temporary files. Raises PoolError where there is no pool, OSError.
        """
        self.check_pool_is_there()
        with atomic.temporary_folder() as folder:
            if self.converts_pool:
                known = self._conversion.find(by_content=True)
                sound = known if known and self._hold(known) else None
                address = str(sound or self._conversion.write(folder, self._converted_columns))
            else:
                address = self.locate_pool()
            joined = self._reorder_joined(address, folder / "joined.parquet")
            yield self._open(address, joined)

    def _open(self, address: str, joined: Path | None = None) -> "Pool":
        """The pool with the rows of a Parquet file or folder, and outputs beside it if it has."""
        from activetest.pool.files import Files
        from activetest.pool.pool import Pool

        files = Files(address, joined or self.joined, self.later_parts)
        return Pool(self.uri, self.schema, files)

    def _reorder_joined(self, address: str, target: Path) -> Path | None:
        """The outputs beside a pool in another order, where its rows have another one by now."""
        if self.joined is None:
            return None
        from activetest.pool.files import Files
        from activetest.pool.joined import reorder_joined

        ordered = reorder_joined(Files(address), self.schema.id, self.joined, target)
        return target if ordered else None

    @property
    def _conversion(self) -> "Conversion":
        """The study's conversion of a pool of another format than Parquet."""
        from activetest.study.conversion import Conversion

        return Conversion(self.uri, self.folder, self.schema.id, self.pool.get(config.GRADED_BY))

    def _hold(self, path: Path) -> bool:
        """Keep others from removing a file as long as this object lives; whether it is there."""
        if path not in self._held and locks.hold_file(self, path):
            self._held.add(path)
        return path.exists()

    @property
    def converts_pool(self) -> bool:
        """Whether the pool is no Parquet: what is read is the study's conversion of it."""
        from activetest.pool import convert

        return convert.needs_conversion(self.uri)

    def find_missing_pool(self) -> str | None:
        """The path of a pool that is not there, or of outputs that belong to it; None without one.

        None for a pool on another machine, too.
        """
        if "://" not in self.uri and not os.path.exists(self.uri):
            return self.uri
        return None if self.joined is None or self.joined.exists() else str(self.joined)

    def check_pool_is_there(self) -> None:
        """Raises PoolError, with a hint how to say where the pool is now, where it is missing."""
        if not (missing := self.find_missing_pool()):
            return
        if self.joined and missing == str(self.joined):
            raise call_outputs_missing(self.list_models()[0].name, missing)
        problem = f"the pool of this study is missing: there is no file or folder {missing}"
        if self.pool["uri"].startswith(INSIDE):
            hint = "restore it from a backup, or give the table again"
            raise PoolError(problem, f"{hint}: `Study.create(frame, {str(self.folder)!r})`")
        raise PoolError(
            problem,
            "a study looks for its pool from the folder that holds the study; say where it is now: "
            f"`Study.create(newpath, {str(self.folder)!r})`",
        )

    def cache(self, *, auxiliary: bool = True) -> "Cache":
        """The cache of the pool, built again when the pool's files have changed.

        auxiliary  attach the data that the surrogates of past and coming rounds use; it is not
                   needed where items are only looked up

        Raises PoolChanged when the pool is not the one the study was made for, PoolError for
        auxiliary files that coming rounds cannot use.
        """
        with raising_storage_errors(self.folder):
            pool = self._open_sound_pool()
            try:
                cache = self._ensure_cache(pool, self.cache_folder, auxiliary=auxiliary)
            except OSError as error:
                if error.errno not in _FORBIDDEN:
                    raise
                cache = self._ensure_temporary_cache(pool, auxiliary=auxiliary)
            else:
                if auxiliary:
                    # All that the study's surrogates see is kept: a part of it would be less.
                    self.keep_summary(cache)
            # A cache is in circles of references: the study that it held would keep its files open.
            opened = weakref.WeakMethod(self.cache)
            cache.reopen = lambda: (again := opened()) and again(auxiliary=auxiliary)
            return cache

    def keep_summary(self, cache: "Cache") -> None:
        """Keep what reports need of the pool, in a study that may be written.

        Warns with SummaryMissing where there is no space for it: the study is whole without. Raises
        OSError.
        """
        from activetest.study import absent_pool

        try:
            absent_pool.keep(cache, self.folder)
        except OSError as error:
            if error.errno in FULL:
                warnings.warn(
                    f"{self.folder / SUMMARY} cannot be written: {error.strerror}; the study is "
                    "there, and reports need the pool until there is space: the next command that "
                    "reads the pool tries again",
                    SummaryMissing,
                    stacklevel=2,
                )
            elif error.errno not in _FORBIDDEN:
                raise

    def known_cache(self) -> "Cache":
        """As cache; where the pool is not at hand, what the study keeps of it.

        `absence` says afterwards which of the two it is. Raises PoolError where nothing is kept,
        StudyError where that is damaged, or too little for the study's surrogate.
        """
        from activetest.study import absent_pool

        if self._recalled is None:
            if not self._lacks_pool():
                return self.cache()
            if self._temporary is None:
                self._temporary = make_temporary(self)
            with raising_storage_errors(self.folder):
                self._recalled = absent_pool.recall(self, self._temporary / CACHE)
                self.mark_parts(self._recalled[0])
        return self._recalled[0]

    @property
    def absence(self) -> str | None:
        """A report's sentence where its cache is of a pool that is not at hand; else None."""
        return None if self._recalled is None else self._recalled[1]

    def _lacks_pool(self) -> bool:
        """Whether there is no pool where it was, or nobody answers there."""
        if self.find_missing_pool() is not None:
            return True
        if "://" not in self.uri:
            return False
        try:
            self.open_pool().files.stamp()
        except PoolError:
            return True
        return False

    def _ensure_cache(self, pool: "Pool", place: Path, *, auxiliary: bool) -> "Cache":
        try:
            cache = self._ensure_outputs(pool, place)
        except PoolChanged as error:
            if self.joined is None:
                raise
            with atomic.replacing_file(self.joined, durable=True) as building:
                if self._reorder_joined(pool.files.uri, building) is None:
                    hint = hint_outputs(self.list_models()[0].name)
                    raise PoolChanged(error.problem, f"{error.hint}; or {hint}") from error
            pool = self.open_pool()
            cache = self._ensure_outputs(pool, place)
        found = self.provenance().attach(cache, pool) if auxiliary else cache
        return self.mark_parts(found)

    def mark_parts(self, cache: "Cache") -> "Cache":
        """The cache, with the places of the parts of the population."""
        parts = self.list_parts()
        cache.part_ends = tuple(accumulate(each.rows for each in parts))
        cache.part_names = tuple(each.name for each in parts)
        return cache

    def _ensure_outputs(self, pool: "Pool", place: Path) -> "Cache":
        """The cache without auxiliary data. Raises PoolChanged for other ids or outputs."""
        from activetest.cache.cache import ensure_cache

        return ensure_cache(pool, place, expected=self.fingerprint)

    def _ensure_temporary_cache(self, pool: "Pool", *, auxiliary: bool) -> "Cache":
        """A cache of a study that may only be read, among the system's temporary files.

        It is removed with this object. Warns with CacheRebuilt when it is built.
        """
        if self._temporary is None:
            self._temporary = make_temporary(self)
            warnings.warn(
                f"{self.folder} may not be written: a cache of its pool is built in "
                f"{self._temporary}, and removed afterwards",
                CacheRebuilt,
                stacklevel=3,
            )
        return self._ensure_cache(pool, self._temporary / CACHE, auxiliary=auxiliary)

    def _open_sound_pool(self) -> "Pool":
        """As open_pool; before a cache is built from it, a damaged conversion is made again."""
        from activetest.cache.cache import open_cache

        pool = self.open_pool()
        if not self.converts_pool:
            return pool
        known = open_cache(self.cache_folder)
        if known is not None and known.matches(pool):
            return pool
        return self.open_pool(thorough=True)

    def provenance(
        self,
        *,
        surrogate: str | None = None,
        files: Mapping[str, str | None] | None = None,
        changed: Collection[str] = (),
    ) -> "Provenance":
        """Where its auxiliary data come from.

        surrogate  of coming rounds; files and changed as in Provenance. Those of the study unless
                   given
        """
        from activetest.study.provenance import FILES, Provenance

        return Provenance(
            self.pool,
            files or {key: self.addresses.get(key) for key in FILES},
            surrogate or self.choices.surrogate,
            frozenset(self.ledger.surrogates()),
            frozenset(changed),
            self.list_further_models(),
        )

    def list_further_models(self) -> "tuple[FurtherModel, ...]":
        """The further models whose outputs tell of the model's own, in the order of the study.

        A later one has no vote in rounds that were drawn before it came. One that labels of the
        study took part in making has none at all: it knows labels that rounds do not. Nor has the
        same model with another threshold, as its score is known, or under another name.
        """
        from activetest.cache.votes import FurtherModel
        from activetest.study.thresholds import read_source

        models = self.list_models()
        own = next(place for place, each in enumerate(models) if each.name == self.model_name)
        # Rounds of a model that knows earlier labels are counted from where it came.
        before = models[own].rounds if models[own].trained else 0
        named, known = {each.name: each for each in models}, [models[own].name]
        # A ledger may have been written by anybody: models may be each other's thresholds there.
        while (
            (threshold := read_source(named[known[-1]].source))
            and threshold.of in named
            and threshold.of not in known
        ):
            known.append(threshold.of)
        found: dict[str, FurtherModel] = {}
        for place, each in enumerate(models):
            if each.name in known or each.trained or read_source(each.source):
                continue
            rounds = each.rounds - before if place > own else 0
            outputs = partial(self._open_outputs, each.name)
            found.setdefault(each.fingerprint, FurtherModel(each.fingerprint, rounds, outputs))
        found.pop(models[own].fingerprint, None)
        return tuple(found.values())

    def _open_outputs(self, name: str) -> "Cache":
        """The cache of a model of the study, without auxiliary data."""
        return self.of_model(name).cache(auxiliary=False)

    def log(self, cache: "Cache", record: Record | None = None) -> Log:
        """The log, as the methods read it: pool positions and class codes or values.

        record  of the ledger; the latest unless given

        Of several answers to one item the majority decides, or their median where labels are
        values, or Dawid-Skene where that is chosen.
        """
        record = record or self.ledger.record()
        known, inferred = self._resolve(record)
        drawn, supplied = [draw.id for draw in record.draws], list(record.supplied)
        encode = make_label_encoder(cache.classes, self.further_classes)
        status, labels = encode_outcomes(drawn, known, encode)
        supplied_status, supplied_labels = encode_outcomes(supplied, known, encode)
        rows = find_items(drawn, cache)
        last = max((draw.round for draw in record.draws), default=0)
        known_since = [
            last + 1 if number is None else number for number in record.supplied.values()
        ]
        answers = Counter(map(itemgetter(0), record.answers))
        return Log(
            rows=rows,
            q=np.array([draw.q for draw in record.draws], float),
            round=np.array([draw.round for draw in record.draws], np.int64),
            status=status,
            labels=labels,
            supplied_rows=find_items(supplied, cache),
            supplied_status=supplied_status,
            supplied_labels=supplied_labels,
            supplied_round=np.array(known_since, np.int64),
            history=self.ledger.rounds(rows),
            soft=_class_probs(drawn, inferred, cache) if inferred else None,
            supplied_soft=_class_probs(supplied, inferred, cache) if inferred else None,
            answers=np.array([*map(answers.__getitem__, [*drawn, *supplied])], np.int64),
            given=_encode_answers([*drawn, *supplied], record, cache) if inferred else None,
        )

    def list_labels(self) -> dict[str, str]:
        """{id: its label as it counts now}, of all items with one."""
        known, _ = self._resolve(self.ledger.record())
        return {id: label for id, (status, label) in known.items() if status == LABELLED}

    def _resolve(self, record: Record) -> tuple[dict[str, tuple[int, str]], InferredLabels | None]:
        """{id: (status, label)} of every item with an answer, and what Dawid-Skene inferred.

        Raises StudyError for a label that no file can have brought.
        """
        values = self.pool["task"] == "regression"
        for answer in record.answers if values else ():
            if answer.status == LABELLED and not _is_value(answer.label):
                problem = f"{self.ledger.path} is damaged: the label {answer.label!r} is no value"
                raise StudyError(problem, "restore it from a backup")
        known = resolve_answers(record.answers, values=values)
        inferred = infer_labels(record.answers) if self.choices.annotators == DAWID_SKENE else None
        if inferred:
            known |= {id: (LABELLED, label) for id, label in inferred.labels.items()}
        return known, inferred


def call_outputs_missing(name: str, path: str, given: str = "FILE") -> PoolError:
    """The error about outputs of a model that a study no longer has."""
    return PoolError(
        f"the outputs of the model {name!r} are missing: there is no file {path}",
        hint_outputs(name, given),
    )


def hint_outputs(name: str, given: str = "FILE") -> str:
    """How to get outputs of a model back that are not there or not those that were added."""
    return f"give them again: `study.add({name!r}, {given!r})`, or restore them from a backup"


@contextmanager
def creating_study(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes a study's when the block succeeds.

    Raises StudyError where there is a study, also where another program creates it meanwhile: it
    stays as it is. Raises StorageError when the folder cannot be written.
    """
    folder = folder.absolute()
    taken = StudyError(
        f"there is already a study in {folder}: another program created it meanwhile",
        f"use it: `Study.open({str(folder)!r})`, or choose another `folder`",
    )
    if _holds_study(folder):
        raise taken
    try:
        with raising_storage_errors(folder), atomic.creating_folder(folder) as building:
            yield building
    except StorageError as error:
        raise (taken if _holds_study(folder) else error) from error


def write_study(
    building: Path,
    folder: Path,
    *,
    pool: Mapping[str, Any],
    choices: Choices,
    seed: int,
    fingerprint: str,
    rows: int,
    model: Model | None = None,
    record: Callable[[Ledger], None] | None = None,
    require: tuple[str, ...] = (),
) -> None:
    """Write the ledger of a new study, and then study.toml.

    building  where, from creating_study
    folder    what it becomes
    model     the first one
    record    records the draws or the further models that the study begins with
    require   gates of its reports

    Raises ChoiceError for choices that make no sense, OSError when they cannot be written.
    """
    pool = config.make_relative(pool, folder.absolute())
    check_choices(asdict(choices), pool, where="the choices")
    address = pool["uri"]
    part = Part(
        address=address,
        format=PurePosixPath(address).suffix.removeprefix("."),
        fingerprint=fingerprint,
        rows=rows,
    )
    plan = describe_plan(choices, pool)
    with Ledger.create(building / LEDGER, seed=seed, part=part, plan=plan, model=model) as ledger:
        if record:
            record(ledger)
        models = tuple(each.name for each in ledger.models())
    reports = ReportSettings(require=require)
    config.write_config(building, config.Config(dict(pool), choices, reports, models=models))


def make_temporary(owner: object) -> Path:
    """A folder for what a study cannot keep in its own; it is removed with its owner."""
    with ExitStack() as stack:
        folder = stack.enter_context(atomic.temporary_folder())
        weakref.finalize(owner, stack.pop_all().close)
    return folder


def _holds_study(folder: Path) -> bool:
    """Whether there is a study in a folder, or what is left of it."""
    return is_study(folder) or (folder / LEDGER).exists()


def _is_value(label: str) -> bool:
    """Whether a label is a number as labels of values are."""
    from activetest.pool.outputs import LARGEST

    try:
        return abs(float(label)) <= LARGEST
    except ValueError:
        return False


def find_items(ids: Sequence[str], cache: "Cache") -> Array:
    """(D,) pool positions of items that the ledger names.

    Raises StudyError where the pool does not have one of them.
    """
    rows = cache.find(list(ids))
    if (rows < 0).any():
        absent = ids[int(np.argmax(rows < 0))]
        raise StudyError(
            f"the study has drawn or labelled {absent!r}, which is no item of its pool",
            "restore ledger.db, or the pool, from a backup",
        )
    return rows


def encode_outcomes(
    ids: Sequence[str], known: Mapping[str, tuple[int, str]], encode: Callable[[str], float]
) -> tuple[Array, Array]:
    """(D,) status, and (D,) label of each item as `encode` has it, NaN unless labelled."""
    outcomes = list(map(known.get, ids, repeat((PENDING, ""))))
    codes = {each: encode(each[1]) if each[0] == LABELLED else np.nan for each in set(outcomes)}
    status = np.fromiter(map(itemgetter(0), outcomes), np.int64, len(ids))
    return status, np.fromiter(map(codes.__getitem__, outcomes), float, len(ids))


def _encode_answers(ids: list[str], record: Record, cache: "Cache") -> Array:
    """(R, J) code of what each annotator said of each item, as in Log."""
    encode, classes = make_label_encoder(cache.classes), len(cache.classes)
    labels = [each for each in record.answers if each.status == LABELLED]
    place = {name: at for at, name in enumerate(list_labelling(labels))}
    rows = {id: at for at, id in enumerate(ids)}
    given = np.full((len(ids), len(place)), -1)
    for each in labels:
        code = int(encode(each.label))
        given[rows[each.id], place[each.annotator]] = classes if code < 0 else code
    return given


def _class_probs(ids: list[str], inferred: InferredLabels, cache: "Cache") -> Array:
    """(R, C) probability of each class for every item; what is missing to one is outside them."""
    places = {name: code for code, name in enumerate(cache.classes)}
    inside = [code for code, name in enumerate(inferred.names) if name in places]
    columns = [places[inferred.names[code]] for code in inside]
    table = np.full((len(ids), len(cache.classes)), np.nan)
    for row, id in enumerate(ids):
        if id in inferred.probs:
            table[row] = 0.0
            table[row, columns] = inferred.probs[id][inside]
    return table
