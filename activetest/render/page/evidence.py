"""What numbers rest on: rounds, mistakes, what was drawn, who answered, where it comes from."""

import base64
import gzip
import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from urllib.parse import quote

from activetest.nouns.curve import Curve
from activetest.nouns.name_lists import list_few
from activetest.nouns.quantity import Quantity
from activetest.nouns.report import EstimateRow, Report
from activetest.nouns.report_details import (
    AnnotatorAnswers,
    ConfusionCell,
    ConfusionTable,
    HistoryPoint,
    Provenance,
    ReportDetails,
    SampledShare,
    WorstItem,
)
from activetest.render import _words as words
from activetest.render.page import axes, markup
from activetest.render.page.axes import Axis
from activetest.render.page.markup import Section
from activetest.render.page.style import shade

# Characters of CSV that an address may hold as they are.
_UNQUOTED = ",:;+-_./=@!$*()"
# Height of a plot in pixels, and what is left free over and under it.
_HEIGHT, _TOP, _BOTTOM = 260, 14, 26
# Ticks that fit under a plot on the narrowest screen.
_MOST_TICKS = 5
# Losses from here on are written as whole numbers.
_MANY_DIGITS = 1000
# Ways to cut the pool that are shown without opening anything.
_OPEN = 2
# Classes for which an annotator's share of right answers is shown.
_CLASSES = 6
# Matrices of at most so many classes show intervals in their cells.
_ROOMY = 5
# Largest cells outside the diagonal that are listed with their intervals.
_MOST_MISTAKES = 8
# Names of classes without a row that are listed.
_MOST_NAMES = 20


def write_history(report: Report, details: ReportDetails) -> Section | None:
    """How the estimate converged, with the band that random labels would have had."""
    points = [point for point in details.history if words.real(point.estimate)]
    if len(points) < 2:
        return None
    row = words.headline(report)
    picture = _draw_history(points, details.history_of, row)
    key = _draw_key(banded=any(point.random_lower is not None for point in points))
    rows = [
        (
            words.count(point.round),
            words.count(point.n_labeled),
            *_write_point(point.estimate, point.lower, point.upper),
            _write_point(None, point.random_lower, point.random_upper)[1],
        )
        for point in points
    ]
    headings = ("round", "labels", "estimate", "interval", "random labels")
    numbers = markup.write_table(
        f"{details.history_of}, round by round", headings, rows, ("interval", "random labels")
    )
    given = f", {condition}" if row and (condition := words.condition(row)) else ""
    caption = f"{key}<br>{markup.write_code(details.random_band or '')}"
    return markup.section(
        "rounds",
        "How it converged",
        (
            markup.paragraph(
                f"{details.history_of}{given}, estimated again after each round of labels."
            ),
            markup.figure(picture, caption, numbers),
        ),
    )


def write_confusion(table: ConfusionTable | None) -> Section | None:
    """Which classes are taken for which, as shares of the pool; the largest mistakes."""
    if table is None or not any(words.real(cell.estimate) for cell in table.cells):
        return None
    width = len(table.truths)
    rows = [table.cells[at : at + width] for at in range(0, len(table.cells), width)]
    largest = max(cell.estimate or 0.0 for cell in table.cells)
    roomy = width <= _ROOMY
    body = "".join(
        f'<tr><th scope="row">{markup.escape(name)}</th>'
        + "".join(_write_cell(cell, largest, table.others, roomy=roomy) for cell in cells)
        + "</tr>"
        for name, cells in zip(table.classes, rows, strict=True)
    )
    head = "".join(
        f'<th scope="col">{markup.escape(name)}</th>' for name in ("says ↓ is →", *table.truths)
    )
    title = "in % of the pool: what the model says in rows, what is right in columns"
    parts = [
        markup.scrolled(
            title,
            f'<table class="matrix"><caption>{title}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>",
        )
    ]
    left = f" {table.others}: {list_few(table.left_out, _MOST_NAMES)}." if table.left_out else ""
    unknown = any(not words.real(cell.estimate) for cell in table.cells)
    dash = " -: no such item is labelled, or too few of the class that the model says."
    key = (
        "Blue: right. Orange: mistakes. The stronger the colour, the more items, on one scale for "
        "both: a cell with a quarter of the most items has half of the strongest colour."
    )
    parts.append(
        markup.paragraph(
            f"{key}{dash if unknown else ''}{left}",
            "small",
        )
    )
    parts.append(_list_mistakes(table))
    return markup.section("confusion", "Classes that are confused", parts)


