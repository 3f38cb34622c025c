"""What a report says about a task beside its numbers, in plain sentences."""

from activetest.report_groups import Assessment
from activetest.workflow._assessment_groups import PSEUDO
from activetest.workflow._lines import HEADLINE

# Names that a sentence lists.
_LISTED = 8


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
    matrix, diagram = answer.confusion, answer.reliability
    if matrix and any(each.method == HEADLINE for each in matrix.columns):
        columns = [each.predicted for each in matrix.columns if each.method == HEADLINE]
        said.append(
            f"Labels of items predicted as {listed(columns)} were not drawn uniformly inside the "
            "predicted class: these columns of the confusion matrix are weighted (doubly robust)."
        )
    if diagram and any(each.method == HEADLINE for each in diagram.bins):
        said.append(
            "Labels were not drawn uniformly inside bins of the confidence: accuracies there are "
            "weighted (doubly robust), and so is the calibration error."
        )
    return said


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
            f"{listed(few)} have too few for that, and a posterior of labels that count by weight "
            "(pseudo-posterior)"
        )
    return [f"{said}{'; '.join(parts)}."]


def listed(names: list[str]) -> str:
    """The names, or the first of many."""
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
