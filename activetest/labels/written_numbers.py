"""Labels that are numbers as people write them, in files of which all numbers can be read alike."""

import re
from collections.abc import Sequence

from activetest.labels.files import Label
from activetest.labels.matching import parse_number
from activetest.nouns.written_numbers import (
    DECIMALS,
    PERCENT,
    find_decimals,
    find_sign,
    read_number,
    strip_sign,
)

# The settings that say which mark it is.
MARKS = tuple({"decimal": mark} for mark in DECIMALS)
_DIGIT = re.compile(r"[0-9]")


def read_written_numbers(
    rows: Sequence[Label], notes: list[str], *, decimal: str | None = None, percent: bool = False
) -> list[Label]:
    """The rows with numbers as a program writes them, where there is one way to read all of them.

    notes    gets a sentence where some are written otherwise
    decimal  the decimal mark of numbers that can have either
    percent  whether the pool has percent signs, too: without them, nobody knows the scale

    Labels that are no numbers stay, and all stay where they have different signs or marks.
    """
    bodies = {row.label: strip_sign(row.label) for row in rows if may_be_number(row.label)}
    if all(parse_number(label) is not None for label in bodies):
        return list(rows)
    signs = {find_sign(label) for label in bodies}
    marks = find_decimals(bodies.values())
    mark = decimal if decimal in marks else next(iter(marks), None)
    unclear = len(marks) > 1 and decimal is None
    if mark is None or unclear or len(signs) > 1 or (PERCENT in signs and not percent):
        return list(rows)
    read = {label: repr(read_number(body, mark)) for label, body in bodies.items()}
    example = next(label for label in read if parse_number(label) is None)
    notes.append(f"Labels are numbers written as text: {example!r} is {float(read[example]):,g}")
    return [row._replace(label=read.get(row.label, row.label)) for row in rows]


def describe_marks(labels: Sequence[str]) -> str:
    """The number of a label with each decimal mark, of which all can have either; else empty."""
    found = [label for label in labels if may_be_number(label)]
    bodies = [strip_sign(label) for label in found]
    if len(find_decimals(bodies)) < 2 or len({*map(find_sign, found)}) > 1:
        return ""
    # Of the marks of thousands and decimals, a comma is the likelier to be unclear.
    body, label = max(zip(bodies, found, strict=True), key=lambda each: "," in each[0])
    point, comma = (f"{read_number(body, mark):,g}" for mark in DECIMALS)
    return f"{label!r} is {point} with a decimal point, and {comma} with a decimal comma"


def may_be_number(label: str) -> bool:
    """Whether a label is a number, however it is written.

    >>> may_be_number("87,5 %"), may_be_number("$1,200"), may_be_number("12 May")
    (True, True, False)
    """
    signed = _DIGIT.search(label) and find_sign(label) is not None
    return bool(signed and find_decimals([strip_sign(label)]))
