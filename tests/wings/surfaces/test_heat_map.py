"""Maps as SVG: well-formed, a table for screen readers, and no name can break out of its text."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from activetest.errors import ChoiceError, StorageError
from activetest.nouns.surface_report import SurfaceMap
from activetest.wings.surfaces import heat_map
from tests.wings.surfaces.sections.test_surface import JOBS, RACES, make_cell, make_map

SVG = "{http://www.w3.org/2000/svg}"


def read(found: SurfaceMap, *, higher_better: bool = True) -> ElementTree.Element:
    """The picture as a tree."""
    return ElementTree.fromstring(heat_map.draw(found, higher_better=higher_better))


def of_role(tree: ElementTree.Element, role: str) -> list[ElementTree.Element]:
    return [each for each in tree.iter() if each.get("role") == role]


def test_a_map_is_a_table_with_headings_for_screen_readers():
    tree = read(make_map())
    assert tree.get("aria-label") == "accuracy by race and job"
    assert tree.find(f"{SVG}title").text == "accuracy by race and job"
    assert "smallest: race=Amer-Indian-Eskimo, job=State-gov" in tree.find(f"{SVG}desc").text
    assert [each.text for each in of_role(tree, "columnheader")] == ["race", *JOBS]
    assert [each.text for each in of_role(tree, "rowheader")] == list(RACES)
    cells = of_role(tree, "cell")
    assert len(cells) == 30 and len(of_role(tree, "row")) == 6
    assert cells[1].get("aria-label") == (
        "race=Amer-Indian-Eskimo, job=Local-gov: accuracy 0.48 (95 % credible: 0.38 to 0.58; "
        "1 label there), 50 items"
    )
    assert cells[2].get("aria-label").endswith("no such item")
    assert cells[2].find(f"{SVG}rect") is None and cells[1].find(f"{SVG}rect") is not None


def test_worse_is_orange_and_better_blue_whichever_way_the_metric_goes():
    for better, ends in ((True, ["#e66101", "#0571b0"]), (False, ["#0571b0", "#e66101"])):
        cells = of_role(read(make_map(), higher_better=better), "cell")
        fills = [cell.find(f"{SVG}rect").get("fill") for cell in (cells[5], cells[24])]
        assert fills == ends


def test_letters_are_read_on_every_colour():
    """A contrast of 4.5, as the guidelines for web pages ask for."""

    def luminance(color: str) -> float:
        parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    cells = [[make_cell(place / 100, {"a": "x", "b": str(place)}) for place in range(101)]]
    names = tuple(map(str, range(101)))
    found = SurfaceMap("accuracy", "a", "b", ("x",), names, tuple(map(tuple, cells)))
    for cell in of_role(read(found), "cell"):
        paper = luminance(cell.find(f"{SVG}rect").get("fill"))
        ink = luminance(cell.find(f"{SVG}text").get("style").removeprefix("fill:"))
        low, high = sorted((paper, ink))
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_names_stay_text_and_long_ones_are_cut():
    name = '<script>"&' + "x" * 200
    cell = make_cell(0.5, {"a": name, "b": "\x1b"})
    found = SurfaceMap("accuracy", "a", "b", (name,), ("\x1b",), ((cell,),))
    drawn = heat_map.draw(found, higher_better=True)
    assert "<script" not in drawn and "\x1b" not in drawn
    (header,) = of_role(ElementTree.fromstring(drawn), "rowheader")
    assert header.text.endswith("...") and len(header.text) <= 30


def test_nothing_is_outside_of_the_picture():
    tree = read(make_map())
    wide, high = float(tree.get("width")), float(tree.get("height"))
    for each in tree.iter(f"{SVG}rect"):
        x, y = float(each.get("x", 0)), float(each.get("y", 0))
        assert x + float(each.get("width")) <= wide + 0.5 and y + float(each.get("height")) <= high
    for each in tree.iter(f"{SVG}text"):
        assert 0 <= float(each.get("x")) <= wide and 0 <= float(each.get("y")) <= high


def test_a_picture_needs_nothing_from_elsewhere_and_follows_the_theme():
    drawn = heat_map.draw(make_map(), higher_better=True)
    assert re.findall(r"https?://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]
    assert "<script" not in drawn and "prefers-color-scheme:dark" in drawn
    assert drawn == heat_map.draw(make_map(), higher_better=True)


def test_a_map_without_any_item_is_empty():
    cell = make_cell(None, {"a": "x", "b": "y"}, items=0, labels=0, arms=0)
    tree = read(SurfaceMap("accuracy", "a", "b", ("x",), ("y",), ((cell,),)))
    assert tree.find(f"{SVG}desc").text == "No item of the pool is in any cell."


def test_only_an_earlier_map_is_replaced(tmp_path):
    path = tmp_path / "map.svg"
    heat_map.check(path, inputs={})
    heat_map.save(path, heat_map.draw(make_map(), higher_better=True))
    heat_map.check(path, inputs={})
    with pytest.raises(StorageError, match="never written over"):
        heat_map.check(path, inputs={"the pool": path})
    Path(path).write_text("<svg>mine</svg>")
    with pytest.raises(ChoiceError, match="is no picture that report has drawn"):
        heat_map.check(path, inputs={})
    heat_map.check(path, inputs={}, force=True)
    with pytest.raises(ChoiceError, match=r"is no \.svg"):
        heat_map.check(tmp_path / "map.png", inputs={})
