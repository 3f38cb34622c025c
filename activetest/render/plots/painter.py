"""Pictures in SVG as PNG, by matplotlib, which comes with the extra `report`."""

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

# Dots for each pixel of an SVG, and pixels and points of an inch.
_SHARPNESS, _PIXELS, _POINTS = 1.875, 96, 72
# Pixels of a letter's width over those of its height, as a rule.
_NARROW = 0.55
_ANCHORS = {"middle": "center", "end": "right"}
# A matplotlibrc in the working folder could ask for LaTeX, a program that reads files.
_STYLE = {"font.family": "sans-serif", "text.usetex": False}
_CREATOR = "activetest"


def paint(svg: str, path: Path) -> None:
    """Paint an SVG as plots.svg writes it, on light ground."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    with rc_context(_STYLE), warnings.catch_warnings():
        # Letters that no installed font has are boxes.
        warnings.filterwarnings("ignore", "Glyph")
        figure = Figure((width / _PIXELS, height / _PIXELS), dpi=_SHARPNESS * _PIXELS)
        canvas = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
        canvas.axis("off")
        _Painter(canvas, _read_style(root)).paint(root, (0.0, 0.0))
        figure.savefig(path, format="png", metadata={"Software": _CREATOR}, facecolor="white")


def _read_style(root: ElementTree.Element) -> dict[str, dict[str, str]]:
    """{class or element: its properties} on light ground."""
    sheet = next((each.text or "" for each in root if each.tag.endswith("style")), "")
    rules = re.findall(r"([\w.#]+)\{([^}]*)\}", sheet.partition("@media")[0])
    return {
        name.removeprefix("."): dict(each.split(":", 1) for each in inside.split(";"))
        for name, inside in rules
    }


class _Painter:
    """Paints elements on axes whose units are pixels."""

    def __init__(self, canvas: Any, style: Mapping[str, Mapping[str, str]]) -> None:
        self._canvas, self._style = canvas, style

    def paint(self, parent: ElementTree.Element, origin: tuple[float, float]) -> None:
        """Paint what is inside an element, from there on."""
        for element in parent:
            tag = element.tag.rpartition("}")[2]
            if tag in ("style", "title", "desc"):
                continue
            if tag in ("svg", "g"):
                where = (float(element.get(name, 0)) for name in "xy")
                x, y = (start + inside for start, inside in zip(origin, where, strict=True))
                self.paint(element, (x, y))
                continue
            kind = element.get("class", "")
            look = {**self._style.get(tag, {}), **self._style.get(kind, {}), **element.attrib}
            if look.get("fill") == "currentColor" or look.get("stroke") == "currentColor":
                ink = self._style["svg"]["color"]
                look = {key: ink if each == "currentColor" else each for key, each in look.items()}
            paint = getattr(self, f"_paint_{tag}", None)
            if paint is None:
                raise NotImplementedError(f"no way to paint a {tag}")
            paint(element, look, origin)

    def _paint_line(self, _: object, look: dict, origin: tuple[float, float]) -> None:
        ends = [(float(look[f"x{end}"]), float(look[f"y{end}"])) for end in (1, 2)]
        self._draw_path(ends, look, origin)

    def _paint_polyline(self, _: object, look: dict, origin: tuple[float, float]) -> None:
        self._draw_path(_read_points(look), look, origin)

    def _paint_polygon(self, _: object, look: dict, origin: tuple[float, float]) -> None:
        points = [(x + origin[0], y + origin[1]) for x, y in _read_points(look)]
        self._canvas.fill(*zip(*points, strict=True), **_find_fill(look))

    def _paint_circle(self, _: object, look: dict, origin: tuple[float, float]) -> None:
        from matplotlib.patches import Circle

        center = float(look["cx"]) + origin[0], float(look["cy"]) + origin[1]
        self._canvas.add_patch(Circle(center, float(look["r"]), zorder=2, **_find_fill(look)))

    def _paint_rect(self, _: object, look: dict, origin: tuple[float, float]) -> None:
        from matplotlib.patches import Rectangle

        corner = float(look.get("x", 0)) + origin[0], float(look.get("y", 0)) + origin[1]
        size = float(look["width"]), float(look["height"])
        self._canvas.add_patch(Rectangle(corner, *size, zorder=1, **_find_fill(look)))

    def _paint_text(
        self, element: ElementTree.Element, look: dict, origin: tuple[float, float]
    ) -> None:
        text = "".join(element.itertext())
        size = float(look.get("font-size", "13px").removesuffix("px"))
        if "textLength" in look:
            size = min(size, float(look["textLength"]) / (_NARROW * max(len(text), 1)))
        self._canvas.text(
            float(look["x"]) + origin[0],
            float(look["y"]) + origin[1],
            text,
            fontsize=size * _POINTS / _PIXELS,
            color=look["fill"],
            weight="bold" if look.get("font-weight") else "normal",
            ha=_ANCHORS.get(look.get("text-anchor", ""), "left"),
            # A class may be called $x$.
            parse_math=False,
        )

    def _draw_path(
        self, points: list[tuple[float, float]], look: dict, origin: tuple[float, float]
    ) -> None:
        wide = float(look.get("stroke-width", 1))
        dashes = [float(each) / wide for each in look.get("stroke-dasharray", "").split()]
        self._canvas.plot(
            [x + origin[0] for x, _ in points],
            [y + origin[1] for _, y in points],
            color=look["stroke"],
            linewidth=wide * _POINTS / _PIXELS,
            linestyle=(0, dashes) if dashes else "-",
            zorder=2,
        )


def _read_points(look: Mapping[str, str]) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in look["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


def _find_fill(look: Mapping[str, str]) -> dict[str, Any]:
    """The colours of an area and of its edge."""
    from matplotlib.colors import to_rgba

    return {
        "facecolor": to_rgba(look["fill"], float(look.get("fill-opacity", 1))),
        "edgecolor": look.get("stroke", "none"),
        "linewidth": _POINTS / _PIXELS,
    }
