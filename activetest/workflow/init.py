"""activetest init: look at the pool, then create the study or change its choices."""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from activetest import cache, convert
from activetest.cache import Cache
from activetest.choices import checked, metrics_of
from activetest.costs import read as read_costs
from activetest.errors import ChoiceError, StudyError
from activetest.evidence import Choices
from activetest.pool import Pool
from activetest.pool_schema import Schema
from activetest.study import FOLDER, Study, storing

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
    **columns,
) -> Initialised:
    """Create a study of a pool, or change the choices of the study that is there.

    columns are the wishes of Pool.open (id, outputs, features, groups, task, positive, threshold,
    classes); None leaves them to convention or, in a study, as they are. Labels and past rounds are
    never touched. Raises PoolError for a pool that cannot serve, PoolChanged when the study is of
    another one, ChoiceError for a choice that makes no sense, StorageError when the study
    cannot be written.
    """
    folder, study = _where(study_folder or os.environ.get("ACTIVETEST_STUDY") or FOLDER)
    _check_seed(seed, study)
    columns = {key: value for key, value in columns.items() if value is not None}
    wanted = {"metric": metric, "surrogate": surrogate, "acquisition": acquisition, "floor": floor}
    wanted |= {"level": level, "budget": budget, "annotators": annotators}
    wanted |= {"interval": interval}
    source = str(pool_uri)
    # Ids of a converted pool stay text, also when only the study knows which column they are.
    id = columns.get("id") or (study.pool.get("id") if study else None)
    with convert.as_parquet(source, id=id, elsewhere=dry_run) as path:
        pool = Pool.open(path, **_kept(path, study, columns), **columns)
        pool.uri = source
        if costs is not None:
            wanted["costs"] = read_costs(costs, pool.schema.classes)
        choices = _choices(
            pool, study, {key: value for key, value in wanted.items() if value is not None}
        )
        outcome = "checked" if dry_run else "updated" if study else "created"
        if dry_run:
            made = _tried(pool, study)
        elif study:
            made = cache.current(pool, folder / _CACHE, expected=study.ledger.fingerprint)
            source = _settled(source, path)
            study.update(choices, {"uri": source} | pool.schema.to_dict())
        else:
            with _all_or_nothing(folder):
                made = cache.build(pool, folder / _CACHE)
                source = _settled(source, path)
                seed = secrets.randbits(32) if seed is None else seed
                study = Study.create(
                    folder,
                    pool={"uri": source} | pool.schema.to_dict(),
                    choices=choices,
                    seed=seed,
                    fingerprint=made.fingerprint,
                    rows=pool.rows,
                )
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
        pool.notices + made.notices + said,
    )


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


def _check_seed(seed: int | None, study: Study | None) -> None:
    """Raises ChoiceError for a seed that is none, or not the study's."""
    if seed is None:
        return
    if not 0 <= seed < 2**63:
        raise ChoiceError(
            f"--seed {seed} is not between 0 and 2^63 - 1", hint="leave it out for a random one"
        )
    if study and seed != study.seed:
        raise ChoiceError(
            f"the study was made with seed {study.seed}",
            hint="start another study with --study DIR",
        )


def _kept(path: str, study: Study | None, columns: dict) -> dict:
    """What a study has settled about its columns, but for what is wished anew.

    Raises PoolChanged when the pool at path lacks what the study reads.
    """
    if study is None:
        return {}
    schema = Schema.from_dict({key: value for key, value in study.pool.items() if key != "uri"})
    Pool(path, replace(schema, features=(), groups=())).check()
    named = columns.get("groups", schema.groups)
    groups = {
        column
        for group in ([named] if isinstance(named, str) else named)
        for column in group.split("*")
    }
    kept = {
        "id": schema.id,
        "outputs": schema.outputs,
        "features": tuple(name for name in schema.features if name not in groups),
        "groups": schema.groups,
        "task": schema.task,
        "positive": schema.positive,
        "threshold": schema.threshold,
        "classes": None if schema.open_classes else schema.classes or None,
    }
    return {key: value for key, value in kept.items() if key not in columns}


def _choices(pool: Pool, study: Study | None, wanted: dict) -> Choices:
    """The choices given, on top of the study's or the defaults.

    Raises ChoiceError for one that makes no sense.
    """
    roles = {"uri": pool.uri} | pool.schema.to_dict()
    metrics = metrics_of(roles)
    regression = pool.schema.task == "regression"
    default = Choices(
        metric=metrics[0], metrics=metrics, surrogate="residual" if regression else "agreement"
    )
    choices = replace(study.choices if study else default, groups=pool.schema.groups)
    if "metric" in wanted:
        named = wanted["metric"]
        named = (named,) if isinstance(named, str) else tuple(dict.fromkeys(named))
        # What draws aim at is reported, and recorded by rounds, besides the usual metrics.
        wanted |= {"metric": named[0], "also": named[1:]}
        wanted |= {"metrics": tuple(dict.fromkeys((*metrics, *named)))}
    return checked(asdict(choices) | wanted, roles, where="activetest init")


def _tried(pool: Pool, study: Study | None) -> Cache:
    """The cache as it would be, in a folder that goes away.

    Raises PoolChanged as a real run would.
    """
    with tempfile.TemporaryDirectory() as room, storing(Path(room)):
        if study:
            return cache.current(pool, Path(room) / _CACHE, expected=study.ledger.fingerprint)
        return cache.build(pool, Path(room) / _CACHE)


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
