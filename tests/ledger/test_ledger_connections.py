"""The connection to a ledger ends with what opened it, whatever happens in between."""

import gc
import sqlite3
import sys
import threading

import pytest

from activetest.cli.app import main
from activetest.errors import LabelError, StudyError
from activetest.ledger.ledger import Ledger
from activetest.nouns.study_lists import Part
from activetest.study.study import Study


@pytest.fixture
def connections(monkeypatch) -> list[sqlite3.Connection]:
    """The connections that are open, of all that are made from here on; none is closed unseen."""
    found: list[sqlite3.Connection] = []

    class Connection(sqlite3.Connection):
        def close(self) -> None:
            super().close()
            # Connections are equal where they are the same.
            if self in found:
                found.remove(self)

    def connect(*given, **named) -> sqlite3.Connection:
        found.append(opened(*given, **named, factory=Connection))
        return found[-1]

    opened = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", connect)
    return found


SETTINGS = {"seed": 1, "part": Part(rows=9)}


def test_a_ledger_is_closed_by_hand_or_by_a_block_or_by_its_end(tmp_path, connections):
    path = tmp_path / "ledger.db"
    ledger = Ledger.create(path, **SETTINGS)
    assert len(connections) == 1
    ledger.close()
    ledger.close()
    assert not connections
    with Ledger(path) as again:
        assert again.rows == 9
    assert not connections
    kept = Ledger(path)
    assert len(connections) == 1
    del kept
    assert not connections


@pytest.mark.parametrize("content", [b"", b"hello" * 2000])
def test_a_file_that_is_no_ledger_is_closed(tmp_path, connections, content):
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    with pytest.raises(StudyError) as refused:
        Ledger(path)
    assert not connections and refused.traceback


def test_a_ledger_that_ends_in_another_thread_says_nothing(tmp_path, monkeypatch):
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    kept = [Ledger.create(tmp_path / "ledger.db", **SETTINGS)]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert not kept and not said


def test_a_ledger_is_read_by_another_thread_over_a_connection_of_its_own(tmp_path, connections):
    ledger = Ledger.create(tmp_path / "ledger.db", **SETTINGS)
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.extend([ledger.rows, ledger.surrogates()]))
    thread.start()
    thread.join()
    assert found == [9, set()] and len(connections) == 1
    assert ledger.rows == 9


VERBS = (
    "init",
    "init --metric recall[cat]",
    "init elsewhere.parquet",
    "next --n 5 -o batch.csv",
    "next --new --n 5",
    "next --again 5",
    "ingest labels.csv",
    "ingest wrong.csv",
    "ingest --undo",
    "report",
    "report --population --require error<=0.1 -o report.html",
    "report --metric unknown",
    "status",
    "verify",
    "export",
    "export --rescue",
)


@pytest.fixture
def labelled(study, label_file):
    """The study, ten of whose items have a label, and label files."""
    ids = [row["id"] for row in Study.open().next(10).rows]
    label_file(*(f"{id},cat" for id in ids), name="first.csv")
    label_file(f"{ids[0]},dog", name="wrong.csv")
    Study.open().ingest("first.csv")
    ids = [f"item-{number}" for number in range(40)]
    label_file(*(f"{id},cat" for id in ids), name="labels.csv")
    return study


@pytest.fixture
def without_cycles():
    """Objects that a cycle of references holds stay."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("damage", [None, b"hello" * 2000], ids=["sound", "damaged"])
@pytest.mark.usefixtures("without_cycles")
def test_no_command_leaves_a_connection_open(labelled, connections, damage):
    for words in VERBS:
        if damage is not None:
            labelled.ledger.path.write_bytes(damage)
        main(words.split())
        assert not connections, words


@pytest.mark.usefixtures("without_cycles")
def test_a_connection_ends_with_the_study_and_its_batches(labelled, connections):
    study = Study.open()
    with pytest.raises(LabelError):
        study.ingest("wrong.csv")
    results = [study.report(), study.status(), study.verify(), study.export()]
    batch = study.next(3)
    assert len(connections) == 1
    del study
    assert len(batch.positions) == 3
    del batch
    assert not connections and all(results)
