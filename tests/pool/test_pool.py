"""Meanings of the columns of a pool."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolError
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema

PROBS = [[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]]


def written(folder, name="pool.parquet", row_group_size=None, **columns) -> str:
    """The path of a pool with these columns."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=row_group_size)
    return str(path)


def outputs(pool: Pool):
    """The outputs of a pool of one block."""
    return pool.read_block(next(pool.strips())).checked.outputs


def notices_of(pool: Pool) -> str:
    return "\n".join(pool.notices)


def test_a_list_column_of_probabilities_is_a_classifier(tmp_path):
    pool = Pool.open(written(tmp_path, id=["a", "b", "c"], prob=PROBS, f=[1, 2, 3]))
    assert pool.schema.kind == "prob-list"
    assert pool.schema.classes == ("0", "1")
    assert pool.schema.features == ("f",)
    assert outputs(pool).pred.tolist() == [0, 1, 0]
    np.testing.assert_allclose(outputs(pool).probs, PROBS, rtol=1e-6)


def test_a_column_per_class_names_the_classes(tmp_path):
    pool = Pool.open(written(tmp_path, id=[1, 2], prob_cat=[0.9, 0.2], prob_dog=[0.1, 0.8]))
    assert pool.schema.kind == "prob-columns"
    assert pool.schema.classes == ("cat", "dog")
    assert outputs(pool).pred.tolist() == [0, 1]


def test_columns_named_as_outputs_name_the_classes_too(tmp_path):
    path = written(tmp_path, id=[1, 2], cat=[0.9, 0.2], dog=[0.1, 0.8])
    pool = Pool.open(path, outputs=("cat", "dog"))
    assert pool.schema.classes == ("cat", "dog") and pool.schema.features == ()


def test_a_score_is_the_probability_of_the_positive_class(tmp_path):
    path = written(tmp_path, id=[1, 2, 3], score=[0.1, 0.5, 0.9])
    pool = Pool.open(path)
    assert pool.schema.classes == ("0", "1") and pool.schema.positive == "1"
    assert outputs(pool).pred.tolist() == [0, 1, 1]
    assert outputs(Pool.open(path, threshold=0.6)).pred.tolist() == [0, 0, 1]
    turned = Pool.open(path, classes=("spam", "ham"), positive="spam")
    assert outputs(turned).pred.tolist() == [1, 0, 0]
    np.testing.assert_allclose(outputs(turned).probs[:, 0], [0.1, 0.5, 0.9], rtol=1e-6)


def test_predictions_beside_a_score_name_its_classes(tmp_path):
    pool = Pool.open(written(tmp_path, score=[0.1, 0.9], pred=["ham", "spam"]), positive="spam")
    assert pool.schema.classes == ("ham", "spam")


def test_hard_labels_are_enough_and_leave_the_classes_open(tmp_path):
    pool = Pool.open(written(tmp_path, id=[1, 2, 3], pred=[10, 9, 10]))
    assert pool.schema.kind == "pred" and pool.schema.open_classes
    assert pool.schema.classes == ("9", "10")
    assert outputs(pool).pred.tolist() == [1, 0, 1] and outputs(pool).probs is None
    closed = Pool.open(written(tmp_path, id=[1], pred=["x"]), classes=("x", "y"))
    assert not closed.schema.open_classes and closed.schema.classes == ("x", "y")


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([3.0, 4.0], ("3", "4")),
        ([True, False], ("False", "True")),
        (["b", "a"], ("a", "b")),
        (pa.array(["b", "a"]).dictionary_encode(), ("a", "b")),
    ],
)
def test_classes_are_strings_as_a_label_file_writes_them(tmp_path, values, names):
    assert Pool.open(written(tmp_path, pred=values), task="classification").schema.classes == names


def test_a_float_prediction_is_regression_and_a_whole_one_is_a_class(tmp_path):
    pool = Pool.open(written(tmp_path, pred=[1.5, 2.5], pred_std=[0.1, 0.2]))
    assert pool.schema.task == "regression" and pool.schema.std == "pred_std"
    assert outputs(pool).pred.tolist() == [1.5, 2.5]
    assert Pool.open(written(tmp_path, pred=[1, 2])).schema.task == "classification"
    assert Pool.open(written(tmp_path, pred=[1, 2]), task="regression").schema.task == "regression"


def test_pred_wins_over_the_most_probable_class(tmp_path):
    pool = Pool.open(written(tmp_path, prob=PROBS, pred=["b", "b", "a"]), classes=("a", "b"))
    block = pool.read_block(next(pool.strips()))
    assert block.checked.outputs.pred.tolist() == [1, 1, 0]
    assert block.checked.disagreeing == 1


