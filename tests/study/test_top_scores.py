"""A study that picks the largest scores: what its verbs do and say."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from activetest.errors import ChoiceError
from activetest.render import json as as_json
from activetest.render import markdown, text
from activetest.study.ingest import ingest
from activetest.study.next import next_batch
from activetest.study.report import report
from activetest.study.status import status
from activetest.study.stored import StoredStudy
from tests.makers import init

CLASSES = ("cat", "dog", "owl")
NOTE = "Items chosen by the largest score, not drawn: "


@pytest.fixture
def buy(study, label_file):
    """buy(count, selection) chooses, labels and ingests items, and returns their ids."""

    def buy(count: int, selection: str) -> list[str]:
        study.update(replace(study.choices, selection=selection))
        ids = [row["id"] for row in next_batch(study, count).rows]
        ingest(study, label_file(*(f"{item},{CLASSES[int(item[5:]) % 3]}" for item in ids)))
        return ids

    return buy


def notes(current) -> list[str]:
    return [note.text for note in current.notes if note.text.startswith(NOTE)]


def test_next_picks_the_same_items_again_until_they_are_answered(study):
    study.update(replace(study.choices, selection="top"))
    assert status(study)[1].startswith(
        "next takes the largest scores of 40 items to estimate error: optimal"
    )
    batch = next_batch(study, 3)
    assert batch.summary() == "round 1: 3 items with the largest scores"
    assert [draw.q for draw in study.ledger.record().draws] == [None] * 3
    again = next_batch(StoredStudy.open(study.folder), 3)
    assert again.rows == batch.rows
    assert again.summary() == "3 items still waiting for labels (`new=True` chooses others)"
    assert status(study)[1] == (
        "next shows the 3 pending items again; next with `new=True` chooses others"
    )
    study.update(replace(study.choices, selection="draw"))
    assert next_batch(study, 2, new=True).summary() == "round 2: 2 items drawn"


def test_the_first_items_are_drawn_at_random_where_members_agree_before_any_label(
    folder, write_pool, label_file
):
    """One other model is one member, which agrees with itself."""
    table = pq.read_table(write_pool(folder / "pool.parquet", 40))
    names = {f"prob_{name}": f"surrogate_prob_judge_{name}" for name in CLASSES}
    for name, other in names.items():
        table = table.append_column(other, table[name])
    pq.write_table(table, folder / "pool.parquet")
    members = {"surrogate": "external", "acquisition": "metric-information", "selection": "top"}
    init("pool.parquet", seed=1, metric=("error", "recall[dog]"), **members)
    study = StoredStudy.open()
    batch = next_batch(study, 3)
    assert batch.summary() == "round 1: 3 items drawn"
    probs = [draw.q for draw in study.ledger.record().draws]
    assert probs == pytest.approx([1 / 40, 1 / 39, 1 / 38])
    ingest(study, label_file(*(f"{id},cat" for id in batch.ids)))
    found = report(study).estimates
    assert {row.n_labeled for row in found if row.estimator == "doubly-robust"} == {3}
    with pytest.raises(ChoiceError, match="all members of the surrogate 'external' agree"):
        next_batch(study, 3)


def test_what_comes_next_is_said_of_random_first_draws_and_of_top_scores_after_them(
    begin_study, label_file
):
    """bald with a surrogate that learns from labels alone, until it has two classes."""
    study = begin_study(
        surrogate="linear", augment="none", acquisition="bald", selection="top", metric="error"
    )
    items = "next draws from 90 items to estimate error: bald, surrogate linear"
    assert status(study)[1] == f"{items}; at random, as the surrogate has learned nothing yet"
    batch = next_batch(study, 4)
    assert batch.summary() == "round 1: 4 items drawn"
    assert next_batch(study, 10).summary() == (
        "4 items still waiting for labels (`new=True` draws others)"
    )
    assert next_batch(study, 3).summary() == (
        "4 items still waiting for labels, so 3 new ones were not drawn (`new=True` draws others)"
    )
    assert status(study)[1].endswith("next with `new=True` draws others")
    assert next_batch(study, 2, new=True).summary() == "round 2: 2 items drawn"
    ingest(study, label_file(*(f"{id},cat" for id in batch.ids)))
    ingest(study, label_file(*(f"{id},cat" for id in next_batch(study, 1).ids)))
    taken = "next takes the largest scores of {} items to estimate error: bald, surrogate linear"
    assert (
        status(study)[1]
        == f"{taken.format(84)}; at random while all members of the surrogate agree"
    )
    (last,) = next_batch(study, 1, new=True).ids
    ingest(study, label_file(f"{last},dog"))
    assert status(study)[1] == taken.format(83)
    largest = next_batch(study, 3)
    assert largest.summary() == "round 4: 3 items with the largest scores"
    assert next_batch(study, 3).summary().endswith("(`new=True` chooses others)")


def test_a_report_says_what_its_headline_rests_on_with_top_scores(study, buy):
    """The own view stands beside it, and a caution says which uses which labels."""
    buy(5, "draw")
    assert "ase" not in text.render(report(study), color=False)
    buy(9, "top")
    current = report(study)
    (note,) = (each for each in current.notes if each.text.startswith(NOTE))
    assert note.is_caution
    assert note.text == (
        f"{NOTE}9. The surrogate learns from them. The doubly-robust estimate rests on the 5 drawn "
        "items, and hardly gets closer as more are chosen: of those it only knows the labels. The "
        "surrogate's own view (ase) uses every label, and is only as good as the surrogate; "
        '`study.change(selection="draw")` draws items instead.'
    )
    for written in (text.render(current, width=200, color=False), markdown.render(current)):
        rows = [line for line in written.splitlines() if "error" in line and "0." in line]
        assert sum("doubly-robust" in row for row in rows) == sum("ase" in row for row in rows) == 1
        assert "rests on the 5 drawn items" in " ".join(written.split())
    alone = report(study, estimators=("ase",))
    assert notes(alone) == [
        f"{NOTE}9. The surrogate learns from them, and their labels count as known."
    ]
    buy(40, "top")
    exact = text.render(report(study), color=False)
    assert "ase" not in exact and "rests on" not in exact


def test_status_counts_picks_apart(study, buy, label_file):
    buy(5, "draw")
    study.update(replace(study.choices, selection="top"))
    first, second, _ = (row["id"] for row in next_batch(study, 3).rows)
    lines = (f"{first},cat,", f"{second},,declined")
    ingest(study, label_file(*lines, header="id,label,status"))
    counts, coming = status(study)
    assert (counts.drawn, counts.deterministic, counts.rounds) == (5, 3, 2)
    assert (counts.labeled, counts.declined, counts.pending) == (6, 1, 1)
    how = "3 (top scores, or selection probabilities equal to 0)"
    written = text.status(counts, coming, width=80, color=False)
    assert f"not drawn at random  {how}" in written
    assert f"| not drawn at random | {how} |" in markdown.status(counts)
    assert json.loads(as_json.status(counts))["counts"]["deterministic"] == 3
    buy(1, "draw")
    assert "next draws from 32 items" in status(study)[1]


def test_a_study_without_picks_does_not_speak_of_them(study, buy):
    buy(10, "draw")
    current = report(study)
    assert notes(current) == []
    for written in (text.render(current, color=False), markdown.render(current)):
        assert "largest score" not in written
    assert "not drawn at random" not in text.status(current.counts, color=False)


def test_picks_alone_have_no_estimate_from_draws_and_the_own_view_is_shown(study, buy):
    buy(10, "top")
    current = report(study)
    headline, own = current.estimates[:2]
    assert headline.estimate is None
    assert headline.reason == (
        "items were chosen by the largest score, and an estimate needs at least 2 that were drawn "
        "at random (0 so far)"
    )
    assert headline.n_labeled == 0
    assert (own.estimator, own.n_labeled) == ("ase", 10)
    assert own.lower <= own.estimate <= own.upper
    (note,) = notes(current)
    assert note.startswith(f"{NOTE}10.")
    assert '`study.change(selection="draw")`' in note
    shown = text.render(current, verbose=True, width=200, color=False)
    assert f"No estimate yet: {headline.reason}.\n" in shown
    assert "ase" in shown
    assert "are taken (acquisition optimal, seed 1).\n" in shown
    assert json.loads(as_json.render(current))["selection"] == "top"


def test_a_curve_has_an_own_view_around_what_the_surrogate_believes(study, buy):
    buy(10, "top")
    current = report(study, metrics=("auroc[dog]",))
    assert current.estimates[0].estimate is None
    assert (
        0
        < current.estimates[1].lower
        <= current.estimates[1].estimate
        <= current.estimates[1].upper
        <= 1
    )


def test_estimates_of_a_mixed_study_rest_on_what_was_drawn(study, buy):
    deterministic = [*buy(4, "top")]
    drawn = buy(8, "draw")
    deterministic += buy(3, "top")
    drawn += buy(8, "draw")
    assert not set(deterministic) & set(drawn)
    current = report(study, metrics=("error", "f1[dog]", "auroc[dog]"))
    for row in current.estimates:
        if row.group is None:
            assert row.n_labeled == (16 if row.estimator == "doubly-robust" else 23)
            assert row.lower <= row.estimate <= row.upper
    assert notes(current) == [
        f"{NOTE}7. The surrogate learns from them, and their labels count as known; the estimates "
        "use the 16 drawn items."
    ]
    groups = [row for row in current.estimates if row.group and row.metric == "error"]
    assert sum(row.n_labeled for row in groups) == 16


def test_a_gate_of_picks_alone_is_undecided_and_one_of_a_mixed_study_may_bet(study, buy):
    buy(10, "top")
    for interval in ("anytime", "fixed"):
        (gate,) = report(study, require=("error<=0.5",), interval=interval).gates
        assert (gate.verdict, gate.estimate, gate.n_labeled) == ("undecided", None, 0)
    buy(10, "draw")
    (gate,) = report(study, require=("error<=0.5",)).gates
    assert (gate.method, gate.n_labeled) == ("betting", 10)
    assert gate.lower <= gate.estimate <= gate.upper
    assert gate.e_pass > 0


def test_a_pick_that_waits_counts_at_its_guess_for_the_draws_after_it(study, buy, label_file):
    buy(6, "draw")
    study.update(replace(study.choices, selection="top"))
    waiting = next_batch(study, 2).rows
    study.update(replace(study.choices, selection="draw"))
    later = [row["id"] for row in next_batch(study, 5, new=True).rows]
    ingest(study, label_file(*(f"{item},cat" for item in later)))
    current = report(study, metrics=("brier",))
    before = current.estimates[0]
    assert before.n_labeled == 11
    (waits,) = (each.text for each in current.notes if "have no label" in each.text)
    assert waits.startswith("2 items have no label among the draws that the estimates use: ")
    assert all(row["id"] in waits for row in waiting)
    ingest(study, label_file(*(f"{row['id']},cat" for row in waiting)))
    after = report(study, metrics=("brier",)).estimates[0]
    assert after.n_labeled == 11
    assert before.lower < after.estimate < before.upper and before.estimate != after.estimate


def test_declined_picks_leave_the_target(study, buy, label_file):
    buy(20, "draw")
    study.update(replace(study.choices, selection="top"))
    ids = [row["id"] for row in next_batch(study, 20).rows]
    lines = [f"{item},cat," for item in ids[:15]] + [f"{item},,declined" for item in ids[15:]]
    ingest(study, label_file(*lines, header="id,label,status"))
    current, cache = report(study), study.cache()
    truth = [CLASSES[row % 3] for row in range(40)]
    for item in ids[:15]:
        truth[int(item[5:])] = "cat"
    codes = np.array([cache.classes.index(name) for name in truth])
    wrong = codes != cache.rows(0, 40).outputs.pred
    kept = np.setdiff1d(np.arange(40), cache.find(ids[15:]))
    first = current.estimates[0]
    assert first.estimate == pytest.approx(wrong[kept].mean())
    # Over all items, what five labels would have been stays open.
    assert first.method == "worst-case" and first.quantity.kind == "exact"
    ends = wrong[kept].sum() / 40, (wrong[kept].sum() + 5) / 40
    assert (first.lower, first.upper) == pytest.approx(ends)
    assert notes(current) == []
