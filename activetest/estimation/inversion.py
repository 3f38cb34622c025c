"""Which values of a ratio bets have refuted: whole stretches of values, not one value at a time.

A ratio is t where the mean of above - t below is 0, and every t has bettors of its own. Those of
one piece of its range have the same stakes. The log capital of each is then a sum of
log(1 + stake gain) whose gains are linear in t: it is concave, and nowhere below its chord. So what
chords refute is refuted between their ends too, whether or not capital is monotone in t.
"""

from dataclasses import astuple

import numpy as np

from activetest.intervals import betting
from activetest.nouns.estimate import Increments
from activetest.nouns.rows import Array

# Pieces between two values of the grid, and how often a piece is halved to find an end in it.
_PIECES, _HALVINGS = 16, 24


def find_first_unrefuted(
    grid: Array, increments: list[Increments], limit: float, *, up: bool
) -> float | None:
    """The value up to which all are refuted; None if all of the grid are.

    grid (G,), and the increments at its values: large values are refuted last (up), or small ones.
    Values and offsets are linear between two of the grid, and bounds are minima and maxima of
    linear functions, which chords do not cut: ranges are at least as wide as they were. limit is
    the log capital that refutes. The end is rounded outward.
    """
    cells = list(zip(grid, grid[1:], increments, increments[1:], strict=False))
    shares = np.linspace(0, 1, _PIECES + 1)
    for low, high, *ends in cells if up else cells[::-1]:
        left, right = (np.array(astuple(end)) for end in ends)
        bets = _Bets(left, right, up)
        pieces = np.stack([shares[:-1], shares[1:]], axis=1)
        for piece in pieces if up else pieces[::-1, ::-1]:
            found = bets.first(piece, limit)
            if found is not None:
                return float((1 - found) * low + found * high)
    return None


class _Bets:
    """The bets of one side between two values; left and right (6, M) are the fields there."""

    def __init__(self, left: Array, right: Array, up: bool) -> None:
        self.left, self.right, self.up = left, right, up
        self.rounding = betting.rounding(Increments(*np.maximum(np.abs(left), np.abs(right))))

    def first(self, piece: Array, limit: float) -> float | None:
        """The first value that is not refuted, on the way from one end of a piece to the other."""
        rooms = [self._lines(share)[1] for share in piece]
        scale = betting.scale_bets(Increments(*self._at(piece.mean())))[:-1]
        room, stretches = np.maximum(*rooms), [tuple(piece)]
        smallest = 2.0**-_HALVINGS / _PIECES
        while stretches:
            start, stop = stretches.pop()
            if self._refuted(start, stop, room, scale, limit):
                continue
            if abs(stop - start) <= smallest:
                return start
            middle = (start + stop) / 2
            stretches += [(middle, stop), (start, middle)]
        return None

    def _refuted(self, start: float, stop: float, room: Array, scale: Array, limit: float) -> bool:
        """Whether every value of a stretch is certain to be refuted."""
        ends = [self._lines(share) for share in (start, stop)]
        if (np.maximum(ends[0][2], ends[1][2]) < -self.rounding).any():
            return True
        paths = [np.cumsum(betting.log_factors(gain, room, scale), axis=0) for gain, *_ in ends]
        return bool((betting.bound_log_capital_between(*paths) >= limit).any())

    def _lines(self, share: float) -> tuple[Array, Array, Array]:
        """(M,) gain and room of a unit bet, and how far the mean 0 is from being impossible."""
        value, low, high, offset, least, most = self._at(share)
        if self.up:
            return value + offset, -offset - low, -offset - least
        return -value - offset, high + offset, most + offset

    def _at(self, share: float) -> Array:
        return np.asarray((1 - share) * self.left + share * self.right)
