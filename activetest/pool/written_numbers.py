"""Columns of numbers that are written as text: found by all of their values, and read.

A study keeps how each of them is read. Columns that are named as ids, groups, attributes or texts
stay text, and so do those that may hold the truth, and the few names of predicted classes.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from activetest.errors import ChoiceError
from activetest.nouns.choices import ColumnChoices, Task
from activetest.nouns.name_lists import find_repeated, shorten_list
from activetest.nouns.written_numbers import (
    COMMA,
    DECIMALS,
    PATTERNS,
    PERCENT,
    POINT,
    read_number,
)
from activetest.nouns.written_numbers import strip_sign as strip_text
from activetest.pool.column_names import (
    is_index,
    is_prediction,
    may_be_output,
    read_probability,
    split_words,
)
from activetest.pool.files import Files
from activetest.pool.groups import columns_of
from activetest.pool.number_texts import (
    DIVIDED,
    WORDS,
    find_sign,
    keep_texts,
    match_all,
    mixes_words,
    strip_sign,
)
from activetest.pool.roles import OTHER_MODELS, OTHER_PREDICTIONS, is_amount, is_telling, is_text
from activetest.pool.scans import scan_columns
from activetest.pool.unclear import Reading, Unclear

# Columns that are looked at.
_MOST = 100
# So many different values are more than the classes that are likely.
_FEW = 20
_SHOWN = 40


@dataclass
class _Column:
    """Facts about a column of text.

    name      of the column
    decimals  marks that all values can have
    sign      that stands beside each of them; None before one was seen
    marked    whether some number is no plain whole one
    example   the first that differs by the mark
    many      whether there are more different values than classes are likely to be
    """

    name: str
    decimals: list[str] = field(default_factory=lambda: list(DECIMALS))
    sign: str | None = None
    marked: bool = False
    example: str = ""
    many: bool = False

    def add(self, column: pa.Array, start: int) -> bool:
        """Look at values; whether all of them may be such numbers."""
        try:
            values = keep_texts(column)
        except pa.ArrowInvalid:
            # No UTF-8, which is said where it is read.
            return False
        if not len(values):
            return True
        if self.sign is None:
            self.sign = find_sign(values)
            distinct = pc.count_distinct(values).as_py()
            self.many = distinct > _FEW or 2 * distinct > len(values)
        if self.sign is None or (self.sign and not match_all(values, re.escape(self.sign))):
            return False
        bodies = strip_sign(values, self.sign)
        self.decimals = [mark for mark in self.decimals if match_all(bodies, PATTERNS[mark])]
        self.marked = self.marked or bool(self.sign) or not match_all(bodies, "^[0-9]+$")
        if len(self.decimals) > 1 and not self.example:
            open = values.filter(pc.match_substring_regex(bodies, "[.,]"))
            self.example = open[0].as_py().strip() if len(open) else ""
        return bool(self.decimals)


@dataclass(frozen=True)
class WrittenNumbers:
    """How columns of text are read as numbers.

    forms    {column: its decimal mark, and % where it has percent signs, /100 where these divide}
    unclear  {column: an example} of those whose decimal mark is not known
    """

    forms: dict[str, str]
    unclear: dict[str, str]

    @property
    def notices(self) -> tuple[str, ...]:
        """A sentence about the columns that are not read because their mark is not known."""
        if not self.unclear:
            return ()
        example = next(iter(self.unclear.values()))
        return (
            f"numbers written as text, left out: {shorten_list(self.unclear)}; {_offer(example)}",
        )

    def check(self, choices: ColumnChoices) -> None:
        """Raises Unclear where the decimal mark of outputs is not known."""
        named = {*(choices.outputs or ()), choices.judge}
        usual = {"pred", "score", "pred_std"} if choices.outputs is None else set()
        column = next((name for name in self.unclear if name in named | usual), None)
        if column is None:
            return
        example = self.unclear[column]
        # The likeliest last: such a file has no number with both marks.
        readings = [
            Reading({"decimal": mark}, f"{example!r} is {_read(example, mark):,g}")
            for mark in _order(example)
        ]
        raise Unclear(
            f"column {column!r} holds numbers written as text, such as {example!r}, whose mark may "
            "stand before decimals or thousands",
            readings,
        )


def find_written_numbers(files: Files, choices: ColumnChoices) -> WrittenNumbers:
    """How the columns of text that hold numbers are read.

    All rows are read of columns that begin with such numbers; of a pool on another machine, only
    of outputs. Raises ChoiceError for a decimal mark that is none.
    """
    if choices.decimal not in (None, *DECIMALS):
        raise ChoiceError(
            f"`decimal={choices.decimal!r}` is no decimal mark", hint='it is "." or ","'
        )
    found = WrittenNumbers({}, {})
    columns = _find_columns(files, choices)
    if not _are_values(files, choices, columns):
        # Other models say classes, as the pool's does.
        columns = {
            name: each for name, each in columns.items() if name not in choices.other_columns
        }
    for name, column in columns.items():
        marks = column.decimals if column.example else column.decimals[:1]
        divided = column.sign == PERCENT and _is_probability(name, choices)
        if len(marks) > 1 and divided:
            # There are no thousands of percent.
            marks = [mark for mark in marks if mark in column.example]
        if len(marks) > 1 and choices.decimal is None:
            found.unclear[name] = column.example[:_SHOWN]
            continue
        mark = choices.decimal if choices.decimal in marks else marks[0]
        form = f"{mark}{column.sign or ''}{DIVIDED * divided}"
        if not _stay_classes(files, name, form, choices):
            found.forms[name] = form
    if _are_grades_and_words(files, choices):
        found.forms[str(choices.judge)] = POINT + WORDS
    return found


def _are_grades_and_words(files: Files, choices: ColumnChoices) -> bool:
    """Whether the judge gives numbers, and words such as error where there is no grade."""
    types = [each.type for each in files.schema if each.name == choices.judge]
    if choices.classes or choices.task == Task.CLASSIFICATION or [*map(is_text, types)] != [True]:
        return False
    return mixes_words(batch.column(0) for _, batch in files.scan([str(choices.judge)]))


def _are_values(files: Files, choices: ColumnChoices, columns: Collection[str]) -> bool:
    """Whether the pool's model predicts values, as far as types tell."""
    outputs = choices.outputs or ("pred", "score")
    return choices.task != Task.CLASSIFICATION and any(
        each.name in outputs and (each.name in columns or is_amount(each.type))
        for each in files.schema
    )


