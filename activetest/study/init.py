"""activetest init: look at the pool, then create the study or change its choices."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from activetest.cache import auxiliary, cache
from activetest.cache.cache import Cache
from activetest.errors import StudyError
from activetest.nouns.choices import Choices
from activetest.pool import convert
from activetest.pool.costs import read as read_costs
from activetest.pool.groups import PREDICTED
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema
from activetest.sampling.between_groups import fitted
from activetest.sampling.question import NONE, told
from activetest.study import provenance
from activetest.study.settings import check_features, check_seed, kept, priors_note
from activetest.study.settings import choices as chosen
from activetest.study.study import FOLDER, Study, storing

_CACHE = "cache"


@dataclass(frozen=True)
class Initialised:
    """What init did.

    outcome      "created", "updated" (the study was there already) or "checked" (a dry run)
    folder       of the study
    uri          the pool that the study reads
    rows         number of items
    schema       the role of every column
    choices      for the rounds to come
    seed         of every random number; None when a dry run left it open
    fingerprint  of the pool
    notices      plain sentences: what was understood, ignored and put right
    """

    outcome: str
    folder: Path
    uri: str
    rows: int
    schema: Schema
    choices: Choices
    seed: int | None
    fingerprint: str
    notices: tuple[str, ...]


def init(
    pool_uri,
    *,
    study_folder=None,
    dry_run: bool = False,
    seed: int | None = None,
    metric: tuple[str, ...] | str | None = None,
    surrogate: str | None = None,
    acquisition: str | None = None,
    floor: float | None = None,
    level: float | None = None,
    budget: int | None = None,
    costs: str | None = None,
    annotators: str | None = None,
    interval: str | None = None,
    refit: str | None = None,
    selection: str | None = None,
    power: float | None = None,
    task: str | tuple[str, ...] | None = None,
    worst: int | None = None,
    compare: str | None = None,
    prior: str | None = None,
    strength: float | None = None,
    rope: float | None = None,
    train: str | None = None,
    surrogates: str | None = None,
    **columns,
) -> Initialised:
    """Create a study of a pool, or change the choices of the study that is there.

    columns are the wishes of Pool.open (id, outputs, features, groups, positive, threshold,
    classes); None leaves them to convention or, in a study, as they are. task says what the pool
    predicts, what is asked of its groups, or both: see choices_task.told; compare is the text A,B.
    With a task and no groups these are the predicted classes. train and surrogates are
    files beside the pool, see supplements; an empty text forgets the one there is. Labels and past
    rounds are never touched. Raises PoolError for a pool or file that cannot serve, PoolChanged
    when the study is of another one or its rounds knew other features, ChoiceError for a choice
    that makes no sense, StorageError when the study cannot be written.
    """
    folder, study = _where(study_folder or os.environ.get("ACTIVETEST_STUDY") or FOLDER)
    check_seed(seed, study)
    of_pool, asked = told(task)
    columns = {key: value for key, value in columns.items() if value is not None}
    columns |= {"task": of_pool} if of_pool else {}
    wanted = {"metric": metric, "surrogate": surrogate, "acquisition": acquisition, "floor": floor}
    wanted |= {"level": level, "budget": budget, "annotators": annotators}
    wanted |= {"interval": interval, "refit": refit, "selection": selection, "power": power}
    wanted |= {"task": asked, "worst": worst, "compare": compare, "prior": prior}
    wanted |= {"strength": strength, "rope": rope}
    named = {"train": train and str(train), "surrogates": surrogates and str(surrogates)}
    beside = _beside(study, named)
    renamed = {key for key, given in named.items() if given is not None}
    source = str(pool_uri)
    # Ids of a converted pool stay text, also when only the study knows which column they are.
    id = columns.get("id") or (study.pool.get("id") if study else None)
    with convert.as_parquet(source, id=id, elsewhere=dry_run) as path:
        asking = (asked or (study and study.choices.task)) not in (None, NONE)
        pool = _opened(path, kept(path, study, columns) | columns, grouped=asking)
        pool.uri = source
        check_features(pool, study)
        if costs is not None:
            wanted["costs"] = read_costs(costs, pool.schema.classes)
        choices = chosen(
            pool, study, {key: value for key, value in wanted.items() if value is not None}
        )
        outcome = "checked" if dry_run else "updated" if study else "created"
        with _room(folder, dry_run=dry_run, fresh=study is None) as room:
            made = _looked(pool, room, study, choices.surrogate, beside, renamed)
            choices = fitted(choices, made, compare)
            waiting = auxiliary.inspected(made, pool, **named)
            changed = provenance.lasting(made)
            if not dry_run:
                source = _settled(source, path)
                entries = _entries(source, pool, made, beside, study, renamed)
                study = _stored(study, folder, entries, choices, seed, made)
    said = (
        (f"{pool_uri} was converted to {source}, which the study reads",)
        if source != str(pool_uri)
        else ()
    )
    return Initialised(
        outcome,
        folder,
        source,
        pool.rows,
        pool.schema,
        choices,
        study.seed if study else seed,
        made.fingerprint,
        pool.notices + made.notices + priors_note(choices, pool) + waiting + changed + said,
    )


def _opened(path: str, columns: dict, *, grouped: bool) -> Pool:
    """The pool; by the predicted classes where it has to be grouped and nothing else is said."""
    pool = Pool.open(path, **columns)
    if grouped and not pool.schema.groups and pool.schema.task == "classification":
        return Pool.open(path, **columns | {"groups": (PREDICTED,)})
    return pool


def _where(folder) -> tuple[Path, Study | None]:
    """The study folder, and the study in it.

    Raises StudyError for a folder with something else in it.
    """
    folder = Path(folder)
    if (folder / FOLDER / "study.toml").is_file():
        folder = folder / FOLDER
    if (folder / "study.toml").is_file():
        return folder, Study.open(folder)
    if folder.exists() and (
        not folder.is_dir() or any(not _unfinished(part.name) for part in folder.iterdir())
    ):
        if (folder / "ledger.db").is_file():
            raise StudyError(
                f"{folder} is a study without its study.toml",
                hint="restore study.toml from a backup: ledger.db beside it holds every label",
            )
        raise StudyError(
            f"{folder} is there already and is no study",
            hint="choose a new folder"
            + (f", for example --study {folder / FOLDER}" if folder.is_dir() else ""),
        )
    return folder, None


def _unfinished(name: str) -> bool:
    """Whether an init that was killed leaves something of this name in the study folder."""
    return name == _CACHE or name.startswith(f".{_CACHE}-")


def _beside(study: Study | None, named: dict) -> dict:
    """Addresses of the files beside the pool: those named, else the study's."""
    settled = study.addresses if study else {}
    found = {key: settled.get(key) if given is None else given for key, given in named.items()}
    return {key: address or None for key, address in found.items()}


