"""Curves of studies: in Python, as a frame, as CSV and as JSON, and from the command line."""

import csv
import json
from io import StringIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pytest import approx

import activetest as at
from activetest.cli.app import main
from activetest.render.json import DIMENSIONS

SIZE = 120


@pytest.fixture
def opened(folder) -> at.Study:
    """A study of 120 items with a positive class that a spreadsheet would run; 60 are labelled."""
    rng = np.random.default_rng(0)
    score = rng.beta(1, 2, SIZE)
    ids = [f"item-{row}" for row in range(SIZE)]
    columns = {"id": ids, "prob_no": 1 - score, "prob_=1+1": score}
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    truth = np.where(rng.random(SIZE) < score, "=1+1", "no")
    study = at.Study.create("pool.parquet", "study", positive="=1+1", seed=1)
    study.ingest({id: truth[int(id.split("-")[1])] for id in study.next(60).ids})
    return study


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(text)))


@pytest.mark.parametrize("name", ["roc", "precision-recall", "reliability", "reliability[=1+1]"])
def test_a_frame_csv_and_json_hold_the_same(opened, name):
    settings = {"bins": 6} if name.startswith("reliability") else {"points": 6}
    curve = opened.curve(name, **settings)
    document = json.loads(curve.to_json())
    frame, rows = curve.to_frame("pyarrow").to_pylist(), read_csv(curve.to_csv())
    assert len(curve) == len(curve.points) == len(frame) == len(rows) == len(document["points"])
    assert document["notes"] == curve.notes and document["n_labeled"] == 60
    about = {"curve": document["curve"], "class": document["class"], "level": 0.95}
    about |= {"band": "pointwise", "estimator": "doubly-robust"}
    for point, row, cells in zip(document["points"], frame, rows, strict=True):
        assert {point.pop(key) for key in DIMENSIONS} == {None}
        assert row == about | point
        for key, value in row.items():
            if isinstance(value, bool):
                assert cells[key] == str(value).lower()
            elif isinstance(value, float | int):
                assert float(cells[key]) == value
            else:
                # A formula is neutral in a spreadsheet; what does not exist is an empty cell.
                assert cells[key] == {None: "", "=1+1": "'=1+1"}.get(value, value)
    kind = [field.type for field in curve.to_frame("pyarrow").schema]
    assert pa.null() not in kind


def test_a_frame_of_nothing_has_the_types_of_every_other(folder):
    columns = {"id": range(20), "score": np.linspace(0.1, 0.9, 20)}
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    curve = at.Study.create("pool.parquet", "fresh").curve("roc", points=3)
    assert {point["recall"] for point in curve.to_frame("pyarrow").to_pylist()} == {None}
    assert pa.null() not in [field.type for field in curve.to_frame("pyarrow").schema]
    assert all(point.reasons for point in curve.points)


def test_the_command_prints_what_python_gives(opened, capsys):
    words = ["export", "--study", "study", "--curve", "roc[=1+1]", "--points", "5"]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert printed.out == opened.curve("roc", points=5).to_csv()
    assert "roc[=1+1]: 7 thresholds, 60 labels, 120 items; each interval holds alone" in printed.err
    assert main([*words, "--simultaneous", "--format", "json"]) == 0
    found = opened.curve("roc[=1+1]", points=5, simultaneous=True)
    assert capsys.readouterr().out == found.to_json()
    assert "All intervals hold together" in found.notes[0]


def test_files_are_written_by_their_ending_and_never_over_others(opened, capsys):
    words = ["export", "--study", "study", "--curve", "reliability", "--bins", "5"]
    assert main([*words, "-o", "curve.csv"]) == main([*words, "-o", "curve.json"]) == 0
    curve = opened.curve("reliability", bins=5)
    assert Path("curve.csv").read_text() == curve.to_csv()
    assert Path("curve.json").read_text() == curve.to_json()
    assert capsys.readouterr().out == ""
    for path, problem in (("curve.csv", "is there already"), ("study/c.csv", "inside the study")):
        with pytest.raises(at.StorageError, match=problem):
            opened.curve("roc", path=path)
        with pytest.raises(at.StorageError, match=problem):
            curve.to_csv(path)
    assert main([*words, "-o", "curve.csv"]) == 2
    assert Path("curve.csv").read_text() == curve.to_csv()
    opened.curve("roc", points=4, path="curve.csv", force=True)
    assert Path("curve.csv").read_text().startswith("curve,class,threshold")
    opened.curve("roc", points=4, path="curve.txt", format="json")
    assert json.loads(Path("curve.txt").read_text())["curve"] == "roc"
    with pytest.raises(at.StorageError, match="curve.csv"):
        curve.to_json("curve.csv")
    with pytest.raises(at.StorageError, match="`path` is 3"):
        curve.to_csv(3)


