"""What is believed about the groups of a question as an SVG.

Active Bayesian Assessment (Ji 2021): the density of every group, accuracy against calibration error
(Figures 1 and 7), the difference of two groups (Figure 8), and the calibration error of the pool
(Figure 5). There is no script, and nothing is loaded; colours follow light and dark.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape

from activetest.nouns.group_beliefs import Density, GroupBelief, GroupBeliefs
from activetest.nouns.group_report import Assessment, Comparison
from activetest.nouns.quantity import Quantity
from activetest.render import _words as words
from activetest.render.plots._files import Origin, check_picture, save_picture
from activetest.render.plots.axes import Axis, choose_axis

FORMATS = (".svg",)
_MARK = 'data-drawn-by="activetest-groups"'
_OF_REPORT = Origin("report", (_MARK.encode(),))
# Pixels: the edge of all, a line of text, a letter, a row of a group and the most that its density
# rises, the panels' width and height, what is left and right of a panel's axes, and a gap.
_EDGE, _LINE, _LETTER = 16, 18, 7.2
_ROW, _RISE = 30, 34
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _GAP = 400, 250, 52, 14, 34
# Groups that are shown by a curve, and those whose point is named although it has no colour.
_MOST, _NAMED = 30, 12
# Letters of a name.
_LONGEST = 26
# Okabe and Ito 2008, for all kinds of colour vision.
_BAD, _GOOD, _PLAIN, _ROPE = "#D55E00", "#0072B2", "#8A8F98", "#E69F00"
_STYLE = """
svg{color:#1b2026}text{fill:#1b2026}.ground{fill:#fff}.tick{fill:#55606c;font-size:11px}
.grid{stroke:#d5dae0}.axis{stroke:#55606c}.name{font-weight:600}
@media (prefers-color-scheme:dark){svg{color:#e7eaee}text{fill:#e7eaee}.ground{fill:#13171b}
.tick{fill:#a6b0ba}.grid{stroke:#363e47}.axis{stroke:#a6b0ba}
[stroke="#0072B2"]{stroke:#4c9fdc}[fill="#0072B2"]{fill:#4c9fdc}}
"""


# Earlier pictures of groups are replaced.
check = partial(check_picture, origin=_OF_REPORT, formats=FORMATS, example="groups.svg")
save = save_picture


def draw(answer: Assessment, beliefs: GroupBeliefs) -> str:
    """The picture: groups by their densities, and beside them what else is believed."""
    colors = _choose_colors(answer, beliefs.groups)
    shown = beliefs.groups[:_MOST]
    names = [_shorten(_name(each)) for each in shown]
    left = _EDGE + max(map(len, names)) * _LETTER + 12
    top = _EDGE + 2 * _LINE + _RISE
    wide = left + _WIDTH
    parts = [_draw_densities(answer, shown, names, colors, left, top)]
    low = top + len(shown) * _ROW + 2 * _LINE + 10
    if len(shown) < len(beliefs.groups):
        text = f"the {len(shown)} worst of {len(beliefs.groups):,} groups"
        parts.append(_write(_EDGE, low, text, "tick"))
        low += _LINE
    panels = []
    if all(each.ece is not None for each in beliefs.groups):
        panels.append(_draw_scatter(beliefs.groups, colors, answer.level))
    comparison = answer.comparison
    if beliefs.difference is not None and comparison is not None:
        pair = comparison.first, comparison.second
        first, second = (_shorten(words.plain(_join(each))) for each in pair)
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
    down = _EDGE + 2 * _LINE
    across = wide + _GAP
    for panel in panels:
        parts.append(f'<g transform="translate({across:.0f} {down})">{panel}</g>')
        down += _HEIGHT + 2 * _LINE + _GAP
    width = (across + _LEFT + _WIDTH + _RIGHT if panels else wide) + _EDGE
    height = max(low, down) + _EDGE
    goal = _title(answer)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {_MARK} width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'font-family="system-ui,sans-serif" font-size="13" role="img" '
        f'aria-label="{_escape(goal)}"><title>{_escape(goal)}</title>'
        f"<desc>{_escape(_describe(answer, beliefs))}</desc><style>{_STYLE}</style>"
        f'<rect class="ground" width="{width:.0f}" height="{height:.0f}"/>'
        f"{_write(_EDGE, _EDGE + _LINE - 4, goal, 'name')}{''.join(parts)}</svg>\n"
    )


def _draw_densities(
    answer: Assessment,
    shown: Sequence[GroupBelief],
    names: Sequence[str],
    colors: Sequence[str],
    left: float,
    top: float,
) -> str:
    """A curve for every group over its interval, the worst group first."""
    axis = choose_axis(_list_ends(shown), share=_is_share(shown))

    def across(value: float) -> float:
        return round(left + axis.share(value) * _WIDTH, 1)

    bottom = top + (len(shown) - 1) * _ROW + 8
    parts = []
    for tick in axis.ticks:
        x = across(tick)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{top - _RISE}" y2="{bottom}"/>')
        parts.append(_write(x, bottom + 16, axis.name(tick), "tick", "middle"))
    title = f"{words.plain(answer.metric)}, with {100 * answer.level:g} % intervals"
    parts.append(_write(left + _WIDTH / 2, bottom + 34, title, "tick", "middle"))
    for place, (each, name, color) in enumerate(zip(shown, names, colors, strict=False)):
        y = top + place * _ROW
        parts.append(_write(left - 8, y + 4, name, "", "end"))
        if each.density.values:
            # All curves are as high: a nearly certain group would make the others flat.
            highest = max(each.density.heights)
            rises = [_RISE * height / highest for height in each.density.heights]
            parts.append(_fill(each.density.values, rises, across, y, color))
        parts.append(_draw_interval(each.value, across, y, color))
    return "".join(parts)


def _draw_scatter(groups: Sequence[GroupBelief], colors: Sequence[str], level: float) -> str:
    """Accuracy against calibration error of every group, with the intervals of both."""
    right = choose_axis(_list_quantities([each.accuracy for each in groups]), share=True)
    up = choose_axis(_list_quantities([each.ece for each in groups]), share=True)
    parts = [_draw_frame(right, up, "accuracy", "calibration error", level)]
    order = sorted(range(len(groups)), key=lambda place: colors[place] != _PLAIN)
    points = []
    for place in order:
        each, color = groups[place], colors[place]
        if each.ece is None:
            continue
        x, y = _across(right, each.accuracy.estimate), _down(up, each.ece.estimate)
        ends = [_across(right, end) for end in (each.accuracy.lower, each.accuracy.upper)]
        tops = [_down(up, end) for end in (each.ece.lower, each.ece.upper)]
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
        name = _shorten(words.plain(", ".join(belief.group.values())))
        long = len(name) * _LETTER
        at_left = x + long + 8 > _LEFT + _WIDTH
        start = x - 6 - long if at_left else x + 6
        if any(abs(y - other) < _LINE - 5 and abs(start - begun) < long for begun, other in taken):
            continue
        taken.append((start, y))
        yield _write(x - 6 if at_left else x + 6, y - 6, name, "tick", "end" if at_left else "")


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
    axis = choose_axis(ends)
    parts = []
    base = _LINE + _HEIGHT

    def across(value: float) -> float:
        return _across(axis, value)

    for tick in axis.ticks:
        x = across(tick)
        parts.append(f'<line class="grid" x1="{x}" x2="{x}" y1="{_LINE}" y2="{base}"/>')
        parts.append(_write(x, base + 16, axis.name(tick), "tick", "middle"))
    parts.append(_write(_LEFT, _LINE - 6, title))
    if note:
        parts.append(_write(_LEFT + _WIDTH, _LINE + 14, note, "tick", "end"))
    if density.values:
        highest = max(density.heights)
        rises = [(_HEIGHT - 30) * height / highest for height in density.heights]
        parts.append(_fill(density.values, rises, across, base, _GOOD))
    parts += [
        f'<line x1="{across(end)}" x2="{across(end)}" y1="{_LINE}" y2="{base}" '
        f'stroke="{_ROPE}" stroke-width="2"/>'
        for end in ([] if rope is None else [-rope, rope])
    ]
    parts.append(_draw_interval(quantity, across, base, _GOOD))
    return "".join(parts)


def _draw_frame(right: Axis, up: Axis, x_title: str, y_title: str, level: float) -> str:
    """Both axes of a panel, their ticks and what they are."""
    parts = []
    for tick in right.ticks:
        x = _across(right, tick)
        parts.append(
            f'<line class="grid" x1="{x}" x2="{x}" y1="{_LINE}" y2="{_LINE + _HEIGHT}"/>'
            + _write(x, _LINE + _HEIGHT + 16, right.name(tick), "tick", "middle")
        )
    for tick in up.ticks:
        y = _down(up, tick)
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y}" y2="{y}"/>'
            + _write(_LEFT - 6, y + 4, up.name(tick), "tick", "end")
        )
    parts.append(_write(_LEFT, _LINE - 6, f"{y_title}, with {100 * level:g} % intervals"))
    parts.append(_write(_LEFT + _WIDTH / 2, _LINE + _HEIGHT + 34, x_title, "tick", "middle"))
    return "".join(parts)


def _across(axis: Axis, value: float | None) -> float:
    return round(_LEFT + axis.share(value or 0.0) * _WIDTH, 1)


def _down(axis: Axis, value: float | None) -> float:
    return round(_LINE + (1 - axis.share(value or 0.0)) * _HEIGHT, 1)


def _fill(
    values: Sequence[float],
    rises: Sequence[float],
    across: Callable[[float], float],
    base: float,
    color: str,
) -> str:
    """The area under a curve."""
    corners = [(across(value), base - rise) for value, rise in zip(values, rises, strict=True)]
    corners = [(across(values[0]), base), *corners, (across(values[-1]), base)]
    points = " ".join(f"{x:g},{y:.1f}" for x, y in corners)
    return f'<polygon points="{points}" fill="{color}" fill-opacity=".3" stroke="{color}"/>'


def _draw_interval(
    quantity: Quantity, across: Callable[[float], float], y: float, color: str
) -> str:
    """A line from end to end, and a point at the estimate."""
    if quantity.estimate is None or quantity.lower is None or quantity.upper is None:
        return ""
    return (
        f'<line x1="{across(quantity.lower)}" x2="{across(quantity.upper)}" y1="{y}" y2="{y}" '
        f'stroke="{color}" stroke-width="2.5"/>'
        f'<circle cx="{across(quantity.estimate)}" cy="{y}" r="3.5" fill="{color}"/>'
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
    """What the axis of densities must hold: intervals, and the curves where they are not flat."""
    found = _list_quantities([each.value for each in groups])
    for each in groups:
        highest = max(each.density.heights, default=0.0)
        found += [
            value
            for value, height in zip(each.density.values, each.density.heights, strict=True)
            if height > highest / 100
        ]
    return found


def _is_share(groups: Sequence[GroupBelief]) -> bool:
    return all(0 <= value <= 1 for value in _list_ends(groups))


def _name(belief: GroupBelief) -> str:
    return words.plain(_join(belief.group))


def _join(group: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in group.items())


def _shorten(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."


def _title(answer: Assessment) -> str:
    return f"{words.plain(answer.metric)} by {words.plain(answer.column)}: what is believed"


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
        parts.append(f"{_name(each)}: {_tell(each.value)}{ece}")
    numbers = "; ".join(parts)
    if answer.comparison is not None:
        numbers += f"; {words.plain(answer.comparison.words)}: {answer.comparison.probability:.3g}"
    return f"Worst first, with {100 * answer.level:g} % intervals. {numbers}."


def _tell(quantity: Quantity) -> str:
    ends = (quantity.estimate, quantity.lower, quantity.upper)
    estimate, lower, upper = (words.short(each) for each in ends)
    return f"{estimate} ({lower} to {upper})"


def _escape(text: str) -> str:
    return escape(words.plain(text))


def _write(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    """A text at a place; anchor is "middle" or "end" where it is not its beginning."""
    attributes = f' class="{kind}"' if kind else ""
    attributes += f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{x:g}" y="{y:g}"{attributes}>{_escape(text)}</text>'
