"""The cache says what the pool says, whatever its layout, and notices when it changes."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import cache
from activetest.cache.features import ensure_features
from activetest.cache.store import Store, StoreWriter, write_manifest
from activetest.errors import CacheDamaged, PoolChanged
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.nouns.rows import Outputs
from activetest.pool.ids import Text
from activetest.pool.pool import Pool
from tests.makers import build_pool, change_array


def table(rows: int = 500, seed: int = 0) -> pa.Table:
    """A pool of three classes with features, groups and ids."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([1, 1, 1], rows).astype(np.float32)
    columns = {
        "id": [f"item {row:05d}" for row in rows - 1 - np.arange(rows)],
        "prob": pa.FixedSizeListArray.from_arrays(pa.array(probs.ravel()), 3),
        "sex": rng.choice(["m", "f"], rows),
        "age": rng.integers(1, 4, rows),
    }
    return pa.table(columns | {f"f{k}": rng.standard_normal(rows) * k for k in range(4)})


def build_cache_of(folder, pool: pa.Table, *, row_group_size: int | None = None, **choices):
    """The cache of a pool, and the pool."""
    path = folder / "pool.parquet"
    pq.write_table(pool, path, row_group_size=row_group_size)
    opened = Pool.open(path, **choices)
    return cache.build_cache(opened, folder / "cache"), opened


def by_id(built_cache) -> dict:
    """Every item's row, by id."""
    rows = built_cache.rows(0, built_cache.size)
    outputs = rows.outputs
    fields = (built_cache.hashes, outputs.pred, outputs.probs, rows.design, rows.right.T)
    return {name: [f[row] for f in fields] for row, name in enumerate(built_cache.ids(rows.index))}


