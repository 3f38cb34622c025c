"""Writing a folder of .npy files from several threads, so that it appears whole or not at all."""

import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import numpy as np

from activetest.nouns.rows import Array

# Bytes of zeros written at once.
_BLOCK = 2**20

# A temporary folder this old (seconds) was left by a process that was killed.
_ABANDONED = 3600


class Arrays:
    """Named arrays in a folder, written in pieces by plain writes: a full disk is an OSError."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.shapes: dict[str, list[int]] = {}
        self._open: dict[str, tuple] = {}

    def create(self, name: str, shape: tuple[int, ...], dtype) -> None:
        """An array of this shape, to be written."""
        dtype = np.dtype(dtype)
        file = (self.folder / f"{name}.npy").open("wb", buffering=0)
        self.shapes[name] = list(shape)
        self._open[name] = (file, Lock(), _header(file, shape, dtype), dtype)

    def extend(self, name: str, values: Array) -> None:
        """Append rows to an array; for one thread."""
        self.write(name, self.shapes[name][0], values)
        self.shapes[name][0] += len(values)

    def write(self, name: str, row: int, values: Array) -> None:
        """Rows row, row + 1, ... of an array."""
        width = int(np.prod(self.shapes[name][1:], dtype=np.int64))
        self._put(name, row * width, values)

    def write_across(self, name: str, column: int, values: Array) -> None:
        """Columns column, column + 1, ... of all T rows of an array; values (T, R)."""
        for row, line in enumerate(values):
            self._put(name, row * self.shapes[name][1] + column, line)

    def zeros(self, name: str) -> Array:
        """The whole array, zero so far: for rows in any order. Its room on the disk is taken first,
        for a map that runs out of it would end the program.
        """
        file, _, begin, dtype = self._open[name]
        left = int(np.prod(self.shapes[name], dtype=np.int64)) * dtype.itemsize
        while left:
            left -= file.write(bytes(min(left, _BLOCK)))
        return np.memmap(file.name, dtype, "r+", begin, tuple(self.shapes[name]))

    def read(self, name: str) -> Array:
        """An array as far as it is written."""
        file, _, begin, dtype = self._open[name]
        if 0 in self.shapes[name]:
            return np.empty(self.shapes[name], dtype)
        return np.memmap(file.name, dtype, "r", begin, tuple(self.shapes[name]))

    def close(self) -> None:
        """Close all files, after writing down how long those that grew have become."""
        for name, (file, _, begin, dtype) in self._open.items():
            with file:
                file.seek(0)
                # numpy leaves room in the header for the first axis to grow.
                if _header(file, tuple(self.shapes[name]), dtype) != begin:
                    raise ValueError(f"the header of {name} has grown")

    def _put(self, name: str, element: int, values: Array) -> None:
        """Values from an element of the flat array on."""
        file, lock, begin, dtype = self._open[name]
        left = (
            memoryview(np.ascontiguousarray(values, dtype)).cast("B")
            if values.size
            else memoryview(b"")
        )
        with lock:
            file.seek(begin + element * dtype.itemsize)
            while left:
                left = left[file.write(left) :]


def _header(file, shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Write the header of a .npy file; where its values begin."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.tell()


@contextmanager
def replacing(folder: Path):
    """A temporary folder that takes the place of folder if the block succeeds, or vanishes."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    sweep(folder.parent, f".{folder.name}-")
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    fresh.chmod(0o755)
    try:
        yield fresh
        _swap(fresh, folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _swap(fresh: Path, folder: Path) -> None:
    """Rename fresh to folder; what was there goes away, but for those who are reading it."""
    while True:
        try:
            os.rename(fresh, folder)
            return
        except OSError:
            # Not empty: an older cache, or one that another process has just put there.
            if not folder.is_dir():
                raise
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            try:
                os.rename(folder, old)
            except FileNotFoundError:
                pass
            shutil.rmtree(old, ignore_errors=True)


def sweep(folder: Path, prefix: str, suffix: str = "") -> None:
    """Remove what killed processes left in the folder, under names that begin and end so."""
    for left in folder.iterdir():
        if not (left.name.startswith(prefix) and left.name.endswith(suffix)):
            continue
        try:
            if time.time() - left.stat().st_mtime > _ABANDONED:
                shutil.rmtree(left, ignore_errors=True)
        except FileNotFoundError:
            continue
