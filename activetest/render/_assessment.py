"""How the answer to a task is put into words and tables, the same in every format for people."""

import math
from collections.abc import Sequence

from activetest.nouns.group_report import Assessment, Bin, Cell, Confusion, Ranked
from activetest.nouns.report import EstimateRow
from activetest.render import _words as words
from activetest.render._tables import MOST_CONFUSED, Matrix, Table

# Groups that are listed where they are very many, and how many that is.
_SHOWN, _MANY = 30, 40
# Classes whose matrix is shown as one.
_WIDEST = 12
# What can go beside the picture of bins where it would be too small, and its characters.
LESS = ((), ("items",), ("items", "by"), ("items", "by", "labels"))
LEAST = ("items", "by", "labels", "interval")
WIDEST, SMALL, SMALLEST = 41, 21, 11
_POSTERIOR, _EXACT = "posterior", "exact"
# Methods that leave no doubt.
_SURE = {_EXACT, "none"}


def sentence(answer: Assessment) -> str:
    """The answer, or how far it is away."""
    if answer.decided is None:
        if answer.rmse is None:
            return "the matrix is estimated by weight: see the intervals of its columns"
        what = answer.target or f"{answer.metric} of the groups"
        return f"{what}: expected error {words.short(answer.rmse)} (root mean square over items)"
    if answer.comparison:
        said = f"{answer.comparison.words} (probability {_sure(answer)})"
        return words.plain(f"comparison {_state(answer, 'decided')}: {said}{_more(answer)}")
    some = answer.groups[: answer.worst]
    which = "worst group" if answer.worst == 1 else f"{answer.worst} worst groups"
    if answer.decided and (tied := _tied(answer)):
        alone = [one for one in some if one not in tied]
        names = f"{_names(alone)}; " if alone else ""
        return f"{which}: {names}tie: {_names(tied)}, every label is known"
    if answer.decided:
        return f"{which} identified with probability {_sure(answer)}: {_names(some)}"
    return (
        f"{which} not identified yet: {_names(some)} with probability {_sure(answer)}"
        f"{_more(answer)}"
    )


def tables(answer: Assessment) -> list[Table | Matrix]:
    """The groups, what is compared, and the confusion matrix."""
    found: list[Table | Matrix] = [ranking(answer)]
    if answer.comparison:
        found.append(comparison(answer))
    if answer.confusion and any(cell.estimate is not None for cell in answer.confusion.cells):
        found.append(confusion(answer.confusion, answer.level))
    return found


def ranking(answer: Assessment) -> Table:
    """A row per group, the worst first; of very many only the worst."""
    level, groups = answer.level, answer.groups
    among = f"P({answer.worst} worst)"
    columns = {
        "rank": lambda one: words.count(one.rank),
        "group": lambda one: words.named(one.group),
        "estimate": lambda one: words.estimate(_as_line(one, level)),
        "interval": lambda one: words.interval(_as_line(one, level)),
        "P(worst)": lambda one: chance(one.p_worst),
        among: lambda one: chance(one.p_among_worst),
        "P(best)": lambda one: chance(one.p_best),
        "ranks": _ranks,
        "labels": lambda one: words.count(one.n_labeled),
        "items": lambda one: words.count(one.n_pool),
        "by": lambda one: one.method,
    }
    if answer.worst == 1:
        del columns[among]
    methods = {one.method for one in groups} - _SURE
    if len(methods) < 2:
        del columns["by"]
    shown = groups if len(groups) <= _MANY else groups[: max(_SHOWN, answer.worst)]
    rows = tuple(tuple(write(one) for write in columns.values()) for one in shown)
    title = f"{words.plain(answer.metric)} by {words.plain(answer.column)}, worst first"
    title += _certainty(methods, level, ece=answer.metric.startswith("ece"))
    if len(shown) < len(groups):
        title += f"; the {len(shown)} worst of {len(groups):,} (--format json has all)"
    return Table(title, tuple(columns), rows, kept=("P(worst)", among), left=("by",))


def comparison(answer: Assessment) -> Table:
    """How likely each region of the difference is."""
    made = answer.comparison
    rope = f"{made.rope:g}"
    regions = (f"below -{rope}", f"-{rope} to {rope}", f"above {rope}")
    chances = map(chance, (made.p_below, made.p_within, made.p_above))
    names = f"{words.named(made.one)} minus {words.named(made.two)}"
    doubt = (made.upper - made.lower) / 2
    told = [words.figure(each, doubt) for each in (made.difference, made.lower, made.upper)]
    title = f"{words.plain(answer.metric)}, {names}: {told[0]} ({told[1]} to {told[2]})"
    rows = tuple(zip(regions, chances, strict=True))
    return Table(title, ("difference", "probability"), rows)


def confusion(matrix: Confusion, level: float) -> Matrix | Table:
    """The matrix, or of many classes its largest mistakes."""
    title = "P(true class | predicted class)"
    if len(matrix.classes) > _WIDEST:
        wrong = [cell for cell in matrix.cells if cell.truth != cell.predicted and cell.estimate]
        wrong = sorted(wrong, key=lambda cell: -cell.estimate)[:MOST_CONFUSED]
        rows = tuple(
            (line.class_name, words.estimate(line), words.interval(line))
            for line in (_as_line(cell, level) for cell in wrong)
        )
        most = f"{title}: the {len(rows)} largest mistakes"
        return Table(most, ("truth as prediction", "estimate", "interval"), rows)
    found = {(cell.truth, cell.predicted): _as_line(cell, level) for cell in matrix.cells}
    lines = tuple(tuple(found[truth, said] for said in matrix.classes) for truth in matrix.truths)
    return Matrix(title, matrix.classes, lines, matrix.truths)


