"""The metric at combinations of attributes, as sentence, tables and maps."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from activetest.nouns.report import Report
from activetest.nouns.surface import name_columns
from activetest.nouns.surface_report import SurfaceCell, SurfaceMap, SurfaceReport
from activetest.render import json
from activetest.render.document import words
from activetest.render.document.blocks import (
    Block,
    Columns,
    Facts,
    Lead,
    Map,
    MapCell,
    Sentence,
    Table,
    tabulate,
)
from activetest.render.document.extent import Extent

PLACE = 3
TITLE = "Combinations of attributes"
OF = "surface"
KEYS = ("surface",)

# Keys in JSON of a surface, and of a combination.
_SURFACE = (
    *("metric", "higher_better", "method", "components", "level", "attributes", "min_support"),
    *("combinations", "occurring", "ranked", "labeled"),
)
_ARM = (
    *("attributes", "estimate", "lower", "upper", "method", "n_pool", "n_labeled", "n_arms"),
    *("occurs", "reason"),
)
# Rows of the short answer, values of one attribute that a table shows, and parts that a line names.
_WORST, _BEST = 5, 3
_MOST_VALUES, _MOST_PARTS = 8, 6
# The method of a number where every item has a label.
_EXACT = "exact"
# The mark of a map where the pool has no item.
EMPTY = "."
# Under a map.
LEGEND = f"in brackets: no label there yet; {EMPTY} no such item in the pool"


def sentence(surface: SurfaceReport) -> str:
    """Where the model is worst, with the interval."""
    if not surface.worst:
        return words.plain(
            f"No combination of {_name_attributes(surface)} has {surface.min_support:,} items."
        )
    worst = surface.worst[0]
    end = "lowest" if surface.higher_better else "highest"
    metric = surface.metric[:1].upper() + surface.metric[1:].replace("-", " ")
    return words.plain(
        f"{metric} is {end} where {words.named(dict(worst.attributes))}: "
        f"{words.estimate(worst)} ({_describe_certainty(worst)})."
    )


def lead(surface: SurfaceReport, report: Report) -> list[Lead]:
    """The sentence."""
    return [Lead(sentence(surface))]


def write(surface: SurfaceReport, report: Report, extent: Extent) -> list[Block]:
    """How the surface was judged, its tables, and maps."""
    return describe(surface, verbose=extent.verbose)


def list_short(surface: SurfaceReport) -> list[Block]:
    """A surface without the rest of a report."""
    return [Sentence(sentence(surface)), *describe(surface)]


def describe(surface: SurfaceReport, *, verbose: bool = False) -> list[Block]:
    """The same without a report: effects of attributes if requested or verbose."""
    whole, joined = (tables(surface, verbose=verbose, joined=joined) for joined in (False, True))
    return [
        Facts(facts(surface)),
        *(
            replace(table, layouts=(table, narrow), whole="`study.surface()` has all")
            for table, narrow in zip(whole, joined, strict=True)
        ),
        *(build_map(found, surface) for found in surface.maps),
    ]


def read(surface: SurfaceReport) -> dict[str, Any]:
    """A surface in JSON: extremes, effects, and what was named; not every combination."""
    fields = {name: getattr(surface, name) for name in _SURFACE}
    for name in ("worst", "best", "effects", "cells"):
        fields[name] = [json.read_record(cell, _ARM) for cell in getattr(surface, name)]
    fields["maps"] = [
        {
            "first": found.first,
            "second": found.second,
            "cells": [json.read_record(cell, _ARM) for row in found.cells for cell in row],
        }
        for found in surface.maps
    ]
    return {"surface": fields}


def facts(surface: SurfaceReport) -> list[tuple[str, str]]:
    """Facts under the sentence: how many combinations there are, and how they were judged."""
    enough = f"{words.count(surface.ranked)} have at least {surface.min_support:,} items"
    counts = (
        f"{words.count(surface.combinations)}, of which {words.count(surface.occurring)} occur, "
        f"{enough} and {words.count(surface.labeled)} have a label"
    )
    rows = [("combinations", counts), ("surface", _describe_method(surface))]
    return [(name, words.plain(text)) for name, text in rows]


def tables(surface: SurfaceReport, *, verbose: bool = False, joined: bool = False) -> list[Table]:
    """The worst and the best, the cells that were named, and effects of attributes if requested.

    joined    combinations are one column, for narrow places
    """
    whole = verbose or surface.detailed
    found = []
    if surface.cells:
        found.append(_list_cells(surface, joined=joined))
    worst = surface.worst if whole else surface.worst[:_WORST]
    best = surface.best if whole else surface.best[:_BEST]
    extremes = ((worst, "worst combinations"), (best, "best combinations"))
    for cells, what in extremes:
        if cells:
            title = f"{words.plain(surface.metric)}, {what}{_describe_level(surface, cells)}"
            found.append(list_arms(surface, cells, title, joined=joined))
    if whole:
        found.append(_list_effects(surface, verbose=verbose))
    return found


def list_arms(
    surface: SurfaceReport, cells: Sequence[SurfaceCell], title: str, *, joined: bool
) -> Table:
    """Complete combinations: a column for each attribute, or one for all."""
    names = [words.plain(name) for name in surface.attributes]

    def write_value(name: str) -> Callable[[SurfaceCell], str]:
        return lambda cell: words.plain(cell.attributes[name])

    columns: Columns = {}
    if joined:
        columns[", ".join(names)] = lambda cell: _join_values(surface, cell)
    else:
        for name, heading in zip(
            surface.attributes, name_columns(names, tuple(_NUMBERS)), strict=True
        ):
            columns[heading] = write_value(name)
    left = tuple(columns)
    columns |= _NUMBERS
    return tabulate(title, columns, cells, left=left, named=left[0] if joined else "")


def build_map(found: SurfaceMap, surface: SurfaceReport) -> Map:
    """A row for each value of the first attribute, a column for each of the second.

    Where columns are too wide for a terminal, they have letters.
    """
    title = words.plain(f"{found.metric} by {found.first} (rows) and {found.second} (columns)")
    names = tuple(map(words.plain, found.columns))
    texts = tuple(
        (words.plain(name), *map(write_map_cell, cells))
        for name, cells in zip(found.rows, found.cells, strict=True)
    )
    head = words.plain(found.first)
    table = Table(title, (head, *names), texts, left=(found.first,), below=LEGEND)
    letters = [_number_column(place) for place in range(len(names))]
    key = ", ".join(f"{letter} {name}" for letter, name in zip(letters, names, strict=True))
    short = replace(table, headings=(head, *letters), below=f"columns: {key}\n{LEGEND}")
    scale, better = find_range(found), surface.higher_better
    numbers = list(_list_numbers([each for row in found.cells for each in row if each.occurs]))
    low, high = min(numbers, default=0.0), max(numbers, default=0.0)

    def build(cell: SurfaceCell) -> MapCell:
        shade, below = None, ""
        if cell.occurs and words.real(cell.estimate):
            share = (cell.estimate - low) / (high - low) if high > low else 0.0
            shade = max(1 - share if better else share, 1e-9)
            if cell.method != _EXACT and words.real(cell.lower) and words.real(cell.upper):
                below = f"{cell.lower:.2f} to {cell.upper:.2f}"
        colors = color_cell(cell, scale, higher_better=better)
        spoken = describe_cell(found.metric, cell)
        return MapCell(write_map_cell(cell), below, spoken, shade, colors=colors)

    return Map(
        replace(table, layouts=(table, short)),
        [[build(cell) for cell in cells] for cells in found.cells],
        "The stronger the colour, the worse. Small numbers: "
        f"{words.write_level(surface.level)} credible intervals; {LEGEND}.",
    )


def color_cell(
    cell: SurfaceCell, scale: tuple[float, float], *, higher_better: bool
) -> tuple[str, str] | None:
    """The colours of a cell's letters and its ground, in hexadecimals; None where no item is."""
    if cell.estimate is None or not cell.occurs:
        return None
    share = (cell.estimate - scale[0]) / (scale[1] - scale[0])
    color = choose_color(share if higher_better else 1 - share)
    return ("ffffff" if is_dark(color) else "000000"), write_color(color)


