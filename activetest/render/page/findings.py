"""What a study found: metrics, groups, the answer to its question, its judge and its surface."""

from collections.abc import Sequence

from activetest import catalog
from activetest.nouns.group_report import Assessment
from activetest.nouns.report import EstimateRow, Report
from activetest.nouns.surface_report import SurfaceMap, SurfaceReport
from activetest.render import _assessment, _extent, _judge_tables, _surface, _tables
from activetest.render import _words as words
from activetest.render.page import markup
from activetest.render.page.bars import (
    Row,
    interval_table,
    is_sure,
    sort_worst_first,
    split_by_unit,
)
from activetest.render.page.head import list_gates
from activetest.render.page.markup import Section
from activetest.render.page.style import shade

# Matrices of at most so many classes show intervals in their cells.
_ROOMY = 5


def write_metrics(report: Report) -> Section | None:
    """The metrics of the whole pool as a forest plot, with the lines of their gates.

    Of one metric alone all estimators are shown: the head of the page has its number already.
    """
    rows = _extent.overall(report, verbose=False) or _extent.overall(report, verbose=True)
    known = [row for row in rows if row.metric != words.CONFUSION]
    if known == [words.headline(report)]:
        return None
    several = len({row.estimator for row in known}) > 1
    built = [
        Row(
            name=words.metric_title(row),
            record=row,
            note=row.estimator if several else _name_specification(row),
            limits=[gate.threshold for gate in list_gates(report, row)],
            cells=(words.count(row.n_labeled), words.ratio_saved(row.quantity.saving)),
        )
        for row in known
    ]
    parts = [
        interval_table("metrics", "metric", panel, more=("labels", "saved"), titled=False)
        for panel in split_by_unit(built)
    ]
    if any(row.limits for row in built):
        parts.append(markup.paragraph("Dashed lines: gates.", "small"))
    grounds = words.describe_estimators(report) if several else ""
    parts.append(markup.paragraph(f"{grounds}." if grounds else "", "small"))
    return markup.section("metrics", "Metrics", parts)


def write_groups(report: Report, most: int) -> Section | None:
    """Groups as dots on their intervals, the worst first; and differences between them.

    most    groups of one metric that are shown
    """
    parts = []
    rows = [
        row
        for row in report.estimates
        if row.group is not None and not _tables.is_ranked(report.assessment, row)
    ]
    rows = _prefer(report, rows)
    groups = [row for row in rows if row.against is None]
    for metric in dict.fromkeys(words.metric(row) for row in groups):
        of_metric = [row for row in groups if words.metric(row) == metric]
        for columns in dict.fromkeys(tuple(row.group or ()) for row in of_metric):
            found = [row for row in of_metric if tuple(row.group or ()) == columns]
            parts.append(_write_group_column(report, metric, columns, found, most))
    differences = [row for row in rows if row.against is not None]
    for metric in dict.fromkeys(words.metric(row) for row in differences):
        found = [row for row in differences if words.metric(row) == metric]
        built = [Row(words.group(row), row, note=words.differ(row)) for row in found[:most]]
        title = f"differences in {metric}"
        parts.append(interval_table(title, "difference", built, reference=0.0))
        parts.append(_write_left_out(len(found) - most, "differences"))
    if not any(parts):
        return None
    legend = [
        "Dashed lines: all items." if groups else "",
        "Of differences: zero." if differences else "",
        "Hollow grey dots: too few labels to be believed." if not all(map(is_sure, rows)) else "",
        "Shrunk: moved towards what is expected of the group, the more the wider its interval is."
        if any(row.shrunk is not None for row in groups)
        else "",
    ]
    parts.append(markup.paragraph(" ".join(filter(None, legend)), "small"))
    return markup.section("groups", "Groups", parts)


def write_answer(report: Report, most: int) -> Section | None:
    """What the answer to the question about groups rests on."""
    answer = report.assessment
    if answer is None:
        return None
    parts = [_write_ranking(answer, report.estimates, most)]
    for found in _assessment.tables(answer, report.estimates, verbose=True)[1:]:
        parts.append(markup.table(_flatten(found)))
    if answer.reliability is not None and _extent.has_diagram(answer, verbose=False):
        rows = [
            Row(
                f"{each.low:.1f} to {each.high:.1f}",
                each,
                limits=() if each.confidence is None else (each.confidence,),
                cells=(words.count(each.n_labeled), words.count(each.n_pool)),
            )
            for each in answer.reliability.bins
            if each.n_pool
        ]
        title = _assessment.bins(answer).title + "; dashed line: mean confidence"
        parts.append(interval_table(title, "confidence", rows, more=("labels", "items")))
        parts.append(markup.bullets(_assessment.remarks(answer), "small"))
    return markup.section("question", "The question about groups", parts)


def write_judge(report: Report, most: int) -> Section | None:
    """How far a judge is from people."""
    judge = report.judge
    if judge is None:
        return None
    measures, *others = _judge_tables.tables(report, verbose=True)
    rows = [
        Row(cells[0], row, note=words.metric(row), cells=(words.count(row.n_labeled),))
        for row, cells in zip(judge.estimates, measures.rows, strict=True)
    ]
    parts = [
        interval_table(measures.title, "measure", panel, more=("labels",), titled=not at)
        for at, panel in enumerate(split_by_unit(rows))
    ]
    if groups := _judge_tables.list_groups(report, judge):
        title, others = others[0].title, others[1:]
        built = [Row(words.group(row), row, note=_count_labels(row)) for row in groups[:most]]
        reference = 0.0 if judge.gap == "bias" else None
        parts.append(interval_table(title, "group", built, reference=reference))
        parts.append(_write_left_out(len(groups) - most, "groups"))
    parts += [markup.table(table) for table in others]
    return markup.section("judge", "The judge against people", parts)


