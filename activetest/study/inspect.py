"""Look at a file that may become a pool: what it holds, and which study fits it."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, combinations, count
from pathlib import Path
from typing import Any

import numpy as np

from activetest import catalog
from activetest.errors import ActivetestError, ChoiceError, LabelError, PoolError
from activetest.formats import FAMILY, read_file_notes
from activetest.item_statistics.metric import Facts
from activetest.item_statistics.specification import describe_pool, find_metrics
from activetest.nouns import inspection as found
from activetest.nouns.arguments import read_path
from activetest.nouns.choices import ColumnChoices
from activetest.nouns.class_names import read_class_names
from activetest.nouns.inspection import LabelsFound, Lacking, StudyReading
from activetest.nouns.log import LABELLED
from activetest.nouns.name_lists import join_names
from activetest.pool import convert
from activetest.pool.column_names import is_right_or_wrong
from activetest.pool.contents import (
    choose_settings,
    describe_columns,
    find_labels,
)
from activetest.pool.files import Files
from activetest.pool.pool import Pool
from activetest.pool.proposals import describe_unread
from activetest.pool.remote import reject_secrets
from activetest.pool.roles import reject_duplicates
from activetest.pool.schema import Schema
from activetest.pool.written_numbers import find_written_numbers
from activetest.sampling.label_source import read_label_source
from activetest.sampling.settings import read_settings
from activetest.study.folder import find_study
from activetest.study.frames import copy_stream, is_stream, name_stream, naming_stream, write_stream
from activetest.study.init import CONVERTED, init
from activetest.system import atomic
from activetest.system.parallel import one_blas_thread
from activetest.system.safe_text import mask_secrets

# Bytes of a file that is read for its labels.
_LARGEST = 2**28
# Classes that metrics are tried with.
_CLASSES = 150
# Arguments of metrics: a class of the pool is tried first.
_ARGUMENTS = ("0.5", "10", "1", "0,1")

# Needs of metrics that a pool may not meet: of the other task, and of its own.
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
    """Contents of a file, and the study that fits it.

    >>> found = at.inspect("digits.parquet")
    >>> found.format, found.rows, found.task, "log-loss" in found.metrics
    ('parquet', 1497, 'classification', True)
    >>> found.create
    "Study.create('digits.parquet')"
    """

    def __str__(self) -> str:
        """Text that the command line prints."""
        from activetest.render import text

        return text.inspection(self).rstrip("\n")

    def __repr__(self) -> str:
        """One line."""
        return f"<Inspection of {self.name}: {self.title}, {self.rows:,} rows>"

    def _repr_html_(self) -> str:
        """Contents of the file, for notebooks."""
        from activetest.render.notebook import html

        return html.inspection(self)

    def to_json(self) -> str:
        """A JSON document; see the page json."""
        from activetest.render import json

        return json.inspection(self)


@dataclass(frozen=True)
class _Source:
    """A file that is looked at.

    address  where it is: a path, an address on another machine, or the copy of an open file
    name     in messages, without secrets
    call     how a call names it, in Python
    stream   the open file, where it is one
    """

    address: str
    name: str
    call: str
    stream: Any = None


@one_blas_thread()
def inspect(file: Any, **settings: Any) -> Inspection:
    """Contents of a file, the roles its columns would have, and the metrics these allow.

    Everything is read, as `Study.create` would, and nothing is written beside temporary files.
    Where the outputs can be read in several ways, `question` says so, and `readings` has a line
    for each.

    Args:
        file: A file of any format that a pool may have, a folder of Parquet files, an address, or
            an open file, such as `sys.stdin.buffer`, which is read to its end.
        **settings: Those of `Study.create` that say what the columns are, such as `outputs`, `id`
            and `task`; the others are looked for.

    Raises:
        PoolError: The file cannot be read, or is of no format that can be.
        ChoiceError: There is no such setting, or it says nothing about columns.
    """
    given = _read_settings(settings)
    if is_stream(file):
        with atomic.temporary_folder() as folder:
            copy = folder / "stream"
            copy_stream(file, copy)
            with naming_stream(file, copy):
                return _inspect(
                    _Source(str(copy), name_stream(file), write_stream(file), file), given
                )
    reject_secrets([file])
    address = str(file) if "://" in str(file) else str(read_path("file", file, PoolError))
    # A name that begins like an option would be read as one.
    named = f"./{address}" if address.startswith("-") else address
    return _inspect(_Source(address, mask_secrets(address), repr(named)), given)


def _read_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of columns. Raises ChoiceError for another one."""
    columns = read_settings(settings).columns
    if other := [
        name for name, value in settings.items() if value is not None and name not in columns
    ]:
        raise ChoiceError(f"`{other[0]}` says nothing about columns", "leave it out")
    return columns