def write_reliability(curve: Curve | None) -> Section | None:
    """Whether the model's confidence can be believed."""
    if curve is None:
        return None
    whole = curve.list_points()
    points = [
        point for point in whole if words.real(point["predicted"]) and words.real(point["observed"])
    ]
    if not points:
        return None
    empty = sum(not point["n_pool"] for point in whole)
    rows = [
        (
            f"{point['low']:.2f} to {point['high']:.2f}",
            words.short(point["predicted"]),
            *_write_point(point["observed"], point["observed_lower"], point["observed_upper"]),
            words.count(point["n_labeled"]),
            words.count(point["n_pool"]),
        )
        for point in points
    ]
    what = "the model says" if curve.class_name is None else f"P({words.plain(curve.class_name)})"
    headings = ("bin", what, "share right", "interval", "labels", "items")
    numbers = markup.write_table(
        "confidence and what is right", headings, rows, ("bin", "interval")
    )
    few = "" if all(point["reliable"] for point in points) else " Hollow grey dots: too few labels."
    caption = markup.escape(
        "Across: the probability that the model states. Up: the share that is right, with its "
        "interval. On the dashed line the model is as sure as it should be; dots below it: too "
        f"sure. {curve.list_notes()[0]}{few}"
        + words.describe_left_out(len(whole), len(points), empty)
    )
    figure = markup.figure(
        f'<div class="square">{_draw_reliability(points)}</div>', caption, numbers
    )
    return markup.section("reliability", "Can its confidence be believed?", (figure,))


def write_items(
    items: Sequence[WorstItem], loss: str | None, predictor: str = "model"
) -> Section | None:
    """The labelled items that the model, or the judge, did worst on, with their texts."""
    written = []
    for item in items:
        parts = [
            f"{predictor}: <b>{_isolate(item.predicted)}</b>",
            f"label: <b>{_isolate(item.label)}</b>",
        ]
        if words.real(item.confidence):
            parts.append(f"confidence {item.confidence:.2f}")
        if item.loss != item.confidence:
            large = abs(item.loss) >= _MANY_DIGITS
            parts.append(f"loss {words.count(item.loss) if large else words.short(item.loss)}")
        if item.unlike:
            parts.append(f"unlike the {predictor}'s answers to similar items")
        text = _quote(item.text)
        written.append(
            f"<li><code>{_isolate(item.id)}</code> &#160; {' · '.join(parts)}{text}</li>"
        )
    if not written:
        return None
    lead = markup.paragraph(
        f"The {len(written)} labelled items with the largest loss"
        + (f" ({loss})." if loss else ".")
        + " They were chosen because they are bad: they say nothing about how often that happens."
    )
    return markup.section(
        "worst", "The worst labelled items", (lead, f'<ol class="items">{"".join(written)}</ol>')
    )


def write_sampled(shares: Sequence[SampledShare]) -> Section | None:
    """What was labelled, against the pool."""
    if not any(share.n_labeled for share in shares):
        return None
    key = "".join(
        f'<span class="key">{_draw_swatch(mark)}{text}</span>'
        for mark, text in (
            ('<rect class="bar" y="2" width="26" height="8"/>', "share of the labels"),
            ('<rect class="bar2" y="3" width="26" height="5"/>', "share of the pool"),
        )
    )
    parts = [
        "<p>Labels are drawn where they tell most, so they are not spread like the pool. The "
        f'estimates correct for it.</p><p class="small">{key}</p>'
    ]
    kinds = list(dict.fromkeys(share.what for share in shares))
    tables = [
        _compare_shares(what, [share for share in shares if share.what == what]) for what in kinds
    ]
    parts += tables[:_OPEN]
    parts.append(markup.folded(f"By {list_few(kinds[_OPEN:])}", "".join(tables[_OPEN:])))
    return markup.section("sampled", "Labels against the pool", parts)


