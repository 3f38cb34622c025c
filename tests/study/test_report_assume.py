"""Reports that rest on an assumption about a rare class: every line of them says so."""

import html
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from activetest import Study
from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.study.stored import StoredStudy
from tests.makers import copy_written

SIZE, LOW = 3000, 2500
ASSUMED, WRONG = "rate[fraud]@score<1e-4<=0.0008", "rate[fraud]@score<0.001<=0"
METRICS = ["recall[fraud]", "precision[fraud]", "error"]


def label(item: str, hidden: int, low: int) -> str:
    """Fraud is every third item with a score above 1e-4, and so many of the others."""
    row = int(item)
    is_hidden = hidden and row < low and row % (low // hidden) == 0
    return "fraud" if is_hidden or (row >= low and row % 3 == 0) else "ok"


def write_study(place: Path, hidden: int, *, low: int = LOW, **choices) -> None:
    scores = np.concatenate([np.linspace(1e-6, 9e-5, low), np.linspace(0.02, 0.97, SIZE - low)])
    ids = [str(row) for row in range(SIZE)]
    pq.write_table(pa.table({"id": ids, "score": scores}), place / "pool.parquet")
    classes = {"classes": ["ok", "fraud"], "positive": "fraud"}
    study = Study.create(place / "pool.parquet", metric="recall", seed=1, **classes, **choices)
    for _ in range(2):
        study.ingest({item: label(item, hidden, low) for item in study.next(100).ids})


@pytest.fixture
def study(folder):
    """A study whose assumption is true."""
    copy_written("rare class", lambda place: write_study(place, 0), folder)
    return Study.open()


@pytest.fixture
def planned(folder):
    """The same with planned looks."""
    planned = {"budget": 400, "looks": 2}
    copy_written("rare class, looks", lambda place: write_study(place, 0, **planned), folder)
    return Study.open()


@pytest.fixture
def hidden(folder):
    """A study in which an eighth of the items with a tiny score are of the class after all."""
    copy_written("rare class, twin", lambda place: write_study(place, 312), folder)
    return Study.open()


def test_lines_name_the_assumption_where_they_rest_on_it(study):
    report = study.report(metrics=METRICS, assume=ASSUMED)
    rests = {row.title: row.assumptions for row in report.estimates if row.estimator != "ase"}
    assert rests == {"recall[fraud]": ASSUMED, "precision[fraud]": None, "error": ASSUMED}
    lines = str(report).splitlines()
    for name in METRICS:
        line = next(line for line in lines if line.startswith(f"{name} "))
        assert (f"if {ASSUMED}" in line) == (name != "precision[fraud]")
    assert ASSUMED in str(report).split("labels used")[0]


def test_every_format_names_it(study, capsys):
    given = {"require": "error<=0.5", "interval": "fixed", "assume": ASSUMED}
    report = study.report(**given, details=True)
    files = ["report.html", "report.md", "report.txt", "gates.xml"]
    report.save(files)
    for text in (*(Path(file).read_text() for file in files), report._repr_html_()):
        plain = html.unescape(re.sub(r"</?span>|\\", "", text)).replace("\n", " ")
        assert f"if {ASSUMED}" in plain


def test_what_labels_say_of_it_is_in_the_notes_and_in_the_json(study):
    report = study.report(assume=ASSUMED)
    note = str(report.notes[0])
    assert note.startswith(f"The assumption {ASSUMED} is untested: 0 of ")
    (check,) = report.assumptions
    document = json.loads(report.to_json())
    assert document["assumptions"] == [
        {
            **dict.fromkeys(("model", "part", "criterion", "repeat")),
            "assumption": ASSUMED,
            "class": "fraud",
            "below": 1e-4,
            "at_most": 0.0008,
            "n_pool": LOW,
            "n_labeled": check.n_labeled,
            "n_found": 0,
            "upper": check.upper,
            "verdict": "untested",
        }
    ]
    assert document["estimates"][0]["assumptions"] == ASSUMED
    assert f"up to {100 * check.upper:.2g} %" in note


def test_a_refuted_assumption_is_not_used_and_the_plain_number_is_given(hidden):
    plain, report = hidden.report(), hidden.report(assume=ASSUMED)
    assert report.assumptions[0].verdict == "refuted"
    assert report.estimates == plain.estimates
    assert "is refuted by the labels, and no number rests on it" in str(report.notes[0])


def test_gates_are_fixed_or_at_planned_looks_and_name_it(study, planned):
    for each, interval in ((study, "fixed"), (planned, None)):
        report = each.report(require="recall[fraud]>=0.2", assume=ASSUMED, interval=interval)
        (gate,) = report.gates
        assert gate.assumptions == ASSUMED
        assert f"if {ASSUMED}" in str(report)
        assert json.loads(report.to_json())["gates"][0]["assumptions"] == ASSUMED
    asked = StoredStudy.open().ledger.gates()
    assert asked[-1].conditions == {"assume": [ASSUMED]}


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"require": "recall[fraud]>=0.2"}, '`interval="fixed"`'),
        ({"interval": "anytime"}, '`interval="fixed"`'),
        ({"interval": "posterior"}, '`interval="fixed"`'),
        ({"population": True}, "leave out `population`"),
    ],
)
def test_other_intervals_rest_on_none(study, arguments, hint):
    with pytest.raises(ChoiceError) as error:
        study.report(assume=ASSUMED, **arguments)
    assert error.value.hint == hint


