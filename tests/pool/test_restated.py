"""A column that says what the outputs say is no truth to hold them to."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.pool.pool import Pool
from activetest.pool.restated import restates_outputs

ROWS = 40
VERDICTS = [int(k % 3 > 0) for k in range(ROWS)]
SHARES = [(k * 37 % ROWS) / ROWS for k in range(ROWS)]
WORDS = ["factual" if each else "made up" for each in VERDICTS]

CASES = {
    "words of a verdict": ({"score": VERDICTS}, WORDS, True),
    "but for one": ({"score": VERDICTS}, ["factual", *WORDS[1:]], False),
    "one word for all": ({"score": VERDICTS}, ["x"] * ROWS, False),
    "the class of a score": ({"score": SHARES}, ["a" if s < 0.5 else "b" for s in SHARES], True),
    "the class at another threshold": (
        {"score": SHARES},
        ["a" if s < 0.4 else "b" for s in SHARES],
        False,
    ),
    "the class of probabilities": (
        {"prob_a": SHARES, "prob_b": [1 - s for s in SHARES]},
        ["b" if s < 0.5 else "a" for s in SHARES],
        True,
    ),
    "the class itself": ({"pred": WORDS}, [f" {word}" for word in WORDS], True),
    "the other class": (
        {"pred": WORDS},
        ["made up" if word == "factual" else "factual" for word in WORDS],
        False,
    ),
    "a number for each class": ({"pred": WORDS}, VERDICTS, True),
    "the predicted number": ({"pred": [10 * s for s in SHARES]}, [10 * s for s in SHARES], True),
    "numbers that never repeat": (
        {"pred": [10 * s for s in SHARES]},
        [SHARES[-k] + 1 for k in range(ROWS)],
        False,
    ),
    "another number": ({"pred": [10 * s for s in SHARES]}, [11 * s + 1 for s in SHARES], False),
}


@pytest.mark.parametrize("case", CASES)
def test_what_says_the_same_is_found(tmp_path, case):
    outputs, labels, expected = CASES[case]
    if case == "another number":
        labels[0] = labels[1]
    table = pa.table({"id": [f"i{k}" for k in range(ROWS)], "label": labels, **outputs})
    pq.write_table(table, tmp_path / "pool.parquet", row_group_size=9)
    assert restates_outputs(Pool.open(tmp_path / "pool.parquet"), "label") == expected


def test_few_rows_may_be_right_by_chance(tmp_path):
    table = pa.table({"pred": WORDS[:19], "label": WORDS[:19]})
    pq.write_table(table, tmp_path / "pool.parquet")
    assert not restates_outputs(Pool.open(tmp_path / "pool.parquet"), "label")
