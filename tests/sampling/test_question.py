"""Questions about groups: which choices they go with, and how they are said."""

from dataclasses import replace

import pytest

from activetest.errors import ActivetestError, ChoiceError
from activetest.nouns.choices import Choices
from activetest.sampling.question import (
    check_question,
    check_unasked,
    describe_objective,
    find_question,
    usual_acquisition,
    usual_floor,
)

POOL = {
    "task": "classification",
    "kind": "prob-columns",
    "classes": ["cat", "dog"],
    "outputs": ["prob_cat", "prob_dog"],
    "groups": ["place", "predicted"],
    "computed": ["predicted"],
}
COSTS = ((0.0, 3.0), (1.0, -1.0))
PLAIN = Choices("error", ("error",), "agreement")
ASKED = replace(PLAIN, acquisition="thompson", groups=("place",))
IDENTIFY = replace(ASKED, question="identify")
ESTIMATE = replace(ASKED, question="estimate")
COMPARE = replace(ASKED, question="compare", compare=("barn", "sea"))
CONFUSION = replace(ESTIMATE, target="confusion", groups=("predicted",))
SURFACE = replace(
    PLAIN, question="surface", acquisition="surface-variance", attributes=("place", "size")
)


@pytest.mark.parametrize(
    ("names", "first", "question"),
    [
        (["worst"], "worst", "identify"),
        (["rope", "compare"], "compare", "compare"),
        (["surface"], "surface", "surface"),
        (["worst", "attributes"], "attributes", "surface"),
        (["min_support"], "min_support", "surface"),
    ],
)
def test_choices_about_groups_have_no_effect_without_a_question(names, first, question):
    with pytest.raises(ChoiceError) as error:
        check_unasked(names)
    assert error.value.problem == f"`{first}` has no effect without a question"
    assert error.value.hint == f"`question='{question}'`"
    check_unasked([])


def describe_question(choices: Choices) -> str:
    return find_question(choices).describe(choices)


def describe_settings(choices: Choices) -> str:
    return find_question(choices).describe_settings(choices)


def test_questions_objectives_and_priors_in_words():
    assert find_question(PLAIN) is None
    assert describe_question(ESTIMATE) == "estimate error of every group of place"
    assert describe_question(CONFUSION) == "estimate confusion of every group of predicted"
    assert describe_question(IDENTIFY) == "identify the worst group of place by error"
    two = replace(IDENTIFY, worst=2)
    assert describe_question(two) == "identify the 2 worst groups of place by error"
    said = describe_question(replace(COMPARE, rope=0.05))
    assert said == "compare barn and sea of place by error, rope 0.05"
    said = "estimate error at every combination of "
    assert describe_question(SURFACE) == f"{said}place and size"
    for names, listed in ((("a",), "a"), (("a", "b", "c"), "a, b and c")):
        assert describe_question(replace(SURFACE, attributes=names)) == said + listed
    assert describe_objective(replace(PLAIN, also=("brier", "mcc"))) == "error, brier and mcc"
    assert describe_objective(PLAIN) == "error"
    assert describe_objective(replace(IDENTIFY, also=("brier",))) == "error"
    assert describe_settings(IDENTIFY) == ""
    assert describe_settings(replace(IDENTIFY, prior="uniform")) == "uniform prior"
    strong = replace(IDENTIFY, prior_strength=5)
    assert describe_settings(strong) == "informative prior with the weight of 5 labels"
    both = replace(strong, prior="uniform")
    assert describe_settings(both) == "uniform prior with the weight of 5 labels"
    assert describe_settings(replace(SURFACE, prior="uniform", prior_strength=5)) == ""


def test_usual_acquisitions_and_floors():
    names = [usual_acquisition(each) for each in (None, "surface", "identify", "compare")]
    assert names == ["optimal", "surface-variance", "thompson", "thompson"]
    assert [usual_floor(name, ("error",)) for name in names] == [0.35, 0.1, 0.1, 0.1]


def change(base: Choices, **more) -> Choices:
    return replace(base, **more)


@pytest.mark.parametrize(
    "choices",
    [
        PLAIN,
        change(PLAIN, prior="informative"),
        IDENTIFY,
        change(IDENTIFY, worst=2, prior="uniform", prior_strength=3),
        change(IDENTIFY, acquisition="uniform"),
        change(IDENTIFY, acquisition="bayes-ucb", worst=2),
        change(IDENTIFY, acquisition="top-two-thompson"),
        change(IDENTIFY, metric="ece", metrics=("ece",)),
        ESTIMATE,
        change(ESTIMATE, acquisition="optimal", power=2),
        change(ESTIMATE, prior="uniform"),
        COMPARE,
        change(COMPARE, rope=0.999),
        change(COMPARE, metric="cost", metrics=("cost",), costs=COSTS, rope=3.999),
        CONFUSION,
        SURFACE,
        change(SURFACE, surface="beta", min_support=2),
        change(SURFACE, acquisition="optimal", power=2),
    ],
)
def test_questions_go_with_these_choices(choices):
    check_question(choices, POOL)


