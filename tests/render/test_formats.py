"""Every format says the same things, and none of them says what is not known."""

import json
from dataclasses import replace

import pytest

from activetest import catalog
from activetest.render import json as as_json
from activetest.render import markdown, text


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("s3://bucket/a/digits.parquet", "digits.parquet"),
        ("../some/where/pool/", "pool"),
        ("/", "/"),
    ],
)
def test_people_read_the_pool_s_name_and_programs_its_address(whole, address, name):
    elsewhere = replace(whole, pool=address)
    assert f"38 of 1,497 items in {name}\n" in text.render(elsewhere, width=80, color=False)
    assert markdown.render(elsewhere).startswith(f"## error of {name}\n")
    assert json.loads(as_json.render(elsewhere))["pool"] == address


def test_a_pool_that_is_wholly_known_has_no_interval(row, report):
    ends = {"lower": 0.0531, "upper": 0.0531, "n_pool": 38}
    known = report(row(method="exact", **ends, headline=True, reliable=False))
    written = text.render(known, width=80, color=False)
    sentence = "The model is wrong on 5.31 % of items (exact: every answer is known)."
    assert written.startswith(f"{sentence}\n")
    assert f"**{sentence}**" in markdown.render(known)
    assert "(!)" not in written


def test_before_the_first_estimate_there_is_one_reason_and_no_table_of_gaps(row, report, nothing):
    reason = "label at least 2 of the drawn items"
    lines = [
        row(**nothing, headline=True, reason=reason, n_labeled=1),
        row(**nothing, metric="brier", reason=reason, n_labeled=1),
        row(**nothing, group={"ink": "much"}, reason=reason, n_labeled=0),
    ]
    assert (
        text.render(report(*lines), width=100, color=False)
        == f"""\
No estimate yet: {reason}.

  labels used  1 of 1,497 items in digits.parquet
"""
    )
    assert "|" not in markdown.render(report(*lines))
    view = row(estimator="ase", n_labeled=1, n_eff=None)
    assert "error   ase" in text.render(report(*lines, view), width=100, color=False)
    assert len(json.loads(as_json.render(report(*lines)))["estimates"]) == 3


def test_names_from_a_pool_are_neither_markup_nor_commands_to_a_terminal(row, report):
    odd = report(row(headline=True), row(group={"[red]x": "\x1b[2J|<b>_\n"}))
    written = text.render(odd, width=120, color=False)
    assert "[red]x=\\x1b[2J|<b>_\\n" in written
    assert "\x1b" not in written
    assert "\\[red\\]x=\\\\x1b\\[2J\\|\\<b\\>\\_\\\\n" in markdown.render(odd)


def test_names_of_classes_are_neither_markup_nor_commands_to_a_terminal(row, report, confusion):
    odd = report(row(headline=True), *confusion(["[red]x", "\x1b[2J|\n"]))
    written = text.render(odd, width=120, color=False)
    assert "[red]x" in written and "\\x1b[2J|\\n" in written
    assert "\x1b" not in written
    assert "\\\\x1b\\[2J\\|\\\\n" in markdown.render(odd)


def test_a_study_without_labels_has_no_number(row, report, nothing):
    empty = report(row(**nothing, n_labeled=0, headline=True, reason="no labels yet"))
    for written in (text.render(empty, width=80, color=False), markdown.render(empty)):
        assert "No estimate yet: no labels yet." in written
        assert "no labels yet" in written
        assert "nan" not in written.lower()
    assert json.loads(as_json.render(empty))["estimates"][0]["estimate"] is None


def test_every_format_gives_every_verdict(judged):
    for name in catalog.names("render"):
        written = catalog.load("render", name).render(judged).lower()
        for gate in judged.gates:
            assert written.count(gate.verdict) >= 1, name


def test_reports_come_in_every_format_and_what_people_read_besides_in_three():
    modules = {name: catalog.load("render", name) for name in catalog.names("render")}
    assert all(callable(module.render) for module in modules.values())
    offered = {name for name, module in modules.items() if hasattr(module, "simulation")}
    assert offered == {"html", "json", "markdown", "text"}
    assert all(callable(modules[name].status) for name in offered - {"html"})


def test_the_headline_may_be_about_another_metric_than_draws_serve(row, report):
    sample = report(row(metric="recall", class_name="cat", headline=True))
    for render in (text.render, markdown.render):
        assert " to learn about error" in " ".join(render(sample, verbose=True).split())
        assert "learn about" not in render(sample)
    assert text.render(sample, width=90, color=False).startswith("Recall of cat is 0.053 (95 % ")
    assert markdown.render(sample).startswith("## recall\\[cat\\] of digits.parquet\n")


def test_a_confusion_matrix_without_a_number_is_one_line_that_says_why(row, report, confusion):
    few = {"estimate": None, "lower": None, "upper": None, "reason": "too few labels (3 of 10)"}
    sample = report(row(headline=True), *confusion(("a", "b"), group={"ink": "little"}, **few))
    written = text.render(sample, width=100, color=False)
    assert "\nconfusion, ink=little  too few labels (3 of 10)\n" in written
