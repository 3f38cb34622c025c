"""Pools of other formats become Parquet, once, so that everything after reads one format."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from activetest import catalog
from activetest.errors import PoolError
from activetest.formats import FAMILY, add_notes, find_format, find_suffixes, list_formats
from activetest.nouns.encodings import describe_invalid, is_utf16, suggest_utf8
from activetest.nouns.file_head import read_head
from activetest.nouns.foreign_files import find_foreign
from activetest.nouns.name_lists import shorten_list
from activetest.pool import folders, long_tables, named_numbers, nested
from activetest.pool.files import Files, find_local_path
from activetest.pool.roles import reject_duplicates
from activetest.pool.stored_types import find_stored_schema, store_batch
from activetest.system import atomic, progress
from activetest.system.safe_text import first_line, mask_secrets

# The format that needs no conversion.
_OURS = "parquet"

# Rows written at once.
ROW_GROUP = 131_072


def needs_conversion(uri: str) -> bool:
    """Whether the pool is a file or folder of another format than Parquet, by its content.

    A file that is not there, or may not be read, goes by its name.
    """
    if "://" not in uri:
        path = find_local_path(uri)
        if path.is_dir():
            return folders.holds_parts(path)
        if path.is_file():
            try:
                # Its own reader first: no other is needed for most pools.
                if catalog.load(FAMILY, _OURS).recognise(read_head(path)):
                    found = path.stat()
                    return _needs_shaping(str(path), found.st_size, found.st_mtime_ns)
                return True
            except OSError:
                pass
    return Path(uri).suffix.lower() in set(find_suffixes()) - {".parquet"}


@lru_cache(maxsize=16)
def _needs_shaping(path: str, size: int, time: int) -> bool:
    """Whether a Parquet file has a row for each item and class, or its outputs stand by names.

    See pool.long_tables and pool.named_numbers.

    size, time  of the file: what is remembered is of this content
    """
    try:
        files = Files(path)
        if named_numbers.are_outputs(files.schema):
            return True
        columns = long_tables.find_columns(files.schema)
        if columns is None or not files.rows:
            return False
        names = [columns.id, columns.name, columns.probability]
        first = files.sample(names, long_tables.SAMPLE, whole=False)
        if not long_tables.may_be_long(pa.Table.from_batches([first]), columns):
            return False
        batches = (batch for _, batch in files.scan(names))
        return long_tables.read_long(pa.Table.from_batches(batches), columns) is not None
    except PoolError:
        # It is said where the file is read.
        return False


def to_parquet(
    source: str,
    target: str,
    *,
    id: str | None = None,
    note: str = "",
    columns: Collection[str] = (),
    judge: str | None = None,
) -> None:
    """Convert a file of another format, or a folder of such files, whole or not at all.

    Column types are found from all rows; ids stay text: 007 is not 7. The target has the note among
    those of the reader, see activetest.formats.

    columns  that a study reads. It may have been made when the file's format was not known yet: a
             general format serves that gives them where the file's own does not
    judge    column of the grades without which an item of a log is left out; default: the first

    Raises PoolError naming the line for what cannot be parsed, OSError when target cannot be
    written.
    """
    path = check_source(source)
    formats = [] if path.is_dir() else _recognise(path, source)

    def read() -> Iterator[pa.Table]:
        if path.is_dir():
            return _read_folder(path, id=id, judge=judge)
        return _read_tables(path, formats, id=id, columns=columns, judge=judge)

    with atomic.replacing_file(Path(target), durable=True) as building:
        with progress.step("converting the pool to Parquet", unit="rows") as step:
            wide = long_tables.widen(named_numbers.read_named(read), id)
            write_parquet(_count_rows(store_tables(wide, note), step), building)
        if not pq.read_metadata(building).num_rows:
            raise PoolError(f"{source} has no rows", hint="give a pool with at least one item")


def _count_rows(tables: Iterator[pa.Table], step: progress.Step) -> Iterator[pa.Table]:
    """The tables; the step advances by their rows."""
    for table in tables:
        step.advance(table.num_rows)
        yield table


def _read_folder(folder: Path, *, id: str | None, judge: str | None) -> Iterator[pa.Table]:
    """The tables of the files in a folder that are one pool. Raises PoolError."""
    found = folders.find_parts(folder)

    def read(file: Path) -> Iterator[pa.Table]:
        return _read_tables(file, [found.format], id=id, columns=(), judge=judge)

    return folders.read_parts(found, folder, read, judge=judge)


def name_format(source: str) -> str | None:
    """The format of a local file, or of the files of a folder that are converted; else None.

    Raises PoolError for a folder of which it cannot be known.
    """
    path = Path(source).expanduser()
    if "://" in source or not path.exists():
        return None
    if path.is_dir():
        return folders.find_parts(path).format if folders.holds_parts(path) else None
    with suppress(OSError):
        return find_format(read_head(path, source), "POOL", "ANSWERS")
    return None


def _read_tables(
    path: Path,
    formats: Sequence[str],
    *,
    id: str | None,
    columns: Collection[str],
    judge: str | None,
) -> Iterator[pa.Table]:
    """The tables of a file, by the first format that gives the columns, else by the first of all.

    Raises PoolError where that one cannot be read.
    """

    def read(name: str) -> Iterator[pa.Table]:
        graded = {"judge": judge} if catalog.fact(FAMILY, name, "GRADED") else {}
        tables: Iterator[pa.Table] = catalog.load(FAMILY, name).read_pool(path, id=id, **graded)
        return tables

    for name in formats:
        tables = read(name)
        try:
            first = next(tables)
        except PoolError:
            if name == formats[0]:
                raise
            continue
        inner = nested.find_inner(first.schema, set())
        if {*columns} <= {*first.column_names, *inner}:
            return chain([first], tables)
    return read(formats[0])


@contextmanager
def open_as_parquet(
    source: str, *, id: str | None = None, judge: str | None = None
) -> Iterator[str]:
    """The address of a table as Parquet: its own, or a temporary file that is removed afterwards.

    id, judge  as of to_parquet

    Raises PoolError where it is not there or cannot be parsed.
    """
    if not needs_conversion(source):
        yield source
        return
    check_source(source)
    with atomic.temporary_folder() as folder:
        path = folder / f"{Path(source).stem[:50]}.parquet"
        to_parquet(source, str(path), id=id, judge=judge)
        yield str(path)


def check_source(source: str) -> Path:
    """The file or folder that is converted. Raises PoolError where none is on this machine."""
    if "://" in source:
        raise PoolError(
            f"{mask_secrets(source)} cannot be opened: only Parquet is read at an address",
            hint="download the file, and give its path",
        )
    path = find_local_path(source)
    if not path.is_file() and not path.is_dir():
        raise PoolError(
            f"there is no file {source}",
            hint=f"check the path (looked in {path.absolute().parent})",
        )
    return path


def store_tables(tables: Iterator[pa.Table], note: str = "") -> Iterator[pa.Table]:
    """Tables of at most a row group, with types that the pool can read, the first without rows.

    note  what the metadata is to say besides

    A column that no Parquet file can hold, such as one of empty records, is left out, and a note
    says so. Raises PoolError for two columns of one name, and for values that cannot be stored.
    """
    first = next(tables)
    reject_duplicates(first.schema)
    names, left_out = _find_storable(first.schema)
    schema = find_stored_schema(first.select(names).schema)
    notes = [*filter(None, (note, left_out))]
    schema = schema.with_metadata(add_notes(schema.metadata, notes))
    yield schema.empty_table()
    for table in chain([first], tables):
        for batch in table.select(names).to_batches(max_chunksize=ROW_GROUP):
            yield pa.Table.from_batches([store_batch(batch, schema)])


def _find_storable(schema: pa.Schema) -> tuple[list[str], str]:
    """The columns that Parquet can hold, and a note about the others.

    Raises PoolError where it can hold none.
    """
    names, others = [], []
    error = None
    for field in schema:
        try:
            find_stored_schema(pa.schema([field]))
        except PoolError as problem:
            error = problem
            others.append(field.name)
        else:
            names.append(field.name)
    if error and not names:
        raise error
    note = f"left out, because a pool cannot hold what is in them: {shorten_list(others)}"
    return names, note if others else ""


def write_parquet(batches: Iterator[pa.Table], target: Path, *, checksums: bool = False) -> None:
    """Write tables of one schema as row groups of at least 131,072 rows, but for the last.

    checksums  of every page of every column

    Raises PoolError for a value that Parquet cannot hold.
    """
    first = next(batches)
    with (
        _raising_storage_problems(),
        pq.ParquetWriter(
            target, first.schema, compression="snappy", write_page_checksum=checksums
        ) as writer,
    ):
        waiting = [first]
        for table in batches:
            waiting.append(table)
            if sum(part.num_rows for part in waiting) >= ROW_GROUP:
                writer.write_table(pa.concat_tables(waiting), row_group_size=ROW_GROUP)
                waiting = []
        if waiting:
            writer.write_table(pa.concat_tables(waiting), row_group_size=ROW_GROUP)


@contextmanager
def _raising_storage_problems() -> Iterator[None]:
    """Turn what Parquet says of a value into a PoolError."""
    try:
        yield
    except pa.ArrowException as error:
        raise PoolError(
            f"the pool has a value that Parquet cannot hold: {first_line(error)}",
            hint="correct it, or leave its column out",
        ) from error


def _recognise(path: Path, source: str) -> list[str]:
    """The formats of a file, its own first.

    Raises PoolError where it is empty or of none that can be read.
    """
    try:
        head = read_head(path, source)
    except OSError as error:
        raise PoolError(
            f"{source} may not be read: {error.strerror or error}", hint="check its permissions"
        ) from error
    if not head.size:
        raise PoolError(
            f"{source} is empty (0 bytes)", hint="give a file with a header and at least one row"
        )
    if is_utf16(head.start):
        raise PoolError(f"{source} looks like UTF-16", hint=suggest_utf8(path, "UTF-16"))
    name = find_format(head, "POOL", "ANSWERS")
    if name is None:
        if found := find_foreign(head.start):
            title, step = found
            raise PoolError(f"{source} is {title}, which is not read", hint=step or _list_formats())
        text = head.suffix != ".parquet" and b"\0" not in head.start
        if text and (found := describe_invalid(path)):
            raise PoolError(*found)
        if head.suffix == ".parquet":
            state = "is not a Parquet file, nor of another format that can be read"
        else:
            state = "is of no format that can be read"
            state += ": it is no text, there are NUL bytes in it" if b"\0" in head.start else ""
        raise PoolError(f"{source} {state}", hint=_list_formats())
    if not catalog.fact(FAMILY, name, "POOL"):
        title = catalog.fact(FAMILY, name, "TITLE")
        raise PoolError(
            f"{source} holds answers of annotators ({title}), and no outputs of a model",
            hint=f"`study.ingest({source!r})` takes them for a study of the model's outputs",
        )
    return list(list_formats(head))


def _list_formats() -> str:
    """Names of the formats that can be read, the general ones first."""
    names = [name for name in catalog.names(FAMILY) if catalog.fact(FAMILY, name, "POOL")]
    names.sort(key=lambda name: catalog.fact(FAMILY, name, "PRECEDENCE") or 0)
    titles = (catalog.fact(FAMILY, name, "TITLE") for name in names)
    return f"formats that are read: {', '.join(titles)}"
