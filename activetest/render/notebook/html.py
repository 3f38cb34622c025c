"""Fragments of HTML for the cells of a notebook: a report, a batch, a status, a simulation.

Every text is escaped, styles are in the elements, and colours are those of the page or translucent:
a fragment can be read on a light and on a dark page. There is no script and no outside address.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from activetest.nouns.group_report import Assessment
from activetest.nouns.inspection import Inspection
from activetest.nouns.name_lists import list_few
from activetest.nouns.report import (
    FAIL,
    PASS,
    UNDECIDED,
    Counts,
    EstimateRow,
    Gate,
    Report,
    count_verdicts,
)
from activetest.nouns.surface_report import SurfaceMap, SurfaceReport
from activetest.render import (
    _answers,
    _assessment,
    _extent,
    _gates,
    _inspection,
    _judge,
    _judge_tables,
    _surface,
    _tables,
)
from activetest.render import _words as words
from activetest.render.page import head
from activetest.render.page.bars import large

# Rows of a table, and characters of a cell, beyond which a notebook shows how many there are.
_MOST_ROWS, _MOST_LETTERS = 60, 200
# A confusion matrix of more classes is shown without intervals.
_MOST_INTERVALS = 5
# Classes that are named where a label is asked for.
_MOST_CLASSES = 30
# Tables that a cell holds at most.
_MOST_TABLES = 12
_ALL, _ALL_ARMS = "`report.to_frame()` has all", "`study.surface()` has all"

# Notebooks would read dollar signs in names as formulas.
_CLASSES = "activetest tex2jax_ignore mathjax_ignore"
_CELL = "padding:.15em .8em .15em 0;border:0;background:transparent;vertical-align:top"
_TABLE = "border-collapse:collapse;border:0;color:inherit;font-size:inherit;margin:.3em 0 .8em 0"
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
    answer = report.assessment
    parts = [_write_strong(_tables.headline(report)), _draw_bar(report)]
    if answer:
        parts.append(_write_strong(_assessment.sentence(answer)))
    if report.surface:
        parts.append(_write_strong(_surface.sentence(report.surface)))
    judge = report.judge
    if judge:
        parts += map(_write_strong, _judge.sentences(report, judge))
    if report.gates:
        parts += _write_gates(report.gates)
    parts.append(_write_facts(_tables.facts(report)))
    if judge:
        parts += [_write_table(each, _ALL) for each in _judge_tables.tables(report, verbose=False)]
    if report.surface:
        parts += _write_surface(report.surface)
    tables = _list_tables(report, answer)
    parts += [_write_table(table, _ALL) for table in tables[:_MOST_TABLES]]
    if len(tables) > _MOST_TABLES:
        parts.append(_write_small(f"{len(tables) - _MOST_TABLES} more tables: {_ALL}."))
    if answer and _extent.has_diagram(answer, verbose=False):
        parts.append(_write_list(_assessment.remarks(answer)))
    notes = _extent.notes(report, verbose=False)
    parts.append(_write_list(f"{words.label(note)}: {words.plain(note.text)}" for note in notes))
    if any(f"{_escape(words.MARK)}</td>" in part for part in parts):
        parts.append(_write_small(words.LEGEND))
    parts.append(_write_small(words.describe_inputs(report)))
    parts.append(_write_small(_extent.left_out(report, _extent.MORE)))
    return _wrap(parts)


def surface(found: SurfaceReport) -> str:
    """A surface without the rest of a report."""
    return _wrap([_write_strong(_surface.sentence(found)), *_write_surface(found)])


def batch(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], summary: str = "") -> str:
    """Items to label, under a sentence about them.

    rows     one mapping per item, from column to value
    columns  those to show, in order
    """
    cells = tuple(tuple(_shorten(row[column]) for column in columns) for row in rows)
    table = _tables.Table("", tuple(columns), cells)
    parts = [_write_strong(summary)] if summary else []
    return _wrap([*parts, _write_table(table, "`batch.to_frame()` has all")])


def status(counts: Counts, coming: str = "", *, title: str = "") -> str:
    """Where a study stands; coming says what `next` would do, and title which study it is."""
    parts = [_write_strong(title)] if title else []
    parts.append(_write_facts(words.standing(counts)))
    return _wrap([*parts, _write_text(coming)])


def inspection(found: Inspection) -> str:
    """What a file holds: its columns, what they allow, and how to go on."""
    parts = [_write_strong(_inspection.sentence(found))]
    if found.columns:
        parts.append(_write_table(_inspection.columns(found), "JSON has all"))
    parts.append(_write_facts(_inspection.facts(found)))
    parts += [_write_text(line) for line in _inspection.ending(found) if line]
    if found.create:
        parts.append(f"<div><code>{_escape(found.create)}</code></div>")
    return _wrap(parts)


def session(item: Any, answered: int, total: int, classes: Sequence[str]) -> str:
    """The item of a labelling session that is to be answered now, and how far the session is.

    item  with `id` and `values`; None where all have an answer
    """
    done = f"{answered:,} of {total:,} items have an answer"
    if item is None:
        return _wrap([_write_strong(done)])
    facts = [("id", item.id), *((name, _shorten(value)) for name, value in item.values.items())]
    kinds = f"classes: {list_few(classes, _MOST_CLASSES)}" if classes else "the label is a number"
    return _wrap([_write_strong(done), _write_facts(facts), _write_text(words.plain(kinds))])


def simulation(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """One row per strategy, metric and budget, below the answers to a question."""
    budgets = {result["budget"] for result in results}
    parts = [_write_table(each, "`.answers` has all") for each in _answers.tables(answers, budgets)]
    parts.append(_write_table(_tables.strategies(results), "`.to_frame()` has all"))
    return _wrap([*parts, _write_list(_answers.remarks(answers) + _tables.remarks(results))])


def _draw_bar(report: Report) -> str:
    """The headline on its interval, with the gates on the same number."""
    row = words.headline(report)
    if row is None or not head.is_one_number(report, row):
        return ""
    speaker = "judge" if report.judge else "model"
    picture = large(row, head.list_gates(report, row), speaker)
    return f'<div style="max-width:46em">{picture}</div>' if picture else ""


def _list_tables(report: Report, answer: Assessment | None) -> list[_tables.Table | _tables.Matrix]:
    """Everything with rows, the most important first."""
    found: list[_tables.Table | _tables.Matrix] = []
    if answer:
        rows: Sequence[EstimateRow] = report.estimates
        found += _assessment.tables(answer, rows)
        if _extent.has_diagram(answer, verbose=False):
            found.append(_assessment.bins(answer))
    return found + _tables.tables(report)


def _write_gates(gates: Sequence[Gate]) -> list[str]:
    """How many gates came to which verdict, each of them, and what else to know."""
    verdicts = count_verdicts(gates) + _gates.evidence(gates)
    table = _write_table(_gates.table(gates), "`report.gates` has all")
    return [_write_strong(verdicts), table, _write_list(_gates.remarks(gates))]


def _write_surface(found: SurfaceReport) -> list[str]:
    """How the surface was judged, its tables and its maps."""
    parts = [_write_facts(_surface.facts(found))]
    parts += [_write_table(table, _ALL_ARMS) for table in _surface.tables(found)]
    for each in found.maps:
        parts.append(_write_map(each, higher_better=found.higher_better))
    return parts


def _write_map(found: SurfaceMap, *, higher_better: bool) -> str:
    """A map as a table whose cells have colours."""
    table = _surface.map_table(found)
    colors = _surface.list_colors(found, higher_better=higher_better)
    head = "".join(
        f'<th scope="col" style="{_CELL};text-align:right">{_escape(name)}</th>'
        for name in table.headings
    )
    rows = []
    for row, cells, grounds in zip(table.rows, found.cells, colors, strict=True):
        written = [f'<th scope="row" style="{_CELL};text-align:left">{_escape(row[0])}</th>']
        for text, cell, ground in zip(row[1:], cells, grounds, strict=True):
            paint = f";color:#{ground[0]};background:#{ground[1]}" if ground else ""
            spoken = _escape(_surface.describe_cell(found.metric, cell))
            written.append(
                f'<td title="{spoken}" style="padding:.15em .5em;border:0;text-align:right{paint}">'
                f"{_escape(text)}</td>"
            )
        rows.append(f'<tr style="background:transparent">{"".join(written)}</tr>')
    return (
        f'<div style="font-weight:bold">{_escape(table.title)}</div><table style="{_TABLE}">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        + _write_small(_surface.LEGEND)
    )


def _write_table(table: _tables.Table | _tables.Matrix, rest: str) -> str:
    """A table; rest says where the rows are that it leaves out."""
    if isinstance(table, _tables.Matrix):
        classes = len(table.classes)
        wide = classes > _tables.WIDEST_MATRIX
        table = table.largest() if wide else table.table(intervals=classes <= _MOST_INTERVALS)
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
    below = _write_small(f"{more:,} more rows: {rest}.") if more else ""
    return (
        f'{title}<table style="{_TABLE}">'
        f"<thead>{write_row('th', table.headings)}</thead>"
        f"<tbody>{''.join(write_row('td', row) for row in shown)}</tbody></table>{below}"
    )


def _write_facts(facts: Iterable[tuple[str, str]]) -> str:
    rows = (
        f'<tr style="background:transparent"><td style="{_CELL};text-align:left;opacity:.7">'
        f'{_escape(name)}</td><td style="{_CELL};text-align:left">{_escape(value)}</td></tr>'
        for name, value in facts
    )
    return f'<table style="{_TABLE}"><tbody>{"".join(rows)}</tbody></table>'


def _write_strong(text: str) -> str:
    return f'<div style="font-weight:bold;margin:.3em 0">{_write_code(text)}</div>'


def _write_text(text: str) -> str:
    return f'<div style="margin:.3em 0">{_write_code(text)}</div>' if text else ""


def _write_small(text: str) -> str:
    return f'<div style="opacity:.7;margin:.3em 0">{_write_code(text)}</div>' if text else ""


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
