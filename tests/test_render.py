"""Every format says the same things, and none of them says what is not known."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from activetest import catalog
from activetest.render import json as as_json
from activetest.render import markdown, text
from activetest.report import Counts, Line, Report

COUNTS = Counts(
    n_pool=1497, drawn=40, labelled=38, pending=2, declined=0, brought=3, rounds=4, budget=200
)


def line(**changes) -> Line:
    """The headline of the report below, with changes."""
    fields = {
        "metric": "error",
        "estimator": "doubly-robust",
        "estimate": 0.0531,
        "lower": 0.0312,
        "upper": 0.0822,
        "level": 0.95,
        "method": "korn-graubard",
        "n_labeled": 38,
        "n_pool": 1497,
        "n_eff": 118.4,
        "labels_saved": 3.1,
        "max_weight_share": 0.05,
    }
    return Line(**(fields | changes))


def report(*lines: Line, notes=()) -> Report:
    """A report of these lines."""
    return Report(
        pool="digits.parquet",
        fingerprint="ab12",
        seed=7,
        metric="error",
        surrogate="agreement",
        acquisition="optimal",
        floor=0.35,
        counts=COUNTS,
        estimates=lines,
        notes=notes,
    )


WHOLE = report(
    line(headline=True),
    line(estimator="ase", method="credible", n_eff=None, labels_saved=None),
    line(metric="log-loss", estimate=0.3169, lower=0.1178, upper=math.inf, labels_saved=0.71),
    line(group={"ink": "little"}, n_labeled=12, n_pool=499),
    line(
        group={"ink": "much"},
        estimate=None,
        lower=None,
        upper=None,
        n_labeled=3,
        n_pool=499,
        n_eff=None,
        labels_saved=None,
        reason="fewer than 10 labels",
    ),
    notes=("The two views disagree.",),
)

RESULT = {
    "surrogate": "agreement",
    "acquisition": "optimal",
    "estimator": "doubly-robust",
    "metric": "error",
    "budget": 100,
    "runs": 200,
    "rmse": 0.0123,
    "bias": -0.0001,
    "labels_saved": 2.91,
    "labels_saved_se": 0.12,
    "label_ratio": 2.6,
    "coverage": 0.953,
    "width": 0.0731,
}


def test_the_text_report_reads_like_this():
    assert (
        text.render(WHOLE, width=90, color=False)
        == """\
error of digits.parquet: 0.053, 95 % interval 0.031 to 0.082

  labels used            38 of 1,497 items
  effective sample size  118 (random labels that would be as good)
  labels saved           3.1x against random labelling

metric    estimator      estimate  interval            labels  n_eff  saved
error     doubly-robust     0.053  0.031 to 0.082          38    118   3.1x
error     ase               0.053  0.031 to 0.082          38      -      -
log-loss  doubly-robust    0.3169  0.1178 to no limit      38    118  0.71x

group       metric  estimator      estimate  interval              labels  items
ink=little  error   doubly-robust     0.053  0.031 to 0.082            12    499
ink=much    error   doubly-robust         -  fewer than 10 labels       3    499

note: The two views disagree.

surrogate agreement, acquisition optimal for error, floor 0.35, seed 7
"""
    )


def test_the_status_reads_like_this():
    coming = "next shows the 2 pending items again"
    assert (
        text.status(COUNTS, coming, width=80, color=False)
        == """\
  pool      1,497 items
  rounds    4
  drawn     40
  labelled  38
  pending   2
  declined  0
  brought   3 (labels of items that were never drawn)
  budget    200 labels, 162 left

next shows the 2 pending items again
"""
    )


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("s3://bucket/a/digits.parquet", "digits.parquet"),
        ("../some/where/pool/", "pool"),
        ("/", "/"),
    ],
)
def test_people_read_the_pool_s_name_and_programs_its_address(address, name):
    elsewhere = replace(WHOLE, pool=address)
    assert text.render(elsewhere, width=80, color=False).startswith(f"error of {name}: 0.053,")
    assert markdown.render(elsewhere).startswith(f"## error of {name}\n")
    assert json.loads(as_json.render(elsewhere))["pool"] == address


def test_notes_that_need_more_than_a_line_are_indented():
    written = text.render(replace(WHOLE, notes=("word " * 20,)), width=60, color=False)
    assert f"\nnote: {' '.join(['word'] * 11)}\n      {' '.join(['word'] * 9)}\n" in written


def test_a_pool_that_is_wholly_known_has_no_interval():
    known = report(line(method="exact", lower=0.0531, upper=0.0531, headline=True))
    written = text.render(known, width=80, color=False)
    assert written.startswith("error of digits.parquet: 0.0531, exact: every answer is known\n")
    assert "(exact: every answer is known)" in markdown.render(known)


def test_before_the_first_estimate_there_is_one_reason_and_no_table_of_gaps():
    nothing = {"estimate": None, "lower": None, "upper": None, "n_eff": None, "labels_saved": None}
    reason = "an estimate from draws needs at least two labelled ones"
    lines = [
        line(**nothing, headline=True, reason=reason, n_labeled=1),
        line(**nothing, metric="brier", reason=reason, n_labeled=1),
        line(**nothing, group={"ink": "much"}, reason=reason, n_labeled=0),
    ]
    assert (
        text.render(report(*lines), width=100, color=False)
        == f"""\
