"""Notes on answers that are missing, and on labels that wait for them."""

from types import SimpleNamespace

import numpy as np
import pytest

from activetest.nouns.log import LABELLED, PENDING
from activetest.nouns.report import Weight
from activetest.reporting import missing_notes


def view_of(log=None, **fields):
    """A view of items a, b, c, ..."""
    cache = SimpleNamespace(ids=lambda rows: ["abcdefgh"[row] for row in rows], classes=("x",))
    return SimpleNamespace(cache=cache, log=log, **fields)


def filled(drawn, supplied):
    log = SimpleNamespace(rows=np.arange(8), supplied_rows=np.arange(8)[::-1])
    evidence = SimpleNamespace(log=log)
    return SimpleNamespace(evidence=evidence, drawn=np.array(drawn, int), supplied=supplied)


@pytest.mark.parametrize(
    ("drawn", "supplied", "subject", "taken_back", "advice"),
    [
        ([1], [], "1 item has no label", "", "Without an answer: b. Label it"),
        ([1, 2], [], "2 items have no label", "", "Without an answer: b and c. Label them"),
        ([], [0], "1 item has no label", "Labels of h was taken back after", ""),
        ([2], [0, 1], "3 items have no label", "Labels of h and g were taken back", "answer: c. "),
    ],
)
def test_items_without_a_label_are_counted_and_named(drawn, supplied, subject, taken_back, advice):
    text = missing_notes._describe_filled(view_of(), filled(drawn, supplied))
    count = len(drawn) + len(supplied)
    assert text.startswith(subject)
    assert (": it counts as the" in text) == (count == 1)
    assert (": they count as the" in text) == (count > 1)
    assert taken_back in text and ("taken back" in text) == bool(taken_back)
    assert advice in text and ("Without an answer" in text) == bool(drawn)
    assert text == text.strip()


def test_later_labels_wait_for_draws_up_to_the_last_round_that_has_any():
    log = SimpleNamespace(
        rows=np.arange(7),
        round=np.array([1, 1, 2, 2, 3, 3, 4]),
        status=np.array([LABELLED, PENDING, PENDING, PENDING, LABELLED, PENDING, PENDING]),
    )
    evidence = SimpleNamespace(log=log)
    assert missing_notes._list_waiting(view_of(log), evidence) == ["b", "c", "d", "f"]


def test_metrics_with_more_labels_than_the_headline_are_its_users():
    def row(title, estimator, count):
        return SimpleNamespace(title=title, estimator=estimator, n_labeled=count)

    headline = row("error", "doubly-robust", 10)
    rows = [headline, row("f1", "doubly-robust", 11), row("mse", "doubly-robust", 10)]
    rows += [row("brier", "ase", 12), row("ece", "doubly-robust", 9)]
    assert missing_notes._list_users(rows, headline) == ["f1"]


@pytest.mark.parametrize(
    ("used", "whole", "weight"),
    [(0, False, Weight.WIDE), (5, True, Weight.WIDE), (5, False, Weight.INVALID)],
)
def test_metrics_whose_answers_nothing_bounds_use_whole_rounds(used, whole, weight):
    def metric(name, upper, interval=None):
        bounds = [SimpleNamespace(lower=0.0, upper=upper)]
        return SimpleNamespace(
            title=name, name=name, class_name=None, statistics=bounds, interval=interval
        )

    def row(name, estimator="doubly-robust"):
        return SimpleNamespace(title=name, estimator=estimator)

    metrics = [metric("error", 1.0), metric("log-loss", np.inf), metric("ece", 1.0, "calibration")]
    metrics += [metric("mse", np.inf), metric("nll", np.inf)]
    view = view_of(
        metrics={each.name: each for each in metrics},
        evidence=SimpleNamespace(used=used, whole=whole),
    )
    rows = [row("error"), row("log-loss"), row("ece"), row("mse", "ase")]
    (note,) = missing_notes._note_whole_rounds(view, rows)
    assert note.text.startswith("log-loss, ece: only labels before the first missing answer count")
    assert note.weight == weight
    assert ("were not labelled first" in note.text) == (weight == Weight.INVALID)
    assert missing_notes._note_whole_rounds(view, [row("error"), row("mse", "ase")]) == []


@pytest.mark.parametrize(("gaps", "verb"), [([3], "has"), ([2, 3], "have")])
def test_a_round_of_which_the_beginning_is_used_is_described(gaps, verb):
    status = np.full(6, LABELLED)
    status[gaps] = PENDING
    log = SimpleNamespace(round=np.array([1, 2, 2, 2, 3, 3]), status=status)
    text = missing_notes._describe_incomplete(SimpleNamespace(log=log, used=2))
    assert text.startswith(f"{len(gaps)} of the 3 items of round 2 {verb} no label yet: ")
