"""Ingest labels: a file, a frame or rows, all rows or none; ingesting it twice changes nothing."""

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from activetest.cache.cache import Cache
from activetest.errors import LabelConflict, LabelError
from activetest.labels import files
from activetest.labels.files import Label
from activetest.ledger.ledger import Answer, LedgerMoved, Record, RetractedFile
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from activetest.pool.outputs import LARGEST
from activetest.sampling.label_source import read_label_source
from activetest.study.stored import StoredStudy

# How many rows that cannot be are named.
_NAMED = 5

# Words that stand where an item has no label.
_NO_LABELS = {
    "declined", "skipped", "skip", "unclear", "unsure", "unknown", "pending",
    "n/a", "na", "nan", "none", "null", "-", "?",
}  # fmt: skip


@dataclass(frozen=True)
class Ingested:
    """What a label file contained; new, replaced and unchanged add up to its answers.

    source     name of the file
    new        answers that were not known
    replaced   answers that contradict an earlier one, which they replace
    unchanged  answers that were known already
    blank      rows that are still waiting for a label
    declined   new or replaced answers that decline
    supplied   items with a new answer that were never drawn
    outside    classes of new or replaced answers that the model never predicts: always wrong
    pending    drawn items that still wait for an answer
    dry_run    whether nothing was written
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
        """One line, without counts that are zero."""
        parts = [f"{self.new} new"]
        parts += [f"{self.declined} declined"] * bool(self.declined)
        parts += [f"{self.supplied} of items that were never drawn"] * bool(self.supplied)
        parts += [f"{self.replaced} replaced"] * bool(self.replaced)
        classes = ", ".join(map(repr, self.outside[:3])) + ", ..." * (len(self.outside) > 3)
        parts += [f"some of a class that the model never predicts ({classes})"] * bool(self.outside)
        parts += [f"{self.unchanged} known already"] * bool(self.unchanged)
        parts += [f"{self.blank} still blank"] * bool(self.blank)
        end = "; nothing was written" if self.dry_run else ""
        items = f"{self.pending} item{'s' * (self.pending != 1)}"
        return f"{self.source}: {', '.join(parts)}; {items} pending{end}{self._explain_outside()}"

    def _explain_outside(self) -> str:
        """What labels that the model never predicts count as, and how an item is skipped."""
        if not self.outside:
            return ""
        sentence = ". Labels of a class that the model never predicts count as its mistakes"
        for label in self.outside:
            if label.lower() in _NO_LABELS:
                return (
                    f"{sentence}: where {label!r} is no class, leave the label empty and write "
                    "declined in the column status"
                )
        return sentence

    def __repr__(self) -> str:
        """One line."""
        return f"<Ingested {self}>"


def ingest(
    study: StoredStudy,
    labels: Any,
    *,
    replace: bool = False,
    dry_run: bool = False,
    stdin: BinaryIO | None = None,
) -> Ingested:
    """Add labels to the study: of a file, standard input (`-`), a frame, a mapping, or rows.

    Raises LabelError for a file, id or label that makes no sense, LabelConflict for a label that
    contradicts a known one unless `replace`; then nothing is taken.
    """
    source, rows = read_label_source(labels, stdin=stdin)
    cache = study.cache(auxiliary=False)
    answers = _check_rows(rows, study, cache, source)
    classes = set() if study.pool["task"] == "regression" else set(cache.classes)
    while True:
        record = study.ledger.record()
        known = {(answer.id, answer.annotator): answer for answer in record.answers}
        new, changed = _compare_answers(answers, known)
        if changed and not replace:
            raise _describe_conflict(changed, known, rows, source)
        if (new or changed) and not dry_run:
            try:
                study.ledger.add_answers(new + changed, source=source, revision=record.revision)
            except LedgerMoved:
                # Other answers were added meanwhile, or init changed the columns: compare again.
                study = StoredStudy.open(study.folder)
                cache = study.cache(auxiliary=False)
                answers = _check_rows(rows, study, cache, source)
                continue
        labels = {answer.label for answer in new + changed if answer.status == LABELLED}
        outside = tuple(sorted(labels - classes)) if classes else ()
        return _count_answers(source, rows, answers, new, changed, outside, record, dry_run)


def undo(study: StoredStudy) -> RetractedFile:
    """Take the last file back. Raises LabelError when there is none."""
    undone = study.ledger.undo()
    if undone is None:
        raise LabelError("there is no file of labels to take back", "see `study.status()`")
    return undone


def _check_rows(rows: list[Label], study: StoredStudy, cache: Cache, source: str) -> list[Answer]:
    """The rows with an answer. Raises LabelError for an item or a label that cannot be."""
    positions = cache.find([row.id for row in rows])
    if unknown := [row for row, at in zip(rows, positions, strict=True) if at < 0]:
        problem = f"{source}, {unknown[0].place}: id {unknown[0].id!r} is not in the pool"
        if len(unknown) > 1:
            problem = f"{source}: {len(unknown):,} ids are not in the pool: "
            problem += ", ".join(f"{row.id!r} ({row.place})" for row in unknown[:_NAMED])
            problem += f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
        raise LabelError(
            problem, f"ids look like {cache.ids([0])[0]!r}; is this file from another study?"
        )
    parse = (
        _parse_number if study.pool["task"] == "regression" else _make_class_parser(study, cache)
    )
    answers: list[Answer] = []
    errors: list[tuple[Label, LabelError]] = []
    for row in rows:
        if row.status == PENDING:
            continue
        try:
            label = parse(row, source) if row.label else ""
        except LabelError as error:
            errors.append((row, error))
            if len(errors) > _NAMED:
                break
        else:
            answers.append(Answer(row.id, row.annotator, row.status, label))
    if len(errors) == 1:
        raise errors[0][1]
    if errors:
        kind = "usable numbers" if study.pool["task"] == "regression" else "classes"
        named = [f"{row.label!r} of id {row.id!r} ({row.place})" for row, _ in errors[:_NAMED]]
        more = " and more" if len(errors) > _NAMED else ""
        raise LabelError(
            f"{source}: some labels are not {kind}: {', '.join(named)}{more}", errors[0][1].hint
        )
    return answers


def _parse_number(row: Label, source: str) -> str:
    """A label of a regression pool in its shortest form, so that 3 and 3.0 are one label."""
    try:
        value = float(row.label)
    except ValueError:
        value = math.nan
    if not abs(value) <= LARGEST:
        kind = "too large" if math.isfinite(value) else "not a number"
        raise LabelError(
            f"{source}, {row.place}: label {row.label!r} of id {row.id!r} is {kind}",
            f"labels of this pool are numbers, with a point in decimals, of at most {LARGEST:g} "
            "in size",
        )
    return repr(value)


def _make_class_parser(study: StoredStudy, cache: Cache) -> Callable[[Label, str], str]:
    """A function that returns the label of a row and raises LabelError when it is no class."""
    classes, open_classes = set(cache.classes), study.pool.get("open_classes", False)

    def parse(row: Label, source: str) -> str:
        if open_classes or row.label in classes:
            return row.label
        names = ", ".join(cache.classes[:12]) + (", ..." if len(classes) > 12 else "")
        near = difflib.get_close_matches(row.label, cache.classes, 1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        raise LabelError(
            f"{source}, {row.place}: label {row.label!r} of id {row.id!r} is not a class",
            f"{guess}the classes are {names}",
        )

    return parse


def _compare_answers(
    answers: Sequence[Answer], known: Mapping[tuple[str, str], Answer]
) -> tuple[list[Answer], list[Answer]]:
    """The answers that are new, and those that contradict what is known."""
    new: list[Answer] = []
    changed: list[Answer] = []
    for answer in answers:
        before = known.get((answer.id, answer.annotator))
        if before is None:
            new.append(answer)
        elif before != answer:
            changed.append(answer)
    return new, changed


def _describe_conflict(
    changed: list[Answer],
    known: Mapping[tuple[str, str], Answer],
    rows: list[Label],
    source: str,
) -> LabelConflict:
    """The error for answers that contradict known ones."""
    first = changed[0]
    place = next(r.place for r in rows if (r.id, r.annotator) == (first.id, first.annotator))
    before = known[first.id, first.annotator]
    others = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
    now, then = (files.describe_answer(each.status, each.label) for each in (first, before))
    return LabelConflict(
        f"{source}, {place}: id {first.id!r} is {now}, and was {then}{others}",
        "take the new labels with `replace=True`, or say who said it in a column annotator",
    )


def _count_answers(
    source: str,
    rows: list[Label],
    answers: list[Answer],
    new: list[Answer],
    changed: list[Answer],
    outside: tuple[str, ...],
    record: Record,
    dry_run: bool,
) -> Ingested:
    """What the file contained."""
    drawn = {draw.id for draw in record.draws}
    known = {answer.id for answer in (*record.answers, *answers)}
    return Ingested(
        source=source,
        new=len(new),
        replaced=len(changed),
        unchanged=len(answers) - len(new) - len(changed),
        blank=sum(row.status == PENDING for row in rows),
        declined=sum(answer.status == DECLINED for answer in new + changed),
        supplied=len({answer.id for answer in new} - drawn),
        outside=outside,
        pending=len(drawn - known),
        dry_run=dry_run,
    )
