"""Blocks of arrays are checked when they are read, once, and only those that are read."""

import json
import os

import numpy as np
import pytest

from activetest.cache import checked
from activetest.cache.arrays import Arrays
from activetest.cache.checked import MANIFEST, CheckedArray, Manifest, mark_damaged
from activetest.errors import CacheDamaged

ROWS = 60_000
VALUES = np.random.default_rng(0).normal(size=(ROWS, 3)).astype(np.float32)
LETTERS = np.frombuffer(b"abcdefgh" * 5000, np.uint8)


def write_arrays(folder) -> dict[str, CheckedArray]:
    """Arrays of rows, of lines with rows along the second axis, of bytes, and of nothing."""
    folder.mkdir(exist_ok=True)
    arrays = Arrays(folder)
    arrays.create("rows", VALUES.shape, np.float32)
    arrays.create("lines", VALUES.T.shape, np.float32, axis=1)
    arrays.create("letters", (0,), np.uint8)
    arrays.create("nothing", (ROWS, 0), np.float32)
    arrays.write("rows", 0, VALUES)
    arrays.write_across("lines", 0, VALUES.T)
    arrays.extend("letters", LETTERS)
    arrays.close()
    Manifest.write(folder, {"version": 7, "arrays": arrays.seal()})
    return Manifest.read(folder, 7).open_arrays()


def change_byte(folder, name: str, row_byte: int) -> None:
    """Flip a bit in a byte, counted from the first value."""
    begin = json.loads((folder / MANIFEST).read_text())["arrays"][name]["begin"]
    with open(folder / f"{name}.npy", "r+b") as file:
        file.seek(begin + row_byte)
        byte = file.read(1)[0]
        file.seek(begin + row_byte)
        file.write(bytes([byte ^ 4]))


def test_what_is_read_is_what_was_written(tmp_path):
    arrays = write_arrays(tmp_path / "cache")
    picks = np.array([ROWS - 1, 0, 77, 77])
    for selection in (slice(3, 9), slice(ROWS - 10, 2 * ROWS), slice(5, 5), picks, 17):
        np.testing.assert_array_equal(arrays["rows"][selection], VALUES[selection])
        np.testing.assert_array_equal(arrays["lines"][selection], VALUES.T[:, selection])
        assert arrays["nothing"][selection].shape == VALUES[selection][..., :0].shape
    begins, ends = np.array([0, 39_998, 5, 17_000]), np.array([3, 40_000, 5, 17_004])
    assert arrays["letters"].read_ranges(begins, ends) == [b"abc", b"gh", b"", b"abcd"]
    assert len(arrays["rows"]) == len(arrays["lines"]) == ROWS


@pytest.mark.parametrize("name", ["rows", "lines"])
def test_only_the_damaged_block_is_refused(name, tmp_path):
    write_arrays(tmp_path / "cache")
    row = 20_000
    change_byte(tmp_path / "cache", name, 12 * row if name == "rows" else 4 * (ROWS + row))
    array = Manifest.read(tmp_path / "cache", 7).open_arrays()[name]
    rows = json.loads((tmp_path / "cache" / MANIFEST).read_text())["arrays"][name]["block_rows"]
    first = row // rows * rows
    assert array[:first].size and array[first + rows :].size
    for selection in (slice(first + rows - 1, first + rows), np.array([3, first]), row):
        with pytest.raises(CacheDamaged, match=name):
            array[selection]


def test_a_block_is_checked_once(tmp_path, monkeypatch):
    array = write_arrays(tmp_path / "cache")["rows"]
    summed, sum_blocks = [], checked._sum_blocks
    monkeypatch.setattr(
        checked, "_sum_blocks", lambda *given: (summed.extend(given[1]), sum_blocks(*given))[1]
    )
    for _ in range(3):
        array[100:5000], array[np.array([4_999, 101])]
    assert summed and len(summed) == len(set(summed)) < 10


@pytest.mark.parametrize("positions", [[-1], [ROWS], [3, -2]])
def test_no_row_stands_for_one_that_is_not_there(positions, tmp_path):
    with pytest.raises(IndexError, match=f"{ROWS} items"):
        write_arrays(tmp_path / "cache")["rows"][np.array(positions)]


