"""Logs of one run that lie in several files, one for each task: a pool with ids that name it."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from activetest import catalog
from activetest.errors import PoolError
from activetest.formats import FAMILY
from activetest.formats._samples import Sample, build_tables, name_part


def read_logs(
    name: str, files: Sequence[Path], folder: Path, *, judge: str | None
) -> Iterator[pa.Table]:
    """The tables of logs of one program; at least one.

    name   of the format, which has read_samples, TERMS, and PART where names of files say the task
    judge  as of read_pool

    Raises PoolError, also where two files are of one task.
    """
    module = catalog.load(FAMILY, name)
    parts = name_parts(files, getattr(module, "PART", None))

    def read() -> Iterator[Sample]:
        for file, part in zip(files, parts, strict=True):
            for sample in module.read_samples(file):
                sample.place = f"{file.relative_to(folder)}, {sample.place}"
                yield name_part(sample, part)

    return build_tables(folder, read, module.TERMS, judge=judge)


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
