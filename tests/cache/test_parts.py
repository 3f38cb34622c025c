"""Results that a cache keeps: computed once for what they follow from, and checked."""

import numpy as np
import pytest

from activetest.cache.auxiliary import attach_auxiliary
from activetest.cache.cache import ensure_cache, list_damage
from activetest.cache.parts import keep_result, list_results
from activetest.errors import CacheRebuilt
from activetest.pool.pool import Pool
from activetest.study.provenance import Provenance
from tests.makers import build_pool, change_array

VALUES = {"first": np.arange(6.0).reshape(2, 3), "second": np.array([3, 1], np.int32)}


class Counting:
    """A function that computes VALUES, and counts its calls."""

    calls = 0

    def __call__(self) -> dict:
        self.calls += 1
        return VALUES


@pytest.fixture
def compute() -> Counting:
    return Counting()


def check(found: dict) -> None:
    assert found.keys() == VALUES.keys()
    for name, values in VALUES.items():
        np.testing.assert_array_equal(found[name], values)
        assert found[name].dtype == values.dtype


def test_a_result_is_computed_once_for_what_it_follows_from(tmp_path, compute):
    for _ in range(3):
        check(keep_result(tmp_path, "model", ["full", 3, "ab"], compute))
    assert compute.calls == 1
    check(keep_result(tmp_path, "model", ["full", 4, "ab"], compute))
    check(keep_result(tmp_path, "model", ["full", 3, "ab"], compute))
    assert compute.calls == 3
    check(keep_result(tmp_path, "other", ["full", 3, "ab"], compute))
    assert compute.calls == 4
    assert list_results(tmp_path) == ["results/model", "results/other"]


def test_a_result_may_be_changed_by_whoever_reads_it(tmp_path, compute):
    keep_result(tmp_path, "model", 1, compute)
    keep_result(tmp_path, "model", 1, compute)["first"][:] = 0
    check(keep_result(tmp_path, "model", 1, compute))
    assert compute.calls == 1


@pytest.mark.parametrize("name", ["second.npy", "manifest.json"])
def test_a_damaged_result_is_computed_again_and_the_user_is_told(tmp_path, compute, name):
    keep_result(tmp_path, "model", 1, compute)
    file = tmp_path / "results" / "model" / name
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.warns(CacheRebuilt, match="built again"):
        check(keep_result(tmp_path, "model", 1, compute))
    check(keep_result(tmp_path, "model", 1, compute))
    assert compute.calls == 2


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path, compute):
    (tmp_path / "results").write_text("no folder")
    for _ in range(2):
        check(keep_result(tmp_path, "model", 1, compute))
    assert compute.calls == 2 and list_results(tmp_path) == []


def test_damage_of_a_result_is_listed_with_that_of_the_cache(tmp_path, compute):
    cache = build_pool(tmp_path, 30)
    cache.keeps_results, folder = True, cache.folder
    assert list_damage(folder) == []
    check(cache.compute_stored("model", 1, compute))
    change_array(folder / "results" / "model", "second")
    (found,) = list_damage(folder)
    assert "second" in found


def test_only_the_cache_of_a_study_keeps_results_for_later_processes(tmp_path, compute):
    cache = build_pool(tmp_path, 30)
    for _ in range(2):
        check(cache.compute_stored("model", 1, compute))
    assert compute.calls == 1 and list_results(cache.folder) == []
    cache.compute_stored("model", 2, compute)
    cache.compute_stored("model", 1, compute)
    assert compute.calls == 3
    study = ensure_cache(Pool.open(str(tmp_path / "pool.parquet")), cache.folder)
    check(study.compute_stored("model", 1, compute))
    assert compute.calls == 4 and list_results(cache.folder) == ["results/model"]
    again = ensure_cache(Pool.open(str(tmp_path / "pool.parquet")), cache.folder)
    check(again.compute_stored("model", 1, compute))
    assert compute.calls == 4


def test_auxiliary_data_leave_it_to_the_cache_whether_results_are_kept(tmp_path, compute):
    """Of pools with features, a batch was predicted from its own labels again in every report."""
    build_pool(tmp_path, 80)
    pool = Pool.open(str(tmp_path / "pool.parquet"))
    entries = {"uri": "pool.parquet", "evidence_fingerprint": "another"}
    for number in (1, 2):
        study = attach_auxiliary(ensure_cache(pool, tmp_path / "cache"), pool, {"auto"})
        assert study.parts == ("evidence",)
        study = Provenance(entries, {}, "auto", frozenset({"auto"})).mark_unavailable(study)
        assert study.unavailable
        check(study.compute_stored("model", 1, compute))
        assert compute.calls == 1 and list_results(study.folder) == ["results/model"], number
