"""A pool is cut into pieces by its footers; a piece is written and checked alone."""

import shutil
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import cache, features, pieces
from activetest.cache.build import ACROSS, READABLE
from activetest.cache.design import Design
from activetest.cache.pieces import split_pool
from activetest.cache.summary import keep_summary, unpack_summary
from activetest.errors import CacheDamaged, CacheRebuilt, PoolChanged
from activetest.pool.ids import Text, hash_text
from activetest.pool.pool import Pool
from tests.makers import change_array

ROWS, FILES = 120, 3


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Pieces of at most 20 rows, unless a row group has more."""
    monkeypatch.setattr(pieces, "MOST_ROWS", 20)


def make_columns(start: int, rows: int) -> pa.Table:
    """Rows of a pool with features, a group, weights and gaps."""
    rng = np.random.default_rng(start)
    columns = {"id": [f"item {row}" for row in range(start, start + rows)]}
    probs = rng.dirichlet([1, 1, 1], rows)
    columns |= {f"prob_{name}": probs[:, code] for code, name in enumerate(("a", "b", "c"))}
    gaps = np.where(rng.random(rows) < 0.1, np.nan, rng.standard_normal(rows))
    columns |= {"x": gaps, "z": rng.standard_normal(rows), "w": rng.uniform(1, 2, rows)}
    return pa.table(columns | {"place": rng.choice(["barn", "tree"], rows)})


@pytest.fixture
def source(tmp_path) -> Path:
    """A folder of three files of 40 rows, in row groups of 7."""
    folder = tmp_path / "pool"
    folder.mkdir()
    for file in range(FILES):
        path = folder / f"part-{file}.parquet"
        pq.write_table(make_columns(40 * file, 40), path, row_group_size=7)
    return folder


def open_pool(source: Path) -> Pool:
    return Pool.open(str(source), groups=("place", "predicted"), weight="w")


def list_files(folder: Path) -> dict[str, bytes]:
    """{array of the items: content}."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.npy"))}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([[20]], [[20]]),
        ([[7] * 5 + [5]], [[14], [14], [12]]),
        ([[5, 5, 5, 5, 1]], [[20], [1]]),
        ([[50, 3, 3, 50, 1]], [[50], [6], [50], [1]]),
        ([[5], [5, 5], [5]], [[5], [10], [5]]),
        ([[1] * 1000], [[20]] * 50),
    ],
)
def test_row_groups_of_a_file_share_a_piece_up_to_a_number_of_rows(tmp_path, files, expected):
    for number, groups in enumerate(files):
        with pq.ParquetWriter(
            tmp_path / f"{number}.parquet", pa.schema({"pred": pa.int64()})
        ) as writer:
            for rows in groups:
                writer.write_table(pa.table({"pred": [0, 1] * (rows // 2) + [0] * (rows % 2)}))
    pool = Pool.open(str(tmp_path))
    found = split_pool(pool)
    assert [[sum(group.rows for group in each)] for each in found] == expected
    assert [group for each in found for group in each] == list(pool.pieces)
    assert all(len({group.path for group in each}) == 1 for each in found)


def test_every_piece_of_the_items_of_an_array_has_a_checksum(source, tmp_path):
    built = cache.build_cache(open_pool(source), tmp_path / "cache")
    assert built.piece_rows == [14, 14, 12] * FILES
    stops = np.cumsum(built.piece_rows).tolist()
    for name in ARRAYS:
        stated = built.stores[""].arrays[name]
        assert stated["stops"] == stops or name == "id_letters"
        assert len(stated["checksums"]) == len(stops)
    about = built.manifest["pieces"][4]
    assert [rows for rows, _ in about["row_groups"]] == [7, 7]
    letters = np.load(built.folder / "id_letters.npy").tobytes().decode()
    assert letters == "".join(f"item {row}" for row in range(ROWS))


def test_pieces_hold_what_one_piece_would(source, tmp_path, monkeypatch):
    # Rows are decoded a few at a time.
    monkeypatch.setattr("activetest.pool.pool.BATCH", 9)
    built = cache.build_cache(open_pool(source), tmp_path / "cache")
    whole = pa.concat_tables(pq.read_table(path) for path in sorted(source.iterdir()))
    pq.write_table(whole, tmp_path / "whole.parquet")
    monkeypatch.setattr(pieces, "MOST_ROWS", 1000)
    one = cache.build_cache(open_pool(tmp_path / "whole.parquet"), tmp_path / "one")
    assert one.piece_rows == [ROWS] and one.fingerprint == built.fingerprint
    rng = np.random.default_rng(0)
    spots = [np.arange(0), rng.integers(0, ROWS, 50), np.array([119]), np.array([3, 13, 14, 3])]
    for positions in spots:
        compare(built.take(positions), one.take(positions))
        assert built.ids(positions) == one.ids(positions) == [f"item {p}" for p in positions]
    for start, stop in [(0, ROWS), (5, 5), (13, 15), (14, 28), (100, 999), (ROWS, ROWS)]:
        compare(built.rows(start, stop), one.rows(start, stop))
    np.testing.assert_array_equal(built.hashes, one.hashes)
    np.testing.assert_array_equal(built.find([f"item {p}" for p in range(ROWS)]), range(ROWS))
    for positions in ([-1], [ROWS], [3, -2]):
        with pytest.raises(IndexError, match=f"{ROWS} items"):
            built.take(positions)


def compare(found, expected) -> None:
    for name in ("index", "codes", "right", "wrong", "spread", "weight"):
        left, right = getattr(found, name), getattr(expected, name)
        np.testing.assert_array_equal(left, right)
        assert left.dtype == right.dtype
        # Sums of lines depend on which numbers are neighbours in memory.
        assert len(found.index) < 2 or [*np.argsort(left.strides)] == [*np.argsort(right.strides)]
    np.testing.assert_allclose(found.design, expected.design, atol=1e-5)
    np.testing.assert_array_equal(found.outputs.pred, expected.outputs.pred)
    np.testing.assert_array_equal(found.outputs.probs, expected.outputs.probs)


def test_chunks_end_with_pieces_and_copy_nothing(source, tmp_path):
    built = cache.build_cache(open_pool(source), tmp_path / "cache")
    chunks = built.chunks(10)
    assert [stop - start for start, stop in chunks] == [10, 4, 10, 4, 10, 2] * FILES
    assert np.concatenate([np.arange(*chunk) for chunk in chunks]).tolist() == [*range(ROWS)]
    for chunk in chunks:
        rows = built.rows(*chunk)
        for values in (rows.design, rows.outputs.probs, rows.right, rows.codes):
            assert not values.flags.owndata and not values.flags.writeable


ARRAYS = [
    *("hashes", "codes", "weight", "id_letters", "id_ends"),
    *("pred", "probs", "design", "right", "wrong", "spread"),
]


@pytest.mark.parametrize("name", ARRAYS)
def test_damage_of_a_piece_builds_the_cache_again_and_keeps_its_parts(source, tmp_path, name):
    pool = open_pool(source)
    features.ensure_features(cache.build_cache(pool, tmp_path / "cache"), pool)
    before, kept = (list_files(tmp_path / "cache" / part) for part in (".", "features"))
    # In lines of 120 items and in rows alike this is an item of piece 4.
    change_array(tmp_path / "cache", name, 60 / 120 / (3 if name in ACROSS else 1))
    held = cache.ensure_cache(pool, tmp_path / "cache")
    with pytest.warns(CacheRebuilt, match=rf"\({name}.npy, piece 4\)"):
        read_all(held)
    assert list_files(tmp_path / "cache") == before
    assert list_files(tmp_path / "cache" / "features") == kept
    assert held.attach(["features"]).rows(0, ROWS).features.shape == (ROWS, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_all(cache.ensure_cache(pool, tmp_path / "cache"))


def read_all(held) -> None:
    rows = held.rows(0, held.size)
    _ = [rows.right, rows.wrong, rows.spread, rows.weight, rows.outputs.probs, held.hashes]
    assert held.find(held.ids(range(ROWS))).tolist() == [*range(ROWS)]


@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_missing_array_and_one_of_another_size_are_built_again(source, tmp_path, damage):
    pool = open_pool(source)
    cache.build_cache(pool, tmp_path / "cache")
    before = list_files(tmp_path / "cache")
    path = tmp_path / "cache" / "weight.npy"
    content = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[:-1])
    assert cache.open_cache(tmp_path / "cache") is None
    with pytest.warns(CacheRebuilt, match="built again"):
        read_all(cache.ensure_cache(pool, tmp_path / "cache"))
    assert list_files(tmp_path / "cache") == before


@pytest.mark.parametrize("link", ["weight.npy", "features"])
def test_nothing_is_written_through_a_link(source, tmp_path, link):
    pool = open_pool(source)
    features.ensure_features(cache.build_cache(pool, tmp_path / "cache"), pool)
    place, target = tmp_path / "cache" / link, tmp_path / "elsewhere"
    place.rename(target)
    place.symlink_to(target)
    (tmp_path / "cache" / "probs.npy").unlink()
    before = {path: path.stat() for path in (target, *target.rglob("*"))}
    with pytest.warns(CacheRebuilt):
        built = cache.ensure_cache(pool, tmp_path / "cache")
    read_all(built)
    features.ensure_features(built, pool)
    found = {path: path.stat() for path in (target, *target.rglob("*"))}
    assert [(*each[:2], *each[6:7], each.st_mtime_ns) for each in found.values()] == [
        (*each[:2], *each[6:7], each.st_mtime_ns) for each in before.values()
    ]


@pytest.mark.parametrize("name", ["id_order", "centre", "feature_weights"])
def test_damage_of_what_pieces_share_builds_the_cache_again(source, tmp_path, name):
    pool = open_pool(source)
    before = cache.build_cache(pool, tmp_path / "cache").manifest
    files = list_files(tmp_path / "cache")
    (tmp_path / "cache" / f"{name}.npy").unlink()
    with pytest.warns(CacheRebuilt, match=name):
        read_all(cache.ensure_cache(pool, tmp_path / "cache"))
    assert list_files(tmp_path / "cache") == files
    assert cache.open_cache(tmp_path / "cache").manifest == before


def test_a_piece_that_becomes_another_than_it_was_is_damage(source, tmp_path, monkeypatch):
    """As on another processor, where last digits may differ: the cache is built again whole."""
    pool = open_pool(source)
    cache.build_cache(pool, tmp_path / "cache")
    held = cache.ensure_cache(pool, tmp_path / "cache")
    change_array(tmp_path / "cache", "design")
    rows = Design.rows

    def round_otherwise(self, *given):
        found, missing = rows(self, *given)
        return np.nextafter(found, np.float32(9)), missing

    monkeypatch.setattr(Design, "rows", round_otherwise)
    problem = "design.npy, piece 4"
    with pytest.warns(CacheRebuilt) as told, pytest.raises(CacheDamaged, match=problem):
        held.rows(0, ROWS)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = cache.ensure_cache(pool, tmp_path / "cache")
        again.rows(0, ROWS)
        read_all(again)


def rewrite(path: Path, change) -> None:
    pq.write_table(change(pq.read_table(path)), path, row_group_size=7)


def test_a_file_with_other_features_is_of_the_same_pool_and_its_cache_another(source, tmp_path):
    built = cache.build_cache(open_pool(source), tmp_path / "cache")
    rewrite(
        source / "part-1.parquet",
        lambda table: table.set_column(5, "z", pa.array(np.arange(40.0))),
    )
    again = cache.ensure_cache(open_pool(source), tmp_path / "cache")
    assert again.fingerprint == built.fingerprint and again.manifest != built.manifest
    shutil.rmtree(tmp_path / "cache")
    fresh = cache.build_cache(open_pool(source), tmp_path / "cache")
    assert fresh.manifest == again.manifest


@pytest.mark.parametrize("empty", ["part-0-none.parquet", "a.parquet", "part-3.parquet"])
def test_files_without_rows_hide_no_change_in_the_others(source, tmp_path, empty):
    pq.write_table(make_columns(0, 1)[:0], source / empty)
    cache.build_cache(open_pool(source), tmp_path / "cache")
    rewrite(
        source / "part-1.parquet",
        lambda table: table.set_column(0, "id", pa.array(["new", *table["id"].to_pylist()[1:]])),
    )
    with pytest.raises(PoolChanged, match="differ among rows 40 to 46"):
        cache.ensure_cache(open_pool(source), tmp_path / "cache")


# --- ids that are numbers, and outcomes that are derived

IDS = {
    "whole numbers": pa.array(np.arange(ROWS)[::-1] * 1000 - 7),
    "small whole numbers": pa.array(np.arange(ROWS), pa.int8()),
    "large whole numbers": pa.array([2**63 + row for row in range(ROWS)], pa.uint64()),
    "texts": pa.array([f"{row:03}" for row in range(ROWS)]),
    "none": None,
}


def make_binary(ids: pa.Array | None, folder: Path) -> Pool:
    score = np.random.default_rng(5).random(ROWS).astype(np.float32)
    score[:2] = 0, 1
    columns = {"score": score} if ids is None else {"id": ids, "score": score}
    pq.write_table(pa.table(columns), folder / "binary.parquet", row_group_size=9)
    return Pool.open(str(folder / "binary.parquet"))


@pytest.mark.parametrize("kind", IDS)
def test_whole_numbers_are_ids_as_their_digits_are_and_take_no_letters(tmp_path, kind):
    pool, ids = make_binary(IDS[kind], tmp_path), IDS[kind]
    built = cache.build_cache(pool, tmp_path / "cache")
    texts = [f"row-{row}" for row in range(ROWS)] if ids is None else ids.cast(pa.string())
    expected = texts if ids is None else texts.to_pylist()
    kept = built.stores[""].arrays.keys() & {"id_numbers", "id_ends", "id_letters"}
    letters = {"id_ends", "id_letters"}
    arrays = {"texts": letters, "large whole numbers": letters, "none": set()}
    assert kept == arrays.get(kind, {"id_numbers"})
    spots = np.random.default_rng(0).permutation(ROWS)
    assert built.ids(spots) == [expected[spot] for spot in spots]
    np.testing.assert_array_equal(built.find(list(expected)), range(ROWS))
    assert built.find(["", "x", f"{2**70}", "row--1", "007x"]).tolist() == [-1] * 5
    plain = [each.removeprefix("row-") for each in expected]
    np.testing.assert_array_equal(built.hashes, hash_text(Text.of(plain)))
    for wrong in ([ROWS], [-1]):
        with pytest.raises(IndexError, match=f"{ROWS} items"):
            built.ids(wrong)


@pytest.mark.parametrize("kind", ["whole numbers", "none"])
def test_a_summary_brings_ids_back_that_have_no_letters(tmp_path, kind):
    built = cache.build_cache(make_binary(IDS[kind], tmp_path), tmp_path / "cache")
    assert keep_summary(built, tmp_path / "pool.summary", date="2026-01-01")
    (tmp_path / "other").mkdir()
    again = unpack_summary(
        tmp_path / "pool.summary", tmp_path / "other", rows=ROWS, fingerprint=built.fingerprint
    )
    np.testing.assert_array_equal(again.hashes, built.hashes)
    assert again.ids(range(ROWS)) == built.ids(range(ROWS))
    np.testing.assert_array_equal(again.rows(0, ROWS).wrong, built.rows(0, ROWS).wrong)


@pytest.mark.parametrize("hard", [False, True])
def test_outcomes_of_two_classes_are_derived_as_they_would_be_stored(tmp_path, monkeypatch, hard):
    pool = make_binary(IDS["texts"], tmp_path)
    if hard:
        table = pa.table({"pred": [f"c{row % 3}" for row in range(ROWS)]})
        pq.write_table(table, tmp_path / "hard.parquet", row_group_size=9)
        pool = Pool.open(str(tmp_path / "hard.parquet"), task="classification")
    derived = cache.build_cache(pool, tmp_path / "derived")
    monkeypatch.setattr("activetest.cache.build.stores_outcomes", lambda *_, **__: True)
    stored = cache.build_cache(pool, tmp_path / "stored")
    assert derived.stores[""].arrays.keys() == stored.stores[""].arrays.keys() - {*ACROSS}
    assert derived.fingerprint == stored.fingerprint
    for select in (lambda made: made.rows(20, 60), lambda made: made.take([5, 1, 119])):
        for name in ACROSS:
            lines = (getattr(select(each), name) for each in (derived, stored))
            np.testing.assert_array_equal(*lines)
        for place in range(len(derived.statistics)):
            pairs = zip(
                select(derived).find_outcome(place), select(stored).find_outcome(place), strict=True
            )
            for left, right in pairs:
                np.testing.assert_array_equal(left, right)
                assert left.dtype == right.dtype == np.float32


def test_a_cache_that_stores_more_is_read_and_mended_into_one_that_derives(tmp_path, monkeypatch):
    pool = make_binary(IDS["texts"], tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("activetest.cache.build.stores_outcomes", lambda *_, **__: True)
        patch.setattr("activetest.cache.build.VERSION", READABLE[0])
        expected = cache.build_cache(pool, tmp_path / "cache")
        whole = expected.rows(0, ROWS).wrong.copy()
        expected.close()
    held = cache.ensure_cache(pool, tmp_path / "cache")
    assert held.manifest["version"] == READABLE[0]
    np.testing.assert_array_equal(held.rows(0, ROWS).wrong, whole)
    held.close()
    change_array(tmp_path / "cache", "wrong", 0.5)
    held = cache.ensure_cache(pool, tmp_path / "cache")
    with pytest.warns(CacheRebuilt, match="wrong.npy"):
        np.testing.assert_array_equal(held.rows(0, ROWS).wrong, whole)
    assert held.stores[""].arrays.keys().isdisjoint(ACROSS)
