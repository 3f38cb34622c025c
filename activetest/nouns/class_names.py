"""Names of classes that stand in the metadata of a file, for columns that hold their numbers.

Hugging Face writes such a column as whole numbers, the names beside the schema, and -1 where there
is no label.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from activetest.nouns.arguments import is_unicode

# Keys of the metadata: what Hugging Face's datasets write, and what our readers of files do.
HUGGING_FACE, OURS = b"huggingface", b"activetest"
# Names of a column that are believed.
_MOST = 100_000


def read_class_names(metadata: Mapping[bytes, bytes] | None) -> dict[str, tuple[str, ...]]:
    """{column: names in the order of their numbers} of the metadata of an Arrow or Parquet schema.

    Names that are no list of different texts are left out.

    >>> features = b'{"label": {"names": ["no", "yes"], "_type": "ClassLabel"}}'
    >>> read_class_names({b"huggingface": b'{"info": {"features": %s}}' % features})
    {'label': ('no', 'yes')}
    """
    features = _get(_get(load_metadata(metadata, HUGGING_FACE), "info"), "features")
    found = {
        column: _get(feature, "names")
        for column, feature in _pairs(features)
        if _get(feature, "_type") == "ClassLabel"
    }
    found |= dict(_pairs(_get(load_metadata(metadata, OURS), "classes")))
    return {column: tuple(names) for column, names in found.items() if _are_names(names)}


def find_label_lists(metadata: Mapping[bytes, bytes] | None) -> dict[str, tuple[str, ...]]:
    """{column: names} of columns that hold lists of classes: several may be true of an item."""
    features = _get(_get(load_metadata(metadata, HUGGING_FACE), "info"), "features")
    found = {}
    for column, feature in _pairs(features):
        inner = feature[0] if isinstance(feature, list) and feature else _get(feature, "feature")
        names = _get(inner, "names")
        if _get(inner, "_type") == "ClassLabel" and _are_names(names):
            found[column] = tuple(names)
    return found


def load_metadata(metadata: Mapping[bytes, bytes] | None, key: bytes) -> Any:
    """The value under a key, which anybody may have written; None where it is no JSON."""
    try:
        return json.loads((metadata or {}).get(key, b"null"))
    except (ValueError, RecursionError):
        return None


def write_further_classes(names: Iterable[str]) -> dict[bytes, bytes]:
    """Metadata that name the classes that a model predicts and the pool's own does not."""
    return {OURS: json.dumps({"further": sorted({*names})}).encode()}


def read_further_classes(metadata: Mapping[bytes, bytes] | None) -> tuple[str, ...]:
    """The names that write_further_classes wrote; none where anybody wrote something else.

    >>> read_further_classes(write_further_classes(["b", "a", "b"]))
    ('a', 'b')
    """
    found = _get(load_metadata(metadata, OURS), "further")
    return tuple(found) if _are_names(found) else ()


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _pairs(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _are_names(names: Any) -> bool:
    return (
        isinstance(names, list)
        and 0 < len(names) <= _MOST
        and all(isinstance(name, str) and name.strip() for name in names)
        and len({name.strip() for name in names}) == len(names)
        # JSON may state halves of a pair.
        and all(map(is_unicode, names))
    )
