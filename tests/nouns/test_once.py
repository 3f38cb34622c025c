"""Results that are made when somebody first asks for them."""

import pickle

import pytest

from activetest.nouns.once import Later


def test_a_mapping_is_made_once_and_when_somebody_looks_into_it():
    made = []

    def make():
        made.append(1)
        return {"mode": [1.0]}

    later = Later(make)
    assert not made
    assert later == {"mode": [1.0]} and later["mode"] == [1.0] and len(later) == 1
    assert pickle.loads(pickle.dumps(later)) == {"mode": [1.0]}
    assert made == [1]


def test_what_making_a_mapping_raises_is_raised_at_each_look():
    later = Later(lambda: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            later["mode"]
