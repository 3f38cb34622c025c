"""What stands in which table, the same in every format that people read."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from activetest.nouns.group_report import Assessment, Cell
from activetest.nouns.name_lists import join_names
from activetest.nouns.report import EstimateRow, Report
from activetest.render import _extent, _judge
from activetest.render import _words as words

# Heading of what estimates would be if the model's outputs were the labels.
RAW = "model says"
# Heading of what estimates are over all items, where some were declined.
_ALL = "all items"
# Cells shown where a whole matrix has no room, the largest first.
MOST_CONFUSED = 20
# More classes than this make a matrix that nobody reads.
WIDEST_MATRIX = 30
# Characters of a cell without its interval.
_CELL = 6


# {heading: what writes the cell of a record}
Columns = dict[str, Callable[[Any], str]]


@dataclass(frozen=True)
class Table:
    """A title (or none), headings, and rows with a cell for each heading; a cell is one line.

    kept    headings of columns that no terminal is too narrow for
    left    headings of further columns that are aligned to the left
    named   heading of a column of names, if it is none that always is one
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    kept: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    named: str = ""


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix of C classes: cells[truth][prediction].

    truths    names of the rows; the classes unless given
    """

    title: str
    classes: tuple[str, ...]
    cells: tuple[tuple[EstimateRow | Cell, ...], ...]
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

        def write(cell: EstimateRow | Cell) -> str:
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
            (-abs(cell.estimate), place, cell)
            for place, (truth, prediction, cell) in enumerate(self._places())
            if truth != prediction and words.real(cell.estimate)
        ]
        mistakes.sort(key=lambda mistake: mistake[:2])
        shown = [cell for _, _, cell in mistakes[:MOST_CONFUSED]]
        rows = tuple(
            (name_cell(cell), words.estimate(cell), words.interval(cell)) for cell in shown
        )
        title = f"{self.title}: mistakes"
        if len(shown) < len(mistakes):
            title += f", the {len(shown)} largest of {len(mistakes):,} (JSON has all)"
        return Table(title, ("truth as prediction", "estimate", "interval"), rows)

    def _places(self) -> Iterator[tuple[int, int, EstimateRow | Cell]]:
        """(number of the truth, number of the prediction, cell), row by row."""
        for truth, row in enumerate(self.cells):
            for prediction, cell in enumerate(row):
                yield truth, prediction, cell


def write_rows(columns: Columns, records: Iterable[Any]) -> tuple[tuple[str, ...], ...]:
    """A row per record, with a cell per column."""
    return tuple(tuple(write(record) for write in columns.values()) for record in records)


def name_cell(cell: EstimateRow | Cell) -> str:
    """The two classes of a cell: "cat as dog"."""
    if isinstance(cell, Cell):
        return words.plain(f"{cell.truth} as {cell.predicted}")
    return words.plain(cell.class_name)


def headline(report: Report) -> str:
    """The headline as a sentence; of a whole confusion matrix, which has no number of its own."""
    row = words.headline(report)
    if row is None:
        return "No estimate yet."
    if report.judge is not None and _judge.is_about(report, row):
        return _judge.sentence(report.judge)
    if row.estimate is None or not _is_of_matrix(report, row):
        return words.sentence(row)
    return f"The confusion matrix is estimated from {words.count(row.n_labeled)} labels."


def title(report: Report) -> str:
    """What the headline is about: its own metric, which need not be the one that draws serve."""
    row = words.headline(report)
    if row is None:
        name = words.plain(report.metric)
    else:
        name = words.CONFUSION if _is_of_matrix(report, row) else words.metric(row)
    return f"{name} of {words.pool(report)}"


def facts(report: Report, *, hints: bool = True) -> list[tuple[str, str]]:
    """What stands under the headline; labels saved are of one number, and a matrix has many.

    Without hints nothing is said to type: many formats are read by people who were not there.
    """
    row = words.headline(report)
    found = words.facts(report, row)
    if row is not None and _is_of_matrix(report, row):
        found = found[:1]
    if row is not None and row.estimate is not None:
        found.append(("about", words.scope(report, row, hints=hints)))
    return found


def tables(report: Report, *, verbose: bool = False) -> list[Table | Matrix]:
    """The tables of the estimates of a report, most important first; all of them where verbose.

    Groups are shown by the headline's estimator, but not those that the answer to a question ranks
    by the same metric: the answer's own table has them.
    """
    first = words.headline(report)
    kinds = {
        "": _extent.overall(report, verbose=verbose),
        "differences": [row for row in _extent.known(report) if row.against is not None],
        "groups": _extent.groups(report, verbose=verbose),
    }
    for kind in ("differences", "groups"):
        kinds[kind] = [row for row in kinds[kind] if not is_ranked(report.assessment, row)]
    # A name that says nothing new is left out.
    usual = "" if verbose or report.estimators or first is None else first.estimator
    found: list[Table | Matrix] = []
    for kind, of_kind in kinds.items():
        same = [row for row in of_kind if first is not None and row.estimator == first.estimator]
        shown = same or of_kind if kind else of_kind
        cells = _group_rows([row for row in shown if row.metric == words.CONFUSION], _matrix_key)
        matrices = [matrix for part in cells if (matrix := _build_matrix(part, usual))]
        inside = {id(cell) for matrix in matrices for row in matrix.cells for cell in row}
        others = [row for row in shown if id(row) not in inside]
        empty = [matrix for matrix in matrices if matrix.reason]
        matrices = [matrix for matrix in matrices if not matrix.reason]
        if kind:
            level = first.level if first else None
            parts = _group_rows(others, words.metric)
            found += [_metric_table(part, kind, level, usual) for part in parts]
        elif others:
            found.append(_overall_table(others, usual))
        found += matrices
        if empty:
            reasons = tuple((matrix.title, matrix.reason) for matrix in empty)
            found.append(Table("", ("no matrix yet", "because"), reasons))
    return [_name_speaker(each) for each in found] if report.judge else found


def _name_speaker(table: Table | Matrix) -> Table | Matrix:
    """The table of a pool whose outputs are a judge's."""
    if isinstance(table, Matrix):
        return table
    headings = ("judge says" if each == RAW else each for each in table.headings)
    return replace(table, headings=tuple(headings))


