"""The next batch: the pending batch, or a new one that is recorded before anybody sees it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from activetest import atomic
from activetest.errors import ChoiceError, LabelError
from activetest.labels import files, values
from activetest.labels.annotators import resolve_answers
from activetest.ledger.ledger import LedgerMoved, Record
from activetest.nouns.log import PENDING
from activetest.safe_text import restore_cell
from activetest.sampling.plan import plan_round
from activetest.study.folder import raising_storage_errors
from activetest.study.results import Batch
from activetest.study.stored import StoredStudy, find_items

# How many items are drawn where nobody names a number.
USUAL_COUNT = 10


def next_batch(
    study: StoredStudy, count: int, *, new: bool = False, show: Sequence[str] = ()
) -> Batch:
    """The pending batch, or `count` new draws when none is pending or with `new`.

    show  columns of the pool that the batch shows besides id and label

    Draws are in the ledger, with their probabilities, before this returns: whoever is interrupted
    gets the same items again. The batch is empty when nothing is left to draw. Raises ChoiceError
    for a count below one or a column that cannot be shown, PoolChanged when the pool has changed.
    """
    _check_request(study, count, show)
    while True:
        record = study.ledger.record()
        waiting = _find_pending(record)
        if waiting and not new:
            # Whoever did not name a number wants to see what is pending.
            named = None if count == USUAL_COUNT else count
            return _fill_batch(study, waiting, show, repeated=True, requested=named)
        try:
            drawn = _draw_items(study, record, count)
            return _fill_batch(study, drawn, show, repeated=False, requested=count)
        except LedgerMoved:
            # Labels or another batch were recorded meanwhile, or init changed the seed: these draws
            # would ignore that.
            study = StoredStudy.open(study.folder)


def save_batch(
    study: StoredStudy | None, path: Path, format: str, make_batch: Callable[[], Batch]
) -> Batch:
    """Write the batch that `make_batch()` returns to a file, as a whole or not at all.

    An empty batch leaves the file as it is. A device or a pipe is written to. The file is opened
    before anything is drawn: raises StorageError when it cannot be written, and LabelError when it
    has labels that the study does not know, or any without a study, or is no batch at all.
    """
    _protect_labels(study, path)
    with raising_storage_errors(path, remedy="choose another `path`, one you may write to"):
        if path.is_dir():
            raise IsADirectoryError(21, "it is a folder", str(path))
        if path.exists() and not path.is_file():
            with open(path, "w", encoding="utf-8", newline="") as file:
                batch = make_batch()
                file.write(batch.to(format) if batch.rows else "")
            return batch
        # The file that a link points to is replaced, not the link.
        path = path.resolve()
        with atomic.replacing_file(path, durable=True) as building:
            with open(building, "w", encoding="utf-8", newline="") as file:
                batch = make_batch()
                file.write(batch.to(format))
            if not batch.rows:
                building.unlink()
    return batch


def _check_request(study: StoredStudy, count: int, show: Sequence[str]) -> None:
    """Raises ChoiceError for a count or a column that cannot be."""
    if count < 1:
        raise ChoiceError(f"`n` is {count}", "ask for at least one item")
    for column in show:
        if column in ("id", "label", "annotator", "status"):
            raise ChoiceError(
                f"`show={[column]!r}`: that column of the batch has a meaning of its own",
                "show another column",
            )
    if show:
        study.open_pool().show([], show)


def _find_pending(record: Record) -> list[tuple[int, str]]:
    """(round, id) of the draws without an answer, in order."""
    known = resolve_answers(record.answers)
    return [(draw.round, draw.id) for draw in record.draws if draw.id not in known]


def _draw_items(study: StoredStudy, record: Record, count: int) -> list[tuple[int, str]]:
    """(round, id) of new items, recorded. Raises LedgerMoved when the record is out of date."""
    cache = study.cache()
    study.check_auxiliary(cache)
    log = study.log(cache, record)
    left = cache.size - len(log.rows) - len(log.supplied_rows)
    if not left:
        return []
    drawn = plan_round(log, cache, study.choices, seed=study.seed, count=min(count, left))
    ids = cache.ids(drawn.rows)
    study.ledger.record_round(drawn, ids, revision=record.revision)
    return [(drawn.number, id) for id in ids]


def _fill_batch(
    study: StoredStudy,
    items: list[tuple[int, str]],
    show: Sequence[str],
    *,
    repeated: bool,
    requested: int | None,
) -> Batch:
    """The batch of (round, id) items, with the columns to show."""
    ids = [id for _, id in items]
    rows: list[dict[str, Any]] = [{"id": id, "label": ""} for id in ids]
    if show and ids:
        shown = study.open_pool().show(find_items(ids, study.cache(auxiliary=False)), show)
        for column, values in shown.items():
            for row, value in zip(rows, values, strict=True):
                row[column] = value
    last = max((number for number, _ in items), default=None)
    columns = ("id", "label", *dict.fromkeys(show))
    deterministic = study.choices.selection == "top"
    return Batch(last, rows, repeated, columns, deterministic, study, requested)


def _protect_labels(study: StoredStudy | None, path: Path) -> None:
    """Raises LabelError where overwriting the file would lose work: labels, or anything else."""
    if not path.is_file() or not path.stat().st_size:
        return
    answers = study.ledger.record().answers if study else ()
    known = {(answer.id, answer.annotator) for answer in answers}
    unknown = [
        row
        for row in _read_batch(path)
        if row.status != PENDING
        and not known & {(id, row.annotator) for id in (row.id, restore_cell(row.id))}
    ]
    if unknown:
        raise LabelError(
            f"{path} holds {len(unknown)} labels the study does not know, "
            f"id {unknown[0].id!r} first",
            f"`study.ingest({str(path)!r})`, or write to another file",
        )


def _read_batch(path: Path) -> list[files.Label]:
    """The rows of an earlier batch, in whichever of FORMATS. Raises LabelError for another file."""
    try:
        return files.read_labels(path)
    except LabelError as error:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            return values.read_rows([json.loads(line) for line in lines], name=str(path))
        except (OSError, ValueError, RecursionError, LabelError):
            raise LabelError(
                f"{path} is there already, and is no batch that can be replaced: {error.problem}",
                "write to another file, or remove this one yourself",
            ) from error