def write_color(color: tuple[int, int, int]) -> str:
    """A colour in hexadecimals."""
    return "{:02x}{:02x}{:02x}".format(*color)


def write_map_cell(cell: SurfaceCell) -> str:
    """The number to two decimals, in brackets without a label; a dot where no item is."""
    if cell.estimate is None or not cell.occurs:
        return EMPTY
    number = f"{cell.estimate:.2f}"
    return number if cell.n_labeled else f"({number})"


def find_range(found: SurfaceMap) -> tuple[float, float]:
    """The ends of a map's colours: those of its numbers, at least a tenth apart."""
    numbers = [
        cell.estimate
        for row in found.cells
        for cell in row
        if cell.occurs and cell.estimate is not None
    ]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    if high - low < 0.1:
        middle = min(max((low + high) / 2, 0.05), 0.95)
        low, high = middle - 0.05, middle + 0.05
    return low, high


def choose_color(share: float) -> tuple[int, int, int]:
    """Red, green and blue of a place between the worst (0) and the best (1).

    Orange over white to blue: told apart by people who do not see red and green apart.
    """
    stops = ((230, 97, 1), (253, 184, 99), (247, 247, 247), (146, 197, 222), (5, 113, 176))
    place = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    first = min(int(place), len(stops) - 2)
    weight = place - first
    red, green, blue = (
        round(low + weight * (high - low))
        for low, high in zip(stops[first], stops[first + 1], strict=True)
    )
    return red, green, blue


