"""What stands in the tables of a judge's section."""

from activetest.nouns.report import ColumnSlope, JudgeReport
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


def tables(judge: JudgeReport, *, verbose: bool) -> list[Table]:
    """The judge's metrics, its gap in groups, and if verbose how the gap varies with columns."""
    name = words.plain(judge.column)
    columns: Columns = {
        "measure": lambda row: _MEASURES[row.metric],
        "metric": words.metric,
        "estimate": words.estimate,
        "interval": words.interval_or_reason,
        "labels": lambda row: words.count(row.n_bought),
    }
    first = Table(
        f"judge {name} against people",
        tuple(columns),
        write_rows(columns, judge.estimates),
        left=("measure", "metric"),
    )
    found = [first]
    if judge.groups:
        found.append(_list_groups(judge))
    if verbose and judge.columns:
        found.append(_list_slopes(judge))
    return found


def _list_groups(judge: JudgeReport) -> Table:
    """The gap, or the agreement of verdicts that have none, in every group."""
    columns: Columns = {
        "group": words.group,
        _name_gap(judge): words.estimate,
        "interval": words.interval_or_reason,
        "labels": lambda row: words.count(row.n_bought),
        "items": lambda row: words.count(row.n_pool),
    }
    what = "judge minus people" if judge.gap == "bias" else "agreement with people"
    return Table(f"{what}, by group", tuple(columns), write_rows(columns, judge.groups))


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
    title = f"change of the {_name_gap(judge)} per standard deviation of a column's ranks"
    return Table(title, tuple(columns), write_rows(columns, judge.columns), left=("column",))


def _name_gap(judge: JudgeReport) -> str:
    """What groups and columns are compared by: only a judge with a bias has a gap."""
    return "gap" if judge.gap == "bias" else "agreement"
