"""Classes that are taken for others, as shares of the pool."""

import math
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from activetest.nouns.name_lists import list_few
from activetest.nouns.report import Report
from activetest.nouns.report_details import ConfusionCell, ConfusionTable
from activetest.render.document import words
from activetest.render.document.blocks import Block, Columns, Map, MapCell, Table, tabulate
from activetest.render.document.extent import Extent

PLACE = 9
TITLE = "Classes that are confused"
OF = "details.confusion"
PAGED = True

# Matrices of at most so many classes show intervals in their cells.
_ROOMY = 5
# Largest cells outside the diagonal that are listed with their intervals.
_MOST_MISTAKES = 8
# Names of classes without a row that are listed.
_MOST_NAMES = 20


def write(table: ConfusionTable, report: Report, extent: Extent) -> Iterator[Block]:
    """The matrix and the largest mistakes; nothing without a number."""
    if not any(words.real(cell.estimate) for cell in table.cells):
        return
    width = len(table.truths)
    rows = [table.cells[at : at + width] for at in range(0, len(table.cells), width)]
    cells = [[_shade(cell, table) for cell in row] for row in rows]
    texts = tuple(
        (words.plain(name), *(cell.text for cell in row))
        for name, row in zip(table.classes, cells, strict=True)
    )
    left = f" {table.others}: {list_few(table.left_out, _MOST_NAMES)}." if table.left_out else ""
    unknown = any(not words.real(cell.estimate) for cell in table.cells)
    dash = " -: no such item is labelled, or too few of the class that the model says."
    yield Map(
        Table(
            "in % of the pool: what the model says in rows, what is right in columns",
            ("says ↓ is →", *map(words.plain, table.truths)),
            texts,
        ),
        cells,
        "Blue: right. Orange: mistakes. The stronger the colour, the more items, on one scale for "
        "both: a cell with a quarter of the most items has half of the strongest colour."
        f"{dash if unknown else ''}{left}",
    )
    wrong = [cell for cell in table.cells if cell.predicted != cell.truth and cell.estimate]
    wrong.sort(key=lambda cell: -(cell.estimate or 0.0))
    columns: Columns = {
        "model says": lambda cell: f"{words.plain(cell.predicted)}, is {words.plain(cell.truth)}",
        "share of the pool": lambda cell: f"{_write_percent(words.estimate(cell))} %",
        "interval in %": lambda cell: " to ".join(
            map(_write_percent, words.interval(cell).split(" to "))
        ),
        "labels": lambda cell: words.count(cell.n_labeled),
    }
    if wrong:
        title = "the most frequent mistakes"
        yield tabulate(title, columns, wrong[:_MOST_MISTAKES], left=("interval in %",))


def _shade(cell: ConfusionCell, table: ConfusionTable) -> MapCell:
    """A cell in percent; mistakes are far fewer: their square roots can be told apart."""
    if not words.real(cell.estimate):
        return MapCell("-")
    largest = max(each.estimate or 0.0 for each in table.cells)
    share = max(cell.estimate, 0.0) / largest if largest > 0 else 0.0
    right = cell.predicted == cell.truth
    faint = (right and cell.truth == table.others) or 100 * cell.estimate < 0.05
    below = ""
    roomy = len(table.truths) <= _ROOMY and cell.method != "exact"
    if roomy and words.real(cell.lower) and words.real(cell.upper):
        below = f"{100 * cell.lower:.1f} to {100 * cell.upper:.1f}"
    shade = None if faint else math.sqrt(share)
    return MapCell(f"{100 * cell.estimate:.1f}", below, shade=shade, good=right)


def _write_percent(text: str) -> str:
    """A share in percent, with as many digits; what is no number stays."""
    number, _, mark = text.partition(" ")
    try:
        return f"{Decimal(number).scaleb(2):f}{f' {mark}' if mark else ''}"
    except InvalidOperation:
        return text
