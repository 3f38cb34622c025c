"""A batch is on the disk before it is seen, and seen again until it is answered."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError, LabelError, PoolError, StorageError
from activetest.study import next as verb
from activetest.study.again import next_again
from activetest.study.ingest import ingest, undo
from activetest.study.next import Batch, next_batch, save_batch
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests import exports
from tests.makers import init

ROOT = Path(__file__).parents[2]
PATH = {"PYTHONPATH": str(ROOT)}


def ids(batch: Batch) -> list[str]:
    return [row["id"] for row in batch.rows]


def draws(study: StoredStudy) -> list[tuple]:
    return [(draw.round, draw.id, draw.q) for draw in study.ledger.record().draws]


def test_the_pending_batch_is_shown_until_it_is_answered(study, label_file):
    first = next_batch(study, 4)
    assert (first.round, first.repeated, len(set(ids(first)))) == (1, False, 4)
    before = draws(study)
    again = next_batch(study, 2)
    assert (again.rows, again.repeated) == (first.rows, True)
    assert draws(study) == before
    ingest(study, label_file(*(f"{id},cat" for id in ids(first)[1:])))
    assert ids(next_batch(study, 4)) == ids(first)[:1]
    ingest(study, label_file(f"{ids(first)[0]},dog"))
    second = next_batch(study, 4)
    assert (second.round, second.repeated) == (2, False)
    assert not set(ids(second)) & set(ids(first))


def test_new_always_draws_and_all_pending_items_are_shown_in_order(study):
    first, second = next_batch(study, 2), next_batch(study, 3, new=True)
    assert second.round == 2
    assert ids(next_batch(study, 1)) == ids(first) + ids(second)


def test_the_same_study_draws_the_same_items(folder, write_pool):
    write_pool(folder / "pool.parquet", 40)
    drawn = []
    for name in ("one", "two"):
        init("pool.parquet", folder=name, seed=5)
        study = StoredStudy.open(name)
        next_batch(study, 3)
        next_batch(study, 3, new=True)
        drawn.append(draws(study))
    assert drawn[0] == drawn[1]


def test_probabilities_are_those_of_draws_without_replacement(study):
    next_batch(study, 40)
    probs = [draw.q for draw in study.ledger.record().draws]
    assert all(0 < prob <= 1 for prob in probs)
    assert probs[-1] == pytest.approx(1)


def test_supplied_items_are_not_drawn_even_when_taken_back_after_a_round_knew_them(
    study, label_file
):
    every = study.cache().ids(range(40))
    ingest(study, label_file(*(f"{id},cat" for id in every[:30])))
    next_batch(study, 2)
    undo(study)
    assert set(ids(next_batch(study, 40, new=True))) <= set(every[30:])
    assert next_batch(study, 5, new=True).rows == []


def test_a_pool_that_is_used_up_gives_an_empty_batch(study):
    assert len(next_batch(study, 100).rows) == 40
    empty = next_batch(study, 1, new=True)
    assert empty == Batch(None, [], False)
    assert "nothing is left" in empty.summary()
    assert len(next_batch(study, 1).rows) == 40


def test_columns_of_the_pool_are_shown_beside_the_ids(study):
    batch = next_batch(study, 3, show=("x1", "place"))
    assert batch.columns == ("id", "label", "x1", "place")
    shown = study.open_pool().show(study.cache().find(ids(batch)), ("x1",))["x1"]
    assert [row["x1"] for row in batch.rows] == shown
    assert batch.to_csv().splitlines()[0] == "id,label,x1,place"
    objects = [json.loads(line) for line in batch.to("jsonl").splitlines()]
    assert objects == batch.rows


@pytest.mark.parametrize(
    ("count", "show", "error", "problem"),
    [
        (0, (), ChoiceError, "`n` is 0"),
        (-3, (), ChoiceError, "`n` is -3"),
        (3, ("colour",), PoolError, "no column 'colour'"),
        (3, ("label",), ChoiceError, "label.*that column of the batch"),
    ],
)
def test_a_bad_choice_draws_nothing(study, count, show, error, problem):
    with pytest.raises(error, match=problem):
        next_batch(study, count, show=show)
    assert draws(study) == []


def test_a_batch_is_saved_and_ids_with_commas_are_quoted(study, folder):
    batch = save_batch(study, folder / "batch.csv", "csv", lambda: next_batch(study, 2))
    assert (folder / "batch.csv").read_text() == batch.to_csv()
    assert Batch(1, [{"id": 'a,"b"', "label": ""}], False).to_csv() == 'id,label\n"a,""b""",\n'


