"""Tables on a page: columns are left out where a terminal is narrow, and names are never broken.

A page that is no terminal has room for everything: lines are as long as they are.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.segment import Segment, Segments
from rich.table import Table as Grid
from rich.text import Text

from activetest.render.document import words
from activetest.render.document.blocks import WIDEST_MATRIX, Map, Matrix, Table
from activetest.render.document.words import bind_words

# Columns that are dropped on a narrow terminal, the first first; those of _SPARE_IF_SAME only where
# all of their cells are the same.
_SPARE = (
    *("runs", "bias", "median", "rmse", "items", "n_eff"),
    *("surrogate alone", "width", "+-"),
    *("example", "P(best)", "ranks", "P(worst)", "saved", "labels", "shrunk", "coverage"),
)
_SPARE_IF_SAME = ("surrogate", "estimator", "acquisition")
# Columns that are aligned to the left.
_LEFT = (
    *("metric", "group", "interval", "estimator", "surrogate", "acquisition", "gate", "verdict"),
    *(
        "column",
        "type",
        "role",
        "example",
        "difference",
        "differ",
        "truth",
        "truth as prediction",
        "no matrix yet",
        "because",
    ),
)
# Columns of names, which stand on a line of their own where there is no room beside them.
_NAMES = ("column", "group", "difference", "gate", "metric", "truth as prediction", "no matrix yet")
# Columns of prose, which may be folded: down to how many characters before others are dropped, and
# after.
_FOLDED = {"interval": (24, 12), "because": (24, 12)}
_GAP, _INDENT = 2, 2
_CUT = "..."
# Stands for a blank where no line ends, until the page is whole: no text of ours has it.
BOUND = "\ue000"
# More than any line needs.
_ENDLESS = 1_000_000
# Columns of a usual terminal.
_USUAL = 80
_STYLES = {"PASS": "bold green", "FAIL": "bold red", "UNDECIDED": "bold yellow"}


@dataclass
class Page:
    """Where a text is printed.

    console    whose width is that of the room, or endless
    edge       column at which prose wraps
    room       columns that tables have; None where their lines may be of any length
    colored    whether colours are wanted
    dropped    headings of columns for which there was no room
    marked     whether an interval was marked as not reliable
    """

    console: Console
    edge: int
    room: int | None
    colored: bool = False
    dropped: dict[str, None] = field(default_factory=dict)
    marked: bool = False

    @staticmethod
    def open(width: int | None, *, color: bool) -> "Page":
        """A terminal of this width; without one, standard output, be it a terminal or not."""

        def make(width: int | None) -> Console:
            return Console(
                width=width, force_terminal=color, highlight=False, markup=False, emoji=False
            )

        edge = width or make(None).width
        room = edge if width or sys.stdout.isatty() else None
        return Page(make(room or _ENDLESS), edge, room, color)

    @staticmethod
    def of_file() -> "Page":
        """A file: prose as wide as a usual terminal, tables as wide as they are."""
        console = Console(
            width=_ENDLESS,
            force_terminal=False,
            color_system=None,
            highlight=False,
            markup=False,
            emoji=False,
        )
        return Page(console, _USUAL, None)

    def print(self, text: RenderableType = "") -> None:
        """Print prose, or a grid of prose; blanks of a sentence that hold words together stay."""
        if isinstance(text, Text):
            text.plain = bind_words(text.plain, BOUND)
        self.console.print(text, overflow="fold", width=self.edge)


def show(page: Page, table: Table) -> None:
    """Print a table with as many columns as fit, in the first of its layouts that fits.

    If hardly any do, names stand on lines of their own; on still narrower terminals all cells do.
    """
    table = _choose_layout(table, page.room)
    page.dropped |= dict.fromkeys(table.lacks)
    widths = _fit_columns(table, page.room)
    if widths:
        _print(page, table, widths)
        return
    names = (*_NAMES, table.named)
    name = next((place for place, each in enumerate(table.headings) if each in names), None)
    under_name = None if name is None else _fit_columns(table, page.room, without=name)
    if name is not None and under_name:
        _print_under_names(page, table, name, under_name)
    else:
        _print_stacked(page, table, name or 0)


def show_map(page: Page, found: Map) -> None:
    """Print the table of a map: cells with a colour stand on it, where colours are wanted.

    As many columns as there is room for; those that are missing are named below.
    """
    table = _choose_layout(found.table, page.room)
    widths, room = _widths(table), page.room
    shown = list(widths)
    while room is not None and len(shown) > 2 and _excess({c: widths[c] for c in shown}, room) > 0:
        page.dropped[table.headings[shown.pop()]] = None
    _print_title(page, table)
    grid = _make_grid(table, {column: widths[column] for column in shown}, _GAP)
    for row, cells in zip(table.rows, found.cells, strict=True):
        texts = [Text(row[column]) for column in shown]
        for text, cell in zip(texts[1:], cells, strict=False):
            if cell.colors and page.colored:
                text.stylize("#{} on #{}".format(*cell.colors))
        grid.add_row(*texts)
    page.console.print(grid)
    _print_below(page, table)


def _choose_layout(table: Table, room: int | None) -> Table:
    """The first layout that fits without folding, or else the last."""
    layouts = table.layouts or (table,)
    fitting = (each for each in layouts if room is None or _excess(_widths(each), room) <= 0)
    return next(fitting, layouts[-1])


def show_matrix(page: Page, matrix: Matrix) -> None:
    """Print as much of a confusion matrix as there is room for.

    With intervals; without them; closer together; or the largest mistakes.
    """
    if page.room is None and len(matrix.classes) > WIDEST_MATRIX:
        show(page, matrix.largest())
        return
    whole, short = (matrix.table(intervals=intervals) for intervals in (True, False))
    for table, gap in ((whole, _GAP), (short, _GAP), (short, 1)):
        widths = _widths(table)
        if page.room is None or _excess(widths, page.room, gap) <= 0:
            if table.rows != whole.rows:
                page.dropped["intervals of the confusion matrix"] = None
            _print(page, table, widths, gap)
            return
    show(page, matrix.largest())


def _print(
    page: Page,
    table: Table,
    widths: dict[int, int],
    gap: int = _GAP,
) -> None:
    """The columns that have a width."""
    _print_title(page, table)
    _remember(page, table, widths)
    grid = _make_grid(table, widths, gap)
    for before, row in zip([None, *table.rows], table.rows, strict=False):
        if table.gaps and before is not None and before[0] != row[0]:
            grid.add_row()
        grid.add_row(*(_cell(table.headings[column], row[column]) for column in widths))
    page.console.print(grid)
    _print_below(page, table)


def _print_below(page: Page, table: Table) -> None:
    for line in table.below.splitlines():
        page.print(Text(line, style="dim"))
    page.print()


def _print_under_names(page: Page, table: Table, name: int, widths: dict[int, int]) -> None:
    """The columns that have a width, each row under its name."""
    _print_title(page, table)
    _remember(page, table, {name: 0, **widths})
    grid = _make_grid(table, widths, _GAP)
    for row in table.rows:
        grid.add_row(*(_cell(table.headings[column], row[column]) for column in widths))
    # A cell of prose that is folded takes several lines of its row.
    heights = [
        max(len(Text(row[column]).wrap(page.console, width)) for column, width in widths.items())
        for row in table.rows
    ]
    first, *lines = page.console.render_lines(grid, pad=False)
    page.console.print(Text(table.headings[name], style="dim"))
    _print_indented(page, [first])
    for row, height in zip(table.rows, heights, strict=True):
        page.console.print(Text(_cut_name(row[name], page.room), style="bold"))
        _print_indented(page, lines[:height])
        del lines[:height]
    page.print()


def _print_indented(page: Page, lines: Sequence[list[Segment]]) -> None:
    for line in lines:
        page.console.print(Segments([Segment(" " * _INDENT), *line, Segment.line()]))


def _print_stacked(page: Page, table: Table, name: int) -> None:
    """All cells under each other, the name first."""
    _print_title(page, table)
    _remember(page, table, dict.fromkeys(range(len(table.headings)), 0))
    for row in table.rows:
        page.console.print(Text(_cut_name(row[name], page.room), style="bold"))
        for place, (heading, cell) in enumerate(zip(table.headings, row, strict=True)):
            if place != name:
                page.print(Text.assemble(f"  {heading} ", _cell(heading, cell)))
        page.print()


def _print_title(page: Page, table: Table) -> None:
    if table.title:
        page.print(Text(table.title, style="bold"))


def _make_grid(table: Table, widths: dict[int, int], gap: int) -> Grid:
    """A grid with a heading for each column that has a width."""
    grid = Grid(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    for column, width in widths.items():
        heading = table.headings[column]
        justify: Literal["left", "right"] = "left" if heading in (*_LEFT, *table.left) else "right"
        grid.add_column(Text(heading), justify=justify, overflow="fold", width=width)
    return grid


def _remember(page: Page, table: Table, shown: Sequence[int] | dict[int, int]) -> None:
    """Keep which columns are dropped, and whether a mark is shown that needs a legend."""
    for column, heading in enumerate(table.headings):
        if column not in shown:
            # A value that all rows share can be said without a column.
            same = {row[column] for row in table.rows} if heading in _SPARE_IF_SAME else set()
            page.dropped[f"{heading} ({same.pop()})" if len(same) == 1 else heading] = None
        elif any(row[column].endswith(words.MARK) for row in table.rows):
            page.marked = True


def _widths(table: Table) -> dict[int, int]:
    """{column: width} without any folding."""
    lines = (table.headings, *table.rows)
    return {
        column: max(cell_len(line[column]) for line in lines)
        for column in range(len(table.headings))
    }


def _excess(widths: dict[int, int], room: int, gap: int = _GAP) -> int:
    """By how much columns of these widths are too wide for the room."""
    return sum(width + gap for width in widths.values()) - gap - room


def _fit_columns(table: Table, room: int | None, without: int | None = None) -> dict[int, int]:
    """{column: width} of the columns to show; empty if even the necessary ones are too wide.

    without    a column that has a line of its own, above the others, which are indented
    """
    widths = _widths(table)
    if room is None:
        return widths
    if without is not None:
        del widths[without]
        room -= _INDENT
    headings = table.headings
    cells = {name: {row[column] for row in table.rows} for column, name in enumerate(headings)}
    spare = [name for name in _SPARE_IF_SAME if len(cells.get(name, ())) == 1]
    spare += [name for name in _SPARE if name in headings and name not in table.kept]

    def fold(step: int) -> None:
        for column in sorted(widths, key=lambda column: -widths[column]):
            least = _FOLDED.get(headings[column], (widths[column],) * 2)[step]
            widths[column] -= max(min(_excess(widths, room), widths[column] - least), 0)

    fold(0)
    while _excess(widths, room) > 0 and spare:
        del widths[headings.index(spare.pop(0))]
    fold(1)
    return {} if _excess(widths, room) > 0 else widths


def _cut_name(name: str, room: int | None) -> str:
    """A name that is wider than the terminal without its middle: beginnings are often the same."""
    if room is None or cell_len(name) <= room:
        return name
    kept = max(room - len(_CUT), 0)
    end = set_cell_size(name[::-1], kept // 2)[::-1].lstrip() if kept else ""
    return set_cell_size(name, kept - cell_len(end)).rstrip() + _CUT[:room] + end


def _cell(heading: str, text: str) -> Text:
    return Text(text, style=_STYLES.get(text, "") if heading == "verdict" else "")
