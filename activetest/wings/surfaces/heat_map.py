"""A surface by two attributes as an SVG: a picture that is also a table for screen readers.

Colours of letters and lines follow the page, light or dark; there is no script, and nothing is
loaded. The cells' colours are those of a terminal.
"""

from collections.abc import Iterator
from functools import partial

from activetest.nouns.surface_report import SurfaceCell, SurfaceMap
from activetest.render.document import words
from activetest.render.plots.picture_files import Origin, check_picture, save_picture
from activetest.render.plots.svg import EDGE, escape, wrap, write
from activetest.wings.surfaces.sections import surface

FORMATS = (".svg",)
_MARK = 'data-drawn-by="activetest-map"'
_OF_REPORT = Origin("report", (_MARK.encode(),))
# Pixels: a cell, a letter of a name, a line of text, and the bar of colours.
_CELL, _LETTER, _LINE, _BAR = (66, 42), 7.6, 18, (180, 12)
_SMALL = "font-size:10px"
# Letters of a name, and how long names of columns may be before they are turned.
_LONGEST, _FITTING = 30, 8


# Earlier maps are replaced.
check = partial(check_picture, origin=_OF_REPORT, formats=FORMATS, example="map.svg")
save = save_picture


def draw(found: SurfaceMap, *, higher_better: bool) -> str:
    """The map as SVG: each cell has its number and the reach of its interval."""
    columns = [_shorten(name) for name in found.columns]
    rows = [_shorten(name) for name in found.rows]
    turned = max(map(len, columns), default=0) > _FITTING
    longest = max(map(len, columns), default=0) * _LETTER
    left = EDGE + max(map(len, (*rows, _shorten(found.first)))) * _LETTER + 10
    head = EDGE + 2 * _LINE + 12
    top = head + (longest * 0.71 + 14 if turned else _LINE)
    width = max(
        left + len(columns) * _CELL[0] + EDGE + (longest * 0.71 if turned else 0),
        EDGE * 2 + len(_title(found)) * 8.2,
        EDGE * 2 + 460,
    )
    bottom = top + len(rows) * _CELL[1]
    height = bottom + 4 * _LINE + EDGE
    scale = surface.find_range(found)
    parts = [
        write(EDGE, EDGE + 12, _title(found), font_weight="bold"),
        write(EDGE, EDGE + 12 + _LINE, _subtitle(found), "tick"),
        f'<g role="table" aria-label="{escape(_title(found))}">',
        *_write_columns(found, columns, left, top, turned=turned),
        *_write_rows(found, rows, left, top, scale, higher_better=higher_better),
        "</g>",
        *_write_legend(scale, bottom + 1.6 * _LINE, higher_better=higher_better),
    ]
    return wrap(_title(found), width, height, parts, mark=_MARK, about=_describe(found))


def _write_columns(
    found: SurfaceMap, names: list[str], left: float, top: float, *, turned: bool
) -> Iterator[str]:
    """The row of headings."""
    yield '<g role="row">'
    about = {"role": "columnheader", "font_style": "italic"}
    yield write(left - 10, top - 8, _shorten(found.first), "tick", "end", **about)
    for place, name in enumerate(names):
        x, y = left + (place + 0.5) * _CELL[0], top - 8
        turn = f"rotate(-45 {x:.1f} {y:.1f})" if turned else ""
        anchor = "" if turned else "middle"
        yield write(x, y, name, anchor=anchor, role="columnheader", transform=turn)
    yield "</g>"


def _write_rows(
    found: SurfaceMap,
    names: list[str],
    left: float,
    top: float,
    scale: tuple[float, float],
    *,
    higher_better: bool,
) -> Iterator[str]:
    """A row for each value of the first attribute."""
    for down, (name, cells) in enumerate(zip(names, found.cells, strict=True)):
        y = top + down * _CELL[1]
        yield '<g role="row">'
        yield write(left - 10, y + _CELL[1] / 2 + 4, name, anchor="end", role="rowheader")
        for across, cell in enumerate(cells):
            yield _draw_cell(found, cell, left + across * _CELL[0], y, scale, higher_better)
        yield "</g>"


