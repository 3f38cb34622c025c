"""One way to go over the pieces of a pool: results in order, whatever the threads do."""

import os
import threading
import time
from functools import reduce
from operator import add

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from activetest.errors import ChoiceError
from activetest.system import engines, parallel
from activetest.system.parallel import BlockSum, map_reduce, one_blas_thread


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


@pytest.fixture
def long_passes(monkeypatch):
    """A pass takes long whatever it does, and there are two processors."""
    monkeypatch.setattr(parallel, "_LONG_PIECE", 0.0)
    monkeypatch.setattr(parallel, "_LONG_PASS", 0.0001)
    monkeypatch.setattr(parallel, "processors", lambda: 2)


def list_processes(*, work: int = 100_000, **named) -> list[int]:
    """The process of each piece of a pass, which sums so many numbers."""
    return map_reduce(
        range(12), lambda piece: sum(range(work)) and [os.getpid()], list.__add__, **named
    )


def test_a_pass_that_takes_long_goes_on_in_processes(long_passes):
    """Its first pieces say so, and are not done again."""
    found = list_processes()
    assert found[:2] == [os.getpid()] * 2 and os.getpid() not in found[2:] and len(found) == 12


def test_a_short_pass_stays_in_threads():
    assert set(list_processes(work=10)) == {os.getpid()}


def test_a_pass_of_many_short_pieces_stays_in_threads(monkeypatch):
    """They let go of the lock of the interpreter often enough."""
    monkeypatch.setattr(parallel, "_LONG_PASS", 1e-9)
    monkeypatch.setattr(parallel, "processors", lambda: 2)
    assert set(list_processes(work=10)) == {os.getpid()}


def test_a_pass_of_few_pieces_is_not_measured(long_passes):
    found = map_reduce(range(5), lambda piece: sum(range(10**5)) and [os.getpid()], list.__add__)
    assert set(found) == {os.getpid()}


def test_a_pass_whose_length_is_unknown_stays_in_threads(long_passes):
    found = map_reduce(iter(range(12)), lambda piece: [os.getpid()], list.__add__)
    assert set(found) == {os.getpid()}


@pytest.mark.parametrize("named", [{"here": True}, {"workers": 2}])
def test_a_pass_that_changes_this_process_stays_in_threads(long_passes, named):
    assert set(list_processes(**named)) == {os.getpid()}


def test_a_daemon_starts_no_processes(long_passes, monkeypatch):
    """Python refuses them to it."""
    monkeypatch.setattr(
        "multiprocessing.current_process", lambda: type("Process", (), {"daemon": True})
    )
    assert set(list_processes()) == {os.getpid()}


def test_the_environment_may_name_the_engine(long_passes, monkeypatch):
    monkeypatch.setenv(parallel.ENGINE, "threads")
    assert set(list_processes()) == {os.getpid()}


def test_an_engine_that_is_unknown_is_an_error(monkeypatch):
    with pytest.raises(ChoiceError, match="no engine is called 'thread'") as error:
        engines.make_engine("thread")
    assert "threads, processes, ray" in error.value.hint
    monkeypatch.setenv(parallel.ENGINE, "spark")
    with pytest.raises(ChoiceError, match="ACTIVETEST_ENGINE: no engine is called 'spark'"):
        list_processes()


def test_an_engine_is_used_in_its_block_alone(long_passes):
    with engines.using("threads"):
        assert set(list_processes()) == {os.getpid()}
        with engines.using(None):
            assert set(list_processes()) == {os.getpid()}
    assert len(set(list_processes())) > 1


def test_a_sum_over_blocks_does_not_depend_on_who_added_which_of_them_first():
    values = (10.0 ** np.random.default_rng(1).uniform(-8, 8, 23)).tolist()
    blocks = [BlockSum.of(number, value) for number, value in enumerate(values)]
    totals = set()
    for cut in range(1, 22):
        for other in range(cut + 1, 23):
            runs = [blocks[:cut], blocks[cut:other], blocks[other:]]
            first, second, third = (reduce(add, run) for run in runs)
            totals |= {(first + second + third).total, (first + (second + third)).total}
    assert len(totals) == 1
    np.testing.assert_allclose(totals.pop(), sum(values))


def blas_threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_until_the_last_block_ends(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threadpool_limits(2, user_api="blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert blas_threads() == {1}
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2} and not parallel._limited


def test_where_the_environment_allows_one_thread_nothing_is_done(monkeypatch):
    for library in parallel.BLAS_THREADS:
        monkeypatch.setenv(library, "1")
    with threadpool_limits(2, user_api="blas"), one_blas_thread():
        assert blas_threads() == {2}
