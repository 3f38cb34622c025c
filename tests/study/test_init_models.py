"""A study may begin with several models: with all of them, or there is no study."""

import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolError, StudyError
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import write_pool


@pytest.fixture
def files(folder) -> None:
    """A pool of 40 items, outputs of two other models, and those of one that lacks an item."""
    for seed, name in enumerate(("pool", "second", "third")):
        write_pool(folder / f"{name}.parquet", 40, seed=seed)
    pq.write_table(pq.read_table("second.parquet")[1:], "short.parquet")


def read_probs(name: str, folder: str) -> dict[str, float]:
    """{id: probability of a cat} of a model of a study."""
    cache = StoredStudy.open(folder).of_model(name).cache()
    probs = cache.rows(0, cache.size).outputs.probs[:, cache.classes.index("cat")]
    return dict(zip(cache.ids(range(cache.size)), probs.tolist(), strict=True))


def read_file(path: str) -> dict[str, float]:
    table = pq.read_table(path)
    return dict(zip(table["id"].to_pylist(), table["prob_cat"].to_pylist(), strict=True))


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("place", ["study", "deep/er/study"])
def test_a_study_begins_with_the_models_given(folder, place):
    frame = pq.read_table("third.parquet").to_pandas()
    study = Study.create(
        "pool.parquet", place, seed=1, models={"v2": "second.parquet", "v3": frame}
    )
    stored = StoredStudy.open(place)
    models = stored.list_models()
    assert [(each.name, each.trained, each.rounds) for each in models[1:]] == [
        ("v2", None, 0),
        ("v3", None, 0),
    ]
    assert "models: model, v2 and v3" in study.setup.notices
    assert read_probs("model", place) == pytest.approx(read_file("pool.parquet"))
    assert read_probs("v2", place) == pytest.approx(read_file("second.parquet"))
    assert read_probs("v3", place) == pytest.approx(read_file("third.parquet"))
    assert (stored.folder / "study.toml").read_text().count("[[models]]") == 3
    assert str(stored.folder.parent) not in (stored.folder / "study.toml").read_text()
    assert study.verify().passed and study.next(3).ids


@pytest.mark.usefixtures("files")
def test_draws_may_aim_at_models_that_a_study_begins_with(folder):
    metric = "error(v2)-error(model)"
    study = Study.create("pool.parquet", seed=1, metric=metric, models={"v2": "second.parquet"})
    assert study.choices.metric == metric and len(study.next(3).ids) == 3
    with pytest.raises(ChoiceError, match="no model 'v9'"):
        Study.check("pool.parquet", "other", metric="error(v9)", models={"v2": "second.parquet"})


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("models", "error", "problem"),
    [
        ({"v2": "second.parquet", "v3": "short.parquet"}, PoolError, "lacks 1 item"),
        ({"v2": "second.parquet", "V2": "third.parquet"}, StudyError, "already"),
        ({"v2": "second.parquet", "model": "third.parquet"}, StudyError, "already"),
        ({"v2": "second.parquet", "cat": "third.parquet"}, ChoiceError, "is a class"),
        ({"v2": "nothing.parquet"}, PoolError, "nothing.parquet"),
        ({"v2": "model@threshold:0.5"}, ChoiceError, "two classes"),
        ("second.parquet", ChoiceError, "no mapping"),
    ],
)
def test_where_a_model_is_refused_there_is_no_study(folder, models, error, problem):
    before = sorted(folder.iterdir())
    for make in (Study.create, Study.check):
        with pytest.raises(error, match=problem):
            make("pool.parquet", "study", seed=1, models=models)
        assert sorted(folder.iterdir()) == before


@pytest.mark.usefixtures("files")
def test_a_check_says_the_models_and_writes_nothing(folder):
    before = sorted(folder.iterdir())
    models = {"v2": "second.parquet", "again": "second.parquet"}
    setup = Study.check("pool.parquet", "study", models=models)
    assert setup.notices[-2:] == (
        "models: model, v2 and again",
        "again: its outputs are those of v2: both models are the same",
    )
    assert sorted(folder.iterdir()) == before


@pytest.mark.usefixtures("files")
def test_a_study_that_is_there_takes_models_by_add(folder):
    Study.create("pool.parquet", "study", seed=1)
    with pytest.raises(ChoiceError, match="there is a study") as error:
        Study.create("pool.parquet", "study", models={"v2": "second.parquet"})
    assert "`study.add('v2', 'FILE')`" in error.value.hint


@pytest.mark.usefixtures("files")
def test_a_pool_that_is_converted_and_one_that_is_a_frame_have_models_too(folder):
    frame = pq.read_table("pool.parquet").to_pandas()
    frame.to_csv("pool.csv", index=False)
    for place, pool in (("csv", "pool.csv"), ("frame", frame)):
        study = Study.create(pool, place, seed=1, models={"v2": "second.parquet"})
        assert read_probs("v2", place) == pytest.approx(read_file("second.parquet"))
        assert study.verify().passed
