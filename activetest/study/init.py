"""Create a study: look at the pool, then create the study or change its choices."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from activetest import atomic
from activetest.cache import auxiliary, cache
from activetest.cache.cache import Cache
from activetest.errors import StudyError
from activetest.nouns.choices import NO_QUESTION, Choices, Task
from activetest.pool import convert
from activetest.pool.costs import read_costs
from activetest.pool.frames import check_row_numbers
from activetest.pool.groups import PREDICTED
from activetest.pool.notices import describe_pool
from activetest.pool.pool import Pool
from activetest.sampling.between_groups import resolve_compared_groups
from activetest.sampling.settings import Settings, read_settings
from activetest.study import provenance
from activetest.study.config import parse_schema
from activetest.study.folder import CACHE, CONFIG, FOLDER, LEDGER, raising_storage_errors
from activetest.study.frames import (
    NAME,
    UNFINISHED,
    SavedFrame,
    is_address,
    keep_frame,
    remove_unused,
    saving_frame,
)
from activetest.study.results import Setup
from activetest.study.settings import (
    check_columns,
    check_features,
    check_seed,
    choose_choices,
    describe_priors,
    kept_columns,
)
from activetest.study.stored import StoredStudy

# The setting and the key in study.toml of every auxiliary file.
_STORED = {"train": "train", "other_models": "surrogates"}


@dataclass(frozen=True)
class _Source:
    """Where the pool comes from.

    path   of Parquet files, which can be read
    name   in messages: the address as given
    frame  the same file, where the pool is a frame that the study keeps
    """

    path: str
    name: str
    frame: SavedFrame | None = None


def init(
    given_pool: Any = None,
    study_folder: str | Path | None = None,
    *,
    dry_run: bool = False,
    **settings: Any,
) -> Setup:
    """Create a study of a pool, or change the choices of the study that is there.

    given_pool    address of the pool, or a frame, which is copied into the study; None for the pool
                  of the study at hand
    study_folder  default: the environment variable ACTIVETEST_STUDY, else `.activetest`; without a
                  pool, that of the nearest folder above this one
    dry_run       check everything and write nothing
    settings      by the names of activetest.nouns.choices: columns (id, outputs, features, groups,
                  task, positive, threshold, classes), choices (metric, floor, question ...), seed,
                  and the files costs, train and other_models. None leaves a setting to convention
                  or, in a study, as it is; an empty text forgets train or other_models. compare is
                  text "A,B" or two values.

    With a question about groups and no groups, these are the predicted classes. Labels and past
    rounds are never touched: after the first draw, seed, id, outputs, classes and threshold stay.
    Raises PoolError for a pool or file that cannot serve, PoolChanged when the study is of another
    pool or its rounds saw other features, ChoiceError for a setting that makes no sense, StudyError
    where there is no study and no pool is given, StorageError when the study cannot be written.
    """
    given = read_settings(settings)
    study: StoredStudy | None
    if given_pool is None:
        study = StoredStudy.open(study_folder)
        study.check_pool_is_there()
        folder, given_pool = study.folder, study.uri
    else:
        folder, study = _find_folder(study_folder or os.environ.get("ACTIVETEST_STUDY") or FOLDER)
    # Whatever is recorded from here on may rest on what is about to change.
    revision = study.ledger.record().revision if study else 0
    check_seed(given.seed, study)
    # Ids of a converted pool stay text, also when only the study knows which column they are.
    id = given.columns.get("id") or (study.pool.get("id") if study else None)
    with _open_source(given_pool, study, folder, id=id, dry_run=dry_run) as source:
        pool = _open_pool(source, study, given)
        if source.frame and not pool.schema.id:
            check_row_numbers(given_pool)
        check_features(pool, study)
        columns_change = study is not None and check_columns(pool.schema, study)
        chosen = dict(given.choices)
        if given.costs is not None:
            chosen["costs"] = read_costs(given.costs, pool.schema.classes)
        if given.compare is not None:
            chosen["compare"] = given.compare
        choices = choose_choices(pool, study, chosen)
        outcome = "checked" if dry_run else "updated" if study else "created"
        files = _auxiliary_files(study, given.files)
        named = {_STORED[name] for name, value in given.files.items() if value is not None}
        with _cache_folder(folder, dry_run=dry_run, fresh=study is None) as place:
            if study and columns_change:
                _check_same_pool(pool, study, place)
            built = _build_cache(
                pool, place, None if columns_change else study, choices.surrogate, files, named
            )
            choices = resolve_compared_groups(choices, built, given.compare)
            notices = pool.notices + built.notices + describe_priors(choices, pool)
            notices += auxiliary.check_unused_files(built, pool, **given.files)
            notices += provenance.describe_unavailable(built)
            if not dry_run:
                address = source.frame.address if source.frame else _keep_converted(source)
                entries = _pool_entries(address, pool, built, files, study, named)
                study = _store(
                    study, folder, entries, choices, given.seed, built, revision, source.frame
                )
                if source.frame:
                    address = study.uri
                elif address != source.name:
                    notices += (f"{source.name} was converted to {address}, which the study reads",)
    return Setup(
        outcome=outcome,
        folder=folder,
        uri=source.name if dry_run else address,
        rows=pool.rows,
        schema=pool.schema,
        choices=choices,
        seed=study.seed if study and not (dry_run and given.seed is not None) else given.seed,
        fingerprint=built.fingerprint,
        notices=notices,
    )


def describe_setup(study: StoredStudy) -> Setup:
    """What init would say of a study that is there.

    Raises PoolChanged when its pool has changed.
    """
    built = study.cache()
    pool = study.open_pool()
    found = describe_pool(pool.schema, pool.files.schema, pool.rows)
    notices = found + built.notices + describe_priors(study.choices, pool)
    return Setup(
        outcome="opened",
        folder=study.folder,
        uri=study.uri,
        rows=pool.rows,
        schema=pool.schema,
        choices=study.choices,
        seed=study.seed,
        fingerprint=built.fingerprint,
        notices=(*notices, *provenance.describe_unavailable(built)),
    )


@contextmanager
def _open_source(
    given: Any, study: StoredStudy | None, folder: Path, *, id: str | None, dry_run: bool
) -> Iterator[_Source]:
    """The pool as Parquet; what is written for that goes away unless it is kept.

    id  a column that stays text where the pool is converted
    """
    if is_address(given):
        # What is stored opens without this user's home folder.
        address = os.path.expanduser(str(given))
        with convert.open_as_parquet(address, id=id, elsewhere=dry_run) as path:
            yield _Source(path, address)
        return
    if study and not dry_run:
        remove_unused(folder, study.pool["uri"])
    writing = _all_or_nothing(folder) if study is None and not dry_run else nullcontext()
    saving = saving_frame(given, folder, dry_run=dry_run)
    with writing, raising_storage_errors(folder), saving as saved:
        yield _Source(str(saved.path), NAME, saved)


def _open_pool(source: _Source, study: StoredStudy | None, given: Settings) -> Pool:
    """The pool; by the predicted classes where it has to be grouped and no group is named."""
    path, name = source.path, source.name
    columns = given.columns | kept_columns(path, study, given.columns, name=name)
    pool = Pool.open(path, **columns, name=name, suggest=study is None)
    question = given.choices.get("question") or (study and study.choices.question)
    grouped = question not in (None, NO_QUESTION)
    if grouped and not pool.schema.groups and pool.schema.task == Task.CLASSIFICATION:
        columns |= {"groups": (PREDICTED,)}
        return Pool.open(path, **columns, name=name, suggest=study is None)
    return pool


def _find_folder(folder: str | Path) -> tuple[Path, StoredStudy | None]:
    """The study folder, and the study in it.

    Raises StudyError for a folder with something else in it.
    """
    folder = Path(folder)
    if (folder / FOLDER / CONFIG).is_file():
        folder = folder / FOLDER
    if (folder / CONFIG).is_file():
        return folder, StoredStudy.open(folder)
    if folder.exists() and (
        not folder.is_dir() or any(not _is_unfinished(part.name) for part in folder.iterdir())
    ):
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
    return folder, None


def _is_unfinished(name: str) -> bool:
    """Whether an init that was killed leaves something of this name in the study folder."""
    return name == CACHE or name.startswith((f".{CACHE}-", UNFINISHED))


def _auxiliary_files(
    study: StoredStudy | None, given: Mapping[str, str | None]
) -> dict[str, str | None]:
    """{key in study.toml: address} of the auxiliary files: those given, else the study's."""
    stored = study.addresses if study else {}
    found = {_STORED[name]: value for name, value in given.items()}
    return {
        key: (stored.get(key) if value is None else value) or None for key, value in found.items()
    }


