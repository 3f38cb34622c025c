"""Ingest labels: a file, a frame or rows, all rows or none; ingesting it twice changes nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import partial
from os import PathLike
from typing import Any

from activetest.cache.cache import Cache
from activetest.errors import ColumnsUnclear, LabelConflict, LabelError, PoolError
from activetest.labels import files
from activetest.labels.files import Label
from activetest.labels.mapping import make_edit, read_label_map
from activetest.labels.values import is_mapping
from activetest.ledger.ledger import Answer, LedgerMoved, Record, RetractedFile
from activetest.nouns.answer_fields import SAMPLE, check_columns
from activetest.nouns.arguments import reading_arguments
from activetest.nouns.canonical import make_canonical
from activetest.nouns.log import DECLINED, PENDING
from activetest.sampling.label_columns import describe_columns, find_ids
from activetest.sampling.label_source import read_label_source
from activetest.study import label_checks
from activetest.study.folder import INSIDE
from activetest.study.stored import StoredStudy
from activetest.system import atomic
from activetest.system.parallel import one_blas_thread
from activetest.system.safe_text import escape_controls

# How many labels a notice names.
_NAMED = 3


@dataclass(frozen=True)
class Ingested:
    """Contents of a label file; new, replaced and unchanged add up to its answers.

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
    notes      sentences about what the file does not say
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
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One line, without counts that are zero."""
        parts = [f"{self.new} new"]
        parts += [f"{self.declined} declined"] * bool(self.declined)
        parts += [f"{self.supplied} of items that were never drawn"] * bool(self.supplied)
        parts += [f"{self.replaced} replaced"] * bool(self.replaced)
        classes = ", ".join(map(repr, self.outside[:_NAMED]))
        classes += ", ..." * (len(self.outside) > _NAMED)
        parts += [f"some of a class that the model never predicts ({classes})"] * bool(self.outside)
        parts += [f"{self.unchanged} known already"] * bool(self.unchanged)
        parts += [f"{self.blank} still blank"] * bool(self.blank)
        end = "; nothing was written" if self.dry_run else ""
        items = f"{self.pending} item{'s' * (self.pending != 1)}"
        sentences = [f"{self.source}: {', '.join(parts)}; {items} pending{end}"]
        if self.outside:
            sentences.append(
                "Labels of a class that the model never predicts count as its mistakes"
            )
        return escape_controls(". ".join([*sentences, *self.notes]))

    def __repr__(self) -> str:
        """One line."""
        return f"<Ingested {self}>"


@one_blas_thread()
@reading_arguments
def ingest(
    study: StoredStudy,
    labels: Any,
    *,
    replace: bool = False,
    dry_run: bool = False,
    map: Any = None,
    missing: str | Sequence[str] = (),
    as_is: bool = False,
    columns: Mapping[str, str] | None = None,
    decimal: Any = None,
) -> Ingested:
    """Add labels to the study: of a file, an open one, a frame, a mapping, or rows.

    map      a mapping from labels to classes, or the path of a file that is one
    missing  words that stand for no label yet
    as_is    take labels that are no class for classes that the model never predicts
    columns  {field: column} of a file or a frame whose columns are not called like their fields
    decimal  the decimal mark of numbers written as text, where it can be either

    Raises LabelError for a file, id or label that makes no sense, LabelConflict for a label that
    contradicts a known one unless `replace`; then nothing is taken.
    """
    stdin = labels if hasattr(labels, "readline") else None
    if stdin is None and isinstance(labels, str | PathLike) and str(labels) == "-":
        raise LabelError("- is no file of labels", "give a path, a frame, a mapping or rows")
    cache = study.cache(auxiliary=False)
    words = label_checks.check_missing(missing, cache)
    mapping = {} if map is None else read_label_map(map)
    notes: list[str] = []
    edit = make_edit(mapping, words, label_checks.make_normaliser(cache))
    # The keys of a mapping are no cells.
    path = "-" if stdin else labels if isinstance(labels, str | PathLike) else None
    name = "the labels" if path is None else files.name_source(path)
    cells = not is_mapping(labels)
    edit = label_checks.make_restorer(cache, edit, name, cells=cells, notes=notes, decimal=decimal)
    # The rows of a frame are numbers to whoever has it; those of a file are not.
    prefix = cache.id_prefix if study.pool["uri"].startswith(INSIDE) else ""
    fields = check_columns(columns or {})
    # An open file can be read once.
    again = path is not None and not stdin
    read = partial(
        read_label_source, "-" if stdin else labels, edit=edit, id_prefix=prefix, notes=notes
    )
    try:
        source, rows = read(columns=fields, stdin=stdin)
    except ColumnsUnclear as error:
        described, question = describe_columns(error, cache, _list_columns(study), fields)
        if question is None or not again:
            raise described from error
        notes.append(f"Labels are the answers to {question!r}, as no others are labels of the pool")
        source, rows = read(columns={**fields, "label": question})
    first = [row.id for row in rows[:SAMPLE]]
    if again and first and "id" not in fields and (cache.find(first) < 0).all():
        _explain_ids(partial(read, columns={**fields, "id": ""}), rows, source, cache)
    counted = add_rows(study, rows, source, replace=replace, dry_run=dry_run, as_is=as_is)
    return replace_fields(counted, notes=tuple(notes))


def _explain_ids(read: Callable[[], Any], rows: Sequence[Label], source: str, cache: Cache) -> None:
    """Raises LabelError where ids are of no item, and another column holds ids of the pool.

    read  reads the labels without an id
    """
    try:
        read()
    except ColumnsUnclear as error:
        if ids := find_ids(error.columns, cache):
            raise LabelError(
                f"{source}, {rows[0].place}: id {rows[0].id!r} is not in the pool, and neither is "
                "any other",
                f"ids of the pool stand in another column: `columns={ {'id': ids[0]}!r}`",
            ) from error
    except LabelError:
        pass


def _list_columns(study: StoredStudy) -> list[str]:
    """The columns of the pool; none where it cannot be opened."""
    try:
        return list(study.open_pool().files.schema.names)
    except (OSError, PoolError):
        return []


def add_rows(
    study: StoredStudy,
    rows: list[Label],
    source: str,
    *,
    replace: bool = False,
    dry_run: bool = False,
    as_is: bool = False,
) -> Ingested:
    """Add these rows, of which no two are about one item by one annotator.

    Options, and what is raised, as of `ingest`.
    """
    cache = study.cache(auxiliary=False)
    while True:
        open_classes = bool(study.pool.get("open_classes"))
        record = study.ledger.record()
        rows = _spell_annotators(rows, record)
        answers = label_checks.read_answers(rows, cache, source, open_classes=open_classes)
        known = {(answer.id, answer.annotator): answer for answer in record.answers}
        new, changed = _compare_answers(answers, known)
        if open_classes and not as_is:
            label_checks.check_plausible([*new, *changed], answers, rows, cache, source)
        if changed and not replace:
            raise _describe_conflict(changed, known, rows, source)
        if (new or changed) and not dry_run:
            atomic.remove_leftovers(study.folder)
            try:
                study.ledger.add_answers(
                    new + changed,
                    source=source,
                    revision=record.revision,
                    numeric=not cache.classes,
                )
            except LedgerMoved:
                # Other answers were added meanwhile, or init changed the columns: compare again.
                study = StoredStudy.open(study.folder)
                cache = study.cache(auxiliary=False)
                continue
        outside = label_checks.find_outside([*new, *changed], cache)
        return _count_answers(source, rows, answers, new, changed, outside, record, dry_run=dry_run)


def undo(study: StoredStudy) -> RetractedFile:
    """Take the last file back. Raises LabelError when there is none."""
    undone = study.ledger.undo()
    if undone is None:
        raise LabelError("there is no file of labels to take back", "see `study.status()`")
    return undone


def _spell_annotators(rows: list[Label], record: Record) -> list[Label]:
    """The rows with the names of annotators as they are known, in whichever form of Unicode."""
    known = {make_canonical(each.annotator): each.annotator for each in record.answers}
    if all(form == name for form, name in known.items()):
        return rows
    return [row._replace(annotator=known.get(row.annotator, row.annotator)) for row in rows]


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
        elif before._replace(label=make_canonical(before.label)) != answer:
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
    problem = f"{source}, {place}: id {first.id!r} is {now}, and was {then}{others}"
    return LabelConflict(
        problem, "take the new labels with `replace=True`, or say who said it in a column annotator"
    )


def _count_answers(
    source: str,
    rows: list[Label],
    answers: list[Answer],
    new: list[Answer],
    changed: list[Answer],
    outside: tuple[str, ...],
    record: Record,
    *,
    dry_run: bool,
) -> Ingested:
    """Contents of the file."""
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
