"""Features that are an image."""

import pytest

from activetest.errors import ChoiceError
from activetest.pool.image_shape import parse_shape, write_shape


@pytest.mark.parametrize(
    ("text", "count", "shape"), [("28x28", 784, (28, 28)), (" 32X16x3", 1536, (32, 16, 3))]
)
def test_a_shape_is_read_as_people_write_it(text, count, shape):
    assert parse_shape(text, count) == shape
    assert parse_shape(write_shape(shape), count) == shape


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("28", "is no shape", "28x28"),
        ("28x", "is no shape", "28x28"),
        ("28x28x3x1", "is no shape", "28x28"),
        ("-4x4", "is no shape", "28x28"),
        ("3x28", "too small", "at least 4"),
        ("28x28x0", "too small", "at least 4"),
        ("28x27", "has 756 values, and the pool 784 features", "features"),
    ],
)
def test_what_is_no_shape_of_the_features_is_refused(text, problem, hint):
    with pytest.raises(ChoiceError, match=problem) as found:
        parse_shape(text, 784)
    assert hint in found.value.hint
