"""[report] of study.toml: one declaration, and clear errors."""

import pytest

from activetest.errors import ChoiceError
from activetest.nouns.report_settings import ReportSettings, read_report_settings

ENTRIES = {
    "require": ["error<=0.1", "f1>=0.7"],
    "output": ["report.json"],
    "metric": ["error", "recall[a,b]"],
    "group": ["place"],
    "difference": ["place"],
    "interval": "anytime",
    "bound": 10.0,
}


def test_what_is_written_is_read_again():
    found = read_report_settings(ENTRIES, "study.toml, [report]")
    assert found.list_entries() == ENTRIES
    assert read_report_settings({}, "") == ReportSettings()
    assert ReportSettings().list_entries() == {}


def test_one_text_is_a_list_of_one():
    assert read_report_settings({"require": "error<=0.1"}, "").require == ("error<=0.1",)


@pytest.mark.parametrize(
    "entries",
    [
        {"requires": []},
        {"require": 3},
        {"require": [3]},
        {"require": {"error": 1}},
        {"output": [" "]},
        {"interval": "wide"},
        {"interval": 3},
        {"bound": "x"},
        {"bound": True},
        3,
    ],
)
def test_mistakes_say_where_they_stand(entries):
    with pytest.raises(ChoiceError) as error:
        read_report_settings(entries, "study.toml, [report]")
    assert error.value.problem.startswith("study.toml, [report]")
    assert "`" not in error.value.problem
