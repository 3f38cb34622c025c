"""Studies with several annotators who err: numbers, marks, gates and counts of their reports."""

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from pytest import approx

from activetest.errors import ChoiceError
from activetest.render import html
from activetest.study.study import Study

SIZE = 2000


class Crowd:
    """A pool whose model is wrong on 10 %, and annotators who are right as often as is said."""

    def __init__(self, folder, right, *, seed: int = 1, **settings) -> None:
        rng = np.random.default_rng(seed)
        confidence = rng.uniform(0.8, 1, SIZE)
        predicted = rng.integers(2, size=SIZE)
        self.truth = np.where(rng.random(SIZE) < 1 - confidence, 1 - predicted, predicted)
        self.wrong = float((self.truth != predicted).mean())
        self.said = [np.where(rng.random(SIZE) < p, self.truth, 1 - self.truth) for p in right]
        yes = np.where(predicted == 1, confidence, 1 - confidence)
        table = pa.table(
            {
                "id": [str(row) for row in range(SIZE)],
                "prob_no": 1 - yes,
                "prob_yes": yes,
                "sure": np.where(confidence < 0.9, "less", "more"),
            }
        )
        settings = {"annotators": "dawid-skene", "groups": "sure"} | settings
        self.study = Study.create(table, folder, seed=seed, **settings)

    def ask(self, ids, who) -> None:
        answers = ((id, each, self.said[each][int(id)]) for id in ids for each in who)
        self.study.ingest(
            [
                {"id": id, "label": ("no", "yes")[label], "annotator": "abc"[each]}
                for id, each, label in answers
            ]
        )

    def draw(self, count: int, who) -> list[str]:
        ids = self.study.next(count).ids
        self.ask(ids, who)
        return ids


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Crowd:
    """Three annotators, right on 80 %, who all answer each of 200 drawn items."""
    crowd = Crowd(tmp_path_factory.mktemp("three") / "study", (0.8,) * 3)
    crowd.draw(100, range(3))
    crowd.draw(100, range(3))
    return crowd


def find(report, metric: str, group: dict | None = None):
    return next(
        row
        for row in report.estimates
        if (row.metric, row.group, row.against) == (metric, group, None)
    )


def test_the_error_rate_is_that_of_the_model_and_not_of_the_annotators(three):
    report = three.study.report(metrics=["error", "f1", "log-loss", "balanced-accuracy"])
    row = report.headline
    assert row.reliable and row.lower < three.wrong < row.upper
    assert row.estimate == approx(three.wrong, abs=0.05)
    assert find(report, "f1").estimate == approx(1 - three.wrong, abs=0.06)
    assert any("pairs of them agree with that" in note.text for note in report.notes)
    for name in ("less", "more"):
        group = find(report, "error", {"sure": name})
        assert group.lower < {"less": 0.15, "more": 0.05}[name] < group.upper


def test_draws_items_and_answers_are_counted_apart(three):
    report = three.study.report()
    row = report.headline
    assert (row.n_draws, row.n_labeled, row.n_answers, row.n_items) == (200, 200, 600, 200)
    assert row.quantity.saving.ratio == row.quantity.saving.random / 200 > 0.8
    assert "200 (600 answers) of 2,000 items" in str(report)
    page = html.render(three.study.report(details=True))
    counts = re.findall(r"([0-9,]+) of [0-9,]+ items<", page)
    assert sum(map(int, counts[:2])) == 200


def test_reports_show_how_often_each_annotator_is_right(three):
    report = three.study.report(details=True)
    assert any(note.text.startswith("Estimated shares of right") for note in report.notes)
    people = json.loads(report.to_json())["details"]["raters"]
    for each in people:
        assert each["confusion"]["yes"]["yes"] == approx(0.8, abs=0.15)
        assert sum(each["confusion"]["no"].values()) == approx(1)
    assert "estimated: right, by true class" in html.render(report)


def test_a_gate_by_corrected_numbers_is_fixed_or_sequential(three, tmp_path):
    with pytest.raises(ChoiceError, match="decide nothing at every look") as error:
        three.study.report(require="error<=0.3")
    assert "fixed" in error.value.hint and "planned looks" in error.value.hint
    (gate,) = three.study.report(require="error<=0.3", interval="fixed").gates
    assert gate.verdict == "pass"
    row = three.study.report(interval="anytime").headline
    assert row.lower is None and "every look" in row.reason
    looks = Crowd(tmp_path / "looks", (0.9,) * 3, seed=2, budget=100)
    looks.draw(100, range(3))
    (gate,) = looks.study.report(require="error<=0.4").gates
    assert (gate.verdict, gate.quantity.kind) == ("pass", "fixed")


def test_with_too_few_second_answers_the_number_is_plain_and_marked(tmp_path):
    crowd = Crowd(tmp_path / "study", (0.8, 0.8, 0.8))
    ids = crowd.draw(60, [0])
    crowd.ask(ids[:19], [1])
    report = crowd.study.report()
    assert not report.headline.reliable
    (note,) = [each for each in report.notes if "Nothing is corrected" in each.text]
    assert "19 of 20" in note.text and "would do: 1;" in note.text and note.is_caution
    crowd.ask(ids[19:40], [1])
    report = crowd.study.report()
    assert not report.headline.reliable
    (note,) = [each for each in report.notes if "Estimates are corrected" in each.text]
    assert "0 of 20" in note.text and "Without the correction: error 0." in note.text
    crowd.ask(ids[:20], [2])
    assert crowd.study.report().headline.reliable


def test_annotators_who_copy_each_other_are_not_believed(tmp_path):
    crowd = Crowd(tmp_path / "study", (0.75, 0.75, 0.75))
    crowd.said[1] = crowd.said[0]
    crowd.draw(150, range(3))
    report = crowd.study.report()
    (note,) = [each for each in report.notes if "err together" in each.text]
    assert "Without the correction: error 0." in note.text
    assert not report.headline.reliable
    assert not any("Rare" in each.text for each in report.notes)


def test_further_answers_that_follow_from_earlier_ones_leave_the_number_right(tmp_path):
    """Of `next --again`: today's labels call 20 % of the predictions wrong."""
    crowd = Crowd(tmp_path / "study", (0.8,) * 3)
    crowd.draw(200, [0])
    for who in (1, 2):
        crowd.ask(crowd.study.next(again=100).ids, [who])
    row = crowd.study.report().headline
    assert row.lower < crowd.wrong < row.upper
    assert row.estimate == approx(crowd.wrong, abs=0.07)


def test_the_majority_takes_labels_as_they_are(tmp_path):
    crowd = Crowd(tmp_path / "study", (0.8,) * 3, annotators="majority")
    crowd.draw(100, range(3))
    report = crowd.study.report(require="error<=0.4")
    assert report.headline.estimate > crowd.wrong + 0.03
    assert report.headline.reliable and report.headline.n_answers == 300
    assert not any("corrected" in each.text for each in report.notes)


def test_curves_are_corrected_as_metrics_are(three):
    """Labels as they are would put the accuracy of the surest bin 10 points too low."""
    report = three.study.report(metrics=["accuracy", "auroc"])
    curve = three.study.curve("reliability")
    sizes = np.array([point.place["n_pool"] for point in curve.points])
    values = np.array([point.measures[0].estimate or 0.0 for point in curve.points], float)
    assert sizes @ values / SIZE == approx(find(report, "accuracy").estimate, abs=0.03)
    assert find(report, "auroc").lower < 0.87 < find(report, "auroc").upper
