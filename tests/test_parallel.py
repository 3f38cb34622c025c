"""One way to go over the pieces of a pool: results in order, whatever the threads do."""

import threading
import time
from operator import add

import pytest

from activetest.parallel import map_reduce


@pytest.mark.parametrize("workers", [1, 2, 7, None])
def test_results_are_combined_in_the_order_of_the_pieces(workers):
    def slow_first(piece):
        time.sleep(0.01 if piece == 0 else 0)
        return [piece]

    assert map_reduce(range(20), slow_first, list.__add__, workers=workers) == list(range(20))


def test_sums_of_floats_do_not_depend_on_the_number_of_workers():
    pieces = [10.0 ** (7 * (k % 5) - 14) / 3 for k in range(200)]
    sums = {map_reduce(pieces, lambda x: x, add, workers=workers) for workers in (1, 2, 5)}
    assert len(sums) == 1


def test_nothing_combines_to_none_and_one_piece_is_its_own_result():
    assert map_reduce([], lambda x: x, max) is None
    assert map_reduce([4], lambda x: x * 2, None) == 8


def test_the_first_error_in_the_order_of_the_pieces_is_raised():
    def fail(piece):
        if piece in (3, 5):
            raise KeyError(piece)
        return piece

    with pytest.raises(KeyError, match="3"):
        map_reduce(range(9), fail, max, workers=4)


def test_only_a_few_results_exist_at_once():
    lock, alive, most = threading.Lock(), 0, 0

    def make(piece):
        nonlocal alive, most
        with lock:
            alive += 1
            most = max(most, alive)
        return piece

    def combine(total, result):
        nonlocal alive
        with lock:
            alive -= 1
        time.sleep(0.001)
        return result

    map_reduce(range(50), make, combine, workers=2)
    assert most <= 6