def test_it_holds_the_outputs_the_ids_and_the_constants_of_the_losses(tmp_path):
    source = table()
    built_cache, _ = build_cache_of(tmp_path, source)
    rows = built_cache.rows(0, built_cache.size)
    probs = np.array(source["prob"].to_pylist(), np.float32)
    np.testing.assert_array_equal(rows.outputs.probs, probs)
    np.testing.assert_array_equal(rows.outputs.pred, probs.argmax(axis=1))
    assert built_cache.ids([0, 499, 7]) == [source["id"][k].as_py() for k in (0, 499, 7)]
    outputs = Outputs(probs.argmax(axis=1), probs)
    for found, expected in zip(
        (rows.right, rows.wrong, rows.spread),
        right_and_wrong(outputs, built_cache.statistics),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
    assert built_cache.statistics == ("zero_one", "log_loss", "brier") and built_cache.classes == (
        "0",
        "1",
        "2",
    )


def test_taking_rows_is_picking_from_the_whole(tmp_path):
    built_cache, _ = build_cache_of(tmp_path, table(), groups=("sex",))
    whole, deterministic = built_cache.rows(0, built_cache.size), built_cache.take([400, 3, 3])
    for name in ("index", "design", "codes"):
        np.testing.assert_array_equal(
            getattr(deterministic, name), getattr(whole, name)[[400, 3, 3]]
        )
    for name in ("right", "wrong", "spread"):
        np.testing.assert_array_equal(
            getattr(deterministic, name), getattr(whole, name)[:, [400, 3, 3]]
        )
    assert built_cache.chunks(200) == [(0, 200), (200, 400), (400, 500)]
    assert len(built_cache.rows(450, 999).index) == 50


@pytest.mark.parametrize("hard", [True, False])
def test_chunks_of_many_classes_are_short_only_where_rows_hold_all_of_them(tmp_path, hard):
    rows, classes = 2000, 2000
    probs = np.full(rows * classes, 1 / classes, np.float32)
    said = (
        [f"c{k}" for k in range(rows)]
        if hard
        else pa.FixedSizeListArray.from_arrays(probs, classes)
    )
    pool = pa.table({"pred" if hard else "prob": said})
    built_cache, _ = build_cache_of(tmp_path, pool, task="classification")
    assert len(built_cache.classes) == classes
    assert built_cache.chunks()[0] == (0, 1024 if hard else 2**20 // classes)


def test_scores_are_what_the_model_says_of_a_class_or_of_the_one_it_predicts(tmp_path, monkeypatch):
    built_cache, _ = build_cache_of(tmp_path, table())
    monkeypatch.setattr(built_cache, "chunks", lambda: [(0, 200), (200, 500)])
    probs = built_cache.rows(0, built_cache.size).outputs.probs
    np.testing.assert_array_equal(built_cache.scores(), probs.max(axis=1))
    np.testing.assert_array_equal(built_cache.scores(2), probs[:, 2])
    assert built_cache.center == 0


def test_the_design_begins_with_the_logit_of_the_confidence(tmp_path):
    probs = [[0.5, 0.5], [0.8, 0.2], [0.0, 1.0]]
    built_cache, _ = build_cache_of(tmp_path, pa.table({"prob": probs, "pred": [0, 1, 1]}))
    design = built_cache.rows(0, 3).design
    np.testing.assert_allclose(design[:, 0], [0, np.log(0.2 / 0.8), 12], atol=1e-6)
    assert design.shape == (3, 1) and not built_cache.has_features


def test_the_design_of_a_regression_pool_begins_with_standard_units(tmp_path):
    rng = np.random.default_rng(1)
    pred, std = 1e6 + rng.standard_normal(300), np.exp(rng.standard_normal(300))
    built_cache, _ = build_cache_of(tmp_path, pa.table({"pred": pred, "pred_std": std}))
    design, outputs = built_cache.rows(0, 300).design, built_cache.rows(0, 300).outputs
    np.testing.assert_array_equal(outputs.pred, pred)
    np.testing.assert_array_equal(outputs.std, std)
    np.testing.assert_allclose(design[:, 0], (pred - pred.mean()) / pred.std(), atol=1e-3)
    logs = np.log(std)
    np.testing.assert_allclose(design[:, 1], (logs - logs.mean()) / logs.std(), atol=1e-3)
    assert (
        built_cache.statistics == ("squared", "absolute", "signed")
        and built_cache.rows(0, 9).right is None
    )
    np.testing.assert_allclose(built_cache.center, pred.mean())


def test_hard_labels_without_features_have_an_empty_design(tmp_path):
    built_cache, _ = build_cache_of(tmp_path, pa.table({"pred": list("aba")}))
    rows = built_cache.rows(0, 3)
    assert rows.design.shape == (3, 0) and rows.outputs.probs is None
    assert rows.wrong.tolist() == [[1, 1, 1]] and built_cache.statistics == ("zero_one",)


def test_groups_are_codes_into_their_sorted_values(tmp_path):
    source = table()
    built_cache, _ = build_cache_of(tmp_path, source, row_group_size=64, groups=("sex", "sex*age"))
    assert built_cache.group_names == ("sex", "sex*age")
    assert built_cache.group_values[0] == ["f", "m"]
    codes = built_cache.rows(0, built_cache.size).codes
    sexes = source["sex"].to_pylist()
    pairs = [f"{sex}*{age}" for sex, age in zip(sexes, source["age"].to_pylist(), strict=True)]
    assert [built_cache.group_values[0][code] for code in codes[:, 0]] == sexes
    assert [built_cache.group_values[1][code] for code in codes[:, 1]] == pairs


def test_shuffled_rows_and_other_row_groups_are_the_same_pool(tmp_path):
    source = table()
    first, _ = build_cache_of(tmp_path, source)
    before = by_id(first)
    shuffled = source.take(np.random.default_rng(2).permutation(len(source)))
    second, _ = build_cache_of(tmp_path, shuffled, row_group_size=37)
    assert second.fingerprint == first.fingerprint
    for name, fields in by_id(second).items():
        for found, expected in zip(fields, before[name], strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-4)


def test_any_change_of_ids_outputs_or_rows_is_another_pool(tmp_path):
    source = table()
    fingerprints = {build_cache_of(tmp_path, source)[0].fingerprint}
    probs = source["prob"].to_pylist()
    probs[3] = probs[3][::-1]
    column = pa.array(probs, source.schema.field("prob").type)
    fingerprints.add(build_cache_of(tmp_path, source.set_column(1, "prob", column))[0].fingerprint)
    ids = ["other", *source["id"].to_pylist()[1:]]
    fingerprints.add(
        build_cache_of(tmp_path, source.set_column(0, "id", pa.array(ids)))[0].fingerprint
    )
    fingerprints.add(build_cache_of(tmp_path, source.slice(0, 499))[0].fingerprint)
    assert len(fingerprints) == 4


def test_features_and_groups_are_not_part_of_the_fingerprint(tmp_path):
    source = table()
    first, _ = build_cache_of(tmp_path, source)
    second, _ = build_cache_of(tmp_path, source.drop_columns(["f1", "f2"]), groups=("sex",))
    assert first.fingerprint == second.fingerprint


def test_whole_numbers_and_their_text_are_the_same_ids(tmp_path):
    numbers = pa.table({"id": [10, -3, 7], "pred": [0, 1, 0]})
    first, _ = build_cache_of(tmp_path, numbers)
    hashes = np.array(first.hashes)
    second, _ = build_cache_of(tmp_path, numbers.set_column(0, "id", pa.array(["10", "-3", "7"])))
    np.testing.assert_array_equal(hashes, second.hashes)
    assert second.find(["7", "-3", "07", ""]).tolist() == [2, 1, -1, -1]
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize("numbers", [False, True])
def test_ids_of_items_that_follow_one_another_are_found_without_an_index(
    tmp_path, monkeypatch, numbers
):
    pool = table(40)
    if numbers:
        pool = pool.set_column(0, "id", pa.array(range(100, 140)))
    built, _ = build_cache_of(tmp_path, pool, row_group_size=16)
    ids = built.ids(np.arange(40))
    for rows in ([], [7], range(40), range(5, 30)):
        assert built.find_text(Text.of([ids[row] for row in rows])).tolist() == [*rows]
    others = [ids[4], "none", ids[6]], [*ids[:3], "none"], [ids[3], ids[2]], ["none"]
    for names in (*others, [*ids[30:], ids[0]], [*ids[30:], "none"]):
        assert built.find_text(Text.of(names)).tolist() == built.find(names).tolist()
    monkeypatch.setattr(built, "find_alike", lambda ids: pytest.fail("they are looked up"))
    assert built.find_text(Text.of(ids[5:30])).tolist() == [*range(5, 30)]


def test_an_untouched_pool_is_not_read_again(tmp_path, monkeypatch):
    built_cache, pool = build_cache_of(tmp_path, table())
    monkeypatch.setattr(cache, "build_cache", None)
    monkeypatch.setattr(cache, "compute_fingerprint", None)
    found = cache.ensure_cache(Pool(pool.uri, pool.schema), tmp_path / "cache")
    assert found.fingerprint == built_cache.fingerprint


def test_a_touched_pool_with_the_same_content_is_read_again(tmp_path):
    built_cache, pool = build_cache_of(tmp_path, table())
    os.utime(pool.uri, (1, 1))
    found = cache.ensure_cache(Pool(pool.uri, pool.schema), tmp_path / "cache")
    assert found.fingerprint == built_cache.fingerprint
    assert found.manifest["stamp"] != built_cache.manifest["stamp"]


def test_a_changed_pool_is_an_error_that_says_where_and_keeps_the_old_cache(tmp_path):
    source = table()
    built_cache, pool = build_cache_of(tmp_path, source, row_group_size=100)
    ids = source["id"].to_pylist()
    ids[250] = "somebody else"
    changed = source.set_column(0, "id", pa.array(ids))
    pq.write_table(changed, pool.uri, row_group_size=100)
    with pytest.raises(PoolChanged, match="differ among rows 200 to 299") as caught:
        cache.ensure_cache(Pool(pool.uri, pool.schema), tmp_path / "cache")
    assert "`Study.create(pool, folder)`" in caught.value.hint
    assert cache.open_cache(tmp_path / "cache").fingerprint == built_cache.fingerprint


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda t: t.slice(0, 499), "499 rows and had 500"),
        (lambda t: t.drop_columns(["prob"]), "no column 'prob'"),
        (lambda t: t.drop_columns(["f2"]), "no column 'f2'"),
        (lambda t: t.set_column(1, "prob", pa.array(["x"] * 500)), "'prob' is string"),
        (lambda t: t.set_column(1, "prob", pa.array([[0.5, 0.5]] * 500)), "not hold 3 classes"),
    ],
)
def test_a_pool_that_lost_something_is_a_changed_pool(tmp_path, change, problem):
    _, pool = build_cache_of(tmp_path, table())
    pq.write_table(change(table()), pool.uri)
    with pytest.raises(PoolChanged, match=problem):
        cache.ensure_cache(Pool(pool.uri, pool.schema), tmp_path / "cache")


