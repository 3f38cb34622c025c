"""A study is extended by further items whole or not at all, from any file that a pool can be."""

import io
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, PoolError, StorageError, StudyError
from activetest.study import extend
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import write_pool


@pytest.fixture
def current(study) -> Study:
    """A study of 40 items."""
    return Study.open()


@pytest.fixture
def more(folder) -> pd.DataFrame:
    """Another 30 items."""
    frame = pq.read_table(write_pool(folder / "week2.parquet", 30, seed=1)).to_pandas()
    frame["id"] = "new-" + frame["id"].astype(str)
    frame.to_parquet(folder / "week2.parquet")
    return frame


def label(current: Study, count: int, **ways) -> list[str]:
    ids = current.next(count, **ways).ids
    current.ingest(dict.fromkeys(ids, "cat"))
    return ids


def list_files() -> list[str]:
    folder = StoredStudy.open().folder
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def write_stream(frame: pd.DataFrame) -> io.BytesIO:
    stream = io.BytesIO()
    frame.to_parquet(stream)
    stream.seek(0)
    return stream


WRITERS = {
    "week2.parquet": lambda frame, path: frame.to_parquet(path),
    "week2.csv": lambda frame, path: frame.to_csv(path, index=False),
    "week2.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_any_format_of_a_pool_is_taken(current, more, folder, name):
    (folder / "week2.parquet").unlink()
    WRITERS[name](more, folder / name)
    extended = current.extend(name)
    assert (extended.part.name, extended.part.rows, extended.items) == ("week2", 30, 70)
    assert str(extended) == "week2 added: 30 new items, and 70 in all parts"
    stored = StoredStudy.open()
    assert [each.name for each in stored.list_parts()] == ["pool", "week2"]
    assert stored.cache().part_ends == (40, 70) and current.status().counts.n_pool == 70


@pytest.mark.parametrize("make", [lambda frame: frame, write_stream])
def test_a_frame_and_an_open_file_need_a_name(current, more, make):
    with pytest.raises(ChoiceError, match="the new part has no name"):
        current.extend(make(more))
    assert current.extend(make(more), part="week2").part.name == "week2"


def test_labels_and_draws_count_for_the_part_that_they_are_of(current, more):
    label(current, 20)
    current.extend("week2.parquet")
    label(current, 20)
    stored = StoredStudy.open()
    log = stored.log(stored.cache())
    assert [(each.part, each.parts[0].planned) for each in log.history] == [
        (1, 20),
        (1, 3),
        (2, 17),
    ]
    assert (log.rows[log.round == 3] >= 40).all() and (log.rows[log.round < 3] < 40).all()
    assert current.report(part="pool").counts.labeled == 23
    assert current.report(part="week2").counts.labeled == 17
    assert current.report().counts.labeled == 40


def test_new_items_can_be_drawn_from_a_part_alone(current, more):
    current.extend("week2.parquet")
    assert all(id.startswith("new-") for id in current.next(8, part="week2").ids)
    with pytest.raises(ChoiceError, match="the study has no part 'week3'"):
        current.next(8, new=True, part="week3")


def test_items_that_come_again_stay_in_the_part_in_which_they_came_first(current, more, folder):
    old = pq.read_table(folder / "pool.parquet").to_pandas()
    extended = current.extend(pd.concat([old.iloc[:5], more]), part="week2")
    assert (extended.repeated, extended.part.rows, extended.items) == (5, 30, 70)
    assert "5 items were there already with the same outputs" in str(extended)
    with pytest.raises(PoolError, match="has no new item"):
        current.extend(more, part="week3")


def test_other_outputs_of_a_known_item_are_refused_and_change_nothing(current, more, folder):
    old = pq.read_table(folder / "pool.parquet").to_pandas()
    old[["prob_cat", "prob_dog"]] = old[["prob_dog", "prob_cat"]].to_numpy()
    files, rows = list_files(), current.status().counts.n_pool
    with pytest.raises(PoolError, match="has other outputs for"):
        current.extend(pd.concat([old, more]), part="week2")
    assert (list_files(), current.status().counts.n_pool) == (files, rows)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda frame: frame.drop(columns="prob_cat"), "has no column 'prob_cat'"),
        (lambda frame: frame.drop(columns="place"), "has no column 'place'"),
        (lambda frame: frame.assign(prob_cat="much"), "prob_cat"),
        (lambda frame: frame.assign(prob_cat=7.0), "prob_cat|probabilities"),
        (lambda frame: frame.assign(id="same"), "have the same id"),
        (lambda frame: frame.iloc[:0], "rows|empty"),
    ],
)
def test_files_that_cannot_be_a_part_are_refused_and_change_nothing(
    current, more, folder, change, problem
):
    files = list_files()
    with pytest.raises(PoolError, match=problem):
        current.extend(change(more), part="week2")
    assert list_files() == files and len(StoredStudy.open().list_parts()) == 1


