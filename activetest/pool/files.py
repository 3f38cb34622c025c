"""The files of a pool: where they are, how they are read, and what can be wrong with them."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import islice
from pathlib import Path
from platform import node
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyarrow.types as kinds
from pyarrow import fs

from activetest.errors import ActivetestError, PoolChanged, PoolError
from activetest.formats import add_notes
from activetest.nouns.arguments import check_path, find_working_directory, is_unicode
from activetest.nouns.name_lists import find_repeated
from activetest.pool.columns import decode
from activetest.pool.nested import Inner, find_inner, view_batch, view_schema
from activetest.pool.number_texts import read_texts
from activetest.pool.parts import (
    add_partitions,
    choose_parts,
    describe_left_out,
    read_partitions,
)
from activetest.pool.remote import (
    GuardedStore,
    HostError,
    describe_network_error,
    find_ranges,
    find_versions,
    hint_opening,
    open_object,
    open_store,
    wait_for,
)
from activetest.pool.roles import is_text
from activetest.system.safe_text import first_line, mask_secrets

T = TypeVar("T")

# Rows decoded at once: large enough for fast arithmetic, small enough for the processor's cache
# and for memory.
BATCH = 65536

# Bytes of a column read at once: row groups of any size then take no more memory than small ones.
_BUFFER = 2**18

# Bytes at the end of a file that pyarrow reads first.
_FOOTER = 2**16

# Columns of a file that is joined: the id of the row, and what is empty where the row is no item of
# the study.
ID, COMMON = "activetest.id", "activetest.common"

_DAMAGED = "the file is damaged or out of reach; write or copy it again"


@dataclass(frozen=True)
class Piece:
    """One row group: the unit of work of a pass.

    number     position among all pieces of the pool
    path       file
    row_group  position inside the file
    start      position of the first row in the pool
    rows       number of rows
    """

    number: int
    path: str
    row_group: int
    start: int
    rows: int


class Files:
    """The Parquet files behind a path or URI, sorted by name; footers are read on first use."""

    def __init__(
        self, uri: str, joined: str | Path | None = None, more: Sequence[str | Path] = ()
    ) -> None:
        """Raises PoolError when there is nothing at uri, or a file of a later part is gone.

        joined  a file with further columns, and a row for each row of the others: outputs of a
                model, and COMMON, where rows are left out that hold nothing there
        more    files of this machine with further rows, one for each later part of the population
        """
        self.uri = uri
        self.remote = "://" in uri
        name = mask_secrets(uri)
        self._filesystem, root = _locate(uri, self.remote)
        self._found, self._left_out = self._wait(lambda: _list_files(self._filesystem, root, name))
        self._root = root
        self._later = {str(path): _find_later(path) for path in more}
        self._found = [*self._found, *self._later.values()]
        self._names: dict[str, tuple[str, ...]] = {}
        self._forms: dict[str, str] = {}
        self.joined = Files(str(joined)) if joined else None
        of_rows = {ID, COMMON}.intersection(self.joined.schema.names if self.joined else ())
        self._needed = tuple(of_rows - {ID})
        self._hidden = frozenset(of_rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Elsewhere they are opened again, once: the place is sent, and how they are read."""
        uri, *others = self.place
        uri = uri if self.remote else str(find_local_path(uri))
        names, forms = tuple(self._names.items()), tuple(self._forms.items())
        return _open_elsewhere, ((uri, *others), self.key, names, forms, self._needed)

    @property
    def place(self) -> tuple[str, str | None, tuple[str, ...]]:
        """Where they are, the file beside them and later parts: Files(*place) opens them again."""
        return self.uri, self.joined.uri if self.joined else None, tuple(self._later)

    @property
    def part_rows(self) -> list[int]:
        """Number of rows of each part of the population, in their order."""
        counts = [0] * (1 + len(self._later))
        places = {path: place for place, path in enumerate(self._later, start=1)}
        for piece in self.pieces:
            counts[places.get(piece.path, 0)] += piece.rows
        return counts

    @property
    def nested(self) -> bool:
        """Whether columns that are read stand inside of others."""
        return bool(self._inner)

    def _get_store(self, path: str) -> "fs.FileSystem | GuardedStore":
        """The file system that a file is in: later parts are on this machine."""
        return fs.LocalFileSystem() if path in self._later else self._filesystem

    def stamp(self) -> list[list]:
        """[name, bytes, time of change in ns] of each file: equal when nobody touched the pool.

        Where a store knows no time, its mark of the content (ETag) stands in its place.
        """
        versions = find_versions(self._filesystem)
        return [
            [
                found.path if self.remote else found.base_name,
                found.size,
                versions.get(found.path, found.mtime_ns),
            ]
            for found in self._found
        ] + (self.joined.stamp() if self.joined else [])

    def reject_change(self) -> None:
        """Raises PoolError where a store has other files by now than those that are read."""
        if self.remote and Files(*self.place).stamp() != self.stamp():
            raise PoolError(
                f"{mask_secrets(self.uri)} changed while it was read",
                hint="nothing was written: run the command again when nobody writes to it",
            )

    @contextmanager
    def _reading(self, path: str, problem: str) -> Iterator[None]:
        """Turn errors while a file is read into a PoolError, which says where that has changed."""
        try:
            with _raising_pool_errors(path, problem, self.uri):
                yield
        except HostError:
            raise
        except PoolError:
            self.reject_change()
            raise

    @property
    def key(self) -> tuple[tuple[Any, ...], ...]:
        """The stamp, as what is kept of the files is remembered by."""
        return tuple(map(tuple, self.stamp()))

    @property
    def paths(self) -> list[str]:
        """Where each file is, as pieces name it; those without rows are among them."""
        return [found.path for found in self._found]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(found.size or 0 for found in self._found)

    def measure_column(self, name: str) -> int:
        """Bytes of a column when nothing is compressed, as the footers say.

        Raises PoolError where a footer is damaged.
        """
        total = 0
        for piece in self.pieces:
            with _raising_pool_errors(piece.path, f"{piece.path} cannot be read"):
                chunk = self._find_chunk(piece, name)
                total += chunk.total_uncompressed_size if chunk else 0
        return total

    def name_classes(self, names: Mapping[str, Sequence[str]]) -> None:
        """Read columns of whole numbers as the names that these stand for, and -1 as none.

        names  {column: names, from that of 0 on}; of columns that are not there or of another type,
               nothing is read otherwise
        """
        self._names = {
            field.name: tuple(names[field.name])
            for field in (self._columns if names else ())
            if field.name in names and kinds.is_integer(field.type)
        }

    def read_written(self, forms: Mapping[str, str]) -> None:
        """Read columns of text as numbers.

        forms  {column: how it is written, see number_texts}; of columns that are not there or of
               another type, nothing is read otherwise
        """
        self._forms = {
            field.name: forms[field.name]
            for field in (self._columns if forms else ())
            if field.name in forms and is_text(field.type)
        }

    def hide(self, columns: Iterable[str]) -> None:
        """Leave these columns out of the schema: they are of other models."""
        self._hidden |= frozenset(columns)

    def leave_out_gaps(self, column: str) -> None:
        """Leave rows out that have nothing in a column; they are counted when that is needed."""
        self._needed = tuple(dict.fromkeys([*self._needed, column]))
        for name in ("pieces", "rows"):
            vars(self).pop(name, None)

    @property
    def left_out(self) -> int:
        """How many rows are left out because the joined file has nothing of them."""
        if self.joined is None or COMMON not in self._needed:
            return 0
        return sum(batch.column(0).null_count for _, batch in self.joined.scan([COMMON]))

    @property
    def gaps(self) -> int:
        """How many rows are left out because some column holds nothing there."""
        footers = self._footers.values()
        return sum(footer.num_rows for footer in footers) - self.rows

    @property
    def class_names(self) -> dict[str, tuple[str, ...]]:
        """{column: names} of the columns that are read as names."""
        return dict(self._names)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the first file, as they are read; those of the others are the same."""
        if not (self._names or self._forms or self._hidden):
            return self._columns
        types = dict.fromkeys(self._names, pa.string())
        types |= dict.fromkeys(self._forms, pa.float64())
        fields = [
            pa.field(field.name, types.get(field.name, field.type))
            for field in self._columns
            if field.name not in self._hidden
        ]
        return pa.schema(fields, self._columns.metadata)

    def find_range(self, column: str) -> tuple[float, float]:
        """The smallest and the largest number in a column; infinity and its negative without any.

        Of row groups whose footer states both, nothing is read. Raises PoolError for damage.
        """
        ranges = [self._find_stated_range(piece, column) for piece in self.pieces]
        for place, piece in enumerate(self.pieces):
            if ranges[place] is not None:
                continue
            found = [math.inf, -math.inf]
            for batch in self.batches([column], piece):
                values = batch.column(0).cast(pa.float64())
                finite = values.filter(pc.is_finite(values))
                if len(finite):
                    least, most = pc.min_max(finite).as_py().values()
                    found = [min(found[0], least), max(found[1], most)]
            ranges[place] = found[0], found[1]
        known = [each for each in ranges if each is not None]
        return (
            min((low for low, _ in known), default=math.inf),
            max((high for _, high in known), default=-math.inf),
        )

    def _find_stated_range(self, piece: Piece, column: str) -> tuple[float, float] | None:
        """The smallest and the largest number of a row group by its footer; None where unknown."""
        if column in self._forms:
            return None
        with _raising_pool_errors(piece.path, f"{piece.path} cannot be read"):
            chunk = self._find_chunk(piece, column)
            found = chunk.statistics if chunk else None
            if found is None or not found.has_min_max:
                return None
            try:
                # A footer may state -0.0 for 0.
                return float(found.min) + 0.0, float(found.max) + 0.0
            except (TypeError, ValueError):
                return None

    def _find_chunk(self, piece: Piece, column: str) -> pq.ColumnChunkMetaData | None:
        """The footer's entry for a column in a row group; None where it is not there.

        Damage in it would end the process, not raise, so a row is read first, which raises
        PoolError.
        """
        footer, address = self._footers[piece.path], self._find_address(column)
        paths = (footer.schema.column(place).path for place in range(len(footer.schema)))
        place = next((place for place, path in enumerate(paths) if path == address), None)
        if place is None:
            return None
        next(self.batches([column], piece, 1, checked=False, whole=False), None)
        return footer.row_group(piece.row_group).column(place)

    def _find_address(self, column: str) -> str:
        """Parquet's name for a column."""
        return self._inner[column].address if column in self._inner else column

    @cached_property
    def _inner(self) -> dict[str, Inner]:
        """{name: column} of the columns that stand inside of others: see pool.nested."""
        path, footer = next(iter(self._footers.items()))
        with _raising_pool_errors(path, f"{path} cannot be read"):
            table, parquet = footer.schema.to_arrow_schema(), footer.schema
            columns = map(parquet.column, range(len(parquet)))
            uuids = {each.path for each in columns if each.logical_type.type == "UUID"}
            return find_inner(table, uuids)

    @cached_property
    def _columns(self) -> pa.Schema:
        """Columns as they are read but for names of classes, and those of the names of folders."""
        found = self._inside
        for name in self._partitions[self._found[0].path]:
            found = found.append(pa.field(name, pa.string()))
        if self.joined:
            found = pa.schema([*found, *self.joined.schema], found.metadata)
        if self._left_out:
            notes = [describe_left_out(self._left_out)]
            found = found.with_metadata(add_notes(found.metadata, notes))
        return found

    @cached_property
    def _inside(self) -> pa.Schema:
        """Columns that the first file has itself."""
        return view_schema(next(iter(self._footers.values())).schema.to_arrow_schema(), self._inner)

    @cached_property
    def _partitions(self) -> dict[str, dict[str, str | None]]:
        """{path: {column: value}} of the columns in the names of folders that no file has itself.

        Raises PoolError where some file has other ones.
        """
        first = self._found[0].path
        names = {*self._inside.names}
        found = {
            path: {
                name: value
                for name, value in read_partitions(path, self._root).items()
                if name not in names and path not in self._later
            }
            for path in self._footers
        }
        for path, values in found.items():
            if values.keys() != found[first].keys() and path not in self._later:
                raise PoolError(
                    f"the folders of {path} name other columns than those of {first}",
                    hint="give a folder in which all parts stand equally deep",
                )
        return found

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The row groups that have rows, in order. Raises PoolError for a damaged footer."""
        pieces: list[Piece] = []
        start = 0
        for path, footer in self._footers.items():
            total = 0
            for group in range(footer.num_row_groups):
                stated = footer.row_group(group).num_rows
                if stated < 0:
                    raise PoolError(f"row group {group} of {path} has {stated} rows", hint=_DAMAGED)
                total += stated
                if rows := self._count_rows(Piece(len(pieces), path, group, start, stated)):
                    pieces.append(Piece(len(pieces), path, group, start, rows))
                    start += rows
            if total != footer.num_rows:
                raise _call_short(f"{path} cannot be read", footer.num_rows, total)
        return tuple(pieces)

    @cached_property
    def _places(self) -> dict[tuple[str, int], int]:
        """{(path, row group): place of its first row in the joined file}.

        Raises PoolChanged where that one has another number of rows.
        """
        found, start = {}, 0
        for path, footer in self._footers.items():
            for group in range(footer.num_row_groups):
                found[path, group] = start
                start += footer.row_group(group).num_rows
        if self.joined and self.joined.rows != start:
            raise PoolChanged(
                f"{mask_secrets(self.uri)} has {start:,} rows, and it had {self.joined.rows:,} "
                "when the outputs of the first model were joined with it",
                "restore the pool, or start another study: `Study.create(pool, folder)`",
            )
        return found

    def _count_rows(self, piece: Piece) -> int:
        """Rows of a row group, but for those that are left out."""
        if not self._needed or not piece.rows:
            return piece.rows
        columns = [*self._needed]
        return sum(batch.num_rows for batch in self.batches(columns, piece, checked=False))

    @cached_property
    def rows(self) -> int:
        """Number of rows."""
        return sum(piece.rows for piece in self.pieces)

    def blocks(
        self, columns: list[str], rows: int, *, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """(first row, batch) of rows start, ..., stop - 1: a block ends at each multiple of `rows`.

        Results computed block by block do not depend on the row groups that a file happens to
        have. start is such a multiple, and stop is another or the end, which it is without one.
        Decoded in the calling thread; raises PoolError where the file is damaged.
        """
        stop = self.rows if stop is None else stop
        first = bisect_right(self.pieces, start, key=lambda piece: piece.start) - 1
        parts: list[pa.RecordBatch] = []
        left = min(rows, stop - start)
        for piece in islice(self.pieces, max(first, 0), None):
            if piece.start >= stop:
                break
            at = piece.start
            whole = at >= start and at + piece.rows <= stop
            for batch in self.batches(columns, piece, rows, whole=whole):
                rest = batch.slice(max(start - at, 0), max(stop - max(start, at), 0))
                at += batch.num_rows
                while rest.num_rows:
                    parts.append(rest.slice(0, left))
                    rest = rest.slice(parts[-1].num_rows)
                    left -= parts[-1].num_rows
                    if not left:
                        yield start, _join_batches(parts)
                        start += sum(part.num_rows for part in parts)
                        parts, left = [], min(rows, stop - start)
                if at >= stop:
                    break

    def batches(
        self,
        columns: list[str],
        piece: Piece,
        rows: int = BATCH,
        *,
        checked: bool = True,
        whole: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """The piece, at most so many rows at a time, decoded in the calling thread.

        checked  make sure that text is UTF-8
        whole    all of it will be read

        Raises PoolError where the file is damaged or has fewer rows than its footer says, and for
        text that is not UTF-8.
        """
        footer = self._footers[piece.path]
        problem = f"row group {piece.row_group} of {piece.path} cannot be read"
        with (
            self._reading(piece.path, problem),
            ExitStack() as opened,
        ):
            written = self._partitions[piece.path]
            needed = [name for name in self._needed if name not in columns]
            values = {name: written[name] for name in [*columns, *needed] if name in written}
            others = {*self.joined.schema.names} if self.joined else set()
            inside = [name for name in [*columns, *needed] if name not in values.keys() | others]
            of_joined = [name for name in [*columns, *needed] if name in others]
            take = self._read_joined(of_joined, piece, rows) if of_joined else None
            addresses = list(map(self._find_address, inside))
            ahead = partial(find_ranges, footer, piece.row_group, addresses if whole else ())
            store = self._get_store(piece.path)
            source = opened.enter_context(open_object(store, piece.path, ahead))
            # A remote store is asked once per row group; a local file is read page by page.
            buffered = isinstance(store, fs.S3FileSystem) and whole
            file = pq.ParquetFile(source, metadata=footer, pre_buffer=buffered, buffer_size=_BUFFER)
            start, read = piece.start, 0
            viewed = not self._inner.keys().isdisjoint(inside)
            for stored in file.iter_batches(
                rows, row_groups=[piece.row_group], columns=addresses, use_threads=False
            ):
                read += stored.num_rows
                found = view_batch(stored, inside, self._inner) if viewed else stored
                batch = add_partitions(found, values)
                if take:
                    for name, column in zip(of_joined, take(stored.num_rows).columns, strict=True):
                        batch = batch.append_column(name, column)
                    batch = batch.select([*columns, *needed])
                if checked:
                    _reject_invalid_values(batch, start, piece.path)
                batch = self._name_values(batch, start, piece.path)
                if self._needed:
                    for name in self._needed:
                        batch = batch.filter(hold_something(batch.column(name)))
                    batch = batch.select(columns) if needed else batch
                    if not batch.num_rows:
                        continue
                yield batch
                start += batch.num_rows
            stated = footer.row_group(piece.row_group).num_rows
            if read != stated:
                raise _call_short(problem, stated, read)

    def _read_joined(
        self, columns: list[str], piece: Piece, rows: int
    ) -> Callable[[int], pa.RecordBatch]:
        """A function of a number: the next so many rows of the joined file, from a piece's on."""
        assert self.joined is not None
        start = self._places[piece.path, piece.row_group]
        stop = start + self._footers[piece.path].row_group(piece.row_group).num_rows
        blocks = self.joined.blocks(columns, rows, start=start, stop=stop)
        rest = pa.RecordBatch.from_arrays([], [])

        def take(count: int) -> pa.RecordBatch:
            nonlocal rest
            parts = []
            while count:
                rest = rest if rest.num_rows else next(blocks)[1]
                parts.append(rest.slice(0, count))
                rest, count = rest.slice(count), count - parts[-1].num_rows
            return _join_batches(parts)

        return take

    def scan(
        self, columns: list[str], *, checked: bool = True
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """(first row, batch) of all rows, in order; see batches."""
        for piece in self.pieces:
            start = piece.start
            for batch in self.batches(columns, piece, checked=checked):
                yield start, batch
                start += batch.num_rows

    def sample(
        self, columns: list[str], rows: int = BATCH, *, checked: bool = True, whole: bool = True
    ) -> pa.RecordBatch:
        """At most so many of the first rows; see batches."""
        return next(self.batches(columns, self.pieces[0], rows, checked=checked, whole=whole))

    def _name_values(self, batch: pa.RecordBatch, start: int, path: str) -> pa.RecordBatch:
        """The batch with names for numbers, and numbers for texts.

        Raises PoolError for a number that has no name, and for a text that is no such number.
        """
        if {*self._names, *self._forms}.isdisjoint(batch.schema.names):
            return batch
        columns = {}
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            columns[name] = column
            if name in self._names:
                where = f"column {name!r} of {path}"
                columns[name] = _take_names(column, self._names[name], where, start)
            elif name in self._forms:
                columns[name], row = read_texts(column, self._forms[name])
                if row is not None:
                    raise PoolError(
                        f"column {name!r} of {path} is {column[row].as_py()!r} in row "
                        f"{start + row:,} (counting from 0), and numbers written in another way "
                        "elsewhere",
                        hint="write it as the others are written",
                    )
        return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))

    @cached_property
    def _footers(self) -> dict[str, pq.FileMetaData]:
        """Footer of each file.

        Raises PoolError for files that are no Parquet or whose columns differ.
        """
        footers = {
            found.path: self._wait(partial(self._read_footer, found)) for found in self._found
        }
        first = self._found[0].path
        for path, footer in footers.items():
            with _raising_pool_errors(path, f"{path} cannot be read"):
                _reject_other_columns(
                    footers[first].schema.to_arrow_schema(),
                    footer.schema.to_arrow_schema(),
                    first,
                    path,
                )
        return footers

    def _wait(self, call: Callable[[], T]) -> T:
        """The result of `call()`. Raises PoolError where another machine does not answer."""
        guarded = isinstance(self._filesystem, GuardedStore)
        return wait_for(self.uri, call) if self.remote and not guarded else call()

    def _read_footer(self, found: fs.FileInfo) -> pq.FileMetaData:
        """Footer of one file. Raises PoolError when it is no whole Parquet file."""
        ends = [(0, 4), (max(found.size - _FOOTER, 0), found.size)]
        with (
            self._reading(found.path, f"{found.path} cannot be read"),
            open_object(self._get_store(found.path), found.path, lambda: ends) as source,
        ):
            head = source.read(4)
            if head == b"PAR1" and (
                found.size < 12 or source.read_at(4, found.size - 4) != b"PAR1"
            ):
                raise PoolError(
                    f"{found.path} is truncated: its last bytes are missing",
                    hint="copy or write the file again",
                )
            if head != b"PAR1":
                state = "is empty (0 bytes)" if not head else "is not a Parquet file"
                raise PoolError(
                    f"{found.path} {state}",
                    hint="download it, and give its path: only Parquet is read at an address"
                    if self.remote
                    else "give a .parquet, .csv or .jsonl file, or a folder of .parquet files",
                )
            return pq.read_metadata(source)


