"""A report in order: its head, its sections, and what stands under them."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from activetest import catalog
from activetest.nouns.report import Report
from activetest.render.document import words
from activetest.render.document.blocks import Block, Facts, Notes, Sentence
from activetest.render.document.extent import Extent, list_notes
from activetest.render.sections.metrics import is_of_matrix

_FAMILY = "sections"


@dataclass(frozen=True)
class Section:
    """A part of a report: a key, its heading, and what is in it."""

    key: str
    title: str
    blocks: list[Block]


@dataclass(frozen=True)
class Outline:
    """A whole report.

    title       what it is about
    head        the headline, and what sections say under it
    facts       what that rests on
    sections    in order; the first is that of gates where there are some
    notes       what to know before believing a number
    remarks     small print
    """

    title: str
    head: list[Sentence]
    facts: Facts
    sections: list[Section]
    notes: Notes
    remarks: list[Sentence]

    def list_blocks(self, *, gates_first: bool = True) -> list[Block]:
        """All of it: gates, head, facts, the other sections, notes and remarks."""
        gates = [block for each in self.sections if each.key == "gates" for block in each.blocks]
        head: list[Block] = [*self.head]
        return [
            *(gates + head if gates_first else head + gates),
            self.facts,
            *(block for each in self.sections if each.key != "gates" for block in each.blocks),
            self.notes,
            *self.remarks,
        ]


def outline_report(report: Report, extent: Extent) -> Outline:
    """The report, as far as a format shows it."""
    return Outline(
        title(report),
        list_head(report),
        Facts(list_facts(report, hints=extent.hints)),
        [
            Section(name, section.TITLE, list(section.write(part, report, extent)))
            for name, section, part in _find_sections(report, paged=extent.paged)
        ],
        Notes(list_notes(report, verbose=extent.verbose)),
        [Sentence(line, style="small") for line in _list_remarks(report, extent) if line],
    )


def headline(report: Report) -> str:
    """The headline as a sentence; of a whole confusion matrix, which has no number of its own."""
    return list_head(report)[0].text


def list_head(report: Report) -> list[Sentence]:
    """The headline, as a warning unless its number exists and is reliable, and leads under it."""
    leads = [
        lead
        for _, section, part in _find_sections(report)
        if hasattr(section, "lead")
        for lead in section.lead(part, report)
    ]
    row = words.headline(report)
    certain = row is not None and row.estimate is not None and words.reliable(row)
    text = next((lead.text for lead in leads if lead.instead), None) or _write_headline(report)
    return [
        Sentence(text, style="strong" if certain else "doubtful"),
        *(lead for lead in leads if not lead.instead),
    ]


def _write_headline(report: Report) -> str:
    row = words.headline(report)
    if row is None:
        return "No estimate yet."
    if row.estimate is None or not is_of_matrix(report, row):
        return words.sentence(row)
    return f"The confusion matrix is estimated from {words.count(row.n_labeled)} labels."


def title(report: Report) -> str:
    """The subject of the headline: its own metric, which need not be the one that draws serve."""
    row = words.headline(report)
    if row is None:
        name = words.plain(report.metric)
    else:
        name = words.CONFUSION if is_of_matrix(report, row) else words.metric(row)
    return f"{name} of {words.pool(report)}"


def list_facts(report: Report, *, hints: bool = True) -> list[tuple[str, str]]:
    """Facts under the headline; labels saved are of one number, and a matrix has many.

    Without hints nothing is said to type: many formats are read by people who were not there.
    """
    row = words.headline(report)
    found = words.facts(report, row)
    if row is not None and is_of_matrix(report, row):
        found = found[:1]
    if row is not None and row.estimate is not None:
        found.append(("about", words.scope(report, row, hints=hints)))
    return found


def read_sections(report: Report) -> dict[str, Any]:
    """The sections' part of the JSON document; null for those that the report lacks."""
    found: dict[str, Any] = {}
    for name in list_names():
        found |= dict.fromkeys(catalog.fact(_FAMILY, name, "KEYS") or ())
    for _, section, part in _find_sections(report):
        if hasattr(section, "read"):
            found |= section.read(part)
    return found


def list_names() -> list[str]:
    """All sections, in order."""
    return sorted(catalog.names(_FAMILY), key=lambda name: catalog.fact(_FAMILY, name, "PLACE"))


def _find_sections(report: Report, *, paged: bool = False) -> Iterator[tuple[str, Any, Any]]:
    """The name, the file and the part of the report of each section that it has, in order."""
    for name in list_names():
        part = _find_part(report, catalog.fact(_FAMILY, name, "OF"))
        if part and (paged or not catalog.fact(_FAMILY, name, "PAGED")):
            yield name, catalog.load(_FAMILY, name), part


def _find_part(report: Report, of: str) -> Any:
    """A part of the report, or of what it rests on; None without it."""
    whole, _, inside = of.partition(".")
    part = getattr(report, whole)
    return attrgetter(inside)(part) if part and inside else part


def _list_remarks(report: Report, extent: Extent) -> list[str]:
    """Remarks on estimators and how items are chosen, or on what is left out."""
    if not extent.verbose:
        return [words.describe_inputs(report), _describe_left_out(report, extent.more)]
    return [
        words.describe_estimators(report),
        words.made_by(report),
        words.describe_inputs(report),
        words.describe_evidence(report),
    ]


def _describe_left_out(report: Report, more: str) -> str:
    """Parts that only the verbose report shows, and how to see them; empty where there is none."""
    parts = [
        name
        for _, section, part in _find_sections(report)
        if hasattr(section, "list_hidden")
        for name in section.list_hidden(part, report)
    ]
    shown = list_notes(report, verbose=False)
    hidden = [words.label(note) for note in report.notes if note not in shown]
    for kind in sorted(set(hidden)):
        count = hidden.count(kind)
        parts.append(f"{count} {kind}{'s' * (count != 1)}")
    return f"More with {more}: {', '.join(parts)}." if parts else ""
