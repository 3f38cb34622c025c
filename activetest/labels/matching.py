"""The class that a label stands for: by the rule of equality, or only as a guess for the user.

A label equals a class if both are spelled alike after white space is stripped, in any form that
Unicode calls equal, else if exactly one class is the same whole number: 2, 02 and 2.0 are one
class. Only the digits 0 to 9 make numbers. A list of one label is that label, and a decimal comma
the point of a class that is a number.
"""

import re
import unicodedata
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

from activetest.labels.meanings import read_meanings
from activetest.nouns.canonical import make_canonical
from activetest.nouns.class_sets import read_list

Key = TypeVar("Key", bound=Hashable)

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# Whole numbers may be written with zeros behind the point or an exponent of two digits.
_WHOLE = re.compile(r"[+-]?[0-9]{1,60}(?:\.[0-9]{0,60})?(?:[eE][+-]?[0-9]{1,2})?")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]{1,30},[0-9]{1,30}")
# A list of one text as Python writes it, or of one number.
_QUOTED = re.compile(r"\[\s*(?:'([^'\\]+)'|([0-9.eE+-]{1,40}))\s*\]")
# Words that stand where an item has no label yet, and where somebody has declined to give one.
NO_LABEL = {"n/a", "na", "nan", "none", "null", "-", "?", "<na>", "#n/a"}
DECLINING = {"declined", "skipped", "skip", "unclear", "unsure", "unknown", "pending"}
# A file of so many labels of which none is a class is refused.
FEWEST = 10
# A number with words before or behind it, as in LABEL_1 and 5 stars.
_WITH_NUMBER = re.compile(
    r"(?P<before>[^0-9+.,-]{0,40})(?P<number>[0-9]{1,9})(?P<after>[^0-9]{0,40})"
)


@dataclass(frozen=True)
class LikelyMapping:
    """Classes that labels may stand for: a guess, for the user to check.

    classes  {label: class}; two labels may stand for one class
    basis    what the guess rests on, in words
    """

    classes: Mapping[str, str]
    basis: str


class ClassMatcher:
    """Finds the class that a label equals, or whose number it is."""

    def __init__(self, classes: Collection[str], *, numbered: bool = False) -> None:
        """numbered: a whole number that is no class is the place of one, from 0 on."""
        self._places = tuple(classes) if numbered else ()
        self._classes = set(classes)
        self._stripped = _keep_unique((make_canonical(name.strip()), name) for name in classes)
        numbers = ((parse_whole(name), name) for name in classes)
        self._numbers = _keep_unique((each, name) for each, name in numbers if each is not None)

    def find(self, label: str) -> str | None:
        """The class, as the pool spells it; None where the label equals none, or several."""
        if label in self._classes:
            return label
        label = make_canonical(label.strip())
        if label in self._stripped:
            return self._stripped[label]
        if single := read_single(label):
            return self.find(single)
        if _DECIMAL_COMMA.fullmatch(label) and not self._stripped.keys() >= set(label.split(",")):
            return self._stripped.get(label.replace(",", "."))
        return self._find_number(label)

    def _find_number(self, label: str) -> str | None:
        number = parse_whole(label)
        if number is None:
            return None
        if number in self._numbers or not 0 <= number < len(self._places):
            return self._numbers.get(number)
        return self._places[number]


def read_single(label: str) -> str | None:
    """The label in a list of one, as JSON or Python write it; None for any other text.

    >>> read_single('["dog"]'), read_single("['dog']"), read_single('["a", "b"]')
    ('dog', 'dog', None)
    """
    if not (label.startswith("[") and label.endswith("]")):
        return None
    quoted = _QUOTED.fullmatch(label)
    found = (quoted.group(1) or quoted.group(2),) if quoted else read_list(label)
    return found[0].strip() or None if len(found) == 1 else None


def says_no_label(label: str) -> bool:
    """Whether this is a word that stands where there is no label, unless a class is so spelled."""
    return label.strip().casefold() in NO_LABEL | DECLINING


def parse_whole(text: str) -> int | None:
    """The whole number that a text is, such as 2, 02 or 2.0; None for anything else."""
    text = text.strip()
    if not _WHOLE.fullmatch(text):
        return None
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else None


def parse_number(text: str) -> float | None:
    """The number that a text is, with a point in decimals; None for anything else.

    Unlike float() it takes no digits of other scripts, no underscores, no nan and no inf.
    """
    text = text.strip()
    return float(text) if _NUMBER.fullmatch(text) else None


