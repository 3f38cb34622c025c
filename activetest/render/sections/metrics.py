"""Estimates of the whole pool, by metric and estimator."""

from collections.abc import Callable, Hashable, Iterator, Sequence

from activetest.nouns.report import EstimateRow, Report
from activetest.render.document import words
from activetest.render.document.blocks import (
    Block,
    Columns,
    Matrix,
    Sentence,
    Table,
    draw_bars,
    tabulate,
)
from activetest.render.document.extent import Extent, list_gates, list_known

PLACE = 5
TITLE = "Metrics"
OF = "estimates"

# Heading of what estimates are over all items, where some were declined.
ALL = "all items"


def write(estimates: Sequence[EstimateRow], report: Report, extent: Extent) -> Iterator[Block]:
    """A row for each metric, on pages on its interval with the lines of gates; and matrices.

    On pages all estimators of one metric alone are shown: the head has its number already.
    """
    rows, usual = _list_overall(report, verbose=extent.verbose), find_usual(report, extent)
    if extent.paged:
        rows = rows or _list_overall(report, verbose=True)
        rows = [row for row in rows if row.metric != words.CONFUSION]
        rows = [] if rows == [words.headline(report)] else rows
    others, matrices = split_matrices(rows, usual)
    if others:
        yield _tabulate(report, others, usual)
    yield from matrices
    if extent.paged:
        if any(list_gates(report, row) for row in others):
            yield Sentence("Dashed lines: gates.", style="small")
        grounds = words.describe_estimators(report)
        if grounds and len({row.estimator for row in others}) > 1:
            yield Sentence(f"{grounds}.", style="small")


def find_usual(report: Report, extent: Extent) -> str:
    """The estimator whose name says nothing new where there is no other; empty where it does."""
    first = words.headline(report)
    return "" if extent.verbose or report.estimators or first is None else first.estimator


def name_raw(report: Report) -> str:
    """Heading of what estimates would be if the model's outputs were the labels."""
    return f"{words.name_predictor(report)} says"


def split_matrices(
    rows: Sequence[EstimateRow], usual: str
) -> tuple[list[EstimateRow], list[Matrix | Table]]:
    """Rows that are no cells of a whole confusion matrix, and the matrices."""
    cells = group_rows(
        [row for row in rows if row.metric == words.CONFUSION],
        lambda row: (row.estimator, words.group(row)),
    )
    matrices = [matrix for part in cells if (matrix := build_matrix(part, usual))]
    inside = {id(cell) for matrix in matrices for row in matrix.cells for cell in row}
    others = [row for row in rows if id(row) not in inside]
    found: list[Matrix | Table] = [matrix for matrix in matrices if not matrix.reason]
    if empty := [(matrix.title, matrix.reason) for matrix in matrices if matrix.reason]:
        found.append(Table("", ("no matrix yet", "because"), tuple(empty)))
    return others, found


def group_rows(
    rows: Sequence[EstimateRow], key: Callable[[EstimateRow], Hashable]
) -> list[list[EstimateRow]]:
    """Rows with the same key together, in the order in which they came."""
    parts: dict[Hashable, list[EstimateRow]] = {}
    for row in rows:
        parts.setdefault(key(row), []).append(row)
    return list(parts.values())


def build_matrix(rows: Sequence[EstimateRow], usual: str) -> Matrix | None:
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


def is_of_matrix(report: Report, row: EstimateRow) -> bool:
    """Whether the headline is the first cell of a whole confusion matrix."""
    cells = [
        each
        for each in report.estimates
        if each.metric == words.CONFUSION
        and each.group is None
        and each.against is None
        and each.estimator == row.estimator
    ]
    return row in cells and build_matrix(cells, row.estimator) is not None


def _tabulate(report: Report, rows: Sequence[EstimateRow], usual: str) -> Table:
    """A row per metric and estimator for the whole pool."""
    columns: Columns = {
        "metric": words.metric,
        "estimator": lambda row: row.estimator,
        "estimate": words.estimate,
        "interval": words.interval_or_reason,
        ALL: words.over_all,
        name_raw(report): words.raw,
        "labels": lambda row: words.count(row.n_labeled),
        "n_eff": lambda row: words.count(row.n_eff),
        "saved": lambda row: words.ratio_saved(row.quantity.saving),
    }
    estimators = {row.estimator for row in rows}
    bars = draw_bars(
        "metrics",
        columns,
        rows,
        ("labels", "saved"),
        name=words.metric_title,
        note=columns["estimator"] if len(estimators) > 1 else _name_specification,
        limits=lambda row: [gate.threshold for gate in list_gates(report, row)],
        titled=False,
    )
    if estimators == {usual}:
        del columns["estimator"]
    if all(row.from_outputs is None for row in rows):
        del columns[name_raw(report)]
    if all(row.least is None for row in rows):
        del columns[ALL]
    return tabulate("", columns, rows, bars=bars)


def _name_specification(row: EstimateRow) -> str:
    """The metric as it is asked for; empty where its title says the same."""
    name = words.metric(row)
    title = words.metric_title(row).lower().replace("-", " ")
    return "" if title == name.replace("-", " ") else name


def _list_overall(report: Report, *, verbose: bool) -> list[EstimateRow]:
    """The rows of the whole pool: by all estimators where these were named.

    So, too, where items are chosen by the largest score, which the headline's estimator hardly
    learns from. Otherwise those of the headline's estimator; of a metric that it has no number for,
    those of others that have one. Rows without a number are left out while the headline has none:
    its reason stands for theirs. There is none where the only one would repeat the headline.
    """
    first = words.headline(report)
    known = [row for row in list_known(report) if not row.models]
    rows = [row for row in known if row.group is None and row.against is None]
    if verbose or report.estimators or first is None or _chooses_by_score(report, first):
        repeated = not verbose and rows == [first]
        return [] if repeated else rows
    by_metric: dict[str, list[EstimateRow]] = {}
    for row in rows:
        by_metric.setdefault(words.metric(row), []).append(row)
    shown = [row for same in by_metric.values() for row in _prefer(same, first.estimator)]
    return [] if shown == [first] else shown


def _chooses_by_score(report: Report, first: EstimateRow) -> bool:
    """Whether items are chosen by the largest score, and the headline is not exact all the same."""
    chosen = report.selection == "top" and report.counts.deterministic > 0
    return chosen and first.quantity.kind != "exact"


def _prefer(rows: Sequence[EstimateRow], estimator: str) -> list[EstimateRow]:
    """The rows of one metric by this estimator, or where it has no number those that have one."""
    chosen = [row for row in rows if row.estimator == estimator]
    if any(row.estimate is not None for row in chosen):
        return chosen
    return [row for row in rows if row.estimate is not None] or chosen
