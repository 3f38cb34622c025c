"""How settings and batches are said in words: a row of a table for each of them."""

from dataclasses import replace

import pytest

from activetest.estimation.looks import LookPlan, plan_looks
from activetest.nouns.choices import Choices
from activetest.study.results import Batch, _describe_aim, _describe_draws, _describe_unusual

PLAIN = Choices("error", ("error",), "agreement")
ASKED = replace(PLAIN, acquisition="thompson", floor=0.1, groups=("place",))
IDENTIFY = replace(ASKED, question="identify")
SURFACE = replace(
    PLAIN,
    question="surface",
    acquisition="surface-variance",
    floor=0.1,
    attributes=("place", "size"),
)


@pytest.mark.parametrize(
    ("choices", "line"),
    [
        (PLAIN, "draws: optimal for error, surrogate agreement"),
        (replace(PLAIN, floor=0.5), "draws: optimal for error, surrogate agreement, floor 0.5"),
        (replace(PLAIN, also=("mcc",)), "draws: optimal for error and mcc, surrogate agreement"),
        (
            replace(PLAIN, selection="top", acquisition="entropy"),
            "picks: entropy for error, surrogate agreement, the top scores, without probabilities",
        ),
        (
            IDENTIFY,
            "draws: thompson for error, surrogate agreement; question: identify the worst group of "
            "place by error, floor 0.1",
        ),
        (
            replace(IDENTIFY, prior="uniform", also=("mcc",), floor=0.2),
            "draws: thompson for error, surrogate agreement; question: identify the worst group of "
            "place by error, uniform prior, floor 0.2; groups are judged by error alone",
        ),
        (
            SURFACE,
            "draws: surface-variance for error, surrogate agreement; question: estimate error at "
            "every combination of place and size; floor 0.1",
        ),
    ],
)
def test_what_draws_aim_at_is_one_line(choices, line):
    assert _describe_draws(choices) == line


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, []),
        ({"augment": "agreement"}, ["augmented by agreement"]),
        ({"augment": "none"}, ["not augmented"]),
        ({"refit": "doubling"}, ["refit doubling"]),
        ({"refit": "20"}, ["refit after 20 labels"]),
        ({"selection": "top"}, ["the top scores, without probabilities"]),
        ({"power": 2.5}, ["scores to the power 2.5"]),
        ({"augment": "none", "power": 2}, ["not augmented", "scores to the power 2"]),
    ],
)
def test_only_unusual_choices_about_draws_are_named(changed, words):
    assert list(_describe_unusual(replace(PLAIN, **changed))) == words


@pytest.mark.parametrize(
    ("changed", "priced", "lines"),
    [
        ({}, False, []),
        ({"interval": "anytime"}, False, ["intervals: anytime"]),
        ({"level": 0.9}, False, ["intervals: level 0.9"]),
        ({"interval": "anytime", "level": 0.9}, True, ["intervals: anytime, level 0.9"]),
        ({"budget": 1}, False, ["budget: 1 label"]),
        ({"budget": 9}, False, ["budget: 9 labels"]),
        ({"budget": 1200}, False, ["budget: 1,200 labels (the pool has 9 items)"]),
        ({"budget": 1200}, True, ["budget: 1,200 for labels"]),
        (
            {"budget": 8, "interval": "sequential", "spending": "pocock"},
            False,
            [
                "budget: 8 labels",
                "gates: sequential, 5 looks, the last after 8 draws, spending pocock",
            ],
        ),
        (
            {"budget": 3, "interval": "sequential"},
            False,
            ["budget: 3 labels", "gates: sequential, 3 looks, the last after 3 draws"],
        ),
        (
            {"last_look": 1, "interval": "sequential"},
            True,
            ["gates: sequential, one look after 1 draw"],
        ),
        (
            {"last_look": 20, "interval": "sequential"},
            True,
            [
                "gates: sequential, 5 looks, the last after 9 draws (every item of the pool, so "
                "its value is exact)"
            ],
        ),
        ({"budget": 1}, True, ["budget: 1 for labels"]),
        (
            {"interval": "sequential", "last_look": 7, "looks": 1},
            False,
            ["gates: sequential, one look after 7 draws"],
        ),
        (
            {"interval": "sequential", "last_look": 12, "looks": 3, "spending": "pocock"},
            False,
            [
                "gates: sequential, 3 looks, the last after 9 draws (every item of the pool, so "
                "its value is exact), spending pocock"
            ],
        ),
    ],
)
def test_intervals_budget_and_looks_have_a_line_where_they_are_no_defaults(changed, priced, lines):
    choices = replace(PLAIN, **changed)
    assert list(_describe_aim(choices, 9, plan_looks(choices, 9), priced=priced)) == lines


def test_looks_at_every_item_that_can_be_drawn_are_said_to_be_exact():
    plan = LookPlan(looks=1, last=7, spending="cubic", level=0.95, size=7)
    (line,) = _describe_aim(PLAIN, 9, plan, priced=False)
    assert line.endswith("7 draws (every item that can be drawn, so its value is exact)")


def batch(count: int, **fields) -> Batch:
    usual = {"round": 3, "repeated": False, "requested": count}
    rows = [{"id": f"i{row}", "label": ""} for row in range(count)]
    return Batch(rows=rows, **(usual | fields))


@pytest.mark.parametrize(
    ("count", "fields", "line"),
    [
        (0, {}, "nothing is left to draw: every item of the pool is drawn or labelled"),
        (1, {}, "round 3: 1 item drawn"),
        (2, {"deterministic": True}, "round 3: 2 items with the largest scores"),
        (2, {"requested": None}, "round 3: 2 items drawn"),
        (1, {"requested": 5}, "round 3: 1 item drawn (only 1 item was left)"),
        (2, {"requested": 5}, "round 3: 2 items drawn (only 2 items were left)"),
        (
            1,
            {"again": True},
            "1 item with labels, for somebody else to label again (see the column again)",
        ),
        (2, {"repeated": True}, "2 items still waiting for labels (`new=True` draws others)"),
        (
            2,
            {"repeated": True, "requested": None, "deterministic": True},
            "2 items still waiting for labels (`new=True` chooses others)",
        ),
        (
            2,
            {"repeated": True, "requested": 1},
            "2 items still waiting for labels, so 1 new one was not drawn (`new=True` draws "
            "others)",
        ),
        (
            2,
            {"repeated": True, "requested": 1000, "deterministic": True},
            "2 items still waiting for labels, so 1,000 new ones were not chosen (`new=True` "
            "chooses others)",
        ),
    ],
)
def test_a_batch_is_summed_up_in_one_line(count, fields, line):
    assert batch(count, **fields).summary() == line
