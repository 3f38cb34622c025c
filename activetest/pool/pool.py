"""The pool: a Parquet file, a folder of them, or a URI that pyarrow opens; never read whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add

import numpy as np
import pyarrow as pa

from activetest.errors import PoolChanged, PoolError
from activetest.nouns.rows import Array
from activetest.parallel import map_reduce
from activetest.pool import columns as pool_columns
from activetest.pool import groups as grouping
from activetest.pool import outputs as pool_outputs
from activetest.pool.classes import width, with_classes
from activetest.pool.columns import BadRow
from activetest.pool.files import BATCH, Files, Piece
from activetest.pool.ids import Text
from activetest.pool.notices import notices
from activetest.pool.roles import is_vector, understand
from activetest.pool.schema import ColumnChoices, Schema

# Values decoded at once, and a few times over while threads look at them; and the fewest rows.
_VALUES, _FEWEST = 2**23, 1024

# With fewer row groups than this, some threads would wait while others decode a long one.
_MANY_PIECES = 4

_PARTS = ("ids", "outputs", "features", "groups")


@dataclass(frozen=True)
class Block:
    """At most 65,536 rows, read and checked; parts that were not wanted are None or empty.

    start     position of the first row in the pool
    ids       (R,) the ids
    checked   the outputs, and what had to be put right
    features  a (R,) or (R, W) array per feature column; missing values are NaN
    groups    per group of the schema, codes (R,) and the names they stand for
    """

    start: int
    ids: Text | None
    checked: pool_outputs.Checked | None
    features: list[Array]
    groups: list[tuple[Array, list[str]]]


@dataclass(frozen=True)
class Strip:
    """Some rows as they were decoded, not looked at yet, and the parts that are wanted of them.

    piece   the row group they are in; start is the position of their first row in the pool
    """

    piece: Piece
    start: int
    batch: pa.RecordBatch
    wanted: frozenset[str]


class Pool:
    """Columns with roles, and the rows in pieces.

    uri      where it is, as given
    schema   the role of every column
    notices  plain sentences: what was understood, and what was ignored
    """

    def __init__(
        self, uri: str, schema: Schema, files: Files | None = None, said: tuple[str, ...] = ()
    ):
        """A pool whose schema is known already: nothing is read until it is asked for."""
        self.uri, self.schema, self.notices = uri, schema, said
        self.files = files or Files(uri)

    @staticmethod
    def open(
        uri: str,
        *,
        id=None,
        outputs=None,
        features=None,
        groups=(),
        task=None,
        positive=None,
        threshold: float = 0.5,
        classes=None,
    ) -> "Pool":
        """Look at the pool and give every column its role.

        id, outputs, features, groups   names of columns, where convention does not find them
        task                            "classification" or "regression"
        positive, threshold             of a binary pool
        classes                         their names, in the order of the outputs
        Raises PoolError for a pool that cannot be read or understood, ChoiceError for a choice it
        cannot meet.
        """
        uri = str(uri)
        files = Files(uri)
        choices = ColumnChoices(
            id,
            _names(outputs),
            _names(features),
            _names(groups) or (),
            task,
            positive,
            threshold,
            _names(classes),
        )
        schema = understand(files.schema, choices)
        pool = Pool(uri, schema, files)
        if not pool.rows:
            raise PoolError(
                f"the pool {uri} has no rows", hint="give a pool with at least one item"
            )
        if schema.task == "classification":
            pool.schema = with_classes(pool, choices)
        pool.notices = notices(pool.schema, files.schema, pool.rows)
        return pool

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The row groups, in order."""
        return self.files.pieces

    @property
    def rows(self) -> int:
        """Number of items."""
        return sum(piece.rows for piece in self.pieces)

    def batches(self, columns, piece: Piece) -> Iterator[pa.RecordBatch]:
        """Columns of a piece, at most 65,536 rows at a time."""
        return self.files.batches(list(columns), piece)

    def strips(self, pieces=None, *, without: tuple[str, ...] = ()) -> Iterator[Strip]:
        """The rows of pieces (of all), decoded in the calling thread, a few thousand at a time.

        Decoding one strip while other threads look at those before it keeps them all busy, however
        few row groups there are. Of the parts ids, outputs, features and groups, those in `without`
        are not read; groups that follow from the outputs bring these along. Raises PoolError where
        the file is damaged.
        """
        schema, wanted = self.schema, frozenset(_PARTS) - set(without)
        if schema.computed and "groups" in wanted:
            wanted |= {"outputs"}
        columns = [
            *([schema.id] if "ids" in wanted and schema.id else []),
            *(schema.output_columns if "outputs" in wanted else ()),
            *(schema.features if "features" in wanted else ()),
            *(schema.group_columns if "groups" in wanted else ()),
        ]
        values = sum(self.widths.get(column, 1) for column in columns)
        rows = min(BATCH, max(_FEWEST, _VALUES // max(values, 1)))
        for piece in self.pieces if pieces is None else pieces:
            start = piece.start
            for batch in self.files.batches(list(dict.fromkeys(columns)), piece, rows):
                yield Strip(piece, start, batch, wanted)
                start += batch.num_rows

    def each(self, fn, combine, *, gather=None, without: tuple[str, ...] = ()):
        """fn(strip) of all rows, combined in their order; see map_reduce.

        Row groups are decoded side by side where there are enough of them to keep all threads busy;
        gather (combine unless given) then joins what is found inside one.
        """
        # Found once, before all threads ask for them.
        _ = "groups" in without or self.deciles
        if len(self.pieces) < _MANY_PIECES:
            return map_reduce(self.strips(without=without), fn, combine)

        def on_piece(piece):
            return reduce(gather or combine, map(fn, self.strips([piece], without=without)))

        return map_reduce(self.pieces, on_piece, combine)

    def block(self, strip: Strip) -> Block:
        """A strip, checked.

        Raises PoolError naming the column and the row for the first value that cannot be right.
        """
        schema, batch, start = self.schema, strip.batch, strip.start
        features = schema.features if "features" in strip.wanted else ()
        try:
            checked = pool_outputs.read(batch, schema) if "outputs" in strip.wanted else None
            return Block(
                start,
                self._ids(batch, start) if "ids" in strip.wanted else None,
                checked,
                pool_columns.columns(batch, features, self.widths) if features else [],
                _groups(batch, schema, checked, self.deciles) if "groups" in strip.wanted else [],
            )
        except BadRow as bad:
            where = self._where(batch, start, bad.row)
            raise PoolError(f"{where}: {bad.problem}", hint=bad.hint) from None

    @cached_property
    def deciles(self) -> Array | None:
        """(B + 1,) edges of the groups confidence-decile, by a pass over outputs; None without."""
        if grouping.DECILE not in self.schema.computed:
            return None

        def confidences(strip) -> list[Array]:
            return [self.block(strip).checked.outputs.confidence.astype(np.float32)]

        without = ("ids", "features", "groups")
        return grouping.deciles(np.concatenate(self.each(confidences, add, without=without)))

    def feature_names(self) -> list[str]:
        """The column that each feature comes from; a list column as often as it is long."""
        return [name for name in self.schema.features for _ in range(self.widths.get(name, 1))]

    @cached_property
    def widths(self) -> dict[str, int]:
        """Length of the lists in each list column among the features, as in the first rows."""
        table = self.files.schema
        lists = [name for name in self.schema.features if is_vector(table.field(name).type)]
        return {name: width(self, name) for name in lists}

    def _ids(self, batch: pa.RecordBatch, start: int) -> Text:
        """The ids of a batch, row numbers where the pool has none."""
        if self.schema.id is None:
            return pool_columns.row_numbers(start, batch.num_rows)
        return pool_columns.text(batch.column(self.schema.id), self.schema.id)

    def check(self) -> None:
        """Raises PoolChanged when a column of the schema is gone or can no longer play its role."""
        schema = self.schema
        choices = ColumnChoices(
            schema.id, schema.outputs, schema.features, schema.groups, schema.task
        )
        table = self.files.schema
        try:
            found = understand(table, choices)
            if (found.task, found.kind) != (schema.task, schema.kind):
                column = table.field(schema.outputs[0])
                raise PoolError(f"column {column.name!r} is {column.type}")
            for column in (schema.pred, schema.std, *schema.group_columns):
                if column is not None and column not in table.names:
                    raise PoolError(f"the pool has no column {column!r}")
            if schema.kind == "prob-list" and width(self, schema.outputs[0]) != len(schema.classes):
                raise PoolError(
                    f"column {schema.outputs[0]!r} does not hold {len(schema.classes)} classes"
                )
        except PoolError as error:
            raise PoolChanged(
                f"{self.uri} is not the pool this study was made for: {error.problem}",
                hint="restore the pool, or start another study with --study DIR",
            ) from error

    def show(self, rows, columns) -> dict[str, list]:
        """The values of columns at pool positions, in the order of rows.

        Raises PoolError for unknown columns.
        """
        columns = list(columns)
        for column in columns:
            if column not in self.files.schema.names:
                raise PoolError(
                    f"the pool has no column {column!r}",
                    hint=f"its columns are {', '.join(self.files.schema.names[:12])}",
                )
        rows = np.asarray(rows, np.int64)
        shown: dict[str, list] = {column: [None] * len(rows) for column in columns}
        for piece in self.pieces:
            inside = np.flatnonzero((rows >= piece.start) & (rows < piece.start + piece.rows))
            if not columns or not len(inside):
                continue
            table = pa.Table.from_batches(self.batches(columns, piece)).take(
                pa.array(rows[inside] - piece.start)
            )
            for column in columns:
                for place, value in zip(inside, table.column(column).to_pylist(), strict=True):
                    shown[column][place] = value
        return shown

    def _where(self, batch: pa.RecordBatch, start: int, row: int) -> str:
        """Names a row for an error."""
        place = f"row {start + row:,} of {self.uri} (counting from 0)"
        if self.schema.id not in batch.schema.names:
            return place
        id = batch.column(self.schema.id)[row].as_py()
        return place if id is None else f"{place}, id {str(id)!r}"


def _groups(
    batch: pa.RecordBatch, schema: Schema, checked: pool_outputs.Checked | None, edges: Array | None
) -> list[tuple[Array, list[str]]]:
    """Codes and names of each group of the schema; edges are those of Pool.deciles."""
    parts = {column: pool_columns.encoded(batch.column(column)) for column in schema.group_columns}
    for column in schema.computed:
        parts[column] = grouping.computed(column, checked.outputs, schema.classes, edges)
    return [grouping.local(group, parts) for group in schema.groups]


def _names(names) -> tuple[str, ...] | None:
    """One name or several, as a tuple."""
    if names is None:
        return None
    return (names,) if isinstance(names, str) else tuple(str(name) for name in names)
