"""The files of a folder that are parts of a pool, and what their names and folders say."""

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from activetest.nouns.name_lists import shorten_list

# What tells the folder of a study: its files are no part of a pool.
_STUDY = "study.toml"
# Part of a name that numbers the parts of one table, and says how many there are.
_OF = re.compile(r"(?P<number>\d{2,})-of-(?P<count>\d{2,})")
# Part of a name that numbers them alone.
_NUMBERED = re.compile(r"part-\d+")
_EMPTY = "__HIVE_DEFAULT_PARTITION__"


def choose_parts(
    below: Sequence[fs.FileInfo], root: str
) -> tuple[list[fs.FileInfo], tuple[str, ...]]:
    """The Parquet files below a folder that are parts of a pool, and what else holds some.

    Hidden files and folders, those that begin with an underline, and studies are left out.
    """
    files = [each for each in below if each.type == fs.FileType.File]
    studies = {PurePosixPath(each.path).parent for each in files if each.base_name == _STUDY}
    parts, others = [], dict[str, None]()
    for file in files:
        if file.extension != "parquet":
            continue
        path = PurePosixPath(file.path)
        inside = path.relative_to(root).parts if path.is_relative_to(root) else (path.name,)
        hidden = [place for place, part in enumerate(inside) if _is_hidden(part)]
        of_study = [
            len(inside) - 1 - place for place, above in enumerate(path.parents) if above in studies
        ]
        cuts = [*hidden, *(depth - 1 for depth in of_study if depth > 0)]
        if cuts:
            others["/".join(inside[: min(cuts) + 1])] = None
        else:
            parts.append(file)
    return parts, tuple(others)


def describe_left_out(others: Sequence[str]) -> str:
    """A sentence about what else holds Parquet files."""
    return f"left out, as hidden or of a study: {shorten_list(others)}"


def read_partitions(path: str, root: str) -> dict[str, str | None]:
    """{column: value} that stand in the names of folders, as country=DE, between root and file."""
    inside = PurePosixPath(path)
    if not inside.is_relative_to(root):
        return {}
    pairs = (part.partition("=") for part in inside.relative_to(root).parts[:-1])
    return {
        unquote(name): None if value == _EMPTY else unquote(value)
        for name, sign, value in pairs
        if name and sign
    }


def add_partitions(batch: pa.RecordBatch, values: dict[str, str | None]) -> pa.RecordBatch:
    """The batch with a column of one value for each of these."""
    for name, value in values.items():
        column = pa.repeat(pa.scalar(value, pa.string()), batch.num_rows)
        batch = batch.append_column(name, column)
    return batch


def describe_parts(address: str) -> list[str]:
    """That a file, or the files of a folder, are some of the parts of a table, by their names."""
    path = Path(address).expanduser()
    if "://" in address or not path.exists():
        return []
    if path.is_dir():
        names = [each.name for each in path.iterdir()]
        return _describe_missing(names)
    if found := _OF.search(path.name):
        number, count = int(found["number"]), int(found["count"])
        if count > 1 and number <= count:
            return [
                f"{path.name} is one of {count:,} parts by its name, and only its rows are items: "
                "give the folder for all of them"
            ]
    if found := _NUMBERED.match(path.name):
        rest = path.suffix
        count = sum(
            bool(_NUMBERED.match(each.name)) and each.suffix == rest
            for each in path.parent.iterdir()
        )
        if count > 1:
            return [
                f"{path.name} is one of {count:,} such files in its folder, and only its rows are "
                "items: give the folder for all of them"
            ]
    return []


def _describe_missing(names: Sequence[str]) -> list[str]:
    """Where the names say that there are more parts than there are."""
    families: dict[str, set[str]] = {}
    counts: dict[str, int] = {}
    for name in names:
        if found := _OF.search(name):
            family = name[: found.start()] + name[found.end() :]
            families.setdefault(family, set()).add(found["number"])
            counts[family] = max(counts.get(family, 0), int(found["count"]))
    return [
        f"{len(found):,} of {counts[family]:,} parts are there by their names: the items of the "
        "others are not in the pool"
        for family, found in families.items()
        if len(found) < counts[family] <= 10**6
    ]


def _is_hidden(part: str) -> bool:
    return part[0] == "." or (part[0] == "_" and "=" not in part)
