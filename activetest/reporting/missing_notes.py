"""Notes on drawn items that have no label, in plain sentences."""

from collections.abc import Sequence

import numpy as np

from activetest.estimation.beliefs import is_model_based
from activetest.estimation.evidence import Evidence
from activetest.estimation.missing import Filled, has_worst_case
from activetest.estimation.samples import describe_unfinished
from activetest.estimation.view import View
from activetest.item_statistics.metric import Metric
from activetest.nouns.log import LABELLED, PENDING
from activetest.nouns.name_lists import list_few
from activetest.nouns.report import SKIPPED, EstimateRow, Note, Weight


def note_missing(view: View, rows: Sequence[EstimateRow], metric: Metric) -> list[Note]:
    """How missing answers are counted, which labels wait for them, and what to do about them.

    rows are those of the whole pool, metric the headline's.
    """
    headline = next(row for row in rows if row.headline)
    filled = None if headline.method == "betting" else view.fill_missing(metric)
    evidence = filled.evidence if filled else view.evidence
    notes = []
    if filled:
        notes.append(Note(_describe_filled(view, filled), Weight.WIDE))
        notes += _note_whole_rounds(view, rows)
    waiting = int((evidence.log.status[evidence.used :] == LABELLED).sum())
    if waiting:
        text = (
            f"Labels that the estimates do not use yet: {waiting}, because "
            f"{describe_unfinished(evidence)}. The surrogate already learns from them."
        )
        if users := _list_users(rows, headline):
            text += f" For {', '.join(users)} they count already."
        ids = _list_waiting(view, evidence)
        notes.append(Note(f"{text} {_advise(ids)}" if ids else text, Weight.WIDE))
    if evidence.used and not evidence.whole:
        notes.append(Note(_describe_incomplete(evidence), Weight.INVALID))
    return notes


def _describe_filled(view: View, filled: Filled) -> str:
    """Answers that are missing, and how they are counted."""
    log = filled.evidence.log
    drawn = view.cache.ids(log.rows[filled.drawn])
    supplied = view.cache.ids(log.supplied_rows[filled.supplied])
    count = len(drawn) + len(supplied)
    subject = "1 item has" if count == 1 else f"{count:,} items have"
    verb = "it counts" if count == 1 else "they count"
    text = (
        f"{subject} no label among the draws that the estimates use: {verb} as the surrogate "
        "expects, and the intervals are widened by the worst that the labels could be. "
    )
    if supplied:
        verb = "was" if len(supplied) == 1 else "were"
        text += f"Labels of {list_few(supplied)} {verb} taken back after draws had used them. "
    return (text + (_advise(drawn) if drawn else "")).rstrip()


def _advise(ids: Sequence[str]) -> str:
    """Advice on items that have no label."""
    them = "it" if len(ids) == 1 else "them"
    return (
        f"Without an answer: {list_few(ids)}. Label {them} (`study.next()` shows {them} again), "
        f"or mark {them} {SKIPPED}."
    )


def _list_waiting(view: View, evidence: Evidence) -> list[str]:
    """The ids of items without an answer that later labels wait for."""
    log = evidence.log
    last = log.round[np.flatnonzero(log.status == LABELLED)[-1]]
    return view.cache.ids(log.rows[(log.status == PENDING) & (log.round <= last)])


def _list_users(rows: Sequence[EstimateRow], headline: EstimateRow) -> list[str]:
    """The metrics whose estimates rest on more labels than the headline's."""
    return [
        row.title
        for row in rows
        if row.estimator == headline.estimator and row.n_labeled > headline.n_labeled
    ]


def _note_whole_rounds(view: View, rows: Sequence[EstimateRow]) -> list[Note]:
    """Metrics whose estimates use whole rounds alone, because nothing bounds a missing answer."""
    titles = [
        metric.title
        for metric in view.metrics.values()
        if not has_worst_case(metric, bool(view.cache.classes))
        and any(row.title == metric.title and not is_model_based(row.estimator) for row in rows)
    ]
    if not titles:
        return []
    text = (
        f"{', '.join(titles)}: only labels before the first missing answer count, because nothing "
        "bounds what it could change."
    )
    if view.evidence.used and not view.evidence.whole:
        text += " Their intervals hold only if the easy items were not labelled first."
        return [Note(text, Weight.INVALID)]
    return [Note(text, Weight.WIDE)]


def _describe_incomplete(evidence: Evidence) -> str:
    """How many items of the round of which estimates use the beginning have no label yet."""
    log, number = evidence.log, evidence.log.round[evidence.used]
    status = log.status[log.round == number]
    missing, items = int((status == PENDING).sum()), len(status)
    return (
        f"{missing:,} of the {items:,} items of round {number} "
        f"{'has' if missing == 1 else 'have'} no label yet: the interval holds only if the easy "
        "ones were not labelled first."
    )
