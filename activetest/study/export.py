"""The log of draws: every draw with its probability, and every answer ever given, as a table."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from activetest.errors import ActivetestError, StorageError, raising_storage_errors
from activetest.labels.files import write_csv
from activetest.nouns.arguments import read_path, reading_arguments
from activetest.study.folder import LEDGER
from activetest.system import atomic, overwrite
from activetest.system.safe_text import neutralise_cell

if TYPE_CHECKING:
    from activetest.ledger.history import LoggedRow

COLUMNS = (
    *("id", "round", "probability", "label", "annotator", "status", "time", "source"),
    *("superseded", "former_label", "former_status", "known_to"),
)


class Table:
    """Rows under the names of columns: as text, a file, or a frame."""

    def _name_columns(self) -> Mapping[str, type]:
        """{column: what its values are}, in order."""
        raise NotImplementedError

    def _list_rows(self) -> Iterable[Iterable[Any]]:
        """The values of each row; None is missing."""
        raise NotImplementedError

    def _find_study(self) -> Path | None:
        """The folder of the study, no file of which is written over."""
        raise NotImplementedError

    @overload
    def to_csv(self) -> str: ...
    @overload
    def to_csv(self, path: str | Path, *, force: bool = False) -> None: ...
    def to_csv(self, path: str | Path | None = None, *, force: bool = False) -> str | None:
        """CSV with a header: as text, or written to a file, whole or not at all.

        >>> print(study.curve("reliability").to_csv().splitlines()[0][:45])
        curve,class,low,high,n_pool,predicted,n_label

        An apostrophe stands before texts that a spreadsheet would run as formulas, but for ids.
        Another study of the same pool can ingest the log of draws: answers that do not count any
        more stand in columns that are left alone there. Raises StorageError where the file is there
        already, unless `force` is set and it is not the study's, or cannot be written.
        """
        names = tuple(self._name_columns())
        rows = (map(_write_cell, names, row) for row in self._list_rows())
        return deliver(write_csv([names, *rows]), path, self._find_study(), force=force)

    def to_frame(self, kind: str = "pandas") -> Any:
        """A frame of the rows; what does not exist is missing.

        >>> study.export().to_frame("pyarrow").column_names[:3]
        ['id', 'round', 'probability']

        kind  "pandas", "polars" or "pyarrow"

        Raises ChoiceError for another kind, and where its package is not installed.
        """
        from activetest.pool.frames import write_frame

        types, rows = self._name_columns(), list(self._list_rows())
        columns = zip(*rows, strict=True) if rows else ((),) * len(types)
        found = {name: list(values) for name, values in zip(types, columns, strict=True)}
        return write_frame(found, kind, types=types)


@dataclass(frozen=True)
class DrawLog(Table):
    """Every draw with its answers, in the order drawn, then the answers about other items.

    rows      each with the fields of COLUMNS
    problems  sentences about what could not be read of a damaged ledger, or is not as recorded
    folder    of the study, no file of which is written over
    """

    rows: "tuple[LoggedRow, ...]"
    problems: tuple[str, ...] = ()
    folder: Path | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        """Number of rows.

        >>> len(study.export())
        60
        """
        return len(self.rows)

    def __iter__(self) -> "Iterator[LoggedRow]":
        """The rows.

        >>> next(iter(study.export())).round
        1
        """
        return iter(self.rows)

    def summary(self) -> str:
        """One line: how many rows of which sort.

        >>> study.export().summary()
        '60 draws, 60 answers that count, 0 that do not'
        """
        drawn = len({row.id for row in self.rows if row.round is not None})
        counting = sum(bool(row.status) for row in self.rows)
        past = sum(bool(row.superseded) for row in self.rows)
        return f"{drawn:,} draws, {counting:,} answers that count, {past:,} that do not"

    def __repr__(self) -> str:
        """One line."""
        return f"<DrawLog: {self.summary()}>"

    def _name_columns(self) -> dict[str, type]:
        return dict.fromkeys(COLUMNS, str) | {"round": int, "probability": float, "known_to": int}

    def _list_rows(self) -> Iterator[list[Any]]:
        """The rows; empty texts are missing values."""
        for row in self.rows:
            yield [None if value == "" else value for value in row]

    def _find_study(self) -> Path | None:
        return self.folder


def _write_cell(name: str, value: Any) -> Any:
    """A cell: texts that no spreadsheet runs, ids as they are, and truth in small letters."""
    if isinstance(value, str):
        return value if name == "id" else neutralise_cell(value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None or not math.isfinite(value) else value


def write_text(path: Path, text: str) -> None:
    """Write text to a file as it is."""
    path.write_text(text, encoding="utf-8", newline="")


def deliver(text: str, path: str | Path | None, folder: Path | None, *, force: bool) -> str | None:
    """The text, or None once it is written to a file; see write_new_file."""
    if path is None:
        return text
    file = read_path("path", path, StorageError)
    write_new_file(file, lambda each: write_text(each, text), folder, force=force)
    return None


def write_new_file(
    path: Path, write: Callable[[Path], None], folder: Path | None, *, force: bool
) -> None:
    """Write a file as a whole or not at all. Raises StorageError where it may not be written.

    write    writes to the file of a path
    folder   of the study, no file of which is written over
    force    replace a file that is there
    """
    check_new_file(path, folder, force=force)
    with replacing_target(path) as target:
        write(target)


@contextmanager
def replacing_target(path: Path) -> Iterator[Path]:
    """Path to write to: a device or a pipe itself, else a file that takes the place as a whole.

    Raises StorageError when it cannot be written.
    """
    with raising_storage_errors(path, remedy="choose another `path`, one you may write to"):
        if path.exists() and not path.is_file():
            yield path
            return
        # The file that a link points to is replaced, not the link.
        with atomic.replacing_file(path.resolve(), durable=True) as building:
            yield building


def check_new_file(path: Path, folder: Path | None, *, force: bool) -> None:
    """Raises StorageError for a file that is there, or that belongs to a study."""
    inputs = find_inputs(folder) if folder else {}
    overwrite.check_target(path, _refuse, inputs=inputs, study=folder, force=force)


def find_inputs(folder: Path) -> dict[str, object]:
    """{what it is: address} of what the study reads; nothing where study.toml is damaged."""
    from activetest.study import config

    try:
        pool = config.read_config(folder).pool
    except (ActivetestError, OSError):
        return {}
    addresses = config.resolve_addresses(pool, folder)
    return {f"a file of the study ({key})": address for key, address in addresses.items()}


def _refuse(path: Path) -> None:
    """Refuse to replace a file, which may have been worked on."""
    raise StorageError(
        f"{path} is there already", "write to another file, or replace it: `force=True`"
    )


@reading_arguments
def export(folder: Path, *, rescue: bool, path: str | Path | None, force: bool) -> DrawLog:
    """The log of the study in a folder; with `rescue`, whatever of it can still be read.

    Raises StudyError for a damaged ledger; with `rescue` where nothing can be read. The log is
    written to a file where one is named.
    """
    log = _read_log(folder, rescue=rescue)
    if path is not None:
        log.to_csv(path, force=force)
    return log


def _read_log(folder: Path, *, rescue: bool) -> DrawLog:
    if rescue:
        from activetest.ledger.rescue import rescue_rows

        rescued = rescue_rows(folder / LEDGER)
        return DrawLog(tuple(rescued.rows), rescued.problems, folder)
    from activetest.ledger.ledger import Ledger

    with Ledger(folder / LEDGER) as ledger:
        return DrawLog(tuple(ledger.list_log()), folder=folder)