def strategies(results: Sequence[dict]) -> Table:
    """Simulated strategies, by metric and budget; labels only where they are not the budget."""
    columns: Columns = {
        "metric": lambda result: words.plain(result["metric"]),
        "budget": lambda result: words.count(result["budget"]),
        "acquisition": words.drawing,
        "surrogate": lambda result: result["surrogate"],
        "estimator": lambda result: result["estimator"],
        "labels": lambda result: words.count(result["n_labeled"]),
        "mse ratio": lambda result: words.times(result["mse_ratio"]),
        "+-": lambda result: words.figure(result["mse_ratio_se"], 0.1),
        "surrogate alone": lambda result: words.times(result["surrogate_mse_ratio"]),
        "saved": lambda result: words.times(result["labels_saved"]),
        "coverage": lambda result: words.figure(result["coverage"], 0.01),
        "width": lambda result: words.short(result["width"]),
        "rmse": lambda result: words.short(result["rmse"]),
        "median": lambda result: words.short(result["median"]),
        "bias": lambda result: words.short(result["bias"]),
        "runs": lambda result: words.count(result["runs"]),
    }
    # With replacement, the same item may be drawn twice: fewer labels than the budget.
    if all(result["n_labeled"] == result["budget"] for result in results):
        del columns["labels"]
    if all(result["surrogate_mse_ratio"] is None for result in results):
        del columns["surrogate alone"]
    rows = write_rows(columns, _sort_results(results))
    return Table("", tuple(columns), rows, kept=("mse ratio", "+-"))


def remarks(results: Sequence[dict]) -> list[str]:
    """What else to know about simulated strategies."""
    return _describe_surrogate_alone(results) + _describe_constant(results)


def _describe_surrogate_alone(results: Sequence[dict]) -> list[str]:
    """What random draws with the same surrogate save, and that active draws add the rest."""
    if all(result["surrogate_mse_ratio"] is None for result in results):
        return []
    return [
        "surrogate alone: the mse ratio of random draws with the same surrogate (doubly-robust); "
        "what is above it, active draws add."
    ]


def _describe_constant(results: Sequence[dict]) -> list[str]:
    """Strategies whose runs are all the same study."""
    without = (result for result in results if result["coverage"] is None)
    names = dict.fromkeys(map(words.drawing, without))
    if not names:
        return []
    return [
        f"{', '.join(names)}: nothing in these studies is random, so all runs are the same study. "
        "There is no coverage, and more runs would not show what another study would find."
    ]


def _overall_table(rows: Sequence[EstimateRow], usual: str) -> Table:
    """A row per metric and estimator for the whole pool.

    usual    the estimator whose name is left out where there is no other
    """
    columns: Columns = {
        "metric": words.metric,
        "estimator": lambda row: row.estimator,
        "estimate": words.estimate,
        "interval": words.interval_or_reason,
        _ALL: words.over_all,
        RAW: words.raw,
        "labels": lambda row: words.count(row.n_labeled),
        "n_eff": lambda row: words.count(row.n_eff),
        "saved": lambda row: words.ratio_saved(row.quantity.saving),
    }
    if {row.estimator for row in rows} == {usual}:
        del columns["estimator"]
    if all(row.from_outputs is None for row in rows):
        del columns[RAW]
    if all(row.least is None for row in rows):
        del columns[_ALL]
    return Table("", tuple(columns), write_rows(columns, rows))


