"""Arguments of a report: a row of a table for each argument that makes no sense."""

import math
from types import SimpleNamespace

import pytest

from activetest.errors import ActivetestError, ChoiceError
from activetest.nouns.choices import Choices
from activetest.study.report import (
    _check_arguments,
    _check_columns,
    _check_population,
    _find_floor,
    _find_usual,
    _read_population,
)

PLAIN = Choices("error", ("error",), "agreement")


def check(estimators=(), level=0.95, **named):
    """The check of arguments; what is not named is not given."""
    names = ("interval", "half_width", "bound", "rope", "reference")
    request = SimpleNamespace(**(dict.fromkeys(names) | named))
    _check_arguments(estimators, request, level)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"estimators": ("naive",)}, "the estimator 'naive' is for simulations only"),
        ({"estimators": ("lure", "naiv")}, "naiv"),
        ({"interval": "weekly"}, "there is no interval 'weekly'"),
        ({"half_width": 0}, "`half_width` is 0"),
        ({"half_width": -0.1}, "`half_width` is -0.1"),
        ({"half_width": math.nan}, "`half_width` is nan"),
        ({"bound": 0.0}, "`bound` is 0.0"),
        ({"bound": -1.0}, "`bound` is -1.0"),
        ({"bound": math.inf}, "`bound` is inf"),
        ({"rope": 0.0, "reference": "model"}, "`rope` is 0.0"),
        ({"rope": math.nan, "reference": "model"}, "`rope` is nan"),
        ({"rope": 0.1}, "there is no reference"),
        ({"rope": 0.1, "reference": "model", "level": 0.5}, "`rope` needs a level above 0.5"),
    ],
)
def test_what_no_study_has_is_refused(arguments, problem):
    with pytest.raises(ActivetestError) as error:
        check(**arguments)
    assert problem in error.value.problem


@pytest.mark.parametrize("interval", [None, "fixed", "anytime", "posterior"])
def test_what_every_study_has_is_taken(interval):
    check(("lure", "ase"), interval=interval, half_width=1e-9, bound=1e-9)
    check(interval=interval, rope=1e-9, reference="model")


def test_a_population_has_fixed_intervals_alone_and_plans_no_labels():
    _check_population("fixed", None)
    for kind, reason in (("anytime", "what holds at every look"), ("posterior", "what the surro")):
        with pytest.raises(ChoiceError, match=f"has no {kind} interval: {reason}"):
            _check_population(kind, None)
    with pytest.raises(ChoiceError, match="`half_width` plans labels of this pool") as error:
        _check_population("fixed", 0.05)
    assert error.value.hint == "`study.report(half_width=0.05)`, without `population`"


def test_clusters_are_those_of_a_population():
    codes = [0, 0, 1]
    pool = SimpleNamespace(encode_column=lambda name: codes if name == "user" else None)
    study = pool
    assert _read_population(study, None, population=False) is None
    assert _read_population(study, None, population=True).codes is None
    assert _read_population(study, "user", population=True).codes is codes
    with pytest.raises(ChoiceError, match="`cluster='user'` says what the pool is a sample of"):
        _read_population(study, "user", population=False)


def test_usual_estimators_are_the_headline_and_the_own_view():
    assert _find_usual(PLAIN, None, population=False) == ("doubly-robust", "ase")
    assert _find_usual(PLAIN, "anytime", population=False) == ("doubly-robust", "ase")
    assert _find_usual(PLAIN, "posterior", population=False) == ("ase",)
    assert _find_usual(PLAIN, None, population=True) == ("doubly-robust",)


def test_groups_to_show_are_those_of_the_study_each_once():
    cache = SimpleNamespace(group_names=("place", "size"))
    assert _check_columns(cache, None) == ("place", "size")
    assert _check_columns(cache, ("size", "place", "size")) == ("size", "place")
    assert _check_columns(cache, ()) == ()
    with pytest.raises(ChoiceError, match="'user' is not a group.* are: place, size$"):
        _check_columns(cache, ("size", "user"))
    with pytest.raises(ChoiceError, match="groups are: none$"):
        _check_columns(SimpleNamespace(group_names=()), ("user",))


@pytest.mark.parametrize(
    ("fields", "floor"),
    [
        ({}, 0.6),
        ({"metric": "brier"}, 0.35),
        ({"interval": "anytime"}, 0.35),
        ({"allocation": object()}, 0.35),
        ({"imported": True}, 0.35),
        ({"chosen": False}, 0.35),
    ],
)
def test_the_floor_to_come_is_the_last_one_where_rounds_choose_it(monkeypatch, fields, floor):
    chosen = fields.get("chosen", True)
    monkeypatch.setattr("activetest.study.report.chooses_floor", lambda *_: chosen)
    recorded = {"metric": "error", "interval": "fixed", "floor": 0.6}
    recorded |= {key: value for key, value in fields.items() if key in recorded}
    last = {"allocation": None, "imported": False, "objectives": (object(),), "choices": recorded}
    last |= {key: value for key, value in fields.items() if key in last}
    assert _find_floor(SimpleNamespace(history=[SimpleNamespace(**last)]), PLAIN) == floor
    assert _find_floor(SimpleNamespace(history=[]), PLAIN) == 0.35
