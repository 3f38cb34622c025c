"""Conditions on labels: they are of items of the pool, classes or numbers, and plausible."""

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from activetest.cache.cache import Cache
from activetest.errors import ChoiceError, LabelError
from activetest.labels.files import Edit, Label
from activetest.labels.matching import (
    FEWEST,
    NO_LABEL,
    ClassMatcher,
    LikelyMapping,
    guess_by_comma,
    guess_mapping,
    parse_number,
    read_single,
    says_no_label,
)
from activetest.labels.meanings import describe_counts
from activetest.labels.spreadsheets import DateMatcher, is_date
from activetest.labels.written_numbers import MARKS, describe_marks, read_written_numbers
from activetest.ledger.ledger import Answer
from activetest.nouns.canonical import make_canonical
from activetest.nouns.class_sets import describe_remedy, find_classes
from activetest.nouns.log import LABELLED, PENDING
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.written_numbers import DECIMALS, PERCENT
from activetest.pool.number_texts import has_percents
from activetest.pool.outputs import LARGEST
from activetest.pool.schema import Schema
from activetest.sampling.item_ids import explain_unknown, restore_ids
from activetest.system.safe_text import NOT_XML, restore_cell

# How many rows that cannot be are named, and how many names a message lists.
_NAMED = 5
# Where fewer than one row of so many is of no item, the others show that it is the right file.
_FOREIGN = 2
# Pairs of a mapping that a hint writes, and labels of which it gives the counts.
_WRITTEN, _COUNTED = 50, 8
_WITH_SIGN = re.compile(r"\D{0,4}[0-9][0-9.,' \u00a0\u202f]*\D{0,4}")
# Letters of which another encoding makes others.
_BROKEN = re.compile(r"(?:[^\x00-\x7f]|\?)+")


def make_normaliser(pool: Cache | Schema) -> Callable[[str], str]:
    """A function from a label to how the ledger spells it: as the pool's class, or a number.

    A label that is no class and no usable number stays as it is, but for its canonical form.
    Without classes, labels are numbers.
    """
    if pool.classes:
        find = ClassMatcher(pool.classes, numbered=pool.numbered).find
        return lambda label: find(label) or make_canonical(read_single(label) or label)
    return lambda label: repr(parse_number(label)) if _is_usable(label) else label


def make_restorer(
    cache: Cache,
    edit: Edit,
    source: str,
    *,
    cells: bool = True,
    notes: list[str],
    decimal: str | None = None,
) -> Edit:
    """An edit of rows that undoes what was done to them for spreadsheets, and what those did.

    An apostrophe before a cell goes; an id keeps it unless the pool knows the id without it, and a
    label that is a class with it. An id that is not in the pool becomes the only one that it can
    be: see restore_ids. Numbers written as text become numbers: see read_written_numbers.

    edit    what is done with the rows afterwards
    source  name of the file in messages
    cells   whether they may be cells of a spreadsheet, in which apostrophes stand
    notes   gets sentences about what was changed
    decimal  the mark of numbers written as text, where it can be either

    The edit raises LabelError for an id that the pool knows with and without an apostrophe.
    """
    _check_decimal(decimal, cache)
    restore_row = _make_cell_restorer(cache, source)

    def restore(rows: Iterable[Label]) -> Iterable[Label]:
        found = list(map(restore_row, rows)) if cells else list(rows)
        found = restore_ids(found, cache, source, notes)
        if cache.classes:
            return edit(found)
        mark, percent = decimal or cache.roles.get("decimal"), has_percents(cache.roles)
        return edit(read_written_numbers(found, notes, decimal=mark, percent=percent))

    return restore


def _check_decimal(decimal: str | None, cache: Cache) -> None:
    """Raises ChoiceError for a decimal mark that is none, or has no effect."""
    if decimal is not None and cache.classes:
        raise ChoiceError("`decimal` has no effect: labels are classes", "leave it out")
    if decimal not in (None, *DECIMALS):
        raise ChoiceError(f"`decimal={decimal!r}` is no decimal mark", 'it is "." or ","')