def is_dark(color: tuple[int, int, int]) -> bool:
    """Whether white letters are read better on a colour than black ones."""
    red, green, blue = ((each / 255) ** 2.2 for each in color)
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05


def describe_cell(metric: str, cell: SurfaceCell) -> str:
    """A cell in words, for whoever hears a picture."""
    name = words.named(dict(cell.attributes))
    if cell.estimate is None or not cell.occurs:
        return words.plain(f"{name}: no such item")
    return words.plain(
        f"{name}: {metric} {words.estimate(cell)} ({_describe_certainty(cell)}), "
        f"{_count(cell.n_pool)} items"
    )


def _list_cells(surface: SurfaceReport, *, joined: bool) -> Table:
    """Combinations that were named, which may leave attributes open."""

    def name(cell: SurfaceCell) -> str:
        if joined and len(cell.attributes) == len(surface.attributes):
            return _join_values(surface, cell)
        return words.named(dict(cell.attributes))

    columns: Columns = {
        "combination": name,
        **_NUMBERS,
        "note": lambda cell: words.plain(_describe_cell(surface, cell)),
    }
    if all(not _describe_cell(surface, cell) for cell in surface.cells):
        del columns["note"]
    level = _describe_level(surface, surface.cells)
    title = f"{words.plain(surface.metric)}, combinations requested{level}"
    return tabulate(
        title, columns, surface.cells, left=("combination", "note"), named="combination"
    )


def _join_values(surface: SurfaceReport, cell: SurfaceCell) -> str:
    """The values of a complete combination, in the order of the attributes."""
    return words.plain(", ".join(cell.attributes[name] for name in surface.attributes))


