"""Damage in a study is named, and a log of everything comes out of it."""

import csv
import io
import os
import shutil
import sqlite3
from contextlib import closing

import pytest

import activetest as at
from activetest.cli.app import main
from activetest.errors import ChoiceError, StorageError, StudyError
from activetest.study.export import COLUMNS
from tests.makers import change_array


@pytest.fixture
def face(folder, write_pool) -> at.Study:
    """Two rounds: labels replaced, declined, taken back, and of an item that was never drawn."""
    write_pool(folder / "pool.parquet", 60)
    study = at.Study.create("pool.parquet", seed=1, surrogate="linear")
    ids = study.next(4).ids
    study.ingest(dict.fromkeys(ids[:3], "cat"))
    study.ingest({ids[0]: "dog"}, replace=True)
    study.ingest([{"id": ids[3], "label": "", "status": "declined"}])
    study.ingest({ids[1]: "owl"}, replace=True)
    study.undo()
    pending = study.next(2).ids
    other = next(f"item-{row}" for row in range(60) if f"item-{row}" not in [*ids, *pending])
    study.ingest({other: "cat"})
    return study


def problems(study: at.Study) -> dict[str, str]:
    """{part: what is wrong with it} of damaged parts."""
    checks = at.Study.open(study.folder, damaged=True).verify().checks
    return {check.part: " ".join(check.problems) for check in checks if check.problems}


# --- verify


def test_a_whole_study_passes(face, capsys):
    found = face.verify()
    assert found.passed and problems(face) == {}
    assert main(["verify"]) == 0
    assert capsys.readouterr().out == f"{found}\n"
    assert str(found).splitlines()[-1] == f"head       {found.head}"


def test_a_changed_label_is_named_and_the_exit_code_is_two(face, capsys):
    with closing(sqlite3.connect(face.folder / "ledger.db")) as db, db:
        db.execute("UPDATE answers SET value = '\"owl\"' WHERE number = 2")
    assert list(problems(face)) == ["ledger"]
    assert "file of labels 1" in problems(face)["ledger"]
    assert main(["verify"]) == 2
    assert "damaged: file of labels 1" in capsys.readouterr().out


@pytest.mark.parametrize("harm", ["missing", "altered"])
def test_files_of_rounds_are_checked(face, harm):
    file = sorted((face.folder / "rounds").iterdir())[0]
    if harm == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert list(problems(face)) == ["rounds"]
    assert file.name in problems(face)["rounds"]


def test_the_other_parts_are_checked_one_by_one(face, folder, write_pool):
    change_array(face.folder / "cache", "probs")
    assert list(problems(face)) == ["cache"]
    shutil.rmtree(face.folder / "cache")
    assert problems(face) == {}
    write_pool(folder / "pool.parquet", 60, seed=5)
    assert list(problems(face)) == ["pool"]
    config = face.folder / "study.toml"
    config.write_text("[pool")
    assert "study.toml" in problems(face)
    config.unlink()
    assert "study.toml" in problems(face)


def test_an_edited_study_toml_is_no_damage(face):
    config = face.folder / "study.toml"
    config.write_text(config.read_text().replace("floor = 0.35", "floor = 0.5"))
    assert problems(face) == {}


def test_an_earlier_head_is_found_and_another_is_not(face, capsys):
    head = face.verify().head
    face.ingest({face.next().ids[0]: "cat"})
    assert face.verify().head != head
    for given in (head, head[:8].upper()):
        assert face.verify(contains=given).passed
    other = ("0" if head[0] != "0" else "1") + head[1:]
    assert not face.verify(contains=other).passed
    assert main(["verify", "--contains", other[:12]]) == 2
    for wrong in ("123", "no hash at all"):
        with pytest.raises(ChoiceError, match="no hash"):
            face.verify(contains=wrong)


# --- export


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_log_has_every_draw_and_every_answer(face, capsys):
    assert main(["export"]) == 0
    rows = read(capsys.readouterr().out)
    draws = {draw.id: draw for draw in face._current().ledger.record().draws}
    assert list(rows[0])[:3] == ["id", "round", "probability"]
    for row in rows:
        draw = draws.get(row["id"])
        assert row["round"] == ("" if draw is None else str(draw.round))
        assert draw is None or float(row["probability"]) == draw.q
    told = [(row["label"], row["status"], row["superseded"], row["former_label"]) for row in rows]
    assert told == [
        ("", "", "replaced", "cat"),
        ("dog", "labelled", "", ""),
        ("cat", "labelled", "", ""),
        ("", "", "taken back", "owl"),
        ("cat", "labelled", "", ""),
        ("", "declined", "", ""),
        ("", "", "", ""),
        ("", "", "", ""),
        ("cat", "labelled", "", ""),
    ]
    assert all(row["time"] for row in rows)
    frame = face.export().to_frame("pyarrow")
    assert (frame.num_rows, frame["probability"].null_count) == (9, 1)


