"""How much of a report people see: what was asked for, or with `verbose` all of it."""

from collections.abc import Sequence

from activetest.nouns.group_report import Assessment
from activetest.nouns.report import EstimateRow, Note, Report, Weight
from activetest.render import _words as words

# What a report that shows less says about how to see the rest, where nobody says it better.
MORE = "`report.to_markdown(verbose=True)`"
# Cautions that are shown at most.
_MOST_CAUTIONS = 3
# How the name of a metric begins whose answer to a question rests on bins of the confidence.
_OF_BINS = "ece"


def notes(report: Report, *, verbose: bool) -> list[Note]:
    """What to know before believing a number, heaviest first.

    Answers to what was requested, and the cautions that matter most.
    """
    if verbose:
        return list(report.notes)
    answers = [note for note in report.notes if note.weight == Weight.ANSWER]
    cautions = [note for note in report.notes if note.is_caution]
    return answers + cautions[:_MOST_CAUTIONS]


def overall(report: Report, *, verbose: bool) -> list[EstimateRow]:
    """The rows of the whole pool: by all estimators where these were named.

    So, too, where items are chosen by the largest score, which the headline's estimator hardly
    learns from. Otherwise those of the headline's estimator; of a metric that it has no number for,
    those of others that have one. Rows without a number are left out while the headline has none:
    its reason stands for theirs. There is none where the only one would repeat the headline.
    """
    first = words.headline(report)
    rows = [row for row in known(report) if row.group is None and row.against is None]
    if verbose or report.estimators or first is None or _chooses_by_score(report, first):
        repeated = not verbose and rows == [first]
        return [] if repeated else rows
    by_metric: dict[str, list[EstimateRow]] = {}
    for row in rows:
        by_metric.setdefault(words.metric(row), []).append(row)
    shown = [row for same in by_metric.values() for row in _prefer(same, first.estimator)]
    return [] if shown == [first] else shown


def known(report: Report) -> list[EstimateRow]:
    """All rows; while the headline has no number, only those that have one."""
    first = words.headline(report)
    early = first is not None and first.estimate is None
    return [row for row in report.estimates if not early or row.estimate is not None]


def groups(report: Report, *, verbose: bool) -> list[EstimateRow]:
    """The rows of groups.

    Beside a surface, which has a number for each value of an attribute, those alone that have one:
    attributes may have many values without labels.
    """
    rows = [row for row in known(report) if row.group is not None and row.against is None]
    if verbose or not report.surface:
        return rows
    return [row for row in rows if row.estimate is not None and row.lower is not None]


def has_matrix(answer: Assessment, *, verbose: bool) -> bool:
    """Whether the confusion matrix is shown with the answer to a question."""
    matrix = answer.confusion
    exists = matrix is not None and any(cell.estimate is not None for cell in matrix.cells)
    return exists and (verbose or bool(answer.target))


def has_diagram(answer: Assessment, *, verbose: bool) -> bool:
    """Whether the reliability diagram is shown with the answer to a question."""
    exists = answer.reliability is not None
    return exists and (verbose or answer.metric.startswith(_OF_BINS))


def left_out(report: Report, more: str) -> str:
    """What only the verbose report shows, and how to see it; empty where that is nothing."""
    parts, answer = [], report.assessment
    if answer is not None:
        tables = {"confusion matrix": has_matrix, "reliability by confidence": has_diagram}
        parts += [
            name
            for name, has in tables.items()
            if has(answer, verbose=True) and not has(answer, verbose=False)
        ]
    lacking = len(groups(report, verbose=True)) - len(groups(report, verbose=False))
    if lacking:
        parts.append(f"{lacking:,} group{'s' * (lacking != 1)} with too few labels")
    shown = notes(report, verbose=False)
    hidden = [words.label(note) for note in report.notes if note not in shown]
    for kind in sorted(set(hidden)):
        count = hidden.count(kind)
        parts.append(f"{count} {kind}{'s' * (count != 1)}")
    return f"More with {more}: {', '.join(parts)}." if parts else ""


def last_lines(report: Report, more: str, *, verbose: bool) -> list[str]:
    """What stands under everything: what estimators are, how items are chosen, or what is left out.

    more says how to see what is left out.
    """
    lines = (
        [
            words.describe_estimators(report),
            words.made_by(report),
            words.describe_inputs(report),
            words.describe_evidence(report),
        ]
        if verbose
        else [words.describe_inputs(report), left_out(report, more)]
    )
    return [line for line in lines if line]


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
