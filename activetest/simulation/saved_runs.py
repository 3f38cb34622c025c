"""Finished runs of a simulation, saved in a file of JSON Lines.

The first line describes the simulation, and every other line is a finished run. An incomplete last
line, which a killed program may leave, is removed.
"""

import hashlib
import json
import math
from dataclasses import asdict
from functools import cache as cached
from pathlib import Path
from typing import Any

from activetest import __version__
from activetest.cache.cache import Cache
from activetest.cache.parts import VOTES
from activetest.errors import ChoiceError, StorageError
from activetest.nouns.rows import Array
from activetest.simulation.design import Plan
from activetest.system import locks

# A strategy's place in the plan, and the run's number.
RunKey = tuple[int, int]
# {(estimator, metric, budget): numbers}
RunNumbers = dict[tuple[str, str, int], tuple[float, ...]]
# How many there are of an estimate or an answer; and what JSON has no number for.
_NUMBERS = (4, 5, 6)
_NOT_FINITE = ("nan", "inf", "-inf")


class SavedRuns:
    """The finished runs of one simulation, and the file to which more are written.

    runs   {(strategy, run): numbers of the run}

    Raises ChoiceError if the file holds another simulation or something else, or another program
    writes to it, and StorageError if it cannot be read or written.
    """

    def __init__(self, path: str | Path, header: dict[str, Any]) -> None:
        self.path = Path(path)
        try:
            # The file is not truncated before its content is checked.
            self._file = open(self.path, "a+b")  # noqa: SIM115, closed by __exit__
            try:
                self._lock()
                self.runs: dict[RunKey, RunNumbers] = self._load(header)
            except BaseException:
                self._file.close()
                raise
        except OSError as error:
            raise StorageError(
                f"cannot keep runs in {self.path}: {error.strerror or error}",
                "choose another file with `save`",
            ) from error

    def add(self, task: RunKey, found: RunNumbers) -> None:
        """Write one more run."""
        strategy, run = task
        rows = [[*what, *map(_to_json_number, numbers)] for what, numbers in found.items()]
        self._write({"strategy": strategy, "run": run, "found": rows})

    def __enter__(self) -> "SavedRuns":
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()

    def _lock(self) -> None:
        """Lock the file until it is closed, however the program ends."""
        # Where there are no locks, two programs that write to the same file are not noticed.
        if locks.try_lock(self._file.fileno()) is False:
            raise ChoiceError(
                f"another program is keeping runs in {self.path}",
                "wait until it ends, or choose another file with `save`",
            )

    def _load(self, header: dict[str, Any]) -> dict[RunKey, RunNumbers]:
        """The runs in the file, which is then ready for more."""
        length, lines = self._read_lines()
        if lines:
            self._check_header(header, _parse_line(lines[0]))
        runs = dict(map(self._read_run, range(2, len(lines) + 1), lines[1:]))
        self._file.truncate(length)
        if not lines:
            self._write(header)
        return runs

    def _write(self, content: dict[str, Any]) -> None:
        self._file.write(json.dumps(content, allow_nan=False).encode() + b"\n")
        # A killed program loses what it has not flushed.
        self._file.flush()

    def _read_lines(self) -> tuple[int, list[bytes]]:
        """Length of the complete lines, and the lines; an incomplete last line is left out."""
        self._file.seek(0)
        content = self._file.read()
        length = content.rfind(b"\n") + 1
        begun = content.startswith(b'{"activetest"'[: len(content)])
        # A line that is whole but for its end was not written here.
        if content and not length and (not begun or _parse_line(content) is not None):
            raise self._reject_file()
        return length, content[:length].splitlines()

    def _check_header(self, header: dict[str, Any], found: Any) -> None:
        if not isinstance(found, dict) or "activetest" not in found:
            raise self._reject_file()
        different = [name for name, value in header.items() if found.get(name) != value]
        if different:
            raise ChoiceError(
                f"{self.path} holds another simulation: it differs in {', '.join(different)}",
                "choose another file with `save`, or repeat the simulation that the file holds",
            )

    def _read_run(self, number: int, line: bytes) -> tuple[RunKey, RunNumbers]:
        match _parse_line(line):
            case {"strategy": strategy, "run": run, "found": list(rows), **others} if (
                not others and _is_count(strategy) and _is_count(run) and all(map(_is_row, rows))
            ):
                return (strategy, run), {
                    (estimator, metric, budget): tuple(map(float, numbers))
                    for estimator, metric, budget, *numbers in rows
                }
        raise ChoiceError(
            f"{self.path}, line {number}, is not a run of a simulation",
            "delete that line: its run is made again",
        )

    def _reject_file(self) -> ChoiceError:
        return ChoiceError(
            f"{self.path} is not a saved simulation", "choose another file with `save`"
        )


def describe_simulation(plan: Plan, cache: Cache, truth: Array) -> dict[str, Any]:
    """Identity of a simulation: the program, the pool, its answer key and the plan.

    The pool's hash covers checksums of all its arrays, so that any change of a column is noticed.
    """
    # Votes follow from the models.
    arrays = {name: each for name, each in cache.describe_arrays().items() if name != VOTES}
    pool = json.dumps([cache.roles, arrays], sort_keys=True)
    # The plan as it will be read from JSON.
    fields = json.loads(json.dumps(asdict(plan)))
    return {
        "activetest": __version__,
        "program": _hash_program(),
        "pool": hashlib.sha256(pool.encode()).hexdigest(),
        "key": hashlib.sha256(truth.astype("<f8").tobytes()).hexdigest(),
        **fields,
    }


@cached
def _hash_program() -> str:
    """Hash of the installed code: changed code makes other runs, whatever its version."""
    return hash_package(Path(__file__).parents[1])


def hash_package(package: Path) -> str:
    """Hash of the names and contents of a package's code, but not of what made the sample data."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] != "sample_data":
            content = hashlib.sha256(path.read_bytes()).digest()
            digest.update(name.as_posix().encode() + b"\0" + content)
    return digest.hexdigest()


def _parse_line(line: bytes) -> Any:
    """The content of a line; None if it is not JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _is_row(row: Any) -> bool:
    """Whether it is an estimator, a metric, a budget, and the numbers found."""
    if not isinstance(row, list) or len(row) - 3 not in _NUMBERS:
        return False
    estimator, metric, budget, *numbers = row
    names = isinstance(estimator, str) and isinstance(metric, str)
    return names and _is_count(budget) and all(map(_is_number, numbers))


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_number(value: Any) -> bool:
    """Whether it is what _plain writes."""
    return (type(value) is float and math.isfinite(value)) or value in _NOT_FINITE


def _to_json_number(number: float) -> float | str:
    """The number, as text if it is not finite, which JSON does not allow."""
    number = float(number)
    return number if math.isfinite(number) else str(number)
