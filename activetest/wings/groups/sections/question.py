"""The answer to a question about groups, and what it rests on."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from activetest.nouns.group_report import (
    Assessment,
    Bin,
    Comparison,
    Confusion,
    Ranked,
    Reliability,
)
from activetest.nouns.report import EstimateRow, Report
from activetest.render import json
from activetest.render.document import words
from activetest.render.document.blocks import (
    MOST_CONFUSED,
    Block,
    Bullets,
    Columns,
    Lead,
    Matrix,
    Table,
    draw_bars,
    tabulate,
    write_left_out,
)
from activetest.render.document.extent import Extent, is_ranked

PLACE = 2
TITLE = "The question about groups"
OF = "assessment"
KEYS = ("question", "groups", "comparison", "confusion", "reliability")

# Keys in JSON of a group, a comparison, a cell of the matrix and a bin.
_GROUP = (
    *("group", "n_pool", "n_labeled", "estimate", "lower", "upper", "rank", "p_worst", "p_best"),
    *("p_among_worst", "rank_lower", "rank_upper", "method"),
)
_COMPARISON = (
    *("first", "second", "difference", "lower", "upper", "p_below", "p_within", "p_above"),
    *("region", "words", "rope", "probability"),
)
_CELL = ("truth", "predicted", "estimate", "lower", "upper")
_BIN = (
    *("low", "high", "n_pool", "n_labeled", "confidence", "accuracy", "lower", "upper", "method"),
)
# Groups that are listed where they are very many, and how many that is.
_SHOWN, _MANY = 30, 40
# With at most so many classes the confusion matrix is shown as one.
_MOST_CLASSES = 12
# Columns of the picture of bins that may be left out to make room, fewest first, and its widths in
# characters.
_LESS: tuple[tuple[str, ...], ...] = (
    (),
    ("items",),
    ("items", "method"),
    ("items", "method", "labels"),
)
_LEAST = ("items", "method", "labels", "interval")
_WIDEST, _SMALL, _SMALLEST = 41, 21, 11
# Under the picture.
_LEGEND = "o accuracy, |-| its interval, + mean confidence (* both)"
_POSTERIOR, _EXACT = "posterior", "exact"
_ESTIMATE, _BETTING = "estimate", "betting"
# Columns of the ranking that a picture shows otherwise.
_DRAWN = ("rank", "group", "estimate", "interval", "labels", "items", "method")
# How the name of a metric begins whose answer rests on bins of the confidence.
_OF_BINS = "ece"
# Methods that leave no doubt.
_CERTAIN = {_EXACT, "none"}


def sentence(answer: Assessment) -> str:
    """The answer, or what is still needed for it."""
    if answer.decided is None:
        return words.plain(_describe_error(answer))
    if answer.comparison:
        return words.plain(_describe_comparison(answer, answer.comparison))
    return _describe_worst(answer)


def lead(answer: Assessment, report: Report) -> list[Lead]:
    """The answer as a sentence."""
    return [Lead(sentence(answer), style="good" if answer.decided else "strong")]


def write(answer: Assessment, report: Report, extent: Extent) -> Iterator[Block]:
    """The groups, what is compared, and if requested or verbose what else the answer rests on."""
    yield ranking(answer, report.estimates, extent.most)
    if answer.comparison:
        yield comparison(answer, answer.comparison)
    if answer.confusion and _has_matrix(answer, verbose=extent.verbose or extent.paged):
        yield confusion(answer.confusion)
    if _has_diagram(answer, verbose=extent.verbose):
        yield draw_bins(answer)
        yield Bullets(remarks(answer))


def list_hidden(answer: Assessment, report: Report) -> list[str]:
    """Parts that only the verbose report shows."""
    tables = {"confusion matrix": _has_matrix, "reliability by confidence": _has_diagram}
    return [
        name
        for name, has in tables.items()
        if has(answer, verbose=True) and not has(answer, verbose=False)
    ]


def read(answer: Assessment) -> dict[str, Any]:
    """The answer in JSON; null for what it does not have."""
    fields = asdict(answer)
    for name in ("groups", "comparison", "confusion", "reliability"):
        del fields[name]
    compared, matrix, diagram = answer.comparison, answer.confusion, answer.reliability
    return {
        "question": fields | {"answer": sentence(answer)},
        "groups": [json.read_record(group, _GROUP) for group in answer.groups],
        "comparison": json.read_record(compared, _COMPARISON) if compared else None,
        "confusion": _read_confusion(matrix) if matrix else None,
        "reliability": _read_reliability(diagram) if diagram else None,
    }


def ranking(answer: Assessment, rows: Sequence[EstimateRow] = (), most: int = 100) -> Table:
    """A row per group, the worst first; of very many only the worst.

    rows    estimates, of which those of the same groups and metric add their shrunk values where
            groups are to be estimated, and their anytime-valid intervals
    """
    same = {words.named(row.group or {}): row for row in rows if is_ranked(answer, row)}
    shrunk = {name: words.shrunk(row) for name, row in same.items()}
    bets = {name: words.interval(row) for name, row in same.items() if row.method == _BETTING}
    groups, among = answer.groups, f"P({answer.worst} worst)"
    columns: Columns = {
        "rank": lambda group: words.count(group.rank),
        "group": lambda group: words.named(group.group),
        "estimate": words.estimate,
        "interval": words.interval,
        "shrunk": lambda group: shrunk.get(words.named(group.group), "-"),
        "anytime": lambda group: bets.get(words.named(group.group), "-"),
        "P(worst)": lambda group: chance(group.p_worst),
        among: lambda group: chance(group.p_among_worst),
        "P(best)": lambda group: chance(group.p_best),
        "ranks": _rank_range,
        "labels": lambda group: words.count(group.n_labeled),
        "items": lambda group: words.count(group.n_pool),
        "method": lambda group: group.method,
    }
    if answer.worst == 1:
        del columns[among]
    if answer.question != _ESTIMATE or all(row.shrunk is None for row in same.values()):
        del columns["shrunk"]
    if not bets:
        del columns["anytime"]
    methods = {group.method for group in groups} - _CERTAIN
    if len(methods) < 2:
        del columns["method"]
    shown = groups if len(groups) <= _MANY else groups[: max(_SHOWN, answer.worst)]
    title = f"{words.plain(answer.metric)} by {words.plain(answer.column)}, worst first"
    title += _describe_intervals(methods, answer.level, ece=answer.metric.startswith("ece"))
    if len(shown) < len(groups):
        title += f"; the {len(shown)} worst of {len(groups):,} (JSON has all)"
    kept = ("shrunk",) if answer.question == _ESTIMATE else ("P(worst)", among)
    bars = draw_bars(
        title.partition(";")[0],
        {"group": columns["group"], **columns},
        shown[:most],
        [name for name in columns if name not in _DRAWN],
        note=lambda group: (
            f"{words.count(group.n_labeled)} of {words.count(group.n_pool)} labelled"
        ),
        below=write_left_out(len(groups) - len(shown[:most]), "better groups"),
    )
    return tabulate(title, columns, shown, kept=kept, left=("anytime", "method"), bars=bars)


def comparison(answer: Assessment, compared: Comparison) -> Table:
    """How likely each region of the difference is."""
    rope = f"{compared.rope:g}"
    regions = (f"below -{rope}", f"-{rope} to {rope}", f"above {rope}")
    chances = map(chance, (compared.p_below, compared.p_within, compared.p_above))
    names = f"{words.named(compared.first)} minus {words.named(compared.second)}"
    title = f"{words.plain(answer.metric)}, {names}: {words.estimate(compared)}"
    title += f" ({words.interval(compared)})"
    rows = tuple(zip(regions, chances, strict=True))
    return Table(title, ("difference", "probability"), rows)


def confusion(matrix: Confusion) -> Matrix | Table:
    """The matrix, or of many classes its largest mistakes."""
    title = "P(true class | predicted class)"
    if len(matrix.classes) > _MOST_CLASSES:
        mistakes = [
            (-cell.estimate, place)
            for place, cell in enumerate(matrix.cells)
            if cell.truth != cell.predicted and cell.estimate
        ]
        cells = [matrix.cells[place] for _, place in sorted(mistakes)[:MOST_CONFUSED]]
        columns: Columns = {
            "truth as prediction": lambda cell: words.plain(f"{cell.truth} as {cell.predicted}"),
            "estimate": words.estimate,
            "interval": words.interval,
        }
        return tabulate(f"{title}: the {len(cells)} largest mistakes", columns, cells)
    found = {(cell.truth, cell.predicted): cell for cell in matrix.cells}
    cells_by_truth = tuple(
        tuple(found[truth, predicted] for predicted in matrix.classes) for truth in matrix.truths
    )
    return Matrix(title, matrix.classes, cells_by_truth, matrix.truths)


def draw_bins(answer: Assessment) -> Table:
    """The reliability diagram: a table, on terminals with a picture, on pages with bars."""
    whole = bins(answer)
    sizes = range(_WIDEST, _SMALL - 1, -1)
    layouts = [(width, without) for without in _LESS for width in sizes]
    layouts += [(width, _LEAST) for width in range(_WIDEST, _SMALLEST - 1, -1)]
    drawn = [bins(answer, *layout) for layout in layouts]
    drawn = [
        replace(
            table,
            below=_LEGEND,
            lacks=tuple(name for name in whole.headings[2:] if name not in table.headings),
        )
        for table in drawn
    ]
    columns: Columns = {
        "confidence": lambda each: f"{each.low:.1f} to {each.high:.1f}",
        "labels": lambda each: words.count(each.n_labeled),
        "items": lambda each: words.count(each.n_pool),
    }
    bars = draw_bars(
        f"{whole.title}; dashed line: mean confidence",
        columns,
        _list_bins(answer),
        ("labels", "items"),
        limits=lambda each: () if each.confidence is None else (each.confidence,),
    )
    return replace(whole, layouts=drawn, bars=bars)


def bins(answer: Assessment, width: int = 0, without: Sequence[str] = ()) -> Table:
    """A row per bin of the confidence that has items, without some columns.

    width is that of a picture, if any.
    """
    shown = _list_bins(answer)
    columns: Columns = {
        "confidence": lambda each: f"{each.low:.1f}-{each.high:.1f}",
        "mean": lambda each: words.short(each.confidence),
        _axis(width): lambda each: picture(each, width),
        "accuracy": words.estimate,
        "interval": words.interval,
        "labels": lambda each: words.count(each.n_labeled),
        "items": lambda each: words.count(each.n_pool),
        "method": lambda each: each.method,
    }
    without = (*without, "mean" if width else _axis(width))
    methods = {each.method for each in shown} - _CERTAIN
    if methods <= {_POSTERIOR}:
        without += ("method",)
    columns = {name: write for name, write in columns.items() if name not in without}
    return tabulate(_calibration_title(answer), columns, shown, left=(_axis(width), "method"))


def _list_bins(answer: Assessment) -> list[Bin]:
    """The bins of the confidence that have items."""
    return [each for each in answer.reliability.bins if each.n_pool] if answer.reliability else []


def picture(each: Bin, width: int) -> str:
    """A bar as long as the accuracy, its interval over it, and the mean confidence."""
    marks = [" "] * width

    def place(value: float) -> int:
        return round(min(max(value, 0.0), 1.0) * (width - 1))

    if each.estimate is not None:
        end = place(each.estimate)
        marks[:end] = "=" * end
        if each.lower is not None and each.upper is not None:
            low, high = place(each.lower), place(each.upper)
            marks[low : high + 1] = "-" * (high + 1 - low)
            marks[low] = marks[high] = "|"
        marks[end] = "o"
    if each.confidence is not None:
        where = place(each.confidence)
        marks[where] = "*" if marks[where] == "o" else "+"
    return "".join(marks)


def remarks(answer: Assessment) -> list[str]:
    """Why there is no calibration error, and which bins are left out."""
    diagram = answer.reliability
    if not diagram:
        return []
    reasons = [words.plain(f"no calibration error: {diagram.reason}")] if diagram.reason else []
    empty = sum(not each.n_pool for each in diagram.bins)
    left_out = words.describe_left_out(len(diagram.bins), len(diagram.bins) - empty, empty)
    return reasons + [left_out.strip()] * bool(left_out)


def chance(value: float | None) -> str:
    """A probability to two digits; what is not quite certain is not written as if it were."""
    if not words.real(value):
        return "-"
    if 0 < value < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 <= value < 1 else f"{value:.2f}"


def _describe_error(answer: Assessment) -> str:
    """The expected error of groups or of the matrix that are to be estimated."""
    if answer.rmse is None:
        return (
            "There is no expected error for a confusion matrix with doubly robust columns: see the "
            "intervals of its cells."
        )
    what = f"the {answer.target} matrix" if answer.target else f"the groups' {answer.metric}"
    return f"Expected error of {what}: {words.short(answer.rmse)} (root mean square over items)."


def _describe_comparison(answer: Assessment, compared: Comparison) -> str:
    statement = f"{compared.words} (probability {_answer_probability(answer)})."
    if answer.decided:
        return f"Decided: {statement}"
    return f"Not decided yet. Most likely, {statement} {_describe_needed_labels(answer)}"


def _describe_worst(answer: Assessment) -> str:
    """The groups that are the worst, or most likely to be."""
    groups = answer.groups[: answer.worst]
    if answer.decided and (tied := _tied_groups(answer)):
        before = _list_groups([group for group in groups if group not in tied])
        tie = f"{_list_groups(tied)} tie; every label is known."
        return f"{_label_worst(answer)}: {f'{before}, then ' if before else ''}{tie}"
    names = f"{_list_groups(groups)} (probability {_answer_probability(answer)})"
    if answer.decided:
        return f"{_label_worst(answer)}: {names}."
    return (
        f"{_label_worst(answer)} not identified yet. Most likely: {names}. "
        f"{_describe_needed_labels(answer)}"
    )


def _label_worst(answer: Assessment) -> str:
    return "Worst group" if answer.worst == 1 else f"{answer.worst} worst groups"


def _answer_probability(answer: Assessment) -> str:
    """The probability of the answer: if no draw shows it, it is not impossible."""
    return chance(answer.probability or 1e-9)


def _tied_groups(answer: Assessment) -> list[Ranked]:
    """Groups as bad as the last one of the worst, which no further label can tell apart."""
    last = answer.groups[answer.worst - 1]
    if last.estimate is None:
        return []
    tied = [
        group
        for group in answer.groups
        if group.estimate is not None
        and math.isclose(group.estimate, last.estimate, rel_tol=1e-9, abs_tol=1e-12)
    ]
    known = all(group.method == _EXACT for group in tied)
    return tied if known and tied[-1].rank > answer.worst else []


def _list_groups(groups: Sequence[Ranked]) -> str:
    return ", ".join(words.named(group.group) for group in groups)


def _describe_intervals(methods: set[str], level: float, *, ece: bool) -> str:
    """How intervals of groups are made, for a title; methods are those of uncertain ones."""
    width = words.write_level(level)
    if not methods:
        return ", exact"
    if methods == {_POSTERIOR}:
        return f", posterior, {width} {'' if ece else 'credible '}intervals"
    (only,) = methods if len(methods) == 1 else ("",)
    return f"{f', {only}' if only else ''}, {width} intervals"


def _describe_needed_labels(answer: Assessment) -> str:
    """How many labels are still expected to be needed."""
    goal = f"a probability of {chance(answer.level)}"
    if answer.more_labels is None:
        return f"The number of labels needed for {goal} cannot be foreseen."
    return f"About {words.roughly(answer.more_labels)} more labels are expected to give {goal}."


def _rank_range(group: Ranked) -> str:
    if group.rank_lower is None:
        return "-"
    ends = dict.fromkeys((group.rank_lower, group.rank_upper))
    return "-".join(map(words.count, ends))


def _axis(width: int) -> str:
    """Heading of the picture."""
    return f"0{'1':>{width - 1}}" if width > 1 else ""


def _calibration_title(answer: Assessment) -> str:
    """Title of the reliability diagram."""
    title = "reliability by confidence"
    ece = answer.reliability.ece if answer.reliability else None
    if ece is None or ece.estimate is None:
        return title
    width = words.half_width(ece)
    title += f"; calibration error {words.figure(ece.estimate, width)}"
    if width is None:
        return title
    ends = (words.figure(end, width) for end in (ece.lower, ece.upper))
    return f"{title} ({' to '.join(ends)})"


def _read_confusion(matrix: Confusion) -> dict[str, Any]:
    return asdict(matrix) | {
        "columns": json.list_rows(matrix.columns),
        "cells": [json.read_record(cell, _CELL) for cell in matrix.cells],
    }


def _read_reliability(diagram: Reliability) -> dict[str, Any]:
    return json.begin_row() | {
        "bins": [json.read_record(each, _BIN) for each in diagram.bins],
        "ece": diagram.ece.estimate,
        "lower": diagram.ece.lower,
        "upper": diagram.ece.upper,
        "method": diagram.ece.method,
        "reason": diagram.reason,
    }


def _has_matrix(answer: Assessment, *, verbose: bool) -> bool:
    """Whether the confusion matrix is shown."""
    matrix = answer.confusion
    exists = matrix is not None and any(cell.estimate is not None for cell in matrix.cells)
    return exists and (verbose or bool(answer.target))


def _has_diagram(answer: Assessment, *, verbose: bool) -> bool:
    """Whether the reliability diagram is shown."""
    exists = answer.reliability is not None
    return exists and (verbose or answer.metric.startswith(_OF_BINS))
