"""Beliefs about the groups of a question as an SVG.

Active Bayesian Assessment (Ji 2021): the density of every group, accuracy against calibration error
(Figures 1 and 7), the difference of two groups (Figure 8), and the calibration error of the pool
(Figure 5). There is no script, and nothing is loaded; colours follow light and dark.
"""

from collections.abc import Iterator, Sequence
from functools import partial

from activetest.nouns.group_beliefs import Density, GroupBelief, GroupBeliefs
from activetest.nouns.group_report import Assessment, Comparison
from activetest.nouns.quantity import Quantity
from activetest.render.document import words
from activetest.render.plots.axes import choose_axis
from activetest.render.plots.picture_files import Origin, check_picture, save_picture
from activetest.render.plots.svg import EDGE, Frame, shorten, wrap, write

FORMATS = (".svg",)
_MARK = 'data-drawn-by="activetest-groups"'
_OF_REPORT = Origin("report", (_MARK.encode(),))
# Pixels: a line of text, a letter, a row of a group and the most that its density
# rises, the panels' width and height, what is left and right of a panel's axes, and a gap.
_LINE, _LETTER = 18, 7.2
_ROW, _RISE = 30, 34
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _GAP = 400, 250, 52, 14, 34
# Groups that are shown by a curve, and those whose point is named although it has no colour.
_MOST, _NAMED = 30, 12
# Okabe and Ito 2008, for all kinds of colour vision.
_BAD, _GOOD, _PLAIN, _ROPE = "#D55E00", "#0072B2", "#8A8F98", "#E69F00"


# Earlier pictures of groups are replaced.
check = partial(check_picture, origin=_OF_REPORT, formats=FORMATS, example="groups.svg")
save = save_picture


def draw(answer: Assessment, beliefs: GroupBeliefs) -> str:
    """The picture: groups by their densities, and beside them what else is believed."""
    colors = _choose_colors(answer, beliefs.groups)
    shown = beliefs.groups[:_MOST]
    names = [shorten(words.named(each.group)) for each in shown]
    left = EDGE + max(map(len, names)) * _LETTER + 12
    top = EDGE + 2 * _LINE + _RISE
    wide = left + _WIDTH
    parts = [_draw_densities(answer, shown, names, colors, left, top)]
    low = top + len(shown) * _ROW + 2 * _LINE + 10
    if len(shown) < len(beliefs.groups):
        text = f"the {len(shown)} worst of {len(beliefs.groups):,} groups"
        parts.append(write(EDGE, low, text, "tick"))
        low += _LINE
    panels = []
    if all(each.ece is not None for each in beliefs.groups):
        panels.append(_draw_scatter(beliefs.groups, colors, answer.level))
    comparison = answer.comparison
    if beliefs.difference is not None and comparison is not None:
        pair = comparison.first, comparison.second
        first, second = (shorten(words.named(each)) for each in pair)
        panels.append(
            _draw_density(
                f"{words.plain(answer.metric)}: {first} minus {second}",
                beliefs.difference,
                comparison.quantity,
                rope=comparison.rope,
                note=_note_regions(comparison),
            )
        )
    if beliefs.ece is not None and answer.reliability is not None:
        quantity = answer.reliability.ece
        panels.append(_draw_density("calibration error of the whole pool", beliefs.ece, quantity))
    down = EDGE + 2 * _LINE
    across = wide + _GAP
    for panel in panels:
        parts.append(f'<g transform="translate({across:.0f} {down})">{panel}</g>')
        down += _HEIGHT + 2 * _LINE + _GAP
    width = (across + _LEFT + _WIDTH + _RIGHT if panels else wide) + EDGE
    height = max(low, down) + EDGE
    goal = f"{words.plain(answer.metric)} by {words.plain(answer.column)}: what is believed"
    head = write(EDGE, EDGE + _LINE - 4, goal, "name")
    about = _describe(answer, beliefs)
    return wrap(goal, width, height, [head, *parts], mark=_MARK, about=about, role="img")


