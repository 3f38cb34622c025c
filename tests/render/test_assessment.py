"""The answer to a task, in every format."""

import json
from dataclasses import replace

import pytest

from activetest.render import json as as_json
from activetest.render import markdown, text


def plain(report, width=90) -> str:
    return text.render(report, width=width, color=False)


def test_the_answer_reads_like_this(answer, said):
    assert """\
worst group identified with probability 0.97: ink=much

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
""" in plain(said(answer), width=92)


def test_a_comparison_reads_like_this(compared, said):
    written = plain(said(compared), width=110)
    assert (
        "comparison not decided yet: ink=much is worse than ink=little by more than 0.05 "
        "(probability 0.71); about 130\nmore labels expected until 0.95\n"
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
    decided = plain(said(replace(compared, decided=True, probability=0.96)), width=110)
    words = compared.comparison.words
    assert f"comparison decided: {words} (probability 0.96)\n" in decided


def test_what_is_not_identified_yet_says_what_it_still_takes(answer, said):
    several = replace(answer, worst=2, decided=False, probability=0.5, more=None)
    written = plain(said(several), width=140)
    assert (
        "2 worst groups not identified yet: ink=much, ink=little with probability 0.50; more "
        "labels than can be said until 0.95\n"
    ) in written
    assert "P(2 worst)" in written


def test_an_estimation_says_its_expected_error(answer, said):
    open_ended = replace(answer, task="estimate", decided=None, probability=None)
    written = plain(said(open_ended))
    assert "\naccuracy of the groups: expected error 0.04 (root mean square" in written


def test_how_groups_are_known_is_a_column_where_they_differ(answer, said, ranked):
    assert " by\n" not in plain(said(answer), width=120)
    groups = (ranked(1, "much", method="doubly-robust"), ranked(2, "little"))
    written = plain(said(replace(answer, groups=groups)), width=120)
    assert "  by\n" in written
    assert "500  doubly-robust\n" in written
    assert "worst first, 95 % intervals\n" in written


def test_groups_that_are_ranked_are_not_listed_again(answer, said, line):
    both = [
        line(metric=metric, group={name: "much"}, headline=False)
        for metric in ("accuracy", "error")
        for name in ("ink", "paper")
    ]
    written = plain(said(answer, *both))
    assert "accuracy by group, doubly-robust\ngroup       estimate" in written
    assert "paper=much" in written.partition("accuracy by group")[2]
    assert written.count("ink=much") == 3
    assert len(json.loads(as_json.render(said(answer, *both)))["estimates"]) == 5


def test_groups_that_are_to_be_estimated_are_listed_with_their_shrunk_values(answer, said, line):
    both = [line(metric="accuracy", group={"ink": name}, headline=False) for name in ("much", "no")]
    found = plain(said(replace(answer, task="estimate"), *both))
    assert "accuracy by group, doubly-robust" in found


def test_of_very_many_groups_the_worst_are_shown(answer, said, ranked):
    groups = tuple(ranked(rank, f"{rank:03}") for rank in range(1, 101))
    some = replace(answer, groups=groups)
    written = plain(said(some), width=120)
    assert "; the 30 worst of 100 (--format json has all)" in written
    assert "ink=030" in written
    assert "ink=031" not in written
    assert len(json.loads(as_json.render(said(some)))["groups"]) == 100


def test_of_many_classes_the_largest_mistakes_are_shown(answer, said, matrix):
    names = tuple(f"class {number}" for number in range(14))
    written = plain(said(replace(answer, confusion=matrix(names))), width=200)
    assert "P(true class | predicted class): the 20 largest mistakes" in written
    assert "truth in rows" not in written


def test_a_class_outside_the_predicted_ones_is_one_more_row(answer, said, matrix):
    outside = matrix(("cat", "dog"), ("cat", "dog", "another class"))
    written = plain(said(replace(answer, confusion=outside)))
    assert "\nanother class  0.05 (0.01 to 0.95)  0.05 (0.01 to 0.95)\n" in written


def test_why_there_is_no_calibration_error_is_said(answer, said):
    nothing = dict.fromkeys(("ece", "lower", "upper")) | {"method": "none", "reason": "too few"}
    diagram = replace(answer.reliability, **nothing)
    written = plain(said(replace(answer, reliability=diagram)), width=120)
    assert "note: no calibration error: too few\n" in written
    assert "reliability by confidence\n" in written


def test_where_accuracy_and_confidence_meet_there_is_one_mark(answer, said, one_bin):
    both = one_bin(0.5, accuracy=0.55, lower=0.55, upper=0.55)
    diagram = replace(answer.reliability, bins=(both,))
    assert "=*" in plain(said(replace(answer, reliability=diagram)))


def widest(lines: str) -> int:
    return max(map(len, lines.splitlines()))


@pytest.mark.parametrize("width", [20, 30, 40, 52, 60, 70, 80, 120])
def test_nothing_passes_the_edge_of_the_terminal(answer, compared, said, width, ranked, matrix):
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
        written = plain(said(each), width=width)
        assert widest(written) <= width
        assert "\x1b" not in written


@pytest.mark.parametrize("width", [40, 60, 80])
def test_the_diagram_is_a_picture_however_narrow_the_terminal_is(answer, said, width):
    written = plain(said(answer), width=width)
    (row,) = (each for each in written.splitlines() if each.startswith("   0.6-0.7  ="))
    assert "o" in row and "0.70" in row


def test_no_color_is_no_color(answer, said, monkeypatch):
    assert "\x1b[1;32mworst group identified" in text.render(said(answer), width=80, color=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in text.render(said(answer), width=80)


def test_markdown_has_the_answer_in_bold_and_bins_in_a_table(answer, said):
    written = markdown.render(said(answer))
    assert "**worst group identified with probability 0.97: ink=much**\n" in written
    assert "### accuracy by ink, worst first, posterior, 95 % credible intervals" in written
    assert "| confidence | mean | accuracy | interval | labels | items |" in written
    assert "| 0.5-0.6 | 0.55 | 0.60 | 0.50 to 0.80 | 12 | 300 |" in written
    assert "===" not in written


def test_json_has_groups_as_they_were_promised(compared, said):
    document = json.loads(as_json.render(said(compared)))
    assert document["schema_version"] == 1
    names = "group n_pool n_labeled estimate lower upper rank p_worst p_best p_among_worst"
    assert list(document["groups"][0]) == [*names.split(), "rank_lower", "rank_upper", "method"]
    assert document["groups"][0]["group"] == {"ink": "much"}
    task = document["task"]
    assert (task["task"], task["group"], task["decided"]) == ("compare", "ink", False)
    assert (task["probability"], task["more"]) == (0.71, 128)
    made = document["comparison"]
    assert (made["lambda"], made["region"]) == (0.71, "below")
    assert (len(document["confusion"]["cells"]), len(document["reliability"]["bins"])) == (4, 4)


def test_json_of_a_study_without_a_task_has_nulls(whole):
    parts = list(json.loads(as_json.render(whole)).items())[-5:]
    names = ("task", "groups", "comparison", "confusion", "reliability")
    assert parts == [(name, None) for name in names]
