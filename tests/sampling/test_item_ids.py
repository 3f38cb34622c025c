"""Ids that a program has changed: the items that they can only mean."""

import pytest

from activetest.errors import LabelError
from activetest.labels.files import Label
from activetest.nouns.log import LABELLED
from activetest.sampling.item_ids import explain_unknown, restore_ids
from tests import makers


def build(folder, ids):
    folder.mkdir(exist_ok=True)
    return makers.build_table(folder, {"id": ids, "pred": ["cat", "dog"] * (len(ids) // 2)})


def restore(pool, *ids):
    notes = []
    rows = [Label(f"line {line}", id, "", LABELLED, "x") for line, id in enumerate(ids, 2)]
    return [row.id for row in restore_ids(rows, pool, "log", notes)], notes


@pytest.mark.parametrize(
    ("ids", "given", "meant"),
    [
        (["00123", "00124"], "123", "00123"),
        (["00123", "00124"], "123.0", "00123"),
        (["1000", "1001"], "1000.0", "1000"),
        (["1000", "1001"], "1,000", "1000"),
        (["1000.0", "1001.0"], "1000", "1000.0"),
        (["p1", "p2"], " p1 ", "p1"),
        # As it is in the pool, whatever else it may be.
        (["0", "000"], "0", "0"),
        (["p1", "p1 "], "p1 ", "p1 "),
        # Two items, or none.
        (["0123", "00123"], "123", "123"),
        (["p1", "p2"], "p3", "p3"),
    ],
)
def test_an_id_becomes_the_only_one_that_it_can_mean(tmp_path, ids, given, meant):
    found, notes = restore(build(tmp_path, ids), given)
    assert found == [meant]
    assert bool(notes) == (given != meant)


def test_how_many_ids_were_read_as_others_is_said(tmp_path):
    pool = build(tmp_path, ["007", "008"])
    said = "read as the only one of the pool that can be meant, such as '7' as '007'"
    assert restore(pool, "7", "008")[1] == [f"1 id was {said}"]
    assert restore(pool, "7", "8")[1] == [f"2 ids were {said}"]


def test_ids_that_unicode_calls_equal_are_one_without_a_word(tmp_path):
    pool = build(tmp_path, ["Zu\u0308rich", "caf\u00e9"])
    found, notes = restore(pool, "Z\u00fcrich", "cafe\u0301")
    assert found == ["Zu\u0308rich", "caf\u00e9"] and notes == []


@pytest.mark.parametrize("given", [["1.23456E+11"], ["123456000000", "1.23456E+11"]])
def test_numbers_in_scientific_notation_are_refused(tmp_path, given):
    pool = build(tmp_path, ["123456000000", "123456007919"])
    with pytest.raises(LabelError, match="id '1.23456E.11' is a number in scientific") as error:
        restore(pool, *given)
    assert "keep one" not in error.value.hint and "as text" in error.value.hint
    known = build(tmp_path / "known", ["1.23456E+11", "2.3E+12"])
    assert restore(known, "1.23456E+11")[0] == ["1.23456E+11"]


def test_rounded_numbers_are_refused_even_where_an_item_is_called_so(tmp_path):
    ids = [str(10**17 + row) for row in range(4)]
    with pytest.raises(LabelError, match="is a number with 15 digits and zeros"):
        restore(build(tmp_path, ids), ids[0], ids[0])
    assert restore(build(tmp_path / "once", ids), ids[0])[0] == ids[:1]
    # A number that is not rounded shows that the others are not.
    assert restore(build(tmp_path / "other", ids), ids[0], ids[1])[0] == ids[:2]
    round_ids = [str(row * 10**17) for row in range(1, 5)]
    assert restore(build(tmp_path / "round", round_ids), *round_ids)[0] == round_ids


@pytest.mark.parametrize(
    ("ids", "given", "reason"),
    [
        (["0123", "00123"], "123", "it may be '0123' or '00123'"),
        (["1-2", "3-5"], "2-Jan", "spreadsheets make dates of ids"),
        (["A1", "A2"], "a1", "the pool has 'A1': capitals matter in ids"),
        (["Z\u00fcrich", "b"], "Z\u0178rich", "letters may be of another encoding"),
        (["a", "b"], "c", ""),
    ],
)
def test_what_may_have_become_of_an_id_is_said(tmp_path, ids, given, reason):
    found = explain_unknown(given, build(tmp_path, ids))
    assert found.startswith(reason) and bool(found) == bool(reason)


def test_rows_of_a_pool_without_ids_are_no_numbers(tmp_path):
    pool = makers.build_table(tmp_path, {"pred": ["cat", "dog"] * 3})
    assert restore(pool, "3", " row-3", "03")[0] == ["3", "row-3", "03"]
    assert explain_unknown("Row-3", pool) == ""
