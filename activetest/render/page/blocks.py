"""Blocks as elements of a page."""

import base64
import gzip
from collections.abc import Sequence
from functools import singledispatch
from itertools import pairwise
from urllib.parse import quote

from activetest.render.document import words
from activetest.render.document.blocks import (
    Attachment,
    Bars,
    Block,
    Bullets,
    Chart,
    Code,
    Facts,
    Figure,
    Fold,
    Item,
    Items,
    Key,
    Map,
    Matrix,
    Notes,
    Point,
    Sentence,
    Slices,
    Table,
)
from activetest.render.page import markup
from activetest.render.page.bars import interval_table
from activetest.render.page.style import shade
from activetest.render.plots.axes import Axis

# Matrices of at most so many classes show intervals in their cells.
_ROOMY = 5
# Characters of CSV that an address may hold as they are.
_UNQUOTED = ",:;+-_./=@!$*()"
# Height of a plot in pixels, and what is left free over and under it.
_HEIGHT, _TOP, _BOTTOM = 260, 14, 26
# Ticks that fit under a plot on the narrowest screen.
_MOST_TICKS = 5
# The look of marks in a key, and the meaning of those of charts.
_MARKS = {
    "dot": '<line class="i" x1="2" x2="24" y1="6" y2="6"/>'
    '<circle class="d" cx="13" cy="6" r="4.5"/>',
    "band": '<rect class="band" width="26" height="12"/>',
    "bar": '<rect class="bar" y="2" width="26" height="8"/>',
    "bar2": '<rect class="bar2" y="3" width="26" height="5"/>',
}


def write_blocks(blocks: Sequence[Block]) -> str:
    """The elements of all blocks."""
    return "".join(map(write_block, blocks))


@singledispatch
def write_block(block: Block) -> str:
    """The elements of a block, each sort of which has its own; none where it says nothing."""
    raise NotImplementedError(type(block).__name__)


@write_block.register
def _(block: Sentence) -> str:
    if block.style == "subtitle":
        return f"<h3>{markup.escape(block.text)}</h3>"
    return markup.paragraph(block.text + block.rest, "small" if block.style == "small" else "")


@write_block.register
def _(block: Facts) -> str:
    return markup.facts(block.rows)


@write_block.register
def _(block: Bullets) -> str:
    return markup.bullets(block.texts, "small")


@write_block.register
def _(block: Notes) -> str:
    return markup.bullets(note.text for note in block.notes)


@write_block.register
def _(block: Code) -> str:
    lines = "\n".join(map(markup.escape, block.line.splitlines()))
    return f"<pre>{lines}</pre>"


@write_block.register
def _(block: Table) -> str:
    if block.bars:
        return write_blocks(block.bars)
    return markup.write_table(
        block.title, block.headings, block.rows, block.left, titled=block.titled
    )


@write_block.register
def _(block: Bars) -> str:
    return interval_table(block) + markup.paragraph(block.below, "small")


@write_block.register
def _(block: Matrix) -> str:
    return write_block(block.fold(_ROOMY))


@write_block.register
def _(block: Items) -> str:
    return f'<ol class="items">{"".join(map(_write_item, block.items))}</ol>'


@write_block.register
def _(block: Fold) -> str:
    return markup.folded(block.summary, write_blocks(block.blocks))


@write_block.register
def _(block: Key) -> str:
    return f'<p class="small">{_write_key(block.marks)}</p>'


@write_block.register
def _(file: Attachment) -> str:
    head = f"<h3>{markup.escape(file.title)}</h3>"
    if file.how == "absent":
        return head + markup.paragraph(f"{file.holds}, {file.elsewhere}.")
    if file.how == "packed":
        content = gzip.compress(file.content.encode(), compresslevel=9, mtime=0)
        address = f"data:application/gzip;base64,{base64.b64encode(content).decode()}"
        name = f"{file.name}.gz"
    else:
        address = f"data:text/csv;charset=utf-8,{quote(file.content, safe=_UNQUOTED)}"
        name = file.name
    return (
        f"{head}<p>{file.holds}, inside this file.</p>"
        f'<p class="download"><a download="{name}" href="{address}">Save {name}</a></p>'
    )


def _write_key(marks: Sequence[tuple[str, str]]) -> str:
    """Marks of a legend, each with its words."""
    return "".join(
        f'<span class="key"><svg aria-hidden="true" width="26" height="12">{_MARKS[mark]}</svg>'
        f"{markup.escape(text)}</span>"
        for mark, text in marks
    )


@write_block.register
def _(found: Map) -> str:
    """A map as a table with shades; under each number its interval."""
    table, body = found.table, []
    for row, cells in zip(table.rows, found.cells, strict=True):
        written = [f'<th scope="row">{markup.escape(row[0])}</th>']
        for cell in cells:
            kind = "" if cell.shade is None else shade(cell.shade, right=cell.good)
            below = f"<small>{cell.below}</small>" if cell.below else ""
            written.append(f"<td{markup.class_of(kind)}>{markup.escape(cell.text)}{below}</td>")
        body.append(f"<tr>{''.join(written)}</tr>")
    head = "".join(f'<th scope="col">{markup.escape(name)}</th>' for name in table.headings)
    inside = markup.scrolled(
        table.title,
        f'<table class="matrix"><caption>{markup.escape(table.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>",
    )
    return inside + markup.paragraph(found.legend, "small")


def _write_item(item: Item) -> str:
    """An item with what is said of it; names do not move the direction of what is beside them."""
    kinds = {"": "{}", "name": "{}", "strong": "<b>{}</b>"}
    spans = "".join(
        kinds[kind].format(_isolate(text) if kind else markup.escape(text))
        for text, kind in item.spans
    )
    lines = markup.escape_lines(item.text) if item.text else ""
    quoted = f'<blockquote dir="auto">{lines}</blockquote>' if item.text else ""
    return f"<li><code>{_isolate(item.id)}</code> &#160; {spans}{quoted}</li>"


