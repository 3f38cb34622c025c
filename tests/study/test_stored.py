"""A study folder is there as a whole or not at all, found like git finds its own, and editable."""

import errno
import shutil
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.errors import (
    CacheDamaged,
    CacheRebuilt,
    ChoiceError,
    PoolChanged,
    PoolError,
    StorageError,
    StudyError,
)
from activetest.labels.annotators import resolve_answers
from activetest.ledger.ledger import Answer
from activetest.nouns.choices import Choices
from activetest.nouns.log import DECLINED, LABELLED, PENDING
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy, creating_study, find_items, write_study
from tests import makers
from tests.makers import init

CHOICES = Choices("error", ("error", "accuracy"), "agreement", budget=30, groups=("a*b",))
ROLES = {"uri": "pool.parquet", "task": "classification", "kind": "score", "groups": ["a*b"]}
ROLES |= {"outputs": ["score"]}


def create(folder, **changes) -> StoredStudy:
    given = {"pool": ROLES, "choices": CHOICES, "seed": 3, "fingerprint": "f", "rows": 9}
    with creating_study(folder) as building:
        write_study(building, folder, **given | changes)
    return StoredStudy.open(folder)


def test_a_study_comes_back_as_it_was_written(folder):
    pool = ROLES | {"positive": 'a "quoted" \\ é \x7f \n name', "outputs": ["score"]}
    create(folder / "here" / ".activetest", pool=pool)
    study = StoredStudy.open(folder / "here")
    assert study.choices == CHOICES
    assert study.pool == pool | {"uri": "../pool.parquet"}
    assert (study.seed, study.ledger.fingerprint, study.ledger.rows) == (3, "f", 9)


def test_a_study_is_never_created_over_another(folder):
    create(folder / ".activetest")
    with pytest.raises(StudyError, match="already"):
        create(folder / ".activetest", seed=5)
    (folder / ".activetest" / "study.toml").unlink()
    with pytest.raises(StudyError, match="already"):
        create(folder / ".activetest", seed=5)


def test_nothing_is_done_where_a_study_stands(folder):
    create(folder / ".activetest")
    with (
        pytest.raises(StudyError, match="already"),
        creating_study(folder / ".activetest"),
    ):
        pytest.fail("there was something to do")


@pytest.mark.parametrize("where", ["file/study", "/proc/study", "/proc/self/study"])
def test_a_folder_that_cannot_be_written_is_a_storage_error(folder, where):
    (folder / "file").write_text("a regular file")
    with pytest.raises(StorageError, match="cannot write .*study") as error:
        create(folder / where)
    assert "`folder`" in error.value.hint
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_creation_that_fails_leaves_nothing(folder):
    with pytest.raises(ChoiceError):
        create(folder / ".activetest", choices=replace(CHOICES, metric="rmse"))
    assert list(folder.iterdir()) == []


def test_a_good_edit_holds_for_the_rounds_to_come(study):
    next_batch(study, 2)
    path = study.folder / "study.toml"
    path.write_text(path.read_text().replace("floor = 0.35", "floor = 1"))
    next_batch(StoredStudy.open(), 2, new=True)
    first, second = StoredStudy.open().log(study.cache()).history
    assert (first.choices["floor"], second.choices["floor"]) == (0.35, 1)


def test_choices_are_updated_whole(study):
    study.update(replace(study.choices, floor=0.5))
    again = StoredStudy.open()
    assert again.choices == study.choices
    assert again.pool == study.pool
    assert again.uri == study.uri
    assert sorted(path.name for path in study.folder.iterdir()) == [
        "cache",
        "ledger.db",
        "pool.summary",
        "study.toml",
    ]


def test_a_study_and_its_pool_can_be_moved_together(study, folder, monkeypatch):
    batch = next_batch(study, 3)
    (folder / "project").mkdir()
    for name in (".activetest", "pool.parquet"):
        shutil.move(folder / name, folder / "project" / name)
    monkeypatch.chdir(folder / "project")
    moved = StoredStudy.open()
    assert moved.cache().size == 40
    assert next_batch(moved, 3).rows == batch.rows


def test_a_changed_pool_is_refused_and_its_restored_self_is_not(study, folder, write_pool):
    pool = folder / "pool.parquet"
    content = pool.read_bytes()
    write_pool(pool, 40, seed=9)
    with pytest.raises(PoolChanged, match="pool.parquet"):
        next_batch(study, 2)
    assert study.ledger.record().draws == ()
    pool.write_bytes(content)
    assert len(next_batch(study, 2).rows) == 2


def test_the_cache_is_rebuilt_when_it_is_gone_or_damaged(study):
    before = study.cache().hashes.copy()
    shutil.rmtree(study.folder / "cache")
    assert np.array_equal(study.cache().hashes, before)
    (study.folder / "cache" / "manifest.json").write_text("{")
    assert np.array_equal(study.cache().hashes, before)


def test_a_damaged_cache_is_built_again_as_long_as_its_study_is_there(study):
    kept = study.cache()
    makers.change_array(kept.folder, "hashes")
    alone = StoredStudy.open(study.folder).cache()
    assert alone.reopen is not None and alone.reopen() is None
    with pytest.raises(CacheDamaged):
        _ = alone.hashes
    with pytest.warns(CacheRebuilt):
        assert len(kept.hashes) == 40


def answer(id: str, annotator: str, label: str) -> Answer:
    return Answer(id, annotator, LABELLED if label else DECLINED, label)


