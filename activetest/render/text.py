"""Reports as text for a terminal, a pipe or a file.

In a terminal, colour where it is wanted, and nothing wider than the terminal. Elsewhere no colour,
and tables with all of their columns, however long their lines are.
"""

import os
import sys
from collections.abc import Callable, Sequence

from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from activetest.nouns.group_report import Assessment
from activetest.nouns.inspection import Inspection
from activetest.nouns.report import Counts, EstimateRow, Gate, Note, Report, Weight, count_verdicts
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
    _text_tables,
)
from activetest.render import _words as words
from activetest.render._text_tables import Page

ABRIDGED = True
SUFFIXES = (".txt",)
HEAD = "A report by activetest.\n\n"
SIMULATION_HEAD = "A simulation by activetest.\n\n"

# Terminals with fewer columns have a fact's name and its value in one.
_NARROW = 50


def render(
    report: Report,
    *,
    verbose: bool = False,
    more: str = _extent.MORE,
    width: int | None = None,
    color: bool | None = None,
    file: bool = False,
) -> str:
    """Verdicts, the headline, its costs, and what to know before believing it.

    verbose    all estimates, tables and notes, and how items are chosen
    more       how to see them, for a report that leaves some out
    width      columns of a terminal; unless given, those of standard output, and without limit
               for tables where that is no terminal
    color      as standard output wants it unless given
    file       the text is for a file, whatever standard output is: no colour, no limit for tables
    """

    def write(page: Page) -> None:
        if report.gates:
            _print_verdicts(page, report.gates)
        answer = report.assessment
        _print_headline(page, report)
        if answer:
            style = "bold green" if answer.decided else "bold"
            page.print(Text(_assessment.sentence(answer), style=style))
        if report.surface:
            page.print(Text(_surface.sentence(report.surface), style="bold"))
        if judge := report.judge:
            for line in _judge.sentences(report, judge):
                page.print(Text(line, style="bold"))
        page.print()
        _print_facts(page, _tables.facts(report))
        for section in _judge_tables.tables(report, verbose=verbose):
            _text_tables.show(page, section)
        if answer:
            _print_answer(page, answer, report.estimates, verbose=verbose)
        if report.surface:
            _print_surface(page, report.surface, verbose=verbose)
        for table in _tables.tables(report, verbose=verbose):
            _text_tables.show_any(page, table)
        _print_notes(page, _extent.notes(report, verbose=verbose))
        _print_end(page, _extent.last_lines(report, more, verbose=verbose))

    return _capture(write, width, color, file=file)


def document(report: Report, *, verbose: bool = False, more: str = _extent.MORE) -> str:
    """The same for a file, whatever standard output is."""
    return render(report, verbose=verbose, more=more, file=True)


def sentence(report: Report) -> str:
    """The headline as a sentence."""
    return _tables.headline(report)


def surface(found: SurfaceReport, *, width: int | None = None, color: bool | None = None) -> str:
    """A surface without the rest of a report."""

    def write(page: Page) -> None:
        page.print(Text(_surface.sentence(found), style="bold"))
        page.print()
        _print_surface(page, found, verbose=False)

    return _capture(write, width, color)


def status(
    counts: Counts, coming: str = "", *, width: int | None = None, color: bool | None = None
) -> str:
    """Where a study stands; coming says what `next` would do."""

    def write(page: Page) -> None:
        _print_facts(page, words.standing(counts))
        if coming:
            page.print(Text(words.plain(coming)))

    return _capture(write, width, color)


def inspection(found: Inspection, *, width: int | None = None, color: bool | None = None) -> str:
    """What a file holds: its columns, what they allow, and how to go on."""

    def write(page: Page) -> None:
        page.print(Text(_inspection.sentence(found), style="bold"))
        page.print()
        if found.columns:
            _text_tables.show(page, _inspection.columns(found))
        _print_facts(page, _inspection.facts(found))
        for line in _inspection.ending(found):
            page.print(Text(line))
        for place, (text, line) in enumerate(_inspection.steps(found)):
            page.print(Text("\n" * bool(place) + text + "\n"))
            # On one line, to be copied.
            page.console.print(Text(f"  {line}", style="bold"), soft_wrap=True)

    return _capture(write, width, color)


def simulation(
    results: Sequence[dict],
    answers: Sequence[dict] = (),
    *,
    width: int | None = None,
    color: bool | None = None,
    file: bool = False,
) -> str:
    """One row per strategy, metric and budget, with a gap between metrics; file as in render.

    answers to a question come first.
    """
    budgets = {result["budget"] for result in results}

    def write(page: Page) -> None:
        for table in _answers.tables(answers, budgets):
            _text_tables.show(page, table)
        _text_tables.show(page, _tables.strategies(results), gaps=True)
        remarks = _answers.remarks(answers) + _tables.remarks(results)
        _print_notes(page, list(map(Note, remarks)))
        _print_end(page, [])

    return _capture(write, width, color, file=file)


