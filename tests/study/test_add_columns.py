"""Models whose outputs stand in columns of the pool."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.errors import PoolError
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import write_pool

CLASSES = ("cat", "dog", "owl")


@pytest.fixture
def table(folder) -> pd.DataFrame:
    """A pool with the probabilities of two models: those of v2 are in another order."""
    table = pq.read_table(write_pool(folder / "plain.parquet", 40)).to_pandas()
    for name, column in zip(CLASSES, ("owl", "cat", "dog"), strict=True):
        table[f"prob_v2_{column}"] = table[f"prob_{name}"]
    return table


def read_preds(study: Study, name: str) -> list[int]:
    """The predicted classes of a model of a study."""
    cache = StoredStudy.open(study.folder).of_model(name).known_cache()
    return cache.rows(0, cache.size).outputs.pred.tolist()


def test_columns_of_probabilities_are_a_models_and_no_features(table):
    table.to_parquet("pool.parquet")
    study = Study.create("pool.parquet", models={"v2": "prob_v2_*"})
    schema = StoredStudy.open(study.folder).schema
    assert schema.classes == CLASSES
    assert schema.outputs == ("prob_cat", "prob_dog", "prob_owl")
    assert set(schema.features) == {"x1", "x2"}
    first, second = (read_preds(study, name) for name in ("model", "v2"))
    assert second == [{0: 2, 1: 0, 2: 1}[code] for code in first]
    assert not study.change(metric="accuracy").notices[0].startswith("prob_v2")
    assert set(StoredStudy.open(study.folder).schema.features) == {"x1", "x2"}


def test_a_column_of_classes_is_a_model_in_any_format(folder):
    rng = np.random.default_rng(0)
    preds = rng.choice(["no", "yes"], (3, 30))
    frame = pd.DataFrame({"id": np.arange(30), "pred": preds[0], "a.b": preds[1], "old": preds[2]})
    frame.to_csv("pool.csv", index=False)
    assert main(["init", "pool.csv", "--model", "new=a.b", "--model", "old=old"]) == 0
    study = Study.open()
    study.next(5)
    assert "new" in str(study.add("again", "a.b"))
    for name, line in (("model", 0), ("new", 1), ("old", 2), ("again", 1)):
        assert read_preds(study, name) == [["no", "yes"].index(each) for each in preds[line]]
    study.verify()


def test_a_file_comes_before_a_column_of_its_name(table):
    table.drop(columns=[f"prob_v2_{name}" for name in CLASSES]).to_parquet("pool.parquet")
    table[["id", *(f"prob_{name}" for name in CLASSES)]].to_parquet("x1")
    study = Study.create("pool.parquet", models={"v2": "x1"})
    assert read_preds(study, "v2") == read_preds(study, "model")
    assert "x1" in StoredStudy.open(study.folder).schema.features


@pytest.mark.parametrize("given", ["prob_v2_o*", "prob_v2_cat", "x*"])
def test_columns_that_are_not_one_for_each_class_are_refused(table, given, folder):
    table.to_parquet("pool.parquet")
    with pytest.raises(PoolError, match="one for each of cat, dog, owl"):
        Study.create("pool.parquet", models={"v2": given}, outputs=[f"prob_{c}" for c in CLASSES])
    assert not (folder / ".activetest").exists()


def test_what_is_neither_a_file_nor_a_column_is_a_missing_file(table):
    table.to_parquet("pool.parquet")
    with pytest.raises(PoolError, match="no file"):
        Study.create("pool.parquet", models={"v2": "pred_v3", "v4": "prob_v2_*"})


def test_columns_of_classes_that_the_pool_does_not_have_are_refused(folder):
    names = pa.array(["cat", "dog", "cat"])
    table = pa.table(
        {"id": ["a", "b", "c"], "pred": names, "pred_v2": pa.array(["cat", "ox", "cat"])}
    )
    pq.write_table(table, "pool.parquet")
    with pytest.raises(PoolError, match="ox"):
        Study.create("pool.parquet", models={"v2": "pred_v2"}, classes=["cat", "dog"])
