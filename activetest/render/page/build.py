"""The page as a whole: its parts in order, within its size."""

from collections.abc import Sequence

from activetest.nouns.report import Report
from activetest.render._extent import Extent
from activetest.render._outline import outline
from activetest.render.page import head, markup, style
from activetest.render.page.blocks import write_blocks

# By which the program knows its own pages.
MARK = '<meta name="generator" content="activetest report">'
# A page of a study of up to 1,000 labels and 50 groups has at most so many bytes.
MOST_BYTES = 150_000


# Groups of one metric and column that a page shows, and how it holds the log of draws. The first
# that fits is taken: the log is compressed first, then the better ones of many groups are left out,
# then the log, which the study has.
_EXTENTS = (
    *((100, "plain"), (100, "packed"), (50, "plain"), (50, "packed")),
    *((20, "packed"), (50, "absent"), (20, "absent"), (5, "absent")),
)


def build(report: Report) -> str:
    """The page, at most MOST_BYTES unless names and texts alone are larger."""
    for groups, log in _EXTENTS:
        page = _build(report, groups, log)
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def _build(report: Report, groups: int, log: str) -> str:
    found = outline(report, Extent(hints=False, paged=True, most=groups, log=log))
    shown = found.notes.notes
    sections = [each for each in found.sections if each.blocks]
    at = sum(each.key == "gates" for each in sections)
    sections[at:at] = head.list_cautions(report, shown)
    at = len(sections) - (report.details is not None)
    sections[at:at] = head.list_notes(report, shown)
    version = report.details.provenance.version if report.details else ""
    return write_document(
        f"{found.title}, by activetest",
        head.write_header(found, report),
        [(each.key, each.title, write_blocks(each.blocks)) for each in sections],
        mark=MARK,
        version=version,
    )


def write_document(
    title: str,
    header: str,
    sections: Sequence[tuple[str, str, str]],
    *,
    mark: str,
    version: str = "",
    sheet: str = "",
) -> str:
    """A whole page under its policy: a header, links to the sections, and these.

    sections of (key, title, elements); those without elements are left out
    mark     an element by which the program knows its own pages
    version  of activetest, said at the end
    sheet    style besides that of all pages
    """
    sheet = style.write() + sheet
    policy = (
        f"default-src 'none'; style-src {markup.hash_source(sheet)}; "
        "base-uri 'none'; form-action 'none'"
    )
    shown = [section for section in sections if section[-1]]
    links = "".join(
        f'<li><a href="#{key}">{markup.escape(title)}</a></li>' for key, title, _ in shown
    )
    contents = f'<nav aria-label="sections"><ul>{links}</ul></nav>' if links else ""
    inside = "\n".join(
        f'<section aria-labelledby="{key}"><h2 id="{key}">{markup.escape(title)}</h2>{elements}'
        "</section>"
        for key, title, elements in shown
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">{mark}'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{markup.escape(title)}</title>\n<style>{sheet}</style></head>\n"
        f"<body><header>{header}</header>\n"
        f"{contents}\n<main>{inside}</main>\n"
        f"<footer><p>Written by activetest {markup.escape(version)}. This file runs no script and "
        "loads nothing.</p></footer></body></html>\n"
    )
