"""The answer to a question about groups, in every format."""

import json
from dataclasses import replace

import pytest

from activetest.nouns.quantity import Quantity
from activetest.render import json as as_json
from activetest.render import markdown, text


def plain(report, width=90, *, verbose=True) -> str:
    return text.render(report, verbose=verbose, width=width, color=False)


def test_the_answer_stands_beside_the_headline_and_shows_what_it_is_about(answer, answered):
    assert (
        plain(answered(answer), verbose=False)
        == """\
The model is wrong on 5.3 % of items (95 % confidence: 3.1 % to 8.2 %).
Worst group: ink=much (probability 0.97).

  labels used   38 of 1,497 items in digits.parquet
  labels saved  as good as about 118 random labels (3.1x)
  about         the 1,497 items of this pool

accuracy by ink, worst first, posterior, 95 % credible intervals
rank  group       estimate  interval      P(worst)  P(best)  ranks  labels  items
   1  ink=much        0.60  0.50 to 0.70      0.97    <0.01    1-2      40    500
   2  ink=little      0.70  0.60 to 0.80      0.03    >0.99    2-3      40    500

More with `report.to_markdown(verbose=True)`: confusion matrix, reliability by confidence.
"""
    )


def test_a_matrix_or_a_calibration_error_that_is_asked_for_is_shown(answer, answered):
    matrix = plain(answered(replace(answer, target="confusion")), verbose=False)
    assert "truth in rows" in matrix and "confidence  0" not in matrix
    diagram = plain(answered(replace(answer, metric="ece[10]")), verbose=False)
    assert "truth in rows" not in diagram and "confidence  0" in diagram
    for report in (answered(replace(answer, target="confusion")), answered(answer)):
        assert ("truth in rows" in markdown.render(report)) == bool(report.assessment.target)


def test_with_everything_the_answer_reads_like_this(answer, answered):
    assert """\
accuracy by ink, worst first, posterior, 95 % credible intervals
rank  group       estimate  interval      P(worst)  P(best)  ranks  labels  items
   1  ink=much        0.60  0.50 to 0.70      0.97    <0.01    1-2      40    500
   2  ink=little      0.70  0.60 to 0.80      0.03    >0.99    2-3      40    500

P(true class | predicted class): truth in rows, prediction in columns
truth                  cat                  dog
cat    0.90 (0.01 to 0.95)  0.05 (0.01 to 0.95)
dog    0.05 (0.01 to 0.95)  0.90 (0.01 to 0.95)

reliability by confidence; calibration error 0.031 (0.010 to 0.060)
confidence  0                                       1  accuracy  interval      labels  items
   0.5-0.6  ====================|-+-o-------|              0.60  0.50 to 0.80      12    300
   0.6-0.7  ========================|-+-o-------|          0.70  0.60 to 0.90      12    300
   0.7-0.8  ============================|-+-o-------|      0.80  0.70 to 1.00      12    300
o accuracy, |-| its interval, + mean confidence (* both)
""" in plain(answered(answer), width=92)


def test_a_comparison_reads_like_this(compared, answered):
    written = plain(answered(compared), width=110)
    assert (
        "Not decided yet. Most likely, ink=much is worse than ink=little by more than 0.05 "
        "(probability 0.71). About\n130 more labels are expected to give a probability of 0.95.\n"
    ) in written
    assert (
        """\
accuracy, ink=much minus ink=little: -0.08 (-0.20 to 0.04)
difference     probability
below -0.05           0.71
-0.05 to 0.05         0.27
above 0.05            0.02
"""
        in written
    )
    decided = plain(answered(replace(compared, decided=True, probability=0.96)), width=110)
    words = compared.comparison.words
    assert f"Decided: {words} (probability 0.96).\n" in decided


