"""Files of a folder that are parts of a pool, and what their names and folders say.

Of no pool are hidden files, those that begin with an underscore, and earlier studies.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from activetest.errors import PoolError
from activetest.nouns.name_lists import shorten_list

# Files that tell the folder of a study.
_STUDY = ("study.toml", "ledger.db")
# Folders of tables whose files hold removed and replaced rows, too: what the table is called.
_TABLES = {"_delta_log": "Delta Lake", ".hoodie": "Hudi", "metadata": "Iceberg"}
_ICEBERG = re.compile(r".*\.metadata\.json(\.gz)?|version-hint\.text")
# Names of parts that say how many there are, and that number them alone.
_OF = re.compile(r"(?P<start>.*\D)?(?P<number>\d{1,9})-of-(?P<total>\d{1,9})(?P<end>\D.*)?")
_NUMBERED = re.compile(r"part-\d+")
# Value of a column in the name of a folder whose rows have none.
_EMPTY = "__HIVE_DEFAULT_PARTITION__"

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def choose_parts(
    below: Sequence[fs.FileInfo], root: str, suffixes: Collection[str]
) -> tuple[list[fs.FileInfo], tuple[str, ...]]:
    """The files below a folder that may be parts of a pool, by name, and what is none of them.

    suffixes  of the files for which it is said that they, or folders around them, are left out

    Hidden files and folders, those that begin with an underscore, and studies are left out. Raises
    PoolError for a folder that is or holds a table of Delta Lake, Hudi or Iceberg.
    """
    files = [each for each in below if each.type == fs.FileType.File]
    _reject_tables([each.path for each in files], root)
    studies = {PurePosixPath(each.path).parent for each in files if each.base_name in _STUDY}
    studies.discard(PurePosixPath(root))
    parts, others = [], dict[str, None]()
    for file in sorted(files, key=lambda each: each.path):
        path = PurePosixPath(file.path)
        inside = path.relative_to(root).parts if path.is_relative_to(root) else (path.name,)
        # The folders above, from the root on, and the file.
        places = [*reversed(path.parents[: len(inside) - 1]), path]
        cut = next(
            (at for at, part in enumerate(inside) if _is_hidden(part) or places[at] in studies),
            None,
        )
        if cut is None:
            parts.append(file)
        elif path.suffix in suffixes:
            others["/".join(inside[: cut + 1])] = None
    return parts, tuple(others)


def _reject_tables(files: Sequence[str], root: str) -> None:
    """Raises PoolError for files of which a log says which rows count."""
    above = Path(root)
    while "=" in above.name:
        # A partition of a table, such as day=1.
        above = above.parent
    logs = (above / log for log in _TABLES if above != Path(root))
    for file in (*files, *(str(file) for log in logs for file in log.glob("*"))):
        path = PurePosixPath(file)
        kind = _TABLES.get(path.parent.name)
        if kind is None or (kind == "Iceberg" and not _ICEBERG.fullmatch(path.name)):
            continue
        table = path.parent.parent
        raise PoolError(
            f"{table} is a table of {kind}: its files hold rows that were removed or replaced, too",
            hint="write its rows to a folder of their own, in Spark with "
            f"spark.read.format({kind.split()[0].lower()!r}).load({str(table)!r})"
            f".write.parquet({table.name + '-rows'!r})",
        )


def _is_hidden(part: str) -> bool:
    return part[0] == "." or (part[0] == "_" and "=" not in part)


def describe_left_out(others: Sequence[str]) -> str:
    """A sentence about what else holds such files."""
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


def add_partitions(rows: Rows, values: Mapping[str, str | None]) -> Rows:
    """The rows with a column of one value for each of these."""
    for name, value in values.items():
        rows = rows.append_column(name, pa.repeat(pa.scalar(value, pa.string()), rows.num_rows))
    return rows


def describe_parts(address: str) -> list[str]:
    """Notes that a file, or the files of a folder, are only parts of a table, by their names."""
    path = Path(address).expanduser()
    if "://" in address or not path.exists():
        return []
    if path.is_dir():
        return _describe_missing(_list_names(path))
    count = 0
    if found := _OF.fullmatch(path.name):
        number, count = int(found["number"]), int(found["total"])
        count = count if number <= count else 0
        found_as = f"one of {count:,} parts by its name"
    elif _NUMBERED.match(path.name):
        others = (each for each in _list_names(path.parent) if each.endswith(path.suffix))
        count = sum(map(bool, map(_NUMBERED.match, others)))
        found_as = f"one of {count:,} such files in its folder"
    if count <= 1:
        return []
    return [
        f"{path.name} is {found_as}, and only its rows are items: give the folder {path.parent} "
        "for all of them"
    ]


def _describe_missing(names: Sequence[str]) -> list[str]:
    """Where the names say that there are more parts than there are."""
    families: dict[tuple[str, ...], set[int]] = {}
    for found in filter(None, map(_OF.fullmatch, names)):
        family = found["start"] or "", found["total"], found["end"] or ""
        families.setdefault(family, set()).add(int(found["number"]))
    return [
        f"{len(found):,} of {int(total):,} parts are there by their names: the items of the "
        "others are not in the pool"
        for (_, total, _), found in families.items()
        if len(found) < int(total)
    ]


def _list_names(folder: Path) -> list[str]:
    """The names of what is in a folder; none where that may not be read."""
    try:
        return sorted(each.name for each in folder.iterdir())
    except OSError:
        return []
