"""Look at a file that may become a pool: what it holds, and which study fits it."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from itertools import chain, combinations, count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from activetest import atomic, catalog
from activetest.errors import ActivetestError, LabelError, PoolError
from activetest.formats import FAMILY, find_format
from activetest.item_statistics.metric import Facts
from activetest.item_statistics.specification import describe_pool, find_metrics
from activetest.nouns import inspection as found
from activetest.nouns.arguments import read_path
from activetest.nouns.choices import ColumnChoices, Task
from activetest.nouns.class_names import find_label_lists, read_class_names
from activetest.nouns.file_head import read_head
from activetest.nouns.file_notes import read_file_notes
from activetest.nouns.inspection import Column, LabelsFound, Lacking
from activetest.nouns.log import LABELLED
from activetest.parallel import one_blas_thread
from activetest.pool import convert
from activetest.pool.files import Files
from activetest.pool.judge import find_pair
from activetest.pool.pool import Pool
from activetest.pool.remote import reject_secrets
from activetest.pool.roles import NOT_A_FEATURE, WEIGHT, is_number, is_text, is_vector
from activetest.pool.schema import Schema
from activetest.pool.suggestions import find_groups, find_id
from activetest.safe_text import escape_controls, mask_secrets
from activetest.sampling.label_source import read_label_source
from activetest.study.folder import find_study
from activetest.study.init import init

# Names that people give to columns of outputs, besides those that are read without a word.
_PREDICTED = ("y_pred", "prediction", "predicted", "predicted_label", "predicted_class", "y_hat")
_PROBABILITY = ("y_score", "y_prob", "probability", "proba", "confidence")
_LISTS = ("probs", "probabilities", "proba", "scores", "score", "y_pred_proba")
_PREFIXES = ("proba_", "probability_", "p_", "score_")
_VERDICTS = ("verdict", "grade", "rating", "judgement", "judgment", "judge")
# Letters of an example, and bytes of a file that is read for its labels.
_SHOWN, _LARGEST = 30, 2**28
# Arguments of metrics: a class of the pool is tried first.
_ARGUMENTS = ("0.5", "10", "1", "0,1")

# What types are called; the first that holds.
_TYPES = (
    (kinds.is_boolean, "true/false"),
    (kinds.is_integer, "whole number"),
    (is_number, "number"),
    (kinds.is_struct, "record"),
    (kinds.is_temporal, "time"),
)

# What metrics need that there is not: of the other task, and of this one.
_TASKS = {
    "classification": "predicted classes or probabilities: columns pred, prob_CLASS or score",
    "regression": "predicted numbers: a column pred of numbers",
}
_NEEDS = {
    "probabilities": "probabilities: columns prob_CLASS, a list prob, or score",
    "deviation": "standard deviations of the predicted numbers: a column pred_std",
    "two": "two classes",
    "costs": "what each mistake costs: `costs=path`",
}


class Inspection(found.Inspection):
    """What a file holds, and which study fits it.

    >>> found = at.inspect("digits.parquet")
    >>> found.format, found.rows, found.task, "log-loss" in found.metrics
    ('parquet', 1497, 'classification', True)
    >>> found.create
    "Study.create('digits.parquet')"
    """

    def __str__(self) -> str:
        """What the command line prints."""
        from activetest.render import text

        return text.inspection(self).rstrip("\n")

    def __repr__(self) -> str:
        """One line."""
        return f"<Inspection of {self.name}: {self.title}, {self.rows:,} rows>"

    def to_json(self) -> str:
        """A JSON document; see the page json."""
        from activetest.render import json

        return json.inspection(self)


@one_blas_thread()
def inspect(file: Any) -> Inspection:
    """What is in a file, which columns would have which role, and which metrics that allows.

    Everything is read, as `Study.create` would, and nothing is written beside temporary files.

    Args:
        file: A file of any format that a pool may have, a folder of Parquet files, or an address.

    Raises:
        PoolError: The file cannot be read, or is of no format that can be.
    """
    reject_secrets([file])
    address = str(file) if "://" in str(file) else str(read_path("file", file, PoolError))
    name = _name_format(address)
    if name is not None and not catalog.fact(FAMILY, name, "POOL"):
        return _inspect_answers(address, name)
    with convert.open_as_parquet(address) as path:
        files = Files(path)
        files.name_classes(read_class_names(files.schema.metadata))
        if not files.rows:
            raise PoolError(f"{mask_secrets(address)} has no rows", hint="give a file with items")
        settings, error = _choose_settings(path, files.schema, address)
        pool = None if error else Pool.open(path, **settings, name=address, suggest=False)
        groups = find_groups(pool) if pool else []
        seen = found.Inspection(
            name=mask_secrets(address),
            format=name or "parquet",
            title=catalog.fact(FAMILY, name or "parquet", "TITLE"),
            rows=files.rows,
            columns=tuple(_describe_columns(files, pool, groups)),
            summary=read_file_notes(files.schema.metadata).notes,
            labels=tuple(_find_labels(address, files, pool)),
            settings=settings,
        )
    if error is None:
        seen, error = _try_study(seen, address)
    if error is not None:
        seen = replace(seen, problem=error.problem, hint=error.hint)
    return _make_public(seen)


def _make_public(seen: found.Inspection) -> Inspection:
    return Inspection(**{each.name: getattr(seen, each.name) for each in fields(seen)})


def _name_format(address: str) -> str | None:
    """The format of a local file; None of a folder, and of what is on another machine."""
    path = Path(address).expanduser()
    if "://" in address or not path.is_file():
        return None
    with suppress(OSError):
        head = read_head(path, address)
        return find_format(head, "POOL", "ANSWERS")
    return None


def _choose_settings(
    path: str, table: pa.Schema, address: str
) -> tuple[dict[str, Any], ActivetestError | None]:
    """Settings with which the pool opens, and the error where there are none."""
    error: ActivetestError | None = None
    for settings in _list_settings(table):
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


def _try_study(
    seen: found.Inspection, address: str
) -> tuple[found.Inspection, ActivetestError | None]:
    """What a study of the file would be, by reading all of it; and why there can be none."""
    with atomic.temporary_folder() as folder:
        try:
            setup = init(address, folder / "study", dry_run=True, seed=0, **seen.settings)
        except ActivetestError as error:
            return seen, error
    schema = setup.schema
    metrics, lacking = _list_metrics(schema)
    converted = {each for each in setup.notices if "is read as Parquet" in each}
    shown = [each for each in setup.notices if each not in converted and not _is_of_columns(each)]
    return (
        replace(
            seen,
            summary=tuple(dict.fromkeys((*seen.summary, *shown))),
            task=schema.task,
            classes=schema.classes,
            metrics=metrics,
            lacking=lacking,
            create=_write_call(address, seen.settings),
        ),
        None,
    )


def _is_of_columns(notice: str) -> bool:
    """Whether a notice only says what the table of columns does."""
    return notice.startswith(("ids: ", "features: ", "not used", "groups: "))


def _write_call(address: str, settings: Mapping[str, Any]) -> str:
    """The call that creates the study; in a folder of its own where one is here already."""
    # A name that begins like an option would be read as one.
    address = f"./{address}" if address.startswith("-") else address
    words = [repr(address)]
    with suppress(ActivetestError):
        find_study(None)
        words.append(repr(_choose_folder(Path(address).stem or "pool")))
    words += [f"{name}={value!r}" for name, value in settings.items()]
    return f"Study.create({', '.join(words)})"


def _choose_folder(stem: str) -> str:
    """A folder that is not there."""
    stem = stem.lstrip("-") or "pool"
    names = (f"{stem}{ending}.study" for ending in chain([""], map("-{}".format, count(2))))
    return next(name for name in names if not os.path.lexists(name))


def _describe_columns(files: Files, pool: Pool | None, groups: Sequence[str]) -> Iterator[Column]:
    """Every column, with what it would be in a study."""
    table = files.schema
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


def _list_metrics(schema: Schema) -> tuple[tuple[str, ...], tuple[Lacking, ...]]:
    """The metrics that a pool allows, and the others by what they need."""
    facts = describe_pool(schema.to_dict())
    allowed: list[str] = []
    lacking: dict[str, list[str]] = {}
    for name in catalog.names("metrics"):
        if (written := _write_metric(name, facts)) is not None:
            allowed.append(written)
        elif needs := _find_needs(name, facts):
            lacking.setdefault(needs, []).append(name)
    groups = (Lacking(tuple(names), needs) for needs, names in lacking.items())
    return tuple(allowed), tuple(groups)


def _write_metric(name: str, facts: Facts) -> str | None:
    """How users write a metric that these facts allow; None where they do not."""
    for argument in (None, *facts.classes[:1], *_ARGUMENTS):
        written = name if argument is None else f"{name}[{argument}]"
        with suppress(ActivetestError, ValueError):
            find_metrics(written, facts)
            return f"{name}[CLASS]" if argument in facts.classes[:1] else written
    return None


def _find_needs(name: str, facts: Facts) -> str | None:
    """What a metric needs that is not there, by what would allow it; None where nothing would."""
    task = catalog.fact("metrics", name, "TASK")
    if task not in (None, facts.task):
        return _TASKS[task]
    size = len(facts.classes)
    changes: dict[str, dict[str, Any]] = {
        "probabilities": {"probabilities": True},
        "deviation": {"deviation": True},
        "two": {"classes": ("0", "1"), "positive": 1},
        "costs": {"costs": tuple(map(tuple, 1 - np.eye(size)))},
    }
    for number in range(1, len(changes) + 1):
        for names in combinations(changes, number):
            more = dict(chain.from_iterable(changes[each].items() for each in names))
            if _write_metric(name, replace(facts, **more)) is not None:
                return " and ".join(_NEEDS[each] for each in names)
    return None


def _find_labels(address: str, files: Files, pool: Pool | None) -> Iterator[LabelsFound]:
    """Columns of labels, with how many rows have one, and how to hand them in."""
    table = files.schema
    roles = pool.schema.output_columns if pool else ()
    taken = {*roles, *(pool.schema.features if pool else ())}
    for field in table:
        name = field.name
        if name in taken or WEIGHT.search(name) or not _holds_labels(name, table):
            continue
        if not (is_text(field.type) or is_number(field.type)):
            continue
        total = sum(
            _count_labels(batch.column(0))
            for piece in files.pieces
            for batch in files.batches([name], piece)
        )
        if total:
            yield LabelsFound(name, total, _advise(address, name, total, files.rows))


def _count_labels(values: pa.Array) -> int:
    """Rows that are not empty."""
    values = values.drop_null()
    if is_text(values.type):
        return int(pc.sum(pc.not_equal(pc.utf8_trim_whitespace(values), "")).as_py() or 0)
    return len(values)


def _advise(address: str, name: str, total: int, rows: int) -> str:
    """How to hand labels in that stand in a pool."""
    if name == "label" and _can_ingest(address):
        advice = f"`study.ingest({address!r})` takes them"
        if total == rows:
            advice += f", and `simulate({address!r}, {address!r})` replays studies with them"
        return advice
    return (
        "write them to a CSV file with the columns id and label, and `study.ingest(labels)` takes "
        "them"
    )


def _can_ingest(address: str) -> bool:
    """Whether the file is one of labels as it is."""
    path = Path(address).expanduser()
    if not path.is_file() or path.stat().st_size > _LARGEST:
        return False
    try:
        _, rows = read_label_source(address)
    except ActivetestError:
        return False
    return any(row.status == LABELLED for row in rows)


def _inspect_answers(address: str, name: str) -> Inspection:
    """A file of answers, which is no pool."""
    path = Path(address).expanduser()
    if path.stat().st_size > _LARGEST:
        raise PoolError(f"{address} is too large for a file of labels", hint="split it")
    try:
        _, rows = read_label_source(address)
    except LabelError as error:
        raise PoolError(error.problem, hint=error.hint) from error
    total = sum(row.status == LABELLED for row in rows)
    labels = LabelsFound("label", total, f"`study.ingest({address!r})` takes them")
    return Inspection(
        name=address,
        format=name,
        title=catalog.fact(FAMILY, name, "TITLE"),
        rows=len(rows),
        labels=(labels,),
        problem="these are answers of annotators, and no outputs of a model",
        hint="give the model's outputs to create a study: `Study.create(pool)`",
    )