def write_surface(report: Report) -> Section | None:
    """The metric at combinations of attributes, with maps."""
    surface = report.surface
    if surface is None:
        return None
    parts = [markup.facts(_surface.facts(surface))]
    parts += [markup.table(table) for table in _surface.tables(surface, verbose=False)]
    parts += [_write_map(found, surface) for found in surface.maps]
    return markup.section("surface", "Combinations of attributes", parts)


def _write_group_column(
    report: Report, metric: str, columns: tuple[str, ...], found: Sequence[EstimateRow], most: int
) -> str:
    """The groups of one column by one metric."""
    first = found[0]
    better = catalog.fact("metrics", first.metric, "BETTER") if _is_ours(first) else None
    ordered = sort_worst_first(found, better)
    whole = next(
        (
            row.estimate
            for row in report.estimates
            if row.group is None
            and (row.metric, row.class_name, row.estimator)
            == (first.metric, first.class_name, first.estimator)
        ),
        None,
    )
    built = [
        Row(
            ", ".join(words.plain(value) for value in (row.group or {}).values()),
            row,
            note=_count_labels(row),
            cells=(words.with_unit(row, words.shrunk(row)),)
            if any(row.shrunk is not None for row in found)
            else (),
        )
        for row in ordered[:most]
    ]
    title = f"{metric} by {words.plain(', '.join(columns))}"
    title += ", worst first" if better else ""
    title += f", {words.write_level(first.level)} intervals"
    name = words.plain(", ".join(columns))
    more = ("shrunk",) if built[0].cells else ()
    written = interval_table(title, name, built, more=more, reference=whole)
    return written + _write_left_out(len(ordered) - most, "groups", worst=bool(better))


def _write_ranking(answer: Assessment, rows: Sequence[EstimateRow], most: int) -> str:
    """The groups of the question, the worst first."""
    table = _assessment.ranking(answer, rows)
    others = [
        at
        for at, heading in enumerate(table.headings)
        if heading not in ("rank", "group", "estimate", "interval", "labels", "items", "method")
    ]
    shown = list(zip(answer.groups, table.rows, strict=False))[:most]
    built = [
        Row(
            words.named(group.group),
            group,
            note=f"{words.count(group.n_labeled)} of {words.count(group.n_pool)} labelled",
            cells=tuple(cells[at] for at in others),
        )
        for group, cells in shown
    ]
    headings = tuple(table.headings[at] for at in others)
    left_out = len(answer.groups) - len(shown)
    title = table.title.partition(";")[0]
    written = interval_table(title, "group", built, more=headings)
    return written + _write_left_out(left_out, "groups", worst=True)


def _write_map(found: SurfaceMap, surface: SurfaceReport) -> str:
    """A map as a table, the worse the darker; under each number its interval."""
    numbers = [cell.estimate for row in found.cells for cell in row if cell.occurs]
    known = [number for number in numbers if words.real(number)]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    body = []
    for name, cells in zip(found.rows, found.cells, strict=True):
        written = [f'<th scope="row">{markup.escape(name)}</th>']
        for cell in cells:
            kind, below = "", ""
            if cell.occurs and words.real(cell.estimate):
                share = (cell.estimate - low) / (high - low) if high > low else 0.0
                share = 1 - share if surface.higher_better else share
                kind = shade(max(share, 1e-9), right=False)
                if cell.method != "exact" and words.real(cell.lower) and words.real(cell.upper):
                    below = f"<small>{cell.lower:.2f} to {cell.upper:.2f}</small>"
            text = markup.escape(_surface.write_map_cell(cell))
            written.append(f'<td class="{kind}">{text}{below}</td>')
        body.append(f"<tr>{''.join(written)}</tr>")
    head = "".join(
        f'<th scope="col">{markup.escape(name)}</th>' for name in (found.first, *found.columns)
    )
    title = _surface.map_title(found)
    table = markup.scrolled(
        title,
        f'<table class="matrix"><caption>{markup.escape(title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>",
    )
    legend = (
        "The stronger the colour, the worse. Small numbers: "
        f"{words.write_level(surface.level)} credible intervals; {_surface.LEGEND}."
    )
    return table + markup.paragraph(legend, "small")


def _name_specification(row: EstimateRow) -> str:
    """The metric as it is asked for; empty where its title says the same."""
    name = words.metric(row)
    title = words.metric_title(row).lower().replace("-", " ")
    return "" if title == name.replace("-", " ") else name


def _flatten(found: _tables.Table | _tables.Matrix) -> _tables.Table:
    """A matrix as a table, with intervals where there is room; of many classes the mistakes."""
    if isinstance(found, _tables.Table):
        return found
    if len(found.classes) > _tables.WIDEST_MATRIX:
        return found.largest()
    return found.table(intervals=len(found.classes) <= _ROOMY)


def _write_left_out(number: int, what: str, *, worst: bool = False) -> str:
    """How many rows are left out; nothing where that is none."""
    if number <= 0:
        return ""
    which = "better " if worst else ""
    return markup.paragraph(f"{number:,} {which}{what} are left out here: JSON has them.", "small")


def _prefer(report: Report, rows: Sequence[EstimateRow]) -> list[EstimateRow]:
    """The rows of the headline's estimator; where it has none, all."""
    first = words.headline(report)
    same = [row for row in rows if first is not None and row.estimator == first.estimator]
    return same or list(rows)


def _count_labels(row: EstimateRow) -> str:
    few = "" if is_sure(row) or row.estimate is None else ", too few labels"
    return f"{words.count(row.n_labeled)} labels, {words.count(row.n_pool)} items{few}"


def _is_ours(row: EstimateRow) -> bool:
    return catalog.bare_name(row.metric) in catalog.names("metrics")
