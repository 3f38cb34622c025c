"""The next batch: the pending batch, or a new one that is recorded before anybody sees it."""

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from activetest import catalog
from activetest.errors import (
    ActivetestError,
    ChoiceError,
    LabelError,
    PoolError,
    StorageError,
)
from activetest.formats import FAMILY
from activetest.labels import exports, files
from activetest.labels.annotators import resolve_answers
from activetest.ledger.history import Draw
from activetest.ledger.ledger import Answer, LedgerMoved, Record
from activetest.nouns.answer_fields import (
    BATCH_ENDINGS,
    BATCH_FORMATS,
    FIELDS,
    ID,
    ORDER,
    USUAL_COUNT,
    find_keys,
)
from activetest.nouns.arguments import read_names, read_path, reading_arguments
from activetest.nouns.choices import Selection
from activetest.nouns.log import LABELLED, PENDING
from activetest.pool.costs import read_costs
from activetest.rounds.objectives import list_aims
from activetest.sampling.first_draws import expects_draws
from activetest.sampling.part_rounds import plan_rounds
from activetest.study.comparison import join_models
from activetest.study.declared import add_plan, describe_plan, list_looks
from activetest.study.export import replacing_target
from activetest.study.label_checks import make_normaliser
from activetest.study.parts import find_drawable
from activetest.study.results import Batch
from activetest.study.stored import StoredStudy
from activetest.system import atomic, overwrite
from activetest.system.parallel import one_blas_thread
from activetest.system.safe_text import neutralise_cell, restore_cell

# Bytes in which a batch names its columns.
_HEAD = 2**16
# The columns of a batch that are not the pool's.
COLUMNS = (*FIELDS, ORDER, ID, "again")
# Files that are only read: the key in study.toml of the address, and the name in messages.
_INPUTS = {
    "uri": "the pool",
    "train": "the file of training rows",
    "other_models": "the file of other models",
}
# Name of a batch of JSON lines in the family of file formats.
_JSON_LINES = "json-lines"


@reading_arguments
def next_items(
    study: StoredStudy,
    n: int,
    *,
    new: bool,
    again: int | None,
    show: str | Sequence[str],
    part: str | Sequence[str],
    path: str | Path | None,
    format: str | None,
    spreadsheet: bool,
    force: bool,
) -> Batch:
    """The pending batch, new draws, or second opinions, by the arguments of Study.next."""
    written = choose_format(format, path)
    check_format(written)
    if spreadsheet and written != "csv":
        raise ChoiceError(
            f"`format={written!r}` is no format of spreadsheets", "leave it out, or say csv"
        )
    if again is not None:
        if new:
            raise ChoiceError(
                "`new=True` draws items, and `again` asks about labelled ones",
                "ask for one of them",
            )
        check_request(study, again, show, setting="again")

    def draw() -> Batch:
        if again is None:
            batch = next_batch(study, n, new=new, show=show, parts=read_names("part", part))
        else:
            from activetest.study.again import next_again

            batch = next_again(study, again, show)
        return replace(batch, spreadsheet=spreadsheet, for_tools=format is not None)

    return draw() if path is None else save_batch(study, path, written, draw, force=force)


@one_blas_thread()
def next_batch(
    study: StoredStudy,
    count: int,
    *,
    new: bool = False,
    show: Sequence[str] = (),
    parts: Sequence[str] = (),
) -> Batch:
    """The pending batch, or `count` new draws when none is pending or with `new`.

    show   columns of the pool that the batch shows besides id and label
    parts  names of the parts of the population that new items are of; all unless given

    Draws are in the ledger, with their probabilities, before this returns: whoever is interrupted
    gets the same items again. The batch is empty when nothing is left to draw. Raises ChoiceError
    for a count below one or a column that cannot be shown, PoolChanged when the pool has changed.
    """
    check_request(study, count, show)
    while True:
        record = study.ledger.record()
        known = resolve_answers(record.answers)
        waiting = [draw for draw in record.draws if draw.id not in known]
        if waiting and not new:
            # Whoever did not name a number wants to see what is pending.
            named = None if count == USUAL_COUNT else count
            labels = [label for status, label in known.values() if status == LABELLED]
            training = bool(study.pool.get("train"))
            top = study.choices.selection == Selection.TOP and not expects_draws(
                study.choices, labels, training=training
            )
            return _fill_batch(study, waiting, show, top, repeated=True, requested=named)
        try:
            drawn = _draw_items(study, record, count, parts)
            # A new round may have drawn at random whatever the choices say: see sampling.plan.
            top = study.choices.selection == Selection.TOP and not any(draw.q for draw in drawn)
            return _fill_batch(study, drawn, show, top, repeated=False, requested=count)
        except LedgerMoved:
            # Labels or another batch were recorded meanwhile, or init changed the seed: these draws
            # would ignore that.
            study = StoredStudy.open(study.folder)


