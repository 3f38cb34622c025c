"""Where models lack items, a study may keep those that all of them have."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolChanged, PoolError, StudyError
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import write_pool

MODELS = {"v1": "v1.parquet", "v2": "v2.parquet"}
LEFT_OUT = "5 items left out, which not all models have"


@pytest.fixture
def files(folder) -> None:
    """A pool of 40 items, the same without outputs, and outputs of two models that lack some."""
    for seed, name in enumerate(("own", "v2")):
        write_pool(folder / f"{name}.parquet", 40, seed=seed)
    own, second = pq.read_table("own.parquet"), pq.read_table("v2.parquet")
    outputs = [name for name in own.column_names if name.startswith("prob_")]
    pq.write_table(own.drop_columns(outputs), "pool.parquet")
    # They lack items 0 and 1, and items 1, 37, 38 and 39.
    pq.write_table(own.select(["id", *outputs])[2:][::-1], "v1.parquet")
    pq.write_table(pa.concat_tables([second[:1], second[2:37]]), "v2.parquet")
    pq.write_table(own[2:37], "kept.parquet")


@pytest.mark.usefixtures("files")
def test_the_study_is_that_of_a_pool_of_the_other_items(folder):
    study = Study.create("pool.parquet", seed=1, models=MODELS, common=True)
    alone = Study.create("kept.parquet", "alone", seed=1, models={"v2": "v2.parquet"})
    assert study.setup.rows == 35 and LEFT_OUT in study.setup.notices
    assert study.setup.fingerprint == alone.setup.fingerprint
    ids = study.next(35).ids
    assert {*ids} == {f"item-{row}" for row in range(2, 37)}
    assert ids == alone.next(35).ids
    for each in (study, alone):
        each.ingest(dict.fromkeys(ids[:10], "cat"))
    found, expected = study.report(reference="v1"), alone.report(reference="model")
    assert found.sentence == expected.sentence
    assert [row.quantity for row in found.estimates] == [row.quantity for row in expected.estimates]
    shutil.rmtree(".activetest/cache")
    assert Study.open().report().sentence == found.sentence
    assert study.verify().passed


@pytest.mark.usefixtures("files")
def test_reports_and_status_count_what_is_left_out(folder):
    study = Study.create("pool.parquet", seed=1, models=MODELS, common=True)
    study.ingest(dict.fromkeys(study.next(10).ids, "cat"))
    words = "5 items of the pool, which not all models have"
    report = study.report()
    assert words in str(report) and words in report.to_markdown()
    assert '"left_out": 5' in report.to_json()
    assert words in str(study.status())
    Path("pool.parquet").unlink()
    assert words in str(study.report()) and words in str(study.status())


@pytest.mark.usefixtures("files")
def test_outputs_of_the_pool_may_be_of_more_items_than_those_of_others(folder):
    study = Study.create("own.parquet", seed=1, models={"v2": "v2.parquet"}, common=True)
    assert "4 items left out, which not all models have" in study.setup.notices
    assert [each.name for each in StoredStudy.open().list_models()] == ["model", "v2"]
    assert {*study.next(36).ids} == {f"item-{row}" for row in range(37) if row != 1}
    shutil.rmtree(".activetest/cache")
    assert study.verify().passed and Study.open().report(model="v2")
    Path(".activetest/models/model.parquet").unlink()
    with pytest.raises(PoolError, match="are missing"):
        Study.open().next(1, new=True)
    with pytest.raises(StudyError, match="was lost"):
        Study.open().add("model", "own.parquet")


@pytest.mark.usefixtures("files")
def test_where_all_models_have_all_items_nothing_is_left_out(folder):
    models = {"v2": "own.parquet"}
    study = Study.create("own.parquet", seed=1, models=models, common=True)
    assert study.setup.rows == 40
    assert not Path(".activetest/models/model.parquet").exists()
    assert "left_out" not in study.report().to_json()
    assert "left out" not in str(study.status())


@pytest.mark.usefixtures("files")
def test_without_common_the_first_item_that_is_missing_is_named(folder):
    with pytest.raises(
        PoolError, match="v1.parquet lacks 2 items of the pool, .* 'item-0'"
    ) as error:
        Study.create("pool.parquet", models=MODELS)
    assert "`common=True`" in error.value.hint
    assert not Path(".activetest").exists()


@pytest.mark.usefixtures("files")
def test_a_further_model_has_to_have_the_items_of_the_study_alone(folder):
    study = Study.create("pool.parquet", seed=1, models={"v1": "v1.parquet"}, common=True)
    assert "2 items left out, which not all models have" in study.setup.notices
    with pytest.raises(PoolError, match="lacks 3 items of the pool"):
        study.add("v2", "v2.parquet")
    assert "3 rows" not in str(study.add("v3", "own.parquet"))
    assert study.report(reference="v1").counts.left_out == 2


@pytest.mark.usefixtures("files")
def test_outputs_that_were_lost_are_given_again(folder):
    study = Study.create("pool.parquet", seed=1, models={"v1": "v1.parquet"}, common=True)
    Path(".activetest/models/v1.parquet").unlink()
    with pytest.raises(PoolChanged):
        study.add("v1", "v2.parquet")
    assert "is in the study already" in str(study.add("v1", "v1.parquet"))
    assert study.next(3).ids and study.verify().passed


@pytest.mark.usefixtures("files")
def test_the_order_of_the_pool_may_change(folder):
    Study.create("pool.parquet", seed=1, models=MODELS, common=True)
    pq.write_table(pq.read_table("pool.parquet")[::-1], "pool.parquet")
    study = Study.open()
    assert {*study.next(35).ids} == {f"item-{row}" for row in range(2, 37)}
    assert study.verify().passed


@pytest.mark.usefixtures("files")
def test_models_without_a_common_item_are_refused(folder):
    pq.write_table(pq.read_table("v2.parquet")[:1], "v2.parquet")
    with pytest.raises(PoolError, match="no item of the pool has outputs of all models"):
        Study.create("pool.parquet", models=MODELS, common=True)
    assert not Path(".activetest").exists()


@pytest.mark.usefixtures("files")
def test_common_without_models_without_ids_or_later_is_refused(folder):
    with pytest.raises(ChoiceError, match="no `models`"):
        Study.create("own.parquet", common=True)
    with open("v2.parquet", "rb") as stream, pytest.raises(ChoiceError, match="read once"):
        Study.create("own.parquet", models={"v2": stream}, common=True)
    for name in ("own", "v2"):
        pq.write_table(pq.read_table(f"{name}.parquet").drop_columns(["id"]), f"{name}.parquet")
    with pytest.raises(ChoiceError, match="goes by ids"):
        Study.create("own.parquet", models={"v2": "v2.parquet"}, common=True)
