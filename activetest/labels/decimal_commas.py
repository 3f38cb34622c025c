"""Numbers with a decimal comma, in files of which all numbers can have one."""

import re
from collections.abc import Sequence

from activetest.labels.files import Label
from activetest.labels.matching import parse_number

# Numbers with a decimal comma, with points before thousands or without; and what may be either.
_WITH_COMMA = re.compile(
    r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+),[0-9]+(?:[eE][+-]?[0-9]{1,2})?"
)
_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


def read_decimal_commas(rows: Sequence[Label], notes: list[str]) -> list[Label]:
    """The rows with points for the decimal commas of numbers, where all numbers can have commas.

    notes  gets a sentence where there are some

    Where every comma could also stand before thousands, as in 1,234, they stay: nobody knows.
    """
    numbers = {row.label: "" for row in rows if _WITH_COMMA.fullmatch(row.label)}
    pointed = any("." in row.label and parse_number(row.label) is not None for row in rows)
    if pointed or all(map(may_be_thousands, numbers)):
        return list(rows)
    notes.append(f"Commas are decimal commas, as in {next(iter(numbers))!r}")
    read = {label: label.replace(".", "").replace(",", ".") for label in numbers}
    return [row._replace(label=read.get(row.label, row.label)) for row in rows]


def may_be_thousands(label: str) -> bool:
    """Whether the comma of a number may stand before decimals or thousands.

    >>> may_be_thousands("1,234"), may_be_thousands("0,234"), may_be_thousands("1,5")
    (True, False, False)
    """
    return _THOUSANDS.fullmatch(label) is not None
