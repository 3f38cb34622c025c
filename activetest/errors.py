"""Everything that can be wrong with what a user gave us.

ActivetestError             a problem and a hint; the command line prints both and exits with 2
├── PoolError               the pool cannot be read, or does not say what it must
│   └── PoolChanged         the pool is not the one the study was made for
├── LabelError              a label file cannot be taken as it is
│   ├── LabelConflict       a label contradicts one that is already known
│   └── ColumnsUnclear      it is not known which columns hold the ids and the labels
├── StudyError              there is no study here, it is newer than this program, or it is damaged
│   ├── StorageError        the study cannot be written: no permission, no space
│   └── CacheDamaged        the cache is not what was written, and cannot be built again
├── ChoiceError             a setting or an argument makes no sense
│   ├── UnknownMethod       no method has this name
│   └── TrainingUnclear     nobody said whether a model was trained on labels of the study
└── NotEstimable            what was asked for does not exist with the labels there are

`ValueError` is for programmers, `ActivetestError` for users. `CacheRebuilt`, `LargeCache`,
`SummaryMissing` and `TextsShortened` are warnings.
"""

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

# Error numbers of a file system without space.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class ActivetestError(Exception):
    """A problem, naming file, column, row or id, and a hint that says what to do about it."""

    def __init__(self, problem: str, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """An error of a worker is sent as it is, whatever it was made from."""
        return _restore, (type(self), self.args, vars(self))

    def __str__(self) -> str:
        """The problem, on one line and without anything that a terminal would obey."""
        return self.problem if self.problem.isprintable() else repr(self.problem)[1:-1]


def _restore(
    kind: type[ActivetestError], args: tuple[str, ...], state: Mapping[str, object]
) -> ActivetestError:
    """The error with these attributes."""
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


class PoolError(ActivetestError):
    """The pool cannot be read, or does not say what it must."""


class PoolChanged(PoolError):
    """The pool is not the one the study was made for."""


class LabelError(ActivetestError):
    """A label file cannot be taken as it is.

    mapping  {label: class} that labels which are no class may stand for; empty without a guess
    ways     {setting: value} of each way to read the file where there are several, the likeliest
             first; the hint ends with them
    lead     the hint without them
    """

    def __init__(
        self,
        problem: str,
        hint: str = "",
        *,
        mapping: Mapping[str, str] | None = None,
        ways: Sequence[Mapping[str, object]] = (),
    ) -> None:
        calls = [f"`{name}={value!r}`" for way in ways for name, value in way.items()]
        super().__init__(problem, f"{hint}: {' or '.join(calls)}" if calls else hint)
        self.mapping, self.ways, self.lead = dict(mapping or {}), tuple(ways), hint


class LabelConflict(LabelError):
    """A label contradicts one that is already known."""


class ColumnsUnclear(LabelError):
    """It is not known which columns of a file hold the ids and the labels.

    found      {field: column} of the fields that are known
    columns    {column: the first of its values, as text} of what may hold the others
    questions  whether these are questions that annotators were asked, of which no id is one
    """

    def __init__(
        self,
        problem: str,
        hint: str,
        found: Mapping[str, str],
        columns: Mapping[str, Sequence[str]],
        *,
        questions: bool = False,
        ways: Sequence[Mapping[str, object]] = (),
    ) -> None:
        super().__init__(problem, hint, ways=ways)
        self.found, self.columns = dict(found), dict(columns)
        self.questions = questions


class StudyError(ActivetestError):
    """There is no study here, it is newer than this program, or it is damaged."""


class StorageError(StudyError):
    """The study cannot be written: no permission, no space."""


class CacheDamaged(StudyError):
    """The cache, or a part of it, is not what was written.

    folder    of the cache or the part
    file      that is damaged in it
    piece     number of the piece of it that is; None where that is not known, or it is all of them
    manifest  what the manifest of the folder held when this was found
    """

    def __init__(self, folder: Path, file: str, piece: int | None, manifest: str) -> None:
        super().__init__(
            f"the cache {folder} is damaged ({file}{'' if piece is None else f', piece {piece}'})",
            "remove it: whatever needs it builds it again from the pool",
        )
        self.folder, self.file, self.piece, self.manifest = folder, file, piece, manifest


class CacheRebuilt(UserWarning):
    """The cache or conversion of a pool was damaged, or may not be written, and is built again."""


class LargeCache(UserWarning):
    """The cache that is about to be written is large, or far larger than the pool."""


class SummaryMissing(UserWarning):
    """There is no space for what a study keeps of its pool: reports need the pool until then."""


class TextsShortened(UserWarning):
    """Texts that annotators are to read are longer than the file can hold, and were cut off."""


class ChoiceError(ActivetestError):
    """A setting or an argument makes no sense."""


class UnknownMethod(ChoiceError):
    """No method has this name."""


class TrainingUnclear(ChoiceError):
    """Nobody said whether labels of the study took part in training or choosing a model."""


class NotEstimable(ActivetestError):
    """The number does not exist with the labels there are."""


def explain_refusal(error: OSError, path: object, remedy: str) -> tuple[str, str]:
    """The problem and the hint of what a file system refuses, by what it was to do: read or write.

    path    what was written
    remedy  the hint where it may not be written
    """
    reason = error.strerror or str(error)
    if error.errno in FULL:
        return f"cannot write {path}: {reason}", "free some space"
    if isinstance(error, PermissionError) and _is_unreadable(error.filename):
        return f"cannot read {os.fsdecode(error.filename)}: {reason}", "check its permissions"
    if os.name == "nt" and isinstance(error, PermissionError):
        # There, that is also what is said of a file that is open.
        remedy = f"close other programs that use it, or {remedy}"
    return f"cannot write {path}: {reason}", remedy


@contextmanager
def raising_storage_errors(
    path: object, *, remedy: str = "choose another `folder`, one you may write to"
) -> Iterator[None]:
    """Turn what the file system refuses while `path` is written, or read, into a StorageError.

    remedy  its hint, unless there is no space
    """
    try:
        yield
    except OSError as error:
        raise StorageError(*explain_refusal(error, path, remedy)) from error


def _is_unreadable(path: object) -> bool:
    """Whether a path is there and may not be read, or is in a folder that may not be entered."""
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    # As the program may, and not as whoever started it may.
    effective = os.access in os.supports_effective_ids
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.lexists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    if not os.access(folder, os.X_OK, effective_ids=effective):
        return True
    return os.path.lexists(path) and not os.access(path, os.R_OK, effective_ids=effective)
