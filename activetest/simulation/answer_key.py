"""The answer key of a simulation: the label of every item."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from activetest.cache.cache import Cache
from activetest.errors import ColumnsUnclear, LabelError
from activetest.labels.matching import FEWEST, ClassMatcher, parse_number, says_no_label
from activetest.labels.written_numbers import MARKS, describe_marks, read_written_numbers
from activetest.nouns.log import LABELLED
from activetest.nouns.rows import Array
from activetest.pool.number_texts import has_percents
from activetest.sampling.item_ids import restore_ids
from activetest.sampling.label_columns import describe_columns
from activetest.sampling.label_source import read_label_source


def read_answer_key(
    cache: Cache,
    key: Any,
    *,
    unmatched: bool = False,
    columns: Mapping[str, str] = MappingProxyType({}),
) -> Array:
    """(N,) class code or value of every item, from a label file, a frame, a mapping or rows.

    With unmatched, labels may be of classes that the model never predicts; columns are those of the
    key that are not called like their field, as {"label": "truth"}. Raises LabelError for an item
    without a label, an id that is not in the pool and a label that makes no sense there.
    """
    if isinstance(key, str) and key == "-":
        raise LabelError("- is no file of labels", "give the path of the pool's answer key")
    try:
        source, labels = read_label_source(key, id_prefix=cache.id_prefix, columns=columns)
    except ColumnsUnclear as error:
        raise describe_columns(error, cache, cache.roles["outputs"], columns)[0] from error
    rows = [row for row in labels if row.status == LABELLED]
    prefix = cache.id_prefix
    if prefix and not any(row.id.startswith(prefix) for row in rows):
        # A key of a pool without ids may have row numbers alone. It has a label for every item:
        # rows cannot be confused with the numbers of another tool.
        rows = [row._replace(id=f"{prefix}{row.id}") for row in rows]
    rows = restore_ids(rows, cache, source, [])
    if not cache.classes:
        mark, percent = cache.roles.get("decimal"), has_percents(cache.roles)
        rows = read_written_numbers(rows, [], decimal=mark, percent=percent)
    positions = cache.find([row.id for row in rows])
    if (positions < 0).any():
        raise LabelError(
            f"{source}: id {rows[int(np.argmin(positions))].id!r} is not in the pool",
            f"give this pool's answer key; ids look like {cache.ids([0])[0]!r}",
        )
    encode, truth = _make_encoder(cache, unmatched=unmatched), np.full(cache.size, np.nan)
    for row, place in zip(rows, positions, strict=True):
        truth[place] = encode(row.label)
        if np.isnan(truth[place]):
            marks = "" if cache.classes else describe_marks([each.label for each in rows])
            raise LabelError(
                f"{source}, {row.place}: {row.label!r} is not a label of this pool",
                "it seems to say that there is none; a class of this name needs another one in the "
                "answer key"
                if unmatched and cache.classes
                else marks or "correct it",
                ways=MARKS if marks else (),
            )
    if cache.classes and len(rows) >= FEWEST and (truth[positions] < 0).all():
        raise LabelError(
            f"{source}: none of its {len(rows):,} labels is a class that the model predicts",
            f"write them as the pool does: its classes are {', '.join(cache.classes[:12])}",
        )
    if np.isnan(truth).any():
        missing = cache.ids([int(np.argmax(np.isnan(truth)))])[0]
        raise LabelError(
            f"{source} has no label for {np.isnan(truth).sum()} of {cache.size} items, "
            f"id {missing!r} first",
            "a simulation needs the label of every item",
        )
    return truth


def _make_encoder(cache: Cache, *, unmatched: bool) -> Callable[[str], float]:
    """A function from a label to the code of its class, or its value; NaN for what is no label.

    With unmatched, a class that the model never predicts has the code -1.
    """
    if not cache.classes:
        return lambda label: _to_finite(parse_number(label))
    find = ClassMatcher(cache.classes, numbered=cache.numbered).find
    codes = {name: float(code) for code, name in enumerate(cache.classes)}

    def encode(label: str) -> float:
        name = find(label)
        if name is not None:
            return codes[name]
        return -1.0 if unmatched and not says_no_label(label) else np.nan

    return encode


def _to_finite(number: float | None) -> float:
    """The number; NaN where there is none, or one too large."""
    return np.nan if number is None or not np.isfinite(number) else number
