"""Writing a folder of .npy files from several threads."""

import operator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from activetest.cache.checked import BLOCK, seal_array
from activetest.nouns.rows import Array
from activetest.parallel import map_reduce

# Bytes of zeros written at once.
_ZEROS = 2**20


@dataclass(frozen=True)
class _OpenArray:
    """A file that is being written; values begin at the byte `begin`, items are along `axis`.

    block   bytes that are checked together
    """

    file: FileIO
    lock: Lock
    begin: int
    dtype: np.dtype
    axis: int
    block: int


class Arrays:
    """Named arrays in a folder, written in pieces by plain writes: a full disk is an OSError.

    shapes  {name: shape so far}
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shapes: dict[str, list[int]] = {}
        self._open: dict[str, _OpenArray] = {}

    def create(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        *,
        axis: int = 0,
        block: int = BLOCK,
    ) -> None:
        """Begin an array of this shape, whose items are along an axis; see seal_array."""
        dtype = np.dtype(dtype)
        file = FileIO(self.folder / f"{name}.npy", "w")
        self.shapes[name] = list(shape)
        begin = _write_header(file, shape, dtype)
        self._open[name] = _OpenArray(file, Lock(), begin, dtype, axis, block)

    def count_bytes(self) -> int:
        """What the values take when all are written, as far as their shapes are known."""
        return sum(
            int(np.prod(self.shapes[name], dtype=np.int64)) * array.dtype.itemsize
            for name, array in self._open.items()
        )

    def extend(self, name: str, values: Array) -> None:
        """Append rows to an array; for one thread."""
        self.write(name, self.shapes[name][0], values)
        self.shapes[name][0] += len(values)

    def write(self, name: str, row: int, values: Array) -> None:
        """Write rows row, row + 1, ... of an array."""
        width = int(np.prod(self.shapes[name][1:], dtype=np.int64))
        self._write_from(name, row * width, values)

    def write_across(self, name: str, column: int, values: Array) -> None:
        """Write columns column, column + 1, ... of all T rows of an array; values (T, R)."""
        for row, line in enumerate(values):
            self._write_from(name, row * self.shapes[name][1] + column, line)

    def zeros(self, name: str) -> Array:
        """The whole array, zero so far, mapped for writing: for rows in any order.

        Its space on the disk is taken first: running out of it through the map would end the
        program. Raises OSError when the disk is full.
        """
        array = self._open[name]
        left = int(np.prod(self.shapes[name], dtype=np.int64)) * array.dtype.itemsize
        while left:
            left -= array.file.write(bytes(min(left, _ZEROS)))
        return np.memmap(array.file.name, array.dtype, "r+", array.begin, tuple(self.shapes[name]))

    def read(self, name: str) -> Array:
        """An array as far as it is written."""
        array = self._open[name]
        if 0 in self.shapes[name]:
            return np.empty(self.shapes[name], array.dtype)
        return np.memmap(array.file.name, array.dtype, "r", array.begin, tuple(self.shapes[name]))

    def close(self) -> None:
        """Close all files, with headers that state how long those that grew have become."""
        for name, array in self._open.items():
            with array.file as file:
                file.seek(0)
                # numpy leaves room in the header for the first axis to grow.
                if _write_header(file, tuple(self.shapes[name]), array.dtype) != array.begin:
                    raise ValueError(f"the header of {name} has grown")

    def seal(self) -> dict[str, Any]:
        """What a manifest states of the arrays, whose checksums are written; after close()."""

        def seal(name: str) -> dict[str, Any]:
            array, values = self._open[name], self.read(name)
            about = array.begin, array.axis
            return {name: seal_array(self.folder, name, values, *about, block=array.block)}

        return map_reduce(self._open, seal, operator.or_, title="computing checksums") or {}

    def _write_from(self, name: str, element: int, values: Array) -> None:
        """Write values from an element of the flat array on."""
        array = self._open[name]
        left = (
            memoryview(np.ascontiguousarray(values, array.dtype).data).cast("B")
            if values.size
            else memoryview(b"")
        )
        with array.lock:
            array.file.seek(array.begin + element * array.dtype.itemsize)
            while left:
                left = left[array.file.write(left) :]


def _write_header(file: FileIO, shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Write the header of a .npy file; where its values begin."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.tell()