def find_written_values(
    files: Files, columns: Sequence[str], task: str, decimal: str
) -> dict[str, str]:
    """{column: how it is written} of the columns of text that hold outputs or labels as numbers.

    decimal  the mark of the pool, where the user named it

    Raises Unclear where the decimal mark of one is not known.
    """
    choices = ColumnChoices(outputs=tuple(columns), task=task, decimal=decimal or None)
    found = find_written_numbers(files, choices)
    found.check(choices)
    return {name: form for name, form in found.forms.items() if name in columns}


def _find_columns(files: Files, choices: ColumnChoices) -> dict[str, _Column]:
    """The columns all of whose values are numbers, and some no plain whole ones."""
    names = _list_candidates(files, choices)
    return {
        name: column
        for name, column in (scan_columns(files, names, _Column) if names else {}).items()
        if column.marked and (column.many or not _may_be_classes(name, choices))
    }


def _list_candidates(files: Files, choices: ColumnChoices) -> tuple[str, ...]:
    """The columns of text that may be numbers, by their names and what the user said of them."""
    table = files.schema
    named = {*(choices.outputs or ()), *(choices.features or ()), choices.judge}
    named |= {choices.weight, choices.price, *choices.other_columns}
    grouped = {column for group in choices.groups for column in columns_of(group)}
    # Those that are cut into bins are numbers.
    grouped |= {*choices.attributes}
    kept = {choices.id or "id", *grouped, *(choices.text or ())} - named
    kept |= {*find_repeated(table.names)}
    found = [
        each.name
        for each in table
        if is_text(each.type)
        and each.name not in kept
        and (each.name in named or not _is_passed_over(each.name, choices))
        and (each.name in named or not files.remote or may_be_output(each.name))
    ]
    return tuple(found[:_MOST])


def _is_passed_over(name: str, choices: ColumnChoices) -> bool:
    """Whether a column that nobody named is neither output nor feature."""
    words = {"id", "ids", "uuid", "key"}
    if name.startswith(OTHER_PREDICTIONS):
        return False
    if is_index(name) or OTHER_MODELS.search(name) or words & {*split_words(name)}:
        return True
    return is_telling(name, choices.outputs or ()) and not may_be_output(name)


def _may_be_classes(name: str, choices: ColumnChoices) -> bool:
    """Whether a column may hold predicted classes, whose names may look like numbers."""
    if choices.task == Task.REGRESSION or name == "pred_std" or name.startswith("prob_"):
        return False
    named = {*(choices.outputs or ()), choices.judge, *choices.other_columns}
    other = name.startswith(OTHER_PREDICTIONS)
    return name != "score" and (other or name in named or is_prediction(name))


def _stay_classes(files: Files, name: str, form: str, choices: ColumnChoices) -> bool:
    """Whether a column holds names of classes, because the user said so and they are no shares."""
    if choices.task != Task.CLASSIFICATION or not _may_be_classes(name, choices):
        return False
    if PERCENT in form:
        return False
    files.read_written({name: form})
    low, high = files.find_range(name)
    files.read_written({})
    return not (low >= 0 and high <= 1)


def _is_probability(name: str, choices: ColumnChoices) -> bool:
    """Whether a column holds probabilities, by its name or what the user said of it."""
    if choices.task == Task.REGRESSION or choices.judge == name:
        return False
    if choices.outputs is not None and name in choices.outputs:
        classified = choices.task == Task.CLASSIFICATION or len(choices.outputs) > 1
        classified |= choices.classes is not None or choices.positive is not None
        return classified or choices.threshold != ColumnChoices.threshold or name == "score"
    meaning = read_probability(name)
    return name == "score" or (meaning is not None and meaning.sure)


def _order(example: str) -> tuple[str, str]:
    """The decimal marks, the likelier one last: thousands are, where three digits follow."""
    return (COMMA, POINT) if COMMA in example else (POINT, COMMA)


def _offer(example: str) -> str:
    ways = (
        f'`decimal="{mark}"` reads {example!r} as {_read(example, mark):,g}'
        for mark in _order(example)
    )
    return ", ".join(ways)


def _read(text: str, decimal: str) -> float:
    return read_number(strip_text(text), decimal)
