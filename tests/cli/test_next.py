"""activetest next: batches and configurations for labelling tools."""

import csv
import io
import json
import xml.etree.ElementTree as ET

import openpyxl
import pytest

from activetest import catalog
from activetest.cli.app import main
from activetest.formats import FAMILY
from activetest.nouns.answer_fields import BATCH_FORMATS
from activetest.study.stored import StoredStudy


def test_the_formats_are_those_of_the_library():
    assert {*BATCH_FORMATS} - {"csv", "jsonl"} == set(catalog.having(FAMILY, "TASKS"))


@pytest.mark.parametrize("format", ["label-studio", "argilla"])
def test_tasks_go_to_standard_output_and_the_configuration_draws_nothing(study, format, capsys):
    assert main(["next", "--format", format, "--show", "place", "--config"]) == 0
    shown = capsys.readouterr()
    assert study.ledger.record().draws == () or not study.ledger.record().draws
    assert "cat" in shown.out and not shown.err
    if format == "label-studio":
        assert ET.fromstring(shown.out).tag == "View"
    else:
        assert json.loads(shown.out)["questions"][0]["name"] == "label"
    assert main(["next", "-n", "3", "--format", format, "--show", "place"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config"], "--format csv needs no configuration"),
        (["--config", "--format", "xlsx"], "--format xlsx needs no configuration"),
        (["--config", "--format", "argilla", "-n", "3"], "--config goes with --format and --show"),
        (["--config", "--format", "argilla", "--show", "nothing"], "no column 'nothing'"),
        (["--format", "xlsx"], "xlsx is no text"),
        (["--format", "doccano"], "no format is called 'doccano'"),
        (["--format", "argilla", "--spreadsheet"], "no format of spreadsheets"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_drawn(study, words, message, capsys):
    assert main(["next", *words]) == 2
    assert message in capsys.readouterr().err
    assert not StoredStudy.open().ledger.record().draws


def test_a_workbook_is_written_to_a_file(study, folder, capsys):
    assert main(["next", "-n", "3", "--format", "xlsx", "-o", "tasks.xlsx"]) == 0
    assert (folder / "tasks.xlsx").read_bytes().startswith(b"PK")
    assert main(["ingest", "tasks.xlsx"]) == 0
    assert "3 still blank" in capsys.readouterr().out


def read_tasks(format: str, content: bytes) -> list[tuple[str, int]]:
    """(id under a key of ours, order) of the items in a file."""
    match format:
        case "csv":
            rows = list(csv.DictReader(io.StringIO(content.decode())))
        case "jsonl":
            rows = [json.loads(line) for line in content.decode().splitlines()]
        case "label-studio":
            rows = [task["data"] for task in json.loads(content)]
        case "argilla":
            rows = [record["metadata"] for record in json.loads(content)]
        case _:
            lines = openpyxl.load_workbook(io.BytesIO(content))["tasks"].iter_rows(values_only=True)
            header = next(lines)
            rows = [dict(zip(header, line, strict=True)) for line in lines]
            rows = [row | {"activetest_id": row["id"]} for row in rows]
    return [(row["activetest_id"], int(row["activetest_order"])) for row in rows]


@pytest.mark.parametrize("format", BATCH_FORMATS)
def test_every_format_has_our_id_and_the_order_of_drawing_and_comes_back(study, folder, format):
    assert main(["next", "-n", "2", "-o", "first.csv"]) == 0
    assert (folder / "first.csv").read_text().splitlines()[0] == "id,label"
    words = ["next", "-n", "3", "--new", "--format", format, "-o", "tasks"]
    assert main(words) == 0
    draws = [draw.id for draw in StoredStudy.open().ledger.record().draws]
    tasks = read_tasks(format, (folder / "tasks").read_bytes())
    # All that wait are in the batch of --new alone, from the third draw on.
    assert tasks == [(id, at) for at, id in enumerate(draws, 1)][2:]
    # A pending batch replaces its own file, and blanks are no answers.
    assert main([*words[:1], *words[4:]]) == 0
    assert read_tasks(format, (folder / "tasks").read_bytes()) == [
        (id, at) for at, id in enumerate(draws, 1)
    ]
    assert main(["ingest", "tasks"]) == 0
    assert not StoredStudy.open().ledger.record().answers


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_our_id_goes_before_one_that_a_tool_put_in_its_place(study, folder, format):
    main(["next", "-n", "2", "--format", format, "-o", "tasks"])
    text = (folder / "tasks").read_text()
    ids = [id for id, _ in read_tasks(format, text.encode())]
    for place, id in enumerate(ids):
        written = (f"{id},,", f'"id": "{id}", "label": ""')
        theirs = (f"{place},cat,", f'"id": {place}, "label": "cat"')
        for ours, other in zip(written, theirs, strict=True):
            text = text.replace(ours, other)
    (folder / "labels").write_text(text)
    assert main(["ingest", "labels"]) == 0
    answers = StoredStudy.open().ledger.record().answers
    assert {(answer.id, answer.label) for answer in answers} == {(id, "cat") for id in ids}


@pytest.mark.parametrize(("ids", "changed"), [("{}-2", True), ("{:05}", False), ("row {}", False)])
def test_ids_that_a_spreadsheet_changes_for_good_are_named(
    tmp_path, monkeypatch, capsys, ids, changed
):
    """Zeros that it drops are found again."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{ids.format(1 + k)},{'yes' if k % 3 else 'no'}\n" for k in range(12))
    (tmp_path / "pool.csv").write_text("id,pred\n" + rows)
    assert main(["init", "pool.csv"]) == 0 and main(["next", "-n", "12", "-o", "b.csv"]) == 0
    assert ("a spreadsheet changes ids such as " in capsys.readouterr().err) == changed
    assert main(["next", "-n", "12", "-o", "b.xlsx", "--format", "xlsx"]) == 0
    assert "a spreadsheet changes" not in capsys.readouterr().err
