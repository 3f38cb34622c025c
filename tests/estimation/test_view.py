"""The range of a metric that what is known leaves possible."""

from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

from activetest.estimation.view import find_possible_range
from activetest.item_statistics.metric import Facts
from activetest.item_statistics.specification import find_metric

FACTS = Facts("classification", ("no", "yes"), 1)


def sample(total, *, size: int = 10, unknown: int = 0, limits=((0.2,), (0.7,))):
    """What a sample says of the means of a metric's statistics, and of answers where declined."""
    return SimpleNamespace(
        possible=None,
        total=np.array(total, float),
        size=size,
        unknown=unknown,
        limits=np.array(limits, float),
    )


@pytest.mark.parametrize(
    ("name", "total", "exact"),
    [
        ("error", [3], 0.3),
        # Eight of the ten items were answered.
        ("error", [2, 8], 0.25),
        ("accuracy", [2, 8], 0.75),
        ("recall[yes]", [3, 1], 0.75),
        ("recall[yes]", [3, 1, 8], 0.75),
        ("f1[yes]", [3, 1, 1, 8], 0.75),
    ],
)
def test_where_everything_is_known_it_is_the_value(name, total, exact):
    found = find_possible_range(sample(total), find_metric(name, FACTS))
    assert found == (approx(exact), approx(exact))


def test_where_something_is_unknown_it_is_what_the_limits_leave():
    assert find_possible_range(sample([3], unknown=5), find_metric("error", FACTS)) == (0.2, 0.7)
    found = find_possible_range(sample([3], unknown=5), find_metric("accuracy", FACTS))
    assert found == (approx(0.3), approx(0.8))
    assert find_possible_range(sample([3, 1], unknown=5), find_metric("recall[yes]", FACTS)) == (
        0.0,
        1.0,
    )


def test_a_metric_that_is_not_defined_for_what_is_known_has_its_own_range():
    assert find_possible_range(sample([0, 0]), find_metric("recall[yes]", FACTS)) == (0.0, 1.0)
    nobody = sample([0, 0], limits=((0.0, 0.0), (1.0, 1.0)))
    assert find_possible_range(nobody, find_metric("error", FACTS)) == (0.0, 1.0)
