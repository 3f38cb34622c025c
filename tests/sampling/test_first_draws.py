"""When a round of the largest scores is a random draw."""

from dataclasses import replace

import pytest

from activetest.nouns.choices import Choices
from activetest.sampling.first_draws import expects_draws

PICKS = Choices(
    "error",
    ("error",),
    "linear",
    acquisition="metric-information",
    augment="agreement",
    selection="top",
)


@pytest.mark.parametrize(
    ("changes", "labels", "training", "expected"),
    [
        ({}, [], False, True),
        ({}, ["cat"], False, None),
        ({}, ["cat", "dog"], False, False),
        ({"refit": "doubling"}, ["cat", "dog"], False, False),
        ({"refit": "5"}, ["cat", "dog"], False, None),
        ({"refit": "5"}, ["cat", "dog", "cat", "cat", "owl"], False, False),
        ({"refit": "never"}, ["cat", "dog", "cat", "cat", "owl"], False, True),
        ({"refit": "never"}, [], True, False),
        ({}, [], True, False),
        ({"augment": "outputs"}, [], False, False),
        ({"selection": "draw"}, [], False, False),
        ({"acquisition": "optimal"}, [], False, False),
    ],
)
def test_it_is_while_the_surrogate_has_learned_nothing(changes, labels, training, expected):
    assert expects_draws(replace(PICKS, **changes), labels, training=training) is expected
