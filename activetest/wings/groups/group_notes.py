"""Notes on the answer to a question about groups, in plain sentences."""

from activetest.nouns.group_report import Assessment
from activetest.nouns.name_lists import shorten_list
from activetest.nouns.report import Note, Weight
from activetest.reporting.rows import HEADLINE
from activetest.wings.groups.arms import ECE
from activetest.wings.groups.bandit import ESTIMATE
from activetest.wings.groups.group_ranking import EXACT, NONE, PSEUDO

# Names that a sentence lists.
_LISTED = 8
# Methods of groups whose values are not drawn from a posterior.
_CERTAIN = (EXACT, NONE)


def describe_region(
    first: dict[str, str], second: dict[str, str], region: str, worse: int, rope: float
) -> str:
    """Statement of a region about the first of two groups; worse is 1 where a larger value is."""
    names = describe_group(first), describe_group(second)
    if region == "within":
        return f"{names[0]} and {names[1]} differ by at most {rope:g}"
    which = "worse" if (region == "above") == (worse > 0) else "better"
    return f"{names[0]} is {which} than {names[1]} by more than {rope:g}"


def describe_group(group: dict[str, str]) -> str:
    """A group as column=value."""
    return ", ".join(f"{column}={value}" for column, value in group.items())


def write_notes(answer: Assessment) -> list[Note]:
    """Notes on groups and parts that are not estimated by their posterior, and why."""
    notes = _describe_weighted_groups(answer)
    if answer.question == ESTIMATE:
        text = (
            "The posterior of a group uses the labels of that group only. The shrunk value also "
            "uses the other groups; in simulations it was nearer to the truth in most cases."
        )
        notes.append(Note(text))
    if answer.metric.startswith(ECE) and any(each.method not in _CERTAIN for each in answer.groups):
        text = (
            "P(worst), P(best) and ranks are computed from draws of calibration errors, which are "
            "too large where labels are few: P(worst) is too large for groups with few labels."
        )
        notes.append(Note(text, Weight.INVALID))
    if answer.confusion:
        columns = [(each.predicted, each.method) for each in answer.confusion.columns]
        notes += _describe_weighted_parts(
            "predicted classes", "columns of the confusion matrix for", columns
        )
    if answer.reliability:
        bins = [
            (f"{each.low:.1f}-{each.high:.1f}", each.method) for each in answer.reliability.bins
        ]
        notes += _describe_weighted_parts("bins of the confidence", "accuracies in", bins)
    return notes


def list_names(names: list[str]) -> str:
    """The names, or the first of many."""
    return shorten_list(names, _LISTED)


def _describe_weighted_parts(inside: str, what: str, parts: list[tuple[str, str]]) -> list[Note]:
    """Notes on parts of the pool with weighted estimates, of (name, method) of all parts."""
    names = {
        method: list_names([name for name, by in parts if by == method])
        for method in (HEADLINE, PSEUDO)
    }
    clauses = [
        f"{what} {names[method]} {how}"
        for method, how in (
            (HEADLINE, "are weighted estimates (doubly-robust)"),
            (PSEUDO, "come from a posterior of weighted labels (pseudo-posterior)"),
        )
        if names[method]
    ]
    if not clauses:
        return []
    return [Note(f"Labels were not drawn uniformly inside {inside}: {'; '.join(clauses)}.")]


def _describe_weighted_groups(answer: Assessment) -> list[Note]:
    weighted, few = (
        [describe_group(each.group) for each in answer.groups if each.method == method]
        for method in (HEADLINE, PSEUDO)
    )
    if not weighted and not few:
        return []
    count = len(weighted) + len(few)
    where, inside = ("1 group", "it") if count == 1 else (f"{count} groups", "them")
    clauses = []
    if weighted:
        clauses.append(
            f"the values of {list_names(weighted)} are weighted estimates (doubly-robust)"
        )
    if few:
        clauses.append(
            f"{list_names(few)} have fewer than 10 labelled draws, so their values come from a "
            "posterior of weighted labels (pseudo-posterior)"
        )
    text = f"Labels in {where} were not drawn uniformly inside {inside}: {'; '.join(clauses)}."
    return [Note(text, Weight.WIDE if few else Weight.FACT)]
