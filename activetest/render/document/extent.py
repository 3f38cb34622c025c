"""How much of a report people see: what was asked for, or with `verbose` all of it."""

from dataclasses import dataclass

from activetest.nouns.group_report import Assessment
from activetest.nouns.report import EstimateRow, Gate, Note, Report, Weight
from activetest.render.document import words

# The way to see the rest of a report that shows less, where nobody says it better.
MORE = "`report.to_markdown(verbose=True)`"
# Cautions that are shown at most.
_MOST_CAUTIONS = 3


@dataclass(frozen=True)
class Extent:
    """How much of a report a format shows.

    verbose    all estimates, tables and notes, and how items are chosen
    hints      names of settings that change what numbers are about
    paged      what numbers rest on, too
    most       groups of one metric and column that pages show
    log        how pages hold the log of draws: "plain", "packed" (compressed) or "absent"
    more       how to see what is left out
    """

    verbose: bool = False
    hints: bool = True
    paged: bool = False
    most: int = 100
    log: str = "plain"
    more: str = MORE


def list_notes(report: Report, *, verbose: bool) -> list[Note]:
    """Notes to read before believing a number, heaviest first.

    Answers to what was requested, and the cautions that matter most.
    """
    if verbose:
        return list(report.notes)
    answers = [note for note in report.notes if note.weight == Weight.ANSWER]
    cautions = [note for note in report.notes if note.is_caution]
    return answers + cautions[:_MOST_CAUTIONS]


def list_known(report: Report) -> list[EstimateRow]:
    """All rows; while the headline has no number, only those that have one."""
    first = words.headline(report)
    early = first is not None and first.estimate is None
    return [row for row in report.estimates if not early or row.estimate is not None]


def is_ranked(answer: Assessment | None, row: EstimateRow) -> bool:
    """Whether the answer to a question is about this group and metric."""
    return (
        answer is not None
        and row.against is None
        and row.group is not None
        and set(row.group) == {answer.column}
        and words.metric(row) == words.plain(answer.metric)
    )


def list_gates(report: Report, row: EstimateRow) -> list[Gate]:
    """The gates on the same number."""
    number = row.title, row.group
    return [
        gate
        for gate in report.gates
        if row.against is None is gate.against and (gate.title, gate.group) == number
    ]
