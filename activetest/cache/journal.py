"""A journal of the pieces that are done, which an interrupted build of a cache leaves.

It is lines of JSON, each with its checksum: the first says of what pool, of which roles of columns
and by which version, the second what the first pass found, and every other is of a piece. A line is
written behind the data that it speaks of, and states their checksums: after a power cut it may be
there without them, and the piece is built again.
"""

import json
from collections import Counter
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from activetest.cache.components import Projection
from activetest.cache.design import Design
from activetest.cache.store import hash_content
from activetest.nouns.rows import Array
from activetest.pool.pool import Pool

_NAME = "journal.jsonl"

# Of some rows: {number of a row group: sum of their hashes, not yet modulo 2^64}; how many were
# corrected or are unusual, by how; {number of a feature: missing values}.
Counts = tuple[Counter[int], Counter[str], Counter[int]]


class Journal:
    """The journal in a folder: lines are added by one thread at a time.

    lines  that are there, whole, and of the same build
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _NAME
        self.lines: list[Any] = []
        with suppress(OSError, ValueError, TypeError), open(self._path, "rb") as file:
            for line in file:
                content, checksum = json.loads(line)
                if checksum != hash_content(content):
                    break
                self.lines.append(content)

    def begin(self, lines: list[Any]) -> None:
        """Keep these lines alone."""
        self.lines.clear()
        self._path.unlink(missing_ok=True)
        for line in lines:
            self.add(line)

    def add(self, content: Any) -> None:
        """Write a line. Raises OSError."""
        # As it will be read.
        content = json.loads(json.dumps(content))
        with open(self._path, "ab") as file:
            file.write(json.dumps([content, hash_content(content)]).encode() + b"\n")
        self.lines.append(content)


def describe_build(pool: Pool, version: int) -> dict[str, Any]:
    """The first line: what has to agree with the build that goes on."""
    return {
        "version": version,
        "stamp": pool.files.stamp(),
        "schema": pool.schema.to_dict(),
        "row_groups": [each.rows for each in pool.pieces],
    }


def write_design(design: Design, values: list[list[str]]) -> list[Any]:
    """The second line: the results of the first pass."""
    projection = design.projection and list(map(_write_array, astuple(design.projection)))
    arrays = [_write_array(design.centre), _write_array(design.scale), projection]
    return [design.model_columns, *arrays, values]


def read_design(line: list[Any]) -> tuple[Design, list[list[str]]]:
    """The results of the first pass, from the second line."""
    columns, centre, scale, arrays, values = line
    projection = arrays and Projection(*map(_read_array, arrays))
    return Design(columns, _read_array(centre), _read_array(scale), projection), values


def write_piece(piece: int, counts: Counts, checksums: dict[str, int], letters: list[int]) -> Any:
    """The line of a piece: its letters are how many, and their checksum."""
    return [piece, [list(each.items()) for each in counts], checksums, letters]


def read_piece(line: Any) -> tuple[int, Counts, dict[str, int], list[int]]:
    """The contents of a line of a piece: see write_piece."""
    piece, (sums, corrected, missing), checksums, letters = line
    counts = Counter(dict(sums)), Counter(dict(corrected)), Counter(dict(missing))
    return piece, counts, checksums, letters


def _write_array(values: Array) -> list[Any]:
    """Type, shape, order in memory, on which products of matrices depend, and numbers, exactly."""
    order: Any = "C" if values.flags.c_contiguous else "F"
    return [values.dtype.str, list(values.shape), order, values.reshape(-1, order=order).tolist()]


def _read_array(line: list[Any]) -> Array:
    kind, shape, order, values = line
    return np.array(values, kind).reshape(shape, order=order)
