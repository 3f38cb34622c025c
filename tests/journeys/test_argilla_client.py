"""Argilla's client reads the tasks and the settings, and the records that it exports are answers.

ACTIVETEST_ARGILLA is the Python of an environment of its own; no server is needed:

    python -m venv argilla && argilla/bin/pip install argilla requests
    ACTIVETEST_ARGILLA=argilla/bin/python python -m pytest -m slow tests/journeys
"""

import os
import subprocess
from pathlib import Path

import pytest

from activetest.labels.exports import read_answers
from activetest.nouns.log import DECLINED, LABELLED
from activetest.study.study import Study
from tests.journeys.team import CLASSES, write_pool

PYTHON = os.environ.get("ACTIVETEST_ARGILLA")
# Runs there: tasks become records, which get responses; what is exported goes to two files.
SCRIPT = """
import json, sys, uuid
from unittest import mock
import argilla as rg
from argilla.records._io import GenericIO, JsonIO

# Settings and questions want a client; nothing is sent.
with mock.patch.object(rg.Argilla, "_get_default", classmethod(lambda cls: mock.MagicMock())):
    settings = rg.Settings.from_json("settings.json")
(question,) = settings.questions
records = JsonIO._records_from_json("tasks.json")
ann, ben = uuid.UUID(int=1), uuid.UUID(int=2)
done = []
for place, record in enumerate(records):
    assert set(record.fields) == {field.name for field in settings.fields}, record.fields
    assert set(record.metadata) == {each.name for each in settings.metadata}
    responses = [rg.Response("label", question.labels[place % 3], ann, status="submitted")]
    if place == 0:
        responses.append(rg.Response("label", question.labels[1], ben, status="submitted"))
    if place == 1:
        responses = [rg.Response("label", question.labels[0], ann, status="discarded")]
    if place == 2:
        responses = [rg.Response("label", question.labels[0], ann, status="draft")]
    if place == 3:
        responses = []
    done.append(rg.Record(id=record.id, fields=dict(record.fields),
                          metadata=dict(record.metadata), responses=responses,
                          suggestions=[rg.Suggestion("label", question.labels[0], score=0.9)]))
with open("flat.json", "w", encoding="utf-8") as file:
    json.dump(GenericIO.to_list(done, flatten=True), file)
JsonIO.to_json(done[4:], "nested.json")
print(json.dumps(question.labels))
"""


@pytest.mark.slow
def test_the_client_reads_tasks_and_settings_and_its_records_come_back_whole(tmp_path, monkeypatch):
    if PYTHON is None:
        pytest.skip("ACTIVETEST_ARGILLA names no Python with argilla")
    program = str(Path(PYTHON).absolute())
    monkeypatch.chdir(tmp_path)
    write_pool(tmp_path / "pool.parquet")
    study = Study.create("pool.parquet", seed=3)
    shown = ["text", "no. of words"]
    batch = study.next(6, show=shown, path="tasks.json", format="argilla")
    Path("settings.json").write_text(study.labelling_config("argilla", show=shown), "utf-8")
    done = subprocess.run(
        [program, "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    names = sorted(CLASSES)
    rows = read_answers("flat.json")
    labels = [(row.id, row.label, row.annotator[-1]) for row in rows if row.status == LABELLED]
    first, declined, _, _, *rest = batch.ids
    assert labels == [
        (first, names[0], "1"), (first, names[1], "2"),
        *[(id, names[place % 3], "1") for place, id in enumerate(rest, 4)],
    ]  # fmt: skip
    assert [row.id for row in rows if row.status == DECLINED] == [declined]
    assert [(row.id, row.label) for row in read_answers("nested.json")] == [
        (id, names[place % 3]) for place, id in enumerate(rest, 4)
    ]
    counted = study.ingest("flat.json")
    assert (counted.new, counted.declined, counted.blank, counted.pending) == (5, 1, 2, 2)
