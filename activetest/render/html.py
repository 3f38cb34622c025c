"""Reports as a page: one file for people who were not there, on a screen or on paper.

The page runs no script, loads nothing, and says so in a content security policy. Every text of a
user's file is escaped, and every plot has its numbers beside it or in a table.
"""

from collections.abc import Sequence

from activetest.nouns.report import Report
from activetest.render.document.extent import Extent
from activetest.render.document.outline import outline_report
from activetest.render.page import head
from activetest.render.page.blocks import write_blocks
from activetest.render.page.document import write_document

SHOWS = ("report", "simulation")
NEEDS_DETAILS = True
SUFFIXES = (".html", ".htm")
MARKS = ('<meta name="generator" content="activetest report">',)
SIMULATION_MARKS = ('<meta name="generator" content="activetest simulate">',)

# A page of a study of up to 1,000 labels and 50 groups has at most so many bytes.
MOST_BYTES = 150_000
# Groups of one metric and column that a page shows, and how it holds the log of draws. The first
# that fits is taken: the log is compressed first, then the better ones of many groups are left out,
# then the log, which the study has.
_EXTENTS = (
    *((100, "plain"), (100, "packed"), (50, "plain"), (50, "packed")),
    *((20, "packed"), (50, "absent"), (20, "absent"), (5, "absent")),
)


def render(report: Report) -> str:
    """The whole page, at most MOST_BYTES unless names and texts alone are larger.

    Sections without anything to say are not there.
    """
    for groups, log in _EXTENTS:
        page = _build(report, groups, log)
        if len(page.encode()) <= MOST_BYTES:
            break
    return page


def _build(report: Report, groups: int, log: str) -> str:
    found = outline_report(report, Extent(hints=False, paged=True, most=groups, log=log))
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
        mark=MARKS[0],
        version=version,
    )


def simulation(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """A page of simulated strategies: answers, curves of every metric, and all results."""
    # NumPy is for curves alone.
    from activetest.render.page import simulated

    return simulated.build(results, answers)
