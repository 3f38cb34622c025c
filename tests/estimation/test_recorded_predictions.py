"""Records of rounds about a group, before each of their draws."""

import numpy as np
from pytest import approx

from activetest.estimation.recorded_predictions import RecordedPredictions, find_places


def recorded(**changes) -> RecordedPredictions:
    """Two rounds of three and two draws, one group and one statistic."""
    fields = {
        "round": np.array([0, 0, 0, 1, 1]),
        "start": np.array([0, 3]),
        "imputed": np.array([[0.5], [0.25], [0.125], [1.0], [2.0]]),
        "sums": np.array([[[4.0]], [[3.0]]]),
        "count": np.array([[5.0], [2.0]]),
        "again": np.zeros((2, 1), bool),
        "imputed_again": np.zeros((5, 1)),
    }
    return RecordedPredictions(**(fields | changes))


MEMBER = np.array([1.0, 0.0, 1.0, 1.0, 1.0])


def test_what_a_round_drew_is_taken_off_draw_by_draw():
    guess, sums, left = recorded().of(0, MEMBER, [0, -1])
    assert guess[:, 0].tolist() == [0.5, 0, 0.125, 1, 2]
    assert guess[:, 1].tolist() == MEMBER.tolist()
    assert sums[:, 0].tolist() == [4, 3.5, 3.5, 3, 2]
    # Whether items can be answered is imputed as certain.
    assert sums[:, 1].tolist() == left.tolist() == [5, 4, 4, 2, 1]


def test_a_round_that_recorded_nothing_about_a_group_predicts_nothing():
    guess, sums, left = recorded(
        count=np.array([[0.0], [2.0]]), sums=np.array([[[0.0]], [[3.0]]])
    ).of(0, MEMBER, [0])
    assert guess[:, 0].tolist() == [0, 0, 0, 1, 2]
    assert sums[:, 0].tolist() == [0, 0, 0, 3, 2]
    assert left.tolist() == [0, 0, 0, 2, 1]


def test_what_another_surrogate_expects_is_taken_in_the_rounds_that_it_predicted():
    again = recorded(again=np.array([[False], [True]]), imputed_again=np.full((5, 1), 0.75))
    guess, sums, _ = again.of(0, MEMBER, [0])
    assert guess[:, 0].tolist() == [0.5, 0, 0.125, 0.75, 0.75]
    assert sums[:, 0].tolist() == [4, 3.5, 3.5, 3, 2.25]


def test_where_items_have_weights_nothing_is_left_once_all_are_drawn():
    """Sums of such numbers leave a little, which would be divided by."""
    mass = np.array([0.1, 0.2, 0.3, 0.7, 0.0])
    weighed = recorded(mass=mass, left=np.array([[0.6], [0.7]]), count=np.array([[3.0], [1.0]]))
    guess, sums, left = weighed.of(0, np.ones(5), [0, -1])
    assert left[:3] == approx([0.6, 0.5, 0.3])
    assert left[3:].tolist() == [0.7, 0]
    assert guess[:, 1].tolist() == mass.tolist()
    assert sums[:, 1] == approx([0.6, 0.5, 0.3, 0.7, 0])
    # After 0.1 and 0.2 of 0.3, whose sum is more in doubles, nothing is left.
    few = recorded(mass=mass, left=np.array([[0.3], [0.7]]), count=np.array([[2.0], [1.0]]))
    assert few.of(0, np.ones(5), [])[2].tolist() == [0.3, approx(0.2), 0, 0.7, 0]
    # A little more than nothing is left of what other rounds took away.
    rest = recorded(mass=mass, left=np.array([[0.3], [1.7]]), count=np.array([[2.0], [2.0]]))
    assert rest.of(0, np.ones(5), [])[2][3:] == approx([1.7, 1.0])
    short = recorded(mass=mass, left=np.array([[0.1 - 1e-17], [0.7]]), count=np.array([[3.0], [1]]))
    assert (short.of(0, np.ones(5), [])[2] >= 0).all()


def test_names_are_found_where_a_round_recorded_them():
    known, there = find_places(["a", "b", "c"], ["c", "x", "a"])
    assert (known.tolist(), there.tolist()) == ([0, 2], [2, 0])
