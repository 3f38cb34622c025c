"""Numbers as people and spreadsheets write them: 87,5 %, $1,200.50, 1'200, 802.269,48 €.

Texts are read together: all have the same sign (a percent sign or a currency) or none, and all can
have the same decimal mark, a point or a comma. Where they can have either, and would then be other
numbers, nobody knows. The patterns are those of Python and of RE2 alike.
"""

import re
from collections.abc import Iterable
from typing import Any

# Texts for "no value" in a column of numbers.
NO_VALUE = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A")
DECIMALS = POINT, COMMA = (".", ",")
PERCENT = "%"

_SPACE = " \t\u00a0\u2007\u2009\u202f"
MINUS = "\u2212"
_QUOTES = "'\u2019"
_CODES = (
    "USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|RON|TRY|BRL|MXN|ZAR|KRW|SGD|"
    "HKD|ILS|THB"
)
# A sign before or behind a number, alone.
SIGN = rf"%|[$€£¥₹₩₺₽₪฿]|(?:US|CA|A|R)\$|(?:{_CODES})|kr\.?|zł|Kč|Fr\.?"
# Behind the form of a column whose percent signs divide.
DIVIDED = "/100"
# Behind the form of a column in which words stand where there is no number.
WORDS = "/words"
_FORM = re.compile(rf"[.,](?:(?:{SIGN})(?:{DIVIDED})?)?(?:{WORDS})?")
# All that a text has beside its sign.
DIGITS = rf"[eE][+-]?[0-9]+|[-+{MINUS}().,{_QUOTES}0-9{_SPACE}]"

_PLAIN, _EXPONENT = r"[0-9]+", r"(?:[eE][+-]?[0-9]{1,2})?"


def _group(between: str) -> str:
    return rf"[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+"


def _make_pattern(decimal: str, thousands: str, more: str = "") -> str:
    groups = "|".join(map(_group, (thousands, f"[{_SPACE}]", f"[{_QUOTES}]")))
    whole = rf"(?:{groups}|{more}{_PLAIN})"
    number = rf"(?:{whole}(?:{decimal}[0-9]*)?|{decimal}[0-9]+){_EXPONENT}"
    return rf"^[+-]?[{_SPACE}]*{number}$"


# {decimal mark: what a number is whose sign is gone, as of strip_sign}; in India, two digits stand
# between commas.
PATTERNS = {
    POINT: _make_pattern(r"\.", ",", r"[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}|"),
    COMMA: _make_pattern(",", r"\."),
}
# {decimal mark: what else stands in a number and is no part of it}
IDLE = {POINT: rf"^\+|[,{_QUOTES}{_SPACE}]", COMMA: rf"^\+|[.{_QUOTES}{_SPACE}]"}
# A negative number of accountants.
BRACKETS = r"^\((.*)\)$"
_MARKS = re.compile(r"[.,]")


def find_sign(text: str) -> str | None:
    """The sign that stands beside a number, empty without one; None of what is no number.

    >>> find_sign("87,5 %"), find_sign("1200"), find_sign("12 May")
    ('%', '', None)
    """
    sign = re.sub(DIGITS, "", text)
    return sign if not sign or re.fullmatch(SIGN, sign) else None


def strip_sign(text: str) -> str:
    """A number without its sign, and without spaces around it and brackets.

    >>> strip_sign("(€ 1.200,50)")
    '-1.200,50'
    """
    text = re.sub(SIGN, "", text).replace(MINUS, "-")
    return re.sub(BRACKETS, r"-\1", text.strip())


def find_decimals(texts: Iterable[str]) -> list[str]:
    """The decimal marks that all these, as of strip_sign, can have; one where it is no matter.

    >>> find_decimals(["1,234"]), find_decimals(["1,234", "0,5"]), find_decimals(["1 234"])
    (['.', ','], [','], ['.'])
    """
    texts = list(texts)
    fitting = [
        mark for mark in DECIMALS if all(re.fullmatch(PATTERNS[mark], each) for each in texts)
    ]
    return fitting if any(map(_MARKS.search, texts)) else fitting[:1]


def read_number(text: str, decimal: str) -> float:
    """The number that a text is, as of strip_sign, with this decimal mark.

    >>> read_number("1.200,50", ","), read_number("1,200", "."), read_number("1,200", ",")
    (1200.5, 1200.0, 1.2)
    """
    return float(re.sub(IDLE[decimal], "", text).replace(decimal, "."))


def is_form(text: Any) -> bool:
    """Whether this says how a column is written: its decimal mark, its sign, and more behind it.

    >>> is_form(",%/100"), is_form(".$"), is_form("./words"), is_form(".x")
    (True, True, True, False)
    """
    return isinstance(text, str) and _FORM.fullmatch(text) is not None