@pytest.mark.parametrize("file", ["rows.npy", "rows.sums", "letters.npy"])
@pytest.mark.parametrize("damage", [os.remove, lambda path: os.truncate(path, 20)])
def test_a_file_that_is_missing_or_too_short_is_damage(file, damage, tmp_path):
    write_arrays(tmp_path / "cache")
    damage(tmp_path / "cache" / file)
    with pytest.raises(CacheDamaged, match=file.partition(".")[0]):
        Manifest.read(tmp_path / "cache", 7).open_arrays()


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"damaged"', "[" * 10**5, '{"version": 7}'])
def test_what_is_no_manifest_is_damage(text, tmp_path):
    write_arrays(tmp_path / "cache")
    (tmp_path / "cache" / MANIFEST).write_text(text)
    with pytest.raises(CacheDamaged, match=MANIFEST):
        Manifest.read(tmp_path / "cache", 7)


def test_another_version_is_no_damage_and_nothing_is_no_manifest(tmp_path):
    write_arrays(tmp_path / "cache")
    with pytest.raises(ValueError, match="version 7"):
        Manifest.read(tmp_path / "cache", 8)
    with pytest.raises(FileNotFoundError):
        Manifest.read(tmp_path, 7)


def test_arrays_of_objects_are_not_opened(tmp_path):
    write_arrays(tmp_path / "cache")
    manifest = Manifest.read(tmp_path / "cache", 7)
    manifest.content["arrays"]["rows"]["dtype"] = "|O"
    with pytest.raises(CacheDamaged, match="rows"):
        manifest.open_arrays()


def test_a_mark_of_damage_says_what_it_was_and_spares_what_was_built_meanwhile(tmp_path):
    array = write_arrays(tmp_path / "cache")["rows"]
    damage = array._damage()
    mark_damaged(damage)
    with pytest.raises(CacheDamaged, match=r"\(rows\)"):
        Manifest.read(tmp_path / "cache", 7)
    write_arrays(tmp_path / "cache")
    Manifest.write(tmp_path / "cache", {"version": 7, "arrays": {}})
    mark_damaged(damage)
    assert Manifest.read(tmp_path / "cache", 7).content["arrays"] == {}


def test_flips_of_the_same_bit_in_two_words_are_found(tmp_path):
    """Sums of words times odd numbers alone would not notice two flips of the highest bit."""
    words = np.random.default_rng(2).integers(0, 2**63, (64, 2048), np.uint64)
    lines, every = [words.view(np.uint8).reshape(-1, 8)], np.arange(64)
    before = checked._sum_blocks(lines, every, 2048)
    assert len(set(before.tolist())) == 64
    for bit in range(64):
        words[bit, [5, 1000]] ^= np.uint64(1 << bit)
    assert (checked._sum_blocks(lines, every, 2048) != before).all()
    picks = np.array([3, 9, 10, 60])
    found = checked._sum_blocks(lines, picks, 2048)
    assert (found == checked._sum_blocks(lines, every, 2048)[picks]).all()


@pytest.mark.parametrize("size", [1, 8, 64, 512])
def test_words_sectors_and_pages_that_change_places_are_found(size):
    rng = np.random.default_rng(size)
    words = rng.integers(0, 2**63, (1, 8192), np.uint64)

    def checksum() -> int:
        return checked._sum_blocks([words.view(np.uint8).reshape(-1, 8)], np.arange(1), 8192)[0]

    parts = words.reshape(-1, size)
    for _ in range(50):
        before, places = checksum(), rng.choice(len(parts), 2, replace=False)
        parts[places] = parts[places[::-1]]
        assert checksum() != before


@pytest.mark.parametrize("items", [np.ones(ROWS, bool), slice(None, None, -1), slice(0, ROWS, 2)])
def test_what_would_leave_blocks_unchecked_is_no_index(tmp_path, items):
    with pytest.raises(IndexError, match="is no position|has no step"):
        write_arrays(tmp_path / "cache")["rows"][items]
