"""Stores are what numpy reads, and no value is believed without its checksum."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from activetest.cache.store import (
    HEADER,
    MANIFEST,
    Store,
    StoreWriter,
    mark_damaged,
    write_manifest,
)
from activetest.errors import CacheDamaged

VALUES = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
LETTERS = np.frombuffer(b"abcdefgh" * 50, np.uint8)
EXPECTED = {"rows": VALUES, "lines": VALUES.T, "nothing": VALUES[:, :0], "letters": LETTERS}
STOPS = [180, 180, 500]


def write(folder: Path) -> Store:
    """Rows in two parts, the later first; lines; nothing; and letters that grow."""
    folder.mkdir(exist_ok=True)
    writer = StoreWriter(folder)
    writer.create("rows", VALUES.shape, np.float32, STOPS)
    writer.create("lines", VALUES.T.shape, np.float64, STOPS, axis=1)
    writer.create("nothing", (500, 0), np.float32)
    writer.create("letters", (0,), np.uint8)
    writer.append("letters", LETTERS[:100], ends_piece=True)
    writer.write("rows", 200, VALUES[200:])
    writer.write("rows", 0, VALUES[:200])
    writer.write("lines", 7, VALUES.T[:, 7:])
    writer.write("lines", 0, VALUES.T[:, :7])
    writer.append("letters", LETTERS[100:], ends_piece=True)
    writer.finish({"version": 7, "more": (1, 2)})
    return Store.read_manifest(folder, 7)


def change_byte(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def test_numpy_reads_every_array_and_a_store_maps_it(tmp_path):
    store = write(tmp_path).open_files()
    assert store.content["more"] == [1, 2]
    for name, values in EXPECTED.items():
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), values)
        found = store.read(name)
        np.testing.assert_array_equal(found, values)
        assert found.ctypes.data % 64 == 0 and not found.flags.writeable and not found.flags.owndata


def test_the_same_arrays_are_the_same_files_however_they_were_written(tmp_path):
    write(tmp_path / "a")
    (tmp_path / "b").mkdir()
    writer = StoreWriter(tmp_path / "b")
    for name, values in EXPECTED.items():
        writer.put(name, values.astype(float) if name == "lines" else values)
    writer.finish({"version": 7})
    for name in EXPECTED:
        one, other = ((tmp_path / each / f"{name}.npy").read_bytes() for each in "ab")
        assert one == other


@pytest.mark.parametrize("name", ["rows", "lines"])
def test_items_are_those_of_a_slice_or_of_positions(tmp_path, name):
    store, values = write(tmp_path), np.ascontiguousarray(EXPECTED[name])
    for items in (slice(None), slice(3, 9), slice(170, 900), slice(5, 5), np.array([499, 3, 3])):
        expected = values[:, items] if name == "lines" else values[items]
        found = store.read(name, items)
        np.testing.assert_array_equal(found, expected)
        # Sums depend on which numbers are neighbours in memory.
        assert [*np.argsort(found.strides)] == [*np.argsort(expected.strides)]
    for positions in ([-1], [500], [3, -2]):
        with pytest.raises(IndexError, match="500 items"):
            store.read(name, np.array(positions))


def test_every_changed_byte_of_a_value_is_found(tmp_path):
    write(tmp_path)
    for place in range(HEADER, HEADER + len(LETTERS)):
        change_byte(tmp_path / "letters.npy", place)
        store = Store.read_manifest(tmp_path, 7).open_files()
        piece = int(place >= HEADER + 100)
        with pytest.raises(CacheDamaged, match=rf"\(letters.npy, piece {piece}\)"):
            store.read("letters")
        change_byte(tmp_path / "letters.npy", place)


@pytest.mark.parametrize(("name", "place"), [("rows", 1200), ("lines", 4000 + 8 * 100)])
def test_damage_is_of_one_piece_of_an_array(tmp_path, name, place):
    write(tmp_path)
    change_byte(tmp_path / f"{name}.npy", HEADER + place)
    store = Store.read_manifest(tmp_path, 7).open_files()
    np.testing.assert_array_equal(store.read("letters"), LETTERS)
    values = EXPECTED[name]
    found = store.read(name, slice(180, 500))
    np.testing.assert_array_equal(found, values[:, 180:] if name == "lines" else values[180:])
    for items in (slice(None), slice(0, 1), np.array([400, 179])):
        with pytest.raises(CacheDamaged, match=rf"\({name}.npy, piece 0\)") as caught:
            store.read(name, items)
    assert (caught.value.file, caught.value.piece) == (f"{name}.npy", 0)
    assert [(each.file, each.piece) for each in store.find_damage()] == [(f"{name}.npy", 0)]


def test_a_piece_is_checked_once_and_forgotten_by_the_memory(tmp_path):
    store = write(tmp_path)
    first = store.read("rows")
    change_byte(tmp_path / "rows.npy", HEADER)
    assert store.read("rows").shape == first.shape
    store.release("rows")
    np.testing.assert_array_equal(first[1:], VALUES[1:])


@pytest.mark.parametrize("damage", ["missing", "cut", "grown", "empty"])
def test_a_file_of_another_size_is_damage_before_it_is_read(damage, tmp_path):
    store = write(tmp_path)
    path = tmp_path / "rows.npy"
    content = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes({"cut": content[:-1], "grown": content + b"x", "empty": b""}[damage])
    with pytest.raises(CacheDamaged, match=r"\(rows.npy\)"):
        store.open_files()
    with pytest.raises(CacheDamaged, match=r"\(rows.npy\)"):
        store.read("rows")
    assert [each.file for each in store.find_damage()] == ["rows.npy"]


@pytest.mark.parametrize(
    "about",
    [
        {"type": "|O"},
        {"type": "f4,O"},
        {"type": [["<f4", "<f4"]]},
        {"shape": [2**40, 3], "stops": [2**40]},
        {"shape": [2**62, 2**62], "stops": [2**62]},
        {"shape": [-1, 3], "stops": [-1]},
        {"shape": [500, -3]},
        {"shape": [1.5], "stops": [1.5]},
        {"shape": [500, 1, 1, 3]},
        {"shape": [], "stops": []},
        {"shape": None},
        {"axis": 2},
        {"axis": None},
        {"stops": [180, 170, 500]},
        {"stops": [180, 180]},
        {"stops": [180, 180, 501]},
        {"stops": [-1, 180, 500]},
        {"checksums": [1]},
        {"checksums": None},
    ],
)
def test_what_is_stated_is_numbers_that_are_in_the_file(tmp_path, about):
    store = write(tmp_path)
    store.arrays["rows"].update(about)
    if len(about.get("stops", [])) == 1:
        store.arrays["rows"]["checksums"] = [1]
    with pytest.raises(CacheDamaged, match="rows"):
        store.read("rows")


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"damaged"', "[" * 10**5, '{"version": 7}'])
def test_what_is_no_manifest_is_damage(text, tmp_path):
    write(tmp_path)
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(CacheDamaged, match=MANIFEST):
        Store.read_manifest(tmp_path, 7)


def test_another_version_is_no_damage_and_nothing_is_no_manifest(tmp_path):
    write(tmp_path)
    with pytest.raises(ValueError, match="version 7"):
        Store.read_manifest(tmp_path, 8)
    with pytest.raises(FileNotFoundError):
        Store.read_manifest(tmp_path / "pool", 7)


def test_damage_that_was_found_is_known_to_whoever_opens_the_folder_later(tmp_path):
    store = write(tmp_path).open_files()
    change_byte(tmp_path / "rows.npy", HEADER + 3000)
    with pytest.raises(CacheDamaged) as caught:
        store.read("rows")
    mark_damaged(caught.value)
    later = Store.read_manifest(tmp_path, 7)
    with pytest.raises(CacheDamaged, match="rows.npy, piece 2"):
        later.open_files()
    assert [each.piece for each in later.find_damage()] == [2]
    # A folder that was replaced meanwhile is spared.
    write_manifest(tmp_path, {"version": 7, "arrays": store.arrays})
    mark_damaged(caught.value)
    assert None not in json.loads((tmp_path / MANIFEST).read_text())["arrays"]["rows"]["checksums"]


def test_files_stay_open_when_the_folder_is_replaced(tmp_path):
    store = write(tmp_path / "a").open_files()
    os.rename(tmp_path / "a", tmp_path / "b")
    np.testing.assert_array_equal(store.read("rows"), VALUES)


@pytest.mark.slow
def test_an_array_may_be_larger_than_four_gigabytes(tmp_path):
    writer = StoreWriter(tmp_path)
    writer.create("wide", (2**30 + 5,), np.float32)
    writer.write("wide", 2**30, np.arange(5, dtype=np.float32))
    writer.finish({"version": 7})
    assert Store.read_manifest(tmp_path, 7).read("wide")[-5:].tolist() == [0, 1, 2, 3, 4]
    assert np.load(tmp_path / "wide.npy", mmap_mode="r")[-1] == 4
