"""Estimates with their intervals as a picture: of groups, and of a curve."""

import xml.etree.ElementTree as ET

import pytest

from activetest.errors import ChoiceError
from activetest.nouns.curve import Curve, CurveKind, CurvePoint
from activetest.nouns.quantity import Quantity
from activetest.render.plots import dots

NAME = "{http://www.w3.org/2000/svg}"


def texts(picture: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(picture).iter(f"{NAME}text")]


def count(picture: str, tag: str, kind: str) -> int:
    return sum(each.get("class") == kind for each in ET.fromstring(picture).iter(NAME + tag))


@pytest.fixture
def grouped(row, report):
    few = {"estimate": None, "lower": None, "upper": None, "reason": "too few labels (3 of 10)"}
    return report(
        row(headline=True),
        row(group={"ink": "little"}),
        row(group={"ink": "<much>\x1b"}, **few),
        row(metric="f1"),
        row(estimator="ase"),
        row(group={"ink": "little"}, against={"ink": "some"}),
    )


def test_a_metric_has_a_row_for_all_items_and_for_each_group(grouped):
    picture = dots.draw_metric(grouped)
    shown = texts(picture)
    assert shown[0] == "error of digits.parquet"
    assert [each for each in shown if each in ("all items", "ink=little", "ink=<much>\\x1b")] == [
        "all items",
        "ink=little",
        "ink=<much>\\x1b",
    ]
    assert "0.053 (0.031 to 0.082)" in shown and "- (too few labels (3 of 10))" in shown
    # A row without a number has no mark.
    assert count(picture, "circle", "d") == count(picture, "line", "i") == 2
    assert count(picture, "line", "ref") == 1
    assert shown[-1] == "95 % intervals."


def test_a_metric_that_is_not_shown_is_an_error_with_those_that_are(grouped):
    assert texts(dots.draw_metric(grouped, "f1"))[0] == "f1 of digits.parquet"
    with pytest.raises(ChoiceError, match="does not show 'recall'") as caught:
        dots.draw_metric(grouped, "recall")
    assert "error, f1" in caught.value.hint


def make_curve(kind: CurveKind, *points: CurvePoint) -> Curve:
    return Curve(
        kind=kind,
        class_name=None,
        level=0.95,
        simultaneous=False,
        estimator="doubly-robust",
        n_draws=20,
        n_labeled=20,
        n_answers=20,
        n_pool=100,
        points=points,
    )


def make_bin(low: float, said: float | None, right: float | None, **more) -> CurvePoint:
    ends = (None, None) if right is None else (right - 0.05, right + 0.05)
    place = {"low": low, "high": low + 0.5, "n_pool": 50, "predicted": said}
    return CurvePoint(place, 10, (Quantity(right, *ends, 0.95, "fixed", **more),))


def test_points_without_a_number_are_left_out_and_said():
    points = make_bin(0.0, 0.4, 0.3), make_bin(0.5, 0.8, None)
    picture = dots.draw_curve(make_curve(CurveKind.RELIABILITY, *points))
    assert count(picture, "circle", "d") == count(picture, "line", "i") == 1
    assert "1 of 2 have no number." in texts(picture)[-1]
    assert {"stated probability", "share right"} <= set(texts(picture))


def test_a_point_lies_where_its_numbers_are():
    points = make_bin(0.0, 0.25, 0.5), make_bin(0.5, 0.75, 0.9)
    tree = ET.fromstring(dots.draw_curve(make_curve(CurveKind.RELIABILITY, *points)))
    grid = sorted({float(each.get("x1")) for each in tree.iter(f"{NAME}line")})
    first, second = (
        (float(each.get("cx")), float(each.get("cy"))) for each in tree.iter(f"{NAME}circle")
    )
    left, right = grid[0], grid[-1]
    assert first[0] == pytest.approx(left + 0.25 * (right - left), abs=0.2)
    assert second[0] == pytest.approx(left + 0.75 * (right - left), abs=0.2)
    assert second[1] < first[1]


def test_what_is_not_reliable_is_marked_without_colour():
    points = make_bin(0.0, 0.4, 0.3, reliable=False), make_bin(0.5, 0.8, 0.7)
    picture = dots.draw_curve(make_curve(CurveKind.RELIABILITY, *points))
    assert count(picture, "g", "few") == 1
    assert "too few labels" in texts(picture)[-1]
