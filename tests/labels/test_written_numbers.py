"""Labels that people wrote are numbers where they can be read in one way only."""

import pytest

from activetest.labels.files import Label
from activetest.labels.written_numbers import describe_marks, read_written_numbers
from activetest.nouns.log import LABELLED


def read(*labels: str, **how) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    rows = [Label("line 2", "a", "", LABELLED, label) for label in labels]
    return [row.label for row in read_written_numbers(rows, notes, **how)], notes


def test_commas_become_points_and_that_is_said():
    found, notes = read("1,5", "2", "", "1.234,25", "-3,1e-2", "1,234")
    assert found == ["1.5", "2.0", "", "1234.25", "-0.031", "1.234"]
    assert notes == ["Labels are numbers written as text: '1,5' is 1.5"]


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        (["$1,200.50", "$3"], ["1200.5", "3.0"]),
        (["1.200,50 €", "n/a", "0,5 €"], ["1200.5", "n/a", "0.5"]),
        (["1'200", "1 234", "1\u00a0234"], ["1200.0", "1234.0", "1234.0"]),
        (["(1,200.50)", "- 3"], ["-1200.5", "-3.0"]),
        (["1.234", "1.234.567"], ["1234.0", "1234567.0"]),
        (["1,23,456", "7"], ["123456.0", "7.0"]),
    ],
)
def test_signs_and_separators_are_left_out(labels, numbers):
    found, notes = read(*labels)
    assert found == numbers and len(notes) == 1


@pytest.mark.parametrize(
    "labels",
    [
        *((), ("1", "x"), ("1.234", "2.5"), ("1,234", "2,000"), ("1,5", "2.5"), ("1,5,2",)),
        *(("a,5",), ("$1.50", "€ 2.50"), ("50 %", "0.5"), ("50 %", "60 %"), ("12 May", "1,5 Jan")),
    ],
)
def test_other_files_stay_as_they_are(labels):
    assert read(*labels) == (list(labels), [])


def test_the_mark_is_as_the_user_says_where_it_can_be_either():
    assert read("1,234", "2,000", decimal=",")[0] == ["1.234", "2.0"]
    assert read("1,234", "2,000", decimal=".")[0] == ["1234.0", "2000.0"]
    # Elsewhere it is what it must be.
    assert read("1,5", decimal=".")[0] == ["1.5"]


def test_percent_signs_are_left_out_where_the_pool_has_some_too():
    assert read("87,5 %", "3%", percent=True)[0] == ["87.5", "3.0"]


@pytest.mark.parametrize(
    ("labels", "point", "comma"),
    [
        (["$12", "$1,234"], "'$1,234' is 1,234", "1.234"),
        (["1.234 €"], "'1.234 €' is 1.234", "1,234"),
    ],
)
def test_what_can_be_either_is_asked_about(labels, point, comma):
    assert describe_marks(labels) == (
        f"{point} with a decimal point, and {comma} with a decimal comma"
    )


@pytest.mark.parametrize("labels", [["0,234"], ["1,2345"], ["1 234"], ["1,234", "$1,234"], ["x"]])
def test_what_can_be_one_number_only_is_no_question(labels):
    assert describe_marks(labels) == ""
