"""Evidence of features about the model's answers, as a part of the cache."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.cache.auxiliary import attach_auxiliary
from activetest.cache.cache import build_cache
from activetest.cache.evidence import ensure_evidence
from activetest.pool.pool import Pool

SIZE = 400


def write_pool(path, *, order=None, useful=True, **leave_out):
    """Two classes by four features; the model's answers follow them, or nothing does."""
    rng = np.random.default_rng(8)
    features = rng.normal(size=(SIZE, 4)).astype(np.float32)
    score = 1 / (1 + np.exp(-2 * features @ [1.0, -1, 0.5, 0.0]))
    if not useful:
        features = rng.normal(size=(SIZE, 4)).astype(np.float32)
    columns = {"id": [f"item-{row}" for row in range(SIZE)], "score": score}
    columns |= {f"x{k}": features[:, k] for k in range(4) if not leave_out}
    table = pa.table(columns)
    pq.write_table(table if order is None else table.take(order), path)
    return str(path)


def attach(address, folder):
    pool = Pool.open(address)
    return pool, attach_auxiliary(build_cache(pool, folder), pool, {"auto"})


def test_columns_are_of_every_item_and_said_at_once(tmp_path):
    _, cache = attach(write_pool(tmp_path / "pool.parquet"), tmp_path / "cache")
    evidence = cache.rows(0, SIZE).evidence
    assert evidence.shape == (SIZE, 3)
    assert (cache.take([7, 3]).evidence == evidence[[7, 3]]).all()
    (said,) = (notice for notice in cache.notices if "foretell" in notice)
    share = int(said.removeprefix("4 features foretell the model's answer for ").split(" %")[0])
    assert 80 < share < 100


@pytest.mark.parametrize("names", [{"agreement"}, {"forest"}, set()])
def test_other_surrogates_have_none(tmp_path, names):
    address = write_pool(tmp_path / "pool.parquet")
    pool = Pool.open(address)
    cache = attach_auxiliary(build_cache(pool, tmp_path / "cache"), pool, names)
    assert cache.rows(0, 5).evidence is None


def test_it_is_built_once_and_again_to_the_same_numbers(tmp_path, monkeypatch):
    pool, cache = attach(write_pool(tmp_path / "pool.parquet"), tmp_path / "cache")
    before = cache.rows(0, SIZE).evidence.copy()
    with monkeypatch.context() as patch:
        patch.setattr("activetest.cache.evidence.learn_answers", None)
        ensure_evidence(cache, pool)
    shutil.rmtree(tmp_path / "cache" / "evidence")
    part = ensure_evidence(cache, pool)
    assert (part.read("evidence") == before).all()


def test_it_does_not_depend_on_the_order_of_rows(tmp_path):
    order = np.random.default_rng(1).permutation(SIZE)
    _, one = attach(write_pool(tmp_path / "one.parquet"), tmp_path / "one")
    _, other = attach(write_pool(tmp_path / "other.parquet", order=order), tmp_path / "other")
    apart = other.rows(0, SIZE).evidence - one.rows(0, SIZE).evidence[order]
    # Standard units are of sums in the order of rows.
    assert np.abs(apart).max() <= 2 / 256


def play(address, folder, key, rounds=3) -> list:
    """The ids and probabilities of draws of a study by the default surrogate."""
    study = at.Study.create(address, folder, seed=4)
    for _ in range(rounds):
        batch = study.next(12)
        study.ingest({name: key[name] for name in batch.ids})
    return [(row.id, round(row.probability, 9)) for row in study.export()]


def test_useless_features_change_no_draw(tmp_path):
    """Of noise no column is left, and nothing else is made of it."""
    rng = np.random.default_rng(0)
    key = {f"item-{row}": str(rng.integers(2)) for row in range(SIZE)}
    noise = write_pool(tmp_path / "noise.parquet", useful=False)
    none = write_pool(tmp_path / "none.parquet", useful=False, features=False)
    drawn = play(noise, tmp_path / "noise", key)
    assert drawn == play(none, tmp_path / "none", key)
    useful = write_pool(tmp_path / "useful.parquet")
    assert drawn != play(useful, tmp_path / "useful", key)


def test_useful_features_are_listened_to(tmp_path):
    rng = np.random.default_rng(0)
    address = write_pool(tmp_path / "pool.parquet")
    key = {f"item-{row}": str(rng.integers(2)) for row in range(SIZE)}
    play(address, tmp_path / "study", key)
    report = at.Study.open(tmp_path / "study").report()
    assert report.surrogate == "auto"
    assert report.auxiliary_outputs == ("the model's confidence", "the features")
