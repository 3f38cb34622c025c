"""The picture of what is believed about groups."""

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from activetest.errors import ChoiceError, StorageError
from activetest.nouns.group_beliefs import Density, GroupBelief, GroupBeliefs
from activetest.nouns.quantity import Quantity
from activetest.wings.groups import group_picture

SVG = "{http://www.w3.org/2000/svg}"
CURVE = Density((0.5, 0.6, 0.7, 0.8), (0.0, 6.0, 4.0, 0.0))
RED, BLUE = "#D55E00", "#0072B2"


def quantity(value: float) -> Quantity:
    return Quantity(value, value - 0.05, value + 0.05, 0.95, "posterior")


def belief(name: str, value: float, density: Density = CURVE) -> GroupBelief:
    return GroupBelief(
        {"ink": name}, quantity(value), density, quantity(value), quantity(1 - value)
    )


@pytest.fixture
def beliefs() -> GroupBeliefs:
    """Four groups, the last of which is known."""
    known = Density((), ())
    groups = (belief("much", 0.6), belief("more", 0.7), belief("some", 0.75))
    return GroupBeliefs((*groups, belief("little", 0.9, known)), None, None)


def read(answer, beliefs) -> ElementTree.Element:
    return ElementTree.fromstring(group_picture.draw(answer, beliefs))


def test_every_group_has_a_row_a_curve_and_a_point(answer, beliefs):
    tree = read(answer, beliefs)
    texts = [each.text for each in tree.iter(f"{SVG}text")]
    rows = [text for text in texts if text.startswith("ink=")]
    assert rows == ["ink=much", "ink=more", "ink=some", "ink=little"]
    # The group that is known has no curve; every one has a point in both panels.
    assert len(list(tree.iter(f"{SVG}polygon"))) == 3
    assert len(list(tree.iter(f"{SVG}circle"))) == 8
    assert {"accuracy", "calibration error, with 95 % intervals"} <= set(texts)
    described = tree.find(f"{SVG}desc").text
    assert "ink=much: 0.6 (0.55 to 0.65), calibration error 0.4 (0.35 to 0.45)" in described


def test_the_worst_are_red_and_as_many_of_the_best_blue(answer, beliefs):
    def fills(worst: int) -> list[str]:
        tree = read(replace(answer, worst=worst), beliefs)
        circles = list(tree.iter(f"{SVG}circle"))[:4]
        return [each.get("fill") for each in circles]

    grey = (set(fills(1)) - {RED, BLUE}).pop()
    assert fills(1) == [RED, grey, grey, BLUE]
    assert fills(2) == [RED, RED, BLUE, BLUE]
    # Never more than half of the groups.
    assert fills(3) == fills(2)


def test_points_are_where_their_numbers_are(answer, beliefs):
    tree = read(answer, beliefs)
    scatter = [
        (float(each.get("cx")), float(each.get("cy")))
        for each in tree.find(f"{SVG}g").iter(f"{SVG}circle")
    ]
    order = sorted(scatter)
    # More accurate is further right, and of a smaller calibration error: further down.
    assert [y for _, y in order] == sorted(y for _, y in order)
    steps = [after[0] - before[0] for before, after in pairwise(order)]
    assert steps[0] == pytest.approx(2 * steps[1], rel=0.02)
    assert steps[2] == pytest.approx(3 * steps[1], rel=0.02)


def test_a_comparison_has_its_rope_and_its_chances(compared, beliefs):
    apart = replace(beliefs, difference=Density((-0.2, -0.1, 0.0, 0.1), (0.0, 5.0, 5.0, 0.0)))
    tree = read(compared, apart)
    texts = [each.text for each in tree.iter(f"{SVG}text")]
    assert "accuracy: ink=much minus ink=little" in texts
    assert "below 71 %, within 27 %, above 2 %" in texts
    ropes = [each for each in tree.iter(f"{SVG}line") if each.get("stroke") == "#E69F00"]
    assert len(ropes) == 2
    assert not [each for each in read(compared, beliefs).iter() if each.get("stroke") == "#E69F00"]


def test_the_calibration_error_of_the_pool_has_a_curve(answer, beliefs):
    drawn = group_picture.draw(answer, replace(beliefs, ece=CURVE))
    assert "calibration error of the whole pool" in drawn
    assert "calibration error of the whole pool" not in group_picture.draw(answer, beliefs)


