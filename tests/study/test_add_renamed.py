"""A file of outputs whose columns are called otherwise than those of the study's first model."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import PoolError
from activetest.study.study import Study
from tests.makers import write_pool


@pytest.fixture
def study(folder) -> Study:
    """Of a pool with the probabilities of a model v1."""
    table = pq.read_table(write_pool(folder / "own.parquet", 40))
    names = [name.replace("prob_", "prob_v1_") for name in table.column_names]
    pq.write_table(table.rename_columns(names), "pool.parquet")
    return Study.create("pool.parquet", seed=1, models={"v1": "prob_v1_*"})


def test_probabilities_are_known_by_their_classes(study, folder):
    outputs = pq.read_table("own.parquet").select(["prob_owl", "id", "prob_cat", "prob_dog"])
    pq.write_table(outputs, "same.parquet")
    added = study.add("v2", "same.parquet")
    assert added.notices == ("its outputs are those of v1: both models are the same",)


@pytest.mark.parametrize("left", [["id", "prob_cat", "prob_dog"], ["id", "pred"]])
def test_outputs_of_other_classes_or_another_kind_are_refused(study, folder, left):
    table = pq.read_table("own.parquet").append_column("pred", pa.array(["cat"] * 40))
    pq.write_table(table.select(left), "other.parquet")
    with pytest.raises(PoolError, match="no column 'prob_v1_") as error:
        study.add("v2", "other.parquet")
    assert "that the first model has: id, prob_v1_cat" in error.value.hint


def test_predictions_stand_for_predictions(folder):
    table = pa.table({"id": range(30), "pred_v1": ["yes", "no"] * 15})
    pq.write_table(table, "pool.parquet")
    pq.write_table(pa.table({"id": range(30), "pred": ["yes", "no"] * 15}), "same.parquet")
    study = Study.create("pool.parquet", seed=1, models={"v1": "pred_v1", "v2": "same.parquet"})
    assert "v2: its outputs are those of v1: both models are the same" in study.setup.notices
