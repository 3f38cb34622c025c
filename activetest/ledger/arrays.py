"""A surrogate's parameters on disk: text in the ledger, arrays in a file beside it.

The file is named by what it holds, and is on the disk before the ledger names it: one that the
ledger does not name was left by a round that never happened, and does no harm.
"""

import hashlib
import io
import math
import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from tokenize import TokenError
from uuid import uuid4
from zipfile import ZIP_STORED, BadZipFile, ZipFile

import numpy as np

from activetest.errors import StorageError, StudyError
from activetest.nouns.rows import Array

_HINT = (
    "restore it from a backup: it holds what a round's surrogate had learned. Every label is in "
    "ledger.db, and what the rounds recorded can be reported without this file"
)
_NAME = re.compile(r"[0-9a-f]+\.npz")
_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# What the standard library and NumPy raise for content that nobody wrote with `write`.
_UNREADABLE = (
    *(BadZipFile, EOFError, KeyError, MemoryError, OSError, OverflowError, RuntimeError),
    *(TokenError, TypeError, ValueError),
)


class MissingParameters(StudyError, KeyError):
    """A parameter is not where a round should have left it."""


class Stored(Mapping):
    """Parameters as they were recorded. The file is read when somebody looks at them.

    Looking raises StudyError for a file that is not what it was, or does not hold what is wanted.
    """

    def __init__(self, plain: dict, folder: Path, name: str):
        self._plain, self._folder, self._name = plain, folder, name

    @cached_property
    def _all(self) -> dict:
        return self._plain | _read(self._folder, self._name)

    def __getitem__(self, name: str):
        if name not in self._all:
            raise MissingParameters(f"{self._folder / self._name} does not hold {name!r}", _HINT)
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


def split(params: Mapping) -> tuple[dict, dict[str, Array]]:
    """The parameters that are JSON-ready, and those that are arrays."""
    arrays = {name: value for name, value in params.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in params.items() if name not in arrays}, arrays


def write(arrays: dict[str, Array], folder: Path) -> str:
    """Put named arrays on the disk, for good; the name of their file in the folder.

    Raises StorageError when the disk refuses, and ValueError for arrays of objects.
    """
    if any(array.dtype.hasobject for array in arrays.values()):
        raise ValueError("parameters must be arrays of numbers or texts, not of objects")
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    content = buffer.getvalue()
    path = folder / _name(content)
    building = folder / f".{path.name}.{uuid4().hex[:8]}.tmp"
    try:
        folder.mkdir(exist_ok=True)
        try:
            with open(building, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            building.replace(path)
        finally:
            building.unlink(missing_ok=True)
        for changed in (folder, folder.parent):
            _settle(changed)
    except OSError as error:
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}",
            "free some space, or see who may write there; nothing that was recorded is lost",
        ) from error
    return path.name


def _read(folder: Path, name: str) -> dict[str, Array]:
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise StudyError(f"{folder} cannot hold a file called {name!r}", _HINT)
    path = folder / name
    try:
        content = path.read_bytes()
        problem = "" if _name(content) == name else "is damaged"
    except FileNotFoundError:
        problem = "is missing"
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    if problem:
        raise StudyError(f"{path} {problem}", _HINT)
    try:
        return _arrays(content)
    except _UNREADABLE as error:
        raise StudyError(f"{path} is damaged", _HINT) from error


def _arrays(content: bytes) -> dict[str, Array]:
    """The arrays of a file that `write` wrote. Raises _UNREADABLE for any other."""
    with ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if sum(each.file_size for each in members) > len(content):
            raise ValueError("more is said to be inside than can be")
        for each in members:
            if each.compress_type != ZIP_STORED:
                raise ValueError("it is compressed")
            with archive.open(each) as file:
                shape, _, kind = _READERS[np.lib.format.read_magic(file)](file)
                # Before any room is made for the array.
                if file.tell() + math.prod(shape) * kind.itemsize != each.file_size:
                    raise ValueError("an array is said to be of another size than it is")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _name(content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()[:32]}.npz"


def _settle(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where a system can say so."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