def simulation_document(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """The same for a file, whatever standard output is."""
    return simulation(results, answers, file=True)


def _capture(
    write: Callable[[Page], None], width: int | None, color: bool | None, *, file: bool = False
) -> str:
    """The text that write prints, without spaces at the ends of lines."""
    colored = _terminal_wants_color() if color is None else color
    page = Page.of_file() if file else Page.open(width, color=colored)
    with page.console.capture() as capture:
        write(page)
    text = capture.get().replace(_text_tables.BOUND, " ")
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n")) + "\n"


def _terminal_wants_color() -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def _print_verdicts(page: Page, gates: Sequence[Gate]) -> None:
    """The verdicts; under the table, what else to know about each."""
    page.print(Text.assemble((count_verdicts(gates), "bold"), _gates.evidence(gates)))
    page.print()
    _text_tables.show(page, _gates.table(gates))
    _print_notes(page, list(map(Note, _gates.remarks(gates))))


def _print_headline(page: Page, report: Report) -> None:
    """The sentence, as a warning unless its number exists and its interval is reliable."""
    row = words.headline(report)
    certain = row is not None and row.estimate is not None and words.reliable(row)
    page.print(Text(_tables.headline(report), style="bold" if certain else "yellow"))


def _print_answer(
    page: Page, answer: Assessment, rows: Sequence[EstimateRow], *, verbose: bool
) -> None:
    """What the answer to the question about groups rests on."""
    for table in _assessment.tables(answer, rows, verbose=verbose):
        _text_tables.show_any(page, table)
    if _extent.has_diagram(answer, verbose=verbose):
        _print_diagram(page, answer)
        _print_notes(page, list(map(Note, _assessment.remarks(answer))))


def _print_surface(page: Page, surface: SurfaceReport, *, verbose: bool) -> None:
    """What is known of the surface: how it was judged, tables, and maps."""
    _print_facts(page, _surface.facts(surface))
    whole = _surface.tables(surface, verbose=verbose)
    narrow = _surface.tables(surface, verbose=verbose, joined=True)
    for table, joined in zip(whole, narrow, strict=True):
        _text_tables.show(page, table if _text_tables.fits(table, page.room) else joined)
    for found in surface.maps:
        _print_map(page, found, higher_better=surface.higher_better)


def _print_map(page: Page, found: SurfaceMap, *, higher_better: bool) -> None:
    """A map, in colours where these are wanted; columns have letters where names are too wide."""
    table, key = _surface.map_table(found), ""
    if not _text_tables.fits(table, page.room):
        table, key = _surface.abridge(found)
    colors = _surface.list_colors(found, higher_better=higher_better) if page.colored else None
    _text_tables.show_map(page, table, colors)
    for line in filter(None, (key, _surface.LEGEND)):
        page.print(Text(line, style="dim"))
    page.print()


def _print_diagram(page: Page, answer: Assessment) -> None:
    """The reliability diagram, as wide as the terminal allows, if need be with fewer columns."""
    sizes = range(_assessment.WIDEST, _assessment.SMALL - 1, -1)
    layouts = [(width, without) for without in _assessment.LESS for width in sizes]
    sizes = range(_assessment.WIDEST, _assessment.SMALLEST, -1)
    layouts += [(width, _assessment.LEAST) for width in sizes]
    tables = (_assessment.bins(answer, *layout) for layout in layouts)
    least = _assessment.bins(answer, _assessment.SMALLEST, _assessment.LEAST)
    table = next((table for table in tables if _text_tables.fits(table, page.room)), least)
    for heading in _assessment.bins(answer).headings[2:]:
        if heading not in table.headings:
            page.dropped[heading] = None
    _text_tables.show(page, table, below=_assessment.LEGEND)


def _print_facts(page: Page, facts: Sequence[tuple[str, str]]) -> None:
    if page.edge < _NARROW:
        for name, value in facts:
            page.print(Text.assemble((f"{name}: " if name else "", "dim"), value))
        page.print()
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(name, Text(value))
    page.print(Padding(grid, (0, 0, 0, 2)))
    page.print()


def _print_notes(page: Page, notes: Sequence[Note]) -> None:
    """One under the other; further lines of a note are indented."""
    if not notes:
        return
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for note in notes:
        style = "dim" if note.weight == Weight.FACT else "yellow"
        grid.add_row(Text(f"{words.label(note)}:", style=style), Text(words.plain(note.text)))
    page.print(grid)
    page.print()


def _print_end(page: Page, last: Sequence[str]) -> None:
    """What marks mean, which columns are missing, and the last lines."""
    lines = [words.LEGEND] * page.marked
    if page.dropped:
        lines.append(f"No room in {page.edge} columns for: {', '.join(page.dropped)}.")
    for line in [*lines, *last]:
        page.print(Text(line, style="dim"))
