"""Outputs of other models belong to their items, however they were written down."""

import re
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import cache
from activetest.cache.auxiliary import attach_auxiliary
from activetest.errors import ActivetestError, PoolError
from activetest.pool.pool import Pool

NAN = float("nan")
ROWS = 200
IDS = [f"item-{row}" for row in range(ROWS)]
CLASSES = ("cat", "dog", "not_dog")
PROBS = np.random.default_rng(1).dirichlet([1, 1, 1], (ROWS, 2)).astype(np.float32)
LISTS = {f"surrogate_prob_{k}": list(PROBS[:, k]) for k in (0, 1)}
APART = {
    f"surrogate_prob_{k}_{name}": PROBS[:, k, code]
    for code, name in enumerate(CLASSES)
    for k in (0, 1)
}


def write(path, columns: dict) -> str:
    pq.write_table(pa.table(columns), path, row_group_size=64)
    return str(path)


def pool(folder, **more) -> Pool:
    """Items of three classes."""
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], ROWS)
    columns = {"id": IDS} | {f"prob_{name}": probs[:, code] for code, name in enumerate(CLASSES)}
    return Pool.open(write(folder / "pool.parquet", columns | more))


def seen(folder, pool_of_items: Pool, columns: dict | None = None, name: str = "judges.parquet"):
    """(N, E, C) or (N, E) what the cache holds after a file with these columns."""
    file = None if columns is None else write(folder / name, columns)
    built_cache = attach_auxiliary(
        cache.build_cache(pool_of_items, folder / "cache"),
        pool_of_items,
        ("external",),
        other_models=file,
    )
    return built_cache.rows(0, built_cache.size).external, built_cache


def shuffled(columns: dict, order) -> dict:
    return {name: [values[row] for row in order] for name, values in columns.items()}


def test_ids_that_unicode_calls_equal_are_those_of_one_item(tmp_path):
    source = pool(tmp_path, id=[f"é{row}" for row in range(ROWS)])
    other = [unicodedata.normalize("NFD", f"é{row}") for row in range(ROWS)]
    found, _ = seen(tmp_path, source, {"id": other} | LISTS)
    np.testing.assert_allclose(found, PROBS, atol=1e-6)


@pytest.mark.parametrize("columns", [LISTS, APART], ids=["lists", "a column per class"])
def test_they_stand_beside_their_items_whatever_the_order_of_the_file(tmp_path, columns):
    source = pool(tmp_path)
    in_order, _ = seen(tmp_path, source, {"id": IDS} | columns)
    np.testing.assert_allclose(in_order, PROBS, atol=1e-6)
    order = np.random.default_rng(3).permutation(ROWS)
    mixed, built_cache = seen(tmp_path, source, shuffled({"id": IDS} | columns, order))
    np.testing.assert_array_equal(mixed, in_order)
    np.testing.assert_array_equal(built_cache.take([9, 4]).external, in_order[[9, 4]])
    np.testing.assert_array_equal(built_cache.rows(0, 9)[[1]].external, in_order[[1]])


def test_the_order_of_the_rows_does_not_change_the_fingerprint_but_a_number_does(tmp_path):
    source, columns = pool(tmp_path), {"id": IDS} | LISTS
    _, built_cache = seen(tmp_path, source, columns)
    _, mixed = seen(tmp_path, source, shuffled(columns, range(ROWS)[::-1]))
    assert mixed.part_fingerprint("external") == built_cache.part_fingerprint("external")
    changed = columns | {"surrogate_prob_1": [PROBS[1, 1], *PROBS[1:, 1]]}
    assert seen(tmp_path, source, changed)[1].part_fingerprint(
        "external"
    ) != built_cache.part_fingerprint("external")


def test_columns_of_the_pool_itself_are_no_features_and_no_outputs(tmp_path):
    source = pool(tmp_path, **LISTS, surrogate_pred_7=np.arange(ROWS), x=np.arange(ROWS))
    assert source.schema.features == ("x",)
    assert source.schema.outputs == ("prob_cat", "prob_dog", "prob_not_dog")
    assert any("outputs of other models" in notice for notice in source.notices)
    np.testing.assert_allclose(seen(tmp_path, source)[0], PROBS, atol=1e-6)


def test_classes_without_probabilities_are_votes(tmp_path):
    """A class that the pool does not have is a vote for none of its classes."""
    votes = np.random.default_rng(4).choice([*CLASSES, "owl"], (2, ROWS))
    columns = {f"surrogate_pred_{k}": votes[k] for k in (0, 1)}
    spread = (votes.T[..., None] == np.array(CLASSES)).astype(np.float32)
    found, built_cache = seen(tmp_path, pool(tmp_path), {"id": IDS} | columns)
    np.testing.assert_array_equal(found, spread)
    np.testing.assert_array_equal(built_cache.take([9, 4]).external, spread[[9, 4]])
    assert built_cache.rows(0, 9)[[1]].external.shape == (1, 2, 3)


