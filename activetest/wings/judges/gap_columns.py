"""The columns of a pool on which the gap between a judge and people may depend."""

import re

import numpy as np

from activetest.nouns.log import Log
from activetest.nouns.rows import Array
from activetest.pool.pool import Pool
from activetest.pool.roles import is_number, is_text

# Texts that a judge reads: their length in characters is looked at.
_TEXTS = re.compile(
    r"(input|output|response|answer|completion|generation|prompt|question|instruction|text|message)"
    r"s?(_?([0-9]+|[ab]))?",
    re.I,
)
# Columns that are looked at, and items of pools whose texts are.
_MOST_COLUMNS, _MOST_ITEMS = 200, 100_000


def read_gap_columns(pool: Pool, log: Log) -> dict[str, Array]:
    """{name: (D + B,) values of drawn and then supplied items}; NaN where there is none.

    Features that are numbers, and lengths in characters of texts that a judge reads, by their
    names; not of remote pools, and of pools of at most 100,000 items. At most 200 columns.
    """
    table, schema = pool.files.schema, pool.schema
    numbers = [name for name in schema.features if is_number(table.field(name).type)]
    unused = {*schema.ignored, *schema.texts}
    texts = [
        name
        for name in filter(unused.__contains__, table.names)
        if is_text(table.field(name).type) and _TEXTS.fullmatch(name)
    ]
    if pool.files.remote or pool.rows > _MOST_ITEMS:
        texts = []
    numbers = numbers[:_MOST_COLUMNS]
    texts = texts[: _MOST_COLUMNS - len(numbers)]
    shown = pool.show(log.item_rows, [*numbers, *texts])
    found = {name: _read_numbers(shown[name]) for name in numbers}
    for name in texts:
        lengths = [None if text is None else len(text) for text in shown[name]]
        values = _read_numbers(lengths)
        # A column may hold the lengths already.
        if not any(np.array_equal(values, each, equal_nan=True) for each in found.values()):
            found[f"characters of {name}"] = values
    return found


def _read_numbers(values: list) -> Array:
    return np.array([np.nan if value is None else float(value) for value in values], float)
