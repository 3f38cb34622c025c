"""A study as one of a further model: the same draws and labels, outputs of its own."""

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolChanged, PoolError, StudyError
from activetest.study import models
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import init


@pytest.fixture
def both(begin_study, label_draws, write_pool, folder) -> Study:
    """A study of 90 items and two models: two rounds before the second one came, one after."""
    study = begin_study(groups=("place",))
    label_draws(study, 8)
    label_draws(study, 6)
    write_pool(folder / "new.parquet", 90, seed=6)
    added = Study.open()
    added.add("v2", "new.parquet", trained_on_labels=False)
    label_draws(StoredStudy.open(), 5)
    return added


def read_outputs(study: StoredStudy) -> dict[str, list[float]]:
    """{id: probabilities} of a study's cache."""
    cache = study.cache()
    probs = cache.rows(0, cache.size).outputs.probs
    return dict(zip(cache.ids(range(cache.size)), probs.tolist(), strict=True))


def test_models_are_listed_in_the_order_in_which_they_came(both):
    first, second = StoredStudy.open().list_models()
    assert (first.name, second.name, second.rounds) == ("model", "v2", 2)


@pytest.mark.parametrize("name", [None, "model"])
def test_the_first_model_is_the_study_itself(both, name):
    study = StoredStudy.open()
    assert study.of_model(name) is study


def test_a_model_that_is_not_there_is_an_error_with_the_nearest_name(both):
    with pytest.raises(ChoiceError, match="no model 'v3'") as error:
        StoredStudy.open().of_model("v3")
    assert "v2" in error.value.hint


def test_a_model_has_its_own_outputs_and_the_other_columns_of_the_pool(both):
    study = StoredStudy.open().of_model("v2")
    table = pq.read_table("new.parquet").to_pylist()
    expected = {row["id"]: [row[f"prob_{name}"] for name in ("cat", "dog", "owl")] for row in table}
    found = read_outputs(study)
    assert found.keys() == expected.keys()
    for id, probs in expected.items():
        np.testing.assert_allclose(found[id], probs, rtol=1e-6)
    ids = [*expected][:5]
    own = {row["id"]: row for row in pq.read_table("pool.parquet").to_pylist()}
    shown = study.show(ids, ["place", "prob_cat", "x1"])
    assert shown["place"] == [own[id]["place"] for id in ids]
    assert shown["x1"] == [own[id]["x1"] for id in ids]
    assert shown["prob_cat"] == [expected[id][0] for id in ids]


def test_a_model_has_the_draws_and_labels_of_the_study(both):
    study = StoredStudy.open()
    model = study.of_model("v2")
    ours, its = study.log(study.cache()), model.log(model.cache())
    assert its.rows.tolist() == ours.rows.tolist()
    assert its.q.tolist() == ours.q.tolist()
    assert its.labels.tolist() == ours.labels.tolist()
    assert len(its.history) == 3
    assert model.pool_name == f"{study.pool_name}, model v2"


def test_surrogates_of_a_model_see_the_features_of_the_pool(both):
    """And what these say of the model's own outputs."""
    study = StoredStudy.open()
    ours, its = study.cache(), study.of_model("v2").cache()
    assert its.part_fingerprint("evidence") == ours.part_fingerprint("evidence")
    assert its.unavailable == {}
    same = ours.rows(0, 90).design == its.rows(0, 90).design
    assert same.all(axis=0).any() and not same.all()


def test_labels_that_a_model_was_trained_on_are_known_and_not_drawn(both, write_pool, folder):
    write_pool(folder / "third.parquet", 90, seed=7)
    study = StoredStudy.open()
    ours = study.log(study.cache())
    both.add("v3", "third.parquet", trained_on_labels=True)
    model = StoredStudy.open().of_model("v3")
    its = model.log(model.cache())
    assert (len(its.rows), len(its.supplied_rows)) == (0, len(ours.rows))
    batch = both.next(4)
    both.ingest(dict.fromkeys(batch.ids, "cat"))
    model = StoredStudy.open().of_model("v3")
    its = model.log(model.cache())
    assert model.cache().ids(its.rows) == batch.ids
    assert its.round.tolist() == [1] * 4
    assert [each.number for each in its.history] == [1]


def test_the_cache_of_a_model_stands_apart_and_can_be_removed(both):
    study = StoredStudy.open()
    before = read_outputs(study), read_outputs(study.of_model("v2"))
    assert (study.folder / "caches" / "v2" / "manifest.json").exists()
    shutil.rmtree(study.folder / "caches")
    study = StoredStudy.open()
    assert (read_outputs(study), read_outputs(study.of_model("v2"))) == before