def test_columns_that_the_user_names_are_votes_beside_probabilities(tmp_path):
    votes = np.random.default_rng(4).choice(CLASSES, ROWS)
    columns = {"id": IDS, "prob": list(PROBS[:, 0]), "net": votes, "x": np.arange(ROWS)}
    columns |= {"surrogate_prob_0": list(PROBS[:, 1])}
    file = write(tmp_path / "named.parquet", columns)
    source = Pool.open(file, classes=CLASSES, other_columns=["net"])
    assert source.schema.features == ("x",) and source.schema.others == ("net",)
    found, _ = seen(tmp_path, source)
    np.testing.assert_allclose(found[:, 1], PROBS[:, 1], atol=1e-6)
    np.testing.assert_array_equal(found[:, 0], votes[:, None] == np.array(CLASSES))


def test_values_in_columns_that_the_user_names_are_what_other_models_predict(tmp_path):
    values = np.linspace(0, 5, ROWS)
    file = write(tmp_path / "named.parquet", {"pred": values, "other": values**2, "x": values})
    found, _ = seen(tmp_path, Pool.open(file, other_columns="other"))
    np.testing.assert_allclose(found[:, 0], values**2, rtol=1e-6)


@pytest.mark.parametrize("name", ["id", "prob_cat", "gone", "many"])
def test_a_column_with_another_role_is_no_other_model(tmp_path, name):
    columns = {"many": [[1.0, 2.0]] * ROWS}
    file = pool(tmp_path, **columns).uri
    with pytest.raises(ActivetestError, match="role|no column|is list"):
        Pool.open(file, other_columns=[name])
    with pytest.raises(ActivetestError, match="role|no column|is list"):
        Pool.open(file, other_columns=[name], features=[name])


def test_a_file_wins_over_columns_of_the_pool(tmp_path):
    source = pool(tmp_path, **LISTS)
    found, _ = seen(tmp_path, source, {"id": IDS, "surrogate_prob_judge": list(PROBS[:, 1])})
    np.testing.assert_allclose(found, PROBS[:, 1:], atol=1e-6)


def test_a_score_is_the_probability_of_the_positive_class(tmp_path):
    scores = np.linspace(0, 1, ROWS).astype(np.float32)
    file = write(tmp_path / "pool.parquet", {"id": IDS, "score": scores})
    source = Pool.open(file, classes=("no", "yes"), positive="no")
    columns = {"id": IDS, "surrogate_prob_a": scores, "surrogate_prob_b_no": scores[::-1]}
    columns |= {"surrogate_prob_c_no": scores, "surrogate_prob_c_yes": 1 - scores}
    found, _ = seen(tmp_path, source, columns)
    np.testing.assert_allclose(found[:, :, 0].T, [scores, scores[::-1], scores], atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=2), 1, atol=1e-6)


def test_other_models_of_values_say_values(tmp_path):
    values = np.linspace(0, 2, ROWS)
    source = Pool.open(write(tmp_path / "pool.parquet", {"id": IDS, "pred": values}))
    columns = {"id": IDS, "surrogate_pred_a": values**2, "surrogate_pred_b": np.arange(ROWS)}
    found, _ = seen(tmp_path, source, columns)
    np.testing.assert_allclose(found, np.column_stack([values**2, np.arange(ROWS)]), rtol=1e-6)


@pytest.mark.parametrize("place", ["a file", "the pool", "named columns"])
def test_values_written_as_text_are_read_as_those_of_the_pool(tmp_path, place):
    values = 1000 + np.arange(ROWS) / 4
    texts = [f"${each:,.2f}" for each in values]
    columns = {"id": IDS, "pred": texts}
    name = "other" if place == "named columns" else "surrogate_pred_a"
    settings = {"other_columns": "other"} if place == "named columns" else {}
    more = {name: [f"${2 * each:,.2f}" for each in values]}
    if place == "a file":
        source = Pool.open(write(tmp_path / "pool.parquet", columns))
        found, _ = seen(tmp_path, source, {"id": IDS} | more)
    else:
        source = Pool.open(write(tmp_path / "pool.parquet", columns | more), **settings)
        built_cache = cache.build_cache(source, tmp_path / "cache")
        found = attach_auxiliary(built_cache, source, ("external",)).rows(0, ROWS).external
    np.testing.assert_allclose(found[:, 0], 2 * values, rtol=1e-6)


def test_probabilities_of_other_models_may_be_percentages(tmp_path):
    texts = {
        f"surrogate_prob_m_{name}": [f"{100 * each:.2f} %" for each in PROBS[:, 0, code]]
        for code, name in enumerate(CLASSES)
    }
    built, _ = seen(tmp_path, pool(tmp_path), {"id": IDS} | texts)
    np.testing.assert_allclose(built[:, 0], PROBS[:, 0], atol=1e-4)


