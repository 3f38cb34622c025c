"""Where numbers are on a plot: in percent of its width, so that plots are as wide as the page."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from activetest.nouns.quantity import Measured
from activetest.nouns.report import EstimateRow, Gate
from activetest.render.document import words

# Percent of the width that is left free at either end, for the letters of the outer ticks.
_MARGIN = 4.0
_MOST_DECIMALS = 12
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_INTERVALS = 5
# An axis of shares is at least so long.
_LEAST_SHARE = 0.01


@dataclass(frozen=True)
class Axis:
    """A range of numbers, with ticks at round ones, from the first to the last of them."""

    ticks: tuple[float, ...]

    @property
    def low(self) -> float:
        """Where it begins."""
        return self.ticks[0]

    @property
    def high(self) -> float:
        """Where it ends."""
        return self.ticks[-1]

    def place(self, value: float) -> float:
        """Percent of the width; what is outside is at the end."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(_MARGIN + (100 - 2 * _MARGIN) * share, 2)

    def share(self, value: float) -> float:
        """From 0 to 1, without a margin; what is outside is at the end."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def name(self, tick: float) -> str:
        """A tick, with as many decimals as all of them need."""
        step = self.ticks[1] - self.ticks[0]
        decimals = 0
        while decimals < _MOST_DECIMALS and abs(round(step, decimals) - step) > 1e-6 * step:
            decimals += 1
        text = f"{tick + 0.0:,.{decimals}f}"
        return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def choose_axis(values: Iterable[float | None], *, share: bool = False) -> Axis:
    """An axis for these numbers, of which those that do not exist are left out.

    share    the numbers are shares: the axis stays between 0 and 1, and reaches the end that is
             not far away
    """
    known = [value for value in values if words.real(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if share:
        span = max(high - low, 0.02)
        low, high = (0.0 if low <= span else low), (1.0 if 1 - high <= span / 2 else high)
    # Equal numbers have room around them.
    least = _LEAST_SHARE if share else 1e-9 * max(abs(low), abs(high), 1e-6)
    if high - low < least:
        room = _LEAST_SHARE if share else 0.5 * max(abs(low), abs(high), 1e-6)
        low, high = low - room, high + room
    if share:
        low, high = max(low, 0.0), min(high, 1.0)
    raw = (high - low) / _INTERVALS
    size = 10.0 ** math.floor(math.log10(raw))
    step = size * next(each for each in _STEPS if each * size >= raw * 0.999)
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    ticks = [round(place * step, 12) for place in range(first, last + 1)]
    # Steps of 0.25 may not lead to 1.
    return Axis(tuple(dict.fromkeys(min(tick, 1.0) for tick in ticks) if share else ticks))


def of_records(records: Iterable[Measured], more: Iterable[float | None] = ()) -> Axis:
    """An axis for estimates, their intervals, and further numbers."""
    records = list(records)
    values = [
        value
        for record in records
        for value in (record.estimate, record.lower, record.upper)
        if words.real(value)
    ]
    values += [value for value in more if words.real(value)]
    return choose_axis(values, share=is_shares(values))


def is_shares(values: Iterable[float]) -> bool:
    """Whether numbers can be shown between 0 and 1."""
    return all(-1e-9 <= value <= 1 + 1e-9 for value in values)


def name_tick(axis: Axis, tick: float, record: Measured | None) -> str:
    """A tick in the unit of a record: percent for shares of items."""
    text = axis.name(tick)
    if isinstance(record, EstimateRow | Gate) and "," not in text:
        return words.with_unit(record, text)
    return text
