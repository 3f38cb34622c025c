"""Tables and pictures of simulated answers to a question about groups."""

import re

import pytest

from activetest.render import html, markdown, text
from activetest.render.document.simulation import explain_answers, tabulate_answers, write_wait
from activetest.render.plots.panels import draw_picture


def wait(share: float, labels: float, doubt: float = 6.2) -> dict:
    return {"share": share, "labels": labels, "standard_error": doubt, "median": None}


def look(budget: int, **changes) -> dict:
    shares = {"right": 0.625, "decided": 0.5, "decided_wrong": 0.125, "reciprocal_rank": 0.8}
    errors = {"rmse": 0.0712, "weighted_rmse": 0.0523, "coverage": 0.95}
    return {"budget": budget, "runs": 8} | shares | errors | changes


@pytest.fixture
def answers() -> list[dict]:
    """Two strategies of a question that can be answered, at four looks each."""
    common = {"surrogate": "agreement", "selection": "draw", "power": 1.0, "refit": "every"}
    common |= {"floor": 0.1, "question": "identify", "metric": "accuracy", "level": 0.95}
    common |= {"goal": "identify the worst group of place by accuracy", "runs": 8}
    common |= {"looks": [look(budget) for budget in (10, 20, 50, 100)]}
    first = {"until_right": wait(1, 43.4), "until_sure": wait(0.875, 81)}
    first |= {"until_decided": wait(1, 77), "first_wrong": 0.125}
    second = {"until_right": wait(0.5, 90), "until_sure": wait(0, 100, 0.0)}
    second |= {"until_decided": wait(0, 100, 0.0), "first_wrong": None}
    return [
        common | {"acquisition": "thompson"} | first,
        common | {"acquisition": "uniform"} | second,
    ]


@pytest.fixture
def estimates(answers) -> list[dict]:
    """The same, where the question is how good each group is."""
    nothing = dict.fromkeys(("right", "decided", "decided_wrong", "reciprocal_rank"))
    ends = dict.fromkeys(("until_right", "until_sure", "until_decided", "first_wrong"))
    looks = [each | nothing for each in answers[0]["looks"]]
    return [each | ends | {"question": "estimate", "looks": looks} for each in answers]


def test_answers_are_shown_at_the_budgets_and_how_long_they_took(answers):
    first, second = tabulate_answers(answers, {20, 100})
    assert first.title == "identify the worst group of place by accuracy"
    shown = [dict(zip(first.headings, row, strict=True)) for row in first.rows]
    assert [(each["budget"], each["acquisition"]) for each in shown] == [
        *(("20", "thompson"), ("20", "uniform"), ("100", "thompson"), ("100", "uniform")),
    ]
    assert (shown[0]["right"], shown[0]["decided"]) == ("62 %", "50 %")
    assert (shown[0]["decided wrongly"], shown[0]["mrr"]) == ("12 %", "0.800")
    assert (shown[0]["weighted rmse"], shown[0]["rmse"]) == ("0.0523", "0.0712")
    assert "surrogate" not in first.headings
    thompson, uniform = (dict(zip(second.headings, row, strict=True)) for row in second.rows)
    assert thompson["right for good"] == "43 +- 6.2"
    assert thompson["right and decided"] == ">81 +- 6.2 (88 %)"
    assert (thompson["decided"], thompson["wrong then"]) == ("77 +- 6.2", "12 %")
    assert uniform["right and decided"] == uniform["decided"] == "not within 100"
    assert uniform["wrong then"] == "-"
    assert write_wait(wait(1, 1800, 138.4)) == "1,800 +- 138"


def test_where_no_look_is_at_a_budget_the_last_one_is_shown(answers):
    first, _ = tabulate_answers(answers, {500})
    assert {row[0] for row in first.rows} == {"100"}


def test_several_surrogates_are_named(answers):
    answers[1]["surrogate"] = "forest"
    assert all("surrogate" in table.headings for table in tabulate_answers(answers, {100}))


def test_estimates_have_errors_and_no_end(estimates):
    (only,) = tabulate_answers(estimates, {100})
    assert not {"right", "decided", "mrr"} & set(only.headings)
    assert "weighted rmse" in only.headings
    (remark,) = explain_answers(estimates)
    assert "weighted rmse" in remark


def test_remarks_explain_what_is_shown(answers):
    remarks = " ".join(explain_answers(answers))
    assert "at least 0.95" in remarks and "labels after >" in remarks
    for each in answers:
        for name in ("until_right", "until_sure", "until_decided"):
            each[name] = wait(1, 20)
    assert "labels after >" not in " ".join(explain_answers(answers))
    assert tabulate_answers([], {10}) == explain_answers([]) == []


@pytest.mark.parametrize("write", [text.simulation, markdown.simulation, html.simulation])
def test_every_format_shows_the_answers_before_the_results(write, result, answers):
    written = write([result], answers)
    assert written.index("right and decided") < written.index("2.9x")
    assert "right and decided" not in write([result])


@pytest.mark.parametrize("write", [html.simulation, draw_picture])
def test_answers_are_drawn_by_labels_and_as_bars(write, result, answers, estimates):
    plain = write([result])
    drawn = write([result], answers)
    assert drawn.count('role="img"') == plain.count('role="img"') + 3
    # Two curves of four looks in two plots, and a bar for right and one for sure of each.
    assert drawn.count("<circle") == plain.count("<circle") + 16
    bars = re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)"', drawn)
    lengths = [float(each) for each in bars[-4:]]
    assert lengths == pytest.approx([lengths[3] * each / 100 for each in (43.4, 81, 90, 100)], 1e-2)
    # The longest leaves room for its number.
    assert 200 < lengths[3] < 250
    assert "not within 100" in drawn and "&gt;81 (88 %)" in drawn
    assert write([result], estimates).count("<circle") == plain.count("<circle") + 24
    assert "right and decided" not in write([result], estimates)


@pytest.mark.parametrize("write", [html.simulation, draw_picture])
def test_a_hostile_name_of_a_group_column_is_no_markup(write, result, answers):
    for each in answers:
        each["goal"] = "identify the worst group of </text><script>alert(1)</script>"
    assert "<script" not in write([result], answers)


def test_many_looks_are_thinned_and_keep_both_ends(result, answers):
    answers[0]["looks"] = [look(budget) for budget in range(1, 501)]
    drawn = draw_picture([result], answers[:1])
    assert 20 <= drawn.count("<circle") / 2 <= 26
    assert ">500</text>" in drawn
