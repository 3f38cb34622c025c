"""A study of a pool without outputs of its own has those of the first model given."""

import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolChanged, PoolError
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import write_pool

MODELS = {"v1": "v1.parquet", "v2": "v2.parquet"}


def is_output(name: str) -> bool:
    return name.startswith("prob_")


@pytest.fixture
def files(folder) -> None:
    """A pool of 40 items, the same without outputs, and in another order those of two models."""
    for seed, name in enumerate(("own", "v2")):
        write_pool(folder / f"{name}.parquet", 40, seed=seed)
    own = pq.read_table("own.parquet")
    outputs = [name for name in own.column_names if is_output(name)]
    pq.write_table(own.drop_columns(outputs), "pool.parquet")
    pq.write_table(own.select(["id", *outputs])[::-1], "v1.parquet")


def label(study: Study, count: int) -> None:
    """Draw items, and say of each the class that is most probable to v2."""
    second = pq.read_table("v2.parquet").to_pandas().set_index("id")
    probs = second[[name for name in second.columns if is_output(name)]]
    said = probs.idxmax(axis=1).str.removeprefix("prob_")
    study.ingest({id: said[id] for id in study.next(count).ids})


@pytest.mark.usefixtures("files")
def test_it_is_the_study_of_a_pool_with_these_outputs_but_for_the_name(folder):
    joined = Study.create("pool.parquet", "joined", seed=1, models=MODELS)
    own = Study.create("own.parquet", "own", seed=1, models={"v2": "v2.parquet"})
    assert joined.setup.fingerprint == own.setup.fingerprint
    assert joined.setup.schema == own.setup.schema
    assert "models: v1 and v2" in joined.setup.notices
    assert "the study keeps the outputs that v1.parquet has of v1" in joined.setup.notices
    for study in (joined, own):
        label(study, 12)
    gates = ["error(v1)<=0.9", "error(model)<=0.9"]
    found, expected = (
        study.report(reference=first, require=gate)
        for study, first, gate in zip((joined, own), ("v1", "model"), gates, strict=True)
    )
    written = found.to_json().replace("pool.parquet", "own.parquet").replace('"v1"', '"model"')
    assert written.replace("(v1)", "(model)") == expected.to_json()
    assert joined.verify().passed


@pytest.mark.usefixtures("files")
def test_the_first_model_has_its_name_everywhere(folder):
    metric = ("error", "error(v2)-error(v1)")
    study = Study.create("pool.parquet", seed=1, models=MODELS, metric=metric)
    assert [each.name for each in StoredStudy.open().list_models()] == ["v1", "v2"]
    assert 'name = "v1"' in Path(".activetest/study.toml").read_text()
    label(study, 12)
    assert "v1, v2" in str(study.status())
    assert study.report(model="v1").sentence == study.report().sentence
    assert {row.models for row in study.report(reference="v2").estimates} >= {("v1", "v2")}
    with pytest.raises(ChoiceError, match="no model 'model'"):
        study.report(reference="model")
    added = study.add("strict", "v2.parquet", trained_on_labels=False)
    assert "outputs are those of v2" in str(added)


@pytest.mark.usefixtures("files")
def test_a_model_alone_may_have_a_name(folder):
    study = Study.create("pool.parquet", seed=1, models={"v1": "v1.parquet"})
    label(study, 12)
    assert study.report(require="error(v1)<=0.99").gates[0].requirement == "error(v1)<=0.99"
    assert 'name = "v1"' in Path(".activetest/study.toml").read_text()


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("form", ["frame", "csv", "stream", "frames of both", "csv of both"])
def test_pools_and_outputs_may_have_any_form(folder, form):
    expected = Study.check("own.parquet").fingerprint
    pool, outputs = "pool.parquet", pd.read_parquet("v1.parquet")
    if form == "frames of both":
        pool = pd.read_parquet(pool)
    if form == "csv of both":
        pd.read_parquet(pool).to_csv("pool.csv", index=False)
        pool = "pool.csv"
    if "csv" in form:
        outputs.to_csv("v1.csv", index=False)
        outputs = "v1.csv"
    if form == "stream":
        with open("v1.parquet", "rb") as outputs:
            study = Study.create(pool, seed=1, models={"v1": outputs})
    else:
        study = Study.create(pool, seed=1, models={"v1": outputs})
    assert study.setup.fingerprint == expected or "csv" in form
    shutil.rmtree(".activetest/cache")
    shutil.rmtree(".activetest/conversion", ignore_errors=True)
    again = Study.open()
    label(again, 5)
    assert again.verify().passed and again.change(metric="brier").choices.metric == "brier"


