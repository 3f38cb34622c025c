"""Summary of a study's pool: the same numbers, small, and hostile files are errors."""

import io
import json
import shutil
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import pieces, summary
from activetest.cache.cache import build_cache
from activetest.cache.summary import (
    check_summary,
    keep_summary,
    read_summary,
    unpack_summary,
)
from activetest.errors import StudyError
from activetest.pool.pool import Pool

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
    assert first.stores[""].arrays == second.stores[""].arrays
    for name in first.stores[""].arrays:
        one, other = (each.stores[""].read(name) for each in (first, second))
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other, err_msg=name)
    everything = np.arange(first.size)
    assert first.ids(everything) == second.ids(everything)
    np.testing.assert_array_equal(second.find(first.ids(everything)), everything)
    names = ("classes", "statistics", "fingerprint", "group_values", "roles", "notices")
    for name in (*names, "piece_rows"):
        assert getattr(first, name) == getattr(second, name)


@pytest.mark.pool(rows=90, groups=("place",))
def test_a_cache_comes_back_bit_by_bit(pool, kept):
    check_equal(pool, unpack(kept, pool))


def test_pieces_stay_as_they_are(tmp_path, monkeypatch):
    """Sums over chunks, which end with pieces, are then the same to the last digit."""
    monkeypatch.setattr(pieces, "MOST_ROWS", 20)
    pq.write_table(pa.table({"score": np.linspace(0, 1, 90)}), tmp_path / "p.parquet", 7)
    built = build_cache(Pool.open(str(tmp_path / "p.parquet")), tmp_path / "cache")
    assert len(built.piece_rows) > 4
    keep_summary(built, tmp_path / "pool.summary", date=DATE)
    check_equal(built, unpack(tmp_path / "pool.summary", built))


def test_numpy_and_whatever_reads_a_zip_read_a_summary(pool, kept):
    with np.load(kept, allow_pickle=False) as found:
        probs = found["probs"]
    np.testing.assert_array_equal(probs, pool.rows(0, pool.size).outputs.probs)
    with zipfile.ZipFile(kept) as found:
        assert found.testzip() is None
        assert json.loads(found.read("summary.json"))["date"] == DATE


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
    taken = sum(path.stat().st_size for path in pool.folder.rglob("*.npy"))
    assert kept.stat().st_size < taken / 2


def test_every_changed_byte_is_noticed_or_changes_nothing(pool, kept, tmp_path):
    data = kept.read_bytes()
    places = [*np.random.default_rng(1).integers(len(data), size=150), 0, len(data) - 1]
    noticed = 0
    for place in [*places, *range(len(data) - 70, len(data))]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(place % 8)
        kept.write_bytes(damaged)
        try:
            check_summary(kept)
        except StudyError:
            noticed += 1
        else:
            # Such as dates in the zip, and the key of the cache, which no number follows from.
            check_equal(pool, unpack(kept, pool))
            shutil.rmtree(tmp_path / "unpacked")
    assert noticed > 100
    for cut in (0, 10, 20, len(data) // 2, len(data) - 40):
        kept.write_bytes(data[:cut])
        with pytest.raises(StudyError):
            check_summary(kept)


def test_a_summary_of_another_version_is_none(pool, kept):
    forge(kept, lambda header, *_: header.update(version=2))
    with pytest.raises(StudyError, match="no summary of a pool that this version reads"):
        read_summary(kept)
    assert keep_summary(pool, kept, date=DATE)
    read_summary(kept)


def test_a_summary_of_another_pool_is_refused(pool, kept, tmp_path):
    folder = tmp_path / "unpacked"
    folder.mkdir()
    for rows, fingerprint in ((pool.size + 1, pool.fingerprint), (pool.size, "0" * 32)):
        with pytest.raises(StudyError, match="not of the pool"):
            unpack_summary(kept, folder, rows=rows, fingerprint=fingerprint)


def forge(path: Path, change) -> None:
    """Change the header and the members, and make all checksums fit."""
    with zipfile.ZipFile(path) as archive:
        kinds = {each.filename: 8 for each in archive.infolist()}
        contents = {name: archive.read(name) for name in kinds}
    header = json.loads(contents["summary.json"])
    change(header, contents, kinds)
    contents["summary.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content, kinds.get(name))


def find(header, name: str = "pred") -> dict:
    """The statement about an array."""
    return header["manifests"][""]["arrays"][name]


def pack(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def test_a_forgery_that_changes_nothing_is_the_same(pool, kept):
    forge(kept, lambda header, contents, kinds: None)
    check_equal(pool, unpack(kept, pool))


def swell(header, contents, kinds):
    """A member that unpacks to a gigabyte."""
    contents["pred.npy"] = bytes(2**30)


def swell_header(header, contents, kinds):
    header["manifests"][""]["notices"] = ["x" * 2**25]


def set_codes(header, contents, kinds):
    shape = find(header, "codes")["shape"]
    contents["codes.npy"] = pack(np.full(shape, 10**6, np.int32))


def set_offsets(header, contents, kinds):
    contents["id_ends.npy"] = pack(np.full(header["manifests"][""]["rows"], 2**40, np.int64))


def set_classes(header, contents, kinds):
    values = np.full(header["manifests"][""]["rows"], -5, np.int32)
    contents["pred.npy"] = pack(values)


def cut(header, contents, kinds):
    contents["pred.npy"] = contents["pred.npy"][-20:]


def pack_otherwise(header, contents, kinds):
    """A packing whose memory a file may choose."""
    kinds["pred.npy"] = zipfile.ZIP_LZMA


def lead_elsewhere(header, contents, kinds):
    header["manifests"][""]["arrays"]["../../evil/items"] = find(header)


def leave_out(header, contents, kinds):
    del contents["pred.npy"]


@pytest.mark.pool(groups=("place",))
@pytest.mark.parametrize(
    "change",
    [
        *(swell, swell_header, set_codes, set_offsets, set_classes, cut, pack_otherwise),
        *(lead_elsewhere, leave_out),
        lambda header, *_: find(header).update(shape=[2**40], stops=[2**40]),
        lambda header, *_: find(header).update(shape=[-1], stops=[-1]),
        lambda header, *_: find(header).update(shape=[1, 2, 3], stops=[1]),
        lambda header, *_: find(header).update(shape="odd"),
        lambda header, *_: find(header).update(type="|O"),
        lambda header, *_: find(header).update(type="f4,O"),
        lambda header, *_: find(header).update(axis=1),
        lambda header, *_: find(header).update(checksums=[1]),
        lambda header, *_: find(header).pop("stops"),
        lambda header, *_: find(header, "id_letters").update(stops=[2**40]),
        lambda header, *_: header["manifests"].update({"../../evil": {}}),
        lambda header, *_: header["manifests"].pop(""),
        lambda header, *_: header.update(version=1),
        lambda header, *_: header["manifests"][""].update(rows="many"),
        lambda header, *_: header["manifests"][""].update(classes=None),
        lambda header, *_: header["manifests"][""].update(pieces=[]),
        lambda header, *_: header["manifests"][""]["pieces"].append(
            header["manifests"][""]["pieces"][0]
        ),
        lambda header, *_: header["manifests"][""].pop("statistics"),
        lambda header, *_: header["manifests"][""]["arrays"].clear(),
    ],
)
def test_a_hostile_summary_is_an_error_and_takes_no_memory(pool, kept, tmp_path, change):
    forge(kept, change)
    tracemalloc.start()
    try:
        with pytest.raises(StudyError):
            unpack(kept, pool)
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()
    assert not [path for path in tmp_path.rglob("*") if path.name == "evil"]