# Of several pools, a worker of an engine keeps those that a pass may be about.
@lru_cache(4)
def _open_elsewhere(
    place: tuple[str, str | None, tuple[str, ...]],
    key: tuple[tuple[Any, ...], ...],
    names: tuple[tuple[str, tuple[str, ...]], ...],
    forms: tuple[tuple[str, str], ...],
    needed: tuple[str, ...],
) -> Files:
    """The files of another process, which have this key and are read in the same way.

    Raises PoolError where this machine does not see them, PoolChanged where they are others.
    """
    try:
        files = Files(*place)
    except PoolError as error:
        raise PoolError(
            f"on the worker {node()}: {error.problem}",
            "keep the pool where every worker sees it under this path",
        ) from error
    if files.key != key:
        raise PoolChanged(
            f"the worker on {node()} sees another {mask_secrets(place[0])}",
            "keep the pool where every worker sees the same files, and do not change it meanwhile",
        )
    files.name_classes(dict(names))
    files.read_written(dict(forms))
    for name in needed:
        files.leave_out_gaps(name)
    return files


def _join_batches(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches one after another, as one; files may differ in more than their types."""
    if len(parts) == 1:
        return parts[0]
    names = parts[0].schema.names
    columns = [pa.concat_arrays([part.column(name) for part in parts]) for name in names]
    return pa.RecordBatch.from_arrays(columns, names)


def _locate(uri: str, remote: bool) -> tuple[fs.FileSystem | GuardedStore, str]:
    """The file system and the path in it. Raises PoolError for a URI that pyarrow does not know."""
    if not remote:
        return fs.LocalFileSystem(), str(find_local_path(uri))
    name = mask_secrets(uri)
    try:
        return open_store(uri)
    except ActivetestError:
        raise
    except ImportError as error:
        raise PoolError(
            f"{name} cannot be opened: {first_line(error)}",
            hint="install that package, or download the pool",
        ) from error
    # Stores that are packages of their own raise what they like.
    except Exception as error:
        problem = f"{name} cannot be opened"
        unreachable = describe_network_error(error, problem, uri)
        raise unreachable or PoolError(
            f"{problem}: {first_line(error)}", hint=hint_opening(uri)
        ) from error


def find_local_path(uri: str) -> Path:
    """The path of a file or folder on this machine, which may be missing.

    Raises PoolError for one that no file can have, and for one that study.toml cannot hold.
    """
    if not uri:
        raise PoolError("the path of the pool is empty", hint="give a file, or . for this folder")
    try:
        path = Path(uri).expanduser()
    except RuntimeError as error:
        raise PoolError(f"{uri} cannot be found: {error}", hint="give the whole path") from error
    check_path(path, PoolError)
    whole = path if path.is_absolute() else find_working_directory(PoolError) / path
    if not is_unicode(str(whole)):
        raise PoolError(
            f"the path of {uri} is not UTF-8", hint="rename the file, or the folder that it is in"
        )
    return path


def _find_later(path: str | Path) -> fs.FileInfo:
    """The file of a later part. Raises PoolError where it is gone."""
    found = fs.LocalFileSystem().get_file_info(str(path))
    if found.type != fs.FileType.File:
        raise PoolError(
            f"a part of the population is missing: there is no file {path}",
            hint="restore it from a backup of the study",
        )
    return found


def _list_files(
    filesystem: fs.FileSystem, root: str, uri: str
) -> tuple[list[fs.FileInfo], tuple[str, ...]]:
    """The file, or the .parquet files below the folder, and what was left out; see pool.parts.

    Raises PoolError when there are none.
    """
    with _raising_pool_errors(uri, f"{uri} cannot be opened"):
        found = filesystem.get_file_info(root)
        if found.type == fs.FileType.NotFound:
            raise PoolError(f"there is no file or folder {uri}", hint="check its path")
        if found.type != fs.FileType.Directory:
            return [found], ()
        below = filesystem.get_file_info(fs.FileSelector(root, recursive=True))
    chosen, others = choose_parts(below, root, {".parquet"})
    files = [each for each in chosen if each.extension == "parquet"]
    if not files:
        raise PoolError(
            f"the folder {uri} holds no .parquet file"
            + (f"; {describe_left_out(others)}" if others else ""),
            hint="give the folder that the files are in",
        )
    return files, others


def _take_names(codes: pa.Array, names: Sequence[str], column: str, start: int) -> pa.Array:
    """The name of each number; null for -1. Raises PoolError, naming the row, for another one."""
    known = pc.and_(pc.greater_equal(codes, -1), pc.less(codes, len(names)))
    if (row := pc.index(known, False).as_py()) >= 0:
        raise PoolError(
            f"{column} is {codes[row]} in row {start + row:,} (counting from 0), and the file has "
            f"{len(names):,} names for its numbers",
            hint="correct it, or write names in place of the numbers",
        )
    places = pc.if_else(pc.less(codes, 0), None, codes)
    return pa.array(names, pa.string()).take(places)


def _reject_other_columns(first: pa.Schema, second: pa.Schema, first_path: str, path: str) -> None:
    """Raises PoolError when two files of a folder differ in a column or its type."""
    types, repeated = {each.name: each.type for each in second}, {*find_repeated(second.names)}
    for field in first:
        if field.name not in types:
            raise PoolError(
                f"{path} has no column {field.name!r}, {first_path} has",
                hint="all files need the same columns",
            )
        if field.name not in repeated and types[field.name] != field.type:
            raise PoolError(
                f"column {field.name!r} is {field.type} in {first_path} "
                f"and {types[field.name]} in {path}",
                hint="write all files with the same types",
            )


def _call_short(problem: str, stated: int, found: int) -> PoolError:
    """The error about a footer that says another number of rows than there are."""
    return PoolError(
        f"{problem}: its footer says {stated:,} rows, and it has {found:,}", hint=_DAMAGED
    )


def _reject_invalid_values(batch: pa.RecordBatch, start: int, path: str) -> None:
    """Raises PoolError, naming the row, for text that is not UTF-8; ArrowInvalid for damage.

    start  position of the first row in the pool
    """
    try:
        batch.validate(full=True)
    except pa.ArrowInvalid:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            row, value = _find_invalid_text(column)
            if row is not None:
                raise PoolError(
                    f"column {name!r} of {path} is not UTF-8 in row {start + row:,} "
                    f"(counting from 0): {value!r}",
                    hint="write text as UTF-8",
                ) from None
        raise


def hold_something(values: pa.Array) -> pa.Array:
    """Where there is a value: no null, no NaN and no blank text."""
    values = decode(values)
    if is_text(values.type):
        return pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(values), ""), False)
    return pc.invert(values.is_null(nan_is_null=True))


def _find_invalid_text(column: pa.Array) -> tuple[int | None, bytes]:
    """The first row whose text is not UTF-8, and its bytes; None where all text is, or none."""
    if not is_text(column.type):
        return None, b""
    for row, value in enumerate(decode(column).cast(pa.large_binary()).to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError:
            return row, value
    return None, b""


@contextmanager
def _raising_pool_errors(path: str, problem: str, uri: str = "") -> Iterator[None]:
    """Turn errors of pyarrow and of the file system into a PoolError.

    uri  address that the path is of; the path, where it is the whole one
    """
    uri = uri or path
    try:
        yield
    except PermissionError as error:
        if "://" in uri and (refused := describe_network_error(error, problem, uri)):
            raise refused from error
        raise PoolError(f"{path} may not be read", hint="check its permissions") from error
    except UnicodeDecodeError as error:
        raise PoolError(
            f"{path} has names that are not UTF-8: {error.object!r}",
            hint="write the names of columns as UTF-8",
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise describe_network_error(error, problem, uri) or PoolError(
            f"{problem}: {first_line(error)}",
            hint=_DAMAGED,
        ) from error
