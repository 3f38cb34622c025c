"""What a study keeps of its pool: one file from which its cache can be built without the pool.

The first line says what it is, the second which cache it was made from, the third is a header in
JSON with a checksum of its own; packed arrays follow. It holds what cannot be computed from the
rest: outputs, groups, weights, prices, ids, the design, and the parts that surrogates use, as far
as all of them take at most MOST_BYTES per item. Numbers are kept as they are, so that a report from
the summary is the report from the pool.

A summary may come from elsewhere. Nothing in it is run or unpickled; what it unpacks to is bounded
by the number of items, which the ledger knows, and every number that leads to a place is checked.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from activetest import atomic
from activetest.cache.arrays import Arrays
from activetest.cache.build import VERSION
from activetest.cache.cache import Cache
from activetest.cache.checked import SMALL_BLOCK, CheckedArray, Manifest
from activetest.cache.parts import EXTERNAL, FEATURES, TRAIN, Part, drafting_part
from activetest.errors import CacheDamaged, StudyError
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.nouns.rows import Array, Outputs
from activetest.pool.ids import Text, build_index, hash_text

# An item takes at most so many bytes before it is packed; parts for which there is no room are left
# out, and a pool whose own arrays take more is not kept.
MOST_BYTES = 512

_TITLE = b"activetest summary of a pool, version 1\n"
_LONGEST_HEADER = 2**24
# Computed again: hashes of ids, their index, and what follows from the outputs.
_COMPUTED = ("hashes", "id_order", "right", "wrong", "spread")
# Axes of what other models predict: items, models, classes.
_MOST_AXES = 3
_TYPES = {"<f4", "<f8", "<i4", "<i8", "<u8", "|u1"}
_REMEDY = "restore the pool; without this file, the next command that reads the pool writes it"
# Items that are packed together.
_CHUNK = 2**16
# Fast, and within a few per cent of the best of zlib for such numbers.
_LEVEL = 1
# What states where a cache came from, and not what is in it.
_ORIGIN = ("stamp", "arrays", "piece_rows", "piece_sums")


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
    key = _identify(cache)
    if _read_key(path) == key:
        return True
    arrays = {name: array for name, array in cache.list_arrays().items() if name not in _COMPUTED}
    room = MOST_BYTES * cache.size - _count_bytes(arrays)
    if room < 0:
        path.unlink(missing_ok=True)
        return False
    parts: dict[str, Part] = {}
    for name in cache.parts:
        part = Part(cache.folder / name)
        taken = _count_bytes(part.arrays)
        if taken <= room:
            parts[name], room = part, room - taken
    content = {name: value for name, value in cache.manifest.items() if name not in _ORIGIN}
    header: dict[str, Any] = {"date": date, "manifest": content, "arrays": [], "parts": {}}
    packed: list[tuple[str, str, CheckedArray]] = [("", *each) for each in arrays.items()]
    for name, part in parts.items():
        about = {"fingerprint": part.fingerprint, "notices": list(part.notices)}
        header["parts"][name] = about
        packed += [(name, *each) for each in part.arrays.items()]
    with (
        atomic.temporary_folder(path.parent, path.name) as aside,
        atomic.replacing_file(path, durable=True) as building,
    ):
        body = aside / "body"
        with open(body, "wb") as file:
            for part_name, name, array in packed:
                header["arrays"].append(_pack_array(file, part_name, name, array))
        text = json.dumps(header).encode()
        if len(text) > _LONGEST_HEADER:
            building.unlink()
            path.unlink(missing_ok=True)
            return False
        with open(building, "wb") as file, open(body, "rb") as source:
            file.write(_TITLE + key.encode() + b"\n")
            file.write(_digest(text).encode() + b" " + text + b"\n")
            while piece := source.read(2**20):
                file.write(piece)
    return True


def read_summary(path: Path) -> Summary:
    """The summary in a file. Raises FileNotFoundError, OSError, and StudyError for damage."""
    with open(path, "rb") as file:
        header = _read_header(file, path)
    manifest = header["manifest"]
    return Summary(
        path,
        manifest["rows"],
        manifest["fingerprint"],
        header["date"],
        tuple(header["parts"]),
    )


def check_summary(path: Path) -> Summary:
    """As read_summary, after all of the file was read and unpacked."""
    with open(path, "rb") as file:
        header = _read_header(file, path)
        for _ in _unpack_arrays(file, header, path):
            pass
    return read_summary(path)


def unpack_summary(path: Path, folder: Path, *, rows: int, fingerprint: str) -> Cache:
    """A cache in an empty folder, built from a summary; with the parts that it holds.

    rows, fingerprint  those of the pool that it must be of

    Raises StudyError for a summary that is damaged or of another pool, OSError.
    """
    with open(path, "rb") as file:
        header = _read_header(file, path)
        manifest = header["manifest"]
        if (manifest["rows"], manifest["fingerprint"]) != (rows, fingerprint):
            raise StudyError(
                f"{path} is not of the pool that this study was made for",
                "restore it from a backup, or the pool",
            )
        found = {
            (part, name): (values, axis)
            for part, name, values, axis in _unpack_arrays(file, header, path)
        }
    own = {name: values for (part, name), (values, _) in found.items() if not part}
    _check_values(own, manifest, path)
    try:
        _write_cache(folder, manifest, own)
        for name, about in header["parts"].items():
            with drafting_part(folder / name, {"pool": None, "file": None}) as draft:
                draft.fingerprint, draft.notices = about["fingerprint"], about["notices"]
                for (part, array), (values, axis) in found.items():
                    if part == name:
                        draft.arrays.create(array, values.shape, values.dtype, axis=axis)
                        _write_values(draft.arrays, array, values, axis)
        return Cache(folder, tuple(header["parts"]))
    except (ValueError, KeyError, TypeError, IndexError, CacheDamaged) as error:
        raise _damage(path) from error


def _identify(cache: Cache) -> str:
    """What changes whenever anything in a cache does that a summary holds."""
    prints = {name: cache.part_fingerprint(name) for name in cache.parts}
    sums = {
        name: stated["checksum"]
        for name, stated in cache.manifest["arrays"].items()
        if name not in _COMPUTED
    }
    content = {name: value for name, value in cache.manifest.items() if name not in _ORIGIN}
    return _digest(json.dumps([content, sums, prints]).encode())


def _read_key(path: Path) -> str | None:
    """The key of the cache that a file is a summary of; None where it is none."""
    try:
        with open(path, "rb") as file:
            if file.readline(len(_TITLE)) != _TITLE:
                return None
            return file.readline(100).decode("ascii", "replace").strip()
    except OSError:
        return None


def _read_header(file: BinaryIO, path: Path) -> dict[str, Any]:
    """The header, after it was checked. Raises StudyError."""
    if file.readline(len(_TITLE)) != _TITLE:
        raise StudyError(
            f"{path} is no summary of a pool that this version reads",
            _REMEDY,
        )
    file.readline(100)
    line = file.readline(_LONGEST_HEADER + 100)
    digest, _, text = line.rstrip(b"\n").partition(b" ")
    if digest.decode("ascii", "replace") != _digest(text):
        raise _damage(path)
    try:
        header: dict[str, Any] = json.loads(text)
        manifest, parts = header["manifest"], header["parts"]
        sound = (
            manifest["version"] == VERSION
            and isinstance(manifest["rows"], int)
            and manifest["rows"] > 0
            and isinstance(manifest["fingerprint"], str)
            and isinstance(header["date"], str)
            and isinstance(header["arrays"], list)
            and set(parts) <= {FEATURES, TRAIN, EXTERNAL}
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damage(path) from error
    if not sound:
        raise _damage(path)
    return header


def _pack_array(file: BinaryIO, part: str, name: str, array: CheckedArray) -> dict[str, Any]:
    """Write an array in packed chunks; what the header states of it."""
    sizes, digest = [], blake2b(digest_size=16)
    shape, dtype = array.shape, array.dtype
    for start in range(0, len(array), _CHUNK):
        values = np.asarray(array[start : start + _CHUNK])
        piece = zlib.compress(_shuffle(values), _LEVEL)
        digest.update(piece)
        sizes.append(len(piece))
        file.write(piece)
    return {
        "part": part,
        "name": name,
        "shape": list(shape),
        "dtype": dtype.str,
        "axis": array.axis,
        "sizes": sizes,
        "digest": digest.hexdigest(),
    }


def _unpack_arrays(
    file: BinaryIO, header: Mapping[str, Any], path: Path
) -> Iterator[tuple[str, str, Array, int]]:
    """(part, name, values, axis) of each array. Raises StudyError for what is not as written."""
    room = MOST_BYTES * header["manifest"]["rows"]
    try:
        for stated in header["arrays"]:
            shape, dtype = tuple(stated["shape"]), np.dtype(stated["dtype"])
            axis, sizes = stated["axis"], stated["sizes"]
            if (
                dtype.str not in _TYPES
                or not 1 <= len(shape) <= _MOST_AXES
                or not all(isinstance(each, int) and each >= 0 for each in (*shape, *sizes))
                or axis not in range(len(shape))
                or len(sizes) != -(-shape[axis] // _CHUNK)
            ):
                raise _damage(path)
            width = dtype.itemsize * int(np.prod([1, *shape[:axis], *shape[axis + 1 :]]))
            room -= width * shape[axis]
            if room < 0:
                raise _damage(path)
            values, digest = np.empty(shape, dtype), blake2b(digest_size=16)
            for at, size in enumerate(sizes):
                start = at * _CHUNK
                count = min(_CHUNK, shape[axis] - start)
                piece = file.read(size)
                digest.update(piece)
                chosen = (slice(None),) * axis + (slice(start, start + count),)
                values[chosen] = _unshuffle(_inflate(piece, count * width), values[chosen])
            if digest.hexdigest() != stated["digest"]:
                raise _damage(path)
            yield str(stated["part"]), str(stated["name"]), values, axis
        if file.read(1):
            raise _damage(path)
    except (KeyError, TypeError, ValueError, OverflowError, MemoryError, zlib.error) as error:
        raise _damage(path) from error


def _inflate(piece: bytes, expected: int) -> bytes:
    """What a piece unpacks to, which is so long. Raises ValueError for any other length."""
    unpacking = zlib.decompressobj()
    found = unpacking.decompress(piece, expected + 1)
    if len(found) != expected or not unpacking.eof or unpacking.unused_data:
        raise ValueError("a piece of another length")
    return found


def _shuffle(values: Array) -> bytes:
    """The bytes of numbers, those of the same place together: they pack better so."""
    width = values.dtype.itemsize
    if not values.size:
        return b""
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).reshape(-1, width).T.tobytes()


def _unshuffle(data: bytes, like: Array) -> Array:
    width = like.dtype.itemsize
    if not like.size:
        return like
    rows = np.frombuffer(data, np.uint8).reshape(width, -1).T
    return np.ascontiguousarray(rows).view(like.dtype).reshape(like.shape)


def _check_values(arrays: Mapping[str, Array], manifest: Mapping[str, Any], path: Path) -> None:
    """Raises StudyError for a number that leads to a place where there is none."""
    try:
        rows, classes = manifest["rows"], len(manifest["classes"])
        offsets, letters = arrays["id_offsets"], arrays["id_letters"]
        codes, values = arrays["codes"], manifest["group_values"]
        sound = (
            all(
                array.shape[0] == rows
                for name, array in arrays.items()
                if not name.startswith("id_")
            )
            and offsets.shape == (rows + 1,)
            and offsets[0] == 0
            and offsets[-1] == len(letters)
            and bool((np.diff(offsets) >= 0).all())
            and letters.ndim == 1
            and codes.shape == (rows, len(values))
            and all(
                codes[:, at].min() >= 0 and codes[:, at].max() < len(names)
                for at, names in enumerate(values)
            )
            and arrays["pred"].shape == (rows,)
            and arrays["design"].ndim == 2
        )
        if classes:
            sound = sound and arrays["pred"].min() >= 0 and arrays["pred"].max() < classes
            if "probs" in arrays:
                sound = sound and arrays["probs"].shape == (rows, classes)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise _damage(path) from error
    if not sound:
        raise _damage(path)


def _write_cache(folder: Path, manifest: Mapping[str, Any], own: Mapping[str, Array]) -> None:
    """Write the cache that these arrays are of."""
    ids = Text(own["id_letters"], own["id_offsets"])
    found: dict[str, tuple[Array, int]] = {name: (values, 0) for name, values in own.items()}
    hashes = hash_text(ids)
    found |= {"hashes": (hashes, 0), "id_order": (build_index(hashes), 0)}
    if manifest["classes"]:
        outputs = Outputs(own["pred"], own.get("probs"), own.get("std"))
        statistics = tuple(manifest["statistics"])
        pieces = [
            right_and_wrong(outputs[start : start + _CHUNK], statistics)
            for start in range(0, len(own["pred"]), _CHUNK)
        ]
        for at, name in enumerate(("right", "wrong", "spread")):
            found[name] = np.concatenate([piece[at] for piece in pieces], axis=1), 1
    arrays = Arrays(folder)
    try:
        for name, (values, axis) in found.items():
            block = {"block": SMALL_BLOCK} if name.startswith("id_") else {}
            arrays.create(name, values.shape, values.dtype, axis=axis, **block)
            _write_values(arrays, name, values, axis)
    finally:
        arrays.close()
    Manifest.write(folder, dict(manifest) | {"arrays": arrays.seal(), "stamp": None})


def _write_values(arrays: Arrays, name: str, values: Array, axis: int) -> None:
    if axis:
        arrays.write_across(name, 0, values)
    else:
        arrays.write(name, 0, values)


def _count_bytes(arrays: Mapping[str, CheckedArray]) -> int:
    return sum(int(np.prod(each.shape)) * each.dtype.itemsize for each in arrays.values())


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def _damage(path: Path) -> StudyError:
    return StudyError(
        f"{path} is damaged",
        _REMEDY,
    )