def write_annotators(details: ReportDetails) -> Section | None:
    """Who answered, how far they agree, and items that they do not agree on."""
    people = details.raters
    if not people and not details.contested:
        return None
    parts = []
    if details.alpha is not None:
        parts.append(
            markup.paragraph(
                f"Krippendorff's alpha is {details.alpha:.2f}: 1 is full agreement, 0 is chance."
            )
        )
    if people:
        parts.append(_list_people(people))
    if details.contested:
        shown = len(details.contested)
        more = (
            f": the {shown} most contested of {details.n_contested:,}"
            if details.n_contested > shown
            else ""
        )
        parts.append(f"<h3>Items with different answers{more}</h3>")
        items = []
        for item in details.contested:
            answers = ", ".join(
                f"{_isolate(name) or 'somebody'}: <b>{_isolate(label)}</b>"
                for name, label in item.answers
            )
            text = _quote(item.text)
            items.append(
                f"<li><code>{_isolate(item.id)}</code> &#160; {answers}; counts as "
                f"<b>{_isolate(item.label)}</b>{text}</li>"
            )
        parts.append(f'<ol class="items">{"".join(items)}</ol>')
    return markup.section("annotators", "Annotators", parts)


def write_provenance(found: Provenance, hindsight: str, log: str) -> Section | None:
    """Where the numbers come from, and how to ask for more; log is the element with the draws."""
    rows = [
        ("pool", found.pool),
        ("items", words.count(found.rows)),
        ("fingerprint of the pool", found.fingerprint),
        ("seed", str(found.seed)),
        (
            "rounds, draws, answers",
            ", ".join(map(words.count, (found.rounds, found.draws, found.answers))),
        ),
        ("version", _write_versions(found)),
        ("study created", _write_time(found.created)),
        ("rounds drawn", _write_span(found.first_round, found.last_round)),
        ("answers read", _write_span(found.first_answer, found.last_answer)),
        ("hash of the log", found.chain or ""),
    ]
    parts = [markup.facts([(name, value) for name, value in rows if value])]
    if found.settings:
        parts.append("<h3>Settings that are not the defaults</h3>")
        parts.append(markup.facts(found.settings))
    if found.commands:
        lines = "\n".join(markup.escape(line) for line in found.commands)
        parts.append(f"<h3>Commands that lead to this</h3><pre>{lines}</pre>")
    parts.append(markup.paragraph(hindsight, "small"))
    parts.append(log)
    return markup.section("provenance", "Where this comes from", parts)


def embed_log(csv: str, *, how: str) -> str:
    """The log of draws as a file that the page holds.

    how    "plain" or "packed" (compressed); "absent" says where it is instead
    """
    lines = max(csv.count("\n") - 1, 0)
    if not lines:
        return ""
    holds = f"Every draw with its probability, and every answer: {lines:,} lines"
    if how == "absent":
        where = "too many for this file: the study has them, and its export writes them"
        return f"<h3>The log of draws</h3>{markup.paragraph(f'{holds}, {where}.')}"
    if how == "packed":
        content = gzip.compress(csv.encode(), compresslevel=9, mtime=0)
        address = f"data:application/gzip;base64,{base64.b64encode(content).decode()}"
        name = "draws.csv.gz"
    else:
        address = f"data:text/csv;charset=utf-8,{quote(csv, safe=_UNQUOTED)}"
        name = "draws.csv"
    return (
        f"<h3>The log of draws</h3><p>{holds}, inside this file.</p>"
        f'<p class="download"><a download="{name}" href="{address}">Save {name}</a></p>'
    )