@pytest.mark.parametrize(
    "where", ["nowhere/batch.csv", "pool.parquet/batch.csv", ".", "/proc/x.csv"]
)
def test_a_file_that_cannot_be_written_is_found_out_before_anything_is_drawn(study, folder, where):
    for path in (folder / where, Path(where)):
        with pytest.raises(StorageError, match="cannot write") as caught:
            save_batch(study, path, "csv", lambda: next_batch(study, 2))
        assert caught.value.hint.startswith("choose another `path`")
    assert draws(study) == []


@pytest.mark.skipif(os.name != "posix", reason="pipes with a name are of POSIX")
def test_a_link_stays_a_link_and_a_pipe_a_pipe(study, folder):
    (folder / "link.csv").symlink_to("batch.csv")
    batch = save_batch(study, folder / "link.csv", "csv", lambda: next_batch(study, 2))
    assert (folder / "link.csv").is_symlink()
    assert (folder / "batch.csv").read_text() == batch.to_csv()
    os.mkfifo(folder / "pipe")
    with subprocess.Popen(["cat", folder / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        save_batch(study, folder / "pipe", "csv", lambda: next_batch(study, 2))
        assert reader.stdout.read() == batch.to_csv()
    assert (folder / "pipe").is_fifo()


def test_a_file_with_labels_that_nobody_ingested_is_not_overwritten(study, folder, label_file):
    batch = next_batch(study, 2)
    path = label_file(f"{ids(batch)[0]},cat")
    with pytest.raises(LabelError, match="1 label the study does not know"):
        save_batch(study, path, "csv", lambda: next_batch(study, 2))
    ingest(study, path)
    save_batch(study, path, "csv", lambda: next_batch(study, 2))
    assert path.read_text() == f"id,label\n{ids(batch)[1]},\n"


FILLED = {
    "UTF-16": "id,label\nitem-1,cat\n".encode("utf-16"),
    "Windows-1252": "id,label\nitem-1,caf\u00e9\n".encode("cp1252"),
    "a comma too many": b"id,label\nitem-1,cat,\n",
    "two answers": b"id,label\nitem-1,cat\nitem-1,dog\n",
    "a status of its own": b"id,label,status\nitem-1,,perhaps\n",
    "another header": b"ID,Label\nitem-1,cat\n",
    "JSON lines": b'{"id": "item-1", "label": "cat"}\n',
    "a text": b"what I know about item-1\n",
    "deep brackets": b"[" * 100_000,
}


@pytest.mark.parametrize("content", ["id,name\nitem-1,cat\n", "name,label\nitem-1,cat\n"])
def test_a_file_that_does_not_begin_as_a_batch_is_not_read_whole(content, study, folder):
    """Mistakes inside of it are nobody's business."""
    path = folder / "work.csv"
    path.write_text(content)
    with pytest.raises(LabelError) as raised:
        save_batch(study, path, "csv", lambda: next_batch(study, 2))
    assert raised.value.problem.endswith("is there already, and is no batch that can be replaced")


@pytest.mark.parametrize("kind", FILLED)
def test_a_file_that_is_no_open_batch_is_not_overwritten(kind, study, folder):
    path = folder / "work.csv"
    path.write_bytes(FILLED[kind])
    drawn = len(study.ledger.record().draws)
    with pytest.raises(LabelError) as raised:
        save_batch(study, path, "csv", lambda: next_batch(study, 2))
    assert str(path) in raised.value.problem and "`force=True`" in raised.value.hint
    assert path.read_bytes() == FILLED[kind]
    assert len(study.ledger.record().draws) == drawn
    batch = save_batch(study, path, "csv", lambda: next_batch(study, 2), force=True)
    assert path.read_text() == batch.to_csv()


def test_neither_the_pool_nor_the_ledger_is_overwritten(study, pool_file):
    for path in (Path(pool_file), study.folder / "ledger.db", study.folder / "study.toml"):
        before = path.read_bytes()
        for force in (False, True):
            with pytest.raises(StorageError, match="is never written over"):
                save_batch(study, path, "csv", lambda: next_batch(study, 2), force=force)
        assert path.read_bytes() == before
    assert draws(study) == []


@pytest.mark.parametrize("key", ["train", "other_models", "costs"])
def test_no_file_that_was_given_to_the_study_is_overwritten(folder, write_pool, key):
    write_pool(folder / "pool.parquet", 40)
    pool = pq.read_table(folder / "pool.parquet")
    (folder / "costs.csv").write_text("predicted,cat,dog,owl\ncat,0,5,1\ndog,1,0,1\nowl,1,1,0\n")
    label = pa.array(["cat", "dog"] * 20)
    pq.write_table(pool.append_column("label", label), folder / "train.parquet")
    others = pool.select(["id"]).append_column("surrogate_prob_0", pa.array([[0.5, 0.5, 0.0]] * 40))
    pq.write_table(others, folder / "others.parquet")
    name = {"train": "train.parquet", "other_models": "others.parquet", "costs": "costs.csv"}[key]
    init("pool.parquet", seed=1, **{key: name})
    study, before = StoredStudy.open(), (folder / name).read_bytes()
    for force in (False, True):
        with pytest.raises((LabelError, StorageError)) as raised:
            save_batch(study, name, "csv", lambda: next_batch(study, 2), force=force)
    assert "is the file of" in raised.value.problem
    assert (folder / name).read_bytes() == before and draws(study) == []


def test_labels_that_were_ingested_and_have_changed_since_are_not_overwritten(study, label_file):
    batch = next_batch(study, 2)
    path = label_file(f"{ids(batch)[0]},cat")
    ingest(study, path)
    path.write_text(f"{path.read_text()}{ids(batch)[1]},dog\n")
    for force in (False, True):
        with pytest.raises((LabelError, StorageError)) as raised:
            save_batch(study, path, "csv", lambda: next_batch(study, 2), force=force)
    assert "a label file that was ingested" in raised.value.problem
    assert path.read_text().endswith("dog\n")


@pytest.mark.parametrize("corrected", ["{},dog,", "{},,declined"])
def test_an_answer_that_was_corrected_in_the_file_is_not_overwritten(study, folder, corrected):
    first, second = ids(next_batch(study, 2))
    path = folder / "batch.csv"
    path.write_text(f"id,label,status\n{first}, cat ,\n{second},,skipped\n")
    ingest(study, path)
    save_batch(study, path, "csv", lambda: next_batch(study, 2))
    filled = f"id,label,status\n{corrected.format(first)}\n"
    path.write_text(filled)
    with pytest.raises(LabelError, match="1 label the study does not know"):
        save_batch(study, path, "csv", lambda: next_batch(study, 2))
    assert path.read_text() == filled
    ingest(study, path, replace=True)
    save_batch(study, path, "csv", lambda: next_batch(study, 2))


def test_labels_that_are_saved_while_a_round_is_computed_are_not_overwritten(study, folder):
    path = folder / "batch.csv"
    first = ids(save_batch(study, path, "csv", lambda: next_batch(study, 1)))[0]
    filled = f"id,label\n{first},cat\n"

    def draw() -> Batch:
        path.write_text(filled)
        return next_batch(study, 2, new=True)

    with pytest.raises(LabelError, match="1 label the study does not know"):
        save_batch(study, path, "csv", draw)
    assert path.read_text() == filled
    ingest(study, path)
    assert len(save_batch(study, path, "csv", lambda: next_batch(study, 2)).rows) == 2


def test_a_column_that_is_not_of_the_pool_is_somebodys_work(study, folder):
    path = folder / "batch.csv"
    save_batch(study, path, "csv", lambda: next_batch(study, 2, show=("place", "x1")))
    save_batch(study, path, "csv", lambda: next_batch(study, 2))
    for filled in ("id,label,notes\nitem-1,,look again\n", '{"id": "item-1", "notes": "no"}\n'):
        path.write_text(filled)
        with pytest.raises(LabelError, match="has a column 'notes'|no batch"):
            save_batch(study, path, "csv", lambda: next_batch(study, 2))
        assert path.read_text() == filled
    save_batch(study, path, "csv", lambda: next_batch(study, 2), force=True)


def test_what_a_killed_next_left_is_swept(study, folder):
    code = (
        "import os, signal\nfrom activetest.study import next as verb\n"
        "verb.next_batch = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from activetest.study.study import Study\nStudy.open().next(2, path='batch.csv')\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], cwd=folder, env=os.environ | PATH, check=False)
        assert len(list(folder.glob(".batch.csv.activetest-*.tmp"))) == 1
    (study.folder / ".cache.activetest-0badcafe.tmp").mkdir()
    save_batch(study, folder / "batch.csv", "csv", lambda: next_batch(study, 2))
    assert not list(folder.rglob("*.tmp"))


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_an_earlier_batch_without_answers_is_replaced(format, study, folder):
    path = folder / "batch"
    first = save_batch(study, path, format, lambda: next_batch(study, 2))
    second = save_batch(study, path, format, lambda: next_batch(study, 2, new=True))
    assert len(first.rows) == 2 and len(second.rows) == 2
    assert path.read_text() == second.to(format)


def test_a_filled_file_with_semicolons_is_not_overwritten(study, folder, label_file):
    path = label_file(f"{ids(next_batch(study, 2))[0]};cat", header="id;label")
    with pytest.raises(LabelError, match="1 label the study does not know"):
        save_batch(study, path, "csv", lambda: next_batch(study, 2))
    assert path.read_text().startswith("id;label")


def test_labels_that_arrive_while_a_round_is_computed_are_not_ignored(
    study, label_file, monkeypatch
):
    """The other process writes between reading the ledger and recording the round."""
    path = label_file(*(f"item-{row},cat" for row in range(20)))
    plan, seen = verb.plan_rounds, []

    def plan_slowly(log, *rest, **others):
        seen.append(len(log.supplied_rows))
        if len(seen) == 1:
            ingest(StoredStudy.open(), path)
        return plan(log, *rest, **others)

    monkeypatch.setattr(verb, "plan_rounds", plan_slowly)
    batch = next_batch(study, 5)
    assert seen == [0, 20]
    assert not {f"item-{row}" for row in range(20)} & set(ids(batch))


def test_concurrent_processes_get_disjoint_batches(study, folder):
    code = (
        "from activetest.cli.app import main; raise SystemExit(main(['next', '--new', '--n', '4']))"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0] * 3, outputs
    batches = [output.splitlines()[1:] for output, _ in outputs]
    assert [len(batch) for batch in batches] == [4] * 3
    assert len({line for batch in batches for line in batch}) == 12
    assert sorted({draw[0] for draw in draws(study)}) == [1, 2, 3]


def test_a_number_of_new_items_that_is_not_drawn_is_no_secret(study):
    next_batch(study, 3)
    assert (
        next_batch(study, 3).summary()
        == "3 items still waiting for labels (`new=True` draws others)"
    )
    assert next_batch(study, 10).summary() == next_batch(study, 3).summary()
    assert next_batch(study, 4).summary() == (
        "3 items still waiting for labels, so 4 new ones were not drawn (`new=True` draws others)"
    )


def test_fewer_items_than_asked_for_say_why(study):
    assert next_batch(study, 30).summary() == "round 1: 30 items drawn"
    batch = next_batch(study, 30, new=True)
    assert batch.summary() == "round 2: 10 items drawn (only 10 items were left)"


TASKS = ("label-studio", "argilla", "xlsx")


@pytest.mark.parametrize("format", TASKS)
def test_tasks_of_any_format_are_replaced_while_they_have_no_answers(format, study, folder):
    shown = ("place",)
    first = save_batch(study, "tasks", format, lambda: next_batch(study, 3, show=shown))
    again = save_batch(study, "tasks", format, lambda: next_batch(study, 3, show=shown))
    assert again.rows == first.rows and again.repeated
    # In place of a batch of another format, too.
    save_batch(study, "tasks", "csv", lambda: next_batch(study, 3))
    save_batch(study, "tasks", format, lambda: next_batch(study, 3))
    assert ingest(study, "tasks").blank == 3


def answer(format: str, id: str) -> bytes:
    """The file that a tool makes when somebody has answered a task."""
    task = {"activetest_id": id, "activetest_order": "0000001"}
    if format == "label-studio":
        return exports.write_label_studio([(task, [exports.annotate(1, 1, exports.choose("cat"))])])
    if format == "argilla":
        return exports.write_argilla([(id, [("cat", "u", "submitted")])], flat=False)
    return exports.write_xlsx(
        [("id", "label", "annotator", "status", "activetest_order"), (id, "cat", "", "", 1)]
    )


@pytest.mark.parametrize("format", TASKS)
def test_tasks_with_answers_are_not_replaced_without_force(format, study, folder):
    batch = next_batch(study, 3)
    path = folder / "tasks"
    path.write_bytes(answer(format, batch.rows[0]["id"]))
    before = path.read_bytes()
    with pytest.raises(LabelError, match="1 label the study|no batch that can be replaced"):
        save_batch(study, path, format, lambda: next_batch(study, 3))
    assert path.read_bytes() == before
    save_batch(study, path, format, lambda: next_batch(study, 3), force=True)
    assert ingest(study, path).blank == 3


def test_a_workbook_is_replaced_once_the_study_knows_its_answers(study, folder):
    save_batch(study, "tasks.xlsx", "xlsx", lambda: next_batch(study, 3))
    book = openpyxl.load_workbook("tasks.xlsx")
    book["tasks"]["B2"] = "cat"
    book.save("tasks.xlsx")
    with pytest.raises(LabelError, match="1 label the study does not know"):
        save_batch(study, "tasks.xlsx", "xlsx", lambda: next_batch(study, 3))
    assert ingest(study, "tasks.xlsx").new == 1
    batch = save_batch(study, "tasks.xlsx", "xlsx", lambda: next_batch(study, 3))
    assert len(batch) == ingest(study, "tasks.xlsx").blank == 2


@pytest.mark.parametrize("format", TASKS)
def test_tasks_with_a_column_of_notes_are_not_replaced(format, study, folder):
    batch = next_batch(study, 2, show=["place"])
    noted = replace(batch, columns=(*batch.columns, "note"))
    (folder / "tasks").write_bytes(noted.encode(format))
    with pytest.raises(LabelError, match="has a column 'note', which no batch of this study has"):
        save_batch(study, folder / "tasks", format, lambda: next_batch(study, 2))


def test_the_order_of_tasks_goes_on_from_round_to_round(study):
    first = next_batch(study, 3)
    both = next_batch(study, 2, new=True)
    assert first.orders == (1, 2, 3) and both.orders == (4, 5)
    waiting = next_batch(study, 5)
    assert waiting.orders == (1, 2, 3, 4, 5)
    data = [task["data"] for task in json.loads(waiting.to_label_studio())]
    assert [each["activetest_id"] for each in data] == ids(waiting)
    assert sorted(data, key=lambda each: each["activetest_order"]) == data


def test_tasks_are_text_or_a_file(study, folder):
    batch = next_batch(study, 3)
    for written in (batch.to_label_studio, batch.to_argilla):
        assert written(folder / "tasks.json", force=True) is None
        assert (folder / "tasks.json").read_text() == written()


def test_second_opinions_are_tasks_as_well(study, folder):
    batch = next_batch(study, 3)
    ingest(study, [{"id": id, "label": "cat", "annotator": "ann"} for id in ids(batch)])
    asked = next_again(study, 2)
    data = [task["data"] for task in json.loads(asked.to_label_studio())]
    assert [each["again"] for each in data] == ["ann", "ann"]
    assert [each["activetest_order"] for each in data] == ["0000001", "0000002"]


def test_a_column_of_our_own_keys_is_not_shown(study):
    for name in ("activetest_id", "activetest_order", "label"):
        with pytest.raises(ChoiceError, match="has a meaning of its own"):
            next_batch(study, 2, show=[name])


def test_a_workbook_without_its_package_draws_nothing(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ChoiceError, match="needs the package openpyxl"):
        Study.open().next(3, path="tasks.xlsx", format="xlsx")
    assert draws(study) == []


@pytest.mark.parametrize(
    ("name", "begins"),
    [("b.jsonl", b"{"), ("B.XLSX", b"PK"), ("b.csv", b"id,label"), ("b.txt", b"id,label")],
)
def test_the_ending_of_a_file_says_its_format(study, name, begins):
    pytest.importorskip("openpyxl")
    Study.open().next(3, path=name)
    assert Path(name).read_bytes().startswith(begins)


def test_json_is_read_by_several_tools_and_asked_about(study):
    with pytest.raises(ChoiceError, match=r"tasks.json would be JSON, which several"):
        Study.open().next(3, path="tasks.json")
    assert draws(study) == [] and not Path("tasks.json").exists()
