"""Settings as users give them: names, types and lists, by a table of each."""

import math
from pathlib import Path

import numpy as np
import pytest

from activetest.errors import ChoiceError
from activetest.nouns.arguments import LARGEST
from activetest.sampling.settings import complete_task, read_settings


@pytest.mark.parametrize(
    ("given", "where", "found"),
    [
        ({"metric": "f1"}, "choices", {"metric": ("f1",)}),
        ({"metric": ["f1", "error"]}, "choices", {"metric": ("f1", "error")}),
        ({"metric": iter(["f1"])}, "choices", {"metric": ("f1",)}),
        ({"surrogate": None}, "choices", {}),
        ({"floor": 0.5}, "choices", {"floor": 0.5}),
        ({"floor": np.float64(0.5)}, "choices", {"floor": 0.5}),
        ({"floor": np.array(0.5)}, "choices", {"floor": 0.5}),
        ({"floor": math.inf}, "choices", {"floor": math.inf}),
        ({"worst": np.int64(2)}, "choices", {"worst": 2}),
        ({"refit": 20}, "choices", {"refit": "20"}),
        ({"refit": "every"}, "choices", {"refit": "every"}),
        ({"prior_strength": 3}, "choices", {"prior_strength": 3}),
        ({"task": "regression"}, "columns", {"task": "regression"}),
        ({"groups": "place"}, "columns", {"groups": ("place",)}),
        ({"groups": []}, "columns", {"groups": ()}),
        ({"groups": ""}, "columns", {"groups": ()}),
        ({"groups": ["", "a"]}, "columns", {"groups": ("", "a")}),
        ({"features": ()}, "columns", {"features": ()}),
        ({"attributes": ""}, "columns", {"attributes": ()}),
        ({"classes": [0, 1]}, "columns", {"classes": ("0", "1")}),
        ({"positive": 1}, "columns", {"positive": "1"}),
        ({"threshold": 1}, "columns", {"threshold": 1}),
        ({"weight": ""}, "columns", {"weight": ""}),
    ],
)
def test_settings_are_sorted_by_who_needs_them(given, where, found):
    settings = read_settings(given)
    assert getattr(settings, where) == found
    other = {"choices": settings.columns, "columns": settings.choices}[where]
    assert other == {}


def test_files_seed_costs_and_two_groups_stand_for_themselves():
    settings = read_settings(
        {"train": Path("train.csv"), "other_models": "other.csv", "seed": 7, "costs": Path("c.csv")}
    )
    assert settings.files == {"train": "train.csv", "other_models": "other.csv"}
    assert (settings.seed, settings.costs, settings.texts) == (7, "c.csv", {})
    costs = {"cat": {"dog": 2.0}}
    settings = read_settings({"costs": costs, "compare": [1, "b"]})
    assert settings.costs is costs and settings.choices == {"compare": ("1", "b")}
    assert settings.texts == {}
    assert settings.files == {"train": None, "other_models": None}
    settings = read_settings({"compare": "a,b,c"})
    assert settings.texts == {"compare": "a,b,c"} and settings.choices == {"compare": ("a,b", "c")}


@pytest.mark.parametrize(
    ("given", "problem", "hint"),
    [
        ({"flor": 0.5}, "there is no choice 'flor'", "floor"),
        ({"strength": 3}, "there is no choice 'strength'", ""),
        ({"surrogates": "other.csv"}, "there is no choice 'surrogates'", "surrogate"),
        ({"task": ["regression"]}, "`task` is ['regression']", "it must be a text"),
        ({"metric": []}, "`metric` is empty", "name at least one"),
        ({"classes": ()}, "`classes` is empty", "name at least one"),
        ({"train": 5}, "`train` is of type int", "write it to a file, and give the path"),
        ({"train": {"a": 1}}, "`train` is of type dict", "give the path"),
        ({"costs": 5}, "`costs` is of type int", "or give a mapping {predicted: {true: cost}}"),
        ({"floor": [0.5]}, "`floor` is", "it must be a number"),
        ({"floor": LARGEST}, "`floor` is", "it is too large"),
        ({"floor": -LARGEST}, "`floor` is", "it is too large"),
        ({"worst": {}}, "`worst` is", "it must be a whole number"),
        ({"surrogate": b"model"}, "`surrogate` is", "it must be a text"),
        ({"seed": 1.5}, "`seed` is 1.5", "it must be a whole number"),
        ({"seed": True}, "`seed` is True", "it must be a whole number"),
        ({"seed": "1"}, "`seed` is '1'", "it must be a whole number"),
        ({"threshold": "0.5"}, "`threshold` is '0.5'", "it must be a number"),
        ({"threshold": True}, "`threshold` is True", "it must be a number"),
        ({"id": 1.5}, "`id` is 1.5", "it must be a text"),
        ({"id": 3}, "`id` is 3", "it must be a text"),
        ({"groups": [1]}, "`groups` is 1", "it must be a text"),
        ({"compare": [1.5, "b"]}, "`compare` is 1.5", "it must be a text"),
        ({"floor": np.array([0.5, 0.6])}, "`floor` is", "it must be a number"),
    ],
)
def test_settings_of_another_name_or_type_are_refused(given, problem, hint):
    with pytest.raises(ChoiceError) as error:
        read_settings(given)
    assert error.value.problem.startswith(problem)
    assert hint in error.value.hint
    if given.get("train") == 5:
        assert "mapping" not in error.value.hint


def test_simulations_take_several_values_of_some_settings_and_refuse_others():
    found = read_settings({"surrogate": ["model", "agreement"], "floor": 0.5}, simulated=True)
    assert found.choices == {"surrogate": ("model", "agreement"), "floor": 0.5}
    assert read_settings({"surrogate": "model"}, simulated=True).choices["surrogate"] == ("model",)
    with pytest.raises(ChoiceError, match="`surrogate` is"):
        read_settings({"surrogate": ["model", "agreement"]})
    for name, value, hint in (
        ("metric", "f1", "`metrics` and `aim` say"),
        ("seed", 1, "leave it out"),
    ):
        with pytest.raises(ChoiceError, match=f"`{name}` is no setting of a simulation") as error:
            read_settings({name: value}, simulated=True)
        assert error.value.hint.startswith(hint)


def test_metrics_of_values_make_a_column_of_scores_predicted_values():
    assert complete_task({}, ["rmse"]) == {"task": "regression"}
    assert complete_task({"id": "x"}, ["mae", "r2"]) == {"id": "x", "task": "regression"}
    assert complete_task({}, ["error"]) == complete_task({}, []) == {}
    assert complete_task({"task": "classification"}, ["rmse"]) == {"task": "classification"}
