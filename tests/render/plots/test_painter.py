"""PNG pictures are painted from what the SVG says: the same marks in the same places."""

from pathlib import Path

import pytest

from activetest.render.plots import figure, svg
from activetest.render.plots.painter import paint

image = pytest.importorskip("matplotlib.image")


@pytest.fixture
def paint_parts(tmp_path):
    """paint_parts(*elements) is (color)(x, y): what an SVG of 100 by 60 pixels shows there."""

    def paint_these(*parts: str):
        paint(svg.wrap("a picture", 100, 60, parts), tmp_path / "x.png")
        pixels = image.imread(tmp_path / "x.png")
        sharp = pixels.shape[1] / 100
        assert pixels.shape[0] / 60 == pytest.approx(sharp, rel=0.02)

        def color(x: float, y: float) -> str:
            red_green_blue = pixels[int(y * sharp), int(x * sharp), :3]
            return "#" + "".join(f"{round(255 * part):02x}" for part in red_green_blue)

        return color

    return paint_these


def test_areas_and_lines_are_where_the_svg_has_them(paint_parts):
    color = paint_parts(
        '<rect x="10" y="10" width="20" height="10" fill="#ff0000"/>',
        '<circle cx="60" cy="15" r="6" fill="#00ff00"/>',
        '<polygon points="80,5 95,5 95,20" fill="#0000ff" fill-opacity=".5"/>',
        '<polyline points="10,40 90,40" stroke="#123456" stroke-width="6" fill="none"/>',
        '<line x1="10" x2="90" y1="50" y2="50" stroke="#654321" stroke-width="6" '
        'stroke-dasharray="20 20"/>',
    )
    assert color(20, 15) == "#ff0000" and color(35, 15) == "#ffffff"
    assert color(60, 15) == "#00ff00" and color(68, 15) == "#ffffff"
    assert color(93, 8) in ("#7f7fff", "#8080ff") and color(82, 18) == "#ffffff"
    assert color(50, 40) == "#123456"
    assert {color(x, 50) for x in range(12, 90)} >= {"#654321", "#ffffff"}


def test_classes_and_places_are_those_of_the_elements_around(paint_parts):
    inner = '<g><line class="axis" x1="0" x2="50" y1="5" y2="5" stroke-width="8"/></g>'
    color = paint_parts(f'<svg x="30" y="20" width="60" height="20">{inner}</svg>')
    assert color(50, 25) == "#55606c" and color(20, 25) == color(50, 5) == "#ffffff"
    color = paint_parts('<circle cx="50" cy="30" r="9" fill="currentColor"/>')
    assert color(50, 30) == "#1b2026"


def test_texts_stand_at_their_anchors(paint_parts):
    for anchor, side in (("", 60), ("end", 40)):
        color = paint_parts(svg.write(50, 35, "$MMM$", "name", anchor))
        dark = [x for x in range(100) if any(color(x, y) != "#ffffff" for y in range(20, 40))]
        assert dark and side in range(min(dark), max(dark)) and (100 - side) not in dark


def test_an_element_that_nobody_can_paint_is_an_error(paint_parts):
    with pytest.raises(NotImplementedError, match="ellipse"):
        paint_parts('<ellipse cx="1" cy="1" rx="2" ry="3"/>')


def test_a_png_shows_what_the_svg_shows(result, tmp_path):
    """Also a name that is longer than its panel."""
    results = [result | {"metric": "recall[" + "long " * 30 + "]"}, result | {"budget": 20}]
    figure.draw(results, tmp_path / "curves.svg")
    figure.draw(results, tmp_path / "curves.png")
    paint((tmp_path / "curves.svg").read_text(encoding="utf-8"), tmp_path / "again.png")
    pictures = [Path(tmp_path / name).read_bytes() for name in ("curves.png", "again.png")]
    assert pictures[0] == pictures[1]