@pytest.mark.parametrize(
    "columns",
    [
        {"prob": PROBS},
        {"cat": [0.9, 0.2, 0.5], "dog": [0.1, 0.8, 0.5]},
        {"score": [0.1, 0.8, 0.5]},
    ],
)
def test_outputs_by_name_are_all_that_counts(tmp_path, columns):
    path = written(tmp_path, **columns, pred=[1, 0, 1])
    alone = Pool.open(path, outputs=tuple(columns), classes=("0", "1"))
    assert alone.schema.pred is None and alone.schema.features == ()
    assert alone.schema.ignored == ("pred",)
    assert outputs(alone).pred.tolist() == [0, 1, int("score" in columns)]
    for order in ((*columns, "pred"), ("pred", *columns)):
        both = Pool.open(path, outputs=order, classes=("0", "1"))
        assert (both.schema.outputs, both.schema.pred) == (tuple(columns), "pred")
        assert both.schema.kind == alone.schema.kind
        assert outputs(both).pred.tolist() == [1, 0, 1]


def test_without_an_id_column_the_row_number_is_the_id(tmp_path):
    pool = Pool.open(written(tmp_path, prob=PROBS))
    block = pool.read_block(next(pool.strips()))
    assert [block.ids[row] for row in range(3)] == ["0", "1", "2"]
    assert "the ids are row-0, row-1 ..., the row numbers" in notices_of(pool)


@pytest.mark.parametrize("name", ["__index_level_0__", "Unnamed: 0", "rowIndex"])
def test_an_index_that_pandas_wrote_is_no_feature_unless_it_is_named(tmp_path, name):
    path = written(tmp_path, prob=PROBS, x=[1.0, 2.0, 3.0], **{name: [5, 7, 9]})
    pool = Pool.open(path)
    assert pool.schema.features == ("x",) and name in pool.schema.ignored
    assert f"column {name!r} is unique: `id={name!r}` uses it" in notices_of(pool)
    assert f"not used: {name}" in notices_of(pool)
    assert Pool.open(path, features=[name]).schema.features == (name,)
    assert Pool.open(path, groups=[name]).schema.groups == (name,)
    assert Pool.open(path, id=name).schema.id == name


def test_an_index_with_repeated_values_is_not_offered_as_ids(tmp_path):
    path = written(tmp_path, prob=PROBS, __index_level_0__=["a", "b", "a"])
    assert "__index_level_0__' is unique" not in notices_of(Pool.open(path))
    assert "could be a group" not in notices_of(Pool.open(path))


def test_what_could_give_the_answer_away_is_no_feature(tmp_path):
    revealing = ("label", "y", "true_label", "target", "sample_weight", "fnlwgt", "ground_truth")
    features = ("f", "pos_y", "truthful", "y2")
    columns = {name: [1.0, 2.0, 3.0] for name in revealing + features}
    path = written(tmp_path, prob=PROBS, surrogate_prob_0=PROBS, text=["p", "q", "r"], **columns)
    pool = Pool.open(path)
    assert set(pool.schema.features) == set(features)
    assert set(pool.schema.ignored) == {*revealing, "surrogate_prob_0", "text"}
    assert all(name in notices_of(pool) for name in pool.schema.ignored)
    assert Pool.open(path, features=("label",)).schema.features == ("label",)


def test_group_columns_are_no_features_and_products_have_the_pairs_that_occur(tmp_path):
    path = written(tmp_path, prob=PROBS, age=[30, 40, 30], sex=["m", None, "f"])
    pool = Pool.open(path, groups=("age", "age*sex"))
    assert pool.schema.features == () and pool.schema.group_columns == ("age", "sex")
    (_, ages), (codes, pairs) = pool.read_block(next(pool.strips())).groups
    assert ages == ["30", "40"]
    assert [pairs[code] for code in codes] == ["30*m", "40*null", "30*f"]


def test_a_schema_survives_being_written_down(tmp_path):
    pool = Pool.open(written(tmp_path, id=[1, 2, 3], prob=PROBS, f=[1, 2, 3], g=list("aab")))
    entries = pool.schema.to_dict()
    assert None not in entries.values()
    assert Schema.from_dict(entries) == pool.schema
    with pytest.raises(ChoiceError, match="colour"):
        Schema.from_dict(entries | {"colour": "red"})
    del entries["kind"]
    with pytest.raises(ChoiceError, match="kind"):
        Schema.from_dict(entries)


