"""Decisions by numbers with rounding errors, so that no last digit decides.

Another processor, library or order of the rows gives sums other last digits. Wherever a number is
compared with a threshold or with another number that it can equal, these functions compare them:
what differs by rounding alone is equal. Parameters of random numbers are rounded, too: one that
rejects would take more of them, and every later one would be another.
"""

import numpy as np

from activetest.nouns.rows import Array

# Relative differences up to this are taken for rounding: far more than sums in double precision
# make of it, and less than anybody sees.
MARGIN = 1e-9
# Decimals of a count.
DECIMALS = 9
_SCALE = 10.0**DECIMALS
# Counts from here on have no decimals in double precision; nan and infinity are no smaller.
_WHOLE = 2.0**53
# Beside the largest of several numbers, smaller ones are rounded like numbers of this size.
_SMALL = 1e-6


def round_count(count: float) -> float:
    """A count that is a sum or a quotient of sums: 3.0 where rounding left 2.9999999999999996."""
    # As numpy rounds, which takes longer for a number alone.
    count = float(count)
    return round(count * _SCALE) / _SCALE if abs(count) < _WHOLE else count


def floor_count(count: float) -> int:
    """The whole number below a count; rounding has not made it one less."""
    return int(np.floor(round_count(count)))


def ceil_count(count: float) -> int:
    """The whole number above a count; rounding has not made it one more."""
    return int(np.ceil(round_count(count)))


def cut_digits(value: float) -> float:
    """The value with twelve digits, before it is written with fewer: no later one decides."""
    return float(f"{value:.12g}")


def is_below(value: float, bound: float, *, unit: float = 1.0) -> bool:
    """Whether a value is below a bound by more than rounding.

    unit is the size of the numbers that the value was computed from.
    """
    return bool(value < bound - MARGIN * max(abs(bound), unit))


def is_above(value: float, bound: float, *, unit: float = 1.0) -> bool:
    """Whether a value is above a bound by more than rounding; unit as in is_below."""
    return is_below(-value, -bound, unit=unit)


def find_nearly_largest(values: Array, *, axis: int = -1, error: float = 0.0) -> Array:
    """(...) places of the first value on an axis that is the largest one, but for rounding.

    error is that of the values, where rounding is not all that they lack.
    """
    size = np.abs(values).max(axis=axis, keepdims=True, initial=0, where=np.isfinite(values))
    largest = values.max(axis=axis, keepdims=True)
    found: Array = np.argmax(values >= largest - np.maximum(MARGIN * size, error), axis=axis)
    return found


def level_ties(values: Array) -> Array:
    """(R,) the values, those that differ by rounding alone made equal: their order is for others.

    In order of size, values with hardly a gap between them become the smallest of them. Beside the
    largest value, those that are smaller by 15 digits are all what rounding leaves of zero.
    """
    values = np.asarray(values, float)
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    size = np.abs(ascending)
    least = _SMALL * size.max(initial=0, where=np.isfinite(size))
    with np.errstate(invalid="ignore"):
        apart = np.diff(ascending) > MARGIN * np.maximum(np.minimum(size[1:], size[:-1]), least)
    first = np.maximum.accumulate(np.where(np.append(True, apart), np.arange(len(values)), 0))
    level = np.empty(len(values))
    level[order] = ascending[first[: len(values)]]
    return level


def fix_signs(vectors: Array) -> Array:
    """(D, k) the columns, each with the sign that makes its largest entry positive.

    Of entries that are as large, the first one counts.
    """
    place = find_nearly_largest(np.abs(vectors), axis=0)
    signs = np.sign(np.take_along_axis(vectors, place[None], axis=0))
    return np.asarray(vectors * np.where(signs == 0, 1, signs))