def test_without_probabilities_there_is_no_scatter(answer, beliefs):
    plain = replace(beliefs, groups=tuple(replace(each, ece=None) for each in beliefs.groups))
    tree = read(answer, plain)
    assert len(list(tree.iter(f"{SVG}circle"))) == 4
    assert "calibration error" not in tree.find(f"{SVG}desc").text


def test_of_many_groups_the_worst_are_shown(answer):
    groups = tuple(belief(f"g{place}", 0.3 + place / 100) for place in range(50))
    tree = read(answer, GroupBeliefs(groups, None, None))
    texts = [each.text for each in tree.iter(f"{SVG}text")]
    rows = [text for text in texts if text.startswith("ink=")]
    assert rows == [f"ink=g{place}" for place in range(30)]
    assert "the 30 worst of 50 groups" in texts
    # All are points, of which those with a colour have a name.
    assert len(list(tree.find(f"{SVG}g").iter(f"{SVG}circle"))) == 50
    assert {"g0", "g49"} <= set(texts) and "g25" not in texts


def test_names_of_points_are_not_written_over_each_other(answer, beliefs):
    """Two groups in one place: the one with a colour is named, and the other has its row."""
    same = belief("same", 0.6)
    groups = (beliefs.groups[0], same, *beliefs.groups[1:])
    drawn = [each.text for each in read(answer, replace(beliefs, groups=groups)).iter(f"{SVG}text")]
    assert "much" in drawn and "same" not in drawn and "ink=same" in drawn


def test_every_curve_is_as_high(answer, beliefs):
    sharp = Density((0.85, 0.88, 0.9), (0.0, 60.0, 0.0))
    groups = (*beliefs.groups[:3], belief("sharp", 0.88, sharp))
    tree = read(answer, replace(beliefs, groups=groups))
    rises = set()
    for each in tree.iter(f"{SVG}polygon"):
        heights = [float(point.split(",")[1]) for point in each.get("points").split()]
        rises.add(round(max(heights) - min(heights)))
    assert len(rises) == 1


def test_nothing_is_outside_of_the_picture(compared, beliefs):
    tree = read(compared, replace(beliefs, difference=CURVE, ece=CURVE))
    wide, high = float(tree.get("width")), float(tree.get("height"))

    def check(node, right: float, down: float) -> None:
        for each in node:
            if each.tag == f"{SVG}g" and each.get("transform"):
                moved = re.findall(r"[\d.]+", each.get("transform"))
                check(each, *map(float, moved))
                continue
            for name, most, moved in (("x", wide, right), ("y", high, down)):
                for key in (name, f"{name}1", f"{name}2", f"c{name}"):
                    if each.get(key) is not None:
                        assert 0 <= float(each.get(key)) + moved <= most
            check(each, right, down)

    check(tree, 0, 0)


def test_names_stay_text_and_long_ones_are_cut(answer, beliefs):
    name = "</text><script>" + "x" * 90
    groups = (belief(name, 0.5), *beliefs.groups)
    drawn = group_picture.draw(answer, replace(beliefs, groups=groups))
    assert "<script" not in drawn
    longest = max(len(each.text) for each in read(answer, beliefs).iter(f"{SVG}text"))
    rows = ElementTree.fromstring(drawn).iter(f"{SVG}text")
    assert max(len(each.text) for each in rows) <= max(longest, 26)


def test_a_picture_needs_nothing_from_elsewhere_and_follows_the_theme(answer, beliefs):
    drawn = group_picture.draw(answer, beliefs)
    assert re.findall(r"https?://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in drawn and "prefers-color-scheme:dark" in drawn


def test_only_an_earlier_picture_is_replaced(tmp_path, answer, beliefs):
    path = tmp_path / "groups.svg"
    group_picture.check(path, inputs={})
    group_picture.save(path, group_picture.draw(answer, beliefs))
    group_picture.check(path, inputs={})
    with pytest.raises(StorageError, match="never written over"):
        group_picture.check(path, inputs={"the pool": path})
    path.write_text("<svg>mine</svg>")
    with pytest.raises(ChoiceError, match="is no picture that report has drawn"):
        group_picture.check(path, inputs={})
    group_picture.check(path, inputs={}, force=True)
    with pytest.raises(ChoiceError, match=r"is no \.svg"):
        group_picture.check(tmp_path / "groups.png", inputs={})
