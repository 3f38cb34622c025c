"""Pools that cannot serve: each says what is wrong, where, and what to do about it."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import cache
from activetest.errors import ActivetestError, ChoiceError, PoolError
from activetest.pool.pool import Pool

NAN, INF = float("nan"), float("inf")
TWO = pa.list_(pa.float32(), 2)


def build(folder, columns: dict, **choices):
    """The cache of a pool with these columns."""
    path = folder / "pool.parquet"
    pq.write_table(pa.table(columns), path)
    return cache.build_cache(Pool.open(path, **choices), folder / "cache")


def unchecked(*values: bytes) -> pa.Array:
    """Text that nobody has checked to be UTF-8."""
    return pa.array(values, pa.binary()).view(pa.string())


LATIN = unchecked(b"a", b"p\xff")
BAD = {
    "empty id": ({"id": ["a", ""], "pred": [0, 1]}, "row 1 .* 'id' is ''"),
    "blank id": ({"id": ["a", "\u3000 "], "pred": [0, 1]}, "row 1 .* 'id' is "),
    "blank first id": ({"id": ["", "a"], "pred": [0, 1]}, "row 0 .* 'id' is ''"),
    "latin id": ({"id": LATIN, "pred": [0, 1]}, "'id' .* not UTF-8 in row 1 .*xff"),
    "latin class": ({"pred": LATIN}, "'pred' .* not UTF-8 in row 1"),
    "latin category": ({"pred": LATIN.dictionary_encode()}, "'pred' .* not UTF-8 in row 1"),
    "latin class beside probabilities": (
        {"prob": [[0.5, 0.5], [0.1, 0.9]], "pred": LATIN},
        "'pred' .* not UTF-8 in row 1",
    ),
    "lists as classes": (
        {"prob": [[0.5, 0.5], [0.1, 0.9]], "pred": [[1.0], [2.0]]},
        "'pred' is list",
    ),
    "records as classes": (
        {"prob_a": [0.5, 0.1], "prob_b": [0.5, 0.9], "pred": [{"a": 1}] * 2},
        "'pred' holds records",
    ),
    "lists of nothing": (
        {"prob": pa.array([[], []], pa.list_(pa.float64()))},
        "'prob' holds lists of 0",
    ),
    "no outputs": ({"id": [1], "f": [1.0]}, "no column holds the model's outputs"),
    "no rows": ({"id": pa.array([], pa.int64()), "pred": pa.array([], pa.int64())}, "has no rows"),
    "null id": ({"id": ["a", None], "pred": [0, 1]}, "row 1 .* 'id' is null"),
    "id twice": ({"id": ["a", "b", "a"], "pred": [0, 1, 1]}, "rows 0 and 2 .* same id 'a'"),
    "fractional id": ({"id": [1.0, 2.0], "pred": [0, 1]}, "'id' is double"),
    "nan in a list": ({"prob": [[0.5, 0.5], [NAN, 1.0]]}, "row 1 .*'prob' holds NaN"),
    "null in a list": ({"prob": [[0.5, 0.5], [None, 1.0]]}, "row 1 .*'prob' holds NaN"),
    "null list": (
        {"prob": pa.array([[0.5, 0.5], None], TWO)},
        "row 1 .*'prob' is null|Expected all lists",
    ),
    "infinity": ({"prob": [[0.5, 0.5], [INF, 1.0]]}, "row 1 .*infinity"),
    "both infinities": ({"prob": [[INF, -INF], [0.0, 1.0]]}, "row 0 .*infinity"),
    "sum": ({"prob": [[0.5, 0.5], [0.5, 0.6]]}, "row 1 .* sum to 1.1"),
    "negative": ({"prob": [[0.5, 0.5], [-0.2, 1.2]]}, "row 1 .*-0.2 for class '0'"),
    "ragged": ({"prob": [[0.5, 0.5], [0.2, 0.3, 0.5]]}, "row 1 .* 3 numbers where others have 2"),
    "one class": ({"prob": [[1.0], [1.0]]}, "lists of 1"),
    "prob is text": ({"prob": ["[0.5, 0.5]"]}, "'prob' is string"),
    "one probability": ({"prob_a": [0.5]}, "'prob_a' is the only probability"),
    "text probability": ({"prob_a": ["half"], "prob_b": [0.5]}, "'prob_a' is string"),
    "nan probability": ({"prob_a": [0.5, 0.5], "prob_b": [0.5, NAN]}, "row 1 .*'prob_b' holds NaN"),
    "negative probability": (
        {"prob_a": [0.5, -1], "prob_b": [0.5, 2]},
        "row 1 .*'prob_a' holds -1",
    ),
    "score above one": ({"score": [0.5, 1.0005]}, "row 1 .*'score' is 1.0005"),
    "nan score": ({"score": [0.5, NAN]}, "row 1 .*'score' is nan"),
    "null score": ({"score": [0.5, None]}, "row 1 .*'score' is nan"),
    "nan prediction": ({"pred": [1.5, NAN]}, "row 1 .*'pred' is nan"),
    "infinite prediction": ({"pred": [1.5, -INF]}, "row 1 .*'pred' is -inf"),
    "null class": ({"pred": ["a", None]}, "row 1 .*'pred' is null"),
    "empty class": ({"pred": ["a", ""]}, "row 1 .*'pred' is empty"),
    "only empty classes": ({"pred": ["", ""]}, "row 0 .*'pred' is empty"),
    "blank class": ({"pred": ["a", "b", "\u00a0 "]}, "row 2 .*'pred' is empty"),
    "empty class beside": ({"score": [0.5] * 3, "pred": ["a", "b", ""]}, "row 2 .*'pred' is empty"),
    "odd prediction": ({"pred": [[0], [1]]}, "'pred' is list"),
    "unknown class": ({"prob": [[0.5, 0.5]], "pred": ["cat"]}, "row 0 .*'pred' is 'cat'.*0, 1"),
    "negative std": ({"pred": [0.5, 1.5], "pred_std": [1.0, -1.0]}, "row 1 .*'pred_std' is -1"),
    "huge prediction": ({"pred": [0.5, -1e100]}, "row 1 .*'pred' is -1e[+]100, too large"),
    "huge std": ({"pred": [0.5, 1.5], "pred_std": [1.0, 2e15]}, "row 1 .*'pred_std' is 2e[+]15"),
    "nan std": ({"pred": [0.5, 1.5], "pred_std": [1.0, NAN]}, "row 1 .*'pred_std' is nan"),
    "ragged feature": ({"pred": [0, 1], "f": [[1.0], [1.0, 2.0]]}, "row 1 .*'f' has a list of 2"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_pool_is_a_named_error_with_a_hint_and_leaves_no_cache(tmp_path, name):
    columns, problem = BAD[name]
    with pytest.raises(PoolError) as caught:
        build(tmp_path, columns)
    assert re.search(problem, caught.value.problem)
    assert caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["pool.parquet"]


CHOICES = {
    "unknown id": ({"id": "key"}, "no column 'key'"),
    "unknown outputs": ({"outputs": ("p",)}, "no column 'p'"),
    "unknown feature": ({"features": ("x",)}, "no column 'x'"),
    "text feature": ({"features": ("name",)}, "'name' is string"),
    "unknown group": ({"groups": ("g*name",)}, "no column 'g'"),
    "list group": ({"groups": ("prob",)}, "'prob' is list"),
    "too many classes": ({"classes": ("a", "b", "c")}, "3 classes, the outputs have 2"),
    "class twice": ({"classes": ("a", "a")}, "twice"),
    "unknown positive": ({"positive": "spam"}, "'spam' is none of the classes 0, 1"),
    "unknown task": ({"task": "ranking"}, "'ranking'"),
    "not regression": ({"task": "regression", "outputs": ("prob",)}, "'prob' does not hold"),
}


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_that_does_not_fit_the_pool_is_a_named_error(tmp_path, name):
    choices, problem = CHOICES[name]
    columns = {"id": [1, 2], "prob": [[0.5, 0.5], [0.1, 0.9]], "name": ["x", "y"]}
    with pytest.raises(ActivetestError, match=problem) as caught:
        build(tmp_path, columns, **choices)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("columns", "choices", "remedies"),
    [
        ({"prob": [[0.5, 0.5]] * 2}, {"classes": ("ok", "fraud")}, [("0", "1"), ("prob",)]),
        ({"prob_ok": [0.5] * 2, "prob_bad": [0.5] * 2}, {}, [("0", "1"), ("prob_ok", "prob_bad")]),
        ({"score": [0.5] * 2}, {"classes": ("no", "yes")}, [("0", "1"), ("score",)]),
    ],
)
def test_where_predictions_are_no_classes_the_hint_says_what_works(
    tmp_path, columns, choices, remedies
):
    columns = columns | {"pred": [0, 1]}
    with pytest.raises(PoolError, match="'pred' is '0', and the classes are") as caught:
        build(tmp_path, columns, **choices)
    classes, outputs = remedies
    assert f"`classes={list(classes)}`" in caught.value.hint
    assert f"`outputs={list(outputs)}`" in caught.value.hint
    assert build(tmp_path, columns, classes=classes).classes == classes
    alone = build(tmp_path, columns, **choices, outputs=outputs)
    assert alone.rows(0, 2).outputs.pred.tolist() != [0, 1]


def test_predictions_of_all_classes_are_offered_by_name(tmp_path):
    columns = {"prob": [[0.5, 0.5]] * 2, "pred": ["dog", "cat"]}
    with pytest.raises(PoolError) as caught:
        build(tmp_path, columns)
    assert "`classes=['cat', 'dog']`" in caught.value.hint
    assert build(tmp_path, columns, classes=("cat", "dog")).classes == ("cat", "dog")


@pytest.mark.parametrize(
    ("columns", "percent"),
    [
        ({"prob": [[60.0, 40.0]]}, True),
        ({"prob_a": [30], "prob_b": [70]}, True),
        ({"score": [30.0]}, True),
        ({"prob": [[0.6, 0.6]]}, False),
        ({"score": [-0.5]}, False),
        ({"score": [101.0]}, False),
    ],
)
def test_percentages_are_recognised(tmp_path, columns, percent):
    with pytest.raises(PoolError) as caught:
        build(tmp_path, columns, task="classification")
    assert ("divide percentages by 100" in caught.value.hint) == percent


def test_a_threshold_outside_the_unit_interval_is_an_error(tmp_path):
    with pytest.raises(ChoiceError, match="threshold"):
        build(tmp_path, {"score": [0.5]}, threshold=1.5)


@pytest.mark.parametrize(
    ("columns", "choices"),
    [
        ({"prob": [[0.5, 0.5]]}, {"threshold": 0.4}),
        ({"pred": ["cat"]}, {"threshold": 0.4}),
        ({"score": [0.5], "pred": [1]}, {"threshold": 0.4}),
        ({"pred": [1.5]}, {"threshold": 0.4}),
        ({"pred": [1.5]}, {"classes": ("a", "b")}),
        ({"pred": [1.5]}, {"positive": "a"}),
    ],
)
def test_a_choice_without_effect_is_an_error(tmp_path, columns, choices):
    with pytest.raises(ChoiceError, match=f"`{next(iter(choices))}` has no effect"):
        build(tmp_path, columns, **choices)


def test_a_column_with_too_many_values_is_no_group(tmp_path):
    with pytest.raises(PoolError, match="'g' has more than 1,000"):
        build(tmp_path, {"pred": [0] * 1001, "g": list(range(1001))}, groups=("g",))


@pytest.mark.parametrize("settings", [{}, {"judge": "pred"}, {"outputs": ["pred"]}])
@pytest.mark.parametrize("values", [[1], ["1"]])
def test_two_columns_of_one_name_are_an_error(tmp_path, settings, values):
    table = pa.Table.from_arrays([pa.array(values)] * 2, names=["pred", "pred"])
    pq.write_table(table, tmp_path / "pool.parquet")
    with pytest.raises(PoolError, match="two columns are called 'pred'"):
        Pool.open(tmp_path / "pool.parquet", **settings)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(PoolError, match="no file or folder .*nowhere.parquet"):
        Pool.open(tmp_path / "nowhere.parquet")


def test_an_unknown_kind_of_address_is_named():
    with pytest.raises(PoolError, match="carrier-pigeon"):
        Pool.open("carrier-pigeon://coop/pool.parquet")


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "is empty"), (b"id,pred\n1,2\n", "is not a Parquet file"), (b"PAR1", "is truncated")],
)
def test_a_file_that_is_no_parquet_is_named(tmp_path, content, problem):
    (tmp_path / "pool.parquet").write_bytes(content)
    with pytest.raises(PoolError, match=f"pool.parquet {problem}"):
        Pool.open(tmp_path / "pool.parquet")


def test_a_folder_without_parquet_is_named(tmp_path):
    with pytest.raises(PoolError, match="holds no .parquet file"):
        Pool.open(tmp_path)


def test_files_of_a_folder_must_have_the_same_columns(tmp_path):
    pq.write_table(pa.table({"id": [1], "pred": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "b.parquet")
    with pytest.raises(PoolError, match="b.parquet has no column 'pred'"):
        Pool.open(tmp_path)
    pq.write_table(pa.table({"id": [2], "pred": ["x"]}), tmp_path / "b.parquet")
    with pytest.raises(PoolError, match="'pred' is int64 in .*a.parquet and string in .*b.parquet"):
        Pool.open(tmp_path)


def test_a_parquet_file_cut_off_anywhere_is_a_named_error(tmp_path):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({"id": np.arange(500), "pred": np.arange(500) % 3}), path)
    whole = path.read_bytes()
    for size in range(4, len(whole), 61):
        path.write_bytes(whole[:size])
        with pytest.raises(PoolError, match="truncated"):
            Pool.open(path)


def test_a_damaged_parquet_file_is_a_named_error(tmp_path):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table({"id": np.arange(5000), "pred": np.arange(5000) % 3}), path)
    whole = bytearray(path.read_bytes())
    whole[4:400] = b"\xff" * 396
    path.write_bytes(whole)
    with pytest.raises(PoolError, match="row group 0 of .* cannot be read"):
        cache.build_cache(Pool.open(path), tmp_path / "cache")


def test_lists_of_nothing_are_no_features(tmp_path):
    columns = {"prob": [[0.5, 0.5], [0.1, 0.9]], "x": [1.0, 2.0]}
    columns["f"] = pa.array([[], []], pa.list_(pa.float64()))
    columns["g"] = pa.array([[], None], pa.list_(pa.float64()))
    columns["h"] = pa.array([[], []], pa.list_(pa.null()))
    build(tmp_path, columns)
    schema = Pool.open(tmp_path / "pool.parquet").schema
    assert (schema.features, schema.ignored) == (("x",), ("f", "g", "h"))
    with pytest.raises(PoolError, match="'g' holds empty lists"):
        Pool.open(tmp_path / "pool.parquet", features=("x", "g"))


def test_text_without_a_role_may_be_no_utf8(tmp_path):
    columns = {"id": ["a", "b"], "pred": [0, 1], "comment": LATIN}
    assert build(tmp_path, columns).size == 2
    pool = Pool.open(tmp_path / "pool.parquet")
    with pytest.raises(PoolError, match="'comment' .* not UTF-8 in row 1"):
        pool.show([0], ["comment"])


@pytest.mark.parametrize("store_schema", [True, False])
def test_names_of_columns_that_are_no_utf8_are_an_error(tmp_path, store_schema):
    path = tmp_path / "pool.parquet"
    table = pa.table({"id": ["a", "b"], "pred": [0, 1], "QQQQ": [1, 2]})
    pq.write_table(table, path, store_schema=store_schema)
    path.write_bytes(path.read_bytes().replace(b"QQQQ", b"\xff\xfe\xff\xff"))
    with pytest.raises(PoolError, match="names that are not UTF-8") as caught:
        Pool.open(path)
    assert caught.value.hint


@pytest.mark.parametrize("address", ["odd://x/y", "ftp://x/y.parquet", "://"])
def test_an_address_that_nothing_opens_is_an_error(address):
    with pytest.raises(PoolError) as caught:
        Pool.open(address)
    assert address in caught.value.problem
    assert "s3://" in caught.value.hint
