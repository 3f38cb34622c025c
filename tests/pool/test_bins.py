"""Attributes that are numbers: which are cut into bins, where, and what the bins are called."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolError
from activetest.pool.groups import assign_bins, compute_bins, name_number_bins
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema
from tests.makers import build_table

ROWS = 60


@pytest.fixture
def columns():
    rng = np.random.default_rng(1)
    return {
        "id": [f"item-{row}" for row in range(ROWS)],
        "score": rng.random(ROWS),
        "age": rng.permutation(np.arange(ROWS) + 17),
        "children": np.arange(ROWS) % 4,
        "height": rng.normal(size=ROWS),
        "sex": rng.choice(["F", "M"], ROWS),
        "member": rng.random(ROWS) < 0.5,
    }


def test_numbers_with_many_values_are_cut_into_five_bins_of_equal_counts(tmp_path, columns):
    pool = build_table(tmp_path, columns, attributes=("age", "children", "sex", "member"))
    assert pool.roles["attributes"] == ["age", "children", "sex", "member"]
    assert pool.group_names == ("age", "children", "sex", "member")
    assert pool.group_values[1:] == [["0", "1", "2", "3"], ["F", "M"], ["False", "True"]]
    codes = pool.rows(0, ROWS).codes[:, 0]
    assert np.bincount(codes).tolist() == [12] * 5
    # 17 to 28 are the first twelve: an edge belongs to the bin below it.
    assert pool.group_values[0][:2] == ["17-28", "28-40"]
    assert (codes == (columns["age"] - 17) // 12).all()


def test_brackets_say_how_many_bins(tmp_path, columns):
    pool = build_table(tmp_path, columns, attributes=("age[3]", "children[2]"))
    assert pool.roles["attributes"] == ["age", "children"]
    assert [len(values) for values in pool.group_values] == [3, 2]


def test_bins_stay_in_the_order_of_their_numbers(tmp_path, columns):
    columns["age"] = columns["age"] * 10
    pool = build_table(tmp_path, columns, attributes=("age[4]",))
    starts = [int(name.split("-")[0]) for name in pool.group_values[0]]
    assert starts == sorted(starts)
    assert starts[0] == 170


def test_a_value_that_is_missing_is_a_value_of_its_own(tmp_path, columns):
    columns["height"][:3] = np.nan
    ages = pa.array([None, *columns["age"][1:].tolist()])
    pool = build_table(tmp_path, {**columns, "age": ages}, attributes=("height", "age"))
    assert [values[-1] for values in pool.group_values] == ["null", "null"]
    assert pool.rows(0, 3).codes[:, 0].tolist() == [5, 5, 5]


def test_known_edges_are_used_again_and_hold_what_lies_beyond(tmp_path, columns):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table(columns), path)
    pool = Pool.open(path, attributes=("age", "height"), bins={"age": (20.0, 30.0, 40.0)})
    assert pool.schema.bins == {"age": (20.0, 30.0, 40.0)}
    codes, names = assign_bins(np.array([1.0, 30.0, 31.0, 99.0]), np.array([20.0, 30.0, 40.0]))
    assert [names[code] for code in codes] == ["20-30", "20-30", "30-40", "30-40"]


def test_the_schema_comes_back_from_what_study_toml_keeps(tmp_path, columns):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table(columns), path)
    schema = Pool.open(path, attributes=("age[4]", "sex")).schema
    assert Schema.from_dict(schema.to_dict()) == schema
    assert not {"attributes", "binned", "edges"} & set(Pool.open(path).schema.to_dict())
    with pytest.raises(ChoiceError, match="do not fit"):
        Schema.from_dict(schema.to_dict() | {"binned": []})
    with pytest.raises(ChoiceError, match="edges is"):
        Schema.from_dict(schema.to_dict() | {"edges": [[2, 1, 3]]})


def test_an_attribute_may_be_a_feature_and_a_group_may_not(tmp_path, columns):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table(columns), path)
    assert "age" in Pool.open(path, attributes=("age",)).schema.features
    assert "age" not in Pool.open(path, groups=("age",)).schema.features
    assert "sex" not in Pool.open(path, attributes=("sex",)).schema.ignored


@pytest.mark.parametrize(
    ("attribute", "error", "says"),
    [
        ("sex[4]", ChoiceError, "holds no numbers"),
        ("member[2]", ChoiceError, "holds no numbers"),
        ("age[1]", ChoiceError, "asks for 1 bins"),
        ("age[10000]", ChoiceError, "asks for 10000 bins"),
        ("agee", PoolError, "no column 'agee'"),
        ("age*sex", ChoiceError, "is a product"),
    ],
)
def test_attributes_that_cannot_be(tmp_path, columns, attribute, error, says):
    path = tmp_path / "pool.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(error, match=says):
        Pool.open(path, attributes=(attribute,))


def test_a_column_whose_name_has_brackets_is_that_column(tmp_path, columns):
    columns["age[4]"] = columns["children"]
    pool = build_table(tmp_path, columns, attributes=("age[4]",))
    assert pool.group_values == [["0", "1", "2", "3"]]


@pytest.mark.parametrize(
    ("edges", "names"),
    [
        ([17, 28, 90], ["17-28", "28-90"]),
        ([-1.5, 0, 2], ["-1.5 to 0", "0 to 2"]),
        ([0.123456, 0.123457, 1], ["0.123456-0.123457", "0.123457-1"]),
        ([1e-9, 2e20], ["1e-09-2e+20"]),
    ],
)
def test_names_of_bins_tell_their_edges_apart(edges, names):
    found = name_number_bins(np.array(edges, float))
    assert [name.replace("1e-09 to 2e+20", "1e-09-2e+20") for name in found] == names


@pytest.mark.parametrize(
    ("values", "edges", "names"),
    [
        ([0] * 8 + [2, 3], [0, 0, 3], ["0", "0-3"]),
        ([0] * 5 + [1, 2, 3, 4, 5], [0, 0, 1, 3, 5], ["0", "0-1", "1-3", "3-5"]),
        ([0, 1] + [2] * 8, [0, 1, 2], ["0-1", "1-2"]),
        ([0] + [2] * 9, [0, 0, 2], ["0", "0-2"]),
    ],
)
def test_equal_values_stay_together(values, edges, names):
    found = compute_bins(np.array(values, float), 5)
    assert found.tolist() == edges
    codes, named = assign_bins(np.array(values, float), found)
    assert named[:-1] == names
    assert (np.bincount(codes, minlength=len(names)) > 0).all()


def test_values_that_differ_by_rounding_alone_are_in_one_bin():
    values = np.repeat([0.1, 0.4, 0.7, 1.3, 2.9], [7, 5, 9, 4, 5])
    edges = compute_bins(values, 3)
    codes, names = assign_bins(values, edges)
    for seed in range(5):
        moved = values * (1 + 1e-12 * np.random.default_rng(seed).uniform(-1, 1, len(values)))
        found, named = assign_bins(moved, compute_bins(moved, 3))
        assert found.tolist() == codes.tolist() and named == names