@contextmanager
def _room(folder: Path, *, dry_run: bool, fresh: bool) -> Iterator[Path]:
    """Where the cache is made: in the study, or in a folder that goes away."""
    if dry_run:
        with tempfile.TemporaryDirectory() as room, storing(Path(room)):
            yield Path(room) / _CACHE
    elif fresh:
        with _all_or_nothing(folder):
            yield folder / _CACHE
    else:
        with storing(folder):
            yield folder / _CACHE


def _looked(
    pool: Pool, at: Path, study: Study | None, surrogate: str, beside: dict, renamed: set[str]
) -> Cache:
    """The cache of the pool, equipped for past and coming rounds.

    Raises PoolChanged where it is not the study's, or where coming rounds would see what past ones
    saw otherwise; PoolError and ChoiceError for files beside it.
    """
    if study is None:
        return auxiliary.attach_auxiliary(cache.build(pool, at), pool, {surrogate}, **beside)
    made = cache.current(pool, at, expected=study.ledger.fingerprint)
    made = study.attach_auxiliary(made, pool, coming=surrogate, beside=beside, renamed=renamed)
    study.check_coming(made, surrogate)
    return made


def _entries(
    source: str, pool: Pool, made: Cache, beside: dict, study: Study | None, renamed: set[str]
) -> dict:
    """[pool] of study.toml."""
    then = study.pool if study else {}
    past = study.ledger.surrogates() if study else set()
    found = provenance.fingerprints(made, then, renamed=renamed, past=past)
    named = {key: value for key, value in (beside | found).items() if value is not None}
    return {"uri": source} | named | pool.schema.to_dict()


def _stored(
    study: Study | None, folder: Path, entries: dict, choices: Choices, seed: int | None, made
) -> Study:
    """The study as it is now: created, or changed."""
    if study:
        study.update(choices, entries)
        return study
    return Study.create(
        folder,
        pool=entries,
        choices=choices,
        seed=secrets.randbits(32) if seed is None else seed,
        fingerprint=made.fingerprint,
        rows=made.size,
    )


def _settled(source: str, path: str) -> str:
    """Where the pool stays: a converted file moves beside its source."""
    if path == source:
        return source
    target = convert.beside(source)
    with storing(Path(target)):
        os.replace(path, target)
    return target


@contextmanager
def _all_or_nothing(folder: Path) -> Iterator[None]:
    """Leaves no folder behind when there was none and the block fails.

    Unless somebody else made a study of it meanwhile.
    """
    fresh = not folder.exists()
    try:
        with storing(folder):
            yield
    except BaseException:
        if fresh and not (folder / "study.toml").exists():
            shutil.rmtree(folder, ignore_errors=True)
        raise
