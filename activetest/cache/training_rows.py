"""Labelled rows from elsewhere, such as training data of the model, that surrogates learn from."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from activetest.cache import tables
from activetest.cache.cache import Cache
from activetest.cache.features import Scale, read_scale
from activetest.cache.parts import (
    LONGEST,
    TRAIN,
    Draft,
    Part,
    drafting_part,
    open_copy,
    open_part,
)
from activetest.cache.texts import cut_lines, find_longest, store_texts
from activetest.errors import ChoiceError, PoolError
from activetest.nouns.class_names import read_class_names
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.rows import Array
from activetest.pool.classes import list_width
from activetest.pool.columns import (
    read_columns,
    read_numbers,
    read_text,
    reject_nulls,
)
from activetest.pool.files import Files
from activetest.pool.hashing import mix
from activetest.pool.ids import hash_rows, hash_text
from activetest.pool.outputs import read_values, require_finite
from activetest.pool.pool import Pool
from activetest.pool.roles import is_number, is_scalar, is_text, is_vector
from activetest.pool.schema import Schema
from activetest.pool.texts import read_lines
from activetest.pool.written_numbers import find_written_values

LABELS = ("label", "y", "target", "truth")
# A text is as much to read as so many numbers.
_TEXT = 512
_LABEL_RULE = "every row needs a label; remove those without"


def ensure_training_rows(
    cache: Cache, pool: Pool, features: Part, source: str, *, fingerprint: str | None = None
) -> Part:
    """The part of training rows, built unless it is there.

    features     the part of the pool's features
    source       the file of training rows
    fingerprint  of a copy in the cache that is used when the file can no longer be opened

    Raises PoolError for a file that cannot be used, ChoiceError where the pool has no features,
    OSError when the part cannot be written.
    """
    schema = pool.schema
    folder = cache.folder / TRAIN
    pool_origin = [features.origin, schema.task, list(schema.classes)]
    pool_origin += [list(schema.texts)] if schema.texts else []
    try:
        origin = {"pool": pool_origin, "file": Files(source).stamp()}
    except PoolError:
        if part := open_copy(folder, pool_origin, fingerprint):
            return part
        raise
    if part := open_part(folder, origin):
        return part
    with drafting_part(folder, origin) as draft:
        _write_part(draft, pool, read_scale(features), source)
    return Part.open(folder)


def check_training_rows(pool: Pool, source: str) -> None:
    """Read the file and write nothing. Raises as ensure_training_rows does."""
    usable, unmatched = 0, Counter[str]()
    with tables.open_table(source) as files:
        _read_as_pool(files, pool)
        label = _find_label_column(files.schema, pool, source)
        for _, _, labels, unknown, _ in _read_blocks(files, pool, label, source, ()):
            usable += int(np.count_nonzero(_find_usable(labels, pool.schema)))
            unmatched += unknown
    _reject_unmatched(usable, unmatched, pool.schema, source)


def _write_part(draft: Draft, pool: Pool, scale: Scale, source: str) -> None:
    """Write every row whose label surrogates can learn from."""
    schema = pool.schema
    kind = np.int64 if schema.task == "classification" else float
    kept: list[Array] = []
    words: list[list[pa.Array]] = []
    total, unmatched, missing = 0, Counter[str](), Counter[str]()
    with tables.open_table(source) as files:
        draft.create("features", (0, len(scale.centre)), np.float32)
        _read_as_pool(files, pool)
        label = _find_label_column(files.schema, pool, source)
        texts = _list_texts(files.schema, pool)
        longest = find_longest(max(pool.rows, files.rows))
        blocks = _read_blocks(files, pool, label, source, texts)
        for start, features, labels, unknown, lines in blocks:
            unmatched += unknown
            keep = _find_usable(labels, schema)
            words.append([cut_lines(each, longest).filter(pa.array(keep)) for each in lines])
            missing += _count_missing([column[keep] for column in features], schema.features)
            table = scale.standardise(features) if features else np.empty((len(labels), 0))
            draft.append("features", table[keep])
            kept.append(labels[keep].astype(kind))
            keys = mix(np.arange(start, start + len(labels), dtype=np.uint64))
            values = [part for column in features for part in column.reshape(len(labels), -1).T]
            values += [hash_text(read_text(each, "text")) for each in lines]
            total += int(hash_rows(keys, [*values, labels]).sum(dtype=np.uint64))
        draft.put("labels", np.concatenate(kept))
        if texts:
            columns = [pa.concat_arrays(each) for each in zip(*words, strict=True)]
            for name, stored in store_texts(columns).items():
                draft.put(name, stored)
            draft.put(LONGEST, np.array([longest]))
    draft.fingerprint = f"{total % 2**64:016x}"
    rows = sum(map(len, kept))
    _reject_unmatched(rows, unmatched, schema, source)
    draft.notices += _describe_part(source, label, rows, unmatched, missing)
    if left_out := [name for name in schema.texts if name not in texts]:
        draft.notices.append(
            f"{source} has no texts in {shorten_list(left_out)}: words of training rows are not "
            "learned"
        )


def _count_missing(features: list[Array], names: tuple[str, ...]) -> Counter[str]:
    """{feature: values that are missing or infinite}, of (R,) and (R, W) columns."""
    found = {
        name: int(np.count_nonzero(~np.isfinite(column.astype(float))))
        for name, column in zip(names, features, strict=True)
    }
    return Counter({name: count for name, count in found.items() if count})


def _describe_part(
    source: str, label: str, rows: int, unmatched: Counter[str], missing: Counter[str]
) -> list[str]:
    """How many rows are used, what was left out and what was corrected."""
    notices = [f"training rows: {rows:,} of {source}, labels in column {label!r}"]
    if count := sum(unmatched.values()):
        named = shorten_list([repr(name) for name in sorted(unmatched)])
        notices.append(
            f"{count:,} more rows of {source} are of classes that the pool does not know, and "
            f"left out: {named}"
        )
    if count := sum(missing.values()):
        notices.append(
            f"missing or infinite feature values of training rows ({count:,}, in "
            f"{shorten_list(list(missing))}) stand at the mean of the pool"
        )
    return notices


def _find_label_column(table: pa.Schema, pool: Pool, source: str) -> str:
    """The column of labels. Raises PoolError where it or a feature is missing or cannot serve."""
    if not pool.schema.features and not pool.schema.texts:
        raise ChoiceError(
            f"the pool has no features and no texts, so nothing can be learnt from {source}",
            hint="name features with `features`, or texts with `text`, or leave `train` out",
        )
    for name in pool.schema.features:
        _check_feature(table, name, pool, source)
    if not pool.schema.features and not _list_texts(table, pool):
        raise PoolError(
            f"{source} has no text in {shorten_list(list(pool.schema.texts))}, as the pool has",
            hint="training rows need every column of texts; `text` says which are used",
        )
    free = [name for name in LABELS if name not in (*pool.schema.features, *pool.schema.texts)]
    label = next((name for name in free if name in table.names), None)
    if label is None:
        raise PoolError(
            f"{source} has no column of labels; its columns are {shorten_list(table.names)}",
            hint=f"call the column of labels {' or '.join(free)}",
        )
    kind = table.field(label).type
    accepts = is_scalar if pool.schema.task == "classification" else is_number
    if not accepts(kind):
        raise PoolError(
            f"column {label!r} of {source} is {kind}",
            hint="labels are classes"
            if pool.schema.task == "classification"
            else "labels of a pool that predicts values are numbers, with one sign or none",
        )
    return label


def _list_texts(table: pa.Schema, pool: Pool) -> tuple[str, ...]:
    """The columns of texts: all those of the pool, or none."""
    texts = pool.schema.texts
    there = all(name in table.names and is_text(table.field(name).type) for name in texts)
    return texts if there else ()


def _read_as_pool(files: Files, pool: Pool) -> None:
    """Read labels as the names that the file has for them, where those of the pool are read so.

    Numbers written as text are read as those of the pool, and labels of values as any are.
    """
    schema, forms = pool.schema, {}
    if schema.task == "regression":
        labels = [name for name in LABELS if name in files.schema.names]
        forms = find_written_values(files, labels, schema.task, schema.decimal)
    files.read_written(schema.written_forms | forms)
    if pool.schema.numbered:
        found = read_class_names(files.schema.metadata)
        files.name_classes({name: found[name] for name in LABELS if name in found})


def _check_feature(table: pa.Schema, name: str, pool: Pool, source: str) -> None:
    """Raises PoolError when a feature of the pool is not in the table, or of another kind."""
    if name not in table.names:
        raise PoolError(
            f"{source} has no column {name!r}, which is a feature of the pool",
            hint="training rows need every feature; `features` says which are used",
        )
    kind, width = table.field(name).type, pool.widths.get(name)
    if is_number(kind) and width is None:
        return
    if not is_vector(kind) or width is None:
        expected = "a number" if width is None else f"a list of {width} numbers"
        raise PoolError(
            f"column {name!r} of {source} is {kind}, and {expected} in the pool",
            hint="write it as in the pool",
        )
    if (found := list_width(kind)) not in (None, width):
        raise PoolError(
            f"column {name!r} of {source} holds lists of {found}, those of the pool have {width}",
            hint="training rows need the features of the pool",
        )


def _read_blocks(
    files: Files, pool: Pool, label: str, source: str, texts: tuple[str, ...]
) -> Iterator[tuple[int, list[Array], Array, Counter[str], list[pa.Array]]]:
    """(first row, features, labels, {unknown class: rows}, texts) of some rows at a time."""
    names = pool.schema.features
    needed = list(dict.fromkeys((*names, label, *texts)))
    width = len(pool.feature_names()) + _TEXT * len(texts)
    for start, batch in tables.read_strips(files, needed, width):
        with tables.locating_bad_rows(source, start, batch):
            labels, unknown = _read_labels(batch, label, pool.schema)
            lines = [read_lines(batch.column(name)) for name in texts]
            yield start, read_columns(batch, names, pool.widths), labels, unknown, lines


def _read_labels(batch: pa.RecordBatch, column: str, schema: Schema) -> tuple[Array, Counter[str]]:
    """(R,) codes, -1 for classes that the pool does not have, or values; and {unknown class: rows}.

    Raises BadRow.
    """
    array = batch.column(column)
    reject_nulls(array, column, _LABEL_RULE)
    if schema.task == "regression":
        return read_values(batch, column, _LABEL_RULE), Counter()
    if pa.types.is_floating(array.type):
        require_finite(read_numbers(array), column, _LABEL_RULE)
    return tables.encode_classes(array, schema.classes, numbered=schema.numbered)


def _find_usable(labels: Array, schema: Schema) -> Array:
    """(R,) whether surrogates can learn from a label."""
    if schema.task == "regression":
        return np.ones(len(labels), bool)
    return labels >= 0


def _reject_unmatched(usable: int, unmatched: Counter[str], schema: Schema, source: str) -> None:
    """Raises PoolError when nothing is left to learn from."""
    if not usable:
        raise PoolError(
            f"no label in {source} is a class of the pool: "
            f"it has {shorten_list(sorted(unmatched))}, "
            f"the pool has {shorten_list(list(schema.classes))}",
            hint="write classes as the pool does, or name the pool's with `classes`",
        )