def test_ids_of_a_csv_stay_text(tmp_path):
    source = Pool.open(
        write(tmp_path / "pool.parquet", {"key": ["007", "7"], "pred": ["a", "b"]}), id="key"
    )
    file = tmp_path / "judges.csv"
    file.write_text("key,surrogate_prob_m_a,surrogate_prob_m_b\n7,1,0\n007,0,1\n")
    built_cache = cache.build_cache(source, tmp_path / "cache")
    found = (
        attach_auxiliary(built_cache, source, ("external",), other_models=str(file))
        .rows(0, 2)
        .external
    )
    np.testing.assert_array_equal(found[:, 0], [[0, 1], [1, 0]])


def test_without_ids_rows_go_by_their_number(tmp_path):
    source = Pool.open(write(tmp_path / "pool.parquet", {"prob": list(PROBS[:, 0])}))
    rest = {"surrogate_prob_0": list(PROBS[:, 1])}
    np.testing.assert_array_equal(seen(tmp_path, source, rest)[0][:, 0], PROBS[:, 1])
    with pytest.raises(PoolError, match="150 rows, the pool has 200, and there are no ids"):
        seen(tmp_path, source, {"surrogate_prob_0": list(PROBS[:150, 1])})


def test_sums_are_normalised_as_in_the_pool_and_unmatched_ids_left_alone(tmp_path):
    probs = PROBS[:, 0].astype(float)
    probs[3] *= 1.0005
    columns = {"id": [*IDS, "stranger"], "surrogate_prob_0": [*probs, [1.0, 0, 0]]}
    found, built_cache = seen(tmp_path, pool(tmp_path), columns)
    np.testing.assert_allclose(found[3, 0], PROBS[3, 0], rtol=1e-5)
    assert "renormalised 1 rows of probabilities of other models" in built_cache.notices
    assert (
        built_cache.notices[-1].startswith("1 rows of ")
        and "no item of the pool" in built_cache.notices[-1]
    )


def with_row(row: int, value) -> dict:
    return {"id": IDS, "surrogate_prob_0": [*PROBS[:row, 0].tolist(), value, *PROBS[row + 1 :, 0]]}


FIRST = {"surrogate_prob_0": list(PROBS[:, 0])}
BAD = {
    "no ids": (FIRST, "judges.parquet has no column 'id'; its columns are surrogate_prob_0"),
    "an item missing": (
        shuffled({"id": IDS} | FIRST, [0, 1, *range(4, ROWS)]),
        "no row for 2 of the pool's 200 items, id 'item-2' first",
    ),
    "an item twice": (
        shuffled({"id": IDS} | FIRST, [*range(ROWS), 5]),
        "has 2 rows with id 'item-5'",
    ),
    "null id": ({"id": [None, *IDS[1:]]} | FIRST, "row 0 of .*judges.*'id' is null"),
    "no columns": ({"id": IDS, "prob": list(PROBS[:, 0])}, "no column surrogate_prob_[*]; its"),
    "values for classes": (
        {"id": IDS, "surrogate_pred_0": np.ones(ROWS)},
        "none of the pool's classes",
    ),
    "text": ({"id": IDS, "surrogate_prob_0": IDS}, "'surrogate_prob_0' of .* is string"),
    "one number": ({"id": IDS, "surrogate_prob_0": np.ones(ROWS)}, "'surrogate_prob_0' .* no list"),
    "a class missing": (
        {"id": IDS} | {name: APART[name] for name in APART if name != "surrogate_prob_1_dog"},
        "and no column 'surrogate_prob_1_dog'",
    ),
    "other width": (
        {"id": IDS, "surrogate_prob_0": pa.array([[0.5, 0.5]] * ROWS, pa.list_(pa.float32(), 2))},
        "holds lists of 2, and the pool has 3 classes",
    ),
    "ragged": (with_row(5, [0.5, 0.5]), "row 5 of .*, id 'item-5': .* a list of 2 numbers"),
    "null": (with_row(5, None), "row 5 of .*'surrogate_prob_0' is null"),
    "nan": (with_row(70, [NAN, 0.5, 0.5]), "row 70 of .*, id 'item-70': .*NaN"),
    "negative": (with_row(5, [-0.5, 0.5, 1.0]), "row 5 .*-0.5 for class 'cat'"),
    "sum": (with_row(5, [0.5, 0.5, 0.5]), "row 5 .*sum to 1.5"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_what_models_say_is_a_named_error_and_leaves_nothing(tmp_path, name):
    columns, problem = BAD[name]
    with pytest.raises(PoolError) as caught:
        seen(tmp_path, pool(tmp_path), columns)
    assert re.search(problem, caught.value.problem), caught.value.problem
    assert caught.value.hint
    assert not list((tmp_path / "cache").glob("*external*"))


def test_members_of_a_column_per_class_are_named_in_errors(tmp_path):
    columns = {"id": IDS} | APART | {"surrogate_prob_1_cat": np.full(ROWS, 2.0)}
    with pytest.raises(PoolError, match="row 0 of .*the probabilities in 'surrogate_prob_1_[*]' "):
        seen(tmp_path, pool(tmp_path), columns)