def test_without_a_cache_the_studys_fingerprint_decides(tmp_path):
    built_cache, pool = build_cache_of(tmp_path, table())
    shutil.rmtree(tmp_path / "cache")
    again = cache.ensure_cache(pool, tmp_path / "cache", expected=built_cache.fingerprint)
    assert again.fingerprint == built_cache.fingerprint
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(PoolChanged):
        cache.ensure_cache(pool, tmp_path / "cache", expected="0" * 32)
    assert not (tmp_path / "cache").exists()


def test_other_roles_of_columns_build_another_cache(tmp_path):
    _, pool = build_cache_of(tmp_path, table())
    regrouped = Pool.open(pool.uri, groups=("sex",))
    assert cache.ensure_cache(regrouped, tmp_path / "cache").group_names == ("sex",)


@pytest.mark.parametrize(
    "damage",
    [
        shutil.rmtree,
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text("{"),
        lambda folder: (folder / "manifest.json").write_text("[]"),
        lambda folder: (folder / "manifest.json").write_text('{"version": 0}'),
        lambda folder: (folder / "id_order.npy").unlink(),
        lambda folder: (folder / "pred.npy").unlink(),
        lambda folder: (folder / "probs.npy").write_bytes(b""),
        lambda folder: os.truncate(folder / "hashes.npy", 300),
    ],
)
def test_a_damaged_cache_is_none_and_is_built_again(tmp_path, damage):
    built_cache, pool = build_cache_of(tmp_path, table())
    damage(tmp_path / "cache")
    assert cache.open_cache(tmp_path / "cache") is None
    again = cache.ensure_cache(pool, tmp_path / "cache", expected=built_cache.fingerprint)
    assert again.fingerprint == built_cache.fingerprint


