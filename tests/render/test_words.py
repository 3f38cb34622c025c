"""Numbers in words."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from activetest.render import _words as words
from activetest.render import json as as_json


@pytest.mark.parametrize(
    ("value", "doubt", "written"),
    [
        (0.0531, 0.025, "0.053"),
        (54.711, 5.2, "54.7"),
        (12345.6, 300, "12,346"),
        (-0.0001, 0.02, "0.000"),
        (0.25, 0, "0.25"),
        (0.25, None, "0.25"),
        (1.0, 1e-17, "1"),
        (None, 0.1, "-"),
        (math.nan, 0.1, "-"),
    ],
)
def test_figures_are_as_precise_as_their_doubt(value, doubt, written):
    assert words.figure(value, doubt) == written


@pytest.mark.parametrize(
    ("value", "doubt", "beside", "written"),
    [
        (0.8996, 0.05, 0.9, "0.8996"),
        (0.9004, 0.05, 0.9, "0.9004"),
        (0.9, 0.05, 0.9, "0.900"),
        (0.8931, 0.05, 0.9, "0.893"),
        (-0.004, 0.3, 0.0, "-0.004"),
        (0.89996, None, 0.9, "0.89996"),
        (np.float64(0.89996), None, 0.9, "0.89996"),
        (0.85, None, 0.9, "0.85"),
    ],
)
def test_rounding_never_moves_a_figure_across_the_number_that_decides(
    value, doubt, beside, written
):
    assert words.figure(value, doubt, beside) == written


@pytest.mark.parametrize(
    ("level", "written"),
    [
        (0.95, "95 %"),
        (0.9, "90 %"),
        (1 - 0.05 / 3, "98.3 %"),
        (0.999, "99.9 %"),
        (1 - 0.05 / 800, "99.9938 %"),
        (0.5, "50 %"),
        (1.0, "100 %"),
    ],
)
def test_levels_are_written_to_two_digits_of_what_is_missing(level, written):
    assert words.percent(level) == written


def test_the_ends_of_a_gate_s_interval_show_on_which_side_of_the_threshold_they_are(gate):
    close = gate(estimate=0.05, lower=0.0, upper=0.10004, verdict="undecided")
    assert words.interval(close) == "0.000 to 0.10004"


def test_a_difference_that_excludes_zero_says_so_and_nothing_is_claimed_of_others(line):
    against = {"group": {"ink": "much"}, "against": {"ink": "little"}}
    apart = line(**against, estimate=-0.2, lower=-0.4, upper=-0.003)
    assert (words.differ(apart), words.interval(apart)) == ("yes", "-0.40 to -0.003")
    assert words.differ(line(**against, lower=-0.1, upper=0.2)) == "not shown"
    assert words.differ(line(**against, lower=None, upper=None)) == "-"


@pytest.mark.parametrize(
    ("group", "against", "written"),
    [
        ({"ink": "much"}, None, "ink=much"),
        ({"a*b": "x*y"}, None, "a*b=x*y"),
        ({"ink": "much"}, {"ink": "little"}, "ink: much minus little"),
        ({"ink": "much"}, {"pen": "red"}, "ink=much minus pen=red"),
        ({"ink": "much"}, {}, "ink=much minus all items"),
    ],
)
def test_groups_and_differences_of_groups(line, group, against, written):
    assert words.group(line(group=group, against=against)) == written


def test_an_estimate_without_an_interval_says_why(line):
    bare = line(lower=None, upper=None, method="none", reason="the loss has no bound")
    assert words.certainty(bare) == "no interval: the loss has no bound"
    assert words.interval_or_reason(bare) == "the loss has no bound"


def test_what_a_surrogate_says_of_itself_stands_beside_its_name(report):
    assert words.made_by(report()).startswith("surrogate agreement, acquisition optimal")
    told = replace(report(), surrogate="stack", surrogate_note="agreement 74 %, external 26 %")
    assert words.made_by(told).startswith(
        "surrogate stack (agreement 74 %, external 26 %), acquisition optimal"
    )
    assert json.loads(as_json.render(told))["surrogate_note"] == "agreement 74 %, external 26 %"