def _inspect(source: _Source, given: Mapping[str, Any]) -> Inspection:
    name = convert.name_format(source.address)
    if name is not None and not catalog.fact(FAMILY, name, "POOL"):
        return _inspect_answers(source, name)
    id, judge = given.get("id"), given.get("judge")
    with convert.open_as_parquet(source.address, id=id, judge=judge) as path:
        files = Files(path)
        reject_duplicates(files.schema)
        files.name_classes(read_class_names(files.schema.metadata))
        files.read_written(find_written_numbers(files, ColumnChoices(**given)).forms)
        if not files.rows:
            raise PoolError(f"{source.name} has no rows", hint="give a file with items")
        ways, error = choose_settings(path, files, source.name, given)
        question = ""
        if error and ways:
            # The ambiguity, and the remedy where no reading is right.
            remedy = getattr(error, "remedy", "")
            question, error = "; ".join(filter(None, [error.problem, remedy])), None
        settings, pool = (ways[-1].settings, ways[-1].pool) if ways else ({**given}, None)
        if pool:
            files.read_written(pool.schema.written_forms)
        labels = find_labels(files, pool)
        offered = [(each.name, each.count) for each in labels if not each.restates]
        seen = Inspection(
            name=source.name,
            format=name or "parquet",
            title=catalog.fact(FAMILY, name or "parquet", "TITLE"),
            rows=files.rows,
            columns=tuple(describe_columns(files, pool)),
            summary=read_file_notes(files.schema.metadata).notes,
            labels=tuple(
                LabelsFound(name, count, _advise(source, name, count, files.rows))
                for name, count in offered
            ),
            settings=settings,
        )
        notes = [
            f"column {each.name!r} says in all {each.count:,} rows the same as the outputs, in its "
            "own words: it is no truth to compare them with, unless the model made no mistake"
            for each in labels
            if each.restates
        ]
        notes += describe_unread(files)
        if pool and error is None:
            seen, error = _try_study(seen, source, pool, notes)
        elif name is not None and catalog.fact(FAMILY, name, "TASKS"):
            with suppress(ActivetestError):
                return _inspect_answers(source, name)
        if error is None and question:
            readings = (
                StudyReading(way.meaning, _write_call(source, way.settings)) for way in ways
            )
            seen = replace(seen, question=question, readings=tuple(readings))
    if error is not None:
        seen = replace(
            seen, summary=(*seen.summary, *notes), problem=error.problem, hint=error.hint
        )
    return seen


def _try_study(
    seen: Inspection, source: _Source, pool: Pool, notes: Sequence[str]
) -> tuple[Inspection, ActivetestError | None]:
    """The study that a file would make, by reading all of it; and why there can be none.

    pool   of the file, as the study would have it
    notes  what else is to be said, after the first sentence
    """
    with atomic.temporary_folder() as folder:
        try:
            given = {"seed": 0, **seen.settings}
            setup = init(source.name, folder / "study", given, dry_run=True, opened=pool)
        except ActivetestError as error:
            return seen, error
    schema = setup.schema
    metrics, lacking = _list_metrics(schema)
    # Others only say what the table of columns does.
    of_columns = ("ids: ", "features: ", "texts: ", "not used", "groups: ")
    shown = [each for each in setup.notices if not each.startswith((CONVERTED, *of_columns))]
    return (
        replace(
            seen,
            # How many items there are, and what the reader says of the file, come first.
            summary=tuple(dict.fromkeys((*shown[:1], *seen.summary, *notes, *shown[1:]))),
            task=schema.task,
            classes=schema.classes,
            metrics=metrics,
            lacking=lacking,
            create=_write_call(source, seen.settings),
        ),
        None,
    )


def _write_call(source: _Source, settings: Mapping[str, Any]) -> str:
    """The call that creates the study; in a folder of its own where one is here already."""
    words = [source.call]
    with suppress(ActivetestError):
        find_study(None)
        stem = "pool" if source.stream else Path(source.address).stem
        words.append(repr(_choose_folder(stem)))
    words += [f"{name}={value!r}" for name, value in settings.items()]
    return f"Study.create({', '.join(words)})"


def _choose_folder(stem: str) -> str:
    """A folder that is not there."""
    stem = stem.lstrip("-") or "pool"
    names = (f"{stem}{ending}.study" for ending in chain([""], map("-{}".format, count(2))))
    return next(name for name in names if not os.path.lexists(name))


def _list_metrics(schema: Schema) -> tuple[tuple[str, ...], tuple[Lacking, ...]]:
    """The metrics that a pool allows, and the others by what they need."""
    facts = describe_pool(schema.to_dict())
    # Beyond the classes that metrics of all classes allow, their number makes no difference.
    facts = replace(facts, classes=facts.classes[:_CLASSES])
    allowed: list[str] = []
    lacking: dict[str, list[str]] = {}
    for name in catalog.names("metrics"):
        if (written := _write_metric(name, facts)) is not None:
            allowed.append(written)
        elif needs := _find_needs(name, facts):
            if schema.kind == "score" and needs == _TASKS["regression"]:
                needs += ', or `task="regression"`, which reads the score as one'
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
    """The unmet need of a metric, by what would allow it; None where nothing would."""
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
                # One class is too few for some; for others there are too many.
                needs = _NEEDS | ({"two": "fewer classes"} if size > 2 else {})
                return join_names(needs[each] for each in names)
    return None


def _advise(source: _Source, name: str, total: int, rows: int) -> str:
    """How to hand labels in that stand in a pool."""
    if is_right_or_wrong(name):
        return "by its name it says how right the model is, and not what the right answer is"
    if name == "label" and _can_ingest(source.address):
        advice = f"`study.ingest({source.call})` takes them"
        # An open file can be read once.
        if total == rows and not source.stream:
            advice += f", and `simulate({source.call}, {source.call})` replays studies with them"
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


def _inspect_answers(source: _Source, name: str) -> Inspection:
    """A file of answers, which is no pool."""
    path = Path(source.address).expanduser()
    if path.stat().st_size > _LARGEST:
        raise PoolError(f"{source.name} is too large for a file of labels", hint="split it")
    try:
        _, rows = read_label_source(source.address)
    except LabelError as error:
        raise PoolError(error.problem, hint=error.hint) from error
    total = sum(row.status == LABELLED for row in rows)
    labels = LabelsFound("label", total, f"`study.ingest({source.call})` takes them")
    return Inspection(
        name=source.name,
        format=name,
        title=catalog.fact(FAMILY, name, "TITLE"),
        rows=len(rows),
        labels=(labels,),
        problem="these are answers of annotators, and no outputs of a model",
        hint="give the model's outputs to create a study: `Study.create(pool)`",
    )
