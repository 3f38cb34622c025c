"""A study's summary of its pool: a zip from which its cache can be built without the pool.

`summary.json` holds the manifests of the cache and of its parts; the other members are their
arrays, as they are in the cache, so that `numpy.load` reads them. Arrays that follow from the
rest are left out, and so are parts that would take more than MOST_BYTES per item. Numbers are kept
as they are, so that a report from the summary is the report from the pool. Every member has a
checksum; the comment of the zip is the key of the cache that it was made from.

A summary may come from elsewhere. Nothing in it is run or unpickled; what it unpacks to is bounded
by the number of items, which the ledger knows, and every number that leads to a place is checked.
"""

import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from activetest.cache.build import ACROSS, READABLE, stores_outcomes
from activetest.cache.cache import Cache
from activetest.cache.parts import PARTS
from activetest.cache.pieces import open_ids
from activetest.cache.store import HEADER, Statement, Store, StoreWriter, measure_array
from activetest.errors import CacheDamaged, StudyError
from activetest.item_statistics.outcomes import right_and_wrong
from activetest.nouns.rows import Array, Outputs
from activetest.pool.ids import Text, build_index, hash_text
from activetest.system import atomic

# An item takes at most so many bytes before it is packed; parts for which there is no room are left
# out, and a pool whose own arrays take more is not kept.
MOST_BYTES = 512

_VERSION = 3
_HEADER, _LONGEST_HEADER = "summary.json", 2**24
# Computed again: hashes of ids, their index, and what follows from the outputs.
_COMPUTED = ("hashes", "id_order", "right", "wrong", "spread")
# Entries about where a cache or a part came from, and not about what is in it.
_ORIGIN: dict[str, Any] = {"stamp": None, "made_from": {"pool": None, "file": None}}
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_REMEDY = "restore the pool; without this file, the next command that reads the pool writes it"
# Arrays are packed where their first bytes become so much smaller.
_SAMPLE, _WORTHWHILE = 2**16, 0.85
_ODD = ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, CacheDamaged


