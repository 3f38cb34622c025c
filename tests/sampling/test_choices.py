"""Choices that cannot work together are refused before anything is drawn."""

import pytest

from activetest.errors import ChoiceError
from activetest.study.stored import StoredStudy
from tests.makers import init


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"acquisition": "uniform", "selection": "top"}, "neither a top nor a power"),
        ({"acquisition": "uniform", "power": 2.0}, "neither a top nor a power"),
        ({"selection": "top", "power": 2.0}, "the same to any power"),
        ({"selection": "top", "interval": "anytime"}, "no anytime-valid test"),
        ({"surrogate": "model", "acquisition": "xwed"}, "compares members"),
        ({"surrogate": "model", "acquisition": "metric-information"}, "compares members"),
        (
            {"surrogate": "agreement", "acquisition": "metric-information"},
            "only says whether the prediction is right",
        ),
        ({"acquisition": "active-risk"}, "draws with replacement"),
        ({"acquisition": "oracle"}, "a study does not know the labels it is to buy"),
        ({"power": 17.0}, "power is 17"),
        ({"refit": "0"}, "refit is .0."),
    ],
)
def test_what_cannot_work_changes_nothing(study, wanted, problem):
    before = study.choices
    with pytest.raises(ChoiceError, match=problem):
        init("pool.parquet", **wanted)
    assert StoredStudy.open().choices == before


def test_the_model_itself_is_no_surrogate_where_it_says_nothing_of_its_doubts(folder):
    (folder / "hard.csv").write_text("id,pred\n1,cat\n2,dog\n3,cat\n")
    with pytest.raises(ChoiceError, match="needs probabilities"):
        init("hard.csv", surrogate="model")
    assert not (folder / ".activetest").exists()


def test_values_have_no_kinds_of_labels(folder):
    (folder / "values.csv").write_text("id,pred,x\n1,0.5,1\n2,1.25,2\n3,2.5,3\n")
    with pytest.raises(ChoiceError, match="is for classification, and this pool is regression"):
        init("values.csv", surrogate="forest", acquisition="metric-information")
    assert not (folder / ".activetest").exists()


def test_a_surrogate_takes_its_options_and_no_others(study):
    pytest.importorskip("torch")
    set_up = init("pool.parquet", surrogate="mc-dropout[dropout=0.5]", augment="none")
    assert set_up.choices.surrogate == "mc-dropout[dropout=0.5]"
    for wanted, problem in {
        "mc-dropout[dropout=0.9]": "does not take",
        "mc-dropout[rate=0.5]": "has no such option",
        "forest[trees=9]": "has no options",
    }.items():
        with pytest.raises(ChoiceError, match=problem):
            init("pool.parquet", surrogate=wanted)
    assert StoredStudy.open().choices.surrogate == "mc-dropout[dropout=0.5]"