def bins(answer: Assessment, width: int = 0, without: Sequence[str] = ()) -> Table:
    """A row per bin of the confidence that has items, without some columns.

    width is that of a picture, if any.
    """
    shown = [each for each in answer.reliability.bins if each.n_pool]
    columns = {
        "confidence": _bin,
        "mean": lambda one: words.short(one.confidence),
        _axis(width): lambda one: picture(one, width),
        "accuracy": lambda one: words.estimate(_as_line(one, answer.level)),
        "interval": lambda one: words.interval(_as_line(one, answer.level)),
        "labels": lambda one: words.count(one.n_labeled),
        "items": lambda one: words.count(one.n_pool),
        "by": lambda one: one.method,
    }
    without = (*without, "mean" if width else _axis(width))
    methods = {one.method for one in shown} - _SURE
    if methods <= {_POSTERIOR}:
        without += ("by",)
    columns = {name: write for name, write in columns.items() if name not in without}
    rows = tuple(tuple(write(one) for write in columns.values()) for one in shown)
    return Table(_calibration(answer), tuple(columns), rows, left=(_axis(width), "by"))


def picture(one: Bin, width: int) -> str:
    """A bar as long as the accuracy, its interval over it, and the mean confidence."""
    marks = [" "] * width

    def place(value: float) -> int:
        return round(min(max(value, 0.0), 1.0) * (width - 1))

    if one.accuracy is not None:
        end = place(one.accuracy)
        marks[:end] = "=" * end
        if one.lower is not None and one.upper is not None:
            low, high = place(one.lower), place(one.upper)
            marks[low : high + 1] = "-" * (high + 1 - low)
            marks[low] = marks[high] = "|"
        marks[end] = "o"
    if one.confidence is not None:
        where = place(one.confidence)
        marks[where] = "*" if marks[where] == "o" else "+"
    return "".join(marks)


# Under the picture.
LEGEND = "o accuracy, |-| its interval, + mean confidence (* both)"


def remarks(answer: Assessment) -> list[str]:
    """Why there is no calibration error."""
    made = answer.reliability
    return [words.plain(f"no calibration error: {made.reason}")] if made and made.reason else []


def chance(value: float | None) -> str:
    """A probability to two digits; what is not quite certain is not written as if it were."""
    if not words.real(value):
        return "-"
    if 0 < value < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 <= value < 1 else f"{value:.2f}"


def _sure(answer: Assessment) -> str:
    """The probability of the answer: what no draw has shown is not impossible."""
    return chance(answer.probability or 1e-9)


def _tied(answer: Assessment) -> list[Ranked]:
    """The groups that are as bad as the last one named, where labels cannot part them any more."""
    last = answer.groups[answer.worst - 1]
    tied = [
        one
        for one in answer.groups
        if one.estimate is not None
        and math.isclose(one.estimate, last.estimate, rel_tol=1e-9, abs_tol=1e-12)
    ]
    known = all(one.method == _EXACT for one in tied)
    return tied if known and tied[-1].rank > answer.worst else []


def _names(groups: Sequence[Ranked]) -> str:
    return ", ".join(words.named(one.group) for one in groups)


def _certainty(methods: set[str], level: float, *, ece: bool) -> str:
    """How groups and their intervals are made, for a title; methods are those of uncertain ones."""
    width = words.percent(level)
    if not methods:
        return ", exact"
    if methods == {_POSTERIOR}:
        return f", posterior, {width} {'' if ece else 'credible '}intervals"
    (only,) = methods if len(methods) == 1 else ("",)
    return f"{f', {only}' if only else ''}, {width} intervals"


def _state(answer: Assessment, word: str) -> str:
    return word if answer.decided else f"not {word} yet"


def _more(answer: Assessment) -> str:
    """How many labels are still expected."""
    if answer.decided:
        return ""
    until = f"until {chance(answer.level)}"
    if answer.more is None:
        return f"; more labels than can be said {until}"
    return f"; about {words.roughly(answer.more)} more labels expected {until}"


def _ranks(one: Ranked) -> str:
    if one.rank_lower is None:
        return "-"
    ends = dict.fromkeys((one.rank_lower, one.rank_upper))
    return "-".join(map(words.count, ends))


def _as_line(said: Ranked | Bin | Cell, level: float) -> EstimateRow:
    """What the words of all estimates are made for."""
    estimate = said.accuracy if isinstance(said, Bin) else said.estimate
    method = _POSTERIOR if isinstance(said, Cell) else said.method
    name = f"{said.truth} as {said.predicted}" if isinstance(said, Cell) else None
    numbers = estimate, said.lower, said.upper, level
    return EstimateRow("", method, *numbers, method, 0, 0, class_name=name)


def _bin(one: Bin) -> str:
    return f"{one.low:.1f}-{one.high:.1f}"


def _axis(width: int) -> str:
    """Heading of the picture."""
    return f"0{'1':>{width - 1}}" if width > 1 else ""


def _calibration(answer: Assessment) -> str:
    """Title of the reliability diagram."""
    made = answer.reliability
    title = "reliability by confidence"
    if made.ece is None:
        return title
    doubt = None if made.lower is None else (made.upper - made.lower) / 2
    said = f"{title}; calibration error {words.figure(made.ece, doubt)}"
    if doubt is None:
        return said
    ends = (words.figure(end, doubt) for end in (made.lower, made.upper))
    return f"{said} ({' to '.join(ends)})"
