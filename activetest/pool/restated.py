"""Columns that say what the outputs say, in other words: no truth that these could be held to."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from activetest.nouns.choices import Task
from activetest.nouns.rows import Array
from activetest.pool.columns import BadRow, encode_values, read_numbers
from activetest.pool.files import BATCH
from activetest.pool.outputs import read_outputs
from activetest.pool.roles import is_text

if TYPE_CHECKING:
    from activetest.pool.pool import Pool

# Fewer rows may well be right by chance, and more different values are none of a verdict.
_FEWEST, _MOST = 20, 1000


def restates_outputs(pool: "Pool", column: str) -> bool:
    """Whether each value of a column belongs to one output, and each output to one value.

    The outputs are the predicted class, or the number that a score or a predicted value is.
    Everything is read, until it is clear that they differ.
    """
    if pool.rows < _FEWEST:
        return False
    schema = pool.schema
    ways = {"outputs", "classes"} if schema.task == Task.CLASSIFICATION else {"outputs"}
    if schema.kind in ("prob-list", "prob-columns"):
        ways = {"classes"}
    pairs: dict[str, tuple[dict[str, str], dict[str, str]]] = {way: ({}, {}) for way in ways}
    columns = list(dict.fromkeys([*schema.output_columns, column]))
    for _, batch in pool.files.blocks(columns, BATCH):
        try:
            pred = read_outputs(batch, schema).outputs.pred
        except BadRow:
            return False
        values = {"outputs": batch.column(schema.outputs[0])}
        if "classes" in pairs:
            names = pa.array(schema.classes, pa.string())
            values["classes"] = pa.DictionaryArray.from_arrays(pred, names)
        for way in list(pairs):
            if not _join(pairs[way], batch.column(column), values[way]):
                del pairs[way]
        if not pairs:
            return False
    return any(
        len(forth) > 1 and not _contradict(forth) and _is_telling(forth, pool.rows)
        for forth, _ in pairs.values()
    )


def _is_telling(meanings: dict[str, str], rows: int) -> bool:
    """Whether values repeat, so that a pair could be broken, or are the same on both sides."""
    return 2 * len(meanings) <= rows or all(a == b for a, b in meanings.items())


def _contradict(meanings: dict[str, str]) -> bool:
    """Whether the same words are on both sides, and stand for other ones."""
    return {*meanings} <= {*meanings.values()} and any(a != b for a, b in meanings.items())


def _join(known: tuple[dict[str, str], dict[str, str]], first: pa.Array, second: pa.Array) -> bool:
    """Add what belongs together in a batch to what does so far; False where it contradicts that."""
    codes, names = _encode(first)
    others, meanings = _encode(second)
    together = np.unique(codes * max(len(meanings), 1) + others)
    if len(together) > max(len(names), len(meanings)) or len(together) > _MOST:
        return False
    forth, back = known
    for pair in together.tolist():
        name, meaning = names[pair // len(meanings)], meanings[pair % len(meanings)]
        if forth.setdefault(name, meaning) != meaning or back.setdefault(meaning, name) != name:
            return False
    return len(forth) <= _MOST


def _encode(values: pa.Array) -> tuple[Array, list[str]]:
    """(R,) codes and what they stand for: texts without white space around, or numbers."""
    if not is_text(values.type):
        values = pa.array(read_numbers(values).astype(float))
    codes, names = encode_values(values)
    return codes, [name.strip() for name in names]
