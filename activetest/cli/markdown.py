"""Markdown in a terminal: tables that do not fit stand as names with their text below."""

import re
from collections.abc import Iterator
from typing import ClassVar

from rich import markdown
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

# Wider lines are hard to read, whatever the terminal.
WIDTH = 100
_INDENT = 4
# A first column up to this wide may stand beside the text.
_NAMES = 24
_LINK = re.compile(r"\[([^\]]+)\]\((?:(\w+)\.md)?(?:#[\w-]+)?\)")
# Spaces at the end of a line, before the escapes that end its style.
_ENDING = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
# No background colours: they hide text on light terminals.
_THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.h1": "bold",
        "markdown.h2": "bold underline",
        "markdown.h3": "bold",
        "markdown.table.header": "bold",
        "markdown.item.bullet": "none",
        "markdown.link": "underline",
        "markdown.link_url": "underline",
    }
)


def render(text: str, width: int) -> str:
    """A page as it looks in a terminal of this many columns, with the terminal's escapes."""
    console = Console(
        width=min(width, WIDTH),
        theme=_THEME,
        force_terminal=True,
        legacy_windows=False,
        highlight=False,
        emoji=False,
    )
    with console.capture() as captured:
        console.print(_Page(spell_links(text), hyperlinks=False))
    return _ENDING.sub(r"\1", captured.get())


def spell_links(text: str) -> str:
    """A link to another page becomes the command that shows it; one to this page, its words."""

    def spell(found: re.Match) -> str:
        words, topic = found[1], found[2]
        if topic is None:
            return words
        command = f"`activetest help {topic}`"
        return command if words == topic else f"{words} ({command})"

    return _LINK.sub(spell, text)


class _Heading(markdown.Heading):
    """A heading at the left margin."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        self.text.justify = "left"
        yield self.text


class _CodeBlock(markdown.CodeBlock):
    """Text that a user types or reads, as it stands."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Text(str(self.text).rstrip(), overflow="fold")
        yield Padding(code, (0, 0, 0, _INDENT))


class _Table(markdown.TableElement):
    """A table: as a grid where it fits, else row by row."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        header = [cell.content for cell in self.header.row.cells]  # type: ignore[union-attr]
        body = self.body.rows if self.body else []
        rows = [[cell.content for cell in row.cells] for row in body]
        columns = zip(header, *rows, strict=True)
        first, *others = (max(cell.cell_len for cell in column) for column in columns)
        fits = first + sum(others) + 2 * len(others) <= options.max_width
        if fits or (len(header) == 2 and first <= _NAMES):
            yield from _grid(header, rows)
        else:
            yield from _stack(header, rows)


class _Page(markdown.Markdown):
    """Markdown whose headings, code and tables are those above."""

    elements: ClassVar = markdown.Markdown.elements | {
        "heading_open": _Heading,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
        "table_open": _Table,
    }


def _grid(header: list[Text], rows: list[list[Text]]) -> Iterator[Table]:
    """Columns beside each other; the first is never broken."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for number in range(len(header)):
        table.add_column(no_wrap=number == 0)
    if any(title.plain for title in header):
        table.add_row(*map(_title, header))
    for row in rows:
        table.add_row(*row)
    yield table


def _stack(header: list[Text], rows: list[list[Text]]) -> Iterator[Text | Padding]:
    """The name of each row, its longest column below, and the others by their titles."""
    lengths = [sum(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
    longest = max(range(1, len(header)), key=lambda number: lengths[number])
    if header[0].plain:
        yield _title(header[0])
        yield _below(_title(header[longest]))
    for row in rows:
        yield row[0]
        yield _below(row[longest])
        others = [
            Text.assemble(f"{title.plain}: ", cell)
            for number, (title, cell) in enumerate(zip(header, row, strict=True))
            if number not in (0, longest) and cell.plain
        ]
        if others:
            yield _below(Text("; ").join(others))


def _title(title: Text) -> Text:
    return Text(title.plain, style="markdown.table.header")


def _below(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, _INDENT))
