"""Logs of one run that lie in several files, one for each task: a pool with ids that name it."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from activetest.errors import PoolError
from activetest.formats._samples import Sample, Terms, build_tables, name_part


def read_logs(
    files: Sequence[Path],
    folder: Path,
    read: Callable[[Path], Iterator[Sample]],
    terms: Terms,
    *,
    judge: str | None,
    pattern: re.Pattern[str] | None = None,
) -> Iterator[pa.Table]:
    """The tables of logs of one program; at least one.

    read     gives the samples of a file, the same ones each time
    judge    as of read_pool
    pattern  of names of files, whose group `name` is the task

    Raises PoolError, also where two files are of one task.
    """
    parts = name_parts(files, pattern)

    def read_all() -> Iterator[Sample]:
        for file, part in zip(files, parts, strict=True):
            for sample in read(file):
                sample.place = f"{file.relative_to(folder)}, {sample.place}"
                yield name_part(sample, part)

    return build_tables(folder, read_all, terms, judge=judge)


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
