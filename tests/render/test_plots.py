"""Pictures of simulated strategies."""

import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from pytest import approx

from activetest.errors import ChoiceError
from activetest.render import _plots
from activetest.render._curves import curves, moved_apart


@pytest.fixture
def results(result) -> list[dict]:
    """Two strategies with two estimators each, two metrics, three budgets."""
    return [
        result
        | {"acquisition": acquisition, "estimator": estimator, "metric": metric}
        | {"budget": budget, "rmse": 0.2 / budget**0.5}
        for metric in ("error", "log-loss")
        for acquisition in ("optimal", "uniform")
        for estimator in ("lure", "ase")
        for budget in (200, 50, 100)
    ]


def said(path) -> str:
    """All text of an SVG."""
    return " | ".join(ElementTree.parse(path).getroot().itertext())


def test_an_svg_names_every_curve_and_metric(results, tmp_path):
    _plots.draw(results, tmp_path / "curves.svg")
    text = said(tmp_path / "curves.svg")
    for name in ("optimal, lure", "uniform, ase", "random, plain mean", "log-loss: mean squared"):
        assert name in text
    assert "surrogate agreement, 200 simulated studies each" in text


def test_a_png_is_a_picture(results, tmp_path):
    _plots.draw(results, tmp_path / "curves.PNG")
    assert (tmp_path / "curves.PNG").read_bytes().startswith(b"\x89PNG\r\n")


def test_the_same_results_make_the_same_file(results, tmp_path):
    for name in ("one.svg", "two.svg"):
        _plots.draw(results, tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "change",
    [
        {"rmse": 0.0, "labels_saved": np.inf, "label_ratio": np.inf, "median": 0.0},
        {"uniform_median": np.nan, "quartiles": (0.0, 0.0)},
        {"metric": "f1[<b> & $x$ \u4e00\x1b]"},
    ],
)
def test_numbers_that_have_no_logarithm_and_names_of_any_kind_do_no_harm(result, tmp_path, change):
    _plots.draw([result | change, result | {"budget": 20}], tmp_path / "curves.svg")
    text = said(tmp_path / "curves.svg")
    if "metric" in change:
        assert "f1[<b> & $x$ \u4e00\\x1b]: mean" in text
    assert "random, plain mean" in text


def test_only_what_differs_is_in_a_name(result):
    def named(*changes: dict) -> list[str]:
        return [curve.name for curve in curves([result | change for change in changes])]

    assert named({}, {"estimator": "lure"}) == ["doubly-robust", "lure"]
    assert named({}, {"power": 2.0}) == ["power 1", "power 2"]
    # Equal scores have no power, and the top ones none that matters.
    uniform, top = {"acquisition": "uniform"}, {"selection": "top"}
    assert named({"power": 2.0}, uniform, top)[1:] == ["uniform", "optimal, top scores"]
    assert named({}) == ["optimal, power 1, drawn, agreement, doubly-robust"]


def test_curves_are_told_apart_by_colour_while_there_are_colours(result):
    few = curves([result | {"estimator": f"e{number}"} for number in range(7)])
    assert len({curve.color for curve in few}) == 7
    many = curves(
        [
            result | {"acquisition": f"a{place}", "estimator": f"e{number}"}
            for place in range(4)
            for number in range(3)
        ]
    )
    assert len({(curve.color, curve.mark) for curve in many}) == 12


def test_names_are_moved_apart_no_more_than_needed():
    assert moved_apart(np.array([0.2, 0.8]), 0.1) == approx([0.2, 0.8])
    assert moved_apart(np.array([0.5, 0.5]), 0.1) == approx([0.45, 0.55])
    places = moved_apart(np.array([0.99, 0.1, 0.98, 1.0]), 0.1)
    assert places == approx([0.9, 0.1, 0.8, 1.0])


@pytest.mark.parametrize("name", ["curves.pdf", "curves", "nowhere/curves.svg"])
def test_places_where_no_picture_can_be_written(tmp_path, name):
    with pytest.raises(ChoiceError, match="neither|no folder"):
        _plots.check(tmp_path / name)


def test_without_matplotlib_the_hint_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ChoiceError, match="matplotlib") as caught:
        _plots.check(tmp_path / "curves.svg")
    assert "activetest[report]" in caught.value.hint
