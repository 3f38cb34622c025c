"""activetest init: the study is created as a whole, changed on request, and never damaged."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cache.pieces import PieceIds
from activetest.errors import (
    ActivetestError,
    ChoiceError,
    PoolChanged,
    PoolError,
    StorageError,
    StudyError,
)
from activetest.item_statistics.defaults import BINARY
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from tests.makers import init


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A working directory with a pool in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    write(tmp_path / "pool.parquet")
    return tmp_path


def write(path: Path, rows: int = 60, seed: int = 0, **more) -> None:
    """A small pool of two classes."""
    rng = np.random.default_rng(seed)
    prob = np.round(rng.random(rows), 6)
    columns = {
        "id": [f"item-{row}" for row in range(rows)],
        "prob_no": 1 - prob,
        "prob_yes": prob,
        "x": rng.standard_normal(rows),
        "sex": rng.choice(["m", "f"], rows),
    }
    pq.write_table(pa.table(columns | more), path)


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_study_is_created_with_the_defaults(place):
    made = init("pool.parquet", seed=7)
    study = StoredStudy.open()
    assert made.outcome == "created" and made.rows == 60 and made.seed == study.seed == 7
    assert study.choices == made.choices
    assert (made.choices.metric, made.choices.surrogate) == ("error", "auto")
    assert (made.choices.acquisition, made.choices.floor) == ("optimal", 0.35)
    assert made.choices.metrics == (*BINARY, "log-loss", "brier")
    assert study.ledger.fingerprint == made.fingerprint
    assert Path(study.uri).samefile("pool.parquet")
    assert sorted(path.name for path in place.iterdir()) == [".activetest", "pool.parquet"]


def test_a_regression_pool_has_its_own_defaults(place):
    write(place / "r.parquet", pred=np.arange(60) / 7)
    made = init("r.parquet", outputs=("pred",))
    assert (made.choices.metric, made.choices.surrogate) == ("rmse", "auto")


@pytest.mark.parametrize("metric", ["mean", "mean[0,1]", ("rmse", "mean")])
def test_a_score_is_a_value_where_the_metric_is_of_values(place, metric):
    write(place / "s.parquet", score=np.linspace(0, 1, 60))
    names = ["id", "score", "x"]
    pq.write_table(pq.read_table(place / "s.parquet", columns=names), place / "s.parquet")
    made = init("s.parquet", "values", metric=metric)
    assert (made.schema.task, made.schema.outputs) == ("regression", ("score",))
    assert made.schema.features == ("x",)
    assert init("s.parquet", "also", task="regression").schema.outputs == ("score",)
    made = init("s.parquet", "classes", metric="rate[pass]", classes=("fail", "pass"))
    assert (made.schema.task, made.schema.kind) == ("classification", "score")
    with pytest.raises(ChoiceError, match="a classification pool has no metric"):
        init("s.parquet", "both", metric=("error", "mean"))
    with pytest.raises(ChoiceError, match="a classification pool has no metric"):
        init("s.parquet", "said", metric="mean", task="classification")


def test_hard_labels_have_the_metrics_that_exist_for_them(place):
    pq.write_table(pa.table({"pred": ["a", "b"]}), "hard.parquet")
    assert init("hard.parquet").choices.metrics == BINARY
    pq.write_table(pa.table({"pred": ["a", "b", "c"]}), "three.parquet")
    assert init("three.parquet", "three").choices.metrics == ("error", "accuracy")
    columns = {"prob_a": [0.2] * 3, "prob_b": [0.2] * 3, "prob_c": [0.6] * 3}
    pq.write_table(pa.table(columns), "probs.parquet")
    expected = ("error", "accuracy", "log-loss", "brier")
    assert init("probs.parquet", "probs").choices.metrics == expected


def test_seeds_differ_unless_given(place):
    seeds = {init("pool.parquet", folder=f"s{k}").seed for k in range(3)}
    assert len(seeds) == 3


def test_init_again_changes_only_what_is_given(place):
    first = init("pool.parquet", seed=7, floor=0.2, groups=("sex",))
    second = init("pool.parquet", budget=200, metric="brier")
    assert second.outcome == "updated" and second.seed == 7
    assert (second.choices.floor, second.choices.budget) == (0.2, 200)
    assert second.choices.metric == "brier"
    assert second.schema == first.schema and second.choices.groups == ("sex",)
    assert second.fingerprint == first.fingerprint


def test_groups_can_be_added_later(place):
    write(place / "pool.parquet", age=np.arange(60) % 3)
    assert init("pool.parquet").schema.features == ("x", "age")
    made = init("pool.parquet", groups=("age", "sex"))
    assert made.schema.features == ("x",) and made.choices.groups == ("age", "sex")
    assert init("pool.parquet", floor=0.5).choices.groups == ("age", "sex")


@pytest.mark.parametrize(
    "wishes",
    [
        {"id": "key"},
        {"outputs": ("no", "yes")},
        {"features": ()},
        {"classes": ("left", "right")},
        {"positive": "yes"},
    ],
)
def test_what_was_said_about_columns_is_kept(place, wishes):
    key = [f"k{row}" for row in range(60)]
    half = np.full(60, 0.5)
    write(place / "pool.parquet", key=key, no=half, yes=half)
    first = init("pool.parquet", **wishes)
    second = init("pool.parquet", floor=0.1)
    assert second.schema == first.schema and second.fingerprint == first.fingerprint


def test_another_pool_is_an_error_and_changes_nothing(place):
    init("pool.parquet", seed=1)
    before = snapshot(place / ".activetest")
    write(place / "other.parquet", seed=5)
    pq.write_table(pa.table({"id": [1], "pred": [1.5]}), "odd.parquet")
    for other in ("other.parquet", "odd.parquet"):
        with pytest.raises(PoolChanged) as caught:
            init(other, floor=0.1)
        assert "`Study.create(pool, folder)`" in caught.value.hint
    assert snapshot(place / ".activetest") == before


def test_a_seed_that_is_none_is_an_error(place):
    with pytest.raises(ChoiceError, match="-1"):
        init("pool.parquet", folder="s", seed=-1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"metric": "f7"},
        {"metric": "rmse"},
        {"surrogate": "crystal-ball"},
        {"acquisition": "balld"},
        {"floor": 1.5},
        {"floor": float("nan")},
        {"level": 95},
        {"budget": 0},
        {"groups": ("nope",)},
        {"id": "nope"},
        {"positive": "maybe"},
    ],
)
def test_a_choice_that_makes_no_sense_is_an_error_and_changes_nothing(place, wrong):
    before = snapshot(place)
    with pytest.raises(ActivetestError) as caught:
        init("pool.parquet", **wrong)
    assert caught.value.hint
    assert snapshot(place) == before and not (place / ".activetest").exists()
    init("pool.parquet")
    before = snapshot(place)
    with pytest.raises(ActivetestError):
        init("pool.parquet", **wrong)
    assert snapshot(place) == before


def test_a_pool_that_fails_in_the_last_row_leaves_no_study(place):
    write(place / "bad.parquet", prob_yes=[*np.full(59, 0.5), float("nan")])
    with pytest.raises(PoolError, match="row 59"):
        init("bad.parquet", outputs=("prob_yes", "prob_no"))
    assert sorted(path.name for path in place.iterdir()) == ["bad.parquet", "pool.parquet"]


def test_a_dry_run_says_the_same_and_writes_nothing(place):
    before = snapshot(place)
    tried = init("pool.parquet", dry_run=True, floor=0.1)
    assert snapshot(place) == before and tried.outcome == "checked" and tried.seed is None
    made = init("pool.parquet", floor=0.1)
    assert (tried.fingerprint, tried.choices) == (made.fingerprint, made.choices)
    assert tried.notices == made.notices
    before = snapshot(place)
    assert init("pool.parquet", dry_run=True, floor=0.9).choices.floor == 0.9
    assert snapshot(place) == before


def test_errors_in_a_csv_pool_name_the_csv(place):
    Path("pool.csv").write_text("id,pred\na,yes\na,no\n")
    with pytest.raises(PoolError, match="rows 0 and 1 of pool.csv .* same id 'a'"):
        init("pool.csv")
    assert sorted(path.name for path in place.iterdir()) == ["pool.csv", "pool.parquet"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "parts"])
def test_ids_that_unicode_calls_equal_are_duplicates(place, kind):
    ids = ["caf\u00e9", "tea", "cafe\u0301"]
    if kind == "csv":
        rows = "".join(f"{id},yes\n" for id in ids)
        Path("pool.csv").write_text("id,pred\n" + rows, encoding="utf-8")
    elif kind == "parquet":
        pq.write_table(pa.table({"id": ids, "pred": ["yes", "no", "no"]}), "pool.csv")
    else:
        Path("pool.csv").mkdir()
        for part, id in enumerate(ids):
            table = pa.table({"id": [id, f"{part}"], "pred": ["yes", "no"]})
            pq.write_table(table, f"pool.csv/part-{part}.parquet")
    with pytest.raises(PoolError, match=r"rows \d and \d of .* have the same id 'caf") as caught:
        init("pool.csv")
    assert "ids must be unique" in caught.value.hint
    assert not Path(".activetest").exists()


def test_a_study_whose_ids_unicode_calls_equal_goes_on(place, monkeypatch):
    table = pa.table({"id": ["\u00e9", "e\u0301", "a"], "pred": ["yes", "no", "no"]})
    pq.write_table(table, "old.parquet")
    with monkeypatch.context() as patch:
        # As earlier versions took it.
        patch.setattr(PieceIds, "hash_canonical", lambda ids: ids._store.read("hashes"))
        made = init("old.parquet")
    shutil.rmtree(made.folder / "cache")
    assert StoredStudy.open().cache().find(["\u00e9", "e\u0301"]).tolist() == [0, 1]


def test_the_study_folder_can_be_anywhere_and_come_from_the_environment(place, monkeypatch):
    assert init("pool.parquet", folder="deep/down/study").folder == Path("deep/down/study")
    monkeypatch.setenv("ACTIVETEST_STUDY", str(place / "elsewhere"))
    assert init("pool.parquet").folder == place / "elsewhere"
    assert Path(StoredStudy.open().uri).samefile("pool.parquet")


def test_a_folder_with_something_else_in_it_is_no_place_for_a_study(place):
    with pytest.raises(StudyError, match="is no study"):
        init("pool.parquet", folder=place)
    with pytest.raises(StudyError, match="is no study"):
        init("pool.parquet", folder="pool.parquet")


def test_a_study_that_lost_its_choices_is_not_taken_for_something_else(place):
    init("pool.parquet", seed=1)
    (place / ".activetest" / "study.toml").unlink()
    before = snapshot(place)
    with pytest.raises(StudyError, match="without its study.toml"):
        init("pool.parquet", seed=1)
    assert snapshot(place) == before


def test_ids_of_a_converted_pool_stay_text_when_it_is_converted_again(place):
    rows = "".join(f"{row:03d},0.{row}\n" for row in range(1, 9))
    (place / "pool.csv").write_text("key,score\n" + rows)
    init("pool.csv", id="key", seed=1)
    assert init("pool.csv", budget=5).outcome == "updated"
    assert StoredStudy.open().cache().ids([0]) == ["001"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere /proc is a name as any other")
def test_a_folder_that_cannot_be_written_is_a_storage_error(place):
    # Not even root may write there.
    with pytest.raises(StorageError) as caught:
        init("pool.parquet", folder="/proc/study")
    assert caught.value.hint


@pytest.mark.skipif(os.name != "posix", reason="limits of files are of POSIX")
def test_a_full_disk_is_a_storage_error_that_leaves_nothing(place):
    code = """
