"""A frame's pool is data of the study: kept whole, found again, and never another one."""

import hashlib
import io
import os
import shutil
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import activetest as at
from activetest.cli.app import main
from activetest.errors import ChoiceError, PoolChanged, PoolError
from activetest.study.study import Study

DAY = 86400


@pytest.fixture
def frame(folder, write_pool, tmp_path_factory) -> pa.Table:
    """A pool of 40 items that is in no file of the working directory."""
    return pq.read_table(write_pool(tmp_path_factory.mktemp("pools") / "pool.parquet", 40))


def kept(folder: Path) -> list[str]:
    """The names of the frames that a study keeps, the address in study.toml checked."""
    names = sorted(path.name for path in (folder / "pool").iterdir())
    address = Study.open(folder)._stored.pool["uri"]
    assert address.startswith("study://pool/") and address.rsplit("/", 1)[1] in names
    return names


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_study_keeps_its_frame(frame, folder):
    study = Study.create(frame, seed=1, groups="place")
    assert parts(folder) == [".activetest"]
    assert parts(study.folder) == ["cache", "ledger.db", "pool", "pool.summary", "study.toml"]
    (name,) = kept(study.folder)
    stored = pq.read_table(study.folder / "pool" / name)
    assert stored.equals(frame)
    assert study.setup.uri == str(study.folder / "pool" / name)


def test_a_study_of_a_frame_is_that_of_a_file_with_the_same_rows(frame, folder):
    pq.write_table(frame, "pool.parquet")
    of_file = Study.create("pool.parquet", "file", seed=1)
    of_frame = Study.create(frame, "frame", seed=1)
    assert of_frame.setup.fingerprint == of_file.setup.fingerprint
    assert of_frame.setup.notices == of_file.setup.notices
    assert of_frame.next(5).ids == of_file.next(5).ids


def test_it_goes_on_without_the_frame_the_cache_and_in_another_place(frame, folder):
    study = Study.create(frame, "first", seed=1)
    ids = study.next(20).ids
    study.ingest(dict.fromkeys(ids, "cat"))
    before = study.report()
    del frame
    shutil.rmtree(folder / "first" / "cache")
    (folder / "below").mkdir()
    shutil.move(folder / "first", folder / "below" / "second")
    moved = Study.open("below/second")
    after = moved.report()
    assert after.estimates == before.estimates and after.pool == before.pool
    assert not set(moved.next(5, show="place").ids) & set(ids)
    assert moved.setup.uri.startswith(str(folder / "below" / "second" / "pool"))
    assert main(["status", "--study", "below/second"]) == 0


def test_reports_call_it_pool(frame):
    report = Study.create(frame, seed=1).report()
    assert report.pool == "study://pool"
    assert "of 40 items in pool" in str(report) and "parquet" not in str(report)


def test_the_same_frame_again_is_the_same_study(frame):
    study = Study.create(frame, seed=1)
    ids, names = study.next(3).ids, kept(study.folder)
    written = (study.folder / "pool" / names[0]).stat().st_mtime_ns
    again = Study.create(frame.slice(0), floor=0.5)
    assert again.setup.outcome == "updated" and again.choices.floor == 0.5
    assert again.next(3).ids == ids and kept(study.folder) == names
    assert (study.folder / "pool" / names[0]).stat().st_mtime_ns == written


def test_settings_change_without_the_frame(frame, folder):
    study = Study.create(frame, seed=1)
    names = kept(study.folder)
    study.change(floor=0.5)
    # Another seed before the first draw starts the study again.
    study.change(seed=2, groups="place")
    assert main(["init", "--metric", "f1"]) == 0
    assert (study.seed, study.choices.floor, study.choices.metric) == (2, 0.5, "f1")
    assert kept(study.folder) == names and study.next(3, show="place").round == 1


def test_another_frame_is_refused_and_changes_nothing(frame, folder):
    study = Study.create(frame, seed=1)
    study.next(3)
    names = kept(study.folder)
    os.utime(study.folder / "pool" / names[0], (time.time() - DAY,) * 2)
    other = frame.slice(0, 30)
    for call in (Study.create, Study.check):
        with pytest.raises(PoolChanged, match="the frame is not the pool") as caught:
            call(other, floor=1)
        assert "Study.create" in caught.value.hint
    assert kept(study.folder) == names and parts(study.folder) == [
        "cache",
        "ledger.db",
        "pool",
        "pool.summary",
        "study.toml",
    ]
    assert Study.open().choices.floor == 0.35


