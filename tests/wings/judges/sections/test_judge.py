"""A judge's section in sentences and tables: generous, strict, unclear, early and exact."""

from dataclasses import replace

import pytest

from activetest.nouns.report import ColumnSlope, JudgeReport
from activetest.render.document.extent import Extent
from activetest.wings.judges.sections import judge as judges


@pytest.fixture
def judge(row):
    """judge(rate, bias, **changes): a section with these estimates and ends."""

    def build(rate, bias, *columns, outputs="verdicts", **changes) -> JudgeReport:
        first = "rate" if outputs == "verdicts" else "mean"
        class_name = "pass" if outputs == "verdicts" else None
        numbers = [
            dict(zip(("estimate", "lower", "upper"), ends, strict=True)) for ends in (rate, bias)
        ]
        about = {"class_name": class_name, **changes}
        rows = (
            row(metric=first, from_outputs=0.84, **numbers[0], **about),
            row(metric="bias", **numbers[1], **about),
        )
        return JudgeReport(
            column="verdict",
            positive=class_name,
            outputs=outputs,
            estimates=rows,
            groups=(),
            gap="bias",
            columns=columns,
            level=0.95,
        )

    return build


def slope(column: str, value: float | None, corrected: float | None = None, **changes):
    ends = (None, None) if value is None else (value - 0.04, value + 0.04)
    found = ColumnSlope(column, value, *ends, corrected, corrected, 100)
    return replace(found, **changes)


def write(report, *, verbose: bool) -> list:
    """The tables of the section."""
    return list(judges.write(report.judge, report, Extent(verbose=verbose)))


@pytest.mark.parametrize(
    ("rate", "bias", "changes", "sentence"),
    [
        (
            (0.75, 0.71, 0.79),
            (0.09, 0.05, 0.13),
            {},
            "The judge says that 84.0 % of items pass; people would say 75.0 % (95 % "
            "confidence: 71.0 % to 79.0 %): the judge is 9.0 points too generous (5.0 to 13.0).",
        ),
        (
            (0.95, 0.9, 0.99),
            (-0.11, -0.15, -0.06),
            {},
            "The judge says that 84.0 % of items pass; people would say 95.0 % (95 % "
            "confidence: 90.0 % to 99.0 %): the judge is 11.0 points too strict (6.0 to 15.0).",
        ),
        (
            (0.83, 0.79, 0.87),
            (0.01, -0.03, 0.05),
            {},
            "The judge says that 84.0 % of items pass; people would say 83.0 % (95 % "
            "confidence: 79.0 % to 87.0 %); judge minus people is 1.0 points (-3.0 to 5.0), no "
            "clear difference.",
        ),
        (
            (0.8, 0.8, 0.8),
            (0.04, 0.04, 0.04),
            {"method": "exact"},
            "The judge says that 84 % of items pass; people would say 80 % (every answer is "
            "known): the judge is 4 points too generous.",
        ),
        (
            (0.75, 0.71, 0.79),
            (0.09, 0.05, 0.13),
            {"outputs": "scores"},
            "The judge's mean score is 0.840; people's would be 0.750 (95 % confidence: 0.710 to "
            "0.790): the judge is 0.090 too generous (0.050 to 0.130).",
        ),
        (
            (None, None, None),
            (None, None, None),
            {"reason": "label at least 2 of the drawn items", "method": "none"},
            "No estimate yet: label at least 2 of the drawn items.",
        ),
    ],
)
def test_the_sentence_says_what_people_would_say(judge, rate, bias, changes, sentence):
    assert judges.sentence(judge(rate, bias, **changes)) == sentence


RATE, BIAS = (0.75, 0.71, 0.79), (0.09, 0.05, 0.13)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ((), ""),
        (
            (slope("turns", 0.02, 0.3), slope("words", 0.01, 1.0)),
            "No dependence of the gap is found among 2 columns (smallest corrected p = .30).",
        ),
        (
            (slope("turns", 0.06, 0.002), slope("words", 0.01, 1.0)),
            "The judge is 6.0 points more generous per standard deviation of turns (p = .002 after "
            "correction for 2 columns).",
        ),
        (
            (slope("turns", -0.06, 0.0002),),
            "The judge is 6.0 points stricter per standard deviation of turns (p < .001, 1 column "
            "looked at).",
        ),
        (
            (slope("turns", None, reason="too few labels"),),
            "Whether the gap depends on columns of the pool is not known yet: too few labels.",
        ),
    ],
)
def test_slopes_are_put_into_words(judge, columns, sentence):
    assert judges.describe_slopes(judge(RATE, BIAS, *columns)) == sentence


def test_tables_have_what_the_json_has(judge, report, row):
    section = judge(RATE, BIAS, slope("turns", 0.02, 0.3), slope("words", None, reason="one value"))
    shown = replace(report(row(headline=True)), judge=section)
    assert len(write(shown, verbose=False)) == 1
    first, slopes = write(shown, verbose=True)
    assert [line[0] for line in first.rows] == ["share, by people", "judge minus people"]
    assert slopes.rows[0][1:3] == ("0.020", "-0.020 to 0.060")
    assert slopes.rows[1][1:3] == ("-", "one value")


def test_agreement_has_no_direction(judge, row):
    section = replace(
        judge(RATE, BIAS, slope("turns", 0.06, 0.002)),
        positive=None,
        gap="accuracy",
        estimates=(row(metric="accuracy", estimate=0.7, lower=0.66, upper=0.73),),
    )
    expected = (
        "The judge agrees with people on 70.0 % of items (95 % confidence: 66.0 % to 73.0 %)."
    )
    assert judges.sentence(section) == expected
    assert "differs from people 6.0 points more often per" in judges.describe_slopes(section)


@pytest.mark.parametrize(
    ("gap", "heading", "changes"),
    [("bias", "gap", "gap"), ("accuracy", "agreement", "share of disagreements")],
)
def test_groups_and_columns_say_what_they_compare(judge, report, row, gap, heading, changes):
    groups = (row(metric=gap, group={"topic": "law"}, estimate=0.6, lower=0.5, upper=0.7),)
    found = judge((0.75, 0.71, 0.79), (0.09, 0.05, 0.13), slope("chars", 0.1, 0.01))
    found = replace(found, gap=gap, groups=groups)
    shown = replace(report(row(headline=True)), judge=found)
    _, by_group, by_column = write(shown, verbose=True)
    assert by_group.headings[1] == heading
    assert by_column.title.startswith(f"change of the {changes} per")


def test_groups_that_the_report_shows_are_not_repeated(judge, report, row):
    groups = (row(metric="accuracy", group={"topic": "law"}, estimate=0.6, lower=0.5, upper=0.7),)
    found = replace(judge(RATE, BIAS), gap="accuracy", groups=groups)
    apart = replace(report(row(headline=True)), judge=found)
    assert len(write(apart, verbose=False)) == 2
    together = replace(report(row(headline=True), *groups), judge=found)
    assert len(write(together, verbose=False)) == 1
