"""A manifest is believed where its checksum fits; damage that was found is not forgotten."""

import json

import numpy as np
import pytest

from activetest.cache.archive import write_archive
from activetest.cache.checked import MANIFEST, Manifest, mark_damaged
from activetest.errors import CacheDamaged

FILES = ("first.npz", "pool/second.npz")


def write_files(folder) -> Manifest:
    """Two archives and their manifest."""
    (folder / "pool").mkdir(parents=True, exist_ok=True)
    values = np.arange(60.0)
    files = {file: write_archive(folder / file, {"values": values}) for file in FILES}
    Manifest.write(folder, {"version": 7, "files": files})
    return Manifest.read(folder, 7)


def change_byte(path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(np.float64(33).tobytes())] ^= 4
    path.write_bytes(content)


def test_what_is_read_is_what_was_written_and_damage_is_of_one_file(tmp_path):
    manifest = write_files(tmp_path)
    change_byte(tmp_path / FILES[1])
    assert manifest.read_array(FILES[0], "values").tolist() == list(range(60))
    with pytest.raises(CacheDamaged, match=r"\(values in pool/second.npz\)") as caught:
        manifest.read_array(FILES[1], "values")
    assert caught.value.file == FILES[1]
    assert [damage.file for damage in manifest.find_damage()] == [FILES[1]]
    # Its size is as ever.
    manifest.open_files()


@pytest.mark.parametrize("damage", ["missing", "cut", "grown"])
def test_a_file_of_another_size_is_damage_before_it_is_read(damage, tmp_path):
    manifest = write_files(tmp_path)
    path = tmp_path / FILES[1]
    content = path.read_bytes()
    path.unlink()
    if damage != "missing":
        path.write_bytes(content[:-1] if damage == "cut" else content + b"x")
    with pytest.raises(CacheDamaged, match=FILES[1]):
        manifest.open_files()
    with pytest.raises(CacheDamaged, match=FILES[1]):
        manifest.read_array(FILES[1], "values")


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"damaged"', "[" * 10**5, '{"version": 7}'])
def test_what_is_no_manifest_is_damage(text, tmp_path):
    write_files(tmp_path)
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(CacheDamaged, match=MANIFEST):
        Manifest.read(tmp_path, 7)


def test_another_version_is_no_damage_and_nothing_is_no_manifest(tmp_path):
    write_files(tmp_path)
    with pytest.raises(ValueError, match="version 7"):
        Manifest.read(tmp_path, 8)
    with pytest.raises(FileNotFoundError):
        Manifest.read(tmp_path / "pool", 7)


def test_damage_that_was_found_is_known_to_whoever_opens_the_folder_later(tmp_path):
    manifest = write_files(tmp_path)
    change_byte(tmp_path / FILES[1])
    with pytest.raises(CacheDamaged) as caught:
        manifest.read_array(FILES[1], "values")
    mark_damaged(caught.value)
    later = Manifest.read(tmp_path, 7)
    assert later.list_damaged() == {FILES[1]: "values"} and later.files == manifest.files
    with pytest.raises(CacheDamaged, match=FILES[1]):
        later.open_files()
    # A folder that was replaced meanwhile is spared.
    Manifest.write(tmp_path, {"version": 7, "files": {}})
    mark_damaged(caught.value)
    assert "damaged" not in json.loads((tmp_path / MANIFEST).read_text())


def test_few_archives_are_open_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("activetest.cache.checked._MOST_OPEN", 1)
    manifest = write_files(tmp_path)
    for _ in range(2):
        for file in FILES:
            assert manifest.read_array(file, "values").tolist() == list(range(60))
    assert manifest._open.cache_info().currsize == 1
