"""Which strategies a simulation compares."""

import pytest

from activetest.errors import ChoiceError
from activetest.simulation.design import strategies

ROLES = {"task": "classification", "kind": "prob-columns", "features": ("x1",)}
COMMON = {"metric": "accuracy", "metrics": ("accuracy",), "augment": "none"}


def augmentations(*surrogates: str) -> dict[str, str]:
    ways = {"acquisitions": ("optimal",), "selections": ("draw",), "powers": (1.0,)}
    found = strategies(COMMON, ROLES, surrogates=surrogates, **ways)
    return {each.surrogate: each.augment for each in found}


def test_surrogates_that_take_no_augmentation_are_compared_as_they_are():
    assert augmentations("agreement", "forest") == {"agreement": "outputs", "forest": "none"}


def test_an_augmentation_that_no_surrogate_takes_is_refused():
    with pytest.raises(ChoiceError, match="changes nothing for surrogate 'agreement'"):
        augmentations("agreement", "model")


def test_an_augmentation_needs_features():
    with pytest.raises(ChoiceError, match="of use only where the pool has features"):
        strategies(
            COMMON,
            ROLES | {"features": ()},
            surrogates=("forest",),
            acquisitions=("optimal",),
            selections=("draw",),
            powers=(1.0,),
        )


@pytest.mark.parametrize("rule", ["mix", "clip"])
def test_choices_between_groups_have_no_scores_to_clip_beside_others_that_have(rule):
    asked = {"question": "identify", "groups": ("place",), "floor_rule": rule}
    common = {"metric": "accuracy", "metrics": ("accuracy",)} | asked
    ways = {"surrogates": ("agreement",), "selections": ("draw",), "powers": (1.0,)}
    roles = ROLES | {"groups": ("place",)}
    found = strategies(common, roles, acquisitions=("thompson", "optimal"), **ways)
    assert [each.floor_rule for each in found] == ["mix", rule]
    if rule == "clip":
        with pytest.raises(ChoiceError, match="no scores that could be clipped"):
            strategies(common, roles, acquisitions=("thompson",), **ways)
