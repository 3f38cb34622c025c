"""What a cache or a part of it holds: a manifest, and archives that are checked when they are used.

A manifest states the files, their arrays' shapes and checksums, and carries a checksum of its own.
What does not fit is a CacheDamaged: nobody computes with it, and it is built again.
"""

import json
import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from activetest import atomic
from activetest.cache.archive import Archive, Statement
from activetest.errors import CacheDamaged, CacheRebuilt
from activetest.nouns.rows import Array

MANIFEST = "manifest.json"
# Archives that stay mapped at a time: systems allow some ten thousand maps.
_MOST_OPEN = 4096


@dataclass(frozen=True)
class Manifest:
    """What the folder of a cache, or of a part of it, states.

    folder   where it is
    text     as it is on the disk
    content  what it says: files is {relative path: statement}, see archive
    """

    folder: Path
    text: str
    content: dict[str, Any]

    @staticmethod
    def read(folder: Path, version: int) -> "Manifest":
        """The manifest of a folder.

        Raises OSError where there is none, ValueError for one of another version, CacheDamaged for
        one that is not as it was written.
        """
        data = (folder / MANIFEST).read_bytes()
        text = data.decode(errors="replace")
        damage = CacheDamaged(folder, MANIFEST, None, text)
        try:
            content = json.loads(data)
            found = content["version"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise damage from error
        if found != version:
            raise ValueError(f"cache version {found}")
        if content.pop("checksum", None) != _hash_content(content):
            raise damage
        return Manifest(folder, text, content)

    @staticmethod
    def write(folder: Path, content: dict[str, Any]) -> None:
        """Write the manifest of a folder, in place of any. Raises OSError."""
        # As it will be read: tuples become lists.
        content = json.loads(json.dumps(content))
        text = json.dumps(content | {"checksum": _hash_content(content)})
        with atomic.replacing_file(folder / MANIFEST) as building:
            building.write_text(text)

    @property
    def files(self) -> dict[str, Statement]:
        """What it states of each archive, by its path in the folder."""
        return self.content["files"]

    def list_damaged(self) -> dict[str, str | None]:
        """{archive: its array that is known to be damaged}; None where all of it is.

        Those in which damage was found, and those that are missing or of another size or frame. All
        are opened: as long as they stay so, nobody can replace them.
        """
        found: dict[str, str | None] = dict(self.content.get("damaged", {}))
        for file in self.files:
            try:
                if file not in found:
                    self._open_file(file)
            except CacheDamaged:
                found[file] = None
        return found

    def open_files(self) -> None:
        """Open all archives. Raises CacheDamaged where one is damaged as far as is known by now."""
        for file, array in self.list_damaged().items():
            raise CacheDamaged(self.folder, file, array, self.text)

    def read_array(self, file: str, name: str) -> Array:
        """An array of an archive, as it was written. Raises CacheDamaged where it is not."""
        archive = self._open_file(file)
        try:
            return archive.read(name)
        except ValueError as error:
            raise CacheDamaged(self.folder, file, name, self.text) from error

    def release_array(self, file: str, name: str) -> None:
        """Let go of the memory that an array takes, until it is used again."""
        self._open_file(file).release(name)

    def close(self) -> None:
        """Close all archives, where nothing refers to their arrays any more."""
        self._open.cache_clear()

    def _open_file(self, file: str) -> Archive:
        """An archive. Raises CacheDamaged where it is none, or not what was written."""
        try:
            archive: Archive = self._open(file)
        except (OSError, ValueError, TypeError) as error:
            raise CacheDamaged(self.folder, file, None, self.text) from error
        return archive

    @cached_property
    def _open(self) -> Any:
        """Opens an archive; the last that were opened stay open."""
        folder, files = self.folder, self.files
        return lru_cache(_MOST_OPEN)(lambda file: Archive(folder / file, files[file]))

    def find_damage(self) -> list[CacheDamaged]:
        """All damage there is: every array is read."""
        return [damage for file in self.files for damage in self.check_file(file)]

    def check_file(self, file: str) -> list[CacheDamaged]:
        """All damage there is in an archive: every array is read."""
        found = []
        marked = self.content.get("damaged", {})
        if file in marked:
            return [CacheDamaged(self.folder, file, marked[file], self.text)]
        for name in self.files[file]["arrays"]:
            try:
                self.read_array(file, name)
            except CacheDamaged as damage:
                found.append(damage)
                if damage.array is None:
                    break
        return found


def _hash_content(content: dict[str, Any]) -> str:
    return blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


def mark_damaged(damage: CacheDamaged) -> None:
    """Let nobody open a damaged archive again, unless its folder was replaced meanwhile.

    Raises the damage itself where the folder may not be written.
    """
    try:
        data = (damage.folder / MANIFEST).read_bytes()
        if data.decode(errors="replace") == damage.manifest:
            content = json.loads(data)
            del content["checksum"]
            content["damaged"] = content.get("damaged", {}) | {damage.file: damage.array}
            Manifest.write(damage.folder, content)
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damage from error


def announce_rebuild(problem: str | None) -> None:
    """Tell the user that what was damaged, if anything was, has been built again.

    It is a sentence and no CacheDamaged, which keeps archives open as long as it is there.
    """
    if problem:
        warnings.warn(
            f"{problem}; it was built again, and results are those of an undamaged one",
            CacheRebuilt,
            stacklevel=2,
        )