def test_a_name_with_control_characters_reaches_no_terminal(folder, capsys):
    columns = {"id": range(20), "prob_a\x1b[31m": np.linspace(0, 1, 20)}
    columns["prob_b"] = 1 - columns["prob_a\x1b[31m"]
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    at.Study.create("pool.parquet", "study")
    words = ["export", "--study", "study", "--curve", "roc[a\x1b[31m", "--points", "2"]
    assert main(words) == 2
    at.Study.open("study").change(positive="a\x1b[31m")
    assert main([*words[:-3], "roc", "--points", "2", "-o", "c.csv"]) == 0
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--curve", "rok"], "there is no curve 'rok'"),
        (["--curve", "roc[maybe]"], "there is no class 'maybe'"),
        (["--curve", "roc["], "brackets do not match"),
        (["--curve", "roc", "--bins", "3"], "thresholds, no bins"),
        (["--curve", "reliability", "--points", "3"], "bins, no thresholds"),
        (["--curve", "roc", "--points", "1"], "--points is 1"),
        (["--curve", "roc", "--format", "xml"], "not written as 'xml'"),
        (["--curve", "roc", "--surface"], "neither the log nor the surface"),
        (["--curve", "roc", "--rescue"], "neither the log nor the surface"),
        (["--points", "3"], "--points: only curves have that"),
        (["--simultaneous"], "--simultaneous: only curves have that"),
    ],
)
def test_what_makes_no_sense_is_refused(opened, capsys, words, problem):
    assert main(["export", "--study", "study", *words, "-o", "new.csv"]) == 2
    assert problem in capsys.readouterr().err
    assert not Path("new.csv").exists()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"name": 3}, "`name` is 3"),
        ({"points": "5"}, "`points` is '5'"),
        ({"points": 2.5}, "`points` is 2.5"),
        ({"bins": 2.5}, "`bins` is 2.5"),
        ({"simultaneous": "yes"}, "`simultaneous` is 'yes'"),
        ({"class_name": "no"}, "no argument 'class_name'"),
    ],
)
def test_arguments_of_another_type_are_refused(opened, settings, problem):
    with pytest.raises(at.ChoiceError, match=problem):
        opened.curve(**{"name": "roc"} | settings)


def test_a_second_look_gives_the_same_curve_and_more_labels_another(opened):
    first = opened.curve("roc", points=8, simultaneous=True).to_csv()
    assert at.Study.open("study").curve("roc", points=8, simultaneous=True).to_csv() == first
    opened.ingest(dict.fromkeys(opened.next(5).ids, "no"))
    assert opened.curve("roc", points=8, simultaneous=True).to_csv() != first


def test_all_labels_leave_no_doubt(opened):
    opened.ingest({f"item-{row}": "no" for row in range(SIZE)}, replace=True)
    points = opened.curve("roc", points=12).to_frame("pyarrow").to_pylist()
    assert {point["recall"] for point in points} == {None}
    assert "'=1+1'" in points[0]["reason"]
    for point in points:
        rate = point["false_positive_rate"]
        assert rate == approx(point["n_pool"] / SIZE)
        assert point["false_positive_rate_lower"] == rate == point["false_positive_rate_upper"]


def test_a_point_is_as_reliable_as_the_report_says_of_the_same_threshold(tmp_path):
    """Of draws that are not uniform, labels of the rarer kind are few as uniform ones count."""
    rng = np.random.default_rng(0)
    truth = rng.random(1500) < 0.08
    score = np.where(truth, rng.beta(4, 2, 1500), rng.beta(1, 8, 1500))
    score[truth & (rng.random(1500) < 0.2)] = 0.01
    pool = pa.table({"id": [*map(str, range(1500))], "score": score})
    study = at.Study.create(pool, tmp_path / "study", seed=0)
    called, marks = int((score >= 0.5).sum()), []
    for _ in range(8):
        ids = study.next(15).ids
        study.ingest(pa.table({"id": ids, "label": [str(int(truth[int(each)])) for each in ids]}))
        names = ["recall", "precision"]
        rows = json.loads(study.report(metrics=names).to_json())["estimates"]
        reliable = all(row["reliable"] for row in rows if row["estimator"] == "doubly-robust")
        points = json.loads(study.curve("precision-recall", points=13).to_json())["points"]
        (point,) = (each for each in points if each["n_pool"] == called)
        marks.append((point["reliable"], reliable))
    assert {each for each, _ in marks} == {True, False}
    assert [each for each, _ in marks] == [each for _, each in marks]
