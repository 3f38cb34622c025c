"""Tables of simulated strategies, for people."""

import pytest

from activetest.render import markdown, text

GRID = [
    {"acquisition": acquisition, **how, "estimator": estimator}
    for acquisition in ("expected-loss", "xwed")
    for how in ({}, {"power": 4.0}, {"selection": "top"})
    for estimator in ("doubly-robust", "ase")
]


@pytest.mark.parametrize("more", [{}, {"n_labeled": 93.2}])
@pytest.mark.parametrize("surrogates", [("agreement",), ("agreement", "radial-bnn")])
def test_what_was_saved_is_shown_in_80_columns_however_many_ways_to_draw(result, surrogates, more):
    results = [
        result | strategy | more | {"surrogate": surrogate}
        for strategy in GRID
        for surrogate in surrogates
    ]
    heading, first, *lines = text.simulation(results, width=80, color=False).splitlines()
    assert {"mse", "ratio", "+-", "estimator", "acquisition"} <= set(heading.split())
    assert ("surrogate" in heading) == (len(surrogates) > 1)
    assert "2.9x  0.12" in first
    drawn = "\n".join(lines)
    assert all(how in drawn for how in ("expected-loss ^4 ", "expected-loss top ", "xwed ^4 "))


@pytest.mark.parametrize("width", [30, 44, 60, 80])
def test_no_terminal_is_too_narrow_for_what_was_saved(result, width):
    results = [result | strategy for strategy in GRID]
    written = text.simulation(results, width=width, color=False)
    assert written.count("2.9x") == written.count("0.12") == len(results)
    assert max(map(len, written.splitlines())) <= width


def test_where_all_runs_are_one_study_a_note_says_so(result):
    alone = {"selection": "top", "mse_ratio_se": None, "coverage": None}
    both = [result, result | alone | {"acquisition": "entropy"}]
    for written in (text.simulation(both, width=100, color=False), markdown.simulation(both)):
        assert "entropy top: nothing in these studies is random, so all runs" in written
    first, row = (each.split() for each in text.simulation(both, width=80).splitlines()[1:3])
    assert row[:6] == ["error", "100", "entropy", "top", "2.9x", "-"]
    assert "0.953" in first and "0.953" not in row and row.count("-") == 2
    assert "note" not in text.simulation([result], width=100, color=False)
    assert "the same study" not in markdown.simulation([result])


def test_strategies_for_the_same_metric_and_budget_stand_together(result):
    results = [
        result | {"acquisition": acquisition, "budget": budget, "metric": metric}
        for acquisition in ("optimal", "uniform")
        for budget in (200, 50)
        for metric in ("error", "brier")
    ]
    lines = text.simulation(results, width=120, color=False).splitlines()[1:]
    assert lines[9:] == [
        "",
        "No room in 120 columns for: surrogate (agreement), estimator (doubly-robust).",
    ]
    assert [tuple(line.split()[:3]) for line in lines[:9]] == [
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


def test_what_the_surrogate_saves_alone_is_a_column_that_is_explained(result):
    both = [
        result | {"surrogate_mse_ratio": 1.43},
        result | {"acquisition": "uniform", "mse_ratio": 1.43, "surrogate_mse_ratio": 1.43},
        result | {"acquisition": "uniform", "estimator": "lure"},
    ]
    for written in (text.simulation(both, width=140, color=False), markdown.simulation(both)):
        assert "surrogate alone" in written and "active draws add" in written
    heading, first, second, third = text.simulation(both, width=140).splitlines()[:4]
    place = heading.index("surrogate alone") + len("surrogate alone")
    shown = [line[:place].split()[-1] for line in (first, second, third)]
    assert shown == ["1.4x", "1.4x", "-"]
    assert "surrogate alone" not in text.simulation([result], width=140, color=False)