@contextmanager
def _cache_folder(folder: Path, *, dry_run: bool, fresh: bool) -> Iterator[Path]:
    """Where the cache is built: in the study, or in a folder that goes away."""
    if dry_run:
        temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        with temporary as place, raising_storage_errors(Path(place)):
            yield Path(place) / CACHE
    elif fresh:
        with _all_or_nothing(folder):
            yield folder / CACHE
    else:
        with raising_storage_errors(folder):
            yield folder / CACHE


def _check_same_pool(pool: Pool, study: StoredStudy, place: Path) -> None:
    """Raises PoolChanged where the pool is not the study's, read as the study reads it so far."""
    before = Pool(pool.uri, parse_schema(study.pool), pool.files)
    cache.ensure_cache(before, place, expected=study.ledger.fingerprint)


def _build_cache(
    pool: Pool,
    place: Path,
    study: StoredStudy | None,
    surrogate: str,
    files: Mapping[str, str | None],
    named: set[str],
) -> Cache:
    """The cache of the pool, with the auxiliary data of past and coming rounds.

    Raises PoolChanged where it is not the study's, or where coming rounds would see other values
    than past ones; PoolError and ChoiceError for auxiliary files.
    """
    if study is None:
        built = cache.build_cache(pool, place)
        return auxiliary.attach_auxiliary(
            built,
            pool,
            {surrogate},
            train=files[_STORED["train"]],
            other_models=files[_STORED["other_models"]],
        )
    built = cache.ensure_cache(pool, place, expected=study.ledger.fingerprint)
    built = study.attach_auxiliary(built, pool, surrogate=surrogate, files=files, changed=named)
    study.check_auxiliary(built, surrogate)
    return built


