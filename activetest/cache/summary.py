"""What a study keeps of its pool: a zip from which its cache can be built without the pool.

`summary.json` says which cache it is of; the other members are the arrays of the cache as .npy
files, so that `numpy.load` reads it. It holds what cannot be computed from the rest: outputs,
groups, weights, prices, ids, the design, and the parts that surrogates use, as far as all of them
take at most MOST_BYTES per item. Numbers are kept as they are, so that a report from the summary is
the report from the pool. The comment of the zip is the key of the cache that it was made from, and
a checksum of all that stands before.

A summary may come from elsewhere. Nothing in it is run or unpickled; what it unpacks to is bounded
by the number of items, which the ledger knows, and every number that leads to a place is checked.
"""

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from activetest import atomic
from activetest.cache.archive import read_members, write_archive
from activetest.cache.build import GLOBALS, ITEMS, MODEL, VERSION
from activetest.cache.cache import Cache
from activetest.cache.checked import Manifest
from activetest.cache.parts import PARTS, Part, drafting_part
from activetest.cache.pieces import name_piece
from activetest.errors import CacheDamaged, StudyError
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.nouns.rows import Array, Outputs
from activetest.pool.ids import Text, build_index, hash_text

# An item takes at most so many bytes before it is packed; parts for which there is no room are left
# out, and a pool whose own arrays take more is not kept.
MOST_BYTES = 512

_VERSION = 2
_HEADER, _LONGEST_HEADER = "summary.json", 2**24
# Hexadecimal digits of the key, and of the checksum.
_DIGITS = 32
# Computed again: hashes of ids, their index, and what follows from the outputs.
_COMPUTED = ("hashes", "id_order", "right", "wrong", "spread")
_FILES = re.compile(r"(pool/\d{6,}/(items|model)|globals|arrays|\d{6,})\.npz")
_REMEDY = "restore the pool; without this file, the next command that reads the pool writes it"
# Arrays are packed where their first bytes become so much smaller.
_SAMPLE, _WORTHWHILE = 2**16, 0.85
# What states where a cache came from, and not what is in it.
_ORIGIN = ("stamp", "files")


@dataclass(frozen=True)
class Summary:
    """A summary of a pool, of which the header was read.

    path   of its file
    rows   number of items
    fingerprint  of the pool
    date   when it was made, as ISO 8601
    parts  names of the parts that it holds
    """

    path: Path
    rows: int
    fingerprint: str
    date: str
    parts: tuple[str, ...]