@pytest.mark.parametrize("stops", [[100, 499], [99, 500], [500]])
def test_a_manifest_whose_arrays_are_of_other_items_is_none_of_a_cache(tmp_path, stops):
    built_cache, _ = build_cache_of(tmp_path, table(), row_group_size=70_000)
    content = built_cache.manifest
    assert content["arrays"]["codes"]["stops"] == [500]
    content["arrays"]["probs"] |= {"stops": stops, "shape": [stops[-1], 3]}
    content["arrays"]["probs"]["checksums"] *= len(stops)
    write_manifest(tmp_path / "cache", content)
    assert (cache.open_cache(tmp_path / "cache") is not None) == (stops == [500])


def test_a_part_of_other_items_is_none_of_a_cache(tmp_path):
    built_cache, pool = build_cache_of(tmp_path, table())
    ensure_features(built_cache, pool)
    content = cache.open_cache(tmp_path / "cache", ["features"]).stores["features"].content
    content["arrays"]["features"] |= {"stops": [3, 500], "checksums": [1, 2]}
    write_manifest(tmp_path / "cache" / "features", content)
    assert cache.open_cache(tmp_path / "cache", ["features"]) is None


def test_what_was_put_right_is_said(tmp_path):
    probs = [[0.5, 0.5004], [0.3, 0.7], [0.9, 0.1]]
    columns = {"prob": probs, "pred": [1, 0, 0], "f": [1.0, None, 3.0], "g": [[1, 2], [3, 4], None]}
    built_cache, _ = build_cache_of(tmp_path, pa.table(columns))
    renormalised, disagreeing, missing = built_cache.notices
    assert renormalised == "renormalised the probabilities of 1 of 3 items"
    assert disagreeing.startswith("pred is not the most probable class for 1 of 3 items")
    assert "(3, in f, g)" in missing
    rows = built_cache.rows(0, 3)
    np.testing.assert_allclose(rows.outputs.probs.sum(axis=1), 1, atol=1e-6)
    assert np.isfinite(rows.design).all()


