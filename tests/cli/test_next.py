"""activetest next: batches and configurations for labelling tools."""

import json
import xml.etree.ElementTree as ET

import pytest

from activetest import catalog
from activetest.cli import next as command
from activetest.cli.app import main
from activetest.formats import FAMILY
from activetest.study.results import BINARY_FORMATS, FORMATS
from activetest.study.stored import StoredStudy


def test_the_formats_are_those_of_the_library():
    assert command.FORMATS == FORMATS and command._BINARY == BINARY_FORMATS
    assert {*FORMATS} - {"csv", "jsonl"} == set(catalog.having(FAMILY, "TASKS"))


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
