"""Notes on assumptions: how labels bear on them, and which would narrow an interval."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from activetest.errors import ActivetestError
from activetest.estimation.assumptions import check_assumption, propose_assumption
from activetest.estimation.group_estimates import HEADLINE
from activetest.estimation.view import FIXED, View
from activetest.item_statistics.metric import Metric
from activetest.nouns.report import (
    REFUTED,
    SUPPORTED,
    UNTESTED,
    AssumptionCheck,
    EstimateRow,
    Note,
    Weight,
)
from activetest.nouns.rounding import cut_digits, is_above

_VERDICTS = {
    REFUTED: "refuted by the labels, and no number rests on it",
    SUPPORTED: "supported by the labels",
    UNTESTED: "untested",
}
# Of the width of an interval, so much is left at most where an assumption is worth a sentence.
_NARROW = 0.7


def write_assumption_notes(
    view: View,
    checks: Sequence[AssumptionCheck],
    metrics: Sequence[Metric],
    rows: Sequence[EstimateRow],
    kind: str,
) -> list[Note]:
    """Notes on how labels bear on assumptions; without any, on which would narrow an interval most.

    metrics are those of the whole pool, the headline's first, and kind is that of the intervals.
    """
    notes = [_describe_check(check) for check in checks]
    if checks and view.log.declined:
        notes.append(
            Note("While items are declined, no number rests on an assumption.", Weight.ANSWER)
        )
    name = next((metric.class_name for metric in metrics if metric.class_name is not None), None)
    if checks or name is None or kind != FIXED or view.population is not None:
        return notes
    with suppress(ActivetestError):
        notes += _propose(view, name, metrics, rows)
    return notes


def _describe_check(check: AssumptionCheck) -> Note:
    """Whether numbers rest on an assumption, and what the labels at hand say about it."""
    text = f"The assumption {check.assumption} is {_VERDICTS[check.verdict]}: {_count(check)}"
    if check.verdict == UNTESTED:
        text += (
            f", and so few could not have shown that it is wrong (up to {_percent(check.upper)} of "
            "these items may be). Numbers that name it are right if it is"
        )
    return Note(f"{text}.", Weight.ANSWER)


def _propose(
    view: View, class_name: str, metrics: Sequence[Metric], rows: Sequence[EstimateRow]
) -> list[Note]:
    """The first metric whose interval an assumption would make much narrower, if there is one."""
    proposed = propose_assumption(view.evidence, class_name, view.choices.level)
    assumed = replace(view, assumptions=(proposed,) if proposed else ())
    whole = view.evidence.groups[0]
    known = {
        each.title: each
        for each in rows
        if each.estimator == HEADLINE and each.group is None and each.against is None
    }
    for metric in metrics:
        row = known.get(metric.title)
        if row is None or row.lower is None or row.upper is None or row.method == "exact":
            continue
        if proposed is None or not assumed.find_assumptions(metric, whole):
            continue
        low, high = assumed.interval(assumed.value(metric, HEADLINE), row.level).find_ends()
        if not is_above(high - low, _NARROW * (row.upper - row.lower)):
            check = check_assumption(proposed, view.evidence, view.choices.level)
            lower, upper = (f"{cut_digits(end):.2g}" for end in (low, high))
            text = (
                f"{_count(check)}: up to {_percent(check.upper)} of these items may be. If at most "
                f"one in {1 / check.at_most:,.0f} of them is "
                f"(`study.report(assume={proposed.text!r})`), {metric.title} is {lower} to {upper}."
            )
            return [Note(text, Weight.WIDE)]
    return []


def _count(check: AssumptionCheck) -> str:
    """How many labels of its items are of the class."""
    verb = "is" if check.n_found == 1 else "are"
    return (
        f"{check.n_found:,} of {check.n_labeled:,} labels of the {check.n_pool:,} items with a "
        f"score below {check.below:g} {verb} of class {check.class_name}"
    )


def _percent(share: float) -> str:
    """A share in percent, to two digits."""
    return f"{100 * cut_digits(share):.2g} %"
