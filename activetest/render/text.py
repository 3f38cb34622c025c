"""Reports as text for a terminal, a pipe or a file.

In a terminal, colour where it is wanted, and nothing wider than the terminal. Elsewhere no colour,
and tables with all of their columns, however long their lines are.
"""

import os
import sys
from collections.abc import Sequence
from functools import singledispatch
from itertools import zip_longest
from typing import TypeGuard

from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from activetest.nouns.inspection import Inspection
from activetest.nouns.report import Counts, Note, Report, Weight
from activetest.render import _text_tables
from activetest.render._text_tables import Page
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
from activetest.render.document.extent import MORE, Extent
from activetest.render.document.inspection import list_inspection_blocks
from activetest.render.document.outline import headline, outline_report
from activetest.render.document.simulation import list_simulation_blocks

ABRIDGED = True
SUFFIXES = (".txt",)
HEAD = "A report by activetest.\n\n"
SIMULATION_HEAD = "A simulation by activetest.\n\n"

# Terminals with fewer columns have a fact's name and its value in one.
_NARROW = 50
_STYLES = {"good": "bold green", "doubtful": "yellow", "plain": ""}
_STYLES |= dict.fromkeys(("title", "subtitle", "strong"), "bold")


def render(
    report: Report,
    *,
    verbose: bool = False,
    more: str = MORE,
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
    found = outline_report(report, Extent(verbose=verbose, more=more))
    return write_blocks(found.list_blocks(), width, color, file=file)


def document(report: Report, *, verbose: bool = False, more: str = MORE) -> str:
    """The same for a file, whatever standard output is."""
    return render(report, verbose=verbose, more=more, file=True)


def sentence(report: Report) -> str:
    """The headline as a sentence."""
    return headline(report)


def status(
    counts: Counts, coming: str = "", *, width: int | None = None, color: bool | None = None
) -> str:
    """Where a study stands; coming says what `next` would do."""
    blocks: list[Block] = [Facts(words.standing(counts))]
    if coming:
        blocks.append(Sentence(words.plain(coming), style="plain"))
    return write_blocks(blocks, width, color)


def inspection(found: Inspection, *, width: int | None = None, color: bool | None = None) -> str:
    """Contents of a file: its columns, what they allow, and how to go on."""
    return write_blocks(list_inspection_blocks(found), width, color)


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
    return write_blocks(list_simulation_blocks(results, answers), width, color, file=file)


def simulation_document(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """The same for a file, whatever standard output is."""
    return simulation(results, answers, file=True)


def write_blocks(
    blocks: Sequence[Block],
    width: int | None = None,
    color: bool | None = None,
    *,
    file: bool = False,
) -> str:
    """The blocks as text, without spaces at the ends of lines."""
    colored = _terminal_wants_color() if color is None else color
    page = Page.of_file() if file else Page.open(width, color=colored)
    with page.console.capture() as capture:
        _print(page, blocks)
    text = capture.get().replace(_text_tables.BOUND, " ")
    return "\n".join(line.rstrip() for line in text.rstrip().split("\n")) + "\n"


def _terminal_wants_color() -> bool:
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def _print(page: Page, blocks: Sequence[Block]) -> None:
    """One under the other; small sentences last, below what marks mean and which columns lack."""
    remarks = [each.text for each in blocks if _is_small(each)]
    shown = [each for each in simplify(blocks) if not _is_small(each)]
    for block, after in zip_longest(shown, shown[1:]):
        _print_block(block, page)
        if isinstance(block, Sentence) and not isinstance(after, Sentence):
            page.print()
    lines = [words.LEGEND] * page.marked
    if page.dropped:
        lines.append(f"No room in {page.edge} columns for: {', '.join(page.dropped)}.")
    for line in [*lines, *remarks]:
        page.print(Text(line, style="dim"))


def _is_small(block: Block) -> TypeGuard[Sentence]:
    return isinstance(block, Sentence) and block.style == "small"


@singledispatch
def _print_block(block: Block, page: Page) -> None:
    """Print a block; each sort of it has its own way."""
    raise NotImplementedError(type(block).__name__)


@_print_block.register
def _(block: Sentence, page: Page) -> None:
    page.print(Text.assemble((block.text, _STYLES[block.style]), block.rest))


@_print_block.register
def _(block: Bullets, page: Page) -> None:
    _print_block(Notes(list(map(Note, block.texts))), page)


@_print_block.register
def _(block: Code, page: Page) -> None:
    for line in block.line.splitlines():
        # On one line, to be copied.
        page.console.print(Text(f"  {line}", style="bold"), soft_wrap=True)
    page.print()


@_print_block.register
def _(block: Table, page: Page) -> None:
    _text_tables.show(page, block)


@_print_block.register
def _(block: Matrix, page: Page) -> None:
    _text_tables.show_matrix(page, block)


@_print_block.register
def _(block: Map, page: Page) -> None:
    _text_tables.show_map(page, block)


@_print_block.register
def _(block: Facts, page: Page) -> None:
    if page.edge < _NARROW:
        for name, value in block.rows:
            page.print(Text.assemble((f"{name}: " if name else "", "dim"), value))
        page.print()
        return
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in block.rows:
        grid.add_row(name, Text(value))
    page.print(Padding(grid, (0, 0, 0, 2)))
    page.print()


@_print_block.register
def _(block: Notes, page: Page) -> None:
    """One under the other; further lines of a note are indented."""
    if not block.notes:
        return
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for note in block.notes:
        style = "dim" if note.weight == Weight.FACT else "yellow"
        grid.add_row(Text(f"{words.label(note)}:", style=style), Text(words.plain(note.text)))
    page.print(grid)
    page.print()
