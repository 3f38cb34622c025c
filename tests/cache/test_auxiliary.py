"""Inputs of some surrogates besides the cache: in the pool's units, and whole or not there."""

import json
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import cache
from activetest.cache.auxiliary import attach_auxiliary
from activetest.errors import ActivetestError, ChoiceError, PoolError
from activetest.pool.pool import Pool

NAN, INF = float("nan"), float("inf")
IDS = [f"item-{row}" for row in range(7)]
FEATURES = np.array([1.0, 2, 4, 8, 16, NAN, INF])
PAIRS = np.arange(14, dtype=np.float32).reshape(7, 2)
CLASSES = ("cat", "dog", "not_dog")
LEARNERS, JUDGES = ("forest",), ("external",)


def write(path, **columns) -> str:
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return str(path)


def pool(folder, **more) -> Pool:
    """Seven items of three classes with a number, a pair and a constant as features."""
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], 7)
    columns = {"id": IDS} | {f"prob_{name}": probs[:, code] for code, name in enumerate(CLASSES)}
    columns |= {"x": FEATURES, "pair": list(PAIRS), "same": np.full(7, 3.0)} | more
    return Pool.open(write(folder / "pool.parquet", **columns))


def other(folder, **columns) -> Pool:
    return Pool.open(write(folder / "pool.parquet", **columns))


def train(folder, **changes) -> str:
    """Four rows to learn from."""
    columns = {"x": [2.0, NAN, 4, 8], "pair": [[0.0, 1], [2, 3], [4, 5], [6, 7]]}
    columns |= {"same": [3.0, 3, 5, 3], "label": ["dog", "cat", "not_dog", "dog"]} | changes
    kept = {name: values for name, values in columns.items() if values is not None}
    return write(folder / "train.parquet", **kept)


def judged(folder, order=range(7), **changes) -> str:
    """Outputs of two models for the items, in this order."""
    probs = np.random.default_rng(1).dirichlet([1, 1, 1], (2, 7))[:, list(order)]
    columns = {"id": [IDS[row] for row in order]}
    columns |= {f"surrogate_prob_{k}": list(probs[k]) for k in (0, 1)} | changes
    return write(folder / "judged.parquet", **columns)


def build_with(pool_of_items: Pool, folder, names=(*LEARNERS, *JUDGES), **files) -> cache.Cache:
    return attach_auxiliary(
        cache.build_cache(pool_of_items, folder / "cache"), pool_of_items, names, **files
    )


def test_features_are_standardised_and_what_is_missing_or_constant_is_zero(tmp_path):
    built_cache = build_with(pool(tmp_path), tmp_path, LEARNERS)
    rows = built_cache.rows(0, 7)
    there = FEATURES[:5]
    expected = [*(there - there.mean()) / there.std(), 0, 0]
    pairs = (PAIRS - PAIRS.mean(axis=0)) / PAIRS.std(axis=0)
    np.testing.assert_allclose(rows.features, np.column_stack([expected, pairs, np.zeros(7)]), 1e-6)
    assert rows.features.dtype == np.float32 and rows.external is None and built_cache.train is None
    np.testing.assert_array_equal(built_cache.take([4, 1]).features, rows.features[[4, 1]])
    np.testing.assert_array_equal(rows[[2]].features, rows.features[[2]])


def test_large_numbers_with_small_differences_keep_them(tmp_path):
    values = 1e9 + np.random.default_rng(2).standard_normal(500)
    built_cache = build_with(other(tmp_path, pred=["a", "b"] * 250, x=values), tmp_path, LEARNERS)
    np.testing.assert_allclose(
        built_cache.rows(0, 500).features[:, 0], (values - values.mean()) / values.std(), atol=1e-5
    )


