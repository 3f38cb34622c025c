"""Contents of a file, column by column, and the settings with which it is a pool."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from activetest.errors import ActivetestError
from activetest.formats import read_file_notes
from activetest.nouns.choices import ColumnChoices, Task
from activetest.nouns.class_names import find_label_lists
from activetest.nouns.inspection import Column
from activetest.pool.files import Files, hold_something
from activetest.pool.judge import find_pair
from activetest.pool.pool import Pool
from activetest.pool.proposals import check_proposal, list_proposals
from activetest.pool.restated import restates_outputs
from activetest.pool.roles import (
    WEIGHT,
    NoOutputs,
    is_list,
    is_number,
    is_telling,
    is_text,
    list_predictions,
)
from activetest.pool.schema import Schema
from activetest.pool.suggestions import find_groups, find_id
from activetest.pool.texts import read_lines
from activetest.pool.unclear import Unclear, find_texts
from activetest.system.safe_text import escape_controls

# Letters of an example, and rows that are looked at.
_SHOWN, _ROWS = 30, 100

_PAIR = ("negative", "positive")

# Names of types; the first that holds.
_TYPES = (
    (kinds.is_boolean, "true/false"),
    (kinds.is_integer, "whole number"),
    (is_number, "number"),
    (kinds.is_struct, "record"),
    (kinds.is_temporal, "time"),
)


@dataclass(frozen=True)
class Chosen:
    """A way to read a file.

    settings  with which the pool opens
    pool      that they open
    meaning   what the outputs are then, where there are several ways
    """

    settings: dict[str, Any]
    pool: Pool
    meaning: str = ""


def choose_settings(
    path: str, files: Files, address: str, given: Mapping[str, Any]
) -> tuple[list[Chosen], ActivetestError | None]:
    """The ways to read a file, the likeliest last, and the error where there are none.

    path     of the Parquet file or folder
    address  as given, for messages
    given    settings that the user named, which are kept

    Where there are several, the error says what is unclear.
    """
    error: ActivetestError | None = None
    # Where the user says what the outputs are, nothing else is tried.
    proposals = [{}] if given.get("outputs") or given.get("judge") else list_proposals(files)
    for proposal in proposals:
        settings = {**proposal, **given}
        try:
            if "outputs" not in given:
                check_proposal(files, settings)
            return [_open_pool(path, settings, address, given)], None
        except Unclear as unclear:
            ways = []
            for each in unclear.readings:
                with suppress(ActivetestError):
                    found = _open_pool(path, {**settings, **each.settings, **given}, address, given)
                    ways.append(replace(found, meaning=each.meaning))
            if ways:
                return ways, unclear
            error = error or unclear
        except ActivetestError as problem:
            # Of several columns of outputs that are known by their names, it says more.
            known = isinstance(error, NoOutputs) and isinstance(settings.get("outputs"), list)
            error = problem if known else error or problem
    return [], error


def _open_pool(
    path: str, settings: dict[str, Any], address: str, given: Mapping[str, Any]
) -> Chosen:
    """The pool with these settings and with what the file says of ids and classes besides.

    Raises PoolError and ChoiceError where no pool opens with them.
    """
    pool = Pool.open(path, **settings, name=address)
    id = None if "id" in given else find_id(pool, ColumnChoices())
    more = ({"id": id} if id else {}) | ({} if "classes" in given else _name_classes(pool))
    if more:
        settings = settings | more
        pool = Pool.open(path, **settings, name=address)
    return Chosen(settings, pool)


def _name_classes(pool: Pool) -> dict[str, Any]:
    """The setting of the two classes of a score that has no names, by the labels in the file."""
    if pool.schema.kind != "score" or pool.schema.classes != ("0", "1"):
        return {}
    table = pool.files.schema
    outputs = list_predictions(table, pool.schema.outputs)
    for name in pool.schema.ignored:
        if not is_text(table.field(name).type) or not _holds_labels(name, table, outputs):
            continue
        labels = _find_labels(pool, name)
        if len(labels) == 2 and (pair := find_pair(sorted(labels))):
            return {"classes": list(reversed(pair))}
    return {}


def _find_labels(pool: Pool, name: str) -> set[str]:
    """The different texts of a column, no more than a few beyond two."""
    labels: set[str] = set()
    for _, batch in pool.files.scan([name]):
        labels |= {*find_texts(batch.column(0), len(_PAIR))}
        if len(labels) > len(_PAIR):
            break
    return labels


def describe_columns(files: Files, pool: Pool | None) -> Iterator[Column]:
    """Every column, with what it would be in a study."""
    table = files.schema
    groups = find_groups(pool) if pool else []
    outputs = list_predictions(table, pool.schema.outputs if pool else ())
    multiple = find_label_lists(table.metadata)
    batch = files.sample(table.names, _ROWS, checked=False)
    roles = {} if pool is None else _name_roles(pool.schema, groups)
    for field, values in zip(table, batch.columns, strict=True):
        role, labels = "not used", _holds_labels(field.name, table, outputs)
        listed = is_list(field.type) and is_text(field.type.value_type) and is_telling(field.name)
        if field.name in multiple or listed or _are_written_lists(files, field):
            same = values.null_count == 0 and len({str(each) for each in values.to_pylist()}) == 1
            role = (
                "names of the classes"
                if same and files.rows > 1 and _are_different(values[0].as_py())
                else "several labels an item: not scored"
            )
        elif pool is not None:
            weighs = WEIGHT.search(field.name) and is_number(field.type)
            other = "could be weights" if weighs else "label" if labels else "not used"
            role = roles.get(field.name, other)
        elif labels:
            role = "label"
        yield Column(field.name, _name_type(field.type), role, _show_example(values))


def _name_roles(schema: Schema, groups: Sequence[str]) -> dict[str | None, str]:
    """{column: its role in words} of the columns that the pool may use."""
    regression = schema.task == Task.REGRESSION
    return {
        **dict.fromkeys(groups, "could be a group"),
        **dict.fromkeys(schema.features, "feature"),
        **dict.fromkeys(schema.texts, "text to learn from"),
        **_name_probabilities(schema),
        schema.std: "standard deviation",
        schema.pred: "predicted value" if regression else "predicted class",
        schema.judge: "judge's verdict",
        schema.id: "id",
    }


def _holds_labels(name: str, table: pa.Schema, outputs: Sequence[str] = ()) -> bool:
    """Whether a column holds labels: as the reader of the file says, else by its name."""
    known = read_file_notes(table.metadata).labels
    return is_telling(name, outputs) if known is None else name in known


def _name_probabilities(schema: Schema) -> dict[str | None, str]:
    """{column: what it is the probability of}."""
    if schema.kind == "prob-columns":
        pairs = zip(schema.outputs, schema.classes, strict=True)
        return {column: f"probability of {name}" for column, name in pairs}
    whose = f"probability of {schema.positive}" if schema.kind == "score" else "probabilities"
    return dict.fromkeys(schema.outputs, whose)


def _are_written_lists(files: Files, field: pa.Field) -> bool:
    """Whether each of the first rows of a column of labels holds a list that is written as text."""
    if not is_text(field.type) or not is_telling(field.name):
        return False
    batch = files.sample([field.name], _ROWS, checked=False)
    values = [each.strip() for each in read_lines(batch.column(0).drop_null()).to_pylist()]
    return bool(values) and all(each[:1] == "[" and each[-1:] == "]" for each in values)


def _are_different(names: Any) -> bool:
    """Whether a list, which may be written as text, has two values or more, all different."""
    values = names.strip("[]").split(",") if isinstance(names, str) else names or []
    return 1 < len(values) == len({str(each).strip() for each in values})


def _name_type(kind: pa.DataType) -> str:
    """A type in words."""
    if is_text(kind):
        return "text"
    if is_list(kind):
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


@dataclass(frozen=True)
class LabelColumn:
    """A column that may hold labels.

    count    rows with one
    restates  whether it says in every row what the outputs say, in other words
    """

    name: str
    count: int
    restates: bool = False


def find_labels(files: Files, pool: Pool | None) -> list[LabelColumn]:
    """The columns of labels that have any."""
    table = files.schema
    outputs = list_predictions(table, pool.schema.outputs if pool else ())
    taken = {*pool.schema.output_columns, *pool.schema.features} if pool else set()
    names = [
        field.name
        for field in table
        if field.name not in taken
        and not WEIGHT.search(field.name)
        and _holds_labels(field.name, table, outputs)
        and (is_text(field.type) or is_number(field.type))
        and not _are_written_lists(files, field)
    ]
    counts = {
        name: sum(
            pc.sum(hold_something(batch.column(0))).as_py() or 0 for _, batch in files.scan([name])
        )
        for name in names
    }
    return [
        LabelColumn(
            name, count, count == files.rows and pool is not None and restates_outputs(pool, name)
        )
        for name, count in counts.items()
        if count
    ]
