"""Labelled rows from elsewhere, such as those a model was trained on: for surrogates to learn."""

from collections import Counter

import numpy as np
import pyarrow as pa

from activetest.cache import tables
from activetest.cache.features import Scale, scale_of
from activetest.cache.parts import TRAIN, Draft, Part, copied, drafted, opened
from activetest.errors import ChoiceError, PoolError
from activetest.nouns.rows import Array
from activetest.pool.classes import list_width
from activetest.pool.columns import columns, encoded, numbers, reject_nulls
from activetest.pool.hashing import mix
from activetest.pool.ids import row_hashes
from activetest.pool.outputs import finite, sensible
from activetest.pool.roles import few, is_number, is_scalar, is_vector

LABELS = ("label", "y", "target", "truth")
_GAPS = "every row needs a label; remove those without"


def ensure(cache, pool, features: Part, source: str, *, known: str | None = None) -> Part:
    """The part, made unless it is there; features are those of the pool.

    A file that cannot be opened any more is not missed where the part has the fingerprint `known`.
    Raises PoolError for a file that cannot serve, ChoiceError where the pool has no features.
    """
    schema = pool.schema
    folder = cache.folder / TRAIN
    beside = [features.made_from, schema.task, list(schema.classes)]
    try:
        made_from = {"pool": beside, "file": tables.stamp(source)}
    except PoolError:
        if part := copied(folder, beside, known):
            return part
        raise
    if part := opened(folder, made_from):
        return part
    with drafted(folder, made_from) as draft:
        _write(draft, pool, scale_of(features), source)
    return Part(folder)


def check(pool, source: str) -> None:
    """Reads the file as ensure does, and keeps nothing. Raises as ensure does."""
    kept, unmatched = 0, Counter()
    with tables.opened(source) as files:
        label = _label(files.schema, pool, source)
        for _, _, labels, unknown in _blocks(files, pool, label, source):
            kept += np.count_nonzero(_kept(labels, pool.schema))
            unmatched += unknown
    _reject_unmatched(kept, unmatched, pool.schema, source)


def _write(draft: Draft, pool, scale: Scale, source: str) -> None:
    """Every row whose label can be learnt from."""
    schema, arrays = pool.schema, draft.arrays
    kind = np.int64 if schema.task == "classification" else float
    arrays.create("features", (0, len(scale.centre)), np.float32)
    arrays.create("labels", (0,), kind)
    total, unmatched, gaps = 0, Counter(), Counter()
    with tables.opened(source) as files:
        label = _label(files.schema, pool, source)
        for start, features, labels, unknown in _blocks(files, pool, label, source):
            unmatched += unknown
            keep = _kept(labels, schema)
            gaps += _gaps([column[keep] for column in features], schema.features)
            arrays.extend("features", scale.standardised(features)[keep])
            arrays.extend("labels", labels[keep].astype(kind))
            keys = mix(np.arange(start, start + len(labels), dtype=np.uint64))
            values = [part for column in features for part in column.reshape(len(labels), -1).T]
            total += int(row_hashes(keys, [*values, labels]).sum(dtype=np.uint64))
    draft.fingerprint = f"{total % 2**64:016x}"
    rows = arrays.shapes["labels"][0]
    _reject_unmatched(rows, unmatched, schema, source)
    draft.said += _said(source, label, rows, unmatched, gaps)


def _gaps(features: list[Array], names: tuple[str, ...]) -> Counter:
    """{feature: values that are missing or infinite}, of (R,) and (R, W) columns."""
    found = {
        name: int(np.count_nonzero(~np.isfinite(column.astype(float))))
        for name, column in zip(names, features, strict=True)
    }
    return Counter({name: count for name, count in found.items() if count})


def _said(source: str, label: str, rows: int, unmatched: Counter, gaps: Counter) -> list[str]:
    """How many rows are learnt from, what was left out and what was put right."""
    said = [f"training rows: {rows:,} of {source}, labels in column {label!r}"]
    if count := sum(unmatched.values()):
        named = few([repr(name) for name in sorted(unmatched)])
        said.append(
            f"{count:,} more rows of {source} are of classes that the pool does not know, and "
            f"left out: {named}"
        )
    if count := sum(gaps.values()):
        said.append(
            f"missing or infinite feature values of training rows ({count:,}, in "
            f"{few(list(gaps))}) stand at the mean of the pool"
        )
    return said