def test_a_frame_with_a_new_column_takes_the_place_of_the_old_one(frame):
    study = Study.create(frame, seed=1)
    ids = study.next(3).ids
    size = pa.array(["small" if row % 2 else "large" for row in range(40)])
    wider = frame.append_column("size", size)
    again = Study.create(wider, groups=["place", "size"])
    assert again.choices.groups == ("place", "size")
    assert again.next(3, show="size").ids == ids
    shutil.rmtree(study.folder / "cache")
    assert Study.open().next(3, show="size").ids == ids


def test_pools_that_nothing_names_go_when_they_are_old_and_other_files_stay(frame):
    study = Study.create(frame, seed=1)
    (first,) = kept(study.folder)
    wider = frame.append_column("size", pa.array(["a"] * 40))
    Study.create(wider)
    assert len(kept(study.folder)) == 2
    own = study.folder / "pool" / "notes.parquet"
    own.write_text("mine")
    for path in (study.folder / "pool").iterdir():
        os.utime(path, (time.time() - DAY,) * 2)
    Study.create(wider)
    assert first not in kept(study.folder) and own.exists()
    assert len(kept(study.folder)) == 2


def test_an_old_pool_that_cannot_be_removed_is_no_error(frame):
    study = Study.create(frame, seed=1)
    stuck = study.folder / "pool" / f"{'0' * 32}.parquet"
    stuck.mkdir()
    os.utime(stuck, (time.time() - DAY,) * 2)
    assert Study.create(frame, floor=0.5).choices.floor == 0.5
    assert stuck.exists()


def test_a_damaged_copy_is_repaired_by_the_frame(frame):
    study = Study.create(frame, seed=1)
    (name,) = kept(study.folder)
    path = study.folder / "pool" / name
    path.write_bytes(path.read_bytes()[:-100])
    shutil.rmtree(study.folder / "cache")
    with pytest.raises(PoolError):
        Study.open().next(3)
    assert Study.create(frame).next(3).round == 1


def test_a_study_of_a_file_may_take_a_frame_with_the_same_items_and_back(frame, folder):
    pq.write_table(frame, "pool.parquet")
    study = Study.create("pool.parquet", seed=1)
    ids = study.next(3).ids
    Study.create(frame)
    (folder / "pool.parquet").unlink()
    assert Study.open().next(3).ids == ids and len(kept(study.folder)) == 1
    pq.write_table(frame, "pool.parquet")
    Study.create("pool.parquet")
    assert Study.open().setup.uri == str(folder / "pool.parquet")


def test_a_check_writes_nothing(frame, folder):
    checked = Study.check(frame, "study")
    assert checked.rows == 40 and checked.uri == "the frame"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "settings", "problem"),
    [
        (lambda frame: frame, {"metric": "acuracy"}, "acuracy"),
        (lambda frame: frame, {"outputs": ["nowhere"]}, "nowhere"),
        (lambda frame: frame.slice(0, 0), {}, "the frame has no rows"),
        (lambda frame: pa.concat_tables([frame, frame]), {}, "of the frame .* have the same id"),
        (lambda frame: frame.select(["id"]), {}, "column"),
    ],
)
def test_a_frame_or_setting_that_cannot_serve_leaves_nothing(
    frame, folder, change, settings, problem
):
    with pytest.raises(at.ActivetestError, match=problem) as caught:
        Study.create(change(frame), "study", **settings)
    assert list(folder.iterdir()) == []
    text = caught.value.problem + caught.value.hint
    assert ".pool-" not in text and "/" not in text.replace("study/", "")


def test_a_folder_of_other_files_is_no_place_for_a_study(frame, folder):
    (folder / "data" / "pool").mkdir(parents=True)
    (folder / "data" / "pool" / "mine.parquet").write_text("mine")
    with pytest.raises(at.StudyError, match="no study"):
        Study.create(frame, "data")
    assert (folder / "data" / "pool" / "mine.parquet").read_text() == "mine"
    assert parts(folder / "data") == ["pool"]


@pytest.mark.parametrize("name", ["train", "other_models", "costs"])
def test_frames_of_other_files_are_refused(frame, folder, name):
    with pytest.raises(ChoiceError, match=f"`{name}` is of type Table") as caught:
        Study.create(frame, **{name: frame})
    assert "path" in caught.value.hint and list(folder.iterdir()) == []


def test_columns_of_a_kept_frame_are_completed(frame):
    from activetest.cli import completion

    Study.create(frame, seed=1)
    assert completion._find_address(None).endswith(".parquet")
    assert Path(completion._find_address(None)).is_file()


