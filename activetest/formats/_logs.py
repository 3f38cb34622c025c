"""Logs of one program: a file of one is a pool, and so are those of a run, one for each task."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from activetest.errors import LabelError, PoolError
from activetest.formats._samples import Sample, Terms, build_tables, name_part
from activetest.system import atomic

# Notes on a file, and a function that gives its samples, the same each time.
Opened = tuple[Sequence[str], Callable[[], Iterator[Sample]]]


@dataclass(frozen=True)
class Logs:
    """The reader of a program's logs: see activetest.formats.

    terms    how the program calls things
    open     a file. Raises PoolError, and so does what gives its samples
    pattern  of names of files, whose group `name` is the task
    """

    terms: Terms
    open: Callable[[Path], Opened]
    pattern: re.Pattern[str] | None = None

    def read_pool(
        self, path: Path, *, id: str | None = None, judge: str | None = None
    ) -> Iterator[pa.Table]:
        """A row for each item of a log. Raises PoolError naming the sample."""
        notes, read = self.open(path)
        return build_tables(path, read, self.terms, notes, judge=judge)

    def read_folder(
        self, files: Sequence[Path], folder: Path, *, judge: str | None = None
    ) -> Iterator[pa.Table]:
        """The rows of several logs, each of a task of its own.

        Raises PoolError, also where two files are of one task.
        """
        tasks = [
            (name, str(file.relative_to(folder)), self.open(file)[1])
            for name, file in zip(name_parts(files, self.pattern), files, strict=True)
        ]

        def read_all() -> Iterator[Sample]:
            for name, file, read in tasks:
                for sample in read():
                    sample.place = f"{file}, {sample.place}"
                    yield name_part(sample, name)

        return build_tables(folder, read_all, self.terms, judge=judge)

    def read_answers(
        self, content: bytes, name: str, *, columns: Mapping[str, str]
    ) -> Iterator[dict[str, Any]]:
        """The labels that a log holds, a row per item that has one.

        Raises LabelError for a log that cannot be read, and for one without labels.
        """
        with atomic.temporary_folder() as folder:
            path = folder / "log"
            path.write_bytes(content)
            try:
                number = 0
                for table in self.read_pool(path):
                    if "label" not in table.schema.names:
                        raise LabelError(
                            f"{name} is a log without labels",
                            hint="give what people said of its items: columns id and label",
                        )
                    for row in table.select(["id", "label"]).to_pylist():
                        number += 1
                        if row["label"] is not None:
                            yield {"place": f"item {number}", **row}
            except PoolError as error:
                raise LabelError(error.problem.replace(str(path), name), error.hint) from error


def name_parts(files: Sequence[Path], pattern: re.Pattern[str] | None) -> list[str]:
    """The task of each file: what its name says, else its name, or that of its folder.

    pattern  of names, with a group `name`

    Raises PoolError where two files have one.
    """
    if len({file.name for file in files}) == 1 < len(files):
        above = os.path.commonpath([file.parent for file in files])
        return [str(file.parent.relative_to(above)) for file in files]
    found: dict[str, Path] = {}
    for file in files:
        match = pattern.fullmatch(file.name) if pattern else None
        part = match["name"] if match else file.stem
        if part in found:
            raise PoolError(
                f"{found[part]} and {file} are both of the task {part!r}",
                hint="give the folder of one run, or one of these files",
            )
        found[part] = file
    return list(found)
