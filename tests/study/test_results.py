"""Results of a study: batches, reports, states and setups as text, tables, files and frames."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest.cli.app import main
from activetest.errors import ChoiceError, LabelError, StorageError
from activetest.nouns.report import FAIL, PASS, UNDECIDED
from activetest.study.results import Batch, Report
from activetest.study.study import Study
from tests.makers import init


@pytest.fixture
def face(pool_file) -> Study:
    """A study of 40 items, 20 of them labelled."""
    study = Study.create(pool_file, groups="place", seed=1)
    study.ingest(dict.fromkeys(study.next(20).ids, "cat"))
    return study


@pytest.fixture
def report(face) -> Report:
    """Its report, with a gate that fails."""
    return face.report(require="error<=0.01")


def test_a_batch_is_a_sequence_of_rows(face):
    batch = face.next(3, show=["place"])
    assert len(batch) == len(list(batch)) == 3
    assert [row["id"] for row in batch] == batch.ids
    assert repr(batch) == "<Batch of round 2: 3 items drawn>"
    assert not len(Batch(None, [], repeated=False)) and "no items" in repr(Batch(None, [], False))


def test_a_batch_as_text_file_and_frame_holds_the_same(face, folder):
    batch = face.next(3, show="place")
    assert batch.to_csv(folder / "batch.csv") is None
    assert (folder / "batch.csv").read_text() == batch.to_csv()
    assert batch.to_jsonl("batch.jsonl") is None
    lines = (folder / "batch.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == batch.ids
    frame = batch.to_frame("pyarrow")
    assert frame.column_names == ["id", "label", "place"]
    assert frame.column("place").to_pylist() == [row["place"] for row in batch]
    assert frame.schema.field("label").type == pa.string() and frame["label"].null_count == 3


def test_a_batch_is_not_written_over_labels_that_the_study_does_not_know(face, folder):
    batch = face.next(2)
    path = folder / "batch.csv"
    content = f"id,label\n{batch.ids[0]},cat\n"
    path.write_text(content)
    for write in (batch.to_csv, batch.to_jsonl, Batch(1, batch.rows, False).to_csv):
        with pytest.raises(LabelError, match="does not know"):
            write(path)
    assert path.read_text() == content
    face.ingest(path)
    batch.to_csv(path)
    assert path.read_text() == batch.to_csv()
    with pytest.raises(StorageError):
        batch.to_csv(folder / "nowhere" / "batch.csv")


def test_a_workbook_is_no_text(face):
    with pytest.raises(ChoiceError, match="xlsx is no text"):
        face.next(2).to("xlsx")


def test_a_batch_of_no_study_has_tasks_without_classes(face):
    batch = face.next(2)
    alone = json.loads(replace(batch, study=None).encode("label-studio"))
    assert [task["data"] for task in alone] == [
        task["data"] for task in json.loads(batch.encode("label-studio"))
    ]


def test_an_empty_batch_has_a_frame_too():
    frame = Batch(None, [], repeated=False).to_frame("pyarrow")
    assert frame.num_rows == 0 and frame.column_names == ["id", "label"]


@pytest.mark.parametrize("kind", ["panda", "", None])
def test_another_kind_of_frame_is_an_error(face, report, kind):
    for each in (face.next(2), report):
        with pytest.raises(ChoiceError):
            each.to_frame(kind)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_frame_whose_package_is_missing_is_an_error_and_no_other_kind(report, monkeypatch, kind):
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(ChoiceError, match=f"{kind} is not installed") as caught:
        report.to_frame(kind)
    assert "pip install" in caught.value.hint


@pytest.mark.parametrize(
    ("verdicts", "passed", "code"),
    [
        ((), None, 0),
        ((PASS,), True, 0),
        ((PASS, PASS), True, 0),
        ((PASS, UNDECIDED), False, 3),
        ((UNDECIDED, FAIL), False, 1),
    ],
)
def test_a_report_passed_if_every_gate_did(report, verdicts, passed, code):
    gates = tuple(replace(report.gates[0], verdict=verdict) for verdict in verdicts)
    judged = replace(report, gates=gates)
    assert (judged.passed, judged.exit_code) == (passed, code)


def test_a_report_is_what_the_command_line_prints(face, report, capsys):
    for format, text in (("json", report.to_json()), ("markdown", report.to_markdown())):
        capsys.readouterr()
        assert main(["report", "--require", "error<=0.01", "--format", format]) == 1
        printed = capsys.readouterr().out
        if format == "json":
            assert json.loads(text) == json.loads(printed)
        assert text.splitlines()[0] == printed.splitlines()[0]


def test_the_headline_of_a_report_is_its_first_row_and_sentence(report):
    assert report.headline is report.estimates[0] and report.headline.headline
    assert report.sentence.startswith("The model is wrong on") and report.sentence in str(report)
    assert repr(report) == f"<Report of 20 labels: {report.sentence}>"
    frame = report.to_frame("pyarrow")
    assert frame.num_rows == len(report.estimates)
    assert frame["estimate"].to_pylist() == [row.estimate for row in report.estimates]


def test_a_half_width_is_what_labels_are_planned_for(face):
    face.ingest(dict.fromkeys(face.next(12).ids, "cat"))
    notes = [note.text for note in face.report(half_width=0.11).notes]
    assert "The interval of error already has a half-width below 0.11." in notes


def test_a_report_of_the_population_may_be_by_clusters(face):
    face.ingest(dict.fromkeys(face.next(12).ids, "cat"))
    report = face.report(population=True, cluster="place")
    assert report.population and report.cluster == "place"


def test_a_state_is_counts_and_a_sentence(face, capsys):
    face.next(3)
    status = face.status()
    counts, sentence = status
    assert (counts.labeled, counts.pending) == (20, 3) and "3 pending items" in sentence
    assert main(["status"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == str(status).splitlines()[0]
    assert repr(status).startswith("<Status: 20 labelled, 3 pending; ")


def test_a_setup_says_what_was_understood(face, folder):
    setup = face.setup
    lines = str(setup).splitlines()
    assert lines[0] == "created .activetest" and lines[-1] == "seed: 1"
    assert set(setup.notices) <= set(lines)
    assert repr(setup) == "<Setup of 40 items, created in .activetest>"
    checked = Study.check("pool.parquet", "elsewhere")
    assert str(checked).startswith("dry run: nothing written in elsewhere\n")
    assert str(checked).endswith("seed: drawn when the study is created")


def test_notebooks_show_fragments_without_markup_of_the_user(folder, write_pool):
    import pyarrow.parquet as pq

    table = pq.read_table(write_pool(folder / "pool.parquet", 40))
    place = pa.array(["<script>alert(1)</script>"] * 40)
    index = table.column_names.index("place")
    study = Study.create(table.set_column(index, "place", place), groups="place", seed=1)
    batch = study.next(20, show="place")
    study.ingest(dict.fromkeys(batch.ids, "cat"))
    for each in (batch, study.report(), study.status(), study):
        fragment = each._repr_html_()
        assert "<table" in fragment and "<script" not in fragment
    assert "&lt;script" in batch._repr_html_()


def list_values(value: object) -> Iterator[object]:
    """Every value in what a study returns, in its fields and properties."""
    yield value
    if is_dataclass(value):
        for name in [each.name for each in fields(value)] + [
            name for name, member in vars(type(value)).items() if isinstance(member, property)
        ]:
            yield from list_values(getattr(value, name))
    elif isinstance(value, dict):
        yield from chain.from_iterable(map(list_values, chain(value, value.values())))
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(list_values, value))


def test_no_number_that_is_printed_names_the_library_it_comes_from(face):
    """A field that holds one would be shown as np.float64(0.1)."""
    metrics = ["error", "ece", "f1", "log-loss"]
    report = face.report(metrics=metrics, require="error<=0.5", differences="place", details=True)
    shown = [face.status(), face.choices, face.next(2).rows, face.curve("reliability").points]
    values = [*list_values(report), *list_values(shown)]
    assert len(values) > 500
    assert not [each for each in values if isinstance(each, np.generic)]


def test_a_page_of_a_report_needs_details_and_is_that_of_a_file(face, folder):
    report = face.report(details=True)
    report.save(folder / "report.html")
    page = report.to_html()
    assert page == (folder / "report.html").read_text(encoding="utf-8")
    with pytest.raises(ChoiceError, match="has none") as caught:
        face.report().to_html()
    assert "details=True" in caught.value.hint
    assert "place=barn" in report.plot() and "all items" in report.plot()


def test_a_setup_confirms_the_settings_that_are_not_the_defaults(folder, write_pool):
    write_pool(folder / "pool.parquet", 40)
    plain = str(init("pool.parquet", seed=1))
    assert "interval" not in plain and "budget" not in plain and "floor" not in plain
    said = init(floor=0.5, level=0.9, interval="anytime", budget=1)
    assert str(said).splitlines()[-4:] == [
        "draws: optimal for error, surrogate auto, floor 0.5",
        "intervals: anytime, level 0.9",
        "budget: 1 label",
        "seed: 1",
    ]


FORMULAS = ["=1+1", "+", "-1+2", "@a", "\t=1", "\r=1", "'=1+1", "-3.5", "plain"]


@pytest.fixture
def formulas(folder) -> Study:
    """A study whose ids, texts and names of columns a spreadsheet would run."""
    columns = {
        "id": FORMULAS,
        "prob_+": [0.75] * len(FORMULAS),
        "prob_-1": [0.25] * len(FORMULAS),
        "=text": FORMULAS,
        "number": [-3.5] * len(FORMULAS),
    }
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    return Study.create("pool.parquet", seed=1)


def read_cells(text: str) -> list[list[str]]:
    """The rows of a CSV, the header first."""
    return list(csv.reader(io.StringIO(text, newline="")))


def test_a_spreadsheet_runs_no_text_of_a_batch(formulas):
    batch = formulas.next(len(FORMULAS), show=["=text", "number"])
    header, *rows = read_cells(batch.to_csv())
    assert header == ["id", "label", "'=text", "number"]
    # Ids are for label tools, and numbers are numbers.
    assert [row[0] for row in rows] == batch.ids
    assert {row[3] for row in rows} == {"-3.5"}
    neutral = {text: text if text in ("-3.5", "plain") else f"'{text}" for text in FORMULAS}
    assert [row[2] for row in rows] == [neutral[id] for id in batch.ids]
    header, *rows = read_cells(batch.to_csv(spreadsheet=True))
    assert [row[0] for row in rows] == [neutral[id] for id in batch.ids]
    assert batch.to_jsonl() == replace(batch, spreadsheet=True).to_jsonl()
    assert [json.loads(line)["=text"] for line in batch.to_jsonl().splitlines()] == batch.ids


def test_a_batch_for_a_spreadsheet_is_written_from_everywhere(formulas, folder, capsys):
    text = formulas.next(9, path="a.csv", spreadsheet=True).to_csv()
    assert "'=1+1," in text and (folder / "a.csv").read_bytes().decode() == text
    formulas.next(9).to_csv("b.csv", spreadsheet=True)
    assert (folder / "b.csv").read_bytes().decode() == text
    assert main(["next", "--spreadsheet", "-o", "c.csv"]) == 0
    assert (folder / "c.csv").read_bytes().decode() == text
    capsys.readouterr()
    assert main(["next", "--spreadsheet"]) == 0
    assert capsys.readouterr().out == text
    with pytest.raises(ChoiceError, match="spreadsheet"):
        formulas.next(9, format="jsonl", spreadsheet=True)
    assert main(["next", "--spreadsheet", "--format", "jsonl"]) == 2


def test_json_lines_hold_every_text_and_nothing_that_a_terminal_obeys():
    text = 'a\x1b[2J\x9b\u202e\U000e0041\ud800"\\\n猫'
    written = Batch(1, [{"id": text, "label": ""}], repeated=False).to_jsonl()
    assert written.rstrip("\n").isprintable() and "猫" in written
    assert json.loads(written)["id"] == text


def test_labels_of_a_batch_for_a_spreadsheet_reach_their_items(formulas, folder):
    batch = formulas.next(len(FORMULAS))
    # The pool knows '=1+1 and =1+1: only these two can be taken for each other.
    single = [id for id in batch.ids if id not in ("=1+1", "'=1+1")]
    chosen = {id: ("+", "-1")[number % 2] for number, id in enumerate(single)}
    header, *rows = read_cells(batch.to_csv(spreadsheet=True))
    with open("filled.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for (cell, _), id in zip(rows, batch.ids, strict=True):
            # As a spreadsheet saves a text that was typed with an apostrophe, and a number.
            writer.writerow((cell, {"+": "'+", "-1": "-1"}.get(chosen.get(id, ""), "")))
    with pytest.raises(LabelError, match="as written for a spreadsheet, the item '=1\\+1'"):
        formulas.ingest("filled.csv")
    lines = (folder / "filled.csv").read_bytes().decode().split("\r\n")
    (folder / "filled.csv").write_bytes(
        "\r\n".join(line for line in lines if not line.startswith(("'=1", "''=1"))).encode()
    )
    assert formulas.ingest("filled.csv").new == len(single)
    answers = {answer.id: answer.label for answer in formulas._stored.ledger.record().answers}
    assert answers == chosen
    # The file that was handed in is an earlier batch of known labels.
    formulas.next(2, path="filled.csv", spreadsheet=True)
    assert formulas.ingest({"'=1+1": "+", "=1+1": "-1"}).new == 2
    answers = {answer.id: answer.label for answer in formulas._stored.ledger.record().answers}
    assert answers == chosen | {"'=1+1": "+", "=1+1": "-1"}


def test_a_frame_of_a_batch_for_a_spreadsheet_is_read_like_the_file(formulas):
    rows = [{"id": "'@a", "label": "'+"}, {"id": "''=1+1", "label": "+"}]
    rows += [{"id": "@a", "label": "+"}]
    assert formulas.ingest(rows).new == 2
    answers = {answer.id: answer.label for answer in formulas._stored.ledger.record().answers}
    assert answers == {"@a": "+", "'=1+1": "+"}
    assert formulas.ingest([{"id": "=1+1", "label": "-1"}]).new == 1
    with pytest.raises(LabelError, match="not in the pool"):
        formulas.ingest([{"id": "'plain", "label": "+"}])


def test_an_export_runs_nowhere_and_says_the_same_to_another_study(formulas, folder):
    rows = [{"id": "@a", "label": "+", "annotator": "=1+1"}]
    rows += [{"id": "-3.5", "label": "-1", "annotator": "'=2"}, {"id": "\r=1", "label": "+"}]
    formulas.ingest(rows)
    header, *cells = read_cells(formulas.export().to_csv())
    columns = dict(zip(header, zip(*cells, strict=True), strict=True))
    assert columns["label"] == ("'+", "-1", "'+")
    assert columns["annotator"] == ("'=1+1", "'=2", "")
    assert columns["id"] == ("@a", "-3.5", "\r=1")
    (folder / "log.csv").write_bytes(formulas.export().to_csv().encode())
    other = Study.create("pool.parquet", "other", seed=2)
    assert other.ingest("log.csv").new == 3
    found = [study._stored.ledger.record().answers for study in (formulas, other)]
    assert found[0] == found[1]
