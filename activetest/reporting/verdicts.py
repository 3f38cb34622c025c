"""Gates: what the log says of every requirement. One object decides text, JSON and exit code."""

from activetest.errors import ChoiceError, NotEstimable
from activetest.estimation.planning import gate_labels
from activetest.estimation.samples import Group
from activetest.estimation.view import FIXED, View
from activetest.intervals import betting
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.specification import why_not_bettable
from activetest.nouns.report import UNDECIDED, Gate
from activetest.reporting import requirements
from activetest.reporting.notes import adding
from activetest.reporting.requirements import Requirement
from activetest.reporting.rows import HEADLINE, known_inside, labelled_inside, reliable
from activetest.rounds.fit import generator


def verdicts(
    view: View, wanted: list[tuple[Requirement, Metric]], interval: str | None
) -> tuple[Gate, ...]:
    """One gate per requirement and its metric.

    Raises ChoiceError for a group there is not, and for a threshold that the metric cannot reach.

    Anytime-valid unless the interval asked for is "fixed": that one holds at a single look. The
    error a gate may make is 1 - level. All gates have to pass, so passing any needs no correction;
    failing any takes that error over the number of gates.
    """
    if wanted and view.choices.level <= 0.5:
        raise ChoiceError(
            f"gates need a level above 0.5, and this study has {view.choices.level:g}",
            "activetest init POOL --level 0.95",
        )
    for requirement, metric in wanted:
        if not metric.lower <= requirement.threshold <= metric.upper:
            raise ChoiceError(
                f"requirement {requirement.text!r}: {metric.title} is never below "
                f"{metric.lower:g} or above {metric.upper:g}",
                "write shares, not percentages: 0.9 for 90 %",
            )
        if interval != FIXED and (reason := why_not_bettable(metric)):
            raise ChoiceError(
                f"requirement {requirement.text!r}: there are no bets on it, for {reason}",
                "--interval fixed judges it, for one look"
                + ("; --bound B says what one item can cost" if metric.ratio else ""),
            )
    judge = _fixed if interval == FIXED else _anytime
    return tuple(
        judge(view, requirement, metric, _group(view, requirement), len(wanted))
        for requirement, metric in wanted
    )


def _anytime(
    view: View, requirement: Requirement, metric: Metric, group: Group, count: int
) -> Gate:
    evidence, error = view.evidence, 1 - view.choices.level
    common = _common(view, requirement, metric, group)
    try:
        made, found, (low, high) = view.judged(
            metric, common["level"], group, requirement.threshold
        )
    except NotEstimable as reason:
        return Gate(**common, verdict=UNDECIDED, method="none", reason=_hinted(reason))
    verdict = betting.verdict(
        made,
        0.0,
        at_least=requirement.op == ">=",
        alpha=error,
        gates=count,
        low=low - requirement.threshold,
        high=high - requirement.threshold,
    )
    more = None
    if verdict.word == UNDECIDED and len(made.value) > 1:
        more = gate_labels(
            made,
            0.0,
            estimate=float((made.offset + made.value).mean()),
            at_least=requirement.op == ">=",
            alpha=error,
            gates=count,
            remaining=evidence.groups[0].size - known_inside(view, evidence.groups[0]),
            rng=generator(view.seed, len(view.log.history) + 1, "futures"),
        )
    return Gate(
        **common,
        verdict=verdict.word,
        method=found.method,
        estimate=_estimate(view, metric, group),
        lower=found.lower,
        upper=found.upper,
        e_pass=verdict.e_pass,
        e_fail=verdict.e_fail,
        more=more,
    )


def _fixed(view: View, requirement: Requirement, metric: Metric, group: Group, count: int) -> Gate:
    common = _common(view, requirement, metric, group)
    error = 1 - view.choices.level
    try:
        value = view.value(metric, HEADLINE, group)
    except NotEstimable as reason:
        return Gate(**common, verdict=UNDECIDED, method="none", reason=_hinted(reason))
    if group.column is not None and labelled_inside(view, group) < NEEDS_INSIDE:
        reason = f"a group needs {NEEDS_INSIDE} labels for a gate"
        if not value.inner.exact:
            return Gate(**common, verdict=UNDECIDED, method="none", reason=reason)
    found = view.interval(value, common["level"], FIXED, group)
    strict = view.interval(value, 1 - 2 * error / count, FIXED, group)
    verdict = requirements.from_interval(
        requirement, found.lower, found.upper, strict=(strict.lower, strict.upper)
    )
    reason = None
    if not reliable(value, found.method):
        verdict, reason = UNDECIDED, "there are too few labels to trust its interval"
    elif found.method != "exact":
        reason = "a fixed interval holds for one look at a number of labels chosen in advance"
    return Gate(
        **common,
        verdict=verdict,
        method=found.method,
        estimate=value.value,
        lower=found.lower,
        upper=found.upper,
        reason=reason,
    )


def _common(view: View, requirement: Requirement, metric: Metric, group: Group) -> dict:
    return {
        "requirement": requirement.text,
        "metric": metric.name,
        "class_name": metric.class_name,
        "group": group.meaning,
        "op": requirement.op,
        "threshold": requirement.threshold,
        # Each side errs with probability 1 - level: of an interval of this level, that is one end.
        "level": round(2 * view.choices.level - 1, 12),
        "n_labeled": labelled_inside(view, group),
    }


def _estimate(view: View, metric: Metric, group: Group) -> float | None:
    try:
        return view.value(metric, HEADLINE, group).value
    except NotEstimable:
        return None


def _group(view: View, requirement: Requirement) -> Group:
    """The group that is meant. Raises ChoiceError, naming what there is."""
    groups = view.evidence.groups
    if requirement.group is None:
        return groups[0]
    column, value = requirement.group
    for group in groups[1:]:
        if group.meaning == {column: value}:
            return group
    values = [group.meaning[column] for group in groups[1:] if column in group.meaning]
    if values:
        known = ", ".join(values[:12]) + (", ..." if len(values) > 12 else "")
        raise ChoiceError(
            f"requirement {requirement.text!r}: no item has {column}={value}",
            f"the values of {column} are {known}",
        )
    raise ChoiceError(
        f"requirement {requirement.text!r}: {column!r} is not a group of this study",
        adding(column, view.cache.group_names),
    )


def _hinted(reason: NotEstimable) -> str:
    return reason.problem + (f" ({reason.hint})" if "--interval" in (reason.hint or "") else "")
