"""A team that labels in Label Studio, or in Argilla: two people, skips, from `init` to the report.

The tools are played by makers that write what these programs export; see
test_label_studio_server.py and test_argilla_client.py for the programs themselves.
"""

import json
import random
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from activetest.cli.app import main
from tests import exports
from tests.journeys.team import CLASSES, ITEMS, list_truth, write_pool

PEOPLE = ("7", "8")
SKIPPED = {3, 11}
TRUTH = list_truth()


def say(person: str, item: int) -> str | None:
    """A person's answer about an item; None for a skip. The second is wrong about every tenth."""
    if item in SKIPPED:
        return None
    wrong = person == PEOPLE[1] and item % 10 == 0
    return CLASSES[(CLASSES.index(TRUTH[item]) + wrong) % len(CLASSES)]


def number(id: str) -> int:
    return int(id.removeprefix("ticket/"))


def label_in_label_studio(tasks: bytes, config: str) -> bytes:
    """The export of a project in which both people did every task, sorted by its order."""
    offered = [each.get("value") for each in ET.fromstring(config).iter("Choice")]
    assert sorted(offered) == sorted(CLASSES)
    imported = [task["data"] for task in json.loads(tasks)]
    random.Random(1).shuffle(imported)
    imported.sort(key=lambda data: data["activetest_order"])
    assert all(data["text"].startswith("=message") for data in imported)
    done = []
    for data in imported:
        annotations = []
        for place, person in enumerate(PEOPLE, 1):
            said = say(person, number(data["activetest_id"]))
            annotations.append(
                exports.annotate(place, int(person), exports.choose(said), skipped=said is None)
            )
        done.append((data, annotations))
    return exports.write_label_studio(done)


def label_in_argilla(tasks: bytes, config: str) -> bytes:
    """The records of a dataset to which both people responded; a third left drafts."""
    (question,) = json.loads(config)["questions"]
    assert sorted(each["value"] for each in question["settings"]["options"]) == sorted(CLASSES)
    records = sorted(json.loads(tasks), key=lambda record: record["metadata"]["activetest_order"])
    done = []
    for record in records:
        responses = [(CLASSES[0], "9", "draft")]
        for person in PEOPLE:
            said = say(person, number(record["id"]))
            status = "discarded" if said is None else "submitted"
            responses.append((said or CLASSES[0], person, status))
        done.append((record["id"], responses))
    return exports.write_argilla(done)


@pytest.mark.parametrize(
    ("format", "label"),
    [("label-studio", label_in_label_studio), ("argilla", label_in_argilla)],
)
def test_a_team_gets_from_a_pool_to_a_report(
    folder: Path, capsys, format: str, label: Callable[[bytes, str], bytes]
):
    def run(*words: str) -> str:
        assert main(words) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    write_pool(folder / "pool.parquet")
    run("init", "pool.parquet", "--seed", "2", "--metric", "accuracy")
    config = run("next", "--format", format, "--show", "text", "--config")
    seen: set[str] = set()
    for turn in range(2):
        name = f"tasks-{turn}.json"
        run("next", "-n", "20", "--format", format, "--show", "text", "-o", name)
        tasks = (folder / name).read_bytes()
        (folder / "export.json").write_bytes(label(tasks, config))
        counted = run("ingest", "export.json", "--dry-run")
        assert "nothing was written" in counted
        said = run("ingest", "export.json")
        assert "; 0 items pending" in said and "still blank" not in said
        # The tool exports everything again; nothing is counted twice.
        again = run("ingest", "export.json")
        assert again.startswith("export.json: 0 new, 40 known already")
        found = json.loads(tasks)
        ids = {task["data"]["activetest_id"] if "data" in task else task["id"] for task in found}
        assert len(ids) == 20 and not ids & seen
        seen |= ids
    assert len(seen) == ITEMS

    report = json.loads(run("report", "--format", "json"))
    assert report["counts"]["declined"] == len(SKIPPED)
    # Everything is labelled: of two that disagree, the first counts, who is always right.
    answered = [item for item in range(ITEMS) if item not in SKIPPED]
    pred = read_predictions(folder / "pool.parquet")
    right = sum(pred[item] == TRUTH[item] for item in answered) / len(answered)
    (headline,) = [row for row in report["estimates"] if row["headline"]]
    assert headline["estimate"] == pytest.approx(right)
    agreed = sum(say(PEOPLE[0], item) == say(PEOPLE[1], item) for item in answered)
    assert agreed < len(answered)
    (note,) = [note for note in report["notes"] if note.startswith("2 annotators")]
    assert f"{len(answered)} items have two or more labels" in note
    assert f"{agreed / len(answered):.0%} of all pairs agree" in note


def read_predictions(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    return pq.read_table(path)["pred"].to_pylist()
