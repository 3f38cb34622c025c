"""What a file holds, column by column, and the settings with which it is a pool."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from activetest.errors import ActivetestError
from activetest.nouns.choices import ColumnChoices, Task
from activetest.nouns.class_names import find_label_lists
from activetest.nouns.inspection import Column
from activetest.pool.file_notes import read_file_notes
from activetest.pool.files import Files
from activetest.pool.judge import find_pair
from activetest.pool.pool import Pool
from activetest.pool.roles import NOT_A_FEATURE, WEIGHT, is_number, is_text, is_vector
from activetest.pool.schema import Schema
from activetest.pool.suggestions import find_groups, find_id
from activetest.safe_text import escape_controls

# Names that people give to columns of outputs, besides those that are read without a word.
_PREDICTED = ("y_pred", "prediction", "predicted", "predicted_label", "predicted_class", "y_hat")
_PROBABILITY = ("prob", "y_score", "y_prob", "probability", "proba", "confidence")
_LISTS = ("probs", "probabilities", "proba", "scores", "score", "y_pred_proba")
_PREFIXES = ("proba_", "probability_", "p_", "score_")
_VERDICTS = ("verdict", "grade", "rating", "judgement", "judgment", "judge")
# Letters of an example.
_SHOWN = 30

# What types are called; the first that holds.
_TYPES = (
    (kinds.is_boolean, "true/false"),
    (kinds.is_integer, "whole number"),
    (is_number, "number"),
    (kinds.is_struct, "record"),
    (kinds.is_temporal, "time"),
)


def choose_settings(
    path: str, files: Files, address: str
) -> tuple[dict[str, Any], ActivetestError | None]:
    """Settings with which a pool opens, and the error where there are none.

    path     of the Parquet file or folder
    address  as given, for messages
    """
    error: ActivetestError | None = None
    for settings in _list_settings(files.schema):
        try:
            pool = Pool.open(path, **settings, name=address, suggest=False)
        except ActivetestError as problem:
            error = error or problem
            continue
        id = find_id(pool, ColumnChoices())
        return settings | ({"id": id} if id else {}) | _name_classes(pool), None
    return {}, error


def _name_classes(pool: Pool) -> dict[str, Any]:
    """The setting of the two classes of a score that has no names, by the labels in the file."""
    if pool.schema.kind != "score" or pool.schema.classes != ("0", "1"):
        return {}
    table = pool.files.schema
    for name in pool.schema.ignored:
        if not _holds_labels(name, table) or not is_text(table.field(name).type):
            continue
        values = pc.unique(
            pa.chunked_array(
                batch.column(0).cast(pa.string())
                for piece in pool.pieces
                for batch in pool.batches([name], piece)
            )
        )
        labels = {str(each).strip() for each in values.drop_null().to_pylist()} - {""}
        if len(labels) == 2 and (pair := find_pair(sorted(labels))):
            return {"classes": list(reversed(pair))}
    return {}


def _list_settings(table: pa.Schema) -> Iterator[dict[str, Any]]:
    """Settings to try, one after another: convention first, then names that people use."""
    judge = read_file_notes(table.metadata).judge
    if judge in table.names:
        yield {"judge": judge}
    yield {}
    types = {field.name: field.type for field in table}
    for name in filter(types.get, _LISTS):
        if is_vector(types[name]):
            yield {"outputs": name}
    for prefix in _PREFIXES:
        columns = [each for each in types if each.startswith(prefix) and is_number(types[each])]
        if len(columns) > 1:
            classes = [each.removeprefix(prefix) for each in columns]
            yield {"outputs": columns, "classes": classes}
    single = [each for each in types if each.startswith("prob_")]
    if len(single) == 1:
        name = single[0].removeprefix("prob_")
        names = [f"not {name}" if name != "1" else "0", name]
        yield {"outputs": single[0], "task": Task.CLASSIFICATION.value, "classes": names}
    for name in filter(types.get, _PREDICTED):
        yield {"outputs": name}
    for name in filter(types.get, _PROBABILITY):
        if kinds.is_floating(types[name]):
            yield {"outputs": name, "task": Task.CLASSIFICATION.value}
    for name in filter(types.get, _VERDICTS):
        yield {"judge": name}


def describe_columns(files: Files, pool: Pool | None) -> Iterator[Column]:
    """Every column, with what it would be in a study."""
    table = files.schema
    groups = find_groups(pool) if pool else []
    multiple = find_label_lists(table.metadata)
    batch = next(files.batches(table.names, files.pieces[0], 100, checked=False))
    for field, values in zip(table, batch.columns, strict=True):
        role = "not used"
        if field.name in multiple or _are_label_lists(field):
            role = "several labels an item: not scored"
        elif pool is not None:
            role = _find_role(field, pool.schema, groups, table)
        elif _holds_labels(field.name, table):
            role = "label"
        yield Column(field.name, _name_type(field.type), role, _show_example(values))


def _find_role(field: pa.Field, schema: Schema, groups: Sequence[str], table: pa.Schema) -> str:
    """The role of a column in words."""
    name = field.name
    regression = schema.task == Task.REGRESSION
    roles: dict[str | None, str] = {
        **dict.fromkeys(groups, "could be a group"),
        **dict.fromkeys(schema.features, "feature"),
        **dict.fromkeys(schema.texts, "text to learn from"),
        **_name_probabilities(schema),
        schema.std: "standard deviation",
        schema.pred: "predicted value" if regression else "predicted class",
        schema.judge: "judge's verdict",
        schema.id: "id",
    }
    if name in roles:
        return roles[name]
    if WEIGHT.search(name) and is_number(field.type):
        return "could be weights"
    return "label" if _holds_labels(name, table) else "not used"


def _holds_labels(name: str, table: pa.Schema) -> bool:
    """Whether a column holds labels: as the reader of the file says, else by its name."""
    known = read_file_notes(table.metadata).labels
    return bool(NOT_A_FEATURE.search(name)) if known is None else name in known


def _name_probabilities(schema: Schema) -> dict[str | None, str]:
    """{column: what it is the probability of}."""
    if schema.kind == "prob-columns":
        pairs = zip(schema.outputs, schema.classes, strict=True)
        return {column: f"probability of {name}" for column, name in pairs}
    whose = f"probability of {schema.positive}" if schema.kind == "score" else "probabilities"
    return dict.fromkeys(schema.outputs, whose)


def _are_label_lists(field: pa.Field) -> bool:
    """Whether each row of a column of labels holds a list of names."""
    kind = field.type
    nested = kinds.is_list(kind) or kinds.is_large_list(kind)
    return bool(nested and is_text(kind.value_type) and NOT_A_FEATURE.search(field.name))


def _name_type(kind: pa.DataType) -> str:
    """A type in words."""
    if is_text(kind):
        return "text"
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        count = f"{kind.list_size} " if kinds.is_fixed_size_list(kind) else ""
        plural = "s" if is_number(kind.value_type) else ""
        return f"list of {count}{_name_type(kind.value_type)}{plural}"
    return next((word for holds, word in _TYPES if holds(kind)), str(kind)[:_SHOWN])


def _show_example(values: pa.Array) -> str:
    """The first value that is there, on one line."""
    try:
        value = next((each.as_py() for each in values if each.is_valid), None)
    except (pa.ArrowException, ValueError, OverflowError):
        return "?"
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)[: 4 * _SHOWN]
    text = escape_controls(" ".join(text.split()))
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def count_labels(files: Files, pool: Pool | None) -> dict[str, int]:
    """{column: rows that have a label} of the columns of labels that have any."""
    table = files.schema
    taken = {*pool.schema.output_columns, *pool.schema.features} if pool else set()
    names = [
        field.name
        for field in table
        if field.name not in taken
        and not WEIGHT.search(field.name)
        and _holds_labels(field.name, table)
        and (is_text(field.type) or is_number(field.type))
    ]
    counts = {
        name: sum(
            _count_labels(batch.column(0))
            for piece in files.pieces
            for batch in files.batches([name], piece)
        )
        for name in names
    }
    return {name: count for name, count in counts.items() if count}


def _count_labels(values: pa.Array) -> int:
    """Rows that are not empty."""
    values = values.drop_null()
    if is_text(values.type):
        return int(pc.sum(pc.not_equal(pc.utf8_trim_whitespace(values), "")).as_py() or 0)
    return len(values)