def test_features_that_are_missing_stand_at_their_means(current, more):
    features = list(StoredStudy.open().schema.features)
    extended = current.extend(more.drop(columns=features), part="week2")
    assert f"it has no {features[0]}" in str(extended) and "stand at their means" in str(extended)
    cache = StoredStudy.open().cache()
    design = cache.rows(40, 70).design[:, 1:]
    assert np.allclose(design, design[0])


def test_what_is_known_of_old_items_stays_as_it_was(current, more):
    before = StoredStudy.open().cache().rows(0, 40)
    current.extend(more, part="week2")
    after = StoredStudy.open().cache().rows(0, 40)
    assert np.array_equal(before.design, after.design)
    assert np.array_equal(before.outputs.known_probs, after.outputs.known_probs)


@pytest.mark.parametrize("name", ["", "-x", "a b", "ü", "pool", "POOL"])
def test_names_that_no_part_can_have_are_refused(current, more, name):
    with pytest.raises((ChoiceError, StudyError), match="no part can be called|has a part"):
        current.extend(more, part=name)


def test_a_name_is_made_of_that_of_the_file(current, more, folder):
    more.to_parquet(folder / "2026-11 (new).parquet")
    assert current.extend("2026-11 (new).parquet").part.name == "part-2026-11--new-"


def test_items_without_ids_cannot_be_told_from_others(folder, more):
    table = pq.read_table(folder / "week2.parquet").drop_columns(["id"])
    Study.create(table, folder / "plain", seed=1)
    with pytest.raises(StudyError, match="the pool has no ids"):
        Study.open(folder / "plain").extend(table, part="week2")


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"question": "identify", "groups": ["place"]}, "is about one pool"),
        ({"interval": "sequential", "budget": 30}, "planned looks"),
    ],
)
def test_choices_about_one_pool_are_refused(folder, more, settings, problem):
    write_pool(folder / "pool.parquet", 40)
    Study.create("pool.parquet", folder / "other", seed=1, **settings)
    with pytest.raises(StudyError, match=problem):
        Study.open(folder / "other").extend(more, part="week2")


def test_choices_about_one_pool_are_not_taken_afterwards(current, more):
    current.extend(more, part="week2")
    with pytest.raises(StudyError, match="largest scores"):
        current.change(selection="top")
    assert current.change(metric="f1[dog]").choices.metric == "f1[dog]"
    assert current.status().counts.n_pool == 70


def test_outputs_of_further_models_are_not_there_for_new_items(current, more, folder):
    write_pool(folder / "v2.parquet", 40, seed=2)
    current.add("v2", "v2.parquet")
    with pytest.raises(StudyError, match="outputs of models beside its pool"):
        current.extend(more, part="week2")


def test_a_model_of_one_pool_is_not_added_afterwards(current, more):
    current.extend(more, part="week2")
    with pytest.raises(StudyError, match="a further model is about one pool"):
        current.add("v2", "week2.parquet")


def test_a_part_whose_file_is_gone_is_missed(current, more):
    current.extend(more, part="week2")
    stored = StoredStudy.open()
    (path,) = map(stored.folder.joinpath, ["parts/week2.parquet"])
    path.unlink()
    with pytest.raises(PoolError, match="a part of the population is missing"):
        StoredStudy.open().cache()


def test_labels_that_came_meanwhile_are_not_overwritten(current, more, monkeypatch):
    plain = extend.build_cache

    def label_first(*given, **named):
        label(Study.open(), 3)
        return plain(*given, **named)

    monkeypatch.setattr(extend, "build_cache", label_first)
    with pytest.raises(StudyError, match="meanwhile"):
        current.extend(more, part="week2")
    assert len(StoredStudy.open().list_parts()) == 1


