"""A study whose pool is not at hand: its reports are those with the pool, but for a note."""

import errno
import json
import os
import shutil
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache import summary
from activetest.errors import (
    ActivetestError,
    PoolChanged,
    PoolError,
    StorageError,
    StudyError,
    SummaryMissing,
)
from activetest.study import absent_pool
from activetest.study.folder import CACHE, SUMMARY
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from activetest.study.verify import verify
from tests.makers import init

ABSENT = "The pool is not at hand"


def lose_pool(folder: Path, *, cache: bool = True) -> None:
    (folder / "pool.parquet").unlink()
    if cache:
        shutil.rmtree(folder / ".activetest" / CACHE)


def read_report(**settings) -> tuple[dict, list[str]]:
    """The JSON of a report without the notes of an absent pool, and these."""
    document = json.loads(Study.open().report(**settings).to_json())
    absent = [note for note in document["notes"] if note.startswith(ABSENT)]
    document["notes"] = [note for note in document["notes"] if not note.startswith(ABSENT)]
    return document, absent


def add_columns(folder: Path) -> None:
    path = folder / "pool.parquet"
    table = pq.read_table(path)
    rows = range(len(table))
    table = table.append_column("weight", pa.array([1.0 + row % 3 for row in rows]))
    table = table.append_column("price", pa.array([1.0 + row % 2 for row in rows]))
    pq.write_table(table, path)


@pytest.mark.parametrize(
    "choices",
    [
        {"groups": ("place",)},
        {"groups": ("place",), "surrogate": "linear"},
        {"groups": ("place",), "interval": "anytime", "metric": ("recall[cat]",)},
        {"groups": ("place",), "weight": "weight", "price": "price"},
        {"groups": ("place",), "question": "identify"},
    ],
)
def test_numbers_are_those_with_the_pool(begin_study, label_draws, folder, write_pool, choices):
    write_pool(folder / "pool.parquet", 90, seed=5)
    add_columns(folder)
    prior = {"prior": "uniform"} if "question" in choices else {}
    init("pool.parquet", seed=1, **(prior | choices))
    for _ in range(2):
        label_draws(StoredStudy.open(), 10)
    value = StoredStudy.open().cache().group_values[0][0]
    settings = {"require": ["error<=0.9", f"error@place={value}<=0.5"]}
    with_pool, absent = read_report(**settings)
    assert not absent
    lose_pool(folder)
    without, absent = read_report(**settings)
    assert json.dumps(without) == json.dumps(with_pool)
    assert len(absent) == 1


def test_it_is_from_the_study_alone_on_another_machine(
    study, label_draws, folder, tmp_path_factory
):
    label_draws(study, 12)
    with_pool, _ = read_report()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(folder / ".activetest", elsewhere / ".activetest")
    shutil.rmtree(elsewhere / ".activetest" / CACHE)
    found = json.loads(Study.open(elsewhere).report().to_json())
    assert found["estimates"] == with_pool["estimates"]
    assert not (elsewhere / ".activetest" / CACHE).exists()


def test_a_page_without_the_pool_has_no_texts_and_all_else(study, label_draws, folder):
    label_draws(study, 12)
    lose_pool(folder)
    found = Study.open().report(details=True)
    assert found.details is not None
    assert all(item.text is None for item in found.details.worst_items)
    assert found.details.history
    found.save("report.html")


def test_draws_and_labels_need_the_pool(study, label_draws, folder, label_file):
    label_draws(study, 12)
    lose_pool(folder)
    read_report()
    with pytest.raises(PoolError, match="missing"):
        next_batch(StoredStudy.open(), 3)
    with pytest.raises(PoolError, match="missing"):
        Study.open().ingest(label_file("x,cat"))
    with pytest.raises(PoolError, match="missing"):
        Study.open().report(population=True, cluster="place")


def test_an_old_study_has_a_summary_after_any_report_with_the_pool(study, label_draws, folder):
    label_draws(study, 12)
    path = study.folder / SUMMARY
    path.unlink()
    with_pool, _ = read_report()
    assert path.exists()
    lose_pool(folder)
    assert read_report()[0] == with_pool