def _make_cell_restorer(cache: Cache, source: str) -> Callable[[Label], Label]:
    """A function that takes apostrophes away which stand before a cell: see make_restorer."""
    find_class = ClassMatcher(cache.classes, numbered=cache.numbered).find

    def restore(row: Label) -> Label:
        id, label = restore_cell(row.id), restore_cell(row.label)
        if id != row.id:
            exact, restored = cache.find([row.id, id])
            if exact >= 0 and restored >= 0:
                raise LabelError(
                    f"{source}, {row.place}: id {row.id!r} may be the item of this name or, as "
                    f"written for a spreadsheet, the item {id!r}",
                    "give the labels of these two as a mapping: `study.ingest(labels)`",
                )
            row = row._replace(id=id) if restored >= 0 else row
        if label != row.label and find_class(row.label) is None:
            row = row._replace(label=label)
        annotator = restore_cell(row.annotator)
        return row if annotator == row.annotator else row._replace(annotator=annotator)

    return restore


def check_missing(words: Iterable[str], cache: Cache) -> tuple[str, ...]:
    """The words that stand for no label yet. Raises ChoiceError for a class."""
    find = ClassMatcher(cache.classes, numbered=cache.numbered).find
    for word in words:
        if (name := find(word)) is not None:
            raise ChoiceError(
                f"`missing` names {word!r}, which is a class of this pool: {name!r}", "leave it out"
            )
    return tuple(words)


def read_answers(
    rows: Sequence[Label], cache: Cache, source: str, *, open_classes: bool
) -> list[Answer]:
    """The rows with an answer. Raises LabelError for an item or a label that cannot be.

    Control characters are in a label only where a class of the pool has them, and in no name.
    """
    _check_ids(rows, cache, source)
    normalise = make_normaliser(cache)
    classes = set(cache.classes)
    answers, bad = [], []
    for row in rows:
        if row.status == PENDING:
            continue
        label = normalise(row.label) if row.label else ""
        known = label in classes if classes else _is_usable(label)
        _reject_controls("annotator", row.annotator, row, source)
        if not known:
            _reject_controls("label", label, row, source)
        if not label or open_classes or known:
            answers.append(Answer(row.id, row.annotator, row.status, label))
        else:
            bad.append(row)
    if bad:
        raise _describe_impossible(bad, answers, cache, source)
    return answers


def check_plausible(
    fresh: Collection[Answer],
    answers: Sequence[Answer],
    rows: Sequence[Label],
    cache: Cache,
    source: str,
) -> None:
    """Refuse labels of a pool with open classes that can hardly be meant as further classes.

    fresh    answers that are new or contradict earlier ones; without any, nothing is refused
    answers  of the whole file

    Raises LabelError for words that say that there is no label, for labels that list several
    classes, for dates that spreadsheets make of classes, for classes in other words, letters or
    bytes, and for a file of ten labels or more of which none is a class.
    """
    classes = set(cache.classes)
    words = [
        answer for answer in fresh if says_no_label(answer.label) and answer.label not in classes
    ]
    if words:
        known = {(answer.id, answer.annotator) for answer in words}
        raise _describe_words([row for row in rows if (row.id, row.annotator) in known], source)
    sets = [answer for answer in fresh if find_classes(answer.label, classes)]
    if sets and not guess_by_comma({answer.label for answer in answers} - classes, cache.classes):
        raise LabelError(
            f"{source}: the label {sets[0].label!r} of id {sets[0].id!r} lists several classes"
            + (f", and {len(sets) - 1:,} more do" if len(sets) > 1 else ""),
            f"{describe_remedy()}; `as_is=True` takes them for further classes, which are mistakes "
            "of the model",
        )
    _check_dates(fresh, rows, cache, source)
    outside = {answer.label for answer in fresh if answer.label and answer.label not in classes}
    _check_letters(outside, cache, source)
    labelled = [answer for answer in answers if answer.status == LABELLED]
    likely = guess_classes(labelled, cache) if outside else None
    meant = outside.intersection(likely.classes) if likely else set()
    counts = Counter(answer.label for answer in labelled if answer.label not in classes)
    none = counts.total() == len(labelled)
    if not outside or not (meant or (none and len(labelled) >= FEWEST)):
        return
    labels = f"none of its {len(labelled):,} labels is a class that the model predicts: they are"
    if len(labelled) == 1:
        labels = "its only label is no class that the model predicts:"
    elif not none:
        labels = f"{counts.total():,} of its {len(labelled):,} labels are no class:"
    remedy = (
        _hint_mapping(likely)
        if likely
        else "say which classes they stand for in a CSV file with the columns from,to: `map=path`"
    )
    if unclear := [label for label in counts if likely and label not in likely.classes]:
        remedy += f"; add what {shorten_list(sorted(unclear))} stands for"
    raise LabelError(
        f"{source}: {labels} {describe_counts(counts, _COUNTED)}, and the classes are "
        f"{shorten_list(cache.classes)}",
        f"{remedy}; `as_is=True` takes them for further classes, which are mistakes of the model",
        mapping=likely.classes if likely else None,
    )


