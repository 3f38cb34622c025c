"""A plan: how narrow intervals will be after so many labels, and when gates are decided."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

# Parts of futures that a range of labels leaves out on either side.
LOW, HIGH = 0.2, 0.8


@dataclass(frozen=True)
class Range:
    """A number that is not known yet, from one end to the other, and that of random draws."""

    low: float
    high: float
    random: float


@dataclass(frozen=True)
class PlannedWidth:
    """The half-width of the interval after so many labels in all."""

    labels: int
    half_width: Range


@dataclass(frozen=True)
class PlannedGate:
    """Labels at which a gate is decided with a probability, if the truth is this.

    gate     as the user wrote it
    truth    the metric, and by how much it is better than the threshold; below 0 it is worse
    power    probability that one look at so many labels decides the gate
    labels   in all; the whole pool where no smaller number does
    """

    gate: str
    truth: float
    margin: float
    power: float
    labels: Range


@dataclass(frozen=True)
class Plan:
    """The worth of labels, for one metric.

    metric      its title
    n_pool      items of the pool
    n_labeled   labels of draws that the plan rests on; 0 before the first one
    level       of the intervals
    doubt       by which factor the odds of errors may differ from what the model's confidence says;
                None where the plan rests on labels
    expected    the metric: its range before labels, its interval once there are some
    widths      by number of labels
    half_width  that was asked for, and how many labels it needs; None where none was
    needed      labels in all; None without a half-width
    gates       by gate, truth and power
    budget      labels in all that can be bought; None where no limit is known
    """

    metric: str
    n_pool: int
    n_labeled: int
    level: float
    doubt: float | None
    expected: tuple[float, float]
    widths: tuple[PlannedWidth, ...]
    half_width: float | None = None
    needed: Range | None = None
    gates: tuple[PlannedGate, ...] = ()
    budget: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON has it.

        >>> sorted(study.plan().to_dict())[:4]
        ['budget', 'doubt', 'expected', 'gates']
        """
        return asdict(self)

    def list_undecided(self) -> tuple[str, ...]:
        """Gates that the budget decides with no power at any of the truths, in the best case."""
        if self.budget is None:
            return ()
        names = dict.fromkeys(each.gate for each in self.gates)
        return tuple(
            name
            for name in names
            if all(each.labels.low > self.budget for each in self.gates if each.gate == name)
        )

    def __str__(self) -> str:
        """A few lines and tables.

        >>> print(str(study.plan()).splitlines()[0])
        error of 1,497 items, planned from 60 labels: between 3.9 % and 10 % so far
        """
        return "\n".join(self._list_lines())

    def __repr__(self) -> str:
        """One line."""
        return f"<Plan for {self.metric} of {self.n_pool:,} items, from {self.n_labeled:,} labels>"

    def _list_lines(self) -> Iterator[str]:
        low, high = (f"{each:.3g}" for each in self.expected)
        if self.doubt is None:
            yield (
                f"{self.metric} of {self.n_pool:,} items, planned from {self.n_labeled:,} labels: "
                f"between {low} and {high} so far"
            )
        else:
            yield (
                f"{self.metric} of {self.n_pool:,} items, planned before the first label: between "
                f"{low} and {high}"
            )
            yield (
                "  by the model's own confidence, with odds of an error up to "
                f"{self.doubt:g} times lower or higher (`doubt={self.doubt:g}`)"
            )
        yield ""
        yield f"{'labels':>10}  {'half-width':<18}  random draws"
        for each in self.widths:
            width = each.half_width
            yield f"{each.labels:>10,}  {_join(width, '.2g'):<18}  {width.random:.2g}"
        if self.needed is not None:
            yield ""
            yield (
                f"half-width {self.half_width:g}: {_join(self.needed, ',.0f')} labels; "
                f"{self.needed.random:,.0f} random ones"
            )
        for name in dict.fromkeys(each.gate for each in self.gates):
            yield ""
            yield f"{name}: labels at which one look decides it"
            yield f"{'truth':>10}  {'power':<6}  {'labels':<18}  random draws"
            for gate in self.gates:
                if gate.gate == name:
                    labels = gate.labels
                    yield (
                        f"{gate.truth:>10.4g}  {gate.power:<6.0%}  {_join(labels, ',.0f'):<18}  "
                        f"{labels.random:,.0f}"
                    )
        for name in self.list_undecided():
            yield (
                f"{name} is unlikely to be decided with {self.budget:,} labels: within 5 points of "
                "the threshold it needs more"
            )


def _join(found: Range, form: str) -> str:
    """Both ends, or the number where they are the same."""
    low, high = format(found.low, form), format(found.high, form)
    return low if low == high else f"{low} to {high}"