def test_a_folder_is_one_pool_in_the_order_of_its_names(tmp_path):
    written(tmp_path, "many/b.parquet", id=["c"], prob=PROBS[2:])
    written(tmp_path, "many/a.parquet", id=["a", "b"], prob=PROBS[:2], row_group_size=1)
    written(tmp_path, "many/_metadata.parquet", other=[1])
    pool = Pool.open(tmp_path / "many")
    assert [(piece.start, piece.rows) for piece in pool.pieces] == [(0, 1), (1, 1), (2, 1)]
    assert pool.show([2, 0], ["id"]) == {"id": ["c", "a"]}


def test_a_uri_is_a_pool(tmp_path):
    path = written(tmp_path, id=["a", "b", "c"], prob=PROBS)
    assert Pool.open(f"file://{path}").rows == 3


def test_show_reads_columns_in_the_order_asked(tmp_path):
    path = written(tmp_path, id=list("abcde"), pred=[0] * 5, note=list("vwxyz"), row_group_size=2)
    pool = Pool.open(path)
    assert pool.show([4, 0, 3], ["note", "id"]) == {"note": ["z", "v", "y"], "id": ["e", "a", "d"]}
    with pytest.raises(PoolError, match="'nope'"):
        pool.show([0], ["nope"])


def test_times_that_python_does_not_have_are_not_shown(tmp_path):
    early = pa.array([-(10**15)], pa.timestamp("s"))
    pq.write_table(pa.table({"pred": ["a"], "when": early}), tmp_path / "pool.parquet")
    with pytest.raises(PoolError, match="column 'when' cannot be shown"):
        Pool.open(tmp_path / "pool.parquet").show([0], ["when"])


def test_lists_of_varying_type_serve_when_they_are_equally_long(tmp_path):
    lists = pa.array(PROBS, pa.list_(pa.float64()))
    pool = Pool.open(written(tmp_path, prob=lists, f=pa.array([[1, 2], None, [3, None]])))
    features = pool.read_block(next(pool.strips())).features[0]
    np.testing.assert_array_equal(features, [[1, 2], [np.nan, np.nan], [3, np.nan]])


def test_many_batches_in_one_row_group_keep_their_places(tmp_path):
    rows = 150_000
    pool = Pool.open(written(tmp_path, id=np.arange(rows), pred=np.arange(rows) % 3))
    starts = [(block.start, block.ids[0]) for block in map(pool.read_block, pool.strips())]
    assert starts == [(0, "0"), (65536, "65536"), (131072, "131072")]


def test_a_stray_value_among_probabilities_does_not_turn_them_into_predicted_values(tmp_path):
    scores = [row / 200 for row in range(200)]
    stray = [*scores[:50], 1.5, *scores[51:]]
    with pytest.raises(
        PoolError, match="'score' is 1.5 in row 50 of .* the only one of 200"
    ) as caught:
        Pool.open(written(tmp_path, score=stray))
    assert '`task="regression"`' in caught.value.hint
    path = written(tmp_path, score=stray)
    assert Pool.open(path, task="regression").schema.kind == "pred"
    # Missing values are neither, and of a hundred values one is the most.
    with pytest.raises(PoolError, match="one of 2 of 200 values outside 0 to 1"):
        Pool.open(written(tmp_path, score=[-3.0, *scores[2:100], None, *scores[100:], 7.0]))
    assert Pool.open(written(tmp_path, score=[*scores[:97], 2.0, 3.0])).schema.kind == "pred"
    assert Pool.open(written(tmp_path, score=[10 * each for each in scores])).schema.kind == "pred"


def test_one_number_a_row_in_prob_is_read_as_the_hint_says(tmp_path):
    path = written(tmp_path, prob=[0.25, 0.75])
    with pytest.raises(PoolError, match="column 'prob' is double") as caught:
        Pool.open(path)
    assert '`outputs="prob", task="classification"`' in caught.value.hint
    schema = Pool.open(path, outputs="prob", task="classification", classes=["ham", "spam"]).schema
    assert (schema.kind, schema.outputs, schema.positive) == ("score", ("prob",), "spam")


def test_classes_that_unicode_calls_equal_are_one_class(tmp_path):
    composed, parts = "caf\u00e9", "cafe\u0301"
    pred = [composed, parts, "tea", f" {parts} "]
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"id": list("abcd"), "pred": pred}), path)
    pool = Pool.open(path)
    assert pool.schema.classes == (composed, "tea")
    block = pool.read_block(next(pool.strips()))
    assert block.checked.outputs.pred.tolist() == [0, 0, 1, 0]
    # Also where the classes are named in the other form.
    pool = Pool.open(path, classes=["tea", parts])
    block = pool.read_block(next(pool.strips()))
    assert block.checked.outputs.pred.tolist() == [1, 1, 0, 1]
    with pytest.raises(ChoiceError, match="names a class twice"):
        Pool.open(path, classes=["tea", parts, composed])
