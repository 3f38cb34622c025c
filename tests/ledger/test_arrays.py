"""Forged files of arrays: the name fits the content, and nothing inside is trusted."""

import hashlib
import io
import os
import pickle
import zipfile

import numpy as np
import pytest

from activetest.errors import StudyError
from activetest.ledger.arrays import StoredParams, check_arrays, list_files, write_arrays
from activetest.nouns.surrogate import KEPT
from activetest.system import atomic

GIVEN = {"leaves": np.arange(6.0).reshape(2, 3), "none": np.empty((0, 3)), "one": np.array(7)}


def member(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def archive(content: bytes, name: str = "leaves.npy", kind: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as file:
        file.writestr(name, content)
    return buffer.getvalue()


def claiming(shape: str) -> bytes:
    """An array of one number whose header says that it is of this shape."""
    whole = member(np.zeros(1)).replace(b"(1,)", shape.encode())
    length = len(whole) - 8 - 10
    return whole[:8] + length.to_bytes(2, "little") + whole[10:]


WHOLE = archive(member(np.ones(3)))
BAD = {
    "no archive": b"what is this",
    "empty": b"",
    "cut off": WHOLE[:-30],
    "an array alone": member(np.ones(3)),
    "another number": WHOLE.replace(b"\xf0\x3f", b"\xf0\x3e", 1),
    "no array inside": archive(b"text"),
    "half an array": archive(member(np.ones(3))[:-8]),
    "more than an array": archive(member(np.ones(3)) + b"more"),
    "too large for any memory": archive(claiming("(9999999999999,)")),
    "larger than it is": archive(claiming("(10000000000,)")),
    "numbers beyond numbers": archive(claiming("(99999999999999999999999, 0)")),
    "less than nothing": archive(claiming("(-1, -1)")),
    "a header that is none": archive(claiming("(1,")),
    "compressed": archive(member(np.zeros(100_000)), kind=zipfile.ZIP_DEFLATED),
    "compressed and no larger": archive(member(np.ones(1)), kind=zipfile.ZIP_DEFLATED),
    "objects": archive(pickle.dumps({"any": "thing"})),
    "an array of objects": archive(member(np.array([{}], dtype=object))),
}


def stored(folder, content: bytes) -> StoredParams:
    """Parameters whose file is called as its content wants it."""
    name = f"{hashlib.sha256(content).hexdigest()[:32]}.npz"
    (folder / name).write_bytes(content)
    return StoredParams({}, folder, name)


def test_what_was_written_is_read(tmp_path):
    again = StoredParams({"plain": 1}, tmp_path, write_arrays(GIVEN, tmp_path))
    assert again["plain"] == 1
    for name, array in GIVEN.items():
        np.testing.assert_array_equal(again[name], array)
    np.testing.assert_array_equal(stored(tmp_path, WHOLE)["leaves"], np.ones(3))


def test_what_was_written_is_on_the_disk(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(atomic, "sync_file", lambda path: synced.append(path.read_bytes()))
    name = write_arrays({"a": np.arange(3.0)}, tmp_path)
    assert synced == [(tmp_path / name).read_bytes()]


def test_arrays_that_rounds_have_in_common_are_written_once(tmp_path):
    forest, names = np.arange(1000.0), []
    for number in range(3):
        arrays = {"mode": np.array([number]), f"{KEPT}forest": forest}
        names.append(write_arrays(arrays, tmp_path))
        if number == 0:
            before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(set(names)) == 3 and len({*tmp_path.iterdir()}) == 4
    (common,) = set.intersection(*(set(list_files(name)) for name in names))
    assert (tmp_path / common).stat().st_mtime_ns == before[common]
    for number, name in enumerate(names):
        again = StoredParams({}, tmp_path, name)
        assert again["mode"] == [number]
        np.testing.assert_array_equal(again[f"{KEPT}forest"], forest)
        for file in list_files(name):
            check_arrays(tmp_path, file)
    (tmp_path / common).write_bytes(WHOLE)
    with pytest.raises(StudyError, match=f"{common} is damaged"):
        StoredParams({}, tmp_path, names[0])["mode"]
    assert write_arrays({f"{KEPT}forest": forest}, tmp_path) == common
    check_arrays(tmp_path, common)


@pytest.mark.parametrize("harm", BAD)
def test_content_that_no_round_left_is_damage(tmp_path, harm):
    with pytest.raises(StudyError, match=r"[0-9a-f]{32}\.npz is damaged") as error:
        stored(tmp_path, BAD[harm])["leaves"]
    assert "backup" in error.value.hint


def test_a_member_that_says_it_is_huge_is_not_unpacked(tmp_path):
    size, lie = len(member(np.ones(3))).to_bytes(4, "little"), (2**31).to_bytes(4, "little")
    assert WHOLE.count(size) == 4
    with pytest.raises(StudyError, match="is damaged"):
        stored(tmp_path, WHOLE.replace(size, lie))["leaves"]


@pytest.mark.parametrize(
    "name",
    ["../secret.npz", "/etc/passwd", "a/b.npz", "GONE.npz", ".npz", 3, "../secret.npz 0a.npz"],
)
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    (tmp_path / "rounds").mkdir()
    (tmp_path / "secret.npz").write_bytes(WHOLE)
    with pytest.raises(StudyError, match="cannot hold a file called") as error:
        len(StoredParams({}, tmp_path / "rounds", name))
    assert "backup" in error.value.hint


def test_an_array_that_is_not_there_is_named_and_can_be_asked_about(tmp_path):
    params = stored(tmp_path, WHOLE)
    assert "trees" not in params and params.get("trees") is None
    with pytest.raises(StudyError, match=r"npz does not hold 'trees'"):
        params["trees"]


@pytest.mark.skipif(os.name != "posix", reason="there, locks are tried by other means")
def test_what_a_killed_process_left_among_the_files_goes(tmp_path):
    write_arrays(GIVEN, tmp_path / "rounds")
    (tmp_path / "rounds" / f".{'0' * 32}.npz.activetest-0badcafe.tmp").write_bytes(b"half")
    write_arrays({"one": np.array(8)}, tmp_path / "rounds")
    assert [path.suffix for path in (tmp_path / "rounds").iterdir()] == [".npz"] * 2