def test_training_rows_are_in_the_units_of_the_pool(tmp_path):
    built_cache = build_with(pool(tmp_path), tmp_path, LEARNERS, train=train(tmp_path))
    rows = built_cache.rows(0, 7).features
    np.testing.assert_array_equal(built_cache.train.labels, [1, 0, 2, 1])
    np.testing.assert_allclose(built_cache.train.features[:, 0], [rows[1, 0], 0, *rows[2:4, 0]])
    np.testing.assert_allclose(built_cache.train.features[:, 1:3], rows[:4, 1:3], rtol=1e-6)
    # A feature that never differs in the pool cannot tell its items apart.
    np.testing.assert_array_equal(built_cache.train.features[:, 3], np.zeros(4))


def test_gaps_in_training_rows_are_said_where_rows_are_learnt_from(tmp_path):
    gaps = {"x": [2.0, NAN, -INF, 8], "pair": [[0.0, 1], [NAN, 3], None, [6, 7]]}
    source = train(tmp_path, **gaps, label=["dog", "cat", "owl", "dog"])
    notices = build_with(pool(tmp_path), tmp_path, LEARNERS, train=source).notices[-3:]
    assert notices[0].startswith("training rows: 3 of ") and notices[1].startswith("1 more row")
    assert notices[2].startswith(
        "missing or infinite feature values of training rows (2, in x, pair)"
    )


def test_a_pool_without_features_has_none_and_nothing_to_learn_from(tmp_path):
    bare = other(tmp_path, score=[0.1, 0.9])
    assert build_with(bare, tmp_path, LEARNERS).rows(0, 2).features.shape == (2, 0)
    with pytest.raises(ChoiceError, match="no features and no texts, so nothing can be learnt"):
        build_with(bare, tmp_path, LEARNERS, train=train(tmp_path))


@pytest.mark.parametrize("name", ["y", "target", "truth"])
def test_labels_go_by_other_names_too_but_label_wins(tmp_path, name):
    changes = {name: ["cat"] * 4}
    built_cache = build_with(pool(tmp_path), tmp_path, LEARNERS, train=train(tmp_path, **changes))
    assert built_cache.train.labels.tolist() == [1, 0, 2, 1]
    built_cache = build_with(
        pool(tmp_path), tmp_path, LEARNERS, train=train(tmp_path, label=None, **changes)
    )
    assert built_cache.train.labels.tolist() == [0, 0, 0, 0]


def test_rows_of_unknown_classes_are_left_out_and_said(tmp_path):
    labels = ["dog", "owl", "cat", "owl"]
    built_cache = build_with(
        pool(tmp_path), tmp_path, LEARNERS, train=train(tmp_path, label=labels)
    )
    assert built_cache.train.labels.tolist() == [1, 0] and len(built_cache.train.features) == 2
    assert built_cache.notices[-2].startswith("training rows: 2 of ")
    assert re.match(
        "2 more rows of .*train.* are of classes that the pool", built_cache.notices[-1]
    )
    assert built_cache.notices[-1].endswith("left out: 'owl'")


def test_classes_that_hard_labels_never_predict_are_left_out_too(tmp_path):
    hard = other(tmp_path, pred=["dog", "cat"], x=[1.0, 2.0])
    built_cache = build_with(hard, tmp_path, LEARNERS, train=train(tmp_path))
    assert built_cache.train.labels.tolist() == [1, 0, 1] and len(built_cache.train.features) == 3
    assert built_cache.notices[-2].endswith("and left out: 'not_dog'")


def test_the_fingerprint_of_features_is_of_names_and_values_not_of_the_order_of_rows(tmp_path):
    columns = {"id": list("abcd"), "pred": list("xyxy"), "f": [1.0, 2, 3, NAN], "g": [4.0, 4, 5, 6]}

    def seen(**changes) -> str:
        changed = columns | changes
        kept = {name: values for name, values in changed.items() if values is not None}
        return build_with(other(tmp_path, **kept), tmp_path, LEARNERS).part_fingerprint("features")

    turned = {name: values[::-1] for name, values in columns.items()}
    assert seen() == seen() == seen(**turned)
    others = [
        seen(f=[1.0, 2, 3, 4]),
        seen(f=[2.0, 1, 3, NAN]),
        seen(f=columns["g"], g=columns["f"]),
        seen(g=None, h=columns["g"]),
        seen(g=None),
        seen(f=None, g=None, h=list(np.stack([columns["f"], columns["g"]], axis=1))),
    ]
    assert len({seen(), *others}) == 7


