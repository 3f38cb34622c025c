"""Whatever kills a command, nothing is lost, happens by halves or is drawn again."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.stored import StoredStudy
from activetest.study.study import Study
from tests.makers import init

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the driver forks and kills")


# Settings of the study of a command, where they are not the usual.
CHOICES = {
    "next with arrays": {"surrogate": "linear"},
    "next between groups": {"question": "identify"},
}


# Commands of studies that have labels already.
LABELLED = ("ingest --replace", "ingest --undo", "report --require", "add", "extend")


@pytest.fixture
def scene(folder, write_pool, label_file):
    """scene(command) prepares a folder in which the command has something to do."""

    def prepare(command: str) -> Path:
        at = folder / "scene"
        at.mkdir()
        os.chdir(at)
        write_pool(at / "pool.parquet", 12)
        write_pool(at / "new.parquet", 12, seed=1)
        more = pq.read_table(write_pool(at / "more.parquet", 8, seed=2)).to_pydict()
        more["id"] = [f"more-{each}" for each in more["id"]]
        pq.write_table(pa.table(more), at / "more.parquet")
        label_file("item-1,cat", "item-2,dog", name="scene/labels.csv")
        label_file("item-1,dog", "item-5,dog", name="scene/other.csv")
        draws = ("item-1,cat,0.1,1", "item-2,dog,0.05,1", "item-7,,0.2,2")
        label_file(*draws, header="id,label,probability,round", name="scene/draws.csv")
        if command == "wider frame":
            Study.create(pq.read_table("pool.parquet"), seed=1).next(3)
        elif command == "init of text":
            rows = "".join(f"item-{row},0.{row + 10}\n" for row in range(12))
            (at / "pool.csv").write_text(f"id,score\n{rows}")
        elif command not in ("init", "import", "frame"):
            init("pool.parquet", seed=1, **CHOICES.get(command, {}))
            study = StoredStudy.open()
            if command in ("next --new", "ingest"):
                next_batch(study, 2)
            if command in (
                "ingest --replace",
                "ingest --undo",
                "report --require",
                "add",
                "extend",
            ):
                ingest(study, "labels.csv")
        return at

    return prepare


def kill_everywhere(at: Path, *arguments: str) -> int:
    """The last line at which the driver killed the command."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "guarantees" / "crash.py"), str(at), *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


# Fewer lines would mean that the driver did not see those of the program.
COMMANDS = {"next": 50, "ingest": 50, "ingest --undo": 50, "frame": 50, "report --require": 10}
COMMANDS |= {"add": 50, "extend": 50}
OFTEN = ("next", "ingest")


@pytest.mark.parametrize(
    "command",
    [each if each in OFTEN else pytest.param(each, marks=pytest.mark.ci) for each in COMMANDS],
)
def test_a_kill_at_every_fiftieth_line_loses_nothing_and_leaves_nothing_by_halves(scene, command):
    assert kill_everywhere(scene(command), command, "50") > COMMANDS[command]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "lines"), [("import", 50), ("report --require", 10)])
def test_a_kill_at_every_seventh_line_leaves_nothing_or_all(scene, command, lines):
    assert kill_everywhere(scene(command), command, "7") > lines


@pytest.mark.slow
@pytest.mark.parametrize("command", CHOICES)
def test_a_kill_at_any_line_loses_nothing_that_rounds_keep_besides(scene, command):
    assert kill_everywhere(scene(command), command) > 50


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        *(
            "init",
            "init of text",
            "import",
            "next",
            "next --new",
            "next -o",
            "ingest",
            "ingest --replace",
            "ingest --undo",
            "add",
            "extend",
        ),
        *("frame", "wider frame"),
    ],
)
def test_a_kill_at_any_line_and_any_time_loses_nothing(scene, command):
    assert kill_everywhere(scene(command), command, "again") > 80
