"""Groups, and differences between them."""

from collections.abc import Iterator, Sequence

from activetest import catalog
from activetest.nouns.name_lists import join_names
from activetest.nouns.report import EstimateRow, Report
from activetest.render.document import words
from activetest.render.document.blocks import (
    Bar,
    Bars,
    Block,
    Columns,
    Sentence,
    Table,
    is_sure,
    tabulate,
    write_left_out,
)
from activetest.render.document.extent import Extent, is_ranked, list_known
from activetest.render.sections.metrics import (
    ALL,
    find_usual,
    group_rows,
    name_raw,
    split_matrices,
)

PLACE = 8
TITLE = "Groups"
OF = "estimates"


def write(estimates: Sequence[EstimateRow], report: Report, extent: Extent) -> Iterator[Block]:
    """Differences and groups by metric; on pages by column, too, the worst groups first.

    Not those that the answer to a question ranks by the same metric: its own table has them.
    """
    usual = find_usual(report, extent)

    def select(rows: Sequence[EstimateRow]) -> list[EstimateRow]:
        return _prefer(report, [row for row in rows if not is_ranked(report.assessment, row)])

    if extent.paged:
        yield from _draw(
            report, select([row for row in estimates if row.group is not None]), extent
        )
        return
    differences = [row for row in list_known(report) if row.against is not None]
    groups = _list_groups(report, verbose=extent.verbose)
    for rows, is_difference in ((differences, True), (groups, False)):
        others, matrices = split_matrices(select(rows), usual)
        for part in group_rows(others, words.metric):
            yield _tabulate(report, part, usual, is_difference=is_difference)
        yield from matrices


def list_hidden(estimates: Sequence[EstimateRow], report: Report) -> list[str]:
    """Parts that only the verbose report shows."""
    lacking = len(_list_groups(report, verbose=True)) - len(_list_groups(report, verbose=False))
    return [f"{lacking:,} group{'s' * (lacking != 1)} with too few labels"] if lacking else []


def _tabulate(
    report: Report, rows: Sequence[EstimateRow], usual: str, *, is_difference: bool
) -> Table:
    """One metric over groups, or its differences; what all rows share stands in the title.

    usual    the estimator that needs no name
    """
    metric, first = words.metric(rows[0]), words.headline(report)
    title = f"differences in {metric}" if is_difference else f"{metric} by group"
    estimators = {row.estimator for row in rows}
    if len(estimators) == 1 and estimators != {usual}:
        title += f", {rows[0].estimator}"
    if levels := _describe_levels(rows, first.level if first else None):
        title += f", {levels}"
    columns: Columns = {
        "difference" if is_difference else "group": words.group,
        "estimator": lambda row: row.estimator,
        "estimate": words.estimate,
        "interval": words.interval_or_reason,
        ALL: words.over_all,
        "differ": words.differ,
        "shrunk": words.shrunk,
        name_raw(report): words.raw,
        "labels": lambda row: words.count(row.n_labeled),
        "items": lambda row: words.count(row.n_pool),
    }
    needed = {
        "estimator": len(estimators) > 1,
        ALL: any(row.least is not None for row in rows),
        "differ": is_difference,
        "shrunk": not is_difference and any(row.shrunk is not None for row in rows),
        name_raw(report): any(row.from_outputs is not None for row in rows),
        "items": not is_difference,
    }
    return tabulate(
        title, {name: columns[name] for name in columns if needed.get(name, True)}, rows
    )


def _draw(report: Report, rows: Sequence[EstimateRow], extent: Extent) -> Iterator[Block]:
    """Groups as dots on their intervals, the worst first; and differences between them."""
    groups = [row for row in rows if row.against is None]
    differences = [row for row in rows if row.against is not None]
    for of_metric in group_rows(groups, words.metric):
        for found in group_rows(of_metric, lambda row: tuple(row.group or ())):
            yield _draw_column(report, found, extent.most)
    for found in group_rows(differences, words.metric):
        built = [Bar(words.group(row), row, note=words.differ(row)) for row in found[: extent.most]]
        title = f"differences in {words.metric(found[0])}"
        left_out = write_left_out(len(found) - extent.most, "differences")
        yield Bars(title, "difference", built, reference=0.0, below=left_out)
    legend = [
        "Dashed lines: all items." if groups else "",
        "Of differences: zero." if differences else "",
        "Hollow grey dots: too few labels to be believed." if not all(map(is_sure, rows)) else "",
        "Shrunk: moved towards what is expected of the group, the more the wider its interval is."
        if any(row.shrunk is not None for row in groups)
        else "",
    ]
    if rows:
        yield Sentence(" ".join(filter(None, legend)), style="small")


def _draw_column(report: Report, found: Sequence[EstimateRow], most: int) -> Bars:
    """The groups of one column by one metric."""
    first = found[0]
    is_ours = catalog.bare_name(first.metric) in catalog.names("metrics")
    better = catalog.fact("metrics", first.metric, "BETTER") if is_ours else None
    about = first.title, first.estimator
    whole = next(
        (
            row.estimate
            for row in report.estimates
            if row.group is None and (row.title, row.estimator) == about
        ),
        None,
    )
    shrunk = any(row.shrunk is not None for row in found)
    built = [
        Bar(
            ", ".join(words.plain(value) for value in (row.group or {}).values()),
            row,
            note=count_labels(row),
            cells=(words.with_unit(row, words.shrunk(row)),) if shrunk else (),
        )
        for row in sort_worst_first(found, better)[:most]
    ]
    name = words.plain(", ".join(first.group or ()))
    title = f"{words.metric(first)} by {name}{', worst first' if better else ''}"
    what = "better groups" if better else "groups"
    return Bars(
        f"{title}, {words.write_level(first.level)} intervals",
        name,
        built,
        more=("shrunk",) if shrunk else (),
        reference=whole,
        below=write_left_out(len(found) - most, what),
    )


def sort_worst_first(rows: Sequence[EstimateRow], better: str | None) -> list[EstimateRow]:
    """Groups, the worst first; then those with too few labels, and those without a number.

    better    "higher" or "lower"; without either, rows with enough labels stay in their order
    """
    sign = {"higher": 1.0, "lower": -1.0}.get(better or "", 0.0)

    def key(row: EstimateRow) -> tuple[bool, bool, float]:
        value = row.estimate
        return not words.real(value), not is_sure(row), sign * value if words.real(value) else 0.0

    return sorted(rows, key=key)


def count_labels(row: EstimateRow) -> str:
    """Labels and items of a group."""
    few = "" if is_sure(row) or row.estimate is None else ", too few labels"
    return f"{words.count(row.n_labeled)} labels, {words.count(row.n_pool)} items{few}"


def _prefer(report: Report, rows: Sequence[EstimateRow]) -> list[EstimateRow]:
    """The rows of the headline's estimator; where it has none, all."""
    first = words.headline(report)
    same = [row for row in rows if first is not None and row.estimator == first.estimator]
    return same or list(rows)


def _list_groups(report: Report, *, verbose: bool) -> list[EstimateRow]:
    """The rows of groups.

    Beside a surface, which has a number for each value of an attribute, those alone that have one:
    attributes may have many values without labels.
    """
    rows = [row for row in list_known(report) if row.group is not None and row.against is None]
    if verbose or not report.surface:
        return rows
    return [row for row in rows if row.estimate is not None and row.lower is not None]


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