def _draw_history(points: Sequence[HistoryPoint], of: str, row: EstimateRow | None) -> str:
    """Labels across, the metric up."""
    ends = [point.n_labeled for point in points]
    across = axes.choose_axis([0, *ends])
    values = [
        value
        for point in points
        for value in (
            point.estimate,
            point.lower,
            point.upper,
            point.random_lower,
            point.random_upper,
        )
        if words.real(value)
    ]
    values = _without_early(values, points)
    up = axes.choose_axis(values, share=axes.is_shares(values))
    bottom = _HEIGHT - _BOTTOM
    parts = []
    for tick in up.ticks:
        y = _rise(up, tick)
        parts.append(f'<line class="grid" x1="0" x2="100%" y1="{y}" y2="{y}"/>')
    band = [p for p in points if words.real(p.random_lower) and words.real(p.random_upper)]
    if len(band) > 1:
        upper = [(across.place(p.n_labeled), _rise(up, p.random_upper or 0.0)) for p in band]
        lower = [(across.place(p.n_labeled), _rise(up, p.random_lower or 0.0)) for p in band]
        outline = " ".join(f"{x},{y}" for x, y in [*upper, *reversed(lower)])
        parts.append(
            f'<svg x="0" y="0" width="100%" height="{_HEIGHT}" viewBox="0 0 100 {_HEIGHT}" '
            f'preserveAspectRatio="none"><polygon class="band" points="{outline}"/></svg>'
        )
        for edge in (upper, lower):
            for (x1, y1), (x2, y2) in pairwise(edge):
                parts.append(f'<line class="bandline" x1="{x1}%" y1="{y1}" x2="{x2}%" y2="{y2}"/>')
    for point in points:
        x = across.place(point.n_labeled)
        if words.real(point.lower) and words.real(point.upper):
            low, high = _rise(up, point.lower), _rise(up, point.upper)
            parts.append(f'<line class="i" x1="{x}%" x2="{x}%" y1="{low}" y2="{high}"/>')
    for point in points:
        x, y = across.place(point.n_labeled), _rise(up, point.estimate or 0.0)
        parts.append(f'<circle class="d" cx="{x}%" cy="{y}" r="4.5"/>')
    for tick in up.ticks:
        text = markup.escape(axes.name_tick(up, tick, row))
        parts.append(f'<text class="tick halo" x="0" y="{_rise(up, tick) - 4}">{text}</text>')
    parts.append(f'<line class="axis" x1="0" x2="100%" y1="{bottom}" y2="{bottom}"/>')
    parts.append(_name_across(across))
    parts.append(f'<text class="tick" x="100%" y="{bottom - 5}" text-anchor="end">labels</text>')
    final = points[-1]
    value, reach = _write_point(final.estimate, final.lower, final.upper)
    name = markup.escape(
        f"{of} after each round: {value} ({reach}) with {words.count(final.n_labeled)} labels"
    )
    return f'<svg role="img" aria-label="{name}" height="{_HEIGHT}">{"".join(parts)}</svg>'


