"""A real Label Studio takes the tasks and the configuration, and what it exports comes back whole.

ACTIVETEST_LABEL_STUDIO is the program of an environment of its own, which takes minutes to install:

    python -m venv ls && ls/bin/pip install label-studio
    ACTIVETEST_LABEL_STUDIO=ls/bin/label-studio python -m pytest -m slow tests/journeys
"""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from activetest.labels.exports import read_answers
from activetest.nouns.log import DECLINED, LABELLED
from activetest.study.study import Study
from tests.journeys.team import CLASSES, write_pool

PROGRAM = os.environ.get("ACTIVETEST_LABEL_STUDIO")
TOKEN = "0123456789abcdef0123456789abcdef01234567"
ANN, BEN = "ann@example.org", "ben@example.org"


class Server:
    """A Label Studio of its own, and its address."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        settings = {"LABEL_STUDIO_BASE_DATA_DIR": str(folder), "HOME": str(folder)}
        words = ["start", "--no-browser", "--port", str(port), "--username", ANN]
        words += ["--password", "no-secret-1", "--user-token", TOKEN, "--enable-legacy-api-token"]
        self._log = (folder / "server.log").open("wb")
        self.process = subprocess.Popen(
            [str(Path(PROGRAM or "").absolute()), *words],
            env={**os.environ, **settings, "PYTHONPATH": ""},
            cwd=folder,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )

    def wait(self) -> None:
        """Until it answers: it makes its database first."""
        while self.process.poll() is None:
            try:
                self.call("GET", "/api/projects/")
                return
            except (OSError, ConnectionError):
                time.sleep(2)
        raise AssertionError(Path(self._log.name).read_text("utf-8")[-3000:])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self._log.close()

    def fetch(self, method: str, path: str, body: Any = None) -> bytes:
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.address + path, content, headers, method=method)
        try:
            with urllib.request.urlopen(asked) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise AssertionError(f"{method} {path}: {error.read()[:1000]!r}") from error
            raise

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self.fetch(method, path, body))


@pytest.fixture
def server(tmp_path):
    if PROGRAM is None:
        pytest.skip("ACTIVETEST_LABEL_STUDIO names no program of Label Studio")
    folder = tmp_path / "server"
    folder.mkdir()
    running = Server(folder)
    try:
        running.wait()
        yield running
    finally:
        running.stop()


def choose(name: str) -> list[dict[str, Any]]:
    value = {"choices": [name]}
    return [{"from_name": "label", "to_name": "item", "type": "choices", "value": value}]


@pytest.mark.slow
def test_tasks_are_imported_and_their_export_comes_back_whole(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_pool(tmp_path / "pool.parquet")
    study = Study.create("pool.parquet", seed=3)
    batch = study.next(6, show=["text", "no. of words"], path="tasks.json", format="label-studio")
    config = study.labelling_config("label-studio", show=["text", "no. of words"])

    project = server.call("POST", "/api/projects/", {"title": "audit", "label_config": config})
    tasks = json.loads(Path("tasks.json").read_text("utf-8"))
    path = f"/api/projects/{project['id']}"
    assert server.call("POST", f"{path}/import", tasks)["task_count"] == 6
    listed = server.call("GET", f"{path}/tasks/?page_size=100")
    listed.sort(key=lambda task: task["data"]["activetest_order"])
    assert [task["data"]["activetest_id"] for task in listed] == batch.ids
    assert [task["data"] for task in listed] == [task["data"] for task in tasks]

    other = {"username": "ben", "email": BEN, "password": "no-secret-2"}
    ben = server.call("POST", "/api/users/", other)["id"]
    ann = server.call("GET", "/api/current-user/whoami")["id"]
    numbers = [task["id"] for task in listed]
    given = [
        *[(number, ann, choose(CLASSES[at % 3])) for at, number in enumerate(numbers[:4])],
        (numbers[0], ben, choose(CLASSES[1])),
    ]
    for number, person, result in given:
        body = {"result": result, "completed_by": person, "lead_time": 2.0}
        server.call("POST", f"/api/tasks/{number}/annotations/", body)
    skip = {"result": [], "was_cancelled": True, "completed_by": ann}
    server.call("POST", f"/api/tasks/{numbers[4]}/annotations/", skip)
    server.call("POST", f"/api/tasks/{numbers[5]}/drafts", {"result": choose(CLASSES[0])})
    guess = {"task": numbers[5], "result": choose(CLASSES[0]), "score": 0.9}
    server.call("POST", "/api/predictions/", guess)

    for kind in ("JSON", "JSON_MIN", "CSV", "TSV"):
        asked = f"{path}/export?exportType={kind}&download_all_tasks=true"
        (tmp_path / kind).write_bytes(server.fetch("GET", asked))
    if keep := os.environ.get("ACTIVETEST_KEEP"):
        for kind in ("JSON", "JSON_MIN", "CSV", "TSV"):
            shutil.copy(tmp_path / kind, keep)

    labels = {(batch.ids[at], CLASSES[at % 3]) for at in range(4)} | {(batch.ids[0], CLASSES[1])}
    answers = {kind: read_answers(tmp_path / kind) for kind in ("JSON", "JSON_MIN", "CSV", "TSV")}
    for kind, rows in answers.items():
        found = {(row.id, row.label) for row in rows if row.status == LABELLED}
        assert found == labels, kind
        people = {row.annotator for row in rows if row.id == batch.ids[0]}
        assert len(people) == 2, kind
    skipped = [row.id for row in answers["JSON"] if row.status == DECLINED]
    assert skipped == [batch.ids[4]]
    assert {row.annotator for row in answers["JSON"] if row.annotator} == {str(ann), str(ben)}

    done = study.ingest("JSON")
    assert (done.new, done.declined, done.blank, done.pending) == (6, 1, 1, 1)
    assert study.ingest("JSON").unchanged == 6
    assert study.report().counts.declined == 1