@pytest.mark.usefixtures("files")
def test_a_check_writes_nothing(folder):
    before = sorted(folder.iterdir())
    setup = Study.check("pool.parquet", "study", models=MODELS)
    assert setup.fingerprint == Study.check("own.parquet").fingerprint
    assert "models: v1 and v2" in setup.notices
    assert sorted(folder.iterdir()) == before


@pytest.mark.usefixtures("files")
def test_columns_of_the_pool_may_be_the_first_model(folder):
    pool = pq.read_table("own.parquet")
    names = [name.replace("prob_", "prob_v1_") for name in pool.column_names]
    pq.write_table(pool.rename_columns(names), "columns.parquet")
    study = Study.create("columns.parquet", seed=1, models={"v1": "prob_v1_*"})
    expected = Study.check("own.parquet", "other")
    assert study.setup.schema.classes == expected.schema.classes
    assert study.setup.fingerprint == expected.fingerprint
    assert study.setup.schema.features == expected.schema.features
    assert [each.name for each in StoredStudy.open().list_models()] == ["v1"]
    assert not Path(".activetest/models").exists()


@pytest.mark.usefixtures("files")
def test_predictions_in_columns_of_the_pool_are_two_models(folder):
    table = pq.read_table("pool.parquet")
    for seed in (1, 2):
        said = ["cat" if row % (seed + 2) else "dog" for row in range(40)]
        table = table.append_column(f"pred_v{seed}", pa.array(said))
    pq.write_table(table, "columns.parquet")
    models = {"v1": "pred_v1", "v2": "pred_v2"}
    study = Study.create("columns.parquet", seed=1, models=models, id="id")
    assert study.setup.schema.outputs == ("pred_v1",)
    assert [each.name for each in StoredStudy.open().list_models()] == ["v1", "v2"]
    study.ingest(dict.fromkeys(study.next(12).ids, "cat"))
    assert study.report(reference="v1").estimates


@pytest.mark.usefixtures("files")
def test_where_a_pool_has_outputs_the_first_model_is_called_model(folder):
    Study.create("own.parquet", seed=1, models=MODELS)
    assert [each.name for each in StoredStudy.open().list_models()] == ["model", "v1", "v2"]