def test_what_is_not_identified_yet_says_what_it_still_takes(answer, answered):
    several = replace(answer, worst=2, decided=False, probability=0.5, more_labels=None)
    written = plain(answered(several), width=170)
    assert (
        "2 worst groups not identified yet. Most likely: ink=much, ink=little (probability 0.50). "
        "The number of labels needed for a probability of 0.95 cannot be foreseen.\n"
    ) in written
    assert "P(2 worst)" in written


def test_an_estimation_says_its_expected_error(answer, answered):
    open_ended = replace(answer, question="estimate", decided=None, probability=None)
    written = plain(answered(open_ended))
    assert (
        "\nExpected error of the groups' accuracy: 0.04 (root mean square over items).\n" in written
    )


def test_how_groups_are_known_is_a_column_where_they_differ(answer, answered, ranked):
    assert " method\n" not in plain(answered(answer), width=120)
    groups = (ranked(1, "much", method="doubly-robust"), ranked(2, "little"))
    written = plain(answered(replace(answer, groups=groups)), width=120)
    assert "  method\n" in written
    assert "500  doubly-robust\n" in written
    assert "worst first, 95 % intervals\n" in written


def test_groups_that_are_ranked_are_not_listed_again(answer, answered, row):
    both = [
        row(metric=metric, group={name: "much"}, headline=False)
        for metric in ("accuracy", "error")
        for name in ("ink", "paper")
    ]
    written = plain(answered(answer, *both))
    assert "accuracy by group, doubly-robust\ngroup       estimate" in written
    assert "accuracy by group\ngroup       est" in plain(answered(answer, *both), verbose=False)
    assert "paper=much" in written.partition("accuracy by group")[2]
    assert written.count("ink=much") == 3
    assert len(json.loads(as_json.render(answered(answer, *both)))["estimates"]) == 5


def test_groups_that_are_to_be_estimated_have_one_table_with_both_values(answer, answered, row):
    """The posterior of a group, and its value moved towards what is expected of it."""
    both = [row(metric="accuracy", group={"ink": name}, shrunk=0.64) for name in ("much", "little")]
    asked = replace(answer, question="estimate", decided=None, probability=None)
    for verbose in (False, True):
        found = plain(answered(asked, *both), width=110, verbose=verbose)
        assert found.count("ink=much") == 1
        assert "rank  group       estimate  interval      shrunk  P(worst)" in found
        assert "ink=much        0.60  0.50 to 0.70   0.640      0.97" in found
    assert "shrunk" not in plain(answered(answer, *both), width=110)
    assert "shrunk" in plain(answered(asked, *both), width=60)


def test_anytime_intervals_of_groups_stand_beside_their_posteriors(answer, answered, row):
    changes = {"metric": "accuracy", "lower": 0.41, "upper": 0.87, "method": "betting"}
    both = [row(group={"ink": name}, **changes) for name in ("much", "little")]
    found = plain(answered(answer, *both), width=110)
    assert "rank  group       estimate  interval      anytime       P(worst)" in found
    assert "ink=much        0.60  0.50 to 0.70  0.41 to 0.87      0.97" in found
    assert "by group" not in found


def test_of_very_many_groups_the_worst_are_shown(answer, answered, ranked):
    groups = tuple(ranked(rank, f"{rank:03}") for rank in range(1, 101))
    many = replace(answer, groups=groups)
    written = plain(answered(many), width=120)
    assert "; the 30 worst of 100 (JSON has all)" in written
    assert "ink=030" in written
    assert "ink=031" not in written
    assert len(json.loads(as_json.render(answered(many)))["groups"]) == 100


def test_of_many_classes_the_largest_mistakes_are_shown(answer, answered, matrix):
    names = tuple(f"class {number}" for number in range(14))
    written = plain(answered(replace(answer, confusion=matrix(names))), width=200)
    assert "P(true class | predicted class): the 20 largest mistakes" in written
    assert "truth in rows" not in written


def test_a_class_outside_the_predicted_ones_is_one_more_row(answer, answered, matrix):
    outside = matrix(("cat", "dog"), ("cat", "dog", "another class"))
    written = plain(answered(replace(answer, confusion=outside)))
    assert "\nanother class  0.05 (0.01 to 0.95)  0.05 (0.01 to 0.95)\n" in written


