"""Functions that travel with what they refer to."""

import pickle
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest

from activetest.errors import CacheDamaged, ColumnsUnclear, StudyError
from activetest.system.engines.parcels import do_piece, pack
from activetest.system.parallel import ENGINE, map_reduce
from tests.makers import build_pool, change_array


def travel(fn):
    """The function as a worker has it."""
    parcel = pack(fn)
    return pickle.loads(parcel.head, buffers=[bytes(each) for each in parcel.arrays])


@dataclass
class Busy:
    lock: threading.Lock = field(default_factory=threading.Lock)
    again: threading.RLock = field(default_factory=threading.RLock)
    last: threading.local = field(default_factory=threading.local)


def test_locks_and_what_belongs_to_a_thread_are_made_anew():
    busy = Busy()
    busy.last.rows = 3
    with busy.lock:
        found = travel(lambda: busy)()
    assert found.lock.acquire(blocking=False) and found.again.acquire(blocking=False)
    assert not hasattr(found.last, "rows")


def test_large_arrays_are_apart_and_shared_by_workers():
    free = np.arange(100_000) % 3 == 0
    parcel = pack(lambda piece: free[piece])
    assert len(parcel.head) < 5000 and sum(each.nbytes for each in parcel.arrays) == 100_000
    assert travel(lambda piece: free[piece])(3)


def test_a_cache_is_opened_once_where_it_travels_to(tmp_path):
    cache = build_pool(tmp_path, 40, groups=["place"])
    first, second = (travel(lambda: cache)() for _ in range(2))
    assert first is second and first is not cache
    assert len(pack(lambda: cache).head) < 2000
    assert (first.rows(3, 9).outputs.pred == cache.rows(3, 9).outputs.pred).all()
    assert first.ids([4]) == cache.ids([4]) and not first.keeps_results


def test_rows_that_are_not_read_yet_travel_without_their_files(tmp_path):
    rows = build_pool(tmp_path, 40).rows(3, 9)
    expected = rows.outputs.pred
    found = travel(lambda: rows)()
    assert (found.outputs.pred == expected).all() and (found.codes == rows.codes).all()


def test_a_cache_that_is_out_of_sight_is_an_error(tmp_path):
    cache = build_pool(tmp_path, 40)
    parcel = pack(lambda piece: cache.rows(*piece).index)
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    value, error = do_piece("out of sight", lambda: parcel, (0, 3))
    assert value is None and type(error) is StudyError
    assert "cannot read the cache" in error.problem and "every worker" in error.hint


def test_another_cache_in_its_place_is_damage(tmp_path):
    cache = build_pool(tmp_path, 40)
    parcel = pack(lambda piece: cache.rows(*piece).index)
    (tmp_path / "cache").rename(tmp_path / "elsewhere")
    build_pool(tmp_path, 41)
    assert isinstance(do_piece("another", lambda: parcel, (0, 3)).error, CacheDamaged)


def test_damage_is_told_as_it_was_found(tmp_path):
    cache = build_pool(tmp_path, 40)
    change_array(tmp_path / "cache", "pred")
    parcel = pack(lambda piece: cache.rows(*piece).outputs.pred)
    error = do_piece("damaged", lambda: parcel, (0, 40)).error
    assert isinstance(error, CacheDamaged)
    assert (error.folder, error.file, error.piece) == (tmp_path / "cache", "pred.npy", 0)


def test_a_pool_travels_as_the_place_where_it_is(tmp_path, write_pool):
    from activetest.pool.pool import Pool

    pool = Pool.open(write_pool(tmp_path / "pool.parquet", 40), groups="place")
    first, second = (travel(lambda: pool)() for _ in range(2))
    assert first.files is second.files and first.files is not pool.files
    strips = [next(each.strips()).batch for each in (first, pool)]
    assert strips[0].equals(strips[1])


def test_a_pool_that_has_changed_is_not_taken_for_it(tmp_path, write_pool):
    from activetest.errors import PoolChanged
    from activetest.pool.pool import Pool

    pool = Pool.open(write_pool(tmp_path / "pool.parquet", 40))
    parcel = pack(lambda piece: pool.rows + piece)
    write_pool(tmp_path / "pool.parquet", 60)
    assert isinstance(do_piece("changed", lambda: parcel, 1).error, PoolChanged)


def test_a_pass_inside_of_a_piece_stays_at_the_worker(monkeypatch):
    monkeypatch.setenv(ENGINE, "none that there is")
    parcel = pack(lambda piece: map_reduce(range(piece), lambda each: [each], list.__add__))
    assert do_piece("nested", lambda: parcel, 3) == ([0, 1, 2], None)


class Odd(Exception):
    def __init__(self, first, second):
        super().__init__(first)
        self.second = threading.Lock()


@pytest.mark.parametrize(
    "error", [ColumnsUnclear("no id", "name it", {}, {"a": ["1"]}), ZeroDivisionError("by zero")]
)
def test_errors_come_back_as_they_are_with_their_place_in_the_code(error):
    def fail(piece):
        raise error

    found = do_piece(f"fails with {error}", lambda: pack(fail), 3).error
    again = pickle.loads(pickle.dumps(found))
    assert type(again) is type(error) and str(again) == str(error)
    assert {**vars(again), "__notes__": 0} == {**vars(error), "__notes__": 0}
    assert "in fail" in again.__notes__[0]


def test_an_error_that_cannot_travel_is_told_in_words():
    def fail(piece):
        raise Odd("broken", 3)

    found = do_piece("odd", lambda: pack(fail), 3).error
    assert type(found) is RuntimeError and str(found) == "Odd: broken"
