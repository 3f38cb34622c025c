"""Reports on the first model with another threshold, chosen after labels were seen."""

import importlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pytest import approx

from activetest.cli.app import main
from activetest.errors import ChoiceError
from activetest.study.stored import StoredStudy
from activetest.study.study import Study

SIZE = 120
SCORES = np.round(20 * np.random.default_rng(0).beta(0.8, 1.0, SIZE)) / 20
KEY = {
    f"item-{row}": "fraud" if each else "fine"
    for row, each in enumerate(np.random.default_rng(1).random(SIZE) < SCORES)
}


@pytest.fixture
def begin(folder):
    """begin(labels, **settings): a study of 120 scores with so many labels."""

    def begin(labels: int = 50, outputs=None, **settings) -> Study:
        columns = {"score": SCORES} if outputs is None else outputs
        frame = pd.DataFrame({"id": [*KEY], **columns, "place": ["a", "b"] * (SIZE // 2)})
        known = {"classes": ("fine", "fraud"), "positive": "fraud", "groups": ["place"]}
        study = Study.create(frame, seed=1, **known | settings)
        if labels:
            study.ingest({id: KEY[id] for id in study.next(labels).ids})
        return study

    return begin


def find_rows(report) -> dict:
    """{(title, group): row} of estimates from draws."""
    rows = [row for row in report.estimates if row.estimator == "doubly-robust"]
    return {(row.title, str(row.group)): row for row in rows}


def test_estimates_are_those_of_a_model_with_that_threshold_and_intervals_are_wider(begin):
    study = begin()
    found = find_rows(study.report(threshold=0.3))
    study.add("mild", "model@threshold:0.3", trained_on_labels=False)
    added = find_rows(study.report(model="mild"))
    assert {*found} == {*added} and len(found) > 8
    for name, row in found.items():
        assert row.estimate == (
            None if added[name].estimate is None else approx(added[name].estimate, abs=1e-12)
        )
        assert 0.96 < row.level < 1 and added[name].level == 0.95
    narrow, wide = added["error", "None"], found["error", "None"]
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


def test_the_report_says_at_which_level_intervals_hold_and_why(begin):
    report = begin().report(threshold=0.3)
    (note,) = [each.text for each in report.notes if "in hindsight" in each.text]
    level = find_rows(report)["error", "None"].level
    assert f"intervals have {100 * level:.1f} %" in note
    assert "those at all thresholds hold together with 95 %" in note
    assert report.threshold == 0.3 and "threshold 0.3" in report.pool


def test_the_level_is_that_of_the_wider_one_of_both_bands(begin):
    from activetest.item_statistics import specification
    from activetest.nouns.curve import CurveKind
    from activetest.wings.curves import curves

    level = begin().report(threshold=0.3).estimates[0].level
    study = StoredStudy.open()
    cache = study.cache()
    facts = specification.describe_pool(cache.roles, None, cache)
    about = study.log(cache), cache, study.choices, facts
    found = [
        curves._view_rates(*about, kind, 1, 100, seed=1).find_level(0.95, 1)
        for kind in (CurveKind.ROC, CurveKind.PRECISION_RECALL)
    ]
    assert level == max(found) > min(found) > 0.95


def test_a_threshold_that_was_declared_before_the_first_draw_has_the_level_of_the_study(begin):
    study = begin(0)
    study.add("mild", "model@threshold:0.3")
    study.ingest({id: KEY[id] for id in study.next(50).ids})
    report = study.report(threshold=0.3)
    own = find_rows(study.report(model="mild"))
    for name, row in find_rows(report).items():
        assert (row.estimate, row.lower, row.upper, row.level) == (
            *(own[name].estimate, own[name].lower, own[name].upper),
            0.95,
        )
    assert any("declared before the first draw" in note.text for note in report.notes)
    assert study.report(threshold=0.31).estimates[0].level > 0.96


def test_a_threshold_that_was_added_after_draws_is_not_declared(begin):
    study = begin()
    study.add("mild", "model@threshold:0.3", trained_on_labels=False)
    assert study.report(threshold=0.3).estimates[0].level > 0.96


def test_the_studys_own_threshold_changes_nothing(begin):
    study = begin()
    assert study.report(threshold=0.5).to_json() == study.report().to_json()
    assert "threshold" not in json.loads(study.report().to_json())


def test_gates_are_decided_at_that_level_and_are_recorded_nowhere(begin):
    study = begin(90)
    before = StoredStudy.open().ledger.hashes
    files = sorted(study.folder.rglob("*"))
    (gate,) = study.report(threshold=0.3, require="error<=0.6").gates
    level = study.report(threshold=0.3).estimates[0].level
    assert gate.verdict == "pass" and gate.method != "betting"
    assert gate.level == approx(1 - 2 * (1 - level))
    assert StoredStudy.open().ledger.gates() == ()
    assert StoredStudy.open().ledger.hashes == before
    assert sorted(study.folder.rglob("*")) == files


def test_a_gate_that_passes_for_one_threshold_may_not_pass_for_the_best_of_many(begin):
    study = begin()
    study.add("mild", "model@threshold:0.3", trained_on_labels=False)
    upper = study.report(model="mild", require="error<=0.9", interval="fixed").gates[0].upper
    gate = f"error<={upper + 0.001}"
    (alone,) = study.report(model="mild", require=gate, interval="fixed").gates
    (chosen,) = study.report(threshold=0.3, require=gate).gates
    assert (alone.verdict, chosen.verdict) == ("pass", "undecided")


def test_the_share_of_the_error_comes_on_top(begin):
    study = begin(share_error=True)
    (gate,) = study.report(threshold=0.3, require="error<=0.6").gates
    level = study.report(threshold=0.3).estimates[0].level
    assert gate.level > 1 - 2 * (1 - level)
    assert gate.reason.startswith("decided at 99.")


def test_probabilities_of_two_classes_have_a_threshold_too(begin):
    study = begin(outputs={"prob_fine": 1 - SCORES, "prob_fraud": SCORES})
    assert study.report(threshold=0.3).estimates[0].level > 0.96
    assert study.report(threshold=0.7).threshold == 0.7


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 30])
def test_a_threshold_is_a_probability(begin, threshold):
    with pytest.raises(ChoiceError, match="no number between 0 and 1") as found:
        begin().report(threshold=threshold)
    assert "least probability" in found.value.hint


@pytest.mark.parametrize(
    ("outputs", "settings", "problem"),
    [
        ({"pred": ["fine", "fraud"] * (SIZE // 2)}, {}, "predicted classes alone"),
        ({"pred": 100 * SCORES}, {"classes": None, "positive": None}, "predict values"),
        (
            {f"prob_{name}": np.full(SIZE, 1 / 3) for name in ("fine", "fraud", "odd")},
            {"classes": ("fine", "fraud", "odd"), "positive": None},
            "the pool has 3",
        ),
    ],
)
def test_a_model_without_a_threshold_has_no_other_one(begin, outputs, settings, problem):
    study = begin(0, outputs, **settings)
    with pytest.raises(ChoiceError, match=problem) as found:
        study.report(threshold=0.3)
    assert found.value.hint == "leave `threshold` out"


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"model": "v2"}, "first model"),
        ({"reference": "model"}, "compares no models"),
        ({"metrics": "error(v2)"}, "compares no models"),
        ({"require": "error(v2)-error(model)<=0"}, "compares no models"),
        ({"interval": "anytime"}, "hold for one look"),
        ({"interval": "sequential"}, "hold for one look"),
        ({"surface": True}, "own threshold"),
    ],
)
def test_a_report_in_hindsight_is_about_one_model_and_one_look(begin, asked, problem):
    study = begin()
    other = pd.DataFrame({"id": [*KEY], "score": 1 - SCORES})
    study.add("v2", other, trained_on_labels=False)
    with pytest.raises(ChoiceError, match=problem) as found:
        study.report(threshold=0.3, **asked)
    assert found.value.hint


