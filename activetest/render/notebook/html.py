"""Fragments of HTML for the cells of a notebook: a report, a batch, a status, a simulation.

Every text is escaped, styles are in the elements, and colours are those of the page or translucent:
a fragment can be read on a light and on a dark page. There is no script and no outside address.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch
from typing import Any

from activetest.nouns.inspection import Inspection
from activetest.nouns.name_lists import list_few
from activetest.nouns.report import FAIL, PASS, UNDECIDED, Counts, Report
from activetest.render.document import words
from activetest.render.document.blocks import (
    Block,
    Bullets,
    Code,
    Facts,
    Map,
    Matrix,
    Notes,
    Sentence,
    Table,
    simplify,
)
from activetest.render.document.extent import Extent
from activetest.render.document.inspection import list_inspection_blocks
from activetest.render.document.outline import outline_report
from activetest.render.document.simulation import list_simulation_blocks
from activetest.render.page import head

# Rows of a table, and characters of a cell, beyond which a notebook shows how many there are.
_MOST_ROWS, _MOST_LETTERS = 60, 200
# A confusion matrix of more classes is shown without intervals.
_MOST_INTERVALS = 5
# Classes that are named where a label is asked for.
_MOST_CLASSES = 30
# Tables that a cell holds at most, besides that of gates.
_MOST_TABLES = 12
# Notebooks would read dollar signs in names as formulas.
_CLASSES = "activetest tex2jax_ignore mathjax_ignore"
_CELL = "padding:.15em .8em .15em 0;border:0;background:transparent;vertical-align:top"
_TABLE = "border-collapse:collapse;border:0;color:inherit;font-size:inherit;margin:.3em 0 .8em 0"
_STRONG = "font-weight:bold;margin:.3em 0"
_SENTENCES = {"plain": "margin:.3em 0", "small": "opacity:.7;margin:.3em 0"}
_LINE = "border-bottom:1px solid;border-color:rgba(128,128,128,.6)"
_BADGES = {
    PASS.upper(): "rgba(46,160,67,.3)",
    FAIL.upper(): "rgba(218,54,51,.35)",
    UNDECIDED.upper(): "rgba(210,153,34,.3)",
}
_NUMBER = re.compile(r"[-<>]?[\d.,]*(e[-+]\d+)?[ ]?[x%]?")
_CODE = re.compile("`([^`]+)`")


def render(report: Report) -> str:
    """The headline, verdicts on gates, tables, and at most three cautions."""
    first, *blocks = outline_report(report, Extent()).list_blocks(gates_first=False)
    tables = [at for at, block in enumerate(blocks) if isinstance(block, Table | Matrix | Map)]
    left_out = tables[_MOST_TABLES + bool(report.gates) :]
    for at in reversed(left_out):
        del blocks[at]
    if left_out:
        more = f"{len(left_out)} more tables: `report.to_frame()` has all."
        blocks.insert(left_out[0], Sentence(more, style="small"))
    picture = head.draw_bar(report)
    bar = f'<div style="max-width:46em">{picture}</div>' if picture else ""
    return _wrap([_write_block(first), bar, *_write(blocks)])


def batch(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], summary: str = "") -> str:
    """Items to label, under a sentence about them.

    rows     one mapping per item, from column to value
    columns  those to show, in order
    """
    cells = tuple(tuple(_shorten(row[column]) for column in columns) for row in rows)
    table = Table("", tuple(columns), cells, whole="`batch.to_frame()` has all")
    return write_blocks([*([Sentence(summary)] if summary else []), table])


def status(counts: Counts, coming: str = "", *, title: str = "") -> str:
    """Where a study stands; coming says what `next` would do, and title which study it is."""
    blocks: list[Block] = [Sentence(title)] if title else []
    blocks += [Facts(words.standing(counts)), Sentence(coming, style="plain")]
    return write_blocks(blocks)


def inspection(found: Inspection) -> str:
    """Contents of a file: its columns, what they allow, and how to go on."""
    return write_blocks(list_inspection_blocks(found))


def session(item: Any, answered: int, total: int, classes: Sequence[str]) -> str:
    """The item of a labelling session that is to be answered now, and how far the session is.

    item  with `id` and `values`; None where all have an answer
    """
    done = f"{answered:,} of {total:,} items have an answer"
    if item is None:
        return write_blocks([Sentence(done)])
    facts = [("id", item.id), *((name, _shorten(value)) for name, value in item.values.items())]
    kinds = f"classes: {list_few(classes, _MOST_CLASSES)}" if classes else "the label is a number"
    return _wrap(
        _write([Sentence(done), Facts(facts), Sentence(words.plain(kinds), style="plain")])
    )


def simulation(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """One row per strategy, metric and budget, below the answers to a question."""
    return write_blocks(list_simulation_blocks(results, answers))


def write_blocks(blocks: Sequence[Block]) -> str:
    """The blocks as one element."""
    return _wrap(_write(blocks))


def _write(blocks: Sequence[Block]) -> list[str]:
    """The blocks, small sentences last, below what marks mean."""
    small = [each for each in blocks if isinstance(each, Sentence) and each.style == "small"]
    parts = [_write_block(each) for each in simplify(blocks) if each not in small]
    if any(f"{_escape(words.MARK)}</td>" in part for part in parts):
        parts.append(_write_block(Sentence(words.LEGEND, style="small")))
    return parts + list(map(_write_block, small))


@singledispatch
def _write_block(block: Block) -> str:
    """The elements of a block; each sort of it has its own."""
    raise NotImplementedError(type(block).__name__)


@_write_block.register
def _(block: Sentence) -> str:
    written = _write_code(block.text + block.rest)
    return f'<div style="{_SENTENCES.get(block.style, _STRONG)}">{written}</div>' * bool(written)


@_write_block.register
def _(block: Bullets) -> str:
    return _write_list(block.texts)


@_write_block.register
def _(block: Notes) -> str:
    return _write_list(f"{words.label(each)}: {words.plain(each.text)}" for each in block.notes)


@_write_block.register
def _(block: Code) -> str:
    return "".join(f"<div><code>{_escape(line)}</code></div>" for line in block.line.splitlines())


@_write_block.register
def _(block: Matrix) -> str:
    return _write_block(block.fold(_MOST_INTERVALS))


@_write_block.register
def _(block: Map) -> str:
    """A map as a table whose cells have colours."""
    table = block.table
    head = "".join(
        f'<th scope="col" style="{_CELL};text-align:right">{_escape(name)}</th>'
        for name in table.headings
    )
    rows = []
    for row, cells in zip(table.rows, block.cells, strict=True):
        written = [f'<th scope="row" style="{_CELL};text-align:left">{_escape(row[0])}</th>']
        for cell in cells:
            paint = ";color:#{};background:#{}".format(*cell.colors) if cell.colors else ""
            written.append(
                f'<td title="{_escape(cell.spoken)}" '
                f'style="padding:.15em .5em;border:0;text-align:right{paint}">'
                f"{_escape(cell.text)}</td>"
            )
        rows.append(f'<tr style="background:transparent">{"".join(written)}</tr>')
    return (
        f'<div style="font-weight:bold">{_escape(table.title)}</div><table style="{_TABLE}">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        + _write_block(Sentence(table.below, style="small"))
    )


@_write_block.register
def _(table: Table) -> str:
    """A table, which says where the rows are that it leaves out."""
    shown = table.rows[:_MOST_ROWS]
    right = [
        all(_NUMBER.fullmatch(row[column]) for row in shown)
        for column in range(len(table.headings))
    ]

    def write(tag: str, cell: str, column: int) -> str:
        style = f"{_CELL};text-align:{'right' if right[column] else 'left'}"
        text = _escape(cell)
        if tag == "th":
            return f'<th scope="col" style="{style};{_LINE};font-weight:bold">{text}</th>'
        if table.headings[column] == "verdict" and cell in _BADGES:
            badge = f"background:{_BADGES[cell]};padding:0 .4em;border-radius:.3em"
            text = f'<b style="{badge}">{text}</b>'
        return f'<td style="{style}">{text}</td>'

    def write_row(tag: str, cells: Sequence[str]) -> str:
        written = (write(tag, cell, column) for column, cell in enumerate(cells))
        return f'<tr style="background:transparent">{"".join(written)}</tr>'

    title = f'<div style="font-weight:bold">{_escape(table.title)}</div>' if table.title else ""
    more = len(table.rows) - len(shown)
    rest = f"{more:,} more rows: {table.whole}." if more else table.below
    below = _write_block(Sentence(rest, style="small"))
    return (
        f'{title}<table style="{_TABLE}">'
        f"<thead>{write_row('th', table.headings)}</thead>"
        f"<tbody>{''.join(write_row('td', row) for row in shown)}</tbody></table>{below}"
    )


@_write_block.register
def _(block: Facts) -> str:
    rows = (
        f'<tr style="background:transparent"><td style="{_CELL};text-align:left;opacity:.7">'
        f'{_escape(name)}</td><td style="{_CELL};text-align:left">{_escape(value)}</td></tr>'
        for name, value in block.rows
    )
    return f'<table style="{_TABLE}"><tbody>{"".join(rows)}</tbody></table>'


def _write_list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{_write_code(text)}</li>" for text in texts)
    return f'<ul style="margin:.3em 0 .8em 0;padding-left:1.4em">{items}</ul>' if items else ""


def _write_code(text: str) -> str:
    """The text, with what stands in backticks as code."""
    return _CODE.sub(r"<code>\1</code>", _escape(text))


def _escape(text: str) -> str:
    """The text on one line, in which nothing is markup or moves the letters around it."""
    return html.escape(words.plain(text))


def _shorten(value: Any) -> str:
    """A value of the pool as text, without the end of a long one."""
    text = "" if value is None else str(value)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]} ..."


def _wrap(parts: Iterable[str]) -> str:
    """The parts that say something, as one element."""
    return f'<div class="{_CLASSES}" style="overflow-x:auto">{"".join(parts)}</div>'
