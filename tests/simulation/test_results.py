"""Results of a simulation, and what it takes in place of files."""

from dataclasses import fields

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, LabelError, PoolError
from activetest.nouns.report import SimulatedStrategy
from activetest.pool.frames import KINDS
from activetest.simulation.results import Simulation
from activetest.simulation.simulate import simulate

SIZES = {"budgets": (5, 10), "runs": 2, "workers": 1}


@pytest.fixture
def columns(folder, write_pool) -> dict:
    """The columns of a pool of 40 items, which is in pool.parquet, and labels in key.csv."""
    write_pool(folder / "pool.parquet", 40)
    columns = pq.read_table(folder / "pool.parquet").to_pydict()
    labels = np.random.default_rng(0).choice(["cat", "dog", "owl"], 40)
    lines = [f"{id},{label}" for id, label in zip(columns["id"], labels, strict=True)]
    (folder / "key.csv").write_text("\n".join(["id,label", *lines]) + "\n")
    return columns


@pytest.fixture
def played(columns) -> Simulation:
    return simulate("pool.parquet", "key.csv", **SIZES)


def test_results_are_a_sequence_of_strategies(played):
    assert isinstance(played, Simulation) and len(played) > 4
    assert all(isinstance(result, SimulatedStrategy) for result in played)
    assert played[0].budget == 5 and played[-1].budget == 10


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_frames(kind, played):
    pytest.importorskip(kind)
    frame = played.to_frame(kind)
    assert len(frame) == len(played)
    names = list(frame.column_names if kind == "pyarrow" else frame.columns)
    quartiles = ["lower_quartile", "upper_quartile"]
    expected = {field.name for field in fields(SimulatedStrategy)} - {"quartiles"} | {*quartiles}
    assert set(names) == expected
    budgets = frame["budget"].to_pylist() if kind == "pyarrow" else list(frame["budget"])
    assert budgets == [result.budget for result in played]


def test_results_are_frames_of_pandas_unless_another_kind_is_named(played):
    pandas = pytest.importorskip("pandas")
    frame = played.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["rmse"].tolist() == [result.rmse for result in played]
    assert frame["upper_quartile"].tolist() == [result.quartiles[1] for result in played]
    with pytest.raises(ChoiceError, match="no frame is called 'excel'"):
        played.to_frame("excel")


def test_results_are_a_table_in_a_terminal_and_in_a_notebook(played):
    assert str(played).split()[:3] == ["metric", "budget", "acquisition"]
    assert str(played).count("doubly-robust") == played._repr_html_().count("doubly-robust") > 0
    assert repr(played) == f"<Simulation with {len(played)} results>"


@pytest.mark.parametrize("form", ["pyarrow", "pandas", "polars", "reader"])
def test_a_frame_and_a_mapping_give_the_results_of_the_files(form, played, columns, folder):
    table = pa.table(columns)
    if form == "reader":
        pool = table.to_reader()
    elif form == "pyarrow":
        pool = table
    else:
        module = pytest.importorskip(form)
        pool = module.DataFrame(columns)
    lines = (folder / "key.csv").read_text().split()[1:]
    key = dict(line.split(",") for line in lines)
    for file in ("pool.parquet", "key.csv"):
        (folder / file).unlink()
    assert simulate(pool, key, **SIZES) == played
    assert not list(folder.iterdir())


def test_groups_of_a_frame_are_those_of_its_file(columns):
    settings = {"question": "identify", "groups": ["place"], "acquisition": "thompson"}
    results = simulate(pa.table(columns), "key.csv", **SIZES, **settings)
    assert results == simulate("pool.parquet", "key.csv", **SIZES, **settings)
    assert {result.acquisition for result in results} == {"thompson"}


def test_what_is_wrong_with_a_frame_is_said_of_the_frame(columns):
    key = dict.fromkeys(columns["id"], "cat")
    columns["prob_cat"][3] = 7.0
    with pytest.raises(PoolError, match=r"row 3 of the frame .*'item-3'"):
        simulate(pa.table(columns), key, **SIZES)
    with pytest.raises(PoolError) as error:
        simulate(pa.table({"id": ["a"], "pred": ["x"]}).slice(0, 0), key, **SIZES)
    assert error.value.problem == "the frame has no rows"
    with pytest.raises(PoolError, match="int is no frame"):
        simulate(3, key, **SIZES)


def test_a_key_with_gaps_is_named_as_what_it_is(columns):
    key = dict.fromkeys(columns["id"], "cat")
    del key["item-7"]
    with pytest.raises(LabelError, match="the mapping has no label for 1 of 40 items, id 'item-7'"):
        simulate("pool.parquet", key, **SIZES)
    key["item-7"] = "cow"
    with pytest.raises(LabelError, match="the mapping, entry 39: 'cow' is not a label"):
        simulate("pool.parquet", key, **SIZES)


def test_one_text_and_one_number_are_one_name_and_one_budget(columns):
    settings = {"runs": 2, "workers": 1}
    short = {"metrics": "error", "estimators": "lure", "budgets": 5}
    listed = {"metrics": ("error",), "estimators": ("lure",), "budgets": (5,)}
    results = simulate("pool.parquet", "key.csv", **settings, **short)
    assert results == simulate("pool.parquet", "key.csv", **settings, **listed)
    assert {(each.metric, each.estimator, each.budget) for each in results} == {
        ("error", "lure", 5)
    }
