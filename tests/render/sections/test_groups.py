"""Groups, and what else a study found, on pages: metrics, a question, a judge, a surface."""

import re
from dataclasses import replace

import pytest

from activetest import catalog
from activetest.nouns.report import JudgeReport
from activetest.nouns.surface_report import SurfaceMap, SurfaceReport
from activetest.render import html
from tests.wings.surfaces.sections.test_surface import make_cell


def read_section(report, key: str) -> str:
    """The elements of a section of the page."""
    inside = html.render(report).partition(f'<h2 id="{key}">')[2]
    return inside.partition("</section>")[0]


def read_rows(inside: str, caption: str) -> list[str]:
    """The rows of the table with this caption, as texts."""
    tables = re.findall(r"<table.*?</table>", inside, re.DOTALL)
    (found,) = (each for each in tables if caption in each)
    rows = re.findall(r"<tr[^>]*>.*?</tr>", found.partition("<tbody>")[2], re.DOTALL)
    return [re.sub(r"<svg.*?</svg>|<[^>]*>", " ", row) for row in rows]


@pytest.mark.parametrize(
    ("metric", "order"), [("error", ["b", "a", "c"]), ("accuracy", ["c", "a", "b"])]
)
def test_groups_are_shown_worst_first_and_those_with_few_labels_grey(
    row, report, nothing, metric, order
):
    def group(name: str, value: float, **changes):
        numbers = {"estimate": value, "lower": value - 0.05, "upper": value + 0.05}
        return row(metric=metric, group={"g": name}, **numbers | changes)

    rows = (
        row(metric=metric, headline=True),
        row(metric=metric, group={"g": "none"}, **nothing, reason="too few labels"),
        group("few", 0.99, reliable=False),
        group("c", 0.1),
        group("a", 0.2),
        group("b", 0.3),
    )
    inside = read_section(report(*rows), "groups")
    shown = read_rows(inside, f"{metric} by g, worst first")
    assert [line.split()[0] for line in shown] == [*order, "few", "none"]
    grey = re.findall(r'<tr class="few"><th scope="row">(\w+)', inside)
    assert grey == ["few", "none"]
    assert "too few labels" in shown[3] and "too few labels" in shown[4]


def test_metrics_without_a_direction_keep_the_order_of_their_groups(row, report):
    assert catalog.fact("metrics", "rate", "BETTER") is None
    values = {"z": 0.1, "a": 0.3, "m": 0.2}
    rows = [
        row(metric="rate", class_name="pass", group={"g": name}, estimate=value)
        for name, value in values.items()
    ]
    inside = read_section(report(row(headline=True), *rows), "groups")
    assert [line.split()[0] for line in read_rows(inside, "by g")] == list(values)
    assert "worst first" not in inside


def test_every_metric_says_which_values_are_better_or_that_neither_is():
    found = {name: catalog.fact("metrics", name, "BETTER") for name in catalog.own_names("metrics")}
    neither = {name for name, better in found.items() if better is None}
    assert neither == {"bias", "confusion", "interval-coverage", "mean", "rate"}
    assert set(found.values()) == {None, "higher", "lower"}


def test_metrics_are_on_one_axis_only_where_they_share_a_unit(row, report):
    rows = (
        row(headline=True, metric="mae", estimate=2.5, lower=2.0, upper=3.0),
        row(metric="rmse", estimate=31.0, lower=30.0, upper=32.0),
        row(metric="r2", estimate=0.5, lower=0.4, upper=0.6),
    )
    inside = read_section(report(*rows), "metrics")
    assert inside.count("<table") == 3
    assert inside.count('aria-label="axis from') == 3


def test_gates_are_lines_on_their_metrics(row, report, gate):
    found = report(row(headline=True), row(metric="f1[cat]", estimate=0.7), gates=(gate(),))
    lines = read_section(found, "metrics").count('class="gate"')
    assert lines == 1


def test_the_answer_to_a_question_has_its_ranking_and_what_it_rests_on(answer, compared, answered):
    page = html.render(answered(answer))
    assert 'id="question"' in page and "P(worst)" in page
    for group in answer.groups:
        assert group.group["ink"] in page
    assert "probability" in html.render(answered(compared))


def test_a_judge_has_its_section(row, report):
    rows = (
        row(
            metric="rate",
            class_name="pass",
            estimate=0.75,
            lower=0.71,
            upper=0.79,
            from_outputs=0.84,
        ),
        row(metric="bias", class_name="pass", estimate=0.09, lower=0.05, upper=0.13),
    )
    groups = (row(metric="bias", group={"topic": "law"}, estimate=0.21, lower=0.1, upper=0.3),)
    judge = JudgeReport("verdict", "pass", "verdicts", rows, groups, "bias", (), 0.95)
    page = html.render(replace(report(replace(rows[0], headline=True)), judge=judge))
    assert "people would say 75.0 %" in page and "judge minus people, by group" in page
    assert "topic=law" in page and "0.21" in page
    # On the bar, too.
    assert "the judge says 84.0 %</text>" in page


def test_a_map_has_its_numbers_in_cells_that_are_the_stronger_the_worse(report, row):
    def cell(value, **changes):
        return make_cell(value, {"race": "r", "job": "j"}, **changes)

    cells = ((cell(0.9), cell(0.5)), (cell(0.7, labels=0), cell(0.8)))
    found = SurfaceMap("accuracy", "race", "job", ("r1", "r2"), ("j1", "j2"), cells)
    surface = SurfaceReport(
        metric="accuracy",
        higher_better=True,
        method="beta",
        level=0.95,
        attributes={"race": 2, "job": 2},
        min_support=5,
        combinations=4,
        occurring=4,
        ranked=4,
        labeled=3,
        maps=(found,),
    )
    inside = read_section(replace(report(row(headline=True)), surface=surface), "surface")
    matrix = inside.partition('class="matrix"')[2]
    assert re.findall(r'<td class="w(\d)">([\d.()]+)<small>', matrix) == [
        *(("0", "0.90"), ("5", "0.50"), ("3", "(0.70)"), ("1", "0.80")),
    ]