error of digits.parquet: not estimable yet, {reason}

  labels used  1 of 1,497 items

surrogate agreement, acquisition optimal for error, floor 0.35, seed 7
"""
    )
    assert "|" not in markdown.render(report(*lines))
    view = line(estimator="ase", n_labeled=1, n_eff=None, labels_saved=None)
    assert "error   ase" in text.render(report(*lines, view), width=100, color=False)
    assert len(json.loads(as_json.render(report(*lines)))["estimates"]) == 3


@pytest.mark.parametrize("width", [20, 30, 44, 60, 72, 80, 120])
def test_text_never_passes_the_edge_of_the_terminal(width):
    written = text.render(WHOLE, width=width, color=False)
    written += text.status(COUNTS, "next draws", width=width, color=False)
    written += text.simulation([RESULT], width=width, color=False)
    assert max(map(len, written.splitlines())) <= width


@pytest.mark.parametrize("width", [20, 44, 60, 120])
def test_estimators_stay_told_apart_however_narrow_the_terminal_is(width):
    written = text.render(WHOLE, width=width, color=False)
    assert "doubly-robust" in written
    assert "ase" in written.split()


def test_color_is_only_for_terminals_that_want_it(monkeypatch):
    assert "\x1b[" in text.render(WHOLE, color=True)
    for name in ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS"):
        monkeypatch.setenv(name, "1")
    assert "\x1b[" not in text.render(WHOLE)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in text.render(WHOLE)


def test_names_from_a_pool_are_neither_markup_nor_commands_to_a_terminal():
    odd = report(line(headline=True), line(group={"[red]x": "\x1b[2J|<b>_\n"}))
    written = text.render(odd, width=120, color=False)
    assert "[red]x=\\x1b[2J|<b>_\\n" in written
    assert "\x1b" not in written
    assert "\\[red\\]x=\\\\x1b\\[2J\\|\\<b\\>\\_\\\\n" in markdown.render(odd)


def test_a_study_without_labels_has_no_number():
    nothing = line(
        estimate=None, lower=None, upper=None, n_eff=None, labels_saved=None, n_labeled=0
    )
    empty = report(replace(nothing, headline=True, reason="no labels yet"))
    for written in (text.render(empty, width=80, color=False), markdown.render(empty)):
        assert "ot estimable yet" in written
        assert "no labels yet" in written
        assert "nan" not in written.lower()
    assert json.loads(as_json.render(empty))["estimates"][0]["estimate"] is None


def test_the_json_report_has_the_documented_keys():
    document = json.loads(as_json.render(WHOLE))
    assert document["schema_version"] == 1
    assert {"estimates", "gates", "notes", "counts"} < set(document)
    assert list(document["estimates"][0]) == [
        "metric",
        "class",
        "group",
        "estimator",
        "estimate",
        "lower",
        "upper",
        "level",
        "method",
        "n_labeled",
        "n_pool",
        "n_eff",
        "labels_saved",
        "max_weight_share",
        "held_up",
        "headline",
        "reason",
    ]
    assert document["estimates"][0]["group"] is None
    assert document["estimates"][3]["group"] == {"ink": "little"}


def test_json_has_null_where_a_number_is_not_finite_and_numbers_where_numpy_had_them():
    odd = report(
        line(estimate=np.float32(0.5), lower=math.nan, upper=np.inf, n_labeled=np.int64(3))
    )
    first = json.loads(as_json.render(odd))["estimates"][0]
    assert (first["estimate"], first["lower"], first["upper"]) == (0.5, None, None)
    assert first["n_labeled"] == 3


def test_json_of_a_simulation_and_of_a_status():
    assert json.loads(as_json.simulation([RESULT])) == {"schema_version": 1, "results": [RESULT]}
    status = json.loads(as_json.status(COUNTS, "next draws"))
    assert status["counts"]["pending"] == 2
    assert status["next"] == "next draws"


def test_every_line_of_a_markdown_table_has_as_many_cells_as_its_heading():
    written = markdown.render(WHOLE) + "\n" + markdown.simulation([RESULT])
    tables = [block.splitlines() for block in written.split("\n\n") if block.startswith("|")]
    assert len(tables) == 3
    for table in tables:
        assert len({row.count("|") for row in table}) == 1


def test_every_format_offers_the_same_three_functions():
    for name in catalog.names("render"):
        module = catalog.load("render", name)
        assert all(callable(getattr(module, verb)) for verb in ("render", "status", "simulation"))
