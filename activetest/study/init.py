"""Create a study: look at the pool, then create the study or change its choices."""

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from activetest import catalog
from activetest.cache import auxiliary, cache
from activetest.cache.cache import Cache
from activetest.errors import ChoiceError, StudyError, raising_storage_errors
from activetest.estimation.looks import LookPlan, plan_looks_of_log
from activetest.ledger.ledger import Ledger
from activetest.nouns.arguments import read_flag, reading_arguments
from activetest.nouns.choices import NO_QUESTION, Choices, Interval, Task
from activetest.nouns.log import Log
from activetest.nouns.name_lists import join_names
from activetest.pool import convert
from activetest.pool.costs import read_costs
from activetest.pool.files import Files
from activetest.pool.frames import check_row_numbers
from activetest.pool.groups import PREDICTED
from activetest.pool.notices import describe_pool
from activetest.pool.pool import Pool
from activetest.pool.remote import reject_secrets
from activetest.pool.roles import NoOutputs
from activetest.rounds.weighted import describe_floor_cost
from activetest.sampling.question import find_fact, find_question, resolve_question
from activetest.sampling.settings import Settings, complete_task, read_settings
from activetest.study.add import add_model, check_model_name, list_model_columns
from activetest.study.comparison import describe_aims
from activetest.study.config import GRADED_BY, Config, parse_schema
from activetest.study.conversion import Conversion, keep_conversion
from activetest.study.findings import describe_findings
from activetest.study.first import First, choose_first, keep_first
from activetest.study.folder import (
    CACHE,
    CONFIG,
    FOLDER,
    LEDGER,
    POOL,
    read_folder,
)
from activetest.study.frames import (
    NAME,
    is_address,
    is_stream,
    keep_frame,
    name_stream,
    remove_unused,
    save_frame,
    save_stream,
    write_address,
)
from activetest.study.provenance import Provenance, describe_unavailable
from activetest.study.results import Setup
from activetest.study.settings import (
    check_columns,
    check_features,
    check_seed,
    choose_choices,
    describe_budget,
    has_rounds,
    kept_columns,
)
from activetest.study.stored import StoredStudy, creating_study, write_study
from activetest.system import atomic
from activetest.system.parallel import one_blas_thread
from activetest.system.safe_text import mask_secrets

if TYPE_CHECKING:
    from activetest.study.imported import ImportedLog

CONVERTED = "the study keeps a copy of the file as Parquet, and makes a new one when it changes"


@dataclass(frozen=True)
class _Source:
    """Where the pool comes from.

    path     of Parquet files, which can be read
    name     in messages: the address as given
    place    where a copy of it was written, if it was: a frame, or what another format became; or
             outputs of the first model
    frame    the same file, where the pool is a frame that the study keeps
    first    the first model of a new study
    joined   the file with its outputs, where they are no columns of the pool
    notices  sentences about that file
    later    files of the parts of the population that came later
    """

    path: str
    name: str
    place: Path | None = None
    frame: Path | None = None
    first: First = field(default_factory=First)
    joined: Path | None = None
    notices: tuple[str, ...] = ()
    later: tuple[str, ...] = ()

    @property
    def converted(self) -> bool:
        """Whether the pool is a file of another format than Parquet."""
        return self.place is not None and self.frame is None and self.path != self.name

    @property
    def files(self) -> Files:
        """The files of the pool, with the outputs of the first model, and of later parts."""
        return Files(self.path, self.joined, self.later)


@dataclass(frozen=True)
class _Beginning:
    """The models and draws that a new study begins with.

    folder    where it is written
    entries   of its [pool]
    choices   for its rounds
    first     the first model
    models    {name: outputs} of further models
    imported  draws that were made elsewhere
    notices   sentences about the models, once they are recorded
    """

    folder: Path
    entries: Mapping[str, Any]
    choices: Choices
    first: First
    models: Mapping[str, Any]
    imported: "ImportedLog | None" = None
    notices: list[str] = field(default_factory=list)

    def record(self, ledger: Ledger) -> None:
        """Record all of it. Raises what Study.add says."""
        if self.imported:
            self.imported.record(ledger)
        if self.first.given is not None:
            check_model_name(self.first.name, self.entries.get("classes", ()))
        if not self.models:
            return
        pool = {**self.entries, "uri": _make_absolute(self.entries["uri"])}
        study = StoredStudy(self.folder, Config(pool, self.choices), ledger)
        added = [add_model(study, name, given) for name, given in self.models.items()]
        self.notices.append(f"models: {join_names([each.name for each in study.list_models()])}")
        for each in added:
            self.notices.extend(f"{each.model.name}: {notice}" for notice in each.notices)


