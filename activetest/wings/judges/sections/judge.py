"""How far a judge is from people, in sentences and tables."""

from collections.abc import Iterator
from typing import Any

from activetest.nouns.report import ColumnSlope, EstimateRow, JudgeReport, Report
from activetest.render import json
from activetest.render.document import words
from activetest.render.document.blocks import (
    Bar,
    Bars,
    Block,
    Columns,
    Lead,
    Table,
    draw_bars,
    tabulate,
    write_left_out,
)
from activetest.render.document.extent import Extent
from activetest.render.sections.groups import count_labels

PLACE = 4
TITLE = "The judge against people"
OF = "judge"
KEYS = ("judge",)


# Smaller p-values are written as smaller than this.
_SMALLEST = 0.001
# Names of the metrics for a judge.
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


def sentence(judge: JudgeReport) -> str:
    """The judge's value, the value by people, and how far apart they are.

    "The judge says that 84 % of items pass; people would say 75 % (95 % confidence: 71 % to
    79 %): the judge is 9 points too generous (5 to 13)."
    """
    first = judge.estimates[0]
    if first.estimate is None:
        return words.sentence(first)
    share = judge.outputs != "scores"
    value, certainty = _write(first, words.estimate(first), share=share), _describe(first, share)
    about = words.answerable(first)
    if judge.positive is None and share:
        items = f"the items {about}" if about else "items"
        return f"The judge agrees with people on {value} of {items}{certainty}."
    says = _write(first, words.raw(first), share=share)
    if share:
        verdict = words.say_class(words.plain(judge.positive), judged=True)
        begin = f"The judge says that {says} of items {verdict}; people would say {value}"
    else:
        begin = f"The judge's mean score is {says}; people's would be {value}"
    begin += f" {'of' if share else 'over'} the items {about}" if about else ""
    return f"{begin}{certainty}{_compare(judge)}."


def describe_slopes(judge: JudgeReport) -> str:
    """Whether the gap depends on columns; empty where there is none to look at."""
    tested = [each for each in judge.columns if each.p_corrected is not None]
    if not judge.columns:
        return ""
    if not tested:
        few = max(judge.columns, key=lambda each: each.n_labeled)
        return f"Whether the gap depends on columns of the pool is not known yet: {few.reason}."
    found = sorted(_find_dependent(judge), key=lambda each: each.p_value or 0.0)
    columns = "1 column" if len(tested) == 1 else f"{len(tested):,} columns"
    corrected = f"after correction for {columns}" if len(tested) > 1 else "1 column looked at"
    if not found:
        smallest = min(each.p_corrected or 0.0 for each in tested)
        return (
            f"No dependence of the gap is found among {columns} "
            f"(smallest{' corrected' * (len(tested) > 1)} {_write_p(smallest)})."
        )
    return " ".join(
        f"The judge {_describe_slope(judge, each)} per standard deviation of "
        f"{words.plain(each.column)} ({_write_p(each.p_corrected or 0.0)}"
        f"{' ' if len(tested) > 1 else ', '}{corrected})."
        for each in found
    )


def lead(judge: JudgeReport, report: Report) -> list[Lead]:
    """The judge's sentence, which says more than a headline about the same, and slopes."""
    first = Lead(sentence(judge), instead=_is_about(judge, words.headline(report)))
    slopes = describe_slopes(judge)
    return [first, *([Lead(slopes)] if slopes else [])]


def write(judge: JudgeReport, report: Report, extent: Extent) -> Iterator[Block]:
    """The judge's metrics, its gap in groups, and if verbose how the gap varies with columns."""
    yield _tabulate_metrics(judge)
    # Where agreement is the headline, the tables of groups have it.
    shown = [row.quantity for row in report.estimates if row.group is not None]
    if groups := [row for row in judge.groups if row.quantity not in shown]:
        yield _tabulate_groups(judge, groups, extent.most)
    if (extent.verbose or extent.paged) and judge.columns:
        yield _tabulate_slopes(judge)


def read(judge: JudgeReport) -> dict[str, Any]:
    """A judge against people in JSON: how far apart they are, and where."""
    found = {
        "column": judge.column,
        "positive": judge.positive,
        "outputs": judge.outputs,
        "sentence": sentence(judge),
        "estimates": [json.read_record(row, json.ESTIMATE_KEYS) for row in judge.estimates],
        "gap": judge.gap,
        "groups": [json.read_record(row, json.ESTIMATE_KEYS) for row in judge.groups],
        "dependence": describe_slopes(judge) or None,
        "level": judge.level,
        "columns": json.list_rows(judge.columns),
    }
    return {"judge": found}


def _is_about(judge: JudgeReport, row: EstimateRow | None) -> bool:
    """Whether a row is the first of the judge's section, so that its sentence says more."""
    first = judge.estimates[0]
    return row is not None and (
        (row.metric, row.class_name, row.estimator, row.group, row.quantity)
        == (first.metric, first.class_name, first.estimator, first.group, first.quantity)
    )


