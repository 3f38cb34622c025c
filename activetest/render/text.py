"""Reports as text for a terminal, or for whatever stands behind a pipe.

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
    """Verdicts, the headline, what it cost, every estimate, and what to know before believing it.

    width in columns and color are those of standard output unless given.
    """

    def say(console: Console) -> None:
        if report.gates:
            _verdicts(console, report.gates)
        line = words.headline(report)
        console.print(_headline(report, line))
        console.print()
        _facts(console, words.facts(report, line))
        if report.assessment:
            _answer(console, report.assessment)
        for table in _tables.tables(report):
            _text_tables.show_any(console, table)
        _notes(console, words.notes(report))
        console.print(Text(words.made_by(report), style="dim"))

    return _written(say, width, color)


def status(
    counts: Counts, coming: str = "", *, width: int | None = None, color: bool | None = None
) -> str:
    """Where a study stands; coming says what `next` would do."""

    def say(console: Console) -> None:
        _facts(console, words.standing(counts))
        if coming:
            console.print(Text(words.plain(coming)))

    return _written(say, width, color)


def simulation(
    results: Sequence[dict], *, width: int | None = None, color: bool | None = None
) -> str:
    """One row per strategy, metric and budget, with a gap between metrics."""

    def say(console: Console) -> None:
        _text_tables.show(console, _tables.strategies(results), gaps=True)
        _notes(console, _tables.remarks(results))

    return _written(say, width, color)


def _written(say: Callable[[Console], None], width: int | None, color: bool | None) -> str:
    """What say prints, without spaces at the ends of lines."""
    wanted = _terminal_wants_color() if color is None else color
    console = Console(
        width=width, force_terminal=wanted, highlight=False, markup=False, emoji=False
    )
    with console.capture() as capture:
        say(console)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().split("\n")) + "\n"


def _terminal_wants_color() -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def _verdicts(console: Console, given: Sequence[Gate]) -> None:
    """The verdicts; under the table, what else to know about each."""
    behind = _gates.evidence(given)
    console.print(
        Text.assemble((count_verdicts(given), "bold"), f" (intervals: {behind})" if behind else "")
    )
    console.print()
    _text_tables.show(console, _gates.table(given))
    _notes(console, _gates.remarks(given))


def _answer(console: Console, answer: Assessment) -> None:
    """The answer to the task, and what it rests on."""
    style = "bold green" if answer.decided else "bold"
    console.print(Text(_assessment.sentence(answer), style=style), overflow="fold")
    console.print()
    for table in _assessment.tables(answer):
        _text_tables.show_any(console, table)
    if answer.reliability:
        _reliability(console, answer)
    _notes(console, _assessment.remarks(answer))


def _reliability(console: Console, answer: Assessment) -> None:
    """The diagram, as wide as there is room for, with fewer numbers where there is little."""
    sizes = range(_assessment.WIDEST, _assessment.SMALL - 1, -1)
    ways = [(width, without) for without in _assessment.LESS for width in sizes]
    sizes = range(_assessment.WIDEST, _assessment.SMALLEST, -1)
    ways += [(width, _assessment.LEAST) for width in sizes]
    tables = (_assessment.bins(answer, *way) for way in ways)
    least = _assessment.bins(answer, _assessment.SMALLEST, _assessment.LEAST)
    fitting = (table for table in tables if _text_tables.fits(table, console.width))
    _text_tables.show(console, next(fitting, least), below=_assessment.LEGEND)


def _headline(report: Report, line: EstimateRow | None) -> Text:
    title = (f"{words.title(report)}: ", "bold")
    if line is None or line.estimate is None:
        reason = words.plain(line.reason) if line is not None and line.reason else "no labels yet"
        return Text.assemble(title, (f"not estimable yet, {reason}", "yellow"))
    number = (words.estimate(line), "bold green")
    return Text.assemble(title, number, f", {words.certainty(line)}")


def _facts(console: Console, facts: Sequence[tuple[str, str]]) -> None:
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


def _notes(console: Console, notes: Sequence[str]) -> None:
    """One under the other, the lines after the first as far to the right as its text."""
    if not notes:
        return
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(style="yellow", no_wrap=True)
    grid.add_column(overflow="fold")
    for note in notes:
        grid.add_row("note:", Text(note))
    console.print(grid)
    console.print()
