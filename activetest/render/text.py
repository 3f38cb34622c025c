"""Reports as text for a terminal or a pipe.

Colour only where standard output is a terminal that wants it; nothing wider than the terminal.
"""

import os
import sys
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from activetest.nouns.group_report import Assessment
from activetest.nouns.report import Counts, EstimateRow, Gate, Report, count_verdicts
from activetest.render import _assessment, _gates, _tables, _text_tables
from activetest.render import _words as words


def render(report: Report, *, width: int | None = None, color: bool | None = None) -> str:
    """Verdicts, the headline, its costs, every estimate, and what to know before believing it.

    width in columns and color are those of standard output unless given.
    """

    def write(console: Console) -> None:
        if report.gates:
            _print_verdicts(console, report.gates)
        row = words.headline(report)
        _print_headline(console, row)
        _print_facts(console, words.facts(report, row))
        if report.assessment:
            _print_answer(console, report.assessment)
        for table in _tables.tables(report):
            _text_tables.show_any(console, table)
        _print_notes(console, words.notes(report))
        console.print(Text(words.made_by(report), style="dim"))

    return _capture(write, width, color)


def status(
    counts: Counts, coming: str = "", *, width: int | None = None, color: bool | None = None
) -> str:
    """Where a study stands; coming says what `next` would do."""

    def write(console: Console) -> None:
        _print_facts(console, words.standing(counts))
        if coming:
            console.print(Text(words.plain(coming)))

    return _capture(write, width, color)


def simulation(
    results: Sequence[dict], *, width: int | None = None, color: bool | None = None
) -> str:
    """One row per strategy, metric and budget, with a gap between metrics."""

    def write(console: Console) -> None:
        _text_tables.show(console, _tables.strategies(results), gaps=True)
        _print_notes(console, _tables.remarks(results))

    return _capture(write, width, color)


def _capture(write: Callable[[Console], None], width: int | None, color: bool | None) -> str:
    """The text that write prints, without spaces at the ends of lines."""
    colored = _terminal_wants_color() if color is None else color
    console = Console(
        width=width, force_terminal=colored, highlight=False, markup=False, emoji=False
    )
    with console.capture() as capture:
        write(console)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().split("\n")) + "\n"


def _terminal_wants_color() -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def _print_verdicts(console: Console, gates: Sequence[Gate]) -> None:
    """The verdicts; under the table, what else to know about each."""
    verdicts = Text.assemble((count_verdicts(gates), "bold"))
    if intervals := _gates.evidence(gates):
        verdicts.append(f" (intervals: {intervals})")
    console.print(verdicts)
    console.print()
    _text_tables.show(console, _gates.table(gates))
    _print_notes(console, _gates.remarks(gates))


def _print_headline(console: Console, row: EstimateRow | None) -> None:
    exists = row is not None and row.estimate is not None
    sentence = words.sentence(row) if row else "No estimate yet."
    console.print(Text(sentence, style="bold green" if exists else "yellow"), overflow="fold")
    console.print()


def _print_answer(console: Console, answer: Assessment) -> None:
    """The answer to the question about groups, and what it rests on."""
    style = "bold green" if answer.decided else "bold"
    console.print(Text(_assessment.sentence(answer), style=style), overflow="fold")
    console.print()
    for table in _assessment.tables(answer):
        _text_tables.show_any(console, table)
    if answer.reliability:
        _print_diagram(console, answer)
    _print_notes(console, _assessment.remarks(answer))


def _print_diagram(console: Console, answer: Assessment) -> None:
    """The reliability diagram, as wide as the terminal allows, if need be with fewer columns."""
    sizes = range(_assessment.WIDEST, _assessment.SMALL - 1, -1)
    layouts = [(width, without) for without in _assessment.LESS for width in sizes]
    sizes = range(_assessment.WIDEST, _assessment.SMALLEST, -1)
    layouts += [(width, _assessment.LEAST) for width in sizes]
    tables = (_assessment.bins(answer, *layout) for layout in layouts)
    least = _assessment.bins(answer, _assessment.SMALLEST, _assessment.LEAST)
    fitting = (table for table in tables if _text_tables.fits(table, console.width))
    _text_tables.show(console, next(fitting, least), below=_assessment.LEGEND)


def _print_facts(console: Console, facts: Sequence[tuple[str, str]]) -> None:
    if console.width < 50:
        for name, value in facts:
            console.print(Text.assemble((f"{name}: ", "dim"), value), overflow="fold")
        console.print()
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(name, Text(value))
    console.print(Padding(grid, (0, 0, 0, 2)))
    console.print()


def _print_notes(console: Console, notes: Sequence[str]) -> None:
    """One under the other; further lines of a note are indented."""
    if not notes:
        return
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(style="yellow", no_wrap=True)
    grid.add_column(overflow="fold")
    for note in notes:
        grid.add_row("note:", Text(note))
    console.print(grid)
    console.print()
