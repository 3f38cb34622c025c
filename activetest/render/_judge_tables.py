"""What stands in the tables of a judge's section."""

from activetest.nouns.report import ColumnSlope, EstimateRow, JudgeReport, Report
from activetest.render import _words as words
from activetest.render._tables import Columns, Table, write_rows

# What the metrics are for a judge.
_MEASURES = {
    "rate": "share, by people",
    "mean": "mean score, by people",
    "bias": "judge minus people",
    "recall": "sensitivity",
    "specificity": "specificity",
    "kappa": "agreement beyond chance",
    "accuracy": "agreement",
    "mae": "mean absolute gap",
}


def tables(report: Report, *, verbose: bool) -> list[Table]:
    """The judge's metrics, its gap in groups, and if verbose how the gap varies with columns.

    None without a judge.
    """
    judge = report.judge
    if judge is None:
        return []
    name = words.plain(judge.column)
    columns: Columns = {
        "measure": lambda row: _MEASURES[row.metric.partition("[")[0]],
        "metric": words.metric,
        "estimate": words.estimate,
        "interval": words.interval_or_reason,
        "labels": lambda row: words.count(row.n_labeled),
    }
    first = Table(
        f"judge {name} against people",
        tuple(columns),
        write_rows(columns, judge.estimates),
        left=("measure", "metric"),
    )
    found = [first]
    if groups := list_groups(report, judge):
        found.append(_list_groups(judge, groups))
    if verbose and judge.columns:
        found.append(_list_slopes(judge))
    return found


def list_groups(report: Report, judge: JudgeReport) -> list[EstimateRow]:
    """The judge's groups, without those that the report shows anyway.

    Where agreement is the headline, the tables of groups have it.
    """
    shown = [row.quantity for row in report.estimates if row.group is not None]
    return [row for row in judge.groups if row.quantity not in shown]


def _title_groups(judge: JudgeReport) -> str:
    """What the table of groups is about."""
    what = "judge minus people" if judge.gap == "bias" else "agreement with people"
    return f"{what}, by group"


def _list_groups(judge: JudgeReport, groups: list[EstimateRow]) -> Table:
    """The gap, or the agreement of verdicts that have none, in these groups."""
    columns: Columns = {
        "group": words.group,
        "gap" if judge.gap == "bias" else "agreement": words.estimate,
        "interval": words.interval_or_reason,
        "labels": lambda row: words.count(row.n_labeled),
        "items": lambda row: words.count(row.n_pool),
    }
    return Table(_title_groups(judge), tuple(columns), write_rows(columns, groups))


def _list_slopes(judge: JudgeReport) -> Table:
    """How the gap varies with columns."""

    def write(value: float | None, slope: ColumnSlope) -> str:
        if slope.lower is None or slope.upper is None:
            return "-"
        return words.figure(value, (slope.upper - slope.lower) / 2)

    columns: Columns = {
        "column": lambda each: words.plain(each.column),
        "per sd": lambda each: write(each.slope, each),
        "interval": lambda each: (
            words.plain(each.reason)
            if each.slope is None
            else f"{write(each.lower, each)} to {write(each.upper, each)}"
        ),
        "p": lambda each: words.short(each.p_value),
        "corrected p": lambda each: words.short(each.p_corrected),
        "labels": lambda each: words.count(each.n_labeled),
    }
    # Without a bias the gap of an item is 1 where judge and people differ.
    what = "gap" if judge.gap == "bias" else "share of disagreements"
    title = f"change of the {what} per standard deviation of a column's ranks"
    return Table(title, tuple(columns), write_rows(columns, judge.columns), left=("column",))