@pytest.mark.usefixtures("files")
def test_a_column_that_may_hold_outputs_makes_somebody_say_whose(folder):
    table = pq.read_table("pool.parquet").append_column("y_hat", pa.array(["cat", "dog"] * 20))
    pq.write_table(table, "unclear.parquet")
    with pytest.raises(PoolError, match="may have outputs of its own") as error:
        Study.create("unclear.parquet", models=MODELS)
    assert "outputs='y_hat'" in error.value.hint
    pq.write_table(table.select(["id", "y_hat"]), "v2.parquet")
    said = Study.check("unclear.parquet", outputs="y_hat", models={"v2": "v2.parquet"})
    assert "models: model and v2" in said.notices
    models = {"old": "y_hat", "v2": "v2.parquet"}
    said = Study.check("unclear.parquet", models=models)
    assert "models: old and v2" in said.notices
    names = [name for name in pq.read_schema("v1.parquet").names if is_output(name)]
    said = Study.check("unclear.parquet", outputs=names, models={"v1": "v1.parquet"})
    assert said.schema.outputs == tuple(names)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda table: table[1:], "v1.parquet lacks 1 item of the pool"),
        (lambda table: pa.concat_tables([table, table[:1]]), "is in v1.parquet twice"),
        (lambda table: table.drop_columns(["id"]), "v1.parquet has no column 'id'"),
        (lambda table: table.select(["id"]), "v1.parquet: no column holds the model's outputs"),
        (
            lambda table: table.set_column(1, table.column_names[1], pa.array([2.0] * 40)),
            "v1.parquet",
        ),
    ],
)
def test_outputs_that_cannot_serve_are_refused_and_leave_nothing(folder, change, problem):
    pq.write_table(change(pq.read_table("v1.parquet")), "v1.parquet")
    before = sorted(folder.iterdir())
    for make in (Study.create, Study.check):
        with pytest.raises(PoolError, match=problem):
            make("pool.parquet", "study", models=MODELS)
        assert sorted(folder.iterdir()) == before


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("models", "problem"),
    [
        ({"cat": "v1.parquet"}, "is a class"),
        ({"../v1": "v1.parquet"}, "no model can be called"),
        ({"strict": "v1@threshold:0.8", "v1": "v1.parquet"}, "strict is another threshold of v1"),
    ],
)
def test_names_that_cannot_be_are_refused(folder, models, problem):
    with pytest.raises(ChoiceError, match=problem):
        Study.create("pool.parquet", "study", models=models)
    assert not Path("study").exists()


@pytest.mark.usefixtures("files")
def test_rows_of_no_item_are_left_out_and_counted(folder):
    table = pq.read_table("v1.parquet")
    other = table[:2].set_column(0, "id", pa.array(["x", "y"]))
    pq.write_table(pa.concat_tables([table, other]), "v1.parquet")
    setup = Study.check("pool.parquet", models={"v1": "v1.parquet"})
    assert "2 rows of v1.parquet are of no item of the pool, and are left out" in setup.notices


@pytest.mark.usefixtures("files")
def test_without_ids_each_row_is_of_the_item_with_its_number(folder):
    for name in ("pool", "v1", "own"):
        table = pq.read_table(f"{name}.parquet")
        rows = pc.sort_indices(table["id"])
        pq.write_table(table.take(rows).drop_columns(["id"]), f"{name}.parquet")
    setup = Study.check("pool.parquet", models={"v1": "v1.parquet"})
    assert setup.fingerprint == Study.check("own.parquet").fingerprint


@pytest.mark.usefixtures("files")
def test_the_files_of_the_models_may_go(folder):
    study = Study.create("pool.parquet", seed=1, models=MODELS)
    label(study, 8)
    expected = study.report(reference="v1").to_json()
    Path("v1.parquet").unlink()
    shutil.rmtree(".activetest/cache")
    assert Study.open().report(reference="v1").to_json() == expected


@pytest.mark.usefixtures("files")
def test_a_pool_in_another_order_is_the_same_pool(folder):
    study = Study.create("pool.parquet", seed=1, models=MODELS)
    label(study, 8)
    expected = study.report().sentence
    pq.write_table(pq.read_table("pool.parquet")[::-1], "pool.parquet")
    assert Study.open().verify().passed
    assert Study.open().report().sentence == expected
    assert Study.open().verify().passed


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("rows", [slice(0, 39), slice(0, 80)])
def test_a_pool_of_other_items_is_refused(folder, rows):
    study = Study.create("pool.parquet", seed=1, models=MODELS)
    label(study, 8)
    table = pq.read_table("pool.parquet")
    further = table.set_column(0, "id", pa.array([f"new{row}" for row in range(40)]))
    pq.write_table(pa.concat_tables([table, further])[rows], "pool.parquet")
    with pytest.raises(PoolChanged):
        Study.open().next(3, new=True)
    assert not Study.open().verify().passed


@pytest.mark.usefixtures("files")
def test_a_pool_that_moved_is_missed_and_found(folder):
    Study.create("pool.parquet", seed=1, models=MODELS)
    Path("pool.parquet").rename("moved.parquet")
    with pytest.raises(PoolError, match="the pool of this study is missing"):
        Study.open().next(3)
    Study.create("moved.parquet", seed=1)
    assert Study.open().next(3).ids


