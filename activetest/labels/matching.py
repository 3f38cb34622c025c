"""Which class a label stands for: by the rule of equality, or only as a guess for the user.

A label equals a class if both are spelled alike after white space is stripped, else if exactly one
class is the same whole number: 2, 02 and 2.0 are one class. Only the digits 0 to 9 make numbers.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# Whole numbers may be written with zeros behind the point or an exponent of two digits.
_WHOLE = re.compile(r"[+-]?[0-9]{1,60}(?:\.[0-9]{0,60})?(?:[eE][+-]?[0-9]{1,2})?")
# Words that stand where an item has no label yet, and where somebody has declined to give one.
NO_LABEL = {"n/a", "na", "nan", "none", "null", "-", "?", "<na>", "#n/a"}
DECLINING = {"declined", "skipped", "skip", "unclear", "unsure", "unknown", "pending"}
# A file of so many labels of which none is a class is refused.
FEWEST = 10
_TRUE = {"true", "t", "yes", "y", "1", "positive", "pos"}
_FALSE = {"false", "f", "no", "n", "0", "negative", "neg"}
# A guess by the model's predictions takes its place only if it agrees with so many times as many.
_CLEARLY = 2


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
        self._stripped = _keep_unique((name.strip(), name) for name in classes)
        numbers = ((parse_whole(name), name) for name in classes)
        self._numbers = _keep_unique((each, name) for each, name in numbers if each is not None)

    def find(self, label: str) -> str | None:
        """The class, as the pool spells it; None where the label equals none, or several."""
        if label in self._classes:
            return label
        label = label.strip()
        if label in self._stripped:
            return self._stripped[label]
        number = parse_whole(label)
        if number is None:
            return None
        if number in self._numbers or not 0 <= number < len(self._places):
            return self._numbers.get(number)
        return self._places[number]


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


def guess_mapping(
    labels: Sequence[str], predicted: Sequence[str], classes: Sequence[str]
) -> LikelyMapping | None:
    """The classes that labels of which none equals a class may stand for; None without a guess.

    labels     (R,) as they were given
    predicted  (R,) the class that the model predicts for the same items
    classes    of the pool, in their order

    The first of these that covers every label: another spelling, the same digits of another script,
    or words for true and false. Else codes in the order of the classes, or the classes that the
    model mostly predicts where these labels are, if that fits clearly better. Else the spelling of
    some labels.
    """
    distinct = sorted(set(labels))
    spelled = guess_by_spelling(distinct, classes)
    if spelled and len(spelled.classes) == len(distinct):
        return spelled
    if certain := _guess_by_digits(distinct, classes) or _guess_by_truth(distinct, classes):
        return certain

    def count_agreeing(guess: LikelyMapping) -> int:
        pairs = zip(labels, predicted, strict=True)
        return sum(guess.classes.get(label) == name for label, name in pairs)

    ordered = max(_guess_by_order(distinct, classes), key=count_agreeing, default=None)
    common = _guess_by_predictions(labels, predicted)
    if ordered and common and count_agreeing(common) >= _CLEARLY * max(count_agreeing(ordered), 1):
        return common
    return ordered or common or spelled


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


def _translate_digits(text: str) -> str:
    """The text with the digits 0 to 9 for those of every script."""
    return "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in text)


def _guess_by_truth(labels: Sequence[str], classes: Sequence[str]) -> LikelyMapping | None:
    """Where labels and two classes are words for true and false."""
    values = {name: _read_truth(name) for name in (*labels, *classes)}
    names = {values[name]: name for name in classes}
    if None in values.values() or len(classes) != 2 or len(names) != 2:
        return None
    return LikelyMapping(
        {label: names[values[label]] for label in labels}, "they are words for true and false"
    )


def _read_truth(name: str) -> bool | None:
    word = name.strip().casefold()
    return True if word in _TRUE else False if word in _FALSE else None


def _is_whole(name: str) -> bool:
    return parse_whole(name) is not None


def _is_numeric(name: str) -> bool:
    """Whether this is a number in any script: 0.5, 1e5, 1/2 and Arabic or Chinese numerals are."""
    if parse_number(_translate_digits(name)) is not None:
        return True
    letters = any(each.isalpha() and not each.isnumeric() for each in name)
    return not letters and any(map(str.isnumeric, name))


def _guess_by_order(labels: Sequence[str], classes: Sequence[str]) -> Iterator[LikelyMapping]:
    """Where labels are codes of classes that have names, from 0 or from 1; or the reverse."""
    codes = {label: parse_whole(label) for label in labels}
    numbered = [_is_whole(name) for name in classes]
    if None not in codes.values() and not any(numbered):
        for first in (0, 1):
            places = {label: (code or 0) - first for label, code in codes.items()}
            if all(0 <= place < len(classes) for place in places.values()):
                named = {label: classes[place] for label, place in places.items()}
                yield LikelyMapping(named, "in the order of the classes")
    elif not any(map(_is_numeric, labels)) and all(numbered) and len(labels) == len(classes):
        named = dict(zip(labels, classes, strict=True))
        yield LikelyMapping(named, "names from A to Z, in the order of the codes")


def _guess_by_predictions(labels: Sequence[str], predicted: Sequence[str]) -> LikelyMapping | None:
    """Where the model predicts another class for most items of each label."""
    counts: dict[str, Counter[str]] = {}
    for label, name in zip(labels, predicted, strict=True):
        counts.setdefault(label, Counter())[name] += 1
    found = {}
    for label in sorted(counts):
        ((name, count),) = counts[label].most_common(1)
        if count < 2 or 2 * count <= counts[label].total():
            return None
        found[label] = name
    if not found or len(set(found.values())) < len(found):
        return None
    return LikelyMapping(found, "the model predicts these classes for most of these items")


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
