"""Ids as text, their hashes, and finding items by id."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from activetest.pool.ids import (
    Text,
    build_index,
    find_duplicates,
    find_positions,
    hash_canonical,
    hash_rows,
    hash_text,
)


def reader(ids: Text):
    """A function that reads ids (R,) at positions, in UTF-8."""
    return lambda positions: [ids[int(row)].encode() for row in positions]


IDS = st.lists(st.text(max_size=40), unique=True, max_size=60)


@given(IDS)
def test_text_gives_back_the_strings(ids):
    text = Text.of(ids)
    assert [text[row] for row in range(len(text))] == ids


@given(IDS, st.randoms())
def test_the_hash_of_an_id_does_not_depend_on_its_neighbours(ids, random):
    alone = {word: int(hash_text(Text.of([word]))[0]) for word in ids}
    random.shuffle(ids)
    assert hash_text(Text.of(ids)).tolist() == [alone[word] for word in ids]
    assert len(set(alone.values())) == len(ids)


@given(IDS)
def test_every_id_is_found_where_it_is_and_no_other_is(ids):
    text = Text.of(ids)
    index = build_index(hash_text(text))
    names = [*ids, "an id that no item has, because it is too long to be drawn"]
    assert find_positions(names, index, reader(text)).tolist() == [*range(len(ids)), -1]
    assert find_duplicates(index, text) is None


def test_ids_that_share_a_hash_are_told_apart():
    ids = Text.of(["a", "b", "c"])
    index = build_index(np.full(3, hash_text(Text.of(["b"]))[0]))
    assert find_positions(["b"], index, reader(ids)).tolist() == [1]
    assert find_positions(["c", "b", "d"], index, reader(ids)).tolist() == [-1, 1, -1]
    assert find_duplicates(index, ids) is None
    assert find_duplicates(index, Text.of(["a", "c", "c"])) == (1, 2)


def test_ids_in_two_forms_are_duplicates_by_their_canonical_hashes():
    ids = Text.of(["e\u0301", "plain", "", "\u212b", "A\u030a", "\u00fc\0"])
    keys = hash_text(ids)
    alike = hash_canonical(ids, keys)
    assert (alike == keys).tolist() == [False, True, True, False, False, True]
    assert find_duplicates(build_index(keys), ids) is None
    assert find_duplicates(build_index(alike), ids) == (3, 4)
    plain = Text.of(["a", "b"])
    assert hash_canonical(plain, hash_text(plain)).tolist() == hash_text(plain).tolist()


def test_hashes_never_change_between_versions():
    # Recorded when the hash was written: draws are replayed from it.
    found = [f"{key:016x}" for key in hash_text(Text.of(["", "7", "item-0001", "ü"]))]
    assert found == ["e220a8397b1dcdaf", "66e8fdab7dced5e6", "614b17a83f249672", "0419b1ff58b92ca0"]


def test_one_changed_bit_changes_the_hash_of_a_row():
    keys = hash_text(Text.of(["a", "b"]))
    columns = [np.array([0.25, 0.5], np.float32), np.array([1, 0], np.int32)]
    before = hash_rows(keys, columns)
    columns[0][1] = np.nextafter(np.float32(0.5), np.float32(1))
    after = hash_rows(keys, columns)
    assert before[0] == after[0] and before[1] != after[1]


def test_swapped_outputs_change_the_sum_of_row_hashes():
    keys = hash_text(Text.of(["a", "b"]))
    left, right = np.array([0.2, 0.7], np.float32), np.array([0.7, 0.2], np.float32)
    assert hash_rows(keys, [left]).sum() != hash_rows(keys, [right]).sum()
    assert hash_rows(keys, [left, right]).sum() != hash_rows(keys, [right, left]).sum()


@pytest.mark.parametrize("block", [1, 2, 3, 1000])
def test_an_index_and_its_duplicates_do_not_depend_on_blocks(monkeypatch, block):
    names = [f"item {row}" for row in range(40)]
    names[33] = names[7]
    keys = hash_text(Text.of(names))
    expected = build_index(keys)
    monkeypatch.setattr("activetest.pool.ids._BLOCK", block)
    index = build_index(keys)
    np.testing.assert_array_equal(index, expected)
    assert sorted(index & np.uint64(63)) == list(range(40))
    assert find_duplicates(index, Text.of(names)) == (7, 33)
    unique = [*names[:33], *names[34:]]
    assert find_duplicates(build_index(hash_text(Text.of(unique))), Text.of(unique)) is None
