"""Reports as Markdown, for pull requests and job summaries."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from activetest.nouns.group_report import Assessment
from activetest.nouns.inspection import Inspection
from activetest.nouns.report import Counts, EstimateRow, Note, Report, count_verdicts
from activetest.nouns.surface_report import SurfaceReport
from activetest.render import (
    _answers,
    _assessment,
    _extent,
    _gates,
    _inspection,
    _judge,
    _judge_tables,
    _surface,
    _tables,
)
from activetest.render import _words as words
from activetest.system.safe_text import escape_controls

ABRIDGED = True
SUFFIXES = (".md", ".markdown")
HEAD = "<!-- report by activetest -->\n\n"
SIMULATION_HEAD = "<!-- simulation by activetest -->\n\n"

# GitHub refuses the summary of a job's step above 1024 KiB.
MOST_BYTES = 1_000_000

# What Markdown reads as more than text, unless a backslash is before it: an entity, and what opens
# or closes a title, too.
_SPECIAL = re.compile(r"([\\\x60*_\[\]<>|~]|&(?=#?\w+;)|(?<=\s)#(?=#*$))")
# What opens a list or a title, at the beginning of a text.
_OPENING = re.compile(r"^(\d*)([-+#.)])(?=[\s#])")
# What GitHub and GitLab look for in the finished text, where a backslash is of no use: somebody's
# name, an address, the number of an issue, a formula, an emoji. A letter in an element of its own
# is none of them, reads the same, and is copied as the same.
_APART = re.compile(
    r"((?<!\w)@(?=\w)|@(?=[\w.\\-]*\.\w)|:(?=//)|(?<=\bwww)\.|#(?=\d)|\$|:(?=[\w+\\-]+:))",
    re.IGNORECASE,
)
# Without any of these nothing has to stand apart, which most cells of numbers show at once.
_SUSPECT = re.compile(r"[@:#$]|www", re.IGNORECASE)


@dataclass(frozen=True)
class _Part:
    """A paragraph or the top of a table, and lines of which the last may be left out."""

    head: str
    lines: tuple[str, ...] = ()


def render(report: Report, *, verbose: bool = False, more: str = _extent.MORE) -> str:
    """Verdicts, headline, tables and notes; at most MOST_BYTES.

    verbose    all estimates, tables and notes, and how items are chosen
    more       how to see them, for a report that leaves some out

    What is too much is left out from the end of the tables: groups before differences before the
    whole pool.
    """
    parts = [_Part(f"## {_escape(_tables.title(report))}")]
    if report.gates:
        verdicts = f"**{count_verdicts(report.gates)}**{_gates.evidence(report.gates)}"
        parts.append(_Part(verdicts))
        parts.append(_write_table(_gates.table(report.gates)))
        if remarks := _gates.remarks(report.gates):
            parts.append(_write_list(remarks))
    parts.append(_Part(f"**{_escape(_tables.headline(report))}**"))
    if report.assessment:
        parts.append(_Part(f"**{_escape(_assessment.sentence(report.assessment))}**"))
    if report.surface:
        parts.append(_Part(f"**{_escape(_surface.sentence(report.surface))}**"))
    judge = report.judge
    if judge:
        parts += [_Part(f"**{_escape(line)}**") for line in _judge.sentences(report, judge)]
    parts.append(_write_list(map(": ".join, _tables.facts(report, hints=False))))
    parts += map(_write_table, _judge_tables.tables(report, verbose=verbose))
    if report.assessment:
        parts += _write_answer(report.assessment, report.estimates, verbose=verbose)
    if report.surface:
        parts += _write_surface(report.surface, verbose=verbose)
    tables = _tables.tables(report, verbose=verbose)
    parts += map(_write_any, tables)
    end = _write_notes(_extent.notes(report, verbose=verbose))
    lines = [words.LEGEND] * _has_mark(parts) + _extent.last_lines(report, more, verbose=verbose)
    below = [*_shorten(end, MOST_BYTES // 2), *(f"<sub>{_escape(line)}</sub>" for line in lines)]
    room = MOST_BYTES - sum(_size(text) for text in below)
    return "\n\n".join(_shorten(parts, room) + below) + "\n"


def status(counts: Counts, coming: str = "") -> str:
    """Where a study stands; coming says what `next` would do."""
    standing = _tables.Table("", ("", ""), tuple(words.standing(counts)))
    parts = [_join(_write_table(standing))] + ([_escape(coming)] if coming else [])
    return "\n\n".join(parts) + "\n"


def inspection(found: Inspection) -> str:
    """What a file holds: its columns, what they allow, and how to go on."""
    parts = [_Part(f"## {_escape(_inspection.sentence(found))}")]
    if found.columns:
        parts.append(_write_table(_inspection.columns(found)))
    if facts := _inspection.facts(found):
        parts.append(_write_list(f"{name}: {value}" if name else value for name, value in facts))
    parts += [_Part(_escape(line)) for line in _inspection.ending(found)]
    for text, line in _inspection.steps(found):
        # An indented block, as it is typed.
        parts += [_Part(_escape(text)), _Part(f"    {escape_controls(line)}")]
    return "\n\n".join(map(_join, parts)) + "\n"


def simulation(results: Sequence[dict], answers: Sequence[dict] = ()) -> str:
    """One row per strategy, metric and budget, below the answers to a question."""
    budgets = {result["budget"] for result in results}
    parts = [_write_table(table) for table in _answers.tables(answers, budgets)]
    parts.append(_write_table(_tables.strategies(results)))
    if remarks := _answers.remarks(answers) + _tables.remarks(results):
        parts.append(_write_list(remarks))
    return "\n\n".join(map(_join, parts)) + "\n"


def _write_answer(answer: Assessment, rows: Sequence[EstimateRow], *, verbose: bool) -> list[_Part]:
    """What the answer to the question about groups rests on."""
    parts = list(map(_write_any, _assessment.tables(answer, rows, verbose=verbose)))
    if _extent.has_diagram(answer, verbose=verbose):
        parts.append(_write_table(_assessment.bins(answer)))
        if remarks := _assessment.remarks(answer):
            parts.append(_write_list(remarks))
    return parts


def _write_surface(surface: SurfaceReport, *, verbose: bool) -> list[_Part]:
    """What is known of the surface."""
    parts = [_write_list(map(": ".join, _surface.facts(surface)))]
    parts += map(_write_table, _surface.tables(surface, verbose=verbose))
    for found in surface.maps:
        parts += [_write_table(_surface.map_table(found)), _Part(_escape(_surface.LEGEND))]
    return parts


def _write_notes(notes: Sequence[Note]) -> list[_Part]:
    """Cautions and other notes, each under a title, in the order of their weights."""
    parts = []
    for title, cautions in (("### Cautions", True), ("### Notes", False)):
        if texts := [note.text for note in notes if note.is_caution == cautions]:
            parts += [_Part(title), _write_list(texts)]
    return parts


def _has_mark(parts: Sequence[_Part]) -> bool:
    """Whether some interval in a table is marked as not reliable."""
    return any(f"{words.MARK} |" in line for part in parts for line in part.lines)


def _write_any(table: _tables.Table | _tables.Matrix) -> _Part:
    if isinstance(table, _tables.Matrix):
        wide = len(table.classes) > _tables.WIDEST_MATRIX
        table = table.largest() if wide else table.table(intervals=True)
    return _write_table(table)


def _write_list(texts: Iterable[str]) -> _Part:
    first, *others = (f"- {_escape(text)}" for text in texts)
    return _Part(first, tuple(others))


def _write_table(table: _tables.Table) -> _Part:
    def write(cells: Sequence[str]) -> str:
        shown = (
            f"**{_escape(cell)}**" if heading == "verdict" else _escape(cell)
            for heading, cell in zip(table.headings, cells, strict=True)
        )
        return f"| {' | '.join(shown)} |"

    title = f"### {_escape(table.title)}\n\n" if table.title else ""
    top = f"| {' | '.join(map(_escape, table.headings))} |"
    return _Part(f"{title}{top}\n|{' --- |' * len(table.headings)}", tuple(map(write, table.rows)))


def _join(part: _Part) -> str:
    return "\n".join((part.head, *part.lines))


def _shorten(parts: Sequence[_Part], room: int) -> list[str]:
    """The parts as texts, up to the first line for which there is no room, and what is missing."""
    missing = "<sub>{:,} more lines are left out here: JSON has them all.</sub>"
    room -= _size(missing) + 20
    shown, left_out = [], 0
    for part in parts:
        kept = 0
        for line in (part.head, *part.lines):
            # After the first line that is left out, all others are less important.
            if left_out or room < _size(line):
                left_out += 1
            else:
                room -= _size(line)
                kept += 1
        if kept:
            shown.append("\n".join((part.head, *part.lines)[:kept]))
    return [*shown, missing.format(left_out)] if left_out else shown


def _size(text: str) -> int:
    """Bytes of a text and the empty line after it."""
    return len(text.encode()) + 2


def _escape(text: str) -> str:
    """Text that reads as it is: no name opens a cell, a tag, an emphasis, a formula or a link."""
    marked = _OPENING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", words.plain(text)))
    return _APART.sub(r"<span>\1</span>", marked) if _SUSPECT.search(marked) else marked
