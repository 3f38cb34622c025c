"""Changes of classes and ids by spreadsheets."""

import pytest

from activetest.labels.spreadsheets import (
    DateMatcher,
    is_date,
    is_rounded,
    is_scientific,
    list_meant,
)

AGES = ["1-2", "3-5", "6-20", "21+"]


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("2-Jan", "1-2"),
        ("02. Jan", "1-2"),
        ("2-janv.", "1-2"),
        ("Jan-02", "1-2"),
        ("1/2/2024", "1-2"),
        ("01.02.2024", "1-2"),
        ("2024-01-02 00:00:00", "1-2"),
        ("2024-01-02T00:00:00", "1-2"),
        ("45293", "1-2"),
        ("5-M\u00e4r", "3-5"),
        ("03. Mai", "3-5"),
        ("6/20/2024", "6-20"),
        ("Jun-20", "6-20"),
        ("20-Jun-24", "6-20"),
    ],
)
def test_a_date_may_be_a_class_that_a_spreadsheet_has_changed(label, name):
    assert DateMatcher(AGES).find(label) == (name,)
    assert DateMatcher(AGES).is_suspect(label)


@pytest.mark.parametrize(
    ("classes", "label", "found"),
    [
        (["MARCH1", "SEPT2"], "1-Mar", ("MARCH1",)),
        (["MARCH1", "SEPT2"], "2-Sep", ("SEPT2",)),
        (["1.5", "2.5"], "01. Mai", ("1.5",)),
        (["2024-01-02", "x"], "1/2/2024", ("2024-01-02",)),
        (["1/2", "2/1"], "2-Jan", ("1/2", "2/1")),
        (["5-2024", "x"], "May-24", ("5-2024",)),
        (["1-50", "x"], "1/1/1950", ("1-50",)),
        (["10-12-14"], "2010-12-14", ("10-12-14",)),
    ],
)
def test_names_of_genes_numbers_and_dates_are_classes_like_these(classes, label, found):
    assert DateMatcher(classes).find(label) == found


@pytest.mark.parametrize("label", ["not stated", "21", "45", "1-2", "2-Foo", "99999", "0-Jan"])
def test_what_is_no_date_is_no_such_class(label):
    assert DateMatcher(["3-5", "6-20"]).find(label) == ()


def test_a_date_of_no_class_is_suspect_only_where_classes_may_be_dates():
    assert DateMatcher(AGES).find("12-Dec") == ()
    assert DateMatcher(AGES).is_suspect("12-Dec") and DateMatcher(AGES).example == "1-2"
    assert not DateMatcher(["cat", "5", "100-200"]).is_suspect("12-Dec")
    assert not DateMatcher(AGES).is_suspect("other")


@pytest.mark.parametrize(
    ("text", "known"),
    [("2-Jan", True), ("31.12.2024", True), ("1-2", False), ("2", False), ("cat", False)],
)
def test_what_is_a_date(text, known):
    assert is_date(text) == known


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("1.23456E+11", True),
        ("1,23456E+11", True),
        ("1E+15", True),
        ("1.2e+05", True),
        ("12E5", False),
        ("1.5", False),
        ("E+11", False),
    ],
)
def test_what_is_in_scientific_notation(text, known):
    assert is_scientific(text) == known


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("1234567890123450", True),
        ("123456789012345000", True),
        ("1234567890123456", False),
        ("123456789012340", False),
        ("a234567890123450", False),
    ],
)
def test_what_has_lost_digits(text, known):
    assert is_rounded(text) == known


@pytest.mark.parametrize(
    ("id", "widths", "meant"),
    [
        ("123", [5, 7], {"00123", "0000123", "123.0"}),
        ("123", [2, 3], {"123.0"}),
        ("1000.0", [4], {"1000"}),
        ("1000,00", [4], {"1000", "1000.0"}),
        (" p1 ", [2], {"p1"}),
        ("\ufeff p1\u200b", [2], {"p1"}),
        ("1,234", [], {"1234"}),
        ("1\u00a0234\u00a0567", [], {"1234567"}),
        ("1,234.567", [], set()),
        ("caf\u00e9", [], {"cafe\u0301"}),
        ("p1", [4], set()),
        ("row-3", [6], set()),
    ],
)
def test_an_id_may_have_lost_zeros_and_got_decimals_blanks_and_signs(id, widths, meant):
    assert set(list_meant(id, widths)) == meant