def save_batch(
    study: StoredStudy | None,
    path: str | Path,
    format: str,
    make_batch: Callable[[], Batch],
    *,
    force: bool = False,
) -> Batch:
    """Write the batch that `make_batch()` returns to a file, as a whole or not at all.

    An empty batch leaves the file as it is. A device or a pipe is written to. The file is opened
    before anything is drawn: raises StorageError when it cannot be written or belongs to the study,
    as its pool does, and LabelError when it has labels that the study does not know or is no batch.

    force  replace a file that is no batch, or has such labels, unless it belongs to the study
    """
    path = read_path("path", path, StorageError)
    _protect_file(study, path, force=force)
    with replacing_target(path) as target:
        if path.is_dir():
            raise IsADirectoryError(21, "it is a folder", str(path))
        with open(target, "wb") as file:
            batch = make_batch()
            file.write(batch.encode(format) if batch.rows else b"")
        if target != path:
            # Somebody may have saved labels there since.
            _protect_file(study, path.resolve(), force=force)
            if not batch.rows:
                target.unlink()
    return batch


def check_request(
    study: StoredStudy, count: int, show: Sequence[str], *, setting: str = "n"
) -> None:
    """Raises ChoiceError for a count, which is called like the setting, or a column."""
    if count < 1:
        raise ChoiceError(f"`{setting}` is {count}", "ask for at least one item")
    for column in show:
        if column in COLUMNS:
            raise ChoiceError(
                f"`show={[column]!r}`: that column of the batch has a meaning of its own",
                "show another column",
            )
    if show:
        study.open_pool().show([], show)


def choose_format(format: str | None, path: str | Path | None) -> str:
    """The format of a batch: the one that is named, else that of the file's ending, else CSV.

    Raises ChoiceError for no format, and for an ending that several have.
    """
    if format is not None and format not in BATCH_FORMATS:
        raise ChoiceError(f"`format={format!r}` is no format", f"one of {', '.join(BATCH_FORMATS)}")
    ending = "" if path is None else Path(str(path)).suffix.lower()
    if format is None and ending == ".json":
        raise ChoiceError(
            f"{path} would be JSON, which several labelling tools read",
            'say which: `format="label-studio"` or `format="argilla"`; or end it with .jsonl',
        )
    return format or BATCH_ENDINGS.get(ending, "csv")


def check_format(format: str) -> None:
    """Raises ChoiceError where batches cannot be written in this one of BATCH_FORMATS."""
    if format in catalog.names(FAMILY):
        ready = getattr(catalog.load(FAMILY, format), "check_ready", None)
        if ready:
            ready()


@reading_arguments
def write_config(study: StoredStudy, format: str, show: str | Sequence[str]) -> str:
    """The configuration of a labelling tool for such batches. Raises ChoiceError."""
    known = [
        name
        for name in BATCH_FORMATS
        if name in catalog.names(FAMILY) and catalog.fact(FAMILY, name, "CONFIG")
    ]
    if format not in known:
        raise ChoiceError(
            f"`format={format!r}` needs no configuration", f"choose from {', '.join(known)}"
        )
    check_request(study, USUAL_COUNT, show)
    written: str = catalog.load(FAMILY, format).write_config(show, study.schema.classes)
    return written


def _draw_items(study: StoredStudy, record: Record, count: int, parts: Sequence[str]) -> list[Draw]:
    """New draws, of these parts or of all, recorded.

    Raises LedgerMoved when the record is out of date.
    """
    atomic.remove_leftovers(study.folder)
    cache = study.cache()
    study.provenance().check_unchanged(cache)
    log = study.log(cache, record)
    left = cache.size - len(log.rows) - len(log.supplied_rows)
    if not left:
        return []
    count = min(count, left)
    pool = join_models(study, cache, log)
    among = find_drawable(study, parts)
    rounds = plan_rounds(*(log, pool, study.choices), seed=study.seed, count=count, among=among)
    looks = list_looks(study.choices, log, pool)
    aims = list_aims(study.choices, getattr(pool, "models", ()))
    planned = [(add_plan(each, aims, looks=looks), cache.ids(each.rows)) for each in rounds]
    plan = describe_plan(study.choices, study.pool)
    study.ledger.record_rounds(planned, revision=record.revision, plan=plan)
    return [
        Draw(id, each.number, None if np.isnan(q) else float(q))
        for each, ids in planned
        for id, q in zip(ids, each.q, strict=True)
    ]


def _fill_batch(
    study: StoredStudy,
    items: list[Draw],
    show: Sequence[str],
    deterministic: bool,
    *,
    repeated: bool,
    requested: int | None,
) -> Batch:
    """The batch of these draws, with the columns to show.

    deterministic  new items have the largest scores; of a repeated batch, those to come have
    """
    ids = [draw.id for draw in items]
    rows: list[dict[str, Any]] = [{"id": id, "label": ""} for id in ids]
    show_columns(study, rows, show)
    places = {draw.id: at for at, draw in enumerate(study.ledger.record().draws, 1)}
    orders = tuple(places[id] for id in ids)
    last = max((draw.round for draw in items), default=None)
    columns = ("id", "label", *dict.fromkeys(show))
    batch = Batch(last, rows, repeated, columns, deterministic, study, requested)
    return replace(batch, orders=orders)


