"""Where the numbers come from, and how to ask for more."""

from collections.abc import Iterator

from activetest.nouns.report import Report
from activetest.nouns.report_details import Provenance, ReportDetails
from activetest.render.document import words
from activetest.render.document.blocks import Attachment, Block, Code, Facts, Sentence
from activetest.render.document.extent import Extent

PLACE = 14
TITLE = "Where this comes from"
OF = "details"
PAGED = True


def write(details: ReportDetails, report: Report, extent: Extent) -> Iterator[Block]:
    """The pool, times and versions; settings and commands; and the log of draws."""
    found = details.provenance
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
    yield Facts([(name, value) for name, value in rows if value])
    if found.settings:
        yield Sentence("Settings that are not the defaults", style="subtitle")
        yield Facts(found.settings)
    if found.commands:
        yield Sentence("Commands that lead to this", style="subtitle")
        yield Code("\n".join(found.commands))
    if report.hindsight:
        yield Sentence(report.hindsight, style="small")
    if lines := max(details.draws_csv.count("\n") - 1, 0):
        yield Attachment(
            "The log of draws",
            "draws.csv",
            details.draws_csv,
            f"Every draw with its probability, and every answer: {lines:,} lines",
            "too many for this file: the study has them, and its export writes them",
            how=extent.log,
        )


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