def test_the_log_can_be_ingested_by_another_study(face, folder):
    face.export(path="log.csv")
    other = at.Study.create("pool.parquet", "other", seed=2)
    other.ingest("log.csv")
    known = [set(study._current().ledger.record().answers) for study in (face, other)]
    assert known[0] == known[1]


def test_a_file_that_is_there_is_replaced_only_by_force(face, folder, capsys):
    (folder / "log.csv").write_text("mine")
    with pytest.raises(StorageError, match="there already"):
        face.export(path="log.csv")
    assert main(["export", "-o", "log.csv"]) == 2
    assert "--force" in capsys.readouterr().err
    assert (folder / "log.csv").read_text() == "mine"
    assert main(["export", "-o", "log.csv", "--force"]) == 0
    assert read((folder / "log.csv").read_text())
    content = (folder / "pool.parquet").read_bytes()
    for path in ("pool.parquet", face.folder / "ledger.db"):
        with pytest.raises(StorageError, match="never written over"):
            face.export(path=path, force=True)
    assert (folder / "pool.parquet").read_bytes() == content


def test_another_name_of_a_file_of_the_study_is_not_written_over(face, folder):
    os.link(face.folder / "ledger.db", folder / "log.csv")
    with pytest.raises(StorageError, match="a file of the study"):
        face.export(path="log.csv", force=True)


@pytest.mark.skipif(os.name != "posix", reason="pipes with a name are of POSIX")
def test_a_log_can_go_into_a_pipe(face, folder):
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with open(reader, encoding="utf-8", newline="") as written:
        face.export(path="pipe")
        assert written.read() == face.export().to_csv()
    assert (folder / "pipe").is_fifo()


def test_columns_of_a_frame_have_a_type_also_where_nothing_is_in_them(folder, write_pool):
    write_pool(folder / "pool.parquet", 9)
    study = at.Study.create("pool.parquet", seed=1)
    study.next(2)
    types = dict.fromkeys(COLUMNS, "string")
    types |= {"round": "int64", "probability": "double", "known_to": "int64"}
    schema = study.export().to_frame("pyarrow").schema
    assert {field.name: str(field.type) for field in schema} == types


# --- rescue


def test_what_can_be_read_of_a_damaged_ledger_is_rescued(face, folder, capsys):
    path = face.folder / "ledger.db"
    whole = face.export().to_csv()
    with closing(sqlite3.connect(path)) as db:
        ((page,),) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'files'")
        ((size,),) = db.execute("PRAGMA page_size")
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = bytes(size)
    path.write_bytes(content)
    assert main(["status"]) == 2
    assert "export --rescue" in capsys.readouterr().err
    assert main(["export", "--rescue", "-o", "rescued.csv"]) == 0
    assert "the table files" in capsys.readouterr().err
    # Without the files nobody knows which one was taken back; no draw or answer is missing.
    kept = ("id", "round", "probability")
    before, after = (
        sorted(tuple(row[name] for name in kept) for row in read(text))
        for text in (whole, (folder / "rescued.csv").read_text())
    )
    assert before == after
    assert path.read_bytes() == bytes(content)


def test_labels_of_a_file_that_was_taken_back_are_not_rescued_as_labels_that_count(face):
    path = face.folder / "ledger.db"
    with closing(sqlite3.connect(path)) as db:
        ((page,),) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'files'")
        ((size,),) = db.execute("PRAGMA page_size")
    with open(path, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(bytes(size))
    log = at.Study.open(face.folder, damaged=True).export(rescue=True)
    assert any("table files" in problem for problem in log.problems)
    assert [row.former_label for row in log if row.superseded == "taken back"] == ["owl"]
    assert not any(row.label == "owl" for row in log)


def test_a_ledger_that_was_cut_off_gives_what_is_left(face):
    path = face.folder / "ledger.db"
    content = path.read_bytes()
    path.write_bytes(content[: -len(content) // 4])
    study = at.Study.open(face.folder, damaged=True)
    with pytest.raises(StudyError):
        study.export()
    try:
        assert study.export(rescue=True).problems
    except StudyError as error:
        assert "nothing can be read" in error.problem
    assert not study.verify().passed


def test_of_a_file_that_is_no_ledger_nothing_can_be_read(face):
    (face.folder / "ledger.db").write_bytes(b"not a ledger" * 1000)
    study = at.Study.open(face.folder, damaged=True)
    with pytest.raises(StudyError, match="nothing can be read"):
        study.export(rescue=True)
    with pytest.raises(StudyError):
        study.status()
    (face.folder / "ledger.db").unlink()
    with pytest.raises(StudyError, match="missing"):
        study.export(rescue=True)
    assert not study.verify().passed