def show_columns(study: StoredStudy, rows: list[dict[str, Any]], show: Sequence[str]) -> None:
    """Add columns of the pool to rows with ids."""
    if not show or not rows:
        return
    for column, values in study.show([row["id"] for row in rows], show).items():
        for row, value in zip(rows, values, strict=True):
            row[column] = value


def _protect_file(study: StoredStudy | None, path: Path, *, force: bool) -> None:
    """Raises StorageError or LabelError where overwriting the file would lose work."""
    addresses = study.addresses if study else {}
    inputs = {what: addresses.get(key) for key, what in _INPUTS.items()}
    check, folder = partial(_check_batch, study), study.folder if study else None
    overwrite.check_target(path, check, inputs=inputs, study=folder, force=force)
    if study and force and path.is_file() and (use := _find_former_use(study, path)):
        raise StorageError(f"{path} is {use}, and is never written over", "write to another file")


def _check_batch(study: StoredStudy | None, path: Path) -> None:
    """Raises LabelError for a file that is no earlier batch, or has what the study lacks."""
    rows, columns = _read_batch(path)
    unknown = _list_unknown(study, rows)
    if unknown:
        labels = "1 label" if len(unknown) == 1 else f"{len(unknown):,} labels"
        raise LabelError(
            f"{path} holds {labels} the study does not know, id {unknown[0].id!r} first",
            f"`study.ingest({str(path)!r})`, or write to another file, or replace it: `force=True`",
        )
    own = columns - set(COLUMNS)
    if study and own and (own := own - _find_pool_columns(study)):
        raise LabelError(
            f"{path} has a column {min(own)!r}, which no batch of this study has",
            "write to another file, or replace it: `force=True`",
        )


def _list_unknown(study: StoredStudy | None, rows: Sequence[files.Label]) -> list[files.Label]:
    """The rows whose answer is not what the study has recorded."""
    known: set[Answer] = set()
    normalise: Callable[[str], str] = str
    rows = [row for row in rows if row.status != PENDING]
    if study and rows:
        ids = {id for row in rows for id in (row.id, restore_cell(row.id))}
        known.update(each for each in study.ledger.record().answers if each.id in ids)
        normalise = make_normaliser(study.schema)

    def is_known(row: files.Label) -> bool:
        # A batch for a spreadsheet has other ids and labels.
        labels = {row.label, restore_cell(row.label)}
        labels |= {normalise(label) for label in labels}
        return any(
            Answer(id, row.annotator, row.status, label) in known
            for id in (row.id, restore_cell(row.id))
            for label in labels
        )

    return [row for row in rows if not is_known(row)]


def _find_pool_columns(study: StoredStudy) -> set[str]:
    """The columns that a batch may show; none where the pool cannot be opened."""
    try:
        names = study.open_pool().files.schema.names
        return {written for name in names for written in (name, neutralise_cell(name))} | {
            key for lower in (False, True) for key in find_keys(names, lower=lower).values()
        }
    except (OSError, PoolError):
        return set()


def _find_former_use(study: StoredStudy, path: Path) -> str | None:
    """Former use of a file without an address in the study; None for any other file."""
    try:
        _check_batch(study, path)
        return None
    except LabelError:
        pass
    for source in {row.source for row in study.ledger.list_log() if row.source}:
        with suppress(OSError, ValueError):
            if os.path.samefile(source, path):
                return "a label file that was ingested"
    try:
        costs = study.choices.costs
        if costs and read_costs(path, study.open_pool().schema.classes) == costs:
            return "the file of costs"
    except (OSError, ActivetestError):
        pass
    return None


def _read_batch(path: Path) -> tuple[list[files.Label], set[str]]:
    """The rows and columns of an earlier batch, in whichever of BATCH_FORMATS.

    Raises LabelError for another file. One that does not begin as a batch is not read whole.
    """
    name = str(path)
    problem = f"{path} is there already, and is no batch that can be replaced"
    hint = "write to another file, or replace it: `force=True`"
    with open(path, "rb") as file:
        beginning = file.read(_HEAD)
        format = exports.find_answer_format(beginning, name)
        if format is None and not all(each in beginning for each in (b"id", b"label")):
            raise LabelError(problem, hint)
        if format not in (None, _JSON_LINES, *BATCH_FORMATS):
            raise LabelError(problem, hint)
        content = beginning + file.read()
    try:
        rows = exports.parse_content(content, name)
        if format is None:
            return rows, files.read_columns(path)
        if format == _JSON_LINES:
            lines = map(json.loads, filter(str.strip, content.decode().splitlines()))
            return rows, {key for line in lines for key in line}
        return rows, catalog.load(FAMILY, format).list_columns(content, name)
    except LabelError as error:
        raise LabelError(f"{problem}: {error.problem}", hint) from error
    except (ValueError, RecursionError) as error:
        raise LabelError(problem, hint) from error
