"""How verdicts on gates are put into words, the same in every format that people read."""

from collections.abc import Iterable, Sequence

from activetest.nouns.report import Gate
from activetest.render import _words as words
from activetest.render._tables import Table


def table(given: Sequence[Gate]) -> Table:
    """One row per requirement; how many more labels only where somebody knows."""
    headings = ("gate", "verdict", "estimate", "interval", "labels", "more labels")
    rows = (
        (words.plain(gate.requirement.strip()), gate.verdict.upper(), words.estimate(gate))
        + (words.interval(gate), words.count(gate.n_labeled))
        + (f"about {words.roughly(gate.more)}" if gate.more is not None else "-",)
        for gate in given
    )
    shown = len(headings) - all(gate.more is None for gate in given)
    return Table("", headings[:shown], tuple(row[:shown] for row in rows))


def verdict(gate: Gate) -> str:
    """What was decided on a gate, and on what grounds."""
    known = f"{words.estimate(gate)}, {words.certainty(gate)}"
    if gate.estimate is None:
        known = "no estimate"
    return f"{gate.verdict.upper()}: {known}, required {gate.op} {gate.threshold}"


def grounds(gate: Gate) -> list[tuple[str, str]]:
    """Everything that a verdict rests on."""
    rows = [
        ("required", f"{words.metric(gate)} {gate.op} {gate.threshold}"),
        ("group", words.named(gate.group) if gate.group else "all items"),
        ("verdict", gate.verdict.upper()),
        ("estimate", words.estimate(gate)),
        ("interval", f"{words.interval(gate)} ({words.percent(gate.level)}, {gate.method})"),
        ("labels used", words.count(gate.n_labeled)),
    ]
    if gate.more is not None:
        rows.append(("labels still expected to be needed", f"about {words.roughly(gate.more)}"))
    return rows + ([("note", words.plain(gate.reason))] if gate.reason else [])


def remarks(gates: Sequence[Gate]) -> list[str]:
    """What else to know about gates; what holds for several of them is said once."""
    named: dict[str, list[str]] = {}
    for gate in gates:
        if gate.reason:
            named.setdefault(gate.reason, []).append(gate.requirement.strip())
    return [
        words.plain(f"{'every gate' if 1 < len(gates) == len(names) else ', '.join(names)}: {said}")
        for said, names in named.items()
    ]


def evidence(gates: Iterable[Gate]) -> str:
    """The intervals that gates show: their methods and levels."""
    shown = (
        f"{gate.method} at {words.percent(gate.level)}" for gate in gates if gate.lower is not None
    )
    return ", ".join(dict.fromkeys(shown))
