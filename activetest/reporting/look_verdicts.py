"""Sequential gates: verdicts at planned looks, each from the log as it was at that look.

A verdict is a function of the log at the last complete look. The first look that decides a gate
decides it for good; what lies between two looks decides nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from activetest.errors import NotEstimable
from activetest.estimation.estimate import WORST_CASE
from activetest.estimation.looks import Look, LookPlan, count_answered
from activetest.estimation.spending import find_conditional_power, find_look_levels
from activetest.estimation.view import View
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.specification import why_not_bettable
from activetest.nouns.quantity import Quantity
from activetest.nouns.report import UNDECIDED, Gate
from activetest.nouns.rounding import MARGIN
from activetest.nouns.rows import Array
from activetest.reporting.gate_values import GateValue, Hypothesis, measure_gate
from activetest.reporting.requirements import (
    Requirement,
    decide_by_interval,
    explain_shared_error,
    join_reasons,
)

# Intervals that cannot be wrong.
_CERTAIN = ("exact", WORST_CASE)
# From which time on a gate that will hardly pass is said to be one, and how hardly that is.
_ADVISED_FROM, _FUTILE = 0.35, 0.05


@dataclass(frozen=True)
class Ends:
    """The interval of a gate at a look, and that of one of `count` gates that may fail.

    found          the value behind them
    interval       its ends err with the look's level each
    strict         the same for the level of a gate that shares the error of failing
    """

    found: GateValue
    interval: Quantity
    strict: Quantity


class LookVerdicts:
    """The complete looks of a study: what was known at each is collected once, for all gates.

    view      of all metrics of gates, now
    plan      of the looks
    metrics   of the gates
    count     number of gates
    """

    def __init__(self, view: View, plan: LookPlan, metrics: Sequence[Metric], count: int) -> None:
        self.view, self.plan, self.count = view, plan, count
        self._metrics = list({metric.title: metric for metric in metrics}.values())
        self.looks = plan.list_complete_looks(view.log)
        self._views: dict[int, View] = {}

    def judge(self, gate: Gate, about: Hypothesis) -> Gate:
        """The verdict of the first look that decides; gate is what is known without one."""
        gate = self._judge(gate, about)
        if self.view.population is None:
            return gate
        population = "it is about the population that this pool is a sample of"
        return replace(gate, reason=join_reasons(population, gate.reason))

    def _judge(self, gate: Gate, about: Hypothesis) -> Gate:
        gate = replace(gate, looks=len(self.plan.due), look=0)
        for place, look in enumerate(self.looks):
            gate, decided = self._judge_look(gate, place, about)
            if decided:
                reason = (
                    f"decided at look {look.number} of {gate.looks}, in round {look.round}; the "
                    "estimate, the interval and the labels are those of that look"
                )
                return replace(gate, decided_round=look.round, reason=reason)
        if (known := self._judge_known(gate, about)) is not None:
            return known
        return self._describe_wait(gate, about)

    def _judge_look(self, gate: Gate, place: int, about: Hypothesis) -> tuple[Gate, bool]:
        """The gate after this look, and whether the look decides it."""
        look, subject = self.looks[place], about.subject
        then = self._view_at(look)
        quantity = replace(
            gate.quantity,
            estimate=None,
            lower=None,
            upper=None,
            method="none",
            reliable=True,
            saving=subject.count_bought(then),
        )
        gate = replace(
            gate,
            quantity=quantity,
            look=look.number,
            n_labeled=subject.count_labelled(then),
            reason=None,
        )
        try:
            ends = self._find_ends(then, place, about)
        except NotEstimable as error:
            return replace(gate, reason=error.problem), False
        gate = replace(gate, n_labeled=subject.count_labelled(then, about.metric))
        if ends.found.few:
            return replace(gate, reason=f"a group needs {NEEDS_INSIDE} labels for a gate"), False
        interval, strict = ends.interval, ends.strict
        if interval.method not in _CERTAIN and self._is_exact(look):
            reason = (
                "every item that can be drawn has an answer, but its value is still in doubt, and "
                "no error is left for this look"
            )
            return replace(gate, reason=reason), False
        enough = ends.found.check_interval(interval)
        gate = replace(gate, quantity=ends.found.describe(interval, quantity, reliable=enough))
        if not enough:
            return replace(gate, reason=ends.found.explain_unreliable()), False
        requirement = about.requirement
        word = decide_by_interval(requirement, *interval.find_ends(), strict=strict.find_ends())
        if word == UNDECIDED:
            shared = explain_shared_error(requirement, *interval.find_ends(), self.count)
            return replace(gate, reason=shared), False
        return replace(gate, verdict=word), True

    def _is_exact(self, look: Look) -> bool:
        """Whether the plan expects the value itself at this look, and spends no error on it."""
        return self.plan.is_exact(look.draws, population=self.view.population is not None)

    def _judge_known(self, gate: Gate, about: Hypothesis) -> Gate | None:
        """The verdict of the value itself, once every answer is known; None before.

        It cannot be wrong, and takes no error from any look.
        """
        try:
            found = measure_gate(self.view, about.metric, about.subject)
            interval = found.find_interval(gate.level)
        except NotEstimable:
            return None
        if interval.method not in _CERTAIN:
            return None
        quantity = found.describe(interval, gate.quantity)
        verdict = decide_by_interval(about.requirement, *interval.find_ends())
        reason = "every answer is known"
        if verdict == UNDECIDED:
            reason += ", and declined items leave it open"
        return replace(
            gate,
            quantity=replace(quantity, saving=about.subject.count_bought(self.view)),
            verdict=verdict,
            n_labeled=about.subject.count_labelled(self.view, about.metric),
            reason=reason,
        )

    def _find_ends(self, then: View, place: int, about: Hypothesis) -> Ends:
        """The intervals at a look. Raises NotEstimable."""
        found = measure_gate(then, about.metric, about.subject)
        draws = [look.draws for look in self.looks]
        interval, strict = (
            found.find_interval(1 - 2 * float(self._find_levels(about, draws, gates)[place]))
            for gates in (1, self.count)
        )
        return Ends(found, interval, strict)

    def _find_levels(self, about: Hypothesis, draws: Sequence[int], gates: int) -> Array:
        """(K,) one-sided level of looks after these draws (K,), of one of several gates."""
        own = about.requirement.level
        plan = self.plan if own is None else replace(self.plan, level=own)
        whole = self.view.population is not None
        return find_look_levels(plan, draws, gates=gates, population=whole)

    def _view_at(self, look: Look) -> View:
        if look.round not in self._views:
            self._views[look.round] = self.view.at_end_of(look.round, self._metrics)
        return self._views[look.round]

    def _describe_wait(self, gate: Gate, about: Hypothesis) -> Gate:
        """The undecided gate, with what is to come."""
        coming = self._list_coming()
        if not coming:
            reason = self._describe_end(gate, about)
            return replace(gate, reason=join_reasons(gate.reason, reason))
        wait = coming[0][1]
        labels = f"{wait:,} more label{'s' * (wait != 1)}"
        if not gate.look:
            which = f"first of {gate.looks} looks" if len(self.plan.due) > 1 else "only look"
            reason = f"the {which} comes after {labels}"
        else:
            reason = f"undecided at look {gate.look} of {gate.looks}; the next comes after {labels}"
        gate = replace(gate, labels_to_next_look=wait, reason=join_reasons(gate.reason, reason))
        if not self.looks or gate.estimate is None or not gate.quantity.reliable:
            return gate
        return self._predict_gate(gate, about, coming)

    def _describe_end(self, gate: Gate, about: Hypothesis) -> str:
        """The effect of the end of the looks on an undecided gate, and what is left to do."""
        stays = "stays so unless every item gets a label: until then, further labels"
        ways = "another study with a budget may still decide it, with an error of its own"
        if self.view.population is not None:
            stays = "stays so: further labels"
        elif about.subject.against is None and why_not_bettable(about.metric) is None:
            ways = f'`interval="anytime"` or {ways}'
        look = f"last of {gate.looks} looks" if len(self.plan.due) > 1 else "only look"
        return (
            f"undecided at the {look}, and {stays} narrow the intervals of the "
            f"tables and decide nothing; {ways} (see the page on gates)"
        )

    def _predict_gate(
        self, gate: Gate, about: Hypothesis, coming: Sequence[tuple[int, int]]
    ) -> Gate:
        """The gate with what becomes of it if draws go on as they did until its last look."""
        ends = self._find_ends(self._view_at(self.looks[-1]), -1, about)
        whole = self.view.population is not None
        time = self.plan.find_time(self.looks[-1].draws, population=whole)
        draws = [look.draws for look in self.looks] + [due for due, _ in coming]
        times = [self.plan.find_time(due, population=whole) for due, _ in coming]
        sides = []
        for toward, gates in ((True, 1), (False, self.count)):
            levels = self._find_levels(about, draws, gates)
            present = float(levels[len(self.looks) - 1])
            chosen = ends.interval if toward else ends.strict
            found = ends.found.ends
            z_score = _find_z_score(about.requirement, chosen, found, present, toward=toward)
            sides.append((z_score, levels[len(self.looks) :]))
        more = [
            wait
            for (due, wait), when, *limits in zip(
                coming, times, *(levels for _, levels in sides), strict=True
            )
            if self.plan.is_exact(due, population=whole)
            or any(
                z_score * (when / time) ** 0.5 >= -ndtri(limit)
                for (z_score, _), limit in zip(sides, limits, strict=True)
            )
        ]
        gate = replace(gate, more_labels=more[0] if more else None)
        if time < _ADVISED_FROM:
            return gate
        if self.plan.is_exact(draws[-1], population=whole):
            # The value itself decides then.
            p_pass, p_fail = (float(ndtr(z_score)) for z_score, _ in sides)
        else:
            p_pass, p_fail = (
                find_conditional_power(z_score, time, float(levels[-1]))
                for z_score, levels in sides
            )
        gate = replace(gate, p_pass=p_pass)
        if p_pass >= _FUTILE:
            return gate
        below = f"a probability below {100 * _FUTILE:g} %"
        advice = f"if draws go on like this, it passes by the last look with {below}"
        if p_fail < _FUTILE:
            advice = (
                "if draws go on like this, it stays undecided: by the last look it passes and it "
                f"fails with {below} each"
            )
        return replace(gate, reason=join_reasons(gate.reason, advice))

    def _list_coming(self) -> list[tuple[int, int]]:
        """(draws, labels until then) of every look that is not complete."""
        reached = self.looks[-1].number if self.looks else 0
        return self.plan.list_coming(reached, count_answered(self.view.log))


def _find_z_score(
    requirement: Requirement,
    interval: Quantity,
    ends: tuple[float, float],
    level: float,
    *,
    toward: bool,
) -> float:
    """How many standard errors the estimate is beyond the threshold, on the side of this verdict.

    The standard error is that of the limit that decides: its distance over that many. ends are what
    the limits are of: both the estimate, but where declined items count.
    """
    rises = (requirement.op == ">=") == toward
    value = ends[0] if rises else ends[1]
    room = value - interval.find_ends()[0] if rises else interval.find_ends()[1] - value
    distance = value - requirement.threshold if rises else requirement.threshold - value
    reach = -float(ndtri(level))
    if room <= MARGIN or not np.isfinite(reach):
        return float(np.sign(distance)) * np.inf if abs(distance) > MARGIN else 0.0
    return distance / room * reach