def test_a_build_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(StoreWriter, "write", full)
    with pytest.raises(OSError, match="No space"):
        build_cache_of(tmp_path, table())
    assert [path.name for path in tmp_path.iterdir()] == ["pool.parquet"]


def test_a_new_cache_takes_the_place_of_the_old_while_that_is_being_read(tmp_path):
    old, pool = build_cache_of(tmp_path, table())
    before = np.array(old.rows(0, 500).design)
    cache.build_cache(pool, tmp_path / "cache")
    np.testing.assert_array_equal(old.rows(0, 500).design, before)
    assert [path.name for path in tmp_path.glob("*cache*")] == ["cache"]
    assert not list(tmp_path.glob(".cache*"))


@pytest.mark.parametrize("interrupts", ["build", "opening"])
def test_a_cache_that_another_process_builds_meanwhile_is_not_taken_for_this_one(
    interrupts, tmp_path, monkeypatch
):
    _, pool = build_cache_of(tmp_path, table())
    wider = table().append_column("extra", pa.array([1.0] * table().num_rows))
    pq.write_table(wider, tmp_path / "other.parquet")
    other = Pool.open(str(tmp_path / "other.parquet"))
    build_into, open_files = cache.build_into, Store.open_files

    def replace_after_build(*arguments, **options):
        build_into(*arguments, **options)
        if interrupts == "build":
            monkeypatch.setattr(cache, "build_into", build_into)
            build_into(other, tmp_path / "cache")

    def replace_while_opening(*arguments):
        monkeypatch.setattr(Store, "open_files", open_files)
        if interrupts == "opening":
            build_into(other, tmp_path / "cache")
        return open_files(*arguments)

    monkeypatch.setattr(cache, "build_into", replace_after_build)
    monkeypatch.setattr(Store, "open_files", replace_while_opening)
    found = cache.build_cache(pool, tmp_path / "cache")
    assert found.matches(pool) and not found.matches(other)
    assert cache.open_cache(tmp_path / "cache").manifest == found.manifest


def test_columns_are_read_when_they_are_used_and_damage_is_found_then(tmp_path):
    """Of rows, of rows of rows, and of rows that were taken before the damage was done."""
    build_pool(tmp_path, 30)
    change_array(tmp_path / "cache", "probs")
    held = cache.Cache(tmp_path / "cache")
    rows = held.rows(0, 30)
    some = rows[np.arange(5)]
    assert len(held.take([3, 4]).outputs.pred) == 2 and rows.right.shape == (3, 30)
    for each in (rows, some, held.take([29]), replace(rows, weight=None)):
        with pytest.raises(CacheDamaged, match="probs"):
            _ = each.outputs.probs
    assert rows.price is None and some.weight is None and rows.features is None
