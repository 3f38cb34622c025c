"""What a report says about a task beside its numbers, in plain sentences."""

from activetest.bandits.arms import ECE
from activetest.bandits.bandit import ESTIMATE
from activetest.nouns.group_report import Assessment
from activetest.reporting.group_ranking import EXACT, NONE, PSEUDO
from activetest.reporting.rows import HEADLINE

# Names that a sentence lists.
_LISTED = 8
# Groups of which nothing is drawn.
_SURE = (EXACT, NONE)


def compared(one: dict, two: dict, region: str, worse: int, rope: float) -> str:
    """What a region says about the first of two groups; worse is 1 where a larger value is."""
    first, second = named(one), named(two)
    if region == "within":
        return f"{first} and {second} differ by at most {rope:g}"
    which = "worse" if (region == "above") == (worse > 0) else "better"
    return f"{first} is {which} than {second} by more than {rope:g}"


def named(group: dict) -> str:
    """A group as column=value."""
    return ", ".join(f"{column}={value}" for column, value in group.items())


def notes(answer: Assessment) -> list[str]:
    """Which groups and parts are estimated otherwise than by their posterior, and why."""
    said = _uneven(answer)
    if answer.task == ESTIMATE:
        said.append(
            "Posteriors know each group by its own labels alone. Under `shrunk`, in the table of "
            "groups, the others help, and simulations found it nearer to the truth in most cases."
        )
    if answer.metric.startswith(ECE) and any(each.method not in _SURE for each in answer.groups):
        said.append(
            "P(worst), P(best) and ranks rest on draws of calibration errors, which lie above the "
            "truth where labels are few: P(worst) leans towards groups with few labels."
        )
    if answer.confusion:
        columns = [(each.predicted, each.method) for each in answer.confusion.columns]
        said += _parts("predicted classes", "columns of the confusion matrix for", columns)
    if answer.reliability:
        bins = answer.reliability.bins
        named_bins = [(f"{each.low:.1f}-{each.high:.1f}", each.method) for each in bins]
        said += _parts("bins of the confidence", "accuracies in", named_bins)
    return said


def _parts(inside: str, what: str, parts: list[tuple[str, str]]) -> list[str]:
    """What is estimated otherwise, of (name, method) of parts of the pool."""
    made = {
        method: listed([name for name, by in parts if by == method])
        for method in (HEADLINE, PSEUDO)
    }
    ways = [
        f"{what} {made[method]} {how}"
        for method, how in (
            (HEADLINE, "are weighted (doubly-robust)"),
            (PSEUDO, "come from a posterior of labels that count by weight (pseudo-posterior)"),
        )
        if made[method]
    ]
    return [f"Labels were not drawn uniformly inside {inside}: {'; '.join(ways)}."] if ways else []


def _uneven(answer: Assessment) -> list[str]:
    weighted, few = (
        [named(each.group) for each in answer.groups if each.method == method]
        for method in (HEADLINE, PSEUDO)
    )
    if not weighted and not few:
        return []
    count = len(weighted) + len(few)
    where, inside = ("1 group", "it") if count == 1 else (f"{count} groups", "them")
    said = f"Labels in {where} were not drawn uniformly inside {inside}: "
    parts = []
    if weighted:
        parts.append(f"values of {listed(weighted)} are weighted instead (doubly-robust)")
    if few:
        parts.append(
            f"{listed(few)} have fewer than 10 labelled draws, and a posterior in which these "
            "count by weight (pseudo-posterior)"
        )
    return [f"{said}{'; '.join(parts)}."]


def listed(names: list[str]) -> str:
    """The names, or the first of many."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
