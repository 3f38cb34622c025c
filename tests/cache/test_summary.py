"""What a study keeps of its pool: the same numbers, small, and hostile files are errors."""

import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import pieces, summary
from activetest.cache.build import VERSION
from activetest.cache.cache import build_cache
from activetest.cache.checked import Manifest
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
    left, right = (Manifest.read(each.folder, VERSION) for each in (first, second))
    assert left.files.keys() == right.files.keys()
    for file, stated in left.files.items():
        assert stated["arrays"].keys() == right.files[file]["arrays"].keys()
        for name in stated["arrays"]:
            one, other = (each.read_array(file, name) for each in (left, right))
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
        probs = found["pool/000000/model/probs"]
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
    taken = sum(path.stat().st_size for path in pool.folder.rglob("*.npz"))
    assert kept.stat().st_size < taken / 2


def test_every_changed_byte_is_noticed(pool, kept):
    data = kept.read_bytes()
    places = [*np.random.default_rng(1).integers(len(data), size=150), 0, len(data) - 1]
    for place in [*places, *range(len(data) - 70, len(data))]:
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(place % 8)
        kept.write_bytes(damaged)
        with pytest.raises(StudyError):
            check_summary(kept)
    for cut in (0, 10, 20, len(data) // 2, len(data) - 1):
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
    """Change the header and the members, and make all checksums fit."""
    with zipfile.ZipFile(path) as archive:
        comment, kinds = archive.comment, {each.filename: 8 for each in archive.infolist()}
        contents = {name: archive.read(name) for name in kinds}
    header = json.loads(contents["summary.json"])
    change(header, contents, kinds)
    contents["summary.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = comment
        for name, content in contents.items():
            archive.writestr(name, content, kinds.get(name))
    with open(path, "r+b") as file:
        checksum = summary._sum_file(file)
        file.seek(-32, 2)
        file.write(checksum.encode())


ITEMS, MODEL = "pool/000000/items", "pool/000000/model"


def find(header, name: str) -> list:
    """What is stated of an array of the model: type, shape and checksum."""
    return header["manifest"]["files"][f"{MODEL}.npz"][name]


def pack(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def test_a_forgery_that_changes_nothing_is_the_same(pool, kept):
    forge(kept, lambda header, contents, kinds: None)
    check_equal(pool, unpack(kept, pool))


def swell(header, contents, kinds):
    """A member that unpacks to a gigabyte."""
    contents[f"{MODEL}/pred.npy"] = bytes(2**30)


def swell_header(header, contents, kinds):
    header["manifest"]["notices"] = ["x" * 2**25]


def set_codes(header, contents, kinds):
    shape = header["manifest"]["files"][f"{ITEMS}.npz"]["codes"][1]
    contents[f"{ITEMS}/codes.npy"] = pack(np.full(shape, 10**6, np.int32))


def set_offsets(header, contents, kinds):
    values = np.full(header["manifest"]["rows"] + 1, 2**40, np.int64)
    values[0] = 0
    contents[f"{ITEMS}/id_offsets.npy"] = pack(values)


def set_classes(header, contents, kinds):
    values = np.full(header["manifest"]["rows"], -5, np.int32)
    contents[f"{MODEL}/pred.npy"] = pack(values)


def cut(header, contents, kinds):
    contents[f"{MODEL}/pred.npy"] = contents[f"{MODEL}/pred.npy"][-20:]


def pack_otherwise(header, contents, kinds):
    """A packing whose memory a file may choose."""
    kinds[f"{MODEL}/pred.npy"] = zipfile.ZIP_LZMA


def lead_elsewhere(header, contents, kinds):
    header["manifest"]["files"]["../../evil/items.npz"] = {}


def leave_out(header, contents, kinds):
    del contents[f"{MODEL}/pred.npy"]


@pytest.mark.pool(groups=("place",))
@pytest.mark.parametrize(
    "change",
    [
        *(swell, swell_header, set_codes, set_offsets, set_classes, cut, pack_otherwise),
        *(lead_elsewhere, leave_out),
        lambda header, *_: find(header, "pred").__setitem__(1, [2**40]),
        lambda header, *_: find(header, "pred").__setitem__(1, [-1]),
        lambda header, *_: find(header, "pred").__setitem__(1, [1, 2, 3]),
        lambda header, *_: find(header, "pred").__setitem__(1, "odd"),
        lambda header, *_: find(header, "pred").__setitem__(0, "|O"),
        lambda header, *_: find(header, "pred").__setitem__(0, "f4,O"),
        lambda header, *_: find(header, "pred").pop(),
        lambda header, *_: header.update(parts={"../../evil": {}}),
        lambda header, *_: header.update(version=1),
        lambda header, *_: header["manifest"].update(rows="many"),
        lambda header, *_: header["manifest"].update(classes=None),
        lambda header, *_: header["manifest"].update(pieces=[]),
        lambda header, *_: header["manifest"]["pieces"].append(header["manifest"]["pieces"][0]),
        lambda header, *_: header["manifest"].pop("statistics"),
        lambda header, *_: header["manifest"]["files"].clear(),
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
