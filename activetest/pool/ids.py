"""Item ids as text, their hashes, and an index to find items by id."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from activetest.nouns.canonical import make_canonical
from activetest.nouns.rows import Array
from activetest.pool.hashing import mix

_WORD = 8
# Entries of an index that are looked at together.
_BLOCK = 2**20
# Bytes that white space begins with, by their value; other letters do, too.
_MAY_BE_SPACE = np.zeros(256, bool)
_MAY_BE_SPACE[[chr(code).encode()[0] for code in range(0x3001) if chr(code).isspace()]] = True
# Keeps the first k bytes of a little-endian word, for k = 0..8.
_MASKS = np.array([(1 << (8 * k)) - 1 for k in range(_WORD + 1)], np.uint64)


class Indexed(Protocol):
    """An array of which only some items are read."""

    def __len__(self) -> int: ...

    def __getitem__(self, items: Array, /) -> Array: ...


class Strings(Protocol):
    """Strings by their positions, such as Text."""

    def __getitem__(self, row: int, /) -> str: ...


@dataclass(frozen=True)
class Text:
    """R strings, one after another.

    letters  (B,) uint8 their UTF-8 bytes
    offsets  (R + 1,) int64 where each begins and the last ends
    """

    letters: Array
    offsets: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        return bytes(self.letters[self.offsets[row] : self.offsets[row + 1]]).decode(
            "utf-8", "surrogateescape"
        )

    def find_blank(self) -> int | None:
        """The first row that is empty or white space."""
        begins, ends = self.offsets[:-1], self.offsets[1:]
        blank = begins == ends
        if len(self.letters):
            blank |= _MAY_BE_SPACE[self.letters[np.minimum(begins, len(self.letters) - 1)]]
        for row in np.flatnonzero(blank):
            if not self[int(row)].strip():
                return int(row)
        return None

    @staticmethod
    def of(strings: list[str]) -> "Text":
        """The strings, encoded."""
        return Text.join([string.encode("utf-8", "surrogateescape") for string in strings])

    @staticmethod
    def join(encoded: list[bytes]) -> "Text":
        """The strings of these bytes."""
        offsets = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(word) for word in encoded], out=offsets[1:])
        return Text(np.frombuffer(b"".join(encoded), np.uint8), offsets)


def hash_text(text: Text) -> Array:
    """(R,) uint64 hash of each string: a function of its bytes alone."""
    lengths = np.diff(text.offsets)
    padded = np.concatenate([text.letters, np.zeros(_WORD, np.uint8)])
    words = np.ndarray(len(text.letters) + 1, "<u8", buffer=padded, strides=(1,))
    result = mix(lengths.astype(np.uint64))
    live = np.arange(len(lengths))
    for begin in range(0, int(lengths.max(initial=0)), _WORD):
        live = live[lengths[live] > begin]
        word = words[text.offsets[live] + begin] & _MASKS[np.minimum(lengths[live] - begin, _WORD)]
        result[live] = mix(result[live] ^ word)
    return result


def hash_canonical(text: Text, keys: Array) -> Array:
    """(R,) uint64 keys of the strings, with the hash of its canonical form where one has another.

    keys  (R,) as of hash_text; these themselves where no string has another form
    """
    letters = np.flatnonzero(text.letters >= 128)
    rows = np.unique(np.searchsorted(text.offsets, letters, "right") - 1)
    forms = {int(row): make_canonical(text[row]) for row in rows}
    forms = {row: form for row, form in forms.items() if form != text[row]}
    if not forms:
        return keys
    found = keys.copy()
    found[[*forms]] = hash_text(Text.of([*forms.values()]))
    return found


def hash_rows(ids: Array, columns: list[Array]) -> Array:
    """(R,) uint64 hash of each row's id hash and the bits of its values, column after column."""
    total = ids.copy()
    for number, column in enumerate(columns):
        bits = column.view(f"u{column.dtype.itemsize}")
        key = mix(np.array([number], np.uint64)) | np.uint64(1)
        with np.errstate(over="ignore"):
            total += bits.astype(np.uint64) * key
    return mix(total)


def build_index(keys: Array) -> Array:
    """(N,) uint64 ascending: high bits of each hash, its position in the low bits that N needs.

    A search by the high bits finds candidates, whose ids are then compared.
    """
    index: Array = np.empty(len(keys), np.uint64)
    high = ~_mask_positions(len(keys))
    for start in range(0, len(keys), _BLOCK):
        block = keys[start : start + _BLOCK]
        places = np.arange(start, start + len(block), dtype=np.uint64)
        np.bitwise_or(block & high, places, out=index[start : start + _BLOCK])
    index.sort()
    return index


def find_positions(
    names: list[str], index: Indexed, read_ids: Callable[[Array], list[bytes]]
) -> Array:
    """(len(names),) int64 positions of items, -1 for unknown ones.

    index     (N,) as of build_index
    read_ids  the ids in UTF-8 at positions (R,): an item is found where its id is the name
    """
    low = _mask_positions(len(index))
    encoded = [name.encode("utf-8", "surrogateescape") for name in names]
    keys = hash_text(Text.of(names)) & ~low
    places = _search(index, keys)
    found = np.full(len(names), -1, np.int64)
    # Of one key there are seldom two items.
    open_names = np.arange(len(names))
    while len(open_names := open_names[places[open_names] < len(index)]):
        entries = index[places[open_names]]
        same = entries & ~low == keys[open_names]
        open_names, positions = open_names[same], (entries[same] & low).astype(np.int64)
        ids = read_ids(positions)
        fits = np.array([encoded[name] == id for name, id in zip(open_names, ids, strict=True)])
        fits = fits.astype(bool)
        found[open_names[fits]] = positions[fits]
        open_names = open_names[~fits]
        places[open_names] += 1
    return found


def _search(index: Indexed, keys: Array) -> Array:
    """(R,) first places at which the ascending index is not below keys (R,).

    Only what is compared is read of it.
    """
    first, end = np.zeros(len(keys), np.int64), np.full(len(keys), len(index))
    while (searching := np.flatnonzero(first < end)).size:
        middle = (first[searching] + end[searching]) // 2
        below = index[middle] < keys[searching]
        first[searching[below]] = middle[below] + 1
        end[searching[~below]] = middle[~below]
    return first


def find_duplicates(index: Array, ids: Strings) -> tuple[int, int] | None:
    """Positions of two items that have one id, or ids that are canonically equal, or None.

    index  (N,) as of build_index, of keys that are equal where such ids are: see hash_canonical
    """
    low = _mask_positions(len(index))
    for start in range(0, len(index), _BLOCK):
        keys = index[start : start + _BLOCK + 1] & ~low
        for place in np.flatnonzero(keys[1:] == keys[:-1]) + start:
            end = place + 1
            while end < len(index) and index[end] & ~low == index[place] & ~low:
                first, second = int(index[place] & low), int(index[end] & low)
                if make_canonical(ids[first]) == make_canonical(ids[second]):
                    return first, second
                end += 1
    return None


def _mask_positions(count: int) -> np.uint64:
    """Mask of the bits that positions below count need."""
    return np.uint64((1 << max(count - 1, 0).bit_length()) - 1)
