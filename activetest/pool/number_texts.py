"""Columns of text that hold numbers, as Arrow reads them; see nouns.written_numbers."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from activetest.nouns.written_numbers import (
    BRACKETS,
    DIGITS,
    DIVIDED,
    IDLE,
    MINUS,
    NO_VALUE,
    PATTERNS,
    PERCENT,
    POINT,
    SIGN,
    WORDS,
)

# Words for no grade; others, such as tie and none, are verdicts.
_NONE = (
    r"(?i)error|refus|exception|time.?out|pars|invalid|missing|unknown|skip|(un|not )graded|"
    r"^\W*$|^\W*(null|nan|n/?a)\W*$"
)


def read_texts(column: pa.Array, form: str) -> tuple[pa.Array, int | None]:
    """(R,) the numbers, and the first row whose text is none; None where all are."""
    mark, sign = form[0], form[1:].removesuffix(WORDS).removesuffix(DIVIDED)
    text = _drop_words(column)
    if form.endswith(WORDS):
        text = pc.if_else(pc.match_substring_regex(text, "[0-9]"), text, None)
    bodies = strip_sign(text, sign)
    fitting = pc.match_substring_regex(bodies, PATTERNS[mark])
    if sign:
        # A share without its percent sign would be on another scale.
        fitting = pc.and_(fitting, pc.match_substring(text, sign))
    row = pc.index(fitting, False).as_py()
    if row >= 0:
        return pa.nulls(len(column), pa.float64()), row
    plain = pc.replace_substring_regex(bodies, IDLE[mark], "")
    numbers = pc.replace_substring(plain, mark, ".").cast(pa.float64())
    return (pc.divide(numbers, 100.0) if DIVIDED in form else numbers), None


def keep_texts(column: pa.Array) -> pa.Array:
    """The texts that are there, as large_string; words for none are left out."""
    return _drop_words(column).drop_null()


def mixes_words(columns: Iterable[pa.Array]) -> bool:
    """Whether texts are numbers, of two values or more, and some words for none, but fewer."""
    words, numbers = 0, set[str]()
    for column in columns:
        texts = keep_texts(column)
        digits = pc.match_substring_regex(texts, "[0-9]")
        given, others = texts.filter(digits), texts.filter(pc.invert(digits))
        if (len(others) and len(given) <= len(others)) or not match_all(others, _NONE):
            return False
        if not match_all(given, PATTERNS[POINT]):
            return False
        words += len(others)
        numbers |= {*pc.unique(given)[:2].to_pylist()}
    return bool(words) and len(numbers) > 1


def find_sign(texts: pa.Array) -> str | None:
    """The sign that stands beside all numbers, empty without one; None for any other texts."""
    try:
        signs = pc.unique(pc.replace_substring_regex(texts, DIGITS, "")).to_pylist()
    except UnicodeDecodeError:
        # It is said where such a column is needed.
        return None
    return signs[0] if len(signs) == 1 and re.fullmatch(f"(?:{SIGN})?", signs[0]) else None


def strip_sign(texts: pa.Array, sign: str) -> pa.Array:
    """Numbers without this sign, and without spaces around them and brackets."""
    bodies = pc.replace_substring(texts, sign, "", max_replacements=1) if sign else texts
    bodies = pc.utf8_trim_whitespace(bodies)
    if pc.any(pc.match_substring(bodies, "(")).as_py():
        bodies = pc.replace_substring_regex(bodies, BRACKETS, r"-\1")
    if pc.any(pc.match_substring(bodies, MINUS)).as_py():
        bodies = pc.replace_substring(bodies, MINUS, "-")
    return bodies


def match_all(texts: pa.Array, pattern: str) -> bool:
    """Whether all texts fit a pattern; of none, they do."""
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _drop_words(column: pa.Array) -> pa.Array:
    """The texts, null where a word says that there is none."""
    plain = column.dictionary_decode() if kinds.is_dictionary(column.type) else column
    text = plain.cast(pa.large_string())
    words = pc.is_in(pc.utf8_trim_whitespace(text), pa.array(NO_VALUE, pa.large_string()))
    return pc.if_else(words, None, text)


def has_percents(roles: Mapping[str, Any]) -> bool:
    """Whether the predicted values of a pool, by the roles of its columns, have percent signs."""
    forms = dict(zip(roles.get("written", ()), roles.get("forms", ()), strict=True))
    return PERCENT in forms.get(roles["outputs"][0], "")