def test_the_command_line_and_every_format_say_the_threshold(begin, capsys):
    begin()
    assert main(["report", "--threshold", "0.3", "-o", "found.html"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "threshold 0.3" in shown and "looked at in hindsight" in shown
    assert "activetest export --curve roc has intervals" in shown
    assert "looked at in hindsight" in Path("found.html").read_text(encoding="utf-8")
    assert main(["report", "--threshold", "0.3", "--format", "markdown"]) == 0
    assert "looked at in hindsight" in capsys.readouterr().out
    assert main(["report", "--threshold", "0.3", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["threshold"] == 0.3 and found["estimates"][0]["level"] > 0.96
    assert main(["report", "--threshold", "30"]) == 2


# --- how often

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def find_coverage(monkeypatch):
    """How often the interval of the best threshold holds: alone, and with the level of the band."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    hindsight = importlib.import_module("hindsight")

    def find(studies: int) -> np.ndarray:
        found = [hindsight.play("uniform", "error", 60, seed) for seed in range(studies)]
        return np.array(found)[:, :2].mean(axis=0)

    return find


def test_the_interval_of_the_threshold_that_looks_best_holds_at_the_level_of_the_band(
    find_coverage,
):
    alone, band = find_coverage(12)
    assert alone <= 0.85 and band == 1


@pytest.mark.slow
def test_in_a_thousand_studies_the_interval_of_the_best_threshold_holds(find_coverage):
    alone, band = find_coverage(1000)
    print(f"alone {alone:.3f}, at the level of the band {band:.3f}")
    assert alone < 0.9 and band >= 0.935
