"""A judge's column: what it holds, which verdict is positive, and what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolError
from activetest.pool.judge import find_pair
from activetest.pool.pool import Pool


def open_pool(folder, values, **choices) -> Pool:
    """The pool with a judge who gives these values."""
    ids = [f"item-{row}" for row in range(len(values))]
    pq.write_table(pa.table({"id": ids, "said": values}), folder / "pool.parquet")
    return Pool.open(folder / "pool.parquet", judge="said", **choices)


@pytest.mark.parametrize(
    ("verdicts", "pair"),
    [
        (("fail", "pass"), ("pass", "fail")),
        (("Correct", "Incorrect"), ("Correct", "Incorrect")),
        (("C", "I", "P"), ("C", "I")),
        (("0", "1"), ("1", "0")),
        (("0", "1", "2"), None),
        (("c", "i", "x"), None),
        (("pass", "fail", "unsure"), ("pass", "fail")),
        (("unsafe", "safe"), ("safe", "unsafe")),
        (("not relevant", "relevant"), ("relevant", "not relevant")),
        (("A", "B"), None),
        (("PASS",), ("PASS", "FAIL")),
        (("No",), ("Yes", "No")),
        (("maybe",), None),
    ],
)
def test_the_better_verdict_of_a_pair_is_positive(verdicts, pair):
    assert find_pair(verdicts) == pair


@pytest.mark.parametrize(
    ("values", "task", "kind", "classes", "positive"),
    [
        (["pass", "fail", "pass"], "classification", "pred", ("fail", "pass"), "pass"),
        ([True, False, True], "classification", "pred", ("False", "True"), "True"),
        ([1.0, 0.0, 1.0], "classification", "pred", ("0", "1"), "1"),
        ([1, 1, 1], "classification", "pred", ("0", "1"), "1"),
        (["B", "A", "B"], "classification", "pred", ("A", "B"), "B"),
        (["fail", "fail", "fail"], "classification", "pred", ("fail", "pass"), "pass"),
        (["1", "2", "tie"], "classification", "pred", ("1", "2", "tie"), None),
        ([0.5, 0.25, 1.0], "regression", "pred", (), None),
        ([1, 5, 3], "regression", "pred", (), None),
    ],
)
def test_what_the_column_holds_says_what_is_predicted(
    tmp_path, values, task, kind, classes, positive
):
    schema = open_pool(tmp_path, values).schema
    assert (schema.task, schema.kind, schema.judge) == (task, kind, "said")
    assert (schema.classes, schema.positive) == (classes, positive)


def test_a_positive_verdict_makes_probabilities_of_fractions(tmp_path):
    schema = open_pool(tmp_path, [0.5, 0.25, 1.0], positive="pass").schema
    assert (schema.kind, schema.classes, schema.positive) == ("score", ("fail", "pass"), "pass")


def test_labels_of_a_pair_are_of_its_classes_and_others_are_open(tmp_path):
    assert not open_pool(tmp_path, ["pass", "fail"]).schema.open_classes
    assert open_pool(tmp_path, ["A", "B"]).schema.open_classes


@pytest.mark.parametrize("values", [["pass", None, "fail", " "], [0.5, None, 0.25, np.nan]])
@pytest.mark.parametrize("size", [1, 3, 9])
def test_items_without_a_verdict_are_counted_and_left_out(tmp_path, values, size):
    path = tmp_path / "pool.parquet"
    table = pa.table({"id": ["a", "b", "c", "d"], "said": values, "n": [0, 1, 2, 3]})
    pq.write_table(table, path, row_group_size=size)
    pool = Pool.open(path, judge="said")
    assert pool.rows == 2 and "2 items without a grade in 'said' left out" in pool.notices
    blocks = list(map(pool.read_block, pool.strips()))
    assert [id for block in blocks for id in block.ids] == ["a", "c"]
    assert pool.show([1, 0], ["n", "id"]) == {"n": [2, 0], "id": ["c", "a"]}
    again = Pool(str(path), pool.schema)
    assert (again.rows, again.files.gaps) == (2, 2)
    assert not Pool.open(path, judge="n").files.gaps


@pytest.mark.parametrize(
    ("values", "task", "classes", "rows"),
    [
        (["0.5", "error", "0.25", "N/A", "0.75", ""], "regression", (), 3),
        (["1", "error", "0", "refused", "1", "0"], "classification", ("0", "1"), 4),
        (["1", "2", "PARSE_ERROR"], "regression", (), 2),
        (["1", "0", "none"], "classification", ("0", "1", "none"), 3),
        # As many words as numbers, one number, and other texts with digits.
        (["1", "error", "0", "refused"], "classification", ("0", "1", "error", "refused"), 4),
        (["1", "error", "1"], "classification", ("1", "error"), 3),
        (["1", "2", "1-2", "3"], "classification", ("1", "2", "3", "1-2"), 4),
    ],
)
def test_words_between_numbers_are_no_grades(tmp_path, values, task, classes, rows):
    pool = open_pool(tmp_path, values)
    assert (pool.schema.task, pool.schema.classes, pool.rows) == (task, classes, rows)
    assert bool(pool.schema.written) == any("words are no grades" in each for each in pool.notices)
    named = open_pool(tmp_path, values, task="classification")
    assert named.rows == sum(value != "" for value in values) and not named.schema.written


@pytest.mark.parametrize("values", [["pass", None, "fail", " "], [0.5, None, 0.25, np.nan]])
def test_gaps_need_ids_as_rows_have_other_numbers_without_them(tmp_path, values):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({"key": list("abcd"), "said": values}), path, row_group_size=1)
    with pytest.raises(
        PoolError, match="2 items have no verdict in column 'said'.*row 1 "
    ) as error:
        Pool.open(path, judge="said")
    assert "`id=column`" in error.value.hint
    assert Pool.open(path, judge="said", id="key").rows == 2
    pq.write_table(pa.table({"id": ["a"], "said": pa.array([None], pa.string())}), path)
    with pytest.raises(PoolError, match="1 item has no verdict"):
        Pool.open(path, judge="said")


def test_free_text_is_no_verdict(tmp_path):
    with pytest.raises(PoolError, match="25 different texts"):
        open_pool(tmp_path, [f"because {row}" for row in range(25)])


def test_large_numbers_are_no_probabilities(tmp_path):
    with pytest.raises(PoolError, match="from 1 to 5, which are no probabilities"):
        open_pool(tmp_path, [1, 5, 2.5], task="classification")


def test_the_judge_is_the_only_output(tmp_path):
    with pytest.raises(ChoiceError, match="says what the outputs are"):
        open_pool(tmp_path, ["pass", "fail"], outputs="id")
