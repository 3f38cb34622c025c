"""Rows of units, sums and headers are refused by their number, and no other row is."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolError
from activetest.pool.pool import Pool

ROWS = 40
IDS = [f"i{row}" for row in range(ROWS)]
CLASSES = ["a", "b"] * (ROWS // 2)
NUMBERS = [f"{row / 7:.2f}" for row in range(ROWS)]
CODES = [str(row % 3) for row in range(ROWS)]


def write(folder, **columns):
    table = pa.table({"id": IDS, "pred": CLASSES, **columns})
    pq.write_table(table, folder / "pool.parquet", row_group_size=17)
    return folder / "pool.parquet"


def put(values: list[str], **texts: str) -> list[str]:
    """The values with texts in rows, as r0="EUR"."""
    return [texts.get(f"r{row}", value) for row, value in enumerate(values)]


REFUSED = {
    "units": (0, {"price": put(NUMBERS, r0="EUR"), "size": put(NUMBERS, r0="m")}),
    "units of predicted values": (0, {"pred": put(NUMBERS, r0="kWh")}),
    "dashes": (0, {"score": put(NUMBERS, r0="----"), "pred": put(CLASSES, r0="----")}),
    "the header again": (
        30,
        {"price": put(NUMBERS, r30="price"), "pred": put(CLASSES, r30="pred")},
    ),
    "the header in all parts": (
        10,
        {
            name: put(values, **{f"r{row}": name for row in range(10, 40, 10)})
            for name, values in (("id", IDS), ("price", NUMBERS))
        },
    ),
    "a sum": (39, {"id": put(IDS, r39="Total"), "pred": NUMBERS}),
    "a sum behind ids of digits": (39, {"id": put(CODES, r39="Summe:"), "pred": NUMBERS}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_row_that_is_no_item_is_refused(tmp_path, name):
    row, columns = REFUSED[name]
    path = write(tmp_path, **columns)
    with pytest.raises(PoolError, match=f"row {row} of .* is no item"):
        Pool.open(path)
    # Without these rows, there is a pool.
    table = pq.read_table(path)
    kept = [each for each in range(ROWS) if each not in range(row, ROWS, 10)]
    pq.write_table(table.take(kept), path)
    choices = {"task": "regression"} if "numbers" in name else {}
    assert Pool.open(path, **choices).rows == len(kept)


TAKEN = {
    "values that are missing": {"price": put(NUMBERS, r0="NA", r7="None"), "size": NUMBERS},
    "values below a limit": {"a": put(NUMBERS, r0="<0.1"), "b": put(NUMBERS, r0="<0.5")},
    "words for no value": {"a": put(NUMBERS, r0="unknown", r9="x"), "b": put(NUMBERS, r0="none")},
    "a class beside codes": {"pred": put(CODES, r5="none")},
    "a text in a single column": {"price": put(NUMBERS, r0="free")},
    "a dictionary": {"price": pa.array(NUMBERS).dictionary_encode()},
    "a text like the name of its column": {"price": put(NUMBERS, r3="price", r5="price")},
    "texts": {"note": [f"note {row}" for row in range(ROWS)]},
    "a total in another column": {"kind": put(CLASSES, r39="total")},
}


@pytest.mark.parametrize("name", TAKEN)
def test_other_rows_are_items(tmp_path, name):
    assert Pool.open(write(tmp_path, **TAKEN[name])).rows == ROWS


def test_few_rows_tell_nothing(tmp_path):
    path = write(tmp_path, price=put(NUMBERS, r0="EUR"), size=put(NUMBERS, r0="m"))
    pq.write_table(pq.read_table(path).slice(0, 19), path)
    assert Pool.open(path).rows == 19


def test_text_that_is_no_utf_8_is_said_where_it_is_read(tmp_path):
    bad = pa.array([b"\xff"] * ROWS, pa.binary()).view(pa.string())
    with pytest.raises(PoolError, match="UTF-8"):
        Pool.open(write(tmp_path, pred=bad))