def keep_summary(cache: Cache, path: Path, *, date: str) -> bool:
    """Write the summary of a cache, unless the file is that one; whether there is one now.

    date  of now, as ISO 8601

    A pool whose items take more than MOST_BYTES has none: what is there is removed. Raises OSError
    when the file cannot be written, CacheDamaged for a cache that cannot be read.
    """
    own = cache.store
    content = {name: value for name, value in cache.manifest.items() if name not in _ORIGIN}
    header: dict[str, Any] = {
        "version": _VERSION,
        "manifest": content | {"files": _list_kept(own)},
        "parts": {},
    }
    prints = [[name, cache.part_fingerprint(name)] for name in cache.parts]
    key = _digest(json.dumps([header, prints]).encode())
    if _read_key(path) == key:
        return True
    room = MOST_BYTES * cache.size - _count_bytes(header["manifest"]["files"])
    sources = {"": own}
    for name in cache.parts:
        part = Part(cache.folder / name)
        files = _list_kept(part.manifest)
        if (taken := _count_bytes(files)) <= room:
            sources[f"{name}/"], room = part.manifest, room - taken
            about = {"fingerprint": part.fingerprint, "notices": part.notices, "rows": part.rows}
            header["parts"][name] = about | {"files": files}
    text = json.dumps(header | {"date": date})
    if room < 0 or len(text) > _LONGEST_HEADER:
        path.unlink(missing_ok=True)
        return False
    with atomic.replacing_file(path, durable=True) as building:
        with zipfile.ZipFile(building, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.comment = f"{key}{'0' * _DIGITS}".encode()
            archive.writestr(zipfile.ZipInfo(_HEADER), text, zipfile.ZIP_DEFLATED)
            for prefix, manifest in sources.items():
                for file, arrays in _list_kept(manifest).items():
                    for name in arrays:
                        member = _name_member(prefix + file, name)
                        _write_member(archive, member, manifest.read_array(file, name))
        with open(building, "r+b") as whole:
            checksum = _sum_file(whole)
            whole.seek(-_DIGITS, 2)
            whole.write(checksum.encode())
    return True


def read_summary(path: Path) -> Summary:
    """The summary in a file. Raises FileNotFoundError, OSError, and StudyError for damage."""
    with _opening(path) as archive:
        header = _read_header(archive, path)
    manifest = header["manifest"]
    parts = tuple(header["parts"])
    return Summary(path, manifest["rows"], manifest["fingerprint"], header["date"], parts)


def check_summary(path: Path) -> Summary:
    """As read_summary, after all of the file was read and unpacked."""
    found = read_summary(path)
    with _opening(path) as archive:
        for _ in _unpack_files(archive, _read_header(archive, path), path):
            pass
    return found


def unpack_summary(path: Path, folder: Path, *, rows: int, fingerprint: str) -> Cache:
    """A cache in an empty folder, built from a summary; with the parts that it holds.

    rows, fingerprint  those of the pool that it must be of

    Raises StudyError for a summary that is damaged or of another pool, OSError.
    """
    with _opening(path) as archive:
        header = _read_header(archive, path)
        manifest, parts = header["manifest"], header["parts"]
        if (manifest["rows"], manifest["fingerprint"]) != (rows, fingerprint):
            raise StudyError(
                f"{path} is not of the pool that this study was made for",
                "restore it from a backup, or the pool",
            )
        try:
            found = dict(_unpack_files(archive, header, path))
            _write_cache(folder, manifest, found)
            for name, about in parts.items():
                with drafting_part(folder / name, {"pool": None, "file": None}) as draft:
                    draft.fingerprint, draft.notices = about["fingerprint"], about["notices"]
                    draft.rows = about["rows"]
                    for file in about["files"]:
                        arrays = found[f"{name}/{file}"]
                        draft.files[file] = write_archive(draft.folder / file, arrays)
            return Cache(folder, tuple(parts))
        except (ValueError, KeyError, TypeError, IndexError, CacheDamaged) as error:
            raise _damage(path) from error


# {file: {array: what is stated of it}}, see archive.
_Files = Mapping[str, dict[str, list]]


def _list_kept(manifest: Manifest) -> _Files:
    """What a manifest states of the arrays that are kept."""
    return {
        file: {name: about for name, about in stated["arrays"].items() if name not in _COMPUTED}
        for file, stated in manifest.files.items()
    }


def _count_bytes(files: _Files) -> int:
    """What the values of arrays take. Raises as read_members does."""
    members = (each for arrays in files.values() for each in read_members(arrays).values())
    return sum(each.end - each.begin for each in members)


def _name_member(file: str, array: str) -> str:
    return f"{file.removesuffix('.npz')}/{array}.npy"


def _write_member(archive: zipfile.ZipFile, name: str, values: Array) -> None:
    """Write an array, packed where that is worth its time."""
    sample = np.ascontiguousarray(values).reshape(-1).view(np.uint8)[:_SAMPLE].tobytes()
    packs = len(zlib.compress(sample, 1)) < _WORTHWHILE * len(sample)
    archive.compression = zipfile.ZIP_DEFLATED if packs else zipfile.ZIP_STORED
    with archive.open(name, "w", force_zip64=True) as file:
        np.lib.format.write_array(file, values, allow_pickle=False)


def _sum_file(file: BinaryIO) -> str:
    """The checksum of a summary: of all but the checksum at its end."""
    file.seek(0, 2)
    left, total = file.tell() - _DIGITS, blake2b(digest_size=_DIGITS // 2)
    file.seek(0)
    while left > 0:
        piece = file.read(min(left, 2**20))
        total.update(piece)
        left -= len(piece)
    return total.hexdigest()


def _read_key(path: Path) -> str | None:
    """The key of the cache that a file is a summary of; None where it is none."""
    try:
        with open(path, "rb") as file:
            file.seek(-2 * _DIGITS, 2)
            return file.read(_DIGITS).decode("ascii", "replace")
    except OSError:
        return None


def _opening(path: Path) -> zipfile.ZipFile:
    """The zip, after its checksum was compared. Raises OSError, and StudyError where it is none."""
    with open(path, "rb") as file:
        if file.read(2) != b"PK":
            problem = f"{path} is no summary of a pool that this version reads"
            raise StudyError(problem, _REMEDY)
        if _sum_file(file) != file.read(_DIGITS).decode("ascii", "replace"):
            raise _damage(path)
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise _damage(path) from error


def _read_member(archive: zipfile.ZipFile, name: str, most: int, path: Path) -> bytes:
    """A member, of at most so many bytes. Raises StudyError."""
    try:
        info = archive.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _damage(path)
        with archive.open(info) as file:
            data = file.read(most + 1)
            # The checksum is compared where the member ends.
            if len(data) > most or file.read(1):
                raise _damage(path)
            return data
    except (
        *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, RuntimeError),
        *(NotImplementedError, MemoryError, OSError),
    ) as error:
        raise _damage(path) from error


def _read_header(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """The header, after it was checked. Raises StudyError."""
    try:
        header: dict[str, Any] = json.loads(_read_member(archive, _HEADER, _LONGEST_HEADER, path))
        manifest, parts = header["manifest"], header["parts"]
        every = [manifest["files"], *(about["files"] for about in parts.values())]
        sound = (
            (header["version"], manifest["version"]) == (_VERSION, VERSION)
            and isinstance(manifest["rows"], int)
            and manifest["rows"] > 0
            and isinstance(manifest["fingerprint"], str)
            and isinstance(header["date"], str)
            and set(parts) <= {*PARTS}
            and all(_FILES.fullmatch(file) for files in every for file in files)
            and sum(map(_count_bytes, every)) <= MOST_BYTES * manifest["rows"]
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damage(path) from error
    if not sound:
        raise _damage(path)
    return header


def _unpack_files(
    archive: zipfile.ZipFile, header: Mapping[str, Any], path: Path
) -> Iterator[tuple[str, dict[str, Array]]]:
    """(file, arrays) of each archive. Raises StudyError for what is not as it was written."""
    sources = {"": header["manifest"]["files"]}
    sources |= {f"{name}/": about["files"] for name, about in header["parts"].items()}
    for prefix, files in sources.items():
        for file in files:
            arrays = {}
            for name, member in read_members(files[file]).items():
                # A header as numpy writes it, which says what is stated, and the values.
                size = member.end - member.begin
                data = _read_member(archive, _name_member(prefix + file, name), size + 2**12, path)
                if len(data) < size:
                    raise _damage(path)
                values = np.frombuffer(data, member.dtype, offset=len(data) - size)
                arrays[name] = values.reshape(member.shape)
            yield prefix + file, arrays


def _write_cache(
    folder: Path, manifest: Mapping[str, Any], found: Mapping[str, dict[str, Array]]
) -> None:
    """Write the cache that these arrays are of.

    Raises ValueError, KeyError, TypeError or IndexError for a number that leads to a place where
    there is none.
    """
    files, hashes = {}, []
    for number, about in enumerate(manifest["pieces"]):
        rows = sum(count for count, _ in about["row_groups"])
        names = [kind.format(name_piece(number)) for kind in (ITEMS, MODEL)]
        items, model = (dict(found[name]) for name in names)
        _check_piece(items, model, rows, manifest)
        hashes.append(hash_text(Text(items["id_letters"], items["id_offsets"])))
        items["hashes"] = hashes[-1]
        if manifest["classes"]:
            outputs = Outputs(model["pred"], model.get("probs"), model.get("std"))
            constants = right_and_wrong(outputs, tuple(manifest["statistics"]))
            model |= dict(zip(("right", "wrong", "spread"), constants, strict=True))
        (folder / names[0]).parent.mkdir(parents=True, exist_ok=True)
        for name, arrays in zip(names, (items, model), strict=True):
            files[name] = write_archive(folder / name, arrays)
    shared = found[GLOBALS] | {"id_order": build_index(np.concatenate(hashes))}
    files[GLOBALS] = write_archive(folder / GLOBALS, shared)
    Manifest.write(folder, dict(manifest) | {"files": files, "stamp": None})


def _check_piece(
    items: Mapping[str, Array], model: Mapping[str, Array], rows: int, manifest: Mapping[str, Any]
) -> None:
    """Raises ValueError for a number that leads to a place where there is none, KeyError."""
    offsets, letters, pred = items["id_offsets"], items["id_letters"], model["pred"]
    codes, values, classes = items["codes"], manifest["group_values"], len(manifest["classes"])
    arrays = {name: values for name, values in items.items() if not name.startswith("id_")}
    sound = (
        all(len(array) == rows for array in (arrays | dict(model)).values())
        and offsets.shape == (rows + 1,)
        and offsets[0] == 0
        and offsets[-1] == len(letters)
        and bool((np.diff(offsets) >= 0).all())
        and letters.ndim == pred.ndim == 1
        and codes.shape == (rows, len(values))
        and all(
            codes[:, at].min() >= 0 and codes[:, at].max() < len(names)
            for at, names in enumerate(values)
        )
        and model["design"].ndim == 2
    )
    if classes:
        sound = sound and pred.min() >= 0 and pred.max() < classes
        sound = sound and ("probs" not in model or model["probs"].shape == (rows, classes))
    if not sound:
        raise ValueError("a number of the summary leads nowhere")


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=_DIGITS // 2).hexdigest()


def _damage(path: Path) -> StudyError:
    return StudyError(
        f"{path} is damaged",
        _REMEDY,
    )
