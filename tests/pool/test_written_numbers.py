"""Columns of numbers that are written as text are read where there is one way to read them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest import inspect
from activetest.errors import ChoiceError, PoolError
from activetest.pool import scans, written_numbers
from activetest.pool.files import Files
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema
from activetest.pool.unclear import Unclear

ROWS = 60
IDS = [f"i{row}" for row in range(ROWS)]
SHARES = [(row * 37 % ROWS) / ROWS for row in range(ROWS)]


def write(folder, **columns):
    pq.write_table(pa.table({"id": IDS, **columns}), folder / "pool.parquet", row_group_size=17)
    return folder / "pool.parquet"


def read(pool: Pool, name: str) -> list:
    found = [pool.files.batches([name], piece) for piece in pool.pieces]
    return [
        value for batches in found for batch in batches for value in batch.column(0).to_pylist()
    ]


def spread(*texts: str) -> list[str]:
    """The texts in some rows, and the first of them in the others."""
    return [*texts, *[texts[0]] * (ROWS - len(texts))]


@pytest.mark.parametrize(
    ("texts", "numbers", "form"),
    [
        (["1.200,50", "-3"], [1200.5, -3], ","),
        (["802.269,48 €", "1.234 €"], [802269.48, 1234], ",€"),
        (["$1,200.50", "$1,234"], [1200.5, 1234], ".$"),
        (["1'200", "N/A", "(3)"], [1200, None, -3], "."),
        (["1 234", "1\u00a0234", "1\u202f234"], [1234] * 3, "."),
        (["87,5 %", "12%"], [87.5, 12], ",%"),
        (["1,23,456", "7"], [123456, 7], "."),
        (["CHF 1\u2019200.5", "CHF \u22127"], [1200.5, -7], ".CHF"),
        (["1.234.567", "1.234"], [1234567, 1234], ","),
        (["1,5e-3", "+2"], [0.0015, 2], ","),
    ],
)
def test_a_feature_is_read_where_all_values_can_be_read_in_one_way(tmp_path, texts, numbers, form):
    path = write(tmp_path, score=SHARES, x=spread(*texts))
    pool = Pool.open(path)
    assert pool.schema.features == ("x",) and pool.schema.written_forms == {"x": form}
    assert read(pool, "x")[: len(texts)] == numbers
    assert any(each.startswith("numbers written as text: x (decimal ") for each in pool.notices)


@pytest.mark.parametrize(
    "texts",
    [
        *(["$1.50", "€ 1.50"], ["50 %", "0.5"], ["1.5", "1,5"], ["1", "2"], ["12 May", "1.5"]),
        *(["2024.01.15", "2.5"], ["1.5", "x"], ["$1.2M", "$3M"], ["030 123 456", "1"], ["-", "1"]),
    ],
)
def test_other_columns_stay_text(tmp_path, texts):
    pool = Pool.open(write(tmp_path, score=SHARES, x=spread(*texts)))
    assert pool.schema.written == () and read(pool, "x") == spread(*texts)


def test_bytes_that_are_no_text_are_no_number(tmp_path):
    latin = pa.array([b"\xab"] * ROWS, pa.binary()).view(pa.string())
    path = write(tmp_path, pred=["a", "b"] * (ROWS // 2), x=latin)
    pool = Pool.open(path)
    assert not pool.schema.written
    assert {each.name for each in inspect(path).columns} == {"id", "pred", "x"}


def test_a_value_that_does_not_fit_may_stand_in_any_row(tmp_path):
    texts = [f"{row}.5" for row in range(ROWS - 1)]
    assert Pool.open(write(tmp_path, score=SHARES, x=[*texts, "7.5"])).schema.written == ("x",)
    assert Pool.open(write(tmp_path, score=SHARES, x=[*texts, "many"])).schema.written == ()


def test_a_feature_that_can_be_read_in_two_ways_is_left_out_and_that_is_said(tmp_path):
    path = write(tmp_path, score=SHARES, x=spread("1,234", "7"))
    pool = Pool.open(path)
    assert pool.schema.features == () and "x" in pool.schema.ignored
    assert (
        "numbers written as text, left out: x; `decimal=\",\"` reads '1,234' as 1.234, "
        "`decimal=\".\"` reads '1,234' as 1,234"
    ) in pool.notices
    for mark, number in ((",", 1.234), (".", 1234.0)):
        pool = Pool.open(path, decimal=mark)
        assert pool.schema.features == ("x",) and read(pool, "x")[:2] == [number, 7]
        assert not any("left out" in each for each in pool.notices)


@pytest.mark.parametrize("named", [{}, {"task": "regression"}, {"outputs": "pred"}])
def test_outputs_that_can_be_read_in_two_ways_are_asked_about(tmp_path, named):
    path = write(tmp_path, pred=[f"$1,{100 + row}" for row in range(ROWS)])
    with pytest.raises(Unclear, match="may stand before decimals or thousands") as caught:
        Pool.open(path, **named)
    assert [each.settings for each in caught.value.readings] == [{"decimal": ","}, {"decimal": "."}]
    for reading, first in zip(caught.value.readings, (1.1, 1100), strict=True):
        pool = Pool.open(path, **named, **reading.settings)
        assert (pool.schema.task, read(pool, "pred")[0]) == ("regression", first)
        assert pool.schema.decimal == reading.settings["decimal"]


def test_a_mark_that_is_none_is_refused(tmp_path):
    with pytest.raises(ChoiceError, match="no decimal mark"):
        Pool.open(write(tmp_path, score=SHARES), decimal=";")


@pytest.mark.parametrize(
    ("name", "choices", "task", "first"),
    [
        ("score", {}, "classification", 0.5),
        ("score", {"task": "regression"}, "regression", 50.0),
        ("chance", {"outputs": "chance", "task": "classification"}, "classification", 0.5),
        ("chance", {"outputs": "chance", "classes": ["a", "b"]}, "classification", 0.5),
        ("chance", {"outputs": "chance", "task": "regression"}, "regression", 50.0),
        ("pred", {"task": "regression"}, "regression", 50.0),
    ],
)
def test_percent_signs_divide_where_the_output_is_a_probability(
    tmp_path, name, choices, task, first
):
    texts = [f"{50 + row / 2:.1f} %".replace(".", ",") for row in range(ROWS)]
    pool = Pool.open(write(tmp_path, **{name: texts}), **choices)
    assert pool.schema.task == task and read(pool, name)[0] == first
    how = "percentages divided by 100" if first == 0.5 else "percent signs left out"
    assert f"numbers written as text: {name} (decimal comma, {how})" in pool.notices


def test_thousands_of_percent_are_no_probability(tmp_path):
    texts = [f"{10 + row},125 %" for row in range(ROWS)]
    assert read(Pool.open(write(tmp_path, score=texts)), "score")[0] == 0.10125


def test_percentages_that_may_be_probabilities_are_asked_about(tmp_path):
    texts = [f"{row}%" for row in range(ROWS)]
    with pytest.raises(Unclear, match="runs from 0 to 59 %: it may be the probability") as caught:
        Pool.open(write(tmp_path, confidence=texts), outputs="confidence")
    last = caught.value.readings[-1].settings
    assert read(Pool.open(tmp_path / "pool.parquet", outputs="confidence", **last), "confidence")[
        1
    ] == pytest.approx(0.01)


def test_few_names_that_look_like_numbers_are_classes(tmp_path):
    texts = [f"${10 * (row % 3)}.50" for row in range(ROWS)]
    path = write(tmp_path, pred=texts)
    assert Pool.open(path).schema.classes == ("$0.50", "$10.50", "$20.50")
    assert read(Pool.open(path, task="regression"), "pred")[:2] == [0.5, 10.5]


def test_many_names_are_classes_where_the_user_says_so(tmp_path):
    path = write(tmp_path, pred=[f"{row}.50 €" for row in range(ROWS)])
    assert Pool.open(path).schema.task == "regression"
    assert len(Pool.open(path, task="classification").schema.classes) == ROWS


@pytest.mark.parametrize("role", ["groups", "text", "attributes", "id", "other_columns"])
def test_columns_with_a_role_of_texts_stay_text(tmp_path, role):
    texts = [f"{row}.5 %" for row in range(ROWS)]
    path = write(tmp_path, pred=["a", "b"] * (ROWS // 2), x=texts)
    assert Pool.open(path).schema.written == ("x",)
    pool = Pool.open(path, **{role: "x"})
    assert pool.schema.written == () and read(pool, "x") == texts


def test_an_attribute_that_is_cut_into_bins_is_numbers(tmp_path):
    path = write(tmp_path, score=SHARES, age=[f"{row}.5 %" for row in range(ROWS)])
    assert Pool.open(path, attributes="age[4]").schema.binned == ("age",)


@pytest.mark.parametrize("name", ["label", "y_true", "item_id"])
def test_the_truth_and_ids_stay_text(tmp_path, name):
    path = write(tmp_path, score=SHARES, **{name: [f"{row}.5 %" for row in range(ROWS)]})
    assert Pool.open(path).schema.written == ()


def test_a_study_of_an_earlier_version_reads_text_as_it_did(tmp_path):
    texts = [f"{row}.5 %" for row in range(ROWS)]
    path = write(tmp_path, score=SHARES, x=texts)
    schema = Schema.from_dict({"task": "classification", "kind": "score", "outputs": ["score"]})
    assert "written" not in schema.to_dict()
    assert read(Pool(str(path), schema), "x") == texts
    found = Schema.from_dict(Pool.open(path).schema.to_dict())
    assert read(Pool(str(path), found), "x")[:2] == [0.5, 1.5]


@pytest.mark.parametrize(
    "entries", [{"written": ["x"]}, {"written": ["x"], "forms": [";"]}, {"decimal": ";"}]
)
def test_what_is_kept_of_it_is_checked(entries):
    with pytest.raises(ChoiceError, match=r"\[pool\]"):
        Schema.from_dict({"task": "regression", "kind": "pred", "outputs": ["x"], **entries})


def test_a_text_that_is_no_number_any_more_is_named(tmp_path):
    path = write(tmp_path, pred=spread("1.5", "2.5", "many"))
    files = Files(str(path))
    files.read_written({"pred": "."})
    with pytest.raises(PoolError, match=r"'pred' of .* is 'many' in row 2 \(counting from 0\)"):
        next(files.batches(["pred"], files.pieces[0]))


def test_only_columns_that_begin_with_numbers_are_read_whole_and_once(tmp_path, monkeypatch):
    monkeypatch.setattr(scans, "_SAMPLE", 5)
    columns = {"x": [f"{row}.5" for row in range(ROWS)], "words": ["a word"] * ROWS}
    path = write(tmp_path, score=SHARES, **columns)
    found = []
    batches = Files.batches

    def note(self, names, *given, **more):
        found.append(tuple(names))
        return batches(self, names, *given, **more)

    monkeypatch.setattr(Files, "batches", note)
    for _ in range(2):
        choices = written_numbers.ColumnChoices()
        assert written_numbers.find_written_numbers(Files(str(path)), choices).forms == {"x": "."}
    assert found == [("x", "words"), *[("x",)] * 4]


def test_the_range_of_numbers_is_not_that_of_their_texts(tmp_path):
    texts = [f"{95 + row % 10}.5" for row in range(ROWS)]
    pool = Pool.open(write(tmp_path, score=SHARES, x=texts))
    assert pool.files.find_range("x") == (95.5, 104.5)
