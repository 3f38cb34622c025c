"""Logs as their programs wrote them, which are not kept here.

ACTIVETEST_LOGS names a folder that has them in `inspect`, `lm_eval` and `label_studio`. Their
own headers and their publishers say what is expected of them.
"""

import json
import os
import shlex
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from activetest.cli.app import main
from activetest.errors import LabelError
from activetest.labels.exports import read_answers
from tests.formats import logs

FOLDER = os.environ.get("ACTIVETEST_LOGS")


def find_file(pattern: str) -> Path:
    """The one file of the folder with such a name; without the folder the test is skipped."""
    if FOLDER is None:
        pytest.skip("ACTIVETEST_LOGS names no folder of published logs")
    (path,) = Path(FOLDER).glob(pattern)
    return path


def test_a_scored_log_of_inspect_has_the_accuracy_of_its_header():
    path = find_file("inspect/*mj7khqpMM4GBCfVQozKgzB.eval")
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
    accuracy = header["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    scores = [row["score"] for row in logs.read_rows(path)]
    assert logs.find(path) == "inspect-ai"
    assert len(scores) == 10 and sum(scores) / 10 == pytest.approx(accuracy) == 0.8
    assert logs.read_document(path)["judge"] == "score"


def test_a_log_of_inspect_before_scoring_has_outputs_and_targets():
    rows = logs.read_rows(find_file("inspect/*dPiJifoWeEQBrfWsAopzWr.eval"))
    assert len(rows) == 10 and all("score" not in row for row in rows)
    assert {row["output"] for row in rows} == {"Yes", "No"}
    assert {row["target"] for row in rows} == {" Yes", " No"}


def test_a_json_log_of_inspect_has_the_accuracy_of_its_results():
    path = find_file("inspect/*_popularity.json")
    rows = logs.read_rows(path)
    assert [(row["id"], row["score"]) for row in rows] == [("1", 1), ("2", 1), ("3", 0)]
    results = json.loads(path.read_text("utf-8"))["results"]["scores"][0]["metrics"]
    assert results["accuracy"]["value"] == pytest.approx(2 / 3)


def test_epochs_of_inspect_are_the_reductions_that_it_computed_itself():
    path = find_file("inspect/log_streaming.eval")
    with zipfile.ZipFile(path) as archive:
        (reduction,) = json.loads(archive.read("reductions.json"))
    expected = {str(each["sample_id"]): each["value"] for each in reduction["samples"]}
    assert {row["id"]: row["score"] for row in logs.read_rows(path)} == expected
    assert len(expected) == 2 and "2 of 2 items have several epochs" in logs.read_notes(path)[-1]


def test_multiple_choice_logs_of_inspect_have_letters():
    rows = logs.read_rows(find_file("inspect/data_arc_sonnet.json"))
    assert [row["pred"] for row in rows] == [row["label"] for row in rows]
    assert len(rows) == 5 and "score" not in rows[0]
    (row,) = logs.read_rows(find_file("inspect/mmlu-summary-choices.eval"))
    assert (row["pred"], row["label"]) == ("C", "A")
    assert row["choices"] == "A) 6.0 e\nB) 6.8 eV\nC) 12.2 eV\nD) 13.6 eV"
    assert row["metadata_subject"] == "college_physics"


@pytest.mark.parametrize(
    "pattern",
    [
        "inspect/*mj7*.eval", "inspect/*_popularity.json", "inspect/log_streaming.eval",
        "inspect/data_arc_sonnet.json", "inspect/mmlu-summary-choices.eval", "lm_eval/samples_*",
    ],
)  # fmt: skip
def test_a_published_log_becomes_a_report_by_the_line_that_inspect_gives(
    tmp_path, monkeypatch, capsys, pattern
):
    path = find_file(pattern)
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> str:
        assert main(list(words)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    seen = json.loads(run("inspect", str(path), "--format", "json"))
    assert seen["problem"] == "" and seen["title"] in " ".join(run("inspect", str(path)).split())
    run(*shlex.split(seen["create"])[1:])
    run("next", "-n", str(seen["rows"]), "--show", "input,output", "--output", "batch.csv")
    rows = logs.read_rows(path)
    labels = [f"{row['id']},{row.get('label', int(row.get('score') or 0))}\n" for row in rows]
    Path("labels.csv").write_text("id,label\n" + "".join(labels))
    run("ingest", "labels.csv")
    report = json.loads(run("report", "--format", "json"))
    assert report["counts"]["labeled"] == len(rows) == seen["rows"]
    assert "exact" in run("report")


def test_samples_of_lm_eval_have_the_score_of_the_file():
    path = find_file("lm_eval/samples_*.jsonl")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = logs.read_rows(path)
    assert logs.find(path) == "lm-eval" and len(rows) == 10
    assert [row["score"] for row in rows] == [line["exact_match"] for line in lines]
    assert [row["output"] for row in rows] == [line["resps"][0][0] for line in lines]
    assert {"doc_type", "doc_level"} < set(rows[0])


def test_the_summary_of_lm_eval_is_told_from_its_samples():
    path = find_file("lm_eval/results_*.json")
    with pytest.raises(Exception, match="summary of a run"):
        logs.read_rows(path)


def test_a_csv_export_of_label_studio_has_the_choices_that_its_publishers_count():
    path = find_file("label_studio/ballots_labels.csv")
    rows = read_answers(path, columns={"id": "image", "label": "choice"})
    assert Counter(row.label for row in rows) == {
        "Matt Haney": 645,
        "David Campos": 383,
        "Unclear": 8,
        "Matt Haney (QR)": 6,
        "David Campos (QR)": 2,
    }
    assert {row.annotator for row in rows} == {"1"} and len(rows) == 1044
    assert rows[0].id.startswith("http://localhost:8081/") and rows[0].place == "line 2"
    # Without a word about it, the numbers of Label Studio are taken for no ids.
    with pytest.raises(LabelError, match="has no 'activetest_id'"):
        read_answers(path, columns={"label": "choice"})


def test_a_json_export_of_label_studio_with_quotes_tabs_and_cyrillic():
    path = find_file("label_studio/csv_test2.json")
    (task,) = json.loads(path.read_text("utf-8"))
    (row,) = read_answers(path, columns={"id": "_row_id"})
    (choice,) = task["annotations"][0]["result"][0]["value"]["choices"]
    assert (row.id, row.label) == (task["data"]["_row_id"], choice.strip())
    assert row.annotator == "test@heartex.com"


def test_polygons_of_label_studio_are_no_labels():
    with pytest.raises(LabelError, match="has no choices, but polygonlabels"):
        read_answers(find_file("label_studio/data.json"), columns={"id": "image"})
