"""Estimates as dots on their intervals: in the rows of a table, and large.

Across, places are percent of the width, so that a plot is as wide as its column; down, they are
pixels. In the rows of a table the numbers stand beside each plot, so the table is both.
"""

from collections.abc import Sequence
from dataclasses import replace

from activetest.nouns.quantity import Measured
from activetest.nouns.report import FAIL, PASS, UNDECIDED, EstimateRow, Gate
from activetest.render.document import words
from activetest.render.document.blocks import Bar, Bars, is_sure
from activetest.render.page.markup import escape, scrolled
from activetest.render.plots.axes import Axis, is_shares, name_tick, of_records

# Heights in pixels: of a row, its axis, the large bar, and the labels over it.
_ROW, _HEAD, _LARGE, _LABELS = 26, 18, 112, 46
# Labels of gates over the large bar: more would cover each other.
_MOST_LIMITS = 2
# Letters of a label over the large bar.
_LONGEST = 26
_SIGNS = {PASS: "✓", UNDECIDED: "?", FAIL: "✗"}


def interval_table(found: Bars) -> str:
    """Rows of estimates on one axis, or each on its own where they have no unit in common.

    Estimates with too few labels do not widen the axis.
    """
    rows, reference = found.rows, found.reference
    if not rows:
        return ""
    plain = len({_unit(row.record) for row in rows}) > 1
    shown = [row.record for row in rows if is_sure(row.record)] or [row.record for row in rows]
    axis = of_records(shown, [reference, *(limit for row in rows for limit in row.limits)])
    # Further columns that say nothing are left out.
    filled = [at for at in range(len(found.more)) if any(row.cells[at] != "-" for row in rows)]
    more = [found.more[at] for at in filled]
    rows = [replace(row, cells=[row.cells[at] for at in filled]) for row in rows]
    head = (
        f'<th scope="col">{escape(found.heading)}</th>'
        f'<th scope="col" class="plot">{_draw_head(axis, None if plain else rows[0].record)}</th>'
        '<th scope="col" class="v">estimate and interval</th>'
        + "".join(f'<th scope="col" class="n">{escape(each)}</th>' for each in more)
    )
    body = "".join(_write_row(row, axis, reference, plain=plain) for row in rows)
    kind = "" if found.titled else ' class="vh"'
    written = (
        f'<table class="iv"><caption{kind}>{escape(found.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
    return scrolled(found.title, written) if more else written


def large(record: EstimateRow, limits: Sequence[Gate] = (), speaker: str = "model") -> str:
    """The estimate and its interval as one bar, with the gates on the same number.

    speaker    who says what the outputs are: "model" or "judge"

    Colours and sizes are attributes of the elements, so that it looks right without a style, too.
    """
    if not words.real(record.estimate):
        return ""
    raw = record.from_outputs if words.real(record.from_outputs) else None
    gates = list({gate.threshold: gate for gate in limits}.values())
    axis = of_records([record], [raw, *(gate.threshold for gate in gates), *_look_around(record)])
    height = _LARGE if gates or raw is not None else _LARGE - _LABELS
    bottom = height - 24
    middle = bottom - 22
    parts = [_draw_ticks(axis, record, bottom)]
    if words.real(record.lower) or words.real(record.upper):
        low, high = _find_ends(record, axis)
        parts.append(
            f'<rect class="reach" x="{low}%" y="{middle - 10}" width="{max(high - low, 0.3):.2f}%" '
            'height="20" rx="4" fill="#3b82c4" fill-opacity=".4"/>'
        )
    for at, gate in enumerate(gates[:_MOST_LIMITS]):
        place = axis.place(gate.threshold)
        label = f"gate {gate.op.replace('<=', '≤').replace('>=', '≥')} " + words.with_unit(
            gate, f"{gate.threshold:g}"
        )
        parts.append(_draw_line("gate", place, 20 + 16 * at, bottom, "4 3"))
        parts.append(_draw_text("gatename", place, 14 + 16 * at, label))
    if raw is not None:
        place = axis.place(raw)
        parts.append(_draw_line("raw", place, middle - 12, bottom, "1 3"))
        label = f"the {speaker} says {words.with_unit(record, words.raw(record))}"
        parts.append(_draw_text("rawname", place, middle - 17, label))
    place = axis.place(record.estimate)
    parts.append(
        f'<line class="dot" x1="{place}%" x2="{place}%" y1="{middle - 14}" y2="{middle + 14}" '
        'stroke="currentColor" stroke-width="4" stroke-linecap="round"/>'
    )
    name = escape(f"{words.metric_title(record)}: {describe(record)}")
    if gates:
        name += escape("; " + ", ".join(gate.requirement.strip() for gate in gates))
    return (
        f'<svg role="img" aria-label="{name}" width="100%" height="{height}" font-size="13" '
        f'font-family="system-ui,sans-serif" fill="currentColor">{"".join(parts)}</svg>'
    )


def badge(verdict: str) -> str:
    """A verdict with its sign; empty without one."""
    if not verdict:
        return ""
    return (
        f'<span class="badge {verdict}"><span aria-hidden="true">{_SIGNS[verdict]} </span>'
        f"{escape(verdict.upper())}</span>"
    )


def describe(record: Measured) -> str:
    """The number and its interval, in the unit of the metric."""
    value, reach = write(record)
    return f"{value} ({reach})" if reach and reach != "-" else value


def write(record: Measured, *, plain: bool = False) -> tuple[str, str]:
    """The estimate, and its interval or why there is none; shares of items in percent.

    plain    without a unit, as beside numbers that are no shares of items
    """
    value = words.estimate(record)
    if isinstance(record, EstimateRow):
        reach = words.interval_or_reason(record)
    else:
        reach = words.interval(record)
    if plain or not isinstance(record, EstimateRow | Gate) or record.estimate is None:
        return value, reach
    value = words.with_unit(record, value)
    if record.method == "exact" or record.lower is None or record.upper is None:
        return value, reach
    marks = words.marks(record)
    reach = reach.removesuffix(" ".join(["", *marks]))
    ends = " to ".join(words.with_unit(record, end) for end in reach.split(" to "))
    return value, " ".join([ends, *marks])


def _look_around(record: EstimateRow) -> list[float]:
    """Ends of an axis that has room on both sides of an interval; zero and one if they are near."""
    low, high = record.lower, record.upper
    if not words.real(low) or not words.real(high):
        return []
    room = high - low
    if not is_shares([low, high]):
        return [low - room / 2, high + room / 2]
    near = 2 * room
    return [
        0.0 if low <= near else max(low - room / 2, 0.0),
        1.0 if 1 - high <= near else min(high + room / 2, 1.0),
    ]


def _write_row(row: Bar, axis: Axis, reference: float | None, *, plain: bool) -> str:
    value, reach = write(row.record, plain=plain)
    note = f"<small>{escape(row.note)}</small>" if row.note else ""
    cells = "".join(f'<td class="n">{escape(cell)}</td>' for cell in row.cells)
    long = ' class="why"' if len(reach) > 40 else ""
    few = "" if is_sure(row.record) else ' class="few"'
    return (
        f'<tr{few}><th scope="row">{escape(row.name)} {badge(row.verdict)}{note}</th>'
        f'<td class="plot">{_draw_row(row, axis, reference)}</td>'
        f'<td class="v"><b>{escape(value)}</b> <span{long}>{escape(reach)}</span></td>{cells}</tr>'
    )


def _unit(record: Measured) -> str:
    """The ending of numbers: the sign of percent, or nothing."""
    return words.with_unit(record, "0") if isinstance(record, EstimateRow | Gate) else "0"


def _draw_row(row: Bar, axis: Axis, reference: float | None) -> str:
    record = row.record
    if not words.real(record.estimate):
        return ""
    middle = _ROW // 2
    parts = [_draw_grid(axis, 0, _ROW)]
    if words.real(reference):
        parts.append(_draw_line("ref", axis.place(reference), 0, _ROW))
    parts += [_draw_line("gate", axis.place(limit), 0, _ROW) for limit in row.limits]
    if words.real(record.lower) or words.real(record.upper):
        low, high = _find_ends(record, axis)
        parts.append(f'<line class="i" x1="{low}%" x2="{high}%" y1="{middle}" y2="{middle}"/>')
    place = axis.place(record.estimate)
    parts.append(f'<circle class="d" cx="{place}%" cy="{middle}" r="4.5"/>')
    name = escape(f"{row.name}: {describe(record)}")
    return f'<svg role="img" aria-label="{name}" height="{_ROW}">{"".join(parts)}</svg>'


def _draw_head(axis: Axis, record: Measured | None) -> str:
    """The axis over a column of rows."""
    low, high = (name_tick(axis, tick, record) for tick in (axis.low, axis.high))
    parts = [_draw_grid(axis, _HEAD - 4, _HEAD)]
    last = len(axis.ticks) - 1
    for at, tick in enumerate(axis.ticks):
        kind = "" if at in (0, last) else ' class="mid"'
        parts.append(
            f'<text x="{axis.place(tick)}%" y="11" text-anchor="middle"{kind}>'
            f"{escape(name_tick(axis, tick, record))}</text>"
        )
    name = escape(f"axis from {low} to {high}")
    return f'<svg role="img" aria-label="{name}" height="{_HEAD}">{"".join(parts)}</svg>'


def _draw_ticks(axis: Axis, record: EstimateRow, bottom: int) -> str:
    """The axis under the large bar."""
    faint = 'stroke="currentColor" stroke-opacity=".35"'
    ends = axis.place(axis.low), axis.place(axis.high)
    parts = [f'<line x1="{ends[0]}%" x2="{ends[1]}%" y1="{bottom}" y2="{bottom}" {faint}/>']
    for tick in axis.ticks:
        place = axis.place(tick)
        parts.append(
            f'<line x1="{place}%" x2="{place}%" y1="{bottom}" y2="{bottom + 5}" {faint}/>'
            f'<text class="tick" x="{place}%" y="{bottom + 19}" text-anchor="middle">'
            f"{escape(name_tick(axis, tick, record))}</text>"
        )
    return "".join(parts)


def _draw_grid(axis: Axis, top: int, bottom: int) -> str:
    places = (axis.place(tick) for tick in axis.ticks)
    lines = "".join(f'<line x1="{at}%" x2="{at}%" y1="{top}" y2="{bottom}"/>' for at in places)
    return f'<g class="g">{lines}</g>'


def _draw_line(kind: str, place: float, top: float, bottom: float, dashes: str = "") -> str:
    """A vertical line."""
    look = f' stroke="currentColor" stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line class="{kind}" x1="{place}%" x2="{place}%" y1="{top}" y2="{bottom}"{look}/>'


def _draw_text(kind: str, place: float, y: float, text: str) -> str:
    """A label over a place, which does not leave the plot at its ends."""
    anchor = "start" if place < 25 else "end" if place > 75 else "middle"
    shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    return (
        f'<text class="{kind}" x="{place}%" y="{y}" text-anchor="{anchor}">{escape(shown)}</text>'
    )


def _find_ends(record: Measured, axis: Axis) -> tuple[float, float]:
    """Where the interval begins and ends; without an end it reaches that of the axis."""
    low = record.lower if words.real(record.lower) else axis.low
    high = record.upper if words.real(record.upper) else axis.high
    return axis.place(low), axis.place(high)
