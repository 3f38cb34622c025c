"""The answer key of a simulation: the label of every item."""

from typing import Any

import numpy as np

from activetest.cache.cache import Cache
from activetest.errors import LabelError
from activetest.labels import files
from activetest.nouns.log import LABELLED
from activetest.nouns.rows import Array
from activetest.sampling.label_source import read_label_source


def read_answer_key(cache: Cache, key: Any, *, unmatched: bool = False) -> Array:
    """(N,) class code or value of every item, from a label file, a frame, a mapping or rows.

    With unmatched, labels may be of classes that the model never predicts. Raises LabelError for an
    item without a label, an id that is not in the pool and a label that makes no sense there.
    """
    if isinstance(key, str) and key == "-":
        raise LabelError("- is no file of labels", "give the path of the pool's answer key")
    source, labels = read_label_source(key)
    rows = [row for row in labels if row.status == LABELLED]
    positions = cache.find([row.id for row in rows])
    if (positions < 0).any():
        raise LabelError(
            f"{source}: id {rows[int(np.argmin(positions))].id!r} is not in the pool",
            "give this pool's answer key",
        )
    number, truth = files.make_label_encoder(cache.classes), np.full(cache.size, np.nan)
    for row, place in zip(rows, positions, strict=True):
        try:
            truth[place] = number(row.label)
            fits = unmatched or not cache.classes or truth[place] >= 0
        except ValueError:
            fits = False
        if not fits:
            raise LabelError(
                f"{source}, {row.place}: {row.label!r} is not a label of this pool", "correct it"
            )
    if np.isnan(truth).any():
        missing = cache.ids([int(np.argmax(np.isnan(truth)))])[0]
        raise LabelError(
            f"{source} has no label for {np.isnan(truth).sum()} of {cache.size} items, "
            f"id {missing!r} first",
            "a simulation needs the label of every item",
        )
    return truth
