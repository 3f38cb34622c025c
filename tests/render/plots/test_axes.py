"""Axes: round ticks around the numbers."""

import math

import pytest

from activetest.render.plots.axes import Axis, choose_axis


@pytest.mark.parametrize(
    ("values", "share", "ticks"),
    [
        ([0.03, 0.08, 0.1], True, (0.0, 0.02, 0.04, 0.06, 0.08, 0.1)),
        ([0.92, 0.97], True, (0.92, 0.93, 0.94, 0.95, 0.96, 0.97)),
        ([0.9, 0.99], True, (0.9, 0.92, 0.94, 0.96, 0.98, 1.0)),
        ([0.2, 0.95], True, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
        ([49.2, 65.7], False, (45.0, 50.0, 55.0, 60.0, 65.0, 70.0)),
        ([-0.09, 0.04], False, (-0.1, -0.05, 0.0, 0.05)),
        ([0, 240], False, (0.0, 50.0, 100.0, 150.0, 200.0, 250.0)),
    ],
)
def test_ticks_are_round_and_hold_all_numbers(values, share, ticks):
    axis = choose_axis(values, share=share)
    assert axis.ticks == pytest.approx(ticks)
    assert axis.low <= min(values) and max(values) <= axis.high


SHARES = [[], [0.0], [1.0], [0.5, 0.5], [1e-12], [None, 0.2], [math.nan]]
OTHERS = [*SHARES, [-3e9, 4e9], [math.inf, 2.0], [-7.0, -7.0]]


@pytest.mark.parametrize(
    ("values", "share"),
    [*((each, True) for each in SHARES), *((each, False) for each in OTHERS)],
)
def test_there_is_an_axis_for_any_numbers(values, share):
    axis = choose_axis(values, share=share)
    assert 2 <= len(axis.ticks) <= 12 and axis.low < axis.high
    assert not share or (axis.low >= 0 and axis.high <= 1)
    assert len({axis.name(tick) for tick in axis.ticks}) == len(axis.ticks)


def test_places_grow_from_the_left_and_stay_inside():
    axis = Axis((0.0, 0.5, 1.0))
    places = [axis.place(value) for value in (-1.0, 0.0, 0.25, 1.0, 7.0)]
    assert places == sorted(places) and places[0] == places[1] > 0
    assert places[-1] == places[-2] < 100
    assert axis.place(0.5) == 50


def test_ticks_have_as_many_decimals_as_they_need():
    axis = choose_axis([0.0, 0.125])
    assert [axis.name(tick) for tick in axis.ticks] == [
        *("0.000", "0.025", "0.050", "0.075", "0.100", "0.125"),
    ]
    assert choose_axis([0, 5000]).name(3000) == "3,000"
    assert choose_axis([-1.0, 1.0]).name(-0.0) == "0.0"