def test_the_majority_of_annotators_decides_and_of_equals_the_earliest():
    answers = [answer("a", who, label) for who, label in [("1", "dog"), ("2", "cat"), ("3", "cat")]]
    answers += [answer("b", "1", "dog"), answer("b", "2", "cat")]
    answers += [answer("c", "1", ""), answer("c", "2", "cat"), answer("d", "1", "")]
    assert resolve_answers(answers) == {
        "a": (LABELLED, "cat"),
        "b": (LABELLED, "dog"),
        "c": (LABELLED, "cat"),
        "d": (DECLINED, ""),
    }


def test_the_log_holds_draws_in_order_and_supplied_labels_apart(study, label_file):
    cache = study.cache()
    ids = [row["id"] for row in next_batch(study, 3).rows]
    stranger = next(id for id in cache.ids(range(40)) if id not in ids)
    lines = (f"{ids[0]},owl,", f"{ids[2]},,declined", f"{stranger},cat,")
    ingest(study, label_file(*lines, header="id,label,status"))
    log = study.log(cache)
    assert cache.ids(log.rows) == ids
    assert log.status.tolist() == [LABELLED, PENDING, DECLINED]
    assert log.labels[0] == cache.classes.index("owl")
    assert np.isnan(log.labels[1:]).all()
    assert cache.ids(log.supplied_rows) == [stranger]
    assert log.supplied_status.tolist() == [LABELLED]
    assert log.supplied_round.tolist() == [2]
    assert len(log.history) == 1
    assert np.array_equal(log.history[0].rows, log.rows)
    assert np.array_equal(log.history[0].q, log.q)


def test_an_item_that_the_pool_does_not_have_is_named(study):
    cache = study.cache()
    assert find_items(["item-3", "item-0"], cache).tolist() == [
        cache.find(["item-3"])[0],
        cache.find(["item-0"])[0],
    ]
    with pytest.raises(StudyError, match="'item-99', which is no item of its pool"):
        find_items(["item-3", "item-99", "item-0", "item-98"], cache)


def test_a_study_whose_pool_is_gone_says_where_it_looks_and_how_to_name_the_new_place(
    study, folder
):
    """The remedy is the command in the hint, with the new place in it."""
    (folder / "sub").mkdir()
    study.folder.rename(folder / "sub" / "moved")
    moved = folder / "sub" / "moved"
    with pytest.raises(PoolError) as error:
        StoredStudy.open(moved).cache()
    assert str(folder / "sub" / "pool.parquet") in error.value.problem
    assert error.value.hint.endswith(f"`Study.create(newpath, {str(moved)!r})`")
    with pytest.raises(PoolError, match="the pool of this study is missing"):
        init(None, moved, floor=0.4)
    with pytest.raises(PoolError, match="the pool of this study is missing"):
        next_batch(StoredStudy.open(moved), 3)
    init(folder / "pool.parquet", moved)
    assert len(next_batch(StoredStudy.open(moved), 3)) == 3


def test_the_path_of_a_missing_pool_has_no_detours(study, folder):
    (folder / "deep").mkdir()
    study.folder.rename(folder / "deep" / ".activetest")
    text = (folder / "deep" / ".activetest" / "study.toml").read_text()
    moved = text.replace('"pool.parquet"', '"../gone/pool.parquet"')
    assert moved != text
    (folder / "deep" / ".activetest" / "study.toml").write_text(moved)
    study = StoredStudy.open(folder / "deep")
    assert study.find_missing_pool() == str(folder / "gone" / "pool.parquet")


def test_a_full_disk_is_told_and_nothing_is_built_elsewhere(study, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(StoredStudy, "_ensure_cache", fail)
    monkeypatch.setattr(StoredStudy, "_ensure_temporary_cache", lambda *args, **kwargs: 1 / 0)
    with pytest.raises(StorageError, match="No space left"):
        study.cache()


@pytest.mark.parametrize("label", ["cat", "1e999", "1e+308"])
def test_a_label_that_is_no_value_is_damage_in_a_study_of_values(folder, label):
    """No file can have brought it, but the ledger may be from elsewhere."""
    pool = pa.table({"id": ["a", "b", "c"], "pred": [0.5, 1.5, 2.5]})
    pq.write_table(pool, "pool.parquet")
    init("pool.parquet", seed=1)
    study = StoredStudy.open()
    answers = [Answer("a", "", LABELLED, "1.0"), Answer("b", "", LABELLED, label)]
    study.ledger.add_answers(answers, source="x", revision=0, numeric=True)
    with pytest.raises(StudyError, match="damaged: the label .* is no value"):
        study.log(study.cache())


def test_a_study_of_a_version_before_0_3_is_refused_by_every_command_and_stays(folder, capsys):
    place = folder / ".activetest"
    place.mkdir()
    makers.write_older_ledger(place / "ledger.db")
    (place / "study.toml").write_text('[pool]\nuri = "pool.parquet"\n[choices]\n')
    makers.write_pool(folder / "pool.parquet", 9)
    (folder / "labels.csv").write_text("id,label\nitem-1,cat\n")
    before = {path: path.read_bytes() for path in place.iterdir()}
    commands = ["init pool.parquet", "init", "next", "ingest labels.csv", "report", "status"]
    for words in (*commands, "export", "export --rescue", "verify"):
        assert main(words.split()) == 2, words
        said = capsys.readouterr().err
        assert "is from a version of activetest before 0.3" in said, words
        assert "activetest export" in said and "activetest import" in said
    assert {path: path.read_bytes() for path in place.iterdir()} == before