import resource, signal, sys
from activetest.errors import StorageError
from tests.makers import init
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    init("pool.parquet")
except StorageError as error:
    print(error.problem, "|", error.hint)
"""
    root = Path(__file__).parents[2]
    ran = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        # Python itself would write half of a compiled module.
        env={**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert "cannot write" in ran.stdout and "space" in ran.stdout, ran.stderr
    assert [path.name for path in place.iterdir()] == ["pool.parquet"]


def test_the_notices_tell_a_newcomer_what_was_understood(place):
    notices = init("pool.parquet").notices
    assert notices == (
        "60 items, 2 classes: no, yes",
        "probabilities: columns prob_no, prob_yes",
        "ids: column 'id'",
        "features: x",
        "not used: sex",
        "could be a group: sex (`groups=['sex']` reports by it)",
        "1 feature does not foretell the model's answers, and changes nothing",
    )


def test_a_study_toml_holds_what_the_pool_needs(place):
    init("pool.parquet", groups=("sex",))
    pool = StoredStudy.open().pool
    assert pool["uri"] == "pool.parquet" and pool["groups"] == ["sex"]
    assert json.dumps(pool)


def test_a_surrogate_for_the_other_task_is_refused_before_anything_is_written(folder, write_pool):
    write_pool(folder / "pool.parquet", 10)
    with pytest.raises(ChoiceError, match="'residual' is for regression, and this pool is class"):
        init("pool.parquet", surrogate="residual")
    assert not (folder / ".activetest").exists()


@pytest.mark.parametrize("name", ["pool.parquet", "pool.csv"])
def test_a_pool_in_the_home_folder_is_found_again(tmp_path, monkeypatch, write_pool, name):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    # Where Windows looks for it, too.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write_pool(tmp_path / "pool.parquet", 20)
    if name.endswith(".csv"):
        rows = "".join(f"{row},0.{row + 10}\n" for row in range(20))
        (tmp_path / name).write_text(f"id,score\n{rows}")
    init(f"~/{name}", seed=1)
    assert len(next_batch(StoredStudy.open(), 2)) == 2
