"""Several files that are one pool: the parts of a table in a folder, or the logs of one run.

A folder of Parquet files is read as it is; all others become one Parquet file. Parts of such a
table lie side by side, or in folders whose names are values of columns, and have names that differ
in their numbers; logs of a run are of one program, and of one task each. Everything else is
refused, with the files that could be meant.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from activetest import catalog
from activetest.errors import PoolError
from activetest.formats import FAMILY, add_notes, find_format, find_suffixes
from activetest.nouns.class_names import read_class_names
from activetest.nouns.file_head import read_head
from activetest.nouns.foreign_files import find_foreign
from activetest.nouns.name_lists import shorten_list
from activetest.pool.parts import (
    add_partitions,
    choose_parts,
    describe_left_out,
    read_partitions,
)
from activetest.system.safe_text import first_line

# Files of a folder that are looked at.
_MOST = 10_000
# Files that other programs write next to the parts.
_NO_PARTS = re.compile(
    r"state\.json|dataset_info\.json|dataset_dict\.json|readme(\.\w+)?|license(\.\w+)?|"
    r".*\.(md|log|crc|lock|yaml|yml|toml|png|svg|html|py|sh|ipynb)|thumbs\.db|desktop\.ini",
    re.I,
)
# Of a folder whose folders are parts of a whole, such as train and test.
_SPLITS = "dataset_dict.json"
# Names that only differ in numbers.
_VARIES = re.compile(r"\d+|(?<![0-9a-z])[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)

Read = Callable[[Path], Iterator[pa.Table]]


@dataclass(frozen=True)
class Parts:
    """The files of a folder that are one pool.

    format    of all of them
    files     in the order of their names
    others    names of files that are not read
    left_out  names of what choose_parts leaves out
    """

    format: str
    files: tuple[Path, ...]
    others: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def graded(self) -> bool:
        """Whether they are logs, with grades, and no tables."""
        return bool(catalog.fact(FAMILY, self.format, "GRADED"))

    def describe(self, folder: Path) -> str:
        """Files that are read and files that are not, in a sentence."""
        names = [str(file.relative_to(folder)) for file in self.files]
        count = f"{len(names):,} files" if len(names) > 1 else "1 file"
        text = f"{count} of the folder: {shorten_list(names, 4)}"
        text += f"; not read: {shorten_list(self.others, 4)}" if self.others else ""
        return text + (f"; {describe_left_out(self.left_out)}" if self.left_out else "")


def list_files(folder: Path) -> list[Path]:
    """The files below a folder that may be parts of a pool, by name. Raises PoolError."""
    return _choose_files(folder)[0]


def holds_parts(folder: Path) -> bool:
    """Whether a folder is a pool of other files than Parquet. Raises PoolError."""
    files = list_files(folder)
    return bool(files) and not any(file.suffix == ".parquet" for file in files)


def _choose_files(folder: Path) -> tuple[list[Path], tuple[str, ...]]:
    """The parts that choose_parts finds in a folder on this machine. Raises PoolError."""
    root = str(folder)
    try:
        below = fs.LocalFileSystem().get_file_info(fs.FileSelector(root, recursive=True))
    except OSError as error:
        raise PoolError(
            f"the folder {folder} cannot be read: {first_line(error)}",
            hint="check its permissions, and those of what is in it",
        ) from error
    found, others = choose_parts(below, root, find_suffixes())
    return [Path(each.path) for each in found], others


def find_parts(folder: Path) -> Parts:
    """The files of a folder that are one pool. Raises PoolError where that cannot be known."""
    files, left_out = _choose_files(folder)
    if len(files) > _MOST:
        raise PoolError(
            f"the folder {folder} holds more than {_MOST:,} files",
            hint="give a folder with the files of one pool",
        )
    if any(file.name == _SPLITS for file in files):
        splits = sorted({file.parent.name for file in files if file.parent != folder})
        raise PoolError(
            f"the folder {folder} holds parts of a whole: {shorten_list(splits)}",
            hint="give the folder of one of them",
        )
    formats = {file: _name_format(file) for file in files}
    logs = {name for name in formats.values() if name and catalog.fact(FAMILY, name, "GRADED")}
    tables = {name for file, name in formats.items() if name and not _NO_PARTS.fullmatch(file.name)}
    chosen = logs or tables
    unknown = [file for file, name in formats.items() if name is None]
    _reject_foreign(folder, unknown, packed=bool(chosen))
    if len(chosen) != 1:
        counts = [
            f"{sum(each == name for each in formats.values())} of "
            f"{catalog.fact(FAMILY, name, 'TITLE')}"
            for name in sorted(chosen)
        ]
        inside = f"files of several formats: {', '.join(counts)}" if chosen else "no file to read"
        raise PoolError(f"the folder {folder} holds {inside}", hint=_hint(files))
    (format,) = chosen
    used = [
        file for file in files if formats[file] == format and not _NO_PARTS.fullmatch(file.name)
    ]
    others = [str(file.relative_to(folder)) for file in files if file not in {*used}]
    found = Parts(format, tuple(used), tuple(others), left_out)
    if not found.graded:
        _check_names(folder, found)
    return found


def _name_format(file: Path) -> str | None:
    """The format of a file that may be a part; None of any other."""
    try:
        head = read_head(file)
    except OSError:
        return None
    name = find_format(head)
    is_part = getattr(catalog.load(FAMILY, name), "is_part", None) if name else None
    return name if is_part is None or is_part(head) else None


def _reject_foreign(folder: Path, files: Sequence[Path], *, packed: bool) -> None:
    """Raises PoolError for parts of a format that is not read; if packed, for compressed ones."""
    for file in files:
        with suppress(OSError):
            found = find_foreign(read_head(file).start)
            if found and (not packed or found[0].startswith("compressed")):
                raise PoolError(
                    f"the folder {folder} holds files that are not read: {file.name} is {found[0]}",
                    hint=f"of each of these files: {found[1]}" if found[1] else _hint([file]),
                )


def _check_names(folder: Path, parts: Parts) -> None:
    """Raises PoolError for tables that are not named as parts of one."""
    places = {file.parent for file in parts.files}
    columns = {tuple(read_partitions(str(file), str(folder))) for file in parts.files}
    depths = {len(file.relative_to(folder).parts) - 1 for file in parts.files}
    if len(places) > 1 and (len(columns) > 1 or depths != {*map(len, columns)}):
        where = sorted(str(place.relative_to(folder)) for place in places)
        raise PoolError(
            f"the files of {folder} lie in several folders: {shorten_list(where)}",
            hint="give one of these folders, or put the files of one pool into one folder",
        )
    names = [file.name for file in parts.files]
    if len({_VARIES.sub("#", name) for name in names}) > 1:
        raise PoolError(
            f"the files of {folder} are not named as parts of one table: {shorten_list(names)}",
            hint=_hint(parts.files),
        )


def _hint(files: Sequence[Path]) -> str:
    if not files:
        return "give the folder that the files are in"
    return f"give one file, for example {files[0]}, or a folder with the parts of one table alone"


def read_parts(parts: Parts, folder: Path, read: Read, *, judge: str | None) -> Iterator[pa.Table]:
    """The tables of all parts, as one; at least one. Raises PoolError naming the file.

    read   of a file, which gives the same tables each time
    judge  the column of the grades that every item of a log has
    """

    def read_placed(file: Path) -> Iterator[pa.Table]:
        values = read_partitions(str(file), str(folder))
        for table in read(file):
            new = {name: each for name, each in values.items() if name not in table.column_names}
            yield add_partitions(table, new)

    if parts.graded and len(parts.files) > 1:
        module = catalog.load(FAMILY, parts.format)
        tables = module.read_folder(parts.files, folder, judge=judge)
    elif parts.graded:
        tables = read(parts.files[0])
    else:
        tables = _join_tables(parts.files, read_placed)
    for table in tables:
        metadata = add_notes(table.schema.metadata, [parts.describe(folder)])
        yield table.replace_schema_metadata(metadata)


def _join_tables(files: Sequence[Path], read: Read) -> Iterator[pa.Table]:
    """The tables of files with the same columns, of types that hold those of all."""
    schemas = [_read_schema(file, read) for file in files]
    first = schemas[0]
    kinds = {name: first.field(name).type for name in first.names}
    for file, schema in zip(files[1:], schemas[1:], strict=True):
        _check_columns(files[0], first, file, schema)
        kinds = {
            name: _join_types(kind, schema.field(name).type, name, file)
            for name, kind in kinds.items()
        }
    joined = pa.schema(list(kinds.items()), first.metadata)
    yield joined.empty_table()
    for file in files:
        for table in read(file):
            columns = [table.column(name).cast(kind) for name, kind in kinds.items()]
            yield pa.Table.from_arrays(columns, schema=joined)


def _read_schema(file: Path, read: Read) -> pa.Schema:
    tables = read(file)
    try:
        return next(tables).schema
    finally:
        getattr(tables, "close", lambda: None)()


def _check_columns(first: Path, columns: pa.Schema, file: Path, other: pa.Schema) -> None:
    """Raises PoolError for a file with other columns, or other names for its numbers."""
    missing = {*columns.names} ^ {*other.names}
    if missing:
        name = min(missing)
        has, lacks = (first, file) if name in columns.names else (file, first)
        raise PoolError(
            f"{lacks} has no column {name!r}, {has} has",
            hint="all files of a folder need the same columns: give one file, or remove others",
        )
    names: Sequence[Mapping[str, Any]] = [
        read_class_names(each.metadata) for each in (columns, other)
    ]
    if names[0] != names[1]:
        raise PoolError(
            f"{file} has other names for the numbers of its columns than {first}",
            hint="write all files with the same classes",
        )


def _join_types(kind: pa.DataType, other: pa.DataType, name: str, file: Path) -> pa.DataType:
    """A type that holds the values of both: text, where one of them is."""
    if kind == other:
        return kind
    if pa.string() in (kind, other) and not any(map(pa.types.is_nested, (kind, other))):
        return pa.string()
    try:
        pair = [pa.schema([(name, each)]) for each in (kind, other)]
        return pa.unify_schemas(pair, promote_options="permissive").field(name).type
    except pa.ArrowException as error:
        raise PoolError(
            f"column {name!r} is {other} in {file}, and {kind} in files before it",
            hint="write all files with the same types",
        ) from error