@pytest.mark.parametrize(
    ("name", "hint"), [(None, '`frame.rename_axis("id")`'), ("row", "`id='row'`")]
)
def test_rows_are_not_numbered_where_their_index_says_otherwise(name, hint, frame, folder):
    pytest.importorskip("pandas", reason="the index is that of pandas")
    shuffled = frame.drop_columns("id").to_pandas().rename_axis(name).iloc[::-1]
    with pytest.raises(PoolError, match="no column of ids") as raised:
        Study.create(shuffled, seed=1)
    assert raised.value.hint.startswith(f"{hint} takes the ids from it")
    assert parts(folder) == []
    with pytest.raises(PoolError, match="no column of ids"):
        at.simulate(shuffled, {})
    by_index = Study.create(shuffled.rename_axis("row"), "by index", id="row", seed=1)
    assert by_index.setup.schema.id == "row"
    assert Study.create(shuffled.reset_index(drop=True), "by number").setup.schema.id is None
    of_ids = frame.to_pandas().iloc[::-1]
    assert Study.create(of_ids, "of ids").setup.schema.id == "id"


STREAM = b"id,score,label\n007,0.25,0\n008,0.75,1\n009,0.5,1\n"


def write_parquet_stream() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"id": ["007", "008", "009"], "score": [0.25, 0.75, 0.5]}), file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (STREAM, "CSV"),
        (b'{"id": "007", "score": 0.5}\n{"id": "008", "score": 0.25}\n', "JSON Lines"),
        (write_parquet_stream(), "Parquet"),
    ],
)
def test_an_open_file_is_kept_in_the_study_and_says_what_it_was(folder, content, title):
    study = Study.create(io.BytesIO(content), "study", seed=1)
    (kept,) = (folder / "study" / "pool").iterdir()
    assert kept.suffix == ".parquet" and not (folder / "study" / "conversion").exists()
    digest = hashlib.sha256(content).hexdigest()
    found = [each for each in study.setup.notices if each.startswith("read from the open file")]
    assert len(found) == 1 and title in found[0] and digest in found[0]
    study = Study.open("study")
    assert any(digest in each for each in study.setup.notices)
    study.next(1)
    assert study.ingest({"007": "1", "008": "1"}).new == 2
    assert study.report().counts.n_pool in (2, 3)
    again = Study.create(io.BytesIO(content), "study", floor=0.5)
    assert again.choices.floor == 0.5 and [*kept.parent.iterdir()] == [kept]


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "is empty"), (b"\0" * 9, "of no format"), (b"id,score\n1,2\n3\n", "Expected 2 columns")],
)
def test_an_open_file_that_is_no_pool_is_named_and_leaves_nothing(folder, content, problem):
    with pytest.raises(PoolError, match=problem) as caught:
        Study.create(io.BytesIO(content), "study")
    assert caught.value.problem.startswith("the open file") and caught.value.hint
    assert not any(folder.iterdir())
    with pytest.raises(PoolError, match="open as text"):
        Study.create(io.StringIO("id,score\na,1\n"), "study")


def test_standard_input_is_a_pool(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(STREAM)))
    assert main(["init", "-", "--seed", "1"]) == 0
    assert "read from standard input, CSV: 47 bytes" in capsys.readouterr().out
    assert main(["next", "-n", "2"]) == 0
    (folder / "labels.csv").write_bytes(STREAM)
    assert main(["ingest", "labels.csv"]) == main(["report"]) == main(["verify"]) == 0
    assert main(["init", "--level", "0.9"]) == 0
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"id,score\nx\n")))
    assert main(["init", "-", "--study", "other"]) == 2
    assert "standard input" in capsys.readouterr().err and not (folder / "other").exists()


def test_creating_a_study_again_removes_frames_that_nobody_reads_and_a_dry_run_does_not(
    frame, folder
):
    study = Study.create(frame, seed=1)
    (name,) = kept(study.folder)
    stale = study.folder / "pool" / f"{'0' * 32}.parquet"
    shutil.copy(study.folder / "pool" / name, stale)
    os.utime(stale, (time.time() - DAY,) * 2)
    study.change(dry_run=True, level=0.9)
    assert stale.exists()
    Study.create(frame, seed=1)
    assert not stale.exists() and kept(study.folder) == [name]


def test_a_stream_of_another_encoding_says_what_to_pipe_it_through():
    with pytest.raises(PoolError, match="the open file is not UTF-8, from line 2") as caught:
        at.inspect(io.BytesIO(b"id,pred\n\xe9,1\n"))
    assert caught.value.hint == (
        "save it as UTF-8, or pipe it through: iconv -f WINDOWS-1252 -t UTF-8"
    )
