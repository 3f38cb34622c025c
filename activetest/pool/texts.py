"""Columns of free text: found by their values, and read."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from activetest.formats import read_file_notes
from activetest.nouns.choices import ColumnChoices
from activetest.pool.column_names import is_index
from activetest.pool.columns import decode
from activetest.pool.roles import OTHER_MODELS, is_telling, is_text
from activetest.pool.schema import Schema

if TYPE_CHECKING:
    from activetest.pool.pool import Pool

# Rows that are looked at, columns that are, and those that are kept.
_SAMPLE, _CANDIDATES, _MOST = 1000, 100, 4
# Free text has several words, in this share of the items; and values are repeated less than this.
_SEVERAL_WORDS, _USUALLY, _REPEATED = r"\S\s+\S+\s+\S+\s+\S", 0.5, 10


def resolve_texts(pool: "Pool", choices: ColumnChoices) -> Schema:
    """The schema with columns of free text: those that the user named, else those that look so."""
    schema, table = pool.schema, pool.files.schema
    # Of a remote pool, no texts are fetched that may be long.
    if choices.text is not None or pool.files.remote:
        return schema
    labels = read_file_notes(table.metadata).labels or ()
    candidates = [
        name
        for name in schema.ignored
        if is_text(table.field(name).type)
        and name not in labels
        and not is_telling(name)
        and not OTHER_MODELS.search(name)
        and not is_index(name)
    ][:_CANDIDATES]
    if not candidates:
        return schema
    sample = pool.files.sample(candidates, _SAMPLE, checked=False)
    found = [name for name in candidates if _is_free(read_lines(sample.column(name)))][:_MOST]
    ignored = tuple(name for name in schema.ignored if name not in found)
    return replace(schema, texts=tuple(found), ignored=ignored)


def _is_free(lines: pa.Array) -> bool:
    """Whether most values have several words, and few are the same."""
    several = pc.sum(pc.match_substring_regex(lines, _SEVERAL_WORDS)).as_py() or 0
    distinct = pc.count_distinct(lines).as_py()
    return bool(several >= _USUALLY * len(lines) and distinct * _REPEATED >= len(lines))


def read_lines(column: pa.Array) -> pa.Array:
    """(R,) large_string: nothing for null, and a sign in place of bytes that are no UTF-8."""
    lines = decode(column).cast(pa.large_binary()).fill_null(b"")
    try:
        text = lines.cast(pa.large_string())
        text.validate(full=True)
    except pa.ArrowInvalid:
        decoded = [each.decode("utf-8", "replace") for each in lines.to_pylist()]
        text = pa.array(decoded, pa.large_string())
    return text
