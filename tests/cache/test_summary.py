"""What a study keeps of its pool: the same numbers, small, and hostile files are errors."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from activetest.cache import summary
from activetest.cache.summary import (
    check_summary,
    keep_summary,
    read_summary,
    unpack_summary,
)
from activetest.errors import StudyError

DATE = "2026-01-02T03:04:05+00:00"


@pytest.fixture
def kept(pool, tmp_path) -> Path:
    path = tmp_path / "pool.summary"
    assert keep_summary(pool, path, date=DATE)
    return path


def unpack(path: Path, pool):
    folder = path.parent / "unpacked"
    folder.mkdir()
    return unpack_summary(path, folder, rows=pool.size, fingerprint=pool.fingerprint)


def check_equal(first, second) -> None:
    names = {*first.list_arrays()}
    assert names == {*second.list_arrays()}
    for name in names:
        left, right = (each.list_arrays()[name][:] for each in (first, second))
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right, err_msg=name)
    everything = np.arange(first.size)
    assert first.ids(everything) == second.ids(everything)
    np.testing.assert_array_equal(second.find(first.ids(everything)), everything)
    for name in ("classes", "statistics", "fingerprint", "group_values", "roles", "notices"):
        assert getattr(first, name) == getattr(second, name)


@pytest.mark.pool(rows=90, groups=("place",))
def test_a_cache_comes_back_bit_by_bit(pool, kept):
    check_equal(pool, unpack(kept, pool))


def test_pieces_are_put_together(pool, tmp_path, monkeypatch):
    monkeypatch.setattr(summary, "_CHUNK", 7)
    path = tmp_path / "pool.summary"
    keep_summary(pool, path, date=DATE)
    check_equal(pool, unpack(path, pool))


def test_what_it_says_is_read_without_unpacking(pool, kept):
    found = read_summary(kept)
    assert (found.rows, found.fingerprint, found.date) == (pool.size, pool.fingerprint, DATE)
    assert check_summary(kept) == found


def test_it_is_written_only_where_the_cache_is_another(pool, kept):
    before = kept.read_bytes()
    assert keep_summary(pool, kept, date="2027-01-01T00:00:00+00:00")
    assert kept.read_bytes() == before
    pool.manifest["notices"] = ["another"]
    assert keep_summary(pool, kept, date="2027-01-01T00:00:00+00:00")
    assert read_summary(kept).date.startswith("2027")


def test_a_pool_of_too_many_bytes_is_not_kept(pool, kept, monkeypatch):
    monkeypatch.setattr(summary, "MOST_BYTES", 8)
    pool.manifest["notices"] = ["another"]
    assert not keep_summary(pool, kept, date=DATE)
    assert not kept.exists()


@pytest.mark.pool(rows=400)
def test_it_is_smaller_than_what_it_stands_for(pool, kept):
    taken = sum(path.stat().st_size for path in pool.folder.glob("*.npy"))
    assert kept.stat().st_size < taken / 2


def test_every_changed_byte_is_noticed(pool, kept):
    data = kept.read_bytes()
    rng = np.random.default_rng(1)
    begin = data.index(b"\n", data.index(b"\n") + 1) + 1
    for place in [*rng.integers(begin, len(data), 60), begin, len(data) - 1]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        kept.write_bytes(damaged)
        with pytest.raises(StudyError):
            check_summary(kept)
    for cut in (0, 10, begin, begin + 20, len(data) // 2, len(data) - 1):
        kept.write_bytes(data[:cut])
        with pytest.raises(StudyError):
            check_summary(kept)
    kept.write_bytes(data + b"x")
    with pytest.raises(StudyError):
        check_summary(kept)


def test_a_summary_of_another_pool_is_refused(pool, kept, tmp_path):
    folder = tmp_path / "unpacked"
    folder.mkdir()
    for rows, fingerprint in ((pool.size + 1, pool.fingerprint), (pool.size, "0" * 32)):
        with pytest.raises(StudyError, match="not of the pool"):
            unpack_summary(kept, folder, rows=rows, fingerprint=fingerprint)


def forge(path: Path, change) -> None:
    """Change the header and the pieces, and make all checksums fit."""
    title, key, header, body = path.read_bytes().split(b"\n", 3)
    content = json.loads(header.partition(b" ")[2])
    pieces, at = {}, 0
    for stated in content["arrays"]:
        pieces[stated["name"]] = []
        for size in stated["sizes"]:
            pieces[stated["name"]].append(body[at : at + size])
            at += size
    change(content, pieces)
    for stated in content["arrays"]:
        found = pieces.get(stated.get("name"), [])
        stated["digest"] = summary._digest(b"".join(found))
        if "sizes" in stated and stated["sizes"] != "odd":
            stated["sizes"] = [len(each) for each in found]
    text = json.dumps(content).encode()
    body = b"".join(piece for each in pieces.values() for piece in each)
    line = summary._digest(text).encode() + b" " + text
    path.write_bytes(b"\n".join([title, key, line, body]))


def find(content, name):
    return next(each for each in content["arrays"] if each["name"] == name)


def test_a_forgery_that_changes_nothing_is_the_same(pool, kept):
    before = kept.read_bytes()
    forge(kept, lambda content, pieces: None)
    assert kept.read_bytes() == before


def swell(content, pieces):
    """A piece that unpacks to a gigabyte."""
    packing = zlib.compressobj(9)
    piece = b"".join(packing.compress(bytes(2**20)) for _ in range(1024)) + packing.flush()
    pieces["pred"] = [piece]


def set_codes(content, pieces):
    shape = find(content, "codes")["shape"]
    pieces["codes"] = [zlib.compress(summary._shuffle(np.full(shape, 10**6, np.int32)))]


def set_offsets(content, pieces):
    rows = content["manifest"]["rows"]
    values = np.full(rows + 1, 2**40, np.int64)
    values[0] = 0
    pieces["id_offsets"] = [zlib.compress(summary._shuffle(values))]


def set_classes(content, pieces):
    rows = content["manifest"]["rows"]
    pieces["pred"] = [zlib.compress(summary._shuffle(np.full(rows, -5, np.int32)))]


@pytest.mark.pool(groups=("place",))
@pytest.mark.parametrize(
    "change",
    [
        swell,
        set_codes,
        set_offsets,
        set_classes,
        lambda content, pieces: find(content, "pred").update(shape=[2**40]),
        lambda content, pieces: find(content, "pred").update(shape=[-1]),
        lambda content, pieces: find(content, "pred").update(shape=[1, 2, 3]),
        lambda content, pieces: find(content, "pred").update(dtype="|O"),
        lambda content, pieces: find(content, "pred").update(dtype="f4,O"),
        lambda content, pieces: find(content, "pred").update(axis=5),
        lambda content, pieces: find(content, "pred").update(sizes="odd"),
        lambda content, pieces: find(content, "pred").pop("dtype"),
        lambda content, pieces: content.update(parts={"../../evil": {}}),
        lambda content, pieces: content["manifest"].update(rows="many"),
        lambda content, pieces: content["manifest"].update(classes=None),
        lambda content, pieces: content["manifest"].pop("statistics"),
        lambda content, pieces: content["arrays"].clear(),
    ],
)
def test_a_hostile_summary_is_an_error_and_takes_no_memory(pool, kept, tmp_path, change):
    forge(kept, change)
    with pytest.raises(StudyError):
        unpack(kept, pool)
    assert not [path for path in tmp_path.rglob("*") if path.name == "evil"]
