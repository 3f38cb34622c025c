"""Runs of a simulation, kept in a file while they are made: JSON Lines.

The first line says which simulation it is, and every other one is a run that was finished. What a
killed program left of a last line is taken off again.
"""

import errno
import hashlib
import json
import math
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import BinaryIO

from activetest import __version__
from activetest.errors import ChoiceError, StorageError
from activetest.nouns.rows import Array

try:
    import fcntl
except ImportError:  # Windows has none: two commands with one file are then not noticed.
    fcntl = None

# A strategy's place in the plan, and the run's number.
RunKey = tuple[int, int]
# {(estimator, metric, budget): numbers}
Found = dict[tuple[str, str, int], tuple[float, ...]]
# Estimate, lower, upper and labels; and what JSON has no number for.
_NUMBERS = 4
_NOT_FINITE = ("nan", "inf", "-inf")


class SavedRuns:
    """The finished runs of one simulation, and where more are written.

    runs   {(strategy, run): what was found}

    Raises ChoiceError where the file holds another simulation, or something else, or another
    command writes to it; StorageError where it cannot be read or written.
    """

    def __init__(self, path: str | Path, header: dict):
        self.path = Path(path)
        try:
            # Nothing is cut off before it is known what the file holds.
            self._file = open(self.path, "a+b")
            try:
                self._lock()
                self.runs: dict[RunKey, Found] = self._begun(header)
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            raise StorageError(
                f"cannot keep runs in {self.path}: {error.strerror or error}", "--save another file"
            ) from error

    def add(self, task: RunKey, found: Found) -> None:
        """Write one more run down."""
        strategy, run = task
        rows = [[*what, *map(_plain, numbers)] for what, numbers in found.items()]
        self._write({"strategy": strategy, "run": run, "found": rows})

    def __enter__(self) -> "SavedRuns":
        return self

    def __exit__(self, *error) -> None:
        self._file.close()

    def _lock(self) -> None:
        """Until the file is closed, by whatever end the program comes to."""
        if fcntl and not _locked(self._file):
            raise ChoiceError(
                f"another command is keeping runs in {self.path}",
                "wait until it ends, or --save another file",
            )

    def _begun(self, header: dict) -> dict[RunKey, Found]:
        """The runs that the file holds, which is then ready for more."""
        whole, lines = self._lines()
        if lines:
            self._check(header, _parsed(lines[0]))
        runs = dict(map(self._run, range(2, len(lines) + 1), lines[1:]))
        self._file.truncate(whole)
        if not lines:
            self._write(header)
        return runs

    def _write(self, content: dict) -> None:
        self._file.write(json.dumps(content, allow_nan=False).encode() + b"\n")
        # Whoever kills the program kills what it has not handed over.
        self._file.flush()

    def _lines(self) -> tuple[int, list[bytes]]:
        """Length of the whole lines, and these; the last one may be torn."""
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        if content and not whole and not content.startswith(b'{"activetest"'[: len(content)]):
            raise self._stranger()
        return whole, content[:whole].splitlines()

    def _check(self, header: dict, found) -> None:
        if not isinstance(found, dict) or "activetest" not in found:
            raise self._stranger()
        other = [name for name, value in header.items() if found.get(name) != value]
        if other:
            raise ChoiceError(
                f"{self.path} holds another simulation: it differs in {', '.join(other)}",
                "--save another file, or repeat the command it was made with",
            )

    def _run(self, number: int, line: bytes) -> tuple[RunKey, Found]:
        content = _parsed(line)
        if not _is_run(content):
            raise ChoiceError(
                f"{self.path}, line {number}, is not a run of a simulation",
                "delete that line: its run is made again",
            )
        found = {
            (estimator, metric, budget): tuple(map(float, numbers))
            for estimator, metric, budget, *numbers in content["found"]
        }
        return (content["strategy"], content["run"]), found

    def _stranger(self) -> ChoiceError:
        return ChoiceError(f"{self.path} is not a saved simulation", "--save another file")


def header(plan, made, truth: Array) -> dict:
    """What makes a simulation this one: the program, the pool, its answer key and the plan.

    Everything that methods see of the pool counts, so any change of its columns is noticed.
    """
    seen = hashlib.sha256(json.dumps(made.roles, sort_keys=True).encode())
    for path in sorted(made.folder.rglob("*.npy")):
        with open(path, "rb") as file:
            seen.update(path.name.encode() + hashlib.file_digest(file, "sha256").digest())
    # What JSON makes of the plan is what is read again.
    fields = json.loads(json.dumps(asdict(plan)))
    return {
        "activetest": __version__,
        "program": _program(),
        "pool": seen.hexdigest(),
        "key": hashlib.sha256(truth.astype("<f8").tobytes()).hexdigest(),
        **fields,
    }


@cache
def _program() -> str:
    """The code that runs: other code makes other runs, whatever the version says."""
    return hashed(Path(__file__).parents[1])


def hashed(package: Path) -> str:
    """Hash of the names and contents of a package's code, but not of what made the sample data."""
    seen = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] != "sample_data":
            content = hashlib.sha256(path.read_bytes()).digest()
            seen.update(name.as_posix().encode() + b"\0" + content)
    return seen.hexdigest()


def _parsed(line: bytes):
    """What the line says; None where it is no JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _is_run(content) -> bool:
    """Whether it is what SavedRuns.add writes."""
    if not isinstance(content, dict) or set(content) != {"strategy", "run", "found"}:
        return False
    rows = content["found"]
    whole = all(_is_count(content[name]) for name in ("strategy", "run"))
    return whole and isinstance(rows, list) and all(map(_is_row, rows))


def _is_row(row) -> bool:
    """Whether it is an estimator, a metric, a budget, and the numbers found."""
    if not isinstance(row, list) or len(row) != 3 + _NUMBERS:
        return False
    estimator, metric, budget, *numbers = row
    names = isinstance(estimator, str) and isinstance(metric, str)
    return names and _is_count(budget) and all(map(_is_number, numbers))


def _is_count(value) -> bool:
    return type(value) is int and value >= 0


def _is_number(value) -> bool:
    """Whether it is what _plain writes."""
    return (type(value) is float and math.isfinite(value)) or value in _NOT_FINITE


def _locked(file: BinaryIO) -> bool:
    """Whether the file is this program's own; also where its file system knows no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise
    return True


def _plain(number: float) -> float | str:
    """JSON has no word for numbers that are not finite."""
    number = float(number)
    return number if math.isfinite(number) else str(number)