@pytest.mark.parametrize(
    ("choices", "problem", "hint"),
    [
        (change(PLAIN, worst=2), "`worst` has no effect without", "question='identify'"),
        (change(PLAIN, rope=0.1), "`rope` has no effect without", "question='compare'"),
        (change(PLAIN, prior="uniform"), "`prior` has no effect without", "question='identify'"),
        (change(PLAIN, target="confusion"), "target has no effect without", "empty"),
        (change(PLAIN, acquisition="thompson"), "chooses between groups", "groups=[column]"),
        (
            change(PLAIN, acquisition="surface-variance"),
            "chooses between combinations of attributes",
            "question='surface'",
        ),
        (change(IDENTIFY, groups=()), "the question identify needs groups", "groups=[column]"),
        (
            change(IDENTIFY, acquisition="surface-variance"),
            "explores combinations of attributes, and the question is to identify groups",
            "acquisition='thompson'",
        ),
        (change(IDENTIFY, target="confusion"), "no single number to identify groups", "estimate"),
        (change(COMPARE, metric="ece"), "calibration errors of two groups", "identify"),
        (change(IDENTIFY, metric="f1"), "judges groups by", "metric='accuracy'"),
        (change(CONFUSION, metric="f1"), "judges groups by", "metric='accuracy'"),
        (
            change(CONFUSION, groups=("place",)),
            "is about predicted classes",
            "['predicted', 'place']",
        ),
        (
            change(CONFUSION, groups=("place", "predicted")),
            "those of the column 'place'",
            "['predicted', 'place']",
        ),
        (change(IDENTIFY, rope=0.1), "`rope` has no effect on the question identify", "compare"),
        (change(ESTIMATE, worst=2), "`worst` has no effect on the question estimate", "identify"),
        (change(COMPARE, compare=()), "needs two values of 'place'", "compare=[a, b]"),
        (change(COMPARE, compare=("a", "a")), "needs two values of 'place'", "compare=[a, b]"),
        (change(COMPARE, compare=("a", "b", "b")), "needs two values of", "compare=[a, b]"),
        (change(COMPARE, rope=1.0), "`rope` is 1, and no two groups differ by more than 1", "0.05"),
        (
            change(COMPARE, metric="cost", costs=COSTS, rope=4.0),
            "`rope` is 4, and no two groups differ by more than 4 in cost",
            "0.05",
        ),
        (change(IDENTIFY, selection="top"), "neither a top nor a power", "`selection` at draw"),
        (change(IDENTIFY, power=2.0), "neither a top nor a power", "`selection` at draw"),
        (change(ESTIMATE, acquisition="bayes-ucb"), "looks for the worst group", "thompson"),
        (change(ESTIMATE, acquisition="top-two-thompson"), "looks for the worst group", "thompson"),
        (
            change(IDENTIFY, acquisition="top-two-thompson", worst=2),
            "looks for one group, not 2",
            "thompson",
        ),
        (change(SURFACE, attributes=()), "there are none", "attributes=[column, column]"),
        (change(SURFACE, worst=2), "`worst` has no effect on the question surface", "identify"),
        (change(SURFACE, metric="f1"), "is about the mean of a statistic", "accuracy"),
        (change(SURFACE, surface="gamma"), "gamma", ""),
        (change(SURFACE, attribute_model="gamma"), "no attribute model is called", ""),
        (change(SURFACE, acquisition="thompson"), "chooses between groups", "surface-variance"),
        (change(SURFACE, power=2.0), "they have no power", "leave `power` at 1"),
    ],
)
def test_questions_do_not_go_with_these_choices(choices, problem, hint):
    with pytest.raises(ActivetestError) as error:
        check_question(choices, POOL)
    assert problem in error.value.problem
    assert hint in (error.value.hint or "")


@pytest.mark.parametrize("name", ["weight", "price"])
def test_questions_count_items_and_labels_alike(name):
    pool = POOL | {name: "column"}
    check_question(PLAIN, pool)
    counted = {"weight": "items", "price": "labels"}[name]
    with pytest.raises(ChoiceError, match=f"a surface counts all {counted} alike") as error:
        check_question(SURFACE, pool)
    assert "every single value of an attribute" in error.value.hint
    with pytest.raises(ChoiceError, match=f"they know no `{name}`") as error:
        check_question(IDENTIFY, pool)
    assert "groups=[column]" in error.value.hint


def test_questions_are_about_classifiers_and_a_column_called_predicted_is_no_prediction():
    with pytest.raises(ChoiceError, match="this pool predicts values"):
        check_question(IDENTIFY, POOL | {"task": "regression", "classes": [], "kind": "pred"})
    with pytest.raises(ChoiceError, match="those of the column 'predicted'") as error:
        check_question(CONFUSION, POOL | {"computed": []})
    assert error.value.hint == "another `metric`"