@pytest.mark.usefixtures("files")
def test_outputs_that_are_gone_are_missed_and_given_again(folder):
    study = Study.create("pool.parquet", seed=1, models=MODELS)
    kept = Path(".activetest/models/v1.parquet")
    kept.unlink()
    shutil.rmtree(".activetest/cache")
    with pytest.raises(PoolError, match="outputs of the model 'v1' are missing") as error:
        Study.open().next(3)
    assert "study.add('v1', 'FILE')" in error.value.hint
    assert not Study.open().verify().passed
    with pytest.raises(PoolChanged, match="other outputs than the study has of v1"):
        Study.open().add("v1", "v2.parquet")
    assert not kept.exists()
    assert "is in the study already" in str(study.add("v1", "v1.parquet"))
    assert Study.open().next(3).ids and Study.open().verify().passed


@pytest.mark.usefixtures("files")
def test_other_outputs_in_their_place_are_refused(folder):
    Study.create("pool.parquet", seed=1, models=MODELS)
    kept = Path(".activetest/models/v1.parquet")
    table = pq.read_table(kept)
    last = len(table.column_names) - 1
    pq.write_table(table[::-1].set_column(last, table.column_names[last], table[last]), kept)
    with pytest.raises(PoolChanged) as error:
        Study.open().next(3)
    assert "study.add('v1', 'FILE')" in error.value.hint
    assert not Study.open().verify().passed


@pytest.mark.usefixtures("files")
def test_groups_and_roles_may_change_before_the_first_draw(folder):
    Study.create("pool.parquet", seed=1, models={"v1": "v1.parquet"})
    study = Study.create("pool.parquet", groups="predicted", positive="dog")
    assert study.setup.schema.groups == ("predicted",)
    assert [each.name for each in StoredStudy.open().list_models()] == ["v1"]
    assert study.next(3).ids


@pytest.mark.usefixtures("files")
def test_who_gives_no_outputs_is_told_how_to_give_a_file_of_them(folder):
    with pytest.raises(PoolError, match="no column holds the model's outputs") as error:
        Study.create("pool.parquet")
    assert "for outputs in a file of their own, name it with `models`" in error.value.hint


@pytest.mark.usefixtures("files")
def test_the_first_of_several_models_names_the_outputs_of_the_pool_where_its_file_is_that(folder):
    models = {"v1": str(folder / "own.parquet"), "v2": "v2.parquet"}
    study = Study.create("own.parquet", seed=1, models=models)
    assert [each.name for each in StoredStudy.open().list_models()] == ["v1", "v2"]
    assert study.setup.fingerprint == Study.check("own.parquet", "other").fingerprint
    assert not Path(".activetest/models/v1.parquet").exists()
    label(study, 8)
    assert study.report(require="error(v1)<=0.99").gates[0].requirement == "error(v1)<=0.99"
    with pytest.raises(ChoiceError, match="is a class"):
        Study.create("own.parquet", "other", models={"cat": "own.parquet", "v2": "v2.parquet"})
    setup = Study.check("own.parquet", "other", models={"v2": "own.parquet"})
    assert "models: model and v2" in setup.notices


@pytest.mark.usefixtures("files")
def test_two_models_may_have_one_file(folder):
    models = dict.fromkeys(("v1", "copy"), "v1.parquet")
    study = Study.create("pool.parquet", seed=1, models=models)
    assert "copy: its outputs are those of v1: both models are the same" in study.setup.notices


@pytest.mark.usefixtures("files")
def test_an_id_that_comes_twice_in_the_pool_is_named_as_in_any_pool(folder):
    problems = []
    for name, models in (("own", {}), ("pool", MODELS)):
        table = pq.read_table(f"{name}.parquet")
        pq.write_table(pa.concat_tables([table, table[:1]]), "twice.parquet")
        with pytest.raises(PoolError) as error:
            Study.create("twice.parquet", models=models)
        problems.append(error.value.problem)
    assert problems[0] == problems[1] and "item-0" in problems[0]