def test_why_there_is_no_calibration_error_is_said(answer, answered):
    nothing = Quantity(None, None, None, 0.95, "none")
    diagram = replace(answer.reliability, ece=nothing, reason="too few")
    written = plain(answered(replace(answer, reliability=diagram)), width=120)
    assert "note: no calibration error: too few\n" in written
    assert "reliability by confidence\n" in written


def test_where_accuracy_and_confidence_meet_there_is_one_mark(answer, answered, one_bin):
    both = one_bin(0.5, estimate=0.55, lower=0.55, upper=0.55)
    diagram = replace(answer.reliability, bins=(both,))
    assert "=*" in plain(answered(replace(answer, reliability=diagram)))


def widest(lines: str) -> int:
    return max(map(len, lines.splitlines()))


@pytest.mark.parametrize("width", [20, 30, 40, 52, 60, 70, 80, 120])
def test_nothing_passes_the_edge_of_the_terminal(answer, compared, answered, width, ranked, matrix):
    long = replace(
        answer,
        column="a rather long column",
        worst=3,
        groups=tuple(
            ranked(rank, f"a rather long value {rank}", group={"a rather long column": f"x{rank}"})
            for rank in (1, 2, 3)
        ),
        confusion=matrix(tuple(f"class {number}" for number in range(8))),
    )
    for each in (answer, compared, long):
        written = plain(answered(each), width=width)
        assert widest(written) <= width
        assert "\x1b" not in written


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_diagram_is_a_picture_however_narrow_the_terminal_is(answer, answered, width):
    written = plain(answered(answer), width=width)
    (row,) = (each for each in written.splitlines() if each.startswith("   0.6-0.7  ="))
    assert "o" in row and "0.70" in row


def test_no_color_is_no_color(answer, answered, monkeypatch):
    assert "\x1b[1;32mWorst group: ink=much" in text.render(answered(answer), width=80, color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in text.render(answered(answer), width=80)


def test_markdown_has_the_answer_in_bold_and_bins_in_a_table(answer, answered):
    written = markdown.render(answered(answer), verbose=True)
    assert "**Worst group: ink=much (probability 0.97).**\n" in written
    assert "### accuracy by ink, worst first, posterior, 95 % credible intervals" in written
    assert "| confidence | mean | accuracy | interval | labels | items |" in written
    assert "| 0.5-0.6 | 0.55 | 0.60 | 0.50 to 0.80 | 12 | 300 |" in written
    assert "===" not in written


def test_json_has_groups_as_they_were_promised(compared, answered):
    document = json.loads(as_json.render(answered(compared)))
    assert document["schema_version"] == 3
    names = "model part criterion repeat group n_pool n_labeled estimate lower upper rank p_worst"
    names += " p_best p_among_worst rank_lower rank_upper method"
    assert list(document["groups"][0]) == names.split()
    assert document["groups"][0]["group"] == {"ink": "much"}
    question = document["question"]
    assert (question["question"], question["column"]) == ("compare", "ink")
    decided = (question["decided"], question["probability"], question["more_labels"])
    assert decided == (False, 0.71, 128)
    comparison = document["comparison"]
    assert (comparison["probability"], comparison["region"]) == (0.71, "below")
    sides = (comparison["first"]["group"], comparison["second"]["group"])
    assert sides == ({"ink": "much"}, {"ink": "little"})
    assert (comparison["difference"], comparison["lower"]) == (-0.08, -0.2)
    assert (len(document["confusion"]["cells"]), len(document["reliability"]["bins"])) == (4, 4)


def test_json_of_a_study_without_a_question_has_nulls(whole):
    parts = list(json.loads(as_json.render(whole)).items())[-8:-1]
    names = ("question", "groups", "comparison", "confusion", "reliability", "surface", "judge")
    assert parts == [(name, None) for name in names]
