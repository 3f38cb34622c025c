"""The page as a whole: its parts in order, within its size."""

from collections.abc import Sequence
from dataclasses import dataclass

from activetest.nouns.report import Report
from activetest.render import _tables
from activetest.render.page import evidence, findings, head, markup, style
from activetest.render.page.markup import Section

# By which the program knows its own pages.
MARK = '<meta name="generator" content="activetest report">'
# A page of a study of up to 1,000 labels and 50 groups has at most so many bytes.
MOST_BYTES = 150_000


@dataclass(frozen=True)
class _Extent:
    """How much a page holds.

    groups     of one metric and column
    log        of draws: "plain", "packed" or "absent"
    """

    groups: int
    log: str


# The first that fits is taken: the log is compressed first, then the better ones of many groups are
# left out, then the log, which the study has.
_EXTENTS = tuple(
    _Extent(groups, log)
    for groups, log in (
        *((100, "plain"), (100, "packed"), (50, "plain"), (50, "packed")),
        *((20, "packed"), (50, "absent"), (20, "absent"), (5, "absent")),
    )
)


def build(report: Report) -> str:
    """The page, at most MOST_BYTES unless names and texts alone are larger."""
    for extent in _EXTENTS:
        page = _build(report, extent)
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def _build(report: Report, extent: _Extent) -> str:
    sections = [each for each in _list_sections(report, extent) if each is not None]
    version = report.details.provenance.version if report.details else ""
    title = f"{_tables.title(report)}, by activetest"
    return write_document(title, head.write_header(report), sections, mark=MARK, version=version)


def write_document(
    title: str,
    header: str,
    sections: Sequence[Section],
    *,
    mark: str,
    version: str = "",
    sheet: str = "",
) -> str:
    """A whole page under its policy: a header, links to the sections, and these.

    mark     an element by which the program knows its own pages
    version  of activetest, said at the end
    sheet    style besides that of all pages
    """
    sheet = style.write() + sheet
    policy = (
        f"default-src 'none'; style-src {markup.hash_source(sheet)}; "
        "base-uri 'none'; form-action 'none'"
    )
    inside = "\n".join(each.write() for each in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">{mark}'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{markup.escape(title)}</title>\n<style>{sheet}</style></head>\n"
        f"<body><header>{header}</header>\n"
        f"{_write_contents(sections)}\n<main>{inside}</main>\n"
        f"<footer><p>Written by activetest {markup.escape(version)}. This file runs no script and "
        "loads nothing.</p></footer></body></html>\n"
    )


def _list_sections(report: Report, extent: _Extent) -> list[Section | None]:
    """The sections in order; None for those that have nothing to say."""
    found = [
        head.write_gates(report),
        head.write_cautions(report),
        findings.write_judge(report, extent.groups),
        findings.write_answer(report, extent.groups),
        findings.write_surface(report),
        findings.write_metrics(report),
    ]
    details = report.details
    if details is not None:
        found.append(evidence.write_history(report, details))
    found.append(findings.write_groups(report, extent.groups))
    if details is None:
        return [*found, head.write_notes(report)]
    log = evidence.embed_log(details.draws_csv, how=extent.log)
    predictor = "judge" if report.judge else "model"
    return [
        *found,
        evidence.write_confusion(details.confusion),
        evidence.write_reliability(details.reliability),
        evidence.write_items(details.worst_items, details.loss, predictor),
        evidence.write_sampled(details.sampled),
        evidence.write_annotators(details),
        head.write_notes(report),
        evidence.write_provenance(details.provenance, report.hindsight, log),
    ]


def _write_contents(sections: Sequence[Section]) -> str:
    """Links to the sections."""
    links = "".join(
        f'<li><a href="#{each.key}">{markup.escape(each.title)}</a></li>' for each in sections
    )
    return f'<nav aria-label="sections"><ul>{links}</ul></nav>' if links else ""