def _without_early(values: list[float], points: Sequence[HistoryPoint]) -> list[float]:
    """The numbers without the ends of early intervals that would make all others flat.

    What reaches further than twice around what the last half of the rounds spans is cut off.
    """
    late = [
        value
        for point in points[len(points) // 2 :]
        for value in (point.estimate, point.lower, point.upper)
        if words.real(value)
    ]
    late += [point.estimate for point in points if words.real(point.estimate)]
    low, high = min(late), max(late)
    room = 1.0 * (high - low)
    return [min(max(value, low - room), high + room) for value in values]


def _draw_reliability(points: Sequence[dict]) -> str:
    """Stated probability across, what is right up."""
    ends = [point["predicted"] for point in points]
    across = axes.choose_axis([0.0, 1.0] if min(ends) < 0.5 else [min(ends), 1.0], share=True)
    up = axes.choose_axis([0.0, 1.0])
    bottom = _HEIGHT - _BOTTOM
    parts = []
    for tick in up.ticks:
        y = _rise(up, tick)
        parts.append(f'<line class="grid" x1="0" x2="100%" y1="{y}" y2="{y}"/>')
        if tick > up.low:
            parts.append(f'<text class="tick" x="0" y="{y - 4}">{up.name(tick)}</text>')
    x1, x2 = across.place(across.low), across.place(across.high)
    y1, y2 = _rise(up, across.low), _rise(up, across.high)
    parts.append(f'<line class="ref" x1="{x1}%" x2="{x2}%" y1="{y1}" y2="{y2}"/>')
    for point in points:
        x, y = across.place(point["predicted"]), _rise(up, point["observed"])
        bar = ""
        if words.real(point["observed_lower"]) and words.real(point["observed_upper"]):
            low, high = (_rise(up, point[f"observed_{end}"]) for end in ("lower", "upper"))
            bar = f'<line class="i" x1="{x}%" x2="{x}%" y1="{low}" y2="{high}"/>'
        kind = "" if point["reliable"] else ' class="few"'
        parts.append(f'<g{kind}>{bar}<circle class="d" cx="{x}%" cy="{y}" r="4.5"/></g>')
    parts.append(f'<line class="axis" x1="0" x2="100%" y1="{bottom}" y2="{bottom}"/>')
    parts.append(_name_across(across))
    name = f"share right against stated probability, in {len(points)} bins"
    return f'<svg role="img" aria-label="{name}" height="{_HEIGHT}">{"".join(parts)}</svg>'


def _draw_key(*, banded: bool) -> str:
    """What marks mean."""
    dot = '<line class="i" x1="2" x2="24" y1="6" y2="6"/><circle class="d" cx="13" cy="6" r="4.5"/>'
    parts = [f'<span class="key">{_draw_swatch(dot)}estimate and interval</span>']
    if banded:
        swatch = _draw_swatch('<rect class="band" width="26" height="12"/>')
        parts.append(f'<span class="key">{swatch}as many random labels</span>')
    return "".join(parts)


def _draw_swatch(inside: str) -> str:
    """A mark of a legend, which the words beside it say."""
    return f'<svg aria-hidden="true" width="26" height="12">{inside}</svg>'


def _name_across(axis: Axis) -> str:
    """The ticks under a plot; every other one of many is left out where it is narrow."""
    many = len(axis.ticks) > _MOST_TICKS
    return "".join(
        f'<text class="tick{" mid" if many and at % 2 else ""}" x="{axis.place(tick)}%" '
        f'y="{_HEIGHT - 8}" text-anchor="middle">{markup.escape(axis.name(tick))}</text>'
        for at, tick in enumerate(axis.ticks)
    )


def _rise(axis: Axis, value: float) -> float:
    """Pixels from the top."""
    return round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - axis.share(value)), 1)


def _write_cell(cell: ConfusionCell, largest: float, others: str | None, *, roomy: bool) -> str:
    """A cell; largest is the estimate of the largest one, right or wrong."""
    if not words.real(cell.estimate):
        return "<td>-</td>"
    right = cell.predicted == cell.truth
    # Mistakes are far fewer: their square roots can be told apart.
    share = max(cell.estimate, 0.0) / largest if largest > 0 else 0.0
    kind = shade(math.sqrt(share), right=right)
    if (right and cell.truth == others) or 100 * cell.estimate < 0.05:
        kind = ""
    below = ""
    if roomy and words.real(cell.lower) and words.real(cell.upper) and cell.method != "exact":
        below = f"<small>{100 * cell.lower:.1f} to {100 * cell.upper:.1f}</small>"
    kind = f' class="{kind}"' if kind else ""
    return f"<td{kind}>{100 * cell.estimate:.1f}{below}</td>"


def _list_mistakes(table: ConfusionTable) -> str:
    """The largest cells outside the diagonal, with their intervals."""
    wrong = [cell for cell in _list_cells(table, right=False) if cell.estimate]
    wrong.sort(key=lambda cell: -(cell.estimate or 0.0))
    rows = [
        (
            f"{words.plain(cell.predicted)}, is {words.plain(cell.truth)}",
            f"{_write_percent(words.estimate(cell))} %",
            " to ".join(map(_write_percent, words.interval(cell).split(" to "))),
            words.count(cell.n_labeled),
        )
        for cell in wrong[:_MOST_MISTAKES]
    ]
    if not rows:
        return ""
    headings = ("model says", "share of the pool", "interval in %", "labels")
    return markup.write_table("the most frequent mistakes", headings, rows, ("interval in %",))


def _write_percent(text: str) -> str:
    """A share in percent, with as many digits; what is no number stays."""
    number, _, mark = text.partition(" ")
    try:
        return f"{Decimal(number).scaleb(2):f}{f' {mark}' if mark else ''}"
    except InvalidOperation:
        return text