def test_a_full_disk_leaves_the_study_as_it_was(current, more, monkeypatch):
    def refuse(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(extend.atomic, "sync_file", refuse)
    with pytest.raises(StorageError):
        current.extend(more, part="week2")
    assert len(StoredStudy.open().list_parts()) == 1


def test_a_study_of_parts_is_verified_and_reported_without_its_pool(current, more, folder):
    label(current, 20)
    current.extend(more, part="week2")
    label(current, 20)
    verified = current.verify()
    assert verified.passed, str(verified)
    (draws,) = (each for each in verified.checks if each.part == "draws")
    share = float(re.search(r"account for ([\d.]+) %", draws.found)[1])
    assert 80 < share < 120 and "(!)" not in draws.found
    shown = current.report().estimates[0]
    (folder / "pool.parquet").unlink()
    absent = Study.open().report()
    assert absent.estimates[0].estimate == pytest.approx(shown.estimate)


def test_the_same_seed_draws_the_same_items_of_parts(folder, more):
    drawn = []
    for place in ("a", "b"):
        write_pool(folder / "pool.parquet", 40)
        Study.create("pool.parquet", folder / place, seed=3)
        current = Study.open(folder / place)
        first = label(current, 10)
        current.extend(more, part="week2")
        drawn.append((first, label(current, 20)))
    assert drawn[0] == drawn[1]


def test_columns_of_numbers_are_taken_in_the_type_of_the_pool(current, more):
    table = pa.Table.from_pandas(more)
    place = table.schema.get_field_index("prob_cat")
    single = table.set_column(place, "prob_cat", table["prob_cat"].cast(pa.float32()))
    assert current.extend(single, part="week2").part.rows == 30


def test_classes_that_come_later_are_taken_where_they_are_open(folder):
    first = pa.table({"id": [f"a{i}" for i in range(30)], "pred": ["cat", "dog"] * 15})
    second = pa.table({"id": [f"b{i}" for i in range(30)], "pred": ["dog", "yak"] * 15})
    Study.create(first, folder / "open", seed=1)
    current = Study.open(folder / "open")
    current.ingest(dict.fromkeys(current.next(10).ids, "cat"))
    extended = current.extend(second, part="second")
    assert "it has 1 class that the study had not: yak" in str(extended)
    stored = StoredStudy.open(folder / "open")
    assert stored.cache().classes == ("cat", "dog", "yak")
    current.ingest(dict.fromkeys(current.next(20).ids, "yak"))
    whole, alone = current.report(metrics="rate[yak]"), current.report(part="pool")
    assert whole.estimates[0].estimate > 0.2 and alone.estimates[0].estimate is not None
    assert current.change(metric="accuracy").choices.metric == "accuracy"
    assert StoredStudy.open(folder / "open").cache().classes == ("cat", "dog", "yak")
    third = pa.table({"id": ["c1", "c2"], "pred": ["yak", "emu"]})
    current.extend(third, part="third")
    assert StoredStudy.open(folder / "open").cache().classes == ("cat", "dog", "yak", "emu")


def test_classes_that_are_named_stay(folder, more):
    first = pa.table({"id": [f"a{i}" for i in range(30)], "pred": ["cat", "dog"] * 15})
    Study.create(first, folder / "named", seed=1, classes=["cat", "dog"])
    second = pa.table({"id": ["b1", "b2"], "pred": ["dog", "yak"]})
    with pytest.raises(PoolError, match="yak"):
        Study.open(folder / "named").extend(second, part="second")


def test_more_values_of_a_group_than_a_report_can_show_are_refused(current, more, monkeypatch):
    from activetest.pool import groups

    monkeypatch.setattr(groups, "MOST_VALUES", 3)
    with pytest.raises(PoolError, match="more than 3 different values"):
        current.extend(more.assign(place=["farm", "field"] * 15), part="week2")
    assert len(StoredStudy.open().list_parts()) == 1


def test_items_without_a_verdict_of_the_judge_are_left_out_of_a_part(folder):
    first = pa.table({"id": [f"a{i}" for i in range(30)], "verdict": ["good", "bad"] * 15})
    Study.create(first, folder / "judged", seed=1, judge="verdict")
    second = pa.table({"id": ["a0", "b1", "b2", "b3"], "verdict": ["good", None, "bad", "good"]})
    extended = Study.open(folder / "judged").extend(second, part="second")
    assert (extended.part.rows, extended.repeated, extended.items) == (2, 1, 32)


def test_columns_inside_of_others_have_no_parts(folder):
    nested = pa.table(
        {
            "id": [f"a{i}" for i in range(20)],
            "out": pa.array([{"pred": name} for name in ["cat", "dog"] * 10]),
        }
    )
    pq.write_table(nested, folder / "nested.parquet")
    Study.create("nested.parquet", folder / "nest", seed=1, outputs="out.pred")
    current = Study.open(folder / "nest")
    pq.write_table(nested.set_column(0, "id", pa.array([f"b{i}" for i in range(20)])), "b.parquet")
    with pytest.raises(StudyError, match="stand inside of others"):
        current.extend("b.parquet")
    assert current.report().counts.n_pool == 20


def test_a_part_that_cannot_be_read_beside_the_pool_changes_nothing(current, more, monkeypatch):
    plain = extend.write_part

    def write_other(first, files, title, schema, target, **how):
        missing = plain(first, files, title, schema, target, **how)
        table = pq.read_table(target)
        pq.write_table(table.set_column(0, "id", pa.array(range(30), pa.int16())), target)
        return missing

    monkeypatch.setattr(extend, "write_part", write_other)
    with pytest.raises(PoolError, match="column 'id' is string in"):
        current.extend(more, part="week2")
    assert current.report().counts.n_pool == 40
