"""Blocks of reports: every section consists of them, and every format writes them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from activetest.nouns.quantity import Measured
from activetest.nouns.report import Note
from activetest.render.document import words
from activetest.render.plots.axes import Axis, is_shares

# Cells shown where a whole matrix has no room, the largest first.
MOST_CONFUSED = 20
# More classes than this make a matrix that nobody reads.
WIDEST_MATRIX = 30
# Characters of a cell without its interval.
_CELL = 6

# {heading: what writes the cell of a record}
Columns = dict[str, Callable[[Any], str]]


@dataclass(frozen=True)
class Sentence:
    """A statement.

    rest    stands behind it, less prominently
    style   "title", "subtitle", "strong", "good" (it is settled), "doubtful" (a warning), "plain",
            or "small": small print, outside of pages under everything
    """

    text: str
    rest: str = ""
    style: str = "strong"


@dataclass(frozen=True)
class Lead(Sentence):
    """The sentence of a section that stands under the headline.

    instead    whether it says more than the headline and takes its place
    """

    instead: bool = False


@dataclass(frozen=True)
class Facts:
    """(name, value) each; a value without a name goes on with the one before."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Bullets:
    """Remarks, each a sentence or more."""

    texts: Sequence[str]


@dataclass(frozen=True)
class Notes:
    """Notes to read before believing a number, heaviest first."""

    notes: Sequence[Note]


@dataclass(frozen=True)
class Code:
    """A line to type."""

    line: str


@dataclass(frozen=True)
class Bar:
    """An estimate as a dot on its interval, in a row of its own.

    name     what it is of
    record   the estimate and its interval
    note     beside the name, in small letters
    verdict  of a gate, beside the name
    limits   where gates are
    cells    texts of further columns
    """

    name: str
    record: Measured
    note: str = ""
    verdict: str = ""
    limits: Sequence[float] = ()
    cells: Sequence[str] = ()


@dataclass(frozen=True)
class Bars:
    """Estimates on one axis, or each on its own where they have no unit in common.

    title       what they are; shown unless titled is False
    heading     of the names
    more        headings of further columns
    reference   a number to compare all with, as a dashed line
    below       a sentence under all of them
    """

    title: str
    heading: str
    rows: Sequence[Bar]
    more: Sequence[str] = ()
    reference: float | None = None
    titled: bool = True
    below: str = ""

    def simplify(self) -> "list[Block]":
        """The same without pictures."""
        headings = (self.heading, "estimate", "interval", *self.more)
        rows = tuple(
            (row.name, words.estimate(row.record), words.interval(row.record), *row.cells)
            for row in self.rows
        )
        return [Table(self.title, headings, rows, below=self.below)]