def _draw_densities(
    answer: Assessment,
    shown: Sequence[GroupBelief],
    names: Sequence[str],
    colors: Sequence[str],
    left: float,
    top: float,
) -> str:
    """A curve for every group over its interval, the worst group first."""
    ends = _list_ends(shown)
    axis = choose_axis(ends, share=all(0 <= value <= 1 for value in ends))
    bottom = top + (len(shown) - 1) * _ROW + 8
    frame = Frame(left, top - _RISE, _WIDTH, bottom - top + _RISE, axis)
    parts = [frame.draw()]
    title = f"{words.plain(answer.metric)}, with {100 * answer.level:g} % intervals"
    parts.append(write(left + _WIDTH / 2, bottom + 34, title, "tick", "middle"))
    for place, (each, name, color) in enumerate(zip(shown, names, colors, strict=False)):
        y = top + place * _ROW
        parts.append(write(left - 8, y + 4, name, "", "end"))
        if each.density.values:
            # All curves are as high: a nearly certain group would make the others flat.
            highest = max(each.density.heights)
            rises = [_RISE * height / highest for height in each.density.heights]
            parts.append(_fill(each.density.values, rises, frame, y, color))
        parts.append(_draw_interval(each.value, frame, y, color))
    return "".join(parts)


def _draw_scatter(groups: Sequence[GroupBelief], colors: Sequence[str], level: float) -> str:
    """Accuracy against calibration error of every group, with the intervals of both."""
    right = choose_axis(_list_quantities([each.accuracy for each in groups]), share=True)
    up = choose_axis(_list_quantities([each.ece for each in groups]), share=True)
    frame = Frame(_LEFT, _LINE, _WIDTH, _HEIGHT, right, up)
    title = f"calibration error, with {100 * level:g} % intervals"
    parts = [frame.draw(), write(_LEFT, _LINE - 6, title)]
    parts.append(write(_LEFT + _WIDTH / 2, _LINE + _HEIGHT + 34, "accuracy", "tick", "middle"))
    order = sorted(range(len(groups)), key=lambda place: colors[place] != _PLAIN)
    points = []
    for place in order:
        each, color = groups[place], colors[place]
        if each.ece is None:
            continue
        x, *ends = (
            frame.find_x(value or 0.0)
            for value in (each.accuracy.estimate, each.accuracy.lower, each.accuracy.upper)
        )
        y, *tops = (
            frame.find_y(value or 0.0)
            for value in (each.ece.estimate, each.ece.lower, each.ece.upper)
        )
        parts.append(
            f'<g stroke="{color}" stroke-opacity=".55">'
            f'<line x1="{ends[0]}" x2="{ends[1]}" y1="{y}" y2="{y}"/>'
            f'<line x1="{x}" x2="{x}" y1="{tops[0]}" y2="{tops[1]}"/></g>'
            f'<circle cx="{x}" cy="{y}" r="4" fill="{color}"/>'
        )
        points.append((x, y, each, color))
    return "".join([*parts, *_name_points(points)])


def _name_points(points: Sequence[tuple[float, float, GroupBelief, str]]) -> Iterator[str]:
    """The names of points, those with a colour first; none is written over another one.

    points   place, group and colour of each
    """
    taken: list[tuple[float, float]] = []
    for x, y, belief, color in sorted(points, key=lambda point: point[3] == _PLAIN):
        if len(points) > _NAMED and color == _PLAIN:
            continue
        name = shorten(words.plain(", ".join(belief.group.values())))
        long = len(name) * _LETTER
        at_left = x + long + 8 > _LEFT + _WIDTH
        start = x - 6 - long if at_left else x + 6
        if any(abs(y - other) < _LINE - 5 and abs(start - begun) < long for begun, other in taken):
            continue
        taken.append((start, y))
        yield write(x - 6 if at_left else x + 6, y - 6, name, "tick", "end" if at_left else "")


