"""Is everything in a study as it was written? Each part is checked, and what is wrong named."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from activetest.errors import ActivetestError, ChoiceError, StudyError
from activetest.study.folder import CACHE, CONFIG, CONVERSION, LEDGER, SUMMARY
from activetest.system.safe_text import escape_controls

if TYPE_CHECKING:
    from activetest.ledger.contents import Contents
    from activetest.ledger.tables import StoredModel

# Digits of a hash that name an entry of the chain.
_FEWEST_DIGITS = 8


@dataclass(frozen=True)
class Check:
    """One part of a study: what was found, and what is wrong with it."""

    part: str
    found: str
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A line for the part, or one for each problem."""
        return self.write()

    def write(self, width: int = 10) -> str:
        """The same, with texts behind a column of this width."""
        texts = [f"damaged: {problem}" for problem in self.problems] or [self.found]
        return "\n".join(f"{self.part:<{width}} {escape_controls(text)}" for text in texts)


@dataclass(frozen=True)
class Verification:
    """The parts of a study, each checked.

    head    hash of the last entry of the ledger's chain, which covers everything before it; None
            where the ledger cannot be read
    checks  of the ledger, the files of rounds, study.toml, the cache, the conversion of a pool that
            is not Parquet, the summary of the pool, the pool, the probabilities of the draws, and
            the outputs of further models
    """

    head: str | None
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is damaged.

        >>> study.verify().passed
        True
        """
        return not any(check.problems for check in self.checks)

    def __str__(self) -> str:
        """A line for each part, and the head of the chain."""
        width = max(10, *(len(check.part) for check in self.checks))
        lines = [check.write(width) for check in self.checks]
        return "\n".join([*lines, f"{'head':<{width}} {self.head}"] if self.head else lines)

    def __repr__(self) -> str:
        """One line."""
        damaged = [check.part for check in self.checks if check.problems]
        return f"<Verification: {'damaged: ' + ', '.join(damaged) if damaged else 'ok'}>"


def verify(folder: Path, *, contains: str | None = None) -> Verification:
    """Check everything that is stored in a study's folder, and the pool. Repairs nothing.

    contains  a hash of the chain that was noted down earlier, or its first 8 digits or more

    Raises ChoiceError for what is no such hash, StudyError for a study of a version before 0.3 or
    of a newer one.
    """
    if contains is not None:
        contains = contains.strip().lower()
        if len(contains) < _FEWEST_DIGITS or set(contains) - set("0123456789abcdef"):
            raise ChoiceError(
                f"`contains={contains!r}` is no hash of the chain",
                f"give at least {_FEWEST_DIGITS} of its hexadecimal digits",
            )
    from activetest.ledger.arrays import list_files
    from activetest.ledger.inspection import inspect_ledger

    ledger = inspect_ledger(folder / LEDGER)
    hashes = [entry.hash.hex() for entry in ledger.contents.entries] if ledger.contents else []
    found = _count_contents(ledger.contents) if ledger.contents else ""
    checks = [Check("ledger", found, ledger.problems)]
    if ledger.contents:
        names = {each.arrays for each in ledger.contents.rounds if each.arrays}
        files = len({file for name in names for file in list_files(name)})
        checks.append(Check("rounds", f"ok: {_count(files, 'file')} of parameters", ledger.files))
    if contains and not any(each.startswith(contains) for each in hashes):
        problem = f"no entry of the chain has the hash {contains}"
        checks.append(Check("chain", "", (f"{problem}: the ledger was another one then",)))
    elif contains:
        checks.append(Check("chain", f"ok: {contains} is in it"))
    checks.append(_check(CONFIG, folder, _read_config))
    checks.append(_check_cache(folder))
    place = folder / CONVERSION
    if place.is_dir() and not place.is_symlink():
        checks.append(_check(CONVERSION, folder, _read_conversion))
    remedy = "; remove it, and the next command that reads the pool writes it again"
    checks.append(_check("summary", folder, _read_summary, remedy))
    checks.append(
        Check("pool", "not compared: the ledger says which pool it was")
        if ledger.problems
        else _check("pool", folder, _read_pool)
    )
    if ledger.contents and ledger.contents.draws and not ledger.problems:
        checks.append(_check("draws", folder, _read_draws))
    models = ledger.contents.models[1:] if ledger.contents and not ledger.problems else []
    checks += [_check(f"model {each.name}", folder, partial(_read_model, each)) for each in models]
    return Verification(hashes[-1] if hashes else None, tuple(checks))


def _count_contents(contents: "Contents") -> str:
    """Contents of a ledger, in numbers."""
    counts = (
        _count(len(contents.rounds), "round"),
        _count(len(contents.draws), "draw"),
        _count(len(contents.answers), "answer"),
        _count(len(contents.entries), "entry", "entries") + " in the chain",
    )
    return f"ok: {', '.join(counts)}"


def _count(number: int, kind: str, plural: str | None = None) -> str:
    return f"{number:,} {kind if number == 1 else plural or f'{kind}s'}"


def _check(part: str, folder: Path, read: Callable[[Path], str], remedy: str = "") -> Check:
    """Result of reading a part; an error is its problem, behind which the remedy stands."""
    try:
        return Check(part, read(folder))
    except ActivetestError as error:
        return Check(part, "", (error.problem + remedy,))
    except OSError as error:
        return Check(part, "", (str(error) + remedy,))


def _read_config(folder: Path) -> str:
    from activetest.study.config import read_config

    read_config(folder)
    return "ok"


def _check_cache(folder: Path) -> Check:
    from activetest.cache.cache import list_damage

    damaged = list_damage(folder / CACHE)
    kept = "it is built again from the pool when it is needed"
    problems = tuple(f"{name}; {kept}" for name in damaged or ())
    return Check("cache", "none: the next command builds it" if damaged is None else "ok", problems)


def _read_conversion(folder: Path) -> str:
    """The conversion of a pool, in studies that have one."""
    from activetest.study.conversion import find_damage

    if damage := find_damage(folder):
        raise StudyError(f"{damage}; it is made again from the pool when it is needed", "")
    there = any((folder / CONVERSION).glob("*.parquet"))
    return "ok" if there else "none: the next command makes it"


def _read_summary(folder: Path) -> str:
    """State of what the study keeps of the pool, for reports without it."""
    from activetest.cache.summary import check_summary

    try:
        found = check_summary(folder / SUMMARY)
    except FileNotFoundError:
        return "none: the next command that reads the pool writes it"
    return f"ok: {found.rows:,} items, kept on {found.date[:10]}"


def _read_model(model: "StoredModel", folder: Path) -> str:
    """Whether the outputs of a further model are those that were added."""
    from activetest.cache.build import compute_fingerprint
    from activetest.pool.files import Files
    from activetest.pool.joined import check_pages
    from activetest.pool.pool import Pool
    from activetest.study.stored import StoredStudy

    study = StoredStudy.open(folder).of_model(model.name)
    study.check_pool_is_there()
    check_pages(Path(study.uri))
    now, _ = compute_fingerprint(Pool(study.uri, study.schema, Files(study.uri)))
    if now != model.fingerprint:
        raise StudyError(f"{study.uri} has other ids or outputs than were added", "")
    return f"ok: the outputs of this model, fingerprint {now}"


def _read_draws(folder: Path) -> str:
    """How far the probabilities of the rounds account for the pool."""
    from activetest.cache.cache import open_cache
    from activetest.estimation.accounting import account_for_pool
    from activetest.study.stored import StoredStudy

    study = StoredStudy.open(folder)
    cache = open_cache(study.cache_folder)
    if cache is None:
        return "not compared: the cache says how many items each could be of"
    found = account_for_pool(study.log(cache), study.mark_parts(cache))
    return f"ok: their probabilities account for {found}" if found else "ok: none was by chance"


def _read_pool(folder: Path) -> str:
    """Whether the pool is the one that the study was made for."""
    from activetest.cache.build import compute_fingerprint
    from activetest.study.stored import StoredStudy

    study = StoredStudy.open(folder)
    with study.reading_pool() as pool:
        pool.check()
        now, _ = compute_fingerprint(pool)
    if now != study.ledger.fingerprint:
        problem = f"{study.pool_name} is not the pool this study was made for"
        raise StudyError(f"{problem}: its ids or outputs differ", "")
    return f"ok: {study.ledger.rows:,} items, fingerprint {now}"