@dataclass(frozen=True)
class Table:
    """A title (or none), headings, and rows with a cell for each heading; a cell is one line.

    kept     headings of columns that no terminal is too narrow for
    left     headings of further columns that are aligned to the left
    named    heading of a column of names, if it is none that always is one
    gaps     whether there is room wherever the first column changes
    below    a line under the table
    lacks    headings of the whole table that this layout leaves out
    layouts  the same for terminals: the first that fits is shown, or else the last
    bars     the same on intervals, for pages
    whole    where notebooks find all rows
    titled   whether its title is shown, or only read to those who cannot see
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    kept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    named: str = ""
    gaps: bool = False
    below: str = ""
    lacks: tuple[str, ...] = ()
    layouts: Sequence["Table"] = ()
    bars: Sequence[Bars] = ()
    whole: str = "`report.to_frame()` has all"
    titled: bool = True


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix of C classes: cells[truth][prediction].

    truths    names of the rows; the classes unless given
    """

    title: str
    classes: tuple[str, ...]
    cells: tuple[tuple[Measured, ...], ...]
    truths: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Why no cell has a number; empty where one has."""
        cells = [cell for row in self.cells for cell in row]
        if any(words.real(cell.estimate) for cell in cells):
            return ""
        return words.plain(getattr(cells[0], "reason", None) or "no labels yet")

    def table(self, *, intervals: bool) -> Table:
        """One row per true class, one column per prediction, with or without the intervals."""

        def write(cell: Measured) -> str:
            value = words.estimate(cell)
            if intervals:
                return value + (f" ({words.interval(cell)})" if cell.lower is not None else "")
            # One cell with a very narrow interval must not widen its whole column.
            return value if len(value) <= _CELL else f"{cell.estimate:.{_CELL - 2}f}"

        names, truths = (
            [words.plain(name) for name in classes] for classes in (self.classes, self.truths)
        )
        rows = (
            (name, *(write(cell) for cell in row))
            for name, row in zip(truths or names, self.cells, strict=True)
        )
        title = f"{self.title}: truth in rows, prediction in columns"
        return Table(title, ("truth", *names), tuple(rows))

    def largest(self) -> Table:
        """The largest cells outside the diagonal, in a table that is narrow enough for anything."""
        mistakes = [
            (-abs(cell.estimate), f"{truth} as {prediction}", cell)
            for row, (truth, cells) in enumerate(
                zip(self.truths or self.classes, self.cells, strict=True)
            )
            for column, (prediction, cell) in enumerate(zip(self.classes, cells, strict=True))
            if row != column and words.real(cell.estimate)
        ]
        mistakes.sort(key=lambda mistake: mistake[0])
        rows = tuple(
            (words.plain(name), words.estimate(cell), words.interval(cell))
            for _, name, cell in mistakes[:MOST_CONFUSED]
        )
        title = f"{self.title}: mistakes"
        if len(rows) < len(mistakes):
            title += f", the {len(rows)} largest of {len(mistakes):,} (JSON has all)"
        return Table(title, ("truth as prediction", "estimate", "interval"), rows)

    def fold(self, most: int = WIDEST_MATRIX) -> Table:
        """The matrix as a table, of many classes its mistakes; intervals for at most so many."""
        if len(self.classes) > WIDEST_MATRIX:
            return self.largest()
        return self.table(intervals=len(self.classes) <= most)


@dataclass(frozen=True)
class MapCell:
    """A cell of a map.

    text      the number, or what stands for none
    below     its interval; empty without one
    spoken    all of it in words; empty where that is the text
    shade     how strong its colour is on a page, up to 1; None without a colour
    good      whether the colour is that of what is right
    colors    of letters and ground on a terminal, in hexadecimals; None without
    """

    text: str
    below: str = ""
    spoken: str = ""
    shade: float | None = None
    good: bool = False
    colors: tuple[str, str] | None = None


@dataclass(frozen=True)
class Map:
    """Numbers by two attributes, in colours.

    table     the texts of the cells; its layout for narrow terminals has short headings
    cells     those of each row, without the name of the row
    legend    what colours and small numbers are, for pages
    """

    table: Table
    cells: Sequence[Sequence[MapCell]]
    legend: str


@dataclass(frozen=True)
class Point:
    """A number y at x, from low to high; few says that too few labels are behind it."""

    x: float
    y: float
    low: float | None
    high: float | None
    few: bool = False


@dataclass(frozen=True)
class Chart:
    """Points with their intervals, over a band if there is one.

    name       in words, with the last number
    across     the axis of x, and what it counts; up is that of y, whose ticks have these names
    band       (x, low, high) from left to right
    diagonal   whether x and y should be equal: a dashed line
    """

    name: str
    across: Axis
    up: Axis
    ticks: Sequence[str]
    points: Sequence[Point]
    counted: str = ""
    band: Sequence[tuple[float, float, float]] = ()
    diagonal: bool = False


@dataclass(frozen=True)
class Figure:
    """A chart, what its marks mean, and its numbers, which formats without pictures show."""

    chart: Chart
    caption: str
    numbers: Table
    marks: Sequence[str] = ()

    def simplify(self) -> "list[Block]":
        """The numbers alone."""
        return [self.numbers]


@dataclass(frozen=True)
class Slices:
    """Slices of the pool: (name, note, share of labels, share of the pool) each."""

    what: str
    rows: Sequence[tuple[str, str, float, float]]

    def simplify(self) -> "list[Block]":
        """The same without pictures."""
        columns: Columns = {
            self.what: lambda row: f"{row[0]} ({row[1]})",
            "of labels": lambda row: f"{100 * row[2]:.1f} %",
            "of the pool": lambda row: f"{100 * row[3]:.1f} %",
        }
        return [tabulate(f"by {self.what}", columns, self.rows)]


@dataclass(frozen=True)
class Item:
    """An item of the pool: (text, kind) of what is said of it, and its own text.

    Kinds are "" (our words), "name" (somebody else's) and "strong" (theirs, to be seen first).
    """

    id: str
    spans: Sequence[tuple[str, str]]
    text: str | None

    def write(self) -> str:
        """In one line, without marks."""
        spans = "".join(text for text, _ in self.spans)
        return words.plain(f"{self.id}: {spans}{f': {self.text}' if self.text else ''}")


@dataclass(frozen=True)
class Items:
    """Items of the pool, one under the other."""

    items: Sequence[Item]

    def simplify(self) -> "list[Block]":
        """A line for each item."""
        return [Bullets([item.write() for item in self.items])]


@dataclass(frozen=True)
class Fold:
    """Blocks that pages show only to those who open them."""

    summary: str
    blocks: Sequence["Block"]

    def simplify(self) -> "list[Block]":
        """The blocks inside."""
        return simplify(self.blocks)


@dataclass(frozen=True)
class Key:
    """Marks of pictures and what they mean: (mark, words), of "dot", "band", "bar" and "bar2"."""

    marks: Sequence[tuple[str, str]]

    def simplify(self) -> "list[Block]":
        """Nothing: there are no marks without pictures."""
        return []


@dataclass(frozen=True)
class Attachment:
    """A file that pages hold.

    holds      what is in it
    elsewhere  where it is if there is no room
    how        "plain", "packed" (compressed) or "absent"
    """

    title: str
    name: str
    content: str
    holds: str
    elsewhere: str
    how: str = "absent"

    def simplify(self) -> "list[Block]":
        """Mention of the file."""
        return [Sentence(f"{self.title}: {self.holds}.", style="plain")]


# Blocks that only pages show as they are.
Rich: TypeAlias = Bars | Figure | Slices | Items | Fold | Key | Attachment
Block: TypeAlias = Sentence | Facts | Bullets | Notes | Code | Table | Matrix | Map | Rich


def simplify(blocks: Iterable[Block]) -> list[Block]:
    """The blocks for a format without pictures: without those that know a simpler shape."""
    return [
        simple
        for block in blocks
        for simple in (block.simplify() if isinstance(block, Rich) else [block])
    ]


def tabulate(title: str, columns: Columns, records: Iterable[Any], **look: Any) -> Table:
    """A table with a row for each record; look is what else a table has."""
    rows = tuple(tuple(write(record) for write in columns.values()) for record in records)
    return Table(title, tuple(columns), rows, **look)


def is_sure(record: Measured) -> bool:
    """Whether there are enough labels for the number."""
    interval = record.method == "exact" or record.lower is not None
    return words.real(record.estimate) and interval and words.reliable(record)


def draw_bars(
    title: str,
    columns: Columns,
    records: Sequence[Any],
    more: Sequence[str],
    *,
    name: Callable[[Any], str] | None = None,
    note: Callable[[Any], str] = lambda _: "",
    verdict: Callable[[Any], str] = lambda _: "",
    limits: Callable[[Any], Sequence[float]] = lambda _: (),
    titled: bool = True,
    below: str = "",
) -> list[Bars]:
    """The records of a table on intervals: shares on one axis, others with those of their metric.

    more    headings of the columns that stay columns
    name    of a record, unless it is its cell in the first column

    The others are parts of bars, by their record.
    """
    heading, first = next(iter(columns.items()))
    panels: dict[str, list[Bar]] = {}
    for each in records:
        cells = [columns[column](each) for column in more]
        bar = Bar((name or first)(each), each, note(each), verdict(each), limits(each), cells)
        numbers = (each.estimate, each.lower, each.upper, *bar.limits)
        shares = is_shares(value for value in numbers if words.real(value))
        unit = "" if shares else getattr(each, "metric", "")
        panels.setdefault(unit, []).append(bar)
    return [
        Bars(title, heading, panel, more, titled=titled and not at, below=below)
        for at, panel in enumerate(panels.values())
    ]


def write_left_out(number: int, what: str) -> str:
    """How many rows are left out; empty where that is none."""
    return f"{number:,} {what} are left out here: JSON has them." if number > 0 else ""