def _label(table: pa.Schema, pool, source: str) -> str:
    """The column of labels. Raises PoolError where it or a feature is missing or cannot serve."""
    if not pool.schema.features:
        raise ChoiceError(
            f"the pool has no features, so nothing can be learnt from {source}",
            hint="name features with --features, or leave --train out",
        )
    for name in pool.schema.features:
        _check_feature(table, name, pool, source)
    free = [name for name in LABELS if name not in pool.schema.features]
    label = next((name for name in free if name in table.names), None)
    if label is None:
        raise PoolError(
            f"{source} has no column of labels; its columns are {few(table.names)}",
            hint=f"call the column of labels {' or '.join(free)}",
        )
    kind = table.field(label).type
    wanted = is_scalar if pool.schema.task == "classification" else is_number
    if not wanted(kind):
        raise PoolError(
            f"column {label!r} of {source} is {kind}",
            hint="labels are classes"
            if pool.schema.task == "classification"
            else "labels of a pool that predicts values are numbers",
        )
    return label


def _check_feature(table: pa.Schema, name: str, pool, source: str) -> None:
    """Raises PoolError when a feature of the pool is not in the table, or of another kind."""
    if name not in table.names:
        raise PoolError(
            f"{source} has no column {name!r}, which is a feature of the pool",
            hint="training rows need every feature; --features says which are used",
        )
    kind, width = table.field(name).type, pool.widths.get(name)
    if is_number(kind) and width is None:
        return
    if not is_vector(kind) or width is None:
        wanted = "a number" if width is None else f"a list of {width} numbers"
        raise PoolError(
            f"column {name!r} of {source} is {kind}, and {wanted} in the pool",
            hint="write it as in the pool",
        )
    if (found := list_width(kind)) not in (None, width):
        raise PoolError(
            f"column {name!r} of {source} holds lists of {found}, those of the pool have {width}",
            hint="training rows need the features of the pool",
        )


def _blocks(files, pool, label: str, source: str):
    """(first row, features, labels, unknown classes and their rows) of some rows at a time."""
    names = pool.schema.features
    wanted = list(dict.fromkeys((*names, label)))
    for start, batch in tables.strips(files, wanted, len(pool.feature_names())):
        with tables.placed(source, start, batch):
            labels, unknown = _labels(batch, label, pool.schema)
            yield start, columns(batch, names, pool.widths), labels, unknown


def _labels(batch: pa.RecordBatch, column: str, schema) -> tuple[Array, Counter]:
    """(R,) codes, -1 for classes that are none of the pool's, or values. Raises BadRow."""
    array = batch.column(column)
    reject_nulls(array, column, _GAPS)
    if schema.task == "regression":
        return sensible(batch, column, _GAPS), Counter()
    if pa.types.is_floating(array.type):
        finite(numbers(array), column, _GAPS)
    codes, names = encoded(array)
    known = {name: code for code, name in enumerate(schema.classes)}
    labels = np.array([known.get(name, -1) for name in names], np.int64)[codes]
    counts = np.bincount(codes, minlength=len(names))
    strange = {
        name: int(count)
        for name, count in zip(names, counts, strict=True)
        if name not in known and count
    }
    return labels, Counter(strange)


def _kept(labels: Array, schema) -> Array:
    """(R,) whether a label is one that can be learnt from."""
    if schema.task == "regression":
        return np.ones(len(labels), bool)
    return labels >= 0


def _reject_unmatched(kept: int, unmatched: Counter, schema, source: str) -> None:
    """Raises PoolError when nothing is left to learn from."""
    if not kept:
        raise PoolError(
            f"no label in {source} is a class of the pool: it has {few(sorted(unmatched))}, "
            f"the pool has {few(list(schema.classes))}",
            hint="write classes as the pool does, or name the pool's with --classes",
        )