def _check_dates(
    fresh: Collection[Answer], rows: Sequence[Label], cache: Cache, source: str
) -> None:
    """Raises LabelError for labels that are dates where classes are texts such as 1-2."""
    matcher, classes = DateMatcher(cache.classes), set(cache.classes)
    labels = {answer.label for answer in fresh if answer.label not in classes}
    if dates := sorted(filter(matcher.is_suspect, labels)):
        raise _describe_dates(dates, matcher, rows, source, open_classes=True)


def _describe_dates(
    dates: Sequence[str],
    matcher: DateMatcher,
    rows: Sequence[Label],
    source: str,
    *,
    open_classes: bool,
) -> LabelError:
    """The error for labels that are dates which a spreadsheet made of classes."""
    known = set(dates)
    place, id, first = next((row.place, row.id, row.label) for row in rows if row.label in known)
    found = {label: matcher.find(label) for label in dates}
    likely = {label: names[0] for label, names in found.items() if len(names) == 1}
    made_of = " or ".join(map(repr, found[first][:2])) or f"texts such as {matcher.example!r}"
    more = f", and {len(dates) - 1:,} other labels are dates, too" if len(dates) > 1 else ""
    hint = "format the column as text and enter these labels again"
    if likely:
        hint += f"; or, if they stand for these classes, `map={_write_map(likely)}` says it"
    if open_classes:
        hint += "; `as_is=True` takes them for further classes, which are mistakes of the model"
    return LabelError(
        f"{source}, {place}: label {first!r} of id {id!r} is a date, which spreadsheets make of "
        f"{made_of}{more}",
        hint,
        mapping=likely,
    )


def _check_letters(labels: Collection[str], cache: Cache, source: str) -> None:
    """Raises LabelError for a label that is a class but for letters that are not ASCII.

    So look texts that were written in one encoding and read in another.
    """
    broken = [label for label in labels if _BROKEN.search(label)]
    if not broken:
        return
    names = {_BROKEN.sub("?", name): name for name in cache.classes if not name.isascii()}
    for label in sorted(broken):
        if (name := names.get(_BROKEN.sub("?", label))) is not None:
            raise LabelError(
                f"{source}: the label {label!r} looks like the class {name!r} in another encoding",
                "save the file again as UTF-8 CSV; `as_is=True` takes it for a further class, "
                "which is a mistake of the model",
            )


def find_outside(answers: Collection[Answer], cache: Cache) -> tuple[str, ...]:
    """The labels that are no class, each once; none where labels are numbers."""
    labels = {answer.label for answer in answers if answer.status == LABELLED}
    return tuple(sorted(labels - set(cache.classes))) if cache.classes else ()


def guess_classes(answers: Sequence[Answer], cache: Cache) -> LikelyMapping | None:
    """The classes that labels of a whole file may stand for which are none."""
    classes = set(cache.classes)
    labels = {answer.label for answer in answers if answer.status == LABELLED} - classes
    return guess_mapping(labels, cache.classes) if labels and classes else None