def _compare_shares(what: str, found: Sequence[SampledShare]) -> str:
    """The slices of the pool in one way to cut it."""
    most = max(max(each.share_of_pool, each.share_of_labels) for each in found) or 1.0
    body = "".join(_write_share(share, most) for share in found)
    name = markup.escape(what)
    return (
        f'<table class="iv"><caption>by {name}</caption><thead><tr><th scope="col">{name}</th>'
        '<th scope="col" class="plot">labels over pool</th><th scope="col" class="v">of labels'
        f", of the pool</th></tr></thead><tbody>{body}</tbody></table>"
    )


def _write_share(share: SampledShare, most: float) -> str:
    wide = [100 * each / most for each in (share.share_of_labels, share.share_of_pool)]
    texts = [f"{100 * each:.1f} %" for each in (share.share_of_labels, share.share_of_pool)]
    name = markup.escape(f"{share.name}: {texts[0]} of labels, {texts[1]} of the pool")
    picture = (
        f'<svg role="img" aria-label="{name}" height="26">'
        f'<rect class="bar" y="5" width="{wide[0]:.1f}%" height="8" rx="1"/>'
        f'<rect class="bar2" y="15" width="{wide[1]:.1f}%" height="5" rx="1"/></svg>'
    )
    note = f"<small>{words.count(share.n_labeled)} of {words.count(share.n_pool)} items</small>"
    return (
        f'<tr><th scope="row">{markup.escape(share.name)} {note}</th>'
        f'<td class="plot">{picture}</td>'
        f'<td class="v"><b>{texts[0]}</b> <span>{texts[1]}</span></td></tr>'
    )


def _list_people(people: Sequence[AnnotatorAnswers]) -> str:
    headings = ["annotator", "labelled", "declined", "compared with others", "of these equal"]
    rows = [
        [
            words.plain(each.name) or "no name",
            words.count(each.labeled),
            words.count(each.declined),
            words.count(each.compared),
            "-" if each.agreeing is None else f"{100 * each.agreeing:.0f} %",
        ]
        for each in people
    ]
    if any(each.confusion for each in people):
        headings.append("estimated: right, by true class")
        rows = [
            [*row, _write_right(each.confusion)] for row, each in zip(rows, people, strict=True)
        ]
    return markup.write_table("annotators", headings, rows, titled=False)


def _write_right(confusion: dict[str, dict[str, float]] | None) -> str:
    """How often an annotator is right, by true class: the first of many classes."""
    found = (confusion or {}).items()
    right = [f"{words.plain(name)} {100 * row[name]:.0f} %" for name, row in found]
    return ", ".join([*right[:_CLASSES], "..."][: len(right)]) or "-"


def _write_point(value: float | None, low: float | None, high: float | None) -> tuple[str, str]:
    """A number and its interval."""
    quantity = Quantity(value, low, high, 0.95, "none")
    doubt = words.half_width(quantity)
    if low is None and high is None:
        return words.figure(value, doubt), "-"
    return words.figure(value, doubt), f"{words.figure(low, doubt)} to {words.figure(high, doubt)}"


def _write_versions(found: Provenance) -> str:
    drawn = ", ".join(found.versions)
    if not drawn or drawn == found.version:
        return f"activetest {found.version}"
    return f"activetest {found.version}; rounds were drawn by {drawn}"


def _write_span(first: str | None, last: str | None) -> str:
    """Two times; once where both are one."""
    return " to ".join(dict.fromkeys(_write_time(each) for each in (first, last) if each))


def _write_time(text: str | None) -> str:
    """A time as people write it: 2026-01-31 12:00 UTC."""
    if not text:
        return ""
    return f"{text[:10]} {text[11:16]} UTC" if text[10:11] == "T" else text


def _quote(text: str | None) -> str:
    """The text of an item, as it is; nothing without one."""
    return f'<blockquote dir="auto">{markup.escape_lines(text)}</blockquote>' if text else ""


def _list_cells(table: ConfusionTable, *, right: bool) -> list[ConfusionCell]:
    """The cells of right or of wrong predictions; those of other classes for others are neither."""
    return [
        cell
        for cell in table.cells
        if (cell.predicted == cell.truth) == right
        and not cell.predicted == table.others == cell.truth
    ]


def _isolate(text: str) -> str:
    """A name of a user's file, whose direction does not move what is beside it."""
    return f"<bdi>{markup.escape(text)}</bdi>" if text else ""
