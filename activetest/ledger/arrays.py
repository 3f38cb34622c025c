"""A surrogate's parameters on disk: text in the ledger, arrays in a file in the same folder.

The file is named by the hash of its content, and is on the disk before the ledger names it. A file
that the ledger does not name was left by a round that was not recorded, and does no harm. Arrays
that many rounds have in common are in a file of their own, which is written once.
"""

import hashlib
import io
import math
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from typing import Any, cast
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from activetest.errors import StorageError, StudyError
from activetest.nouns.rows import Array
from activetest.nouns.surrogate import KEPT
from activetest.system import atomic
from activetest.system.parallel import reading_header

_HINT = (
    "restore it from a backup: it holds what a round's surrogate had learned. Every label is in "
    "ledger.db, and what the rounds recorded can be reported without this file"
)
_NAME = re.compile(r"[0-9a-f]+\.npz")
_SEPARATOR = " "
_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# Errors of the standard library and NumPy for content that write_arrays did not write.
_UNREADABLE = (
    *(BadZipFile, EOFError, KeyError, MemoryError, OSError, OverflowError, RuntimeError),
    *(TokenError, TypeError, ValueError),
)


class UnreadableParameters(StudyError):
    """The file that a round wrote is missing or damaged."""


class MissingParameters(StudyError, KeyError):
    """A parameter is not in the file that a round should have written."""


class StoredParams(Mapping[str, Any]):
    """Parameters as they were recorded. Files are read on first access; name as in write_arrays.

    Access raises UnreadableParameters for a file that is missing or has changed, and
    MissingParameters where it does not hold the parameter.
    """

    def __init__(self, plain: Mapping[str, Any], folder: Path, name: str) -> None:
        self._plain, self._folder, self._name = plain, folder, name

    @cached_property
    def _params(self) -> dict[str, Any]:
        arrays = [_read(self._folder, name) for name in list_files(self._name)]
        return {key: value for part in (self._plain, *arrays) for key, value in part.items()}

    def __getitem__(self, name: str) -> Any:
        if name not in self._params:
            raise MissingParameters(f"{self._folder / self._name} does not hold {name!r}", _HINT)
        return self._params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __len__(self) -> int:
        return len(self._params)


def split_params(params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Array]]:
    """The parameters that are JSON-ready, and those that are arrays."""
    arrays = {name: value for name, value in params.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in params.items() if name not in arrays}, arrays


def write_arrays(arrays: dict[str, Array], folder: Path) -> str:
    """Write named arrays and wait until they are on the disk; the name of their file.

    Where some of them are KEPT and others not there are two files: their names with a space
    between. Raises StorageError when the disk refuses, and ValueError for arrays of objects.
    """
    if any(array.dtype.hasobject for array in arrays.values()):
        raise ValueError("parameters must be arrays of numbers or texts, not of objects")
    kept = {name: array for name, array in arrays.items() if name.startswith(KEPT)}
    own = {name: array for name, array in arrays.items() if name not in kept}
    return _SEPARATOR.join(_write_file(part, folder) for part in (own, kept) if part)


def list_files(name: str) -> list[str]:
    """The files that a name of write_arrays stands for."""
    return name.split(_SEPARATOR) if isinstance(name, str) else [name]


def _write_file(arrays: dict[str, Array], folder: Path) -> str:
    """Write a file, unless it is there; its name. Raises StorageError."""
    buffer = io.BytesIO()
    np.savez(buffer, **cast(Any, arrays))
    content = buffer.getvalue()
    path = folder / _name_file(content)
    try:
        atomic.make_folder(folder)
        if not (path.is_file() and path.read_bytes() == content):
            with atomic.replacing_file(path, durable=True) as building:
                building.write_bytes(content)
        for changed in (folder, folder.parent):
            atomic.sync_folder(changed)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}",
            "free some space, or see who may write there; nothing that was recorded is lost",
        ) from error
    return path.name


def check_arrays(folder: Path, name: str) -> None:
    """Raises UnreadableParameters when a file, by its own name, is missing or damaged."""
    _read(folder, name)


def _read(folder: Path, name: str) -> dict[str, Array]:
    """The arrays of a file. Raises UnreadableParameters when it is missing or damaged."""
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise StudyError(f"{folder} cannot hold a file called {name!r}", _HINT)
    path = folder / name
    try:
        content = path.read_bytes()
        problem = "" if _name_file(content) == name else "is damaged"
    except FileNotFoundError:
        problem = "is missing"
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    if problem:
        raise UnreadableParameters(f"{path} {problem}", _HINT)
    try:
        with reading_header:
            return _parse_arrays(content)
    except _UNREADABLE as error:
        raise UnreadableParameters(f"{path} is damaged", _HINT) from error


def _parse_arrays(content: bytes) -> dict[str, Array]:
    """The arrays of a file of write_arrays. Raises one of _UNREADABLE for any other."""
    with ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if sum(each.file_size for each in members) > len(content):
            raise ValueError("its members are larger than the file")
        for each in members:
            if each.compress_type != ZIP_STORED:
                raise ValueError("it is compressed")
            with archive.open(each) as file:
                shape, _, kind = _READERS[np.lib.format.read_magic(file)](file)
                # Before any memory is taken for the array.
                if file.tell() + math.prod(shape) * kind.itemsize != each.file_size:
                    raise ValueError("an array does not have the size that its header states")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _name_file(content: bytes) -> str:
    """The name of a file with this content."""
    return f"{hashlib.sha256(content).hexdigest()[:32]}.npz"
