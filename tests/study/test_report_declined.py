"""Declined items in studies: no number and no verdict about all items leaves them out unseen."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pytest import approx

import activetest as at
from activetest.errors import ChoiceError
from activetest.ledger.ledger import Ledger

SIZE, LABELS = 1000, 300
METRICS = ["error", "f1[b]", "log-loss"]
IGNORED = "declined items are ignored: it is about the items that can be answered"


@pytest.fixture(scope="module")
def pool() -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """The pool, an answer for every item, and the error: half of the mistakes are declined."""
    rng = np.random.default_rng(5)
    confidence = rng.uniform(0.62, 1, SIZE)
    pred, wrong = rng.integers(0, 2, SIZE), rng.random(SIZE) < 1 - confidence
    prob = np.where(pred == 1, confidence, 1 - confidence)
    table = pd.DataFrame({"id": [f"i{row}" for row in range(SIZE)], "prob_a": 1 - prob})
    table["prob_b"], table["side"] = prob, rng.choice(["left", "right"], SIZE)
    labels = np.array(["a", "b"])[np.where(wrong, 1 - pred, pred)]
    declined = wrong & (rng.random(SIZE) < 0.5)
    answers = pd.DataFrame({"id": table["id"], "label": np.where(declined, "", labels)})
    answers["status"] = np.where(declined, "declined", "")
    return table, answers, float(wrong.mean())


def make(pool, folder: Path, *, count: int = LABELS, **settings) -> at.Study:
    """A study of that pool with labels in three rounds."""
    study = at.Study.create(pool[0], folder, seed=4, **{"metric": METRICS[:2], **settings})
    answers = pool[1].set_index("id")
    for _ in range(3):
        ids = list(study.next(count // 3).ids)
        study.ingest(answers.loc[ids].reset_index())
    return study


@pytest.fixture(scope="module")
def study(pool, tmp_path_factory) -> at.Study:
    settings = {"groups": ["side"], "budget": LABELS}
    return make(pool, tmp_path_factory.mktemp("worst") / "study", **settings)


@pytest.fixture(scope="module")
def ignoring(pool, tmp_path_factory) -> at.Study:
    settings = {"groups": ["side"], "budget": LABELS, "declined": "ignore"}
    return make(pool, tmp_path_factory.mktemp("ignore") / "study", **settings)


def read(report: at.Report) -> dict:
    return json.loads(str(report.to_json()))


KINDS = pytest.mark.parametrize("interval", ["fixed", "anytime", None])


@KINDS
def test_a_gate_that_is_false_over_all_items_does_not_pass_where_mistakes_are_declined(
    pool, study, ignoring, interval
):
    """The error is .19; of the items that can be answered it is .11."""
    options = {"interval": interval, "require": ["error<=0.17"], "metrics": ["error"]}
    assert pool[2] > 0.19
    report = study.report(**options)
    assert report.gates[0].verdict == "undecided"
    assert report.gates[0].lower < report.gates[0].least < 0.17 < report.gates[0].most
    assert report.gates[0].most < report.gates[0].upper
    gate = ignoring.report(**options).gates[0]
    assert (gate.verdict, gate.least) == ("pass", None)
    assert gate.reason.startswith(IGNORED)
    assert gate.upper < report.gates[0].most


@KINDS
def test_a_gate_is_decided_where_both_ends_say_the_same(study, interval):
    gates = study.report(
        interval=interval, require=["error<=0.35", "error<=0.01", "accuracy>=0.65"]
    ).gates
    assert [gate.verdict for gate in gates] == ["pass", "fail", "pass"]
    for gate in gates[::2]:
        assert gate.lower <= gate.least < gate.estimate < gate.most <= gate.upper


def test_of_groups_differences_and_the_population_intervals_hold_over_all_items(study, pool):
    for population in (False, True):
        report = study.report(differences=["side"], population=population, interval="fixed")
        assert [row.answered is not None for row in report.estimates] == [True] * len(
            report.estimates
        )
        rows = [row for row in report.estimates if row.estimator == "doubly-robust"]
        # The pool, both groups and their difference, by each metric.
        metrics = {row.metric for row in rows}
        assert len(rows) == len(metrics) * (1 + 2 + 1) == 8
        for row in rows:
            assert row.lower < row.least < row.most < row.upper
            assert row.least - 1e-9 <= row.estimate <= row.most + 1e-9
        # Half of the mistakes were declined: with all of them wrong, the error is as it is.
        assert rows[0].most == approx(pool[2], abs=0.05)


def test_a_difference_of_groups_is_judged_by_its_worst(study):
    gates = study.report(
        interval="fixed", require=["error@side=left,right<=0.3", "error@side=left,right<=0.02"]
    ).gates
    assert [gate.verdict for gate in gates] == ["pass", "undecided"]
    assert gates[0].lower < gates[0].least < gates[0].most < gates[0].upper


def test_losses_without_a_bound_have_no_verdict_and_an_interval_of_what_can_be_answered(study):
    report = study.report(metrics=["log-loss"], interval="fixed", require=["log-loss<=9"])
    row, gate = report.estimates[0], report.gates[0]
    assert row.answered < 1 and row.least is row.most is None and row.upper is not None
    assert (gate.verdict, gate.estimate) == ("undecided", None)
    assert gate.reason.startswith("nothing bounds what declined items could make of log-loss")
    assert "`bound` says what one item can cost, or another study that ignores" in gate.reason
    assert "of log-loss, ase are of the items that can be answered alone." in _note(report)
    bounded = study.report(metrics=["log-loss"], bound=3, interval="fixed", require=["log-loss<=2"])
    assert bounded.gates[0].verdict == "pass"
    assert bounded.estimates[0].most < bounded.estimates[0].upper < 2


def _note(report: at.Report) -> str:
    return next(note.text for note in report.notes if note.text.startswith("Items declined"))


def test_the_headline_says_which_items_it_is_of_and_both_ends_over_all(study, ignoring, tmp_path):
    report = study.report(interval="fixed", require=["error<=0.35"], details=True)
    row = report.headline
    share = f"the items that can be answered (about {100 * row.answered:.0f} %)"
    ends = [f"{100 * end:.1f} %" for end in (row.least, row.lower, row.most, row.upper)]
    expected = (
        f"The model is wrong on {100 * row.estimate:.1f} % of {share}; over all items between "
        f"{ends[0]} (lower limit {ends[1]}) and {ends[2]} (upper limit {ends[3]}), with 95 % "
        "confidence."
    )
    report.save(tmp_path / "page.html")
    text = " ".join(str(report).split())
    assert expected in text
    assert expected in report.to_markdown()
    assert expected in (tmp_path / "page.html").read_text().replace("&nbsp;", " ")
    assert share in report._repr_html_()
    assert "the 1,000 items of this pool" in text
    standing = " ".join(str(study.status()).split())
    assert f"declined {report.counts.declined} (count at their least and at their most)" in standing
    report = ignoring.report(interval="fixed", require=["error<=0.35"])
    text = " ".join(str(report).split())
    assert f"of {share} (95 % confidence: " in text
    assert "; declined items are ignored)." in text
    assert f"about the {share.removeprefix('the ')} among the 1,000 items of this pool" in text
    assert "declined items are ignored" in report.gates[0].reason
    assert "They are ignored: every number is about" in _note(report)
    assert "(ignored: numbers are about items" in " ".join(str(ignoring.status()).split())


def test_json_has_both_ends_and_says_what_declined_items_count_as(study, ignoring):
    for each, counted in ((study, "worst"), (ignoring, "ignore")):
        found = read(each.report(interval="fixed", require=["error<=0.2"]))
        assert found["counts"]["declined_as"] == counted
        for row in (found["estimates"][0], found["gates"][0]):
            assert 0 < row["answered"] < 1
            assert (row["least"] is None, row["most"] is None) == (counted == "ignore",) * 2


def test_no_further_label_narrows_what_declined_items_leave_open(study):
    (text,) = (
        note.text
        for note in study.report(half_width=0.01, interval="fixed").notes
        if "half-width" in note.text
    )
    row = study.report(interval="fixed").headline
    assert text == (
        f"Declined items alone leave error a half-width of {(row.most - row.least) / 2:.2g}."
    )
    texts = [note.text for note in study.report(half_width=0.075, interval="fixed").notes]
    assert any("more labels for a half-width of 0.075" in each for each in texts)


def test_without_a_declined_item_nothing_is_said_of_them(pool, tmp_path):
    study = at.Study.create(pool[0], tmp_path / "study", seed=4, metric="error")
    ids = list(study.next(60).ids)
    study.ingest(dict.fromkeys(ids, "a"))
    report = study.report(require=["error<=0.9"])
    assert report.headline.answered is None and report.gates[0].least is None
    assert "answered" not in str(report) and "declined" not in str(report)


def test_points_of_curves_have_intervals_over_all_items(study, ignoring):
    found = {}
    for each, about in (
        (study, "count in intervals, at the worst they could be"),
        (ignoring, "are ignored"),
    ):
        document = json.loads(each.curve("roc", points=5).to_json())
        note = f"Declined items {about}: points are of the items that can be answered."
        assert note in document["notes"]
        found[about] = document["points"][2]
    counted, ignored = found.values()
    assert counted["recall"] == ignored["recall"]
    assert counted["recall_lower"] < ignored["recall_lower"]
    assert counted["recall_upper"] >= ignored["recall_upper"]


def test_once_every_item_has_an_answer_only_declined_ones_are_open(pool, tmp_path):
    """A look that spends no error decides by what is certain."""
    table = pool[0].head(40)
    study = at.Study.create(table, tmp_path / "study", seed=4, metric="error", budget=40)
    ids = list(study.next(40).ids)
    known = pool[1].set_index("id").loc[ids]
    known.loc[ids[:3], ["label", "status"]] = ["", "declined"]
    study.ingest(known.reset_index())
    count = int((known["status"] == "declined").sum())
    pred = dict(zip(table["id"], np.where(table["prob_b"] >= 0.5, "b", "a"), strict=True))
    labels = known["label"].to_dict()
    wrong = sum(label != pred[name] for name, label in labels.items() if label)
    gates = study.report(
        require=[
            f"error<={(wrong + count) / 40}",
            f"error<={(wrong + count - 1) / 40}",
            f"error<={(wrong - 1) / 40}",
        ]
    ).gates
    assert [gate.verdict for gate in gates] == ["pass", "undecided", "fail"]
    for gate in gates:
        assert (gate.lower, gate.upper) == approx((wrong / 40, (wrong + count) / 40))
        assert gate.method == "worst-case"
    assert gates[1].reason == "every answer is known, and declined items leave it open"
    text = " ".join(str(study.report()).split())
    assert "(exact: every answer is known)" in text


# --- recorded before the first draw


def test_it_is_chosen_before_the_first_draw_and_stays(pool, tmp_path):
    study = at.Study.create(pool[0], tmp_path / "study", seed=4, metric="error")
    path = tmp_path / "study" / "study.toml"
    study.change(declined="ignore")
    study.change(declined="worst")
    study.change(declined="ignore")
    with Ledger(tmp_path / "study" / "ledger.db") as ledger:
        assert ledger.plan().declined == "ignore"
    assert 'declined = "ignore"' in path.read_text()
    study.next(5)
    with pytest.raises(ChoiceError, match="`declined` stays after the first draw") as refused:
        study.change(declined="worst")
    assert "this study has ignore" in refused.value.problem
    assert "start another study" in refused.value.hint
    study.change(declined="ignore")
    path.write_text(path.read_text().replace('declined = "ignore"', 'declined = "worst"'))
    with pytest.raises(ChoiceError, match="declined stays after the first draw") as refused:
        at.Study.open(tmp_path / "study")
    assert refused.value.hint == 'restore the line declined = "ignore"'


def test_a_study_that_does_not_say_it_ignores_them_as_its_version_did(pool, tmp_path):
    study = make(pool, tmp_path / "study", count=90, metric="error", declined="ignore")
    path = tmp_path / "study" / "study.toml"
    path.write_text(path.read_text().replace('declined = "ignore"\n', ""))
    report = at.Study.open(tmp_path / "study").report(require=["error<=0.5"])
    assert report.gates[0].reason.startswith(IGNORED)
    assert study.report().headline.lower == report.headline.lower


def test_another_word_is_refused(pool, tmp_path):
    with pytest.raises(ChoiceError, match="declined is 'drop'") as refused:
        at.Study.create(pool[0], tmp_path / "study", declined="drop")
    assert refused.value.hint == "it must be worst or ignore"
