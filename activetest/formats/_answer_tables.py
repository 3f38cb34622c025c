"""Answers in tables of Arrow."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from activetest.formats._answers import sample_rows
from activetest.nouns.answer_fields import SAMPLE, require_columns
from activetest.nouns.name_lists import find_repeated


def read_batches(
    schema: pa.Schema,
    read: Callable[[list[str]], Iterable[pa.RecordBatch]],
    name: str,
    columns: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """A row per answer, with its number from 0 as its place.

    read  the batches of the columns of these names

    Raises LabelError where id or label are missing, and what Arrow raises for damaged data.
    """

    def sample() -> dict[str, list[str]]:
        repeated = {*find_repeated(schema.names)}
        names = [each for each in schema.names if each not in repeated]
        first = next(iter(read(names)), None)
        return sample_rows([] if first is None else first.slice(0, SAMPLE).to_pylist())

    found = require_columns(schema.names, columns, name, sample)
    number = 0
    for batch in read(list(found.values())):
        for values in zip(
            *(batch.column(each).to_pylist() for each in found.values()), strict=True
        ):
            yield {"place": f"row {number}"} | dict(zip(found, values, strict=True))
            number += 1
