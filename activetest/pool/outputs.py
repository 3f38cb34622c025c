"""The model's outputs in a batch: checked, and corrected where that is safe."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds

from activetest.nouns import class_sets
from activetest.nouns.choices import Scale
from activetest.nouns.rows import Array, Outputs
from activetest.pool.classes import find_codes
from activetest.pool.column_names import find_common
from activetest.pool.columns import BadRow, encode_values, read_numbers, read_vectors, reject_nulls
from activetest.pool.groups import find_occurring, sort_names
from activetest.pool.schema import Schema

# A sum of probabilities this far from one is rounding in the file; beyond WORTH_SAYING it is
# reported.
TOLERANCE = 1e-3
WORTH_SAYING = 1e-5
# Larger values are in a wrong unit or mark a missing value, and in sums of squared differences they
# would leave no digit of the others.
LARGEST = 1e15
# Where sums are further off, each probability may be of a question of its own; rounding and
# temperatures do not go so far.
_INDEPENDENT = 0.25
# Names that a hint spells out.
_FEW = 12
NO_GAPS = "outputs must be finite numbers in every row"


@dataclass(frozen=True)
class Checked:
    """Outputs of R rows.

    outputs       as the methods read them
    raw           the columns as they are in the pool, (R,) each: what the fingerprint is made of
    renormalised  rows whose probabilities did not sum to one within 1e-5
    disagreeing   rows where pred is not the most probable class
    """

    outputs: Outputs
    raw: list[Array]
    renormalised: int = 0
    disagreeing: int = 0


# Values that are not finite are rejected below; numpy need not warn about them.
@np.errstate(over="ignore", invalid="ignore")
def read_outputs(batch: pa.RecordBatch, schema: Schema) -> Checked:
    """The outputs of a batch. Raises BadRow for the first row that cannot be right."""
    if schema.task == "regression":
        return _read_predicted_values(batch, schema)
    if schema.kind == "pred":
        pred = _read_codes(batch, schema)
        return Checked(Outputs(pred), [pred])
    read = _read_scores if schema.kind == "score" else _check_probabilities
    checked = read(batch, schema)
    return _apply_threshold(checked, schema) if schema.thresholded else checked


def _apply_threshold(checked: Checked, schema: Schema) -> Checked:
    """The outputs of a model with a threshold of its own: its predictions follow from that."""
    code, probs = schema.classes.index(schema.thresholded), checked.outputs.probs
    if probs is None:
        raise ValueError("there are no probabilities")
    pred = np.where(probs[:, code] >= schema.threshold, code, 1 - code).astype(np.int32)
    return replace(checked, outputs=Outputs(pred, probs), raw=[*checked.raw, pred], disagreeing=0)


def _read_predicted_values(batch: pa.RecordBatch, schema: Schema) -> Checked:
    """Predicted values, with their standard deviations where there are any."""
    pred = read_values(batch, schema.prediction, _hint_gaps(schema.prediction))
    if schema.std is None:
        return Checked(Outputs(pred), [pred])
    std = read_values(batch, schema.std)
    if len(low := np.flatnonzero(std < 0)):
        raise BadRow(
            int(low[0]),
            f"{schema.std!r} is {std[low[0]]:g}",
            "standard deviations cannot be negative",
        )
    return Checked(Outputs(pred, std=std), [pred, std])


def read_values(batch: pa.RecordBatch, column: str, rule: str = NO_GAPS) -> Array:
    """(R,) the values of a column. Raises BadRow for one that is not finite or too large."""
    values = require_finite(read_numbers(batch.column(column)), column, rule).astype(float)
    if len(large := np.flatnonzero(np.abs(values) > LARGEST)):
        raise BadRow(
            int(large[0]),
            f"{column!r} is {values[large[0]]:g}, too large",
            f"values are at most {LARGEST:g} in size; choose another unit",
        )
    return values


def _read_scores(batch: pa.RecordBatch, schema: Schema) -> Checked:
    """Scores are probabilities of the positive class; the prediction follows from the threshold."""
    column = schema.outputs[0]
    values = require_finite(read_numbers(batch.column(column)), column, _hint_gaps(column))
    score = find_probabilities(values[:, None], schema)[:, 0]
    if len(bad := np.flatnonzero((score < 0) | (score > 1))):
        raise BadRow(
            int(bad[0]),
            f"{column!r} is {score[bad[0]]:g}",
            "a score is the probability of the positive class, in [0, 1]"
            + ("; divide percentages by 100" if 1 < score[bad[0]] <= 100 else "")
            + '; `scale="logits"` reads logits'
            + '; `task="regression"` reads it as a predicted value',
        )
    probs = np.empty((len(score), 2), np.float32)
    if schema.scale == Scale.CONFIDENCE:
        rows, pred = np.arange(len(score)), _read_codes(batch, schema)
        probs[rows, pred], probs[rows, 1 - pred] = score, 1 - score
        disagreeing = int((score < 1 - score).sum())
        return Checked(Outputs(pred, probs), [score, pred], disagreeing=disagreeing)
    positive = schema.classes.index(schema.positive)
    probs[:, positive], probs[:, 1 - positive] = score, 1 - score
    chosen = np.where(score >= schema.threshold, positive, 1 - positive).astype(np.int32)
    pred = chosen if schema.pred is None else _read_codes(batch, schema)
    disagreeing = int((pred != chosen).sum())
    return Checked(Outputs(pred, probs), [score, pred], disagreeing=disagreeing)


def _check_probabilities(batch: pa.RecordBatch, schema: Schema) -> Checked:
    """Probabilities of all classes; a pred column takes precedence over the most probable class."""
    probs = find_probabilities(_read_numbers(batch, schema), schema)
    raw = [probs[:, code] for code in range(probs.shape[1])]
    columns = schema.outputs if schema.kind == "prob-columns" else schema.outputs * probs.shape[1]
    try:
        probs, renormalised = correct_probabilities(probs, columns, schema.classes)
    except BadRow as bad:
        if not _are_independent(probs):
            raise
        named = schema.kind == "prob-columns"
        example = (columns[0], schema.classes[0]) if named else ()
        remedy = class_sets.describe_remedy(*example)
        raise BadRow(bad.row, bad.problem, f"{bad.hint}; {remedy}") from bad
    chosen = probs.argmax(axis=1).astype(np.int32)
    if schema.pred is None:
        return Checked(Outputs(chosen, probs), raw, renormalised)
    pred = _read_codes(batch, schema)
    return Checked(Outputs(pred, probs), [*raw, pred], renormalised, int((pred != chosen).sum()))


def _are_independent(probs: Array) -> bool:
    """Whether these may be probabilities of classes several of which can be true of an item."""
    inside = ((probs >= -TOLERANCE) & (probs <= 1 + TOLERANCE)).all()
    return bool(inside and np.abs(probs.sum(axis=1) - 1).max(initial=0) > _INDEPENDENT)


@np.errstate(over="ignore", invalid="ignore")
def correct_probabilities(
    probs: Array, columns: Sequence[str], values: Sequence[str]
) -> tuple[Array, int]:
    """(R, V) float32 probabilities that sum to one, and how many rows did not.

    columns  (V,) where they stand
    values   (V,) what they are probabilities of

    Raises BadRow for the first row that cannot be right.
    """
    name = columns[0] if len({*columns}) == 1 else f"{find_common(columns)}*"
    total = probs @ np.ones(probs.shape[1], np.float32)
    lowest = probs.min(initial=np.inf)
    # NaN and infinities show in the sum; only then is the row looked for.
    if not np.isfinite(total).all():
        row, code = np.argwhere(~np.isfinite(probs))[0]
        raise BadRow(
            int(row),
            f"{columns[code]!r} holds NaN, null or an infinity",
            NO_GAPS,
        )
    if lowest < -TOLERANCE:
        row, code = np.argwhere(probs < -TOLERANCE)[0]
        raise BadRow(
            int(row),
            f"{columns[code]!r} holds {probs[row, code]:g} for class {values[code]!r}",
            'probabilities are in [0, 1]; `scale="logits"` reads logits',
        )
    error = np.abs(total - 1)
    if error.max(initial=0) > TOLERANCE:
        row = int(np.argmax(error > TOLERANCE))
        raise BadRow(
            row,
            f"the probabilities in {name!r} sum to {total[row]:.6g}",
            "they must sum to 1 (within 0.001)"
            + (": divide percentages by 100" if abs(total[row] - 100) <= 1 else ""),
        )
    inexact = error > WORTH_SAYING
    renormalised = int(inexact.sum())
    if lowest < 0 or renormalised:
        # Others stay as they are, whatever is beside them.
        rows = np.flatnonzero(inexact | (probs.min(axis=1) < 0))
        fixed = np.maximum(probs[rows], 0)
        probs = probs.copy()
        probs[rows] = fixed / fixed.sum(axis=1, keepdims=True)
    return probs, renormalised


def find_probabilities(values: Array, schema: Schema) -> Array:
    """(R, C) float32 probabilities of numbers (R, C) on the scale of the schema.

    Raises BadRow where they are probabilities already.
    """
    if schema.scale in ("", Scale.CONFIDENCE):
        return values.astype(np.float32, copy=False)
    values = values.astype(float)
    total = values.sum(axis=1)
    plain = (values >= 0).all() and (np.abs(total - 1) <= TOLERANCE).all()
    if len(values) and plain and values.shape[1] > 1:
        raise BadRow(
            0,
            f"{schema.outputs[0]!r} holds probabilities: they lie in [0, 1] and sum to 1",
            "leave `scale` out",
        )
    if schema.scale == Scale.LOG_PROBABILITIES:
        return np.exp(values).astype(np.float32)
    from scipy import special

    if values.shape[1] == 1:
        return special.expit(values).astype(np.float32)
    return special.softmax(values, axis=1).astype(np.float32)


def _read_numbers(batch: pa.RecordBatch, schema: Schema) -> Array:
    """(R, C) the columns of outputs."""
    if schema.kind == "prob-list":
        array = batch.column(schema.outputs[0])
        reject_nulls(array, schema.outputs[0], NO_GAPS)
        return read_vectors(array, schema.outputs[0], len(schema.classes))
    kind = float if schema.scale else np.float32
    return np.stack(
        [read_numbers(batch.column(c)).astype(kind, copy=False) for c in schema.outputs], axis=1
    )


def _read_codes(batch: pa.RecordBatch, schema: Schema) -> Array:
    """(R,) int32 code of each predicted class."""
    column = schema.prediction
    array = batch.column(column)
    reject_nulls(array, column, "every item needs a prediction")
    if kinds.is_floating(array.type):
        require_finite(read_numbers(array), column)
    codes, names = encode_values(array)
    table = find_codes(names, schema.classes).astype(np.int32)
    result = table[codes] if len(table) else np.empty(0, np.int32)
    if len(unknown := np.flatnonzero(result < 0)):
        row = int(unknown[0])
        if not (name := names[codes[row]]).strip():
            raise BadRow(row, f"{column!r} is empty", "every item needs a prediction")
        raise BadRow(
            row,
            f"{column!r} is {name!r}, and the classes are {', '.join(schema.classes[:12])}",
            _suggest_classes(column, find_occurring(codes, names), schema),
        )
    return result


def _suggest_classes(column: str, found: set[str], schema: Schema) -> str:
    """Advice where predicted classes are none of the schema's; found are those of a batch."""
    if schema.kind == "pred":
        return f"name all of its classes with `classes`, or write their names into {column!r}"
    count = len(schema.classes)
    numbers = [str(code) for code in range(count)]
    names = numbers if found <= set(numbers) else sort_names(found)
    example = f", as in `classes={names}`" if len(names) == count <= _FEW else ""
    alone = f"`outputs={list(schema.outputs)}`" if len(schema.outputs) <= _FEW else "`outputs`"
    return (
        f"write names of these classes into {column!r}, or give the names that it has with "
        f"`classes`, in the order of the probabilities{example}, or leave {column!r} out by naming "
        f"only the columns of probabilities: {alone}"
    )


def require_finite(values: Array, column: str, rule: str = NO_GAPS) -> Array:
    """The values. Raises BadRow, with the rule, for the first that is NaN, null or infinite."""
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise BadRow(row, f"{column!r} is {values[row]}", rule)
    return values


def _hint_gaps(column: str) -> str:
    return f"{NO_GAPS}; items that a judge gave no grade are left out by `judge={column!r}`"