def _isolate(text: str) -> str:
    """A name of a user's file."""
    return f"<bdi>{markup.escape(text)}</bdi>" if text else ""


@write_block.register
def _(found: Slices) -> str:
    """The slices of the pool in one way to cut it."""
    most = max(max(labels, pool) for *_, labels, pool in found.rows) or 1.0
    body = "".join(_write_share(*row, most) for row in found.rows)
    name = markup.escape(found.what)
    return (
        f'<table class="iv"><caption>by {name}</caption><thead><tr><th scope="col">{name}</th>'
        '<th scope="col" class="plot">labels over pool</th><th scope="col" class="v">of labels'
        f", of the pool</th></tr></thead><tbody>{body}</tbody></table>"
    )


def _write_share(name: str, note: str, labels: float, pool: float, most: float) -> str:
    wide = [100 * each / most for each in (labels, pool)]
    texts = [f"{100 * each:.1f} %" for each in (labels, pool)]
    spoken = markup.escape(f"{name}: {texts[0]} of labels, {texts[1]} of the pool")
    picture = (
        f'<svg role="img" aria-label="{spoken}" height="26">'
        f'<rect class="bar" y="5" width="{wide[0]:.1f}%" height="8" rx="1"/>'
        f'<rect class="bar2" y="15" width="{wide[1]:.1f}%" height="5" rx="1"/></svg>'
    )
    return (
        f'<tr><th scope="row">{markup.escape(name)} <small>{note}</small></th>'
        f'<td class="plot">{picture}</td>'
        f'<td class="v"><b>{texts[0]}</b> <span>{texts[1]}</span></td></tr>'
    )


@write_block.register
def _(found: Figure) -> str:
    key = _write_key([(mark, _MEANINGS[mark]) for mark in found.marks])
    caption = markup.write_code(found.caption)
    picture = _draw_chart(found.chart)
    if found.chart.diagonal:
        picture = f'<div class="square">{picture}</div>'
    return markup.figure(
        picture, f"{key}<br>{caption}" if key else caption, write_block(found.numbers)
    )


_MEANINGS = {"dot": "estimate and interval", "band": "as many random labels"}


def _draw_chart(chart: Chart) -> str:
    """Points with their intervals: across in percent of the width, up in pixels."""
    across, up, bottom = chart.across, chart.up, _HEIGHT - _BOTTOM
    heights = [_rise(up, tick) for tick in up.ticks]
    parts = [f'<line class="grid" x1="0" x2="100%" y1="{y}" y2="{y}"/>' for y in heights]
    parts += _draw_band(chart)
    if chart.diagonal:
        x1, x2 = across.place(across.low), across.place(across.high)
        y1, y2 = _rise(up, across.low), _rise(up, across.high)
        parts.append(f'<line class="ref" x1="{x1}%" x2="{x2}%" y1="{y1}" y2="{y2}"/>')
    parts += [_draw_point(point, across, up) for point in chart.points]
    parts += [
        f'<text class="tick halo" x="0" y="{y - 4}">{markup.escape(name)}</text>'
        for y, name in zip(heights, chart.ticks, strict=True)
    ]
    parts.append(f'<line class="axis" x1="0" x2="100%" y1="{bottom}" y2="{bottom}"/>')
    many = len(across.ticks) > _MOST_TICKS
    parts += [
        f'<text class="tick{" mid" if many and at % 2 else ""}" x="{across.place(tick)}%" '
        f'y="{_HEIGHT - 8}" text-anchor="middle">{markup.escape(across.name(tick))}</text>'
        for at, tick in enumerate(across.ticks)
    ]
    if chart.counted:
        parts.append(
            f'<text class="tick" x="100%" y="{bottom - 5}" text-anchor="end">{chart.counted}</text>'
        )
    name = markup.escape(chart.name)
    return f'<svg role="img" aria-label="{name}" height="{_HEIGHT}">{"".join(parts)}</svg>'


def _draw_band(chart: Chart) -> list[str]:
    """The band, and lines along its edges."""
    if len(chart.band) < 2:
        return []
    across, up = chart.across, chart.up
    upper = [(across.place(x), _rise(up, high)) for x, _, high in chart.band]
    lower = [(across.place(x), _rise(up, low)) for x, low, _ in chart.band]
    outline = " ".join(f"{x},{y}" for x, y in [*upper, *reversed(lower)])
    lines = [
        f'<line class="bandline" x1="{x1}%" y1="{y1}" x2="{x2}%" y2="{y2}"/>'
        for edge in (upper, lower)
        for (x1, y1), (x2, y2) in pairwise(edge)
    ]
    return [
        f'<svg x="0" y="0" width="100%" height="{_HEIGHT}" viewBox="0 0 100 {_HEIGHT}" '
        f'preserveAspectRatio="none"><polygon class="band" points="{outline}"/></svg>',
        *lines,
    ]


def _draw_point(point: Point, across: Axis, up: Axis) -> str:
    x, y, bar = across.place(point.x), _rise(up, point.y), ""
    if words.real(point.low) and words.real(point.high):
        low, high = _rise(up, point.low), _rise(up, point.high)
        bar = f'<line class="i" x1="{x}%" x2="{x}%" y1="{low}" y2="{high}"/>'
    few = ' class="few"' if point.few else ""
    return f'<g{few}>{bar}<circle class="d" cx="{x}%" cy="{y}" r="4.5"/></g>'


def _rise(axis: Axis, value: float) -> float:
    """Pixels from the top."""
    return round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - axis.share(value)), 1)
