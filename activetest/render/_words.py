"""How numbers and names are put into words, the same in every format that people read."""

import math
from collections.abc import Sequence

from activetest.report import Counts, Line, Report


def plain(text: object) -> str:
    """A name from the user's own files on one line, without anything a terminal would obey."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in str(text))


def real(value: float | None) -> bool:
    """Whether there is a finite number."""
    return value is not None and math.isfinite(value)


def figure(value: float | None, doubt: float | None = None) -> str:
    """A number to two significant digits of its doubt (half the width of its interval)."""
    if not real(value):
        return "-"
    if not real(doubt) or doubt <= 0:
        return f"{value:.4g}"
    decimals = min(max(1 - math.floor(math.log10(doubt)), 0), 8)
    # Adding zero turns -0.0 into 0.0.
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def count(value: float | None) -> str:
    """A number of items, with separators."""
    return f"{value:,.0f}" if real(value) else "-"


def times(value: float | None) -> str:
    """A ratio, as 2.9x."""
    if not real(value):
        return "-"
    return f"{value:.1f}x" if value >= 0.95 else f"{value:.2f}x"


def percent(level: float) -> str:
    """A level, as 95 %."""
    return f"{100 * level:.6g} %"


def doubt(line: Line) -> float | None:
    """Half the width of the interval."""
    if not (real(line.lower) and real(line.upper)):
        return None
    return (line.upper - line.lower) / 2


def pool(report: Report) -> str:
    """The pool's file or folder name; its whole address stands in the JSON."""
    return plain(report.pool.rstrip("/").rsplit("/", 1)[-1] or report.pool)


def estimate(line: Line) -> str:
    """The estimate, as precise as its interval lets it be."""
    return figure(line.estimate, doubt(line))


def interval(line: Line) -> str:
    """Both ends; one that is not there is written out."""
    if line.method == "exact":
        return "exact"
    if line.lower is None and line.upper is None:
        return "-"
    ends = (
        figure(end, doubt(line)) if real(end) else "no limit" for end in (line.lower, line.upper)
    )
    return " to ".join(ends)


def certainty(line: Line) -> str:
    """What stands behind the headline's number."""
    if line.method == "exact":
        return "exact: every answer is known"
    return f"{percent(line.level)} interval {interval(line)}"


def metric(line: Line) -> str:
    """The metric, with its class where it has one."""
    return plain(line.metric if line.class_name is None else f"{line.metric} [{line.class_name}]")


def group(line: Line) -> str:
    """The group as column=value, several joined by a comma."""
    return plain(", ".join(f"{name}={value}" for name, value in (line.group or {}).items()))


def headline(report: Report) -> Line | None:
    """The line to read first."""
    marked = [line for line in report.estimates if line.headline]
    return marked[0] if marked else None


def facts(report: Report, line: Line | None) -> list[tuple[str, str]]:
    """What stands under the headline: what was spent, and what it was worth."""
    counts = report.counts
    if line is None:
        return [("labels", f"{count(counts.labelled)} of {count(counts.n_pool)} items")]
    rows = [("labels used", f"{count(line.n_labeled)} of {count(line.n_pool)} items")]
    if real(line.n_eff):
        worth = f"{count(line.n_eff)} (random labels that would be as good)"
        rows.append(("effective sample size", worth))
    if real(line.labels_saved):
        least = "at least " if line.held_up else ""
        saved = f"{least}{times(line.labels_saved)} against random labelling"
        rows.append(("labels saved", saved))
    return rows


def estimates(lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the table of estimates."""
    headings = ["metric", "estimator", "estimate", "interval", "labels", "n_eff", "saved"]
    rows = [
        [metric(line), line.estimator, estimate(line), _interval_or_reason(line)]
        + [count(line.n_labeled), count(line.n_eff), times(line.labels_saved)]
        for line in lines
    ]
    return headings, rows


def groups(lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the table of groups."""
    headings = ["group", "metric", "estimator", "estimate", "interval", "labels", "items"]
    rows = [
        [group(line), metric(line), line.estimator, estimate(line), _interval_or_reason(line)]
        + [count(line.n_labeled), count(line.n_pool)]
        for line in lines
    ]
    return headings, rows


def strategies(results: Sequence[dict]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the table of simulated strategies, by metric and budget."""
    headings = ["metric", "budget", "acquisition", "surrogate", "estimator", "saved", "+-"]
    headings += ["label ratio", "coverage", "width", "rmse", "bias", "runs"]
    rows = [
        [result["metric"], count(result["budget"])]
        + [result["acquisition"], result["surrogate"], result["estimator"]]
        + [times(result["labels_saved"]), figure(result["labels_saved_se"], 0.1)]
        + [times(result["label_ratio"]), figure(result["coverage"], 0.01)]
        + [_short(result["width"]), _short(result["rmse"]), _short(result["bias"])]
        + [count(result["runs"])]
        for result in _side_by_side(results)
    ]
    return headings, rows


def overall_and_groups(report: Report) -> tuple[list[Line], list[Line]]:
    """Lines about the whole pool, and lines about its groups by the headline's estimator.

    While the headline has no number, lines that have none either are left out: its reason stands
    for theirs.
    """
    first = headline(report)
    early = first is not None and first.estimate is None
    lines = [line for line in report.estimates if not early or line.estimate is not None]
    overall = [line for line in lines if line.group is None]
    grouped = [line for line in lines if line.group is not None]
    same = [line for line in grouped if first is not None and line.estimator == first.estimator]
    return overall, same or grouped


def made_by(report: Report) -> str:
    """One sentence on how the draws were made."""
    return (
        f"surrogate {report.surrogate}, acquisition {report.acquisition} for {report.metric}, "
        f"floor {report.floor:g}, seed {report.seed}"
    )


def _side_by_side(results: Sequence[dict]) -> list[dict]:
    """Strategies for the same metric and budget under each other; metrics as they came."""
    metrics = list(dict.fromkeys(result["metric"] for result in results))
    return sorted(results, key=lambda one: (metrics.index(one["metric"]), one["budget"]))


def _interval_or_reason(line: Line) -> str:
    if line.estimate is None or line.lower is None:
        return plain(line.reason or interval(line))
    return interval(line)


def _short(value: float | None) -> str:
    return f"{value:.3g}" if real(value) else "-"


def standing(counts: Counts) -> list[tuple[str, str]]:
    """Where a study stands, one fact per row."""
    rows = [
        ("pool", f"{count(counts.n_pool)} items"),
        ("rounds", count(counts.rounds)),
        ("drawn", count(counts.drawn)),
        ("labelled", count(counts.labelled)),
        ("pending", count(counts.pending)),
        ("declined", count(counts.declined)),
        ("brought", f"{count(counts.brought)} (labels of items that were never drawn)"),
    ]
    if counts.budget is not None:
        left = max(counts.budget - counts.labelled, 0)
        rows.append(("budget", f"{count(counts.budget)} labels, {count(left)} left"))
    return rows
