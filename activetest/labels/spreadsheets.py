"""Texts as spreadsheets change them: numbers of ids, and dates of classes such as 1-2.

They take 00123 for 123, write 123456000000 as 1.23456E+11, and show 1-2 as 2-Jan or 1/2/2024, in
the words and the order of the country.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from datetime import date, timedelta

from activetest.nouns.canonical import list_forms

# A day of a month, a month of a year (its last two digits), or a day of such a year.
_Reading = tuple[str, int, int] | tuple[str, int, int, int]

_SCIENTIFIC = re.compile(r"[+-]?[0-9](?:[.,][0-9]+)?[eE]\+?[0-9]{1,3}")
_EXPONENT = re.compile(r"[0-9]{1,30}[eE][+-]?[0-9]{1,3}")
# Digits of a number that spreadsheets keep.
KEPT = 15
# Blanks around an id, with those that have no width and come with what is pasted.
_AROUND = re.compile(r"^[\s\u200b-\u200d\u2060\ufeff]+|[\s\u200b-\u200d\u2060\ufeff]+$")
_WHOLE = re.compile(r"([0-9]{1,30})(?:[.,]0+)?")
_GROUPED = re.compile(r"[0-9]{1,3}(?:([.,' \u00a0\u2009\u202f\u2019])[0-9]{3})(?:\1[0-9]{3})*")
_NUMBERS = re.compile(r"([0-9]{1,4})[-/. ]{1,2}([0-9]{1,4})(?:[-/. ]{1,2}([0-9]{1,4}))?\.?")
_DAY_FIRST = re.compile(r"([0-9]{1,2})[-./ ]{0,2}([^\W\d_]{3,9})\.?(?:[-./ ]{1,2}([0-9]{2,4}))?")
_MONTH_FIRST = re.compile(r"([^\W\d_]{3,9})\.?[-./ ]{0,2}([0-9]{1,4})(?:,? ([0-9]{4}))?")
_TIME = re.compile(r"[ T]0?0:00(?::00(?:\.0+)?)?$")
_MONTHS = (
    "jan january januar janv janvier gen gennaio ene enero januari",
    "feb february februar fev fevr fevrier febbraio febrero fevereiro februari",
    "mar march marz mrz maerz mars marzo marco mrt maart",
    "apr april avr avril aprile abr abril",
    "may mai mag maggio mayo maio mei maj",
    "jun june juni juin giu giugno junio junho",
    "jul july juli juil juillet lug luglio julio julho",
    "aug august aout ago agosto augustus augusti",
    "sep sept september septembre set settembre septiembre setembro",
    "oct october okt oktober octobre ott ottobre octubre out outubro",
    "nov november novembre noviembre novembro",
    "dec december dez dezember decembre dic dicembre diciembre dezembro",
)
_MONTH = {word: month for month, words in enumerate(_MONTHS, 1) for word in words.split()}
# Days are counted from here in cells that are shown as numbers; so many are of this century.
_YEARS = range(1900, 2100)
_FIRST_DAY, _DAYS = date(1899, 12, 30), range(36_526, 73_051)


class DateMatcher:
    """Finds the classes of which a spreadsheet may have made a date."""

    def __init__(self, classes: Iterable[str]) -> None:
        self._classes = tuple(classes)
        self._read: dict[_Reading, list[str]] = {}
        for name in self._classes:
            for reading in _read_numbers(name) | _read_words(name):
                self._read.setdefault(reading, []).append(name)

    def find(self, label: str) -> tuple[str, ...]:
        """The classes that a label which is none of them may be, in order."""
        if not self._read:
            return ()
        readings = _read_date(label) | _read_day_number(label)
        found = {name for reading in readings for name in self._read.get(reading, ())}
        return tuple(sorted(found))

    def is_suspect(self, label: str) -> bool:
        """Whether a label is a date where some of the classes could become dates, too."""
        return bool(self._read) and (bool(_read_date(label)) or bool(self.find(label)))

    @property
    def example(self) -> str:
        """A class of which a spreadsheet makes a date."""
        return next(iter(self._read.values()))[0]


def is_date(text: str) -> bool:
    """Whether a text is a date as spreadsheets show them: 2-Jan, 01. Mai, 1/2/2024.

    >>> is_date("2-Jan"), is_date("02.01.2024"), is_date("2024-01-02 00:00:00"), is_date("1-2")
    (True, True, True, False)
    """
    return bool(_read_date(text))


def is_scientific(text: str) -> bool:
    """Whether a text is a number of which digits may be lost, such as 1.23456E+11."""
    return _SCIENTIFIC.fullmatch(text.strip()) is not None


def is_rounded(text: str) -> bool:
    """Whether a text is a number of which a spreadsheet may have dropped digits: it keeps 15.

    >>> is_rounded("12345678901234500"), is_rounded("12345678901234567"), is_rounded("1000")
    (True, False, False)
    """
    return len(text) > KEPT and text.isdecimal() and not text[KEPT:].strip("0")


def loses(text: str) -> bool:
    """Whether a spreadsheet makes of a text what nobody can take back: a date, or a rounded number.

    >>> loses("1-2"), loses("12E5"), loses("1234567890123456"), loses("00123"), loses("row-1")
    (True, True, True, False, False)
    """
    digits = text.isdecimal() and len(text) > KEPT
    return (
        digits
        or _EXPONENT.fullmatch(text) is not None
        or bool(_read_numbers(text) | _read_date(text))
    )


def list_meant(id: str, widths: Collection[int]) -> list[str]:
    """The ids that one may be that a program wrote as a number, with blanks, or in another form.

    widths  lengths of ids, for zeros that were dropped

    >>> list_meant("123 ", [5]), list_meant("1000.0", [4]), list_meant("1,234", [])
    (['123', '00123', '123.0'], ['1000'], ['1234'])
    """
    bare, *others = list_forms(_AROUND.sub("", id))
    found = [bare, *others]
    if number := _WHOLE.fullmatch(bare):
        digits = number.group(1).lstrip("0") or "0"
        found += [digits, *(digits.zfill(width) for width in sorted(widths)), f"{digits}.0"]
    if grouped := _GROUPED.fullmatch(bare):
        found.append(bare.replace(grouped.group(1), ""))
    return [each for each in dict.fromkeys(found) if each != id]


def _read_numbers(text: str) -> set[_Reading]:
    """The dates that numbers with dashes, slashes or points between them may be read as."""
    found = _NUMBERS.fullmatch(text.strip())
    if not found:
        return set()
    first, second, third = found.group(1, 2, 3)
    if third is not None:
        return set(_order(int(first), int(second), int(third)))
    readings: set[_Reading] = set()
    for month, other in ((int(first), int(second)), (int(second), int(first))):
        readings |= _name_month(month, other)
    return readings


def _read_words(text: str) -> set[_Reading]:
    """The dates that the name of a month and a number may be read as: 2-Jan, MARCH1, May 2024."""
    text = text.strip()
    if found := _DAY_FIRST.fullmatch(text):
        number, word, year = found.group(1, 2, 3)
    elif found := _MONTH_FIRST.fullmatch(text):
        word, number, year = found.group(1, 2, 3)
    else:
        return set()
    month = _MONTH.get(_fold(word))
    if month is None:
        return set()
    readings = _name_month(month, int(number))
    return readings | ({("day", int(year) % 100, month, int(number))} if year else set())


def _read_date(text: str) -> set[_Reading]:
    """The dates that a text is which a spreadsheet shows as one."""
    text = _TIME.sub("", text.strip())
    found = _NUMBERS.fullmatch(text)
    readings = set(_read_words(text))
    if not found or found.group(3) is None:
        return readings
    parts = [int(part) for part in found.group(1, 2, 3)]
    if max(parts[0], parts[2]) < 1900 and len(found.group(3)) != 2:
        return readings
    for reading in _order(*parts):
        _, year, month, day = reading
        readings |= {reading, ("md", month, day)}
        readings |= {("my", month, year)} if day == 1 else set()
    return readings


def _read_day_number(text: str) -> set[_Reading]:
    """The dates that a number is as which spreadsheets keep days."""
    if not text.isascii() or not text.isdigit() or len(text) != 5 or int(text) not in _DAYS:
        return set()
    day = _FIRST_DAY + timedelta(days=int(text))
    readings: set[_Reading] = {("md", day.month, day.day)}
    readings.add(("day", day.year % 100, day.month, day.day))
    return readings | ({("my", day.month, day.year % 100)} if day.day == 1 else set())


def _order(first: int, second: int, third: int) -> Iterator[tuple[str, int, int, int]]:
    """The days that three numbers are in the orders in which countries write them."""
    for year, month, day in (
        (first, second, third),
        (third, first, second),
        (third, second, first),
    ):
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield "day", year % 100, month, day


def _name_month(month: int, other: int) -> set[_Reading]:
    """A month with a day or a year."""
    if not 1 <= month <= 12:
        return set()
    found: set[_Reading] = {("md", month, other)} if 1 <= other <= 31 else set()
    return found | ({("my", month, other % 100)} if other < 100 or other in _YEARS else set())


def _fold(word: str) -> str:
    """A word in lower case and without accents."""
    letters = unicodedata.normalize("NFD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))