def _draw_cell(
    found: SurfaceMap,
    cell: SurfaceCell,
    x: float,
    y: float,
    scale: tuple[float, float],
    higher_better: bool,
) -> str:
    """A rectangle with the number; one without an item is empty and crossed out."""
    wide, high = _CELL[0] - 2, _CELL[1] - 2
    spoken = surface.describe_cell(found.metric, cell)
    begin = f'<g role="cell" aria-label="{escape(spoken)}"><title>{escape(spoken)}</title>'
    colors = surface.color_cell(cell, scale, higher_better=higher_better)
    if colors is None or cell.estimate is None:
        return (
            f'{begin}<path class="axis" fill="none" d="M{x + 1:.1f} {y + 1:.1f}h{wide}v{high}'
            f'h-{wide}zl{wide} {high}" opacity=".55"/></g>'
        )
    ink, fill = (f"#{color}" for color in colors)
    middle = x + _CELL[0] / 2
    return (
        f'{begin}<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{wide}" height="{high}" rx="3" '
        f'fill="{fill}"/>'
        + write(middle, y + 19, surface.write_map_cell(cell), anchor="middle", style=f"fill:{ink}")
        + write(middle, y + 33, _write_reach(cell), anchor="middle", style=f"fill:{ink};{_SMALL}")
        + "</g>"
    )


def _write_reach(cell: SurfaceCell) -> str:
    """The interval under the number: from where to where."""
    if cell.method == "exact" or cell.lower is None or cell.upper is None:
        return "exact"
    return f"{cell.lower:.2f}-{cell.upper:.2f}"


def _write_legend(scale: tuple[float, float], y: float, *, higher_better: bool) -> Iterator[str]:
    """The colours from the smallest to the largest number, and what empty cells are."""
    steps = 24
    yield '<g aria-hidden="true">'
    for step in range(steps):
        share = (step + 0.5) / steps
        color = surface.choose_color(share if higher_better else 1 - share)
        x, wide = EDGE + step * _BAR[0] / steps, _BAR[0] / steps + 0.4
        fill = f'fill="#{surface.write_color(color)}"'
        yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{_BAR[1]}" {fill}/>'
    ends = [f"{end:.2f}" for end in scale]
    good = ("worse", "better") if higher_better else ("better", "worse")
    below = y + _BAR[1] + 14
    yield write(EDGE, below, f"{ends[0]} {good[0]}", "tick")
    yield write(EDGE + _BAR[0], below, f"{good[1]} {ends[1]}", "tick", "end")
    x = EDGE + _BAR[0] + 24
    yield f'<path class="axis" fill="none" d="M{x} {y}h18v12h-18zl18 12" opacity=".55"/>'
    yield write(x + 26, y + 10, "no such item in the pool", "tick")
    yield write(x, below, "(in brackets) no label there yet", "tick")
    yield "</g>"


def _title(found: SurfaceMap) -> str:
    return words.plain(f"{found.metric} by {found.first} and {found.second}")


def _subtitle(found: SurfaceMap) -> str:
    """The meaning of the small numbers."""
    columns = f"columns: {words.plain(found.second)}"
    if surface.are_exact([cell for row in found.cells for cell in row]):
        return f"{columns}; exact: every item has a label"
    level = found.cells[0][0].level
    return f"{columns}; under each number its {words.write_level(level)} credible interval"


def _describe(found: SurfaceMap) -> str:
    """Where the smallest and the largest number is."""
    cells = [
        cell for row in found.cells for cell in row if cell.occurs and cell.estimate is not None
    ]
    if not cells:
        return "No item of the pool is in any cell."
    ends = [choose(cells, key=lambda cell: cell.estimate or 0.0) for choose in (min, max)]
    return "; ".join(
        f"{which}: {surface.describe_cell(found.metric, cell)}"
        for which, cell in zip(("smallest", "largest"), ends, strict=True)
    )


def _shorten(name: str) -> str:
    """A name without the end of a long one."""
    plain = words.plain(name)
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3].rstrip()}..."