def _pool_entries(
    address: str,
    pool: Pool,
    built: Cache,
    files: Mapping[str, str | None],
    study: StoredStudy | None,
    named: set[str],
) -> dict[str, Any]:
    """[pool] of study.toml."""
    before = study.pool if study else {}
    past = study.ledger.surrogates() if study else set()
    found = provenance.choose_fingerprints(built, before, changed=named, past=past)
    kept = {key: value for key, value in {**files, **found}.items() if value is not None}
    return {"uri": address} | kept | pool.schema.to_dict()


def _store(
    study: StoredStudy | None,
    folder: Path,
    entries: dict[str, Any],
    choices: Choices,
    seed: int | None,
    built: Cache,
    revision: int,
    frame: SavedFrame | None,
) -> StoredStudy:
    """The study as it is now: created, or changed."""
    if study is None:
        return StoredStudy.create(
            folder,
            pool=entries,
            choices=choices,
            seed=secrets.randbits(32) if seed is None else seed,
            fingerprint=built.fingerprint,
            rows=built.size,
            frame=frame.path if frame else None,
        )
    if frame:
        with raising_storage_errors(folder):
            keep_frame(frame.path, folder)
    seed = study.seed if seed is None else seed
    if (seed, built.fingerprint) == (study.seed, study.ledger.fingerprint):
        study.update(choices, entries)
        return study
    study.restart(choices, entries, seed=seed, fingerprint=built.fingerprint, revision=revision)
    return study


def _keep_converted(source: _Source) -> str:
    """Where the pool stays: a converted file moves beside its source."""
    if source.path == source.name:
        return source.name
    target = convert.converted_path(source.name)
    remedy = "copy the pool to a folder that you may write to"
    with raising_storage_errors(Path(target), remedy=remedy):
        atomic.move_file(Path(source.path), Path(target))
        atomic.sync_folder(Path(target).parent)
    return target


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[None]:
    """Leaves no folder behind when there was none and the block fails.

    A study that another program has created in it meanwhile stays.
    """
    fresh = not folder.exists()
    try:
        with raising_storage_errors(folder):
            yield
    except BaseException:
        if fresh and not (folder / CONFIG).exists():
            shutil.rmtree(folder / CACHE, ignore_errors=True)
            with suppress(OSError):
                folder.rmdir()
        raise
