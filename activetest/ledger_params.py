"""A surrogate's parameters on disk: text in the ledger, arrays in a file beside it.

The file is named by what it holds, and is on the disk before the ledger names it: one that the
ledger does not name was left by a round that never happened, and does no harm.
"""

import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from uuid import uuid4

import numpy as np

from activetest.errors import StorageError, StudyError
from activetest.evidence import Array


class Stored(Mapping):
    """Parameters as they were recorded. The file is read when somebody looks at them."""

    def __init__(self, plain: dict, path: Path):
        self._plain, self._path = plain, path

    @cached_property
    def _all(self) -> dict:
        return self._plain | _read(self._path)

    def __getitem__(self, name: str):
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


def _read(path: Path) -> dict[str, Array]:
    try:
        content = path.read_bytes()
        problem = "" if _name(content) == path.name else "is damaged"
    except FileNotFoundError:
        problem = "is missing"
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
    if problem:
        raise StudyError(
            f"{path} {problem}",
            "restore it from a backup: it holds what a round's surrogate had learned. Every label "
            "is in ledger.db, and what the rounds recorded can be reported without this file",
        )
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
