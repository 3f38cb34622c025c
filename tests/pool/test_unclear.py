"""Outputs that can be read in several ways are asked about, and read as the answer says."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolError
from activetest.pool.files import Files
from activetest.pool.pool import Pool
from activetest.pool.unclear import Unclear, name_two_classes

ROWS = 60
IDS = [f"i{k}" for k in range(ROWS)]
SHARES = [(k * 37 % ROWS) / ROWS for k in range(ROWS)]
SURE = [max(each, 1 - each) for each in SHARES]
WORDS = ["no" if each < 0.5 else "yes" for each in SHARES]
TEXTS = {
    "dates": [f"2024-01-{1 + k % 28:02}" for k in range(ROWS)],
    "numbers written as text": [
        f"{k * 12.5:,.2f} {'EUR' if k % 2 else 'USD'}" for k in range(ROWS)
    ],
    "texts of several words": [f"The answer to question {k} is this" for k in range(ROWS)],
    "more than 50 different values": [f"u{k}" for k in [*range(59), 0]],
}


def write(folder, **columns):
    pq.write_table(pa.table({"id": IDS, **columns}), folder / "pool.parquet", row_group_size=17)
    return folder / "pool.parquet"


def ask(path, **choices) -> Unclear:
    with pytest.raises(Unclear) as caught:
        Pool.open(path, **choices)
    return caught.value


def read_all(pool: Pool) -> None:
    for strip in pool.strips():
        pool.read_block(strip)


def try_readings(path, error: Unclear, **choices) -> list[tuple[str, str]]:
    """(task, kind) of the pool that each reading opens, with every value checked."""
    found = []
    for reading in error.readings:
        pool = Pool.open(path, **choices, **reading.settings)
        read_all(pool)
        found.append((pool.schema.task, pool.schema.kind))
    return found


@pytest.mark.parametrize("name", ["fraud_score", "model_output", "pred"])
def test_numbers_in_0_to_1_may_be_probabilities(tmp_path, name):
    path = write(tmp_path, **{name: SHARES})
    named = {} if name == "pred" else {"outputs": name}
    error = ask(path, **named)
    assert error.problem.startswith(f"{name!r} runs from 0 to 0.983")
    assert try_readings(path, error, **(named if name != "pred" else {})) == [
        ("regression", "pred"),
        ("classification", "score"),
    ]
    classes = Pool.open(path, **named | dict(error.readings[-1].settings)).schema.classes
    assert classes == tuple(name_two_classes(name))


@pytest.mark.parametrize(
    "said", [{"task": "regression"}, {"classes": ["a", "b"]}, {"threshold": 0.3}]
)
def test_whoever_says_what_they_are_is_not_asked(tmp_path, said):
    path = write(tmp_path, chance=SHARES)
    kind = "pred" if "task" in said else "score"
    assert Pool.open(path, outputs="chance", **said).schema.kind == kind


def test_standard_deviations_and_other_numbers_leave_no_doubt(tmp_path):
    assert Pool.open(write(tmp_path, pred=SHARES, pred_std=SHARES)).schema.task == "regression"
    assert (
        Pool.open(write(tmp_path, pred=[3 * each for each in SHARES])).schema.task == "regression"
    )
    whole = [float(k) for k in range(ROWS)]
    assert Pool.open(write(tmp_path, pred=whole)).schema.task == "regression"


@pytest.mark.parametrize("codes", [[0.0, 1.0], [0.0, 1.0, 2.0], [-1.0, 1.0]])
@pytest.mark.parametrize("name", ["pred", "prediction"])
def test_whole_decimals_may_be_classes(tmp_path, codes, name):
    values = [codes[k % len(codes)] for k in range(ROWS - 1)] + [codes[0]]
    path = write(tmp_path, **{name: values})
    named = {} if name == "pred" else {"outputs": name}
    error = ask(path, **named)
    assert "whole numbers stored as decimals" in error.problem
    for reading in error.readings:
        read_all(Pool.open(path, **named | dict(reading.settings)))
    schema = Pool.open(path, **named | dict(error.readings[-1].settings)).schema
    assert (schema.kind, schema.classes) == ("pred", tuple(f"{code:g}" for code in codes))
    Pool(str(path), schema).check()


def test_grades_from_1_on_are_numbers_and_a_notice_says_how_they_would_be_classes(tmp_path):
    path = write(tmp_path, pred=[float(1 + k % 5) for k in range(ROWS)])
    pool = Pool.open(path)
    assert pool.schema.task == "regression"
    assert any("few whole numbers" in each for each in pool.notices)
    assert Pool.open(path, task="classification").schema.classes == ("1", "2", "3", "4", "5")


@pytest.mark.parametrize("looks", TEXTS)
def test_texts_that_are_unlikely_classes_are_asked_about(tmp_path, looks):
    path = write(tmp_path, pred=TEXTS[looks])
    error = ask(path)
    assert looks in error.problem and error.readings[-1].settings == {"task": "classification"}
    assert try_readings(path, error) == [("classification", "pred")]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["NA", "x"], "holds 'NA' beside other classes"),
        (["None", "x", "y"], "holds 'None' beside other classes"),
        (["yes", "Yes", "no"], "holds 'Yes' and 'yes'"),
        (["True", "1", "False"], "holds '1' and 'True'"),
    ],
)
def test_classes_that_may_be_none_or_one_are_asked_about(tmp_path, names, words):
    path = write(tmp_path, pred=(names * ROWS)[:ROWS])
    error = ask(path)
    assert words in error.problem and error.remedy
    assert try_readings(path, error) == [("classification", "pred")]
    assert set(Pool.open(path, task="classification").schema.classes) == {*names}


@pytest.mark.parametrize("names", [["none", "x"], ["true", "false"], ["1", "0"], ["NA"]])
def test_classes_that_may_well_be_are_not_asked_about(tmp_path, names):
    path = write(tmp_path, pred=(names * ROWS)[:ROWS])
    assert set(Pool.open(path).schema.classes) == {*names}


def test_a_text_of_its_own_in_each_row_is_no_class(tmp_path):
    pq.write_table(pa.table({"id": IDS[:30], "pred": IDS[:30]}), tmp_path / "pool.parquet")
    assert "a different text in every row, such as 'i0'" in ask(tmp_path / "pool.parquet").problem


def test_many_whole_numbers_are_asked_about_and_few_are_classes(tmp_path):
    path = write(tmp_path, pred=[k * 1000 for k in range(ROWS)])
    assert try_readings(path, ask(path)) == [("regression", "pred"), ("classification", "pred")]
    assert Pool.open(write(tmp_path, pred=[k % 20 for k in range(ROWS)])).schema.task == (
        "classification"
    )


def test_probabilities_of_many_classes_are_not_asked_about(tmp_path):
    columns = {f"prob_{k}": [1 / 64] * ROWS for k in range(64)}
    assert len(Pool.open(write(tmp_path, **columns)).schema.classes) == 64
    lists = pa.array([[1 / 64] * 64] * ROWS)
    assert len(Pool.open(write(tmp_path, prob=lists)).schema.classes) == 64


@pytest.mark.parametrize("column", ["pred", "predicted_label", "label"])
def test_a_score_that_is_never_low_looks_like_a_confidence(tmp_path, column):
    path = write(tmp_path, score=SURE, **{column: WORDS})
    error = ask(path)
    assert error.problem.startswith("'score' is never below 0.5 while both classes are predicted")
    both = {"outputs": ["score", column], "scale": "confidence"}
    assert error.readings[-1].settings == both
    assert try_readings(path, error) == [("classification", "score"), ("classification", "score")]
    assert "score" in Pool.open(path, outputs=column).schema.features


def test_a_score_that_is_low_somewhere_is_a_probability(tmp_path):
    for column in ("pred", "label"):
        assert Pool.open(write(tmp_path, score=SHARES, **{column: WORDS})).schema.kind == "score"
    low = [0.49, *SURE[1:]]
    assert Pool.open(write(tmp_path, score=low, pred=WORDS)).schema.kind == "score"
    same = ["yes"] * ROWS
    with pytest.raises(PoolError, match="the classes are 0, 1"):
        read_all(Pool.open(write(tmp_path, score=SURE, pred=same)))


def test_forty_rows_tell_nothing_of_a_confidence(tmp_path):
    table = pa.table({"id": IDS[:40], "score": SURE[:40], "pred": WORDS[:40]})
    pq.write_table(table, tmp_path / "pool.parquet")
    assert Pool.open(tmp_path / "pool.parquet").schema.kind == "score"


def test_of_very_many_values_no_more_are_read_than_tell(tmp_path, monkeypatch):
    values = [f"u{random.Random(k).random()}" for k in range(3000)]
    pq.write_table(pa.table({"pred": values}), tmp_path / "pool.parquet", row_group_size=100)
    seen = []
    batches = Files.batches

    def count_batches(self, columns, piece, *given, **options):
        seen.append(piece.number)
        return batches(self, columns, piece, *given, **options)

    monkeypatch.setattr(Files, "batches", count_batches)
    assert "such as 'u0." in ask(tmp_path / "pool.parquet").problem
    assert 0 < len(seen) < 25