def test_without_a_summary_the_cache_serves_and_without_both_it_is_an_error(
    study, label_draws, folder
):
    label_draws(study, 12)
    with_pool, _ = read_report()
    lose_pool(folder, cache=False)
    (study.folder / SUMMARY).unlink()
    without, absent = read_report()
    assert without == with_pool
    assert absent
    shutil.rmtree(study.folder / CACHE)
    with pytest.raises(PoolError, match="keeps no summary"):
        report(StoredStudy.open())


def refuse_summary(monkeypatch, number: int) -> None:
    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(absent_pool, "keep_summary", fail)


def test_a_study_that_may_only_be_read_reports_without_keeping_anything(
    study, label_draws, monkeypatch
):
    label_draws(study, 12)
    refuse_summary(monkeypatch, errno.EACCES)
    with warnings.catch_warnings(action="error", category=SummaryMissing):
        assert report(StoredStudy.open()).counts.labeled == 12


def test_a_summary_that_cannot_be_read_is_an_error(study, label_draws, monkeypatch):
    label_draws(study, 12)
    refuse_summary(monkeypatch, errno.EIO)
    with pytest.raises(StorageError):
        report(StoredStudy.open())


def test_a_study_is_made_and_reports_where_its_summary_has_no_space(
    folder, write_pool, label_draws, monkeypatch
):
    write_pool(folder / "pool.parquet", 200)
    with monkeypatch.context() as patch:
        refuse_summary(patch, errno.ENOSPC)
        with pytest.warns(SummaryMissing, match="the study is there"):
            made = init("pool.parquet", "full", seed=1)
        study = StoredStudy.open("full")
        assert made.outcome == "created"
        assert not (study.folder / SUMMARY).exists()
        with pytest.warns(SummaryMissing, match=SUMMARY):
            label_draws(study, 12)
        with pytest.warns(SummaryMissing, match="reports need the pool"):
            assert report(StoredStudy.open("full")).counts.labeled == 12
    report(StoredStudy.open("full"))
    assert (study.folder / SUMMARY).exists()


def test_an_address_that_does_not_answer_is_no_pool_at_hand(study, label_draws, folder):
    place = folder / "pool.parquet"
    init(place.as_uri(), "remote", seed=1, groups=("place",))
    far = StoredStudy.open("remote")
    label_draws(far, 12)
    with_pool = json.loads(Study.open("remote").report().to_json())
    lose_pool(folder, cache=False)
    shutil.rmtree(folder / "remote" / CACHE)
    without = json.loads(Study.open("remote").report().to_json())
    assert without["estimates"] == with_pool["estimates"]
    assert any(note.startswith(ABSENT) for note in without["notes"])


def test_a_changed_pool_is_no_absent_one(study, label_draws, folder, write_pool):
    label_draws(study, 12)
    write_pool(folder / "pool.parquet", 40, seed=9)
    with pytest.raises(PoolChanged):
        report(StoredStudy.open())


def test_groups_that_are_added_are_kept(study, label_draws, folder):
    label_draws(study, 12)
    before = (study.folder / SUMMARY).read_bytes()
    Study.open().change(groups=["predicted"])
    assert (study.folder / SUMMARY).read_bytes() != before
    with_pool, _ = read_report()
    lose_pool(folder)
    assert read_report()[0] == with_pool


def test_a_surrogate_that_saw_more_than_is_kept_is_an_error(
    study, label_draws, folder, monkeypatch
):
    Study.open().change(surrogate="linear")
    label_draws(StoredStudy.open(), 12)
    path = study.folder / SUMMARY
    path.unlink()
    # Room for the cache's own arrays, and none for features.
    taken = summary._count_bytes(StoredStudy.open().cache().manifest)
    path.unlink()
    monkeypatch.setattr(summary, "MOST_BYTES", -(-taken // 40))
    read_report()
    assert summary.read_summary(path).parts == ()
    lose_pool(folder)
    with pytest.raises(StudyError, match="all features"):
        report(StoredStudy.open())


def test_verify_notices_damage_and_the_report_does_not_use_it(study, label_draws, folder):
    label_draws(study, 12)
    path = study.folder / SUMMARY

    def check() -> object:
        return next(each for each in verify(study.folder).checks if each.part == "summary")

    assert check().found.startswith("ok: 40 items")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert check().problems
    lose_pool(folder)
    with pytest.raises(ActivetestError, match="damaged"):
        report(StoredStudy.open())
    path.unlink()
    assert check().found.startswith("none")
