"""Numbers in words, and the order in which strategies are compared."""

import math

import pytest

from activetest.render import _words as words
from activetest.render import text

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


def test_strategies_for_the_same_metric_and_budget_stand_together():
    results = [
        RESULT | {"acquisition": acquisition, "budget": budget, "metric": metric}
        for acquisition in ("optimal", "uniform")
        for budget in (200, 50)
        for metric in ("error", "brier")
    ]
    lines = text.simulation(results, width=120, color=False).splitlines()[1:]
    assert [tuple(line.split()[:3]) for line in lines] == [
        ("error", "50", "optimal"),
        ("error", "50", "uniform"),
        ("error", "200", "optimal"),
        ("error", "200", "uniform"),
        (),
        ("brier", "50", "optimal"),
        ("brier", "50", "uniform"),
        ("brier", "200", "optimal"),
        ("brier", "200", "uniform"),
    ]


@pytest.mark.parametrize(
    ("value", "doubt", "written"),
    [
        (0.0531, 0.025, "0.053"),
        (54.711, 5.2, "54.7"),
        (12345.6, 300, "12,346"),
        (-0.0001, 0.02, "0.000"),
        (0.25, 0, "0.25"),
        (0.25, None, "0.25"),
        (None, 0.1, "-"),
        (math.nan, 0.1, "-"),
    ],
)
def test_figures_are_as_precise_as_their_doubt(value, doubt, written):
    assert words.figure(value, doubt) == written