def _list_effects(surface: SurfaceReport, *, verbose: bool) -> Table:
    """Values of attributes, those first that matter most; of one, the worst first."""
    groups = [
        list(cells)
        for _, cells in groupby(surface.effects, key=lambda cell: next(iter(cell.attributes)))
    ]
    shown: list[SurfaceCell] = []
    hidden = 0
    for cells in sorted(groups, key=_measure_spread, reverse=True):
        ordered = sorted(cells, key=lambda cell: _badness(surface, cell), reverse=True)
        most = len(cells) if verbose else _MOST_VALUES
        shown += ordered[:most]
        hidden += len(cells) - len(ordered[:most])
    columns: Columns = {
        "attribute": lambda cell: words.named(dict(cell.attributes)),
        **_NUMBERS,
    }
    title = f"{words.plain(surface.metric)} by each attribute{_describe_level(surface, shown)}"
    if hidden:
        others = "1 better value is" if hidden == 1 else f"{hidden:,} better values are"
        title += f"; {others} left out (JSON has all)"
    return tabulate(title, columns, shown, left=("attribute",), named="attribute")


def _number_column(place: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    letters = chr(ord("a") + place % 26)
    return _number_column(place // 26 - 1) + letters if place >= 26 else letters


def _describe_method(surface: SurfaceReport) -> str:
    """The metric of the surface, its method and its components."""
    parts = sorted(surface.components.items(), key=lambda part: -part[1])
    shown = [f"{name} {share:.2f}" for name, share in parts if share >= 0.005]
    shares = f": {', '.join(shown[:_MOST_PARTS])}" if shown else ""
    return f"{surface.metric} by {_name_attributes(surface)}; {surface.method}{shares}"


def _describe_cell(surface: SurfaceReport, cell: SurfaceCell) -> str:
    """A remark on a cell that was requested."""
    if cell.reason:
        return cell.reason
    if not cell.occurs:
        return "does not occur: a prediction"
    if cell.n_arms > 1:
        return f"{cell.n_arms:,} combinations"
    few = cell.n_pool < surface.min_support and len(cell.attributes) == len(surface.attributes)
    return "too few items to be ranked" if few else ""


def _describe_certainty(cell: SurfaceCell) -> str:
    """The interval in brackets, and what it rests on."""
    if cell.method == _EXACT:
        return "exact: every item has a label"
    labels = "1 label" if cell.n_labeled == 1 else f"{_count(cell.n_labeled)} labels"
    return f"{words.write_level(cell.level)} credible: {words.interval(cell)}; {labels} there"


def _describe_level(surface: SurfaceReport, cells: Sequence[SurfaceCell]) -> str:
    """The kind of the intervals of a table; cells are its rows."""
    if are_exact(cells):
        return ", exact"
    return f", {words.write_level(surface.level)} credible intervals"


def are_exact(cells: Sequence[SurfaceCell]) -> bool:
    """Whether every item of these cells has a label, but for cells without a number."""
    methods = {cell.method for cell in cells if cell.estimate is not None}
    return methods == {_EXACT}


def _name_attributes(surface: SurfaceReport) -> str:
    return ", ".join(surface.attributes)


def _count(value: float) -> str:
    """A number of items, which may be parts of items."""
    return words.count(value) if value == round(value) else f"{value:,.1f}"


def _measure_spread(cells: Sequence[SurfaceCell]) -> float:
    """How much the values of an attribute differ."""
    numbers = list(_list_numbers(cells))
    return max(numbers, default=0.0) - min(numbers, default=0.0)


def _list_numbers(cells: Sequence[SurfaceCell]) -> Iterator[float]:
    yield from (cell.estimate for cell in cells if cell.estimate is not None)


def _badness(surface: SurfaceReport, cell: SurfaceCell) -> float:
    """The larger the worse; without a number, last."""
    if cell.estimate is None:
        return -1.0
    return 1 - cell.estimate if surface.higher_better else cell.estimate


_NUMBERS: Columns = {
    "estimate": words.estimate,
    "interval": words.interval,
    "labels": lambda cell: _count(cell.n_labeled),
    "items": lambda cell: _count(cell.n_pool),
}