def _tabulate_metrics(judge: JudgeReport) -> Table:
    columns: Columns = {
        "measure": lambda row: _MEASURES[row.metric.partition("[")[0]],
        "metric": words.metric,
        "estimate": words.estimate,
        "interval": words.interval_or_reason,
        "labels": lambda row: words.count(row.n_labeled),
    }
    title = f"judge {words.plain(judge.column)} against people"
    bars = draw_bars(title, columns, judge.estimates, ("labels",), note=words.metric)
    return tabulate(title, columns, judge.estimates, left=("measure", "metric"), bars=bars)


def _tabulate_groups(judge: JudgeReport, groups: list[EstimateRow], most: int) -> Table:
    """The gap, or the agreement of verdicts that have none, in these groups."""
    is_bias = judge.gap == "bias"
    columns: Columns = {
        "group": words.group,
        "gap" if is_bias else "agreement": words.estimate,
        "interval": words.interval_or_reason,
        "labels": lambda row: words.count(row.n_labeled),
        "items": lambda row: words.count(row.n_pool),
    }
    title = f"{'judge minus people' if is_bias else 'agreement with people'}, by group"
    rows = [Bar(words.group(row), row, note=count_labels(row)) for row in groups[:most]]
    left_out = write_left_out(len(groups) - most, "groups")
    bars = Bars(title, "group", rows, reference=0.0 if is_bias else None, below=left_out)
    return tabulate(title, columns, groups, bars=[bars])


def _find_dependent(judge: JudgeReport) -> list[ColumnSlope]:
    """The columns on which the gap depends, after correction for their number."""
    return [
        each
        for each in judge.columns
        if each.p_corrected is not None and each.p_corrected <= 1 - judge.level
    ]


def _compare(judge: JudgeReport) -> str:
    """How far the judge is from people, behind what both say."""
    gap = next(row for row in judge.estimates if row.metric == judge.gap)
    if gap.estimate is None or gap.lower is None or gap.upper is None:
        return ""
    share = judge.outputs != "scores"
    scale, unit = (100, " points") if share else (1, "")
    doubt = words.half_width(gap.quantity)
    doubt = None if doubt is None else scale * doubt
    if gap.lower <= 0 <= gap.upper and gap.estimate != 0 and gap.method != "exact":
        low, value, high = (
            words.figure(scale * each, doubt) for each in (gap.lower, gap.estimate, gap.upper)
        )
        return f"; judge minus people is {value}{unit} ({low} to {high}), no clear difference"
    if gap.estimate == 0:
        return ": the judge is as generous as people"
    way, sign = ("generous", 1) if gap.estimate > 0 else ("strict", -1)
    ends = sorted(sign * scale * each for each in (gap.lower, gap.upper))
    size = words.figure(abs(scale * gap.estimate), doubt)
    interval = (
        ""
        if gap.method == "exact"
        else (f" ({' to '.join(words.figure(each, doubt) for each in ends)})")
    )
    return f": the judge is {size}{unit if size != '1' else ' point'} too {way}{interval}"


def _describe_slope(judge: JudgeReport, slope: ColumnSlope) -> str:
    """The judge's tendency where the column is larger."""
    if slope.slope is None or slope.lower is None or slope.upper is None:
        return ""
    share = judge.outputs != "scores"
    scale, unit = (100, " points") if share else (1, "")
    size = words.figure(abs(scale * slope.slope), scale * (slope.upper - slope.lower) / 2)
    if judge.gap != "bias":
        return f"differs from people {size}{unit} {'more' if slope.slope > 0 else 'less'} often"
    return f"is {size}{unit} {'more generous' if slope.slope > 0 else 'stricter'}"


def _write_p(value: float) -> str:
    """A p-value, as p = .03."""
    if value < _SMALLEST:
        return "p < .001"
    written = f"{value:.1g}" if value < 0.1 else f"{value:.2f}"
    return f"p = {written.removeprefix('0') if value < 1 else '1'}"


def _describe(row: EstimateRow, share: bool) -> str:
    """How sure the first number is, behind it."""
    if row.quantity.declined is not None:
        return words.certainty(row)
    if row.method == "exact":
        return " (every answer is known)"
    if row.lower is None or row.upper is None:
        return f" (no interval: {words.plain(row.reason or 'too few labels')})"
    ends = (words.figure(end, words.half_width(row.quantity)) for end in (row.lower, row.upper))
    mark = f", {condition}" if (condition := words.condition(row)) else ""
    mark += "" if words.reliable(row) else ", not reliable yet"
    mark += ", for one look" if row.quantity.one_look else ""
    written = " to ".join(_write(row, end, share=share) for end in ends)
    return f" ({words.write_level(row.level)} confidence: {written}{mark})"


def _write(row: EstimateRow, number: str, *, share: bool) -> str:
    """A figure; of a share of items in percent."""
    return words.with_unit(row, number) if share else number


def _tabulate_slopes(judge: JudgeReport) -> Table:
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
    return tabulate(title, columns, judge.columns, left=("column",))