def _hint_mapping(likely: LikelyMapping) -> str:
    """How to say that labels stand for the likely classes."""
    written = _write_map(likely.classes)
    return f"they may stand for these classes ({likely.basis}); if so, `map={written}` says it"


def _write_map(pairs: Mapping[str, str]) -> str:
    """A mapping as a hint writes it."""
    return repr(dict(pairs)) if len(pairs) <= _WRITTEN else "error.mapping"


def _reject_controls(column: str, text: str, row: Label, source: str) -> None:
    """Raises LabelError for a text with a character that no text of people has, such as NUL."""
    if found := NOT_XML.search(text):
        raise LabelError(
            f"{source}, {row.place}, id {row.id!r}: the {column} {text[:80]!r} holds the control "
            f"character {found.group()!r}",
            "the file is damaged or no text in UTF-8: write it again",
        )


def _is_usable(label: str) -> bool:
    """Whether a label is a number of a size that can be added up."""
    number = parse_number(label)
    return number is not None and abs(number) <= LARGEST


def _check_ids(rows: Sequence[Label], cache: Cache, source: str) -> None:
    """Raises LabelError for ids that no item has."""
    positions = cache.find([row.id for row in rows])
    unknown = [row for row, at in zip(rows, positions, strict=True) if at < 0]
    if not unknown:
        return
    problem = f"{source}, {unknown[0].place}: id {unknown[0].id!r} is not in the pool"
    if len(unknown) > 1:
        problem = f"{source}: {len(unknown):,} ids are not in the pool: "
        problem += ", ".join(f"{row.id!r} ({row.place})" for row in unknown[:_NAMED])
        problem += f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
    first = cache.ids([0])[0]
    if reason := explain_unknown(unknown[0].id, cache):
        raise LabelError(problem, reason)
    if _FOREIGN * len(unknown) < len(rows):
        raise LabelError(
            problem,
            f"the other {len(rows) - len(unknown):,} rows are of items of the pool, whose ids look "
            f"like {first!r}: remove rows that are none, such as totals and second headers",
        )
    if cache.id_prefix:
        raise LabelError(
            problem,
            f"the pool has no column of ids, so its rows are called {first!r} and so on, as in the "
            "batches of `study.next()`; numbers that another tool gives to its tasks are no rows",
        )
    raise LabelError(problem, f"ids look like {first!r}; is this file from another study?")