@dataclass(frozen=True)
class Summary:
    """A summary of a pool, of which the header was read.

    rows   number of items
    fingerprint  of the pool
    date   when it was made, as ISO 8601
    parts  names of the parts that it holds
    """

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
    stores = cache.stores
    whole = {
        name: store.content | {key: each for key, each in _ORIGIN.items() if key in store.content}
        for name, store in stores.items()
    }
    key = blake2b(json.dumps([_VERSION, whole]).encode(), digest_size=16).hexdigest()
    if _read_key(path) == key:
        return True
    room, manifests = MOST_BYTES * cache.size, {}
    for name, content in whole.items():
        if not name or _count_bytes(content) <= room:
            manifests[name], room = content, room - _count_bytes(content)
    # By folder: "" is the cache itself, others are its parts.
    header = {"version": _VERSION, "date": date, "manifests": manifests}
    if room < 0 or len(json.dumps(header)) > _LONGEST_HEADER:
        path.unlink(missing_ok=True)
        return False
    with (
        atomic.replacing_file(path, durable=True) as building,
        zipfile.ZipFile(building, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
    ):
        archive.comment = key.encode()
        archive.writestr(zipfile.ZipInfo(_HEADER), json.dumps(header), zipfile.ZIP_DEFLATED)
        for folder, content in manifests.items():
            for name in _list_kept(content):
                _write_member(archive, _name_member(folder, name), stores[folder].read(name))
    return True


def read_summary(path: Path) -> Summary:
    """The summary in a file. Raises FileNotFoundError, OSError, and StudyError for damage."""
    with _opening(path) as (_, header):
        own, *parts = header["manifests"]
        about = header["manifests"][own]
        return Summary(about["rows"], about["fingerprint"], header["date"], tuple(parts))


def check_summary(path: Path) -> Summary:
    """As read_summary, after all of the file was read and unpacked."""
    with _opening(path) as (archive, header):
        for folder, content in header["manifests"].items():
            for name, stated in _list_kept(content).items():
                _read_member(archive, _name_member(folder, name), HEADER + measure_array(stated))
    return read_summary(path)


def unpack_summary(path: Path, folder: Path, *, rows: int, fingerprint: str) -> Cache:
    """A cache in an empty folder, built from a summary; with the parts that it holds.

    rows, fingerprint  those of the pool that it must be of

    Raises StudyError for a summary that is damaged or of another pool, OSError.
    """
    with _opening(path) as (archive, header):
        manifests = header["manifests"]
        if (manifests[""]["rows"], manifests[""]["fingerprint"]) != (rows, fingerprint):
            raise StudyError(
                f"{path} is not of the pool that this study was made for",
                "restore it from a backup, or the pool",
            )
        for name, content in manifests.items():
            (folder / name).mkdir(exist_ok=True)
            with closing(StoreWriter(folder / name)) as writer:
                for array, stated in _list_kept(content).items():
                    member, most = _name_member(name, array), HEADER + measure_array(stated)
                    writer.take(array, stated, _read_member(archive, member, most))
                if not name:
                    _complete(writer, content)
                writer.finish(content)
        return Cache(folder, tuple(manifests)[1:])


def _list_kept(content: Mapping[str, Any]) -> dict[str, Statement]:
    """Statements of a manifest about the arrays that are kept."""
    return {name: each for name, each in content["arrays"].items() if name not in _COMPUTED}


def _count_bytes(content: Mapping[str, Any]) -> int:
    """Bytes of the values of arrays that are kept. Raises as measure_array does."""
    return sum(map(measure_array, _list_kept(content).values()))


def _name_member(folder: str, array: str) -> str:
    return f"{folder}/{array}.npy".removeprefix("/")


def _write_member(archive: zipfile.ZipFile, name: str, values: Array) -> None:
    """Write an array, packed where that is worth its time."""
    sample = np.ascontiguousarray(values).reshape(-1).view(np.uint8)[:_SAMPLE].tobytes()
    packs = len(zlib.compress(sample, 1)) < _WORTHWHILE * len(sample)
    archive.compression = zipfile.ZIP_DEFLATED if packs else zipfile.ZIP_STORED
    with archive.open(name, "w", force_zip64=True) as file:
        np.lib.format.write_array(file, values, allow_pickle=False)


def _read_key(path: Path) -> str | None:
    """The key of the cache that a file is a summary of; None where it is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.comment.decode("ascii", "replace")
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return None


@contextmanager
def _opening(path: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """The zip and its header, after this was checked.

    Impossible content there or in the block is a StudyError. Raises OSError.
    """
    another = StudyError(f"{path} is no summary of a pool that this version reads", _REMEDY)
    with open(path, "rb") as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise another from error
        try:
            header = json.loads(_read_member(archive, _HEADER, _LONGEST_HEADER))
            if header["version"] != _VERSION:
                raise another
            _check_header(header)
            yield archive, header
        except _ODD as error:
            raise StudyError(f"{path} is damaged", _REMEDY) from error


def _read_member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """A member, of at most so many bytes. Raises ValueError."""
    try:
        info = archive.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is packed otherwise")
        with archive.open(info) as file:
            data = file.read(most + 1)
            # The checksum is compared where the member ends.
            if len(data) > most or file.read(1):
                raise ValueError(f"{name} is too large")
            return data
    except (
        *(zipfile.BadZipFile, zlib.error, EOFError, KeyError, RuntimeError),
        *(NotImplementedError, MemoryError, OSError),
    ) as error:
        raise ValueError(f"{name} cannot be read") from error


def _check_header(header: dict[str, Any]) -> None:
    """Raises ValueError, KeyError, TypeError or AttributeError for what cannot be one."""
    manifests = header["manifests"]
    own = manifests[""]
    names = [name for each in manifests.values() for name in each["arrays"]]
    sound = (
        own["version"] in READABLE
        and isinstance(own["rows"], int)
        and own["rows"] > 0
        and isinstance(own["fingerprint"], str)
        and isinstance(header["date"], str)
        and [*manifests][:1] == [""]
        and set(manifests) <= {"", *PARTS}
        and all(map(_NAME.fullmatch, names))
        and sum(map(_count_bytes, manifests.values())) <= MOST_BYTES * own["rows"]
    )
    if not sound:
        raise ValueError("the header cannot be one")


def _complete(writer: StoreWriter, content: Mapping[str, Any]) -> None:
    """Write the arrays of a cache that follow from the others. Raises as _check_places does."""
    store = writer.finish_arrays()
    ids, stops = open_ids(store), store.arrays["pred"]["stops"]
    texts = [ids.read_piece(piece) for piece in range(len(stops))]
    _check_places(store, content, texts)
    hashes = np.concatenate([hash_text(text) for text in texts])
    writer.put("hashes", hashes, stops)
    writer.put("id_order", build_index(hashes))
    if stores_outcomes(len(content["classes"]), probable="probs" in store.arrays):
        statistics = tuple(content["statistics"])
        for name in ACROSS:
            writer.create(name, (len(statistics), stops[-1]), np.float32, stops, axis=1)
        for start, stop in pairwise([0, *stops]):
            part = slice(start, stop)
            outputs = Outputs(store.read("pred", part), store.read("probs", part))
            for name, values in zip(ACROSS, right_and_wrong(outputs, statistics), strict=True):
                writer.write(name, start, values)


def _check_places(store: Store, content: Mapping[str, Any], texts: list[Text]) -> None:
    """Raises ValueError for a number that leads to a place where there is none, KeyError."""
    pred, codes, design = map(store.read, ("pred", "codes", "design"))
    rows, values, classes = content["rows"], content["group_values"], len(content["classes"])
    sound = (
        all((np.diff(text.offsets) >= 0).all() for text in texts)
        and all(text.offsets[-1] == len(text.letters) for text in texts)
        and pred.shape == (rows,)
        and codes.shape == (rows, len(values))
        and all(
            codes[:, at].min() >= 0 and codes[:, at].max() < len(names)
            for at, names in enumerate(values)
        )
        and design.ndim == 2
    )
    if classes:
        sound = sound and pred.min() >= 0 and pred.max() < classes
        sound = sound and store.arrays.get("probs", {}).get("shape", []) in ([], [rows, classes])
    if not sound:
        raise ValueError("a number of the summary leads nowhere")