def _draw_density(
    title: str,
    density: Density,
    quantity: Quantity,
    *,
    rope: float | None = None,
    note: str = "",
) -> str:
    """One curve over its interval; a rope has a line at either end."""
    ends = [*_list_quantities([quantity]), *density.values[:1], *density.values[-1:]]
    ends += [] if rope is None else [-rope, rope]
    base = _LINE + _HEIGHT
    frame = Frame(_LEFT, _LINE, _WIDTH, _HEIGHT, choose_axis(ends))
    parts = [frame.draw()]
    parts.append(write(_LEFT, _LINE - 6, title))
    if note:
        parts.append(write(_LEFT + _WIDTH, _LINE + 14, note, "tick", "end"))
    if density.values:
        highest = max(density.heights)
        rises = [(_HEIGHT - 30) * height / highest for height in density.heights]
        parts.append(_fill(density.values, rises, frame, base, _GOOD))
    parts += [
        f'<line x1="{frame.find_x(end)}" x2="{frame.find_x(end)}" y1="{_LINE}" y2="{base}" '
        f'stroke="{_ROPE}" stroke-width="2"/>'
        for end in ([] if rope is None else [-rope, rope])
    ]
    parts.append(_draw_interval(quantity, frame, base, _GOOD))
    return "".join(parts)


def _fill(
    values: Sequence[float], rises: Sequence[float], frame: Frame, base: float, color: str
) -> str:
    """The area under a curve."""
    places = [frame.find_x(value) for value in values]
    corners = [(x, base - rise) for x, rise in zip(places, rises, strict=True)]
    corners = [(places[0], base), *corners, (places[-1], base)]
    points = " ".join(f"{x:g},{y:.1f}" for x, y in corners)
    return f'<polygon points="{points}" fill="{color}" fill-opacity=".3" stroke="{color}"/>'


def _draw_interval(quantity: Quantity, frame: Frame, y: float, color: str) -> str:
    """A line from end to end, and a point at the estimate."""
    if quantity.estimate is None or quantity.lower is None or quantity.upper is None:
        return ""
    low, x, high = map(frame.find_x, (quantity.lower, quantity.estimate, quantity.upper))
    return (
        f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}" stroke="{color}" stroke-width="2.5"/>'
        f'<circle cx="{x}" cy="{y}" r="3.5" fill="{color}"/>'
    )


def _choose_colors(answer: Assessment, groups: Sequence[GroupBelief]) -> list[str]:
    """Of each group: red for the worst ones, blue for as many of the best (Ji 2021, Figure 1)."""
    count = answer.worst if answer.question == "identify" else 3
    count = min(count, len(groups) // 2)
    places = range(len(groups))
    return [
        _BAD if place < count else _GOOD if place >= len(groups) - count else _PLAIN
        for place in places
    ]


def _list_quantities(quantities: Sequence[Quantity | None]) -> list[float]:
    """Every number of quantities that has one."""
    return [
        value
        for each in quantities
        if each is not None
        for value in (each.estimate, each.lower, each.upper)
        if value is not None
    ]


def _list_ends(groups: Sequence[GroupBelief]) -> list[float]:
    """Values that the density axis must hold: intervals, and the curves where they are not flat."""
    found = _list_quantities([each.value for each in groups])
    for each in groups:
        highest = max(each.density.heights, default=0.0)
        found += [
            value
            for value, height in zip(each.density.values, each.density.heights, strict=True)
            if height > highest / 100
        ]
    return found


def _note_regions(comparison: Comparison) -> str:
    """How probable it is that the difference is below, within and above the rope."""
    chances = {
        "below": comparison.p_below,
        "within": comparison.p_within,
        "above": comparison.p_above,
    }
    return ", ".join(f"{name} {100 * chance:.0f} %" for name, chance in chances.items())


def _describe(answer: Assessment, beliefs: GroupBeliefs) -> str:
    """The picture for those who do not see it: the numbers of every group that is drawn."""
    parts = []
    for each in beliefs.groups[:_MOST]:
        ece = "" if each.ece is None else f", calibration error {_tell(each.ece)}"
        parts.append(f"{words.named(each.group)}: {_tell(each.value)}{ece}")
    numbers = "; ".join(parts)
    if answer.comparison is not None:
        numbers += f"; {words.plain(answer.comparison.words)}: {answer.comparison.probability:.3g}"
    return f"Worst first, with {100 * answer.level:g} % intervals. {numbers}."


def _tell(quantity: Quantity) -> str:
    ends = (quantity.estimate, quantity.lower, quantity.upper)
    estimate, lower, upper = (words.short(each) for each in ends)
    return f"{estimate} ({lower} to {upper})"
