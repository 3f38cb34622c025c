"""Reports as text for a terminal, or for whatever stands behind a pipe.

Colour only where standard output is a terminal that wants it; nothing wider than the terminal.
"""

import os
import sys
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from activetest.render import _words as words
from activetest.report import Counts, Line, Report

# What a narrow terminal can do without, the first to go first; the second row only where every
# line says the same.
_SPARE = ("runs", "bias", "rmse", "items", "n_eff", "label ratio", "width", "+-", "saved", "labels")
_SPARE_IF_SAME = ("surrogate", "estimator", "acquisition")
_NAMES = ("metric", "group", "interval", "estimator", "surrogate", "acquisition", "")


def render(report: Report, *, width: int | None = None, color: bool | None = None) -> str:
    """The headline, what it cost, every estimate, the groups, and what to know before believing it.

    width in columns and color are those of standard output unless given.
    """

    def say(console: Console) -> None:
        line = words.headline(report)
        console.print(_headline(report, line))
        console.print()
        _facts(console, words.facts(report, line))
        overall, groups = words.overall_and_groups(report)
        if overall:
            _table(console, *words.estimates(overall))
        if groups:
            _table(console, *words.groups(groups))
        _notes(console, report.notes)
        console.print(Text(words.plain(words.made_by(report)), style="dim"))

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
    return _written(
        lambda console: _table(console, *words.strategies(results), gaps=True), width, color
    )


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


def _headline(report: Report, line: Line | None) -> Text:
    title = (words.plain(f"{report.metric} of {words.pool(report)}: "), "bold")
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
    grid = Table.grid(padding=(0, 2))
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
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="yellow", no_wrap=True)
    grid.add_column(overflow="fold")
    for note in notes:
        grid.add_row("note:", Text(words.plain(note)))
    console.print(grid)
    console.print()


def _table(
    console: Console, headings: list[str], rows: list[list[str]], *, gaps: bool = False
) -> None:
    """A table with the columns there is room for; lines under each other where there is none.

    gaps puts an empty line wherever the first column changes.
    """
    kept = _fitting(headings, rows, console.width)
    if not kept:
        _stacked(console, headings, rows)
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for column in kept:
        heading = headings[column]
        justify = "left" if heading in _NAMES else "right"
        table.add_column(heading, justify=justify, overflow="fold")
    for before, row in zip([None, *rows], rows, strict=False):
        if gaps and before is not None and before[0] != row[0]:
            table.add_row()
        table.add_row(*(Text(row[column]) for column in kept))
    console.print(table)
    console.print()


def _fitting(headings: list[str], rows: list[list[str]], width: int) -> list[int]:
    """Indices of the columns to show; empty when even the necessary ones are too wide."""
    cells = {name: {row[column] for row in rows} for column, name in enumerate(headings)}
    spare = [name for name in _SPARE_IF_SAME if len(cells.get(name, ())) == 1]
    spare += [name for name in _SPARE if name in headings]
    kept = list(range(len(headings)))
    widths = [max(len(row[column]) for row in [headings, *rows]) for column in kept]
    while sum(widths[column] + 2 for column in kept) - 2 > width:
        if not spare:
            return []
        kept.remove(headings.index(spare.pop(0)))
    return kept


def _stacked(console: Console, headings: list[str], rows: list[list[str]]) -> None:
    for row in rows:
        for number, (heading, cell) in enumerate(zip(headings, row, strict=True)):
            line = Text(cell, style="bold") if number == 0 else Text(f"  {heading} {cell}")
            console.print(line, overflow="fold")
        console.print()
