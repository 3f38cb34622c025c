"""Strategies that a simulation compares."""

from types import SimpleNamespace

import pytest

from activetest.errors import ChoiceError
from activetest.sampling.settings import read_settings
from activetest.simulation.design import list_strategies

ROLES = {"task": "classification", "kind": "prob-columns", "features": ("x1",)}


def list_ways(roles: dict = ROLES, of_groups: dict | None = None, **given) -> tuple:
    groups = roles.get("groups", ())
    schema = SimpleNamespace(to_dict=lambda: roles, groups=groups, attributes=())
    pool = SimpleNamespace(uri="pool.parquet", schema=schema)
    settings = read_settings({"acquisition": "optimal"} | given, simulated=True)
    more = {"aim": None, "further": (), "interval": "fixed"}
    return list_strategies(settings, of_groups or {}, pool, ("accuracy",), **more)


def augmentations(*surrogates: str) -> dict[str, str]:
    found = list_ways(surrogate=surrogates, augment="none")
    return {each.surrogate: each.augment for each in found}


def test_surrogates_that_take_no_augmentation_are_compared_as_they_are():
    assert augmentations("agreement", "forest") == {"agreement": "outputs", "forest": "none"}


def test_an_augmentation_that_no_surrogate_takes_is_refused():
    with pytest.raises(ChoiceError, match="changes nothing for surrogate 'agreement'"):
        augmentations("agreement", "model")


def test_an_augmentation_needs_features():
    with pytest.raises(ChoiceError, match="of use only where the pool has features"):
        list_ways(ROLES | {"features": ()}, surrogate="forest", augment="none")


@pytest.mark.parametrize("rule", ["mix", "clip"])
def test_choices_between_groups_have_no_scores_to_clip_beside_others_that_have(rule):
    roles, question = ROLES | {"groups": ("place",)}, {"question": "identify"}
    given = {"surrogate": "agreement", "floor_rule": rule}
    found = list_ways(roles, question, acquisition=("thompson", "optimal"), **given)
    assert [each.floor_rule for each in found] == ["mix", rule]
    if rule == "clip":
        with pytest.raises(ChoiceError, match="no scores that could be clipped"):
            list_ways(roles, question, acquisition="thompson", **given)
