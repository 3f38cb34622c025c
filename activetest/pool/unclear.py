"""Outputs that can be read in more than one way: nothing is guessed, the user is asked."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.types as kinds

from activetest.errors import PoolError
from activetest.nouns.choices import ColumnChoices, Scale, Task
from activetest.nouns.rows import Array
from activetest.nouns.written_numbers import NO_VALUE, PERCENT
from activetest.pool.column_names import (
    is_outcome,
    is_prediction,
    may_name_classes,
    read_probability,
)
from activetest.pool.columns import encode_values, read_numbers
from activetest.pool.files import Files
from activetest.pool.roles import is_amount, is_text
from activetest.pool.schema import Schema

# More classes than this, read off the values of a column, are asked about.
MOST_CLASSES = 50
# So many different values, of which most stand once, may be numbers, dates, texts or ids.
_FEW = 20
# Rows from which on the smallest value of a column tells what it is, and rounding in a file.
_ENOUGH, _ROUNDING = 50, 1e-6
# Longer texts of more words are sentences.
_WORDS, _LETTERS = 4, 64
# Letters of a value that an example shows, and that are looked at.
_SHOWN, _LONGEST = 40, 100
# Share of the values that look alike.
_MOSTLY = 0.9

_NUMBER = re.compile(
    r"[-+(]?\s*(?:[$€£¥]|[A-Z]{2,3}\s)?\s*[-+]?\d[\d.,'\s\u00a0\u202f]*(?:e[-+]?\d+)?"
    r"\s*(?:%|[$€£¥]|[A-Z]{3})?\s*\)?",
    re.I,
)
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
    r"|\d{1,2}[- ][A-Za-z]{3,9}([- ]\d{2,4})?"
)

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """A way to read the outputs: the settings that say so, and what they then are."""

    settings: Settings
    meaning: str


class Unclear(PoolError):
    """The outputs can be read in several ways.

    readings  of which the last is the likeliest
    remedy    what helps where none of them is right; empty where nothing is known
    """

    def __init__(self, problem: str, readings: Iterable[Reading], remedy: str = "") -> None:
        self.readings, self.remedy = tuple(readings), remedy
        hint = "; ".join(
            f"`{write_settings(each.settings)}` if {each.meaning}" for each in self.readings
        )
        super().__init__(problem, "; ".join(filter(None, [hint, remedy])))


def write_settings(settings: Settings) -> str:
    """Settings as arguments of a call."""
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def name_two_classes(column: str) -> list[str]:
    """Names of the two classes of a probability, as the name of its column says, else 0 and 1.

    >>> name_two_classes("fraud_score"), name_two_classes("y_prob")
    (['not fraud', 'fraud'], ['0', '1'])
    """
    found = read_probability(column)
    name = found.class_name if found else ""
    if name in ("", "0", "1") or name.casefold() in ("pos", "positive"):
        return ["0", "1"]
    return [f"not {name}", name]


def name_classes(column: str) -> dict[str, list[str]]:
    """The setting of the two classes of a probability; empty where they are 0 and 1."""
    names = name_two_classes(column)
    return {} if names == ["0", "1"] else {"classes": names}


def check_outputs(files: Files, choices: ColumnChoices, schema: Schema) -> None:
    """Raises Unclear for outputs that may be something else than their column seems to say.

    Whoever names the task or the classes has said what they are. At most a column of outputs is
    read, and only until it is clear.
    """
    classified = choices.classes is not None or choices.positive is not None
    if choices.task is not None or classified or choices.judge:
        return
    if schema.kind == "score" and choices.outputs is None:
        check_confidence(files, schema.outputs[0], schema.pred)
    elif schema.task == Task.REGRESSION and schema.std is None:
        _check_values(files, schema, choices)


def check_confidence(files: Files, score: str, pred: str | None = None) -> None:
    """Raises Unclear for a score that looks like the confidence of a predicted class.

    pred  the column of predicted classes, where it is known
    """
    found = find_predicted_beside(files, score, pred)
    if found is None:
        return
    column, classes = found
    low, _ = files.find_range(score)
    many = "both classes are" if len(classes) == 2 else f"{len(classes)} classes are"
    second = classes[-1] if pred else "1"
    outputs = [score, pred] if pred else score
    probability = Reading(
        {"outputs": outputs, "task": Task.CLASSIFICATION.value},
        f"it is the probability of {second!r}",
    )
    if len(classes) == 2:
        # Of two classes it says the probabilities of both.
        confidence = Reading(
            {"outputs": [score, column], "scale": Scale.CONFIDENCE.value},
            f"it is the confidence in the class that {column!r} predicts",
        )
        remedy = ""
    else:
        confidence = Reading(
            {"outputs": column},
            f"{column!r} is the predicted class and {score!r} its confidence, which then is a "
            "feature",
        )
        remedy = (
            f"with a probability of each class, in columns prob_{classes[0]}, prob_{classes[1]} "
            "..., there are metrics of probabilities, too"
        )
    raise Unclear(
        f"{score!r} is never below {low:.3g} while {many} predicted in {column!r}: it looks like "
        f"the confidence of the predicted class, and not like the probability of {second!r}",
        [probability, confidence],
        remedy,
    )


def find_predicted_beside(
    files: Files, score: str, named: str | None = None
) -> tuple[str, list[str]] | None:
    """The column of classes that a score is the confidence in, and the first classes; else None.

    A confidence is at least 1/C where there are C classes; a probability of one class is lower in
    some of many rows where others are predicted.

    named  the column of predicted classes, where it is known
    """
    if files.rows < _ENOUGH:
        return None
    low, high = files.find_range(score)
    if not (low > 0 and high <= 1 + _ROUNDING):
        return None
    table = files.schema
    columns = (
        [named]
        if named
        else [
            field.name
            for field in table
            if (is_text(field.type) or kinds.is_integer(field.type))
            and (may_name_classes(field.name) or is_outcome(field.name, [score]))
        ]
    )
    for column in columns:
        classes = find_texts(files.sample([column]).column(0), MOST_CLASSES)
        if 1 < len(classes) <= MOST_CLASSES and low >= 1 / len(classes) - _ROUNDING:
            return column, classes
    return None


def find_texts(values: Any, most: int) -> list[str]:
    """The different values of a batch as texts, in order; at most one more than `most`."""
    _, names = encode_values(pc.unique(values.drop_null())[: most + 1])
    return sorted({name.strip() for name in names} - {""})


def _check_values(files: Files, schema: Schema, choices: ColumnChoices) -> None:
    """Raises Unclear for predicted numbers that may be probabilities, or codes of classes."""
    column = schema.outputs[0]
    low, high = files.find_range(column)
    amounts = is_amount(files.schema.field(column).type)
    if column == "score" or not amounts or low == high:
        return
    number = Reading({"task": Task.REGRESSION.value}, "they are predicted numbers")
    named = {"outputs": column} if choices.outputs is None else {}
    # Numbers of classes begin at 0, or at -1 for none; grades, which are numbers, at 1.
    codes = find_number_codes(files, column) if -1 <= low <= 0 else None
    if codes is not None:
        shown = ", ".join(f"{code:g}" for code in codes[:3]) + ", ..." * (len(codes) > 3)
        classes = named | {"task": Task.CLASSIFICATION.value}
        raise Unclear(
            f"{column!r} holds {len(codes)} whole numbers stored as decimals ({shown}): they may "
            "be classes or predicted numbers",
            [number, Reading(classes, "they are classes")],
        )
    percent = PERCENT in schema.written_forms.get(column, "")
    if low >= 0 and high <= (100 if percent else 1):
        names = name_two_classes(column)
        raise Unclear(
            f"{column!r} runs from {low:.3g} to {high:.3g}{' %' * percent}: it may be the "
            "probability of a class, or a predicted number",
            [
                number,
                Reading(
                    named | {"task": Task.CLASSIFICATION.value} | name_classes(column),
                    f"it is the probability of {names[1]!r}",
                ),
            ],
        )


def holds_codes(files: Files, column: str) -> bool:
    """Whether a column that is called a prediction holds numbers of classes, stored as decimals."""
    if not kinds.is_floating(files.schema.field(column).type) or not is_prediction(column):
        return False
    columns = (batch.column(0) for _, batch in files.scan([column]))
    return all(_are_whole(read_numbers(each).astype(float)) for each in columns)


def find_number_codes(files: Files, column: str) -> list[float] | None:
    """The values in order, where they are few whole numbers that repeat; else None."""
    found: set[float] = set()
    for _, batch in files.scan([column]):
        values = read_numbers(batch.column(0)).astype(float)
        if not _are_whole(values):
            return None
        found |= set(np.unique(values[~np.isnan(values)])[: MOST_CLASSES + 1].tolist())
        if len(found) > MOST_CLASSES:
            return None
    return sorted(found) if found and 2 * len(found) <= files.rows else None


def _are_whole(values: Array) -> bool:
    """Whether all numbers are finite and whole; those that are missing do not count."""
    values = values[~np.isnan(values)]
    return bool(np.isfinite(values).all() and (values == np.round(values)).all())


def check_classes(
    column: str, names: Collection[str], rows: int, *, example: str, numeric: bool
) -> None:
    """Raises Unclear for classes, read off the values of a column, that look like something else.

    names    the different values, of which there may be more than MOST_CLASSES
    rows     that have them
    example  the first of them
    numeric  they are stored as numbers
    """
    if not numeric and len(names) <= MOST_CLASSES:
        _check_spellings(column, sorted(names))
    looks = _describe_looks(names, rows, numeric=numeric)
    if not looks:
        return
    readings = [Reading({"task": Task.CLASSIFICATION.value}, "they are classes")]
    remedy = ""
    if numeric:
        readings.insert(0, Reading({"task": Task.REGRESSION.value}, "they are predicted numbers"))
    elif looks == "numbers written as text":
        remedy = (
            "predicted numbers are read where all are written alike: with the same sign, such as % "
            "or €, or none, and with the same decimal mark"
        )
    elif looks == "texts of several words":
        remedy = "of texts, give a column that says how good each is, such as a judge's verdict: "
        remedy += "`judge=column`"
    raise Unclear(
        f"column {column!r} holds {looks}, such as {example[:_SHOWN]!r}: it may not hold predicted "
        "classes",
        readings,
        remedy,
    )


def _check_spellings(column: str, names: Sequence[str]) -> None:
    """Raises Unclear for a class that may be none, or another class in other letters."""
    for name in names if len(names) > 1 else ():
        if name in NO_VALUE:
            raise Unclear(
                f"column {column!r} holds {name!r} beside other classes: it may be a class, or say "
                "that there is no prediction",
                [Reading({"task": Task.CLASSIFICATION.value}, "it is a class")],
                "items without a prediction have to be left out of the file",
            )
    # Of true, 1 and yes, programs write one or another.
    flags = {"true": "1", "false": "0"}
    known: dict[str, str] = {}
    for name in names:
        word = name.casefold()
        other = known.setdefault(flags.get(word, word), name)
        if other != name:
            raise Unclear(
                f"column {column!r} holds {other!r} and {name!r}: they may be one class",
                [Reading({"task": Task.CLASSIFICATION.value}, "they are different classes")],
                "a class has to be written alike in all rows",
            )


def _describe_looks(names: Collection[str], rows: int, *, numeric: bool) -> str:
    """The likely kind of the values, where they are unlikely to be classes; else empty."""
    many = len(names) > _FEW or (2 * len(names) > rows >= _FEW)
    if many and not numeric:
        looks = (
            ("dates", _DATE.fullmatch),
            ("numbers written as text", _NUMBER.fullmatch),
            (
                "texts of several words",
                lambda text: len(text) > _LETTERS or len(text.split()) > _WORDS,
            ),
        )
        for word, holds in looks:
            if sum(bool(holds(name[:_LONGEST])) for name in names) >= _MOSTLY * len(names):
                return word
        if len(names) == rows <= MOST_CLASSES:
            return "a different text in every row"
    if len(names) > MOST_CLASSES:
        return f"more than {MOST_CLASSES} different values"
    return f"{len(names)} different numbers" if many and 2 * len(names) > rows and numeric else ""
