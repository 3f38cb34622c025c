"""Inputs of the surrogates that learn from features: a row's features, and maybe the outputs."""

import numpy as np

from activetest.nouns.rows import Array, Rows

# With more classes than this, the probabilities of classes are not inputs.
_MOST_CLASSES = 30


def input_columns(rows: Rows, *, outputs: bool) -> Array:
    """(R, W) float32 features and, with outputs, the black box's outputs on a similar scale."""
    parts = [] if rows.features is None else [rows.features]
    if outputs:
        parts.append(_black_box_columns(rows))
    return np.ascontiguousarray(np.hstack(parts), np.float32)


def _black_box_columns(rows: Rows) -> Array:
    """(R, W) log-probabilities of classes; with many classes, the columns of the design."""
    probs = rows.outputs.probs
    if probs is not None and probs.shape[1] <= _MOST_CLASSES:
        return np.log(np.maximum(probs, 1e-4)) / 3 + 1
    if probs is None and np.issubdtype(rows.outputs.pred.dtype, np.integer):
        codes = np.arange(_MOST_CLASSES)
        return np.hstack([rows.outputs.pred[:, None] == codes, rows.design])
    return rows.design