def guess_mapping(labels: Collection[str], classes: Sequence[str]) -> LikelyMapping | None:
    """The classes that labels of which none equals a class may stand for; None without a guess.

    By their spelling, by their number in the digits of another script or in the names of classes,
    as in LABEL_1, and by the meaning of their words. Neither the order of classes nor what the
    model predicts tells anything: a wrong guess would make a bad model look good.
    """
    distinct = sorted(set(labels))
    spelled = guess_by_spelling(distinct, classes)
    if spelled and len(spelled.classes) == len(distinct):
        return spelled
    for guess in (_guess_by_digits, _guess_by_number, guess_by_comma):
        if certain := guess(distinct, classes):
            return certain
    meant = read_meanings(distinct, classes)
    if not meant:
        return spelled
    found = meant | dict(spelled.classes if spelled else {})
    named = {label: found[label] for label in distinct if label in found}
    return LikelyMapping(named, "by the meaning of the words")


def guess_by_spelling(labels: Collection[str], classes: Collection[str]) -> LikelyMapping | None:
    """Classes that differ from labels only in case, width, spaces or punctuation."""
    folded = _keep_unique((_fold(name), name) for name in classes if parse_number(name) is None)
    words = [label for label in labels if parse_number(label) is None]
    found = {label: folded[_fold(label)] for label in words if _fold(label) in folded}
    return LikelyMapping(found, "they differ in spelling only") if found else None


def _guess_by_digits(labels: Sequence[str], classes: Sequence[str]) -> LikelyMapping | None:
    """Where labels are numbers of classes in the digits of other scripts."""
    find = ClassMatcher(classes).find
    found = {label: find(_translate_digits(label)) for label in labels}
    named = {label: name for label, name in found.items() if name is not None}
    if len(named) < len(found):
        return None
    return LikelyMapping(named, "the same digits of another script")


def guess_by_comma(labels: Collection[str], classes: Sequence[str]) -> LikelyMapping | None:
    """Where labels are whole numbers with decimal commas, such as 2,0, and are no lists of classes.

    0,0 is none, as nobody lists a class twice.
    """
    parts = [{*label.split(",")} for label in labels if _DECIMAL_COMMA.fullmatch(label)]
    known = set(classes)
    if len(parts) < len(labels) or all(len(each) > 1 and each <= known for each in parts):
        return None
    find = ClassMatcher(classes).find
    found = {label: find(label.replace(",", ".")) for label in labels}
    named = {label: name for label, name in found.items() if name is not None}
    return LikelyMapping(named, "decimal commas") if len(named) == len(found) else None


def _translate_digits(text: str) -> str:
    """The text with the digits 0 to 9 for those of every script."""
    return "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in text)


def _guess_by_number(labels: Sequence[str], classes: Sequence[str]) -> LikelyMapping | None:
    """Where classes are numbers with the same words around them and labels the numbers; or so."""
    for numbered, plain, turn in ((classes, labels, False), (labels, classes, True)):
        parts = [_WITH_NUMBER.fullmatch(name.strip()) for name in numbered]
        # 1 star and 2 stars are alike.
        around = {(found["before"], found["after"].rstrip("s")) for found in parts if found}
        if None in parts or len(around) != 1 or around == {("", "")}:
            continue
        named = {
            int(found["number"]): name
            for found, name in zip(parts, numbered, strict=True)
            if found is not None
        }
        numbers = {name: parse_whole(name) for name in plain}
        if len(named) < len(numbered):
            continue
        if not turn and all(number in named for number in numbers.values()):
            found = {name: named[number or 0] for name, number in numbers.items()}
            return LikelyMapping(found, "the number in the names of the classes")
        places = {number: name for name, number in numbers.items() if number is not None}
        if turn and all(number in places for number in named):
            found = {name: places[number] for number, name in named.items()}
            return LikelyMapping(found, "the number in the labels")
    return None


def _fold(name: str) -> str:
    """The letters and digits of a name, in lower case and of one width; a sign stays as it is."""
    text = unicodedata.normalize("NFKC", name).casefold().strip()
    return "".join(filter(str.isalnum, text)) or text


def _keep_unique(pairs: Iterable[tuple[Key, str]]) -> dict[Key, str]:
    """{key: value} of the keys that have one value."""
    found: dict[Key, set[str]] = {}
    for key, value in pairs:
        found.setdefault(key, set()).add(value)
    return {key: values.pop() for key, values in found.items() if len(values) == 1}