def test_without_the_pool_a_model_has_its_outputs(both):
    expected = read_outputs(StoredStudy.open().of_model("v2"))
    os.remove("pool.parquet")
    model = StoredStudy.open().of_model("v2")
    assert read_outputs(model) == expected
    assert model.known_cache().size == 90 and model.absence is None


def test_a_pool_in_another_order_moves_no_label(both, write_pool, folder):
    model = StoredStudy.open().of_model("v2")
    cache = model.cache()
    log = model.log(cache)
    before = dict(zip(cache.ids(log.rows), log.labels, strict=True))
    table = pq.read_table("pool.parquet")
    pq.write_table(table.take(np.arange(90)[::-1]), "pool.parquet")
    study = StoredStudy.open()
    cache = study.of_model("v2").cache()
    log = study.of_model("v2").log(cache)
    assert dict(zip(cache.ids(log.rows), log.labels, strict=True)) == before
    assert study.log(study.cache()).rows.tolist() != log.rows.tolist()


def test_a_column_that_gets_a_role_later_is_added(both):
    table = pq.read_table("pool.parquet")
    colour = [("red", "blue", "green")[row % 3] for row in range(90)]
    pq.write_table(table.append_column("colour", [colour]), "pool.parquet")
    both.change(groups=["place", "colour"])
    model = StoredStudy.open().of_model("v2")
    cache = model.cache()
    assert cache.group_names == ("place", "colour")
    assert model.show(["item-4"], ["colour"]) == {"colour": ["blue"]}
    assert pq.read_table(model.uri)["prob_cat"].to_pylist() == (
        pq.read_table("new.parquet")["prob_cat"].to_pylist()
    )
    assert both.verify().passed


@pytest.mark.parametrize(("name", "value"), [("weight", "x1"), ("price", "x2"), ("id", "place")])
def test_roles_that_outputs_rest_on_stay_once_there_are_two_models(
    begin_study, write_pool, folder, name, value
):
    begin_study()
    write_pool(folder / "new.parquet", 90, seed=6)
    for file in ("pool.parquet", "new.parquet"):
        table = pq.read_table(file)
        for column in ("x1", "x2"):
            table = table.drop_columns([column]).append_column(column, [np.arange(1.0, 91.0)])
        place = [f"place-{row}" for row in range(90)]
        pq.write_table(table.drop_columns(["place"]).append_column("place", [place]), file)
    Study.open().add("v2", "new.parquet")
    with pytest.raises(ChoiceError, match=f"`{name}` stays after a second model came"):
        init(None, None, **{name: value})


def test_an_unknown_model_in_study_toml_is_refused(both):
    path = StoredStudy.open().folder / "study.toml"
    text = path.read_text()
    path.write_text(text.replace('name = "v2"', 'name = "v2"\n\n[[models]]\nname = "v3"'))
    with pytest.raises(ChoiceError, match="'v3', and the ledger has no such model") as error:
        StoredStudy.open()
    assert "remove that section" in error.value.hint
    path.write_text(text)
    assert len(StoredStudy.open().list_models()) == 2


def test_a_missing_file_of_outputs_is_named(both):
    study = StoredStudy.open()
    os.remove(study.of_model("v2").uri)
    with pytest.raises(PoolError, match=r"outputs of the model 'v2' are missing: .*v2.parquet"):
        study.of_model("v2").cache()
    with pytest.raises(PoolError, match="are missing"):
        study.of_model("v2").known_cache()
    assert not both.verify().passed
    assert both.report().counts.labeled == 19


def test_other_outputs_than_were_added_are_refused(both, write_pool, folder):
    study = StoredStudy.open()
    path = study.of_model("v2").uri
    shutil.copy(write_pool(folder / "other.parquet", 90, seed=9), path)
    with pytest.raises(PoolChanged, match="other ids or outputs than were added as 'v2'"):
        study.of_model("v2").cache()
    checks = {each.part: each for each in both.verify().checks}
    assert "other ids or outputs" in checks["model v2"].problems[0]
    assert not checks["pool"].problems