@one_blas_thread()
@reading_arguments
def init(
    given_pool: Any,
    study_folder: str | Path | None,
    settings: Mapping[str, Any],
    *,
    dry_run: bool = False,
    fresh: bool = False,
    opened: Pool | None = None,
    plan_log: "Callable[[Cache, Choices, int], ImportedLog] | None" = None,
    models: Mapping[str, Any] | None = None,
    common: bool = False,
    require: str | Sequence[str] | None = None,
) -> Setup:
    """Create a study of a pool, or change the choices of the study that is there.

    given_pool    address of the pool, or a frame or an open file, which is copied into the study;
                  None for the pool of the study at hand
    study_folder  default: the environment variable ACTIVETEST_STUDY, else `.activetest`; without a
                  pool, that of the nearest folder above this one
    settings      by name; what is not given is left to convention or, in a study, stays as it is
    dry_run       check everything and write nothing
    fresh         what an interrupted init of a large pool has done is removed first, not used
    opened        the pool with these columns, for a dry run that learns nothing from it; given_pool
                  is then its name in messages
    plan_log      the rounds and answers that a new study begins with, from the cache of its pool,
                  its choices and its seed
    models        {name: file, frame or open file} of the models that a new study begins with: all
                  of them, or there is no study. Where the pool has no outputs of its own, the first
                  of them is the study's first model
    common        keep only the items that all models of a new study have
    require       gates of the study's reports, in place of those that it has; None: as they are

    With a question about groups and no groups, these are the predicted classes. Labels and past
    rounds are never touched: after the first draw, seed, id, outputs, classes, threshold, weight
    and price stay.
    Raises PoolError for a pool or file that cannot serve, PoolChanged when the study is of another
    pool or its rounds saw other features, ChoiceError for a setting that makes no sense, StudyError
    where there is no study and no pool is given, StorageError when the study cannot be written.
    """
    given = read_settings(settings)
    reject_secrets([given_pool, *given.files.values()])
    given_pool, folder, study = _find_study(given_pool, study_folder)
    if study is not None and plan_log is not None:
        raise StudyError(
            f"there is a study in {folder} already, and its draws are its own",
            "import the log into another folder: `folder=path`",
        )
    models = _read_models(models, study, common=read_flag("common", common))
    # Whatever is recorded from here on may rest on what is about to change.
    revision = study.ledger.record().revision if study else 0
    check_seed(given.seed, study)
    # Ids of a converted pool stay text, also when only the study knows which column they are.
    before = study.pool if study else {}
    id, judge = (
        given.columns.get(name) or before.get(key)
        for name, key in (("id", "id"), ("judge", GRADED_BY))
    )
    with (
        nullcontext(_Source(opened.files.uri, given_pool))
        if opened
        else _open_source(given_pool, study, folder, id=id, judge=judge, dry_run=dry_run) as bare,
        _join_first(bare, study, folder, given, models, common=common, dry_run=dry_run) as source,
    ):
        pool = opened or _open_pool(source, study, given, models)
        first = source.first
        models = first.list_further(models)
        if source.frame and not pool.schema.id:
            check_row_numbers(given_pool)
        check_features(pool, study)
        columns_change = study is not None and check_columns(pool.schema, study)
        files = _auxiliary_files(study, given.files)
        chosen = _read_choices(pool, given)
        choices = choose_choices(
            pool,
            study,
            chosen,
            files=files,
            imported=plan_log is not None,
            models=(first.name, *models),
        )
        named = frozenset(name for name, value in given.files.items() if value is not None)
        about = (
            study.provenance(surrogate=choices.surrogate, files=files, changed=named)
            if study
            else Provenance({}, files, choices.surrogate, changed=named)
        )
        with (
            _open_cache_folder(source, folder, study, dry_run=dry_run) as place,
            ExitStack() as caches,
        ):
            kept = _name_kept(source, folder, place, study, dry_run=dry_run)
            if fresh:
                atomic.remove_kept(kept)
            if study and columns_change:
                _check_same_pool(_open_before(pool, study, source), study, place, pool.rows)
            built = (
                cache.build_cache(pool, place)
                if opened
                else _build_cache(pool, place, None if columns_change else study, about, kept)
            )
            # Its files are closed before its folder moves.
            caches.enter_context(closing(built))
            choices = resolve_question(choices, built, given.texts)
            gates, sentences = _read_gates(require, built, choices, study)
            notices = _list_notices(pool, built, choices, given, study, plan_log) + sentences
            notices += (CONVERTED,) * source.converted + source.notices
            entries = _list_entries(source, pool, about.choose_fingerprints(built), files, judge)
            seed = secrets.randbits(32) if given.seed is None else given.seed
            imported = plan_log(built, choices, seed) if plan_log else None
            notices += imported.notices if imported else ()
            looks = _plan_looks(built, choices, study)
            beginning = _Beginning(place.parent, entries, choices, first, models, imported)
            if study and not dry_run:
                _change(study, entries, choices, given.seed, built, revision, source)
            elif models or first.given is not None or not dry_run:
                # A dry run writes it to a folder that goes away.
                write_study(
                    place.parent,
                    place.parent if dry_run else folder,
                    pool=entries,
                    choices=choices,
                    seed=seed,
                    fingerprint=built.fingerprint,
                    rows=built.size,
                    model=first.describe(source.joined),
                    record=beginning.record,
                    require=gates,
                )
            notices += tuple(beginning.notices)
    outcome = "checked" if dry_run else "updated" if study else "created"
    if not dry_run:
        study = _open_kept(folder, built.parts)
    return Setup(
        outcome=outcome,
        folder=folder,
        uri=mask_secrets(study.uri if study and source.frame and not dry_run else source.name),
        rows=pool.rows,
        schema=pool.schema,
        choices=choices,
        seed=study.seed if study and not (dry_run and given.seed is not None) else given.seed,
        fingerprint=built.fingerprint,
        notices=notices,
        looks=looks,
    )


