"""Runs of a simulation, kept in a file while they are made: JSON Lines.

The first line says which simulation it is, and every other one is a run that was finished. What a
killed program left of a last line is taken off again.
"""

import hashlib
import json
import math
from dataclasses import asdict
from pathlib import Path

from activetest import __version__
from activetest.errors import ChoiceError, StorageError
from activetest.evidence import Array

# A strategy's place in the plan, and the run's number.
Task = tuple[int, int]
# {(estimator, metric, budget): numbers}
Found = dict[tuple[str, str, int], tuple[float, ...]]


class SavedRuns:
    """The finished runs of one simulation, and where more are written.

    runs   {(strategy, run): what was found}

    Raises ChoiceError where the file holds another simulation, or something else; StorageError
    where it cannot be read or written.
    """

    def __init__(self, path: str | Path, header: dict):
        self.path = Path(path)
        try:
            whole, lines = self._lines()
            if lines:
                self._check(header, _parsed(lines[0]))
            self.runs: dict[Task, Found] = dict(map(self._run, range(2, len(lines) + 1), lines[1:]))
            self._file = open(self.path, "r+b" if self.path.exists() else "w+b")
            self._file.truncate(whole)
            self._file.seek(whole)
            if not lines:
                self._write(header)
        except OSError as error:
            raise StorageError(
                f"cannot keep runs in {self.path}: {error.strerror or error}", "--save another file"
            ) from error

    def add(self, task: Task, found: Found) -> None:
        """Write one more run down."""
        strategy, run = task
        rows = [[*what, *map(_plain, numbers)] for what, numbers in found.items()]
        self._write({"strategy": strategy, "run": run, "found": rows})

    def __enter__(self) -> "SavedRuns":
        return self

    def __exit__(self, *error) -> None:
        self._file.close()

    def _write(self, content: dict) -> None:
        self._file.write(json.dumps(content, allow_nan=False).encode() + b"\n")
        # Whoever kills the program kills what it has not handed over.
        self._file.flush()

    def _lines(self) -> tuple[int, list[bytes]]:
        """Length of the whole lines, and these; the last one may be torn."""
        content = self.path.read_bytes() if self.path.exists() else b""
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

    def _run(self, number: int, line: bytes) -> tuple[Task, Found]:
        content = _parsed(line)
        try:
            found = {
                (estimator, metric, budget): tuple(map(float, numbers))
                for estimator, metric, budget, *numbers in content["found"]
            }
            return (content["strategy"], content["run"]), found
        except (TypeError, KeyError, ValueError) as error:
            raise ChoiceError(
                f"{self.path}, line {number}, is not a run of a simulation",
                "delete that line: its run is made again",
            ) from error

    def _stranger(self) -> ChoiceError:
        return ChoiceError(f"{self.path} is not a saved simulation", "--save another file")


def header(plan, made, truth: Array) -> dict:
    """What makes a simulation this one: the version, the pool, its answer key and the plan.

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
        "pool": seen.hexdigest(),
        "key": hashlib.sha256(truth.astype("<f8").tobytes()).hexdigest(),
        **fields,
    }


def _parsed(line: bytes):
    """What the line says; None where it is no JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _plain(number: float) -> float | str:
    """JSON has no word for numbers that are not finite."""
    number = float(number)
    return number if math.isfinite(number) else str(number)
