"""Simulations as a page."""

import re
import sys
from html.parser import HTMLParser

import pytest

from activetest.render import html


class Reader(HTMLParser):
    """The elements that a page opens, which it has to close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def results(result) -> list[dict]:
    """Two strategies at three budgets, for two metrics."""
    return [
        result
        | {"acquisition": acquisition, "budget": budget, "metric": metric}
        | {"rmse": 0.3 / budget**0.5}
        for metric in ("error", "recall[a]")
        for acquisition in ("optimal", "uniform")
        for budget in (20, 50, 100)
    ]


def test_every_metric_has_three_plots_and_all_numbers_are_in_a_table(results):
    page = html.simulation(results)
    read = Reader(page)
    assert not read.open
    assert page.count('role="img"') == 6 and read.tags.count("polygon") == 8
    assert page.count("<tr>") == 1 + len(results)
    assert '<h2 id="metric-1">recall[a]</h2>' in page
    # A curve has a point for each budget.
    assert read.tags.count("circle") == 3 * len(results)


def test_the_page_runs_nothing_and_loads_nothing(results):
    hostile = "</svg><script>alert(1)</script>"
    page = html.simulation([each | {"metric": hostile} for each in results])
    assert "<script" not in page and "default-src 'none'" in page
    assert not re.search(r"\b(src|href)=\"(?!#)", page)
    assert " style=" not in page


def test_a_page_needs_no_matplotlib(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert html.simulation(results).startswith("<!DOCTYPE html>")


def test_what_a_surrogate_says_before_any_label_is_in_the_table_alone(results):
    before = [results[0] | {"budget": 0, "uniform_mse": None}]
    assert "<svg" not in html.simulation(before)
    assert html.simulation(before + results).count("<svg") == html.simulation(results).count("<svg")


def test_strange_numbers_leave_gaps(results):
    odd = {"rmse": float("nan"), "median": 0.0, "labels_saved": float("inf"), "uniform_mse": 0.0}
    read = Reader(html.simulation([each | odd for each in results]))
    assert not read.open
    read = Reader(html.simulation(results[:1]))
    assert read.tags.count("circle") == 3


def test_a_curve_goes_down_where_errors_do(results):
    page = html.simulation(results[:3])
    points = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', page)[:3]
    across, down = ([float(each[at]) for each in points] for at in (0, 1))
    assert across == sorted(across) and down == sorted(down) and len(set(down)) == 3
