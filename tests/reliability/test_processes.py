"""Many processes use one study at once: it is as if they had come one after the other."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests import makers
from tests.reliability.programs import STUDY, Started, find_leftovers, run_here, take_snapshot


def begin(folder: Path) -> None:
    """A study with a pending batch, the same in every folder."""
    folder.mkdir()
    makers.write_pool(folder / "pool.parquet", 600)
    for words in (["init", "pool.parquet", "--seed", "1"], ["next", "--n", "20"]):
        assert run_here(folder, *words) == 0


def make_commands(folder: Path, count: int) -> list[list[str]]:
    """Commands that write and read; the label files of all that ingest lie in the folder."""
    chance = random.Random(1)
    drawn = [draw.id for draw in take_snapshot(folder)[0].draws]
    commands = []
    for number in range(count):
        match number % 8:
            case 0 | 1 | 2:
                ids = [*chance.sample(drawn, 5), f"item-{chance.randrange(600)}"]
                rows = [f"{id},{chance.choice(['cat', 'dog'])},a{number}" for id in set(ids)]
                file = f"labels-{number}.csv"
                text = "\n".join(["id,label,annotator", *rows]) + "\n"
                (folder / file).write_text(text)
                commands.append(["ingest", file])
            case 3 | 4:
                commands.append(["next", "--n", "3", "--new"])
            case 5:
                commands.append(["next"])
            case 6:
                commands.append(["report", "--require", f"accuracy>=0.{number}"])
            case _:
                commands.append(["status"])
    return commands


def list_writes(folder: Path) -> list[tuple[str, ...]]:
    """The commands that the ledger recorded after `begin`, in the order of its revisions."""
    with closing(sqlite3.connect(folder / STUDY / "ledger.db")) as db:
        query = "SELECT labels_seen + 1, number, (SELECT COUNT(*) FROM draws WHERE round = number)"
        writes = {
            revision: ("next", "--n", str(count), "--new")
            for revision, number, count in db.execute(f"{query} FROM rounds")
            if number > 1
        }
        query = "SELECT revision, source FROM files"
        writes |= {revision: ("ingest", source) for revision, source in db.execute(query)}
    assert sorted(writes) == list(range(2, len(writes) + 2))
    return [writes[revision] for revision in sorted(writes)]


def check_processes(tmp_path: Path, count: int) -> None:
    """Start so many processes at once, and repeat what they recorded one after the other."""
    folder, again = tmp_path / "at once", tmp_path / "in turn"
    begin(folder)
    commands = make_commands(folder, count)
    processes = [Started(folder, *words) for words in commands]
    outcomes = [process.communicate() for process in processes]
    for words, (code, _, messages) in zip(commands, outcomes, strict=True):
        assert code == 0, f"{words}: {messages}"
    record = take_snapshot(folder)[0]
    assert len({draw.id for draw in record.draws}) == len(record.draws)
    # Every shown item is recorded, and each batch is one round.
    batches = {
        number: {draw.id for draw in record.draws if draw.round == number}
        for number in {draw.round for draw in record.draws}
    }
    for words, (_, out, _) in zip(commands, outcomes, strict=True):
        if "--new" in words:
            shown = {line.split(",")[0] for line in out.splitlines()[1:]}
            assert len(shown) == 3 and shown in batches.values()
    annotators = {answer.annotator for answer in record.answers}
    ingested = [words for words in commands if words[0] == "ingest"]
    assert len(annotators) == len(ingested)
    begin(again)
    make_commands(again, count)
    for words in list_writes(folder):
        assert run_here(again, *words) == 0
    assert take_snapshot(again) == take_snapshot(folder)
    assert find_leftovers(folder) == []


def test_processes_at_once_are_as_good_as_in_turn(tmp_path, count_trials, monkeypatch):
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    check_processes(tmp_path, 4)
    count_trials("processes at once", 4)


def test_gates_that_are_asked_for_beside_draws_move_no_revision_and_are_recorded_once(
    tmp_path, count_trials, monkeypatch
):
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    folder = tmp_path / "at once"
    begin(folder)
    drawn = {draw.id for draw in take_snapshot(folder)[0].draws}
    (folder / "labels.csv").write_text("id,label\n" + "".join(f"{id},cat\n" for id in drawn))
    assert run_here(folder, "ingest", "labels.csv") == 0
    gates = ["accuracy>=0.1", "accuracy >= .1", "error<=0.99"]
    commands = [*(["report", "--require", each] for each in gates), ["next", "--n", "3", "--new"]]
    processes = [Started(folder, *words) for words in commands]
    for words, process in zip(commands, processes, strict=True):
        code, _, messages = process.communicate()
        assert code in (0, 1, 3), f"{words}: {messages}"
    with closing(sqlite3.connect(folder / STUDY / "ledger.db")) as db:
        kinds = [kind for (kind,) in db.execute("SELECT kind FROM entries ORDER BY number")]
        expressions = [each for (each,) in db.execute("SELECT expression FROM gates")]
    assert sorted(kinds) == sorted(["study", "plan", "round", "file", "round", "gate", "gate"])
    assert sorted(expressions) == ['{"metric": "accuracy"}', '{"metric": "error"}']
    assert take_snapshot(folder)[0].revision == 3
    assert run_here(folder, "verify") == 0
    count_trials("processes at once", 4)


@pytest.mark.slow
def test_very_many_processes_at_once_are_as_good_as_in_turn(tmp_path, count_trials, monkeypatch):
    monkeypatch.delenv("ACTIVETEST_STUDY", raising=False)
    check_processes(tmp_path, 66)
    count_trials("processes at once", 66)


def test_of_many_processes_that_add_a_model_of_a_name_one_does_and_its_file_is_kept(tmp_path):
    work = tmp_path / "work"
    begin(work)
    for number in range(4):
        makers.write_pool(work / f"new-{number}.parquet", 600, seed=number + 1)
    started = [
        Started(work, "add", f"v2=new-{number}.parquet", "--trained-on-labels", "no")
        for number in range(4)
    ]
    ends = [each.communicate() for each in started]
    assert sorted(code for code, _, _ in ends) == [0, 2, 2, 2]
    assert all("has a model 'v2' already" in text for code, _, text in ends if code)
    winner = next(number for number, (code, _, _) in enumerate(ends) if not code)
    kept, given = work / STUDY / "models" / "v2.parquet", work / f"new-{winner}.parquet"
    assert pq.read_table(kept)["prob_cat"] == pq.read_table(given)["prob_cat"]
    assert run_here(work, "verify") == 0
    assert find_leftovers(work) == []
