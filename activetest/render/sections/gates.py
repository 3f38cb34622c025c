"""The verdicts on gates, with the numbers that they were decided by."""

from collections.abc import Iterable, Iterator, Sequence

from activetest.nouns.report import Gate, Report, count_verdicts
from activetest.render.document import words
from activetest.render.document.blocks import (
    Block,
    Bullets,
    Columns,
    Sentence,
    draw_bars,
    tabulate,
)
from activetest.render.document.extent import Extent

PLACE = 1
TITLE = "Gates"
OF = "gates"

# When intervals hold.
_VALIDITY = {"betting": "valid at every look"}
_ONCE = "for one look"


def write(gates: Sequence[Gate], report: Report, extent: Extent) -> Iterator[Block]:
    """How many gates came to which verdict, each of them, and what else to know."""
    counts = count_verdicts(gates)
    if extent.paged:
        counts = counts.partition(": ")[2]
    yield Sentence(counts, evidence(gates))
    columns: Columns = {
        "gate": lambda gate: words.plain(gate.requirement.strip()),
        "verdict": lambda gate: gate.verdict.upper(),
        "estimate": words.estimate,
        "interval": words.interval,
        "labels": lambda gate: words.count(gate.n_labeled),
        "more labels": _write_more_labels,
    }
    if any(gate.since_added for gate in gates):
        columns["since it came"] = _write_later
    bars = draw_bars(
        "gates",
        columns,
        gates,
        tuple(columns)[4:],
        verdict=lambda gate: gate.verdict,
        limits=lambda gate: (gate.threshold,),
        titled=False,
    )
    if all(gate.more_labels is None for gate in gates):
        del columns["more labels"]
    yield tabulate("", columns, gates, bars=bars, whole="`report.gates` has all")
    yield Bullets(remarks(gates))


def verdict(gate: Gate) -> str:
    """The decision on a gate, and its grounds."""
    waiting = gate.looks is not None and gate.look == 0
    nothing = "No look yet." if waiting else "No estimate yet."
    known = nothing if gate.estimate is None else words.sentence(gate)
    return f"{gate.verdict.upper()}: {known} Required: {gate.requirement.strip()}"


def grounds(gate: Gate) -> list[tuple[str, str]]:
    """Everything that a verdict rests on."""
    rows = [
        ("required", f"{words.metric(gate)} {gate.op} {gate.threshold}"),
        ("group", words.group(gate) if gate.group else "all items"),
        ("verdict", gate.verdict.upper()),
        ("estimate", words.estimate(gate)),
        ("interval", f"{words.interval(gate)} ({words.write_level(gate.level)}, {gate.method})"),
        ("labels used", words.count(gate.n_items)),
    ]
    if gate.looks is not None:
        rows.append(("look", f"{gate.look} of {gate.looks}"))
    if gate.decided_round is not None:
        rows.append(("decided in round", words.count(gate.decided_round)))
    if gate.more_labels is not None:
        rows.append(("labels still expected to be needed", _write_more_labels(gate)))
    if gate.labels_to_next_look is not None:
        rows.append(("labels until the next look", words.count(gate.labels_to_next_look)))
    if gate.p_pass is not None:
        rows.append(("passes by the last look", _write_chance(gate.p_pass)))
    if gate.since_added is not None:
        rows.append(("by draws since the model came", _write_later(gate)))
    return rows + ([("note", words.plain(gate.reason))] if gate.reason else [])


def _write_more_labels(gate: Gate) -> str:
    return "-" if gate.more_labels is None else f"about {words.roughly(gate.more_labels)}"


def _write_later(gate: Gate) -> str:
    """The number of a gate by draws since its model came, and how many labels these have."""
    found = gate.since_added
    if found is None:
        return "-"
    labels = f"{words.count(found.n_labeled)} label{'s' * (found.n_labeled != 1)}"
    if found.estimate is None:
        return f"- ({labels})"
    return f"{words.estimate(found)} ({words.interval(found)}; {labels})"


def _describe_validity(gate: Gate) -> str:
    """When the interval of a gate holds."""
    if gate.looks is not None:
        return f"for {gate.looks} planned looks" if gate.looks > 1 else "for one planned look"
    return _VALIDITY.get(gate.method, _ONCE)


def _write_chance(share: float) -> str:
    """A probability in percent, without false precision at its ends."""
    if not 0.01 <= share <= 0.99:
        return "below 1 %" if share < 0.5 else "above 99 %"
    return f"with a probability of {100 * share:.0f} %"


def remarks(gates: Sequence[Gate]) -> list[str]:
    """Remarks on gates; a reason that several of them have is given once."""
    by_reason: dict[str, list[str]] = {}
    for gate in gates:
        if gate.reason:
            by_reason.setdefault(gate.reason, []).append(gate.requirement.strip())
    every = len(gates) if len(gates) > 1 else 0
    return [
        words.plain(f"{'every gate' if len(names) == every else ', '.join(names)}: {reason}")
        for reason, names in by_reason.items()
    ]


def evidence(gates: Iterable[Gate]) -> str:
    """The intervals that gates show, in brackets after their verdicts: level, and when they hold.

    Empty where they show none, or where every answer is known.
    """
    shown = (
        f"{words.write_level(gate.level)} intervals, {_describe_validity(gate)}"
        for gate in gates
        if gate.lower is not None and gate.quantity.kind != "exact"
    )
    kinds = "; ".join(dict.fromkeys(shown))
    return f" ({kinds})" if kinds else ""
