"""Pictures that a report draws to files: of the groups of a question, or of maps."""

from pathlib import Path

import pytest

import activetest as at
from activetest.cli.app import main


@pytest.fixture
def study(begin_study, label_draws) -> at.Study:
    """A study that looks for the worse of two places, with 30 labels."""
    label_draws(begin_study(question="identify", groups=("place",)), 30)
    return at.Study.open()


def test_without_maps_the_groups_of_the_question_are_drawn(study, capsys):
    report = study.report(plot="groups.svg")
    drawn = Path("groups.svg").read_text()
    assert drawn.count("<polygon") == 2 and "place=barn" in drawn
    worst = report.assessment.groups[0]
    assert f"place={worst.group['place']}: {worst.estimate:.3g}" in drawn
    # The same numbers draw the same picture, which may replace itself.
    assert main(["report", "--plot", "groups.svg"]) == 0
    assert Path("groups.svg").read_text() == drawn
    assert "beliefs" not in report.to_json()


def list_files() -> list[Path]:
    """The files on the disk, without those in which a cache keeps a report's work."""
    return sorted(file for file in Path().rglob("*") if "results" not in file.parts)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"plot": ["a.svg", "b.svg"]}, "the groups are one picture"),
        ({"plot": "a.png"}, "is no .svg"),
        ({"plot": ".activetest/a.svg"}, "inside the study"),
        ({"plot": "pool.parquet"}, "is no .svg"),
        ({"plot": "a.svg", "maps": "place*predicted"}, "attribute"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(study, settings, problem):
    before = list_files()
    with pytest.raises(at.ActivetestError, match=problem):
        study.report(**settings)
    assert list_files() == before


def test_a_study_without_a_question_has_no_groups_to_draw(begin_study, label_draws):
    label_draws(begin_study(groups=("place",)), 20)
    with pytest.raises(at.ChoiceError, match="names 1 file, and `maps` 0 maps"):
        at.Study.open().report(plot="a.svg")
    assert main(["report", "--plot", "a.svg"]) == 2
    assert not Path("a.svg").exists()


def test_before_any_label_the_picture_is_the_prior(begin_study):
    begin_study(question="identify", groups=("place",))
    at.Study.open().report(plot="early.svg")
    assert "<polygon" in Path("early.svg").read_text()
