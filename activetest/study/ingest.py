"""activetest ingest: a file of labels, all rows or none; the same file twice counts once."""

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from activetest.cache.cache import Cache
from activetest.errors import LabelConflict, LabelError
from activetest.labels import files
from activetest.labels.files import Label
from activetest.ledger.ledger import Answer, LedgerMoved, Record, Undone
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from activetest.pool.outputs import LARGEST
from activetest.study.study import Study


@dataclass(frozen=True)
class Ingested:
    """What a file held; the first three add up to its answers.

    new        answers that were not known
    replaced   answers that contradict an earlier one, which they replace
    unchanged  answers that were known already
    blank      rows that are still waiting for a label
    declined   answers among the first two that decline
    supplied    items among the new ones that were never drawn
    outside    classes among the first two that the model never predicts: always wrong
    pending    items drawn that still wait for an answer
    dry_run    nothing was written
    """

    source: str
    new: int
    replaced: int
    unchanged: int
    blank: int
    declined: int
    supplied: int
    outside: tuple[str, ...]
    pending: int
    dry_run: bool

    def __str__(self) -> str:
        """One line, without what is nothing."""
        parts = [f"{self.new} new"]
        parts += [f"{self.declined} declined"] * bool(self.declined)
        parts += [f"{self.supplied} of items that were never drawn"] * bool(self.supplied)
        parts += [f"{self.replaced} replaced"] * bool(self.replaced)
        few = ", ".join(map(repr, self.outside[:3])) + ", ..." * (len(self.outside) > 3)
        parts += [f"some of a class that the model never predicts ({few})"] * bool(self.outside)
        parts += [f"{self.unchanged} known already"] * bool(self.unchanged)
        parts += [f"{self.blank} still blank"] * bool(self.blank)
        end = "; nothing was written" if self.dry_run else ""
        return f"{self.source}: {', '.join(parts)}; {self.pending} items pending{end}"


def ingest(
    study: Study,
    path: str | Path,
    *,
    replace: bool = False,
    dry_run: bool = False,
    stdin: BinaryIO | None = None,
) -> Ingested:
    """Bring the labels of a file, or of standard input (`-`), into the study.

    Raises LabelError for a file, id or label that makes no sense, LabelConflict for a label that
    contradicts a known one unless `replace`; then nothing of the file is taken.
    """
    rows = files.read(path, stdin=stdin)
    cache, source = study.cache(equipped=False), files.source(path)
    answers = _checked(rows, study, cache, source)
    classes = set() if study.pool["task"] == "regression" else set(cache.classes)
    while True:
        record = study.ledger.record()
        known = {(answer.id, answer.annotator): answer for answer in record.answers}
        fresh, changed = _compare(answers, known)
        if changed and not replace:
            raise _conflict(changed, known, rows, source)
        if (fresh or changed) and not dry_run:
            try:
                study.ledger.add_answers(fresh + changed, source=source, revision=record.revision)
            except LedgerMoved:
                # What was compared with is out of date.
                continue
        said = {answer.label for answer in fresh + changed if answer.status == LABELLED}
        outside = tuple(sorted(said - classes)) if classes else ()
        return _counts(source, rows, answers, fresh, changed, outside, record, dry_run)


def undo(study: Study) -> Undone:
    """Take the last file back. Raises LabelError when there is none."""
    undone = study.ledger.undo()
    if undone is None:
        raise LabelError("there is no file of labels to take back", "see activetest status")
    return undone


def _checked(rows: list[Label], study: Study, cache: Cache, source: str) -> list[Answer]:
    """The rows that say something, with their items known to be in the pool and labels possible."""
    positions = cache.find([row.id for row in rows])
    if unknown := [row for row, at in zip(rows, positions, strict=True) if at < 0]:
        raise LabelError(
            f"{source}, line {unknown[0].line}: id {unknown[0].id!r} is not in the pool"
            + (f", nor are {len(unknown) - 1} others" if len(unknown) > 1 else ""),
            f"ids look like {cache.ids([0])[0]!r}; is this file from another study?",
        )
    standard = _number if study.pool["task"] == "regression" else _class_of(study, cache)
    return [
        Answer(row.id, row.annotator, row.status, standard(row, source) if row.label else "")
        for row in rows
        if row.status != PENDING
    ]


def _number(row: Label, source: str) -> str:
    """A label of a regression pool in its shortest form, so that 3 and 3.0 are one label."""
    try:
        value = float(row.label)
    except ValueError:
        value = math.nan
    if not abs(value) <= LARGEST:
        kind = "too large" if math.isfinite(value) else "not a number"
        raise LabelError(
            f"{source}, line {row.line}: label {row.label!r} of id {row.id!r} is {kind}",
            f"labels of this pool are numbers of at most {LARGEST:g} in size",
        )
    return repr(value)


def _class_of(study: Study, cache: Cache):
    """A function that returns a row's label when it is a class."""
    classes, anything = set(cache.classes), study.pool.get("open_classes", False)

    def standard(row: Label, source: str) -> str:
        if anything or row.label in classes:
            return row.label
        few = ", ".join(cache.classes[:12]) + (", ..." if len(classes) > 12 else "")
        near = difflib.get_close_matches(row.label, cache.classes, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise LabelError(
            f"{source}, line {row.line}: label {row.label!r} of id {row.id!r} is not a class",
            f"{guess}the classes are {few}",
        )

    return standard


def _compare(answers: Sequence[Answer], known: dict) -> tuple[list[Answer], list[Answer]]:
    """The answers that are new, and those that contradict what is known."""
    fresh, changed = [], []
    for answer in answers:
        before = known.get((answer.id, answer.annotator))
        if before is None:
            fresh.append(answer)
        elif before != answer:
            changed.append(answer)
    return fresh, changed


def _conflict(changed: list[Answer], known: dict, rows: list[Label], source: str) -> LabelConflict:
    first = changed[0]
    line = next(r.line for r in rows if (r.id, r.annotator) == (first.id, first.annotator))
    before = known[first.id, first.annotator]
    others = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
    return LabelConflict(
        f"{source}, line {line}: id {first.id!r} is {files.spoken(first)}, "
        f"and was {files.spoken(before)}{others}",
        "take the new labels with --replace, or say who said it in a column annotator",
    )


def _counts(
    source: str,
    rows: list[Label],
    answers: list[Answer],
    fresh: list[Answer],
    changed: list[Answer],
    outside: tuple[str, ...],
    record: Record,
    dry_run: bool,
) -> Ingested:
    drawn = {draw.id for draw in record.draws}
    known = {answer.id for answer in (*record.answers, *answers)}
    return Ingested(
        source=source,
        new=len(fresh),
        replaced=len(changed),
        unchanged=len(answers) - len(fresh) - len(changed),
        blank=sum(row.status == PENDING for row in rows),
        declined=sum(answer.status == DECLINED for answer in fresh + changed),
        supplied=len({answer.id for answer in fresh} - drawn),
        outside=outside,
        pending=len(drawn - known),
        dry_run=dry_run,
    )
