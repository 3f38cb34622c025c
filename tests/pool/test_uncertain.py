"""Columns of probabilities of attributes, and known values beside them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache.cache import build_cache
from activetest.errors import ChoiceError, PoolChanged, PoolError
from activetest.pool.pool import Pool
from activetest.pool.schema import Schema

ROWS = 6
RACE = {"a": [0.5, 0.2, 0.1, 0.3, 0.0, 1.0], "b": [0.5, 0.8, 0.9, 0.7, 1.0, 0.0]}
COLUMNS = {
    "prob_x": [0.9, 0.8, 0.7, 0.6, 0.2, 0.1],
    "prob_y": [0.1, 0.2, 0.3, 0.4, 0.8, 0.9],
    "sex": ["F", "M", "F", "M", "F", "M"],
    "race": ["a", None, "", "b", None, None],
    **{f"attr_prob_race_{value}": probs for value, probs in RACE.items()},
    "attr_prob_age": [[0.2, 0.3, 0.5]] * 5 + [[0.8, 0.1, 0.1]],
    "height": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
}


def open_pool(folder: Path, attributes: list[str], **changes: list) -> Pool:
    """A pool of these columns."""
    file = folder / "pool.parquet"
    table = {name: values for name, values in (COLUMNS | changes).items() if values}
    pq.write_table(pa.table(table), file)
    return Pool.open(file, attributes=attributes, suggest=False)


def test_values_and_probabilities_are_read_and_known_values_are_kept(tmp_path):
    pool = open_pool(tmp_path, ["sex", "race", "age"])
    schema = pool.schema
    assert schema.uncertain == ("race", "age") and schema.gold == ("race",)
    assert schema.uncertain_values == (("a", "b"), ("0", "1", "2"))
    assert schema.features == ("height",) and not schema.ignored
    assert Schema.from_dict(schema.to_dict()) == schema
    assert any("race has probabilities of a, b" in notice for notice in pool.notices)
    cache = build_cache(pool, tmp_path / "cache")
    probs, known = cache.uncertain_attributes()
    np.testing.assert_allclose(probs[:, :2], np.array([RACE["a"], RACE["b"]]).T)
    np.testing.assert_allclose(probs[:, 2:], COLUMNS["attr_prob_age"])
    assert known.T.tolist() == [[0, -1, -1, 1, -1, -1], [-1] * 6]
    # As a group, an item has its known value, or the most probable one.
    assert cache.group_values == [["F", "M"], ["a", "b"], ["0", "1", "2"]]
    assert cache.rows(0, ROWS).codes.T.tolist()[1:] == [[0, 1, 1, 1, 1, 0], [2, 2, 2, 2, 2, 0]]


def test_an_attribute_without_probabilities_is_known_as_before(tmp_path):
    schema = open_pool(tmp_path, ["sex"]).schema
    assert "uncertain" not in schema.to_dict() and not schema.uncertain
    assert {"attr_prob_age", "attr_prob_race_a"} <= {*schema.ignored}


def test_a_column_belongs_to_the_attribute_with_the_longest_name(tmp_path):
    columns = {f"attr_prob_race_band_{value}": RACE[value] for value in "ab"}
    pool = open_pool(tmp_path, ["race", "race_band"], **columns)
    assert pool.schema.uncertain_columns == (
        ("attr_prob_race_a", "attr_prob_race_b"),
        ("attr_prob_race_band_a", "attr_prob_race_band_b"),
    )
    alone = Pool.open(tmp_path / "pool.parquet", attributes=["race"], suggest=False)
    assert "band_a" in alone.schema.uncertain_values[0]


def test_the_label_is_an_attribute_that_follows_from_the_outputs(tmp_path):
    pool = open_pool(tmp_path, ["label", "race"])
    assert pool.schema.computed == ("label",) and pool.schema.uncertain == ("race",)
    cache = build_cache(pool, tmp_path / "cache")
    assert cache.group_values[0] == ["x", "y"]
    assert cache.rows(0, ROWS).codes[:, 0].tolist() == [0, 0, 0, 0, 1, 1]
    with pytest.raises(PoolError, match="no column 'label'"):
        Pool.open(tmp_path / "pool.parquet", groups=["label"])
    hard = {"prob_x": None, "prob_y": None, "pred": list("xyxyxy")}
    with pytest.raises(ChoiceError, match="the label is unknown"):
        open_pool(tmp_path, ["label"], **hard)


def test_one_probability_alone_is_no_distribution(tmp_path):
    with pytest.raises(PoolError, match="'race' has the probability of 1 value"):
        open_pool(tmp_path, ["race"], attr_prob_race_b=None)


def test_a_list_beside_columns_is_refused(tmp_path):
    with pytest.raises(PoolError, match="probabilities in 'attr_prob_race' and in"):
        open_pool(tmp_path, ["race"], attr_prob_race=[[0.5, 0.5]] * 6)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"attr_prob_race_a": [0.5, 0.2, 0.1, 0.3, 0.5, 1.0]}, r"'attr_prob_race_\*' sum to 1.5"),
        ({"attr_prob_race_b": [0.5, 0.8, 0.9, None, 1.0, 0.0]}, "'attr_prob_race_b' holds NaN"),
        ({"race": ["a", "c", None, None, None, None]}, "'race' is 'c', and it has probabilities"),
        ({"attr_prob_age": [[0.5, 0.5]] * 3 + [[1.0]] * 3}, "has a list of 1 numbers where"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_row(tmp_path, changes, problem):
    pool = open_pool(tmp_path, ["race", "age"], **changes)
    with pytest.raises(PoolError, match=f"row . of .*{problem}"):
        build_cache(pool, tmp_path / "cache")


def test_an_attribute_with_probabilities_is_not_cut_into_bins(tmp_path):
    ages = [float(age) for age in range(6)]
    with pytest.raises(ChoiceError, match="is not cut into bins"):
        open_pool(tmp_path, ["age[2]"], age=ages)


def test_a_pool_whose_probabilities_are_gone_is_another(tmp_path):
    schema = open_pool(tmp_path, ["race"]).schema
    changed = open_pool(tmp_path, ["sex"], attr_prob_race_a=None, attr_prob_race_b=None)
    with pytest.raises(PoolChanged, match="attr_prob_race"):
        Pool(changed.uri, schema).check()
