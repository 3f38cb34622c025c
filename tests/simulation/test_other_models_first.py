"""A simulation of a pool without outputs has those of the first of its models."""

import pyarrow.parquet as pq
import pytest

import activetest
from activetest.errors import ChoiceError, PoolError
from tests.makers import write_pool

FEW = {"question": "best", "runs": 2, "budgets": 10, "seed": 1, "workers": 1}
FEW |= {"acquisition": "uniform"}


@pytest.fixture
def key(folder) -> dict[str, str]:
    """The answer key of a pool of 40 items, which stands with and without its outputs."""
    for seed, name in enumerate(("own", "v2")):
        write_pool(folder / f"{name}.parquet", 40, seed=seed)
    own = pq.read_table("own.parquet")
    outputs = [name for name in own.column_names if name.startswith("prob_")]
    pq.write_table(own.drop_columns(outputs), "pool.parquet")
    pq.write_table(own.select(["id", *outputs])[::-1], "v1.parquet")
    return dict.fromkeys(own["id"].to_pylist(), "cat")


@pytest.mark.parametrize("form", ["file", "frame"])
def test_numbers_are_those_of_a_pool_with_these_outputs(key, form):
    expected = activetest.simulate("own.parquet", key, models={"v2": "v2.parquet"}, **FEW)
    pool = "pool.parquet" if form == "file" else pq.read_table("pool.parquet").to_pandas()
    models = {"v1": "v1.parquet", "v2": "v2.parquet"}
    found = activetest.simulate(pool, key, models=models, **FEW)
    assert found.answers == expected.answers and found.answers
    models = {"v1": "v1.parquet", "model": "v2.parquet"}
    assert activetest.simulate(pool, key, models=models, **FEW).answers == expected.answers


def test_settings_of_outputs_are_those_of_the_first_model(key):
    names = {"prob_cat": "p1", "prob_dog": "p2", "prob_owl": "p3"}
    for name in ("v1", "v2", "own"):
        table = pq.read_table(f"{name}.parquet")
        renamed = [names.get(each, each) for each in table.column_names]
        pq.write_table(table.rename_columns(renamed), f"{name}.parquet")
    settings = FEW | {"outputs": [*names.values()], "classes": ["cat", "dog", "owl"]}
    expected = activetest.simulate("own.parquet", key, models={"v2": "v2.parquet"}, **settings)
    models = {"v1": "v1.parquet", "v2": "v2.parquet"}
    found = activetest.simulate("pool.parquet", key, models=models, **settings)
    assert found.answers == expected.answers


def test_outputs_that_lack_an_item_and_a_name_that_is_taken_are_refused(key):
    pq.write_table(pq.read_table("v1.parquet")[1:], "short.parquet")
    models = {"v1": "short.parquet", "v2": "v2.parquet"}
    with pytest.raises(PoolError, match="lacks 1 item"):
        activetest.simulate("pool.parquet", key, models=models, **FEW)
    models = {"v1": "v1.parquet", "V1": "v2.parquet"}
    with pytest.raises(ChoiceError, match="'V1'"):
        activetest.simulate("pool.parquet", key, models=models, **FEW)
    with pytest.raises(ChoiceError, match="'model'"):
        activetest.simulate("own.parquet", key, models={"model": "v2.parquet"}, **FEW)
