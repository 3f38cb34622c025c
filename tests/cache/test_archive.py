"""Archives are what numpy reads, and no byte of them is believed without its checksum."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from activetest.cache.archive import Archive, ArchiveWriter, Statement, write_archive

VALUES = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
LETTERS = np.frombuffer(b"abcdefgh" * 50, np.uint8)


def write(path: Path) -> Statement:
    """Rows in two parts, the later first; lines; nothing; and letters that grow."""
    writer = ArchiveWriter(path)
    writer.create("rows", VALUES.shape, np.float32)
    writer.create("lines", VALUES.T.shape, np.float64)
    writer.create("nothing", (500, 0), np.float32)
    writer.create("letters", (0,), np.uint8)
    writer.extend("letters", LETTERS[:100])
    writer.write("rows", 200, VALUES[200:])
    writer.write("rows", 0, VALUES[:200])
    writer.write_across("lines", 7, VALUES.T[:, 7:])
    writer.write_across("lines", 0, VALUES.T[:, :7])
    writer.extend("letters", LETTERS[100:])
    return writer.finish("what it is")


EXPECTED = {"rows": VALUES, "lines": VALUES.T, "nothing": VALUES[:, :0], "letters": LETTERS}


def test_numpy_and_whatever_reads_a_zip_read_an_archive(tmp_path):
    write(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as found:
        assert {*found} == {*EXPECTED}
        for name, values in EXPECTED.items():
            np.testing.assert_array_equal(found[name], values)
    with zipfile.ZipFile(tmp_path / "a.npz") as found:
        assert found.testzip() is None and found.comment == b"what it is"


def test_arrays_are_mapped_where_numpy_wants_them_and_cannot_be_changed(tmp_path):
    archive = Archive(tmp_path / "a.npz", write(tmp_path / "a.npz"))
    for name, values in EXPECTED.items():
        found = archive.read(name)
        np.testing.assert_array_equal(found, values)
        assert found.ctypes.data % 64 == 0 and not found.flags.writeable and not found.flags.owndata


def test_the_same_arrays_are_the_same_file_however_they_were_written(tmp_path):
    stated = write(tmp_path / "a.npz")
    whole = {name: np.asarray(values) for name, values in EXPECTED.items()}
    whole["lines"] = whole["lines"].astype(float)
    assert write_archive(tmp_path / "b.npz", whole, "what it is") == stated
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def read_all(path: Path, stated: Statement) -> None:
    archive = Archive(path, stated)
    for name in stated["arrays"]:
        archive.read(name)


def test_every_changed_byte_is_found(tmp_path):
    stated = write_archive(tmp_path / "a.npz", {"a": VALUES[:9], "b": LETTERS[:5]}, "comment")
    data = (tmp_path / "a.npz").read_bytes()
    read_all(tmp_path / "a.npz", stated)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 4
        (tmp_path / "a.npz").write_bytes(changed)
        with pytest.raises(ValueError, match="not as it was written"):
            read_all(tmp_path / "a.npz", stated)


def test_only_the_damaged_array_is_refused(tmp_path):
    stated = write(tmp_path / "a.npz")
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[data.index(VALUES[77].tobytes())] ^= 1
    (tmp_path / "a.npz").write_bytes(data)
    archive = Archive(tmp_path / "a.npz", stated)
    np.testing.assert_array_equal(archive.read("letters"), LETTERS)
    for _ in range(2):
        with pytest.raises(ValueError, match="rows is not as it was written"):
            archive.read("rows")


def test_an_array_is_checked_once(tmp_path):
    stated = write(tmp_path / "a.npz")
    archive = Archive(tmp_path / "a.npz", stated)
    first = archive.read("rows")
    assert archive.read("rows") is first
    archive.release("rows")
    np.testing.assert_array_equal(first, VALUES)


@pytest.mark.parametrize("damage", [os.remove, lambda path: os.truncate(path, 20), Path.touch])
def test_a_file_that_is_missing_or_of_another_size_is_damage(tmp_path, damage):
    stated = write(tmp_path / "a.npz")
    if damage is Path.touch:
        stated = {**stated, "size": stated["size"] + 1}
    damage(tmp_path / "a.npz")
    with pytest.raises((OSError, ValueError)):
        Archive(tmp_path / "a.npz", stated)


@pytest.mark.parametrize(
    "about",
    [
        ["|O", [500, 3], 0],
        ["f4,O", [500, 3], 0],
        [["<f4", "<f4"], [500], 0],
        ["<f4", [2**40, 3], 0],
        ["<f4", [-1, 3], 0],
        ["<f4", [1.5], 0],
        ["<f4", [1, 2, 3, 4], 0],
        ["<f4", [], 0],
        ["<f4", None, 0],
        ["<f4"],
    ],
)
def test_what_is_stated_is_numbers_that_are_in_the_file(tmp_path, about):
    stated = write(tmp_path / "a.npz")
    stated["arrays"]["rows"] = about
    with pytest.raises((ValueError, TypeError)):
        Archive(tmp_path / "a.npz", stated).read("rows")


@pytest.mark.slow
def test_an_archive_may_be_larger_than_four_gigabytes(tmp_path):
    writer = ArchiveWriter(tmp_path / "a.npz")
    writer.create("wide", (2**30 + 5,), np.float32)
    writer.create("last", (3,), np.int64)
    writer.write("wide", 2**30, np.arange(5, dtype=np.float32))
    writer.write("last", 0, np.arange(3))
    stated = writer.finish()
    archive = Archive(tmp_path / "a.npz", stated)
    assert archive.read("wide")[-5:].tolist() == [0, 1, 2, 3, 4]
    with np.load(tmp_path / "a.npz") as found:
        assert found["last"].tolist() == [0, 1, 2]
    with zipfile.ZipFile(tmp_path / "a.npz") as found:
        assert found.testzip() is None
