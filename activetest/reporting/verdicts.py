"""Gates: the verdict on every requirement. One object decides text, JSON and exit code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from activetest.errors import ChoiceError, NotEstimable
from activetest.estimation.anytime import Bets
from activetest.estimation.estimate import WORST_CASE
from activetest.estimation.evidence import Group
from activetest.estimation.looks import plan_looks_of_log
from activetest.estimation.planning import plan_gate
from activetest.estimation.value import Value
from activetest.estimation.view import ANYTIME, FIXED, SEQUENTIAL, View
from activetest.intervals import betting
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.specification import suggest_bound, why_not_bettable
from activetest.nouns.estimate import Increments
from activetest.nouns.quantity import Quantity, write_level
from activetest.nouns.report import UNDECIDED, Gate
from activetest.pool.groups import LABEL, columns_of
from activetest.reporting import requirements
from activetest.reporting.gate_values import Hypothesis, Subject, measure_gate
from activetest.reporting.look_verdicts import LookVerdicts
from activetest.reporting.notes import hint_unknown_group
from activetest.reporting.part_rows import PART, count_together, find_part_view, measure_apart
from activetest.reporting.requirements import Requirement, join_reasons
from activetest.reporting.rows import (
    HEADLINE,
    describe_declined,
    name_assumptions,
)
from activetest.rounds.fit import make_generator

# The judge of a gate of a finding, from the gate before anything is known and the number of gates,
# and the decider that finds the judge for a requirement; None for those that draws decide.
Judge = Callable[[Gate, int], Gate]
Decider = Callable[[View, Requirement, Metric, str | None], Judge | None]

# How gates without an anytime-valid test are decided.
_OTHER_WAYS = (
    '`interval="fixed"` decides it once, at a number of labels fixed beforehand, and studies that '
    "begin with a budget decide it at planned looks"
)


def judge_requirements(
    view: View,
    required: list[tuple[Requirement, Metric]],
    interval: str | None,
    deciders: Sequence[Decider] = (),
) -> tuple[Gate, ...]:
    """One gate per requirement and its metric.

    Gates are sequential in a study that planned looks, and anytime-valid in others, unless another
    `interval` was asked for: "anytime", or "fixed", which holds at a single look. A gate is
    wrong with probability 1 - level at most. All gates have to pass, so a pass needs no
    correction; a fail needs that probability divided by the number of gates.

    deciders  of findings, which decide requirements that no group of the study is about

    Raises ChoiceError as check_requirements does.
    """
    looks, judges = _check_all(view, required, interval, deciders)
    whole = Subject(view.evidence.groups[0])
    gates = (
        _judge_parts(view, requirement, metric, interval, len(required))
        if requirement.parts
        else judge(_undecided_gate(view, Hypothesis(requirement, metric, whole)), len(required))
        if judge
        else _count_draws(
            _judge(view, _read(view, requirement, metric), interval, looks, len(required))
        )
        for (requirement, metric), judge in zip(required, judges, strict=True)
    )
    pairs = zip(gates, required, strict=True)
    return tuple(_say_level(_say_ignored(view, gate), each) for gate, (each, _) in pairs)


def check_requirements(
    view: View,
    required: list[tuple[Requirement, Metric]],
    interval: str | None,
    deciders: Sequence[Decider] = (),
) -> tuple[str, ...]:
    """How each requirement is decided: "fixed", "anytime" or "sequential". Nothing is estimated.

    Raises ChoiceError for a group that does not exist, for a threshold that the metric cannot
    reach, and for sequential gates of a study that planned no looks.
    """
    looks, judges = _check_all(view, required, interval, deciders)
    kind = SEQUENTIAL if looks else FIXED if interval == FIXED else ANYTIME
    # The interval of a finding holds for one look.
    return tuple(FIXED if judge else kind for judge in judges)


def _check_all(
    view: View,
    required: list[tuple[Requirement, Metric]],
    interval: str | None,
    deciders: Sequence[Decider],
) -> tuple[LookVerdicts | None, list[Judge | None]]:
    """The looks of sequential gates, and what decides each requirement that a finding is about.

    Raises ChoiceError as check_requirements does.
    """
    looks = _find_looks(view, required, interval)
    if required and view.choices.level <= 0.5:
        raise ChoiceError(
            f"gates need a level above 0.5, and this study has {view.choices.level:g}",
            "`study.change(level=0.95)`",
        )
    return looks, [_check_requirement(view, *each, interval, looks, deciders) for each in required]


def _check_requirement(
    view: View,
    requirement: Requirement,
    metric: Metric,
    interval: str | None,
    looks: LookVerdicts | None,
    deciders: Sequence[Decider],
) -> Judge | None:
    """The judge of a requirement that a finding is about; None for all others.

    Nothing is fitted or estimated yet. Raises ChoiceError for what no gate of this kind decides.
    """
    if requirement.parts:
        alone = replace(requirement, parts=())
        for name in requirement.parts:
            own = find_part_view(view, name, metric)
            _check_requirement(own, alone, metric, interval, looks, ())
        return None
    known = requirement.group is None or requirement.group[0] in view.cache.group_names
    if known:
        _check_label(view, requirement)
    found = (decide(view, requirement, metric, interval) for decide in deciders if not known)
    judge = next(filter(None, found), None)
    if judge is not None:
        _check_threshold(requirement, metric)
    elif interval != FIXED and looks is None and (reason := why_not_bettable(metric)):
        why = f", because {reason}" if metric.ratio else ""
        hint = suggest_bound(metric)
        raise requirement.refuse(
            f"{metric.title} cannot be decided at every look" + why,
            _OTHER_WAYS + (f"; {hint}" if hint else ""),
        )
    if judge is None:
        if view.log.given is not None and interval != FIXED and looks is None:
            raise requirement.refuse(
                "labels that are corrected for annotators' "
                "errors (dawid-skene) decide nothing at every look",
                _OTHER_WAYS,
            )
        subject = find_subject(view, requirement)
        _check_threshold(requirement, metric, apart=subject.against is not None)
        if subject.against is not None and looks is None and interval != FIXED:
            raise requirement.refuse(
                "a difference between groups cannot be decided at every look",
                _OTHER_WAYS,
            )
    return judge


def _read(view: View, requirement: Requirement, metric: Metric) -> Hypothesis:
    """The hypothesis of a requirement. Raises ChoiceError for a group that does not exist."""
    return Hypothesis(requirement, metric, find_subject(view, requirement))


def _judge(
    view: View, about: Hypothesis, interval: str | None, looks: LookVerdicts | None, count: int
) -> Gate:
    """The verdict on one of `count` requirements, by the kind of gates that the report has."""
    if looks is not None:
        return looks.judge(_undecided_gate(view, about), about)
    if interval == FIXED:
        return _judge_once(view, about, count)
    if view.parts:
        return _judge_by_sequence(view, about, count)
    return _judge_anytime(view, about, count)


def _judge_by_sequence(view: View, about: Hypothesis, count: int) -> Gate:
    """The verdict of the confidence sequence over all parts of one of `count` gates."""
    requirement, metric, group = about.requirement, about.metric, about.subject.group
    gate = _undecided_gate(view, about)
    strict = 1 - 2 * requirement.find_alpha(view.choices.level) / count
    try:
        found, wider = (
            view.confidence_sequence(metric, level, group) for level in (gate.level, strict)
        )
    except NotEstimable as error:
        return replace(gate, reason=_add_hint(error))
    value = _value_or_none(view, metric, group)
    return _decide(gate, requirement, found, wider, None if value is None else value.value, count)


def _judge_parts(
    view: View, requirement: Requirement, metric: Metric, interval: str | None, count: int
) -> Gate:
    """The verdict on one of `count` requirements about a part, or about one less another."""
    first, *others = (find_part_view(view, name, metric) for name in requirement.parts)
    alone = replace(requirement, parts=())
    about = Hypothesis(alone, metric, Subject(first.evidence.groups[0]))
    of_part = {PART: requirement.parts[0]}
    if not others:
        gate = _count_draws(_judge(first, about, interval, None, count))
        return replace(gate, group=of_part, parts=requirement.parts)
    gate, (bought, labels) = _undecided_gate(first, about), count_together([first, *others])
    gate = replace(
        gate,
        group=of_part,
        against={PART: requirement.parts[1]},
        parts=requirement.parts,
        n_labeled=labels,
        quantity=replace(gate.quantity, saving=bought),
    )
    kind = FIXED if interval == FIXED else ANYTIME
    strict = 1 - 2 * requirement.find_alpha(view.choices.level) / count
    try:
        found, wider = (
            measure_apart(first, others[0], metric, level, kind, decides=True)
            for level in (gate.level, strict)
        )
    except NotEstimable as error:
        return replace(gate, reason=_add_hint(error))
    decided = _decide(gate, requirement, found, wider, found.estimate, count)
    if kind == FIXED and not found.reliable:
        reason = "there are too few labels for its interval to be reliable"
        return replace(decided, verdict=UNDECIDED, reason=reason)
    return _count_draws(decided)


def _decide(
    gate: Gate,
    requirement: Requirement,
    found: Quantity,
    wider: Quantity,
    estimate: float | None,
    count: int,
) -> Gate:
    """The gate as an interval decides it, and a wider one that is needed to fail it."""
    verdict = requirements.decide_by_interval(
        requirement, *found.find_ends(), strict=wider.find_ends()
    )
    reason = None
    if verdict == UNDECIDED:
        reason = requirements.explain_shared_error(requirement, *found.find_ends(), count)
    quantity = replace(found, estimate=estimate, level=gate.level, saving=gate.quantity.saving)
    return replace(gate, quantity=quantity, verdict=verdict, reason=reason)


def _say_ignored(view: View, gate: Gate) -> Gate:
    """The gate; where declined items are ignored, its reason says so."""
    if not view.log.declined or view.counts_declined:
        return gate
    about = "declined items are ignored: it is about the items that can be answered"
    return replace(gate, reason=join_reasons(about, gate.reason))


def _say_level(gate: Gate, requirement: Requirement) -> Gate:
    """The gate; where its verdict has a level of its own, its reason says so."""
    if requirement.level is None:
        return gate
    about = f"decided at {write_level(requirement.level)}"
    return replace(gate, reason=join_reasons(about, gate.reason))


def _count_draws(gate: Gate) -> Gate:
    """The gate with its draws, which its labels are of; without where its value is exact."""
    return replace(gate, n_draws=None if gate.quantity.kind == "exact" else gate.n_labeled)


def _check_threshold(requirement: Requirement, metric: Metric, *, apart: bool = False) -> None:
    """Raises ChoiceError for a threshold that the metric, or a difference of two, cannot reach."""
    lower, upper = metric.lower, metric.upper
    if apart:
        lower, upper = lower - upper, upper - lower
    if not lower <= requirement.threshold <= upper:
        what = f"a difference of {metric.title}" if apart else metric.title
        raise requirement.refuse(
            f"{what} is never below {lower:g} or above {upper:g}",
            "write shares, not percentages: 0.9 for 90 %",
        )


def _find_looks(
    view: View, required: list[tuple[Requirement, Metric]], interval: str | None
) -> LookVerdicts | None:
    """The looks of sequential gates; None where gates are of another kind.

    Raises ChoiceError where they are asked for and none were planned.
    """
    if interval in (FIXED, ANYTIME) or (not required and interval != SEQUENTIAL):
        return None
    plan = plan_looks_of_log(view.choices, view.log, view.cache)
    if plan is None and interval == SEQUENTIAL:
        raise ChoiceError(
            "this study planned no looks before its first draw",
            'begin another one with a budget, or decide at every look: `interval="anytime"`',
        )
    if plan is None or not required:
        return None
    return LookVerdicts(view, plan, [metric for _, metric in required], len(required))


def _judge_anytime(view: View, about: Hypothesis, count: int) -> Gate:
    """The verdict of the e-processes of one of `count` gates, with the numbers of its moment."""
    requirement, metric, group = about.requirement, about.metric, about.subject.group
    whole, alpha = view.evidence.groups[0], requirement.find_alpha(view.choices.level)
    gate = _undecided_gate(view, about)
    try:
        bets, (low, high) = view.bet_on_metric(metric, group, requirement.threshold)
    except NotEstimable as error:
        return replace(gate, reason=_add_hint(error))
    verdict = betting.decide_verdict(
        bets.at,
        0.0,
        at_least=requirement.op == ">=",
        alpha=alpha,
        gates=count,
        low=low - requirement.threshold,
        high=high - requirement.threshold,
        highest=None if bets.most is None else bets.most.at,
    )
    more, at = None, _find_deciding(bets)
    if verdict.word == UNDECIDED and at is not None and len(at.value) > 1:
        more = plan_gate(
            at,
            0.0,
            estimate=float((at.offset + at.value).mean()),
            at_least=requirement.op == ">=",
            alpha=alpha,
            gates=count,
            remaining=whole.size - view.evidence.count_known(whole),
            rng=make_generator(view.seed, len(view.log.history) + 1, "futures"),
        )
    moment, reason = _Moment(view, None), None
    if verdict.draws:
        moment = _find_moment(view, about, verdict.draws)
        if moment.view is not view:
            bets, (low, high) = moment.view.bet_on_metric(metric, group, requirement.threshold)
            reason = (
                f"decided in round {moment.round}; the estimate, the interval and the labels are "
                "those of that round"
            )
    view = moment.view
    gate = _undecided_gate(view, about)
    interval = bets.interval(gate.level, (low, high))
    if verdict.word == UNDECIDED:
        reason = requirements.explain_shared_error(requirement, *interval.find_ends(), count)
    value = _value_or_none(view, metric, group)
    return replace(
        gate,
        quantity=replace(
            interval,
            estimate=None if value is None else value.value,
            saving=gate.quantity.saving,
            assumptions=gate.quantity.assumptions,
            declined=None if value is None else describe_declined(view, [value]),
        ),
        verdict=verdict.word,
        e_pass=verdict.e_pass,
        e_fail=verdict.e_fail,
        more_labels=more,
        decided_round=moment.round,
        reason=reason,
    )


def _find_deciding(bets: Bets) -> Increments | None:
    """The increments that may decide a gate; None where declined items alone leave it open.

    The metric is at least the threshold if it is with every declined item at its least, and at most
    the threshold if it is with every one at its most.
    """
    if bets.most is None or (bets.at.offset + bets.at.value).sum() >= 0:
        return bets.at
    most = bets.most.at
    return most if (most.offset + most.value).sum() < 0 else None


@dataclass(frozen=True)
class _Moment:
    """When a gate was decided: the round, and what was known then."""

    view: View
    round: int | None


def _find_moment(view: View, about: Hypothesis, draws: int) -> _Moment:
    """When so many draws had decided a gate: the end of a round, for one looks after rounds."""
    requirement, metric, group = about.requirement, about.metric, about.subject.group
    rounds = view.evidence.log.round[view.evidence.steps]
    decided = int(rounds[draws - 1])
    earlier = rounds[rounds < decided]
    if len(earlier) == draws - 1 > 0:
        # The first draw of a round shows what was certain before it, at the last look.
        last = int(earlier[-1])
        for supplied in (last, decided):
            then = view.as_of(last, [metric], supplied=supplied)
            limits = then.possible_range(metric, group)
            at_least = requirement.op == ">="
            if betting.decide_by_range(requirement.threshold, *limits, at_least=at_least):
                return _Moment(then, last)
    if decided == rounds[-1]:
        return _Moment(view, decided)
    return _Moment(view.as_of(decided, [metric], supplied=decided), decided)


def _judge_once(view: View, about: Hypothesis, count: int) -> Gate:
    """The verdict of the fixed interval of one of `count` gates."""
    requirement, metric, subject = about.requirement, about.metric, about.subject
    gate = _undecided_gate(view, about)
    try:
        found = measure_gate(view, metric, subject)
    except NotEstimable as error:
        return replace(gate, reason=_add_hint(error))
    gate = replace(gate, n_labeled=subject.count_labelled(view, metric))
    if found.few:
        return replace(gate, reason=f"a group needs {NEEDS_INSIDE} labels for a gate")
    interval = found.find_interval(gate.level)
    strict = found.find_interval(1 - 2 * requirement.find_alpha(view.choices.level) / count)
    verdict = requirements.decide_by_interval(
        requirement, *interval.find_ends(), strict=strict.find_ends()
    )
    enough, reason = found.check_interval(interval), None
    if not enough:
        verdict, reason = UNDECIDED, found.explain_unreliable()
    elif interval.method not in ("exact", WORST_CASE):
        reason = "a fixed interval holds for one look at a number of labels chosen in advance"
        if verdict == UNDECIDED:
            shared = requirements.explain_shared_error(requirement, *interval.find_ends(), count)
            reason = join_reasons(shared, reason)
    if view.population:
        reason = join_reasons("it is about the population that this pool is a sample of", reason)
    return replace(
        gate,
        quantity=found.describe(interval, gate.quantity, reliable=enough),
        verdict=verdict,
        reason=reason,
    )


def _check_label(view: View, requirement: Requirement) -> None:
    """Raises ChoiceError for groups of the attribute that is the unknown label itself."""
    column, value = requirement.group or ("", "")
    if LABEL not in columns_of(column) or LABEL not in view.cache.roles.get("computed", ()):
        return
    raise requirement.refuse(
        f"the groups of {LABEL!r} are those of the most probable class, and not of the true one",
        f"'recall[{value}]' is the accuracy where the label is {value!r}"
        if column == LABEL
        else f"leave {column!r} out of `groups`: the surface has the true classes",
    )


def _undecided_gate(view: View, about: Hypothesis) -> Gate:
    """The gate before anything is known."""
    requirement, metric, subject = about.requirement, about.metric, about.subject
    # Each side errs with probability 1 - level: of an interval of this level, that is one end.
    level = 1 - float(f"{2 * requirement.find_alpha(view.choices.level):.9g}")
    return Gate(
        quantity=Quantity(
            *(None, None, None, level, "none"),
            saving=subject.count_bought(view),
            assumptions=name_assumptions(view, metric, subject.group),
        ),
        requirement=requirement.text,
        metric=metric.name,
        class_name=metric.class_name,
        models=metric.models,
        group=subject.group.meaning,
        against=None if subject.against is None else subject.against.meaning,
        op=requirement.op,
        threshold=requirement.threshold,
        verdict=UNDECIDED,
        n_labeled=subject.count_labelled(view),
    )


def _value_or_none(view: View, metric: Metric, group: Group) -> Value | None:
    try:
        return view.value(metric, HEADLINE, group, kind=ANYTIME)
    except NotEstimable:
        return None


def find_subject(view: View, requirement: Requirement) -> Subject:
    """Subject of a requirement: of "A,B", the group A minus the group B, unless that is a value.

    Raises ChoiceError, naming the groups that exist.
    """
    groups = view.evidence.groups
    if requirement.group is None:
        return Subject(groups[0])
    column, value = requirement.group
    known = {name: group for group in groups[1:] for name in _list_values(group, column)}
    if value in known:
        return Subject(known[value])
    parts = value.split(",")
    for place in range(1, len(parts)):
        first, second = (",".join(each).strip() for each in (parts[:place], parts[place:]))
        if first in known and second in known and first != second:
            return Subject(known[first], known[second])
    meanings = [group.meaning or {} for group in groups[1:]]
    values = [meaning[column] for meaning in meanings if column in meaning]
    if values:
        shown = ", ".join(values[:12]) + (", ..." if len(values) > 12 else "")
        raise requirement.refuse(
            f"no item has {column}={value}",
            f"the values of {column} are {shown}",
        )
    raise requirement.refuse(
        f"{column!r} is not a group of this study",
        hint_unknown_group(column, view.cache.group_names),
    )


def _list_values(group: Group, column: str) -> list[str]:
    """The value of a group, if it is one of this column."""
    meaning = group.meaning or {}
    return [meaning[column]] if list(meaning) == [column] else []


def _add_hint(reason: NotEstimable) -> str:
    """The reason in words, with its hint where that is an argument of the report."""
    return reason.problem + (f" ({reason.hint})" if "interval=" in (reason.hint or "") else "")
