"""Values that choices take, and combinations that are refused: by tables of both."""

import math
from dataclasses import MISSING, fields, replace

import pytest

from activetest.errors import ActivetestError, ChoiceError
from activetest.nouns.choices import Choices
from activetest.nouns.records import LARGEST, read_record
from activetest.sampling.choices import check_choices, check_inputs, check_training

NUMBERS = (True, "1", None, [1], math.nan, math.inf, -math.inf, LARGEST, -LARGEST)
# {choice: (values that it takes, values that it refuses)}
VALUES = {
    "metric": (("", "error"), (1, None, ["error"], b"error")),
    "also": (([], ("a",), ["a", "b"]), ("a", None, ["a", 1], [None], {"a": 1})),
    "metrics": ((["a"], ("a", "b")), ([], (), "a", ["a", 1], None)),
    "groups": (([], ["a"]), ("a", [1], None)),
    "floor": ((0, 1, 0.35, 1e-300), (-1e-300, 1.0000001, *NUMBERS)),
    "level": ((1e-300, 0.95), (0, 1, 0.0, 1.0, -0.5, *NUMBERS)),
    "worst": ((1, 12), (0, -1, 1.0, True, "1", None, LARGEST)),
    "last_look": ((None, 1, 12), (0, -1, 1.0, True, "1", LARGEST)),
    "looks": ((1, 5, 100), (0, -1, 101, 1.0, True, "1", None)),
    "budget": ((None, 1, 0.5, 1e-300), (0, -1, *(each for each in NUMBERS if each))),
    "rope": ((0, 0.0, 2.5), (-1e-300, *NUMBERS)),
    "refit": (
        ("every", "doubling", "never", "1", "50", "9" * 18),
        ("0", "-1", "1.5", "", "weekly", "9" * 19, "\u0665", 5, None),
    ),
    "power": ((1e-300, 1, 16, 16.0), (0, -1, 16.000001, 17, *NUMBERS)),
    "prior_strength": (
        (None, 1e-300, 1_000_000),
        (0, -1, 1_000_000.1, *(each for each in NUMBERS if each is not None)),
    ),
    "costs": (
        (None, [], [[1]], ([0, 2.5], (-1, 0))),
        ([1], [[1, 2]], [[1, 2], [3]], [[1, 2], "ab"], [[1, 2], [3, "4"]], [[1, "2"]] * 2, "a"),
    ),
    "question": ((None, "estimate", "identify", "compare", "surface"), (3, True)),
    "target": (("", "confusion"), (None, "error")),
    "compare": (([], (), ["a", "b"]), (["a"], ["a", "b", "c"], "ab", [1, 2], None)),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_choice_takes_these_values_and_no_others(name):
    taken, refused = VALUES[name]
    assert [value for value in taken if not takes(name, value)] == []
    assert [value for value in refused if takes(name, value)] == []


def takes(name, value) -> bool:
    try:
        read_record(Choices, {"metric": "error", "metrics": ["error"], name: value})
    except ChoiceError as error:
        assert error.problem.startswith(f"{name} is ") and error.hint
        return False
    return True


# Entries of every study, and a pool of three classes.
ENTRIES = {"metric": "error", "metrics": ["error"], "surrogate": "agreement"}
CLASSES = {
    "task": "classification",
    "kind": "prob-columns",
    "classes": ["cat", "dog", "owl"],
    "outputs": ["prob_cat", "prob_dog", "prob_owl"],
    "groups": ["place"],
}
SILENT = CLASSES | {"kind": "pred", "open_classes": True}
VALUED = {"task": "regression", "kind": "pred", "outputs": ["pred"], "classes": []}
VALUED_ENTRIES = {"metric": "mae", "metrics": ["mae"], "surrogate": "residual"}
SCALED = VALUED | {"std": "pred_std"}
FEATURES = {"features": ["x1"]}


def check(entries=(), pool=CLASSES, **options) -> Choices:
    usual = ENTRIES if pool["task"] == "classification" else VALUED_ENTRIES
    return check_choices(usual | dict(entries), pool, **options)


@pytest.mark.parametrize(
    ("entries", "pool", "problem"),
    [
        ({"budget": 1.5}, CLASSES, "budget is 1.5"),
        ({"interval": "anytime", "metric": "f1[macro]"}, CLASSES, "cannot serve anytime"),
        ({"annotators": "dawid-skene"}, VALUED, "dawid-skene is for classes"),
        ({"surrogate": "agree"}, CLASSES, "no surrogate is called 'agree'"),
        ({"acquisition": "optimum"}, CLASSES, "no acquisition is called 'optimum'"),
        ({"surrogate": "residual"}, CLASSES, "surrogate 'residual' is for regression"),
        ({"surrogate": "agreement"}, VALUED, "surrogate 'agreement' is for classification"),
        (
            {"surrogate": "linear"},
            SILENT | FEATURES,
            "'linear' cannot believe in a class",
        ),
        ({"surrogate": "model"}, SILENT, "the surrogate 'model' needs probabilities"),
        ({"surrogate": "model"}, VALUED, "the surrogate 'model' needs probabilities"),
        ({"groups": ["size"]}, CLASSES, "'size' is not a group of this study"),
        ({"augment": "agreement"}, CLASSES | FEATURES, "changes nothing for surrogate 'agreement'"),
        ({"augment": "agreement", "surrogate": "gp"}, VALUED | FEATURES, "is never just right"),
        ({"acquisition": "entropy"}, VALUED, "acquisition 'entropy' is for classification"),
        ({"selection": "top", "interval": "anytime"}, CLASSES, "no anytime-valid test of items"),
        ({"acquisition": "uniform", "selection": "top"}, CLASSES, "neither a top nor a power"),
        ({"acquisition": "uniform", "power": 2}, CLASSES, "neither a top nor a power"),
        ({"selection": "top", "power": 2}, CLASSES, "the same to any power"),
        ({"surrogate": "model", "acquisition": "bald"}, CLASSES, "the surrogate 'model' has one"),
        ({"metrics": ["error", "rmse"]}, CLASSES, "rmse"),
        ({"also": ["rmse"]}, CLASSES, "rmse"),
        ({"floor_rule": "cut"}, CLASSES, "floor_rule is 'cut'"),
        ({"floor_rule": "clip", "interval": "anytime"}, CLASSES, "chooses its floor itself"),
        (
            {"floor_rule": "clip", "acquisition": "thompson", "question": "identify"}
            | {"groups": ["place"]},
            CLASSES,
            "thompson gives items no scores",
        ),
        ({"flor": 0.5}, CLASSES, "there is no choice 'flor'"),
        ({"floor": 2}, CLASSES, "floor is 2"),
    ],
)
def test_choices_that_make_no_sense_together_are_refused(entries, pool, problem):
    with pytest.raises(ActivetestError) as error:
        check(entries, pool)
    assert problem in error.value.problem
    with pytest.raises(type(error.value)) as located:
        check(entries, pool, where="study.toml")
    assert located.value.problem == f"study.toml: {error.value.problem}"
    assert located.value.hint == error.value.hint


@pytest.mark.parametrize(
    ("entries", "pool"),
    [
        ({"budget": 1.5}, CLASSES | {"price": "cents"}),
        ({"interval": "anytime"}, CLASSES),
        ({"annotators": "dawid-skene"}, CLASSES),
        ({"surrogate": "linear"}, CLASSES | FEATURES),
        ({"surrogate": "model"}, CLASSES),
        ({"surrogate": "model"}, SCALED),
        ({"groups": ["place"]}, CLASSES),
        ({"augment": "agreement", "surrogate": "linear"}, CLASSES | FEATURES),
        ({"augment": "none", "surrogate": "gp"}, VALUED | FEATURES),
        ({"acquisition": "entropy"}, CLASSES),
        ({"selection": "top", "acquisition": "entropy"}, CLASSES),
        ({"floor_rule": "clip", "acquisition": "entropy"}, CLASSES),
        ({"acquisition": "uniform", "power": 1}, CLASSES),
        ({"metrics": ["error", "f1[*]"], "also": ["brier"]}, CLASSES),
    ],
)
def test_choices_that_make_sense_are_kept(entries, pool):
    found = check(entries, pool)
    for name, value in entries.items():
        assert getattr(found, name) == (tuple(value) if isinstance(value, list) else value)


def test_a_budget_of_a_whole_number_is_one_and_a_missing_choice_is_named():
    assert type(check({"budget": 30.0}).budget) is int and check({"budget": 30.0}).budget == 30
    assert check().budget is None
    required = [each.name for each in fields(Choices) if each.default is MISSING]
    assert required == [name for name in ENTRIES if name != "surrogate"]
    for name in required:
        rest = {key: value for key, value in ENTRIES.items() if key != name}
        with pytest.raises(ChoiceError, match=f"{name} is missing"):
            check_choices(rest, CLASSES)


def test_only_learning_from_features_needs_features():
    for augment in ("agreement", "none"):
        choices = check({"augment": augment, "surrogate": "linear"}, CLASSES | FEATURES)
        check_inputs(choices, CLASSES | FEATURES)
        with pytest.raises(ChoiceError, match="only where the pool has features"):
            check_inputs(choices, CLASSES)
    check_inputs(check(), CLASSES)


@pytest.mark.parametrize("augment", ["agreement", "none"])
def test_what_never_learns_from_labels_needs_something_else_to_learn_from(augment):
    choices = check({"augment": augment, "surrogate": "linear", "refit": "never"}, CLASSES)
    check_training(choices, training=True)
    with pytest.raises(ChoiceError, match="nothing to learn from then"):
        check_training(choices, training=False)
    check_training(replace(choices, refit="doubling"), training=False)
    check_training(replace(choices, augment="outputs"), training=False)


def test_draws_with_replacement_are_for_simulations(monkeypatch):
    usual = {"acquisition": "active-risk"}
    with pytest.raises(ChoiceError, match="draws with replacement"):
        check(usual)
    assert check(usual, simulated=True).acquisition == "active-risk"


def test_true_losses_are_for_simulations_with_fixed_intervals():
    usual = {"acquisition": "oracle"}
    with pytest.raises(ChoiceError, match="does not know the labels"):
        check(usual)
    assert check(usual, simulated=True).acquisition == "oracle"
    with pytest.raises(ChoiceError, match="no anytime-valid interval"):
        check(usual | {"interval": "anytime"}, simulated=True)
