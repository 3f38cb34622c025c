"""The doubly robust estimate of a group: when there is one, and its variance."""

from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from activetest.estimation.group_estimates import (
    HEADLINE,
    count_labelled,
    estimate_group,
    find_metric_variance,
)
from activetest.estimation.view import View, build_view
from activetest.item_statistics import specification
from activetest.nouns.choices import Choices
from tests.makers import build_farm, play_rounds

SIZE = 160
CHOICES = Choices("error", ("error",), "agreement", groups=("place",))


@pytest.fixture
def farm(tmp_path):
    """A pool with a column of four groups, and its labels."""
    pool, truth = build_farm(tmp_path, SIZE, ("place",))
    metric = specification.find_metric("error", specification.describe_pool(pool.roles, None, pool))
    return SimpleNamespace(pool=pool, truth=truth, metric=metric)


def view_after(farm, count: int) -> View:
    log = play_rounds(farm.pool, farm.truth, (CHOICES, count))
    return build_view(log, farm.pool, CHOICES, [farm.metric], seed=1, own_view=False)


def test_a_group_without_a_draw_has_no_variance(farm):
    view = view_after(farm, 3)
    groups = view.evidence.groups[1:]
    counts = [count_labelled(view, group) for group in groups]
    variances = [find_metric_variance(view.value(farm.metric, HEADLINE, group)) for group in groups]
    assert 0 in counts and set(counts) != {0}
    assert [bool(np.isnan(each)) for each in variances] == [count == 0 for count in counts]


def test_a_group_with_ten_labels_has_an_estimate_and_one_with_fewer_has_none(farm):
    view = view_after(farm, 41)
    found = set()
    for group in view.evidence.groups[1:]:
        estimate, count = estimate_group(view, farm.metric, group), count_labelled(view, group)
        assert (estimate is None) == (count < 10)
        found.add(estimate is None)
        if estimate:
            value = view.value(farm.metric, HEADLINE, group)
            interval = view.interval(value, CHOICES.level, group=group)
            assert (estimate.lower, estimate.upper) == (interval.lower, interval.upper)
            assert estimate.value == value.value
            expected = max(value.estimate.variance[0, 0], value.estimate.model_variance)
            assert estimate.variance == approx(expected)
    assert found == {True, False}