def test_whole_numbers_name_classes_whatever_their_type(tmp_path):
    hard = other(tmp_path, pred=[7, 8], x=[1.0, 2.0])
    built_cache = build_with(
        hard, tmp_path, LEARNERS, train=train(tmp_path, label=[7.0, 8.0, 8.0, 7.0])
    )
    assert built_cache.train.labels.tolist() == [0, 1, 1, 0]


def test_values_are_learnt_as_they_are(tmp_path):
    values = other(tmp_path, pred=[0.5, 1.5], x=[1.0, 2.0])
    built_cache = build_with(values, tmp_path, LEARNERS, train=train(tmp_path, label=[1, 2, 3, 4]))
    assert built_cache.train.labels.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_csv_and_json_lines_can_be_learnt_from(tmp_path):
    values = other(tmp_path, pred=["a", "b"], x=[1.0, 3.0])
    (tmp_path / "train.csv").write_text("x,label\n1,a\n,b\n")
    (tmp_path / "train.jsonl").write_text('{"x": 1, "label": "a"}\n{"x": null, "label": "b"}\n')
    for name in ("train.csv", "train.jsonl"):
        built_cache = build_with(values, tmp_path, LEARNERS, train=str(tmp_path / name))
        assert built_cache.train.features.tolist() == [[-1.0], [0.0]]
        assert built_cache.train.labels.tolist() == [0, 1]
    assert sorted(path.name for path in tmp_path.glob("train*")) == ["train.csv", "train.jsonl"]


BAD_TRAIN = {
    "feature missing": ({"pair": None}, "train.parquet has no column 'pair', which is a feature"),
    "text feature": ({"x": list("abcd")}, "'x' of .* is string, and a number in the pool"),
    "number for a list": ({"pair": [1.0] * 4}, "'pair' of .* and a list of 2 numbers in the pool"),
    "other width": (
        {"pair": pa.array([[1.0] * 3] * 4, pa.list_(pa.float32(), 3))},
        "'pair' of .* holds lists of 3, those of the pool have 2",
    ),
    "ragged": ({"pair": [[1.0, 2]] * 3 + [[1.0]]}, "row 3 of .*train.* 'pair' has a list of 1"),
    "no label": ({"label": None}, "no column of labels; its columns are x, pair, same"),
    "null label": ({"label": ["dog", "cat", None, "dog"]}, "row 2 of .*'label' is null"),
    "nan label": ({"label": [1.0, NAN, 2, 3]}, "row 1 of .*'label' is nan"),
    "odd label": ({"label": [["dog"]] * 4}, "'label' of .* is list"),
    "no class known": ({"label": ["owl"] * 4}, "no label in .* a class of the pool: it has owl"),
    "empty": ({"x": [], "pair": [], "same": [], "label": []}, "train.parquet has no rows"),
}


@pytest.mark.parametrize("name", BAD_TRAIN)
def test_rows_that_nobody_can_learn_from_are_a_named_error_and_leave_nothing(tmp_path, name):
    changes, problem = BAD_TRAIN[name]
    with pytest.raises(PoolError) as caught:
        build_with(pool(tmp_path), tmp_path, LEARNERS, train=train(tmp_path, **changes))
    assert re.search(problem, caught.value.problem), caught.value.problem
    assert caught.value.hint
    assert not list((tmp_path / "cache").glob("*train*"))