def _metric_table(rows: Sequence[EstimateRow], kind: str, level: float | None, usual: str) -> Table:
    """One metric over groups, or its differences; what all rows share stands in the title.

    usual    the estimator that needs no name
    """
    metric = words.metric(rows[0])
    title = f"{metric} by group" if kind == "groups" else f"differences in {metric}"
    estimators = {row.estimator for row in rows}
    if len(estimators) == 1 and estimators != {usual}:
        title += f", {rows[0].estimator}"
    if levels := _describe_levels(rows, level):
        title += f", {levels}"
    columns: Columns = {"group" if kind == "groups" else "difference": words.group}
    if len(estimators) > 1:
        columns["estimator"] = lambda row: row.estimator
    columns |= {"estimate": words.estimate, "interval": words.interval_or_reason}
    if any(row.least is not None for row in rows):
        columns[_ALL] = words.over_all
    if kind == "differences":
        columns["differ"] = words.differ
    elif any(row.shrunk is not None for row in rows):
        columns["shrunk"] = words.shrunk
    if any(row.from_outputs is not None for row in rows):
        columns[RAW] = words.raw
    columns["labels"] = lambda row: words.count(row.n_labeled)
    if kind == "groups":
        columns["items"] = lambda row: words.count(row.n_pool)
    return Table(title, tuple(columns), write_rows(columns, rows))


def _describe_levels(rows: Sequence[EstimateRow], usual: float | None) -> str:
    """The level of intervals, by column where columns have several; empty for the usual one."""
    columns: dict[float, dict[str, None]] = {}
    for row in rows:
        columns.setdefault(row.level, {}).update(dict.fromkeys(row.group or ()))
    if set(columns) <= {usual}:
        return ""
    if len(columns) == 1:
        return f"{words.write_level(rows[0].level)} intervals"
    parts = (
        f"{words.write_level(level)} for {words.plain(join_names(names))}"
        for level, names in columns.items()
    )
    return f"intervals: {', '.join(parts)}"


def _build_matrix(rows: Sequence[EstimateRow], usual: str) -> Matrix | None:
    """The matrix of these cells, or None if some are missing.

    usual    the estimator that needs no name
    """
    found = {row.class_name or "": row for row in rows}
    # The diagonal names the classes, whatever their names hold: "cat as cat".
    halves = ((name, name[: (len(name) - len(" as ")) // 2]) for name in found)
    classes = [half for name, half in halves if name == f"{half} as {half}"]
    names = [[f"{truth} as {prediction}" for prediction in classes] for truth in classes]
    if len(classes) < 2 or {name for row in names for name in row} != set(found):
        return None
    estimator = rows[0].estimator
    parts = (words.CONFUSION, words.group(rows[0]), "" if estimator == usual else estimator)
    title = ", ".join(filter(None, parts))
    cells = tuple(tuple(found[name] for name in row) for row in names)
    return Matrix(title, tuple(classes), cells)


def is_ranked(answer: Assessment | None, row: EstimateRow) -> bool:
    """Whether the answer to a question is about this group and metric."""
    return (
        answer is not None
        and row.against is None
        and row.group is not None
        and set(row.group) == {answer.column}
        and words.metric(row) == words.plain(answer.metric)
    )


def _is_of_matrix(report: Report, row: EstimateRow) -> bool:
    """Whether the headline is the first cell of a whole confusion matrix."""
    cells = [
        each
        for each in report.estimates
        if each.metric == words.CONFUSION
        and each.group is None
        and each.against is None
        and each.estimator == row.estimator
    ]
    return row in cells and _build_matrix(cells, row.estimator) is not None


def _matrix_key(row: EstimateRow) -> tuple[str, str]:
    """Which matrix a cell belongs to."""
    return row.estimator, words.group(row)


def _group_rows(
    rows: Sequence[EstimateRow], key: Callable[[EstimateRow], Hashable]
) -> list[list[EstimateRow]]:
    """Rows with the same key together, in the order in which they came."""
    parts: dict[Hashable, list[EstimateRow]] = {}
    for row in rows:
        parts.setdefault(key(row), []).append(row)
    return list(parts.values())


def _sort_results(results: Sequence[dict]) -> list[dict]:
    """Strategies for the same metric and budget under each other; metrics as they came."""
    metrics = list(dict.fromkeys(result["metric"] for result in results))
    return sorted(results, key=lambda result: (metrics.index(result["metric"]), result["budget"]))
