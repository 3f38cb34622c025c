"""Tables that fit a terminal: they fold names, drop columns, and stack what is still too wide."""

from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from activetest.render._tables import Matrix, Table

# Columns that are dropped on a narrow terminal, the first first; those of _SPARE_IF_SAME only where
# all of their cells are the same.
_SPARE = (
    *("runs", "bias", "median", "rmse", "items", "n_eff", "label ratio", "width", "+-"),
    *("P(best)", "ranks", "saved", "labels", "shrunk", "coverage"),
)
_SPARE_IF_SAME = ("surrogate", "estimator", "acquisition")
# Columns that are aligned to the left.
_LEFT = (
    *("metric", "group", "interval", "estimator", "surrogate", "acquisition", "gate", "verdict"),
    *("difference", "differ", "truth", "truth as prediction"),
)
# Columns that may be folded: down to how many characters before others are dropped, and after.
_FOLDED = {"group": (28, 16), "difference": (28, 16), "gate": (32, 16), "metric": (28, 16)}
_FOLDED |= {"interval": (22, 12), "truth as prediction": (28, 16)}
_GAP = 2
_STYLES = {"PASS": "bold green", "FAIL": "bold red", "UNDECIDED": "bold yellow"}


def show(console: Console, table: Table, *, gaps: bool = False, below: str = "") -> None:
    """Print a table with as many columns as fit; if hardly any do, print cells under each other.

    gaps puts an empty line wherever the first column changes; below is a line under the table.
    """
    widths = _fit_columns(table, console.width)
    if widths:
        _print(console, table, widths, gaps=gaps, below=below)
    else:
        _print_stacked(console, table)


def show_any(console: Console, table: Table | Matrix) -> None:
    """Print a table or a matrix."""
    if isinstance(table, Matrix):
        show_matrix(console, table)
    else:
        show(console, table)


def fits(table: Table, width: int) -> bool:
    """Whether all of its columns fit beside each other without folding."""
    return _excess(_widths(table), width) <= 0


def show_matrix(console: Console, matrix: Matrix) -> None:
    """Print as much of a confusion matrix as there is room for.

    With intervals; without them; closer together, with the names of predictions folded; or the
    largest mistakes.
    """
    whole, short = (matrix.table(intervals=intervals) for intervals in (True, False))
    cells = max(4, *(cell_len(cell) for row in short.rows for cell in row[1:]))
    folded = {column: min(width, cells) for column, width in _widths(short).items()}
    folded[0] = _widths(short)[0]
    layouts = ((whole, _widths(whole), _GAP), (short, _widths(short), _GAP), (short, folded, 1))
    for table, widths, gap in layouts:
        if _excess(widths, console.width, gap) <= 0:
            _print(console, table, widths, gap=gap)
            return
    show(console, matrix.largest())


def _print(
    console: Console,
    table: Table,
    widths: dict[int, int],
    *,
    gap: int = _GAP,
    gaps: bool = False,
    below: str = "",
) -> None:
    """The columns that have a width."""
    _print_title(console, table)
    grid = Grid(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    for column, width in widths.items():
        heading = table.headings[column]
        justify: Literal["left", "right"] = "left" if heading in (*_LEFT, *table.left) else "right"
        grid.add_column(Text(heading), justify=justify, overflow="fold", width=width)
    for before, row in zip([None, *table.rows], table.rows, strict=False):
        if gaps and before is not None and before[0] != row[0]:
            grid.add_row()
        grid.add_row(*(_cell(table.headings[column], row[column]) for column in widths))
    console.print(grid)
    if below:
        console.print(Text(below, style="dim"), overflow="fold")
    console.print()


def _print_title(console: Console, table: Table) -> None:
    if table.title:
        console.print(Text(table.title, style="bold"), overflow="fold")


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


def _fit_columns(table: Table, room: int) -> dict[int, int]:
    """{column: width} of the columns to show; empty if even the necessary ones are too wide."""
    widths = _widths(table)
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


def _cell(heading: str, text: str) -> Text:
    return Text(text, style=_STYLES.get(text, "") if heading == "verdict" else "")


def _print_stacked(console: Console, table: Table) -> None:
    _print_title(console, table)
    for row in table.rows:
        for number, (heading, cell) in enumerate(zip(table.headings, row, strict=True)):
            line = Text.assemble(f"  {heading} ", _cell(heading, cell))
            if number == 0:
                line = Text(cell, style="bold")
            console.print(line, overflow="fold")
        console.print()