def _find_study(
    given_pool: Any, study_folder: str | Path | None
) -> tuple[Any, Path, StoredStudy | None]:
    """The pool, the study folder and the study in it: see init.

    Raises StudyError for a folder with something else in it.
    """
    if given_pool is None:
        study = StoredStudy.open(study_folder)
        study.check_pool_is_there()
        return study.uri, study.folder, study
    folder = read_folder(study_folder, FOLDER) or Path(FOLDER)
    if (folder / FOLDER / CONFIG).is_file():
        folder = folder / FOLDER
    if (folder / CONFIG).is_file():
        return given_pool, folder, StoredStudy.open(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if (folder / LEDGER).is_file():
            raise StudyError(
                f"{folder} is a study without its study.toml",
                hint="restore study.toml from a backup: ledger.db beside it holds every label",
            )
        raise StudyError(
            f"{folder} is there already and is no study",
            hint="choose a new folder"
            + (f", for example `folder={str(folder / FOLDER)!r}`" if folder.is_dir() else ""),
        )
    return given_pool, folder, None


def _read_models(given: Any, study: StoredStudy | None, *, common: bool) -> dict[str, Any]:
    """The models that a new study begins with. Raises ChoiceError where there are none."""
    if not given:
        if common:
            raise ChoiceError(
                "`common` keeps the items that all models have, and there are no `models`",
                "leave it out: the items of a study at hand stay as they are",
            )
        return {}
    if not isinstance(given, Mapping):
        raise ChoiceError("`models` is no mapping", "give names and outputs: {'v2': 'v2.parquet'}")
    if study is not None:
        raise ChoiceError(
            f"there is a study in {study.folder} already, and `models` are for a new one",
            f"`study.add({next(iter(given))!r}, 'FILE')` adds one to it",
        )
    return dict(given)


def _read_gates(
    require: str | Sequence[str] | None, built: Cache, choices: Choices, study: StoredStudy | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The gates given, which a study that is there has from then on, and when they are decided.

    Raises ChoiceError for text that is none, and for metrics that the pool does not have.
    """
    if require is None:
        return (), ()
    from activetest.study.plan import describe_gates

    gates = tuple(filter(None, require))
    sentences = describe_gates(gates, built, choices)
    if study:
        study.reports = replace(study.reports, require=gates)
    return gates, sentences


def _make_absolute(address: str) -> str:
    """An address that opens from any working directory."""
    return address if "://" in address else os.path.abspath(address)


def _read_choices(pool: Pool, given: Settings) -> dict[str, Any]:
    """The choices given, with costs as numbers."""
    chosen = dict(given.choices)
    if given.costs is not None:
        chosen["costs"] = read_costs(given.costs, pool.schema.classes)
    return chosen


def _list_entries(
    source: _Source,
    pool: Pool,
    fingerprints: Mapping[str, str],
    files: Mapping[str, str | None],
    judge: str | None,
) -> dict[str, Any]:
    """[pool] of study.toml."""
    graded_by = judge if source.converted else None
    found = {**files, **fingerprints, GRADED_BY: graded_by}
    kept = {key: value for key, value in found.items() if value is not None}
    address = write_address(source.frame) if source.frame else source.name
    return {"uri": address} | kept | pool.schema.to_dict()


def _open_kept(folder: Path, parts: tuple[str, ...]) -> StoredStudy:
    """The study in a folder, which now keeps a summary of its pool. Raises StorageError."""
    study = StoredStudy.open(folder)
    with raising_storage_errors(folder):
        if built := cache.open_cache(folder / CACHE, parts):
            study.keep_summary(built)
    return study


def _describe_choices(pool: Pool, built: Cache, choices: Choices) -> tuple[str, ...]:
    """Meaning of the choices for this pool, in sentences."""
    notices = describe_findings(built, choices) + built.notices
    if question := find_question(choices):
        notices += question.describe_pool(choices, pool.schema.kind)
    notices += describe_floor_cost(built, choices) + describe_aims(choices)
    if pool.schema.shape and not catalog.fact("surrogates", choices.surrogate, "SEES_IMAGES"):
        notices += (
            f"the surrogate {choices.surrogate} sees the image as a list of numbers; "
            '`surrogate="ensemble"` looks at it with convolutions',
        )
    return notices


def _list_notices(
    pool: Pool,
    built: Cache,
    choices: Choices,
    given: Settings,
    study: StoredStudy | None,
    plan_log: object,
) -> tuple[str, ...]:
    """Sentences about how the pool, the choices and the files were understood; see init."""
    notices = pool.notices + _describe_choices(pool, built, choices)
    notices += auxiliary.check_unused_files(built, pool, **given.files)
    notices += describe_unavailable(built)
    began = plan_log is not None or (study is not None and has_rounds(study))
    return notices + describe_budget(choices, given.choices, began=began)


@one_blas_thread()
def describe_setup(study: StoredStudy) -> Setup:
    """The setup that init would state of a study that is there.

    Raises PoolChanged when its pool has changed.
    """
    built = study.cache()
    pool = study.open_pool()
    notices = describe_pool(pool.schema, pool.files.schema, pool.rows, pool.files.gaps)
    notices += _describe_choices(pool, built, study.choices)
    return Setup(
        outcome="opened",
        folder=study.folder,
        uri=mask_secrets(study.uri),
        rows=pool.rows,
        schema=pool.schema,
        choices=study.choices,
        seed=study.seed,
        fingerprint=built.fingerprint,
        notices=(*notices, *describe_unavailable(built)),
        looks=_plan_looks(built, study.choices, study),
    )


def _plan_looks(built: Cache, choices: Choices, study: StoredStudy | None) -> LookPlan | None:
    """The looks of sequential gates, as the first round plans them; None where there are none."""
    if choices.interval != Interval.SEQUENTIAL:
        return None
    log = Log.empty()
    if study is not None and has_rounds(study):
        log = study.log(built)
    elif study is not None:
        # Labels that came before the first draw; the pool may be about to become another one.
        rows = built.find(list(study.ledger.record().supplied))
        rows = rows[rows >= 0]
        log = replace(log, supplied_rows=rows, supplied_round=np.ones(len(rows), np.int64))
    return plan_looks_of_log(choices, log, built)


@contextmanager
def _open_source(
    given: Any,
    study: StoredStudy | None,
    folder: Path,
    *,
    id: str | None,
    judge: str | None,
    dry_run: bool,
) -> Iterator[_Source]:
    """The pool as Parquet; what is written for that goes away unless it is kept.

    id     a column that stays text where the pool is converted
    judge  the column of grades that every item of a log has then
    """
    # A stored address opens without this user's home folder.
    address = os.path.expanduser(str(given)) if is_address(given) else None
    if address and not convert.needs_conversion(address):
        yield _Source(address, address)
        return
    if address:
        convert.check_source(address)
    elif study and not dry_run:
        remove_unused(folder, study.pool["uri"])
    with _open_place(folder, study, dry_run=dry_run) as place:
        inside = study.folder if study and not dry_run else None
        if address is None:
            stream = is_stream(given)
            saved = (
                save_stream(given, place, inside, id=id, judge=judge)
                if stream
                else save_frame(given, place, inside)
            )
            name = name_stream(given) if stream else NAME
            yield _Source(str(saved), name, place, saved)
        else:
            conversion = Conversion(address, inside or place, id, judge)
            path = conversion.find() if inside else None
            if path and inside:
                known = cache.open_cache(inside / CACHE)
                joined, later = (study.joined, study.later_parts) if study else (None, ())
                stamp = Files(str(path), joined, later).stamp()
                if known is None or known.manifest["stamp"] != stamp:
                    # A cache is about to be built from it.
                    path = conversion.ensure(thorough=True)
            yield _Source(str(path or conversion.write(place)), address, place)


@contextmanager
def _join_first(
    source: _Source,
    study: StoredStudy | None,
    folder: Path,
    given: Settings,
    models: Mapping[str, Any],
    *,
    common: bool,
    dry_run: bool,
) -> Iterator[_Source]:
    """The source with the first model: of a study that is there, or of a new one."""
    if study or not models:
        yield replace(
            source,
            joined=study.joined if study else None,
            later=study.later_parts if study else (),
        )
        return
    files = Files(source.path)
    columns = complete_task(given.columns, given.choices.get("metric", ()))
    first = choose_first(files, source.name, columns, models)
    if not (first.of_file or common):
        yield replace(source, first=first)
        return
    others = first.list_further(models)
    placed = (
        nullcontext(source.place) if source.place else _open_place(folder, None, dry_run=dry_run)
    )
    with placed as place:
        joined, notices = keep_first(
            first, Files(source.path), columns, place, others if common else None
        )
        yield replace(source, place=place, first=first, joined=joined, notices=notices)


@contextmanager
def _open_place(folder: Path, study: StoredStudy | None, *, dry_run: bool) -> Iterator[Path]:
    """A folder for what is written: the new study, or one that goes away."""
    if dry_run:
        with atomic.temporary_folder() as place, raising_storage_errors(place):
            yield place
    elif study is None:
        with creating_study(folder) as place:
            yield place
    else:
        with raising_storage_errors(folder), atomic.temporary_folder(folder, POOL) as place:
            yield place


def _open_pool(
    source: _Source, study: StoredStudy | None, given: Settings, models: Mapping[str, Any]
) -> Pool:
    """The pool; by the predicted classes where it has to be grouped and no group is named."""
    path, name = source.path, source.name
    if study is None:
        columns = complete_task(given.columns, given.choices.get("metric", ()))
        given = replace(given, columns=columns)
    columns = given.columns | kept_columns(source.files, study, given.columns, name=name)
    columns["joined"] = source.joined
    if models:
        own, first = Files(path).schema.names, source.first
        others = list_model_columns(models.values(), own)
        columns["hidden"] = [each for each in others if each not in first.columns]
        columns = first.settings | columns if first.columns else columns
    try:
        pool = Pool.open(path, **columns, name=name, suggest=study is None)
    except NoOutputs as error:
        hint = "for outputs in a file of their own, name it with `models`"
        hint = error.hint if study or models else f"{error.hint}; {hint}"
        raise NoOutputs(error.problem, hint) from error
    question = given.choices.get("question") or (study.choices.question if study else None)
    grouped = question != NO_QUESTION and find_fact(question, "GROUPED")
    if grouped and not pool.schema.groups and pool.schema.task == Task.CLASSIFICATION:
        columns |= {"groups": (PREDICTED,)}
        pool = Pool.open(path, **columns, name=name, suggest=study is None)
    if source.later:
        assert study is not None
        entries = study.name_classes_of_parts(pool.schema.to_dict())
        pool = Pool(name, parse_schema(entries), source.files, pool.notices)
    if study is not None:
        pool.notices = describe_pool(pool.schema, pool.files.schema, pool.rows, pool.files.gaps)
    return pool


def _auxiliary_files(
    study: StoredStudy | None, given: Mapping[str, str | None]
) -> dict[str, str | None]:
    """{key in study.toml: address} of the auxiliary files: those given, else the study's."""
    stored = study.addresses if study else {}
    return {
        key: (stored.get(key) if value is None else value) or None for key, value in given.items()
    }


@contextmanager
def _open_cache_folder(
    source: _Source, folder: Path, study: StoredStudy | None, *, dry_run: bool
) -> Iterator[Path]:
    """Where the cache is built: in the study, old or new, or in a folder that goes away."""
    if study and not dry_run:
        with raising_storage_errors(folder):
            yield folder / CACHE
    elif source.place:
        yield source.place / CACHE
    else:
        with _open_place(folder, study, dry_run=dry_run) as place:
            yield place / CACHE


def _name_kept(
    source: _Source, folder: Path, place: Path, study: StoredStudy | None, *, dry_run: bool
) -> Path:
    """Where what an interrupted init has done of the cache is: in the study, or beside a new one.

    Of a pool that goes away with the folder of its cache, nothing is of use.
    """
    new = study is None and source.place is None and not dry_run
    return atomic.name_unfinished(folder if new else place)


def _open_before(pool: Pool, study: StoredStudy, source: _Source) -> Pool:
    """The pool as the study reads it so far, with the ids that its conversion keeps as text."""
    schema, files = study.schema, pool.files
    if source.converted:
        judge = study.pool.get(GRADED_BY)
        path = Conversion(source.name, study.folder, schema.id, judge).find()
        files = Files(str(path), source.joined, source.later) if path else files
    return Pool(pool.uri, schema, files)


def _check_same_pool(pool: Pool, study: StoredStudy, place: Path, rows: int) -> None:
    """Raises PoolChanged where the pool is not the study's.

    rows  that it has as it is read now: raises ChoiceError where another judge graded other items
    """
    if rows != study.ledger.rows and pool.rows == study.ledger.rows:
        raise ChoiceError(
            f"this judge graded {rows:,} items, and the study has {study.ledger.rows:,}",
            "start another study: `Study.create(pool, folder)`",
        )
    cache.ensure_cache(pool, place, expected=study.ledger.fingerprint)


def _build_cache(
    pool: Pool, place: Path, study: StoredStudy | None, about: Provenance, kept: Path
) -> Cache:
    """The cache of the pool, with the auxiliary data of past and coming rounds.

    study  None where nothing of it is known yet, or its columns change
    kept   where what an interrupted build of it has done is

    Raises PoolChanged where it is not the study's, or where coming rounds would see other values
    than past ones; PoolError and ChoiceError for auxiliary files.
    """
    if study is None:
        afresh = replace(about, entries={}, past=frozenset())
        return afresh.attach(cache.build_cache(pool, place, kept=kept), pool)
    built = about.attach(cache.ensure_cache(pool, place, expected=study.ledger.fingerprint), pool)
    about.check_unchanged(built)
    built.reopen = partial(_build_cache, pool, place, study, about, kept)
    return built


def _change(
    study: StoredStudy,
    entries: dict[str, Any],
    choices: Choices,
    seed: int | None,
    built: Cache,
    revision: int,
    source: _Source,
) -> None:
    """Change a study; the copy that it keeps of its pool comes first."""
    with raising_storage_errors(study.folder):
        if source.frame:
            keep_frame(source.frame, study.folder)
        elif source.place:
            keep_conversion(source.place, study.folder)
    seed = study.seed if seed is None else seed
    if (seed, built.fingerprint) == (study.seed, study.ledger.fingerprint):
        study.update(choices, entries)
    else:
        study.restart(choices, entries, seed=seed, fingerprint=built.fingerprint, revision=revision)