def test_the_command_line_takes_several_and_says_what_is_wrong(study, capsys):
    given = ["--assume", ASSUMED, "--assume", "rate[ok]@score<0.03<=0.6"]
    assert main(["report", "--metric", "error", *given]) == 0
    assert f"if {ASSUMED} and rate[ok]@score<0.03<=0.6" in capsys.readouterr().out.replace(
        "\n", " "
    )
    assert main(["report", "--assume", "rate[fraud]>=0.1"]) == 2
    assert "write it like 'rate[fraud]@score<1e-4<=0.0001'" in capsys.readouterr().err
    assert main(["report", "--assume", ASSUMED, "--require", "error<=0.5"]) == 2
    assert "--interval fixed" in capsys.readouterr().err


def test_study_toml_may_hold_it(study):
    place = study.folder / "study.toml"
    place.write_text(place.read_text() + f'\n[report]\nassume = ["{ASSUMED}"]\n')
    assert Study.open().report().estimates[0].assumptions == ASSUMED
    assert Study.open().report(assume=()).estimates[0].assumptions is None


def write_rarer(place: Path) -> None:
    write_study(place, 0, low=2800, groups=["predicted"])


def test_a_report_proposes_one_where_it_narrows_an_interval_much(folder, study, capsys):
    metrics = ["recall[fraud]", "error"]
    assert "If at most" not in str(study.report(metrics=["error"]))
    copy_written("rarer class", write_rarer, folder / "rarer")
    rarer = Study.open(folder / "rarer" / ".activetest")
    report = rarer.report(metrics=metrics)
    (note,) = [str(note) for note in report.notes if "If at most" in str(note)]
    proposed = note.split("assume=")[1].split("'")[1]
    # The first metric that becomes much narrower.
    name = note.rsplit("), ", 1)[1].split(" is ")[0]
    row, plain = (
        next(row for row in each.estimates if row.title == name and row.group is None)
        for each in (rarer.report(metrics=metrics, assume=proposed), report)
    )
    assert note.endswith(f"{name} is {row.lower:.2g} to {row.upper:.2g}.")
    assert row.upper - row.lower <= 0.7 * (plain.upper - plain.lower)
    assert main(["report", "--study", str(rarer.folder)]) == 0
    assert f"report --assume '{proposed}'" in capsys.readouterr().out.replace("\n         ", " ")
