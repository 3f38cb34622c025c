"""What stands in which table, the same in every format that people read."""

from collections.abc import Sequence
from dataclasses import dataclass

from activetest.nouns.group_report import Assessment
from activetest.nouns.report import EstimateRow, Report
from activetest.render import _words as words

CONFUSION = "confusion"
# Cells shown where a whole matrix has no room, the largest first.
MOST_CONFUSED = 20
# Characters of a cell without its interval.
_CELL = 6


@dataclass(frozen=True)
class Table:
    """A title (or none), headings, and rows with a cell for each heading; a cell is one line.

    kept    headings of columns that no terminal is too narrow for
    left    headings of columns that are written from the left, beside those that always are
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    kept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix of C classes: lines[truth][prediction].

    truths    names of the rows; the classes unless given
    """

    title: str
    classes: tuple[str, ...]
    lines: tuple[tuple[EstimateRow, ...], ...]
    truths: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Why no cell has a number; empty where one has."""
        cells = [line for row in self.lines for line in row]
        return "" if any(map(_told, cells)) else words.plain(cells[0].reason or "no labels yet")

    def table(self, *, intervals: bool) -> Table:
        """One row per true class, one column per prediction, with or without the intervals."""

        def cell(line: EstimateRow) -> str:
            value = words.estimate(line)
            if intervals:
                return value + (f" ({words.interval(line)})" if line.lower is not None else "")
            # One cell that is known very well must not widen its whole column.
            return value if len(value) <= _CELL else f"{line.estimate:.{_CELL - 2}f}"

        names, truths = (
            [words.plain(name) for name in some] for some in (self.classes, self.truths)
        )
        rows = (
            (name, *(cell(line) for line in row))
            for name, row in zip(truths or names, self.lines, strict=True)
        )
        title = f"{self.title}: truth in rows, prediction in columns"
        return Table(title, ("truth", *names), tuple(rows))

    def largest(self) -> Table:
        """The largest cells outside the diagonal, in a table that is narrow enough for anything."""
        wrong = [
            line
            for truth, row in enumerate(self.lines)
            for prediction, line in enumerate(row)
            if truth != prediction and words.real(line.estimate)
        ]
        wrong.sort(key=lambda line: -abs(line.estimate))
        some = wrong[:MOST_CONFUSED]
        rows = tuple(
            (words.plain(line.class_name), words.estimate(line), words.interval(line))
            for line in some
        )
        title = f"{self.title}: mistakes"
        if len(some) < len(wrong):
            title += f", the {len(some)} largest of {len(wrong):,} (--format json has all)"
        return Table(title, ("truth as prediction", "estimate", "interval"), rows)


def tables(report: Report) -> list[Table | Matrix]:
    """Every estimate of a report but the headline, most important first.

    Groups are shown by the headline's estimator, but not those that the answer to a task ranks by
    the same metric. While the headline has no number, lines that have none either are left out: its
    reason stands for theirs.
    """
    first = words.headline(report)
    early = first is not None and first.estimate is None
    lines = [
        line
        for line in report.estimates
        if not (early and line.estimate is None) and not _ranked(report.assessment, line)
    ]
    kinds = {
        "": [line for line in lines if line.group is None and line.against is None],
        "differences": [line for line in lines if line.against is not None],
        "groups": [line for line in lines if line.group is not None and line.against is None],
    }
    found: list[Table | Matrix] = []
    for kind, some in kinds.items():
        same = [line for line in some if first is not None and line.estimator == first.estimator]
        shown = same or some if kind else some
        cells = _apart([line for line in shown if line.metric == CONFUSION], _place)
        matrices = [each for each in map(_matrix, cells) if each]
        inside = {id(line) for each in matrices for row in each.lines for line in row}
        others = [line for line in shown if id(line) not in inside]
        empty = [each for each in matrices if each.reason]
        matrices = [each for each in matrices if not each.reason]
        if kind:
            parts = _apart(others, words.metric)
            found += [_by_metric(part, kind, first.level if first else None) for part in parts]
        elif others:
            found.append(_estimates(others))
        found += matrices
        if empty:
            rows = tuple((each.title, each.reason) for each in empty)
            found.append(Table("", ("no matrix yet", "because"), rows))
    return found


def strategies(results: Sequence[dict]) -> Table:
    """Simulated strategies, by metric and budget; labels only where they are not the budget."""
    columns = {
        "metric": lambda one: words.plain(one["metric"]),
        "budget": lambda one: words.count(one["budget"]),
        "acquisition": words.drawing,
        "surrogate": lambda one: one["surrogate"],
        "estimator": lambda one: one["estimator"],
        "labels": lambda one: words.count(one["labels"]),
        "saved": lambda one: words.times(one["labels_saved"]),
        "+-": lambda one: words.figure(one["labels_saved_se"], 0.1),
        "label ratio": lambda one: words.times(one["label_ratio"]),
        "coverage": lambda one: words.figure(one["coverage"], 0.01),
        "width": lambda one: words.short(one["width"]),
        "rmse": lambda one: words.short(one["rmse"]),
        "median": lambda one: words.short(one["median"]),
        "bias": lambda one: words.short(one["bias"]),
        "runs": lambda one: words.count(one["runs"]),
    }
    # Draws with replacement bring fewer labels than the budget says.
    if all(one["labels"] == one["budget"] for one in results):
        del columns["labels"]
    rows = (tuple(write(one) for write in columns.values()) for one in _side_by_side(results))
    return Table("", tuple(columns), tuple(rows), kept=("saved", "+-"))


def remarks(results: Sequence[dict]) -> list[str]:
    """What else to know about simulated strategies."""
    alone = dict.fromkeys(words.drawing(one) for one in results if one["coverage"] is None)
    if not alone:
        return []
    return [
        f"{', '.join(alone)}: all runs are the same study, without anything random in it. Where "
        "there is no coverage, no number of runs tells what another study would find."
    ]


def _estimates(lines: Sequence[EstimateRow]) -> Table:
    headings = ("metric", "estimator", "estimate", "interval", "labels", "n_eff", "saved")
    rows = (
        (words.metric(line), line.estimator, words.estimate(line), words.interval_or_reason(line))
        + (words.count(line.n_labeled), words.count(line.n_eff), words.times(line.labels_saved))
        for line in lines
    )
    return Table("", headings, tuple(rows))


def _by_metric(lines: Sequence[EstimateRow], kind: str, level: float | None) -> Table:
    """One metric over groups, or its differences; what all lines share stands in the title."""
    named = words.metric(lines[0])
    title = f"{named} by group" if kind == "groups" else f"differences in {named}"
    estimators = {line.estimator for line in lines}
    if len(estimators) == 1:
        title += f", {lines[0].estimator}"
    levels = {line.level for line in lines}
    if len(levels) == 1 and levels != {level}:
        title += f", {words.percent(lines[0].level)} intervals"
    columns = {"group" if kind == "groups" else "difference": words.group}
    if len(estimators) > 1:
        columns["estimator"] = lambda line: line.estimator
    columns |= {"estimate": words.estimate, "interval": words.interval_or_reason}
    if kind == "differences":
        columns["differ"] = words.differ
    elif any(line.shrunk is not None for line in lines):
        columns["shrunk"] = lambda line: words.figure(line.shrunk, words.doubt(line))
    columns["labels"] = lambda line: words.count(line.n_labeled)
    if kind == "groups":
        columns["items"] = lambda line: words.count(line.n_pool)
    rows = (tuple(write(line) for write in columns.values()) for line in lines)
    return Table(title, tuple(columns), tuple(rows))


def _matrix(cells: Sequence[EstimateRow]) -> Matrix | None:
    """The matrix of these cells, or None if they are not all there."""
    found = {line.class_name or "": line for line in cells}
    # The diagonal names the classes, whatever their names hold: "cat as cat".
    halves = ((name, name[: (len(name) - len(" as ")) // 2]) for name in found)
    classes = [half for name, half in halves if name == f"{half} as {half}"]
    names = [[f"{truth} as {prediction}" for prediction in classes] for truth in classes]
    if len(classes) < 2 or {name for row in names for name in row} != set(found):
        return None
    title = ", ".join([CONFUSION, *filter(None, [words.group(cells[0])]), cells[0].estimator])
    lines = tuple(tuple(found[name] for name in row) for row in names)
    return Matrix(title, tuple(classes), lines)


def _ranked(answer: Assessment | None, line: EstimateRow) -> bool:
    """Whether the answer to a task says all about this group and metric.

    Where groups are to be estimated it does not: their shrunk values are often nearer.
    """
    return (
        answer is not None
        and answer.task != "estimate"
        and line.against is None
        and line.group is not None
        and set(line.group) == {answer.column}
        and words.metric(line) == words.plain(answer.metric)
    )


def _told(line: EstimateRow) -> bool:
    return words.real(line.estimate)


def _place(line: EstimateRow) -> tuple:
    """Which matrix a cell belongs to."""
    return line.estimator, words.group(line)


def _apart(lines: Sequence[EstimateRow], key) -> list[list[EstimateRow]]:
    """Lines with the same key together, in the order in which they came."""
    parts: dict = {}
    for line in lines:
        parts.setdefault(key(line), []).append(line)
    return list(parts.values())


def _side_by_side(results: Sequence[dict]) -> list[dict]:
    """Strategies for the same metric and budget under each other; metrics as they came."""
    metrics = list(dict.fromkeys(result["metric"] for result in results))
    return sorted(results, key=lambda one: (metrics.index(one["metric"]), one["budget"]))