def _describe_impossible(
    bad: Sequence[Label], answers: Sequence[Answer], cache: Cache, source: str
) -> LabelError:
    """The error for labels that are no classes of a closed pool, or no numbers."""
    first, kind = bad[0], "classes" if cache.classes else "usable numbers"
    if len(bad) > 1:
        named = [f"{row.label!r} of id {row.id!r} ({row.place})" for row in bad[:_NAMED]]
        more = " and more" if len(bad) > _NAMED else ""
        problem = f"{source}: some labels are not {kind}: {', '.join(named)}{more}"
    else:
        what = "not a class"
        if not cache.classes:
            number = parse_number(first.label)
            what = "not a number" if number is None or math.isinf(number) else "too large"
        problem = f"{source}, {first.place}: label {first.label!r} of id {first.id!r} is {what}"
    words = [row for row in bad if says_no_label(row.label)]
    if words:
        return LabelError(problem, _hint_words(words))
    labels = {row.label for row in bad}
    lists = any(find_classes(label, cache.classes) for label in labels)
    if lists and not guess_by_comma(labels, cache.classes):
        return LabelError(problem, describe_remedy())
    if not cache.classes:
        marks = describe_marks([row.label for row in bad])
        hint = marks and f"say what the mark is: {marks}"
        hint = hint or (
            f"labels of this pool are numbers, with a point in decimals, of at most {LARGEST:g} "
            "in size" + _hint_numbers(bad) + _hint_classes(bad, answers, cache)
        )
        return LabelError(problem, hint, ways=MARKS if marks else ())
    matcher = DateMatcher(cache.classes)
    if dates := sorted({row.label for row in bad if matcher.is_suspect(row.label)}):
        return _describe_dates(dates, matcher, bad, source, open_classes=False)
    near = difflib.get_close_matches(first.label, cache.classes, 1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    hint = f"{guess}the classes are {shorten_list(cache.classes)}"
    added = [Answer(row.id, row.annotator, row.status, row.label) for row in bad]
    likely = guess_classes([*answers, *added], cache) if len(bad) > 1 else None
    values = _hint_values(bad, cache)
    # Labels that come again are hardly slips.
    again = 2 * len(labels) <= len(bad) or len(bad) >= FEWEST
    if not values and not likely and again and not any(each.label for each in answers):
        hint += "; say what the labels stand for in a CSV file with the columns from,to: `map=path`"
    if values or not likely:
        return LabelError(problem, values or hint)
    counts = Counter(row.label for row in bad)
    hint = f"the labels are {describe_counts(counts, _COUNTED)}, and the classes are "
    hint += f"{shorten_list(cache.classes)}; {_hint_mapping(likely)}"
    if unclear := sorted(set(counts) - set(likely.classes)):
        hint += f"; add what {shorten_list(unclear)} stands for"
    return LabelError(problem, hint, mapping=likely.classes)


def _hint_values(bad: Sequence[Label], cache: Cache) -> str:
    """How to study a score as a value, where labels are such values; else empty."""
    numbers = [parse_number(row.label) for row in bad]
    fractional = any(number is not None and not number.is_integer() for number in numbers)
    if not fractional or None in numbers or cache.roles["kind"] != "score":
        return ""
    return (
        "these labels are numbers, and this study takes the score for the probability of "
        f"{cache.roles['positive']!r}; a study of their mean takes both as they are: "
        f"`Study.create(pool, folder, metric='mean', outputs={cache.roles['outputs']!r})`"
    )


def _hint_numbers(bad: Sequence[Label]) -> str:
    """Hint at how numbers may have been changed; empty where nothing of it is seen."""
    if any(is_date(row.label) for row in bad):
        return "; spreadsheets make dates of numbers such as 1.5: format the column as text"
    if any(PERCENT in row.label for row in bad):
        return "; the pool has no percent signs: write the labels on its scale, without them"
    if any(_WITH_SIGN.fullmatch(row.label) for row in bad):
        return "; write all of them alike: with the same sign or none, and the same decimal mark"
    return ""


def _hint_classes(bad: Sequence[Label], answers: Sequence[Answer], cache: Cache) -> str:
    """How to study a score as a probability, where labels are two classes; else empty."""
    names = sorted({row.label for row in bad})
    (column,) = cache.roles["outputs"]
    if len(names) != 2 or answers or column == "pred":
        return ""
    return (
        "; where they are two classes and the score is the probability of one: "
        f"`Study.create(pool, folder, task='classification', outputs={[column]!r}, "
        f"classes={names!r})`, with the class of low scores first"
    )


def _describe_words(words: Sequence[Label], source: str) -> LabelError:
    """The error for labels that say that there is none, in a pool with open classes."""
    named = [f"{row.label!r} of id {row.id!r} ({row.place})" for row in words[:_NAMED]]
    more = f" and {len(words) - _NAMED:,} more" if len(words) > _NAMED else ""
    return LabelError(
        f"{source}: some labels seem to say that there is none: {', '.join(named)}{more}",
        f"{_hint_words(words)}; `as_is=True` takes them for classes, which count as mistakes of "
        "the model",
    )


def _hint_words(words: Sequence[Label]) -> str:
    """Advice on words for no label, by what they say."""
    found = list(dict.fromkeys(row.label for row in words))
    waiting = [word for word in found if word.casefold() in NO_LABEL]
    parts = []
    if waiting:
        parts.append(f"`missing={waiting!r}` lets these items wait for a label")
    if len(waiting) < len(found):
        parts.append(
            "for items that cannot be answered, leave the label empty and write declined in the "
            "column status"
        )
    return "; ".join(parts)
