"""Decimal commas are read where they can be nothing else."""

import pytest

from activetest.labels.decimal_commas import may_be_thousands, read_decimal_commas
from activetest.labels.files import Label
from activetest.nouns.log import LABELLED


def read(*labels: str) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    rows = [Label("line 2", "a", "", LABELLED, label) for label in labels]
    return [row.label for row in read_decimal_commas(rows, notes)], notes


def test_commas_become_points_and_that_is_said():
    found, notes = read("1,5", "2", "", "1.234,25", "-3,1e-2", "1,234")
    assert found == ["1.5", "2", "", "1234.25", "-3.1e-2", "1.234"]
    assert notes == ["Commas are decimal commas, as in '1,5'"]


@pytest.mark.parametrize(
    "labels", [(), ("1", "x"), ("1,234", "2,000"), ("1,5", "2.5"), ("1,5,2",), ("a,5",)]
)
def test_other_files_stay_as_they_are(labels):
    assert read(*labels) == (list(labels), [])


@pytest.mark.parametrize(
    ("label", "known"), [("1,234", True), ("-12,345", True), ("0,234", False), ("1,2345", False)]
)
def test_a_comma_before_three_digits_may_be_of_thousands(label, known):
    assert may_be_thousands(label) == known
