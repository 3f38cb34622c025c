"""The subject of a gate: the metric of the pool, of a group, or of one group minus another."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from activetest.errors import NotEstimable
from activetest.estimation.evidence import Group
from activetest.estimation.view import FIXED, View
from activetest.intervals.group_t import NEEDS_INSIDE
from activetest.item_statistics.metric import Metric
from activetest.item_statistics.specification import suggest_bound
from activetest.nouns.estimate import Sample
from activetest.nouns.quantity import DeclinedItems, Quantity, Saving
from activetest.reporting.requirements import Requirement
from activetest.reporting.rows import (
    HEADLINE,
    count_bought,
    count_labelled,
    describe_declined,
    is_reliable,
)


@dataclass(frozen=True)
class Subject:
    """Whose metric a gate is about.

    group     the whole pool, or a group of it
    against   the group that is subtracted; None where a gate is about no difference
    """

    group: Group
    against: Group | None = None

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups that it is about."""
        return (self.group,) if self.against is None else (self.group, self.against)

    def count_bought(self, view: View) -> Saving:
        """Answers about items of its groups that were bought."""
        return count_bought(view, *self.groups)

    def count_labelled(self, view: View, metric: Metric | None = None) -> int:
        """Labelled draws in its groups that estimates of the metric use."""
        alike = self.against is not None
        return sum(count_labelled(view, group, metric, alike=alike) for group in self.groups)


@dataclass(frozen=True)
class Hypothesis:
    """The hypothesis of a gate: a requirement, its metric, and whose metric it is about."""

    requirement: Requirement
    metric: Metric
    subject: Subject


@dataclass(frozen=True)
class GateValue:
    """The value of a gate and its fixed intervals.

    value           of the metric, or of its difference
    few             whether a group has too few labels for a gate
    find_interval   the value with its interval of a level, each end of which has to hold alone
    check_interval  whether there are enough labels to believe such an interval
    declined        what declined items leave open about the value
    doubt           why no number of labels is enough; empty where some is
    """

    value: float
    few: bool
    find_interval: Callable[[float], Quantity]
    check_interval: Callable[[Quantity], bool]
    declined: DeclinedItems | None = None
    doubt: str = ""

    @property
    def ends(self) -> tuple[float, float]:
        """The final limits of the interval: more than the value where declined items count."""
        found = self.declined
        if found is None or found.least is None or found.most is None:
            return self.value, self.value
        return found.least, found.most

    def describe(self, found: Quantity, gate: Quantity, *, reliable: bool = True) -> Quantity:
        """The value with an interval of it, completed as the quantity of a gate."""
        return replace(
            found,
            level=gate.level,
            reliable=reliable,
            saving=gate.saving,
            declined=self.declined,
            assumptions=gate.assumptions,
        )

    def explain_unreliable(self) -> str:
        """Why its interval is not reliable."""
        return self.doubt or "there are too few labels for its interval to be reliable"


def _explain_doubt(sample: Sample) -> str:
    """Why no interval of a sample is reliable, however many labels there are; empty otherwise."""
    if sample.doubted:
        return "annotators' errors are in doubt, as a note says, and its interval with them"
    if sample.unaccounted:
        return "probabilities of a log are in doubt, as a note says, and its interval with them"
    return ""


def measure_gate(view: View, metric: Metric, subject: Subject) -> GateValue:
    """The value of a gate. Raises NotEstimable, with the reason."""
    apart = subject.against is not None
    values = [view.value(metric, HEADLINE, group, alike=apart) for group in subject.groups]
    few = any(
        group.column is not None
        and not value.of_pool.estimate.exact
        and count_labelled(view, group, metric, alike=apart) < NEEDS_INSIDE
        for group, value in zip(subject.groups, values, strict=True)
    )
    first, declined = values[0], describe_declined(view, values)
    if any(value.declined is not None and not value.declined.bounded for value in values):
        raise NotEstimable(
            f"nothing bounds what declined items could make of {metric.title}, and no verdict "
            f"leaves them out; {suggest_bound(metric) or 'choose another metric'}, or another "
            'study that ignores them (`declined="ignore"`)'
        )
    if subject.against is None:
        group = subject.group
        return GateValue(
            first.value,
            few,
            lambda level: view.interval(first, level, FIXED, group, decides=True),
            lambda interval: is_reliable(first, interval.method),
            declined,
            _explain_doubt(first.sample),
        )
    pair, second = (subject.group, subject.against), values[1]

    def check_both(interval: Quantity) -> bool:
        """Whether each group has an interval of its own that is reliable."""
        return all(
            is_reliable(value, view.interval(value, interval.level, FIXED, group).method)
            for value, group in zip(values, pair, strict=True)
        )

    return GateValue(
        first.value - second.value,
        few,
        lambda level: view.difference(first, second, pair, level, decides=True),
        check_both,
        declined,
        _explain_doubt(first.sample),
    )
