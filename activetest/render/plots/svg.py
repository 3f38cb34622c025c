"""Elements of pictures that stand alone, which all plots share.

Colours follow the page, light or dark; there is no script, and nothing is loaded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape as escape_markup

from activetest.render.document import words
from activetest.render.plots.axes import Axis

# Pixels: the edge of a picture, and letters of a name that fit beside a row.
EDGE, LONGEST = 16, 26
STYLE = """
svg{color:#1b2026}text{fill:#1b2026}.ground{fill:#fff}.tick{fill:#55606c;font-size:11px}
.grid{stroke:#d5dae0}.axis{stroke:#55606c}.name{font-weight:600}
.i{stroke:#0072B2;stroke-width:2}.d{fill:#0072B2}.ref{stroke:#55606c;stroke-dasharray:4 4}
.few .i{stroke:#8a949e}.few .d{fill:none;stroke:#8a949e;stroke-width:1.5}
@media (prefers-color-scheme:dark){svg{color:#e7eaee}text{fill:#e7eaee}.ground{fill:#13171b}
.tick{fill:#a6b0ba}.grid{stroke:#363e47}.axis{stroke:#a6b0ba}.i{stroke:#4c9fdc}.d{fill:#4c9fdc}
[stroke="#0072B2"]{stroke:#4c9fdc}[fill="#0072B2"]{fill:#4c9fdc}
[stroke="#7F4F24"]{stroke:#b98a5c}[fill="#7F4F24"]{fill:#b98a5c}}
"""


@dataclass(frozen=True)
class Frame:
    """A rectangle whose sides are axes, in pixels; up is None where nothing is measured upwards."""

    left: float
    top: float
    width: float
    height: float
    across: Axis
    up: Axis | None = None

    def find_x(self, value: float) -> float:
        """Pixels from the left."""
        return round(self.left + self.across.share(value) * self.width, 1)

    def find_y(self, value: float) -> float:
        """Pixels from the top."""
        assert self.up is not None
        return round(self.top + (1 - self.up.share(value)) * self.height, 1)

    def draw(self) -> str:
        """Lines at the ticks, and their names."""
        parts = []
        bottom, right = self.top + self.height, self.left + self.width
        for tick in self.across.ticks:
            x = self.find_x(tick)
            parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{self.top}" y2="{bottom}"/>')
            parts.append(write(x, bottom + 16, self.across.name(tick), "tick", "middle"))
        for tick in self.up.ticks if self.up else ():
            y = self.find_y(tick)
            parts.append(f'<line class="grid" x1="{self.left}" x2="{right}" y1="{y}" y2="{y}"/>')
            name = self.up.name(tick) if self.up else ""
            parts.append(write(self.left - 6, y + 4, name, "tick", "end"))
        return "".join(parts)


def escape(text: object) -> str:
    """A text on one line, in which nothing is markup or moves the letters around it."""
    return escape_markup(words.plain(text))


def shorten(name: str) -> str:
    """A name without the end of a long one."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."


def write(x: float, y: float, text: str, kind: str = "", anchor: str = "", **others: str) -> str:
    """A text at a place; anchor is "middle" or "end" where it is not its beginning.

    others are further attributes, with _ for -.
    """
    named = {"class": kind, "text_anchor": anchor, **others}
    attributes = "".join(
        f' {name.replace("_", "-")}="{value}"' for name, value in named.items() if value
    )
    return f'<text x="{x:g}" y="{y:g}"{attributes}>{escape(text)}</text>'


def wrap(
    name: str,
    width: float,
    height: float,
    parts: Sequence[str],
    *,
    mark: str = "",
    about: str = "",
    role: str = "group",
) -> str:
    """A whole picture of this name.

    mark    an attribute by which the program knows its own pictures
    about   what it shows, in words
    role    "img" where its parts have no words of their own
    """
    mark = f" {mark}" if mark else ""
    title = f"<title>{escape(name)}</title><desc>{escape(about)}</desc>" if about else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"{mark} width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="system-ui,sans-serif" '
        f'font-size="13" role="{role}" aria-label="{escape(name)}">{title}<style>{STYLE}</style>'
        f'<rect class="ground" width="{width:.0f}" height="{height:.0f}"/>{"".join(parts)}</svg>\n'
    )
