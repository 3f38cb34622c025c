"""What study.toml says about the pool: where it and the files beside it are, and its columns."""

import os
from pathlib import Path

from activetest.errors import ChoiceError
from activetest.pool.schema import Schema

# The pool, rows to learn from, and what other models say: paths or URIs.
ADDRESSES = ("uri", "train", "surrogates")
# What the files beside the pool, and its features, held when init looked at them.
FINGERPRINTS = ("train_fingerprint", "surrogates_fingerprint", "features_fingerprint")


def roles(pool: dict) -> Schema:
    """The role of every column. Raises ChoiceError for entries that are none."""
    beside = (*ADDRESSES, *FINGERPRINTS)
    return Schema.from_dict({key: value for key, value in pool.items() if key not in beside})


def check(pool, path: Path) -> None:
    """Raises ChoiceError, naming the file, for a [pool] that is none."""
    if not isinstance(pool, dict) or not {"uri", "task", "kind"} <= set(pool):
        raise ChoiceError(f"{path}: [pool] needs uri, task and kind", "restore what was there")
    for key in (*ADDRESSES, *FINGERPRINTS):
        if not isinstance(pool.get(key, ""), str):
            raise ChoiceError(f"{path}: [pool] {key} is {pool[key]!r}", "it must be a text")
    try:
        roles(pool)
    except ChoiceError as error:
        raise ChoiceError(f"{path}: {error.problem}", error.hint) from error


def relative(pool: dict, folder: Path) -> dict:
    """The entries with every relative address as seen from the study's parent."""
    return pool | {key: _from_parent(pool[key], folder) for key in ADDRESSES if pool.get(key)}


def resolved(pool: dict, folder: Path) -> dict:
    """{key: address} openable from any working directory; the inverse of relative."""
    found = {key: pool[key] for key in ADDRESSES if pool.get(key)}
    return {
        key: address if "://" in address else str(folder.parent / address)
        for key, address in found.items()
    }


def _from_parent(address: str, folder: Path) -> str:
    """A relative path as seen from the study's parent; anything else as it is."""
    if "://" in address or Path(address).is_absolute():
        return address
    return Path(os.path.relpath(address, folder.parent)).as_posix()
