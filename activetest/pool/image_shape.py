"""The shape of the image that the features of an item are, as users write it: 28x28, 32x32x3."""

import re
from collections.abc import Sequence
from math import prod

from activetest.errors import ChoiceError

_SHAPE = re.compile(r"(\d{1,5})x(\d{1,5})(?:x(\d{1,5}))?")
# Networks halve the sides of an image twice.
_LEAST_SIDE = 4
_EXAMPLE = '`feature_shape="28x28"`, or "32x32x3" of images with three channels'


def parse_shape(text: str, count: int) -> tuple[int, ...]:
    """Height, width, and the channels if several, of an image that `count` features are.

    Raises ChoiceError for another text, sides that are too small, and another number of features.
    """
    match = _SHAPE.fullmatch(text.strip().lower())
    if match is None:
        raise ChoiceError(f"`feature_shape={text!r}` is no shape of an image", _EXAMPLE)
    sides = tuple(int(side) for side in match.groups() if side is not None)
    if min(sides[:2]) < _LEAST_SIDE or 0 in sides:
        raise ChoiceError(
            f"`feature_shape={text!r}` is too small for convolutions",
            f"an image has at least {_LEAST_SIDE} rows and columns of pixels; leave it out",
        )
    if prod(sides) != count:
        raise ChoiceError(
            f"an image of {write_shape(sides)} has {prod(sides):,} values, and the pool {count:,} "
            "features",
            "name the columns of the image alone: `features=[names]`; without an image, "
            '`feature_shape=""`',
        )
    return sides


def write_shape(shape: Sequence[int]) -> str:
    """The shape as users write it."""
    return "x".join(map(str, shape))