@pytest.mark.parametrize(
    ("label", "problem"),
    [(list("abcd"), "is string"), ([1, 2, 3, INF], "row 3 .* is inf"), ([1e99] * 4, "too large")],
)
def test_labels_of_values_are_sensible_numbers(tmp_path, label, problem):
    values = other(tmp_path, pred=[0.5, 1.5], x=[1.0, 2.0])
    with pytest.raises(PoolError, match=problem):
        build_with(values, tmp_path, LEARNERS, train=train(tmp_path, label=label))


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and then nothing", b"a;b\n1;2\n"])
def test_a_file_that_is_none_is_a_named_error(tmp_path, content):
    path = tmp_path / "train.parquet"
    if content is not None:
        path.write_bytes(content)
    for names, option in ((LEARNERS, "train"), (JUDGES, "other_models")):
        with pytest.raises(PoolError, match="train.parquet") as caught:
            build_with(pool(tmp_path), tmp_path, names, **{option: str(path)})
        assert caught.value.hint


def test_nothing_wanted_is_nothing_read(tmp_path):
    built_cache = cache.build_cache(pool(tmp_path), tmp_path / "cache")
    assert (
        attach_auxiliary(
            built_cache, None, ("agreement", "model"), train="nowhere", other_models="nowhere"
        )
        is built_cache
    )
    assert (
        built_cache.rows(0, 7).features is None
        and built_cache.train is None
        and built_cache.parts == ()
    )
    assert not [path for path in built_cache.folder.iterdir() if path.is_dir()]


def test_workers_open_what_was_equipped(tmp_path):
    built_cache = build_with(
        pool(tmp_path), tmp_path, train=train(tmp_path), other_models=judged(tmp_path)
    )
    again = cache.open_cache(built_cache.folder, built_cache.parts)
    np.testing.assert_array_equal(again.rows(2, 5).features, built_cache.rows(0, 7).features[2:5])
    np.testing.assert_array_equal(again.rows(2, 5).external, built_cache.rows(0, 7).external[2:5])
    np.testing.assert_array_equal(again.train.labels, built_cache.train.labels)


def test_a_part_is_made_once_and_again_when_its_file_or_itself_has_changed(tmp_path):
    source = pool(tmp_path)
    files = {"train": train(tmp_path), "other_models": judged(tmp_path)}
    built_cache = build_with(source, tmp_path, **files)
    parts = {name: built_cache.folder / name for name in ("features", "train", "external")}

    def inodes() -> dict:
        return {name: os.stat(path).st_ino for name, path in parts.items()}

    before = inodes()
    attach_auxiliary(built_cache, source, (*LEARNERS, *JUDGES), **files)
    assert inodes() == before
    train(tmp_path, label=["cat"] * 4)
    again = attach_auxiliary(built_cache, source, (*LEARNERS, *JUDGES), **files)
    assert again.train.labels.tolist() == [0, 0, 0, 0]
    assert again.part_fingerprint("train") != built_cache.part_fingerprint("train")
    assert [name for name, found in inodes().items() if found != before[name]] == ["train"]
    rows = again.take(range(7))
    features, external = rows.features, rows.external
    (parts["features"] / "features.npy").write_bytes(b"torn")
    (parts["external"] / "manifest.json").write_text(json.dumps({"version": 0}))
    whole = attach_auxiliary(built_cache, source, (*LEARNERS, *JUDGES), **files).rows(0, 7)
    np.testing.assert_array_equal(whole.features, features)
    np.testing.assert_array_equal(whole.external, external)


def test_every_error_of_this_room_is_one_of_the_users(tmp_path):
    with pytest.raises(ActivetestError) as caught:
        build_with(pool(tmp_path), tmp_path, JUDGES)
    assert "surrogate_prob_*" in caught.value.problem and "`other_models`" in caught.value.hint
    # A stack does without.
    assert build_with(pool(tmp_path), tmp_path, ("stack",)).rows(0, 7).external is None