@pytest.mark.parametrize("column", ["prob_dog", "x2", "place", "id"])
def test_a_changed_bit_in_any_column_is_found(both, column):
    path = Path(StoredStudy.open().of_model("v2").uri)
    footer = pq.read_metadata(path)
    names = [footer.schema.column(place).name for place in range(footer.num_columns)]
    chunk = footer.row_group(0).column(names.index(column))
    content = bytearray(path.read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 1
    path.write_bytes(content)
    found = both.verify()
    assert not found.passed
    assert [each.part for each in found.checks if each.problems] == ["model v2"]


def test_the_numbers_of_the_first_model_are_those_of_a_study_with_one(
    begin_study, label_draws, write_pool, folder
):
    """Draws, estimates and every byte of the report."""

    def play(*, second: bool) -> tuple[list[str], str]:
        for name in (".activetest", "new.parquet"):
            shutil.rmtree(name, ignore_errors=True)
        study = begin_study(groups=("place",))
        label_draws(study, 8)
        if second:
            write_pool(folder / "new.parquet", 90, seed=6)
            Study.open().add("v2", "new.parquet", trained_on_labels=True)
        label_draws(StoredStudy.open(), 6)
        current = Study.open()
        drawn = [draw.id for draw in StoredStudy.open().ledger.record().draws]
        document = current.report(require="error<=0.5").to_json()
        return drawn, document.replace(',\n    "models": [\n      "model",\n      "v2"\n    ]', "")

    assert play(second=True) == play(second=False)


def test_a_report_of_a_model_is_one_of_its_outputs(both):
    """Every label is known: the error is that of the table."""
    key = {f"item-{row}": ("cat", "dog", "owl")[row % 3] for row in range(90)}
    both.ingest(key, replace=True)
    table = pq.read_table("new.parquet").to_pylist()
    names = ("cat", "dog", "owl")
    wrong = [max(names, key=lambda name: row[f"prob_{name}"]) != key[row["id"]] for row in table]
    found = report(StoredStudy.open().of_model("v2"))
    assert found.estimates[0].estimate == pytest.approx(np.mean(wrong))


def test_a_study_that_may_only_be_read_has_its_models(both, monkeypatch):
    expected = read_outputs(StoredStudy.open().of_model("v2"))
    shutil.rmtree(StoredStudy.open().folder / "caches")
    make = models.atomic.make_folder

    def refuse(folder):
        if folder.name == "caches":
            raise PermissionError(13, "Permission denied", str(folder))
        make(folder)

    monkeypatch.setattr(models.atomic, "make_folder", refuse)
    with pytest.warns(UserWarning, match="may not be written"):
        assert read_outputs(StoredStudy.open().of_model("v2")) == expected
    assert not (StoredStudy.open().folder / "caches").exists()


def test_a_study_of_one_model_has_no_folder_of_models(study):
    Study.open().next(3)
    assert not (study.folder / "models").exists() and not (study.folder / "caches").exists()
    assert (study.folder / "study.toml").read_text().count("[[models]]") == 1


def test_another_seed_before_the_first_draw_keeps_the_models(begin_study, write_pool, folder):
    begin_study()
    write_pool(folder / "new.parquet", 90, seed=6)
    current = Study.open()
    current.add("v2", "new.parquet")
    current.change(seed=5, groups="place")
    assert StoredStudy.open().seed == 5
    model = StoredStudy.open().of_model("v2")
    assert model.cache().group_names == ("place",) and model.seed == 5
    assert (model.folder / "study.toml").read_text().count("[[models]]") == 2


def test_a_pool_that_has_moved_leaves_the_models_as_they_are(both):
    expected = read_outputs(StoredStudy.open().of_model("v2"))
    os.rename("pool.parquet", "moved.parquet")
    Study.create("moved.parquet")
    study = StoredStudy.open()
    assert [each.name for each in study.list_models()] == ["model", "v2"]
    assert read_outputs(study.of_model("v2")) == expected


def test_intervals_of_a_trained_model_come_from_later_draws(both, write_pool, folder, label_draws):
    write_pool(folder / "third.parquet", 90, seed=7)
    both.add("v3", "third.parquet", trained_on_labels=True)
    first = report(StoredStudy.open().of_model("v3")).estimates[0]
    assert first.estimate is None and first.reason == "label at least 2 of the drawn items"
    label_draws(StoredStudy.open(), 12)
    found = report(StoredStudy.open().of_model("v3"))
    assert 0 <= found.estimates[0].lower < found.estimates[0].upper <= 1
    assert any("items that were not drawn: 19." in note.text for note in found.notes)


def test_another_model_and_the_first_one_are_found_from_a_model(both, write_pool, folder):
    write_pool(folder / "third.parquet", 90, seed=7)
    both.add("v3", "third.parquet", trained_on_labels=False)
    study = StoredStudy.open()
    model = study.of_model("v2")
    assert read_outputs(model.of_model("model")) == read_outputs(study)
    assert read_outputs(model.of_model("v3")) == read_outputs(study.of_model("v3"))
    assert read_outputs(model.of_model()) == read_outputs(model)


def spoil(path: Path, way: str) -> None:
    """Make a file of outputs one that is not what was added."""
    if way == "missing":
        path.unlink()
    elif way == "text":
        path.write_text("hello")
    elif way == "truncated":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        table = pq.read_table(path)
        swapped = {"prob_cat": "prob_dog", "prob_dog": "prob_cat"}
        names = [swapped.get(name, name) for name in table.schema.names]
        pq.write_table(table.rename_columns(names), path)


@pytest.mark.parametrize("way", ["missing", "text", "truncated", "changed"])
def test_outputs_that_are_not_those_added_hurt_their_model_alone_and_can_be_given_again(both, way):
    expected = read_outputs(StoredStudy.open().of_model("v2"))
    before = both.report().estimates[0]
    path = StoredStudy.open().folder / "models" / "v2.parquet"
    spoil(path, way)
    assert both.report().estimates[0] == before
    for asked in ({"model": "v2"}, {"reference": "model"}, {"require": "error(v2)<=0.5"}):
        with pytest.raises(PoolError, match=re.escape(str(path))) as error:
            Study.open().report(**asked)
        assert "`study.add('v2', 'FILE')`" in error.value.hint
    assert not both.verify().passed
    # As the hint says; whether labels took part was said before.
    again = both.add("v2", "new.parquet")
    assert str(again) == "v2 is in the study already, with these outputs"
    assert (again.labels, again.earlier) == (19, 0)
    assert read_outputs(StoredStudy.open().of_model("v2")) == expected
    assert both.verify().passed
    assert [each.name for each in StoredStudy.open().list_models()] == ["model", "v2"]


def test_outputs_given_again_change_nothing_that_was_said_of_a_model(both, write_pool, folder):
    write_pool(folder / "third.parquet", 90, seed=7)
    both.add("v3", "third.parquet", trained_on_labels=True)
    both.ingest(dict.fromkeys(both.next(4).ids, "cat"))
    again = both.add("v3", "third.parquet")
    assert (again.labels, again.earlier, again.model.trained) == (4, 19, True)
    with pytest.raises(StudyError, match="has a model 'v3' already"):
        both.add("v3", "third.parquet", trained_on_labels=False)
    with pytest.raises(StudyError, match="has a model 'v3' already"):
        both.add("v3", "new.parquet")
    with pytest.raises(StudyError, match="has a model 'model' already"):
        both.add("model", "pool.parquet", trained_on_labels=False)


def test_the_lines_of_verify_stand_in_columns_whatever_models_are_called(both):
    both.add("a-longer-name", "new.parquet", trained_on_labels=False)
    lines = str(both.verify()).splitlines()
    assert {line[len("model a-longer-name")] for line in lines} == {" "}
    assert all(line[len("model a-longer-name") + 1] != " " for line in lines)


def test_models_have_votes_about_each_other_from_when_they_came(both, write_pool, folder):
    write_pool(folder / "third.parquet", 90, seed=7)
    both.add("v3", "third.parquet", trained_on_labels=False)
    write_pool(folder / "fourth.parquet", 90, seed=8)
    both.add("v4", "fourth.parquet", trained_on_labels=True)
    study = StoredStudy.open()
    rounds = {
        name: study.of_model(name).cache().vote_rounds for name in ("model", "v2", "v3", "v4")
    }
    assert rounds == {"model": (2, 3), "v2": (0, 3), "v3": (0, 0), "v4": (0, 0, 0)}


def test_a_report_says_that_a_model_is_judged_by_others_too(both):
    assert "1 further model" in str(both.report())
    os.remove("pool.parquet")
    assert "1 further model" in str(Study.open().report())


def read_history(name: str) -> list[tuple[list[float], str]]:
    """Probabilities of draws and parameters of the surrogate, of each round of a model."""
    study = StoredStudy.open().of_model(name)
    rounds = study.log(study.cache()).history
    return [(each.q.tolist(), repr(dict(each.params))) for each in rounds]


def test_votes_of_models_that_come_later_change_no_round(both, write_pool, folder):
    before = {name: read_history(name) for name in ("model", "v2")}
    write_pool(folder / "third.parquet", 90, seed=7)
    both.add("v3", "third.parquet", trained_on_labels=False)
    assert {name: read_history(name) for name in ("model", "v2")} == before
    assert both.verify().passed


def test_the_same_outputs_under_another_name_have_no_vote(both):
    both.add("again", "pool.parquet", trained_on_labels=False)
    both.add("v2.0", "new.parquet", trained_on_labels=False)
    study = StoredStudy.open()
    rounds = {name: study.of_model(name).cache().vote_rounds for name in ("model", "v2", "again")}
    assert rounds == {"model": (2,), "v2": (0,), "again": (0,)}
