"""The pool: a Parquet file, a folder of them, or a URI that pyarrow opens; never read whole."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain, pairwise
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from activetest.errors import PoolChanged, PoolError
from activetest.nouns.choices import ColumnChoices
from activetest.nouns.rows import Array
from activetest.pool import columns as pool_columns
from activetest.pool import groups as grouping
from activetest.pool import outputs as pool_outputs
from activetest.pool.classes import find_list_length
from activetest.pool.columns import BadRow
from activetest.pool.files import BATCH, Files, Piece
from activetest.pool.ids import Text
from activetest.pool.roles import assign_roles, call_missing, is_vector, reject_duplicates
from activetest.pool.schema import Schema
from activetest.pool.texts import read_lines
from activetest.pool.uncertain import ReadAttribute, read_uncertain
from activetest.system.parallel import map_reduce
from activetest.system.safe_text import mask_secrets

# Values decoded at once (threads hold a few times as many), and the fewest rows.
_VALUES, _FEWEST = 2**23, 1024

# Blocks that one thread decodes, with what it needs of row groups that begin before them or end
# after them; with fewer such runs than that, some threads would wait while others decode.
_RUN_BLOCKS, _MANY_RUNS = 4, 4

# Texts read at once.
_TEXTS = 1 << 13

_PARTS = ("ids", "outputs", "features", "groups", "amounts")


@dataclass(frozen=True)
class Block:
    """At most 65,536 rows, read and checked.

    start         position of the first row in the pool
    read_ids      (R,) the ids, None where they were not read
    read_outputs  the outputs and what was corrected in them, None where they were not read
    features      a (R,) or (R, W) array per feature column; missing values are NaN; empty where
                  they were not read
    groups        per group of the schema, codes (R,) and the names they stand for; likewise
    amounts       {column: (R,) weights or prices}; likewise
    uncertain     {name: what is known of it} of the attributes with probabilities; empty where
                  groups were not read
    """

    start: int
    read_ids: Text | None
    read_outputs: pool_outputs.Checked | None
    features: list[Array]
    groups: list[tuple[Array, list[str]]]
    amounts: dict[str, Array]
    uncertain: dict[str, ReadAttribute]

    @property
    def ids(self) -> Text:
        """(R,) the ids. Raises ValueError where they were not read."""
        if self.read_ids is None:
            raise ValueError("the ids of this block were not read")
        return self.read_ids

    @property
    def checked(self) -> pool_outputs.Checked:
        """The outputs. Raises ValueError where they were not read."""
        if self.read_outputs is None:
            raise ValueError("the outputs of this block were not read")
        return self.read_outputs


@dataclass(frozen=True)
class Strip:
    """Some rows as they were decoded, not checked yet.

    number  of the strip among all of the pool: strips are as long as each other but for the last
    start   position of their first row in the pool
    parts   which of ids, outputs, features, groups and amounts were decoded
    """

    number: int
    start: int
    batch: pa.RecordBatch
    parts: frozenset[str]


class Pool:
    """Columns with roles, and the rows in pieces.

    uri      where it is, as given, or what messages call it; without secrets
    schema   the role of every column
    notices  plain sentences: what was understood, and what was ignored
    """

    def __init__(
        self, uri: str, schema: Schema, files: Files | None = None, notices: tuple[str, ...] = ()
    ) -> None:
        """A pool whose schema is known already: nothing is read until it is needed."""
        self.uri, self.schema, self.notices = mask_secrets(uri), schema, notices
        self.files = files or Files(uri)
        self.files.name_classes(schema.class_names)
        self.files.read_written(schema.written_forms)
        if schema.judge:
            self.files.leave_out_gaps(schema.judge)

    @staticmethod
    def open(
        uri: str | Path,
        *,
        id: str | None = None,
        outputs: str | Iterable[str] | None = None,
        features: str | Iterable[str] | None = None,
        groups: str | Iterable[str] = (),
        task: str | None = None,
        positive: str | None = None,
        threshold: float = 0.5,
        classes: str | Iterable[str] | None = None,
        weight: str | None = None,
        price: str | None = None,
        attributes: str | Iterable[str] = (),
        bins: Mapping[str, Sequence[float]] | None = None,
        class_names: Mapping[str, Sequence[str]] | None = None,
        name: str | None = None,
        suggest: bool = True,
        judge: str | None = None,
        feature_shape: str | None = None,
        other_columns: str | Iterable[str] = (),
        text: str | Iterable[str] | None = None,
        scale: str | None = None,
        decimal: str | None = None,
        forms: Mapping[str, str] | None = None,
        hidden: Iterable[str] = (),
        joined: str | Path | None = None,
    ) -> "Pool":
        """Read the schema of the pool and give every column its role.

        id, outputs, features, groups   names of columns, where convention does not find them
        task                            "classification" or "regression"
        positive, threshold             of a binary pool
        classes                         their names, in the order of the outputs
        weight, price                   columns of the items' weights, and of their labels' prices
        attributes                      whose combinations a surface is about
        bins                            {attribute: edges}, where they are known; attributes without
                                        edges are not cut then. None finds them in the values
        class_names                     {column: names} of columns of numbers; None takes those
                                        that stand in the metadata of the file
        name                            of the pool in messages; its address unless given
        hidden                          columns without a role: they are other models' outputs
        joined                          a file of outputs, with a row for each of the pool
        suggest                         add to the notices what else columns may be
        judge                           column of a judge's verdicts, which are the outputs
        feature_shape                   of the image that the features are, as "28x28"
        other_columns                   what other models predict
        text                            columns of free text; None finds them in the values
        scale                           a Scale of outputs that are no plain probabilities
        decimal                         mark of numbers written as text, where it can be either
        forms                           {column of text: how it is written} of those that are read
                                        as numbers; None finds them in the values

        Raises PoolError for a pool that cannot be read or understood, ChoiceError for a choice that
        it does not allow.
        """
        # Only who makes or inspects a study has to understand its pool.
        from activetest.pool.understand import understand_pool

        choices = ColumnChoices(
            id,
            _to_names(outputs),
            _to_names(features),
            _to_names(groups) or (),
            task,
            positive,
            threshold,
            _to_names(classes),
            weight,
            price,
            _to_names(attributes) or (),
            judge=judge,
            feature_shape=feature_shape or None,
            other_columns=_to_names(other_columns) or (),
            text=_to_names(text),
            scale=scale,
            decimal=decimal,
        )
        return understand_pool(
            uri,
            choices,
            bins=bins,
            class_names=class_names,
            name=name,
            suggest=suggest,
            forms=forms,
            hidden=hidden,
            joined=joined,
        )

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The row groups, in order."""
        return self.files.pieces

    @property
    def rows(self) -> int:
        """Number of items."""
        return self.files.rows

    def strips(
        self, start: int = 0, stop: int | None = None, *, without: tuple[str, ...] = ()
    ) -> Iterator[Strip]:
        """The rows start, ..., stop - 1, decoded in the calling thread, a few thousand at a time.

        Where strips begin and end depends on the columns alone, and not on row groups; start and
        stop are such places. Decoding one strip while other threads look at those before it keeps
        them all busy, however few row groups there are. Of the parts ids, outputs, features, groups
        and amounts, those in `without` are not read; groups that follow from the outputs bring
        these along. Raises PoolError where the file is damaged.
        """
        columns, parts = self._choose_columns(without)
        rows = self._count_strip_rows(columns)
        for at, batch in self.files.blocks(columns, rows, start=start, stop=stop):
            yield Strip(at // rows, at, batch, parts)

    def texts(self) -> Iterator[list[pa.Array]]:
        """Columns of free text, each (R,) large_string, of some rows at a time.

        Raises PoolError where a file is damaged.
        """
        columns = list(self.schema.texts)
        for piece in self.pieces:
            for batch in self.files.batches(columns, piece, _TEXTS, checked=False):
                yield [read_lines(batch.column(name)) for name in columns]

    def _choose_columns(self, without: tuple[str, ...]) -> tuple[list[str], frozenset[str]]:
        """The columns of the parts that are not in `without`, and these parts."""
        schema, parts = self.schema, frozenset(_PARTS) - set(without)
        if schema.computed and "groups" in parts:
            parts |= {"outputs"}
        columns = [
            *([schema.id] if "ids" in parts and schema.id else []),
            *(schema.output_columns if "outputs" in parts else ()),
            *(schema.features if "features" in parts else ()),
            *(schema.group_columns if "groups" in parts else ()),
            *(chain(*schema.uncertain_columns) if "groups" in parts else ()),
            *(schema.amount_columns if "amounts" in parts else ()),
        ]
        return list(dict.fromkeys(columns)), parts

    def _count_strip_rows(self, columns: list[str]) -> int:
        """Rows of a strip of these columns."""
        values = sum(self.widths.get(column, 1) for column in columns)
        return min(BATCH, max(_FEWEST, _VALUES // max(values, 1)))

    def _split_runs(self, rows: int) -> list[tuple[int, int]]:
        """(start, stop) of runs of strips of so many rows, each about some row groups long."""
        starts = [0]
        for piece in self.pieces:
            at = -(-piece.start // rows) * rows
            if at - starts[-1] >= _RUN_BLOCKS * rows and at < self.rows:
                starts.append(at)
        return list(pairwise([*starts, self.rows]))

    def map_strips(
        self,
        fn: Callable[[Strip], Any],
        combine: Callable[[Any, Any], Any],
        *,
        gather: Callable[[Any, Any], Any] | None = None,
        runs: Sequence[tuple[int, int]] = (),
        without: tuple[str, ...] = (),
        title: str = "reading the pool",
        here: bool = False,
    ) -> Any:
        """fn(strip) of all rows, combined in their order; see parallel.map_reduce.

        Runs of strips are decoded in parallel where row groups are enough to keep all threads busy;
        gather (combine unless given) then joins the results inside one. Sums of floating-point
        numbers are a parallel.BlockSum: runs follow row groups. Parts in `without` are not read.
        Where runs are given, as (start, stop), strips begin anew with each. The title is what the
        step is called while it is watched; here is as in map_reduce. Raises PoolError where a file
        is damaged.
        """
        # Computed once, before all threads need them.
        _ = "groups" in without or self.deciles
        rows = self._count_strip_rows(self._choose_columns(without)[0])
        runs = runs or self._split_runs(rows)
        if len(runs) < _MANY_RUNS:
            strips = chain.from_iterable(self.strips(*run, without=without) for run in runs)
            total = sum(-((start - stop) // rows) for start, stop in runs)
            return map_reduce(strips, fn, combine, title=title, total=total, here=True)

        def map_run(run: tuple[int, int]) -> Any:
            return reduce(gather or combine, map(fn, self.strips(*run, without=without)))

        return map_reduce(runs, map_run, combine, title=title, here=here)

    def read_block(self, strip: Strip) -> Block:
        """Check a strip.

        Raises PoolError naming the column and the row for the first value that cannot be right.
        """
        schema, batch, start = self.schema, strip.batch, strip.start
        features = schema.features if "features" in strip.parts else ()
        try:
            checked = pool_outputs.read_outputs(batch, schema) if "outputs" in strip.parts else None
            uncertain = read_uncertain(batch, schema) if "groups" in strip.parts else {}
            return Block(
                start,
                self._read_ids(batch, start) if "ids" in strip.parts else None,
                checked,
                pool_columns.read_columns(batch, features, self.widths) if features else [],
                _encode_groups(batch, schema, checked, self.deciles, uncertain)
                if "groups" in strip.parts
                else [],
                pool_columns.read_amounts(batch, schema) if "amounts" in strip.parts else {},
                uncertain,
            )
        except BadRow as bad:
            raise self._place_error(bad, batch, start) from None

    @cached_property
    def deciles(self) -> Array | None:
        """(B + 1,) edges of the groups confidence-decile, by a pass over outputs; None without."""
        if grouping.DECILE not in self.schema.computed:
            return None

        def read_confidences(strip: Strip) -> list[Array]:
            return [self.read_block(strip).checked.outputs.confidence.astype(np.float32)]

        without = ("ids", "features", "groups", "amounts")
        confidences = self.map_strips(read_confidences, add, without=without)
        return grouping.compute_deciles(np.concatenate(confidences))

    def feature_names(self) -> list[str]:
        """The column that each feature comes from; a list column as often as it is long."""
        return [name for name in self.schema.features for _ in range(self.widths.get(name, 1))]

    @cached_property
    def widths(self) -> dict[str, int]:
        """Length of the lists in each list column among the features, as in the first rows."""
        table = self.files.schema
        lists = [name for name in self.schema.features if is_vector(table.field(name).type)]
        return {name: find_list_length(self, name) for name in lists}

    def _read_ids(self, batch: pa.RecordBatch, start: int) -> Text:
        """The ids of a batch, row numbers where the pool has none."""
        if self.schema.id is None:
            return pool_columns.row_numbers(start, batch.num_rows)
        ids = pool_columns.read_text(batch.column(self.schema.id), self.schema.id)
        pool_columns.reject_blanks(ids, self.schema.id)
        return ids

    def read_id_numbers(self, strip: Strip) -> Array:
        """(R,) int64 ids of a strip that was read, of a column of whole numbers."""
        return pool_columns.view_numbers(strip.batch.column(self.schema.id)).astype(np.int64)

    def check(self) -> None:
        """Raises PoolChanged when a column of the schema is gone or can no longer play its role."""
        schema = self.schema
        choices = ColumnChoices(
            schema.id,
            schema.outputs,
            schema.features,
            schema.groups,
            schema.task,
            weight=schema.weight,
            price=schema.price,
            attributes=schema.attributes,
            other_columns=schema.others,
        )
        table = self.files.schema
        try:
            reject_duplicates(table)
            codes = schema.task == "classification" and schema.kind == "pred"
            judged = schema.kind if schema.judge else None
            found = assign_roles(table, choices, judged, score_is_class=codes)
            if (found.task, found.kind) != (schema.task, schema.kind):
                column = table.field(schema.outputs[0])
                raise PoolError(f"column {column.name!r} is {column.type}")
            probabilities = chain(*schema.uncertain_columns)
            for column in (schema.pred, schema.std, *schema.group_columns, *probabilities):
                if column is not None and column not in table.names:
                    raise PoolError(f"the pool has no column {column!r}")
            if schema.kind == "prob-list" and find_list_length(self, schema.outputs[0]) != len(
                schema.classes
            ):
                raise PoolError(
                    f"column {schema.outputs[0]!r} does not hold {len(schema.classes)} classes"
                )
        except PoolError as error:
            raise PoolChanged(
                f"{self.uri} is not the pool this study was made for: {error.problem}",
                hint="restore the pool, or start another study: `Study.create(pool, folder)`",
            ) from error

    def show(self, rows: Array | Sequence[int], columns: Iterable[str]) -> dict[str, list]:
        """The values of columns at pool positions, in the order of rows.

        Raises PoolError for unknown columns, and for values that Python does not have.
        """
        columns = list(columns)
        for column in columns:
            if column not in (names := self.files.schema.names):
                raise call_missing(column, names)
        positions = np.asarray(rows, np.int64)
        shown: dict[str, list] = {column: [None] * len(positions) for column in columns}
        for piece in self.pieces:
            inside = np.flatnonzero(
                (positions >= piece.start) & (positions < piece.start + piece.rows)
            )
            if not columns or not len(inside):
                continue
            table = pa.Table.from_batches(self.files.batches(columns, piece)).take(
                pa.array(positions[inside] - piece.start)
            )
            for column in columns:
                try:
                    values = table.column(column).to_pylist()
                except (pa.ArrowException, ValueError, OverflowError) as error:
                    raise PoolError(
                        f"column {column!r} cannot be shown: {error}", hint="show another column"
                    ) from error
                for place, value in zip(inside, values, strict=True):
                    shown[column][place] = value
        return shown

    def encode_column(self, column: str) -> Array:
        """(N,) int64 code of each item's value of a column, from 0 in the order of first use.

        Raises PoolError for an unknown column, for lists, and for a missing value.
        """
        if column not in (names := self.files.schema.names):
            raise call_missing(column, names)
        kind = self.files.schema.field(column).type
        if pa.types.is_nested(kind):
            raise PoolError(
                f"column {column!r} is {kind}, and its values cannot be told apart",
                hint="name a column of texts or numbers",
            )
        found: dict[str, int] = {}
        parts: list[Array] = []
        named = [self.schema.id] if self.schema.id else []
        rule = "give every item a value, one of its own where it belongs to no other"
        for start, batch in self.files.scan([*dict.fromkeys([column, *named])]):
            values = batch.column(column)
            try:
                pool_columns.reject_nulls(values, column, rule)
                codes, written = pool_columns.encode_values(values)
                blank = [code for code, text in enumerate(written) if not text.strip()]
                if len(rows := np.flatnonzero(np.isin(codes, blank))):
                    raise BadRow(int(rows[0]), f"column {column!r} is empty", rule)
            except BadRow as bad:
                raise self._place_error(bad, batch, start) from None
            table = np.array([found.setdefault(each, len(found)) for each in written], np.int64)
            parts.append(table[codes])
        return np.concatenate(parts)

    def _place_error(self, bad: BadRow, batch: pa.RecordBatch, start: int) -> PoolError:
        """The error about a row of a batch, with its number, and its id where that was read."""
        where = f"row {start + bad.row:,} of {self.uri} (counting from 0)"
        if self.schema.id in batch.schema.names:
            id = batch.column(self.schema.id)[bad.row].as_py()
            where += "" if id is None else f", id {str(id)!r}"
        return PoolError(f"{where}: {bad.problem}", hint=bad.hint)


def _encode_groups(
    batch: pa.RecordBatch,
    schema: Schema,
    checked: pool_outputs.Checked | None,
    edges: Array | None,
    uncertain: dict[str, ReadAttribute],
) -> list[tuple[Array, list[str]]]:
    """Codes and names of each group of the schema; edges are those of Pool.deciles.

    Of uncertain attributes an item has its known value, or the most probable one.
    """
    bins = schema.bins
    parts = {
        column: grouping.assign_bins(
            pool_columns.read_numbers(batch.column(column)).astype(float), np.array(bins[column])
        )
        if column in bins
        else pool_columns.encode_values(batch.column(column))
        for column in schema.group_columns
        if column not in uncertain
    }
    for name, values in zip(schema.uncertain, schema.uncertain_values, strict=True):
        parts[name] = uncertain[name].likeliest, list(values)
    for column in schema.computed:
        if checked is None:
            raise ValueError(f"the group {column} follows from the outputs, which were not read")
        parts[column] = grouping.compute_group(column, checked.outputs, schema.classes, edges)
    return [grouping.encode_group(group, parts) for group in schema.groups]


def _to_names(names: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """One name or several, as a tuple."""
    if names is None:
        return None
    return (names,) if isinstance(names, str) else tuple(str(name) for name in names)
